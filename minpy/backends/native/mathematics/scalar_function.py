"""LLVM IR text of scalar functions, written with Python's operators.

A function is built from values: `x * x + 1` writes an `fmul` and an `fadd`. There are no branches and no loops; what
depends on a condition is selected (`where`), so that LLVM's loop vectoriser takes every function. No instruction has
a fast-math flag: the arithmetic is IEEE 754's, one rounding an operation, everywhere the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from minpy.backends.native.codegen.function_writer import FunctionWriter, literal

__all__ = ["DOUBLE", "FLOAT", "FORMATS", "Format", "Number", "Value", "Writer", "polynomial", "where"]

Number = int | float


class Format(NamedTuple):
    """A binary floating-point format (IEEE 754-2008, table 3.5)."""

    type: str  # its type in LLVM: `float` or `double`
    integer: str  # the integer type of the same width
    suffix: str  # ends the names of its functions: `f32` or `f64`
    fraction: int  # the number of fraction bits: 23 or 52
    bias: int  # of the exponent: 127 or 1023

    @property
    def shifter(self) -> float:
        """1.5 · 2**fraction: a number below 2**(fraction - 1) rounds to an integer when this is added to it."""
        return 1.5 * 2.0**self.fraction

    @property
    def shifter_bits(self) -> int:
        """The bits of `shifter`, as an integer."""
        return (self.bias + self.fraction) << self.fraction | 1 << (self.fraction - 1)

    @property
    def sign_bit(self) -> int:
        """The integer of which only the sign bit is set."""
        return -(1 << (self.fraction + self.bias.bit_length() + 1))

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with all fraction bits."""
        return 2.0 ** (1 - self.bias)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return (2 - 2.0**-self.fraction) * 2.0**self.bias


FLOAT = Format("float", "i32", "f32", 23, 127)
DOUBLE = Format("double", "i64", "f64", 52, 1023)
FORMATS = {"float": FLOAT, "double": DOUBLE}
_BY_INTEGER = {format.integer: format for format in FORMATS.values()}


class Writer(FunctionWriter):
    """The text of one function while it grows.

    `name`: of the function, without `@`. `format`: of its arguments and of its result. `arity`: the number of
    arguments.
    """

    def __init__(self, name: str, format: Format, arity: int) -> None:
        super().__init__()
        self.name = name
        self.format = format
        self.arguments = tuple(Value(self, format.type, f"%x{index}") for index in range(arity))
        # What a module has to declare or define for the function, name to text: intrinsics, constant tables.
        self.required: dict[str, str] = {}
        self._known: dict[str, Value] = {}

    def instruction(self, type: str, text: str) -> Value:
        """Append an instruction that gives a value of `type`, unless the same has been written; return the value."""
        if text not in self._known:
            self._known[text] = Value(self, type, self.put(text))
        return self._known[text]

    def call(self, intrinsic: str, *operands: Value) -> Value:
        """Append a call of an LLVM intrinsic of floating-point numbers of one type."""
        operand = operands[0].type
        name = f"llvm.{intrinsic}.{FORMATS[operand].suffix}"
        self.required[name] = f"declare {operand} @{name}({', '.join([operand] * len(operands))})"
        return self.instruction(
            operand, f"call {operand} @{name}({', '.join(f'{operand} {value.name}' for value in operands)})"
        )

    def load(self, table: str, content: bytes, index: Value) -> Value:
        """Append a load of the 64 bits that begin at a byte of a constant table, the first byte the lowest."""
        escaped = "".join(f"\\{byte:02X}" for byte in content)
        self.required[table] = f'@{table} = internal constant [{len(content)} x i8] c"{escaped}", align 8'
        pointer = self.instruction("ptr", f"getelementptr inbounds i8, ptr @{table}, i64 {index.name}")
        return self.instruction("i64", f"load i64, ptr {pointer.name}, align 1")

    def constant(self, type: str, number: Number) -> Value:
        """Return a constant of a type."""
        return Value(self, type, literal(type, number))

    def finish(self, result: Value) -> str:
        """Return the text of the function, which returns `result`."""
        type = self.format.type
        parameters = ", ".join(f"{type} {argument.name}" for argument in self.arguments)
        head = f"define internal {type} @{self.name}({parameters}) alwaysinline nounwind willreturn {{"
        return "\n".join([head, *self.lines, f"  ret {type} {result.name}", "}"]) + "\n"


