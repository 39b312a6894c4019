"""`Array`, a value of a routine; `Layout`, where it lies; and `Step`, what gives it."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy

if TYPE_CHECKING:
    from minpy.capture.places import SourceLocation

__all__ = ["Array", "Layout", "Origin", "Step", "constant", "contiguous", "uniform_value"]


class Layout(NamedTuple):
    """Where elements lie in the memory of a C-contiguous array: an offset, and a stride for each axis, in elements."""

    offset: int
    strides: tuple[int, ...]

    def window(self, memory: numpy.ndarray, shape: Sequence[int]) -> numpy.ndarray:
        """Return the view of a flat array that this layout gives an array of a shape."""
        strides = tuple(stride * memory.itemsize for stride in self.strides)
        return numpy.lib.stride_tricks.as_strided(memory[self.offset :], shape, strides)

    def reach(self, shape: Sequence[int]) -> tuple[int, int]:
        """Return the first and the last element that an array of a shape takes.

        >>> Layout(6, (-3, 1)).reach((3, 2))
        (0, 7)
        """
        reach = [(length - 1) * stride for length, stride in zip(shape, self.strides, strict=True)]
        return self.offset + sum(min(0, step) for step in reach), self.offset + sum(max(0, step) for step in reach)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides, in elements, of a C-contiguous array.

    >>> contiguous((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


class Origin(NamedTuple):
    """The origin of a step: the names of the graph's nodes, and the line of the user's code, if one is known."""

    nodes: tuple[str, ...] = ()
    place: SourceLocation | None = None

    def __add__(self, other: object) -> Origin:
        """Return the origin of a step that does the work of two."""
        assert isinstance(other, Origin)
        return Origin(tuple(dict.fromkeys(self.nodes + other.nodes)), self.place or other.place)


class _WeakReferable:
    """A base class for weak references: before Python 3.11, dataclasses with slots have none."""

    __slots__ = ("__weakref__",)


@dataclass(eq=False, slots=True)
class Array(_WeakReferable):
    """A value of a routine. Two are equal only if they are the same object.

    It is an output of its `step`, the one at `index`; inputs and constants have none, but constants a `value`, and
    inputs a `name` for messages. An input `is_parameter` if its values seldom change from call to call, see
    `parameter_hoisting`.
    """

    shape: tuple[int, ...]
    dtype: numpy.dtype
    step: Step | None = None
    index: int = 0
    value: numpy.ndarray | None = None
    name: str = ""
    is_parameter: bool = field(default=False, repr=False)

    def described(self) -> str:
        """Return a description for messages."""
        noun = self.name or (self.step.label() if self.step is not None else "an array")
        return f"{noun} ({self.dtype} {self.shape})"

    @property
    def is_constant(self) -> bool:
        """Whether its value is known."""
        return self.value is not None

    @property
    def is_number(self) -> bool:
        """Whether it is a constant without axes: it becomes part of the code."""
        return self.value is not None and not self.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def root(self) -> Array:
        """The array in whose memory it lies: itself, if it is no view."""
        return self.step.operands[0] if self.step is not None and self.step.view_layout is not None else self

    @property
    def layout(self) -> Layout:
        """Where it lies in the memory of its root."""
        view_layout = None if self.step is None else self.step.view_layout
        return Layout(0, contiguous(self.shape)) if view_layout is None else view_layout

    @property
    def is_view(self) -> bool:
        """Whether it has no memory of its own."""
        return self.step is not None and self.step.view_layout is not None

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other in the order of C, wherever they begin."""
        axes = zip(self.shape, self.layout.strides, contiguous(self.shape), strict=True)
        return all(length == 1 or stride == expected for length, stride, expected in axes)


def constant(value: Any, dtype: Any = None) -> Array:
    """Return an array whose value is known.

    >>> constant(0.5, numpy.float32)
    Array(shape=(), dtype=dtype('float32'), step=None, index=0, value=array(0.5, dtype=float32), name='')
    """
    array = numpy.array(value, dtype, order="C")
    return Array(array.shape, array.dtype, value=array)


def uniform_value(array: Array) -> Any:
    """Return the value that all elements of a constant have, as a scalar of NumPy; None if there is no such value.

    >>> float(uniform_value(constant([2.0, 2.0]))), uniform_value(constant([0.0, -0.0]))
    (2.0, None)
    """
    root = array.root
    if root.value is None or not root.size:
        return None
    if root not in _uniform_values:
        values = root.value.reshape(-1)
        # Bits are compared: zeros have signs, and NaN is not itself.
        bits = values.view(numpy.uint8).reshape(root.size, -1)
        _uniform_values[root] = None if (bits != bits[0]).any() else values[0]
    return _uniform_values[root]


_uniform_values: weakref.WeakKeyDictionary[Array, Any] = weakref.WeakKeyDictionary()


@dataclass(eq=False, slots=True)
class Step:
    """What gives one or several arrays. Make it by the class method `of` of its kind, which makes the outputs, too."""

    kind: ClassVar[str]

    operands: tuple[Array, ...]
    outputs: tuple[Array, ...] = field(init=False, default=())
    origin: Origin = field(kw_only=True, default=Origin())

    @property
    def view_layout(self) -> Layout | None:
        """Of views, the layout through which the memory of the only operand is read; None: the outputs have memory."""
        return None

    @property
    def output(self) -> Array:
        """The only output."""
        (output,) = self.outputs
        return output

    def _set_outputs(self, *facts: tuple[Sequence[int], Any]) -> None:
        self.outputs = tuple(
            Array(tuple(shape), numpy.dtype(dtype), self, index) for index, (shape, dtype) in enumerate(facts)
        )

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the outputs for arrays in place of the operands, by NumPy: the reference for kernels."""
        raise NotImplementedError

    def label(self) -> str:
        """Return what the step does, without its operands."""
        raise NotImplementedError
