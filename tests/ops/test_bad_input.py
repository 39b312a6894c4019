"""What every operator says of bad input: each error is an MXNetError, its text names the operator, nothing is changed.

Every row of the operator table is called with each of its inputs and attributes spoilt in turn, on arrays and on
symbols.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row

import minpy as mx
from minpy import nd, sym
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError
from minpy.core.state import state
from minpy.ops.registry import OPERATORS

# What messages may call an operator: as it is registered, and as it is called, which leaves out what namespaces say.
NAMES: dict[int, set[str]] = {}
for _name, _operator in OPERATORS.items():
    _called = re.sub("^_(contrib|linalg|image|random|sample|npx)_|^_", "", _name)
    NAMES.setdefault(id(_operator), set()).update({_name, _operator.__name__, _called})

STRANGE = (None, "abc", {"a": 1}, object(), ["abc"], sym.var("other"))
VALUES = ("abc", -1, None, (1, 2, 3, 4, 5, 6, 7), 2.5, [], {})
# By annotations: values of other types.
TYPES = {
    "bool": (-1, 2, (1,), 2.5, [], {}),
    "int": ((1,), 2.5, [], {}),
    "float": ((1,), [], {}),
    "tuple[int, ...]": (2.5, {}),
    "tuple[float, ...]": ({},),
}


def operator_of(row: Row) -> Any:
    return row.operator if row.operator is not None else OPERATORS[row.name]


def spoilt_inputs(row: Row) -> Iterator[tuple[str, list[Any]]]:
    """Yield the inputs of a call, one of them spoilt, with what was done."""
    inputs = row.draw("float32")

    def with_input(position: int, value: Any) -> list[Any]:
        return [*inputs[:position], value, *inputs[position + 1 :]]

    for position, value in enumerate(inputs):
        if value.ndim:
            longer = [length + 1 if axis == value.ndim - 1 else length for axis, length in enumerate(value.shape)]
            yield f"input {position}, a longer axis", with_input(position, np.ones(longer, value.dtype))
            yield f"input {position}, an axis fewer", with_input(position, np.ones(value.shape[1:], value.dtype))
        yield f"input {position}, an axis more", with_input(position, value[None])
        yield f"input {position}, empty", with_input(position, value[..., :0] if value.ndim else value.reshape(1)[:0])
        yield f"input {position}, integers", with_input(position, value.astype("int32"))
        yield f"input {position}, truth values", with_input(position, value.astype("bool"))
        for strange in STRANGE:
            yield f"input {position}, {strange!r}", with_input(position, strange)
    if inputs:
        yield "an input fewer", inputs[:-1]
        yield "an input more", [*inputs, inputs[-1]]


def spoilt_attributes(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    given = dict(row.attributes)
    yield "an unknown attribute", {**given, "no_such": 1}
    for name in operator_of(row).signature.attributes:
        if name == "training":
            continue
        rest = {key: value for key, value in given.items() if key != name}
        yield f"{name} misspelt", {**rest, f"{name}x": given.get(name, 1)}
        for value in VALUES:
            yield f"{name}={value!r}", {**given, name: value}


def spoilt(row: Row) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    for what, inputs in spoilt_inputs(row):
        yield what, inputs, dict(row.attributes)
    inputs = row.draw("float32")
    for what, attributes in spoilt_attributes(row):
        yield what, inputs, attributes


def on_arrays(row: Row, inputs: list[Any], attributes: dict[str, Any]) -> None:
    operator_of(row)(*(nd.array(v, dtype=v.dtype) if isinstance(v, np.ndarray) else v for v in inputs), **attributes)


def on_symbols(row: Row, inputs: list[Any], attributes: dict[str, Any]) -> None:
    shapes = {f"v{index}": value.shape for index, value in enumerate(inputs) if isinstance(value, np.ndarray)}
    given = [sym.var(f"v{index}") if isinstance(value, np.ndarray) else value for index, value in enumerate(inputs)]
    made = operator_of(row)(*given, **attributes)
    if isinstance(made, sym.Symbol):
        arguments = made.list_arguments()
        made.infer_shape(**{key: shape for key, shape in shapes.items() if key in arguments})


def described(row: Row, what: str, error: BaseException) -> str:
    return f"{row.id}, {what}: {type(error).__name__}: {str(error)[:200]}"


def faults(row: Row, call: Any) -> list[str]:
    """Return what is wrong with the errors of a row's spoilt calls."""
    names = NAMES.get(id(operator_of(row)), set()) | {operator_of(row).__name__}
    found = []
    for what, inputs, attributes in spoilt(row):
        try:
            call(row, inputs, attributes)
        except MXNetError as error:
            if not any(name in str(error) for name in names) and "a symbol has no values" not in str(error):
                found.append(described(row, what, error))
        except Exception as error:
            found.append(described(row, what, error))
    return found


