"""`Point`: a case together with what plain NumPy arrays give for it, which every check compares with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.checking.case import Arrays, Case, as_outputs
from minpy.checking.differences import Derivatives, Tolerance

__all__ = ["Options", "Point"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user of a check may set; see `check_operator`."""

    rtol: float = 1e-6
    atol: float = 1e-8
    seed: int = 0
    directions: int = 3
    ulps: float = 4.0
    gradient_of: Callable[..., Any] | None = None


class Point:
    """A case, its outputs, random upstream gradients for them, and how exact numbers may be expected to be.

    The upstream gradients of outputs that are not floating point are zeros, and those of elements that are NaN or
    infinite: what other elements depend on is compared all the same. `states` are the auxiliary ones after the call.
    """

    def __init__(self, case: Case, options: Options) -> None:
        self.case = case
        self.options = options
        self.random = numpy.random.default_rng(options.seed)
        answer, self.states = case.run()
        self.outputs = as_outputs(answer)
        self.upstream = [
            numpy.where(numpy.isfinite(y), self.normal(y.shape), 0.0) if y.dtype.kind == "f" else numpy.zeros(y.shape)
            for y in self.outputs
        ]
        self.tolerance = self.tolerance_of(self.outputs)

    @property
    def weights(self) -> Arrays:
        """What multiplies the numbers that `evaluate` gives: the upstream gradients, or one for a loss."""
        if self.options.gradient_of is None:
            return self.upstream
        values = self.evaluate(*self.case.variables)
        if [y.shape for y in values] == [g.shape for g in self.upstream]:
            return self.upstream
        return [numpy.where(numpy.isfinite(y), 1.0, 0.0) for y in values]

    def tolerance_of(self, outputs: Arrays) -> Tolerance:
        """Return the tolerance for derivatives of these outputs."""
        return Tolerance.of(outputs, self.options.rtol, self.options.atol)

    def normal(self, shape: tuple[int, ...]) -> numpy.ndarray:
        """Return random numbers, none of them near zero (a zero would hide an error)."""
        numbers = self.random.normal(size=shape)
        return numpy.asarray(numbers + numpy.copysign(0.3, numbers))

    def some(self, shape: tuple[int, ...]) -> numpy.ndarray:
        """Return a mask of elements: each one in three, and one at least."""
        mask = numpy.asarray(self.random.uniform(size=shape) < 1 / 3)
        if mask.size:
            mask.reshape(-1)[self.random.integers(mask.size)] = True
        return mask

    def directions(self, variable: numpy.ndarray) -> Iterator[numpy.ndarray]:
        """Yield random directions, in proportion to the sizes of a variable's elements; NaN and infinity stay."""
        sizes = numpy.where(numpy.isfinite(variable), numpy.maximum(numpy.abs(variable), 0.1), 0)
        for _ in range(self.options.directions if variable.size else 0):
            yield self.normal(variable.shape) * sizes

    def derivatives(self, position: int) -> Derivatives:
        """Return the numeric derivatives by a variable, weighed by the upstream gradients."""
        return Derivatives(self.evaluate, self.case.variables, position, self.tolerance, self.weights)

    def evaluate(self, *variables: Any) -> Arrays:
        """Return what the rules are the gradients of, at other values of the variables: the outputs, as a rule."""
        if self.options.gradient_of is None:
            return as_outputs(self.case.function(*variables))
        case = self.case.with_variables(variables)
        return as_outputs(self.options.gradient_of(*case.inputs, **case.attributes))
