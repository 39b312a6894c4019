"""Numeric derivatives that know how far to trust themselves, and the comparison of a gradient with them.

A derivative along a direction is taken at two step sizes: Richardson extrapolation of both is the value, their
difference estimates its error. Where the one-sided derivatives do not approach each other as the step shrinks, the
function has a kink, and no number is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.checking.report import FAILED, OK, SKIPPED

__all__ = ["Comparison", "Tolerance", "compare", "elementwise", "equal", "equal_but_for_rounding", "repeats", "slopes"]

Arrays = Sequence[numpy.ndarray]
Function = Callable[..., Arrays]

# Where a random direction disagrees, at most so many single elements are looked at.
MOST_ELEMENTS = 500


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How exact numbers may be expected to be: what the user allows, and the precision of the function's outputs."""

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


# Of the largest number: what is left where others are added up in another order.
_ROUNDING = 64


def equal_but_for_rounding(first: Arrays, second: Arrays) -> bool:
    """Tell whether two runs give the same: integers exactly, and others up to what another order of sums changes.

    >>> third = numpy.ones(2) / 3
    >>> equal_but_for_rounding([third], [third * (1 + 2**-52)]), equal_but_for_rounding([third], [third * 1.001])
    (True, False)
    """
    if [(one.shape, one.dtype) for one in first] != [(one.shape, one.dtype) for one in second]:
        return False
    for one, other in zip(first, second, strict=True):
        if one.dtype.kind not in "fc":
            if not numpy.array_equal(one, other):
                return False
            continue
        allowed = _ROUNDING * float(numpy.finfo(one.dtype).eps)
        finite = numpy.abs(one[numpy.isfinite(one)].astype(numpy.complex128))
        scale = float(finite.max(initial=0.0))
        if not numpy.allclose(one, other, rtol=allowed, atol=allowed * scale, equal_nan=True):
            return False
    return True


def repeats(run: Callable[[], Arrays], first: Arrays | None = None) -> bool:
    """Tell whether a function computes the same at every call, rather than drawing random numbers.

    What it gave before is `first`, if it was called. Numbers may be rounded otherwise from the call on at which
    something becomes native code; where that shows, as in what is left of numbers that cancel, two calls after it are
    of the same bits.
    """
    first, second = run() if first is None else first, run()
    if equal_but_for_rounding(first, second):
        return True
    third = run()
    return len(second) == len(third) and all(map(equal, second, third))