@pytest.mark.parametrize("call", [on_arrays, on_symbols])
@pytest.mark.parametrize("part", range(8))
@pytest.mark.filterwarnings("ignore")
def test_each_error_is_ours_and_names_the_operator(part: int, call: Any) -> None:
    mx.random.seed(1)
    known = dict(OPERATORS)
    assert not state.recording
    variable = nd.array([1.0, 2.0])
    variable.attach_grad()
    with np.errstate(all="ignore"), mx.autograd.record():
        answer = variable * variable
        found = [fault for row in ALL_ROWS if zlib.crc32(row.name.encode()) % 8 == part for fault in faults(row, call)]
        assert mx.autograd.is_recording()
    answer.backward()
    assert variable.grad.asnumpy().tolist() == [2.0, 4.0]
    assert dict(OPERATORS) == known
    assert not state.recording
    assert not found, f"{len(found)} of them:\n" + "\n".join(found[:40])


@each({row.id: (row,) for row in ALL_ROWS if not row.label and row.operator is None})
def test_values_of_another_type_are_refused(row: Row) -> None:
    """On arrays and on symbols, and again when the same call was bound before."""
    operator = OPERATORS[row.name]
    arrays = [nd.array(value) for value in row.draw("float32")]
    symbols = [sym.var(f"v{index}") for index in range(len(arrays))]
    for name, attribute in operator.signature.attributes.items():
        words = ("no_such_word",) if attribute.words else ()
        for value in (*TYPES.get(str(attribute.annotation), ()), *words):
            for inputs in (arrays, arrays, symbols) if arrays else (arrays,):
                with pytest.raises(ArgumentValueError) as caught:
                    operator(*inputs, **{**row.attributes, name: value})
                text = str(caught.value)
                assert text.startswith(f"{operator.__name__}: ")
                assert name in text
                assert "expected" in text
                assert all(repr(word) in text for word in attribute.words)


X = nd.ones((2, 3))
TEXTS: list[tuple[Any, type[Exception], str]] = [
    (lambda: nd.sum(X, keepdims=None), ArgumentValueError, "sum: keepdims is NoneType None; expected True or False."),
    (lambda: nd.sum(X, keepdims=2), ArgumentValueError, "sum: keepdims is int 2; expected True or False."),
    (lambda: nd.expand_dims(X, axis=1.0), ArgumentValueError, "expand_dims: axis is float 1.0; expected an integer."),
    (lambda: nd.clip(X, None, 1), ArgumentValueError, "clip: a_min is NoneType None; expected a number."),
    (lambda: nd.reshape(X, shape=2.5), ArgumentValueError, "reshape: shape is float 2.5; expected a tuple of integers"),
    (
        lambda: nd.Activation(X, act_type="rleu"),
        ArgumentValueError,
        "Activation: unknown act_type 'rleu'; expected 'relu', 'sigmoid', 'softrelu', 'softsign' or 'tanh'. Did",
    ),
    (
        lambda: sym.Activation(sym.var("x"), act_type="rleu"),
        ArgumentValueError,
        "sym.Activation: unknown act_type 'rleu'; expected 'relu', 'sigmoid', 'softrelu', 'softsign' or 'tanh'. Did",
    ),
    (lambda: nd.square("abc"), ArgumentError, "square: data is str 'abc'; expected an array."),
    (lambda: nd.broadcast_add(X, None), ArgumentError, "broadcast_add: rhs is NoneType None; expected an array."),
    (lambda: nd.expand_dims(X, axs=1), ArgumentError, "Did you mean 'axis'?"),
]


@pytest.mark.parametrize(("call", "kind", "text"), TEXTS)
def test_what_is_said(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
