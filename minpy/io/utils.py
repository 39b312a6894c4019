"""Named arrays in any of the forms that `NDArrayIter` accepts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.namespaces import module_functions
from minpy.ndarray.creation import array
from minpy.ndarray.placement import place

__all__: list[str] = []
__dir__, __getattr__ = module_functions(__name__, __all__)


def _from_module(value: Any, module: str, name: str) -> bool:
    """Tell whether a value is of a class of a package that is not imported here."""
    package = sys.modules.get(module)
    return package is not None and isinstance(value, getattr(package, name, ()))


class ArraySource:
    """One array of instances: a copy in memory, or an HDF5 data set or sparse matrix, which is not copied."""

    def __init__(self, name: str, value: Any, axis: int) -> None:
        self.name = name
        self.is_sparse = _from_module(value, "scipy.sparse", "spmatrix") or _from_module(
            value, "scipy.sparse", "sparray"
        )
        self.is_remote = self.is_sparse or _from_module(value, "h5py", "Dataset")
        self.array: Any = value if self.is_remote else self._in_memory(name, value)
        if self.is_sparse:
            self.array = value.tocsr()
        if not len(self.array.shape):
            raise ArgumentError(
                f"NDArrayIter: {name} is a number; expected an array whose axis {axis} counts the instances."
            )
        # A label may have fewer axes than the data: then its instances are along the first.
        self.axis = axis if axis < len(self.array.shape) and not self.is_remote else 0
        self.order: numpy.ndarray | None = None

    @staticmethod
    def _in_memory(name: str, value: Any) -> Any:
        if isinstance(value, Array):
            return value
        if isinstance(value, (str, bytes)) or value is None:
            raise ArgumentError(
                f"NDArrayIter: {name} is {describe(value)}; expected an NDArray, a numpy.ndarray, a h5py.Dataset or a "
                "sparse matrix of SciPy's."
            )
        try:
            return array(value)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"NDArrayIter: {name} is {describe(value)}, which is no array of numbers: {error}"
            ) from error

    @property
    def length(self) -> int:
        """How many instances there are."""
        return int(self.array.shape[self.axis])

    @property
    def dtype(self) -> Any:
        """Of the batches."""
        return numpy.float32 if self.is_remote else self.array.dtype

    def batch_shape(self, size: int) -> tuple[int, ...]:
        """Return the shape of a batch."""
        shape = self.array.shape
        return (*shape[: self.axis], size, *shape[self.axis + 1 :])

    def permute(self, order: numpy.ndarray) -> None:
        """Put the instances in another order."""
        if self.is_remote:
            self.order = order.copy() if self.order is None else self.order[order]
        else:
            self.array = self._like(self.array._data.take(order, axis=self.axis))

    def _like(self, values: numpy.ndarray) -> Any:
        return place(type(self.array), values, self.array.context)

    def read(self, start: int, stop: int) -> numpy.ndarray:
        """Return some instances as a NumPy array, which may share the array's memory."""
        if not self.is_remote:
            index = (*[slice(None)] * self.axis, slice(start, stop))
            instances: numpy.ndarray = self.array._data[index]
            return instances
        if self.order is None:
            rows: Any = self.array[start:stop]
        else:
            ascending, back = numpy.unique(self.order[start:stop], return_inverse=True)  # HDF5 reads in ascending order
            rows = self.array[ascending][back]
        return numpy.asarray(rows.toarray() if self.is_sparse else rows, "float32")

    def batch(self, parts: Sequence[numpy.ndarray]) -> Any:
        """Return the parts joined, in new memory."""
        values = parts[0].copy() if len(parts) == 1 else numpy.concatenate(parts, axis=self.axis)
        return array(values, dtype=values.dtype) if self.is_remote else self._like(values)


def array_sources(role: str, value: Any, default_name: str, axis: int) -> list[ArraySource]:
    """Return the named arrays of an argument: an array, a list or a dictionary of them, or None."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [ArraySource(str(name), value[name], axis) for name in sorted(value)]
    if isinstance(value, list):
        if len(value) == 1:
            return [ArraySource(default_name, value[0], axis)]
        return [ArraySource(f"_{position}_{default_name}", item, axis) for position, item in enumerate(value)]
    is_array = isinstance(value, (Array, numpy.ndarray)) or hasattr(value, "shape")
    if not is_array or isinstance(value, numpy.generic):
        raise ArgumentError(
            f"NDArrayIter: {role} is {describe(value)}; expected an NDArray, a numpy.ndarray, a h5py.Dataset, a list "
            "of them, or a dictionary of them by name."
        )
    return [ArraySource(default_name, value, axis)]


def require_equal_lengths(arrays: Sequence[ArraySource]) -> None:
    """Raise an error that names all arrays and their numbers of instances, unless these agree."""
    if len({source.length for source in arrays}) > 1:
        lines = ", ".join(f"{source.name} has {source.length}" for source in arrays)
        raise ArgumentValueError(f"NDArrayIter: the arrays have different numbers of instances: {lines}.")
