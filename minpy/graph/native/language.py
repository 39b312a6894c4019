"""The step language: what a program computes on arrays of known shape and dtype, below operators.

Five kinds of step are enough.

========== =============================================== ==========================================================
kind       steps                                           what they are
========== =============================================== ==========================================================
elementwise `Elementwise`                                  a function of `functions.ELEMENTWISE` of every element
reduce     `Reduce`                                        a function of `functions.REDUCTIONS` along axes
view       `View`, `Assembly`                              no computing: what is read, or written, through layouts
product    `Product`                                       products of matrices, one or a stack of them
call       `Call`                                          a Python function; it may have a native form of its own
========== =============================================== ==========================================================

An `Array` is given once, by an input, a constant or a step, and never changes. All but views are C-contiguous in memory
of their own. A `Routine` is one or several parts, run one after the other: forward, then backward, which reads what
forward has left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy

from minpy.graph.native.functions import ELEMENTWISE, REDUCTIONS

if TYPE_CHECKING:
    from minpy.graph.ir import Node
    from minpy.graph.native.kernels.kernel import Kernel
    from minpy.graph.tracing.untraceable import Place

__all__ = [
    "Array",
    "Assembly",
    "Call",
    "Elementwise",
    "Layout",
    "NativeForm",
    "Origin",
    "Part",
    "Piece",
    "Product",
    "Reduce",
    "Routine",
    "Step",
    "View",
    "broadcast",
    "constant",
    "contiguous",
    "viewed",
]


class Layout(NamedTuple):
    """Where elements lie in the memory of a C-contiguous array: an offset, and a stride for each axis, in elements."""

    offset: int
    strides: tuple[int, ...]


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
    """What a step comes from: the names of the graph's nodes, and the line of the user's code, if one is known."""

    nodes: tuple[str, ...] = ()
    place: Place | None = None

    def __add__(self, other: object) -> Origin:
        """Return where a step comes from that does the work of two."""
        assert isinstance(other, Origin)
        return Origin(tuple(dict.fromkeys(self.nodes + other.nodes)), self.place or other.place)


class _Referenced:
    """What there can be weak references to: before Python 3.11, dataclasses with slots have no such one."""

    __slots__ = ("__weakref__",)


@dataclass(eq=False, slots=True)
class Array(_Referenced):
    """A value of a routine. Two are equal only if they are the same object.

    Attributes
    ----------
    shape, dtype
    step : Step or None
        What gives it; None for inputs and constants.
    index : int
        Which output of its step it is.
    value : numpy.ndarray or None
        Of constants.
    name : str
        Of inputs: what messages call it.
    is_parameter : bool
        Of inputs: whether it is one whose values seldom change from call to call, see `preparing`.
    """

    shape: tuple[int, ...]
    dtype: numpy.dtype
    step: Step | None = None
    index: int = 0
    value: numpy.ndarray | None = None
    name: str = ""
    is_parameter: bool = field(default=False, repr=False)

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
        return self.step.operands[0] if isinstance(self.step, View) else self

    @property
    def layout(self) -> Layout:
        """Where it lies in the memory of its root."""
        return self.step.layout if isinstance(self.step, View) else Layout(0, contiguous(self.shape))

    @property
    def is_view(self) -> bool:
        """Whether it has no memory of its own."""
        return isinstance(self.step, View)

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other in the order of C, wherever they begin."""
        found = zip(self.shape, self.layout.strides, contiguous(self.shape), strict=True)
        return all(length == 1 or stride == expected for length, stride, expected in found)


def constant(value: Any, dtype: Any = None) -> Array:
    """Return an array whose value is known.

    >>> constant(0.5, numpy.float32)
    Array(shape=(), dtype=dtype('float32'), step=None, index=0, value=array(0.5, dtype=float32), name='')
    """
    kept = numpy.array(value, dtype, order="C")
    return Array(kept.shape, kept.dtype, value=kept)


