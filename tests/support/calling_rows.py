"""Rows of the operator table, called: on arrays of each kind, and on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
from autograd.builtins import SequenceBox
from operator_table.row import Row

import minpy as mx
from minpy import nd
from minpy.core import Operator
from minpy.ops.registry import OPERATORS

__all__ = ["call", "chosen", "operator_of", "raw_scalar", "raw_weights", "scope", "tape_gradients", "weights_for"]


def operator_of(row: Row) -> Operator:
    return row.operator if row.operator is not None else OPERATORS[row.name]


def scope(row: Row) -> Any:
    """Return the context in which a row runs: its training mode."""
    return mx.autograd.train_mode() if row.training else mx.autograd.predict_mode()


def call(row: Row, inputs: Any) -> tuple[Any, ...]:
    """Call a row's operator; return its outputs as a tuple."""
    if row.random:
        mx.random.seed(7)
    answer = operator_of(row)(*inputs, **row.attributes)
    if isinstance(answer, SequenceBox):  # several outputs, under HIPS autograd
        return tuple(answer[index] for index in range(len(answer)))
    return tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)


def chosen(row: Row, outputs: tuple[Any, ...]) -> list[Any]:
    """Return the outputs that enter the scalar which is differentiated."""
    if row.outputs is not None:
        return [outputs[index] for index in row.outputs]
    return [output for output in outputs if np.dtype(output.dtype).kind == "f"]


def weights_for(outputs: Any) -> list[np.ndarray]:
    """Return fixed head gradients: without them, sums would hide rules that are wrong by a constant."""
    random = np.random.RandomState(3)
    return [random.uniform(0.5, 1.5, np.shape(output)) for output in outputs]


def raw_scalar(row: Row, inputs: list[np.ndarray], weights: list[np.ndarray]) -> float:
    """Return the weighted sum of a row's outputs, from NumPy arrays."""
    with scope(row):
        outputs = chosen(row, call(row, inputs))
    return float(sum(np.sum(weight * output) for weight, output in zip(weights, outputs, strict=True)))


def tape_gradients(row: Row, inputs: list[np.ndarray], weights: list[np.ndarray]) -> list[np.ndarray]:
    """Return the gradients of the differentiable inputs, by `record` and `backward`."""
    arrays = [nd.array(value, dtype=value.dtype) for value in inputs]
    for position in row.differentiable:
        arrays[position].attach_grad()
    with mx.autograd.record(train_mode=row.training):
        outputs = chosen(row, call(row, arrays))
    mx.autograd.backward(
        outputs, [nd.array(w, dtype=o.dtype) for w, o in zip(weights, outputs, strict=True)], train_mode=row.training
    )
    return [arrays[position].grad.asnumpy() for position in row.differentiable]


def raw_weights(row: Row, inputs: list[np.ndarray]) -> list[np.ndarray]:
    with scope(row):
        return weights_for(chosen(row, call(row, inputs)))
