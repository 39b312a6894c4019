"""The product of one row by a large matrix that lies transposed: what a dense layer does with one example.

It takes as long as it takes to read the matrix, in as many threads as read it; BLAS's own threads would wait, running,
for the next product, and take the processor from the helper thread. AlexNet on one picture takes 1.05 times as long
without these kernels in one thread, and 1.9 times in two; VGG-11 in two 1.2 times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from minpy.backends.native.codegen.memory_layout import Allocation
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.vector_writer import METADATA, Emitter, Integer
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.language import Product
from minpy.backends.native.machine import llvm

__all__ = ["covers_row", "row_kernel"]

# Columns of a matrix whose sums are taken together, and vectors of each in a step.
COLUMNS, VECTORS = 4, 2


def covers_row(product: Product, places: Sequence[Allocation], result: Allocation) -> bool:
    """Tell whether a product is of one row by a matrix whose columns lie contiguously, one after the other."""
    shape = product.operands[0].shape
    if math.prod(shape[:-1]) != 1 or not shape[-1] or result.layout.strides[-1] != 1:
        return False
    if product.output.dtype.name not in ("float32", "float64") or places[0].layout.strides[-1] != 1:
        return False
    down, right = places[1].layout.strides[-2:]
    adds = len(places) < 3 or places[2].layout.strides[-1] == 1
    return adds and down == 1 <= right


def row_kernel(product: Product, places: Sequence[Allocation], result: Allocation) -> Kernel:
    """Return the kernel of such a product; see `covers_row`."""
    depth, columns = product.operands[0].shape[-1], product.output.shape[-1]
    itemsize = product.output.dtype.itemsize
    processor = Processor.of(llvm.features())
    width = VectorsOfBatch.of(depth, processor.lanes(itemsize)).width
    code = Emitter("double" if itemsize == 8 else "float", width)
    adds = "%p2" if len(places) == 3 else ""
    splits = _write_sums(code, depth, columns, places[1].layout.strides[-1], adds, f"%p{len(places)}")
    pointers = tuple(Pointer(place.owner, place.layout.offset, place is result) for place in (*places, result))
    sizes = depth + depth * columns + columns * (2 if adds else 1)
    return Kernel(
        code.body(len(pointers)),
        pointers,
        metadata=METADATA,
        splits=splits,
        scratch=COLUMNS * processor.vector_bytes,
        flops=2 * depth * columns,
        bytes_moved=sizes * itemsize,
        is_written=True,
        name="row_product",
    )


def _write_sums(code: Emitter, depth: int, columns: int, leading: int, adds: str, target: str) -> int:
    """Write sums of products along some columns at a time, and return how often; the last ones may overlap."""
    lanes, together = code.lanes, min(COLUMNS, columns)
    vectors = depth // lanes
    iterations = vectors // VECTORS
    units = -(-columns // together)

    def step(sums: list[str], pointer: str, at: Integer, number: int, before: int = 0) -> None:
        value = code.only(code.load("%p0", at), before)
        for row in range(together):
            weight = code.only(code.load(pointer, code.add(at, row * leading)), before)
            sums[number * together + row] = code.add_product(sums[number * together + row], value, weight)

    with code.loop("%begin", "%end") as unit:
        first = code.smaller(code.multiply(unit.index, together), columns - together)
        pointer = code.at("%p1", code.multiply(first, leading))
        sums = [code.zero] * (together * VECTORS)
        if iterations:
            with code.loop(0, iterations, sums) as steps:
                start = code.multiply(steps.index, VECTORS * lanes)
                for number in range(VECTORS):
                    step(steps.values, pointer, code.add(start, number * lanes), number)
            sums = list(steps.values)
        for number in range(iterations * VECTORS, vectors):
            step(sums, pointer, number * lanes, number % VECTORS)
        if depth % lanes:  # elements that the vector before had are zero
            step(sums, pointer, depth - lanes, 0, lanes - depth % lanes)
        totals = sums[:together]
        for number in range(1, min(VECTORS, vectors)):
            more = sums[number * together : (number + 1) * together]
            totals = [code.arithmetic("fadd", *pair) for pair in zip(totals, more, strict=True)]
        added = code.sums(totals)
        for number, value in enumerate(added):
            code.store(value, "%scratch", number * lanes)
        for row in range(together):
            total = code.load_element("%scratch", row)
            if adds:
                before = code.load_element(adds, code.add(first, row))
                total = code.put(f"fadd {code.element} {before}, {total}")
            code.store_element(total, target, code.add(first, row))
    return units
