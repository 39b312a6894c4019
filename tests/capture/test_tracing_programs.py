"""Random functions of NumPy, with views, in-place operators, masks and reductions: traced they compute the same."""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any

import numpy as np
import pytest
from compiling import both_kinds_of_program, require_same
from traces import traced_forward

import minpy as mx
from minpy import customop, nd, sym
from minpy.capture.places import CaptureRefused
from minpy.core import Operator
from minpy.core.errors import MXNetError

COMPILES = True

# Each with variables for `a` and `b` (any array), `v` (an array, which a statement may change) and `n` (a new name).
STATEMENTS = [
    "n = a + b", "n = a - 0.5", "n = 2 * a", "n = a / 3", "n = -a", "n = a * b", "n = a ** 2", "n = a ** 3",
    "n = np.tanh(a)", "n = np.maximum(a, b)", "n = np.exp(-np.abs(a))", "n = abs(a) ** 0.5", "n = a @ b.T",
    "n = np.where(a > 0, a, b)", "n = np.clip(a, -0.5, 0.5)", "n = a.copy()", "n = np.array(a)", "n = a",
    "n = np.asarray(a)", "n = np.zeros_like(a)", "n = np.empty_like(a); n[...] = b", "n = np.zeros(a.shape, a.dtype)",
    "n = a.T", "n = a[::-1]", "n = a[1:]", "n = a[:, :2]", "n = a[..., None]", "n = a[0]", "n = a[-1, 1]",
    "n = a.reshape(-1)", "n = a.ravel()", "n = np.squeeze(a)", "n = a.swapaxes(0, 1)", "n = a[[0, 1, 0]]",
    "n = a[np.arange(2), [0, 1]]", "n = np.concatenate([a, b])", "n = np.stack([a, b])", "n = np.cumsum(a, axis=0)",
    "n = np.block([a, b])",
    "n = a.sum()", "n = a.sum(axis=0)", "n = a.mean(axis=-1, keepdims=True)", "n = np.max(a, axis=0)", "n = a.var()",
    "n = np.add.reduce(a)", "n = np.multiply.accumulate(a)", "n = np.sort(a, axis=0)", "n = a.astype('float64')",
    "n = a.astype(np.float32)", "n = (a > b).astype(a.dtype)", "n = a.argmax(axis=0)", "n = np.einsum('ij->ji', a)",
    "n = np.einsum('ij,ij->i', a, b)", "n = sum(r for r in a)", "n = np.flip(a, 0)", "n = np.diff(a, axis=0)",
    "n = len(a) * a", "n = a.min() + b", "n = np.float32(0.25) * a", "n = np.sin(a, dtype='float64')",
    "v += a", "v *= 0.5", "v -= v.mean()", "v /= 2", "v **= 2", "v[v < 0] = 0", "v[v > a] = 0.25", "v[:, 1:] *= 2",
    "v[1:] = v[:-1]", "v[0] += a[0]", "np.multiply(a, b, out=v)", "np.add(a, 1, out=v, where=a > 0)", "v.fill(0.5)",
    "np.copyto(v, a)", "np.add.at(v, [0, 0, 1], a[0])", "v.sort(axis=0)", "v[[1, 0]] = a[:2]", "v[0] = a",
    "np.sqrt(np.abs(v), out=v)", "v[...] = a", "v[-1] -= 1; v[-1] = v[0]", "np.clip(v, 0, 1, out=v)",
    "n = a; n = n + v; v += 1", "n = v[0:1]; v[0] = 0", "n = v[0:1]; n[...] = 0", "n = v.T; n += 1",
]  # fmt: skip
SHAPE = (3, 4)
_counter = itertools.count()


def function_of(lines: list[str]) -> Any:
    """Return the function with this body, with its source where tracebacks find it."""
    source = "def f(x, y):\n" + "".join(f"    {line}\n" for line in lines)
    name = f"<random program {next(_counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


