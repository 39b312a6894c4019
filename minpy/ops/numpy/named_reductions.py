"""NumPy's reductions and accumulations under MXNet's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.ops.dtype_attributes import dtype_or
from minpy.ops.numpy.named import named, numpy_function, reduced

__all__ = ["AXES", "root_of_squares"]

AXES = int | tuple[int, ...] | None


def _mean_dtype(data: np.dtype, **attributes: Any) -> np.dtype:
    """Return the dtype of means: of integers float64, as in NumPy."""
    return dtype_or(attributes.get("dtype"), np.float64 if data.kind in "biu" else data)


def _sum_dtype(data: np.dtype, **attributes: Any) -> np.dtype:
    """Return the dtype of sums and products: as in NumPy that of the array, but of narrow integers wider ones."""
    return dtype_or(attributes.get("dtype"), np.sum(np.ones(1, data)).dtype)


@named("_np_sum", dtype=_sum_dtype, shape=reduced)
def np_sum(
    a: Any, *, axis: AXES = None, dtype: str | None = None, keepdims: bool = False, initial: float | None = None
) -> Any:
    """Return the sum over axes, of all elements by default; `initial` is added."""
    total = np.sum(a, axis=axis, dtype=_sum_dtype(np.result_type(a), dtype=dtype), keepdims=keepdims)
    return total if initial is None else total + np.asarray(initial, np.result_type(total))


@named("_np_prod", dtype=_sum_dtype, shape=reduced)
def np_prod(
    a: Any, *, axis: AXES = None, dtype: str | None = None, keepdims: bool = False, initial: float | None = None
) -> Any:
    """Return the product over axes, of all elements by default; and of `initial`."""
    total = np.prod(a, axis=axis, dtype=_sum_dtype(np.result_type(a), dtype=dtype), keepdims=keepdims)
    return total if initial is None else total * np.asarray(initial, np.result_type(total))


def _define_extreme(name: str, reduce: Callable[..., Any], combine: Callable[..., Any], which: str, than: str) -> None:
    def definition(a: Any, *, axis: AXES = None, keepdims: bool = False, initial: float | None = None) -> Any:
        extreme = reduce(a, axis=axis, keepdims=keepdims)
        return extreme if initial is None else combine(extreme, np.asarray(initial, np.result_type(a)))

    definition.__doc__ = f"Return the {which} elements over axes, of all by default; or `initial`, if that is {than}."
    named(name, shape=reduced)(definition)


_define_extreme("_np_max", np.max, np.maximum, "largest", "larger")
_define_extreme("_np_min", np.min, np.minimum, "smallest", "smaller")


@named("_npi_mean", dtype=_mean_dtype, shape=reduced)
def npi_mean(a: Any, *, axis: AXES = None, dtype: str | None = None, keepdims: bool = False) -> Any:
    """Return the mean over axes, of all elements by default."""
    kind = _mean_dtype(np.result_type(a), dtype=dtype)
    if dtype is None and kind == np.float16:  # the sum may be beyond its range
        return np.mean(a.astype(np.float32), axis=axis, keepdims=keepdims).astype(kind)
    return np.mean(a, axis=axis, dtype=kind, keepdims=keepdims)


def _variance(a: Any, axis: AXES, dtype: Any, ddof: int, keepdims: bool) -> Any:
    kind = _mean_dtype(np.result_type(a), dtype=dtype)
    values = a.astype(kind) if np.result_type(a) != kind else a
    centred = values - np.mean(values, axis=axis, keepdims=True)
    count = np.size(a) // max(np.size(np.max(centred, axis=axis)) if np.size(a) else 1, 1)
    return np.sum(centred * centred, axis=axis, keepdims=keepdims) / kind.type(max(count - ddof, 0))


@named("_npi_var", dtype=_mean_dtype, shape=reduced)
def npi_var(a: Any, *, axis: AXES = None, dtype: str | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the variance over axes, of all elements by default."""
    return _variance(a, axis, dtype, ddof, keepdims)


@named("_npi_std", dtype=_mean_dtype, shape=reduced)
def npi_std(a: Any, *, axis: AXES = None, dtype: str | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the standard deviation over axes, of all elements by default."""
    return root_of_squares(_variance(a, axis, dtype, ddof, keepdims))


def root_of_squares(squares: Any) -> Any:
    """Return the root of sums of squares; its gradient at 0, where it has a kink, is 0, its smallest subgradient."""
    kind = np.result_type(squares).type
    return np.where(squares == 0, kind(0), np.sqrt(np.where(squares == 0, kind(1), squares)))


_OPTIONS: dict[str, Any] = {"shape": reduced, "zero": True, "keepdims": (bool, False)}
numpy_function("_np_all", np.all, "data", dtype="bool", axis=(AXES, None), **_OPTIONS)
numpy_function("_np_any", np.any, "data", dtype="bool", axis=(AXES, None), **_OPTIONS)
numpy_function("_npi_argmax", np.argmax, "data", dtype="int64", axis=(int | None, None), **_OPTIONS)
numpy_function("_npi_argmin", np.argmin, "data", dtype="int64", axis=(int | None, None), **_OPTIONS)


@named(
    "_npi_average",
    dtype=lambda *dtypes, **_: _mean_dtype(np.result_type(*dtypes)),
    outputs=lambda attributes: ["output0", "output1"] if attributes.get("returned") else ["output"],
    optional_inputs={"weights": lambda attributes: attributes.get("weighted", True)},
)
def npi_average(
    a: Any, weights: Any = None, *, axis: AXES = None, returned: bool = False, weighted: bool = True
) -> Any:
    """Return the weighted mean over axes; and on demand the sums of the weights."""
    kind = _mean_dtype(np.result_type(a) if weights is None else np.result_type(a, weights))
    a = a.astype(kind)
    if weights is None:
        mean = np.mean(a, axis=axis)
        return (mean, np.full(np.shape(mean), kind.type(np.size(a) // max(np.size(mean), 1)))) if returned else mean
    weights = weights.astype(kind)
    if np.shape(weights) != np.shape(a):  # a vector along one axis
        assert isinstance(axis, int)
        weights = np.reshape(weights, [-1 if position == axis % np.ndim(a) else 1 for position in range(np.ndim(a))])
        weights = weights + np.zeros(np.shape(a), kind)
    total = np.sum(weights, axis=axis)
    mean = np.sum(a * weights, axis=axis) / total
    return (mean, total) if returned else mean


def _percentile_shape(inputs: Shapes, outputs: Shapes, *, axis: AXES, keepdims: bool) -> tuple[Shapes, Shapes]:
    _, (reduced_shape,) = reduced(inputs[:1], outputs, axis=axis, keepdims=keepdims)
    levels: Any = inputs[1] if len(inputs) > 1 else ()
    return inputs, [None if reduced_shape is None or levels is None else (*levels, *reduced_shape)]


@named(
    "_npi_percentile",
    dtype=lambda *dtypes, **_: dtypes[0] if dtypes[0].kind == "f" else np.dtype("float64"),
    shape=_percentile_shape,
    optional_inputs={"q": lambda attributes: attributes.get("q_scalar") is None},
    zero=True,
)
def npi_percentile(
    a: Any,
    q: Any = None,
    *,
    axis: AXES = None,
    interpolation: str = "linear",
    keepdims: bool = False,
    q_scalar: float | None = None,
) -> Any:
    """Return percentiles over axes; they have no gradient, as in MXNet."""
    result = np.percentile(a, q_scalar if q is None else q, axis=axis, method=interpolation, keepdims=keepdims)  # type: ignore[call-overload]
    return result.astype(a.dtype if a.dtype.kind == "f" else np.float64)
