"""Random functions that take views, store into them and read them again: captured, they leave what NumPy leaves."""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest
from captures import captured, computed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minpy.capture.places import CaptureRefused
from minpy.differentiation.trees import leaves_of

# `n` is a new name; `a`, `b` and `v` are any that there are.
VIEWS = [
    "n = a[1:]", "n = a[:, ::2]", "n = a[::-1]", "n = a[0]", "n = a[..., None]", "n = a.T", "n = a.swapaxes(0, 1)",
    "n = a.reshape(-1)", "n = a.ravel()", "n = a.reshape(2, 6)", "n = np.squeeze(a)", "n = np.flip(a, 0)",
    "n = np.split(a, 2, axis=-1)[1]", "n = np.atleast_2d(a)", "n = a.view()", "n = a[-1:, 1:3]", "n = a[:2][1:]",
    "n = np.moveaxis(a, 0, -1)", "n = np.rot90(a)", "n = np.asarray(a)", "n = a[a.ndim - 1:]", "n = a.real",
    "n = np.expand_dims(a, 1)", "n = np.diagonal(a)", "n = np.broadcast_to(a, (2, *a.shape))", "n = np.ravel(a.T)",
]  # fmt: skip
VALUES = [
    "n = a + b", "n = a * 2", "n = a.copy()", "n = np.array(a)", "n = a", "n = np.zeros_like(a)", "n = a[[0, 1]]",
    "n = a.sum(axis=0)", "n = np.tanh(a)", "n = np.zeros((3, 4))", "n = a.sum()", "n = np.concatenate([a, a])",
    "n = np.where(a > 0, a, 0)", "n = a.astype('float32')", "n = np.sort(a, axis=0)", "n = a @ a.T", "n = a - a.mean()",
    "n = a[0, 0]", "n = a.flatten()", "n = np.cumsum(a, axis=0)",
]  # fmt: skip
STORES = [
    "v += 1", "v *= a", "v -= v.mean()", "v[...] = a", "v[0] = 0", "v[1:] = v[:-1]", "v[v > 0] = 0.5", "v[0] += a[0]",
    "np.multiply(a, b, out=v)", "np.copyto(v, a)", "v.fill(2)", "v[[1, 0]] = 3", "v.sort(axis=0)", "v.T[...] = 4",
    "v[:, 1:] *= 2", "np.add(v, a, out=v, where=v > 0)", "np.add.at(v, [0, 0], 1)", "v[::2], v[1:2] = 5, 6",
    "np.negative(v, out=v)", "v /= 2", "np.clip(v, 0, 1, out=v)", "np.put(v, [0, 1], [7, 8])", "v[-1:] -= 1",
    "v.reshape(-1)[0] = 9", "np.cumsum(v, axis=0, out=v)", "v[..., 0] = v[..., -1]", "v **= 2", "v[0, 0] = a.sum()",
    "np.fill_diagonal(v, 3)", "np.matmul(v, v, out=v)",
]  # fmt: skip
STATEMENT = st.tuples(
    st.one_of(st.sampled_from(VIEWS), st.sampled_from(STORES), st.sampled_from(VALUES)),
    *(st.integers(0, 30) for _ in range(3)),
)
PROGRAM = st.lists(STATEMENT, min_size=3, max_size=9)
LAYOUTS = {
    "c": lambda draw: draw.normal(size=(3, 4)),
    "fortran": lambda draw: np.asfortranarray(draw.normal(size=(3, 4))),
    "gaps": lambda draw: draw.normal(size=(6, 8))[::2, 1::2],
}
_counter = iter(range(10**9))


def arguments(layout: str, seed: int) -> list[np.ndarray]:
    draw = np.random.RandomState(seed)
    return [LAYOUTS[layout](draw) for _ in range(2)]


def function_of(program: list[Any]) -> tuple[Any, str]:
    """Return a function made of those statements that run, and its source."""
    lines: list[str] = []
    names = ["x", "y"]
    for text, *choices in program:
        chosen = {part: names[-1 - choice % len(names)] for part, choice in zip("abv", choices, strict=True)}
        chosen["n"] = f"t{len(lines)}"
        line = re.sub(r"(?<![\w.'])([abvn])(?![\w'])", lambda match, chosen=chosen: chosen[match[1]], text)
        scope = dict(zip("xy", arguments("c", 0), strict=True)) | {"np": np}
        try:
            with np.errstate(all="ignore"):
                exec("\n".join([*lines, line]), scope)
        except (ValueError, TypeError, IndexError, np.exceptions.AxisError, np.linalg.LinAlgError):
            continue
        lines.append(line)
        if text.startswith("n = "):
            names.append(chosen["n"])
    lines.append(f"return {', '.join(names[-3:])},")
    source = "def f(x, y):\n" + "".join(f"    {line}\n" for line in lines)
    name = f"<captured program {next(_counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    made: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), made)
    return made["f"], source


tried, gone = [0], [0]


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(program=PROGRAM)
def test_random_stores(layout: str, program: list[Any]) -> None:
    function, source = function_of(program)
    tried[0] += 1
    with np.errstate(all="ignore"):
        try:
            run = captured(function, arguments(layout, 0))
        except CaptureRefused:
            return
        gone[0] += 1
        for seed in (0, 1):
            mine, others = arguments(layout, seed), arguments(layout, seed)
            try:
                expected = function(*mine)
            except (ValueError, TypeError, IndexError):
                continue
            found, changed = computed(run, others)
    for number, (one, other) in enumerate(zip(leaves_of(found), leaves_of(expected), strict=True)):
        assert (type(one), one.shape, one.dtype) == (type(other), other.shape, other.dtype), source
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9, err_msg=f"output {number} of\n{source}")
    for position, (before, after) in enumerate(zip(others, mine, strict=True)):
        message = f"argument {position} of\n{source}"
        np.testing.assert_allclose(changed.get(position, before), after, rtol=1e-6, atol=1e-9, err_msg=message)


def test_most_random_functions_are_captured() -> None:
    assert gone[0] > tried[0] / 3
