"""Elementary functions as LLVM IR: within their bounds of the exact values, special values as NumPy's, vectorised."""

import ctypes
import math
import re
import runpy
import shutil
import subprocess
from functools import cache
from itertools import product

import numpy
import pytest
from places import ROOT

from minpy.backends.native import mathematics
from minpy.backends.native.machine import llvm
from minpy.backends.native.mathematics import coefficients
from minpy.core.errors import KeyMissingError

binding = pytest.importorskip("llvmlite.binding")
binding.initialize_all_targets()
binding.initialize_all_asmprinters()

DTYPES = {"float": numpy.float32, "double": numpy.float64}
COVERED = [(name, dtype) for name, function in mathematics.FUNCTIONS.items() for dtype in function.ulps]
UNARY = [(name, dtype) for name, dtype in COVERED if mathematics.arity(name) == 1]
BINARY = [(name, dtype) for name, dtype in COVERED if mathematics.arity(name) == 2]
# Two functions that NumPy has not, from Python's library.
OTHERS = {"erf": math.erf, "erfc": math.erfc}
ODD = ("sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh", "cbrt", "erf")
LOOP = """
define void @{loop}(ptr noalias %p0, ptr noalias %p1, ptr noalias %result, i64 %count) {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
  %a0 = getelementptr {type}, ptr %p0, i64 %i
  %a1 = getelementptr {type}, ptr %p1, i64 %i
  %x0 = load {type}, ptr %a0
  %x1 = load {type}, ptr %a1
  %y = call {type} @{symbol}({arguments})
  %r = getelementptr {type}, ptr %result, i64 %i
  store {type} %y, ptr %r
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %exit
exit:
  ret void
}}
"""
SCALAR = {(name, "double", "aarch64") for name in ("sin", "cos", "tan")}
TARGETS = {
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512", "-prefer-256-bit", r"vmov(?:up[sd]|dqu\d*)\s+%zmm\d+, "),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", "", r"vmov(?:up[sd]|dqu\d*)\s+%ymm\d+, "),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", "", r"\bst[rp]\s+q\d"),
}


def loop_over(name, dtype, loop="loop"):
    arguments = ", ".join(f"{dtype} %x{index}" for index in range(mathematics.arity(name)))
    return LOOP.format(loop=loop, type=dtype, symbol=mathematics.symbol(name, dtype), arguments=arguments)


def with_loop(name, dtype):
    return mathematics.definitions([(name, dtype)]) + loop_over(name, dtype)


def optimised(name, dtype, machine):
    module = binding.parse_assembly(with_loop(name, dtype))
    module.triple = machine.triple
    module.verify()
    options = binding.create_pipeline_tuning_options(3)
    options.loop_vectorization = True
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINPY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@cache
def compiled(name, dtype):
    """Return the function as one of arrays."""
    loaded = llvm.compile(with_loop(name, dtype))
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(loaded.address("loop"))

    def call(x, y=None):
        x, y = (numpy.ascontiguousarray(values, DTYPES[dtype]) for values in (x, x if y is None else y))
        result = numpy.empty_like(x)
        loop(x.ctypes.data, y.ctypes.data, result.ctypes.data, x.size)
        return result

    call.loaded = loaded
    return call


def expected(name, *arrays):
    """Return NumPy's values, of Python's library where NumPy has no such function."""
    with numpy.errstate(all="ignore"):
        if name in OTHERS:
            return numpy.array([OTHERS[name](x) for x in arrays[0].tolist()], arrays[0].dtype)
        return getattr(numpy, name)(*arrays)


def errors(result, exact):
    """Return how far results are from exact values, in units in the last place of the results."""
    with numpy.errstate(all="ignore"):
        rounded = exact.astype(result.dtype)
        unit = numpy.spacing(numpy.abs(numpy.where(numpy.isfinite(rounded), rounded, 1)))
        error = numpy.abs(result.astype(exact.dtype) - exact) / unit
        same = (result == rounded) | (numpy.isnan(result) & numpy.isnan(rounded))
        return numpy.where(same, numpy.where(error < 1, error, 0), numpy.where(numpy.isnan(error), numpy.inf, error))


def same_kind(result, exact):
    """Return whether both are NaN, the same infinity, a zero of the same sign, or finite and of one sign."""
    nan = numpy.isnan(result) & numpy.isnan(exact)
    kinds = (numpy.isinf(result) == numpy.isinf(exact)) & ((result == 0) == (exact == 0))
    return nan | (kinds & (numpy.signbit(result) == numpy.signbit(exact)) & (numpy.isnan(result) == numpy.isnan(exact)))


def special(dtype):
    kind = numpy.finfo(DTYPES[dtype])
    tiny, largest = kind.tiny, kind.max
    values = [0.0, kind.smallest_subnormal, tiny / 2, tiny, 1e-30, kind.eps / 4, kind.eps, 0.25, 0.5]
    values += [1 - kind.eps / 2, 1, 1 + kind.eps, 1.5, 2, 3, 4, 7, 10, 64, 1000, 2**24 + 1, 1e30, largest / 2, largest]
    values = numpy.array([*values, numpy.inf], DTYPES[dtype])
    return numpy.concatenate([values, -values, [numpy.nan]]).astype(DTYPES[dtype])