def _binary_operator(floating: str, integer: str, swapped: bool = False) -> Callable[[Value, Value | Number], Value]:
    return lambda value, operand: value.binary(floating, integer, operand, swapped)


def _comparison(floating: str, integer: str) -> Callable[[Value, Value | Number], Value]:
    return lambda value, operand: value.compared(f"o{floating}", integer, operand)


class Value:
    """A value of a function that is being written: an argument, a constant or an instruction's result.

    Python's operators write instructions. Integers are signed, except that `>>` is an arithmetic and `shifted_right` a
    logical shift. Comparisons of floating-point numbers are ordered: false where one is NaN; `differs` is its opposite.
    """

    __slots__ = ("name", "type", "writer")

    def __init__(self, writer: Writer, type: str, name: str) -> None:
        self.writer = writer
        self.type = type
        self.name = name

    def operand(self, operand: Value | Number) -> Value:
        """Return what an operator is applied to, a constant if it is a number."""
        if not isinstance(operand, Value):
            return self.writer.constant(self.type, operand)
        assert operand.type == self.type, (self.type, operand.type)
        return operand

    def binary(self, floating: str, integer: str, operand: Value | Number, swapped: bool = False) -> Value:
        """Append one of two instructions: that of floating-point numbers, or that of integers."""
        left, right = self, self.operand(operand)
        if swapped:
            left, right = right, left
        operation = floating if self.type in FORMATS else integer
        assert operation, self.type
        return self.writer.instruction(self.type, f"{operation} {self.type} {left.name}, {right.name}")

    def compared(self, floating: str, integer: str, operand: Value | Number) -> Value:
        """Append a comparison by one of two predicates: that of floating-point numbers, or that of integers."""
        comparison = f"fcmp {floating}" if self.type in FORMATS else f"icmp {integer}"
        return self.writer.instruction("i1", f"{comparison} {self.type} {self.name}, {self.operand(operand).name}")

    @property
    def format(self) -> Format:
        """The format of a floating-point number, or that of the width of an integer."""
        return FORMATS[self.type] if self.type in FORMATS else _BY_INTEGER[self.type]

    __add__ = _binary_operator("fadd", "add")
    __radd__ = _binary_operator("fadd", "add", swapped=True)
    __sub__ = _binary_operator("fsub", "sub")
    __rsub__ = _binary_operator("fsub", "sub", swapped=True)
    __mul__ = _binary_operator("fmul", "mul")
    __rmul__ = _binary_operator("fmul", "mul", swapped=True)
    __truediv__ = _binary_operator("fdiv", "")
    __rtruediv__ = _binary_operator("fdiv", "", swapped=True)
    __and__ = _binary_operator("", "and")
    __or__ = _binary_operator("", "or")
    __xor__ = _binary_operator("", "xor")
    __lshift__ = _binary_operator("", "shl")
    __rshift__ = _binary_operator("", "ashr")
    __lt__ = _comparison("lt", "slt")
    __le__ = _comparison("le", "sle")
    __gt__ = _comparison("gt", "sgt")
    __ge__ = _comparison("ge", "sge")

    def shifted_right(self, count: Value | int) -> Value:
        """Return the bits moved right, zeros moved in."""
        return self.binary("", "lshr", count)

    def equals(self, operand: Value | Number) -> Value:
        """Return whether two numbers are equal."""
        return self.compared("oeq", "eq", operand)

    def differs(self, operand: Value | Number) -> Value:
        """Return whether two numbers are not equal; true where one is NaN."""
        return self.compared("une", "ne", operand)

    def __invert__(self) -> Value:
        return self.binary("", "xor", 1 if self.type == "i1" else -1)

    def __neg__(self) -> Value:
        if self.type in FORMATS:
            return self.writer.instruction(self.type, f"fneg {self.type} {self.name}")
        return 0 - self

    def __abs__(self) -> Value:
        return self.writer.call("fabs", self)

    def bits(self) -> Value:
        """Return the bits of a floating-point number as an integer."""
        return self._converted("bitcast", self.format.integer)

    def as_number(self) -> Value:
        """Return the floating-point number whose bits an integer has."""
        return self._converted("bitcast", self.format.type)

    def to_number(self) -> Value:
        """Return an integer, that is not too large, as the floating-point number of the same width and value.

        It is added to the bits of `shifter`: AVX2 converts no 64-bit integers.
        """
        format = self.format
        if self.type == "i32":
            return self._converted("sitofp", "float")
        return (self + format.shifter_bits).as_number() - format.shifter

    def to_double(self) -> Value:
        """Return a floating-point number in double precision."""
        return self._converted("fpext", "double") if self.type == "float" else self

    def to_float(self) -> Value:
        """Return a floating-point number in single precision, rounded."""
        return self._converted("fptrunc", "float") if self.type == "double" else self

    def to(self, format: Format) -> Value:
        """Return a floating-point number in another format, rounded if that is narrower."""
        return self.to_double() if format is DOUBLE else self.to_float()

    def widened(self) -> Value:
        """Return a 32-bit integer, its sign extended, in 64 bits."""
        return self._converted("sext", "i64")

    def narrowed(self) -> Value:
        """Return the low 32 bits of a 64-bit integer."""
        return self._converted("trunc", "i32")

    def _converted(self, operation: str, type: str) -> Value:
        return self.writer.instruction(type, f"{operation} {self.type} {self.name} to {type}")

    def sqrt(self) -> Value:
        """Return the square root, rounded once."""
        return self.writer.call("sqrt", self)

    def trunc(self) -> Value:
        """Return the nearest integer on the side of zero."""
        return self.writer.call("trunc", self)

    def rint(self) -> Value:
        """Return the nearest integer, the even one of two."""
        return self.writer.call("rint", self)

    def with_sign_of(self, other: Value) -> Value:
        """Return a number with the sign of another one."""
        return self.writer.call("copysign", self, other)

    def without_low_bits(self, count: int) -> Value:
        """Return a floating-point number whose last `count` fraction bits are cleared."""
        return (self.bits() & -(1 << count)).as_number()


