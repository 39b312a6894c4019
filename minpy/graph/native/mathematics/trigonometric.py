"""sin, cos and tan.

x is turned into quarter turns by a product with 2/π, of which only the bits that count are used (M. H. Payne and
R. N. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983).
"""

from __future__ import annotations

from minpy.graph.native.mathematics import coefficients
from minpy.graph.native.mathematics.writing import Value, polynomial, where

__all__ = ["cos", "sin", "tan"]


def _turned(x: Value) -> tuple[Value, Value]:
    """Return q, an integer, and r in [-π/4, π/4] with x = q·π/2 + r modulo 2π, of a float32 x in double precision.

    2/π is used in three parts, of 29, 29 and 53 bits, so that products with the first two are exact. Where x is large,
    the leading bits of 2/π, whose products with x are multiples of four, are left out, so that three parts do
    everywhere: what is neglected is below 2**-57, and no float32 is nearer to a multiple of π/2 than 2**-30
    (J.-M. Muller, Elementary Functions, 2016, section 11.3).
    """
    magnitude = abs(x)
    x = x.to_double()
    parts = [x.writer.constant("double", part) for part in coefficients.TWO_OVER_PI[0]]
    for bound, row in zip((2.0**53, 2.0**81, 2.0**109), coefficients.TWO_OVER_PI[1:], strict=True):
        parts = [where(magnitude >= bound, new, part) for new, part in zip(row, parts, strict=True)]
    quarters = x.writer.constant("double", 0.0)
    rest = x.writer.constant("double", 0.0)
    for part in parts[:2]:
        product = x * part
        whole = product.rint()
        # A multiple of four is left out; what stays is small.
        quarters = quarters + (whole - 4 * (whole * 0.25).rint())
        rest = rest + (product - whole)
    whole = rest.rint()
    quarters, rest = quarters + whole, (rest - whole) + x * parts[2]
    whole = rest.rint()
    turned = (quarters + whole) + rest.format.shifter
    return turned.bits(), (rest - whole) * coefficients.HALF_PI["double"][0]


def _sin_cos(r: Value, precision: str) -> tuple[Value, Value]:
    """Return sin(r) and cos(r) of |r| <= π/4, with polynomials for `precision`."""
    z = r * r
    sine = r + r * z * polynomial(z, coefficients.SIN[precision])
    return sine, 1 - (0.5 * z - z * z * polynomial(z, coefficients.COS[precision]))


def _of_quarter(x: Value, shift: int) -> Value:
    quarter, r = _turned(x)
    sine, cosine = _sin_cos(r.to_float(), "float")
    quarter = quarter.narrowed() + shift
    result = where((quarter & 1).equals(0), sine, cosine)
    return (result.bits() ^ ((quarter & 2) << 30)).as_number()


def sin(x: Value) -> Value:
    return where(abs(x) < 2.0**-13, x, _of_quarter(x, 0))


def cos(x: Value) -> Value:
    return _of_quarter(x, 1)


def tan(x: Value) -> Value:
    quarter, r = _turned(x)
    sine, cosine = _sin_cos(r, "float")
    swapped = (quarter & 1).differs(0)
    result = where(swapped, -cosine, sine) / where(swapped, sine, cosine)
    return where(abs(x) < 2.0**-13, x, result.to_float())
