"""Products batched over time: those that an unrolled loop does step by step become one.

Recurrent networks multiply a few rows by the same matrix at every time step. Where the rows of all steps are known
before, or are only needed after, one product of all rows takes a fraction of the time: the matrix is read once. An
assembly stacks the rows, which are then computed in its memory.

Sums of such products over time, the gradients of the matrix, stay sums: one product of all steps is hardly faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.backends.native.language import Array, Assembly, Call, Layout, Product, Routine, Step, View
from minpy.backends.native.passes.product_accumulation import FEW_ROWS, LEAST_PRODUCTS
from minpy.backends.native.passes.rewriting import Notes
from minpy.backends.native.passes.topological_order import reordered

__all__ = ["batched"]


def batched(routine: Routine, notes: Notes) -> Routine:
    """Return a routine with products of few rows by one matrix done together."""
    if sum(isinstance(step, Product) for step in routine.steps) < LEAST_PRODUCTS:
        return routine
    position: dict[Array, int] = {}
    for part in routine.parts:
        for array in (*part.inputs, *(output for step in part.steps for output in step.outputs)):
            position[array] = len(position)
    replacements: dict[Array, Array] = {}
    assemblies: list[list[Array]] = [[] for _ in routine.parts]
    for number, group in _groups(routine):
        group.sort(key=lambda step: (position.get(step.operands[0].root, -1), step.operands[0].layout.offset))
        rows = _stacked([step.operands[0] for step in group])
        if isinstance(rows.step, Assembly):
            assemblies[number].append(rows)
        product = Product.of(rows, group[0].operands[1], origin=group[0].origin)
        height, width = group[0].output.shape
        for index, step in enumerate(group):
            layout = Layout(index * height * width, (width, 1))
            replacements[step.output] = View.of(product, (height, width), layout, origin=step.origin)
        notes.add("products by one matrix are one product", len(group))
    return reordered(routine, replacements, assemblies) if replacements else routine


def _groups(routine: Routine) -> list[tuple[int, list[Product]]]:
    """Return groups of products by one matrix that depend neither on each other nor on other such groups.

    Each group comes with the number of its part.
    """
    states = {target for part in routine.parts for target, _ in part.updates}
    by_matrix: dict[Any, list[Product]] = {}
    for number, part in enumerate(routine.parts):
        for step in part.steps:
            if isinstance(step, Product) and len(step.operands) == 2 and len(step.output.shape) == 2:
                first, second = step.operands
                if first.shape[0] <= FEW_ROWS and first.root not in states:
                    key = (number, second.root, second.layout, second.shape, first.shape)
                    by_matrix.setdefault(key, []).append(step)
    groups: list[tuple[int, list[Product]]] = []
    for (number, *_), members in by_matrix.items():
        if len(members) >= LEAST_PRODUCTS:
            members = _independent(routine.parts[number].steps, members, [group for _, group in groups])
            if len(members) >= LEAST_PRODUCTS:
                groups.append((number, members))
    return groups


def _independent(steps: Sequence[Step], members: list[Product], groups: Sequence[list[Product]]) -> list[Product]:
    """Return the members whose rows depend on no member, if other groups are batched, too."""
    group_of: dict[Step, int] = {step: index for index, group in enumerate(groups) for step in group}
    late: set[Step] = set(members)
    late_groups: set[int] = set()
    waiting: set[Step] = set()
    changed = True
    while changed:
        changed = False
        last_call_waits = False
        for step in steps:
            waits = any(operand.step in late or operand.step in waiting for operand in step.operands)
            if isinstance(step, Call):
                waits = last_call_waits = waits or last_call_waits
            group = group_of.get(step)
            if group is not None and waits and group not in late_groups:
                late_groups.add(group)
                changed = True
            if waits or group in late_groups:
                waiting.add(step)
    return [step for step in members if step not in waiting]


def _stacked(arrays: Sequence[Array]) -> Array:
    """Return an array in which others, of as many columns, are stacked."""
    first = arrays[0]
    columns = first.shape[1]
    height = sum(array.shape[0] for array in arrays)
    offset = first.layout.offset
    for array in arrays:
        if array.root is not first.root or array.layout != Layout(offset, first.layout.strides):
            break
        offset += array.shape[0] * first.layout.strides[0]
    else:
        return View.of(first.root, (height, columns), first.layout)
    layouts, offset = [], 0
    for array in arrays:
        layouts.append(Layout(offset, (columns, 1)))
        offset += array.size
    return Assembly.of(arrays, (height, columns), layouts)
