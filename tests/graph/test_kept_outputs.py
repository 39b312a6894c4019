"""What a user's function keeps shares no memory with what its call returned, however it returned it."""

from __future__ import annotations

import collections
import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, nd
from minpy.core.errors import ArgumentError

Pair = collections.namedtuple("Pair", ["double", "half"])


class Subclass(np.ndarray):
    """An array that says of itself that it is its own copy."""

    def copy(self, order: str = "C") -> Any:
        return self


class Lazy(tuple):
    """A tuple whose elements are made when somebody looks, and kept."""

    made: Any = None

    def __iter__(self):
        self.made = self.made or [element * 1.0 for element in tuple.__iter__(self)]
        return iter(self.made)


class WithCopies(list):
    def __init__(self, arrays: Any) -> None:
        super().__init__(arrays)
        self.arrays = [*arrays]


# Each keeps its outputs in a way of its own: `of(arrays)` returns (what the function returns, what it keeps).
KEEPERS: dict[str, Callable[[tuple[Any, ...]], tuple[Any, Any]]] = {
    "the tuple": lambda arrays: (arrays, [arrays]),
    "the arrays": lambda arrays: (tuple(arrays), [*arrays]),
    "a list": lambda arrays: (kept := [*arrays], [kept]),
    "a dict": lambda arrays: (tuple((kept := dict(enumerate(arrays))).values()), [kept]),
    "its values": lambda arrays: ([*(kept := dict(enumerate(arrays))).values()], [kept]),
    "a namedtuple": lambda arrays: (kept := Pair(*arrays), [kept]),
    "a fresh namedtuple": lambda arrays: (Pair(*arrays), [*arrays]),
    "one array twice": lambda arrays: ((arrays[0], arrays[0]), []),
    "views": lambda arrays: (tuple(array[:] for array in arrays), [*arrays]),
    "one of the other": lambda arrays: ((arrays[0], arrays[0][::-1]), []),
    "a list with attributes": lambda arrays: (kept := WithCopies(arrays), [kept.arrays]),
    "a lazy tuple": lambda arrays: (kept := Lazy(arrays), [kept]),
}
NUMPY_KEEPERS: dict[str, Callable[[tuple[Any, ...]], tuple[Any, Any]]] = {
    "a subclass": lambda arrays: (tuple(kept := [array.view(Subclass) for array in arrays]), [kept]),
    "a fresh subclass": lambda arrays: (tuple(array.copy().view(Subclass) for array in arrays), []),
    "weak references": lambda arrays: (arrays, [weakref.ref(array) for array in arrays]),
    "memoryviews": lambda arrays: (arrays, [memoryview(array) for array in arrays]),
    "reshaped": lambda arrays: (tuple(array.reshape(1, -1).T[:, 0] for array in arrays), [*arrays]),
}
CASES = [(kind, name) for kind in ("numpy", "mxnet") for name in KEEPERS] + [("numpy", name) for name in NUMPY_KEEPERS]


def raw_arrays(kept: Any) -> list[np.ndarray]:
    """Returns the NumPy arrays in what a function kept."""
    if isinstance(kept, weakref.ref):
        return [] if kept() is None else raw_arrays(kept())
    if isinstance(kept, memoryview):
        return [np.asarray(kept)]
    if isinstance(kept, Lazy):
        return raw_arrays(kept.made or [])
    if isinstance(kept, dict):
        kept = list(kept.values())
    if isinstance(kept, (tuple, list)):
        return [array for part in kept for array in raw_arrays(part)]
    return [np.asarray(getattr(kept, "_data", kept))]


def keeping(kind: str, name: str) -> tuple[Any, list[Any]]:
    """Returns an operator that keeps its two outputs, and the list of what it keeps."""
    kept: list[Any] = []

    @customop(kind)
    def keeps(x):
        answer, more = {**KEEPERS, **NUMPY_KEEPERS}[name]((x * 2, x / 2))
        kept.extend(more)
        return answer

    keeps.def_grad(lambda ans, x: lambda g: g[0] * 2 + g[1] / 2)
    keeps.outputs = ["first", "second"]
    return keeps, kept


def apart(outputs: Any, kept: list[Any]) -> None:
    raws = [np.asarray(getattr(output, "_data", output)) for output in outputs]
    for index, raw in enumerate(raws):
        assert type(raw) is np.ndarray
        for other in [*raws[index + 1 :], *raw_arrays(kept)]:
            assert not np.shares_memory(raw, other)


