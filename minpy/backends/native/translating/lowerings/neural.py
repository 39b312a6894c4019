"""Operators of neural networks whose definitions draw random numbers, or look at values."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.indexed_access import checked_by_call
from minpy.backends.native.translating.lowerings.lowering_tables import gradient_of, lowers_operator
from minpy.backends.native.translating.results import NotLowered
from minpy.ops.nn.dropout import dropout_mask, mask_shape
from minpy.ops.nn.loss import checked_labels

__all__: list[str] = []


@lowers_operator("erf")
def _erf(operators: Any, data: Array) -> Any:
    return operators.emitter.elementwise("erf", data) if data.dtype.kind == "f" else NotImplemented


def _logistic(data: Any) -> Any:
    """Return what the definition of `sigmoid` does, with one exponential in place of two."""
    power = numpy.exp(-numpy.abs(data))
    return numpy.where(data < 0, power, data.dtype.type(1)) / (power + 1)


@lowers_operator("sigmoid")
def _sigmoid(operators: Any, data: Array) -> Any:
    return operators.defined(_logistic, data) if data.dtype.kind == "f" else NotImplemented


@lowers_operator("Activation")
def _activation(operators: Any, data: Array, *, act_type: str) -> Any:
    return _sigmoid(operators, data) if act_type == "sigmoid" else NotImplemented


# -- random numbers ----------------------------------------------------------------------------------------------------


@lowers_operator("Dropout")
def _dropout(operators: Any, data: Array, *, p: float, mode: str, axes: Any, training: Any, **unused: Any) -> Any:
    if p == 0 or not (training or mode == "always"):
        return [data, constant(1, data.dtype)]
    shape = mask_shape(data.shape, axes)
    (mask,) = operators.emitter.call(
        dropout_mask, (shape, data.dtype, p), [(shape, data.dtype)], "the mask is drawn at random"
    )
    return [operators.emitter.elementwise("multiply", data, mask), mask]


@lowers_operator("LeakyReLU")
def _leaky_relu(operators: Any, *operands: Any, act_type: str, training: Any, **attributes: Any) -> Any:
    if act_type == "rrelu" and training:
        raise NotLowered("the slopes are drawn at random")
    call_attributes = {**attributes, "act_type": act_type, "training": training}
    return operators.defined(operators.definition_of("LeakyReLU"), *operands, **call_attributes)


# -- what is checked by a call, and then computed ----------------------------------------------------------------------


def _is_inside(operators: Any, data: Array, sequence_length: Array, axis: int) -> Array:
    """Return, broadcast against the data, which steps lie inside their sequence."""
    lengths = checked_by_call(operators, "SequenceMask", data, sequence_length, axis)
    return operators.defined(_inside, lengths, time=data.shape[axis], axis=axis, ndim=len(data.shape))


def _inside(lengths: Any, *, time: int, axis: int, ndim: int) -> Any:
    steps = numpy.arange(time)
    valid = steps[:, None] < lengths if axis == 0 else steps < lengths[:, None]
    return valid.reshape(valid.shape + (1,) * (ndim - 2))


@lowers_operator("SequenceMask")
def _sequence_mask(
    operators: Any,
    data: Array,
    sequence_length: Array | None = None,
    *,
    use_sequence_length: bool,
    value: float,
    axis: int,
) -> Array:
    if not use_sequence_length or sequence_length is None:
        return data
    inside = _is_inside(operators, data, sequence_length, axis)
    return operators.emitter.elementwise("where", inside, data, constant(value, data.dtype))


@gradient_of("SequenceMask")
def _sequence_mask_gradient(operators: Any, vjp_node: Any, *operands: Any) -> Any:
    gradient, _, (_, *lengths) = vjp_node.split(operands)
    attributes = vjp_node.node.attributes
    if not attributes.get("use_sequence_length") or not lengths:
        return gradient
    if not isinstance(lengths[0], Array):
        return NotImplemented
    inside = _is_inside(operators, gradient, lengths[0], attributes.get("axis", 0))
    return operators.emitter.elementwise("where", inside, gradient, constant(0, gradient.dtype))


@lowers_operator("softmax_cross_entropy")
def _softmax_cross_entropy(operators: Any, data: Array, label: Array) -> Array:
    why = "labels that are no class are refused"
    arguments = (_Rows(data.shape), label)
    (columns,) = operators.emitter.call(_labels, arguments, [(label.shape, numpy.intp)], why)
    return operators.defined(_cross_entropy, data, columns)


class _Rows:
    """Stands for data of which only the shape is looked at."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.ndim = shape, len(shape)


def _labels(data: Any, label: Any) -> numpy.ndarray:
    """Return checked labels, as integers."""
    return checked_labels(data, label)


def _cross_entropy(data: Any, columns: Any) -> Any:
    shifted = data - numpy.max(data, axis=1, keepdims=True, initial=-numpy.inf)
    total = numpy.log(numpy.sum(numpy.exp(shifted), axis=1)).sum()
    is_it = numpy.expand_dims(columns, 1) == numpy.arange(data.shape[1])
    return (total - numpy.where(is_it, shifted, data.dtype.type(0)).sum()).reshape(1)
