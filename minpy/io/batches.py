"""Batches, and descriptions of their arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, describe

__all__ = ["DataBatch", "DataDesc"]


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """Name, shape, dtype and layout of an input of a network.

    It is a tuple of name and shape, and equal to one.

    Parameters
    ----------
    name : str
        The variable of the network.
    shape : tuple of int
        Of a batch.
    dtype : dtype
    layout : str
        A letter for each axis, N for that of the batch.

    Examples
    --------
    >>> from minpy.io import DataDesc
    >>> DataDesc('data', (32, 3, 28, 28))
    DataDesc[data,(32, 3, 28, 28),<class 'numpy.float32'>,NCHW]
    >>> name, shape = DataDesc('data', (32, 3, 28, 28))
    >>> shape
    (32, 3, 28, 28)
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: tuple[int, ...], dtype: Any = numpy.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        self = super().__new__(cls, name, shape)
        self.dtype = dtype
        self.layout = layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Return the batch axis of a layout.

        Parameters
        ----------
        layout : str or None

        Returns
        -------
        int
            0 for None; -1 if the layout has no N.

        Examples
        --------
        >>> from minpy.io import DataDesc
        >>> DataDesc.get_batch_axis('TNC')
        1
        """
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Sequence[Any], types: Sequence[Any] | None) -> list[DataDesc]:
        """Return descriptions of names and shapes, with the dtypes of the same names.

        Parameters
        ----------
        shapes : list of (str, tuple of int)
        types : list of (str, dtype), or None
            float32 for None.

        Returns
        -------
        list of DataDesc

        Raises
        ------
        ArgumentError
            If a name has no dtype.

        Examples
        --------
        >>> from minpy.io import DataDesc
        >>> DataDesc.get_list([('data', (4, 2))], [('data', 'int32')])
        [DataDesc[data,(4, 2),int32,NCHW]]
        """
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        absent = [str(name) for name, _ in shapes if name not in dtypes]
        if absent:
            raise ArgumentValueError(
                f"DataDesc.get_list: no dtype for {', '.join(absent)}; types has {', '.join(map(str, dtypes))}."
            )
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """Some instances: their data, their labels, and how many of them are padding.

    Parameters
    ----------
    data : list of NDArray
    label : list of NDArray, optional
    pad : int, optional
        How many instances at the end are padding.
    index : numpy.ndarray, optional
        The positions or ids of the instances.
    bucket_key : object, optional
        Of the graph for these shapes, for `BucketingModule`.
    provide_data, provide_label : list of DataDesc, optional
        Names and shapes, where they differ from batch to batch.

    Raises
    ------
    ArgumentError
        If data or label are not lists.

    Examples
    --------
    >>> import minpy as mx
    >>> batch = mx.io.DataBatch(data=[mx.nd.ones((2, 3))], label=[mx.nd.ones((2,))])
    >>> print(batch)
    DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Any = None,
        provide_label: Any = None,
    ) -> None:
        for name, value in (("data", data), ("label", label)):
            if value is not None and not isinstance(value, (list, tuple)):
                raise ArgumentError(
                    f"DataBatch: {name} is a list of NDArrays, one an input of the network; got {describe(value)}. "
                    f"Write {name}=[...]."
                )
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        shapes = None if self.data is None else [array.shape for array in self.data]
        labels = None if self.label is None else [array.shape for array in self.label]
        return f"{type(self).__name__}: data shapes: {shapes} label shapes: {labels}"
