"""Nests as native code: every function, dtype and special value against NumPy, and whole random routines."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy
import pytest
from random_routines import assert_same, random_inputs, random_routine

pytest.importorskip("llvmlite")

from native_kernels import Compiled, Runner, nest_of, run_nest
from support.reference_evaluator import evaluate

from minpy.backends.native import mathematics
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.fusing.loop_nest import Level, Nest, Place
from minpy.backends.native.kernels import element_functions
from minpy.backends.native.kernels.codegen import kernel_of
from minpy.backends.native.kernels.function_writer import value_type
from minpy.backends.native.kernels.ir_module import module_text
from minpy.backends.native.language import (
    Array,
    Elementwise,
    Layout,
    Part,
    Reduce,
    Routine,
    View,
    constant,
    viewed,
)
from minpy.backends.native.language.function_table import ELEMENTWISE, REDUCTIONS
from minpy.backends.native.machine import llvm

DTYPES = [
    *(numpy.dtype(name) for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32")),
    *(numpy.dtype(name) for name in ("int64", "uint64", "float32", "float64")),
]
FLOATS = [numpy.dtype("float32"), numpy.dtype("float64")]
# What NumPy's C code leaves undefined.
UNDEFINED = {"reciprocal"}


def special(dtype: numpy.dtype) -> list[Any]:
    """Return values at the edges of a dtype, and some between."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        bounds = numpy.iinfo(dtype)
        small = [0, 1, 2, 3, 5, 7, 8, 9, 31, 32, 63, 64, 65]
        low = [-1, -2, -3, -7, bounds.min + 1] if dtype.kind == "i" else []
        return [*small, *low, bounds.min, bounds.max, bounds.max - 1]
    limits = numpy.finfo(dtype)
    positive = [
        0.0, 1.0, 0.5, 1.5, 2.5, 0.1, 2.0, 3.0, 7.25, 1e-3, 88.0, 1e10, 2.0**23 + 1, 2.0**31, 2.0**52 + 1, 2.0**63,
        float(limits.max), float(limits.tiny), float(limits.smallest_subnormal), numpy.inf,
    ]  # fmt: skip
    return [*positive, *(-one for one in positive), numpy.nan]


def operands_of(function: str, dtype: numpy.dtype) -> list[numpy.ndarray]:
    """Return operands in all combinations of special values."""
    arity = ELEMENTWISE[function].arity
    values = [special(dtype)] * arity
    if function == "where":
        values = [[False, True], special(dtype)[:12], special(dtype)[-12:]]
    if function == "power" and dtype.kind == "i":
        values = [special(dtype), [one for one in special(dtype) if one >= 0]]
    rows = list(itertools.product(*values))
    columns = [numpy.array(column, dtype) for column in zip(*rows, strict=True)]
    if function == "where":
        columns[0] = columns[0].astype(bool)
    return columns


def assert_exact(found: numpy.ndarray, expected: numpy.ndarray, signs: bool = True) -> None:
    """Compare bit by bit, but for the bits of NaN."""
    numpy.testing.assert_array_equal(found, expected, strict=True)
    if expected.dtype.kind == "f" and signs:
        numbers = ~numpy.isnan(expected)
        numpy.testing.assert_array_equal(numpy.signbit(found)[numbers], numpy.signbit(expected)[numbers])


def in_ulps(found: numpy.ndarray, expected: numpy.ndarray) -> float:
    """Return the largest difference in units in the last place of what is expected."""
    numbers = numpy.isfinite(expected) & numpy.isfinite(found)
    numpy.testing.assert_array_equal(found[~numbers], expected[~numbers].astype(found.dtype))
    with numpy.errstate(all="ignore"):
        near = numpy.minimum(numpy.abs(expected[numbers]), numpy.finfo(found.dtype).max / 2).astype(found.dtype)
    unit = numpy.spacing(near).astype("longdouble")
    return float(numpy.max(numpy.abs(found[numbers].astype("longdouble") - expected[numbers]) / unit, initial=0))


