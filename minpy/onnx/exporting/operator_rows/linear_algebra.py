"""Products of matrices, and their diagonals and triangles taken out and put in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.positions import axis_of

__all__ = ["ROWS"]

ROWS = Rows()


# -- products ----------------------------------------------------------------------------------------------------------


def _matrix_product(call: NodeCall, left: Any, right: Any, transpose_a: bool, transpose_b: bool) -> str:
    """Return the name of a product of two matrices, one node for floating point."""
    name: str
    if call.result_dtype.kind == "f":
        name = call.node("Gemm", left, right, transA=int(transpose_a), transB=int(transpose_b))
    else:
        left = call.transpose(left, (1, 0)) if transpose_a else left
        right = call.transpose(right, (1, 0)) if transpose_b else right
        name = call.node("MatMul", left, right)
    return name


@ROWS.enter("dot")
def _dot(
    call: NodeCall,
    lhs: Operand,
    rhs: Operand,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Any = None,
) -> Any:
    outer_left = lhs.shape[1:] if transpose_a else lhs.shape[:-1]
    outer_right = rhs.shape[:-1] if transpose_b else rhs.shape[1:]
    inner = lhs.shape[0 if transpose_a else -1]

    def as_matrix(operand: Operand, inner_first: bool) -> str:
        value = call.array(operand, call.result_dtype)
        return value if operand.ndim == 2 else call.reshape(value, [inner, -1] if inner_first else [-1, inner])

    # Of one axis, an array is a row or a column, whatever `transpose` says.
    left_first, right_first = transpose_a or lhs.ndim == 1, not transpose_b or rhs.ndim == 1
    product = _matrix_product(
        call, as_matrix(lhs, left_first), as_matrix(rhs, right_first), left_first, not right_first
    )
    if lhs.ndim == rhs.ndim == 2:
        return product
    return call.reshape(product, [*outer_left, *outer_right] or [1])


def _turned(call: NodeCall, value: str, ndim: int, is_turned: bool) -> str:
    """Return the name of matrices in the last two axes, transposed or not."""
    return call.transpose(value, [*range(ndim - 2), ndim - 1, ndim - 2]) if is_turned else value


@ROWS.enter("batch_dot")
def _batch_dot(
    call: NodeCall,
    lhs: Operand,
    rhs: Operand,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Any = None,
) -> Any:
    left = _turned(call, call.array(lhs, call.result_dtype), lhs.ndim, transpose_a)
    right = _turned(call, call.array(rhs, call.result_dtype), rhs.ndim, transpose_b)
    return call.node("MatMul", left, right)


def _scaled(call: NodeCall, value: Any, factor: float) -> Any:
    return value if factor == 1 else call.node("Mul", value, numpy.asarray(factor, call.result_dtype))


def _rows_swapped(call: NodeCall, value: Any, ndim: int, axis: int) -> Any:
    """Return the name of an array with the axis of its matrices' rows swapped with the last but one."""
    position = axis_of(axis, ndim)
    if position == ndim - 2:
        return value
    order = list(range(ndim))
    order[position], order[ndim - 2] = order[ndim - 2], order[position]
    return call.transpose(value, order)


