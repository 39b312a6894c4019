"""Broadcasts, reshapes and transposes are moved behind what is computed of them.

Elementwise functions may be computed in any layout. Computed before they are broadcast, they are computed once; in the
order in which their operands lie in memory, nothing is copied, and layouts cancel; in the shape that their operands
were computed in, they fit into the same loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeGuard

from minpy.backends.native.language import (
    Array,
    Assembly,
    Elementwise,
    Layout,
    Part,
    Reduce,
    Routine,
    Step,
    View,
    broadcast,
    contiguous,
    viewed,
)
from minpy.backends.native.language.layout_algebra import expanded, order_of, permuted, restored, stripped
from minpy.backends.native.passes.rewriting import Notes, Rewriter, Rule, readers

__all__ = [
    "PREFERENCES",
    "broadcast_later",
    "computed_in_order",
    "reduced_as_it_lies",
    "reshaped_later",
    "strided_bytes",
    "transposed_later",
]


def broadcast_later(step: Step, rewriter: Rewriter) -> Array | None:
    """Return an elementwise function of broadcast arrays, computed before they are broadcast."""
    if not isinstance(step, Elementwise) or all(not operand.is_view for operand in step.operands):
        return None
    shape = step.output.shape
    strides = [expanded(operand, shape) for operand in step.operands]
    axes = [axis for axis, length in enumerate(shape) if length > 1 and not any(stride[axis] for stride in strides)]
    if not axes:
        return None
    operands = [_without_axes(operand, shape, axes) for operand in step.operands]
    rewriter.notes.add("what is broadcast is computed before")
    return broadcast(Elementwise.of(step.function, *operands, dtype=step.dtype, origin=step.origin), shape)


def _without_axes(operand: Array, shape: Sequence[int], uniform_axes: Sequence[int]) -> Array:
    lead = len(shape) - len(operand.shape)
    index = tuple(slice(0, 1) if axis + lead in uniform_axes else slice(None) for axis in range(len(operand.shape)))
    return viewed(operand, lambda values: values[index]) if operand.shape else operand


Preference = Callable[[int, bool], tuple[Any, Any]]

# Which of the orders in which the operands of a step lie is that in which it is computed: for the bytes of those that
# lie so, and whether it is the order of its axes, what is compared. What is best is only known in the end.
PREFERENCES: tuple[Preference, ...] = (
    lambda votes, natural: (votes, natural),
    lambda votes, natural: (votes, not natural),
)


def transposed_later(preference: Preference = PREFERENCES[0]) -> Rule:
    """Return a rule by which steps on transposed arrays are computed in memory order, and transposed after."""

    def rule(step: Step, rewriter: Rewriter) -> Array | None:
        # What was moved lies in its own order now; it is not moved back for operands that do not.
        return None if rewriter.is_made else _transposed(step, rewriter, preference)

    return rule


def _transposed(step: Step, rewriter: Rewriter, preference: Preference) -> Array | None:
    if isinstance(step, Reduce):
        return reduced_as_it_lies(step, rewriter)
    if isinstance(step, Assembly):
        return _assembled_in_memory_order(step, rewriter)
    if not isinstance(step, Elementwise):
        return None
    shape = step.output.shape
    votes: Counter[tuple[int, ...]] = Counter()
    natural = tuple(range(len(shape)))
    for operand in step.operands:
        order = order_of(operand, shape) if not operand.root.is_constant else None
        if order is not None:
            votes[order] += operand.dtype.itemsize
    if not votes:
        return None
    order = max(votes, key=lambda item: preference(votes[item], item == natural))
    if order == natural:
        return None
    rewriter.notes.add("transposes are moved behind elementwise functions")
    return computed_in_order(step, order)


def computed_in_order(step: Elementwise, order: Sequence[int]) -> Array:
    """Return the output of an elementwise step, computed with its axes in another order, and viewed in its own."""
    shape = step.output.shape
    operands = [permuted(operand, shape, order, step.origin) if operand.shape else operand for operand in step.operands]
    result = Elementwise.of(step.function, *operands, dtype=step.dtype, origin=step.origin)
    return restored(result, shape, order)


def _assembled_in_memory_order(step: Assembly, rewriter: Rewriter) -> Array | None:
    """Return an assembly of pieces that are all transposed alike, transposed after it."""
    orders = {order_of(operand, operand.shape) for operand in step.operands}
    if len(orders) != 1:
        return None
    (order,) = orders
    if order is None or order == tuple(range(len(order))) or len(order) != len(step.shape):
        return None
    shape = tuple(step.shape[axis] for axis in order)
    natural, lying = contiguous(step.shape), contiguous(shape)
    pieces = []
    for operand, piece in zip(step.operands, step.pieces, strict=True):
        remainder, offset, strides = piece.layout.offset, 0, []
        starts = []
        for axis_stride in natural:
            start, remainder = divmod(remainder, axis_stride)
            starts.append(start)
        for axis, axis_stride in zip(order, lying, strict=True):
            count, stride = operand.shape[axis], piece.layout.strides[axis]
            jump = stride // natural[axis] if count > 1 else 1
            if count > 1 and (stride % natural[axis] or starts[axis] + jump * (count - 1) >= step.shape[axis]):
                return None
            offset += starts[axis] * axis_stride
            strides.append(jump * axis_stride)
        pieces.append(Layout(offset, tuple(strides)))
    operands = [permuted(operand, operand.shape, order, step.origin) for operand in step.operands]
    rewriter.notes.add("transposes are moved behind assemblies")
    return restored(Assembly.of(operands, shape, pieces, step.fill, origin=step.origin), step.shape, order)


def reduced_as_it_lies(step: Reduce, rewriter: Rewriter) -> Array | None:
    """Return the reduction of a transposed array, computed in memory order, and transposed after."""
    operand = step.operands[0]
    order = order_of(operand, operand.shape)
    if order is None or order == tuple(range(len(order))) or (step.function.startswith("arg") and len(step.axes) != 1):
        return None
    moved = permuted(operand, operand.shape, order, step.origin)
    if moved.shape != tuple(operand.shape[axis] for axis in order):
        return None
    axes = [position for position, axis in enumerate(order) if axis in step.axes]
    rewriter.notes.add("transposes are moved behind reductions")
    return restored(Reduce.of(step.function, moved, axes, origin=step.origin), step.output.shape, order)


def reshaped_later(routine: Routine, notes: Notes) -> Routine:
    """Return a routine in which steps that are computed of each other's results have one shape, and reshape later.

    Of the shapes in which an array is seen, the finest is taken, that of most axes behind those of length 1 in front:
    reductions and broadcasts along axes of others are along some of its own.
    """
    finest = _finest(routine)
    if not any(stripped(shape) != stripped(array.shape) for array, shape in finest.items()) and not any(
        isinstance(step, Reduce) and _is_loop_reshaped(step.operands[0]) for step in routine.steps
    ):
        return routine

    def rule(step: Step, rewriter: Rewriter) -> Array | None:
        if isinstance(step, Reduce):
            return _reduced_in_shape(step, rewriter)
        if not isinstance(step, Elementwise):
            return None
        return _computed_in_shape(step, finest.get(rewriter.former(step.output), step.output.shape), rewriter)

    return Rewriter(routine, rule, notes).rebuilt()


def _finest(routine: Routine) -> dict[Array, tuple[int, ...]]:
    """Return the shapes in which elementwise steps are best computed: the finest ones of their neighbours."""
    readers_by_array = readers(routine)
    result: dict[Array, tuple[int, ...]] = {}
    for part in routine.parts:
        steps = [step for step in part.steps if _is_loop(step) and step.output.size > 1]
        own = {step.output for step in steps}
        result.update((step.output, step.output.shape) for step in steps)
        links: list[tuple[Array, Array | tuple[int, ...]]] = [
            (item, step.output) for step in steps for item in _sources(step, own)
        ]
        links += [(step.output, seen) for step in steps for seen in _shapes_read(step.output, readers_by_array)]
        for _ in range(ROUNDS):
            changed = False
            for first, second in (*links, *reversed(links)):
                changed |= _agree(result, first, second) | _agree(result, second, first)
            if not changed:
                break
    return result


# Rounds in which shapes are passed on from step to step, forward and back.
ROUNDS = 4


def _agree(
    shapes: dict[Array, tuple[int, ...]], array: Array | tuple[int, ...], neighbour: Array | tuple[int, ...]
) -> bool:
    """Let an array take the shape of another one, if that is finer."""
    if isinstance(array, tuple) or not isinstance(array.step, Elementwise):
        return False
    shape = neighbour if isinstance(neighbour, tuple) else shapes[neighbour]
    if len(stripped(shape)) <= len(stripped(shapes[array])):
        return False
    shapes[array] = shape
    return True


def _sources(step: Step, own: Collection[Array]) -> list[Array]:
    """Return the operands of an elementwise step that have its size and come from its part, in any shape."""
    if not isinstance(step, Elementwise):
        return []
    shape = step.output.shape
    roots = [
        operand.root
        for operand in step.operands
        if operand.shape == shape and operand.is_contiguous and operand.size == operand.root.size
    ]
    return [root for root in roots if root in own]


def _shapes_read(array: Array, readers_by_array: Mapping[Array, list[Step | Part]]) -> list[tuple[int, ...]]:
    """Return the shapes in which loops read an array."""
    views = [item.output for item in readers_by_array.get(array, ()) if isinstance(item, View)]
    whole = [view for view in views if view.size == array.size and view.is_contiguous]
    return [item.shape for item in whole if any(map(_is_loop, readers_by_array.get(item, ())))]


def _is_loop_reshaped(array: Array) -> bool:
    return array.is_view and isinstance(array.root.step, Elementwise | Reduce)


def _is_loop(reader: Step | Part) -> TypeGuard[Elementwise | Reduce]:
    return isinstance(reader, Elementwise | Reduce)


def _computed_in_shape(step: Elementwise, target: tuple[int, ...], rewriter: Rewriter) -> Array | None:
    """Return the output of an elementwise step, computed in another shape."""
    shape = step.output.shape
    if stripped(target) == stripped(shape):
        return None
    operands = []
    for operand in step.operands:
        try:
            operands.append(_reshaped(operand, shape, target))
        except ValueError:
            return None
    result = Elementwise.of(step.function, *operands, dtype=step.dtype, origin=step.origin)
    if result.shape != target:
        return None
    rewriter.notes.add("reshapes are moved behind elementwise functions")
    return viewed(result, lambda values: values.reshape(shape), step.origin)


def _reshaped(operand: Array, shape: tuple[int, ...], target: tuple[int, ...]) -> Array:
    """Return an operand for a step in another shape. Axes along which it is broadcast have length 1."""
    if not operand.shape:
        return operand
    result = viewed(broadcast(operand, shape), lambda values: values.reshape(target))
    uniform_axes = [axis for axis, stride in enumerate(expanded(result, target)) if stride == 0]
    return _without_axes(result, target, uniform_axes)


def _reduced_in_shape(step: Reduce, rewriter: Rewriter) -> Array | None:
    operand = step.operands[0]
    root = operand.root
    if not operand.is_view or root.size != operand.size or not operand.is_contiguous or not operand.size:
        return None
    if not isinstance(root.step, Elementwise | Reduce) or not rewriter.is_of_this_part(root):
        return None
    if step.function.startswith("arg") and len(step.axes) != len(operand.shape):
        return None
    axes = _axes_in(root.shape, operand.shape, step.axes)
    if axes is None or (step.function.startswith("arg") and len(axes) not in (1, len(root.shape))):
        return None
    rewriter.notes.add("reshapes are moved behind reductions")
    result = Reduce.of(step.function, root, axes, origin=step.origin)
    return viewed(result, lambda values: values.reshape(step.output.shape), step.origin)


def _axes_in(shape: Sequence[int], seen: Sequence[int], axes: Sequence[int]) -> list[int] | None:
    """Return the axes of a shape that hold the same elements as some axes of another shape of it.

    >>> _axes_in((2, 3, 4), (2, 12), (1,)), _axes_in((2, 12), (2, 3, 4), (2,))
    ([1, 2], None)
    """
    own_axes = [(length, axis) for axis, length in enumerate(shape) if length != 1]
    seen_axes = [(length, axis) for axis, length in enumerate(seen) if length != 1]
    result: list[int] = []
    while own_axes:
        group, seen_group = [own_axes.pop(0)], [seen_axes.pop(0)]
        size, seen_size = group[0][0], seen_group[0][0]
        while size != seen_size:
            if size < seen_size:
                group.append(own_axes.pop(0))
                size *= group[-1][0]
            else:
                seen_group.append(seen_axes.pop(0))
                seen_size *= seen_group[-1][0]
        reduced = {axis in axes for _, axis in seen_group}
        if len(reduced) != 1:
            return None
        if reduced == {True}:
            result.extend(axis for _, axis in group)
    return result


def strided_bytes(routine: Routine) -> int:
    """Return the bytes that elementwise and reduce steps read or write out of order: what transposing costs."""
    total = 0
    for step in routine.steps:
        if isinstance(step, Elementwise | Reduce):
            for operand in step.operands:
                if operand.is_view and operand.shape and operand.size * 2 > step.output.size:
                    lengths = [axis for axis, length in enumerate(operand.shape) if length != 1]
                    if lengths and operand.layout.strides[lengths[-1]] not in (0, 1):
                        total += operand.nbytes
    return total