@dataclass(eq=False, slots=True)
class Step:
    """What gives one or several arrays. Make it by the class method `of` of its kind, which makes the outputs, too."""

    kind: ClassVar[str]

    operands: tuple[Array, ...]
    outputs: tuple[Array, ...] = field(init=False, default=())
    origin: Origin = field(kw_only=True, default=Origin())

    @property
    def output(self) -> Array:
        """The only output."""
        (output,) = self.outputs
        return output

    def _give(self, *facts: tuple[Sequence[int], Any]) -> None:
        self.outputs = tuple(
            Array(tuple(shape), numpy.dtype(dtype), self, index) for index, (shape, dtype) in enumerate(facts)
        )

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the outputs for arrays in place of the operands, by NumPy: what kernels are held against."""
        raise NotImplementedError

    def label(self) -> str:
        """Return what the step does, without its operands."""
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class Elementwise(Step):
    """A function of every element; operands broadcast. `dtype` is what a cast gives."""

    kind: ClassVar[str] = "elementwise"

    function: str
    dtype: Any = None

    def __post_init__(self) -> None:
        row = ELEMENTWISE[self.function]
        dtype = self.dtype if row.result == "given" else "bool" if row.result == "bool" else self.operands[-1].dtype
        self._give((numpy.broadcast_shapes(*(operand.shape for operand in self.operands)), dtype))

    @classmethod
    def of(cls, function: str, *operands: Array, dtype: Any = None, origin: Origin = Origin()) -> Array:  # noqa: B008
        """Return the array that a new step gives.

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
        self._give((shape, "int64" if self.function.startswith("arg") else operand.dtype))

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
            found = row.evaluate(operand, axis=axes)
        return (numpy.asarray(found, self.output.dtype).reshape(self.output.shape),)

    def label(self) -> str:
        """Return function and axes."""
        return f"{self.function} along {', '.join(map(str, self.axes))}"


@dataclass(eq=False, slots=True)
class View(Step):
    """The memory of another array, which is no view, read through a layout: any shape, offset and strides."""

    kind: ClassVar[str] = "view"

    shape: tuple[int, ...]
    layout: Layout

    def __post_init__(self) -> None:
        self._give((self.shape, self.operands[0].dtype))

    @classmethod
    def of(cls, root: Array, shape: Sequence[int], layout: Layout, *, origin: Origin = Origin()) -> Array:  # noqa: B008
        """Return a view of an array that is no view; the array itself, if that is what would be seen.

        See `viewed` for views of any array, made by a function of NumPy's.
        """
        assert not root.is_view
        if tuple(shape) == root.shape and layout == root.layout:
            return root
        return cls((root,), tuple(shape), layout, origin=origin).output

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the view."""
        flat = numpy.ascontiguousarray(operands[0]).reshape(-1)[self.layout.offset :]
        strides = tuple(stride * flat.itemsize for stride in self.layout.strides)
        return (numpy.lib.stride_tricks.as_strided(flat, self.shape, strides, writeable=False),)

    def label(self) -> str:
        """Return shape and layout."""
        return f"view {self.shape} at {self.layout.offset} by {self.layout.strides}"


class Piece(NamedTuple):
    """Where an operand of an `Assembly` is written to: as the elements of its shape lie in the memory of the output."""

    layout: Layout


@dataclass(eq=False, slots=True)
class Assembly(Step):
    """An array put together of pieces, written one after the other: a concatenation, a padded or a scattered slice.

    Operands are the pieces, in the order of `pieces`. Where none is written, it is `fill`; None says that all is
    written. A first piece that covers everything makes the others stores into a copy.
    """

    kind: ClassVar[str] = "view"

    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]
    fill: Any = None

    def __post_init__(self) -> None:
        self._give((self.shape, self.operands[0].dtype))

    @classmethod
    def of(
        cls,
        operands: Sequence[Array],
        shape: Sequence[int],
        layouts: Sequence[Layout],
        fill: Any = None,
        *,
        origin: Origin = Origin(),  # noqa: B008
    ) -> Array:
        """Return the array that a new step gives.

        >>> x = Array((2, 3), numpy.dtype("float32"))
        >>> Assembly.of([x], (4, 5), [Layout(6, (5, 1))], fill=0).shape  # padded by one on every side
        (4, 5)
        """
        return cls(tuple(operands), tuple(shape), tuple(map(Piece, layouts)), fill, origin=origin).output

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return a new array with the pieces in it."""
        result = numpy.empty(self.shape, self.output.dtype)
        if self.fill is not None:
            result.fill(self.fill)
        flat = result.reshape(-1)
        for operand, piece in zip(operands, self.pieces, strict=True):
            strides = tuple(stride * flat.itemsize for stride in piece.layout.strides)
            target = numpy.lib.stride_tricks.as_strided(flat[piece.layout.offset :], operand.shape, strides)
            target[...] = operand
        return (result,)

    def label(self) -> str:
        """Return how many pieces there are, and what is between."""
        between = "" if self.fill is None else f", else {self.fill}"
        return f"assembly of {len(self.pieces)}{between}"


