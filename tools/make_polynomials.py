"""Write minpy/backends/native/mathematics/coefficients.py: polynomials that approximate elementary functions.

python tools/make_polynomials.py [NAME ...]        (needs mpmath; prints errors; with names, writes nothing)

Each polynomial minimises the largest weighted error over an interval by Remez' second algorithm (J.-M. Muller,
Elementary Functions, 3rd edition, 2016, section 3.7), in arithmetic of 100 digits on a dense grid. For float32 the
coefficients are then rounded one after the other, from the constant up, those that are left fitted anew to the rest
(least squares on Chebyshev nodes; the idea is that of N. Brisebarre and S. Chevillard, Efficient polynomial
L-approximations, ARITH 18, 2007), as the rounding of the coefficients alone would lose a bit or two.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import mpmath as mp
import numpy

mp.mp.dps = 100
TARGET = Path(__file__).parent.parent / "minpy" / "backends" / "native" / "mathematics" / "coefficients.py"
COUNTS = {"float": "single", "double": "double"}
Function = Callable[[mp.mpf], mp.mpf]


class Row(NamedTuple):
    """A polynomial in x: what it approximates, where, what its error is multiplied by, and how many coefficients.

    With no coefficients, there is no polynomial for that type.
    """

    what: str
    function: Function
    interval: tuple[float, float]
    weight: Function
    single: int
    double: int


def value_of(coefficients: list, x: mp.mpf) -> mp.mpf:
    """Return the value of a polynomial, by Horner's rule."""
    value = mp.mpf(0)
    for coefficient in reversed(coefficients):
        value = coefficient + x * value
    return value


def error_of(row: Row, coefficients: list, points: list) -> list:
    return [abs(row.weight(x)) * (value_of(coefficients, x) - row.function(x)) for x in points]


def remez(row: Row, count: int) -> list:
    """Return the coefficients, the constant first, that minimise the largest weighted error."""
    low, high = map(mp.mpf, row.interval)
    middle, half = (low + high) / 2, (high - low) / 2
    size = 24 * count + 1
    grid = [middle - half * mp.cos(mp.pi * i / (size - 1)) for i in range(size)]
    grid = [x if abs(x) > mp.mpf(10) ** -15 else mp.mpf(10) ** -15 for x in grid]
    values = [row.function(x) for x in grid]
    weights = [abs(row.weight(x)) for x in grid]
    reference = [round(i * (size - 1) / count) for i in range(count + 1)]
    for _ in range(12):
        rows = [[grid[i] ** k for k in range(count)] + [(-1) ** j / weights[i]] for j, i in enumerate(reference)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([values[i] for i in reference]))
        coefficients = [solution[k] for k in range(count)]
        errors = [w * (value_of(coefficients, x) - v) for w, x, v in zip(weights, grid, values, strict=True)]
        runs: list[list[int]] = []
        for i, error in enumerate(errors):
            if runs and (errors[runs[-1][0]] > 0) == (error > 0):
                runs[-1].append(i)
            else:
                runs.append([i])
        extrema = [max(run, key=lambda i: abs(errors[i])) for run in runs]
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < count + 1:
            break
        largest = max(abs(errors[i]) for i in extrema)
        if extrema == reference or largest < abs(solution[count]) * mp.mpf("1.001"):
            break
        reference = extrema
    return coefficients


def refitted(row: Row, coefficients: list, rounding: Callable) -> list[float]:
    """Return coefficients rounded one after the other, the rest fitted anew each time."""
    count = len(coefficients)
    low, high = map(mp.mpf, row.interval)
    size = 4 * count
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * size)) for i in range(size)]
    weights = [abs(row.weight(x)) for x in nodes]
    rest = [row.function(x) for x in nodes]
    result: list[float] = []
    left = coefficients
    for k in range(count):
        if k:
            matrix = [[w * x**j for j in range(k, count)] for w, x in zip(weights, nodes, strict=True)]
            right = [w * r for w, r in zip(weights, rest, strict=True)]
            left = list(mp.qr_solve(mp.matrix(matrix), mp.matrix(right))[0])
        result.append(rounding(left[0]))
        rest = [r - mp.mpf(result[-1]) * x**k for r, x in zip(rest, nodes, strict=True)]
    return result


def fit(row: Row, single: bool) -> tuple[list[float], float]:
    """Return the rounded coefficients and the base-2 logarithm of their largest weighted error."""
    exact = remez(row, row.single if single else row.double)
    if single:
        rounded = refitted(row, exact, lambda c: float(numpy.float32(float(c))))
    else:
        rounded = [float(c) for c in exact]
    low, high = row.interval
    points = [mp.mpf(low) + (mp.mpf(high) - low) * (i + mp.mpf("0.37")) / 300 for i in range(300)]
    largest = max(abs(e) for e in error_of(row, [mp.mpf(c) for c in rounded], points))
    return rounded, float(mp.log(largest, 2))


