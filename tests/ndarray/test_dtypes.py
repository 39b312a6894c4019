"""`nd` and `sym` answer with the same dtypes and values, whatever the inputs' dtypes: the operator table, numbers.

What MXNet answers for integers and booleans is in the golden cases (`golden/dtypes_cases.py`).
"""

from __future__ import annotations

import operator as signs
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calling_rows import call, operator_of, scope
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row

import minpy as mx
from minpy import nd, sym
from minpy.core.errors import DTypeError, OperatorError
from minpy.ops.registry import OPERATORS
from minpy.symbol.composition import compose

DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
ROWS = [row for row in ALL_ROWS if row.specs and row.bound]
RUNS = 3  # step by step, then compiled twice


def converted(value: np.ndarray, dtype: str) -> np.ndarray:
    """Return drawn values in a dtype; those of integers are whole, those of unsigned ones not negative."""
    if dtype == "bool":
        return value > 0
    if dtype.startswith("float"):
        return value.astype(dtype)
    whole = np.rint(np.nan_to_num(value))
    return (np.abs(whole) if dtype == "uint8" else whole).astype(dtype)


def on_arrays(row: Row, inputs: list[np.ndarray]) -> list[np.ndarray]:
    with scope(row):
        return [output.asnumpy() for output in call(row, [nd.array(value, dtype=value.dtype) for value in inputs])]


