"""Every row of the operator table in hybridized blocks of both generations: what the tape computes, to its order."""

from __future__ import annotations

from typing import Any

import numpy as np
from calling_rows import operator_of, scope, weights_for
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row

import minpy as mx
from minpy import autograd, gluon, nd

ROWS = [row for row in ALL_ROWS if row.specs and row.bound]


class OfSymbols(gluon.HybridBlock):
    """Calls an operator on what `hybrid_forward` is given."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self._row = row

    def hybrid_forward(self, F: Any, *inputs: Any) -> Any:
        answer = operator_of(self._row)(*inputs, **self._row.attributes)
        single = isinstance(answer, nd.NDArray) or (isinstance(answer, mx.sym.Symbol) and len(answer.values) == 1)
        return answer if single else list(answer)


class OfArrays(gluon.HybridBlock):
    """Calls an operator on what `forward` is given."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self._row = row

    def forward(self, *inputs: Any) -> Any:
        return operator_of(self._row)(*inputs, **self._row.attributes)


def results(row: Row, block: Any, order: int) -> list[np.ndarray]:
    """Return the outputs, and the gradients to some order."""
    inputs = [nd.array(value, dtype=value.dtype) for value in row.draw()]
    variables = [inputs[position] for position in row.differentiable] if order else []
    for one in variables:
        one.attach_grad()
    if row.random:
        mx.random.seed(7)
    if not variables:
        with scope(row):
            answer = block(*inputs)
        outputs = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        return [output.asnumpy() for output in outputs]
    with autograd.record(train_mode=row.training):
        answer = block(*inputs)
        outputs = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        chosen = [outputs[index] for index in row.outputs] if row.outputs is not None else None
        chosen = chosen or [output for output in outputs if np.dtype(output.dtype).kind == "f"]
        weights = [nd.array(one, dtype="float64") for one in weights_for(chosen)]
        if order == 2:
            first = autograd.grad(chosen, variables, weights, create_graph=True, train_mode=row.training)
            total = sum((one * one).sum() for one in first)
    found = [output.asnumpy() for output in outputs]
    if order == 2:
        autograd.backward([total], train_mode=row.training)
        found += [one.asnumpy() for one in first]
    else:
        autograd.backward(chosen, weights, train_mode=row.training)
    return found + [one.grad.asnumpy() for one in variables]


@each({f"{row.id}-{kind.__name__}": (row, kind) for row in ROWS for kind in (OfSymbols, OfArrays)}, at_once=10)
def test_an_operator_in_a_hybridized_block(row: Row, kind: Any) -> None:
    block = kind(row)
    expected = [results(row, block, order) for order in range(row.order + 1)]
    block.hybridize()
    for _ in range(2):
        assert block._active
        for order, wanted in enumerate(expected):
            for found, one in zip(results(row, block, order), wanted, strict=True):
                assert found.dtype == one.dtype
                np.testing.assert_allclose(found, one, rtol=1e-9, atol=1e-9)
    assert block._cached_graph
    assert not any(graph.has_no_program for graph in block._graphs.values())
