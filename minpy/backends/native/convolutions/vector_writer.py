"""A writer of LLVM IR: arithmetic of known numbers is done here, loops and branches carry their values along.

Integers are Python's as long as they are known, and names of i64 values otherwise. Vectors are names.
Addresses are pointers and distances in elements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from minpy.backends.native.codegen.function_writer import FunctionWriter, literal

__all__ = ["METADATA", "PREFETCH", "Emitter", "Integer", "Loop"]

Integer = int | str

# Loops are written as they are to run: what would be unrolled already is.
METADATA = ('distinct !{!#0, !{!"llvm.loop.unroll.disable"}, !{!"llvm.loop.vectorize.enable", i1 false}}',)

# What functions that call `prefetch` declare.
PREFETCH = frozenset(["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"])

# Products and sums may be rounded once, together, as those of a BLAS are.
CONTRACT = "contract"


@dataclass
class Loop:
    """A loop that is being written.

    Attributes
    ----------
    index : int or str
        Its variable.
    values : list of str
        The carried values: those before this pass, and what is put in their place is given to the next. After the loop,
        the last ones.
    """

    index: Integer
    values: list[str] = field(default_factory=list)


class Emitter(FunctionWriter):
    """The text of one function on floats of one kind, and on vectors of them.

    Parameters
    ----------
    element : {'float', 'double'}
    lanes : int
        Elements of a vector.

    Examples
    --------
    >>> code = Emitter("float", 4)
    >>> with code.loop(0, 2, [code.zero]) as loop:
    ...     x = code.load("%p0", code.multiply(loop.index, 4))
    ...     loop.values = [code.add_product(loop.values[0], x, x)]
    >>> code.store(loop.values[0], "%p1")
    >>> print(code.body(2))
    (ptr noalias %p0, ptr noalias %p1, ptr noalias %scratch, i64 %begin, i64 %end) nounwind optsize "no-builtins" {
    entry:
      br label %b1
    b1:
      %v1 = phi i64 [ 0, %entry ], [ %v8, %b1 ]
      %v2 = phi <4 x float> [ zeroinitializer, %entry ], [ %v7, %b1 ]
      %v3 = mul nsw i64 %v1, 4
      %v4 = getelementptr float, ptr %p0, i64 %v3
      %v5 = load <4 x float>, ptr %v4, align 4
      %v6 = fmul contract <4 x float> %v5, %v5
      %v7 = fadd contract <4 x float> %v2, %v6
      %v8 = add nsw i64 %v1, 1
      %v9 = icmp slt i64 %v8, 2
      br i1 %v9, label %b1, label %b2, !llvm.loop !#0
    b2:
      store <4 x float> %v7, ptr %p1, align 4
      ret void
    }
    """

    zero = "zeroinitializer"

    def __init__(self, element: str, lanes: int) -> None:
        super().__init__()
        self.element, self.lanes = element, lanes
        self.bytes = 8 if element == "double" else 4
        self.vector = f"<{lanes} x {element}>"

    def body(self, pointers: int, may_alias: Collection[int] = ()) -> str:
        """Return the parameters and the text of the function; some pointers may be to the same memory."""
        parameters = "".join(f"ptr{'' if n in may_alias else ' noalias'} %p{n}, " for n in range(pointers))
        # Without the last attribute copies become calls of memcpy, of which nobody has given the address. With the one
        # before, loops stay as they are written: as quick, and compiled in half the time.
        head = f'({parameters}ptr noalias %scratch, i64 %begin, i64 %end) nounwind optsize "no-builtins"'
        return f"{head} {{\n{self.text()}\n  ret void\n}}"

    # -- integers ------------------------------------------------------------------------------------------------------

    def add(self, *terms: Integer) -> Integer:
        """Return the sum of integers, which may be negative."""
        constant = sum(term for term in terms if isinstance(term, int))
        result: Integer | None = None
        for term in terms:
            if isinstance(term, str):
                result = term if result is None else self.put(f"add nsw i64 {result}, {term}")
        if result is None:
            return constant
        return self.put(f"add nsw i64 {result}, {constant}") if constant else result

    def subtract(self, first: Integer, second: Integer) -> Integer:
        """Return a difference."""
        if isinstance(second, int):
            return self.add(first, -second)
        return self.put(f"sub nsw i64 {first}, {second}")

    def multiply(self, first: Integer, second: Integer) -> Integer:
        """Return a product."""
        if isinstance(first, int) and isinstance(second, int):
            return first * second
        if 0 in (first, second):
            return 0
        if 1 in (first, second):
            return second if first == 1 else first
        if isinstance(first, int):
            first, second = second, first
        return self.put(f"mul nsw i64 {first}, {second}")

    def quotient(self, first: Integer, divisor: int) -> Integer:
        """Return how often a divisor fits into a number that is not negative."""
        if isinstance(first, int):
            return first // divisor
        return first if divisor == 1 else self.put(f"udiv i64 {first}, {divisor}")

    def remainder(self, first: Integer, divisor: int) -> Integer:
        """Return what is left of a number that is not negative."""
        if isinstance(first, int):
            return first % divisor
        return 0 if divisor == 1 else self.put(f"urem i64 {first}, {divisor}")

    def smaller(self, first: Integer, second: Integer) -> Integer:
        """Return the smaller of two integers."""
        return self._extreme(first, second, "slt", min)

    def larger(self, first: Integer, second: Integer) -> Integer:
        """Return the larger of two integers."""
        return self._extreme(first, second, "sgt", max)

    def _extreme(self, first: Integer, second: Integer, order: str, of_constants: Callable[[int, int], int]) -> Integer:
        if isinstance(first, int) and isinstance(second, int):
            return of_constants(first, second)
        condition = self.put(f"icmp {order} i64 {first}, {second}")
        return self.put(f"select i1 {condition}, i64 {first}, i64 {second}")

    def compare(self, order: str, first: Integer, second: Integer) -> str:
        """Return the condition of a comparison: 'eq', 'ne', 'slt', 'sle', 'sgt' or 'sge'."""
        return self.put(f"icmp {order} i64 {first}, {second}")

    def both(self, first: str, second: str) -> str:
        """Return whether two conditions hold."""
        return self.put(f"and i1 {first}, {second}")

    def within(self, index: Integer, length: int) -> str:
        """Return whether there is such an element among so many."""
        return self.both(self.compare("sge", index, 0), self.compare("slt", index, length))

    def choose(self, index: Integer, numbers: Sequence[int]) -> Integer:
        """Return one of several known numbers."""
        if isinstance(index, int):
            return numbers[index]
        if len(set(numbers)) == 1:
            return numbers[0]
        result: Integer = numbers[-1]
        for position in range(len(numbers) - 2, -1, -1):
            condition = self.compare("eq", index, position)
            result = self.put(f"select i1 {condition}, i64 {numbers[position]}, i64 {result}")
        return result

    # -- memory --------------------------------------------------------------------------------------------------------

    def at(self, pointer: str, *distances: Integer) -> str:
        """Return a pointer some elements further on."""
        distance = self.add(*distances)
        if distance == 0:
            return pointer
        return self.put(f"getelementptr {self.element}, ptr {pointer}, i64 {distance}")

    def either_pointer(self, condition: str, first: str, second: str) -> str:
        """Return the first pointer where a condition holds, else the second."""
        return self.put(f"select i1 {condition}, ptr {first}, ptr {second}")

    def load(self, pointer: str, distance: Integer = 0) -> str:
        """Return a vector of consecutive elements."""
        return self.put(f"load {self.vector}, ptr {self.at(pointer, distance)}, align {self.bytes}")

    def load_element(self, pointer: str, distance: Integer = 0) -> str:
        """Return one element."""
        return self.put(f"load {self.element}, ptr {self.at(pointer, distance)}, align {self.bytes}")

    def store(self, value: str, pointer: str, distance: Integer = 0) -> None:
        """Write a vector of consecutive elements."""
        self.do(f"store {self.vector} {value}, ptr {self.at(pointer, distance)}, align {self.bytes}")

    def store_element(self, value: str, pointer: str, distance: Integer = 0) -> None:
        """Write one element."""
        self.do(f"store {self.element} {value}, ptr {self.at(pointer, distance)}, align {self.bytes}")

    def prefetch(self, pointer: str, distance: Integer, locality: int = 3, write: bool = False) -> None:
        """Have what lies some elements further on fetched, if there is such memory; locality 3 is the nearest cache."""
        place = self.at(pointer, distance)
        self.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 {int(write)}, i32 {locality}, i32 1)")

    def copy(self, target: str, source: str, count: int) -> None:
        """Copy `count` elements, at least a vector's: the last vector may overlap the one before."""
        whole = count // self.lanes
        together = next(number for number in (4, 2, 1) if whole >= number)
        with self.loop(0, whole // together) as loop:
            start = self.multiply(loop.index, together * self.lanes)
            values = [self.load(source, self.add(start, number * self.lanes)) for number in range(together)]
            for number, value in enumerate(values):
                self.store(value, target, self.add(start, number * self.lanes))
        done = whole // together * together
        starts = [number * self.lanes for number in range(done, whole)]
        if count % self.lanes:
            starts.append(count - self.lanes)
        for start in starts:
            self.store(self.load(source, start), target, start)

    # -- vectors -------------------------------------------------------------------------------------------------------

    def gathered(self, pointer: str, distances: Sequence[int]) -> str:
        """Return a vector of elements here and there."""
        value = "poison"
        for lane, distance in enumerate(distances):
            number = self.load_element(pointer, distance)
            value = self.put(f"insertelement {self.vector} {value}, {self.element} {number}, i64 {lane}")
        return value

    def splat(self, value: str) -> str:
        """Return a vector of one element's value."""
        first = self.put(f"insertelement {self.vector} poison, {self.element} {value}, i64 0")
        return self.put(f"shufflevector {self.vector} {first}, {self.vector} poison, <{self.lanes} x i32> {self.zero}")

    def broadcast(self, pointer: str, distance: Integer = 0) -> str:
        """Return a vector of one element in memory."""
        return self.splat(self.load_element(pointer, distance))

    def number(self, value: float) -> str:
        """Return a vector of a known number."""
        return f"splat ({self.element} {literal(self.element, value)})"

    def arithmetic(self, operation: str, first: str, second: str) -> str:
        """Return 'fadd', 'fsub', 'fmul' or 'fdiv' of two vectors."""
        return self.put(f"{operation} {CONTRACT} {self.vector} {first}, {second}")

    def add_product(self, total: str, first: str, second: str) -> str:
        """Return `total + first * second`, rounded once if the CPU can."""
        return self.arithmetic("fadd", total, self.arithmetic("fmul", first, second))

    def where(self, condition: str, first: str, second: str) -> str:
        """Return a vector with the elements of two, after a vector of conditions."""
        return self.put(f"select <{self.lanes} x i1> {condition}, {self.vector} {first}, {self.vector} {second}")

    def shuffle(self, first: str, second: str, places: Sequence[int]) -> str:
        """Return the elements of two vectors at some places."""
        chosen = ", ".join(f"i32 {place}" for place in places)
        return self.put(
            f"shufflevector {self.vector} {first}, {self.vector} {second}, <{len(places)} x i32> <{chosen}>"
        )

    def only(self, value: str, first: int) -> str:
        """Return a vector whose elements before `first` are zero."""
        if first == 0:
            return value
        chosen = ", ".join("i1 true" if lane >= first else "i1 false" for lane in range(self.lanes))
        return self.where(f"<{chosen}>", value, self.zero)

    def sums(self, values: Sequence[str]) -> list[str]:
        """Return the sums over the lanes of several vectors: one after the other in as few vectors as hold them.

        Pairs of lanes of two vectors become one vector, until a lane is a sum.
        """
        vectors = list(values)
        even = [2 * number for number in range(self.lanes)]
        odd = [2 * number + 1 for number in range(self.lanes)]
        for _ in range(self.lanes.bit_length() - 1):
            if len(vectors) % 2:
                vectors.append(self.zero)
            vectors = [
                self.arithmetic("fadd", self.shuffle(*pair, even), self.shuffle(*pair, odd))
                for pair in zip(vectors[::2], vectors[1::2], strict=True)
            ]
        return vectors

    # -- loops and branches --------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, begin: Integer, end: Integer, values: Sequence[str] = (), kind: str | None = None) -> Iterator[Loop]:
        """Write what is inside as a loop over [begin, end), with values carried from one pass to the next.

        Parameters
        ----------
        begin, end : int or str
        values : sequence of str
            What is carried before the first pass.
        kind : str, optional
            The type of the carried values; vectors, if it is left out.
        """
        if isinstance(begin, int) and isinstance(end, int) and end == begin + 1:
            loop = Loop(begin, list(values))
            yield loop
            return
        runs = isinstance(begin, int) and isinstance(end, int) and end > begin
        kind = kind or self.vector
        before, first = self.block, self.new_block()
        head = len(self.lines)
        if not runs:
            after = self.new_block()
            condition = self.compare("slt", begin, end)
            self.do(f"br i1 {condition}, label %{first}, label %{after}")
            head = len(self.lines)
        else:
            self.do(f"br label %{first}")
            head = len(self.lines)
        self.begin(first)
        loop = Loop(self.fresh(), [self.fresh() for _ in values])
        starts = list(loop.values)
        yield loop
        following = self.put(f"add nsw i64 {loop.index}, 1")
        condition = self.compare("slt", following, end)
        if runs:
            after = self.new_block()
        last = self.block
        self.do(f"br i1 {condition}, label %{first}, label %{after}, !llvm.loop !#0")
        phis = [f"  {loop.index} = phi i64 [ {begin}, %{before} ], [ {following}, %{last} ]"]
        for start, old, new in zip(starts, values, loop.values, strict=True):
            phis.append(f"  {start} = phi {kind} [ {old}, %{before} ], [ {new}, %{last} ]")
        self.lines[head + 1 : head + 1] = phis
        self.begin(after)
        if not runs:
            loop.values = [
                self.put(f"phi {kind} [ {old}, %{before} ], [ {new}, %{last} ]")
                for old, new in zip(values, loop.values, strict=True)
            ]

    def either(
        self, condition: str | bool, first: Callable[[], list[str]], second: Callable[[], list[str]]
    ) -> list[str]:
        """Write a branch, and return the vectors that the side that runs gives."""
        if isinstance(condition, bool):
            return (first if condition else second)()
        labels = [self.new_block() for _ in range(3)]
        self.do(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        results, ends = [], []
        for label, side in zip(labels, (first, second), strict=False):
            self.begin(label)
            results.append(side())
            ends.append(self.block)
            self.do(f"br label %{labels[2]}")
        self.begin(labels[2])
        return [
            self.put(f"phi {self.vector} [ {value}, %{ends[0]} ], [ {otherwise}, %{ends[1]} ]")
            for value, otherwise in zip(*results, strict=True)
        ]
