"""Whole programs as native code, beside the same ones as Python: what callers see does not tell which of them runs."""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, nd, sym
from minpy.backends.native.machine import helper_thread, numpy_blas
from minpy.backends.native.runtime.native_executable import NativeExecutable
from minpy.backends.switches import CompileWarning, disabled
from minpy.core.errors import MutationError, ShapeError
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start

pytest.importorskip("llvmlite")

COMPILES = True

x, y, w = sym.var("x"), sym.var("y"), sym.var("w")
A = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
B = np.linspace(2, 3, 12, dtype=np.float32).reshape(3, 4)
SQUARE = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


class Seen(list):
    """What an operator of a user has been called with."""


def head_of(symbol: Any) -> Any:
    return symbol.values


class Case:
    """A graph run on raw arrays, as every front end does it."""

    def __init__(self, symbol: Any, requests: str = "write", training: bool = True, compiles: bool = True) -> None:
        self.compiled = Compiled(symbol.values, keeps_states=True, compiles=compiles)
        self.requests = requests
        self.training = training

    def program(self, arrays: list[np.ndarray]) -> Any:
        asked = dict.fromkeys(self.compiled.arguments, self.requests) if self.requests != "null" else None
        return self.compiled.program(arrays, self.training, asked)

    def start(self, arrays: list[np.ndarray]) -> Any:
        return start(self.program(arrays), arrays)

    def round(self, arrays: list[np.ndarray], heads: Any = None, into: Any = None) -> tuple[list[Any], list[Any]]:
        """Return heads and gradients of one call."""
        outputs, frame = self.start(arrays)
        if self.requests == "null":
            return [np.array(one) for one in outputs], []
        heads = [np.ones_like(one) for one in outputs] if heads is None else heads
        nodes = self.compiled.arguments
        into = [np.full(a.shape, 10, a.dtype) for a in arrays] if into is None else into
        frame.backward(heads, dict(zip(nodes, into, strict=False)))
        return [np.array(one) for one in outputs], into

    @property
    def native(self) -> Any:
        [program] = self.compiled._programs.values()
        return program.executable("native")


def compiled(symbol: Any, arrays: list[np.ndarray], requests: str = "write", training: bool = True) -> Case:
    """Return a case that has become native code, and has given the same as Python in every round."""
    case = Case(symbol, requests, training)
    with disabled():
        expected = Case(symbol, requests, training).round([one.copy() for one in arrays])
    for number in range(4):
        found = case.round([one.copy() for one in arrays])
        assert (case.native is not None) == (number >= 2)
        same(found, expected)
    return case


def same(found: Any, expected: Any, rtol: float = 2e-6) -> None:
    for one, two in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        assert one.shape == two.shape
        assert one.dtype == two.dtype
        np.testing.assert_allclose(one, two, rtol, 1e-6)


@customop("numpy")
def called(value: Any) -> Any:
    """Return something by a choice that no tracer follows."""
    return value * 2 if value.ravel()[0] < 100 else value


called.def_grad(lambda ans, value: lambda g: g * 2 if value.ravel()[0] < 100 else g)

