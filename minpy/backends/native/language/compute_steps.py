"""Steps that compute: functions of every element, reductions along axes, products of matrices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy

from minpy.backends.native.language.array_and_step import Array, Origin, Step
from minpy.backends.native.language.function_table import ELEMENTWISE, REDUCTIONS

__all__ = ["Elementwise", "Product", "Reduce"]


@dataclass(eq=False, slots=True)
class Elementwise(Step):
    """A function of every element; operands broadcast. `dtype` is what a cast gives."""

    kind: ClassVar[str] = "elementwise"

    function: str
    dtype: Any = None

    def __post_init__(self) -> None:
        row = ELEMENTWISE[self.function]
        dtype = self.dtype if row.result == "given" else "bool" if row.result == "bool" else self.operands[-1].dtype
        self._set_outputs((numpy.broadcast_shapes(*(operand.shape for operand in self.operands)), dtype))

    @classmethod
    def of(cls, function: str, *operands: Array, dtype: Any = None, origin: Origin = Origin()) -> Array:  # noqa: B008
        """Return the array that a new step gives.

        >>> from minpy.backends.native.language import constant
        >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
        >>> Elementwise.of("greater", x, constant(0, "float32")).dtype
        dtype('bool')
        """
        return cls(operands, function, dtype, origin=origin).output

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the function of the operands."""
        row = ELEMENTWISE[self.function]
        with numpy.errstate(all="ignore"):
            if row.result == "given":
                return (numpy.asarray(operands[0]).astype(self.dtype),)
            return (numpy.asarray(row.evaluate(*operands), self.output.dtype),)

    def label(self) -> str:
        """Return the function's name."""
        return f"{self.function} {self.output.dtype}" if self.function == "cast" else self.function


@dataclass(eq=False, slots=True)
class Reduce(Step):
    """A reduction along axes, which become axes of length 1."""

    kind: ClassVar[str] = "reduce"

    function: str
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        (operand,) = self.operands
        shape = [1 if axis in self.axes else length for axis, length in enumerate(operand.shape)]
        self._set_outputs((shape, "int64" if self.function.startswith("arg") else operand.dtype))

    @classmethod
    def of(cls, function: str, operand: Array, axes: Iterable[int], *, origin: Origin = Origin()) -> Array:  # noqa: B008
        """Return the array that a new step gives.

        >>> Reduce.of("sum", Array((2, 3), numpy.dtype("float32")), (1,)).shape
        (2, 1)
        """
        return cls((operand,), function, tuple(sorted(axes)), origin=origin).output

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the reduced operand."""
        (operand,) = operands
        row = REDUCTIONS[self.function]
        axes: Any = self.axes
        if self.function.startswith("arg"):
            axes = self.axes[0] if len(self.axes) == 1 else None
        with numpy.errstate(all="ignore"):
            result = row.evaluate(operand, axis=axes)
        return (numpy.asarray(result, self.output.dtype).reshape(self.output.shape),)

    def label(self) -> str:
        """Return function and axes."""
        return f"{self.function} along {', '.join(map(str, self.axes))}"


@dataclass(eq=False, slots=True)
class Product(Step):
    """A product of matrices `a @ b` of float32 or float64: (..., m, k) by (..., k, n), the stack's axes the same.

    Operands may be views: transposed, or one matrix for the whole stack (strides of 0). With a third operand, of the
    output's shape, that is added: `c + a @ b`.
    """

    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        first, second = self.operands[:2]
        self._set_outputs(((*first.shape[:-1], second.shape[-1]), first.dtype))

    @classmethod
    def of(cls, first: Array, second: Array, added: Array | None = None, *, origin: Origin = Origin()) -> Array:  # noqa: B008
        """Return the array that a new step gives.

        >>> dtype = numpy.dtype("float32")
        >>> Product.of(Array((2, 3), dtype), Array((3, 5), dtype)).shape
        (2, 5)
        """
        return cls((first, second) if added is None else (first, second, added), origin=origin).output

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the product."""
        with numpy.errstate(all="ignore"):
            product = numpy.matmul(operands[0], operands[1])
            return (product if len(operands) == 2 else operands[2] + product,)

    def label(self) -> str:
        """Return which product it is."""
        return "product" if len(self.operands) == 2 else "product, added"
