"""NumPy's functions as those of `jax.numpy`: the table by which traced steps are written for JAX.

Most have the same name and arguments. Operands are cast to the dtypes of NumPy's loop, so that JAX's own promotion has
nothing to decide; without `jax_enable_x64`, dtypes of 64 bits are those of 32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Dialect, Operand
from minpy.frameworks.row_parts import INFIX, Rows, computes_in, elementwise, infix, only, ravelled, unravelled
from minpy.importing import import_module

__all__ = ["DIALECT"]

ROWS = Rows()
_row = ROWS.enter
# The parameters that take any number of arrays.
_VARIADIC = ("args", "arys", "operands", "xi")

# -- elementwise -------------------------------------------------------------------------------------------------------

ROWS.update(INFIX, remainder=infix("%"))
_UNARY = (
    "absolute fabs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad degrees exp exp2 "
    "expm1 floor frexp invert isfinite isinf isnan log log10 log1p log2 logical_not modf negative positive rad2deg "
    "radians reciprocal rint sign signbit sin sinh spacing sqrt square tan tanh trunc bitwise_count"
)
_BINARY = (
    "arctan2 bitwise_and bitwise_or bitwise_xor copysign divmod float_power fmax fmin fmod gcd heaviside hypot lcm "
    "ldexp left_shift logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum nextafter right_shift"
)
ROWS.update({name: elementwise(f"jnp.{name}({{0}})") for name in _UNARY.split()})
ROWS.update({name: elementwise(f"jnp.{name}({{0}}, {{1}})") for name in _BINARY.split()})
ROWS.update({name: elementwise(f"jnp.{name}({{0}}, {{1}})", True) for name in ["matmul", "matvec", "vecmat", "vecdot"]})


@_row("spacing")
def _spacing(call: Call, x: Any, dtype: Any = None) -> str:
    del dtype
    size = call.operand(f"jnp.abs({call.array(x, call.result_dtype)})", call.shape, call.result_dtype)
    call.source.literal(float("inf"))
    return f"jnp.copysign(jnp.nextafter({size.text}, inf) - {size.text}, {call.array(x, call.result_dtype)})"


@_row("power power_of_array")
def _power(call: Call, base: Any, exponent: Any, dtype: Any = None) -> str:
    loop = call.loop((base, exponent), dtype)
    whole = isinstance(exponent, float) and exponent.is_integer() and abs(exponent) < 2**31
    written = int(exponent) if whole and loop[0].kind in "fc" else exponent
    return f"jnp.power({call.text(base, loop[0])}, {call.text(written, None if whole else loop[1])})"


@_row("as_dtype")
def _as_dtype(call: Call, array: Operand, dtype: Any) -> str:
    if array.dtype.kind == "c" and numpy.dtype(dtype).kind != "c":
        return call.text(Operand(f"jnp.real({array.text})", array.shape, array.real_dtype), dtype)
    return call.text(array, dtype)


@_row("array copy")
def _copy(call: Call, a: Any = None, object: Any = None, order: Any = None, dtype: Any = None, **_: Any) -> str:
    return call.array(object if a is None else a, dtype)


@_row("filled")
def _filled(call: Call, value: Any, shape: Any, dtype: Any) -> str:
    return f"jnp.broadcast_to({call.array(value, dtype)}, {call.text(tuple(shape))})"


@_row("ones_like zeros_like")
def _like(call: Call, a: Any, **_: Any) -> str:
    return f"jnp.{call.key}({call.array(a)}, dtype={call.dtype(call.result_dtype)})"


@_row("clip")
def _clip(call: Call, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> str:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    bounds = ["None" if bound is None else call.text(bound, call.result_dtype) for bound in (low, high)]
    return f"jnp.clip({call.array(a, call.result_dtype)}, {', '.join(bounds)})"


@_row("where")
def _where(call: Call, condition: Any, x: Any, y: Any) -> str:
    arrays = any(isinstance(value, Operand) for value in (x, y))
    write = call.text if arrays else call.array
    chosen = [write(value, call.result_dtype) for value in (x, y)]
    return f"jnp.where({call.array(condition, bool)}, {', '.join(chosen)})"


@_row("computed_where")
def _computed_where(call: Call, ufunc: Any, target: Operand, values: Any, options: Any) -> str:
    computed = call.emit(ufunc, values[:-1], options)
    return f"jnp.where({call.array(values[-1], bool)}, {call.text(computed, target.dtype)}, {target.text})"


# -- functions of the same name and arguments --------------------------------------------------------------------------


def _same(call: Call, arguments: dict[str, Any], write: Callable[[Any], str]) -> str:
    """Return a call of the function of the same name, with the same arguments."""
    texts: list[str] = []
    for name, value in arguments.items():
        if name in _VARIADIC:
            texts += [write(part) for part in value]
        elif name == "dtype":
            texts.append(f"dtype={call.dtype(value)}")
        elif not texts or name == "x2":  # names of the first parameters differ, or may not be used
            texts.append(write(value))
        else:
            texts.append(f"{name}={write(value)}")
    return f"jnp.{call.key}({', '.join(texts)})"


def _writer(call: Call, dtype: Any) -> Callable[[Any], str]:
    """Return how arguments are written: arrays in a dtype, nests of arrays part by part, others as they are."""

    def write(value: Any) -> str:
        if isinstance(value, Operand):
            return call.text(value, dtype)
        if isinstance(value, (list, tuple)) and _holds_arrays(value):
            return f"[{', '.join(map(write, value))}]"
        return call.text(value)

    return write


def _numbers(value: Any) -> Any:
    """Return a list of numbers, which JAX does not take for an array, as an array."""
    return numpy.asarray(value) if isinstance(value, (list, tuple)) and not _holds_arrays(value) else value


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and not isinstance(value, Operand):
        return any(map(_holds_arrays, value))
    return isinstance(value, Operand)


def _in_result_dtype(call: Call, **arguments: Any) -> str:
    return _same(call, arguments, _writer(call, call.result_dtype))


def _in_own_dtype(call: Call, **arguments: Any) -> str:
    return _same(call, arguments, _writer(call, None))


def _in_floating_point(call: Call, **arguments: Any) -> str:
    """Integers as float64, as NumPy's functions of floating point take them."""

    def write(value: Any) -> str:
        if isinstance(value, Operand):
            return call.text(value, value.dtype if value.dtype.kind in "fc" else numpy.float64)
        return _writer(call, None)(value)

    return _same(call, arguments, write)


