"""The rows of functions that compute each element by itself: ufuncs, and functions like them."""

from __future__ import annotations

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS"]


def _as_mxnet(kind: str, names: str, gradient: str = "") -> list[Row]:
    """Return the rows of functions that MXNet has under the same name."""
    return [Row(name, kind, gradient=gradient, mxnet=f"_npi_{name}") for name in names.split()]


ROWS = [
    *_as_mxnet(
        "ufunc",
        "absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt cos cosh degrees exp expm1 log log10 log1p log2 "
        "negative radians reciprocal sin sinh sqrt square tan tanh",
    ),
    *_as_mxnet("ufunc", "ceil floor isfinite isinf isnan logical_not rint sign trunc", gradient="zero"),
    Row("deg2rad", "ufunc", mxnet="_npi_radians"),
    Row("fabs", "ufunc", mxnet="_npi_absolute", differs="biu"),
    Row("invert", "ufunc", gradient="zero", mxnet="_npi_bitwise_not"),
    Row("rad2deg", "ufunc", mxnet="_npi_degrees"),
    *alike("ufunc", "add arctan2 copysign divide exp2 float_power fmod heaviside logaddexp logaddexp2 multiply "
           "nextafter positive remainder spacing subtract"),
    *alike("ufunc", "bitwise_and bitwise_count bitwise_or bitwise_xor equal floor_divide gcd greater greater_equal "
           "isnat lcm left_shift less less_equal logical_and logical_or logical_xor not_equal right_shift signbit",
           gradient="zero"),
    Row("conjugate", "ufunc", view="sometimes"),  # the method gives the array itself, if it is not complex
    *alike("ufunc", "fmax fmin maximum minimum power", differs="b"),
    *alike("ufunc", "hypot ldexp", differs="biu"),
    *alike("ufunc", "divmod frexp modf", outputs=2),
    *_as_mxnet("elementwise", "fix", gradient="zero"),
    *_as_mxnet("elementwise", "isneginf isposinf", gradient="zero"),
    *alike("elementwise", "iscomplex isreal", gradient="zero"),
    *alike("elementwise", "angle i0 sinc"),
    Row("real", "elementwise", view="always"),
    Row("imag", "imag", view="sometimes"),
    *alike("elementwise", "around round_", gradient="zero", view="sometimes"),
    Row("round", "elementwise", gradient="zero", view="sometimes", method=True),
    Row("nan_to_num", "elementwise", gradient="rearranging", view="copy", differs="c"),
    Row("isclose", "elementwise", 2, gradient="zero"),
    Row("clip", "elementwise", (0, 1, 2, 4, 5), differs="b", method=True),
    Row("select", "elementwise", 3, gradient="selection", nests="several"),
    Row("where", "choose", 3, parameters="condition x y"),
    Row("choose", "call", 2, gradient="selection", nests="several"),
    Row("copy", "copy"),
    Row("astype", "cast", view="copy"),
    Row("real_if_close", "real", view="sometimes"),
]  # fmt: skip
