"""What training in mixed precision needs of many arrays at once: a common dtype, checks for infinities, norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minpy.core import dispatch
from minpy.core.errors import ArgumentError, DTypeError
from minpy.core.operator import Operator
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import merge_shapes, same_shape
from minpy.ops.inference.rule_parts import numbered
from minpy.ops.registry import OPERATORS, find_operator, operator
from minpy.ops.shared_docstrings import with_shared_texts

__all__ = ["all_finite", "amp_cast", "amp_multicast", "multi_all_finite", "multi_sum_sq"]


def _require_count(name: str, arrays: Sequence[Any], attribute: str, count: int) -> None:
    if len(arrays) != count:
        raise ArgumentError(f"{name}: {attribute} is {count}, but {len(arrays)} array(s) are given.")


# The dtypes of networks in mixed precision, which are cast; other data keep theirs.
_CAST = (np.dtype(np.float16), np.dtype(np.float32))


@operator(name="amp_cast", elementwise=True, shapes=same_shape, grad=lambda ans, data: lambda g: g)
def amp_cast(data: np.ndarray, *, dtype: str) -> np.ndarray:
    """Return float16 or float32 numbers in another dtype, and other data as they are; the gradient is converted back.

    {data_parameter}
    dtype : str or dtype
        'float16' or 'float32'.

    {returns_like_data}

    {examples}
    >>> nd.amp_cast(nd.ones(2), dtype='float16').dtype.__name__
    'float16'
    >>> nd.amp_cast(nd.ones(2, dtype='int32'), dtype='float16').dtype.__name__
    'int32'
    """
    return data.astype(_cast_dtype(np.dtype(data.dtype), dtype))


def _cast_dtype(own: np.dtype, dtype: Any) -> np.dtype:
    return np.dtype(dtype) if own in _CAST else own


@amp_cast.def_infer_type
def _amp_cast_dtypes(inputs: Any, outputs: Any, *, dtype: Any) -> Any:
    if inputs[0] is None:
        return inputs, outputs
    return inputs, [_cast_dtype(inputs[0], dtype)]


@operator(name="amp_multicast", outputs=lambda attributes: numbered(int(attributes["num_outputs"])), may_alias=False)
def amp_multicast(*data: np.ndarray, num_outputs: int, cast_narrow: bool = False) -> Any:
    """Return arrays in a common floating-point dtype: the widest that one of them has.

    Parameters
    ----------
    *data : NDArray
        Of any shapes; those that hold no floating-point numbers are returned as they are.
    num_outputs : int
        Their number.
    cast_narrow : bool
        Whether to take the narrowest dtype instead.

    Returns
    -------
    list of NDArray
        Of the shapes of the inputs.

    {raises_argument_error}
        If there are more or fewer arrays.

    {examples}
    >>> one, other = nd.amp_multicast(nd.ones(2, dtype='float16'), nd.ones(3), num_outputs=2)
    >>> one.dtype.__name__, other.dtype.__name__
    ('float32', 'float32')
    """
    _require_count("amp_multicast", data, "num_outputs", num_outputs)
    dtypes = [np.dtype(array.dtype) for array in data]
    dtype = _common_float(dtypes, cast_narrow)
    results = tuple(
        array.astype(dtype) if array_dtype.kind == "f" else array.copy()
        for array, array_dtype in zip(data, dtypes, strict=True)
    )
    return results[0] if len(results) == 1 else results


def _common_float(dtypes: Sequence[Any], cast_narrow: bool) -> Any:
    floats = [dtype for dtype in dtypes if dtype is not None and dtype.kind == "f"]
    if not floats:
        return None
    return (min if cast_narrow else max)(floats, key=lambda dtype: dtype.itemsize)


@amp_multicast.def_multiple_grad()
def _multicast_gradients(ans: Any, *data: Any, num_outputs: int) -> Any:
    dtypes = [array.dtype for array in data]
    return lambda g: tuple(
        part.astype(dtype) for part, dtype in zip((g,) if num_outputs == 1 else g, dtypes, strict=True)
    )


@amp_multicast.def_infer_shape
def _multicast_shapes(inputs: Any, outputs: Any) -> Any:
    shapes = [merge_shapes(before, after) for before, after in zip(inputs, outputs, strict=True)]
    return shapes, shapes


@amp_multicast.def_infer_type
def _multicast_dtypes(inputs: Any, outputs: Any, *, cast_narrow: bool) -> Any:
    if any(dtype is None for dtype in inputs):
        return inputs, outputs
    common = _common_float(inputs, cast_narrow)
    return inputs, [common if dtype.kind == "f" else dtype for dtype in inputs]


class _FiniteOperator(Operator):
    """An operator that returns 1 or 0; with `init_output=False` a 0 that is in `out` already stays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, builtin=True)
        self.def_grad_zero()
        self.shape_inference = lambda inputs, outputs, **attributes: (inputs, [(1,)])
        self.type_inference = lambda inputs, outputs, **attributes: (inputs, [np.dtype("float32")])
        self.unpickled_by = (find_operator, (self.__name__,))
        self.may_alias = False
        OPERATORS[self.__name__] = self

    def __call__(self, /, *arguments: Any, out: Any = None, **attributes: Any) -> Any:
        finite = super().__call__(*arguments, **attributes)
        if out is None:
            return finite
        if str(attributes.get("init_output", True)) in ("False", "0", "false"):
            finite = finite * (out != 0)
        return dispatch.write_out(self, finite, out)


