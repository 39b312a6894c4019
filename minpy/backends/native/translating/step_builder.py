"""`Emitter`: makes the steps of a routine one after the other. What lowerings write with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Layout,
    Origin,
    Product,
    Reduce,
    Step,
    View,
    arrays_of,
    constant,
    contiguous,
    uniform_value,
)
from minpy.backends.native.language.function_table import ELEMENTWISE, REDUCTIONS
from minpy.backends.native.translating.promotion import Operand, converted, require_supported
from minpy.backends.native.translating.results import NotLowered

__all__ = ["Emitter"]

# Constants of so many elements are computed when a graph is translated; of more, only if that needs no further memory.
_FEW = 4096


class Emitter:
    """The steps so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.origin = Origin()  # what the next steps come from
        self._known: set[Step] = set()
        self._checks: dict[Any, Step] = {}

    def mark(self) -> int:
        """Return what `forget` takes to go back to here."""
        return len(self.steps)

    def forget(self, mark: int) -> None:
        """Drop the steps since a mark."""
        for step in self.steps[mark:]:
            self._known.discard(step)
        del self.steps[mark:]

    def _noted(self, array: Array) -> Array:
        step = array.step
        if step is not None and step not in self._known:
            self._known.add(step)
            self.steps.append(step)
        return array

    # -- elementwise -------------------------------------------------------------------------------------------------

    def elementwise(self, function: str, *operands: Array, dtype: Any = None) -> Array:
        """Return a function of every element; the operands have the dtypes that it takes."""
        row = ELEMENTWISE[function]
        require_supported(*(operand.dtype for operand in operands), *([] if dtype is None else [dtype]))
        if operands[-1].dtype.kind not in row.kinds:
            raise NotLowered(f"{function} of {operands[-1].dtype.name} is not computed natively")
        shape = numpy.broadcast_shapes(*(operand.shape for operand in operands))
        if 0 in shape or (
            all(operand.is_constant for operand in operands)
            and math.prod(shape) <= max(_FEW, *(operand.size for operand in operands))
        ):
            step = Elementwise(operands, function, dtype)
            if 0 in shape:
                return constant(numpy.empty(shape, step.output.dtype))
            return constant(step.evaluate(*(operand.value for operand in operands))[0])  # type: ignore[arg-type]
        return self._noted(Elementwise.of(function, *self._narrowed(operands, shape), dtype=dtype, origin=self.origin))

    @staticmethod
    def _narrowed(operands: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
        """Return operands with constants as numbers where all their elements are the same, and nobody needs the rest.

        Numbers become part of the code.
        """
        result = list(operands)
        for position, operand in enumerate(operands):
            if operand.is_constant and operand.shape:
                other_shapes = [item.shape for index, item in enumerate(result) if index != position]
                value = uniform_value(operand) if numpy.broadcast_shapes(*other_shapes) == shape else None
                if value is not None:
                    result[position] = constant(value)
        return result

    def cast(self, operand: Operand, dtype: Any) -> Array:
        """Return an operand, or a number of Python's, in a dtype."""
        dtype = numpy.dtype(dtype)
        if not isinstance(operand, Array):
            return converted(operand, dtype)
        if operand.dtype == dtype:
            return operand
        return self.elementwise("cast", operand, dtype=dtype)

    def copy(self, array: Array) -> Array:
        """Return an array with the same elements, C-contiguous in memory of its own."""
        if array.is_constant:
            return array
        require_supported(array.dtype)
        return self._noted(Elementwise.of("copy", array, origin=self.origin))

    # -- reduce ------------------------------------------------------------------------------------------------------

    def reduce(self, function: str, array: Array, axes: Iterable[int], keepdims: bool = True) -> Array:
        """Return a reduction in the array's own dtype."""
        row = REDUCTIONS[function]
        axes = tuple(sorted(axes))
        require_supported(array.dtype)
        if array.dtype.kind not in row.kinds:
            raise NotLowered(f"{function} of {array.dtype.name} is not computed natively")
        step = Reduce((array,), function, axes, origin=self.origin)
        if any(array.shape[axis] == 0 for axis in axes) or 0 in step.output.shape:
            if row.identity is None and 0 not in step.output.shape:
                raise NotLowered(f"the {function} of nothing")
            result = constant(numpy.full(step.output.shape, row.identity or 0, step.output.dtype))
        elif array.is_constant:
            result = constant(step.evaluate(array.value)[0])  # type: ignore[arg-type]
        elif not function.startswith("arg") and all(array.shape[axis] == 1 for axis in axes):
            begins_with_zero = function == "sum" and array.dtype.kind == "f" and axes
            result = self.elementwise("add", array, constant(0.0, array.dtype)) if begins_with_zero else array
        else:
            result = self._noted(step.output)
        if keepdims or not axes:
            return result
        return self.reshape(result, [length for axis, length in enumerate(array.shape) if axis not in axes])

    # -- views -------------------------------------------------------------------------------------------------------

    def views(self, array: Array, function: Callable[[numpy.ndarray], Any]) -> Any:
        """Return the view, or the list or tuple of views, of an array that a function of NumPy's gives.

        Where what it gives is a copy, because elements have to move, they are moved first.

        Raises NotLowered if it gives no view of what is contiguous, either.
        """
        if array.value is not None:
            result = function(array.value)
            parts = result if isinstance(result, (list, tuple)) else [result]
            if all(part.size <= max(_FEW, array.size) for part in parts):
                views = [constant(part) for part in parts]
                return type(result)(views) if parts is result else views[0]
        result = self._views(array, function)
        if result is None and array.is_view:
            result = self._views(self.copy(array), function)
        if result is None:
            raise NotLowered(f"{getattr(function, '__name__', 'the function')} moves elements in a way of its own")
        return result

    def _views(self, array: Array, function: Callable[[numpy.ndarray], Any]) -> Any:
        """Return the views that a function gives; None if it gives copies."""
        root, layout = array.root, array.layout
        # Memory of the root that takes no pages: only addresses are looked at.
        memory = numpy.empty(max(root.size, 1), numpy.int8)
        result = function(numpy.ndarray(array.shape, numpy.int8, memory, layout.offset, layout.strides))
        if isinstance(result, numpy.generic):  # of an array without axes
            return self.reshape(array, ())
        parts = result if isinstance(result, (list, tuple)) else [result]
        if not all(not part.size or numpy.may_share_memory(part, memory) for part in parts):
            return None
        views = [self._view(root, part, memory) for part in parts]
        return type(result)(views) if parts is result else views[0]

    def view(self, array: Array, function: Callable[[numpy.ndarray], Any]) -> Array:
        """Return the only view that a function gives: see `views`."""
        result: Array = self.views(array, function)
        return result

    def _view(self, root: Array, part: numpy.ndarray, memory: numpy.ndarray) -> Array:
        if not part.size:
            return constant(numpy.empty(part.shape, root.dtype))
        layout = _layout(part, memory)
        return self._noted(View.of(root, part.shape, layout, origin=self.origin))

    def reshape(self, array: Array, shape: Sequence[int]) -> Array:
        """Return an array in another shape; its elements are moved first, if they have to be."""
        if tuple(shape) == array.shape:
            return array
        return self.view(array, lambda values: values.reshape(tuple(shape)))

    def transpose(self, array: Array, order: Sequence[int]) -> Array:
        """Return a view with the axes in another order."""
        if tuple(order) == tuple(range(len(array.shape))):
            return array
        return self.view(array, lambda values: values.transpose(order))

    def broadcast(self, array: Array, shape: Sequence[int]) -> Array:
        """Return a view of an array with another shape, by NumPy's rules for broadcasting."""
        if tuple(shape) == array.shape:
            return array
        return self.view(array, lambda values: numpy.broadcast_to(values, tuple(shape)))

    def assembly(
        self,
        operands: Sequence[Array],
        shape: Sequence[int],
        places: Sequence[Callable[[numpy.ndarray], numpy.ndarray]],
        fill: Any = None,
    ) -> Array:
        """Return an array put together of operands of one dtype.

        `places`: from an array of that shape to the view of it where each operand goes, which is broadcast to the view.
        `fill`: what is elsewhere.
        """
        shape, dtype = tuple(shape), operands[0].dtype
        require_supported(dtype)
        if not math.prod(shape):
            return constant(numpy.empty(shape, dtype))
        memory = numpy.empty(math.prod(shape), numpy.int8)
        pieces: list[Array] = []
        layouts: list[Layout] = []
        for operand, place in zip(operands, places, strict=True):
            target = place(memory.reshape(shape))
            if isinstance(target, numpy.generic):  # a key without axes
                target = memory.reshape(())
            if target.size:
                pieces.append(self.broadcast(operand, target.shape))
                layouts.append(_layout(target, memory))
        if fill is not None:
            fill = numpy.array(fill).astype(dtype).item()
        if not pieces:
            return constant(numpy.full(shape, fill, dtype))
        array = Assembly.of(pieces, shape, layouts, fill, origin=self.origin)
        assert array.step is not None
        values = [piece.value for piece in pieces]
        if array.size <= max(_FEW, *(piece.size for piece in pieces)) and all(value is not None for value in values):
            return constant(array.step.evaluate(*values)[0])  # type: ignore[arg-type]
        return self._noted(array)

    # -- products and calls ------------------------------------------------------------------------------------------

    def product(self, first: Array, second: Array, added: Array | None = None) -> Array:
        """Return `first @ second`: stacks of matrices with the same leading axes; or that added to something."""
        if first.dtype.char not in "fd":
            raise NotLowered(f"products of {first.dtype.name} are no matrix products")
        return self._noted(Product.of(first, second, added, origin=self.origin))

    def call(
        self,
        function: Callable[..., Any] | None,
        arguments: Sequence[Any],
        facts: Sequence[tuple[Sequence[int], Any]],
        reason: str,
        node: Any = None,
    ) -> tuple[Array, ...]:
        """Return what a Python function gives: one array for each fact."""
        step = Call(tuple(arrays_of(arguments)), function, tuple(arguments), _facts(facts), reason, node)
        step.origin = self.origin
        self._known.add(step)
        self.steps.append(step)
        return step.outputs

    def check(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Array],
        facts: Sequence[tuple[Sequence[int], Any]],
        reason: str,
    ) -> tuple[Array, ...]:
        """Return what a Python function gives that looks at arrays, and does nothing else: of the same ones, once.

        Functions are the same if they are equal.
        """
        key = (function, *map(id, arguments))
        step = self._checks.get(key)
        if step is None or step not in self._known:
            outputs = self.call(function, tuple(arguments), facts, reason)
            assert outputs[0].step is not None
            step = self._checks[key] = outputs[0].step
        return step.outputs


def _facts(facts: Sequence[tuple[Sequence[int], Any]]) -> tuple[tuple[tuple[int, ...], Any], ...]:
    return tuple((tuple(shape), numpy.dtype(dtype)) for shape, dtype in facts)


def _layout(part: numpy.ndarray, memory: numpy.ndarray) -> Layout:
    """Return where a view lies in memory of one byte an element; strides of single elements are those of C's order."""
    offset = part.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    steps = zip(part.shape, part.strides, contiguous(part.shape), strict=True)
    return Layout(offset, tuple(expected if length == 1 else stride for length, stride, expected in steps))
