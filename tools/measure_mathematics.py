"""Measure how far the elementary functions of compiled programs are from the exact values.

python tools/measure_mathematics.py [--every N] [NAME ...]        (needs llvmlite and mpmath)

Functions of one float32 argument are computed for every Nth float32, by default for all of them, and compared with the
function of double precision; two arguments, and double precision, for random ones, which are compared with NumPy's long
double, or with mpmath where NumPy has no such function. The bounds are those of `minpy.backends.native.mathematics`.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from typing import Any

import mpmath
import numpy

from minpy.backends.native import mathematics
from minpy.backends.native.machine import llvm

BLOCK = 1 << 22
# Errors of all float32 whose bits are begin, begin + step, ..., in units of the last place of the exact value.
ERRORS = """
define void @errors(ptr noalias %result, i64 %begin, i64 %step, i64 %count) {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
  %offset = mul i64 %i, %step
  %place = add i64 %begin, %offset
  %bits = trunc i64 %place to i32
  %x = bitcast i32 %bits to float
  %wide = fpext float %x to double
  %y = call float @{single}(float %x)
  %exact = call double @{double}(double %wide)
  %rounded = fptrunc double %exact to float
  %pattern = bitcast double %exact to i64
  %exponent = and i64 %pattern, 9218868437227405312
  %denormal = icmp slt i64 %exponent, 4039728865751334912
  %least = select i1 %denormal, i64 4039728865751334912, i64 %exponent
  %shifted = sub i64 %least, 103582791429521408
  %scale = bitcast i64 %shifted to double
  %yw = fpext float %y to double
  %difference = fsub double %yw, %exact
  %size = call double @llvm.fabs.f64(double %difference)
  %error = fdiv double %size, %scale
  %y.nan = fcmp uno float %y, %y
  %exact.nan = fcmp uno double %exact, %exact
  %nans = and i1 %y.nan, %exact.nan
  %huge = call float @llvm.fabs.f32(float %rounded)
  %overflow = fcmp oeq float %huge, 0x7FF0000000000000
  %equal = fcmp oeq float %y, %rounded
  %infinite = and i1 %overflow, %equal
  %right = or i1 %nans, %infinite
  %bounded = select i1 %right, double 0.0, double %error
  %isnan = fcmp uno double %bounded, %bounded
  %checked = select i1 %isnan, double 0x7FF0000000000000, double %bounded
  %narrow = fptrunc double %checked to float
  %address = getelementptr float, ptr %result, i64 %i
  store float %narrow, ptr %address
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %exit
exit:
  ret void
}}
"""
VALUES = """
define void @values(ptr noalias %result, ptr noalias %p0, ptr noalias %p1, i64 %count) {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
  %a0 = getelementptr {type}, ptr %p0, i64 %i
  %a1 = getelementptr {type}, ptr %p1, i64 %i
  %x0 = load {type}, ptr %a0
  %x1 = load {type}, ptr %a1
  %y = call {type} @{symbol}({arguments})
  %address = getelementptr {type}, ptr %result, i64 %i
  store {type} %y, ptr %address
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %exit
exit:
  ret void
}}
"""


def all_singles(name: str, every: int) -> tuple[float, float]:
    """Return the largest error of a function over float32, and where it is."""
    text = mathematics.definitions([(name, "float"), (name, "double")])
    text += "".join(
        f"declare {kind} @{intrinsic}({kind})\n"
        for kind, intrinsic in (("float", "llvm.fabs.f32"), ("double", "llvm.fabs.f64"))
        if intrinsic not in text
    )
    single, double = (mathematics.symbol(name, dtype) for dtype in ("float", "double"))
    loaded = llvm.compile(text + ERRORS.format(single=single, double=double))
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(loaded.address("errors"))
    errors = numpy.empty(BLOCK, "float32")
    worst, place = -1.0, 0
    for begin in range(0, 1 << 32, BLOCK * every):
        count = min(BLOCK, ((1 << 32) - begin + every - 1) // every)
        function(errors.ctypes.data, begin, every, count)
        index = int(errors[:count].argmax())
        if errors[index] > worst:
            worst, place = float(errors[index]), begin + index * every
    return worst, float(numpy.array(place, "uint32").view("float32"))


def values(name: str, dtype: str, *arrays: numpy.ndarray) -> numpy.ndarray:
    arguments = ", ".join(f"{dtype} %x{index}" for index in range(mathematics.arity(name)))
    text = VALUES.format(type=dtype, symbol=mathematics.symbol(name, dtype), arguments=arguments)
    loaded = llvm.compile(mathematics.definitions([(name, dtype)]) + text)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(loaded.address("values"))
    result = numpy.empty_like(arrays[0])
    function(result.ctypes.data, arrays[0].ctypes.data, arrays[-1].ctypes.data, result.size)
    return result


def samples(random: numpy.random.RandomState, kind: Any, count: int) -> numpy.ndarray:
    """Return numbers of all sizes, of usual ones, and near 1."""
    patterns = numpy.frombuffer(random.bytes(count * kind().itemsize), kind)
    patterns = numpy.where(numpy.isfinite(patterns), patterns, 0)
    usual = random.normal(size=count) * 10.0 ** random.randint(-4, 3, count)
    near = 1 + random.normal(size=count) * 10.0 ** random.randint(-15, 0, count)
    mixed = numpy.concatenate([patterns, usual, near, random.uniform(-1, 1, count)]).astype(kind)
    random.shuffle(mixed)
    return mixed


def sampled(name: str, dtype: str, count: int) -> tuple[float, tuple[float, ...]]:
    """Return the largest error over random arguments, and where it is."""
    random = numpy.random.RandomState(1)
    kind = {"float": numpy.float32, "double": numpy.float64}[dtype]
    wide: Any = numpy.float64 if dtype == "float" else numpy.longdouble
    exact_function: Callable[..., numpy.ndarray] | None = getattr(numpy, name, None)
    if exact_function is None:
        count //= 30
    arrays = [samples(random, kind, count) for _ in range(mathematics.arity(name))]
    if name == "power":
        arrays[0] = abs(arrays[0])
        exponents = random.uniform(-150, 150, arrays[0].size) * (1 if dtype == "float" else 7)
        arrays[1][::2] = (exponents / numpy.log2(arrays[0].astype(wide)))[::2]
    elif exact_function is None:
        arrays[0] = numpy.clip(arrays[0], -30, 30)
    elif len(arrays) == 2:
        arrays[1][::2] = (arrays[0].astype(wide) * random.uniform(-3, 3, arrays[0].size))[::2]
    result = values(name, dtype, *arrays)
    if exact_function is None:
        function = getattr(mpmath, name)
        with mpmath.workdps(40):
            exact = numpy.array(
                [numpy.longdouble(mpmath.nstr(function(x), 25)) for x in arrays[0].tolist()], numpy.longdouble
            )
    else:
        exact = exact_function(*(array.astype(wide) for array in arrays))
    rounded = exact.astype(kind)
    unit = numpy.spacing(numpy.abs(numpy.where(numpy.isfinite(rounded), rounded, 1))).astype(exact.dtype)
    errors = numpy.abs(result.astype(exact.dtype) - exact) / unit
    errors[(numpy.isnan(result) & numpy.isnan(rounded)) | (numpy.isinf(rounded) & (result == rounded))] = 0
    errors = numpy.where(numpy.isnan(errors), numpy.inf, errors)
    worst = int(errors.argmax())
    return float(errors[worst]), tuple(float(array[worst]) for array in arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--every", type=int, default=1, help="take every Nth float32")
    parser.add_argument("--count", type=int, default=1_000_000, help="of random arguments")
    given = parser.parse_args()
    numpy.seterr(all="ignore")
    for name, function in mathematics.FUNCTIONS.items():
        if given.names and name not in given.names:
            continue
        for dtype in function.ulps:
            if dtype == "float" and function.arity == 1:
                error, place = all_singles(name, given.every)
            else:
                error, place = sampled(name, dtype, given.count)
            bound = mathematics.accuracy(name, dtype)
            verdict = "" if error <= bound else "   MORE THAN ITS BOUND"
            print(f"{name:10} {dtype:7} {error:6.3f} of {bound:g} at {place}{verdict}", flush=True)


if __name__ == "__main__":
    main()