_ROWS_IN_RESULT_DTYPE = (
    "i0 sinc nan_to_num concatenate stack hstack vstack dstack column_stack block append outer inner tensordot "
    "kron cross linalg.outer linalg.cross linalg.vecdot linalg.tensordot linalg.matmul linalg.solve linalg.multi_dot "
    "dot vdot trace linalg.trace trapezoid trapz polyval polyadd polysub polyder polyint convolve correlate median "
    "nanmedian gradient ediff1d unwrap vander cov corrcoef select"
)
_ROWS_IN_OWN_DTYPE = (
    "iscomplex isreal isneginf isposinf real imag isclose amax amin max min ptp nanmax nanmin all any argmax argmin "
    "nanargmax nanargmin count_nonzero broadcast_to expand_dims flip moveaxis fliplr flipud rollaxis squeeze swapaxes "
    "ravel rot90 transpose diagonal diag linalg.diagonal linalg.matrix_transpose matrix_transpose array_split dsplit "
    "hsplit split vsplit unstack meshgrid tile repeat diagflat roll tril triu diff take_along_axis sort argsort "
    "partition argpartition sort_complex lexsort packbits unpackbits fft.fftshift "
    "fft.ifftshift resize insert"
)
_ROWS_IN_FLOATING_POINT = (
    "angle linalg.norm linalg.matrix_norm linalg.vector_norm linalg.cholesky linalg.eigvalsh linalg.pinv "
    "linalg.svdvals linalg.cond linalg.inv linalg.det linalg.matrix_power linalg.tensorinv linalg.tensorsolve "
    "linalg.eigh linalg.slogdet linalg.qr linalg.svd linalg.eig linalg.eigvals fft.fft fft.fft2 fft.fftn fft.hfft "
    "fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn"
)
for _names, _write in (
    (_ROWS_IN_RESULT_DTYPE, _in_result_dtype),
    (_ROWS_IN_OWN_DTYPE, _in_own_dtype),
    (_ROWS_IN_FLOATING_POINT, _in_floating_point),
):
    ROWS.update({_name: _write for _name in _names.split() if _name not in ROWS})


