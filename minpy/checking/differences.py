"""Numeric derivatives with an estimate of their error, and the comparison of a gradient with them.

A derivative along a direction is taken at two step sizes: Richardson extrapolation of both is the value, their
difference estimates its error. Where the one-sided derivatives do not approach each other as the step shrinks, the
function has a kink, and no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from minpy.core.reports import FAILED, OK, SKIPPED

__all__ = ["Comparison", "Derivatives", "Tolerance", "compare", "equal", "equal_but_for_rounding", "repeats"]

Arrays = Sequence[numpy.ndarray]
Function = Callable[..., Arrays]

# Where a random direction disagrees, at most so many single elements are compared.
MOST_ELEMENTS = 500


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The error allowed: what the user sets, and the precision of the function's outputs."""

    relative: float
    absolute: float
    epsilon: float

    @classmethod
    def of(cls, outputs: Arrays, relative: float, absolute: float) -> Tolerance:
        """Return the tolerance for a function with such outputs: an operator may compute in float32 inside."""
        epsilon = max((float(numpy.finfo(y.dtype).eps) for y in outputs if y.dtype.kind == "f"), default=0.0)
        return cls(max(relative, 30 * epsilon**0.75), absolute, epsilon)

    @property
    def steps(self) -> tuple[float, float]:
        """The steps to try: the second where the first crosses a kink nearby."""
        return self.epsilon**0.25, self.epsilon**0.375

    def bound(self, scale: Any, magnitude: Any = 0.0) -> Any:
        """Return the error allowed for numbers of size `scale`, from function values of size `magnitude`."""
        return self.absolute + self.relative * scale + 50 * self.epsilon / self.steps[1] * magnitude


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of comparing a gradient with numbers: the worst element where it failed."""

    result: str
    error: float = 0.0
    note: str = ""
    index: tuple[int, ...] | None = None
    got: float = 0.0
    expected: float = 0.0


# In epsilons of the largest number: the error allowed where sums are added up in another order.
_ROUNDING = 64


def equal_but_for_rounding(first: Arrays, second: Arrays) -> bool:
    """Tell whether two runs give the same: integers exactly, and others up to what another order of sums changes.

    >>> third = numpy.ones(2) / 3
    >>> equal_but_for_rounding([third], [third * (1 + 2**-52)]), equal_but_for_rounding([third], [third * 1.001])
    (True, False)
    """
    if [(array.shape, array.dtype) for array in first] != [(array.shape, array.dtype) for array in second]:
        return False
    return all(map(_equal_but_for_rounding, first, second))


def _equal_but_for_rounding(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    if first.dtype.kind not in "fc":
        return numpy.array_equal(first, second)
    allowed = _ROUNDING * float(numpy.finfo(first.dtype).eps)
    finite = numpy.abs(first[numpy.isfinite(first)].astype(numpy.complex128))
    scale = float(finite.max(initial=0.0))
    return numpy.allclose(first, second, rtol=allowed, atol=allowed * scale, equal_nan=True)


def repeats(run: Callable[[], Arrays], first: Arrays | None = None) -> bool:
    """Tell whether a function computes the same at every call, rather than drawing random numbers.

    `first` is the result of an earlier call, if there was one. Rounding may change at the call at which something
    becomes native code; where that shows, as after cancellation, the two calls after it agree in every bit.
    """
    first, second = run() if first is None else first, run()
    if equal_but_for_rounding(first, second):
        return True
    third = run()
    return len(second) == len(third) and all(map(equal, second, third))


def equal(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    """Tell whether two arrays hold the same numbers; NaN equals NaN."""
    return numpy.array_equal(first, second, equal_nan=first.dtype.kind in "fc")


def flat(outputs: Any) -> numpy.ndarray:
    """Return the floating-point outputs of a function as one float64 vector; others as zeros."""
    parts = [y.astype(numpy.float64).ravel() if y.dtype.kind == "f" else numpy.zeros(y.size) for y in outputs]
    return numpy.concatenate(parts) if parts else numpy.zeros(0)


@dataclass(frozen=True)
class Derivatives:
    """Numeric derivatives of a function's outputs, and of their sum weighted by `upstream`, by one of its variables."""

    function: Function
    variables: Arrays
    position: int
    tolerance: Tolerance
    upstream: Arrays = ()

    @cached_property
    def weights(self) -> numpy.ndarray:
        """The upstream gradients as one vector."""
        return flat(self.upstream)

    @cached_property
    def centre(self) -> numpy.ndarray:
        """The outputs at the variables themselves."""
        return flat(self.function(*self.variables))

    def slopes(self, direction: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return (derivatives of every output along a direction, where they can be trusted)."""
        values = list(self.variables)

        def evaluate_at(distance: float) -> numpy.ndarray:
            values[self.position] = self.variables[self.position] + distance * direction
            return flat(self.function(*values))

        derivatives = numpy.full(self.centre.shape, numpy.nan)
        smooth = numpy.zeros(self.centre.shape, bool)
        for step in self.tolerance.steps:
            estimate, trusted = _one_step(evaluate_at, self.centre, step, self.tolerance)
            derivatives = numpy.where(smooth, derivatives, estimate)
            smooth = smooth | trusted
            if smooth.all():
                break
        return derivatives, smooth

    def weighted(self, direction: numpy.ndarray) -> tuple[float, bool, numpy.ndarray]:
        """Return (derivative of the weighted sum along a direction, whether it can be trusted, those of outputs)."""
        derivatives, smooth = self.slopes(direction)
        used = self.weights != 0
        return float(self.weights[used] @ derivatives[used]), bool(smooth[used].all()), derivatives

    def of_elements(self, indices: Iterable[int]) -> Iterator[tuple[tuple[int, ...], float, float, bool]]:
        """Yield (index, derivative of the weighted sum, size of its noise, whether it can be trusted) of elements."""
        variable = self.variables[self.position]
        used = self.weights != 0
        terms = numpy.where(used, numpy.abs(self.weights * numpy.where(used, self.centre, 0)), 0)
        for place in indices:
            index = tuple(map(int, numpy.unravel_index(place, variable.shape)))
            if not numpy.isfinite(variable[index]):
                yield index, numpy.nan, 0.0, False
                continue
            direction = numpy.zeros(variable.shape)
            direction[index] = size = max(abs(float(variable[index])), 0.1)
            slope, smooth, derivatives = self.weighted(direction)
            noise = float(terms[derivatives != 0].sum()) / size  # outputs that do not depend on the element add none
            yield index, slope / size, noise, smooth


def _one_step(
    evaluate_at: Callable[[float], numpy.ndarray], centre: numpy.ndarray, step: float, tolerance: Tolerance
) -> tuple[numpy.ndarray, numpy.ndarray]:
    ahead, behind = evaluate_at(step), evaluate_at(-step)
    near_ahead, near_behind = evaluate_at(step / 2), evaluate_at(-step / 2)
    coarse = (ahead - behind) / (2 * step)
    fine = (near_ahead - near_behind) / step
    value = (4 * fine - coarse) / 3
    # The difference of the one-sided derivatives: it halves with the step, unless there is a kink.
    coarse_jump = numpy.abs(ahead - 2 * centre + behind) / step
    fine_jump = numpy.abs(near_ahead - 2 * centre + near_behind) * 2 / step
    bound = tolerance.bound(numpy.abs(value), numpy.abs(centre) * (tolerance.steps[1] / step))
    agrees = numpy.abs(coarse - fine) <= bound
    halves = (fine_jump <= bound) | (fine_jump <= 0.7 * coarse_jump)
    return value, agrees & halves & numpy.isfinite(value) & numpy.isfinite(centre)


def compare(derivatives: Derivatives, gradient: numpy.ndarray, directions: Iterable[numpy.ndarray]) -> Comparison:
    """Compare a gradient with numeric derivatives of <upstream, function> along directions of one variable.

    Where a direction disagrees, single elements decide: which one is worst, or that the point is at a kink.
    """
    tolerance, weights = derivatives.tolerance, derivatives.weights
    terms = weights[weights != 0] * derivatives.centre[weights != 0]
    magnitude = float(numpy.abs(terms).sum())
    worst = 0.0
    for direction in directions:
        expected, smooth, _ = derivatives.weighted(direction)
        parts = gradient * direction
        got = float(parts.sum())
        error = abs(got - expected)
        # One wrong element among many hides behind the others: a smaller error is already suspicious.
        typical = float(numpy.linalg.norm(parts)) / max(parts.size, 1) ** 0.5
        suspicious = tolerance.bound(typical, 0.01 * float(numpy.linalg.norm(terms)))
        if not (error <= suspicious and smooth):
            wrong = tolerance.bound(max(abs(got), abs(expected), float(numpy.linalg.norm(parts))), magnitude)
            indices = _suspects(derivatives, gradient, direction)
            outcome = _worst_element(derivatives, gradient, indices)
            if outcome.result == SKIPPED and indices.size < direction.size:
                remaining = numpy.setdiff1d(numpy.arange(direction.size), indices)
                outcome = _worst_element(derivatives, gradient, remaining[:: -(-remaining.size // MOST_ELEMENTS)])
            if outcome.result != OK or outcome.note or error <= wrong:
                return outcome
            return Comparison(FAILED, error, "along a random direction", None, got, expected)
        worst = max(worst, error)
    return Comparison(OK, worst)


def _suspects(derivatives: Derivatives, gradient: numpy.ndarray, direction: numpy.ndarray) -> numpy.ndarray:
    """Return flat indices of the elements to compare: all, or a block found by halving where a direction disagrees.

    A block along which the function has a kink, or is NaN, tells nothing: others are searched first.
    """

    def disagreement(indices: numpy.ndarray) -> tuple[bool, float]:
        part = numpy.zeros(direction.size)
        part[indices] = direction.ravel()[indices]
        got = float(gradient.ravel()[indices] @ part[indices])
        if not numpy.isfinite(got):
            return True, numpy.inf
        slope, is_smooth, _ = derivatives.weighted(part.reshape(direction.shape))
        error = abs(got - slope)
        bound = derivatives.tolerance.bound(float(numpy.linalg.norm(gradient.ravel()[indices])))
        return is_smooth and error > bound, error if is_smooth else -1.0

    indices = numpy.arange(direction.size)
    while indices.size > MOST_ELEMENTS:
        halves = numpy.array_split(indices, 2)
        errors = [disagreement(half) for half in halves]
        if not any(is_wrong for is_wrong, _ in errors) and any(error < 0 for _, error in errors):
            # The wrong element, if there is one, is in a half that tells nothing.
            indices = halves[min(range(2), key=lambda place: errors[place][1])]
        else:
            indices = halves[max(range(2), key=lambda place: errors[place])]
    return indices


def _worst_element(derivatives: Derivatives, gradient: numpy.ndarray, indices: numpy.ndarray) -> Comparison:
    """Return how the worst of some elements compares; where outputs are NaN, a gradient that is NaN tells nothing."""
    is_finite = bool(numpy.isfinite(derivatives.centre).all())
    kinks = 0
    worst: Comparison | None = None
    largest = 0.0
    for index, expected, noise, smooth in derivatives.of_elements(indices):
        got = float(gradient[index])
        if not smooth or not (is_finite or numpy.isfinite(got)):
            kinks += 1
            continue
        error = abs(got - expected) if numpy.isfinite(got) else numpy.inf
        if error <= derivatives.tolerance.bound(max(abs(got), abs(expected)), noise):
            largest = max(largest, error)
        elif worst is None or error > worst.error:
            worst = Comparison(FAILED, error, "", index, got, expected)
    if worst is not None:
        return worst
    if kinks == indices.size:
        return Comparison(SKIPPED, note="not smooth here: choose inputs away from kinks and jumps")
    return Comparison(OK, largest, f"{kinks} of {indices.size} elements at a kink, left out" if kinks else "")