CASES = [
    (name, dtype)
    for name, row in ELEMENTWISE.items()
    for dtype in DTYPES
    if name != "cast" and element_functions.covers(name, dtype) and dtype.kind in row.kinds
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_functions(dtype: numpy.dtype) -> None:
    """Every function of a dtype, in one module, over all combinations of special values."""
    kernels, checks = [], []
    for name, of in CASES:
        if of != dtype:
            continue
        values = operands_of(name, dtype)
        inputs = [Array(one.shape, one.dtype) for one in values]
        step = Elementwise(tuple(inputs), name)
        output = step.output
        nest = Nest(output.shape, frozenset(), [step], {output: Level.FULL}, {output: 0}, {output: None})
        kernels.append(kernel_of(nest))
        checks.append((name, step, dict(zip(inputs, values, strict=True))))
    compiled = Compiled(kernels)
    for number, (name, step, memory) in enumerate(checks):
        memory[step.output] = numpy.zeros(step.output.shape, step.output.dtype)
        compiled.call(number, memory)
        operands = [memory[one] for one in step.operands]
        (expected,) = step.evaluate(*operands)
        found = memory[step.output]
        kind = value_type(dtype)
        try:
            if dtype.kind == "f" and (mathematics.covers(name, kind) or name.startswith("logaddexp")):
                _check_rounded(name, kind, operands, found, expected)
            else:  # of two zeros NumPy gives either
                assert_exact(found, expected, name not in ("maximum", "minimum", "fmax", "fmin"))
        except AssertionError as error:
            raise AssertionError(f"{name} of {dtype}: {error}") from None


def _check_rounded(
    name: str, kind: str, operands: list[numpy.ndarray], found: numpy.ndarray, expected: numpy.ndarray
) -> None:
    wide = {"float": "float64", "double": "longdouble"}[kind]
    bound = mathematics.accuracy(name, kind) if mathematics.covers(name, kind) else 8.0
    if name != "erf":
        with numpy.errstate(all="ignore"):
            exact = ELEMENTWISE[name].evaluate(*(one.astype(wide) for one in operands))
            # Those of long doubles are not beyond doubt.
            edges = ~numpy.isfinite(expected) | numpy.any([numpy.isinf(one) for one in operands], 0)
            exact = numpy.where(edges, expected.astype(wide), exact)
    else:
        exact = expected.astype(wide)
    ulps = in_ulps(found, exact)
    assert ulps <= bound + 1.5, f"{name} of {kind} is {ulps} ulps off"


def test_functions_that_are_covered() -> None:
    """What has no code is named, so that it becomes a call."""
    assert not element_functions.covers("nothing", FLOATS[0])
    assert not element_functions.covers("add", numpy.dtype("float16"))
    assert not element_functions.covers("exp", numpy.dtype("int32"))
    missing = {
        name
        for name in ELEMENTWISE
        for dtype in FLOATS
        if "f" in ELEMENTWISE[name].kinds and not element_functions.covers(name, dtype)
    }
    assert missing <= {
        name for name in ELEMENTWISE if not all(mathematics.covers(name, kind) for kind in ("float", "double"))
    }


def test_functions_without_code() -> None:
    x = Array((3,), numpy.dtype("complex64"))
    step = Elementwise((x,), "tan")
    nest = Nest((3,), frozenset(), [step], {step.output: Level.FULL}, {step.output: 0}, {step.output: None})
    with pytest.raises(ValueError, match=r"there is no native code for tan of complex64: it has to be a call\."):
        kernel_of(nest)


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_casts(source: numpy.dtype) -> None:
    values = numpy.array(special(source), source)
    if source.kind == "f":  # those that fit: see the next test
        values = values[numpy.isfinite(values) & (numpy.abs(values) < 100)]
    x = Array(values.shape, source)
    outputs = [Elementwise.of("cast", x, dtype=target) for target in DTYPES]
    for found, target in zip(run_nest(outputs, values.shape, (), {x: values}), DTYPES, strict=True):
        picked = values >= 0 if target.kind == "u" and source.kind == "f" else numpy.ones(values.shape, bool)
        assert_exact(found[picked], values.astype(target)[picked])


def test_casts_of_floats_that_do_not_fit() -> None:
    """One by one, NumPy's code on x86-64 gives these, and kernels do everywhere."""
    values = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 3e9, -3e9, 1e20, -1.5, 300, 2.0**63, 5e9])
    x = Array(values.shape, values.dtype)
    low, lowest = -(2**31), -(2**63)
    expected: dict[str, list[int]] = {
        "bool": [True] * 10,
        "int32": [low, low, low, low, low, low, -1, 300, low, low],
        "int64": [lowest, lowest, lowest, 3000000000, -3000000000, lowest, -1, 300, lowest, 5000000000],
        "int8": [0, 0, 0, 0, 0, 0, -1, 44, 0, 0],
        "uint16": [0, 0, 0, 0, 0, 0, 65535, 300, 0, 0],
        "uint32": [0, 0, 0, 3000000000, 1294967296, 0, 4294967295, 300, 0, 705032704],
        "uint64": [2**63, 0, 2**63, 3000000000, 2**64 - 3000000000, 0, 2**64 - 1, 300, 2**63, 5000000000],
    }
    outputs = [Elementwise.of("cast", x, dtype=target) for target in expected]
    for found, (target, row) in zip(run_nest(outputs, values.shape, (), {x: values}), expected.items(), strict=True):
        assert found.tolist() == row, target