def inputs(seed: int) -> list[np.ndarray]:
    draw = np.random.RandomState(seed)
    found = [draw.normal(size=SHAPE).astype("float32") for _ in range(2)]
    for array in found:
        array.setflags(write=False)
    return found


def random_body(seed: int) -> list[str]:
    """Return statements that run without an error on read-only inputs, and return two arrays."""
    choose = random.Random(seed)
    scope: dict[str, Any] = {"np": np, **dict(zip("xy", inputs(0), strict=True))}
    lines: list[str] = []
    while len(lines) < 8:
        names = [name for name in scope if name not in ("np", "__builtins__")]
        recent = names[-4:] + names
        chosen = {part: choose.choice(recent) for part in "abv"} | {"n": f"t{len(lines)}"}
        words = _words(choose.choice(STATEMENTS))
        line = "".join(chosen.get(word, word) for word in words)
        attempt = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in scope.items()}
        for name in "xy":
            attempt[name].setflags(write=False)
        try:
            with np.errstate(all="ignore"):
                exec(line, attempt)
                exec("\n".join([*lines, line]), {"np": np, **dict(zip("xy", inputs(0), strict=True))})
        except (ValueError, TypeError, IndexError, np.exceptions.AxisError):
            continue
        lines.append(line)
        scope = {name: value for name, value in attempt.items() if isinstance(value, (np.ndarray, np.generic))}
        scope["np"] = np
    results = [name for name in scope if name.startswith("t")][-2:] or ["x"]
    return [*lines, f"return {', '.join(results)},"]


def _words(text: str) -> list[str]:
    words = [""]
    for before, character in zip(" " + text, text, strict=False):
        if (character.isalnum() or character in "_.") is not (before.isalnum() or before in "_."):
            words.append("")
        words[-1] += character
    found = []
    for word in words:  # `a.T`, but not `np.a`
        head, dot, rest = word.partition(".")
        found += [head, dot + rest]
    return found


@pytest.mark.parametrize("block", range(10))
def test_random_functions_compute_the_same_when_traced(block: int) -> None:
    traced = 0
    with np.errstate(all="ignore"):
        for seed in range(block * 30, block * 30 + 30):
            body = random_body(seed)
            operator = customop("numpy")(function_of(body))
            try:
                trace, parts = traced_forward(operator, inputs(0))
            except CaptureRefused:
                continue
            traced += 1
            for other in (0, 1):  # what stands in the arrays' places has no values
                arrays = inputs(other)
                answers = operator(*arrays)
                for part, answer in zip(parts, answers, strict=True):
                    found = np.asarray(trace.compute(part, arrays))
                    assert found.dtype == answer.dtype, body
                    np.testing.assert_array_equal(found, answer, err_msg="\n".join(body))
    assert traced >= 15


native = both_kinds_of_program()


@pytest.mark.parametrize("block", range(4))
def test_random_functions_compute_the_same_in_programs(block: int, native: bool) -> None:
    """Errors included: those of functions that change their inputs."""
    with np.errstate(all="ignore"):
        for seed in range(1000 + block * 15, 1000 + block * 15 + 15):
            body = random_body(seed)
            operator: Operator = customop("numpy")(function_of(body))
            arrays = [nd.array(array) for array in inputs(0)]
            eager = operator(*arrays)
            operator.outputs = [f"out{index}" for index in range(len(eager))]
            executor = operator(sym.var("x"), sym.var("y")).bind(mx.cpu(), dict(zip("xy", arrays, strict=True)))
            for other in range(4):
                for array, values in zip(arrays, inputs(other), strict=True):
                    array[:] = values
                try:
                    expected: Any = operator(*arrays)
                except MXNetError as error:
                    with pytest.raises(type(error)):
                        executor.forward()
                    continue
                for found, answer in zip(executor.forward(), expected, strict=True):
                    require_same(found.asnumpy(), answer.asnumpy(), "\n".join(body))
