"""Operators that index, order, reduce and draw: every dtype, old opsets, open lengths, numbers out of range, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from many import each

import minpy as mx
from minpy import sym
from minpy.ops.registry import find_operator
from minpy.symbol.composition import compose

pytest.importorskip("onnx", minversion="1.16", reason="models are checked by onnx")
pytest.importorskip("onnxruntime", reason="models are run by onnxruntime")

from exported import exported, op_types

from minpy.onnx.running import run_model

X, AT, VALUES = map(sym.var, ("x", "at", "values"))
RANDOM = np.random.RandomState(0)
FAR = np.array([[-9, -1, 0], [2, 3, 99]])
NUMBERS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5.0, 5.0, -5.0, 0.5] * 5)
DTYPES = ("float16", "float64", "int32", "int64", "int8", "uint8", "bool")

# By name: (symbol, shapes, open shapes, example).
INDEXED: dict[str, Any] = {
    "take clipped": (sym.take(X, AT, axis=1), {"x": (3, 4), "at": (2, 3)}, {"x": ("a", "b"), "at": ("c", 3)}, FAR),
    "take wrapped": (
        sym.take(X, AT, mode="wrap"), {"x": (3, 4), "at": (2, 3)}, {"x": ("a", "b"), "at": ("c", 3)}, FAR
    ),
    "pick": (sym.pick(X, AT, axis=0), {"x": (4, 2, 3), "at": (2, 3)}, {"x": ("a", 2, 3), "at": (2, 3)}, FAR),
    "pick kept": (
        sym.pick(X, AT, keepdims=True, mode="wrap"), {"x": (2, 3, 4), "at": (2, 3)},
        {"x": ("a", "b", "c"), "at": ("a", "b")}, FAR,
    ),
    "one_hot": (
        sym.one_hot(AT, depth=4, on_value=2, off_value=-1), {"at": (2, 3)}, {"at": ("a", "b")},
        np.array([[-1, 0, 3], [4, 1.9, 2]]),
    ),
    "gather_nd": (
        sym.gather_nd(X, AT), {"x": (3, 4, 2), "at": (2, 3)}, {"x": ("a", "b", 2), "at": (2, "n")},
        np.array([[0, -1, 2], [-4, 3, 1]]),
    ),
    "scatter_nd": (
        sym.scatter_nd(VALUES, AT, shape=(3, 4)), {"values": (3,), "at": (2, 3)}, {"values": ("n",), "at": (2, "n")},
        np.array([[0, 1, 2], [3, 3, 1]]),
    ),
    "index_copy": (
        sym.contrib.index_copy(X, AT, VALUES), {"x": (5, 2), "at": (4,), "values": (4, 2)},
        {"x": ("a", 2), "at": ("n",), "values": ("n", 2)}, np.array([1, 3, 1, 3]),
    ),
    "mask": (
        sym.SequenceMask(X, AT, use_sequence_length=True, value=-1, axis=1), {"x": (3, 4, 2), "at": (3,)},
        {"x": ("a", "b", 2), "at": ("a",)}, np.array([0, 4, 2]),
    ),
    "last": (
        sym.SequenceLast(X, AT, use_sequence_length=True), {"x": (4, 3, 2), "at": (3,)},
        {"x": ("a", "b", 2), "at": ("b",)}, np.array([0, 4, 2]),
    ),
    "reverse": (
        sym.SequenceReverse(X, AT, use_sequence_length=True), {"x": (4, 3, 2), "at": (3,)},
        {"x": ("a", "b", 2), "at": ("b",)}, np.array([0, 4, 2]),
    ),
}  # fmt: skip


@each({f"{name} at {opset}": (name, opset) for name in INDEXED for opset in (13, 17, None)})
def test_positions(name: str, opset: Any) -> None:
    symbol, shapes, dynamic, positions = INDEXED[name]
    example = {key: RANDOM.normal(size=shape) for key, shape in shapes.items()} | {"at": positions}
    exported(symbol, shapes, example_inputs=example, opset=opset)
    exported(symbol, shapes, example_inputs=example, opset=opset, dynamic=dynamic)


ORDERED = {
    "topk": lambda: sym.topk(X, k=2, ret_typ="both", dtype="int32"),
    "mask": lambda: sym.topk(X, k=0, ret_typ="mask", axis=0),
    "ascending": lambda: sym.topk(X, k=3, ret_typ="value", is_ascend=True),
    "sort": lambda: sym.sort(X, axis=None, is_ascend=False),
    "argsort": lambda: sym.argsort(X, axis=0),
    "argmax": lambda: sym.argmax(X, axis=1, keepdims=True),
    "argmin of all": lambda: sym.argmin(X),
    "sum": lambda: sym.sum(X, axis=0),
    "mean": lambda: sym.mean(X),
    "largest": lambda: sym.max(X, axis=1, exclude=True),
    "norm": lambda: sym.norm(X, ord=1, axis=1),
    "clip": lambda: sym.clip(X, -1.5, 1.7),
}


@each({f"{name} of {dtype}": (name, dtype) for name in ORDERED for dtype in DTYPES}, at_once=12)
def test_dtypes(name: str, dtype: str) -> None:
    exported(ORDERED[name](), {"x": (3, 6)}, dtypes=dtype)
    exported(ORDERED[name](), {"x": (3, 6)}, dtypes=dtype, dynamic={"x": ("a", "b")})


@each({name: (make,) for name, make in ORDERED.items()})
def test_equal_numbers_infinities_and_nan(make: Any) -> None:
    rows = NUMBERS.reshape(5, 9)
    exported(make(), {"x": (5, 9)}, example_inputs={"x": rows})
    exported(make(), {"x": (5, 9)}, example_inputs={"x": np.nan_to_num(rows, nan=1, posinf=9, neginf=-9)}, opset=13)


def test_one_node_each() -> None:
    for symbol, expected in (
        (sym.topk(X, k=2, ret_typ="value"), ["TopK"]),
        (sym.sum(X, axis=1), ["ReduceSum"]),
        (sym.dot(X, X, transpose_b=True), ["Gemm"]),
        (sym.expand_dims(X, axis=1), ["Unsqueeze"]),
        (sym.clip(X, 0, 6), ["Clip"]),
    ):
        assert op_types(exported(symbol, {"x": (3, 4)})) == expected


# -- special functions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["gamma", "gammaln"])
def test_gamma(name: str, dtype: str) -> None:
    pytest.importorskip("scipy", reason="ours are SciPy's")
    points = [*np.linspace(-6, 6, 241), 1e-8, -1e-8, -0.0, 30, 34, 40, 170, -20.5, -33.7, np.inf, -np.inf, np.nan, 1e10]
    example = {"x": np.array(points)}
    exported(getattr(sym, name)(X), {"x": (len(points),)}, dtypes=dtype, example_inputs=example)


def test_inverse_of_erf() -> None:
    pytest.importorskip("scipy", reason="ours is SciPy's")
    points = np.array([*np.linspace(-1, 1, 201), 0.999999, -0.99999, 1e-9, 1.5, np.nan])
    exported(sym.erfinv(X), {"x": points.shape}, example_inputs={"x": points})


# -- draws -------------------------------------------------------------------------------------------------------------

SHAPE = (200, 300)
# By operator: its attributes, and the mean and standard deviation of what is drawn.
DRAWN: dict[str, tuple[dict[str, Any], float, float]] = {
    "_random_uniform": ({"low": -1.0, "high": 3.0, "shape": SHAPE}, 1, 4 / 12**0.5),
    "_random_normal": ({"loc": 2.0, "scale": 3.0, "shape": SHAPE}, 2, 3),
    "_random_exponential": ({"lam": 4.0, "shape": SHAPE}, 0.25, 0.25),
    "_random_randint": ({"low": -3, "high": 4, "shape": SHAPE}, 0, 2),
    "_npi_gumbel": ({"loc": 1.0, "scale": 2.0, "size": SHAPE}, 1 + 2 * 0.5772157, 2 * np.pi / 6**0.5),
    "_npi_logistic": ({"loc": 1.0, "scale": 2.0, "size": SHAPE}, 1, 2 * np.pi / 3**0.5),
    "_npi_rayleigh": ({"scale": 2.0, "size": SHAPE}, 2 * (np.pi / 2) ** 0.5, 2 * (2 - np.pi / 2) ** 0.5),
    "_npi_pareto": ({"a": 8.0, "size": SHAPE}, 1 / 7, (8 / 49 / 6) ** 0.5),
    "_npi_powerd": ({"a": 2.0, "size": SHAPE}, 2 / 3, (1 / 18) ** 0.5),
    "_npi_weibull": ({"a": 1.0, "size": SHAPE}, 1, 1),
    "_npi_bernoulli": ({"prob": 0.2, "size": SHAPE}, 0.2, 0.4),
    "_npi_choice": ({"a": 5, "size": SHAPE}, 2, 2**0.5),
    "_npi_multinomial": ({"n": 3, "pvals": (0.5, 0.5), "size": (20000,)}, 1.5, 0.75**0.5),
}


@each({name: (name, *case) for name, case in DRAWN.items()})
def test_what_is_drawn_has_its_mean_and_deviation(name: str, attributes: Any, mean: float, deviation: float) -> None:
    model = exported(compose(find_operator(name), name, [], attributes), {}, opset=21)  # newer ones run nowhere yet
    (values,) = run_model(model, {}).values()
    assert abs(values.mean() - mean) < 0.06 * deviation  # ten times what is usual
    assert abs(values.std() - deviation) < 0.1 * deviation


def test_classes_are_drawn_by_their_chances() -> None:
    chances = np.array([[0.1, 0.0, 0.9], [0.25, 0.5, 0.25]], "float32")
    symbol = mx.sym.sample_multinomial(X, shape=5000, get_prob=True)
    model = exported(symbol, {"x": (2, 3)}, example_inputs={"x": chances}, opset=21)
    classes, logarithms = run_model(model, {"x": chances}).values()
    shares = np.stack([(classes == number).mean(1) for number in range(3)], 1)
    np.testing.assert_allclose(shares, chances, atol=0.07)
    np.testing.assert_allclose(logarithms, np.log(np.take_along_axis(chances, classes, 1)), rtol=1e-5)


# -- inputs to compare on ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (None, r"refuses inputs that were drawn: .*Give inputs that it takes: example_inputs=\{name: array, \.\.\.\}"),
        ({"x": np.ones((2, 2))}, "example_inputs has 'x'; expected a dict with an array for each of 'x', 'at'"),
        ({"x": np.ones((2, 3)), "at": np.ones(2)}, r"example_inputs\['x'\] has the shape \(2, 3\); expected \(2, 2\)"),
    ],
)
def test_example_inputs_have_to_fit(example: Any, message: str) -> None:
    symbol = sym.pick(X, AT - 100, mode="raise")
    with pytest.raises(mx.base.MXNetError, match=message):
        exported(symbol, {"x": (2, 2), "at": (2,)}, example_inputs=example)
