"""Programs whose plans an earlier process has left: they compute what they would, or are planned anew."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_graphs import random_network
from test_native_parts import SYMBOLS, Case, called, same

import minpy as mx
from minpy import customop, nd, sym
from minpy.backends.native.caching import cache_key as identity_module
from minpy.backends.native.caching.cache_key import identity
from minpy.backends.native.caching.plan_cache import native_program
from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Layout,
    Part,
    Piece,
    Reduce,
    Routine,
    View,
)
from minpy.backends.native.machine import helper_thread, llvm
from minpy.backends.native.machine.code_cache import Store
from minpy.backends.native.runtime.native_executable import NativeExecutable
from minpy.backends.native.translating import translate
from minpy.backends.switches import disabled

pytest.importorskip("llvmlite")

COMPILES = True

x, y, w = sym.var("x"), sym.var("y"), sym.var("w")
A = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
B = np.linspace(2, 3, 12, dtype=np.float32).reshape(3, 4)
IMAGE = np.random.RandomState(0).normal(scale=0.1, size=(2, 3, 8, 8)).astype(np.float32)
KERNEL = np.random.RandomState(1).normal(scale=0.1, size=(4, 3, 3, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MINPY_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def plans_in(kernels: Path) -> list[Path]:
    return sorted(kernels.glob("*.plan"))


def run(symbol: Any, arrays: list[np.ndarray], requests: str = "write", training: bool = True) -> tuple[Any, Any]:
    """Return a native case, and what it gives, which is what Python gives; each program is planned, or recalled."""
    case = Case(symbol, requests, training)
    with disabled():
        expected = Case(symbol, requests, training).round([one.copy() for one in arrays])
    for _ in range(3):
        found = case.round([one.copy() for one in arrays])
        same(found, expected)
    assert case.native is not None
    return case, found


def recalled(case: Case) -> bool:
    assert isinstance(case.native, NativeExecutable)
    return "recalling" in case.native.seconds


def identical(one: Any, two: Any) -> bool:
    pairs = zip([*one[0], *one[1]], [*two[0], *two[1]], strict=True)
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)


MORE = {
    "a convolution": (
        sym.Activation(sym.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True, name="c"), "relu", name="r"),
        [IMAGE, KERNEL],
    ),
    "a pooled convolution": (
        sym.Pooling(sym.tanh(x), kernel=(2, 2), stride=(2, 2), pool_type="max", name="p"), [IMAGE],
    ),
    "dropout, which is called": (sym.Dropout(sym.exp(x), p=0.0, name="d") * 2, [A]),
    "constants with axes": (sym.broadcast_mul(x, sym.arange(4, name="k")), [A]),
    "elements chosen": (sym.exp(sym.take(x, sym.arange(2, name="k2"), name="t"), name="e"), [A]),
}  # fmt: skip


@pytest.mark.parametrize("requests", ["write", "add", "null"])
@pytest.mark.parametrize("name", [*SYMBOLS, *MORE])
def test_recalled_programs_give_the_same_bits(name: str, requests: str, kernels: Path) -> None:
    symbol, arrays = {**SYMBOLS, **MORE}[name]
    first, found = run(symbol, arrays, requests)
    kept = len(plans_in(kernels))
    assert kept == 1, "every program of the table can be kept"
    second, again = run(symbol, arrays, requests)
    assert (recalled(first), recalled(second)) == (False, True)
    assert identical(found, again)
    assert second.native.text() == first.native.text()
    assert len(plans_in(kernels)) == kept


@pytest.mark.parametrize("seed", range(25))
def test_random_networks(seed: int) -> None:
    network = random_network(seed, dtype=("float32", "float64")[seed % 2])
    arrays = [network.arrays[name] for name in network.symbol.list_arguments()]
    results = []
    for _ in range(2):
        case = Case(network.symbol)
        with np.errstate(all="ignore"):
            for _ in range(3):
                found = case.round([one.copy() for one in arrays])
        results.append((case, found))
    (first, found), (second, again) = results
    assert first.native is None or (recalled(first), recalled(second)) == (False, True)
    assert identical(found, again)


def test_states_are_updated() -> None:
    symbol = sym.BatchNorm(x, fix_gamma=False, name="bn")
    shape = (4,)
    results = []
    for number in range(2):
        executor = symbol.simple_bind(mx.cpu(), x=(8, 4), grad_req="write")
        for name, array in executor.arg_dict.items():
            array[:] = np.linspace(1, 2, array.size).reshape(array.shape) if name == "x" else 1
        for array in executor.aux_arrays:
            array[:] = 1
        for _ in range(5):
            executor.forward(is_train=True)
            executor.backward(nd.ones((8, 4)))
        results.append([one.asnumpy() for one in (*executor.outputs, *executor.aux_arrays, *executor.grad_arrays)])
        assert results[-1][1].shape == shape
        assert number in (0, 1)
    assert all(np.array_equal(one, two) for one, two in zip(*results, strict=True))


def test_reports_are_those_of_a_planned_program() -> None:
    symbol, arrays = sym.softmax(sym.dot(x, y, transpose_b=True, name="d"), name="s"), [A, B]
    first, _ = run(symbol, arrays)
    second, _ = run(symbol, arrays)
    [one], [two] = first.compiled.explain(), second.compiled.explain()
    assert recalled(second)
    assert two.is_native
    assert two.is_cached
    assert set(two.seconds) == {"translating", "recalling"}
    assert two.parts == one.parts
    assert str(two).split("made in")[0] == str(one).split("made in")[0]


# -- what users' functions refer to ------------------------------------------------------------------------------------

FACTOR = 2.0
TABLE = np.arange(4, dtype=np.float32)


def of_a_global() -> Any:
    @customop("numpy")
    def operator(data: Any) -> Any:
        return np.tanh(data) * FACTOR

    operator.def_grad(lambda ans, data: lambda g: g * FACTOR * (1 - np.tanh(data) ** 2))
    return operator


def of_a_closure(factor: float) -> Any:
    @customop("numpy")
    def operator(data: Any) -> Any:
        return np.tanh(data) * factor

    operator.def_grad(lambda ans, data: lambda g: g * factor * (1 - np.tanh(data) ** 2))
    return operator


def of_an_array(table: np.ndarray) -> Any:
    @customop("numpy")
    def operator(data: Any) -> Any:
        return data * table

    operator.def_grad(lambda ans, data: lambda g: g * table)
    return operator


def of_another_body(which: int) -> Any:
    if which:

        @customop("numpy")
        def operator(data: Any) -> Any:
            return np.exp(data) - data

        operator.def_grad(lambda ans, data: lambda g: g * (np.exp(data) - 1))
    else:

        @customop("numpy")
        def operator(data: Any) -> Any:
            return np.exp(data) + data

        operator.def_grad(lambda ans, data: lambda g: g * (np.exp(data) + 1))
    return operator


def of_another_rule(factor: float) -> Any:
    @customop("numpy")
    def operator(data: Any) -> Any:
        return np.exp(data)

    operator.def_grad(lambda ans, data: lambda g: g * ans * factor)
    return operator


def that_is_called(factor: float) -> Any:
    @customop("numpy")
    def operator(data: Any) -> Any:
        return data * factor if data.ravel()[0] < 100 else data

    operator.def_grad(lambda ans, data: lambda g: g * factor if data.ravel()[0] < 100 else g)
    return operator


USERS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "a closure": (of_a_closure, [2.0, 3.0, 2.0]),
    "an array": (of_an_array, [np.arange(4, dtype="f4"), np.ones(4, "f4"), np.arange(4, dtype="f4")]),
    "another body": (of_another_body, [0, 1, 0]),
    "another rule": (of_another_rule, [1.0, 2.0, 1.0]),
    "a call": (that_is_called, [2.0, 3.0, 2.0]),
}


@pytest.mark.parametrize("name", USERS)
def test_users_operators_are_never_those_of_a_plan(name: str) -> None:
    """`run` holds what is found against Python: the one operator after the other has one name and one place."""
    make, variants = USERS[name]
    for variant in variants:
        run(sym.exp(make(variant)(x, name="of the user") * y, name="e"), [A, B])


def test_a_global_that_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        run(of_a_global()(x, name="of the user") * y, [A, B])


def test_an_array_that_is_written_to() -> None:
    table = np.arange(4, dtype=np.float32)
    operator = of_an_array(table)
    for value in (1.0, 5.0, 1.0):
        table[2] = value
        run(sym.exp(operator(x, name="of the user"), name="e"), [A])


def test_a_recalled_program_follows_what_changes_afterwards() -> None:
    table = np.arange(4, dtype=np.float32)
    symbol = sym.exp(of_an_array(table)(x, name="of the user"), name="e")
    run(symbol, [A], "null")
    case, _ = run(symbol, [A], "null")
    table[1] = 7
    same(case.round([A]), ([np.exp(A * table)], []))


def test_what_a_plan_calls_is_the_function_of_now() -> None:
    seen: list[str] = []

    def named(name: str) -> Any:
        def operator(data: Any) -> Any:
            if data.ravel()[0] < 100:
                seen.append(name)
            return data + 1

        return customop("numpy")(operator)

    symbols = [sym.exp(named(name)(x, name="u"), name="e") for name in ("one", "two")]
    cases = [run(symbol, [A], "null")[0] for symbol in symbols]
    assert [recalled(case) for case in cases] == [False, True]
    seen.clear()
    cases[1].round([A])
    assert seen == ["two"]


# -- what decides ------------------------------------------------------------------------------------------------------


def asked(symbol: Any, arrays: list[np.ndarray], requests: str = "write", training: bool = True) -> Any:
    """Return steps and what they come to in the step language."""
    case, _ = run(symbol, arrays, requests, training)
    [program] = case.compiled._programs.values()
    return program.steps, translate(program.steps, program.facts)


def key_of(*given: Any, **options: Any) -> str:
    found = identity(*asked(*given), {"fast_math": False, **options})
    assert found is not None
    return found


def test_what_is_asked_for() -> None:
    plain = sym.exp(x * y, name="e")
    keys = {
        "as it is": key_of(plain, [A, B]),
        "other shapes": key_of(plain, [A[:2], B[:2]]),
        "one axis less": key_of(plain, [A.ravel(), B.ravel()]),
        "another dtype": key_of(plain, [A.astype("f8"), B.astype("f8")]),
        "added": key_of(plain, [A, B], "add"),
        "no gradients": key_of(plain, [A, B], "null"),
        "prediction": key_of(plain, [A, B], "write", False),
        "fast": identity(*asked(plain, [A, B]), {"fast_math": True}),
        "another function": key_of(sym.expm1(x * y, name="e"), [A, B]),
        "another name": key_of(sym.exp(x * w, name="e"), [A, B]),
        "another constant": key_of(sym.exp(x * y * 2, name="e"), [A, B]),
        "minus zero": key_of(sym.exp(x * y * 0.0, name="e"), [A, B]),
        "and zero": key_of(sym.exp(x * y * -0.0, name="e"), [A, B]),
        "two heads": key_of(sym.Group([plain, x * y]), [A, B]),
        "the heads in another order": key_of(sym.Group([x * y, plain]), [A, B]),
        "along another axis": key_of(sym.sum(x, axis=0, name="e"), [A]),
        "than this": key_of(sym.sum(x, axis=1, name="e"), [A]),
    }
    assert len(set(keys.values())) == len(keys)
    assert key_of(plain, [A, B]) == keys["as it is"]


@pytest.mark.parametrize("what", ["numpy", "blas", "threads", "toolchain", "python"])
def test_what_surrounds_it(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = asked(sym.exp(x, name="e"), [A])
    before = identity(*given, {})
    if what == "numpy":
        monkeypatch.setattr(np, "__version__", f"{np.__version__}.1")
    elif what == "blas":
        monkeypatch.setattr(identity_module.numpy_blas, "find", lambda: None)
    elif what == "threads":
        monkeypatch.setattr(helper_thread, "count", lambda: 3)
    elif what == "toolchain":
        monkeypatch.setattr(llvm, "toolchain", lambda: "another")
    else:
        monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    assert identity(*given, {}) not in (before, None)


def test_a_source_of_the_compiler_that_has_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = asked(sym.exp(x, name="e"), [A])
    keys = []
    package = tmp_path / "backends" / "native"
    (package / "passes").mkdir(parents=True)
    for folder in ("capture", "core", "graph"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ops" / "kernels").mkdir(parents=True)
    (package / "identity.py").write_text("1")
    (package / "passes" / "one.py").write_text("1")
    monkeypatch.setattr(identity_module, "_PACKAGE", str(tmp_path))
    monkeypatch.setattr(identity_module, "IMPORTED", time.time_ns() + 10**12)
    for change in (
        lambda: None,
        lambda: (package / "passes" / "one.py").write_text("12"),
        lambda: os.utime(package / "passes" / "one.py", (1, 1)),
        lambda: (package / "passes" / "two.py").write_text("1"),
        lambda: (package / "passes" / "two.py").unlink(),
    ):
        change()
        identity_module._sources.cache_clear()
        keys.append(identity(*given, {}))
    identity_module._sources.cache_clear()
    monkeypatch.setattr(identity_module, "IMPORTED", time.time_ns() - 10**12)
    assert identity(*given, {}) is None  # changed since this process has begun, which may run what was there before
    monkeypatch.setattr(identity_module, "IMPORTED", time.time_ns() + 10**12)
    monkeypatch.setattr(identity_module, "_PACKAGE", str(tmp_path / "gone"))
    identity_module._sources.cache_clear()
    assert identity(*given, {}) is None  # a package in an archive
    monkeypatch.undo()
    identity_module._sources.cache_clear()
    assert len(set(keys)) == 4
    assert keys[2] == keys[4]
    assert None not in keys


def an_assembly() -> Routine:
    """Return a routine with a step of each kind."""
    dtype = np.dtype("float32")
    one, two = Array((2, 3), dtype, name="one"), Array((3, 3), dtype, name="two")
    steps = []

    def add(array: Array) -> Array:
        steps.append(array.step)
        return array

    from minpy.backends.native.language import Product, constant

    e = add(Elementwise.of("multiply", one, constant([1.0, 2.0, 3.0], "float32")))
    c = add(Elementwise.of("cast", e, dtype="float64"))
    r = add(Reduce.of("sum", c, (1,)))
    v = add(View.of(e, (3, 2), Layout(0, (1, 3))))
    p = add(Product.of(e, two))
    s = add(Assembly.of([p], (4, 5), [Layout(6, (5, 1))], fill=0))
    (k,) = Call.of(np.negative, (s, 3), [((4, 5), "float32")], "why")
    steps.append(k.step)
    return Routine([Part("forward", [one, two], steps, [r, v, k])])


OTHERS = {
    ("Elementwise", "function"): "add",
    ("Elementwise", "dtype"): "float16",
    ("Reduce", "function"): "max",
    ("Reduce", "axes"): (0,),
    ("View", "shape"): (2, 3),
    ("View", "layout"): Layout(1, (1, 3)),
    ("Assembly", "shape"): (5, 4),
    ("Assembly", "pieces"): (Piece(Layout(7, (5, 1))),),
    ("Assembly", "fill"): 1,
    ("Call", "function"): np.positive,
    ("Call", "arguments"): None,
    ("Call", "facts"): None,
    ("Call", "reason"): "because",
    ("Call", "node"): None,
    ("Call", "form"): Piece(Layout(0, ())),
}


def test_everything_of_every_step_counts() -> None:
    """A field that is added to a kind of step fails here, until it is known what another value of it decides."""
    import dataclasses

    def told(routine: Routine) -> Any:
        return identity_module.written(identity_module.described(routine.parts))

    before = told(an_assembly())
    assert told(an_assembly()) == before
    count = len(an_assembly().steps)
    for number in range(count):
        kind = type(an_assembly().steps[number])
        for field in dataclasses.fields(kind):
            if field.name in ("operands", "outputs", "origin"):
                continue
            routine = an_assembly()
            step = routine.steps[number]
            other = OTHERS[kind.__name__, field.name]
            if other is None and field.name == "arguments":
                other = (step.arguments[0], 4)
            elif field.name in ("facts", "node"):
                continue  # the outputs say the one; a node of a graph is held against another in the tests above
            setattr(step, field.name, other)
            assert told(routine) != before, (kind, field.name)
    for number in range(count):
        routine = an_assembly()
        output = routine.steps[number].outputs[0]
        output.shape = (*output.shape, 1)
        assert told(routine) != before
        routine = an_assembly()
        routine.steps[number].outputs[0].dtype = np.dtype("int8")
        assert told(routine) != before


@pytest.mark.parametrize("function", [lambda data: data, Case(x).round, open(os.devnull).read])  # noqa: SIM115
def test_functions_that_cannot_be_told(function: Any) -> None:
    data = Array((2,), np.dtype("float32"), name="data")
    (found,) = Call.of(function, (data,), [((2,), "float32")], "why")
    assert found.step is not None
    with pytest.raises((pickle.PicklingError, TypeError, AttributeError)):
        identity_module.written(identity_module.described([Part("forward", [data], [found.step], [found])]))


# -- files -----------------------------------------------------------------------------------------------------------


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda whole: whole[: len(whole) // 2],
    "emptied": lambda whole: b"",
    "flipped": lambda whole: whole[:-50] + bytes([whole[-50] ^ 1]) + whole[-49:],
    "longer": lambda whole: whole + b" ",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_plan_that_is_damaged_is_made_again(damage: str, kernels: Path) -> None:
    symbol, arrays = sym.exp(x * y, name="e"), [A, B]
    run(symbol, arrays)
    [path] = plans_in(kernels)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    case, _ = run(symbol, arrays)
    assert not recalled(case)
    assert path.read_bytes() == whole
    assert recalled(run(symbol, arrays)[0])


def test_a_plan_of_another_program(kernels: Path) -> None:
    run(sym.exp(x * y, name="e"), [A, B])
    [first] = plans_in(kernels)
    run(sym.exp(x + y, name="e"), [A, B])
    [second] = set(plans_in(kernels)) - {first}
    first.write_bytes(second.read_bytes())
    assert not recalled(run(sym.exp(x * y, name="e"), [A, B])[0])


def test_code_that_is_gone(kernels: Path) -> None:
    symbol = sym.exp(x * y, name="e")
    run(symbol, [A, B])
    for path in kernels.glob("*.object"):
        path.unlink()
    assert not recalled(run(symbol, [A, B])[0])
    assert recalled(run(symbol, [A, B])[0])


def test_plans_of_another_form(kernels: Path) -> None:
    """Whole files, by their digests, with something in them that no plan is: planned anew, and never an error."""
    symbol = sym.exp(called(x, name="c") * y, name="e")
    run(symbol, [A, B])
    [path] = plans_in(kernels)
    _, about, content = path.read_bytes().split(b"\n", 2)
    key = json.loads(about)["key"]
    store = Store(kind="plan")
    foreign = [pickle.dumps(value) for value in (None, [], {}, "plan", 3, Layout(0, ()))]
    cut = [content[:length] for length in range(0, len(content), 97)]
    calls_of_nothing = [content.replace(b"node", b"edge"), content.replace(b"forward", b"foreign")]
    assert all(changed != content for changed in calls_of_nothing)
    for other in (*foreign, *cut, *calls_of_nothing, b"no pickle"):
        assert store.keep(key, other, ())
        assert not recalled(run(symbol, [A, B])[0])
        assert path.read_bytes().endswith(content)
    assert recalled(run(symbol, [A, B])[0])


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINPY_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert not recalled(run(sym.exp(x * y, name="e"), [A, B])[0])


def test_constants_that_are_large_are_not_kept(monkeypatch: pytest.MonkeyPatch, kernels: Path) -> None:
    monkeypatch.setattr(identity_module, "MAX_CONSTANT_BYTES", 8)
    symbol, arrays = MORE["constants with axes"]
    for _ in range(2):
        assert not recalled(run(symbol, arrays)[0])
    assert not plans_in(kernels)


def test_all_kinds_of_files_share_the_limit(kernels: Path) -> None:
    run(sym.exp(x * y, name="e"), [A, B])
    store = Store()
    kinds = {Path(entry.path).suffix for entry in store.entries()}
    assert kinds >= {".object", ".plan"}
    store.limit = 1
    store.clean()
    assert len(store.entries()) == 1
    assert store.clear()[0] == 1
    assert not list(kernels.iterdir())


SCRIPT = """
import sys
import numpy as np
import minpy as mx
from minpy import customop, gluon, nd, autograd

