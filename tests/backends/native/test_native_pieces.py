"""Reductions of columns and of whole arrays in pieces: whoever does which, and when, results are the same bits."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from random_routines import assert_same, random_inputs, random_routine
from thoroughness import often

import minpy as mx

pytest.importorskip("llvmlite")

from native_kernels import Compiled, Runner, nest_of, ranges_of, run_nest
from support.reference_evaluator import evaluate

from minpy.backends.native.codegen import program_builder
from minpy.backends.native.codegen.launches import is_shared, launch_of
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.kernels import accumulators, body, codegen, column_reductions, split_reductions
from minpy.backends.native.kernels.codegen import kernel_of
from minpy.backends.native.kernels.function_writer import Writer
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.kernels.nest_geometry import Dim
from minpy.backends.native.language import Array, Elementwise, Part, Reduce, Routine, constant, viewed
from minpy.backends.native.machine import helper_thread

COMPILES = True
FLOATS = ["float32", "float64"]
of = Elementwise.of


def total(x: Array, *axes: int) -> Array:
    return Reduce.of("sum", x, axes)


def layer_norm(x: Array, w: Array, g: Array) -> list[Array]:
    """The gradients of something like a layer norm: rows in two phases, and sums of columns."""
    h = of("multiply", x, of("reciprocal", of("add", total(of("absolute", x), 1), constant(1, x.dtype))))
    gh = of("multiply", g, w)
    dx = of("subtract", gh, of("multiply", h, total(of("multiply", gh, h), 1)))
    return [dx, total(of("multiply", g, h), 0), total(g, 0), Reduce.of("max", g, (0,)), total(of("square", dx), 0, 1)]


def bits(arrays: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in arrays]


# -- which pieces ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1, 2, 16, 1024])
@pytest.mark.parametrize("length", [1, 2, 7, 16, 17, 40, 1000, 1024, 100_003])
def test_pieces_make_up_the_loop(length: int, unit: int) -> None:
    """They are as many as there is room for, none is empty, and each begins where the one before ends."""
    found = split_reductions.cut(Dim(length, 0), length, unit)
    units = -(-length // unit)
    if units == 1:
        assert found is None
        return
    assert found.count == min(8, units)
    memory = np.zeros((found.count, 2), "int64")
    w = Writer()
    for row in range(found.count):
        number = w.put(f"add i64 %begin, {row}")
        for column, edge in enumerate(found.bounds(w, number)):
            w.store(edge, w.offset("%p0", "i64", str(2 * row + column)), np.dtype("int64"))
    array = Array(memory.shape, memory.dtype)
    kernel = Kernel(
        w.function("ptr %p0, ptr %scratch, i64 %begin, i64 %end"),
        (Pointer(array, 0, True),),
        declares=frozenset(w.required.values()),
    )
    Compiled([kernel]).call(0, {array: memory}, [(0, 1)])
    assert memory[0, 0] == 0
    assert memory[-1, 1] == length
    assert (memory[1:, 0] == memory[:-1, 1]).all()
    assert (memory[:, 0] < memory[:, 1]).all()
    assert (memory[:, 0] % unit == 0).all()
    assert np.ptp((memory[:, 1] - memory[:, 0])[:-1]) <= unit


def kernel_for(shape: tuple[int, ...], inner: tuple[int, ...], build: Any, dtype: str = "float32") -> Kernel:
    x = Array(shape, np.dtype(dtype))
    return kernel_of(nest_of(build(x), shape, inner))


@pytest.mark.parametrize(
    ("shape", "inner", "build", "count"),
    [
        ((1024, 768), (1,), lambda x: [total(x, 1), total(x, 0)], 8),
        ((1_000_000,), (0,), lambda x: [total(of("tanh", x), 0)], 8),
        ((200_000, 10), (0,), lambda x: [total(x, 0)], 8),
        ((40, 100_000), (1,), lambda x: [total(x, 1), total(x, 0)], 3),  # of 16 rows and more, as blocks are
        ((128, 128), (1,), lambda x: [total(of("tanh", x), 1), total(x, 0)], 0),  # too small
        ((16, 100_000), (1,), lambda x: [total(x, 1), Reduce.of("max", x, (0,))], 4),  # columns are much of it
        ((6, 100_000), (1,), lambda x: [total(x, 1), Reduce.of("max", x, (0,))], 0),
        ((1000, 1000), (0,), lambda x: [total(x, 0)], 0),  # tiles are shared
        ((1000, 1000), (1,), lambda x: [total(x, 1)], 0),  # rows are
        ((1_000_000,), (), lambda x: [of("tanh", x)], 0),
    ],
)
def test_what_is_cut(shape: tuple[int, ...], inner: tuple[int, ...], build: Any, count: int) -> None:
    kernel = kernel_for(shape, inner, build)
    assert (kernel.splits if kernel.partials is not None else 0) == count
    assert kernel.end == max(1, kernel.splits) + bool(count)
    if count:
        assert is_shared(kernel)
        assert [pointer.written for pointer in kernel.pointers if pointer.array is kernel.partials] == [True]


def test_memory_of_pieces_is_planned() -> None:
    """It belongs to the work alone, and nobody else reads or writes it."""
    x = Array((1024, 768), np.dtype("float32"))
    nest = nest_of([total(x, 1), total(x, 0)], x.shape, (1,))
    work = launch_of(nest, {}, kernel_of, has_blas=True)
    (kernel,) = work.runs
    assert isinstance(kernel, Kernel)
    assert list(work.uses.temporaries) == [kernel.partials]
    assert kernel.partials not in (*work.uses.reads, *work.uses.writes)
    assert kernel.partials.nbytes == 8 * 768 * 8  # of each piece, float64
    assert work.uses.scratch == 2 * 768 * 4  # of each thread, what is not in them yet


# -- kernels ---------------------------------------------------------------------------------------------------------

FUNCTIONS = ["sum", "prod", "max", "min", "argmax", "argmin"]
WHOLES = [
    ((1000, 1003), (0, 1)),
    ((100_001,), (0,)),
    ((262_144,), (0,)),
    ((20_000, 7), (0,)),
    ((40_000, 3), (0,)),
    ((300, 7, 50), (0, 1, 2)),
    ((30, 40, 7, 16), (0, 1, 2)),
]


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "uint8", "bool"])
@pytest.mark.parametrize(("shape", "axes"), WHOLES)
def test_wholes(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    """All functions of all elements: NaN, infinities and ties among them, in any number of parts."""
    numbers = np.random.default_rng(len(shape))
    x = Array(shape, np.dtype(dtype))
    values = numbers.choice(np.array([0, 1, 2, 3, 5]), shape).astype(dtype)
    draws = [values]
    if dtype in FLOATS:
        special = values.copy()
        special[numbers.random(shape) < 1e-4] = np.inf
        last = special.copy()
        last.flat[-1] = np.nan
        draws += [special, last, np.full(shape, -np.inf, dtype), np.full(shape, -0.0, dtype)]
    functions = ["any", "all"] if dtype == "bool" else FUNCTIONS
    if 1 < len(axes) < len(shape):  # indices are along one axis, or all
        functions = [name for name in functions if not name.startswith("arg")]
    outputs = [Reduce.of(name, x, axes) for name in functions]
    kernel = kernel_of(nest_of(outputs, shape, axes))
    assert kernel.partials is not None
    compiled = Compiled([kernel])
    for draw in draws:
        first: list[bytes] = []
        with np.errstate(all="ignore"):
            expected = [output.step.evaluate(draw)[0] for output in outputs]  # type: ignore[union-attr]
        for parts, backwards in ((1, False), (2, True), (3, False), (8, True)):
            memory = {
                pointer.array: np.full(pointer.array.shape, 77, pointer.array.dtype) for pointer in kernel.pointers
            }
            memory[x] = draw
            compiled.call(0, memory, ranges_of(kernel, parts, backwards))
            found = [memory[output] for output in outputs]
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other, strict=True)
            first = first or bits(found)
            assert bits(found) == first


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1024, 768), (1001, 77), (520, 300), (97, 1000), (20_000, 9)])
def test_columns_beside_rows(shape: tuple[int, int], dtype: str) -> None:
    numbers = np.random.default_rng(1)
    symbols = [Array(one, np.dtype(dtype)) for one in (shape, shape[1:], shape)]
    memory = {one: numbers.normal(size=one.shape).astype(dtype) for one in symbols}
    outputs = layer_norm(*symbols)
    nest = nest_of(outputs, shape, (1,))
    assert kernel_of(nest).partials is not None
    wide = [Array(one.shape, np.dtype("float64")) for one in symbols]
    results = layer_norm(*wide)
    part = Part("all", wide, list(nest_of(results, shape, (1,)).steps), results)
    (exact,) = evaluate(Routine([part]), [[one.astype("float64") for one in memory.values()]])
    first: list[bytes] = []
    for parts in (1, 2, 5, 8):
        found = run_nest(outputs, shape, (1,), memory, parts)
        for one, other in zip(found, exact, strict=True):
            bound = 1e-5 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(one, np.reshape(other, one.shape), bound, bound * np.abs(other).max())
        first = first or bits(found)
        assert bits(found) == first


@pytest.mark.parametrize("dtype", FLOATS)
def test_columns_of_two_axes(dtype: str) -> None:
    """Of loops that are not one, the outermost is cut: some columns run along it, of others each piece has its own."""
    shape = (24, 18, 130)
    numbers = np.random.default_rng(2)
    root = Array((18, 24, 130), np.dtype(dtype))
    x = viewed(root, lambda one: one.transpose(1, 0, 2))
    y = Array(shape, np.dtype(dtype))
    memory = {root: numbers.normal(size=root.shape).astype(dtype), y: numbers.normal(size=shape).astype(dtype)}
    difference = of("subtract", of("add", x, y), total(of("multiply", x, y), 2))
    axes = [(0,), (1,), (0, 1), (0, 1, 2), (1, 2), (0, 2)]
    outputs = [difference, *(total(of("tanh", difference), *one) for one in axes)]
    outputs.append(Reduce.of("max", difference, (1,)))
    assert kernel_of(nest_of(outputs, shape, (2,))).partials is not None
    values = np.add(memory[root].transpose(1, 0, 2), memory[y], dtype="float64")
    values = values - (memory[root].transpose(1, 0, 2).astype("float64") * memory[y]).sum(2, keepdims=True)
    expected = [values, *(np.tanh(values).sum(one, keepdims=True) for one in axes), values.max(1, keepdims=True)]
    first: list[bytes] = []
    for parts in (1, 2, 8):
        found = run_nest(outputs, shape, (2,), memory, parts)
        bound = 1e-5 if dtype == "float32" else 1e-12
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, bound, bound * np.abs(other).max())
        first = first or bits(found)
        assert bits(found) == first


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_pieces_are_rounded_once(dtype: str) -> None:
    """What cancels between pieces, or is too small beside one of them, is not lost before the end."""
    unit = float(2 ** (26 if dtype == "float32" else 56))
    for shape, axes in (((80_000,), (0,)), ((16_000, 8), (0,))):
        rows = shape[0]
        values = np.zeros(shape, dtype)
        values[0], values[rows // 8 :: rows // 8], values[-1] = unit, 1, -unit
        x = Array(shape, np.dtype(dtype))
        kernel = kernel_of(nest_of([total(x, *axes)], shape, axes))
        assert kernel.partials is not None
        (found,) = run_nest([total(x, *axes)], shape, axes, {x: values})
        expected = [math.fsum(column) for column in values.reshape(rows, -1).T]
        assert (np.ravel(found) == expected).all()


@pytest.mark.parametrize("block", [2, 16])
@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(often(25, 500)))
def test_random_routines(seed: int, mood: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small nests, all of them cut where they can be, with short blocks, in parts that run in any order."""
    monkeypatch.setattr(codegen, "_WORTH_SPLITTING", 2)
    monkeypatch.setattr(codegen, "_WORTH_CUTTING", 2)
    monkeypatch.setattr(codegen, "is_long", lambda seconds: True)
    monkeypatch.setattr(
        column_reductions, "cut", lambda loop, length, unit, most: split_reductions.cut(loop, length, unit)
    )
    for module in (accumulators, body, column_reductions):
        monkeypatch.setattr(module, "BLOCK", block)
    routine = random_routine(seed + 5000, mood, steps=18)
    inputs = random_inputs(routine, seed, mood)
    copies = [[one.copy() for one in part] for part in inputs]
    expected = evaluate(routine, copies)
    first: list[bytes] = []
    for parts, backwards in ((1, False), (2, True), (8, True)):
        runner = Runner(scheduled(routine), parts, backwards)
        given = [[one.copy() for one in part] for part in inputs]
        found = runner.run(routine, given)
        assert_same(found, expected, mood)
        results = [one for part in found for one in bits(part)]
        first = first or results
        assert results == first


