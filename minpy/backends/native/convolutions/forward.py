"""Convolutions, batch last: (channels, height, width, batch) to (filters, height, width, batch)."""

from __future__ import annotations

from minpy.backends.native.convolutions.correlation import Code, Correlation, Strides, correlate
from minpy.backends.native.convolutions.problem import Problem, forward_axes
from minpy.backends.native.convolutions.registers import Processor

__all__ = ["forward", "forward_correlation"]


def forward(problem: Problem, processor: Processor, packs: bool | None = None) -> Code:
    """Return the function that does a convolution, with what is fused into it."""
    return correlate(forward_correlation(problem), processor, packs)


def forward_correlation(problem: Problem) -> Correlation:
    """Return a convolution as a correlation."""
    rows, columns = forward_axes(problem)
    height, width = problem.kernel
    terms, results = problem.channels // problem.groups, problem.filters // problem.groups
    area = height * width
    return Correlation(
        problem.batch,
        problem.groups,
        terms,
        results,
        (rows,),
        (columns,),
        problem.lengths,
        problem.positions,
        Strides(terms * area, area, width, 1, results * terms * area),
        problem.element,
        problem.bias,
        problem.residual,
        problem.relu,
        problem.pool,
    )
