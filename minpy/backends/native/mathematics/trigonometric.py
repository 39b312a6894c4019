"""sin, cos and tan.

x is turned into quarter turns by a product with 2/π, of which only the bits that count are used (M. H. Payne and
R. N. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983).
"""

from __future__ import annotations

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = ["cos", "sin", "tan"]


def _turned_single(x: Value) -> tuple[Value, Value]:
    """Return q, an integer, and r, |r| < 0.84, with x = q·π/2 + r modulo 2π, of a float32 x in double precision.

    2/π is used in three parts, of 29, 29 and 53 bits, so that products with the first two are exact. Where x is large,
    the leading bits of 2/π, whose products with x are multiples of four, are left out, so that three parts do
    everywhere: what is neglected is below 2**-57, and no float32 is nearer to a multiple of π/2 than 2**-30
    (J.-M. Muller, Elementary Functions, 2016, section 11.3).
    """
    magnitude = abs(x)
    x = x.to_double()
    parts = [x.operand(part) for part in coefficients.TWO_OVER_PI[0]]
    for bound, row in zip((2.0**53, 2.0**81, 2.0**109), coefficients.TWO_OVER_PI[1:], strict=True):
        parts = [where(magnitude >= bound, new, part) for new, part in zip(row, parts, strict=True)]
    product = x * parts[0]
    quarters = product.rint()
    fraction = (product - quarters) + x * parts[1]
    more = fraction.rint()
    # A multiple of four is left out; what stays is small.
    turns = (quarters - 4 * (quarters * 0.25).rint()) + more
    fraction = (fraction - more) + x * parts[2]
    return (turns + fraction.format.shifter).bits(), fraction * coefficients.HALF_PI["double"][0]


def _turned_double(x: Value) -> tuple[Value, Value, Value]:
    """Return q, an integer, and r + low, |r| <= π/4, with |x| = q·π/2 + r + low modulo 2π, low a rounding error of r.

    x is an integer of 53 bits times a power of two; of 1/(2π) the 192 bits are read whose products with it count: what
    is a whole number of turns is left out, and no double is nearer to a multiple of π/2 than 2**-62. The integers are
    multiplied in limbs of 32 bits.
    """
    ones = (1 << 32) - 1
    bits = abs(x).bits()
    biased = bits.shifted_right(52)
    biased = where(biased < 1022, 1022, biased)  # such small ones are not reduced
    position = biased - (1075 - 56)
    table = bytes(7) + coefficients.TURN
    start = (len(table) - 8) - position.shifted_right(3)
    limbs: list[Value] = []  # the most significant first
    for word in range(3):
        loaded = x.writer.load("minpy_turn", table[::-1], start - 8 * word)
        limbs += [loaded.shifted_right(32), loaded & ones]
    w5, w4, w3, w2, w1, w0 = limbs
    integer = (bits & ((1 << 52) - 1) | (1 << 52)) << (position & 7)
    low, high = integer & ones, integer.shifted_right(32)
    lows = {2: low * w2, 3: low * w3, 4: low * w4}
    highs = {2: high * w1, 3: high * w2, 4: high * w3}  # at the limb where their low half goes
    carry = (low * w1).shifted_right(32) + (high * w0).shifted_right(32)
    digits = []
    for limb in (2, 3, 4):
        total = (lows[limb] & ones) + (highs[limb] & ones) + carry
        digits.append(total & ones)
        carry = total.shifted_right(32) + lows[limb].shifted_right(32) + highs[limb].shifted_right(32)
    d2, d3, d4 = digits
    d5 = low * w5 + high * w4 + carry
    # Of both parts the nearest integer is taken, so that what follows is at most half of it, and nothing cancels.
    up = d4.shifted_right(31)
    d5, d4 = (d5 + up) & ones, d4 - (up << 32)
    quarter = (d5 + (1 << 29)).shifted_right(30)
    leading = (d5 - (quarter << 30)).to_number() * 2.0**-30
    low_part = d4.to_number() * 2.0**-62 + (d3.to_number() * 2.0**-94 + d2.to_number() * 2.0**-126)
    first, second = coefficients.HALF_PI_SHORT["double"]
    product = leading * first
    low_part = leading * second + low_part * coefficients.HALF_PI["double"][0]
    r = product + low_part
    error = (product - r) + low_part
    small = abs(x) < 0.78539816339744828
    quarter = where(small, 0, quarter)
    return quarter, where(small, abs(x), r), where(small, 0.0, error)