@customop("numpy")
def swish(x):
    return FACTOR * x / (1 + np.exp(-x))

swish.def_grad(lambda ans, x: lambda g: g * (ans + (FACTOR - ans) / (1 + np.exp(-x))))

class Net(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return swish(x)

x = nd.array(np.linspace(-2, 2, 12).reshape(3, 4))
net = Net()
net.hybridize()
for _ in range(4):
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
expected = FACTOR * x.asnumpy() / (1 + np.exp(-x.asnumpy()))
assert np.allclose(y.asnumpy(), expected, 1e-5), (y, expected)
names = ("llvmlite.binding", "minpy.backends.native.passes", "minpy.backends.native.codegen.program_builder")
print(*[name in sys.modules for name in names])
"""


def process(source: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], check=True, capture_output=True, text=True, env=os.environ
    )
    return done.stdout.strip()


def test_a_new_process_plans_nothing_and_loads_no_compiler() -> None:
    assert process(SCRIPT.replace("FACTOR", "1.0")) == "True True True"
    expected = f"{not LINKS} False False"
    assert process(SCRIPT.replace("FACTOR", "1.0")) == expected
    assert process(SCRIPT.replace("FACTOR", "3.0")) == "True True True"  # another body, in a file of the same name
    assert process(SCRIPT.replace("FACTOR", "1.0")) == expected


LINKS = sys.platform.startswith("linux") and os.uname().machine == "x86_64"


def test_it_is_made_by_one_function() -> None:
    case, _ = run(sym.exp(x * y, name="e"), [A, B])
    [program] = case.compiled._programs.values()
    found = native_program(program.steps, program.facts, fast_math=False, parameters=())
    assert set(found.seconds) == {"translating", "recalling"}
    assert found.build is found.build
    assert "passes" in found.build.seconds
