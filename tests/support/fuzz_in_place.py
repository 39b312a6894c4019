"""Random functions that change their arguments in place, compiled and plain: what they leave and return is the same.

`python tests/support/fuzz_in_place.py --count 1000 --first 0` runs more of them than the tests do.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minpy as mx

# How arguments lie: each makes arrays of one memory, which is returned as well.
DTYPES = ["float32", "float64", "float32", "float32", "int32", "int64", "bool", "float16"]
NUMBERS = ["2", "0.5", "1.5", "-1", "np.float32(0.25)", "np.float64(0.75)", "3", "True"]
SIGNS = ["+=", "-=", "*=", "/=", "+=", "*=", "//=", "%=", "**=", "&=", "|=", "^="]
BINARY = ["+", "-", "*"]
VIEWS = [
    "{x}.reshape(-1)", "{x}[1:]", "{x}.T", "{x}[...]", "{x}[::2]", "{x}.ravel()", "np.real({x})", "+{x}", "{x}.copy()",
    "{x}[:, 1:]", "{x}[0]", "np.squeeze({x})", "np.flipud({x})", "{x}.astype({x}.dtype, copy=False)", "{x}",
    "np.broadcast_to({x}, (2,) + {x}.shape)", "np.einsum('ij->ji', {x})", "np.atleast_1d({x}, {y})[1]", "{x}.round()",
    "np.nan_to_num({x}, copy=False)", "{x}[1, 1:]", "{x}[-1, ...]",
]  # fmt: skip
KEYS = ["a0 > 0.5", "...", ":", "1:", "0", "-1", ":, 0", "::2", "1:, :2", "0, 0", "::-1", "[0, 1]", "..., 1", "None"]


def source(draw: random.Random, count: int) -> str:
    """Return a function `f` of so many arguments as text."""
    names = [f"a{index}" for index in range(count)]
    lines: list[str] = []
    made = 0

    def value() -> str:
        choice = draw.random()
        if choice < 0.3:
            return draw.choice(NUMBERS)
        if choice < 0.7:
            return draw.choice(names)
        if choice < 0.85:
            return f"{draw.choice(names)}.sum()"
        return f"({draw.choice(names)} {draw.choice(BINARY)} {draw.choice([*names, *NUMBERS])})"

    for _ in range(draw.randint(1, 7)):
        choice, x = draw.random(), draw.choice(names)
        if choice < 0.4:
            x = draw.choice(names[:count]) if draw.random() < 0.7 else x
            sign = draw.choice(SIGNS)
            # Negative powers of integers are an error, after which anything may stand in what NumPy was computing.
            lines.append(f"{x} {sign} {2 if sign == '**=' else value()}")
        elif choice < 0.55:
            lines.append(f"{x}[{draw.choice(KEYS)}] = {value()}")
        elif choice < 0.63:
            lines.append(f"{x}[{draw.choice(KEYS)}] {draw.choice(SIGNS[:6])} {value()}")
        elif choice < 0.7:
            function = draw.choice(["add", "multiply", "maximum", "subtract"])
            lines.append(f"np.{function}({draw.choice(names)}, {value()}, out={x})")
        elif choice < 0.74:
            lines.append(draw.choice([f"{x}.fill({draw.choice(NUMBERS)})", f"np.copyto({x}, {value()})"]))
        elif choice < 0.77:
            lines.append(f"np.sum({draw.choice(names)}, axis=0, out={x})")
        elif choice < 0.8 and len(names) > count:
            gone = draw.choice(names[count:])
            lines.append(f"{gone} = {gone}.sum()")  # nobody holds what it was, a view maybe
        else:
            made += 1
            name = f"t{made}"
            if draw.random() < 0.6:
                lines.append(f"{name} = {draw.choice(VIEWS).format(x=x, y=draw.choice(names))}")
            else:
                lines.append(f"{name} = {draw.choice(names)} {draw.choice(BINARY)} {value()}")
            names.append(name)
    # All that is computed is returned: of what is not, graphs do not notice errors.
    chosen = draw.sample(names[:count], draw.randint(0, count)) + names[count:]
    draw.shuffle(chosen)
    lines.append(f"return {', '.join(chosen)}")
    return f"def f({', '.join(f'a{index}' for index in range(count))}):\n" + "".join(f"    {one}\n" for one in lines)


def arguments(seed: int, count: int) -> list[np.ndarray]:
    """Return arrays, some of which share memory, are read-only, lie in other orders or have no axes."""
    draw = random.Random(seed)
    values = np.random.RandomState(seed)
    same = draw.random() < 0.7
    shape: tuple[int, ...] = draw.choice([(3, 3), (3, 3), (4, 3), (3,), (), (1, 3), (40, 30)])
    dtype = draw.choice(DTYPES)
    found: list[np.ndarray] = []
    for _ in range(count):
        if not same:
            shape, dtype = draw.choice([shape, shape, (3, 3), (3,), (1, 3), ()]), draw.choice([dtype, *DTYPES])
        whole = (values.uniform(-2, 3, (2, *shape)) * 2).astype(dtype)
        choice = draw.random()
        array = whole[0, ...]
        if found and choice < 0.08:
            array = draw.choice(found)
        elif found and choice < 0.16:
            array = draw.choice(found)[...]
        elif found and choice < 0.22 and found[0].ndim and len(found[0]) > 1:
            array = found[0][1:]
        elif found and choice < 0.28:
            array = found[0].T
        elif choice < 0.36:
            array = np.asfortranarray(array)
        elif choice < 0.42:
            array = np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
        elif choice < 0.46:
            array = array.copy()
            array.setflags(write=False)
        elif choice < 0.5:
            array = whole[..., ::-1][0, ...] if array.ndim else array
        elif choice < 0.53:
            array = array.astype(array.dtype.newbyteorder())
        else:
            array = array.copy()
        found.append(array)
    return found


def outcome(function: Callable[..., Any], given: list[np.ndarray]) -> tuple[Any, list[Any], list[bytes]]:
    """Return what a call gives or raises, which arguments it returns, and what is in all of them then."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = function(*given)
        except Exception as error:
            answer = type(error)
    parts = answer if isinstance(answer, tuple) else (answer,)
    which = [next((index for index, one in enumerate(given) if one is part), None) for part in parts]
    return parts, which, given


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