SYMBOLS = {
    "elementwise": (sym.tanh(x * y + x), [A, B]),
    "several heads": (sym.Group([x * y, sym.exp(x), x + y]), [A, B]),
    "a head that is an input": (sym.Group([x, x * y]), [A, B]),
    "a head twice": ((lambda h: sym.Group([h, h]))(sym.exp(x)), [A]),
    "views as heads": ((lambda h: sym.Group([sym.transpose(h), sym.reshape(h, shape=(-1,)), h]))(sym.exp(x)), [A]),
    "a reshaped head": (sym.reshape(sym.exp(x), shape=(2, 6)), [A]),
    "a slice as a head": (sym.slice(sym.exp(x), begin=(1, 1), end=(3, 3)), [A]),
    "a view of an input as a head": (sym.Group([sym.transpose(x), sym.exp(x)]), [A]),
    "constants as heads": (sym.Group([sym.zeros_like(x) + 1, sym.ones((2, 3)), x * 2]), [A]),
    "an input without gradient": (sym.Group([sym.BlockGrad(x) * y]), [A, B]),
    "reductions": (sym.Group([sym.sum(x, axis=1), sym.mean(x), sym.max(x * y, axis=0)]), [A, B]),
    "softmax": (sym.softmax(x * y), [A, B]),
    "broadcast": (sym.broadcast_mul(x, y), [A, B[:1]]),
    "a small product": (sym.dot(x, y), [A, B.T.copy()]),
    "a product of transposed": (sym.dot(x, y, transpose_b=True), [A, B]),
    "a stack of products": (
        sym.batch_dot(x, y),
        [np.arange(24, dtype="f4").reshape(2, 3, 4) / 9, np.arange(40, dtype="f4").reshape(2, 4, 5) / 7],
    ),
    "a call": (sym.exp(called(x * y)) + x, [A, B]),
    "calls in a row": (called(called(called(x) * y) + x), [A, B]),
    "a call as a head": (sym.Group([called(x * y), called(x)]), [A, B]),
    "a call of an input": (called(x) * called(y), [A, B]),
    "a concatenation": (sym.concat(sym.exp(x), y * 2, x, dim=1), [A, B]),
    "pads and slices": (sym.slice_axis(sym.concat(x, y, dim=0), axis=0, begin=1, end=5) ** 2, [A, B]),
    "without axes": (sym.sum(x) * sym.max(y), [A, B]),
    "zero elements": (sym.Group([sym.exp(x) * y, sym.tanh(w)]), [A[:0], B[:0], A]),
    "float64": (sym.tanh(x * y), [A.astype("f8"), B.astype("f8")]),
    "int32": (x * y + x, [(10 * A).astype("i4"), (10 * B).astype("i4")]),
    "float16, which is called": (
        sym.Group([sym.exp(x) * y, sym.transpose(x), sym.tanh(w)]),
        [A.astype("f2"), B.astype("f2"), A],
    ),
    "the same gradient twice": (x + y, [A, B]),
    "a gradient of zeros": (sym.Group([sym.floor(x), y]), [A, B]),
    "a long chain": (
        (lambda f: f(f(f(f(x)))))(lambda h: sym.tanh(h * y) + sym.sigmoid(h) * x),
        [A, B],
    ),
}


@pytest.mark.parametrize("requests", ["write", "add", "null"])
@pytest.mark.parametrize("name", SYMBOLS)
def test_programs_give_what_those_of_python_give(name: str, requests: str) -> None:
    symbol, arrays = SYMBOLS[name]
    compiled(symbol, arrays, requests)


@pytest.mark.parametrize("size", [(2, 3, 5), (17, 40, 33), (64, 64, 64), (1, 100, 100), (100, 100, 1), (1, 7, 1)])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_all_layouts(size: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    rows, depth, columns = size
    draw = np.random.RandomState(0)
    first = draw.uniform(-1, 1, (depth, rows) if turned[0] else (rows, depth)).astype("f4")
    second = draw.uniform(-1, 1, (columns, depth) if turned[1] else (depth, columns)).astype("f4")
    symbol = sym.dot(x, y, transpose_a=turned[0], transpose_b=turned[1]) * 2
    case = Case(symbol)
    with disabled():
        expected = Case(symbol).round([first, second])
    for _ in range(3):
        found = case.round([first, second])
    assert case.native is not None
    for one, two in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_allclose(one, two, 1e-5, 1e-4)


def test_products_without_a_blas_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_blas, "find", lambda: None)
    draw = np.random.RandomState(0)
    arrays = [draw.uniform(-1, 1, (40, 40)).astype("f4") for _ in range(2)]
    case = compiled(sym.tanh(sym.dot(x, y) + x) + sym.dot(y, x), arrays)
    assert "matmul(" in case.native.text()


