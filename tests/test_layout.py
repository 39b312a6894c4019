"""Programs whose layers lie column by column: which do, and that they compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd, sym
from minpy.graph import emitting

WIDTH = 520
ROWS = 40


def layer(F: Any, data: Any, parameters: dict[str, Any], name: str, width: int = WIDTH) -> Any:
    return F.FullyConnected(data, parameters[f"{name}_weight"], parameters[f"{name}_bias"], num_hidden=width)


def perceptron(F: Any, x: Any, p: dict[str, Any]) -> Any:
    hidden = F.Activation(layer(F, x, p, "a"), act_type="relu")
    return layer(F, F.Activation(layer(F, hidden, p, "b"), act_type="relu"), p, "c", 10)


def other_activations(F: Any, x: Any, p: dict[str, Any]) -> Any:
    hidden = F.Activation(layer(F, F.tanh(layer(F, x, p, "a")), p, "b"), act_type="sigmoid")
    return layer(F, hidden, p, "c", 10)


def without_a_form_for_given_memory(F: Any, x: Any, p: dict[str, Any]) -> Any:
    return layer(F, F.sigmoid(layer(F, F.tanh(layer(F, x, p, "a")), p, "b")), p, "c", 10)


def residual(F: Any, x: Any, p: dict[str, Any]) -> Any:
    hidden = F.tanh(layer(F, x, p, "a"))
    return layer(F, hidden + F.tanh(layer(F, hidden, p, "b")), p, "c", 10)


def beside_the_input(F: Any, x: Any, p: dict[str, Any]) -> Any:
    return layer(F, F.tanh(layer(F, x, p, "a")) + x, p, "c", 10)


def reshaped(F: Any, x: Any, p: dict[str, Any]) -> Any:
    hidden = F.tanh(layer(F, x, p, "a"))
    return layer(F, F.reshape(F.reshape(hidden, shape=(-1, 2, WIDTH // 2)), shape=(0, -1)), p, "c", 10)


def read_as_a_weight(F: Any, x: Any, p: dict[str, Any]) -> Any:
    rows = layer(F, x, p, "a")
    return F.FullyConnected(rows, F.tanh(rows), num_hidden=ROWS, no_bias=True)


def the_head_itself(F: Any, x: Any, p: dict[str, Any]) -> Any:
    return F.tanh(layer(F, x, p, "a"))


def summed(F: Any, x: Any, p: dict[str, Any]) -> Any:
    return F.sum(F.tanh(layer(F, x, p, "a")), axis=1)


# The layers that lie turned.
NETWORKS = [
    (perceptron, {"a", "b"}),
    (other_activations, {"a", "b"}),
    (without_a_form_for_given_memory, {"a"}),
    (residual, {"a", "b"}),
    (beside_the_input, set()),
    (reshaped, set()),
    (read_as_a_weight, set()),
    (the_head_itself, set()),
    (summed, set()),
]


def arrays_for(rows: int, dtype: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(rows)
    found = {"x": random.uniform(-1, 1, (rows, WIDTH))}
    for name, width in (("a", WIDTH), ("b", WIDTH), ("c", 10)):
        found[f"{name}_weight"] = random.uniform(-1, 1, (width, WIDTH)) / WIDTH**0.5
        found[f"{name}_bias"] = random.uniform(-1, 1, width)
    return {name: value.astype(dtype) for name, value in found.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("network", "layers"), NETWORKS, ids=lambda value: getattr(value, "__name__", ""))
def test_turned_layers_compute_the_same(
    network: Any, layers: set[str], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned: set[str] = set()

    def spied(steps: Any, fixed: Any, facts: Any) -> Any:
        answer = emitting_turned(steps, fixed, facts)
        turned.update(
            step.inputs[1].node.name[0]
            for step in steps
            if step.kind == "FullyConnected" and answer[step].strides != facts[step].strides
        )
        return answer

    emitting_turned = emitting.turned
    monkeypatch.setattr(emitting, "turned", spied)
    values = arrays_for(ROWS, dtype)
    symbol = network(sym, sym.var("x"), {name: sym.var(name) for name in values})
    names = symbol.list_arguments()
    arrays = {name: nd.array(values[name], dtype=dtype) for name in names}
    gradients = {name: nd.zeros(values[name].shape, dtype=dtype) for name in names}
    executor = symbol.bind(mx.cpu(), arrays, gradients)
    eager = {name: nd.array(value, dtype=dtype) for name, value in values.items()}
    for array in eager.values():
        array.attach_grad()
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-10}
    for change in (1.0, 1.0, 0.5):  # step by step, compiled, compiled with other values
        for name in names:
            arrays[name][:] = nd.array(values[name] * change, dtype=dtype)
            eager[name][:] = nd.array(values[name] * change, dtype=dtype)
        with autograd.record():
            expected = network(nd, eager["x"], eager)
        upstream = nd.array(np.random.default_rng(0).uniform(-1, 1, expected.shape), dtype=dtype)
        expected.backward(upstream)
        [found] = executor.forward(is_train=True)
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), **tolerance)
        executor.backward(upstream)
        for name in names:
            np.testing.assert_allclose(gradients[name].asnumpy(), eager[name].grad.asnumpy(), err_msg=name, **tolerance)
        [predicted] = executor.forward()
        np.testing.assert_allclose(predicted.asnumpy(), expected.asnumpy(), **tolerance)
    assert turned == layers


@pytest.mark.parametrize(("rows", "lie_turned"), [(4, False), (32, False), (33, True), (128, True), (129, False)])
def test_only_layers_of_few_rows_are_turned(rows: int, lie_turned: bool) -> None:
    values = arrays_for(rows, "float32")
    symbol = perceptron(sym, sym.var("x"), {name: sym.var(name) for name in values})
    executor = symbol.bind(mx.cpu(), {name: nd.array(values[name]) for name in symbol.list_arguments()})
    for _ in range(3):
        [found] = executor.forward()
    expected = perceptron(nd, nd.array(values["x"]), {name: nd.array(value) for name, value in values.items()})
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-3, atol=1e-4)
    [program] = executor._programs.values()
    buffers = [placement.buffer for placement in program.emitted.plan.placements.values()]
    orders = {buffer.flags.c_contiguous for buffer in buffers if buffer is not None and buffer.shape == (rows, WIDTH)}
    assert orders == {not lie_turned}