def equal(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    """Tell whether two arrays are of the same numbers; NaN equals NaN."""
    return numpy.array_equal(first, second, equal_nan=first.dtype.kind in "fc")


def flat(outputs: Any) -> numpy.ndarray:
    """Return the floating-point outputs of a function as one float64 vector; others as zeros."""
    parts = [y.astype(numpy.float64).ravel() if y.dtype.kind == "f" else numpy.zeros(y.size) for y in outputs]
    return numpy.concatenate(parts) if parts else numpy.zeros(0)


def slopes(
    function: Function,
    variables: Arrays,
    position: int,
    direction: numpy.ndarray,
    tolerance: Tolerance,
    centre: numpy.ndarray | None = None,
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return (derivatives of every output along a direction of one variable, where they can be trusted).

    `centre` are the outputs at the variables themselves, where they are known.
    """
    values = list(variables)

    def at(distance: float) -> numpy.ndarray:
        values[position] = variables[position] + distance * direction
        return flat(function(*values))

    if centre is None:
        centre = flat(function(*values))
    value = numpy.full(centre.shape, numpy.nan)
    smooth = numpy.zeros(centre.shape, bool)
    for step in tolerance.steps:
        found, trusted = _one_step(at, centre, step, tolerance)
        value = numpy.where(smooth, value, found)
        smooth = smooth | trusted
        if smooth.all():
            break
    return value, smooth


def _one_step(
    at: Callable[[float], numpy.ndarray], centre: numpy.ndarray, step: float, tolerance: Tolerance
) -> tuple[numpy.ndarray, numpy.ndarray]:
    ahead, behind = at(step), at(-step)
    near_ahead, near_behind = at(step / 2), at(-step / 2)
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


def compare(
    function: Function,
    variables: Arrays,
    position: int,
    upstream: Arrays,
    gradient: numpy.ndarray,
    tolerance: Tolerance,
    directions: Iterable[numpy.ndarray],
) -> Comparison:
    """Compare a gradient with numeric derivatives of <upstream, function> along directions of one variable.

    Where a direction disagrees, single elements decide: which one is worst, or that the point is at a kink.
    """
    weights = flat(upstream)
    used = weights != 0
    centre = flat(function(*variables))
    terms = weights[used] * centre[used]
    magnitude = float(numpy.abs(terms).sum())
    is_finite = bool(numpy.isfinite(centre).all())
    worst = 0.0
    for direction in directions:
        slope, smooth = slopes(function, variables, position, direction, tolerance, centre)
        parts = gradient * direction
        got, expected = float(parts.sum()), float(weights[used] @ slope[used])
        error = abs(got - expected)
        # One wrong element among many hides behind the others: what is suspicious is less than what is wrong.
        typical = float(numpy.linalg.norm(parts)) / max(parts.size, 1) ** 0.5
        suspicious = tolerance.bound(typical, 0.01 * float(numpy.linalg.norm(terms)))
        if not (error <= suspicious and smooth[used].all()):
            wrong = tolerance.bound(max(abs(got), abs(expected), float(numpy.linalg.norm(parts))), magnitude)
            indices = _suspects(function, variables, position, weights, gradient, tolerance, direction, centre)
            found = _worst_element(function, variables, position, weights, gradient, tolerance, indices, is_finite)
            if found.result == SKIPPED and indices.size < direction.size:
                others = numpy.setdiff1d(numpy.arange(direction.size), indices)
                some = others[:: -(-others.size // MOST_ELEMENTS)]
                found = _worst_element(function, variables, position, weights, gradient, tolerance, some, is_finite)
            if found.result != OK or found.note or error <= wrong:
                return found
            return Comparison(FAILED, error, "along a random direction", None, got, expected)
        worst = max(worst, error)
    return Comparison(OK, worst)


def _suspects(
    function: Function,
    variables: Arrays,
    position: int,
    weights: numpy.ndarray,
    gradient: numpy.ndarray,
    tolerance: Tolerance,
    direction: numpy.ndarray,
    centre: numpy.ndarray,
) -> numpy.ndarray:
    """Return the (flat) elements to look at: all, or those of a block found by halving where a direction disagrees.

    A block along which the function has a kink, or is NaN, says nothing: another one is looked at first.
    """
    used = weights != 0

    def disagreement(indices: numpy.ndarray) -> tuple[bool, float]:
        part = numpy.zeros(direction.size)
        part[indices] = direction.ravel()[indices]
        got = float(gradient.ravel()[indices] @ part[indices])
        if not numpy.isfinite(got):
            return True, numpy.inf
        slope, smooth = slopes(function, variables, position, part.reshape(direction.shape), tolerance, centre)
        error = abs(got - float(weights[used] @ slope[used]))
        is_known = bool(smooth[used].all())
        clear = is_known and error > tolerance.bound(float(numpy.linalg.norm(gradient.ravel()[indices])))
        return clear, error if is_known else -1.0

    indices = numpy.arange(direction.size)
    while indices.size > MOST_ELEMENTS:
        halves = numpy.array_split(indices, 2)
        found = [disagreement(half) for half in halves]
        if not any(clear for clear, _ in found) and any(error < 0 for _, error in found):
            # What is wrong is in a half that says nothing, if it is anywhere.
            indices = halves[min(range(2), key=lambda place: found[place][1])]
        else:
            indices = halves[max(range(2), key=lambda place: found[place])]
    return indices


def elementwise(
    function: Function,
    variables: Arrays,
    position: int,
    weights: numpy.ndarray,
    tolerance: Tolerance,
    indices: Iterable[int],
) -> Iterator[tuple[tuple[int, ...], float, float, bool]]:
    """Yield (index, numeric derivative, its noise as a size, whether it can be trusted) of some elements."""
    variable = variables[position]
    used = weights != 0
    centre = flat(function(*variables))
    terms = numpy.where(used, numpy.abs(weights * numpy.where(used, centre, 0)), 0)
    for place in indices:
        index = tuple(map(int, numpy.unravel_index(place, variable.shape)))
        if not numpy.isfinite(variable[index]):
            yield index, numpy.nan, 0.0, False
            continue
        direction = numpy.zeros(variable.shape)
        direction[index] = size = max(abs(float(variable[index])), 0.1)
        slope, smooth = slopes(function, variables, position, direction, tolerance, centre)
        noise = float(terms[slope != 0].sum()) / size  # outputs that do not depend on the element add none
        yield index, float(weights[used] @ slope[used]) / size, noise, bool(smooth[used].all())


def _worst_element(
    function: Function,
    variables: Arrays,
    position: int,
    weights: numpy.ndarray,
    gradient: numpy.ndarray,
    tolerance: Tolerance,
    indices: numpy.ndarray,
    is_finite: bool,
) -> Comparison:
    """Return how the worst of some elements compares; where outputs are NaN, a gradient that is NaN says nothing."""
    kinks = 0
    worst: Comparison | None = None
    largest = 0.0
    for index, expected, noise, smooth in elementwise(function, variables, position, weights, tolerance, indices):
        got = float(gradient[index])
        if not smooth or not (is_finite or numpy.isfinite(got)):
            kinks += 1
            continue
        error = abs(got - expected) if numpy.isfinite(got) else numpy.inf
        if error <= tolerance.bound(max(abs(got), abs(expected)), noise):
            largest = max(largest, error)
        elif worst is None or error > worst.error:
            worst = Comparison(FAILED, error, "", index, got, expected)
    if worst is not None:
        return worst
    if kinks == indices.size:
        return Comparison(SKIPPED, note="not smooth here: choose inputs away from kinks and jumps")
    return Comparison(OK, largest, f"{kinks} of {indices.size} elements at a kink, left out" if kinks else "")