# -- arrays that do not fit ------------------------------------------------------------------------------------------


def misaligned(array: np.ndarray) -> np.ndarray:
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    found = memory.view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def read_only(array: np.ndarray) -> np.ndarray:
    found = array.copy()
    found.setflags(write=False)
    return found


def strided(array: np.ndarray) -> np.ndarray:
    found = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::2]
    found[...] = array
    return found


class Subclass(np.ndarray):
    """An array of somebody's."""


LAYOUTS = {
    "misaligned": misaligned,
    "read-only": read_only,
    "strided": strided,
    "Fortran": np.asfortranarray,
    "backwards": lambda array: array[::-1].copy()[::-1],
    "subclass": lambda array: array.copy().view(Subclass),
    "byte-swapped": lambda array: array.astype(array.dtype.newbyteorder()),
    "of an equal dtype": lambda array: array.copy().view(np.dtype(array.dtype, metadata={"of": "mine"})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("which", ["first", "both", "heads"])
def test_arrays_of_other_layouts(layout: str, which: str) -> None:
    case = compiled(sym.tanh(x * y) + called(x), [A, B])
    expected = case.round([A, B])
    change = LAYOUTS[layout]
    arrays = [change(A) if which != "heads" else A, change(B) if which == "both" else B]
    assert not isinstance(case.program([A, B]).executable("native"), type(None))
    program = case.program([A, B])
    outputs, frame = start(program, arrays)
    head = np.ones_like(A)
    into = [np.empty_like(A), np.empty_like(B)]
    frame.backward([change(head) if which == "heads" else head], dict(zip(case.compiled.arguments, into, strict=True)))
    same((outputs, into), expected)


@pytest.mark.parametrize("requests", ["write", "add"])
@pytest.mark.parametrize("layout", ["misaligned", "strided", "Fortran", "backwards", "of an equal dtype"])
def test_gradients_into_arrays_of_other_layouts(layout: str, requests: str) -> None:
    case = compiled(sym.tanh(x * y), [A, B], requests)
    expected = case.round([A, B], into=[B.copy(), A.copy()])
    found = case.round([A, B], into=[LAYOUTS[layout](B.copy()), LAYOUTS[layout](A.copy())])
    same(found, expected)


def test_gradients_into_read_only_arrays_are_an_error() -> None:
    case = compiled(sym.tanh(x * y), [A, B])
    with pytest.raises(ValueError, match="read-only"):
        case.round([A, B], into=[read_only(A), A.copy()])


def test_head_gradients_of_another_dtype_are_converted_and_of_another_shape_refused() -> None:
    case = compiled(sym.tanh(x * y), [A, B])
    same(case.round([A, B], [np.ones((3, 4))]), case.round([A, B]))
    with pytest.raises(ShapeError, match=r"the gradient of head 0 is .*shape \(3, 4\)"):
        case.round([A, B], [np.ones((4, 3), "f4")])


def test_numbers_and_lists_are_taken_for_arrays() -> None:
    case = compiled(sym.sum(x * y), [A, B])
    _, frame = case.start([A, B])
    into = [np.empty_like(A), np.empty_like(B)]
    frame.backward([np.float32(2)], dict(zip(case.compiled.arguments, into, strict=True)))
    np.testing.assert_allclose(into[0], 2 * B)


# -- memory that is nobody else's ------------------------------------------------------------------------------------


def test_heads_stay_what_they_are() -> None:
    case = compiled(sym.Group([sym.exp(x), sym.transpose(sym.exp(x) * y), called(x)]), [A, B])
    first, frame = case.start([A, B])
    copies = [one.copy() for one in first]
    del frame
    case.round([B, A])
    for one, two in zip(first, copies, strict=True):
        np.testing.assert_array_equal(one, two)
        assert one.flags.writeable
    for one in first:
        one[...] = 7
    same(case.round([A, B])[:1] + ([],), (copies, []))


def test_frames_in_flight_do_not_share_memory() -> None:
    case = compiled(sym.tanh(sym.exp(x * y) + x) * y, [A, B])
    pairs = [(A * number, B + number) for number in range(5)]
    expected = [case.round(list(pair)) for pair in pairs]
    frames = [case.start(list(pair)) for pair in pairs]
    for (outputs, frame), one in reversed(list(zip(frames, expected, strict=True))):
        into = [np.empty_like(A), np.empty_like(B)]
        frame.backward([np.ones_like(A)], dict(zip(case.compiled.arguments, into, strict=True)))
        same((outputs, into), one)


def test_operators_of_users_see_no_memory_that_changes() -> None:
    kept = []

    @customop("numpy")
    def keeping(value: Any) -> Any:
        kept.append((value, value.copy()))
        return value if value.ravel()[0] < 1000 else value * 2

    keeping.def_grad(lambda ans, value: lambda g: g)
    case = Case(sym.exp(keeping(sym.exp(x) * y) * 2), training=True)
    for number in range(6):
        case.round([A + number, B])
    assert case.native is not None
    assert len(kept) >= 6
    for one, copy in kept:
        np.testing.assert_array_equal(one, copy)


def test_answers_in_the_memory_of_others_are_copied() -> None:
    whole = np.zeros((3, 8), "f4")

    @customop("numpy")
    def views(value: Any) -> Any:
        whole[:, ::2] = value
        return whole[:, ::2] if value.ravel()[0] < 1000 else value

    views.def_grad(lambda ans, value: lambda g: g[::-1][::-1] if g.ravel()[0] < 1000 else g)
    compiled(sym.exp(views(x * y)) * y, [A, B])


# -- errors ----------------------------------------------------------------------------------------------------------


def test_errors_in_calls_name_the_node_and_leave_the_program_whole() -> None:
    @customop("numpy")
    def touchy(value: Any) -> Any:
        if np.isnan(value).any():
            raise LookupError("not a number")
        return value * 2

    touchy.def_grad(lambda ans, value: lambda g: g if not np.isnan(g).any() else touchy(g))
    symbol = sym.exp(touchy(x * y, name="tender")) * y
    case = compiled(symbol, [A, B])
    with pytest.raises(LookupError, match=r"(?s)tender.*not a number"):
        case.round([A * np.nan, B])
    with pytest.raises(LookupError, match=r"(?s)backward of .*tender.*not a number"):
        case.round([A, B], [np.full_like(A, np.nan)])
    with disabled():
        expected = Case(symbol).round([A, B])
    same(case.round([A, B]), expected)


def test_answers_of_another_kind_are_an_error() -> None:
    answers = [lambda value: value * 2]

    @customop("numpy")
    def fickle(value: Any) -> Any:
        return answers[0](value) if value.ravel()[0] < 1000 else value

    fickle.def_grad(lambda ans, value: lambda g: g if g.ravel()[0] < 1000 else g * 2)
    case = compiled(sym.exp(fickle(x * y, name="fickle")), [A, B])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers[0] = lambda value: value[:1]
        with pytest.raises(ShapeError, match=r"fickle.*answered.*\(1, 4\).*before.*\(3, 4\)"):
            case.round([A, B])


# -- backward again, and changes in between --------------------------------------------------------------------------


def test_backward_again_gives_the_same() -> None:
    calls = []

    @customop("numpy")
    def counted(value: Any) -> Any:
        calls.append(1)
        return value * 3 if value.ravel()[0] < 1000 else value

    counted.def_grad(lambda ans, value: lambda g: g * 3 if g.ravel()[0] < 1000 else g)
    case = Case(sym.tanh(counted(x) * y) + sym.Dropout(x, p=0.5))
    for _ in range(3):
        case.round([A, B])
    assert case.native is not None
    _, frame = case.start([A, B])
    before = len(calls)
    found = []
    for _ in range(3):
        into = [np.empty_like(A), np.empty_like(B)]
        frame.backward([np.ones_like(A)], dict(zip(case.compiled.arguments, into, strict=True)))
        found.append(into)
    assert len(calls) == before
    same(([], found[1]), ([], found[0]))
    same(([], found[2]), ([], found[0]))


def test_changes_between_forward_and_backward_are_an_error() -> None:
    executor = sym.tanh(sym.transpose(x) * y).bind(
        mx.cpu(), {"x": nd.array(SQUARE), "y": nd.array(SQUARE)}, {"x": nd.zeros((4, 4)), "y": nd.zeros((4, 4))}
    )
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
    executor.forward(is_train=True)
    executor.arg_dict["x"][:] = 1
    with pytest.raises(MutationError, match="variable 'x'"):
        executor.backward()
    executor.forward(is_train=True)
    executor.outputs[0][:] = 1
    with pytest.raises(MutationError, match="an output"):
        executor.backward()


def test_states_move_once_a_call() -> None:
    symbol = sym.BatchNorm(x, name="bn", fix_gamma=False, momentum=0.5) * 2
    arrays = [A, np.ones(4, "f4"), np.zeros(4, "f4")]
    moved = []
    for native in (True, False):
        case = Case(symbol, compiles=native)
        states = [np.zeros(4, "f4"), np.ones(4, "f4")]
        for _ in range(5):
            outputs, frame = case.start([*arrays, *states])
            for _ in range(2):
                into = [np.empty_like(one) for one in arrays]
                frame.backward([B], dict(zip(case.compiled.arguments, into, strict=True)))
        assert (case.native is not None) == native
        moved.append((states, [*outputs, *into]))
    same(moved[0], moved[1], 1e-5)


@pytest.mark.parametrize("layout", ["misaligned", "strided", "of an equal dtype"])
def test_states_of_other_layouts_move(layout: str) -> None:
    symbol = sym.BatchNorm(x, name="bn", fix_gamma=False, momentum=0.5)
    arrays = [A, np.ones(4, "f4"), np.zeros(4, "f4")]
    case = Case(symbol, "null")
    for _ in range(3):
        case.start([*arrays, np.zeros(4, "f4"), np.ones(4, "f4")])
    assert case.native is not None
    states = [LAYOUTS[layout](np.zeros(4, "f4")), LAYOUTS[layout](np.ones(4, "f4"))]
    start(case.program([*arrays, np.zeros(4, "f4"), np.ones(4, "f4")]), [*arrays, *states])
    np.testing.assert_allclose(states[0], A.mean(0) / 2, 1e-5)


# -- when, and when not ----------------------------------------------------------------------------------------------


def test_the_third_call_is_compiled_and_not_where_that_is_switched_off() -> None:
    off = Case(sym.exp(x), compiles=False)
    for _ in range(4):
        off.round([A])
    assert off.native is None
    case = Case(sym.exp(x))
    with disabled():
        for _ in range(4):
            case.round([A])
    assert case.native is None
    case.round([A])
    assert case.native is not None


def test_disabled_runs_python_again() -> None:
    case = compiled(sym.exp(x) * 3, [A])
    with disabled():
        heads, frame = case.start([A])
    assert not isinstance(frame._context.executable, NativeExecutable)
    case.round([A])
    into = [np.empty_like(A)]
    frame.backward([np.ones_like(A)], dict(zip(case.compiled.arguments, into, strict=True)))
    np.testing.assert_allclose(into[0], heads[0], 1e-6)


def test_what_cannot_be_compiled_stays_python_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no room on this processor")

    monkeypatch.setattr("minpy.backends.native.codegen.program_builder.kernel_of", fail)
    case = Case(sym.exp(x, name="e"))
    case.round([A])
    case.round([A])
    with pytest.warns(CompileWarning, match=r"of e stays .*RuntimeError: no room on this processor.*MINPY_COMPILE=0"):
        found = case.round([A])
    np.testing.assert_array_equal(found[0][0], np.exp(A))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.round([A])
    assert case.native is None


def test_programs_of_calls_only_stay_python() -> None:
    case = Case(called(called(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            case.round([A])
    assert case.native is None


def test_without_memory_for_another_call_programs_stay_python(monkeypatch: pytest.MonkeyPatch) -> None:
    case = compiled(sym.exp(x), [A])
    _, frame = case.start([A])

    def fail(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr("minpy.backends.native.runtime.native_executable.NativeExecutable.context", fail)
    with pytest.warns(CompileWarning, match="MemoryError: no room"):
        heads, _ = case.start([B])
    np.testing.assert_array_equal(heads[0], np.exp(B))
    into = [np.empty_like(A)]
    frame.backward([np.ones_like(A)], dict(zip(case.compiled.arguments, into, strict=True)))
    np.testing.assert_allclose(into[0], np.exp(A), 1e-6)


def test_without_llvmlite_programs_stay_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minpy.backends.native.machine.llvm.missing", lambda: "llvmlite is not installed")
    case = Case(sym.exp(x))
    for _ in range(4):
        case.round([A])
    assert case.native is None


def test_other_threads_go_on_while_one_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    from minpy.backends.native.codegen import program_builder

    entered, leave, builds = threading.Event(), threading.Event(), []
    real = program_builder.build

    def slow(*arguments: Any, **keywords: Any) -> Any:
        builds.append(1)
        entered.set()
        assert leave.wait(60)
        return real(*arguments, **keywords)

    monkeypatch.setattr(program_builder, "build", slow)
    case = Case(sym.exp(x))
    case.round([A])
    case.round([A])
    thread = threading.Thread(target=case.round, args=([A],))
    thread.start()
    assert entered.wait(60)
    for _ in range(3):
        case.round([A])
    assert case.native is None
    leave.set()
    thread.join()
    case.round([A])
    assert case.native is not None
    assert len(builds) == 1


def test_threads_run_one_program_with_different_inputs() -> None:
    case = compiled(sym.softmax(sym.dot(sym.tanh(x * y), w)) * 2, [A, B, SQUARE])
    failures = []

    def work(number: int) -> None:
        given = [A * number, B + number, SQUARE]
        with disabled():
            expected = Case(sym.softmax(sym.dot(sym.tanh(x * y), w)) * 2).round(given)
        for _ in range(50):
            try:
                same(case.round(given), expected)
            except BaseException as error:
                failures.append(error)
                return

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_runs_what_was_compiled_and_compiles_more() -> None:
    case = compiled(sym.exp(x * y), [A, B])
    expected = case.round([A, B])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of the test's process
        child = os.fork()
    if child == 0:
        status = 1
        try:
            same(case.round([A, B]), expected)
            compiled(sym.exp(x * y) + 3, [A, B])
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_programs_die_with_their_last_reference() -> None:
    def run() -> list[Any]:
        case = compiled(sym.exp(x * y) + called(x), [A, B])
        _, frame = case.start([A, B])
        [program] = case.compiled._programs.values()
        kept = [frame, program, frame._context.bound.block]
        return [weakref.ref(one) for one in kept]

    run()
    gc.collect()
    gc.disable()
    try:
        assert [one() for one in run() if one() is not None] == []
    finally:
        gc.enable()


# -- front ends ------------------------------------------------------------------------------------------------------


def test_observers_see_every_step_of_a_compiled_program() -> None:
    executor = sym.tanh(sym.exp(x, name="e"), name="t").bind(mx.cpu(), {"x": nd.array(A)}, {"x": nd.zeros(A.shape)})
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward()
    assert "launch0" in executor.debug_str()
    assert "tanh" in str(executor.profile(repeat=1))
    names: list[str] = []
    executor.set_monitor_callback(lambda name, array: names.append(name))
    executor.forward(is_train=True)
    assert names == ["e_output", "t_output"]
    executor.set_monitor_callback(None)
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), np.exp(A) / np.cosh(np.exp(A)) ** 2, 1e-5)


def test_predictions_that_are_differentiated_later() -> None:
    executor = sym.tanh(x * y).bind(
        mx.cpu(), {"x": nd.array(A), "y": nd.array(B)}, {"x": nd.zeros(A.shape), "y": nd.zeros(A.shape)}
    )
    for _ in range(4):
        executor.forward()
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), B / np.cosh(A * B) ** 2, 1e-5)
    for _ in range(4):
        executor.forward()
        executor.backward()
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), B / np.cosh(A * B) ** 2, 1e-5)


