"""What is known of the values of an ONNX graph while it is imported, and their types."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.onnx.importing.lengths import Length
from minpy.onnx.importing.refusals import Refusal

__all__ = ["Tensor", "numpy_dtype"]

# By ONNX's numbers of element types. Others (text, bfloat16, 8 bits of floating point, 4 bits) no array of ours has.
_DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
}  # fmt: skip


def numpy_dtype(number: int) -> numpy.dtype:
    """Return the dtype of an ONNX element type.

    Raises
    ------
    Refusal
        If arrays of minpy have no such dtype.
    """
    if number in _DTYPES:
        return numpy.dtype(_DTYPES[number])
    import onnx

    name = onnx.TensorProto.DataType.Name(number).lower() if number in onnx.TensorProto.DataType.values() else number
    raise Refusal(f"its dtype is {name}, which arrays do not have here. Convert the model to float32 or float16")


class Tensor:
    """A value of the graph.

    Attributes
    ----------
    name : str
        In the model.
    symbol : Symbol or None
        With NumPy's semantics; None for a constant that nothing has read yet.
    constant : numpy.ndarray or None
        Its value, where that is known.
    dtype : numpy.dtype or None
    shape : list of int or Length, or None
        None where not even the number of axes is known.
    elements : numpy.ndarray of objects, or None
        For small arrays of lengths: ints and `Length`s.
    aux : Symbol or None
        The auxiliary variable of a constant that some node updates.
    """

    __slots__ = ("aux", "constant", "dtype", "elements", "name", "shape", "symbol")

    def __init__(
        self,
        name: str,
        symbol: Any = None,
        constant: numpy.ndarray | None = None,
        dtype: Any = None,
        shape: Any = None,
        elements: Any = None,
    ) -> None:
        self.name, self.symbol, self.constant, self.elements, self.aux = name, symbol, constant, elements, None
        self.dtype = constant.dtype if constant is not None else dtype
        self.shape: list[Any] | None = list(constant.shape) if constant is not None else shape

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The shape, if all of it is known."""
        if self.shape is None or any(isinstance(length, Length) for length in self.shape):
            return None
        return tuple(self.shape)