def where(condition: Value, yes: Value | Number, no: Value | Number) -> Value:
    """Return `yes` where `condition` holds, `no` elsewhere; both are computed. One of them is a `Value`."""
    if isinstance(yes, Value):
        no = yes.operand(no)
    else:
        assert isinstance(no, Value), "one of the two has to be a value"
        yes = no.operand(yes)
    return condition.writer.instruction(
        yes.type, f"select i1 {condition.name}, {yes.type} {yes.name}, {yes.type} {no.name}"
    )


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return c0 + c1·x + c2·x² + …

    By Horner's rule; of many coefficients in double precision every second one by itself, of more every fourth
    (G. Estrin, Organization of computer systems, 1960): the instructions of one element wait for each other, and of
    such long functions a processor has hardly another element at hand. The constant is added last, so that it alone
    decides the rounding.
    """
    constant, *rest = coefficients
    if len(rest) < 6 or x.type == "float":
        return x * _horner(x, rest) + constant
    z = x * x
    if len(rest) < 11:
        return x * (_horner(z, rest[::2]) + x * _horner(z, rest[1::2])) + constant
    first, second, third, fourth = (_horner(z * z, rest[start::4]) for start in range(4))
    return x * ((first + x * second) + z * (third + x * fourth)) + constant


def _horner(x: Value, coefficients: Sequence[float]) -> Value:
    result = x.writer.constant(x.type, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = x * result + coefficient
    return result
