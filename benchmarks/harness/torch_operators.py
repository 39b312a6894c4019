"""A softplus written in NumPy as an operator of PyTorch's, beside one written by hand: forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked

__all__ = ["softplus_case"]

_BETA = 2.0


def softplus_case(
    size: str,
    shape: tuple[int, ...],
    through: str,
    target: float | None = None,
    limit: float | None = None,
    is_registered: bool = False,
) -> Case:
    """Return the case of arrays of a shape; `through`: as for `to_torch`, and 'graph' is compiled.

    `is_registered`: whether the operator is called as PyTorch's dispatcher has it, and not as `to_torch` returns it.
    """
    is_compiled = through == "graph"
    by_hand = "torch.compile by hand" if is_compiled else "Function by hand"

    def inputs() -> tuple[Array, ...]:
        return (np.random.default_rng(0).normal(size=shape).astype(np.float32),)

    case = Case(
        f"softplus of {size} float32 in PyTorch, forward and backward, as "
        + ("a compiled graph" if is_compiled else "a registered operator" if is_registered else "NumPy that is called"),
        inputs,
        lambda x: (np.logaddexp(0, _BETA * x) / _BETA, 1 / (1 + np.exp(-_BETA * x))),
        targets={} if target is None else {by_hand: target},
        limit=limit,
        check_calls=3,
    )

    @case.implementation("minpy")
    def with_minpy(x: Array) -> Checked:
        import torch

        from minpy import customop
        from minpy.frameworks import to_torch

        @customop("numpy")
        def softplus(x, *, beta: float = 1.0):
            return np.logaddexp(0, beta * x) / beta

        softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))
        made = to_torch(softplus, through=through)
        operator = made.op if is_registered else made

        def function(x: Any) -> Any:
            return operator(x, beta=_BETA)

        return _step(torch.compile(function, fullgraph=True) if is_compiled else function, x)

    @case.implementation(by_hand, peer="minpy")
    def with_torch(x: Array) -> Checked:
        return _step(_compiled_by_hand() if is_compiled else _function_by_hand(), x)

    return case


def _step(function: Any, x: Array) -> Checked:
    import torch

    torch.set_num_threads(1)
    variable = torch.from_numpy(x).requires_grad_()
    ones = torch.ones_like(variable)

    def step() -> Any:
        result = function(variable)
        return result.detach(), torch.autograd.grad(result, variable, ones)[0]

    return step, lambda results: tuple(result.numpy() for result in results)


def _function_by_hand() -> Any:
    import torch

    class Softplus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, beta):
            ctx.save_for_backward(x)
            ctx.beta = beta
            return torch.from_numpy(np.logaddexp(0, beta * x.detach().numpy()) / beta)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.from_numpy(g.numpy() / (1 + np.exp(-ctx.beta * x.detach().numpy()))), None

    return lambda x: Softplus.apply(x, _BETA)


def _compiled_by_hand() -> Any:
    import torch

    class Softplus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.logaddexp(torch.zeros((), dtype=x.dtype), _BETA * x) / _BETA

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g / (1 + torch.exp(-_BETA * x))

    return torch.compile(Softplus.apply, fullgraph=True)