@with_shared_texts
def _all_finite(data: np.ndarray, *, init_output: bool = True) -> np.ndarray:
    """Return 1 if all elements are finite, 0 if there is an infinity or NaN.

    {data_parameter}
        Floating point.
    init_output : bool
        If False, and `out` is given and holds 0, it stays 0: for arrays that are looked at one after the other.

    {returns_array}
        Of shape (1,), in float32.

    Raises
    ------
    {or_integers}

    {examples}
    >>> nd.all_finite(nd.array([1, float('inf')])).asnumpy()
    array([0.], dtype=float32)
    """
    require_floats("all_finite", data)
    return np.isfinite(data).all().reshape(1).astype("float32")


@with_shared_texts
def _multi_all_finite(*data: np.ndarray, num_arrays: int = 1, init_output: bool = True) -> np.ndarray:
    """Return 1 if all elements of several arrays are finite, 0 if there is an infinity or NaN.

    Parameters
    ----------
    *data : NDArray
        Floating point, of any shapes.
    num_arrays : int
        Their number.
    init_output : bool
        If False, and `out` is given and holds 0, it stays 0: for arrays that are looked at one after the other.

    {returns_array}
        Of shape (1,), in float32.

    {raises_argument_error}
        If there are more or fewer arrays.
    DTypeError
        If one holds integers.

    {examples}
    >>> nd.multi_all_finite(nd.ones(2), nd.zeros((2, 2)), num_arrays=2).asnumpy()
    array([1.], dtype=float32)
    """
    _require_count("multi_all_finite", data, "num_arrays", num_arrays)
    for position, array in enumerate(data):
        require_floats("multi_all_finite", array, argument=f"data[{position}]")
    all_of_each = np.stack([np.isfinite(array).all() for array in data])
    return all_of_each.all().reshape(1).astype("float32")


_all_finite.__name__ = _all_finite.__qualname__ = "all_finite"
_multi_all_finite.__name__ = _multi_all_finite.__qualname__ = "multi_all_finite"
all_finite = _FiniteOperator(_all_finite)
multi_all_finite = _FiniteOperator(_multi_all_finite)


@operator(name="multi_sum_sq", shapes=lambda inputs, outputs, *, num_arrays: (inputs, [(num_arrays,)]), may_alias=False)
def multi_sum_sq(*data: np.ndarray, num_arrays: int) -> np.ndarray:
    """Return the sum of the squares of each of several arrays.

    Parameters
    ----------
    *data : NDArray
        Floating point, of one dtype and any shapes.
    num_arrays : int
        Their number.

    {returns_array}
        Of shape (num_arrays,), in float32.

    {raises_argument_error}
        If there are more or fewer arrays.
    DTypeError
        If dtypes differ, or are of integers.

    {examples}
    >>> nd.multi_sum_sq(nd.array([3, 4]), nd.array([[1], [2]]), num_arrays=2).asnumpy()
    array([25.,  5.], dtype=float32)
    """
    _require_count("multi_sum_sq", data, "num_arrays", num_arrays)
    for position, array in enumerate(data):
        require_floats("multi_sum_sq", array, argument=f"data[{position}]")
        if array.dtype != data[0].dtype:
            raise DTypeError(
                f"multi_sum_sq: data[{position}] has dtype {array.dtype}, data[0] {data[0].dtype}; they must be equal."
            )
    flat = [np.ravel(array.astype("float32") if array.dtype.itemsize == 2 else array) for array in data]
    return np.stack([np.dot(array, array) for array in flat]).astype("float32")


@multi_sum_sq.def_multiple_grad()
def _sum_sq_gradients(ans: Any, *data: Any) -> Any:
    return lambda g: tuple(2 * g[position] * array for position, array in enumerate(data))


multi_sum_sq.def_infer_type(lambda inputs, outputs: (inputs, [np.dtype("float32")]))
