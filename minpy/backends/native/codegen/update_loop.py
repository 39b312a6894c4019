"""The loop of an update around its kernel: a builtin that updates several weights (see `optimizer_updates`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from minpy.backends.native.codegen.builtin_writer import BuiltinWriter
from minpy.backends.native.runtime.address_table import ARRAY, DESK, NONE, SHARE, Table

__all__ = ["loop_text"]

_INTRINSICS = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def loop_text(
    task: str,
    pointers: Sequence[int | None],
    count: int,
    written: Sequence[int],
    dtype: numpy.dtype,
    unit: int,
    least_shared: int | None,
    table: Table,
) -> str:
    """Return the function of an array of rates, and of the arrays of each weight, which have one shape.

    `void task(ptr block, i64 begin, i64 end, i64 who)` runs the kernel over some units, of so many elements. `pointers`
    say which of a weight's arrays each pointer of the block is to, None for the rate, and `written` which of them are
    written to. The helper thread is called for `least_shared` units and more, if there is one.
    """
    code = BuiltinWriter(table)
    kind, itemsize = "double" if dtype.itemsize == 8 else "float", dtype.itemsize
    code.do(f"%block = alloca [{len(pointers) + 1} x ptr], align 64")
    code.do("%size = alloca i64")
    code.do(f"%pads = alloca [{count * unit} x {kind}], align 64")
    for key in (ARRAY, dtype, NONE, *(() if least_shared is None else (SHARE, DESK))):
        code.entry(key)  # here, as what is read in a loop is not known behind it
    rates = code.data(code.argument(0))
    rows = code.put(f"udiv i64 {code.put('sub i64 %n, 1')}, {count}")

    def weight(row: str) -> list[str]:
        """Return the arrays of a weight."""
        first = code.put(f"add i64 {code.put(f'mul i64 {row}, {count}')}, 1")
        start = code.address("%args", "ptr", first)
        return [code.put(f"load ptr, ptr {code.address(start, 'ptr', index)}") for index in range(count)]

    def size_of(instances: Sequence[str]) -> str:
        """Return the size of arrays, which have one shape, or do not fit."""
        axes, lengths = zip(*map(code.shape, instances), strict=True)
        code.go_on_if_all([code.put(f"icmp eq i64 {number}, {axes[0]}") for number in axes[1:]], "mismatch")
        code.do("store i64 1, ptr %size")
        with code.counted(0, axes[0]) as axis:
            places = [code.address(place, "i64", axis.counter) for place in lengths]
            length, *other_lengths = [code.put(f"load i64, ptr {place}") for place in places]
            code.go_on_if_all([code.put(f"icmp eq i64 {count}, {length}") for count in other_lengths], "mismatch")
            whole = code.put("load i64, ptr %size")
            code.do(f"store i64 {code.put(f'mul i64 {whole}, {length}')}, ptr %size")
        return code.put("load i64, ptr %size")

    def fill(arrays: Sequence[str], rate: str) -> None:
        """Write the pointers that the task takes into the block."""
        values = [rate if index is None else arrays[index] for index in pointers]
        for position, value in enumerate([*values, "null"]):
            code.do(f"store ptr {value}, ptr {code.address('%block', 'ptr', position)}")

    def copy(source: str, target: str, nbytes: str) -> None:
        code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)")

    with code.counted(0, rows, runs=True) as row:
        instances = weight(row.counter)
        for index, instance in enumerate(instances):
            code.check(instance, dtype, index in written)
        nbytes = code.put(f"mul i64 {size_of(instances)}, {itemsize}")
        code.check_no_alias([(code.data(instance), nbytes) for instance in instances], range(count))
    with code.unlocked(), code.counted(0, rows, runs=True) as row:
        instances = weight(row.counter)
        size = size_of(instances[:1])
        arrays = [code.data(instance) for instance in instances]
        rate = code.address(rates, kind, row.counter)
        units = code.put(f"udiv i64 {size}, {unit}")
        unshared, tail, end = (code.new_block() for _ in range(3))
        code.go_on_if(code.put(f"icmp ne i64 {units}, 0"), tail)
        fill(arrays, rate)
        if least_shared is not None:
            code.go_on_if(code.put(f"icmp uge i64 {units}, {least_shared}"), unshared)
            code.share(task, "%block", units)
            code.do(f"br label %{tail}")
        else:
            code.do(f"br label %{unshared}")
        code.begin(unshared)
        code.do(f"call void @{task}(ptr %block, i64 0, i64 {units}, i64 0)")
        code.do(f"br label %{tail}")
        code.begin(tail)
        done = code.put(f"mul i64 {units}, {unit}")
        tail_size = code.put(f"sub i64 {size}, {done}")
        code.go_on_if(code.put(f"icmp ne i64 {tail_size}, 0"), end)
        nbytes = code.put(f"mul i64 {tail_size}, {itemsize}")
        unused = code.put(f"sub i64 {unit * itemsize}, {nbytes}")
        tails = [code.address(array, kind, done) for array in arrays]
        pads = [code.address("%pads", kind, index * unit) for index in range(count)]
        for array_tail, pad in zip(tails, pads, strict=True):
            copy(array_tail, pad, nbytes)
            code.do(
                f"call void @llvm.memset.p0.i64(ptr {code.address(pad, kind, tail_size)}, i8 0, i64 {unused}, i1 false)"
            )
        fill(pads, rate)
        code.do(f"call void @{task}(ptr %block, i64 0, i64 1, i64 0)")
        for index in written:
            copy(pads[index], tails[index], nbytes)
        code.do(f"br label %{end}")
        code.begin(end)
    return _INTRINSICS + code.function("update")