def bit_patterns(dtype, count, seed=0):
    """Return numbers of every size, half of them near what functions are used for."""
    random = numpy.random.RandomState(seed)
    kind = DTYPES[dtype]
    bits = random.bytes(count * kind().itemsize)
    usual = random.normal(scale=3, size=count) * 10.0 ** random.randint(-3, 2, count)
    patterns = numpy.frombuffer(bits, kind)
    return numpy.concatenate([patterns[~numpy.isnan(patterns)], usual.astype(kind)])


@pytest.mark.parametrize(("name", "dtype"), UNARY)
def test_within_its_bound_of_the_exact_values(name, dtype):
    x = bit_patterns(dtype, 2000 if name in OTHERS else 40000)
    wide = numpy.float64 if dtype == "float" else numpy.longdouble
    slack = 0.01 if numpy.finfo(wide).nmant > numpy.finfo(x.dtype).nmant else 1
    if dtype == "double" and name in OTHERS:
        slack = 1  # Python's are of double precision
        wide = numpy.float64
    result, exact = compiled(name, dtype)(x), expected(name, x.astype(wide))
    error = errors(result, exact)
    worst = error.argmax()
    assert error[worst] <= mathematics.accuracy(name, dtype) + slack, (x[worst], result[worst], exact[worst])


@pytest.mark.parametrize(("name", "dtype"), BINARY)
def test_two_arguments_within_the_bound_of_the_exact_values(name, dtype):
    x, y = (bit_patterns(dtype, 20000, seed)[:38000] for seed in (0, 1))
    x[::2], y[::4] = abs(x[::2]), numpy.trunc(y[::4])
    wide = numpy.float64 if dtype == "float" else numpy.longdouble
    slack = 0.01 if numpy.finfo(wide).nmant > numpy.finfo(x.dtype).nmant else 1
    result, exact = compiled(name, dtype)(x, y), expected(name, x.astype(wide), y.astype(wide))
    error = errors(result, exact)
    worst = error.argmax()
    assert error[worst] <= mathematics.accuracy(name, dtype) + slack, (x[worst], y[worst], result[worst], exact[worst])


@pytest.mark.parametrize(("name", "dtype"), UNARY)
def test_special_values_are_numpys(name, dtype):
    x = special(dtype)
    result, exact = compiled(name, dtype)(x), expected(name, x)
    wrong = ~same_kind(result, exact)
    assert not wrong.any(), list(zip(x[wrong], result[wrong], exact[wrong], strict=True))


@pytest.mark.parametrize(("name", "dtype"), BINARY)
def test_special_pairs_are_numpys(name, dtype):
    x, y = numpy.array(list(product(special(dtype), repeat=2)), DTYPES[dtype]).T
    result, exact = compiled(name, dtype)(x, y), expected(name, numpy.ascontiguousarray(x), numpy.ascontiguousarray(y))
    wrong = ~same_kind(result, exact)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], result[wrong], exact[wrong], strict=True))[:10]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "dtype"), COVERED)
def test_loops_become_vector_instructions_without_calls(name, dtype, target):
    triple, cpu, features, store = TARGETS[target]
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=3)
    assembly = machine.emit_assembly(optimised(name, dtype, machine))
    called = re.findall(r"^\s+(?:call\w*|bl)\s+(\S+)", assembly, re.MULTILINE)
    assert not called, f"{name} of {dtype} calls {called}"
    vectorised = re.search(store, assembly) is not None
    # Of 1/(2π) each element reads other bytes: two loads side by side are not worth it.
    assert vectorised or (name, dtype, target) in SCALAR, f"{name} of {dtype}"


@pytest.mark.parametrize(("name", "dtype"), COVERED)
def test_sources_call_intrinsics_and_nothing_else(name, dtype):
    text, required = mathematics.source(name, dtype), mathematics.requires(name, dtype)
    called = set(re.findall(r"@([\w.]+)\(", text)) - {mathematics.symbol(name, dtype)}
    assert called == {needed for needed in required if needed.startswith("llvm.")}
    assert "frem" not in text
    assert not re.search(r"\b(fast|contract|reassoc|nnan|ninf|nsz|arcp|afn)\b", text)
    assert not re.search(r"^\s+(br|switch)\b", text, re.MULTILINE)


def test_what_is_not_covered_is_named():
    assert not mathematics.covers("frexp", "float")
    with pytest.raises(
        KeyMissingError, match=r"no IR of 'frexp' for 'float'; of that type there are: arccos, .*tanh\."
    ):
        mathematics.source("frexp", "float")
    with pytest.raises(KeyMissingError, match="no IR of 'exp' for 'half'; of that type there are: none"):
        mathematics.accuracy("exp", "half")


