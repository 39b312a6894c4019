"""Products: sums of them are taken where they are computed, and a matrix that is often read is turned once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from minpy.backends.native.language import Array, Elementwise, Product, Routine, Step
from minpy.backends.native.passes.rewriting import Notes, Rewriter

__all__ = ["accumulated", "turned_once"]

# Products with one transposed matrix for which it is copied, and how many rows they have at most: measured for (m, 200)
# by (200, 800). With more rows a product takes so long that its own way of turning blocks does not count.
LEAST_PRODUCTS = 4
FEW_ROWS = 64


def accumulated(step: Step, rewriter: Rewriter) -> Array | None:
    """Return `acc + a @ b` as one product, where nobody else reads the product and `acc`, whose memory it takes."""
    if not isinstance(step, Elementwise) or step.function != "add":
        return None
    for product, added in (step.operands[::-1], step.operands):
        before = product.step
        if not isinstance(before, Product) or len(before.operands) != 2:
            continue
        if not (product.shape == added.shape == step.output.shape) or product is added:
            continue
        if not all(rewriter.is_of_this_part(array.root) and rewriter.is_read_once(array) for array in (product, added)):
            continue
        rewriter.notes.add("acc + a @ b is one product")
        return Product.of(*before.operands, added, origin=before.origin + step.origin)
    return None


def turned_once(routine: Routine, notes: Notes) -> Routine:
    """Return a routine in which a transposed matrix that products of few rows read again and again is copied first."""
    uses: Counter[Any] = Counter()
    for number, part in enumerate(routine.parts):
        for step in part.steps:
            if isinstance(step, Product):
                uses[_turned(step, number)] += 1
    often = {key for key, times in uses.items() if key is not None and times >= LEAST_PRODUCTS}
    if not often:
        return routine

    def rule(step: Step, rewriter: Rewriter) -> Array | None:
        if not isinstance(step, Product) or _turned(step, rewriter.number) not in often:
            return None
        first, second, *added = step.operands
        rewriter.notes.add("a transposed matrix that many products read is turned once")
        return Product.of(first, Elementwise.of("copy", second), *added, origin=step.origin)

    return Rewriter(routine, rule, notes).rebuilt()


def _turned(product: Product, part: int) -> Any:
    """Return which matrix a product of few rows reads by columns; None, if it does not."""
    first, second = product.operands[:2]
    if len(second.shape) != 2 or first.shape[0] > FEW_ROWS:
        return None
    down, along = second.layout.strides
    rows, columns = second.shape
    if down != 1 or along < rows or columns == 1 or rows == 1:
        return None
    return (part, second.root, second.shape, second.layout)