def series(odd: Function, power: int) -> Function:
    """Return z -> (f(x) - x) / x**power with x = sqrt(z): what is left of an odd function beside its first term."""
    return lambda z: (odd(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** power


def relative(odd: Function) -> Function:
    return lambda z: mp.sqrt(z) ** 3 / odd(mp.sqrt(z))


def erf_rest(z: mp.mpf) -> mp.mpf:
    return (mp.erf(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z)


def erf_weight(z: mp.mpf) -> mp.mpf:
    return mp.sqrt(z) / mp.erf(mp.sqrt(z))


@cache
def scaled_erfc(q: mp.mpf) -> mp.mpf:
    x = 2 * (1 + q) / (1 - q)
    return mp.exp(x * x) * mp.erfc(x) * (x + 2)


def log_quotient(z: mp.mpf) -> mp.mpf:
    return 2 * (mp.atanh(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3


def exp2_rest(x: mp.mpf) -> mp.mpf:
    return mp.expm1(x * mp.log(2)) / x


EXP2 = "(2**x - 1) / x, relative error of 2**x"
LOG_QUOTIENT = "(2·artanh(s) - 2s) / (s·z), z = s², relative error of artanh(s)"
ERFCX = "exp(x²)·erfc(x)·(x + 2), q = (x - 2) / (x + 2), relative error"
LOG2_HALF = 0.3467
ROWS = {
    "EXP": Row(
        "(exp(x) - 1 - x) / x², relative error of exp(x) - 1",
        lambda x: (mp.expm1(x) - x) / x**2,
        (-LOG2_HALF, LOG2_HALF),
        lambda x: x**2 / mp.expm1(x),
        5,
        11,
    ),
    "EXP2": Row(EXP2, exp2_rest, (-0.5001, 0.5001), lambda x: x / 2**x, 6, 12),
    "EXP2_SHORT": Row(EXP2, exp2_rest, (-0.5001, 0.5001), lambda x: x / 2**x, 5, 0),
    "LOG_QUOTIENT": Row(LOG_QUOTIENT, log_quotient, (0, 0.029438), lambda z: z / 2, 3, 7),
    "LOG_QUOTIENT_SHORT": Row(LOG_QUOTIENT, log_quotient, (0, 0.029438), lambda z: z / 2, 0, 5),
    "LOG_POWER": Row(
        "(3·artanh(s)/s - 3 - z) / z², z = s², error of artanh(s) / s",
        lambda z: (3 * (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) - z) / z**2,
        (0, 0.029438),
        lambda z: z**2 / 3,
        0,
        8,
    ),
    "TANH": Row("(tanh(x) - x) / x³, z = x²", series(mp.tanh, 3), (0, 0.3026), relative(mp.tanh), 4, 10),
    "SIN": Row("(sin(x) - x) / x³, z = x²", series(mp.sin, 3), (0, 0.701), relative(mp.sin), 3, 6),
    "COS": Row(
        "(cos(x) - 1 + x²/2) / x⁴, z = x²",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        (0, 0.701),
        lambda z: z**2 / mp.cos(mp.sqrt(z)),
        3,
        6,
    ),
    "SINH": Row("(sinh(x) - x) / x³, z = x²", series(mp.sinh, 3), (0, 1), relative(mp.sinh), 4, 7),
    "ARCTAN": Row("(arctan(x) - x) / x³, z = x²", series(mp.atan, 3), (0, 0.2501), relative(mp.atan), 7, 14),
    "ARCSIN": Row("(arcsin(x) - x) / x³, z = x²", series(mp.asin, 3), (0, 0.2501), relative(mp.asin), 6, 13),
    "ARCSINH": Row("(arcsinh(x) - x) / x³, z = x²", series(mp.asinh, 3), (0, 0.2501), relative(mp.asinh), 6, 12),
    "CBRT": Row("cbrt(x), relative error", mp.cbrt, (0.7071, 1.4143), lambda x: 1 / mp.cbrt(x), 0, 5),
    "ERF": Row("(erf(x) - x) / x, z = x²", erf_rest, (0, 0.8650), erf_weight, 7, 13),
    "ERF_SMALL": Row("(erf(x) - x) / x, z = x²", erf_rest, (0, 0.2501), erf_weight, 5, 9),
    "ERFCX": Row(ERFCX, scaled_erfc, (-0.6001, 0.8668), lambda q: 1 / scaled_erfc(q), 0, 24),
    "ERFCX_SHORT": Row(ERFCX, scaled_erfc, (-0.6001, 0.7000), lambda q: 1 / scaled_erfc(q), 0, 11),
    "LOG2_ERFC": Row(
        "log2(erfc(x)), error of erfc(x)",
        lambda x: mp.log(mp.erfc(x), 2),
        (0.9299, 4.0),
        lambda x: mp.erfc(x) * mp.log(2),
        6,
        0,
    ),
}


# Constants in parts: what, and how many bits each part but the last has.
PARTS = {
    "LOG_2": ("log 2; the first part times an exponent is exact", mp.log(2), {"float": (16,), "double": (42,)}),
    "LOG2_E": ("1 / log 2", 1 / mp.log(2), {"float": (12,), "double": (32,)}),
    "LOG10_E": ("1 / log 10", 1 / mp.log(10), {"float": (12,), "double": (32,)}),
    "LOG10_2": ("log 2 / log 10", mp.log(2) / mp.log(10), {"float": (16,), "double": (42,)}),
    "CUBED_LOGARITHM": ("2 / (3 · log 2)", 2 / (3 * mp.log(2)), {"double": (26,)}),
    "HALF_PI": ("π / 2", mp.pi / 2, {"float": (24,), "double": (53,)}),
    "HALF_PI_SHORT": ("π / 2; the first part times 30 bits is exact", mp.pi / 2, {"double": (23,)}),
}
# 2/π from the bits 2**-1, 2**-29, … on: an argument x < 2**53, < 2**81, … times what is left out is a multiple of four.
TURN_BYTES = 145  # an exponent of 972, with a window of 24 bytes
STARTS = (0, -28, -56, -84)


def split(value: mp.mpf, bits: tuple[int, ...], precision: int) -> list[float]:
    """Return parts that add up to the value: each but the last one cut off after so many bits, the last one rounded."""
    parts = []
    for count in bits:
        step = mp.mpf(2) ** (mp.floor(mp.log(value, 2)) + 1 - count)
        parts.append(float(mp.floor(value / step) * step if count < precision else mp.nint(value / step) * step))
        value -= mp.mpf(parts[-1])
    last = float(value)
    return [*parts, float(numpy.float32(last)) if precision == 24 else last]


def windows() -> list[list[float]]:
    """Return three parts of 2/π behind each start: 29 bits, 29 bits, and the rest rounded."""
    rows = []
    for start in STARTS:
        value = mp.frac(2 / mp.pi * mp.mpf(2) ** -start) * mp.mpf(2) ** start
        row = []
        for end in (start - 29, start - 58):
            part = mp.floor(value / mp.mpf(2) ** end) * mp.mpf(2) ** end
            row.append(float(part))
            value -= part
        rows.append([*row, float(value)])
    return rows


def keyword(name: str, text: str) -> list[str]:
    """Return the lines of a string as a keyword argument, as long as lines may be."""
    if len(line := f'    {name}="{text}",') <= 120:
        return [line]
    first, *more = textwrap.wrap(text, 118 - len(f'    {name}="'))
    more = textwrap.wrap(" ".join(more), 113)
    pieces = [first, *more]
    quoted = [f'"{piece} "' for piece in pieces[:-1]] + [f'"{pieces[-1]}",']
    return [f"    {name}={quoted[0]}", *(f"    {piece}" for piece in quoted[1:])]


def main() -> None:
    chosen = sys.argv[1:]
    lines = [
        '"""Coefficients of minimax polynomials, the constant first, written by tools/make_polynomials.py.',
        "",
        "A comment says what is approximated, where, and the largest error as a power of two for float and double; the",
        "error is that of the function relative to its value, if nothing else is said.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "",
        "def _numbers(**texts: str) -> dict[str, tuple[float, ...]]:",
        "    return {type: tuple(map(float, text.split())) for type, text in texts.items()}",
        "",
        "",
    ]
    for name, row in ROWS.items():
        if chosen and name not in chosen:
            continue
        fits = {type: fit(row, type == "float") for type in ("float", "double") if getattr(row, COUNTS[type])}
        low, high = row.interval
        errors = ", ".join(f"{type} 2**{error:.1f}" for type, (_, error) in fits.items())
        print(f"{name:16} {errors}")
        lines.append(f"# {row.what}, in [{low:g}, {high:g}]: {errors}")
        lines.append(f"{name} = _numbers(")
        for type, (coefficients, _) in fits.items():
            lines += keyword(type, " ".join(map(repr, coefficients)))
        lines += [")", ""]
    for name, (what, value, bits) in PARTS.items():
        lines += [f"# {what}, in parts", f"{name} = {{"]
        for type, counts in bits.items():
            parts = split(value, counts, 24 if type == "float" else 53)
            lines.append(f'    "{type}": ({", ".join(map(repr, parts))}),')
        lines += ["}", ""]
    with mp.workdps(400):
        digits = f"{int(mp.mpf(2) ** (8 * TURN_BYTES) / (2 * mp.pi)):0{2 * TURN_BYTES}x}"
    lines += ["# 1/(2π): the bytes behind the binary point", "TURN = bytes.fromhex("]
    lines += [f'    "{digits[i : i + 96]}"' for i in range(0, len(digits), 96)]
    lines += [")", ""]
    lines += [f"# 2/π without its bits above 2**-1, {', '.join(f'2**{s - 1}' for s in STARTS[1:])}", "TWO_OVER_PI = ("]
    lines += [f"    ({', '.join(map(repr, row))})," for row in windows()]
    lines += [")", ""]
    if not chosen:
        TARGET.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