@ROWS.enter("_linalg_gemm2")
def _gemm2(
    call: NodeCall,
    A: Operand,
    B: Operand,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> Any:
    if A.ndim == 2:
        return call.node("Gemm", A, B, alpha=float(alpha), transA=int(transpose_a), transB=int(transpose_b))
    left, right = (_rows_swapped(call, call.array(each, call.result_dtype), A.ndim, axis) for each in (A, B))
    product = call.node("MatMul", _turned(call, left, A.ndim, transpose_a), _turned(call, right, A.ndim, transpose_b))
    return _rows_swapped(call, _scaled(call, product, alpha), A.ndim, axis)


@ROWS.enter("_linalg_gemm")
def _gemm(
    call: NodeCall,
    A: Operand,
    B: Operand,
    C: Operand,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> Any:
    if A.ndim == 2:
        transposes: dict[str, Any] = {"transA": int(transpose_a), "transB": int(transpose_b)}
        return call.node("Gemm", A, B, C, alpha=float(alpha), beta=float(beta), **transposes)
    product = _gemm2(call, A, B, transpose_a, transpose_b, alpha, axis)
    return call.node("Add", product, _scaled(call, C, beta))


@ROWS.enter("_linalg_syrk")
def _syrk(call: NodeCall, A: Operand, transpose: bool = False, alpha: float = 1.0) -> Any:
    return _gemm2(call, A, A, transpose, not transpose, alpha)


@ROWS.enter("_linalg_trmm")
def _trmm(
    call: NodeCall,
    A: Operand,
    B: Operand,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Any:
    if call.opset >= 14:
        triangle = call.node("Trilu", A, upper=int(not lower))
    else:
        mask = (numpy.tril if lower else numpy.triu)(numpy.ones(A.shape[-2:], bool))
        triangle = call.node("Where", mask, A, numpy.zeros((), A.dtype))
    factor = _turned(call, triangle, A.ndim, transpose)
    return _scaled(call, call.node("MatMul", *((B, factor) if rightside else (factor, B))), alpha)


@ROWS.enter("khatri_rao")
def _khatri_rao(call: NodeCall, *args: Operand, num_args: int | None = None) -> Any:
    """Each column is the Kronecker product of the columns of the matrices."""
    product, rows = call.array(args[0], call.result_dtype), args[0].shape[0]
    for matrix in args[1:]:
        right = call.unsqueeze(call.array(matrix, call.result_dtype), [0])
        rows *= matrix.shape[0]
        product = call.node("Mul", call.unsqueeze(product, [1]), right)
        product = call.reshape(product, [rows, matrix.shape[1]])
    return product if len(args) > 1 else call.node("Identity", product)


# -- diagonals and triangles -------------------------------------------------------------------------------------------

Places = tuple[numpy.ndarray, numpy.ndarray]


def _diagonal(count: int, offset: int, lower: bool = True) -> Places:
    along = numpy.arange(count)
    return along + max(-offset, 0), along + max(offset, 0)


def _triangle(count: int, offset: int, lower: bool = True) -> Places:
    """Return the rows and columns of a triangle: of lower ones row by row, of upper ones column by column."""
    rows, columns = numpy.tril_indices(count)
    if offset > 0 or (offset == 0 and not lower):
        return columns, rows + max(offset, 0)
    return rows + max(-offset, 0), columns


def _taken(places: Callable[..., Places]) -> Callable[..., Any]:
    def row(call: NodeCall, A: Operand, offset: int = 0, lower: bool = True) -> Any:
        size = A.shape[-1]
        rows, columns = places(size - abs(offset), offset, lower)
        flat = call.reshape(A, [*A.shape[:-2], size * size])
        return call.node("Gather", flat, rows * size + columns, axis=A.ndim - 2)

    return row


def _put(places: Callable[..., Places], count_of: Callable[[int], int]) -> Callable[..., Any]:
    def row(call: NodeCall, A: Operand, offset: int = 0, lower: bool = True) -> Any:
        length, size = A.shape[-1], call.shape[-1]
        rows, columns = places(count_of(length), offset, lower)
        sources = numpy.full(size * size, length)  # where there is no element, the zero behind the last is taken
        sources[rows * size + columns] = numpy.arange(length)
        padded = _with_zero(call, A)
        return call.reshape(call.node("Gather", padded, sources, axis=A.ndim - 1), call.shape)

    return row


def _with_zero(call: NodeCall, A: Operand) -> str:
    """Return the name of an array with a zero at the end of its last axis."""
    zero = call.node("ConstantOfShape", call.ints([*A.shape[:-1], 1]), value=numpy.zeros(1, A.dtype))
    name: str = call.node("Concat", A, zero, axis=A.ndim - 1)
    return name


def _rows_of(length: int) -> int:
    """Return how many rows a triangle of so many elements has."""
    return (math.isqrt(8 * length + 1) - 1) // 2


ROWS["_linalg_extractdiag"] = _taken(_diagonal)
ROWS["_linalg_extracttrian"] = _taken(_triangle)
ROWS["_linalg_makediag"] = _put(_diagonal, lambda length: length)
ROWS["_linalg_maketrian"] = _put(_triangle, _rows_of)


@ROWS.enter("_linalg_sumlogdiag")
def _sumlogdiag(call: NodeCall, A: Operand) -> Any:
    diagonal = ROWS["_linalg_extractdiag"](call, A)
    return call.reduce("ReduceSum", call.node("Log", diagonal), [A.ndim - 2], A.ndim == 2)


# -- determinants ------------------------------------------------------------------------------------------------------


def _determinant(call: NodeCall, A: Operand) -> str:
    """Return the name of determinants, of shape (1,) for one matrix; runtimes compute them in float32."""
    name = call.node("Det", call.array(A, numpy.float32))
    name = name if A.dtype == numpy.float32 else call.cast(name, A.dtype)
    return name if A.ndim > 2 else call.reshape(name, [1])


@ROWS.enter("_linalg_det")
def _det(call: NodeCall, A: Operand) -> Any:
    if A.dtype != numpy.float32:
        raise call.refuse("a determinant in float64, which runtimes compute in float32 only; cast the matrices to it")
    return _determinant(call, A)
