"""The loop of an update as a builtin of Python: one call makes the steps of any number of weights, in place.

It looks at all arrays before it writes to any: NumPy's own, of one dtype, contiguous, those of one weight of one shape,
and none in the memory of another. Loops run over whole units of elements; what is left of a weight is copied into
memory of a unit's length, and back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy

from minpy.backends.native.arguments import ALIGNED, C_CONTIGUOUS, WRITEABLE, offsets, usual
from minpy.backends.native.llvm_ir import FunctionWriter
from minpy.backends.native.machine import gil
from minpy.backends.native.machine.builtins import builtin
from minpy.backends.native.table import ARGUMENT_MISMATCH

__all__ = ["steps_builtin", "steps_text"]

# Into so many pieces a range is cut that two threads take in turn.
_PIECES = 8

# The entries of the table.
_NONE, _MISMATCH, _ARRAY, _DTYPE, _SAVE, _RESTORE, _SHARE, _DESK = range(8)


def steps_builtin(loaded: Any, dtype: numpy.dtype, share: int, desk: int) -> Callable[..., Any]:
    """Return the function of compiled code: of an array of rates, and then the arrays of each weight.

    It returns None; or ARGUMENT_MISMATCH, if arrays do not fit: then it has done nothing.

    Parameters
    ----------
    loaded : Loaded
        Of `steps_text`.
    dtype : numpy.dtype
    share, desk : int
        Of the helper thread; 0, if there is none.
    """
    table = numpy.zeros(8, numpy.intp)
    objects = {_NONE: None, _MISMATCH: ARGUMENT_MISMATCH, _ARRAY: numpy.ndarray, _DTYPE: usual(dtype)}
    for place, one in objects.items():
        table[place] = id(one)
    table[_SAVE], table[_RESTORE] = gil.addresses()
    table[_SHARE], table[_DESK] = share, desk
    return builtin(loaded.address("steps"), "steps", table, loaded, usual(dtype))


def steps_text(
    task: str, order: Sequence[int], count: int, moved: Sequence[int], dtype: numpy.dtype, unit: int, least_shared: int
) -> str:
    """Return the code around a loop.

    Parameters
    ----------
    task : str
        The name of `void task(ptr block, i64 begin, i64 end, i64 who)`, which runs it over some units.
    order : sequence of int
        Which array of a weight each pointer of the block is to: -1 for the rate.
    count : int
        How many arrays there are for a weight.
    moved : sequence of int
        The arrays that are written to.
    dtype : numpy.dtype
    unit : int
        Elements in a unit.
    least_shared : int
        For how many units the helper thread is called.
    """
    return _FITS.format(**_places()) + _Steps(task, order, count, moved, dtype, unit, least_shared).text()


def _places() -> dict[str, int]:
    at = offsets()
    return {"kind": at.kind, "axes": at.axes, "shape": at.shape, "dtype": at.dtype, "flags": at.flags}


class _Steps:
    def __init__(
        self,
        task: str,
        order: Sequence[int],
        count: int,
        moved: Sequence[int],
        dtype: numpy.dtype,
        unit: int,
        least_shared: int,
    ) -> None:
        self.task, self.order, self.count, self.moved = task, order, count, moved
        self.unit, self.least_shared = unit, least_shared
        self.itemsize = dtype.itemsize
        self.type = "double" if dtype.itemsize == 8 else "float"
        self.code = FunctionWriter()

    def text(self) -> str:
        """Return the functions."""
        code = self.code
        code.do(f"%block = alloca [{len(self.order) + 1} x ptr], align 64")
        code.do(f"%pads = alloca [{self.count * self.unit} x {self.type}], align 64")
        table = self._field("%self", offsets().data)
        entries = [code.put(f"load ptr, ptr {code.address(table, 'ptr', number)}") for number in range(8)]
        rates = self._field(code.put("load ptr, ptr %args"), offsets().data)
        rows = code.put(f"udiv i64 {code.put('sub i64 %n, 1')}, {self.count}")
        with code.counted(0, rows, runs=True) as row:
            self._look(row.counter, entries)
        state = code.put(f"call ptr {entries[_SAVE]}()")
        with code.counted(0, rows, runs=True) as row:
            self._step(row.counter, rates, entries)
        code.do(f"call void {entries[_RESTORE]}(ptr {state})")
        self._return(entries[_NONE])
        code.begin("mismatch")
        self._return(entries[_MISMATCH])
        # Without the attribute copies become calls of memcpy, of which nobody has given the address.
        head = 'define ptr @steps(ptr %self, ptr %args, i64 %n) nounwind "no-builtins"'
        return f"{head} {{\n{code.text()}\n}}\n"

    def _return(self, thing: str) -> None:
        if sys.version_info < (3, 12):  # later, None and its kind are not counted
            count = self.code.put(f"load i64, ptr {thing}")
            self.code.do(f"store i64 {self.code.put(f'add i64 {count}, 1')}, ptr {thing}")
        self.code.do(f"ret ptr {thing}")

    def _field(self, thing: str, offset: int, kind: str = "ptr") -> str:
        return self.code.put(
            f"load {kind}, ptr {self.code.address(thing, 'i8', offset)}, align {4 if kind == 'i32' else 8}"
        )

    def _things(self, row: str) -> list[str]:
        code = self.code
        first = code.put(f"add i64 {code.put(f'mul i64 {row}, {self.count}')}, 1")
        start = code.address("%args", "ptr", first)
        return [code.put(f"load ptr, ptr {code.address(start, 'ptr', number)}") for number in range(self.count)]

    def _size(self, weight: str) -> str:
        at = offsets()
        return self.code.put(
            f"call i64 @size(i32 {self._field(weight, at.axes, 'i32')}, ptr {self._field(weight, at.shape)})"
        )

    def _look(self, row: str, entries: Sequence[str]) -> None:
        """Go to `mismatch`, if the arrays of a weight are not what the loop takes."""
        code, at = self.code, offsets()
        things = self._things(row)
        self._require([code.put(f"icmp eq ptr {self._field(things[0], at.kind)}, {entries[_ARRAY]}")])
        axes, lengths = self._field(things[0], at.axes, "i32"), self._field(things[0], at.shape)
        tests = []
        for number, thing in enumerate(things):
            wanted = C_CONTIGUOUS | ALIGNED | (WRITEABLE if number in self.moved else 0)
            tests.append(
                code.put(
                    f"call i1 @fits(ptr {thing}, ptr {entries[_ARRAY]}, ptr {entries[_DTYPE]}, i32 {wanted}, "
                    f"i32 {axes}, ptr {lengths})"
                )
            )
        self._require(tests)
        nbytes = code.put(f"mul i64 {self._size(things[0])}, {self.itemsize}")
        starts = [code.put(f"ptrtoint ptr {self._field(thing, at.data)} to i64") for thing in things]
        ends = [code.put(f"add i64 {start}, {nbytes}") for start in starts]
        apart = []
        for one, other in combinations(range(self.count), 2):
            before = code.put(f"icmp ule i64 {ends[one]}, {starts[other]}")
            after = code.put(f"icmp ule i64 {ends[other]}, {starts[one]}")
            apart.append(code.put(f"or i1 {before}, {after}"))
        self._require(apart)

    def _require(self, tests: Sequence[str]) -> None:
        code = self.code
        found = tests[0]
        for test in tests[1:]:
            found = code.put(f"and i1 {found}, {test}")
        code.go_on_if(found, "mismatch")

    def _step(self, row: str, rates: str, entries: Sequence[str]) -> None:
        """Make the step of a weight: whole units where they lie, the rest in memory of its own."""
        code, at = self.code, offsets()
        things = self._things(row)
        size = self._size(things[0])
        arrays = [self._field(thing, at.data) for thing in things]
        rate = code.address(rates, self.type, row)
        units = code.put(f"udiv i64 {size}, {self.unit}")
        two, one, rest, end = (code.new_block() for _ in range(4))
        code.go_on_if(code.put(f"icmp ne i64 {units}, 0"), rest)
        self._fill(arrays, rate)
        is_long = code.put(f"icmp uge i64 {units}, {self.least_shared}")
        is_shared = code.put(f"and i1 {is_long}, {code.put(f'icmp ne ptr {entries[_SHARE]}, null')}")
        code.do(f"br i1 {is_shared}, label %{two}, label %{one}")
        code.begin(two)
        code.do(
            f"call void {entries[_SHARE]}(ptr {entries[_DESK]}, ptr @{self.task}, ptr %block, i64 0, i64 {units}, "
            f"i64 {_PIECES})"
        )
        code.do(f"br label %{rest}")
        code.begin(one)
        code.do(f"call void @{self.task}(ptr %block, i64 0, i64 {units}, i64 0)")
        code.do(f"br label %{rest}")
        code.begin(rest)
        done = code.put(f"mul i64 {units}, {self.unit}")
        left = code.put(f"sub i64 {size}, {done}")
        code.go_on_if(code.put(f"icmp ne i64 {left}, 0"), end)
        rests = [code.address(array, self.type, done) for array in arrays]
        pads = [code.address("%pads", self.type, place * self.unit) for place in range(self.count)]
        for array, pad in zip(rests, pads, strict=True):
            self._copy(array, pad, left)
            self._clear(pad, left)
        self._fill(pads, rate)
        code.do(f"call void @{self.task}(ptr %block, i64 0, i64 1, i64 0)")
        for place in self.moved:
            self._copy(pads[place], rests[place], left)
        code.do(f"br label %{end}")
        code.begin(end)

    def _fill(self, arrays: Sequence[str], rate: str) -> None:
        code = self.code
        for place, which in enumerate(self.order):
            pointer = rate if which < 0 else arrays[which]
            code.do(f"store ptr {pointer}, ptr {code.address('%block', 'ptr', place)}")
        code.do(f"store ptr null, ptr {code.address('%block', 'ptr', len(self.order))}")

    def _copy(self, source: str, target: str, count: str) -> None:
        code = self.code
        with code.counted(0, count, runs=True) as loop:
            value = code.put(
                f"load {self.type}, ptr {code.address(source, self.type, loop.counter)}, align {self.itemsize}"
            )
            code.do(
                f"store {self.type} {value}, ptr {code.address(target, self.type, loop.counter)}, align {self.itemsize}"
            )

    def _clear(self, pad: str, start: str) -> None:
        """Fill what is behind the rest: units are whole, and the rest is not a whole one."""
        code = self.code
        count = code.put(f"sub i64 {self.unit}, {start}")
        target = code.address(pad, self.type, start)
        with code.counted(0, count, runs=True) as loop:
            code.do(
                f"store {self.type} 0.0, ptr {code.address(target, self.type, loop.counter)}, align {self.itemsize}"
            )


_FITS = """
define internal i1 @fits(ptr %thing, ptr %kind, ptr %dtype, i32 %wanted, i32 %axes, ptr %lengths) nounwind {{
%kind.at = getelementptr i8, ptr %thing, i64 {kind}
%kind.own = load ptr, ptr %kind.at
%is.array = icmp eq ptr %kind.own, %kind
br i1 %is.array, label %array, label %no
array:
%flags.at = getelementptr i8, ptr %thing, i64 {flags}
%flags.own = load i32, ptr %flags.at, align 4
%flags = and i32 %flags.own, %wanted
%is.right = icmp eq i32 %flags, %wanted
%dtype.at = getelementptr i8, ptr %thing, i64 {dtype}
%dtype.own = load ptr, ptr %dtype.at
%is.alike = icmp eq ptr %dtype.own, %dtype
%axes.at = getelementptr i8, ptr %thing, i64 {axes}
%axes.own = load i32, ptr %axes.at, align 4
%is.deep = icmp eq i32 %axes.own, %axes
%both = and i1 %is.right, %is.alike
%all = and i1 %both, %is.deep
br i1 %all, label %same, label %no
same:
%shape.at = getelementptr i8, ptr %thing, i64 {shape}
%shape = load ptr, ptr %shape.at
%count = zext i32 %axes to i64
br label %loop
loop:
%axis = phi i64 [ 0, %same ], [ %next, %on ]
%is.end = icmp eq i64 %axis, %count
br i1 %is.end, label %yes, label %on
on:
%one.at = getelementptr i64, ptr %shape, i64 %axis
%one = load i64, ptr %one.at
%other.at = getelementptr i64, ptr %lengths, i64 %axis
%other = load i64, ptr %other.at
%next = add i64 %axis, 1
%is.equal = icmp eq i64 %one, %other
br i1 %is.equal, label %loop, label %no
yes:
ret i1 true
no:
ret i1 false
}}

define internal i64 @size(i32 %axes, ptr %lengths) nounwind {{
entry:
%count = zext i32 %axes to i64
br label %loop
loop:
%axis = phi i64 [ 0, %entry ], [ %next, %on ]
%size = phi i64 [ 1, %entry ], [ %product, %on ]
%is.end = icmp eq i64 %axis, %count
br i1 %is.end, label %end, label %on
on:
%at = getelementptr i64, ptr %lengths, i64 %axis
%length = load i64, ptr %at
%product = mul i64 %size, %length
%next = add i64 %axis, 1
br label %loop
end:
ret i64 %size
}}
"""
