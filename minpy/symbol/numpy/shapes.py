"""NumPy's functions of symbols that rearrange, join, split and pick elements, and products."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, NotTraceableError, describe
from minpy.symbol.numpy.symbol_class import as_lengths, as_tuple, call, generic, is_symbol, named

__all__ = ["FUNCTIONS", "require_order"]


def _unless(value: Any, default: Any, name: str) -> dict[str, Any]:
    """Return an attribute that is not at its default: files leave the others out."""
    return {} if value is default or (type(value) is type(default) and value == default) else {name: value}


def require_order(order: str, function: str) -> None:
    """Raise an error for an order of elements that depends on how an array lies in memory.

    >>> require_order("F", "reshape")

    Raises
    ------
    NotTraceableError
        For another order than 'C' and 'F'.
    """
    if order not in ("C", "F"):
        raise NotTraceableError(
            f"{function} with order={order!r} depends on how the array lies in memory, which a graph does not know: "
            "take order='C' or 'F'."
        )


# -- shapes ------------------------------------------------------------------------------------------------------------


def reshape(a: Any, newshape: Any = None, order: str = "C", out: Any = None, shape: Any = None) -> Any:
    """Return the symbol of an array in another shape."""
    require_order(order, "reshape")
    target = shape if newshape is None else newshape
    return call("_np_reshape", [a], "reshape", newshape=as_lengths(target), **_unless(order, "C", "order"))


def ravel(x: Any, order: str = "C") -> Any:
    """Return the symbol of an array with one axis."""
    require_order(order, "ravel")
    return call("_npx_reshape", [x], "reshape", newshape=-1) if order == "C" else reshape(x, -1, order)


def squeeze(a: Any, axis: Any = None, out: Any = None) -> Any:
    """Return the symbol of an array without axes of length 1."""
    return call("_np_squeeze", [a], "squeeze", **_unless(axis, None, "axis"))


def expand_dims(a: Any, axis: Any) -> Any:
    """Return the symbol of an array with a new axis of length 1."""
    if isinstance(axis, (tuple, list)):
        return generic("expand_dims", (a, axis), {})
    return call("expand_dims", [a], "expand_dims", axis=axis)


def transpose(a: Any, axes: Any = None) -> Any:
    """Return the symbol of an array with its axes permuted, by default reversed."""
    return call("_np_transpose", [a], "transpose", **({} if axes is None else {"axes": tuple(axes)}))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return the symbol of an array with two axes exchanged."""
    return call("SwapAxis", [a], "swapaxes", dim1=axis1, dim2=axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Return the symbol of an array with axes moved to other places."""
    return call("_np_moveaxis", [a], "moveaxis", source=as_tuple(source), destination=as_tuple(destination))


def broadcast_to(array: Any, shape: Any) -> Any:
    """Return the symbol of an array repeated along axes, so that it has a shape."""
    return call("_npi_broadcast_to", [array], "broadcast_to", shape=as_lengths(shape))


def flip(m: Any, axis: Any = None, out: Any = None) -> Any:
    """Return the symbol of an array with the order along axes reversed, along all by default."""
    return call("_npi_flip", [m], "flip", axis=as_tuple(axis))


def fliplr(m: Any) -> Any:
    """Return the symbol of an array with its columns in reverse order."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Return the symbol of an array with its rows in reverse order."""
    return flip(m, 0)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Return the symbol of an array with its elements moved along axes, around the end."""
    return call("_np_roll", [a], "roll", shift=as_tuple(shift), **_unless(as_tuple(axis), None, "axis"))


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Return the symbol of an array turned by k times 90 degrees."""
    return call("_npi_rot90", [m], "rot90", k=k, axes=tuple(axes))


def copy(a: Any, out: Any = None) -> Any:
    """Return the symbol of a copy."""
    return call("_np_copy", [a], "copy")


def tile(A: Any, reps: Any) -> Any:
    """Return the symbol of an array repeated along axes."""
    return call("tile", [A], "tile", reps=as_lengths(reps) if not isinstance(reps, int) else (reps,))


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Return the symbol of an array of which each element stands several times."""
    if not isinstance(repeats, int):
        return generic("repeat", (a, repeats, axis), {})
    return call("repeat", [a], "repeat", repeats=repeats, **_unless(axis, None, "axis"))


def pad(x: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Return the symbol of an array with more elements at the ends of its axes."""
    value = kwargs.pop("constant_values", 0)
    plain = isinstance(pad_width, (list, tuple)) and all(isinstance(pair, (list, tuple)) for pair in pad_width)
    if kwargs or not plain or not isinstance(value, (int, float)):
        return generic("pad", (x, pad_width), {"mode": mode, **kwargs, "constant_values": value})
    widths = tuple(map(tuple, pad_width))
    options = {"constant_value": value} if mode == "constant" else {}
    return call("_npi_pad", [x], "pad", pad_width=widths, mode=mode, **options)


def atleast(count: int) -> Callable[..., Any]:
    """Return the function that gives arrays so many axes."""

    def function(*arys: Any) -> Any:
        return call(f"_np_atleast_{count}d", arys, f"atleast_{count}d", num_args=len(arys))

    doc = f"Return the symbols of arrays with {count} axes at least: a list, if there are several."
    return named(f"atleast_{count}d", function, doc)


# -- diagonals ---------------------------------------------------------------------------------------------------------


def diag(array: Any, k: int = 0) -> Any:
    """Return the symbol of the k-th diagonal of a matrix, or of a matrix with a vector as that."""
    return call("_np_diag", [array], "diag", **_unless(k, 0, "k"))


def diagflat(array: Any, k: int = 0) -> Any:
    """Return the symbol of a matrix with the flattened array as its k-th diagonal."""
    return call("_np_diagflat", [array], "diagflat", **_unless(k, 0, "k"))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the symbol of the diagonals of the matrices in two axes."""
    attributes = {**_unless(offset, 0, "offset"), **_unless(axis1, 0, "axis1"), **_unless(axis2, 1, "axis2")}
    return call("_np_diagonal", [a], "diagonal", **attributes)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> Any:
    """Return the symbol of the sums of the diagonals of the matrices in two axes."""
    attributes = {**_unless(offset, 0, "offset"), **_unless(axis1, 0, "axis1"), **_unless(axis2, 1, "axis2")}
    return call("_np_trace", [a], "trace", **attributes)


def tril(m: Any, k: int = 0) -> Any:
    """Return the symbol of matrices with zeros above the k-th diagonal."""
    return call("_npi_tril", [m], "tril", k=k)


def diag_indices_from(arr: Any) -> Any:
    """Return the symbol of the indices of the main diagonal, one a row."""
    return call("_npi_diag_indices_from", [arr], "diag_indices_from")


# -- joining and splitting ---------------------------------------------------------------------------------------------


def concatenate(seq: Any, axis: Any = 0, out: Any = None) -> Any:
    """Return the symbol of arrays joined along an axis; flattened, if that is None."""
    return call("_npi_concatenate", list(seq), "concatenate", axis=axis)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Return the symbol of two arrays, one behind the other."""
    return concatenate([arr, values], axis)


def stack(arrays: Any, axis: int = 0, out: Any = None) -> Any:
    """Return the symbol of arrays joined along a new axis."""
    return call("_npi_stack", list(arrays), "stack", axis=axis)


def _stacking(name: str, kind: str) -> Callable[..., Any]:
    def function(arrays: Any, out: Any = None) -> Any:
        return call(f"_npi_{kind}", list(arrays), kind)

    return named(name, function)


def _cuts(indices_or_sections: Any) -> dict[str, Any]:
    """Return the attributes of a split, as files hold them: positions begin with 0."""
    if isinstance(indices_or_sections, (int, numpy.integer)):
        return {"indices": (), "sections": int(indices_or_sections)}
    if isinstance(indices_or_sections, (list, tuple, numpy.ndarray)):
        return {"indices": (0, *(int(position) for position in indices_or_sections)), "sections": 0}
    raise ArgumentError(f"sym.np.split: {describe(indices_or_sections)}; expected a number of parts, or positions.")


def _splitting(name: str, kind: str, fixed: int | None, even: bool) -> Callable[..., Any]:
    def function(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        axis = axis if fixed is None else fixed
        cuts = _cuts(indices_or_sections)
        if not even and cuts["sections"]:  # parts may differ in length by one, which files do not hold
            return generic(name, (ary, indices_or_sections), {"axis": axis}, cuts["sections"])
        parts = call(kind, [ary], name if kind != "_split_v2" else "split", axis=axis, squeeze_axis=False, **cuts)
        return parts if isinstance(parts, list) else [parts]

    def along_fixed(ary: Any, indices_or_sections: Any) -> Any:
        return function(ary, indices_or_sections)

    doc = f"Return the symbols of `numpy.{name}`, as a list."
    return named(name, function if fixed is None else along_fixed, doc)


# -- picking, inserting, deleting --------------------------------------------------------------------------------------


def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise", out: Any = None) -> Any:
    """Return the symbol of the elements at indices, of the flattened array by default."""
    if not is_symbol(indices):
        return generic("take", (a, indices), {"axis": axis, **_unless(mode, "raise", "mode")})
    if axis is None:
        a, axis = call("_npx_reshape", [a], "reshape", newshape=-1), 0
    return call("take", [a, indices], "take", axis=axis, mode=mode)


def _range(obj: slice) -> dict[str, Any]:
    return {"start": obj.start, "stop": obj.stop, "step": 1 if obj.step is None else obj.step}


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Return the symbol of an array without some of its rows, or columns, or elements."""
    if isinstance(obj, slice):
        return call("_npi_delete", [arr], "delete", axis=axis, **_range(obj))
    if isinstance(obj, int):
        return call("_npi_delete", [arr], "delete", axis=axis, int_ind=obj)
    if is_symbol(obj):
        return call("_npi_delete", [arr, obj], "delete", axis=axis)
    return generic("delete", (arr, obj), {"axis": axis})


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Return the symbol of an array with values inserted before positions."""
    number = isinstance(values, (int, float))
    if not number and not is_symbol(values):
        return generic("insert", (arr, obj, values), {"axis": axis})
    inputs, attributes = ([arr], {"val": values}) if number else ([arr, values], {})
    if isinstance(obj, slice):
        return call("_npi_insert_slice", inputs, "insert_slice", axis=axis, **_range(obj), **attributes)
    if isinstance(obj, int):
        return call("_npi_insert_scalar", inputs, "insert_scalar", axis=axis, int_ind=obj, **attributes)
    if is_symbol(obj):
        return call("_npi_insert_tensor", [*inputs, obj], "insert_tensor", axis=axis, **attributes)
    return generic("insert", (arr, obj, values), {"axis": axis})


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the symbol of the n-th differences of neighbours along an axis."""
    further = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    if further:
        return generic("diff", (a, n, axis), further)
    return call("_npi_diff", [a], "diff", n=n, axis=axis)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the symbol of the differences of neighbours in the flattened array, and of what surrounds them."""
    arrays = {name: value for name, value in (("to_begin", to_begin), ("to_end", to_end)) if is_symbol(value)}
    if any(isinstance(value, (list, tuple, numpy.ndarray)) for value in (to_begin, to_end)):
        return generic("ediff1d", (ary,), {"to_end": to_end, "to_begin": to_begin})
    return call(
        "_npi_ediff1d",
        [ary],
        "ediff1d",
        **arrays,
        to_begin_arr_given=is_symbol(to_begin),
        to_begin_scalar=None if is_symbol(to_begin) else to_begin,
        to_end_arr_given=is_symbol(to_end),
        to_end_scalar=None if is_symbol(to_end) else to_end,
    )


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Return the symbol of how often each number occurs; its length depends on values, so it cannot be bound."""
    inputs = [x] if weights is None else [x, weights]
    return call("_npi_bincount", inputs, "bincount", has_weights=weights is not None, minlength=minlength)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
) -> Any:
    """Return the symbol of the different elements; its length depends on values, so it cannot be bound."""
    flags = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    return call("_npi_unique", [ar], "unique", axis=axis, **flags)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> Any:
    """Return the symbol of whether two arrays may share memory."""
    return call("_npi_share_memory", [a, b], "share_memory")


# -- products ----------------------------------------------------------------------------------------------------------


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the symbol of `numpy.dot`."""
    return call("_np_dot", [a, b], "dot")


def matmul(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the symbol of products of matrices, which are broadcast."""
    return call("_npi_matmul", [a, b], "matmul")


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return the symbol of the sum of products over axes."""
    if isinstance(axes, int):
        return call("_npi_tensordot_int_axes", [a, b], "tensordot_int_axes", axes=axes)
    first, second = ((axis,) if isinstance(axis, int) else tuple(axis) for axis in axes)
    return call("_npi_tensordot", [a, b], "tensordot", a_axes_summed=first, b_axes_summed=second)


def inner(a: Any, b: Any) -> Any:
    """Return the symbol of the sum of products over the last axes."""
    return tensordot(a, b, ((-1,), (-1,)))


def _flat(a: Any) -> Any:
    return call("_np_reshape", [a], "reshape", newshape=(-1,), order="C")


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return the symbol of the products of all elements of a with all of b."""
    return tensordot(_flat(a), _flat(b), 0)


def vdot(a: Any, b: Any) -> Any:
    """Return the symbol of the sum of products of all elements."""
    return tensordot(_flat(a), _flat(b), 1)


def einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Return the symbol of the sum of products that subscripts name, or lists of numbers behind each operand."""
    if not isinstance(subscripts, str):
        *parts, output = (subscripts, *operands) if len(operands) % 2 == 0 else (subscripts, *operands, None)
        operands = tuple(parts[::2])
        subscripts = ",".join(map(_lettered, parts[1::2])) + ("" if output is None else "->" + _lettered(output))
    return call("_npi_einsum", operands, "einsum", subscripts=subscripts, optimize=int(bool(optimize)))


def _lettered(labels: Any) -> str:
    """Return labels of an axis each, which are numbers, as letters in the same order."""
    return "".join("..." if label is Ellipsis else (ascii_uppercase + ascii_lowercase)[label] for label in labels)


def polyval(p: Any, x: Any) -> Any:
    """Return the symbol of the values of a polynomial."""
    return call("_npi_polyval", [p, x], "polyval") if is_symbol(p) and is_symbol(x) else generic("polyval", (p, x), {})


_PLAIN = (
    reshape, ravel, squeeze, expand_dims, transpose, swapaxes, moveaxis, broadcast_to, flip, fliplr, flipud, roll,
    rot90, copy, tile, repeat, pad, diag, diagflat, diagonal, trace, tril, diag_indices_from, concatenate, append,
    stack, take, delete, insert, diff, ediff1d, bincount, unique, may_share_memory, dot, matmul, tensordot, inner,
    outer, vdot, einsum, polyval,
)  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in _PLAIN},
    **{f"atleast_{count}d": atleast(count) for count in (1, 2, 3)},
    **{name: _stacking(name, name) for name in ("vstack", "hstack", "dstack", "column_stack")},
    "row_stack": _stacking("row_stack", "vstack"),
    "split": _splitting("split", "_split_v2", None, True),
    "array_split": _splitting("array_split", "_split_v2", None, False),
    "vsplit": _splitting("vsplit", "_split_v2", 0, True),
    "hsplit": _splitting("hsplit", "_npi_hsplit", 1, True),
    "dsplit": _splitting("dsplit", "_npi_dsplit", 2, True),
    "shares_memory": may_share_memory,
}
