"""NumPy's functions as those of PyTensor: the table by which traced steps become variables of a graph.

Steps are written as for JAX, as far as PyTensor has what `jax.numpy` has: `_Functions` stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Dialect, Operand
from minpy.frameworks.jax_rows import ROWS as JAX_ROWS
from minpy.frameworks.jax_rows import _index
from minpy.frameworks.row_parts import Rows, elementwise
from minpy.importing import import_module

__all__ = ["DIALECT"]

_SAME_NAME = (
    "arccos arccosh arcsin arcsinh arctan arctan2 arctanh ceil cos cosh deg2rad exp exp2 expm1 floor isinf isnan log "
    "log10 log1p log2 rad2deg reciprocal sign sin sinh sqrt square tan tanh trunc maximum minimum matmul dot outer "
    "bitwise_and bitwise_or bitwise_xor invert isfinite logical_and logical_not logical_or logical_xor where "
    "reshape concatenate stack broadcast_to squeeze swapaxes flip tril triu expand_dims moveaxis"
)
# What PyTensor calls otherwise; further ones are methods of `_Functions`.
_OTHER_NAME = {
    "absolute": "abs",
    "fabs": "abs",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "negative": "neg",
    "radians": "deg2rad",
    "rint": "round_half_to_even",
}
_COMPUTED = (
    "add subtract multiply divide floor_divide remainder less less_equal greater greater_equal power "
    "power_of_array positive cbrt hypot logaddexp as_dtype array copy filled ones_like zeros_like clip sum prod mean "
    "std var cumsum cumprod amin amax min max ptp all any argmax argmin add.reduce multiply.reduce maximum.reduce "
    "minimum.reduce logical_and.reduce logical_or.reduce add.accumulate multiply.accumulate sum_to transpose ravel "
    "flatten take item_of atleast_1d"
)

ROWS = Rows()
for _name in f"{_SAME_NAME} {' '.join(_OTHER_NAME)} {_COMPUTED}".split():
    ROWS[_name] = JAX_ROWS[_name]


ROWS["equal"] = elementwise("jnp.equal({0}, {1})")
ROWS["not_equal"] = elementwise("jnp.not_equal({0}, {1})")


@ROWS.enter("with_item")
def _with_item(call: Call, array: Operand, index: Any, value: Any) -> str:
    return f"jnp.stored({array.text}, s_[{_index(call, index)}], {call.array(value, array.dtype)})"


@ROWS.enter("computed_at")
def _computed_at(call: Call, ufunc: Any, target: Operand, index: Any, values: Any) -> str:
    if ufunc not in (numpy.add, numpy.subtract) or len(values) != 1:
        raise call.refuse(f"{ufunc.__name__}.at")
    sign = "-" if ufunc is numpy.subtract else ""
    return f"jnp.added({target.text}, s_[{_index(call, index)}], {sign}{call.array(values[0], target.dtype)})"


class _Functions:
    """What the source calls `jnp`: PyTensor's functions, with the arguments of those of `jax.numpy`."""

    def __init__(self) -> None:
        self._tensor = import_module("pytensor.tensor")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, _OTHER_NAME.get(name, name))

    def asarray(self, value: Any) -> Any:
        """Return an array of the scope, or a variable, as a variable."""
        return self._tensor.as_tensor_variable(value)

    def full(self, shape: Any, value: Any, dtype: str) -> Any:
        """Return an array of equal elements."""
        return self._tensor.full(shape, numpy.asarray(value, dtype), dtype=dtype)

    def arange(self, start: int, stop: int, dtype: str) -> Any:
        """Return whole numbers one after the other."""
        return self._tensor.arange(start, stop, dtype=dtype)

    def power(self, base: Any, exponent: Any) -> Any:
        """Return a power; of two numbers one is a variable."""
        return self._tensor.as_tensor_variable(base) ** exponent

    def positive(self, x: Any) -> Any:
        """Return the argument."""
        return x

    def cbrt(self, x: Any) -> Any:
        """Return the cube root, of negative numbers, too."""
        return self._tensor.sign(x) * self._tensor.abs(x) ** (1.0 / 3.0)

    def hypot(self, x: Any, y: Any) -> Any:
        """Return the length of a side opposite a right angle, without overflow on the way."""
        pt = self._tensor
        larger = pt.maximum(pt.abs(x), pt.abs(y))
        smaller = pt.minimum(pt.abs(x), pt.abs(y))
        safe = pt.where(pt.eq(larger, 0), pt.ones_like(larger), larger)
        return pt.where(pt.isinf(larger), larger, larger * pt.sqrt(1 + (smaller / safe) ** 2))

    def logaddexp(self, x: Any, y: Any) -> Any:
        """Return the logarithm of a sum of exponentials, without overflow on the way."""
        pt = self._tensor
        x, y = pt.as_tensor_variable(x), pt.as_tensor_variable(y)
        same = pt.eq(x, y)  # infinities of one sign among them
        distance = pt.where(same, pt.zeros_like(x - y), pt.abs(x - y))
        return pt.maximum(x, y) + pt.log1p(pt.exp(-distance))

    def equal(self, x: Any, y: Any) -> Any:
        """Return where elements are equal."""
        return self._tensor.eq(x, y)

    def not_equal(self, x: Any, y: Any) -> Any:
        """Return where elements differ."""
        return self._tensor.neq(x, y)

    def logical_not(self, x: Any) -> Any:
        """Return where elements are zero."""
        return self._tensor.eq(x, 0)

    def logical_and(self, x: Any, y: Any) -> Any:
        """Return where neither is zero."""
        return self._tensor.and_(self._tensor.neq(x, 0), self._tensor.neq(y, 0))

    def logical_or(self, x: Any, y: Any) -> Any:
        """Return where one is not zero."""
        return self._tensor.or_(self._tensor.neq(x, 0), self._tensor.neq(y, 0))

    def logical_xor(self, x: Any, y: Any) -> Any:
        """Return where one alone is not zero."""
        return self._tensor.neq(self._tensor.neq(x, 0), self._tensor.neq(y, 0))

    def clip(self, x: Any, low: Any, high: Any) -> Any:
        """Return elements within bounds, of which one may be None."""
        if low is not None:
            x = self._tensor.maximum(x, low)
        return x if high is None else self._tensor.minimum(x, high)

    def ones_like(self, x: Any, dtype: str) -> Any:
        """Return ones."""
        return self._tensor.ones_like(x, dtype=dtype)

    def zeros_like(self, x: Any, dtype: str) -> Any:
        """Return zeros."""
        return self._tensor.zeros_like(x, dtype=dtype)

    def ravel(self, x: Any, order: str = "C") -> Any:
        """Return all elements in one row."""
        return (x if order != "F" else self._tensor.transpose(x)).flatten()

    def reshape(self, x: Any, shape: Any, order: str = "C") -> Any:
        """Return elements in another shape."""
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if order == "F":
            return self.reshape(self._tensor.transpose(x), shape[::-1]).transpose()
        return self._tensor.reshape(x, shape)

    def transpose(self, x: Any, axes: Any = None) -> Any:
        """Return axes in another order."""
        return self._tensor.transpose(x, axes)

    def ptp(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the largest minus the smallest."""
        options = {"axis": axis, "keepdims": bool(keepdims)}
        return self._tensor.max(x, **options) - self._tensor.min(x, **options)

    def amax(self, x: Any, **options: Any) -> Any:
        """Return the largest."""
        return self._tensor.max(x, **options)

    def amin(self, x: Any, **options: Any) -> Any:
        """Return the smallest."""
        return self._tensor.min(x, **options)

    def take(self, x: Any, indices: Any, axis: Any = None) -> Any:
        """Return entries along an axis."""
        return self._tensor.take(x, indices, axis=axis)

    def atleast_1d(self, x: Any) -> Any:
        """Return a number as an array of one element."""
        return x if x.ndim else self._tensor.expand_dims(x, 0)

    def concatenate(self, arrays: Sequence[Any], axis: int = 0) -> Any:
        """Return arrays one after the other."""
        return self._tensor.concatenate(arrays, axis=axis)

    def stack(self, arrays: Sequence[Any], axis: int = 0) -> Any:
        """Return arrays along a new axis."""
        return self._tensor.stack(arrays, axis=axis)

    def stored(self, x: Any, index: Any, value: Any) -> Any:
        """Return an array with other elements at an index."""
        return self._tensor.set_subtensor(x[index], value)

    def added(self, x: Any, index: Any, value: Any) -> Any:
        """Return an array with numbers added at an index, as often as it says."""
        return self._tensor.inc_subtensor(x[index], value)


@lru_cache(None)
def _functions() -> _Functions:
    return _Functions()


def _scope() -> dict[str, Any]:
    names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    dtypes = {f"{name}_": name for name in names.split()}
    return {"jnp": _functions(), "s_": numpy.s_, **dtypes}


def _cast(text: str, dtype: numpy.dtype) -> str:
    simple = re.fullmatch(r"\w+(\[\w+\])?", text) is not None
    return f"{text if simple else f'({text})'}.astype({dtype.name}_)"


DIALECT = Dialect(
    name="pytensor",
    rows=ROWS,
    scope=_scope,
    cast=_cast,
    dtype=lambda dtype: f"{dtype.name}_",
    array=lambda text, device: f"jnp.asarray({text})",
    full=lambda shape, value, dtype, device: f"jnp.full({shape}, {value}, {dtype.name}_)",
    counted=lambda start, stop, dtype, device: f"jnp.arange({start}, {stop}, dtype={dtype.name}_)",
    constant=numpy.asarray,
    refused=dict.fromkeys(("longdouble", "float128", "complex256"), "there is none"),
)
