"""Every row of the operator table as a symbol: what the executor computes is what the tape computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from calling_rows import call, chosen, operator_of, scope, tape_gradients, weights_for
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row

import minpy as mx
from minpy import nd, sym
from minpy.graph.verifier import verify
from minpy.symbol.composition import compose

ROWS = [row for row in ALL_ROWS if row.specs and row.bound]
RUNS = 3  # step by step, then compiled, then compiled again: buffers hold what the run before left there


def symbol_of(row: Row, names: list[str]) -> Any:
    operator = operator_of(row)
    symbol = compose(operator, operator.__name__, [sym.var(name) for name in names], dict(row.attributes))
    verify(symbol.values)
    return symbol


def on_tape(row: Row, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return outputs, their weights, and gradients as eager execution gives them."""

    def outputs() -> tuple[Any, ...]:
        with scope(row):
            return call(row, [nd.array(value, dtype=value.dtype) for value in inputs])

    weights = weights_for(chosen(row, outputs()))
    return (
        [output.asnumpy() for output in outputs()],
        weights,
        tape_gradients(row, inputs, weights) if row.order else [],
    )


@each({row.id: (row,) for row in ROWS}, at_once=10)
def test_a_symbol_gives_what_the_tape_gives(row: Row) -> None:
    inputs = row.draw()
    names = [f"input{index}" for index in range(len(inputs))]
    outputs, weights, gradients = on_tape(row, inputs)
    symbol = mx.sym.Group([mx.sym.identity(one) for one in symbol_of(row, names)])  # heads are not planned
    by_name = dict(zip(names, inputs, strict=True))
    states = symbol.list_auxiliary_states()
    arguments = {name: nd.array(v, dtype=v.dtype) for name, v in by_name.items() if name not in states}
    asked = {names[position]: nd.zeros(inputs[position].shape, dtype="float64") for position in row.differentiable}
    asked = asked if row.order else {}
    is_train = row.training or (bool(asked) and not operator_of(row).uses_training)
    auxiliary = {name: nd.array(by_name[name], dtype=by_name[name].dtype) for name in states}
    executor = symbol.bind(mx.cpu(), arguments, asked, aux_states=auxiliary)
    heads = [np.zeros(output.shape, output.dtype) for output in outputs]
    differentiated = row.outputs or [index for index, output in enumerate(outputs) if output.dtype.kind == "f"]
    for index, weight in zip(differentiated, weights, strict=True):
        heads[index] = weight
    for _ in range(RUNS):
        for name in states:
            auxiliary[name][:] = nd.array(by_name[name], dtype="float64")
        if row.random:
            mx.random.seed(7)
        got = executor.forward(is_train=is_train)
        for output, expected in zip(got, outputs, strict=True):
            assert output.dtype == expected.dtype
            np.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-12, atol=1e-12)
        if asked:
            executor.backward([nd.array(head, dtype=head.dtype) for head in heads])
            for position, expected in zip(row.differentiable, gradients, strict=True):
                found = executor.grad_dict[names[position]].asnumpy()
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10, err_msg=names[position])