@dataclass(eq=False, slots=True)
class Product(Step):
    """A product of matrices `a @ b` of float32 or float64: (..., m, k) by (..., k, n), the stack's axes the same.

    Operands may be views: transposed, or one matrix for the whole stack (strides of 0). With a third operand, of the
    output's shape, that is added: `c + a @ b`.
    """

    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        first, second = self.operands[:2]
        self._give(((*first.shape[:-1], second.shape[-1]), first.dtype))

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
            found = numpy.matmul(operands[0], operands[1])
            return (found if len(operands) == 2 else operands[2] + found,)

    def label(self) -> str:
        """Return which product it is."""
        return "product" if len(self.operands) == 2 else "product, added"


class NativeForm(Protocol):
    """How a call is done by native code: for operators that have generated kernels of their own."""

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernels that do it, one after the other.

        Their pointers are to operands and outputs of the call, or to arrays that it makes itself for what lies between.
        """
        ...

    def flops(self, call: Call) -> int:
        """Return how many operations on floats it takes."""
        ...

    def label(self) -> str:
        """Return what it is, for reports."""
        ...


@dataclass(eq=False, slots=True)
class Call(Step):
    """A call of a Python function of arrays, which gives an array, or a tuple of them.

    Attributes
    ----------
    function : callable or None
        Called with `arguments`, arrays in the operands' places. None: what `node` runs, in the frame that runs it.
    arguments : tuple
        Arrays, tuples of them, or any other object. The operands are the arrays in it, in order.
    facts : tuple of (shape, dtype)
        Of the outputs.
    reason : str
        Why it is a call: for reports.
    node : Node or None
        The node of the graph that it is a call of.
    form : NativeForm or None
    """

    kind: ClassVar[str] = "call"

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...]
    facts: tuple[tuple[tuple[int, ...], Any], ...]
    reason: str
    node: Node | None = None
    form: NativeForm | None = None

    def __post_init__(self) -> None:
        self._give(*self.facts)

    @classmethod
    def of(
        cls,
        function: Callable[..., Any] | None,
        arguments: Sequence[Any],
        facts: Sequence[tuple[Sequence[int], Any]],
        reason: str,
        node: Node | None = None,
        form: NativeForm | None = None,
        *,
        origin: Origin = Origin(),  # noqa: B008
    ) -> tuple[Array, ...]:
        """Return the arrays that a new step gives."""
        kept = tuple((tuple(shape), numpy.dtype(dtype)) for shape, dtype in facts)
        operands = tuple(arrays_of(arguments))
        return cls(operands, function, tuple(arguments), kept, reason, node, form, origin=origin).outputs

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return what the function gives, as a tuple of C-contiguous arrays."""
        assert self.function is not None
        given = iter(operands)
        found = self.function(*(filled(argument, given) for argument in self.arguments))
        return tuple(numpy.asarray(one, order="C") for one in (found if isinstance(found, tuple) else (found,)))

    def label(self) -> str:
        """Return the function's name."""
        if self.form is not None:
            return self.form.label()
        if self.node is not None:
            return f"call of {self.node.kind}"
        return f"call of {getattr(self.function, '__name__', type(self.function).__name__)}"


def arrays_of(arguments: Iterable[Any]) -> Iterator[Array]:
    """Yield the arrays in the arguments of a call, in order."""
    for argument in arguments:
        if isinstance(argument, Array):
            yield argument
        elif isinstance(argument, tuple):
            yield from arrays_of(argument)