def _sin_cos(r: Value, precision: str) -> tuple[Value, Value]:
    """Return sin(r) and cos(r) of |r| < 0.84, with polynomials for `precision`."""
    z = r * r
    sine = r + r * z * polynomial(z, coefficients.SIN[precision])
    return sine, 1 - (0.5 * z - z * z * polynomial(z, coefficients.COS[precision]))


def _sin_cos_double(r: Value, low: Value) -> tuple[Value, Value, Value, Value]:
    """Return sin(r + low) and cos(r + low), low a rounding error of r, each as two terms, the second one small."""
    z = r * r
    half = 0.5 * z
    cosine = 1 - half
    return (
        r,
        r * z * polynomial(z, coefficients.SIN["double"]) + low * cosine,
        cosine,
        ((1 - cosine) - half) + (z * z * polynomial(z, coefficients.COS["double"]) - r * low),
    )


def _of_quarter(x: Value, shift: int) -> Value:
    """Return sin(x + shift·π/2)."""
    if x.type == "float":
        quarter, r = _turned_single(x)
        sine, cosine = _sin_cos(r.to_float(), "float")
        quarter = quarter.narrowed() + shift
        result = where((quarter & 1).equals(0), sine, cosine)
        return (result.bits() ^ ((quarter & 2) << 30)).as_number()
    quarter, r, low = _turned_double(x)
    sine, sine_rest, cosine, cosine_rest = _sin_cos_double(r, low)
    sine, cosine = sine + sine_rest, cosine + cosine_rest
    quarter = quarter + shift
    result = where((quarter & 1).equals(0), sine, cosine).bits() ^ ((quarter & 2) << 62)
    if not shift:
        result = result ^ (x.bits() & x.format.sign_bit)
    return where(abs(x) < float("inf"), result.as_number(), float("nan"))


def sin(x: Value) -> Value:
    """sin or cos of r with a sign, as q says."""
    result = _of_quarter(x, 0)
    return where(abs(x) < 2.0**-13, x, result) if x.type == "float" else result


def cos(x: Value) -> Value:
    """sin of a quarter turn more."""
    return _of_quarter(x, 1)


def tan(x: Value) -> Value:
    """The quotient of sin and cos; in double precision with the rounding errors of both."""
    if x.type == "float":
        quarter, r = _turned_single(x)
        sine, cosine = _sin_cos(r, "float")
        swapped = (quarter & 1).differs(0)
        result = where(swapped, -cosine, sine) / where(swapped, sine, cosine)
        return where(abs(x) < 2.0**-13, x, result.to_float())
    quarter, r, low = _turned_double(x)
    sine, sine_rest, cosine, cosine_rest = _sin_cos_double(r, low)
    swapped = (quarter & 1).differs(0)
    above, above_rest = where(swapped, -cosine, sine), where(swapped, -cosine_rest, sine_rest)
    below, below_rest = where(swapped, sine, cosine), where(swapped, sine_rest, cosine_rest)
    # The quotient of the sums, and what their rounding errors make of it.
    dividend, divisor = above + above_rest, below + below_rest
    above_rest, below_rest = above_rest - (dividend - above), below_rest - (divisor - below)
    quotient = dividend / divisor
    result = quotient + (above_rest - quotient * below_rest) / divisor
    result = (result.bits() ^ (x.bits() & x.format.sign_bit)).as_number()
    return where(abs(x) < float("inf"), result, float("nan"))