def in_a_graph(row: Row, inputs: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Return what each of several runs answers; fail where inference says another dtype than that of the answers."""
    operator = operator_of(row)
    names = [f"input{index}" for index in range(len(inputs))]
    symbol = compose(operator, operator.__name__, [sym.var(name) for name in names], dict(row.attributes))
    by_name = dict(zip(names, inputs, strict=True))
    states = symbol.list_auxiliary_states()
    inferred = symbol.infer_type(**{name: value.dtype for name, value in by_name.items()})[1]
    arrays = {name: nd.array(value, dtype=value.dtype) for name, value in by_name.items()}
    executor = symbol.bind(
        mx.cpu(),
        {name: array for name, array in arrays.items() if name not in states},
        grad_req="null",
        aux_states={name: arrays[name] for name in states},
    )
    found = []
    for _ in range(RUNS):
        for name in states:
            arrays[name][:] = nd.array(by_name[name], dtype=by_name[name].dtype)
        if row.random:
            mx.random.seed(7)
        outputs = [output.asnumpy() for output in executor.forward(is_train=row.training)]
        assert [np.dtype(dtype) for dtype in inferred] == [output.dtype for output in outputs]
        found.append(outputs)
    return found


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Exception | None]:
    try:
        with np.errstate(all="ignore"):
            return function(*arguments), None
    except mx.MXNetError as error:
        return None, error


def require_same(row: Row, inputs: list[np.ndarray]) -> None:
    wanted, error = outcome(on_arrays, row, inputs)
    runs, other = outcome(in_a_graph, row, inputs)
    if error is not None or other is not None:
        assert type(error).__name__ == type(other).__name__, f"nd: {error!r}; sym: {other!r}"
        assert not isinstance(error, OperatorError), f"an error of NumPy's comes through: {error}"
        return
    for outputs in runs:
        for got, expected in zip(outputs, wanted, strict=True):
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(
                got.astype("float64"), expected.astype("float64"), rtol=1e-12 if got.dtype != "float16" else 2e-3
            )


@each({row.id: (row,) for row in ROWS}, at_once=5)
def test_operators(row: Row) -> None:
    """Arrays, graphs step by step and compiled, and inference agree for every dtype; or both refuse it alike."""
    values = row.draw()
    for dtype in DTYPES:
        require_same(row, [converted(value, dtype) for value in values])


MIXED = [row for row in ROWS if any(spec.integers for spec in row.specs) and not all(s.integers for s in row.specs)]


@each({row.id: (row,) for row in MIXED}, at_once=10)
def test_labels_and_indices_in_int32(row: Row) -> None:
    values = row.draw()
    for dtype in DTYPES:
        inputs = [
            converted(value, "int32" if spec.integers else dtype) for value, spec in zip(values, row.specs, strict=True)
        ]
        require_same(row, inputs)


PAIRS = [("bool", "uint8"), ("bool", "float32"), ("uint8", "int8"), ("int32", "float32"), ("int64", "float16"),
         ("float16", "float32"), ("float32", "float64"), ("int8", "float16"), ("int32", "bool")]  # fmt: skip
BINARY = [row for row in ROWS if row.name.startswith(("broadcast_", "elemwise_")) and len(row.specs) == 2]


@pytest.mark.parametrize("row", BINARY, ids=[row.id for row in BINARY])
def test_two_dtypes(row: Row) -> None:
    values = row.draw()
    for pair in PAIRS:
        require_same(row, [converted(value, dtype) for value, dtype in zip(values, pair, strict=True)])


# -- numbers -----------------------------------------------------------------------------------------------------------

NUMBERS = (2, 3, -1, -3, 0, 1, 2.5, 2.0, -0.5)
SIGNS = {
    "+": signs.add, "-": signs.sub, "*": signs.mul, "/": signs.truediv, "%": signs.mod, "**": signs.pow,
    ">": signs.gt, ">=": signs.ge, "<": signs.lt, "<=": signs.le, "==": signs.eq, "!=": signs.ne,
}  # fmt: skip
FUNCTIONS = (
    "add", "subtract", "multiply", "divide", "modulo", "power", "maximum", "minimum", "equal", "not_equal", "greater",
    "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor", "broadcast_hypot",
)  # fmt: skip


def require_alike(compute: Callable[[Any], Any], dtype: str) -> None:
    x = nd.array([1, 2, 5, 1], dtype=dtype)
    with np.errstate(all="ignore"):
        expected = compute(x)
        symbol = compute(sym.var("x"))
        loaded = sym.load_json(symbol.tojson())  # files spell numbers
        for one in (symbol, loaded):
            assert np.dtype(one.infer_type(x=dtype)[1][0]) == np.dtype(expected.dtype)
            executor = one.bind(mx.cpu(), {"x": x})
            for _ in range(RUNS):
                (got,) = executor.forward()
                assert got.dtype == expected.dtype
                np.testing.assert_array_equal(got.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sign", SIGNS)
def test_signs_with_numbers(sign: str, dtype: str) -> None:
    for number in NUMBERS:
        require_alike(lambda x, number=number: SIGNS[sign](x, number), dtype)
        require_alike(lambda x, number=number: SIGNS[sign](number, x), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_with_numbers(name: str, dtype: str) -> None:
    in_nd = getattr(nd, name)
    in_sym = getattr(sym, OPERATORS[name].__name__)

    def function(left: Any, right: Any) -> Any:
        chosen = in_sym if isinstance(left, sym.Symbol) or isinstance(right, sym.Symbol) else in_nd
        return chosen(left, right)

    for number in NUMBERS:
        require_alike(lambda x, number=number: function(x, number), dtype)
        require_alike(lambda x, number=number: function(number, x), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_minus(dtype: str) -> None:
    require_alike(lambda x: -x, dtype)
    require_alike(lambda x: (nd if isinstance(x, nd.NDArray) else sym).negative(x), dtype)


def test_booleans_and_numbers() -> None:
    mask = nd.array([1, 0, 1], dtype="bool")
    x = sym.var("x")
    for symbol, expected, dtype in (
        (x * 2.5, [2.5, 0, 2.5], "float32"),
        (x * 2.0, [2, 0, 2], "float32"),
        (x * 2, [2, 0, 2], "int64"),
        (sym.exp(x) - 1, nd.exp(mask.astype("float32")).asnumpy() - 1, "float32"),
        (sym.cumsum(x), [1, 1, 2], "int64"),
    ):
        (answer,) = symbol.bind(mx.cpu(), {"x": mask}).forward()
        assert answer.dtype == np.dtype(dtype)
        np.testing.assert_allclose(answer.asnumpy(), expected)


def test_booleans_have_no_half_precision_in_compiled_graphs() -> None:
    """What is computed in float32 of booleans is so also in memory that the graph gives."""
    mask = nd.array([1, 0, 1], dtype="bool")
    expected = np.array([np.e, 1, np.e], "float32") * 3
    executor = (sym.exp(sym.var("x")) * 3).bind(mx.cpu(), {"x": mask})
    for _ in range(RUNS):
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_functions_of_integers_are_computed_in_floating_point_that_holds_them(dtype: str) -> None:
    """NumPy's float16 of bytes makes tanh(5) 1; a step on the way may not overflow either."""
    for name in ("tanh", "sigmoid", "softsign", "exp", "log", "cbrt", "rsqrt", "arctan", "degrees"):
        values = np.array([1, 2, 4, 5] if name in ("exp", "degrees") else [1, 2, 5, 20, 100, 127])
        values = values[:2] if name == "degrees" else values[:3] if name == "exp" else values
        got = getattr(nd, name)(nd.array(values, dtype=dtype))
        exact = getattr(nd, name)(nd.array(values, dtype="float64")).asnumpy()
        wanted = np.trunc(np.where(exact == np.rint(exact), exact, exact))
        if name in ("tanh", "sigmoid") and dtype in ("uint8", "int8"):  # in float32, 1 - 1e-9 is 1
            wanted = np.trunc(getattr(nd, name)(nd.array(values, dtype="float32")).asnumpy())
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got.asnumpy(), wanted, err_msg=name)
    assert nd.tanh(nd.array([5], dtype=dtype)).asscalar() == 0


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "%="])
def test_booleans_do_not_hold_numbers(sign: str) -> None:
    mask = nd.array([1, 0], dtype="bool")
    with pytest.raises(
        DTypeError, match=r"in-place \w+: the result has dtype int64, which an array of booleans cannot"
    ):
        exec(f"mask {sign} 2")
    assert mask.asnumpy().tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_powers_in_place_leave_nothing_half_done(dtype: str) -> None:
    x = nd.array([2, 3, 4], dtype=dtype)
    x **= nd.array([2, 1, 3], dtype=dtype)
    assert x.asnumpy().tolist() == [4, 3, 64]
    if dtype != "uint8":
        y = nd.array([1, 2, 3], dtype=dtype)
        y **= nd.array([2, 2, -1], dtype=dtype)
        assert y.asnumpy().tolist() == [1, 4, 0]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "bool"])
@pytest.mark.parametrize("name", ["sgd_update", "sgd_mom_update"])
def test_updates_refuse_integers(name: str, dtype: str) -> None:
    x = nd.ones((2,), dtype=dtype)
    states = [x] if "mom" in name else []
    with pytest.raises(DTypeError, match=rf"{name}: weight has dtype {dtype}; expected a floating-point dtype\. Use "):
        getattr(nd, name)(x, x, *states, lr=0.1)


@each(
    {
        f"{name}-{number!r}-{dtype}": (name, number, dtype)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for number in (np.float32(2.5), np.float64(1), np.int64(2), np.bool_(True))
        for dtype in ("bool", "uint8", "int32", "float16", "float32", "float64")
    }
)
def test_scalars_of_numpy_compare_from_the_left_as_from_the_right(name, number, dtype):
    reflected = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, name)
    array = nd.array([0, 1, 2, 3], dtype=dtype)
    found, expected = getattr(signs, name)(number, array), getattr(signs, reflected)(array, number)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
    assert getattr(signs, name)(number, mx.np.array([1.0, 2.0])).dtype == np.bool_