def expected(name: str, x: np.ndarray) -> list[np.ndarray]:
    special = {"one array twice": [x * 2, x * 2], "one of the other": [x * 2, (x * 2)[::-1]]}
    return special.get(name, [x * 2, x / 2])


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_outputs_of_ndarrays(kind: str, name: str, recorded: bool) -> None:
    keeps, kept = keeping(kind, name)
    x = nd.array([1, 2, 3])
    x.attach_grad()
    for _ in range(2):
        with autograd.record() if recorded else autograd.pause():
            outputs = keeps(x)
        apart(outputs, kept)
        for output, value in zip(outputs, expected(name, x.asnumpy()), strict=True):
            np.testing.assert_array_equal(output.asnumpy(), value)
            output[:] = -1
    assert all(not (raw == -1).any() for raw in raw_arrays(kept))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_outputs_of_numpy_arrays(kind: str, name: str) -> None:
    keeps, kept = keeping(kind, name)
    x = np.array([1.0, 2, 3])
    for _ in range(2):
        outputs = keeps(x)
        apart(outputs, kept)
        for output, value in zip(outputs, expected(name, x), strict=True):
            np.testing.assert_array_equal(output, value)
            output[:] = -1
    assert all(not (raw == -1).any() for raw in raw_arrays(kept))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_outputs_of_executors(kind: str, name: str) -> None:
    keeps, kept = keeping(kind, name)
    symbol = mx.sym.Group(list(keeps(mx.sym.var("x"))))
    x = nd.array([1, 2, 3])
    executor = symbol.bind(mx.cpu(), {"x": x}, {"x": nd.zeros(3)})
    for _ in range(4):  # step by step, then compiled
        outputs = executor.forward(is_train=True)
        apart(outputs, kept)
        for output, value in zip(outputs, expected(name, x.asnumpy()), strict=True):
            np.testing.assert_array_equal(output.asnumpy(), value)
        executor.backward([nd.ones(3), nd.ones(3)])
        for output in outputs:
            output[:] = -1
    assert all(not (raw == -1).any() for raw in raw_arrays(kept))


@pytest.mark.parametrize("kind", ["numpy", "mxnet"])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_cached_answer(kind: str, recorded: bool) -> None:
    @functools.lru_cache
    def table(length: int) -> Any:
        steps = np.arange(length, dtype="float32")
        return (steps, steps * 2) if kind == "numpy" else (nd.array(steps), nd.array(steps * 2))

    @customop(kind)
    def cached(x):
        return table(len(x))

    cached.def_grad_zero()
    x = nd.array([1, 2, 3])
    x.attach_grad()
    for _ in range(3):
        with autograd.record() if recorded else autograd.pause():
            outputs = cached(x)
        assert [output.asnumpy().tolist() for output in outputs] == [[0, 1, 2], [0, 2, 4]]
        for output in outputs:
            output[:] = 100


@pytest.mark.parametrize("keep", ["array", "view", "weak reference", "subclass", "memoryview"])
def test_one_output(keep: str) -> None:
    kept: list[Any] = []

    @customop("numpy")
    def keeps(x):
        y = x * 2
        if keep == "subclass":
            y = y.view(Subclass)
        kept.append(
            {"view": lambda: y[1:], "weak reference": lambda: weakref.ref(y), "memoryview": lambda: memoryview(y)}.get(
                keep, lambda: y
            )()
        )
        return y

    for x in (np.ones(3), nd.ones(3)):
        kept.clear()
        y = keeps(x)
        apart([y], kept)
        assert type(y) is type(x)


@pytest.mark.parametrize("kind", ["numpy", "mxnet"])
def test_a_generator_is_no_answer(kind: str) -> None:
    @customop(kind)
    def generates(x):
        yield x * 2

    with pytest.raises(ArgumentError, match=r"generates: its forward is generator .*; expected an array, a number, or"):
        generates(nd.ones(3))


@pytest.mark.parametrize("method", ["out_data", "the list", "popped", "a slice", "in backward"])
def test_what_a_custom_op_keeps(method: str) -> None:
    kept: list[Any] = []

    def keep(arrays: list[Any]) -> None:
        if method == "the list":
            kept.append(arrays)
        elif method == "popped":
            kept.append(arrays.pop())
        elif method == "a slice":
            kept.append(arrays[0][1:])
        else:
            kept.append(arrays[0])

    class Keeps(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)
            if method != "in backward":
                keep(out_data)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)
            keep(in_grad)
            if method == "in backward":
                keep(out_data)

    name = f"keeps_{method}"
    mx.operator.register(name)(
        type("KeepsProp", (mx.operator.CustomOpProp,), {"create_operator": lambda self, *arguments: Keeps()})
    )
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type=name)
    y.backward()
    assert len(kept) == 2
    apart([y, x.grad], kept)
    y[:] = -1
    x.grad[:] = -1
    values = [value.tolist() for value in raw_arrays(kept)]
    assert values == (
        [[4, 6], [2, 2]] if method == "a slice" else [[2, 2, 2], [2, 4, 6]][:: 1 if "in" in method else -1]
    )


def test_what_a_function_keeps() -> None:
    class Keeps(autograd.Function):
        def forward(self, x):
            self.y = x * 2
            return self.y

        def backward(self, dy):
            return dy * self.y

    x = nd.array([1, 2, 3])
    x.attach_grad()
    function = Keeps()
    with autograd.record():
        y = function(x)
    y[:] = 0
    assert function.y.asnumpy().tolist() == [2, 4, 6]
    function = Keeps()
    y = function(x)
    y[:] = 0
    assert function.y.asnumpy().tolist() == [2, 4, 6]


def test_a_cached_answer_of_a_function() -> None:
    table = [nd.array([1, 2]), nd.array([3, 4])]

    class Cached(autograd.Function):
        def forward(self, x):
            return table

        def backward(self, *heads):
            return heads[0]

    x = nd.array([0, 0])
    x.attach_grad()
    for scope in (autograd.record, autograd.pause):
        with scope():
            outputs = Cached()(x)
        for output in outputs:
            output[:] = 9
    assert [value.asnumpy().tolist() for value in table] == [[1, 2], [3, 4]]
