"""NumPy's products and linear algebra under MXNet's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentValueError
from minpy.core.signatures import REQUIRED
from minpy.ops.inference.contractions import dot_shapes, matmul_shapes, tensordot_axes_shapes, tensordot_shapes
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.numpy.named import named, numpy_function
from minpy.ops.numpy.named_reductions import root_of_squares

__all__ = ["NORM_FLAGS"]

# -- products ----------------------------------------------------------------------------------------------------------


numpy_function("_np_dot", np.dot, "a b", shape=dot_shapes)
numpy_function("_npi_matmul", np.matmul, "a b", shape=matmul_shapes)
numpy_function("_npi_tensordot_int_axes", np.tensordot, "a b", shape=tensordot_axes_shapes, axes=(int, REQUIRED))


@named("_npi_tensordot", shape=tensordot_shapes)
def npi_tensordot(a: Any, b: Any, *, a_axes_summed: tuple[int, ...], b_axes_summed: tuple[int, ...]) -> Any:
    """Return the sum of products over axes of a and of b."""
    return np.tensordot(a, b, axes=(list(a_axes_summed), list(b_axes_summed)))


@named("_npi_einsum")
def npi_einsum(*data: Any, subscripts: str, optimize: int = 0) -> Any:
    """Return the sum of products that subscripts name."""
    return np.einsum(subscripts, *data, optimize=bool(optimize))


@named("_npi_polyval")
def npi_polyval(p: Any, x: Any) -> Any:
    """Return the values of a polynomial, whose coefficients begin with the highest power."""
    value = np.zeros(np.shape(x), np.result_type(p, x))
    for position in range(np.shape(p)[0]):
        value = value * x + p[position]
    return value


# -- matrices ----------------------------------------------------------------------------------------------------------


numpy_function("_npi_cholesky", np.linalg.cholesky, "A", shape=same_shape)
numpy_function("_npi_solve", np.linalg.solve, "A B", shape=lambda inputs, outputs: (inputs, [inputs[1]]))


def _svd_shape(inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    shape = inputs[0]
    if shape is None or len(shape) < 2:
        return inputs, outputs
    *batch, rows, columns = shape
    return inputs, [(*batch, rows, rows), (*batch, rows), (*batch, rows, columns)]


@named("_npi_svd", shape=_svd_shape, outputs=("output0", "output1", "output2"))
def npi_svd(A: Any) -> Any:
    """Return (U, s, V) of A = U diag(s) V, for matrices with no more rows than columns."""
    result = np.linalg.svd(A, full_matrices=False)
    return result[0], result[1], result[2]


def _eigen_shape(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    shape = inputs[0]
    values = None if shape is None else shape[:-1]
    return inputs, [values, shape][: len(outputs)]


def _real(values: Any, name: str) -> Any:
    if np.iscomplexobj(values):
        if np.any(values.imag):
            raise ArgumentValueError(
                f"{name}: the matrix has complex eigenvalues, and the answer has its dtype. Call np.linalg.{name} on "
                "arrays, outside of a graph."
            )
        return values.real
    return values


@named("_npi_eig", shape=_eigen_shape, outputs=("output0", "output1"), zero=True)
def npi_eig(A: Any) -> Any:
    """Return real eigenvalues and eigenvectors; they have no gradient, as in MXNet."""
    values, vectors = np.linalg.eig(A)
    return _real(values, "eig").astype(A.dtype), _real(vectors, "eig").astype(A.dtype)


@named("_npi_eigvals", shape=_eigen_shape, zero=True)
def npi_eigvals(A: Any) -> Any:
    """Return real eigenvalues; they have no gradient, as in MXNet."""
    return _real(np.linalg.eigvals(A), "eigvals").astype(A.dtype)


@named("_npi_eigh", shape=_eigen_shape, outputs=("output0", "output1"))
def npi_eigh(A: Any, *, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of symmetric matrices, of which one triangle is looked at."""
    result = np.linalg.eigh(A, UPLO)  # type: ignore[call-overload]
    return result[0], result[1]


@named("_npi_eigvalsh", shape=_eigen_shape)
def npi_eigvalsh(A: Any, *, UPLO: str = "L") -> Any:
    """Return eigenvalues of symmetric matrices, of which one triangle is looked at."""
    return np.linalg.eigh(A, UPLO)[0]  # type: ignore[call-overload]


@named("_npi_pinv")
def npi_pinv(A: Any, rcond: Any, *, hermitian: bool = False) -> Any:
    """Return the pseudo-inverse; singular values below `rcond` times the largest count as 0."""
    return np.linalg.pinv(A, rcond)


@named("_npi_pinv_scalar_rcond")
def npi_pinv_scalar_rcond(A: Any, *, rcond: float = 1e-15, hermitian: bool = False) -> Any:
    """Return the pseudo-inverse; singular values below `rcond` times the largest count as 0."""
    return np.linalg.pinv(A) if rcond == 1e-15 else np.linalg.pinv(A, rcond)


@named("_npi_tensorinv")
def npi_tensorinv(a: Any, *, ind: int = 2) -> Any:
    """Return the inverse with respect to `tensordot` over the first `ind` axes."""
    shape = np.shape(a)
    rows = int(np.prod(shape[:ind]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), (*shape[ind:], *shape[:ind]))


@named("_npi_tensorsolve")
def npi_tensorsolve(a: Any, b: Any, *, a_axes: tuple[int, ...] | None = None) -> Any:
    """Return x with which `tensordot(a, x, x.ndim)` is b; axes of a may be moved to its end first."""
    order = list(range(np.ndim(a)))
    for axis in a_axes or ():
        order.remove(axis % len(order) if axis < 0 else axis)
        order.append(axis % np.ndim(a))
    a = np.transpose(a, order)
    shape = np.shape(a)[np.ndim(b) :]
    return np.reshape(np.linalg.solve(np.reshape(a, (np.size(b), -1)), np.ravel(b)), shape)


# What the attribute `flag` of norms in files says: the order that is meant, where `ord` does not.
NORM_FLAGS: dict[int, Any] = {-2: None, 1: None, 2: "nuc"}


@named("_npi_norm", dtype="float")
def npi_norm(
    data: Any,
    *,
    ord: float = 2.0,
    axis: tuple[int, ...] | None = None,
    keepdims: bool = False,
    flag: int = -1,
) -> Any:
    """Return norms of vectors or matrices."""
    order = NORM_FLAGS.get(flag, ord)
    axes: Any = axis if axis is None or len(axis) > 1 else axis[0]
    if order is None or (order == 2 and isinstance(axes, int)):  # of vectors, or Frobenius's
        return root_of_squares(np.sum(np.square(data), axis=axes, keepdims=keepdims))
    return np.linalg.norm(data, order, axes, keepdims)
