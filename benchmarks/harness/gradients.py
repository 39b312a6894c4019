"""A function of arrays forward and backward, for a given gradient of its result: in each library's own ways.

Every step returns the result and the gradients of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.case import Array, Checked, Step

__all__ = ["block_gradients", "bound_gradients", "hybrid_gradients", "jax_gradients", "torch_gradients"]


def block_gradients(mx: Any, block: Any, data: Sequence[Array], parameters: Sequence[Array], head: Array) -> Checked:
    """The step of a Gluon block, hybridized, under `record()`; `parameters` as they come in the block."""
    data, head = [mx.nd.array(array) for array in data], mx.nd.array(head)
    block.initialize()
    block(*data)  # completes the shapes
    learning = [parameter for parameter in block.collect_params().values() if parameter.grad_req != "null"]
    for parameter, array in zip(learning, parameters, strict=True):
        parameter.set_data(mx.nd.array(array))
    for array in data:
        array.attach_grad()
    block.hybridize(static_alloc=True, static_shape=True)

    def step():
        with mx.autograd.record():
            y = block(*data)
        y.backward(head)
        mx.nd.waitall()
        return y

    return step, lambda y: (y, *(array.grad for array in data), *(parameter.grad() for parameter in learning))


def hybrid_gradients(mx: Any, function: Callable[..., Any], arrays: Sequence[Array], head: Array) -> Checked:
    """The step of a hybridized block that is `function(F, *arrays)`."""

    class Whole(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *inputs):
            return function(F, *inputs)

    return block_gradients(mx, Whole(), arrays, (), head)


def bound_gradients(mx: Any, symbol: Any, arrays: dict[str, Array], head: Array, states: Any = ()) -> Checked:
    """The step of an executor; `arrays` by the names of the arguments, gradients in their order."""
    arguments = {name: mx.nd.array(array) for name, array in arrays.items()}
    gradients = {name: mx.nd.zeros(array.shape) for name, array in arguments.items()}
    executor = symbol.bind(mx.cpu(), arguments, gradients, aux_states=[mx.nd.array(array) for array in states])
    head = mx.nd.array(head)

    def step():
        (y,) = executor.forward(is_train=True)
        executor.backward(head)
        mx.nd.waitall()
        return y

    step.executor = executor  # type: ignore[attr-defined]
    return step, lambda y: (y, *gradients.values())


def torch_gradients(function: Callable[..., Any], arrays: Sequence[Array], head: Array, compiled: bool = False) -> Step:
    """The step in PyTorch; `compiled`: of the function that `torch.compile` makes."""
    import torch

    given = [torch.tensor(array, requires_grad=True) for array in arrays]
    head = torch.tensor(head)
    if compiled:
        function = torch.compile(function)

    def step():
        for array in given:
            array.grad = None
        y = function(*given)
        y.backward(head)
        return y, *(array.grad for array in given)

    return step


def jax_gradients(function: Callable[..., Any], arrays: Sequence[Array], head: Array) -> Step:
    """The step in JAX, compiled as a whole."""
    import jax

    given, head = [jax.numpy.asarray(array) for array in arrays], jax.numpy.asarray(head)

    @jax.jit
    def compute(head, *arrays):
        y, pull = jax.vjp(function, *arrays)
        return (y, *pull(head))

    return lambda: jax.block_until_ready(compute(head, *given))
