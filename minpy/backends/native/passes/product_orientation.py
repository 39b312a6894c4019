"""The orientation of products: `a @ b` is computed transposed, `b.T @ a.T`, where BLAS takes less time for that.

BLAS copies blocks of both matrices before it multiplies them. That of the second one is dearer, and dearer still if it
is read across its rows, as a dense layer reads its weight, `x @ weight.T`. Computed as `weight @ x.T`, the smaller
matrix is the second one. The result then lies with its features first, and should do so until the next product, which
takes either: a loop that reads some of its operands across their rows costs more than is saved. So all products and the
loops between them are oriented at once, forward and backward, by a cost model in nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from minpy.backends.native.codegen.matrix_products import is_small
from minpy.backends.native.language import Array, Elementwise, Product, Reduce, Routine, Step, View, viewed
from minpy.backends.native.language.layout_algebra import expanded, order_of, restored, reviewed
from minpy.backends.native.passes.layout_motion import computed_in_order, reduced_as_it_lies
from minpy.backends.native.passes.rewriting import Notes, Rewriter, multiplied_as_it_lies

__all__ = ["oriented", "packed"]

# What an element of a product's operands costs BLAS beyond the multiplications, in nanoseconds: if the first matrix is
# read across its rows; of the second matrix; if that is read across its rows. Fitted to OpenBLAS's sgemm for matrices
# of 10 to 1,024 rows and columns, and taken rather lower than they are.
FIRST_TURNED, SECOND, SECOND_TURNED = 0.06, 0.05, 0.25

# What an element costs that a loop reads across rows, and one that has to be copied into the order of its rows.
READ_TURNED, COPIED = 0.5, 0.7

# What has to be saved for anything to be done.
LEAST_SAVED = 4_000.0

IMPOSSIBLE = 1e12

# How often all arrays that could be turned are looked at, and how many at most around one product are turned in pairs.
ROUNDS = 8
MOST_IN_PAIRS = 200

_NATURAL, _TURNED = (0, 1), (1, 0)


def oriented(routine: Routine, notes: Notes) -> Routine:
    """Return a routine in which products, and the loops between them, are computed transposed where that is faster."""
    turned = _Orienting(routine).chosen()
    if not turned:
        return routine
    reductions = {
        step.output
        for step in routine.steps
        if isinstance(step, Reduce) and len(step.operands[0].shape) == 2 and step.operands[0].root in turned
    }

    def rule(step: Step, rewriter: Rewriter) -> Array | None:
        if rewriter.is_made or len(step.outputs) != 1:
            return None
        before = rewriter.former(step.outputs[0])
        if isinstance(step, Reduce):
            return reduced_as_it_lies(step, rewriter) if before in reductions else None
        if before not in turned:
            return None
        if isinstance(step, Elementwise):
            return computed_in_order(step, _TURNED)
        first, second, *added = (viewed(operand, lambda values: values.T, step.origin) for operand in step.operands)
        result = Product.of(second, first, *added, origin=step.origin)
        rewriter.notes.add("products are computed transposed")
        return restored(result, step.outputs[0].shape, _TURNED)

    return Rewriter(routine, rule, notes).rebuilt()


class _Operand(NamedTuple):
    """An operand as its root lies, and as if the root were transposed; None, if no strides give that view."""

    root: Array
    usual: Array
    turned: Array | None

    def now(self, turned: Collection[Array]) -> Array | None:
        return self.turned if self.root in turned else self.usual


# What a step costs in nanoseconds, when some arrays are transposed.
_Cost = Callable[[Collection[Array]], float]


class _Table(NamedTuple):
    """What a step costs for each set of its arrays: the first that is turned counts 1, the second 2, the third 4."""

    arrays: tuple[Array, ...]
    costs: tuple[float, ...]

    def cost(self, turned: Collection[Array]) -> float:
        return self.costs[sum(1 << place for place, array in enumerate(self.arrays) if array in turned)]


class _Orienting:
    """Chooses the arrays that are computed transposed.

    Each array of two axes that a product or an elementwise step gives lies in the order of its rows, or of its columns.
    What a step costs depends on how its operands lie, and its result.
    """

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.transposable = {step.outputs[0] for step in routine.steps if _can_be_turned(step)}
        self.tables: list[_Table] = []
        self.tables_of: dict[Array, list[int]] = {}

    def chosen(self) -> set[Array]:
        """Return the arrays that are to be computed transposed."""
        products = [step for step in self.routine.steps if isinstance(step, Product) and self._may_gain(step)]
        if not products:
            return set()
        moves = self._moves(products, _groups(self.routine, self.transposable))
        everything = frozenset().union(*moves)
        self.transposable = set(everything)
        for step in self.routine.steps:
            self._add_step(step)
        for part in self.routine.parts:
            for array in (*part.outputs, *(source for _, source in part.updates)):
                self._add([array.root], _copied(array.root))
        best: set[Array] = set()
        for start in (frozenset(), everything):
            result = self._improved(set(start), moves)
            if self.total(result) < self.total(best):
                best = result
        return best if self.total(best) < self.total(set()) - LEAST_SAVED else set()

    # What steps cost --------------------------------------------------------------------------------------------------

    def _add(self, arrays: Iterable[Array], cost: _Cost) -> None:
        free = tuple(dict.fromkeys(array for array in arrays if array in self.transposable))
        if free:
            costs = tuple(map(cost, _subsets(free)))
            if any(cost_of_set != costs[0] for cost_of_set in costs):
                for array in free:
                    self.tables_of.setdefault(array, []).append(len(self.tables))
                self.tables.append(_Table(free, costs))

    def _operand(self, array: Array) -> _Operand:
        root = array.root
        if root not in self.transposable:
            return _Operand(root, array, array)
        turned = restored(Array(root.shape[::-1], root.dtype), root.shape, _TURNED)
        return _Operand(root, array, reviewed(array.step, turned) if isinstance(array.step, View) else turned)

    def _add_step(self, step: Step) -> None:
        """Add what a step costs."""
        if isinstance(step, View):
            return
        if not any(
            array in self.transposable for array in (*(operand.root for operand in step.operands), *step.outputs)
        ):
            return
        if isinstance(step, Product):
            self._add([*(operand.root for operand in step.operands), step.output], self._product(step))
        elif isinstance(step, Elementwise):
            for operand in step.operands:
                if operand.size * 2 > step.output.size:
                    self._add([operand.root, step.output], _read(self._operand(operand), step.output))
        elif isinstance(step, Reduce):
            self._add([step.operands[0].root], _reduced(self._operand(step.operands[0]), step))
        else:
            for operand in step.operands:
                self._add([operand.root], _copied(operand.root))

    def _product(self, step: Product) -> _Cost:
        output = step.output
        first, second, *added = map(self._operand, step.operands)
        (rows, depth), columns = step.operands[0].shape[-2:], output.shape[-1]
        count = math.prod(output.shape[:-2])
        is_dear = not is_small(step) and min(rows, columns) > 1

        def cost(turned: Collection[Array]) -> float:
            result = 0.0
            across = []
            for seen in (first, second):
                matrix = seen.now(turned)
                if matrix is None or not multiplied_as_it_lies(matrix):
                    result += COPIED * seen.usual.size
                    matrix = None
                across.append(matrix is not None and matrix.layout.strides[-1] != 1)
            for seen in added:
                matrix = seen.now(turned)
                is_alike = matrix is not None and matrix.is_contiguous != (output in turned)
                result += IMPOSSIBLE * (not is_alike and (seen.root in turned or output in turned))
            if not is_dear:
                return result
            if output in turned:
                return result + count * packed(columns, depth, rows, not across[1], not across[0])
            return result + count * packed(rows, depth, columns, *across)

        return cost

    # Choosing ---------------------------------------------------------------------------------------------------------

    def _may_gain(self, step: Product) -> bool:
        """Tell whether a product would take less time if all arrays that can be transposed lay as it likes best."""
        free = tuple({array.root for array in (*step.operands, step.output)} & self.transposable)
        cost = self._product(step)
        return min(map(cost, _subsets(free))) < cost(()) - LEAST_SAVED / 2

    def _moves(self, products: Sequence[Product], groups: Mapping[Array, frozenset[Array]]) -> list[frozenset[Array]]:
        """Return the sets of arrays to transpose together: groups, pairs of them, and single arrays of products."""
        result: dict[frozenset[Array], None] = {}
        pairs: dict[frozenset[Array], None] = {}
        for step in products:
            free_arrays = [array.root for array in (step.output, *step.operands) if array.root in self.transposable]
            near_groups = list(dict.fromkeys(groups[array] for array in free_arrays))
            result.update((group, None) for group in near_groups)
            result.update((frozenset([array]), None) for array in free_arrays)
            if sum(map(len, near_groups)) <= MOST_IN_PAIRS:
                pairs.update((first | second, None) for first, second in combinations(near_groups, 2))
        return [*result, *pairs]

    def _improved(self, turned: set[Array], moves: Sequence[frozenset[Array]]) -> set[Array]:
        """Return a local optimum: the arrays that are transposed when no move makes it better any more."""
        touched = [{number for array in move for number in self.tables_of.get(array, ())} for move in moves]
        for _ in range(ROUNDS):
            is_better = False
            for move, numbers in zip(moves, touched, strict=True):
                changed = turned ^ move
                if self._sum(numbers, changed) < self._sum(numbers, turned) - 1:
                    turned, is_better = changed, True
            if not is_better:
                break
        return turned

    def _sum(self, numbers: Iterable[int], turned: Collection[Array]) -> float:
        return math.fsum(self.tables[number].cost(turned) for number in numbers)

    def total(self, turned: Collection[Array]) -> float:
        """Return what all steps cost when some arrays are transposed."""
        return self._sum(range(len(self.tables)), turned)


def _subsets(arrays: Sequence[Array]) -> Iterator[frozenset[Array]]:
    """Yield all sets of some arrays, in the order in which a `_Table` counts them."""
    for number in range(1 << len(arrays)):
        yield frozenset(array for place, array in enumerate(arrays) if number >> place & 1)


def _groups(routine: Routine, free: Collection[Array]) -> Mapping[Array, frozenset[Array]]:
    """Return the arrays that loops read and write together, for each of those that are free."""
    groups = {array: [array] for array in free}
    for step in routine.steps:
        if isinstance(step, Elementwise) and step.output in groups:
            for operand in step.operands:
                if operand.root in groups and operand.shape == step.output.shape:
                    first, second = groups[operand.root], groups[step.output]
                    if first is not second:
                        smaller, larger = sorted((first, second), key=len)
                        larger.extend(smaller)
                        groups.update(dict.fromkeys(smaller, larger))
    frozen: dict[int, frozenset[Array]] = {}
    for group in groups.values():
        if id(group) not in frozen:
            frozen[id(group)] = frozenset(group)
    return {array: frozen[id(group)] for array, group in groups.items()}


def _read(seen: _Operand, output: Array) -> _Cost:
    """Return the cost of reading an array for each element of another one."""
    natural = tuple(range(len(output.shape)))

    def order_now(array: Array | None) -> tuple[int, ...] | None:
        if array is seen.root:
            return natural if array.shape == output.shape else None
        return None if array is None else order_of(array, output.shape)

    usual, turned_over = order_now(seen.usual), order_now(seen.turned)

    def cost(turned: Collection[Array]) -> float:
        is_turned = seen.root in turned
        if is_turned and seen.turned is None:
            return COPIED * seen.root.size
        order = turned_over if is_turned else usual
        if order is None:
            return READ_TURNED * seen.usual.size * (is_turned or output in turned)
        return READ_TURNED * seen.usual.size * (order != (_TURNED if output in turned else natural))

    return cost


def _reduced(seen: _Operand, step: Reduce) -> _Cost:
    """Return the cost of reducing an array: reductions along rows are in registers, maybe in several phases."""

    def cost(turned: Collection[Array]) -> float:
        if seen.root not in turned:
            return 0.0
        array = seen.turned
        if array is None:
            return COPIED * seen.root.size
        if len(array.shape) == 2 and order_of(array, array.shape) is not None and step.axes != (1,):
            return 0.0
        return READ_TURNED * array.size

    return cost


def _copied(root: Array) -> _Cost:
    return lambda turned: COPIED * root.size if root in turned else 0.0


def packed(rows: int, depth: int, columns: int, is_first_turned: bool, is_second_turned: bool) -> float:
    """Return what BLAS takes for a product of matrices beyond its multiplications, in nanoseconds.

    >>> packed(128, 784, 512, False, True) > packed(512, 784, 128, False, True) > packed(128, 784, 512, True, False)
    True
    """
    first = FIRST_TURNED * is_first_turned
    second = SECOND + SECOND_TURNED * is_second_turned
    return depth * (rows * first + columns * second)


def _can_be_turned(step: Step) -> bool:
    """Tell whether a step gives an array of two axes that could be computed transposed."""
    if not isinstance(step, Elementwise | Product):
        return False
    shape = step.output.shape
    if len(shape) != 2 or min(shape) <= 1:
        return False
    if isinstance(step, Product):
        return all(map(multiplied_as_it_lies, step.operands[:2]))
    if step.function == "copy" and order_of(step.operands[0], shape) == _TURNED:
        return False  # it was copied to lie by rows
    # An axis along which nothing is read anew would have length 1.
    return all(any(expanded(operand, shape)[axis] for operand in step.operands) for axis in range(2))
