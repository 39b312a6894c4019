"""Random shapes; arrays as inputs of tests: random ones, matrices with known properties, counting ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, ShapeError
from minpy.ndarray.creation import array
from minpy.ndarray.ndarray import NDArray
from minpy.test_utils.defaults import default_dtype

__all__ = [
    "assign_each",
    "assign_each2",
    "collapse_sum_like",
    "create_2d_tensor",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape with `num_dim` lengths from 1 (or 0) to `dim`.

    Examples
    --------
    >>> len(rand_shape_nd(4)), max(rand_shape_nd(100, dim=2))
    (4, 2)
    """
    return _random_shape([dim] * num_dim, allow_zero_size)


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """Return a random shape of two axes, with lengths from 1 (or 0) to `dim0` and `dim1`.

    Examples
    --------
    >>> rand_shape_2d(1, 1)
    (1, 1)
    """
    return _random_shape([dim0, dim1], allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, int, int]:
    """Return a random shape of three axes, with lengths from 1 (or 0) to `dim0`, `dim1` and `dim2`.

    Examples
    --------
    >>> rand_shape_3d(1, 1, 1)
    (1, 1, 1)
    """
    return _random_shape([dim0, dim1, dim2], allow_zero_size)


def _random_shape(longest: Sequence[int], allow_zero_size: bool) -> Any:
    return tuple(int(numpy.random.randint(0 if allow_zero_size else 1, length + 1)) for length in longest)


