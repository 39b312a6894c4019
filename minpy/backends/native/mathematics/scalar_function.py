"""LLVM IR text of scalar functions, written with Python's operators.

A function is built from values: `x * x + 1` writes an `fmul` and an `fadd`. There are no branches and no loops; what
depends on a condition is selected (`where`), so that LLVM's loop vectoriser takes every function. No instruction has
a fast-math flag: the arithmetic is IEEE 754's, one rounding an operation, everywhere the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
    """The text of one function while it grows: `name` without `@`, of some arguments of a `format` that its result has.

    There are no blocks, so that the same instruction is written once.
    """

    def __init__(self, name: str, format: Format, arity: int) -> None:
        super().__init__()
        self.name = name
        self.format = format
        self.arguments = tuple(Value(self, format.type, f"%x{index}") for index in range(arity))
        self._written: dict[str, str] = {}

    def put(self, instruction: str) -> str:
        """Write an instruction, unless the same has been written, and return the name of what it gives."""
        if instruction not in self._written:
            self._written[instruction] = super().put(instruction)
        return self._written[instruction]

    def load(self, table: str, content: bytes, index: Value) -> Value:
        """Append a load of the 64 bits that begin at a byte of a constant table, the first byte the lowest."""
        escaped = "".join(f"\\{byte:02X}" for byte in content)
        self.required[table] = f'@{table} = internal constant [{len(content)} x i8] c"{escaped}", align 8'
        pointer = self.put(f"getelementptr inbounds i8, ptr @{table}, i64 {index.name}")
        return Value(self, "i64", self.put(f"load i64, ptr {pointer}, align 1"))

    def finish(self, result: Value) -> str:
        """Return the text of the function, which returns `result`."""
        type = self.format.type
        parameters = ", ".join(f"{type} {argument.name}" for argument in self.arguments)
        head = f"define internal {type} @{self.name}({parameters}) alwaysinline nounwind willreturn {{"
        return "\n".join([head, *self.lines, f"  ret {type} {result.name}", "}"]) + "\n"


def _binary_operator(
    floating: str, signed: str, unsigned: str | None = None, swapped: bool = False
) -> Callable[[Value, Value | Number], Value]:
    """Return the method that writes one of several instructions: that of floating-point numbers, or of integers."""

    def write(value: Value, operand: Value | Number) -> Value:
        left, right = value, value.operand(operand)
        if swapped:
            left, right = right, left
        is_unsigned = unsigned is not None and not value.is_signed
        operation = floating if value.type in FORMATS else unsigned if is_unsigned else signed
        assert operation, value.type
        return value.result(f"{operation} {value.type} {left.name}, {right.name}")

    return write


def _comparison(floating: str, integer: str) -> Callable[[Value, Value | Number], Value]:
    return lambda value, operand: value.compared(floating, integer, operand)


class Value:
    """A value of a function that is being written: an argument, a constant or an instruction's result.

    Python's operators write instructions. Integers are signed unless it is said that they are not; `%` has the sign of
    the dividend, and of integers `/` rounds towards zero. Comparisons of floating-point numbers are ordered: false
    where one is NaN; `differs` is its opposite.
    """

    __slots__ = ("is_signed", "name", "type", "writer")

    def __init__(self, writer: FunctionWriter, type: str, name: str, is_signed: bool = True) -> None:
        self.writer: Any = writer
        self.type = type
        self.name = name
        self.is_signed = is_signed

    def operand(self, operand: Value | Number) -> Value:
        """Return what an operator is applied to, a constant of the same type if it is a number."""
        if not isinstance(operand, Value):
            return Value(self.writer, self.type, literal(self.type, operand), self.is_signed)
        assert operand.type == self.type, (self.type, operand.type)
        return operand

    def result(self, instruction: str, type: str = "") -> Value:
        """Append an instruction that gives a value of the same type, or of another one."""
        return Value(self.writer, type or self.type, self.writer.put(instruction), self.is_signed and type != "i1")

    def call(self, intrinsic: str, *operands: Value, flags: str = "") -> Value:
        """Append a call of an LLVM intrinsic of floating-point numbers of one type."""
        arguments = [(operand.type, operand.name) for operand in (self, *operands)]
        name = f"llvm.{intrinsic}.{FORMATS[self.type].suffix}"
        return Value(self.writer, self.type, self.writer.intrinsic(name, self.type, *arguments, flags=flags))

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
    __truediv__ = _binary_operator("fdiv", "sdiv", "udiv")
    __rtruediv__ = _binary_operator("fdiv", "sdiv", "udiv", swapped=True)
    __mod__ = _binary_operator("frem", "srem", "urem")
    __and__ = _binary_operator("", "and")
    __or__ = _binary_operator("", "or")
    __xor__ = _binary_operator("", "xor")
    __lshift__ = _binary_operator("", "shl")
    __rshift__ = _binary_operator("", "ashr", "lshr")
    __lt__ = _comparison("olt", "lt")
    __le__ = _comparison("ole", "le")
    __gt__ = _comparison("ogt", "gt")
    __ge__ = _comparison("oge", "ge")

    def compared(self, floating: str, integer: str, operand: Value | Number) -> Value:
        """Append a comparison by one of two predicates; that of integers depends on their sign, but for equality."""
        sign = "" if integer in ("eq", "ne") else "s" if self.is_signed else "u"
        comparison = f"fcmp {floating}" if self.type in FORMATS else f"icmp {sign}{integer}"
        return self.result(f"{comparison} {self.type} {self.name}, {self.operand(operand).name}", "i1")

    def equals(self, operand: Value | Number) -> Value:
        """Return whether two numbers are equal."""
        return self.compared("oeq", "eq", operand)

    def differs(self, operand: Value | Number) -> Value:
        """Return whether two numbers are not equal; true where one is NaN."""
        return self.compared("une", "ne", operand)

    def is_nan(self) -> Value:
        """Return whether a floating-point number is NaN."""
        return self.result(f"fcmp uno {self.type} {self.name}, 0.0", "i1")

    def unsigned(self) -> Value:
        """Return the same integer, without a sign."""
        return Value(self.writer, self.type, self.name, is_signed=False)

    def shifted_right(self, count: Value | int) -> Value:
        """Return the bits moved right, zeros moved in."""
        return self.result(f"lshr {self.type} {self.name}, {self.operand(count).name}")

    def __invert__(self) -> Value:
        return self ^ (1 if self.type == "i1" else -1)

    def __neg__(self) -> Value:
        return self.result(f"fneg {self.type} {self.name}") if self.type in FORMATS else 0 - self

    def __abs__(self) -> Value:
        return self.call("fabs") if self.type in FORMATS else where(self < 0, -self, self)

    def converted(self, operation: str, type: str) -> Value:
        """Append a conversion to another type."""
        return self.result(f"{operation} {self.type} {self.name} to {type}", type)

    def bits(self) -> Value:
        """Return the bits of a floating-point number as an integer."""
        return self.converted("bitcast", self.format.integer)

    def as_number(self) -> Value:
        """Return the floating-point number whose bits an integer has."""
        return self.converted("bitcast", self.format.type)

    def to_number(self) -> Value:
        """Return an integer, that is not too large, as the floating-point number of the same width and value.

        It is added to the bits of `shifter`: AVX2 converts no 64-bit integers.
        """
        format = self.format
        if self.type == "i32":
            return self.converted("sitofp", "float")
        return (self + format.shifter_bits).as_number() - format.shifter

    def to_double(self) -> Value:
        """Return a floating-point number in double precision."""
        return self.converted("fpext", "double") if self.type == "float" else self

    def to_float(self) -> Value:
        """Return a floating-point number in single precision, rounded."""
        return self.converted("fptrunc", "float") if self.type == "double" else self

    def narrowed(self) -> Value:
        """Return the low 32 bits of a 64-bit integer."""
        return self.converted("trunc", "i32")

    def sqrt(self) -> Value:
        """Return the square root, rounded once."""
        return self.call("sqrt")

    def floor(self) -> Value:
        """Return the nearest integer that is not larger."""
        return self.call("floor")

    def trunc(self) -> Value:
        """Return the nearest integer on the side of zero."""
        return self.call("trunc")

    def rint(self) -> Value:
        """Return the nearest integer, the even one of two."""
        return self.call("rint")

    def with_sign_of(self, signed: Value) -> Value:
        """Return a number with the sign of another one."""
        return self.call("copysign", signed)

    def without_low_bits(self, count: int) -> Value:
        """Return a floating-point number whose last `count` fraction bits are cleared."""
        return (self.bits() & -(1 << count)).as_number()


def where(condition: Value, yes: Value | Number, no: Value | Number) -> Value:
    """Return `yes` where `condition` holds, `no` elsewhere; both are computed. One of them is a `Value`."""
    if not isinstance(yes, Value):
        assert isinstance(no, Value), "one of the two has to be a value"
        yes = no.operand(yes)
    no = yes.operand(no)
    return yes.result(f"select i1 {condition.name}, {yes.type} {yes.name}, {yes.type} {no.name}", yes.type)


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return c0 + c1·x + c2·x² + …

    By Horner's rule; of many coefficients in double precision every second one by itself, of more every fourth
    (G. Estrin, Organization of computer systems, 1960): the instructions of one element wait for each other, and of
    such long functions a processor has hardly another element at hand. The constant is added last, so that it alone
    decides the rounding.
    """
    constant, *higher = coefficients
    if len(higher) < 6 or x.type == "float":
        return x * _horner(x, higher) + constant
    z = x * x
    if len(higher) < 11:
        return x * (_horner(z, higher[::2]) + x * _horner(z, higher[1::2])) + constant
    first, second, third, fourth = (_horner(z * z, higher[start::4]) for start in range(4))
    return x * ((first + x * second) + z * (third + x * fourth)) + constant


def _horner(x: Value, coefficients: Sequence[float]) -> Value:
    result = x.operand(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = x * result + coefficient
    return result