@_row("choose")
def _choose(call: Call, a: Any, choices: Any, mode: str = "raise") -> str:
    options = ", ".join(call.array(each, call.result_dtype) for each in choices)
    return f"jnp.choose({call.array(a)}, [{options}], mode={'clip' if mode == 'raise' else mode!r})"


@_row("fix")
def _fix(call: Call, x: Any) -> str:
    return f"jnp.trunc({call.array(x, call.result_dtype)})"


@_row("interp")
def _interp(call: Call, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> str:
    values = ", ".join(call.array(value, call.result_dtype) for value in (x, xp, fp))
    return f"jnp.interp({values}, left={call.text(left)}, right={call.text(right)}, period={call.text(period)})"


@_row("delete")
def _delete(call: Call, arr: Any, obj: Any, axis: Any = None) -> str:
    return f"jnp.delete({call.array(arr)}, {call.text(_numbers(obj))}, axis={axis!r})"


@_row("searchsorted digitize")
def _search(call: Call, a: Any = None, v: Any = None, x: Any = None, bins: Any = None, **options: Any) -> str:
    values = [_numbers(value) for value in ((a, v) if x is None else (x, bins))]
    dtype = numpy.result_type(*(call.spec(value).dtype for value in values))
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    text = f"jnp.{call.key}({', '.join(call.array(value, dtype) for value in values)}{more})"
    return f"{text}.astype({call.dtype(call.result_dtype)})"


@_row("isin in1d")
def _isin(
    call: Call, element: Any = None, test_elements: Any = None, invert: bool = False, ar1: Any = None, ar2: Any = None,
    **_: Any,
) -> str:  # fmt: skip
    values = (element, test_elements) if ar1 is None else (ar1, ar2)
    first, second = (call.array(_numbers(value)) for value in values)
    return f"jnp.isin({first}, {second}, invert={invert!r})"


@_row("around round round_")
def _round(call: Call, a: Any, decimals: int = 0) -> str:
    return f"jnp.round({call.array(a)}, {decimals!r})"


@_row("reshape")
def _reshape(call: Call, a: Any, shape: Any = None, newshape: Any = None, order: str = "C", **_: Any) -> str:
    more = "" if order == "C" else f", order={order!r}"
    return f"jnp.reshape({call.array(a)}, {call.text(newshape if shape is None else shape)}{more})"


@_row("flatten")
def _flatten(call: Call, a: Any, order: str = "C") -> str:
    return f"jnp.ravel({call.array(a)}, order={order!r})"


@_row("atleast_1d atleast_2d atleast_3d")
def _atleast(call: Call, arys: Any) -> str:
    return f"jnp.{call.key}({call.array(arys[0])})"


@_row("row_stack")
def _row_stack(call: Call, tup: Any, **_: Any) -> str:
    return f"jnp.vstack({_writer(call, call.result_dtype)(tup)})"


@_row("pad")
def _pad(call: Call, array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> str:
    more = "".join(f", {name}={call.text(value)}" for name, value in options.items())
    return f"jnp.pad({call.array(array)}, {call.text(pad_width)}, mode={mode!r}{more})"


@_row("einsum")
def _einsum(call: Call, operands: Any, optimize: Any = False) -> str:
    text, *values = operands
    arrays = ", ".join(call.array(value, call.result_dtype) for value in values)
    return f"jnp.einsum({text!r}, {arrays})"


# -- reductions --------------------------------------------------------------------------------------------------------


def _options(call: Call, **options: Any) -> str:
    return "".join(f", {name}={call.text(value)}" for name, value in options.items() if value is not None)


@_row(
    "sum prod nansum nanprod mean nanmean std var nanstd nanvar cumsum cumprod nancumsum nancumprod product "
    "cumulative_sum cumulative_prod cumproduct"
)
def _reduced(
    call: Call, a: Any = None, axis: Any = None, dtype: Any = None, keepdims: Any = None, x: Any = None, **options: Any
) -> str:
    array = x if a is None else a
    is_spread = call.key in ("std", "var", "nanstd", "nanvar")
    computed = array.dtype if is_spread and array.dtype.kind == "c" else computes_in(call, array, dtype)
    name = {"product": "prod", "cumproduct": "cumprod"}.get(call.key, call.key)
    if "where" in options:
        options["where"] = Operand(
            call.array(options["where"], bool), call.spec(options["where"]).shape, numpy.dtype(bool)
        )
    return f"jnp.{name}({call.array(array, computed)}{_options(call, axis=axis, keepdims=keepdims, **options)})"


_REDUCING = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip


@_row(" ".join(f"{name}.reduce" for name in _REDUCING))
def _ufunc_reduced(call: Call, array: Any, axis: Any = None, dtype: Any = None, keepdims: Any = None) -> str:
    name = call.key.partition(".")[0]
    computed = bool if name.startswith("logical") else computes_in(call, array, dtype)
    return f"jnp.{_REDUCING[name]}({call.array(array, computed)}{_options(call, axis=axis, keepdims=keepdims)})"


@_row("add.accumulate multiply.accumulate")
def _ufunc_accumulated(call: Call, array: Any, axis: int = 0, dtype: Any = None) -> str:
    name = "cumsum" if call.key == "add.accumulate" else "cumprod"
    return f"jnp.{name}({call.array(array, computes_in(call, array, dtype))}, axis={axis!r})"


@_row("maximum.accumulate minimum.accumulate")
def _extreme_so_far(call: Call, array: Any, axis: int = 0) -> str:
    name = "cummax" if call.key == "maximum.accumulate" else "cummin"
    return f"lax.{name}({call.array(array)}, axis={axis!r})"


@_row("alltrue sometrue")
def _truth(call: Call, a: Any, axis: Any = None, keepdims: Any = None) -> str:
    name = "all" if call.key == "alltrue" else "any"
    return f"jnp.{name}({call.array(a)}{_options(call, axis=axis, keepdims=keepdims)})"


@_row("quantile nanquantile percentile nanpercentile")
def _quantile(call: Call, a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> str:
    only(call, "method", method, ("linear", "lower", "higher", "midpoint", "nearest"))
    levels = call.array(q, call.result_dtype)
    more = _options(call, axis=tuple(axis) if isinstance(axis, list) else axis, method=method, keepdims=keepdims)
    return f"jnp.{call.key}({call.array(a, call.result_dtype)}, {levels}{more})"


@_row("sum_to")
def _sum_to(call: Call, data: Operand, shape: Any) -> str:
    lead = data.ndim - len(shape)
    axes = tuple(axis for axis in range(data.ndim) if axis < lead or shape[axis - lead] == 1 != data.shape[axis])
    text = f"jnp.sum({data.text}, axis={axes!r})"
    return text if len(axes) == lead else f"jnp.reshape({text}, {call.text(tuple(shape))})"


@_row("average")
def _average(call: Call, a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> str:
    more = _options(call, axis=axis, keepdims=keepdims or None)
    factors = "" if weights is None else f", weights={call.array(weights, call.result_dtype)}"
    return f"jnp.average({call.array(a, call.result_dtype)}{more}{factors})"


ROWS["unravel_index"] = unravelled
ROWS["ravel_multi_index"] = ravelled

# -- taken, stored -----------------------------------------------------------------------------------------------------


@_row("take")
def _take(call: Call, a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> str:
    where = call.array(indices) if not isinstance(indices, int) else repr(indices)
    more = "" if mode == "raise" else f", mode={mode!r}"
    return f"jnp.take({call.array(a)}, {where}, axis={axis!r}{more})"


@_row("item_of")
def _item_of(call: Call, array: Operand, index: Any) -> str:
    return f"{array.text}[{_index(call, index)}]"


def _index(call: Call, index: Any) -> str:
    texts = []
    for part in list(index) if isinstance(index, tuple) and not isinstance(index, Operand) else [index]:
        if isinstance(part, slice):
            ends = (part.start, part.stop, part.step)
            texts.append(":".join("" if each is None else repr(each) for each in ends[: 2 if part.step is None else 3]))
        elif isinstance(part, Operand) and part.dtype.kind == "b":
            if part.value is None:
                raise call.refuse("an index that is a mask, whose values are not known")
            texts += [call.array(each) for each in numpy.nonzero(part.value)]
        else:
            texts.append(call.array(part) if isinstance(part, (Operand, list)) else call.text(part))
    return ", ".join(texts) or "()"


@_row("with_item")
def _with_item(call: Call, array: Operand, index: Any, value: Any) -> str:
    return f"{array.text}.at[{_index(call, index)}].set({call.text(value, array.dtype)})"


@_row("with_component")
def _with_component(call: Call, array: Operand, part: Any, is_real: bool) -> str:
    new = call.text(part, array.real_dtype)
    pair = (new, f"jnp.imag({array.text})") if is_real else (f"jnp.real({array.text})", new)
    return f"lax.complex(*jnp.broadcast_arrays({', '.join(pair)}))"


_AT = {"add": "add", "multiply": "multiply", "maximum": "max", "minimum": "min", "power": "power", "divide": "divide"}


@_row("computed_at")
def _computed_at(call: Call, ufunc: Any, target: Operand, index: Any, values: Any) -> str:
    name = ufunc.__name__
    if name == "subtract":
        return f"{target.text}.at[{_index(call, index)}].add(-{call.array(values[0], target.dtype)})"
    if name not in _AT or len(values) != 1:
        raise call.refuse(f"{name}.at")
    return f"{target.text}.at[{_index(call, index)}].{_AT[name]}({call.text(values[0], target.dtype)})"


@_row("changed")
def _changed(call: Call, function: Any, target: Operand, arguments: Any, keywords: Any) -> str:
    name = function.__name__
    values = [call.array(value) for value in arguments]
    if name == "copyto" and not keywords.keys() - {"casting", "where"}:
        source = f"jnp.broadcast_to({call.array(arguments[0], target.dtype)}, {call.text(target.shape)})"
        mask = keywords.get("where", True)
        return source if mask is True else f"jnp.where({call.array(mask, bool)}, {source}, {target.text})"
    if name == "putmask" and call.spec(arguments[1]).shape in ((), target.shape):
        return f"jnp.where({values[0]}, {call.array(arguments[1], target.dtype)}, {target.text})"
    if name == "put_along_axis":
        axis = arguments[2] if len(arguments) > 2 else keywords.get("axis")
        stored = call.array(arguments[1], target.dtype)
        return f"jnp.put_along_axis({target.text}, {values[0]}, {stored}, {axis!r}, inplace=False)"
    if name == "put" and not keywords:
        return f"jnp.put({target.text}, {values[0]}, {call.array(arguments[1], target.dtype)}, inplace=False)"
    if name == "place" and isinstance(arguments[0], Operand):
        return f"jnp.place({target.text}, {values[0]}, {call.array(arguments[1], target.dtype)}, inplace=False)"
    if name == "fill_diagonal":
        more = f", wrap={keywords['wrap']!r}" if "wrap" in keywords else ""
        return f"jnp.fill_diagonal({target.text}, {call.array(arguments[0], target.dtype)}{more}, inplace=False)"
    raise call.refuse(f"numpy.{name} with these arguments")


# -- the dialect -------------------------------------------------------------------------------------------------------


def _scope() -> dict[str, Any]:
    canonical = import_module("jax").dtypes.canonicalize_dtype
    names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    dtypes = {f"{name}_": canonical(numpy.dtype(name)) for name in names.split()}
    return {"jnp": import_module("jax.numpy"), "lax": import_module("jax.lax"), **dtypes}


def _constant(data: numpy.ndarray) -> Any:
    return numpy.asarray(data, import_module("jax").dtypes.canonicalize_dtype(data.dtype))


def _dtype(dtype: numpy.dtype) -> str:
    return f"{dtype.name}_"


DIALECT = Dialect(
    name="jax",
    rows=ROWS,
    scope=_scope,
    cast=lambda text, dtype: f"{text}.astype({_dtype(dtype)})",
    dtype=_dtype,
    array=lambda text, device: f"jnp.asarray({text})",
    full=lambda shape, value, dtype, device: f"jnp.full({shape}, {value}, {_dtype(dtype)})",
    counted=lambda start, stop, dtype, device: f"jnp.arange({start}, {stop}, dtype={_dtype(dtype)})",
    constant=_constant,
    refused={"longdouble": "there is none", "float128": "there is none", "complex256": "there is none"},
)
