"""Random shapes and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentError
from minpy.ndarray.creation import array
from minpy.ndarray.ndarray import NDArray
from minpy.test_utils.defaults import default_dtype

__all__ = ["rand_ndarray", "rand_shape_2d", "rand_shape_3d", "rand_shape_nd", "random_arrays"]


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
