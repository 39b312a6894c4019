"""Builds and runs declared layers, under whichever library is given: minpy, or MXNet 1.9.1 for golden numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from gluon_layers.declaration import Layer


def build(mx: Any, layer: Layer, source: str | None = None) -> Any:
    """Return the layer, made by its expression or another, with names that start at 0."""
    scope = {"mx": mx, "nd": mx.nd, "gluon": mx.gluon, "nn": mx.gluon.nn, "rnn": mx.gluon.rnn, "np": np}
    with mx.name.NameManager():
        exec(layer.setup, scope)
        return eval(source or layer.build, scope)


def inputs(mx: Any, layer: Layer, dtype: str = "float32", seed: int = 0, more: int = 0, ctx: Any = None) -> list[Any]:
    """Return the inputs as arrays; `more` of them along the axis of the batch."""
    found = []
    for index, spec in enumerate(layer.specs):
        shape = list(spec.shape)
        if more and spec.batch_axis is not None:
            shape[spec.batch_axis] += more
        kind = spec.dtype(dtype)
        values = spec.values(seed + index, tuple(shape)).astype(kind)
        if mx.util.is_np_array():
            found.append(mx.np.array(values, dtype=kind, ctx=ctx))
        else:
            found.append(mx.nd.array(values, dtype=kind, ctx=ctx))
    return found


def fill(net: Any, seed: int = 0) -> Any:
    """Give all parameters values that look random: what a variance may be for those that have it in their names."""
    for index, parameter in enumerate(net.collect_params().values()):
        if type(parameter).__name__ == "Constant":
            continue
        old = parameter.list_data()[0]
        values = np.sin(np.arange(old.size) * 2.3 + index + seed + 0.5).reshape(old.shape) * 0.5
        if parameter.name.endswith("var"):
            values = values**2 + 0.5
        elif parameter.name.endswith("gamma"):
            values = values + 1
        data = old.copy()
        data[:] = values
        parameter.set_data(data)
    return net


def ready(mx: Any, layer: Layer, dtype: str = "float32", source: str | None = None, ctx: Any = None) -> Any:
    """Return the layer with all shapes known, of a dtype, filled."""
    net = build(mx, layer, source)
    net.initialize(ctx=ctx)
    if dtype != "float32":
        net.cast(dtype)
    first = ctx[0] if isinstance(ctx, list) else ctx
    call(layer, net, inputs(mx, layer, dtype, ctx=first))
    return fill(net)


def call(layer: Layer, net: Any, x: list[Any]) -> list[Any]:
    """Return the outputs of the layer in a flat list."""
    return flat(eval(layer.call, {"net": net, "x": x}))


def flat(value: Any) -> list[Any]:
    """Return the arrays in nested lists, tuples and dicts."""
    if value is None:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in flat(part)]
    return [value]


def trained(net: Any) -> list[Any]:
    """Return the parameters that have gradients."""
    return [parameter for parameter in net.collect_params().values() if parameter.grad_req != "null"]


def states(net: Any) -> list[np.ndarray]:
    """Return the values of the parameters that have no gradients."""
    params = net.collect_params().values()
    return [parameter.list_data()[0].asnumpy() for parameter in params if parameter.grad_req == "null"]


def heads(mx: Any, outputs: list[Any], seed: int = 0) -> list[Any]:
    """Return gradients of the outputs that are not all alike."""
    made = []
    for index, output in enumerate(outputs):
        values = np.cos(np.arange(output.size) * 1.3 + index + seed).reshape(output.shape) + 0.2
        array = mx.np.array if mx.util.is_np_array() else mx.nd.array
        made.append(array(values.astype(output.dtype), dtype=output.dtype, ctx=output.context))
    return made


def attach(layer: Layer, x: list[Any]) -> list[Any]:
    """Give the inputs gradients that have them; return those."""
    wanted = [array for array, spec in zip(x, layer.specs) if spec.differentiable]  # noqa: B905 -- as many
    for array in wanted:
        array.attach_grad()
    return wanted


def step(mx: Any, layer: Layer, net: Any, x: list[Any], training: bool = True) -> list[np.ndarray]:
    """Run the layer forward and backward; return outputs, gradients of inputs and of parameters, and states."""
    wanted = attach(layer, x)
    mx.random.seed(3)
    with mx.autograd.record(train_mode=training):
        outputs = call(layer, net, x)
    floating = [output for output in outputs if np.dtype(output.dtype).kind == "f"]
    if wanted or trained(net):
        mx.autograd.backward(floating, heads(mx, floating), train_mode=training)
    gradients = [array.grad for array in wanted] + [parameter.list_grad()[0] for parameter in trained(net)]
    return [array.asnumpy() for array in [*outputs, *gradients]] + states(net)


@contextlib.contextmanager
def numpy_semantics(mx: Any) -> Iterator[None]:
    """Run the body under `npx.set_np`."""
    with mx.util.np_shape(True), mx.util.np_array(True):
        yield