# -- programs --------------------------------------------------------------------------------------------------------


def norm_loss(x: Any, w: Any, b: Any) -> Any:
    centred = x - np.mean(x, axis=1)[:, None]
    h = centred / np.sqrt(np.mean(centred * centred, axis=1) + 1e-5)[:, None]
    return np.mean((h * w + b) ** 4)


def entropy(x: Any, w: Any, b: Any) -> Any:
    z = x * w + b
    z = z - np.max(z, axis=1)[:, None]
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0]) + np.sqrt(np.sum(w * w))


def distance(x: Any, w: Any, b: Any) -> Any:
    return np.sqrt(np.mean((x - w) ** 2)) + np.max(np.abs(x)) * np.sum(b)


LOSSES = [norm_loss, entropy, distance]
DRAW = np.random.RandomState(3)
ARRAYS = [DRAW.normal(size=size).astype("f4") for size in ((131, 400), (400,), (400,))]


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_thread, "count", lambda: 2)


def native(loss: Any, arrays: list[np.ndarray] = ARRAYS) -> Any:
    compiled = mx.compile(mx.value_and_grad(loss, argnum=(0, 1, 2)))
    for _ in range(4):
        compiled(*arrays)
    assert compiled.explain()[0].is_native
    return compiled


def answers(compiled: Any, arrays: list[np.ndarray] = ARRAYS) -> list[bytes]:
    value, gradients = compiled(*arrays)
    return bits([value, *gradients])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("loss", LOSSES)