def filled(argument: Any, operands: Iterator[Any]) -> Any:
    """Return an argument of a call with the next operands in the places of its arrays."""
    if isinstance(argument, Array):
        return next(operands)
    if isinstance(argument, tuple):
        return tuple(filled(one, operands) for one in argument)
    return argument


@dataclass(eq=False, slots=True)
class Part:
    """Some steps that run together: the forward or the backward part of a program.

    `inputs` are the arrays that its caller gives; a part may read what steps of earlier parts gave, and their inputs.
    `outputs` are what its caller gets. `updates` are inputs, and the arrays whose values they have in place of theirs
    once the part is done: states, such as moving averages. Steps always read the old values.
    """

    name: str
    inputs: list[Array]
    steps: list[Step]
    outputs: list[Array]
    updates: list[tuple[Array, Array]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Routine:
    """Parts that run one after the other."""

    parts: list[Part]

    @property
    def steps(self) -> list[Step]:
        """The steps of all parts."""
        return [step for part in self.parts for step in part.steps]

    def __str__(self) -> str:
        """Return the routine as text, a line a step.

        >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
        >>> y = Elementwise.of("exp", x)
        >>> z = Reduce.of("sum", y, (1,))
        >>> print(Routine([Part("forward", [x], [y.step, z.step], [z])]))
        forward(x: float32 (2, 3)):
            %0: float32 (2, 3) = exp(x)
            %1: float32 (2, 1) = sum along 1(%0)
            return %1
        """
        names: dict[Array, str] = {}
        number = 0
        lines = []
        for part in self.parts:
            for position, array in enumerate(part.inputs):
                names[array] = array.name or f"input{position}"
            given = ", ".join(f"{names[array]}: {array.dtype} {array.shape}" for array in part.inputs)
            lines.append(f"{part.name}({given}):")
            for step in part.steps:
                for output in step.outputs:
                    names[output] = f"%{number}"
                    number += 1
                outputs = ", ".join(f"{names[output]}: {output.dtype} {output.shape}" for output in step.outputs)
                operands = ", ".join(_shown(operand, names) for operand in step.operands)
                lines.append(f"    {outputs} = {step.label()}({operands})")
            for target, source in part.updates:
                lines.append(f"    {names[target]} := {_shown(source, names)}")
            lines.append(f"    return {', '.join(_shown(output, names) for output in part.outputs)}")
        return "\n".join(lines)


def _shown(array: Array, names: dict[Array, str]) -> str:
    if array in names:
        return names[array]
    if array.is_number:
        return repr(array.value[()].item())  # type: ignore[index]
    return f"constant {array.dtype} {array.shape}" if array.is_constant else "?"


def viewed(array: Array, function: Callable[[numpy.ndarray], numpy.ndarray], origin: Origin = Origin()) -> Array:  # noqa: B008
    """Return the view of an array that a function of NumPy's gives: `transpose`, a slice, a reshape that moves nothing.

    Raises
    ------
    ValueError
        If what the function gives is no view: the elements have to be copied first, in their order.

    Examples
    --------
    >>> x = Array((2, 3), numpy.dtype("float32"))
    >>> viewed(viewed(x, numpy.transpose), lambda a: a[1:]).layout
    Layout(offset=1, strides=(1, 3))
    """
    root, layout = array.root, array.layout
    # Memory of the root that takes no pages: only addresses are looked at.
    memory = numpy.empty(max(root.size, 1), numpy.int8)
    stand_in = numpy.lib.stride_tricks.as_strided(memory[layout.offset :], array.shape, layout.strides)
    found = function(stand_in)
    if found.size and not numpy.may_share_memory(found, memory):
        raise ValueError(f"{getattr(function, '__name__', 'the function')} of {array.shape} is no view")
    offset = found.__array_interface__["data"][0] - memory.__array_interface__["data"][0] if found.size else 0
    return View.of(root, found.shape, Layout(offset, found.strides), origin=origin)


def broadcast(array: Array, shape: Sequence[int]) -> Array:
    """Return a view of an array with another shape, by NumPy's rules for broadcasting.

    >>> broadcast(Array((3, 1), numpy.dtype("float32")), (2, 3, 4)).layout
    Layout(offset=0, strides=(0, 1, 0))
    """
    return viewed(array, lambda values: numpy.broadcast_to(values, tuple(shape)))