def test_hybridized_blocks_train_as_they_did() -> None:
    losses = []
    for native in (True, False):
        np.random.seed(0)
        mx.random.seed(0)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(16, activation="relu", in_units=4), mx.gluon.nn.Dense(3, in_units=16))
        net.initialize(mx.init.Xavier())
        net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        data, label = nd.array(np.random.randn(8, 4)), nd.array(np.arange(8) % 3)
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        found = []
        for _ in range(8):
            with autograd.record():
                one = loss(net(data), label)
            one.backward()
            trainer.step(8)
            found.append(float(one.mean().asscalar()))
        losses.append(found)
        if native:
            continue
    np.testing.assert_allclose(losses[0], losses[1], 1e-4)
    assert losses[0][-1] < losses[0][0]


# -- what takes long -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", ["1", "2"])
def test_large_kernels_run_beside_other_threads(count: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_COMPILE_THREADS", count)
    draw = np.random.RandomState(0)
    arrays = [draw.uniform(-1, 1, (300, 1000)).astype("f4") for _ in range(2)]
    symbol = sym.Group([sym.softmax(x * y), sym.sum(sym.tanh(x) * y, axis=0)])
    with disabled():
        expected = Case(symbol).round(arrays)
    case = Case(symbol)
    for _ in range(3):
        case.round(arrays)
    assert ("_task(" in case.native.build.ir) == (count == "2" and helper_thread.count() == 2)
    assert max(sequence.seconds for sequence in case.native.build.sequences) > 20e-6
    failures = []

    def work() -> None:
        try:
            for _ in range(5):
                same(case.round(arrays), expected, 1e-4)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_answers_are_let_go_when_nothing_reads_them() -> None:
    large = np.ones((300, 1000), "f4")
    symbol = x
    for _ in range(6):
        symbol = called(symbol)
    case = Case(symbol * 2, "null", training=False)
    for _ in range(3):
        case.round([large])
    assert case.native is not None
    tracemalloc.start()
    try:
        heads, _ = case.start([large])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * large.nbytes
    np.testing.assert_array_equal(heads[0], large * 2**7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [False, True], ids=["as it lies", "transposed"])
@pytest.mark.parametrize("bias", [False, True], ids=["alone", "added"])
def test_products_of_one_row(dtype: str, turned: bool, bias: bool) -> None:
    random = np.random.RandomState(0)
    row, matrix = random.normal(size=(1, 60)).astype(dtype), random.normal(size=(60, 90)).astype(dtype)
    added = random.normal(size=(1, 90)).astype(dtype)
    given = np.ascontiguousarray(matrix.T) if turned else matrix
    compiled = mx.compile(lambda r, m, a: (r @ (m.T if turned else m)) + (a if bias else 0))
    for _ in range(4):
        found = compiled(row, given, added)
    assert compiled.explain()[0].count("product") == 1
    np.testing.assert_allclose(found, row @ matrix + (added if bias else 0), rtol=1e-5, atol=1e-5)
    column = mx.compile(lambda m, c: (m.T @ c).T)  # one row, whose elements lie apart
    for _ in range(4):
        found = column(matrix, np.ascontiguousarray(row.T))
    np.testing.assert_allclose(found, row @ matrix, rtol=1e-5, atol=1e-5)
