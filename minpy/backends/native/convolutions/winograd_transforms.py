"""The transforms of Winograd's convolutions, of two or four results of three taps, as lines of IR.

Data are coefficients of a polynomial that is multiplied at zero, infinity, and ±p for some p: ±1, or ±3/4 and ±3/2.
Floats hold these factors exactly, so that errors are about twice those of the plain sum; ±1 with ±2 give errors five
times as large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy

from minpy.backends.native.convolutions.vector_writer import Emitter

__all__ = ["LARGE", "SMALL", "Transforms", "transformed_square"]


def _sum(code: Emitter, factors: Sequence[float], values: Sequence[str]) -> str:
    """Write a sum of products with known factors, of which the last is 1."""
    total = values[-1]
    for factor, value in zip(reversed(factors[:-1]), reversed(values[:-1]), strict=True):
        total = code.add_product(total, value, code.number(factor))
    return total


@dataclass(frozen=True)
class Transforms:
    """Of data, kernels and products of a tile, by the points ±p."""

    points: tuple[float, ...]

    @property
    def results(self) -> int:
        """Results along the side of a tile."""
        return 2 * len(self.points)

    @property
    def side(self) -> int:
        """Data along the side of a tile."""
        return self.results + 2

    @property
    def products(self) -> int:
        """The products of a tile."""
        return self.side**2

    def _polynomial(self, left_out: float | None = None) -> list[float]:
        """Return the coefficients, of x² to the powers from 0 on, of the product of x² - p² over all p but one."""
        squares = [p * p for p in self.points if p != left_out]
        return [float(value) for value in numpy.atleast_1d(numpy.poly(squares))[::-1]]

    @cached_property
    def kernel_matrix(self) -> numpy.ndarray:
        """G, of three columns: what becomes of a line of a kernel is this times it."""
        rows = [[1 / self._polynomial()[0], 0.0, 0.0]]
        for p in self.points:
            factor = 2 * p * p * sum(value * p ** (2 * power) for power, value in enumerate(self._polynomial(p)))
            rows += [[1 / factor, sign * p / factor, p * p / factor] for sign in (1, -1)]
        return numpy.array([*rows, [0.0, 0.0, 1.0]])

    def data_line(self, code: Emitter, values: Sequence[str]) -> list[str]:
        """Write B' times a line of data."""
        line = [_sum(code, self._polynomial(), values[0:-1:2])]
        for p in self.points:
            even = _sum(code, self._polynomial(p), values[2::2])
            odd = _sum(code, self._polynomial(p), values[1:-1:2])
            odd = odd if p == 1 else code.arithmetic("fmul", odd, code.number(p))
            line += [code.arithmetic(operation, even, odd) for operation in ("fadd", "fsub")]
        return [*line, _sum(code, self._polynomial(), values[1::2])]

    def result_line(self, code: Emitter, values: Sequence[str]) -> list[str]:
        """Write A' times a line of products."""
        pairs = [values[index : index + 2] for index in range(1, self.results, 2)]
        sums, differences = ([code.arithmetic(operation, *pair) for pair in pairs] for operation in ("fadd", "fsub"))
        line = [values[0]]
        for term in sums:
            line[0] = code.arithmetic("fadd", line[0], term)
        for power in range(1, self.results):
            first, *later_terms = differences if power % 2 else sums
            total = (
                first if self.points[0] == 1 else code.arithmetic("fmul", first, code.number(self.points[0] ** power))
            )
            if power == self.results - 1:
                total = code.arithmetic("fadd", total, values[-1])
            for p, term in zip(self.points[1:], later_terms, strict=True):
                total = code.add_product(total, term, code.number(p**power))
            line.append(total)
        return line

    def kernel_line(self, code: Emitter, values: Sequence[str]) -> list[str]:
        """Write G times a line of a kernel; the factors are rounded as the numbers are."""
        line = []
        for row in self.kernel_matrix:
            total = ""
            for factor, value in zip(row, values, strict=True):
                if factor:
                    number = code.number(float(factor))
                    total = code.add_product(total, value, number) if total else code.arithmetic("fmul", value, number)
            line.append(total)
        return line


# Tiles of 2 x 2 and of 4 x 4 results.
SMALL, LARGE = Transforms((1.0,)), Transforms((0.75, 1.5))


def transformed_square(
    code: Emitter, transform: Callable[[Emitter, Sequence[str]], list[str]], side: int, value: Callable[[int, int], str]
) -> list[str]:
    """Write a transform of a square of values, along its columns and then its rows; return all results, row by row."""
    columns = [transform(code, [value(i, j) for i in range(side)]) for j in range(side)]
    return [result for row in zip(*columns, strict=True) for result in transform(code, row)]
