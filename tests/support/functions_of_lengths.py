"""One-line functions of an array and its lengths: those that are right for any, and those that choose by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy import np as mnp

__all__ = ["CHOOSING", "COMPUTED", "FROM_TWO_ON", "LENGTHS", "SHAPE", "STEADY"]

# The shape of the array that they are traced for, of which the first length is open, and lengths to try.
SHAPE = (4, 3)
LENGTHS = (2, 3, 5, 10, 11, 12, 23, 73, 82, 99, 100, 101, 127, 513, 2063, 20001)

FIXED = np.arange(60.0).reshape(20, 3)
LONG = np.arange(1536.0).reshape(512, 3)


def stored(x: Any) -> Any:
    y = np.zeros((x.shape[0] + 2, 3))
    y[1:-1] = x
    return y


def stored_length(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = x.shape[0]
    return x + np.minimum(y, 100)


def stored_and_seen(x: Any) -> Any:
    y = np.arange(6.0)
    part = y[: x.shape[0]]
    y[0] = 5.0
    return x + part.sum()


def caught(x: Any) -> Any:
    try:
        return x * math.sqrt(5 - x.shape[0])
    except ValueError:
        return x


def caught_division(x: Any) -> Any:
    try:
        return x / (1 / (x.shape[0] - 11))
    except ZeroDivisionError:
        return x


def stored_into(y: Any, length: Any) -> Any:
    y[:length] = 1.0
    return y


def counted(x: Any) -> Any:
    count = 0
    while count < x.shape[0]:
        count += 7
    return x * count


# What follows from lengths by arithmetic: right for any.
STEADY: dict[str, Callable[[Any], Any]] = {
    "divided by a length": lambda x: x / x.shape[0],
    "a mean": lambda x: x - np.sum(x, axis=0) / x.shape[0],
    "less one": lambda x: x * (x.shape[0] - 1),
    "twice": lambda x: x * (2 * x.shape[0]),
    "negative": lambda x: x * -x.shape[0],
    "a square": lambda x: x * x.shape[0] ** 2,
    "a root": lambda x: x / np.sqrt(x.shape[0]),
    "a root of math": lambda x: x / math.sqrt(x.shape[0]),
    "a power": lambda x: x * x.shape[0] ** -0.5,
    "a half": lambda x: x * (x.shape[0] // 2),
    "a reciprocal": lambda x: x * (1.0 / x.shape[0]),
    "of double precision": lambda x: x * np.float64(x.shape[0]),
    "the size": lambda x: x / x.size,
    "numpy.size": lambda x: x / np.size(x),
    "numpy.size of an axis": lambda x: x / np.size(x, 0),
    "numpy.shape": lambda x: x / np.shape(x)[0],
    "ones": lambda x: x + np.ones(x.shape),
    "ones of a length": lambda x: x + np.ones((x.shape[0], 1)),
    "ones alike": lambda x: x * np.ones_like(x).sum(),
    "a range": lambda x: x * np.arange(x.shape[0])[:, None],
    "a range of floats": lambda x: x * np.arange(float(3))[None] + np.arange(x.shape[0])[:, None],
    "a range, squared": lambda x: x * (np.arange(x.shape[0])[:, None] ** 2),
    "a range, clipped": lambda x: x * np.arange(x.shape[0])[:, None].clip(0, 100),
    "a range, clipped far off": lambda x: x * np.arange(x.shape[0])[:, None].clip(0, 10000),
    "a range, less": lambda x: x * (np.arange(x.shape[0]) < 100)[:, None],
    "a range, less far off": lambda x: np.where((np.arange(x.shape[0]) < 10000)[:, None], x, -x),
    "filled, and less": lambda x: x * np.minimum(np.full((1,), x.shape[0]), 100),
    "filled, and less far off": lambda x: x * np.minimum(np.full((1,), x.shape[0]), 10000),
    "ones alike, summed and less": lambda x: x * np.minimum(np.ones_like(x).sum(), 200),
    "ones alike, summed and less far off": lambda x: x * np.minimum(np.ones_like(x).sum(), 15000),
    "a row less": lambda x: x[1:] * x[1:].shape[0],
    "neighbours": lambda x: (x[1:] - x[:-1]) / (x.shape[0] - 1),
    "as long as itself": lambda x: x[: x.shape[0]] * x[: x.shape[0]].shape[0],
    "the last row": lambda x: x * x[x.shape[0] - 1],
    "backwards": lambda x: x[::-1] * x[::-1].shape[0],
    "flat": lambda x: x.reshape(x.shape[0] * 3) * 2,
    "the length of a sum": lambda x: (x + 1).shape[0] * x,
    "the length of a product": lambda x: x * (x @ np.ones((3, 2))).shape[0],
    "the length of a transpose": lambda x: x * x.T.shape[1],
    "the length of what is flat": lambda x: x * x.reshape(-1).shape[0],
    "the length of a sum along rows": lambda x: x * x.sum(axis=1).shape[0],
    "more than none": lambda x: x if x.shape[0] else -x,
    "its own length": lambda x: x if (x * 2).shape[0] == x.shape[0] else -x,
    "an axis that is not open": lambda x: x if x.shape[1] > 2 else -x,
    "a bounded slice": lambda x: x[:100] * 2,
    "a bounded slice, summed": lambda x: x[:100].sum(axis=0),
    "a bounded mean": lambda x: x[:100].mean(axis=0),
    "a bounded mean far off": lambda x: x[:10000].mean(axis=0),
    "rows that follow": lambda x: x[5:].sum(axis=0),
    "stored by a slice": stored,
    "a method of single precision": lambda x: x * np.float32(x.shape[0]).clip(0, 10000),
    "a method of numbers": lambda x: x * np.int64(x.shape[0]).clip(0, 10000),
    "ours, bounded": lambda x: x * mnp.full((1,), x.shape[0]).clip(0, 10000).sum(),
    "a store after a view": stored_and_seen,
    "a store of a length": stored_length,
}
# What is right for lengths from two on: translated functions are asked for no others.
FROM_TWO_ON: dict[str, Callable[[Any], Any]] = {
    "not one and not three": lambda x: x if not (x.shape[0] == 1 and x.shape[1] == 3) else x * 5.0,
    "two rows less": lambda x: x[2:] * x[2:].shape[0],
    "not one": lambda x: -x if x.shape[0] == 1 else x,
}
# What ONNX files compute for any length, and translated source in some languages.
COMPUTED: dict[str, Callable[[Any], Any]] = {
    "of single precision": lambda x: x * np.float32(1.0 / x.shape[0]),
    "an identity": lambda x: x * np.eye(x.shape[0])[:, :1],
    "a store into a fixed array": lambda x: x * stored_into(np.zeros(9000), x.shape[0]).sum(),
    "a store into a short array": lambda x: x * stored_into(np.zeros(300), x.shape[0]).sum(),
}
# What chooses by a length, or would be wrong for some.
CHOOSING: dict[str, Callable[[Any], Any]] = {
    "our function of shapes": lambda x: x * min(mnp.shape(x)[0], 5000),
    "half precision": lambda x: x * np.float16(x.shape[0]),
    "minimum": lambda x: x / np.minimum(x.shape[0], 100),
    "minimum far off": lambda x: x / np.minimum(x.shape[0], 10000),
    "maximum": lambda x: x / np.maximum(x.shape[0], 7),
    "min": lambda x: x / min(x.shape[0], 100),
    "max": lambda x: x / max(x.shape[0], 7),
    "min far off": lambda x: x / min(x.shape[0], 10000),
    "numpy.clip": lambda x: x / np.clip(x.shape[0], 1, 10000),
    "the class of a dtype": lambda x: x * x.dtype.type(x.shape[0]).clip(0, 10000),
    "minimum of a root": lambda x: x * min(np.sqrt(x.shape[0]), 100.0),
    "the floor of a root": lambda x: x * int(np.sqrt(x.shape[0])),
    "len": lambda x: x / min(len(x), 10000),
    "floor": lambda x: x * math.floor(x.shape[0] / 10000),
    "ceil": lambda x: x * math.ceil(x.shape[0] / 10000),
    "floor division": lambda x: x * (x.shape[0] // 10000),
    "a floor division by seven": lambda x: x * (x.shape[0] // 7),
    "reflected floor division": lambda x: x * (10000 // x.shape[0]),
    "a remainder": lambda x: x * (x.shape[0] % 2),
    "a remainder far off": lambda x: x * (x.shape[0] % 10000),
    "a remainder of numpy": lambda x: x * np.remainder(x.shape[0], 10000),
    "divmod": lambda x: x * divmod(x.shape[0], 10000)[1],
    "abs": lambda x: x * abs(x.shape[0] - 10000),
    "round": lambda x: x * round(x.shape[0] / 10000),
    "int": lambda x: x * int(x.shape[0] / 10000),
    "a logarithm": lambda x: x * math.log(x.shape[0]),
    "the length of a bounded slice": lambda x: x * x[:100].shape[0],
    "the length of a bounded slice far off": lambda x: x * x[:10000].shape[0],
    "the size of a bounded slice far off": lambda x: x * x[:10000].size,
    "the length of few rows": lambda x: x * x[:5].shape[0],
    "the length of the last rows": lambda x: x * x[-10000:].shape[0],
    "the length of rows that follow": lambda x: x * x[5:].shape[0],
    "the length of every other row": lambda x: x * x[::3].shape[0],
    "the length of differences": lambda x: x * np.diff(x, n=5, axis=0).shape[0],
    "a sum of a bounded slice": lambda x: x * (x[:10000] + 1).shape[0],
    "ones as a bounded slice": lambda x: x * np.ones(x[:10000].shape).sum(),
    "ones alike a bounded slice": lambda x: x * np.full((1,), x[:10000].shape[0]),
    "a fixed array, bounded": lambda x: x * LONG[: x.shape[0]].shape[0],
    "fixed rows, bounded": lambda x: x * FIXED[: x.shape[0]].shape[0],
    "a comparison": lambda x: x if x.shape[0] > 50 else -x,
    "a comparison far off": lambda x: x if x.shape[0] > 10000 else -x,
    "a comparison of lengths": lambda x: x if x.shape[0] > x.shape[1] else -x,
    "a comparison of a slice": lambda x: x if x[:10000].shape[0] == x.shape[0] else -x,
    "a comparison of what is left": lambda x: x if x[10000:].shape[0] else -x,
    "what is left": lambda x: x if x[10000:].size else -x,
    "in a list": lambda x: x if x.shape[0] in (5, 10) else -x,
    "in a dictionary": lambda x: x * {100: 2.0}.get(x.shape[0], 3.0),
    "a loop": lambda x: x * sum(1 for _ in range(x.shape[0])),
    "a loop by steps": counted,
    "a list": lambda x: x * len([0] * x.shape[0]),
    "text": lambda x: x * len(str(x.shape[0])),
    "formatted": lambda x: x * len(f"{x.shape[0]}"),
    "bits": lambda x: x * x.shape[0].bit_length(),
    "a boolean": lambda x: x * bool(x.shape[0] - 10),
    "and": lambda x: x * (x.shape[0] - 10 and 5),
    "caught": caught,
    "caught division": caught_division,
    "four factors": lambda x: x * (
        x.shape[0] + (x.shape[0] - 11) * (x.shape[0] - 73) * (x.shape[0] - 82) * (x.shape[0] - 2063)
    ),
    "a line": lambda x: x * np.linspace(0, 1, x.shape[0])[:, None],
    "split": lambda x: x * len(np.array_split(x, 3)[0]),
}  # fmt: skip
