"""Which products become kernels of their own, and their kernels."""

from __future__ import annotations

from collections.abc import Sequence

from minpy.backends.native.blocked.blocking import Blocking, Matrices, blocking_of, in_bands
from minpy.backends.native.blocked.tiles import product_body, scratch_bytes
from minpy.backends.native.codegen.memory_layout import Allocation
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.convolutions.vector_writer import METADATA, PREFETCH
from minpy.backends.native.kernels.kernel import Kernel, Pointer, is_long
from minpy.backends.native.machine import llvm, numpy_blas

__all__ = ["blocked_kernel", "is_faster", "kernel_of_matrices"]

# About how many operations the kernels do in a second.
SPEED = 1e11

# A depth from which OpenBLAS, which takes it in blocks, is as fast.
DEEP = 2048

# Rows, columns and depth at least; products of numbers up to which OpenBLAS packs nothing; from which a kernel is
# faster where only the second matrix is transposed; from which it is in a stack larger than the second-level cache.
LEAST_SIDE, UNPACKED, LEAST_TRANSPOSED, LEAST_STACKED = 16, 10**6, 1 << 16, 1 << 17

# How many lanes are filled at least: of 17 columns, two vectors of 16 lanes are computed.
FILLED = 0.7


def is_faster(matrices: Matrices) -> bool:
    """Tell whether a product, or a stack of them, that is not small is faster as a kernel than by NumPy's BLAS.

    Up to 10**6 products of numbers OpenBLAS has kernels that pack nothing. Where only the second matrix is
    transposed, generated ones take 0.5 to 0.9 of their time; elsewhere 1.0 to 1.15 while all lies in the caches, and
    0.7 to 0.9 when it does not. Beyond, it packs both matrices, and generated kernels take 0.75 to 0.95 of its time.
    That is so with vectors of 64 bytes; with 32, it is faster than these kernels, and products are left to it, as they
    are where matrices fill vectors badly, and where NumPy's BLAS is another one. So are large ones if the BLAS runs in
    more threads than kernels do when a program is compiled.
    """
    library, processor = numpy_blas.find(), Processor.of(llvm.features())
    lanes = processor.lanes(matrices.itemsize)
    if processor.vector_bytes < 64 or min(matrices.rows, matrices.columns, matrices.depth) < LEAST_SIDE:
        return False
    if matrices.depth > DEEP or matrices.columns < FILLED * lanes * -(-matrices.columns // lanes):
        return False
    if library is not None and not library.is_openblas:
        return False
    if matrices.size > UNPACKED:
        return library is None or not library.has_more_threads
    if matrices.second[1] != 1 and matrices.first[1] == 1:
        return matrices.size >= LEAST_TRANSPOSED and matrices.rows >= 2 * LEAST_SIDE
    return matrices.count > 1 and matrices.size >= LEAST_STACKED and matrices.nbytes >= processor.second_cache


def blocked_kernel(matrices: Matrices, where: Sequence[Allocation]) -> Kernel:
    """Return the kernel of a product, or of a stack of them, of operands and a result that lie in some places."""
    matrices = in_bands(matrices)
    blocking = blocking_of(matrices, Processor.of(llvm.features()))
    is_shared = is_long(2 * matrices.count * matrices.size / SPEED)
    return kernel_of_matrices(matrices, blocking, where, is_shared)


def kernel_of_matrices(matrices: Matrices, blocking: Blocking, where: Sequence[Allocation], is_shared: bool) -> Kernel:
    """Return the kernel of a product with a blocking, of operands and a result; threads may do panels each."""
    last = len(where) - 1
    return Kernel(
        product_body(matrices, blocking, is_shared),
        tuple(Pointer(place.owner, place.layout.offset, number == last) for number, place in enumerate(where)),
        declares=PREFETCH,
        metadata=METADATA,
        in_place=frozenset([(3, 2)] if matrices.added is not None else ()),
        splits=matrices.count * blocking.panels if is_shared else 1,
        scratch=scratch_bytes(matrices, blocking),
        flops=2 * matrices.count * matrices.size,
        bytes_moved=matrices.nbytes,
        name="blocked_product",
        is_written=True,
    )
