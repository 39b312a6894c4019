"""Products of arrays, and functions of matrices."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.frameworks.row_parts import axes_of, axis_of
from minpy.onnx.exporting.array_parts import (
    Length,
    counted,
    is_open,
    length_of,
    operand_of,
    product_of,
    reshaped,
    vector,
)
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


def _computed_dtype(dtype: numpy.dtype) -> numpy.dtype:
    """Return the dtype in which runtimes multiply matrices of a dtype, with the same elements after a cast."""
    return numpy.dtype(dtype if dtype.kind == "f" else {"uint64": "uint64"}.get(dtype.name, "int64"))


def _factors(call: NodeCall, *values: Any) -> list[Operand]:
    """Return factors in the dtype in which they are multiplied."""
    if call.result_dtype.kind == "c":
        raise call.refuse("complex numbers")
    dtype = _computed_dtype(call.result_dtype)
    operands = [operand_of(call, value) for value in values]
    return [Operand(_in_dtype(call, each, dtype), each.shape, dtype) for each in operands]


def _in_dtype(call: NodeCall, operand: Operand, dtype: numpy.dtype) -> str:
    if call.result_dtype.kind == "b":
        return call.cast(call.array(operand, bool), dtype)
    if operand.dtype != call.result_dtype:
        return call.array(operand._replace(text=call.array(operand, call.result_dtype), dtype=call.result_dtype), dtype)
    return call.array(operand, dtype)


def _result(call: NodeCall, name: str) -> str:
    """Return a product in the dtype of the result."""
    return name if _computed_dtype(call.result_dtype) == call.result_dtype else call.cast(name, call.result_dtype)


def _einsum_of(call: NodeCall, equation: str, *factors: Operand) -> str:
    name: str = call.node("Einsum", *factors, equation=equation)
    return _result(call, name)


@_row("matmul linalg.matmul")
def _matmul(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> str:
    left, right = _factors(call, x1, x2)
    return _result(call, call.node("MatMul", left, right))


@_row("dot")
def _dot(call: NodeCall, a: Any, b: Any) -> str:
    left, right = _factors(call, a, b)
    if not left.ndim or not right.ndim:
        return _result(call, call.node("Mul", left, right))
    if right.ndim <= 2:
        return _result(call, call.node("MatMul", left, right))
    letters = ascii_lowercase[: left.ndim]
    others = ascii_uppercase[: right.ndim]
    summed = others.replace(others[-2], letters[-1])
    return _einsum_of(call, f"{letters},{summed}->{letters[:-1]}{others[:-2]}{others[-1]}", left, right)


@_row("inner")
def _inner(call: NodeCall, a: Any, b: Any) -> str:
    left, right = _factors(call, a, b)
    if not left.ndim or not right.ndim:
        return _result(call, call.node("Mul", left, right))
    if right.ndim <= 2:
        turned = right if right.ndim == 1 else call.transpose(right, (1, 0))
        return _result(call, call.node("MatMul", left, turned))
    letters, others = ascii_lowercase[: left.ndim], ascii_uppercase[: right.ndim - 1]
    return _einsum_of(call, f"{letters},{others}{letters[-1]}->{letters[:-1]}{others}", left, right)


@_row("vdot")
def _vdot(call: NodeCall, a: Any, b: Any) -> str:
    rows = [call.reshape(each, [-1]) for each in _factors(call, a, b)]
    return _result(call, call.node("MatMul", *rows))


@_row("outer linalg.outer")
def _outer(call: NodeCall, a: Any = None, b: Any = None, x1: Any = None, x2: Any = None) -> str:
    left, right = _factors(call, *((a, b) if x1 is None else (x1, x2)))
    return _result(call, call.node("Mul", call.reshape(left, [-1, 1]), call.reshape(right, [1, -1])))


@_row("tensordot linalg.tensordot")
def _tensordot(call: NodeCall, a: Any = None, b: Any = None, axes: Any = 2, x1: Any = None, x2: Any = None) -> str:
    left, right = _factors(call, *((a, b) if x1 is None else (x1, x2)))
    if isinstance(axes, (int, numpy.integer)):
        pairs: Any = (range(left.ndim - int(axes), left.ndim), range(int(axes)))
    else:
        pairs = [each if isinstance(each, (list, tuple)) else (each,) for each in axes]
    first, second = axes_of(tuple(pairs[0]), left.ndim), axes_of(tuple(pairs[1]), right.ndim)
    letters, others = list(ascii_lowercase[: left.ndim]), list(ascii_uppercase[: right.ndim])
    for mine, theirs in zip(first, second, strict=True):
        others[theirs] = letters[mine]
    output = [each for axis, each in enumerate(letters) if axis not in first]
    output += [each for axis, each in enumerate(others) if axis not in second]
    return _einsum_of(call, f"{''.join(letters)},{''.join(others)}->{''.join(output)}", left, right)


@_row("einsum")
def _einsum(call: NodeCall, operands: Any, optimize: Any = False, dtype: Any = None) -> str:
    text, *values = operands
    factors = _factors(call, *values)
    return _einsum_of(call, equation_of(text, [each.ndim for each in factors]), *factors)


def equation_of(text: str, ndims: Any) -> str:
    """Return the subscripts of `numpy.einsum` in full: with an output, and letters in the place of dots.

    >>> equation_of('ij, jk', (2, 2)), equation_of('...i->...', (2,)), equation_of('...j,...j', (2, 3))
    ('ij,jk->ik', 'Ai->A', 'Bj,ABj->AB')
    """
    text = text.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    counts = [
        ndim - len(term.replace("...", "")) if "..." in term else 0 for term, ndim in zip(terms, ndims, strict=True)
    ]
    free = [letter for letter in ascii_uppercase + ascii_lowercase if letter not in text][: max(counts, default=0)]
    every = "".join(free)
    if not arrow:
        letters = inputs.replace(",", "").replace(".", "")
        output = ("..." if "..." in text else "") + "".join(
            letter for letter in sorted(set(letters)) if letters.count(letter) == 1
        )
    full = [term.replace("...", every[len(every) - count :]) for term, count in zip(terms, counts, strict=True)]
    return f"{','.join(full)}->{output.replace('...', every)}"


@_row("vecdot linalg.vecdot")
def _vecdot(call: NodeCall, x1: Any, x2: Any, axis: int = -1, dtype: Any = None) -> str:
    left, right = _factors(call, x1, x2)
    if axis != -1 and left.ndim != right.ndim:
        raise call.refuse(f"axis={axis!r} of arrays with unequal numbers of axes")
    at = axis_of(axis, max(left.ndim, right.ndim))
    return _result(call, call.reduce("ReduceSum", call.node("Mul", left, right), [at], False))


@_row("matvec")
def _matvec(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> str:
    left, right = _factors(call, x1, x2)
    return _result(call, call.squeeze(call.node("MatMul", left, call.unsqueeze(right, [right.ndim])), [-1]))


@_row("vecmat")
def _vecmat(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> str:
    left, right = _factors(call, x1, x2)
    return _result(call, call.squeeze(call.node("MatMul", call.unsqueeze(left, [left.ndim - 1]), right), [-2]))


@_row("kron")
def _kron(call: NodeCall, a: Any, b: Any) -> str:
    left, right = _factors(call, a, b)
    ndim = len(call.shape)
    names = []
    for each, place in ((left, 1), (right, 0)):
        missing = ndim - each.ndim
        # Pairs of axes: the array's own, and one of length 1 for the other's.
        added = [2 * axis + offset for axis in range(ndim) for offset in (0, 1) if axis < missing or offset == place]
        names.append(call.unsqueeze(each, added) if added else call.array(each))
    product = call.node("Mul", *names)
    if not is_open(call):
        return _result(call, reshaped(call, product, call.shape))
    lengths: list[Length] = []
    for axis in range(ndim):
        lengths.append(1)
        for each in (left, right):
            own = axis - (ndim - each.ndim)
            if own >= 0:
                lengths[-1] = product_of(call, lengths[-1], length_of(call, each, own))
    return _result(call, call.node("Reshape", product, vector(call, lengths)))


@_row("cross linalg.cross")
def _cross(
    call: NodeCall, a: Any = None, b: Any = None, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None,
    x1: Any = None, x2: Any = None,
) -> str:  # fmt: skip
    left, right = _factors(call, *((a, b) if x1 is None else (x1, x2)))
    if axis is not None:
        axisa = axisb = axisc = axis
    elif call.key == "linalg.cross":
        axisa = axisb = axisc = -1
    left, right = (_with_last(call, each, at) for each, at in ((left, axisa), (right, axisb)))
    lengths = left.shape[-1], right.shape[-1]
    if lengths == (2, 2):
        first, second = (call.node("Gather", left, call.ints(at), axis=left.ndim - 1) for at in (0, 1))
        third, fourth = (call.node("Gather", right, call.ints(at), axis=right.ndim - 1) for at in (1, 0))
        products = call.node("Mul", first, third), call.node("Mul", second, fourth)
        return _result(call, call.node("Sub", *products))
    if lengths != (3, 3):
        raise call.refuse("vectors of two and of three elements")

    def turned(array: Operand, order: list[int]) -> str:
        name: str = call.node("Gather", array, call.ints(order), axis=array.ndim - 1)
        return name

    products = (
        call.node("Mul", turned(left, [1, 2, 0]), turned(right, [2, 0, 1])),
        call.node("Mul", turned(left, [2, 0, 1]), turned(right, [1, 2, 0])),
    )
    name = _result(call, call.node("Sub", *products))
    ndim = len(call.shape)
    at = axis_of(axisc, ndim)
    if at == ndim - 1:
        return name
    return call.transpose(name, [*range(at), ndim - 1, *range(at, ndim - 1)])


def _with_last(call: NodeCall, array: Operand, axis: int) -> Operand:
    """Return an array with one of its axes as the last."""
    at = axis_of(axis, array.ndim)
    if at == array.ndim - 1:
        return array
    order = [*(each for each in range(array.ndim) if each != at), at]
    return Operand(call.transpose(array, order), tuple(array.shape[each] for each in order), array.dtype)


@_row("linalg.multi_dot")
def _multi_dot(call: NodeCall, arrays: Any) -> str:
    name, *others = _factors(call, *arrays)
    result: Any = name
    for other in others:
        result = call.node("MatMul", result, other)
    return _result(call, result)


@_row("linalg.matrix_power")
def _matrix_power(call: NodeCall, a: Any, n: int) -> str:
    if n < 0:
        raise call.refuse("a power below 0: ONNX has no inverse")
    (matrix,) = _factors(call, a)
    if n == 0:
        numbers = counted(call, 0, length_of(call, matrix, matrix.ndim - 1))
        eye = call.node("Equal", call.unsqueeze(numbers, [1]), numbers)
        return call.node("Expand", call.cast(eye, call.result_dtype), call.node("Shape", matrix))
    square, result, power = call.array(matrix), None, int(n)
    while power:
        if power % 2:
            result = square if result is None else call.node("MatMul", result, square)
        power //= 2
        if power:
            square = call.node("MatMul", square, square)
    return _result(call, str(result))


@_row("linalg.det")
def _det(call: NodeCall, a: Any) -> str:
    name: str = call.node("Det", call.array(a, call.result_dtype))
    return name


def _of_matrix(call: NodeCall, *_: Any, **__: Any) -> str:
    raise call.refuse(f"numpy.{call.key}: ONNX has no solvers and decompositions; compute it outside the model")