def random_arrays(*shapes: Sequence[int]) -> Any:
    """Return NumPy arrays of normally distributed float32 numbers: one for one shape, else a list.

    The numbers come from `numpy.random`.

    Examples
    --------
    >>> random_arrays((2, 3)).shape, [x.shape for x in random_arrays((2,), ())]
    ((2, 3), [(2,), ()])
    """
    arrays: list[Any] = [numpy.asarray(numpy.random.standard_normal(shape), default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Any = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Any = None,
) -> NDArray:
    """Return an NDArray of normally distributed numbers from `numpy.random`.

    Parameters
    ----------
    shape : sequence of int
    stype : str
        'default', which is the only storage that there is.
    dtype : str or type, optional
        float32 by default.
    ctx : Context, optional
    density, modifier_func, shuffle_csr_indices, distribution
        Of sparse arrays: accepted and not used.

    Raises
    ------
    ArgumentError
        For another storage.

    Examples
    --------
    >>> rand_ndarray((2, 3)).shape
    (2, 3)
    """
    require_dense(stype, "rand_ndarray")
    return array(numpy.random.standard_normal(tuple(shape)), ctx, default_dtype() if dtype is None else dtype)


def require_dense(stypes: Any, method: str) -> None:
    """Raise, unless all storage types are dense, the only one there is."""
    for stype in stypes.values() if isinstance(stypes, Mapping) else stypes if isinstance(stypes, list) else [stypes]:
        if stype not in (None, "default"):
            raise ArgumentError(f"{method}: storage {stype!r} is not supported; arrays are dense: 'default'.")


def random_uniform_arrays(*shapes: Sequence[int], **kwargs: Any) -> list[numpy.ndarray]:
    """Return a list of arrays drawn uniformly from [low, high), 0 and 1 if left out, in `dtype` (float32).

    Examples
    --------
    >>> [x.shape for x in random_uniform_arrays((2,), (3, 1), low=-1)]
    [(2,), (3, 1)]
    """
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", numpy.float32)
    if kwargs:
        raise ArgumentError(f"random_uniform_arrays has no argument {next(iter(kwargs))!r}; it takes low, high, dtype.")
    return [numpy.asarray(numpy.random.uniform(low, high, tuple(shape)), dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """Return k different elements of a sequence, in its order.

    Examples
    --------
    >>> len(random_sample(range(10), 4))
    4
    """
    chosen = sorted(random.sample(range(len(population)), k))
    return [population[position] for position in chosen]


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Return a random pair of whole numbers, in [x_low, x_high) and [y_low, y_high)."""
    return int(numpy.random.randint(x_low, x_high)), int(numpy.random.randint(y_low, y_high))


def assign_each(the_input: Any, function: Callable[[Any], Any] | None) -> numpy.ndarray:
    """Return an array of `function(element)` for each element; without a function, a copy.

    Examples
    --------
    >>> assign_each(numpy.array([1.0, 2.0]), lambda x: x * x)
    array([1., 4.])
    """
    values = numpy.asarray(the_input)
    if function is None:
        return values.copy()
    flat = [function(element) for element in values.reshape(-1)]
    return numpy.array(flat, values.dtype).reshape(values.shape)


def assign_each2(input1: Any, input2: Any, function: Callable[[Any, Any], Any] | None) -> numpy.ndarray:
    """Return an array of `function(a, b)` for each pair of elements; without a function, a copy of the first array."""
    first, second = numpy.asarray(input1), numpy.asarray(input2)
    if function is None:
        return first.copy()
    if first.shape != second.shape:
        raise ShapeError(f"assign_each2: shapes {first.shape} and {second.shape} differ; they must be equal.")
    flat = [function(a, b) for a, b in zip(first.reshape(-1), second.reshape(-1), strict=True)]
    return numpy.array(flat, first.dtype).reshape(first.shape)


def np_reduce(dat: numpy.ndarray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Any:
    """Return `numpy_reduce_func` over some axes, one axis after the other.

    Examples
    --------
    >>> np_reduce(numpy.ones((2, 3)), (0,), True, numpy.sum).shape
    (1, 3)
    """
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    result = dat
    for position in sorted(position % dat.ndim for position in axes)[::-1]:
        result = numpy_reduce_func(result, axis=position)
    if keepdims:
        reduced = {position % dat.ndim for position in axes}
        result = numpy.reshape(result, [1 if axis in reduced else length for axis, length in enumerate(dat.shape)])
    return result


def collapse_sum_like(a: numpy.ndarray, shape: Sequence[int]) -> numpy.ndarray:
    """Return an array summed over the axes along which `shape` would be broadcast to its shape.

    Examples
    --------
    >>> collapse_sum_like(numpy.ones((2, 3, 4)), (3, 1)).tolist()
    [[8.0], [8.0], [8.0]]
    """
    lead = a.ndim - len(shape)
    fits = lead >= 0 and all(length in (1, full) for length, full in zip(shape, a.shape[lead:], strict=True))
    if not fits:
        raise ShapeError(f"collapse_sum_like: shape {tuple(shape)} does not broadcast to that of a, {a.shape}.")
    axes = [axis for axis in range(a.ndim) if axis < lead or shape[axis - lead] == 1]
    return numpy.sum(a, axis=tuple(axes)).reshape(tuple(shape))


def create_vector(size: int, dtype: Any = numpy.int64) -> NDArray:
    """Return 0, 1, ..., size - 1.

    Examples
    --------
    >>> create_vector(3).asnumpy()
    array([0, 1, 2])
    """
    return array(numpy.arange(size), dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = numpy.int64) -> NDArray:
    """Return a matrix whose elements are the numbers of their rows.

    Examples
    --------
    >>> create_2d_tensor(2, 3).asnumpy().tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    return array(numpy.repeat(numpy.arange(rows), columns).reshape(rows, columns), dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """Return an identity matrix in float32."""
    return array(numpy.eye(size))


def get_identity_mat_batch(size: int) -> NDArray:
    """Return two identity matrices, of shape (2, size, size), in float32."""
    return array(numpy.stack([numpy.eye(size)] * 2))


def new_orthonormal_matrix_2d(n: int) -> numpy.ndarray:
    """Return a random matrix whose rows are orthogonal and of length 1, drawn from `numpy.random`.

    Examples
    --------
    >>> q = new_orthonormal_matrix_2d(3)
    >>> bool(numpy.allclose(q @ q.T, numpy.eye(3)))
    True
    """
    q, r = numpy.linalg.qr(numpy.random.normal(size=(n, n)))
    return q * numpy.sign(numpy.diagonal(r))  # uniform among all rotations and reflections (Mezzadri, 2007)


def _eigenvalues(n: int) -> numpy.ndarray:
    """Return numbers from 1 to 2 in absolute value, of random signs: no inverse of their matrix is large."""
    return numpy.random.uniform(1, 2, n) * numpy.random.choice([-1, 1], n)


def new_matrix_with_real_eigvals_2d(n: int) -> numpy.ndarray:
    """Return a random matrix that is well-conditioned, with real eigenvalues from 1 to 2 in absolute value."""
    rotation, scales = new_orthonormal_matrix_2d(n), numpy.random.uniform(0.8, 1.25, n)
    vectors = new_orthonormal_matrix_2d(n) * scales @ rotation
    return vectors * _eigenvalues(n) @ numpy.linalg.inv(vectors)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> numpy.ndarray:
    """Return an array of such matrices; its last two lengths must be equal."""
    return _batch_of(shape, new_matrix_with_real_eigvals_2d)


def new_sym_matrix_with_real_eigvals_2d(n: int) -> numpy.ndarray:
    """Return a random symmetric matrix with eigenvalues from 1 to 2 in absolute value."""
    rotation = new_orthonormal_matrix_2d(n)
    symmetric = rotation * _eigenvalues(n) @ rotation.T
    return (symmetric + symmetric.T) / 2


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> numpy.ndarray:
    """Return an array of such matrices; its last two lengths must be equal."""
    return _batch_of(shape, new_sym_matrix_with_real_eigvals_2d)


def _batch_of(shape: Sequence[int], make: Callable[[int], numpy.ndarray]) -> numpy.ndarray:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"shape {tuple(shape)} is not one of square matrices: its last two lengths must be equal.")
    count = int(numpy.prod(shape[:-2]))
    return numpy.reshape([make(shape[-1]) for _ in range(count)], tuple(shape))