def test_one_and_two_threads_give_the_same_bits(loss: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each of a thousand calls."""
    arrays = [one.astype(dtype) for one in ARRAYS]
    kernels: list[Kernel] = []

    def printing_of(nest: Any) -> Kernel:
        kernels.append(kernel_of(nest))
        return kernels[-1]

    with monkeypatch.context() as context:
        context.setattr(program_builder, "kernel_of", printing_of)
        two = native(loss, arrays)
    assert any(is_shared(kernel) and kernel.partials is not None for kernel in kernels)
    with monkeypatch.context() as context:
        context.setattr(helper_thread, "count", lambda: 1)
        expected = answers(native(loss, arrays), arrays)
    differ = sum(answers(two, arrays) != expected for _ in range(often(1000, 20_000)))
    assert differ == 0
    value, gradients = two(*arrays)
    exact_value, exact = mx.value_and_grad(loss, argnum=(0, 1, 2))(*(one.astype("f8") for one in arrays))
    bound = 1e-5 if dtype == "f4" else 1e-12
    np.testing.assert_allclose(value, exact_value, bound)
    for one, other in zip(gradients, exact, strict=True):
        np.testing.assert_allclose(one, other, 10 * bound, bound * np.abs(other).max())


def test_the_gradient_of_a_layer_norm_is_one_nest() -> None:
    """Which both threads run: rows, and the sums of columns that they go into."""
    names = ("x", "gain", "shift")
    executor = mx.sym.LayerNorm(*map(mx.sym.var, names)).simple_bind(mx.cpu(), x=(1024, 768), gain=(768,), shift=(768,))
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((1024, 768)))
    text = str(executor.explain())
    assert text.count(" kernel ") == 2, text


def test_threads_of_python_at_once() -> None:
    """They share one helper, and each has memory of its own."""
    programs = [native(loss) for loss in LOSSES]
    draws = [[one + number for one in ARRAYS] for number in range(4)]
    expected = [[answers(program, draw) for program in programs] for draw in draws]
    failures: list[Any] = []

    def work(number: int) -> None:
        try:
            for _ in range(often(60, 5000)):
                for program, known in zip(programs, expected[number], strict=True):
                    assert answers(program, draws[number]) == known
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_afterwards() -> None:
    programs = [native(loss) for loss in LOSSES]
    expected = [answers(program) for program in programs]
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork while there are threads
            child = os.fork()
        if not child:
            status = 1
            try:
                for _ in range(20):
                    assert [answers(program) for program in programs] == expected
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [answers(program) for program in programs] == expected


ENDING = """
import sys, threading
import numpy as np
import minpy as mx
from minpy.backends.native.machine import helper_thread
helper_thread.count = lambda: 2
compiled = mx.compile(lambda x, w: (np.sqrt(np.sum(x * x)), np.sum(x * np.sum(x * w, axis=1)[:, None], axis=0)))
x, w = np.ones((1000, 900)), np.ones(900)
for _ in range(4):
    expected = compiled(x, w)
assert compiled.explain()[0].is_native
begun = threading.Event()
def work():
    while True:
        assert all((one == other).all() for one, other in zip(compiled(x, w), expected))
        begun.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
sys.exit(7)
"""


def test_the_interpreter_ends_while_pieces_are_computed(tmp_path: Any) -> None:
    environment = {**os.environ, "MINPY_CACHE": str(tmp_path), "MINPY_COMPILE": "1"}
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", ENDING],
        capture_output=True, text=True, env=environment, timeout=300, check=False,
    )  # fmt: skip
    assert found.returncode == 7, found.stderr
    assert found.stderr == ""