def test_powers_with_numbers() -> None:
    """An exponent that is known becomes multiplications; results wrap."""
    values = numpy.array([0, 1, 2, 3, -3, 10, 2**30], "int32")
    x = Array(values.shape, values.dtype)
    exponents = [0, 1, 2, 3, 7, 10, 31]
    outputs = [Elementwise.of("power", x, constant(one, "int32")) for one in exponents]
    kernel = kernel_of(nest_of(outputs, values.shape, ()))
    assert not kernel.uses
    for found, exponent in zip(run_nest(outputs, values.shape, (), {x: values}), exponents, strict=True):
        assert_exact(found, numpy.power(values, numpy.int32(exponent)))


# -- reductions ------------------------------------------------------------------------------------------------------

SHAPES = [(5, 7), (3, 130), (130, 3), (70, 33), (1, 5), (1, 1)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(dtype: numpy.dtype) -> None:
    """Every reduction along every axis, as rows and as columns."""
    numbers = numpy.random.default_rng(3)
    for shape in SHAPES if dtype.kind == "f" else SHAPES[:2]:
        values = numbers.integers(0 if dtype.kind in "bu" else -3, 4, shape).astype(dtype)
        x = Array(shape, dtype)
        for axes in ((0,), (1,), (0, 1)):
            names = [name for name, row in REDUCTIONS.items() if dtype.kind in row.kinds]
            outputs = [Reduce.of(name, x, axes) for name in names]
            found = run_nest(outputs, shape, axes, {x: values})
            columns = [one for one in outputs if not one.step.function.startswith("arg")]  # type: ignore[union-attr]
            again = dict(zip(columns, run_nest(columns, shape, (), {x: values}), strict=True))
            for output, one in zip(outputs, found, strict=True):
                assert isinstance(output.step, Reduce)
                (expected,) = output.step.evaluate(values)
                assert_exact(one, expected, signs=False)
                if output in again:
                    assert_exact(again[output], expected, signs=False)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_special_values(dtype: numpy.dtype, axis: int) -> None:
    """NaN goes through, and the first one is found; so is the first of equal elements, infinite ones too."""
    numbers = numpy.random.default_rng(4)
    choices = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, 2.0], dtype)
    for length in (3, 20, 90):
        for chances in (
            [0, 0, 1, 0, 0, 0, 0],
            [0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1],
            [0.02, 0.1, 0.1, 0.2, 0.2, 0.2, 0.18],
        ):
            values = numbers.choice(choices, (length, length), p=chances)
            x = Array(values.shape, dtype)
            outputs = [Reduce.of(name, x, (axis,)) for name in ("max", "min", "argmax", "argmin", "sum", "prod")]
            for output, found in zip(outputs, run_nest(outputs, values.shape, (axis,), {x: values}), strict=True):
                assert isinstance(output.step, Reduce)
                assert_exact(found, output.step.evaluate(values)[0], signs=False)


