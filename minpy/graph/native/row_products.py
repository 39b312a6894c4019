"""The product of one row by a large matrix: what a dense layer does with one example.

It takes as long as it takes to read the matrix, in as many threads as read it; BLAS's own threads would wait, running,
for the next product, and take the processor from the helper thread. Along whichever axis of the matrix lies
contiguously, vectors run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from minpy.graph.native.convolutions.emitter import METADATA, Emitter, Integer
from minpy.graph.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.graph.native.kernels.kernel import Kernel, Pointer
from minpy.graph.native.language import Product
from minpy.graph.native.machine import llvm
from minpy.graph.native.memory import Whereabouts

__all__ = ["covers_row", "row_kernel"]

# Rows of a matrix whose sums are taken together, and vectors of each in a step.
ROWS, VECTORS = 4, 2

# Vectors of columns that are done together: a kibibyte of each row of the matrix.
COLUMNS = 16


def covers_row(product: Product, places: Sequence[Whereabouts], result: Whereabouts) -> bool:
    """Tell whether a product is of one row by a matrix that lies along its rows or columns.

    Parameters
    ----------
    product : Product
    places : sequence of Whereabouts
        Of its operands.
    result : Whereabouts
        Of its output.
    """
    shape = product.operands[0].shape
    if math.prod(shape[:-1]) != 1 or not shape[-1] or result.layout.strides[-1] != 1:
        return False
    if product.output.dtype.name not in ("float32", "float64") or places[0].layout.strides[-1] != 1:
        return False
    down, right = places[1].layout.strides[-2:]
    adds = len(places) < 3 or places[2].layout.strides[-1] == 1
    return adds and (right == 1 <= down or down == 1 <= right)


def row_kernel(product: Product, places: Sequence[Whereabouts], result: Whereabouts) -> Kernel:
    """Return the kernel of such a product; see `covers_row`."""
    depth, columns = product.operands[0].shape[-1], product.output.shape[-1]
    itemsize = product.output.dtype.itemsize
    down, right = places[1].layout.strides[-2:]
    processor = Processor.of(llvm.features())
    element = "double" if itemsize == 8 else "float"
    adds = "%p2" if len(places) == 3 else ""
    target = f"%p{len(places)}"
    is_turned = down == 1 and (right != 1 or columns == 1)
    lanes = VectorsOfBatch.of(depth if is_turned else columns, processor.lanes(itemsize))
    code = Emitter(element, lanes.width)
    if is_turned:
        splits = _by_rows(code, depth, columns, right, adds, target)
    else:
        splits = _by_columns(code, lanes, depth, columns, down, adds, target)
    whereabouts = [*places, result]
    pointers = tuple(
        Pointer(where.owner, where.layout.offset, number == len(places)) for number, where in enumerate(whereabouts)
    )
    sizes = depth + depth * columns + columns * (2 if adds else 1)
    return Kernel(
        code.body(len(pointers)),
        pointers,
        metadata=METADATA,
        splits=splits,
        scratch=(len(whereabouts) + ROWS) * processor.vector_bytes,
        flops=2 * depth * columns,
        bytes_moved=sizes * itemsize,
        is_written=True,
        name="row_product",
    )


def _by_rows(code: Emitter, depth: int, columns: int, leading: int, adds: str, target: str) -> int:
    """Write sums of products along rows of the transposed matrix, some rows at a time; the last ones may overlap."""
    lanes, together = code.lanes, min(ROWS, columns)
    vectors = depth // lanes
    several = vectors // VECTORS
    units = -(-columns // together)

    def step(sums: list[str], pointer: str, at: Integer, number: int, known: int = 0) -> None:
        value = code.only(code.load("%p0", at), known)
        for row in range(together):
            other = code.only(code.load(pointer, code.add(at, row * leading)), known)
            sums[number * together + row] = code.add_product(sums[number * together + row], value, other)

    with code.loop("%begin", "%end") as unit:
        first = code.smaller(code.multiply(unit.index, together), columns - together)
        pointer = code.at("%p1", code.multiply(first, leading))
        sums = [code.zero] * (together * VECTORS)
        if several:
            with code.loop(0, several, sums) as some:
                start = code.multiply(some.index, VECTORS * lanes)
                for number in range(VECTORS):
                    step(some.values, pointer, code.add(start, number * lanes), number)
            sums = list(some.values)
        for number in range(several * VECTORS, vectors):
            step(sums, pointer, number * lanes, number % VECTORS)
        if depth % lanes:  # elements that the vector before had are zero
            step(sums, pointer, depth - lanes, 0, lanes - depth % lanes)
        totals = [
            code.arithmetic("fadd", sums[row], sums[together + row]) if several or vectors > 1 else sums[row]
            for row in range(together)
        ]
        added = code.sums(totals)
        for number, value in enumerate(added):
            code.store(value, "%scratch", number * lanes)
        for row in range(together):
            total = code.load_element("%scratch", row)
            if adds:
                before = code.load_element(adds, code.add(first, row))
                total = code.define(f"fadd {code.element} {before}, {total}")
            code.store_element(total, target, code.add(first, row))
    return units


def _by_columns(
    code: Emitter, lanes: VectorsOfBatch, depth: int, columns: int, leading: int, adds: str, target: str
) -> int:
    """Write sums of rows of the matrix, each times a number, for some vectors of columns at a time."""
    together = min(COLUMNS, lanes.count)
    units = -(-lanes.count // together)
    with code.loop("%begin", "%end") as unit:
        first = code.smaller(code.multiply(unit.index, together), lanes.count - together)
        starts = [lanes.start(code, code.add(first, number)) for number in range(together)]
        with code.loop(0, depth, [code.zero] * together) as k:
            number = code.broadcast("%p0", k.index)
            row = code.at("%p1", code.multiply(k.index, leading))
            k.values = [
                code.add_product(total, number, code.load(row, start))
                for total, start in zip(k.values, starts, strict=True)
            ]
        for start, total in zip(starts, k.values, strict=True):
            value = code.arithmetic("fadd", code.load(adds, start), total) if adds else total
            code.store(value, target, start)
    return units
