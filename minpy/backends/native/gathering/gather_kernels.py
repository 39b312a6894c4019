"""The kernels of gathers and scatters, as LLVM IR."""

from __future__ import annotations

import numpy

from minpy.backends.native.kernels.function_writer import Writer, literal, memory_type
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.language import Array

__all__ = ["gather_kernel", "scatter_kernel"]

# Two threads that add up rows have columns of their own, in blocks of so many: sums are taken in one order.
_COLUMNS = 64
# Of so many rows for each place, sums of single precision are collected in double, as other long sums are.
_WIDE_SUM_ROWS = 64


def _kernel(writer: Writer, arrays: list[Array], name: str, *, splits: int, scratch: int, flops: int) -> Kernel:
    pointers = []
    for array in arrays:
        assert array.is_contiguous, name
        pointers.append(Pointer(array.root, array.layout.offset, array is arrays[-1]))
    parameters = "".join(f"ptr noalias %p{number}, " for number in range(len(arrays)))
    return Kernel(
        writer.function(f"{parameters}ptr noalias %scratch, i64 %begin, i64 %end"),
        tuple(pointers),
        declares=frozenset(writer.required.values()),
        metadata=tuple(writer.metadata),
        splits=splits,
        scratch=scratch,
        flops=flops,
        bytes_moved=2 * arrays[-1].nbytes + sum(array.nbytes for array in arrays[1:-1]),
        name=name,
    )


def gather_kernel(data: Array, positions: Array, result: Array) -> Kernel:
    """Return the kernel that takes slices of data (before, length, after) by positions (count,) of int64, in range."""
    w = Writer()
    before, length, after = data.shape
    count = positions.size
    kind = memory_type(data.dtype)
    with w.loop(0, before) as outer:
        source, target = (
            ("%p0", "%p2")
            if before == 1
            else (
                w.offset("%p0", kind, w.put(f"mul i64 {outer}, {length * after}")),
                w.offset("%p2", kind, w.put(f"mul i64 {outer}, {count * after}")),
            )
        )
        loop_hint = w.hint(parallel=True) if after == 1 else ""
        with w.loop("%begin", "%end", hint=loop_hint) as number:
            w.marked = after == 1
            position = w.put(f"load i64, ptr {w.offset('%p1', 'i64', number)}{w.mark()}")
            w.marked = False
            if after != 1:
                source = w.offset(source, kind, w.put(f"mul i64 {position}, {after}"))
                target = w.offset(target, kind, w.put(f"mul i64 {number}, {after}"))
                with w.loop(0, after, hint=w.hint(parallel=True)) as inner, w.independent():
                    _copy_element(w, w.offset(source, kind, inner), w.offset(target, kind, inner), kind)
            else:
                with w.independent():
                    _copy_element(w, w.offset(source, kind, position), w.offset(target, kind, number), kind)
    return _kernel(w, [data, positions, result], "gather", splits=max(count, 1), scratch=0, flops=0)


def _copy_element(w: Writer, source: str, target: str, kind: str) -> None:
    w.do(f"store {kind} {w.put(f'load {kind}, ptr {source}{w.mark()}')}, ptr {target}{w.mark()}")


def scatter_kernel(data: Array, positions: Array, base: Array | None, result: Array, adds: bool) -> Kernel:
    """Return the kernel that adds up rows of data by positions, in their order, or puts them there.

    Data and positions have the shapes (count, width) and (count,), base and result (length, width): rows are placed in
    a copy of the base, or among zeros. Positions are of int64, in range.
    """
    w = Writer()
    (count, width), length, dtype = data.shape, result.shape[0], result.dtype
    is_wide = adds and dtype == numpy.dtype("float32") and count > _WIDE_SUM_ROWS * length
    blocks = width // _COLUMNS if not is_wide and width >= 2 * _COLUMNS else 1
    begin: int | str = 0
    end: int | str = width
    if blocks > 1:
        begin = w.put(f"mul i64 %begin, {_COLUMNS}")
        is_last = w.put(f"icmp eq i64 %end, {blocks}")
        end = w.put(f"select i1 {is_last}, i64 {width}, i64 {w.put(f'mul i64 %end, {_COLUMNS}')}")
    result_pointer = "%p2" if base is None else "%p3"
    sums, sum_dtype = ("%scratch", numpy.dtype("float64")) if is_wide else (result_pointer, dtype)
    _initialize(w, "" if base is None else "%p2", sums, dtype, sum_dtype, (0, length * width) if blocks == 1 else None)
    if blocks > 1:
        with w.loop(0, length) as row:
            _initialize(w, "" if base is None else "%p2", sums, dtype, sum_dtype, (begin, end), width, row)
    with w.loop(0, count) as number:
        position = w.put(f"load i64, ptr {w.offset('%p1', 'i64', number)}")
        source = w.offset("%p0", memory_type(dtype), w.put(f"mul i64 {number}, {width}"))
        target = w.offset(sums, memory_type(sum_dtype), w.put(f"mul i64 {position}, {width}"))
        with w.loop(begin, end, hint=w.hint(parallel=True)) as column, w.independent():
            value = _load(w, w.offset(source, memory_type(dtype), column), dtype, sum_dtype)
            place = w.offset(target, memory_type(sum_dtype), column)
            if adds:
                value = _add(w, _load(w, place, sum_dtype, sum_dtype), value, sum_dtype)
            w.do(f"store {memory_type(sum_dtype)} {value}, ptr {place}{w.mark()}")
    if is_wide:
        with w.loop(0, length * width, hint=w.hint(parallel=True)) as number, w.independent():
            value = _load(w, w.offset(sums, "double", number), sum_dtype, sum_dtype)
            rounded = w.put(f"fptrunc double {value} to float")
            w.do(f"store float {rounded}, ptr {w.offset(result_pointer, 'float', number)}{w.mark()}")
    arrays = [data, positions, *([] if base is None else [base]), result]
    scratch = 8 * length * width if is_wide else 0
    flops = data.size if adds else 0
    return _kernel(w, arrays, "scatter", splits=blocks, scratch=scratch, flops=flops)


def _initialize(
    w: Writer,
    base: str,
    sums: str,
    dtype: numpy.dtype,
    sum_dtype: numpy.dtype,
    bounds: tuple[int | str, int | str] | None,
    width: int = 0,
    row: str = "",
) -> None:
    """Write what stands there before anything is placed: zeros, or the base."""
    if bounds is None:
        return
    if row:
        start = w.put(f"mul i64 {row}, {width}")
        base = base and w.offset(base, memory_type(dtype), start)
        sums = w.offset(sums, memory_type(sum_dtype), start)
    with w.loop(*bounds, hint=w.hint(parallel=True)) as number, w.independent():
        zero = literal(0, sum_dtype) if sum_dtype.kind == "f" else "0"
        value = _load(w, w.offset(base, memory_type(dtype), number), dtype, sum_dtype) if base else zero
        w.do(f"store {memory_type(sum_dtype)} {value}, ptr {w.offset(sums, memory_type(sum_dtype), number)}{w.mark()}")


def _load(w: Writer, pointer: str, dtype: numpy.dtype, sum_dtype: numpy.dtype) -> str:
    value = w.put(f"load {memory_type(dtype)}, ptr {pointer}{w.mark()}")
    return value if dtype == sum_dtype else w.put(f"fpext float {value} to double")


def _add(w: Writer, first: str, second: str, dtype: numpy.dtype) -> str:
    if dtype.kind == "b":
        return w.put(f"or i8 {first}, {second}")
    return w.put(f"{'fadd' if dtype.kind == 'f' else 'add'} {memory_type(dtype)} {first}, {second}")