def test_index_of_all() -> None:
    """The index of the first of all elements, in the order of C, however they lie in memory."""
    values = numpy.zeros((4, 6, 5), "float32")
    values[1, 2, 3] = values[3, 0, 0] = values[1, 4, 0] = 9
    memory = numpy.ascontiguousarray(values.transpose(2, 0, 1))
    root = Array(memory.shape, memory.dtype)
    x = viewed(root, lambda a: a.transpose(1, 2, 0))
    (found,) = run_nest([Reduce.of("argmax", x, (0, 1, 2))], values.shape, (0, 1, 2), {root: memory})
    assert found.item() == values.argmax()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("shape", "axes"), [((1 << 22,), (0,)), ((1 << 20, 3), (0,)), ((3, 1 << 20), (1,)), ((64, 1 << 14, 4), (0, 1))]
)
def test_long_sums(dtype: numpy.dtype, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Sums of millions are as exact as those of NumPy along contiguous axes, whichever axis they run along."""
    for values, bounds in (
        (numpy.random.default_rng(5).random(shape).astype(dtype), (1e-7, 3e-16)),
        (numpy.full(shape, 0.1, dtype), (1.6e-7, 3e-16)),  # what a block's errors all add up to: NumPy's are the same
    ):
        x = Array(shape, dtype)
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        rows = values.transpose(*kept, *axes).reshape(-1, math.prod(shape[axis] for axis in axes))
        exact = numpy.array([math.fsum(row) for row in rows])
        for inner in (axes, ()):
            (found,) = run_nest([Reduce.of("sum", x, axes)], shape, inner, {x: values})
            assert numpy.max(numpy.abs(found.ravel() - exact) / exact) < bounds[dtype == "float64"]


def test_long_sums_of_columns_beside_rows() -> None:
    """Columns are summed up in blocks, too, where rows are computed."""
    shape = (1 << 17, 5)
    for dtype, bound in (("float32", 1e-7), ("float64", 4e-16)):
        values = numpy.random.default_rng(6).random(shape).astype(dtype)
        x = Array(shape, numpy.dtype(dtype))
        total = Reduce.of("sum", x, (1,))
        difference = Elementwise.of("subtract", x, Elementwise.of("multiply", total, constant(0.01, dtype)))
        column = Reduce.of("sum", difference, (0,))
        whole = Reduce.of("sum", difference, (0, 1))
        found = run_nest([column, whole], shape, (1,), {x: values})
        (exact,) = difference.step.evaluate(
            values, numpy.multiply(values.sum(1, keepdims=True), values.dtype.type(0.01))
        )  # type: ignore[union-attr]
        for one, axis in zip(found, (0, None), strict=True):
            expected = exact.astype("longdouble").sum(axis)
            assert numpy.max(numpy.abs(one - expected) / expected) < bound + 2e-7 * (dtype == "float32")


def test_sums_that_are_not_finite() -> None:
    values = numpy.ones((3, 5000))
    values[0, 7], values[1, 4000], values[2, 3] = numpy.inf, -numpy.inf, numpy.nan
    for dtype in FLOATS:
        x = Array(values.shape, dtype)
        (found,) = run_nest([Reduce.of("sum", x, (1,))], values.shape, (1,), {x: values.astype(dtype)})
        assert_exact(found[:, 0], numpy.array([numpy.inf, -numpy.inf, numpy.nan], dtype))
        turned = Array((5000, 3), dtype)
        memory = {turned: numpy.ascontiguousarray(values.T.astype(dtype))}
        (found,) = run_nest([Reduce.of("sum", turned, (0,))], (5000, 3), (), memory)
        assert_exact(found[0], numpy.array([numpy.inf, -numpy.inf, numpy.nan], dtype))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (3, 0, 40), (0, 70)])
def test_empty(shape: tuple[int, ...]) -> None:
    """Reductions of nothing are their identities, whatever is computed of them; what has no elements is not written."""
    x = Array(shape, numpy.dtype("float32"))
    b = Array(shape, numpy.dtype("bool"))
    memory = {x: numpy.zeros(shape, "float32"), b: numpy.zeros(shape, "bool")}
    for axis in range(len(shape)):
        found = [Reduce.of("sum", x, (axis,)), Reduce.of("prod", x, (axis,)), Reduce.of("all", b, (axis,))]
        outputs = [*found, Elementwise.of("add", found[1], constant(1, "float32"))]
        outputs.append(Elementwise.of("subtract", x, found[0]))
        for inner in ((axis,), ()):
            wanted = outputs if inner else found
            expected = evaluate(
                Routine([Part("all", [x, b], list(nest_of(wanted, shape, inner).steps), wanted)]),
                [[memory[x], memory[b]]],
            )[0]
            for one, other in zip(run_nest(wanted, shape, inner, memory), expected, strict=True):
                assert_exact(one, other)


# -- nests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(40))
def test_random_routines(seed: int, mood: str) -> None:
    routine = random_routine(seed, mood, steps=18)
    inputs = random_inputs(routine, seed, mood)
    copies = [[one.copy() for one in part] for part in inputs]
    expected = evaluate(routine, copies)
    found = Runner(scheduled(routine)).run(routine, inputs)
    assert_same(found, expected, mood)
    assert_same(inputs, copies, mood)


def test_reductions_of_repeated_rows() -> None:
    """Views repeat values of rows along inner axes, where they are reduced again, or summed up by columns."""
    x = Array((6, 9), numpy.dtype("float32"))
    row = Reduce.of("sum", x, (1,))
    repeated = viewed(row, lambda one: numpy.broadcast_to(one, (6, 9)))
    outputs = [Reduce.of("sum", repeated, (1,)), Reduce.of("sum", repeated, (0,)), Reduce.of("sum", repeated, (0, 1))]
    nest = nest_of(outputs, (6, 9), (1,))
    nest.levels.update(zip(outputs, (Level.ROW, Level.COLUMN, Level.COLUMN), strict=True))
    nest.phases.update(dict.fromkeys(outputs, 1))
    values = numpy.arange(54, dtype="float32").reshape(6, 9)
    kernel = kernel_of(nest)
    memory = {x: values} | {one: numpy.zeros(one.shape, "float32") for one in outputs}
    Compiled([kernel]).call(0, memory)
    expected = numpy.broadcast_to(values.sum(1, keepdims=True), (6, 9))
    for one, axes in zip(outputs, (1, 0, None), strict=True):
        assert_exact(memory[one], expected.sum(axes, keepdims=True))


def softmax(x: Array, g: Array, axis: int) -> list[Array]:
    def of(name: str, *operands: Array) -> Array:
        return Elementwise.of(name, *operands)

    exponential = of("exp", of("subtract", x, Reduce.of("max", x, (axis,))))
    y = of("divide", exponential, Reduce.of("sum", exponential, (axis,)))
    return [y, of("multiply", y, of("subtract", g, Reduce.of("sum", of("multiply", y, g), (axis,))))]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(3, 10), (10, 3), (17, 70), (150, 130)])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_softmax(shape: tuple[int, int], axis: int, parts: int) -> None:
    """Phases, values kept for later ones, vectors along rows and across them, in one run or in several."""
    numbers = numpy.random.default_rng(1)
    x, g = (Array(shape, numpy.dtype("float32")) for _ in range(2))
    memory = {one: numbers.normal(size=shape).astype("float32") for one in (x, g)}
    outputs = softmax(x, g, axis)
    nest = nest_of(outputs, shape, (axis,))
    part = Part("all", [x, g], list(nest.steps), outputs)
    (expected,) = evaluate(Routine([part]), [[memory[x], memory[g]]])
    for found, one in zip(run_nest(outputs, shape, (axis,), memory, parts), expected, strict=True):
        numpy.testing.assert_allclose(found, one, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("length", [40_000, 40_001, 65_536])
def test_ranges(length: int, parts: int) -> None:
    """Parts of a range do all of it together."""
    x = Array((length,), numpy.dtype("float64"))
    values = numpy.arange(float(length))
    (found,) = run_nest([Elementwise.of("square", x)], (length,), (), {x: values}, parts)
    assert_exact(found, values**2)


def test_small_nests_are_not_split() -> None:
    """Their loops have lengths that LLVM knows."""
    x = Array((4, 4), numpy.dtype("float32"))
    kernel = kernel_of(nest_of([Elementwise.of("tanh", x)], (4, 4), ()))
    assert kernel.splits == 1
    assert "%begin" not in kernel.body.partition("{")[2]


def test_permuted_operands() -> None:
    """Loops run in the order in which most memory is contiguous."""
    numbers = numpy.random.default_rng(2)
    a, b = Array((6, 5, 40), numpy.dtype("float32")), Array((40, 6, 5), numpy.dtype("float32"))
    memory = {one: numbers.normal(size=one.shape).astype("float32") for one in (a, b)}
    turned = viewed(b, lambda one: one.transpose(1, 2, 0))
    flipped = viewed(a, lambda one: one[:, ::-1, ::-1])
    total = Elementwise.of("add", turned, flipped)
    expected = memory[b].transpose(1, 2, 0) + memory[a][:, ::-1, ::-1]
    (found,) = run_nest([total], (6, 5, 40), (), memory)
    assert_exact(found, expected)
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1), (0, 1, 2)):
        (found,) = run_nest([Reduce.of("max", total, axes)], (6, 5, 40), axes, memory)
        assert_exact(found, expected.max(axes, keepdims=True))


def test_pieces() -> None:
    """A result may lie in another array's memory, and be read there."""
    x = Array((3, 4), numpy.dtype("float32"))
    whole = Array((5, 9), numpy.dtype("float32"))
    y = Elementwise.of("negative", x)
    place = Place(whole, Layout(11, (9, 1)))
    first = kernel_of(Nest((3, 4), frozenset(), [y.step], {y: Level.FULL}, {y: 0}, {y: place}))
    turned = viewed(y, lambda one: one.T[1:])
    z = Elementwise.of("square", turned)
    second = kernel_of(Nest((3, 3), frozenset(), [z.step], {z: Level.FULL}, {z: 0}, {z: None}), {y: place})
    values = numpy.arange(12, dtype="float32").reshape(3, 4)
    memory = {x: values, whole: numpy.zeros((5, 9), "float32"), z: numpy.zeros((3, 3), "float32")}
    compiled = Compiled([first, second])
    compiled.call(0, memory)
    compiled.call(1, memory)
    expected = numpy.zeros((5, 9), "float32")
    expected[1:4, 2:6] = -values
    assert_exact(memory[whole], expected)
    assert_exact(memory[z], values.T[1:] ** 2)


def test_views_that_cannot_be_read_in_place() -> None:
    x = Array((3, 4), numpy.dtype("float32"))
    y = Elementwise.of("negative", x)
    flat = View.of(y, (12,), Layout(0, (1,)))
    z = Elementwise.of("square", flat)
    place = Place(Array((5, 9), numpy.dtype("float32")), Layout(11, (9, 1)))
    with pytest.raises(ValueError, match=r"a view \(12,\) at \(0, \(1,\)\) of \(3, 4\) cannot be read where that lies"):
        kernel_of(Nest((12,), frozenset(), [z.step], {z: Level.FULL}, {z: 0}, {z: None}), {y: place})


def test_in_place() -> None:
    """What a kernel says can be computed in place gives the same there."""
    shape = (30, 70)
    numbers = numpy.random.default_rng(7)
    x, g = (Array(shape, numpy.dtype("float32")) for _ in range(2))
    values = {one: numbers.normal(size=shape).astype("float32") for one in (x, g)}
    checked = 0
    for axis in (0, 1):
        outputs = softmax(x, g, axis)
        kernel = kernel_of(nest_of(outputs, shape, (axis,)))
        compiled = Compiled([kernel])
        arrays = [pointer.array for pointer in kernel.pointers]
        expected = dict(values) | {one: numpy.zeros(shape, "float32") for one in outputs}
        compiled.call(0, expected)
        for written, read in kernel.in_place:
            memory = {one: values[one].copy() if one in values else numpy.zeros(shape, "float32") for one in arrays}
            memory[arrays[written]] = memory[arrays[read]]
            compiled.call(0, memory)
            for output in outputs:
                assert_exact(memory[output], expected[output])
            checked += 1
    assert checked == 6


def test_not_in_place() -> None:
    """Neither what is read later, nor what is read at other points, can be written over."""
    x = Array((8, 8), numpy.dtype("float32"))
    total = Elementwise.of("add", x, viewed(x, numpy.transpose))
    assert not kernel_of(nest_of([total], (8, 8), ())).in_place
    y = Elementwise.of("square", x)
    z = Elementwise.of("subtract", x, Reduce.of("sum", y, (1,)))
    nest = nest_of([y, z], (8, 8), (1,))
    kernel = kernel_of(nest)
    arrays = [pointer.array for pointer in kernel.pointers]
    assert {(arrays[a], arrays[b]) for a, b in kernel.in_place} == {(z, x)}


def test_equal_nests_are_one_function() -> None:
    """Nests that differ in their buffers only share code; metadata is numbered through."""

    def kernel(value: float) -> Any:
        x, y = (Array((50, 40), numpy.dtype("float32")) for _ in range(2))
        total = Reduce.of("sum", Elementwise.of("multiply", x, y), (1,))
        return kernel_of(nest_of([Elementwise.of("multiply", total, constant(value, "float32"))], (50, 40), (1,)))

    kernels = [kernel(0.5), kernel(0.5), kernel(0.25)]
    text, names = module_text(kernels)
    assert text.count("define internal void") == 2
    assert names[kernels[0]] == names[kernels[1]] != names[kernels[2]]
    assert "!#" not in text


def test_other_processors() -> None:
    """The same code is one for AArch64, and for x86-64 without AVX."""
    x, g = (Array((30, 70), numpy.dtype("float32")) for _ in range(2))
    outputs = [*softmax(x, g, 1), Reduce.of("argmax", x, (1,))]
    text, _ = module_text([kernel_of(nest_of(outputs, (30, 70), (1,)))], linkage="")
    assert llvm.emit(text, "aarch64-unknown-linux-gnu")[:4] == b"\x7fELF"
    assert llvm.emit(text, "x86_64-unknown-linux-gnu", "x86-64-v2")[:4] == b"\x7fELF"


def test_estimates() -> None:
    x = Array((100, 200), numpy.dtype("float32"))
    total = Reduce.of("sum", Elementwise.of("square", x), (1,))
    kernel = kernel_of(nest_of([total], (100, 200), (1,)))
    assert kernel.flops == 2 * 20_000
    assert kernel.bytes_moved == 4 * 20_000 + 4 * 100
    assert kernel.name == "square_sum"
