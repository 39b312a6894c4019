"""The transforms of Winograd's convolutions, of four results of three taps, as lines of IR.

Data are coefficients of a polynomial that is multiplied at six points: zero, ±3/4, ±3/2 and infinity. Floats hold these
factors exactly, so that errors are about twice those of the plain sum; ±1 and ±2 give errors five times as large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from minpy.backends.native.convolutions.vector_writer import Emitter

__all__ = [
    "KERNEL_MATRIX",
    "PRODUCTS",
    "RESULTS",
    "SIDE",
    "data_line",
    "kernel_line",
    "result_line",
    "transformed_square",
]

# Results along the side of a tile, data along it, and the products of a tile.
RESULTS, SIDE = 4, 6
PRODUCTS = SIDE * SIDE

# The points ±p. Their polynomials: the product of x² - p² over all p, and the one without each of them.
POINTS = (0.75, 1.5)
ALL_POINTS = (POINTS[0] ** 2 * POINTS[1] ** 2, -(POINTS[0] ** 2) - POINTS[1] ** 2, 1.0)
OTHER_POINT = {p: (-(q**2), 1.0) for p, q in (POINTS, POINTS[::-1])}


def _kernel_matrix() -> numpy.ndarray:
    """Return G, of six rows and three columns: what becomes of a line of a kernel."""
    rows = [[1 / ALL_POINTS[0], 0.0, 0.0]]
    for p in POINTS:
        constant, square = OTHER_POINT[p]
        factor = 2 * p * p * (constant + square * p * p)
        rows += [[1 / factor, sign * p / factor, p * p / factor] for sign in (1, -1)]
    return numpy.array([*rows, [0.0, 0.0, 1.0]])


# What becomes of a line of a kernel is this times it.
KERNEL_MATRIX = _kernel_matrix()


def _sum(code: Emitter, factors: Sequence[float], values: Sequence[str]) -> str:
    """Write a sum of products with known factors, of which the last is 1."""
    total = values[-1]
    for factor, value in zip(reversed(factors[:-1]), reversed(values[:-1]), strict=True):
        total = code.add_product(total, value, code.number(factor))
    return total


def data_line(code: Emitter, values: Sequence[str]) -> list[str]:
    """Write B' times a line of six data."""
    line = [_sum(code, ALL_POINTS, values[0:-1:2])]
    for p in POINTS:
        even = _sum(code, OTHER_POINT[p], values[2::2])
        odd = code.arithmetic("fmul", _sum(code, OTHER_POINT[p], values[1:-1:2]), code.number(p))
        line += [code.arithmetic(operation, even, odd) for operation in ("fadd", "fsub")]
    return [*line, _sum(code, ALL_POINTS, values[1::2])]


def result_line(code: Emitter, values: Sequence[str]) -> list[str]:
    """Write A' times a line of six products."""
    pairs = (values[1:3], values[3:5])
    terms = [[code.arithmetic(operation, *pair) for pair in pairs] for operation in ("fadd", "fsub")]
    line = [code.arithmetic("fadd", code.arithmetic("fadd", values[0], terms[0][0]), terms[0][1])]
    for power in range(1, RESULTS):
        first, second = terms[power % 2]
        total = code.arithmetic("fmul", first, code.number(POINTS[0] ** power))
        if power == RESULTS - 1:
            total = code.arithmetic("fadd", total, values[-1])
        line.append(code.add_product(total, second, code.number(POINTS[1] ** power)))
    return line


def kernel_line(code: Emitter, values: Sequence[str]) -> list[str]:
    """Write G times a line of a kernel; the factors are rounded as the numbers are."""
    line = []
    for row in KERNEL_MATRIX:
        total = ""
        for factor, value in zip(row, values, strict=True):
            if factor:
                number = code.number(float(factor))
                total = code.add_product(total, value, number) if total else code.arithmetic("fmul", value, number)
        line.append(total)
    return line


def transformed_square(
    code: Emitter, transform: Callable[[Emitter, Sequence[str]], list[str]], side: int, value: Callable[[int, int], str]
) -> list[str]:
    """Write a transform of a square of values, along its columns and then its rows; return all results, row by row."""
    columns = [transform(code, [value(i, j) for i in range(side)]) for j in range(side)]
    return [result for row in zip(*columns, strict=True) for result in transform(code, row)]