def test_functions_that_need_the_same_share_it():
    text = mathematics.definitions([("sin", "double"), ("cos", "double"), ("sin", "double")])
    assert text.count("define ") == 2
    assert text.count("@minpy_turn = internal constant") == 1
    assert "minpy_turn" in mathematics.requires("sin", "double")


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_next_to_multiples_of_a_quarter_turn(name, dtype):
    """Rounded multiples of π/2, and the doubles nearest to them (J.-M. Muller, Elementary Functions, table 11.1)."""
    x = numpy.arange(1, 20001) * (numpy.pi / 2) * 2.0 ** numpy.repeat(numpy.arange(0, 40, 2), 1000)
    x = numpy.concatenate([x, [6381956970095103.0 * 2.0**797, 5.319372648326541e255, 1e22, 2.0**1023]])
    x = x[x < numpy.finfo(DTYPES[dtype]).max].astype(DTYPES[dtype])
    wide = numpy.float64 if dtype == "float" else numpy.longdouble
    slack = 0.01 if numpy.finfo(wide).nmant > numpy.finfo(x.dtype).nmant else 1
    error = errors(compiled(name, dtype)(x), expected(name, x.astype(wide)))
    assert error.max() <= mathematics.accuracy(name, dtype) + slack, x[error.argmax()]


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_two_and_ten_are_exact(dtype):
    whole = numpy.arange(-1000 if dtype == "double" else -120, 1000 if dtype == "double" else 120)
    powers = 2.0 ** whole.astype(DTYPES[dtype])
    numpy.testing.assert_array_equal(compiled("exp2", dtype)(whole), powers)
    numpy.testing.assert_array_equal(compiled("log2", dtype)(powers), whole)
    numpy.testing.assert_array_equal(compiled("power", dtype)(numpy.full(whole.shape, 2), whole), powers)
    tens = numpy.arange(0, 23 if dtype == "double" else 11)
    exact = numpy.array([10**n for n in tens.tolist()], DTYPES[dtype])
    numpy.testing.assert_array_equal(compiled("log10", dtype)(exact), tens)
    small = numpy.arange(1, 20)
    numpy.testing.assert_array_equal(compiled("power", dtype)(small, numpy.full(19, 2)), small**2)
    numpy.testing.assert_array_equal(compiled("cbrt", dtype)(small**3), small)
    numpy.testing.assert_array_equal(compiled("hypot", dtype)(3 * small, 4 * small), 5 * small)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*ODD, "cos", "cosh"])
def test_odd_and_even_functions_are_so_to_the_last_bit(name, dtype):
    x = bit_patterns(dtype, 2000)
    function = compiled(name, dtype)
    numpy.testing.assert_array_equal(function(-x), -function(x) if name in ODD else function(x))


@pytest.mark.parametrize("name", ["EXP", "TANH", "SIN"])
def test_coefficients_are_those_that_the_script_makes(name):
    pytest.importorskip("mpmath")
    script = runpy.run_path(str(ROOT / "tools" / "make_polynomials.py"))
    row = script["ROWS"][name]
    made = {dtype: tuple(script["fit"](row, dtype == "float")[0]) for dtype in DTYPES}
    assert getattr(coefficients, name) == made


MAIN = """
#include <stdio.h>
static {type} x[{count}], y[{count}], result[{count}];
{declarations}
int main(void) {{
    if (fread(x, sizeof x, 1, stdin) != 1 || fread(y, sizeof y, 1, stdin) != 1) return 1;
    {calls}
    return 0;
}}
"""


@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs a compiler for AArch64 and qemu",
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_aarch64_gives_the_same_bits(dtype, tmp_path):
    names = [name for name, kind in COVERED if kind == dtype]
    x, y = (numpy.concatenate([bit_patterns(dtype, 1000, seed)[:1900], special(dtype)]) for seed in (0, 1))
    loops = [loop_over(name, dtype, f"loop_{name}") for name in names]
    text = "\n".join([mathematics.definitions((name, dtype) for name in names), *loops])
    (tmp_path / "loops.o").write_bytes(llvm.emit(text, "aarch64-unknown-linux-gnu"))
    declared = "\n".join(f"void loop_{name}(void *, void *, void *, long);" for name in names)
    calls = "\n".join(
        f"loop_{name}(x, y, result, {x.size}); fwrite(result, sizeof result, 1, stdout);" for name in names
    )
    (tmp_path / "main.c").write_text(MAIN.format(type=dtype, count=x.size, declarations=declared, calls=calls))
    subprocess.run(["aarch64-linux-gnu-gcc", "-static", "-o", "run", "main.c", "loops.o"], cwd=tmp_path, check=True)
    run = subprocess.run(["qemu-aarch64", "run"], cwd=tmp_path, input=x.tobytes() + y.tobytes(), capture_output=True)
    assert run.returncode == 0, run.stderr
    results = numpy.frombuffer(run.stdout, x.dtype).reshape(len(names), x.size)
    for name, result in zip(names, results, strict=True):
        numpy.testing.assert_array_equal(result, compiled(name, dtype)(x, y), err_msg=name)
