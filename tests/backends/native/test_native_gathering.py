"""Elements taken and placed by arrays of positions: natively they are NumPy's, and errors stay errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import ROUNDS, both_kinds_of_program, require_same
from support.reference_evaluator import evaluate

import minpy as mx
from minpy.backends.native.gathering.gather_functions import Gather, Scatter
from minpy.backends.native.language import Array, Call, Part, Routine
from minpy.backends.native.scanning.scan_function import Scan
from minpy.core.errors import ArgumentError, OutOfRangeError

COMPILES = True
native = both_kinds_of_program()

INDEX_DTYPES = ("float32", "float64", "int8", "int32", "int64", "uint8")


def run(symbol: Any, arrays: dict[str, np.ndarray], wanted: list[str]) -> tuple[list[np.ndarray], Any]:
    """Return answers and gradients of a bound symbol once it is native, and the executor."""
    given = {name: mx.nd.array(value, dtype=value.dtype) for name, value in arrays.items()}
    executor = symbol.bind(
        mx.cpu(),
        given,
        args_grad={name: mx.nd.zeros(arrays[name].shape, dtype=arrays[name].dtype) for name in wanted},
        grad_req={name: "write" if name in wanted else "null" for name in arrays},
    )
    draw = np.random.RandomState(3)
    heads = None
    for _ in range(ROUNDS + 1):
        answers = executor.forward(is_train=True)
        heads = heads or [mx.nd.array(draw.normal(size=one.shape), dtype=one.dtype) for one in answers]
        executor.backward(heads)
    return [one.asnumpy() for one in (*answers, *(executor.grad_dict[name] for name in wanted))], executor


def both(symbol: Any, arrays: dict[str, np.ndarray], wanted: list[str], calls: int | None = 0) -> None:
    """Hold native code against the Python program, and count what stays a call."""
    with mx.compile.disabled():
        expected, _ = run(symbol, arrays, wanted)
    found, executor = run(symbol, arrays, wanted)
    for one, other in zip(found, expected, strict=True):
        require_same(one, other)
    if calls is not None:
        (explanation,) = executor.explain()
        assert explanation.count("call") == calls, explanation


def draw(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    numbers = np.random.RandomState(seed)
    return numbers.normal(scale=3, size=shape).astype(dtype)


def indices(shape: tuple[int, ...], low: int, high: int, dtype: str = "int64") -> np.ndarray:
    start = max(low, 0) if np.dtype(dtype).kind == "u" else low
    return np.random.RandomState(7).randint(start, high, size=shape).astype(dtype)


x, i = mx.sym.var("x"), mx.sym.var("i")


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take(dtype: str, mode: str, axis: int) -> None:
    both(mx.sym.take(x, i, axis=axis, mode=mode), {"x": draw((9, 5, 4)), "i": indices((3, 2), -20, 30, dtype)}, ["x"])


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_embedding(dtype: str) -> None:
    arrays = {"x": draw((9, 33)), "i": indices((5, 7), -3, 14, dtype)}
    both(mx.sym.Embedding(i, x, input_dim=9, output_dim=33), arrays, ["x"])


def test_fractions_nan_and_infinities_as_indices() -> None:
    given = np.array([1.9, -0.7, np.nan, np.inf, -np.inf, 1e30], "float32")
    with np.errstate(invalid="ignore"):
        both(mx.sym.take(x, i), {"x": draw((4, 3)), "i": given}, ["x"])


@pytest.mark.parametrize("width", [1, 3, 70, 200])
@pytest.mark.parametrize("rows", [1, 2, 40])
def test_sums_of_many_rows(width: int, rows: int) -> None:
    """Threads have columns of their own; of many rows for each place sums are collected in double."""
    arrays = {"x": draw((rows, width)), "i": indices((300,), 0, rows)}
    both(mx.sym.Embedding(i, x, input_dim=rows, output_dim=width), arrays, ["x"])


def test_sums_lose_no_digits() -> None:
    count = 200_000
    gradients = np.random.RandomState(1).uniform(size=(count, 1)).astype("float32")
    executor = mx.sym.take(x, i).bind(
        mx.cpu(),
        {"x": mx.nd.zeros((2, 1)), "i": mx.nd.array(np.arange(count) % 2)},
        args_grad={"x": mx.nd.zeros((2, 1))},
        grad_req={"x": "write", "i": "null"},
    )
    for _ in range(ROUNDS):
        executor.forward(is_train=True)
        executor.backward([mx.nd.array(gradients)])
    expected = [gradients[one::2].astype("float64").sum() for one in range(2)]
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy()[:, 0], expected, rtol=3e-7)


@pytest.mark.parametrize("length", [6, 2049])
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_pick_of_short_and_long_rows(length: int, mode: str) -> None:
    arrays = {"x": draw((4, length)), "i": np.array([0, -1, length + 3, length - 1], "float32")}
    both(mx.sym.pick(x, i, mode=mode), arrays, ["x"])
    both(mx.sym.pick(x, i, mode=mode, keepdims=True), arrays, ["x"])
    if mode == "clip":
        both(mx.sym.batch_take(x, i), arrays, ["x"])


def test_coordinates() -> None:
    arrays = {"x": draw((4, 5, 3)), "i": indices((2, 6), -4, 4)}
    both(mx.sym.gather_nd(x, i), arrays, ["x"], calls=1)
    both(mx.sym.gather_nd(x, i), {"x": draw((4, 5, 3)), "i": indices((1, 2, 3), -4, 4, "float32")}, ["x"], calls=1)
    both(mx.sym.scatter_nd(x, i, shape=(4, 5, 3)), {"x": draw((6, 3)), "i": indices((2, 6), -4, 4)}, ["x"], calls=1)


@pytest.mark.parametrize(
    ("name", "axis"),
    [("SequenceLast", 0), ("SequenceLast", 1), ("SequenceMask", 0), ("SequenceMask", 1), ("SequenceReverse", 0)],
)
def test_sequences(name: str, axis: int) -> None:
    lengths = np.array([3, 0, 5, 1] if axis == 0 else [3, 0, 4, 1, 2], "float32")
    symbol = getattr(mx.sym, name)(x, i, use_sequence_length=True, axis=axis)
    both(symbol, {"x": draw((5, 4, 3)), "i": lengths}, ["x"], calls=1)


def test_diagonals_and_triangles() -> None:
    square, flat = draw((3, 5, 5)), draw((3, 15))
    both(mx.sym.linalg.extractdiag(x, offset=-1), {"x": square}, ["x"])
    both(mx.sym.linalg.makediag(x, offset=2), {"x": flat}, ["x"])
    both(mx.sym.linalg.extracttrian(x), {"x": square}, ["x"])
    both(mx.sym.linalg.maketrian(x), {"x": flat}, ["x"])


def test_running_sums(native: bool) -> None:
    for axis in (None, 0, 1, -1):
        for dtype in ("float32", "float64"):
            both(mx.sym.cumsum(x, axis=axis), {"x": draw((4, 1, 6), dtype)}, ["x"], calls=0 if native else None)


def test_nothing_is_taken() -> None:
    empty = np.zeros((0,), "int64")
    both(mx.sym.take(x, i), {"x": draw((4, 3)), "i": empty}, ["x"], None)
    both(mx.sym.Embedding(i, x, input_dim=4, output_dim=3), {"x": draw((4, 3)), "i": empty}, ["x"], None)
    both(mx.sym.take(x, i, axis=1), {"x": draw((0, 3)), "i": indices((2,), 0, 3)}, ["x"], None)


@pytest.mark.parametrize(
    ("make", "good", "bad", "error", "message"),
    [
        (
            lambda: mx.sym.take(x, i, mode="raise"),
            [0.0, -4.0],
            [0.0, 4.0],
            OutOfRangeError,
            "take: index 4 is out of range for an axis of length 4",
        ),
        (
            lambda: mx.sym.gather_nd(x, mx.sym.expand_dims(i, axis=0)),
            [0.0, -4.0],
            [0.0, -5.0],
            OutOfRangeError,
            "gather_nd: index -5 is out of range for axis 0 of length 4",
        ),
        (
            lambda: mx.sym.SequenceLast(mx.sym.expand_dims(x, axis=2), i, use_sequence_length=True, axis=1),
            [1.0, 2.0, 3.0, 0.0],
            [1.0, 2.0, 3.0, 4.0],
            ArgumentError,
            r"SequenceLast: lengths lie in \[1, 4\]; expected 0 to 3, the time",
        ),
    ],
)
def test_errors_stay(make: Callable[[], Any], good: Any, bad: Any, error: Any, message: str, native: bool) -> None:
    indices = mx.nd.array(good)
    executor = make().bind(mx.cpu(), {"x": mx.nd.array(draw((4, 3))), "i": indices})
    for _ in range(ROUNDS):
        executor.forward()
    before = executor.outputs[0].asnumpy()
    indices[:] = bad
    with pytest.raises(error, match=message):
        executor.forward()[0].asnumpy()
    indices[:] = good
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), before)


# -- keys with arrays --------------------------------------------------------------------------------------------------

ROWS, COLUMNS = np.array([0, 3, 3, -1]), np.array([2, 2, -5, 0], "int32")
KEYS: dict[str, Callable[..., Any]] = {
    "rows": lambda x, r, c: x[r],
    "columns": lambda x, r, c: x[:, c],
    "both": lambda x, r, c: x[r, c],
    "outer": lambda x, r, c: x[r[:, None], c],
    "apart": lambda x, r, c: np.stack([x, x * 2])[r % 2, :, c],
    "with a slice": lambda x, r, c: x[1:][r[:2] % 3],
    "with a number": lambda x, r, c: x[2, c],
    "with a new axis": lambda x, r, c: x[None, r, ..., None],
    "a list": lambda x, r, c: x[[0, 0, -1]],
    "take": lambda x, r, c: np.take(x, r, axis=0),
    "take, flat": lambda x, r, c: np.take(x, c, mode="wrap"),
    "along": lambda x, r, c: np.take_along_axis(x, np.reshape(r % 5, (1, 4)), 1)[0],
    "maximum": lambda x, r, c: x[np.arange(4), np.argmax(x, axis=1)],
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_with_arrays(name: str, native: bool) -> None:
    def total(x: Any, r: Any, c: Any) -> Any:
        return np.sum(np.sin(KEYS[name](x * 2, r, c)))

    given = draw((4, 5), "float64")
    gradient = mx.compile(mx.value_and_grad(total))
    for _ in range(ROUNDS):
        found, slope = gradient(given, ROWS, COLUMNS)
    require_same(np.asarray(found), np.asarray(total(given, ROWS, COLUMNS)))
    expected = np.zeros_like(given)
    for place in np.ndindex(*given.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = given.copy()
            moved[place] += step
            ends.append(total(moved, ROWS, COLUMNS))
        expected[place] = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(slope, expected, atol=1e-7)
    if native:
        assert not any("gradient" in item.what for item in gradient.explain()[0].parts[0].items if item.kind == "call")


def test_keys_out_of_range_raise_what_numpy_raises(native: bool) -> None:
    taken = mx.compile(lambda x, r: x[:, r] * 2)
    for _ in range(ROUNDS):
        taken(np.ones((3, 4)), np.array([0, -4]))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis"):
        taken(np.ones((3, 4)), np.array([0, 4]))


def test_stores_by_arrays(native: bool) -> None:
    @mx.customop("numpy")
    def stored(x: Any, r: Any) -> Any:
        result = x * 2
        result[r] = x[:3] + 1
        np.add.at(result, (np.array([0, 0]), np.array([1, 1])), 5.0)
        return result

    given = {"x": draw((4, 5)), "r": np.array([3, 0, 3])}
    executor = stored(mx.sym.var("x"), mx.sym.var("r")).bind(
        mx.cpu(), {name: mx.nd.array(value, dtype=value.dtype) for name, value in given.items()}
    )
    for _ in range(ROUNDS):
        found = executor.forward()[0].asnumpy()
    np.testing.assert_array_equal(found, stored.definition(**given))


# -- calls and forms ---------------------------------------------------------------------------------------------------


def test_calls_compute_what_their_functions_say() -> None:
    data = Array((2, 5, 3), np.dtype("float32"), name="data")
    places = Array((4,), np.dtype("int64"), name="places")
    gathered = Call.of(Gather(), [data, places], [((2, 4, 3), "float32")], "")[0]
    rows = Array((4, 3), np.dtype("float32"), name="rows")
    summed = Call.of(Scatter(5, True), [rows, places], [((5, 3), "float32")], "")[0]
    scanned = Call.of(Scan("add"), [data], [((2, 5, 3), "float32")], "")[0]
    steps = [one.step for one in (gathered, summed, scanned)]
    routine = Routine([Part("forward", [data, places, rows], steps, [gathered, summed, scanned])])  # type: ignore[arg-type]
    given = [draw((2, 5, 3)), np.array([4, 0, 4, 1]), draw((4, 3), seed=1)]
    (found,) = evaluate(routine, [given])
    np.testing.assert_array_equal(found[0], given[0][:, given[1]])
    np.testing.assert_array_equal(found[1][4], given[2][0] + given[2][2])
    np.testing.assert_array_equal(found[2], np.cumsum(given[0], axis=1))
    for one in (gathered, summed, scanned):
        assert isinstance(one.step, Call)
        form = one.step.form
        assert form is not None
        assert form.label() in ("gather", "scatter of sums among 5", "scan of add")
