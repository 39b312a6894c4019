"""Products batched over time: what a loop that was unrolled does step by step, and could do in one.

Recurrent networks multiply a few rows by the same matrix at every time step. Where the rows of all steps are known
before, or are only needed after, one product of all rows takes a fraction of the time: the matrix is read once.

- products of several arrays by one matrix, none of which needs what another one gives: one product of all rows;
- sums of products `a1.T @ b1 + a2.T @ b2`, the gradients of such a matrix: one product of all rows of both;
- sums of column sums of the same arrays, the gradients of a bias: one sum.

The arrays are put one below the other, in an assembly, in whose memory they are then computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Layout,
    Product,
    Reduce,
    Routine,
    Step,
    View,
    contiguous,
    viewed,
)
from minpy.backends.native.passes.ordering import reordered
from minpy.backends.native.passes.products import FEW_ROWS, LEAST_PRODUCTS
from minpy.backends.native.passes.rewriting import Notes, readers

__all__ = ["batched"]


def batched(routine: Routine, notes: Notes) -> Routine:
    """Return a routine with products of few rows done together."""
    if sum(isinstance(step, Product) for step in routine.steps) < LEAST_PRODUCTS:
        return routine
    batching = _Batching(routine, notes)
    batching.find_sums()
    batching.find_rows()
    batching.make_sums()
    batching.make_rows()
    batching.make_column_sums()
    if not batching.replacements:
        return routine
    return reordered(routine, batching.replacements, batching.made)


class _Batching:
    def __init__(self, routine: Routine, notes: Notes) -> None:
        self.routine = routine
        self.notes = notes
        self.readers = readers(routine)
        self.part_of: dict[Array, int] = {}
        self.position: dict[Array, int] = {}
        for number, part in enumerate(routine.parts):
            for array in part.inputs:
                self.part_of[array] = number
                self.position[array] = len(self.position)
            for step in part.steps:
                for output in step.outputs:
                    self.part_of[output] = number
                    self.position[output] = len(self.position)
        self.states = {target for part in routine.parts for target, _ in part.updates}
        self.replacements: dict[Array, Array] = {}
        self.made: list[list[Array]] = [[] for _ in routine.parts]
        # Sequences of arrays that lie one below the other, and the array that they make.
        self.stacks: list[tuple[list[Array], Array]] = []
        self.sums: list[tuple[Array, list[Array], list[Array]]] = []
        self.column_sums: list[tuple[Array, list[Array], list[Array]]] = []
        self.rows: list[list[Product]] = []
        self._register_assemblies()

    def _register_assemblies(self) -> None:
        # What callers get, they may write into: it is read by no later part in the place of what is not given.
        given = {array.root for part in self.routine.parts for array in part.outputs}
        for step in self.routine.steps:
            if not isinstance(step, Assembly) or step.fill is not None or step.output in given:
                continue
            offset = 0
            for operand, piece in zip(step.operands, step.pieces, strict=True):
                if (
                    piece.layout.offset != offset
                    or not _is_whole(operand)
                    or not _is_dense(operand.shape, piece.layout)
                ):
                    break
                offset += operand.size
            else:
                self.stacks.append(([operand.root for operand in step.operands], step.output))

    # Sums of products -------------------------------------------------------------------------------------------

    def find_sums(self) -> None:
        """Find sums of products of few rows, and sums of column sums."""
        inside: set[Array] = set()
        for step in reversed(self.routine.steps):
            if not _is_sum(step) or step.outputs[0] in inside:
                continue
            leaves = list(self._leaves(step, inside))
            chosen = [leaf for leaf in leaves if self._is_few_rows(leaf)]
            if len(chosen) >= LEAST_PRODUCTS:
                chosen.sort(key=self._earliest)
                self.sums.append((step.outputs[0], chosen, [leaf for leaf in leaves if leaf not in set(chosen)]))
                continue
            chosen = [leaf for leaf in leaves if self._is_column_sum(leaf)]
            if len(chosen) >= LEAST_PRODUCTS:
                chosen.sort(key=lambda leaf: self._place(_summed(leaf)))
                self.column_sums.append((step.outputs[0], chosen, [leaf for leaf in leaves if leaf not in set(chosen)]))

    def _leaves(self, step: Step, inside: set[Array]) -> Iterable[Array]:
        """Yield what is added up, through sums that nobody else reads."""
        part = self.part_of[step.outputs[0]]
        stack = list(reversed(step.operands))
        while stack:
            array = stack.pop()
            is_own = self.part_of.get(array) == part and len(self.readers[array]) == 1
            if is_own and array.shape == step.outputs[0].shape and array.step is not None and _is_sum(array.step):
                inside.add(array)
                stack.extend(reversed(array.step.operands))
            else:
                yield array

    def _is_few_rows(self, leaf: Array) -> bool:
        """Tell whether a leaf is a product of a transposed matrix of few rows that is read as it lies."""
        step = leaf.step
        if not isinstance(step, Product) or len(step.operands) != 2 or len(leaf.shape) != 2:
            return False
        if len(self.readers[leaf]) != 1 or step.operands[0].shape[1] > FEW_ROWS:
            return False
        return all(one.root not in self.states for one in step.operands)

    def _is_column_sum(self, leaf: Array) -> bool:
        root = leaf.root
        step = root.step
        if not isinstance(step, Reduce) or step.function != "sum" or step.axes != (0,):
            return False
        return leaf.size == root.size and leaf.is_contiguous and len(step.operands[0].shape) == 2

    def _place(self, array: Array) -> tuple[int, int]:
        return self.position.get(array.root, -1), array.layout.offset

    def _earliest(self, product: Array) -> tuple[int, int]:
        assert product.step is not None
        return min(map(self._place, product.step.operands))

    # Products of rows -------------------------------------------------------------------------------------------

    def find_rows(self) -> None:
        """Find products by one matrix that do not need each other's results, nor those of other such groups."""
        groups: dict[Any, list[Product]] = {}
        for number, part in enumerate(self.routine.parts):
            for step in part.steps:
                if isinstance(step, Product) and len(step.operands) == 2 and len(step.output.shape) == 2:
                    first, second = step.operands
                    if first.shape[0] <= FEW_ROWS and first.root not in self.states:
                        key = (number, second.root, second.layout, second.shape, first.shape)
                        groups.setdefault(key, []).append(step)
        inside = {leaf for _, chosen, _ in self.sums for leaf in chosen}
        for members in groups.values():
            chosen = [step for step in members if step.output not in inside]
            if len(chosen) >= LEAST_PRODUCTS:
                chosen = self._independent(chosen)
            if len(chosen) >= LEAST_PRODUCTS:
                self.rows.append(sorted(chosen, key=lambda step: self._place(step.operands[0])))

    def _independent(self, members: list[Product]) -> list[Product]:
        """Return those whose rows need nothing that one of them gives, if other groups are done at once, too."""
        number = self.part_of[members[0].output]
        group_of: dict[Step, int] = {step: index for index, group in enumerate(self.rows) for step in group}
        late: set[Step] = set(members)
        late_groups: set[int] = set()
        waiting: set[Step] = set()
        changed = True
        while changed:
            changed = False
            last_call_waits = False
            for step in self.routine.parts[number].steps:
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

    # Making them ------------------------------------------------------------------------------------------------

    def make_sums(self) -> None:
        """Put each sum of products together, the longest first: others may be parts of what those lie in."""
        found = []
        for total, leaves, others in self.sums:
            products = [leaf.step for leaf in leaves if isinstance(leaf.step, Product)]
            # What a loop begins with is not of its making: that product stays, and is added.
            made = products
            for index in range(2):
                if len({one.operands[index].root for one in products}) > 1:
                    made = [one for one in made if one.operands[index].root.step is not None]
            if len(made) >= LEAST_PRODUCTS:
                found.append((total, made, [*others, *(one.output for one in products if one not in made)]))
        for total, made, others in sorted(found, key=lambda one: -len(one[1])):
            rows = self._stacked([_rows_of(one.output) for one in made])
            below = self._stacked([one.operands[1] for one in made])
            product = Product.of(viewed(rows, lambda values: values.T), below, origin=made[0].origin)
            self.replacements[total] = _added([*others, product])
            self.notes.add("products summed over time are one product", len(made))

    def make_rows(self) -> None:
        """Do products by one matrix at once."""
        for group in self.rows:
            members = self._in_known_order(group, [step.operands[0] for step in group])
            rows = self._stacked([step.operands[0] for step in members])
            product = Product.of(rows, members[0].operands[1], origin=members[0].origin)
            height, width = members[0].output.shape
            for index, step in enumerate(members):
                layout = Layout(index * height * width, (width, 1))
                self.replacements[step.output] = View.of(product, (height, width), layout, origin=step.origin)
            self.notes.add("products by one matrix are one product", len(members))

    def make_column_sums(self) -> None:
        """Sum up columns at once, where the arrays lie one below the other anyway."""
        for total, leaves, others in self.column_sums:
            arrays = [_summed(leaf) for leaf in leaves]
            summed = self._in_known_order(arrays, arrays)
            found = self._known(summed) if all(map(_is_whole, summed)) else None
            if found is None:
                continue
            sums = Reduce.of("sum", found, (0,), origin=leaves[0].root.step.origin)  # type: ignore[union-attr]
            one = viewed(sums, lambda values, shape=total.shape: values.reshape(shape))  # type: ignore[misc]
            self.replacements[total] = _added([*others, one])
            self.notes.add("sums over time of column sums are one sum", len(leaves))

    def _in_known_order(self, items: Sequence[Any], arrays: Sequence[Array]) -> Sequence[Any]:
        """Return items, each with an array of it, in the order in which those lie one below the other already."""
        if not all(map(_is_whole, arrays)):
            return items
        for sequence, _ in self.stacks:
            index = {root: number for number, root in enumerate(sequence)}
            numbers = [index.get(array.root, -1) for array in arrays]
            if min(numbers) >= 0 and max(numbers) - min(numbers) == len(set(numbers)) - 1 == len(numbers) - 1:
                return [item for _, item in sorted(zip(numbers, items, strict=True), key=lambda pair: pair[0])]
        return items

    def _stacked(self, arrays: Sequence[Array]) -> Array:
        """Return an array in which others, of as many columns, lie one below the other."""
        first = arrays[0]
        columns = first.shape[1]
        height = sum(array.shape[0] for array in arrays)
        if all(array.root is first.root for array in arrays):
            offset = first.layout.offset
            for array in arrays:
                if array.layout != Layout(offset, first.layout.strides):
                    break
                offset += array.shape[0] * first.layout.strides[0]
            else:
                return View.of(first.root, (height, columns), first.layout)
        if all(map(_is_whole, arrays)):
            found = self._known(arrays)
            if found is not None:
                return found
        layouts, offset = [], 0
        for array in arrays:
            layouts.append(Layout(offset, (columns, 1)))
            offset += array.size
        whole = Assembly.of(arrays, (height, columns), layouts)
        self.stacks.append(([array.root for array in arrays], whole))
        part = max(self.part_of.get(array.root, 0) for array in arrays)
        self.made[part].append(whole)
        self.part_of[whole] = part
        return whole

    def _known(self, arrays: Sequence[Array]) -> Array | None:
        """Return arrays that lie one below the other already."""
        roots = [array.root for array in arrays]
        height, columns = sum(array.shape[0] for array in arrays), arrays[0].shape[1]
        for sequence, whole in self.stacks:
            if roots[0] not in sequence:
                continue
            start = sequence.index(roots[0])
            if sequence[start : start + len(roots)] == roots:
                offset = sum(root.size for root in sequence[:start])
                return View.of(whole, (height, columns), Layout(offset, contiguous((height, columns))))
        return None


def _is_sum(step: Step) -> bool:
    return isinstance(step, Elementwise) and step.function == "add" and all(one.shape for one in step.operands)


def _rows_of(product: Array) -> Array:
    """Return the first operand of `a.T @ b` as `a`."""
    step = product.step
    assert isinstance(step, Product)
    return viewed(step.operands[0], lambda values: values.T)


def _summed(leaf: Array) -> Array:
    step = leaf.root.step
    assert isinstance(step, Reduce)
    return step.operands[0]


def _is_whole(array: Array) -> bool:
    """Tell whether an array shows all of its root, in order; or rows of it, without a gap."""
    return array.is_contiguous and array.size == array.root.size


def _is_dense(shape: Sequence[int], layout: Layout) -> bool:
    found = zip(shape, layout.strides, contiguous(shape), strict=True)
    return all(length == 1 or stride == expected for length, stride, expected in found)


def _added(arrays: Sequence[Array]) -> Array:
    total = arrays[0]
    for array in arrays[1:]:
        total = Elementwise.of("add", total, array)
    return total
