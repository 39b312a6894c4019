"""Gradients of a convolution's data, batch last: (filters, positions, batch) to (channels, height, width, batch)."""

from __future__ import annotations

from minpy.backends.native.convolutions.correlation import Code, Correlation, Strides, correlate
from minpy.backends.native.convolutions.problem import Problem, gradient_axes
from minpy.backends.native.convolutions.registers import Processor

__all__ = ["data_correlation", "data_gradient"]


def data_gradient(problem: Problem, processor: Processor, packs: bool | None = None) -> Code:
    """Return the function that sends the gradient of a convolution's sums to its data.

    It is a correlation with the taps in the opposite order; with a stride, one for each remainder of a position by it.
    """
    return correlate(data_correlation(problem), processor, packs)


def data_correlation(problem: Problem) -> Correlation:
    """Return the gradient of a convolution's data as a correlation."""
    rows, columns = gradient_axes(problem)
    height, width = problem.kernel
    results, terms = problem.channels // problem.groups, problem.filters // problem.groups
    area = height * width
    return Correlation(
        problem.batch,
        problem.groups,
        terms,
        results,
        rows,
        columns,
        problem.positions,
        problem.lengths,
        Strides(area, results * area, width, 1, results * terms * area),
        problem.element,
    )