def check(number: int, disabled: bool = False) -> bool:
    """Compare one function with itself compiled, at several calls; tell whether it was compiled."""
    draw = random.Random(number)
    count = draw.randint(1, 3)
    text = source(draw, count)
    space: dict[str, Any] = {"np": np}
    exec(text, space)
    plain, compiled = space["f"], mx.compile(space["f"])
    with mx.compile.disabled() if disabled else contextlib.nullcontext():
        for call in range(5):
            # The arrays of one kind for three calls, then those of another.
            seed = number if call < 4 else number + 1
            expected, found = outcome(plain, arguments(seed, count)), outcome(compiled, arguments(seed, count))
            where = f"program {number}, call {call}, compiled: {compiled.reason is None}\n{text}"
            assert len(expected[0]) == len(found[0]), where
            returned = text.split("return ")[1].strip().split(", ")
            for name, one, other in zip(returned, expected[1], found[1], strict=False):
                # What is returned is a new array, but for the arguments that are changed.
                assert one == other or other is None, where
                is_view = not name.startswith("a") or one is None
                assert one == other or is_view or _equal(arguments(seed, count)[one], expected[2][one]), where
            for one, other in zip((*expected[0], *expected[2]), (*found[0], *found[2]), strict=True):
                if isinstance(one, type) or one is None or isinstance(other, type):
                    assert one is other, f"{where}{one} {other}"
                    continue
                assert type(one) is type(other) or one.ndim == 0, f"{where}{one!r} {other!r}"
                kinds = [(part.dtype.newbyteorder("="), part.shape) for part in (one, other)]
                assert kinds[0] == kinds[1], f"{where}{one!r} {other!r}"
                accuracy = 2e-3 if one.dtype == np.float16 else 1e-5
                np.testing.assert_allclose(other, one, accuracy, accuracy, err_msg=where)
    return compiled.reason is None


def run(numbers: Iterator[int] | range) -> int:
    """Check so many programs, and return how many were compiled."""
    return sum(check(number, disabled=number % 3 == 0) for number in numbers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    failed = compiled = 0
    for number in range(options.first, options.first + options.count):
        try:
            compiled += check(number, disabled=number % 3 == 0)
        except AssertionError as error:
            failed += 1
            if failed <= 15:
                print(str(error)[:1500], "\n-----")
    print(f"{options.count} programs, {compiled} compiled, {failed} failed")
