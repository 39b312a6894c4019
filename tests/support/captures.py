"""Functions captured, and what came of it computed node by node: the naive way, beside the function as written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minpy import nd
from minpy.capture.capture import Capture, Captured
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import Array
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.graph.interpreting import step_call
from minpy.graph.ir import Node, Value, topological

__all__ = ["captured", "computed", "require_as_written"]


def captured(function: Callable[..., Any], arguments: Sequence[Any], **options: Any) -> Captured:
    """Return what came of a capture of a call."""
    capture = Capture(getattr(function, "__name__", "function"), **options)
    return capture.run(function, *map(capture.argument, arguments))


def computed(run: Captured, arguments: Sequence[Any]) -> tuple[Any, dict[int, Any]]:
    """Return (what a captured function returns for other arrays, in the classes that it gives; what it changes)."""
    arrays = list(
        {id(value): value for value in leaves_of(arguments) if isinstance(value, (np.ndarray, Array))}.values()
    )
    env: dict[Node, Any] = {
        value.node: np.array(array._data if isinstance(array, Array) else array)
        for value, array in zip(run.inputs, arrays, strict=True)
    }
    env.update(zip(run.reads.nodes, run.reads.arrays(), strict=True))

    def of(value: Value) -> Any:
        for node in topological([value]):
            if node not in env:
                inputs = [
                    env[one.node][one.index] if type(env[one.node]) is tuple else env[one.node] for one in node.inputs
                ]
                env[node] = step_call(node)(*inputs)
        answer = env[value.node]
        return answer[value.index] if type(answer) is tuple else answer

    def made(leaf: Any, _: Any) -> Any:
        inner = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
        if not isinstance(inner, BaseArrayProxy):
            return leaf
        found = of(inner._value)
        assert (np.shape(found), np.asarray(found).dtype) == (inner.shape, inner.dtype), inner._value.node
        if isinstance(leaf, NDArrayProxy):
            return nd.array(found, dtype=found.dtype)
        if inner.front is not None:
            return nd.array(found, dtype=np.asarray(found).dtype).as_np_ndarray().reshape(inner.shape)
        return np.asarray(found)[()] if inner.scalar else np.array(found)

    return map_tree(made, run.outputs), {position: np.array(of(value)) for position, value in run.writes}


def require_as_written(function: Callable[..., Any], make: Callable[[int], Sequence[Any]], **options: Any) -> Captured:
    """Capture a function with some arguments, and compare what came of it with the function, on others."""
    run = captured(function, make(0), **options)
    for seed in (0, 1):
        arguments, others = make(seed), make(seed)
        with np.errstate(all="ignore"):
            expected = function(*arguments)
            found, changed = computed(run, others)
        pairs = zip(leaves_of(found), leaves_of(expected), strict=True)
        for number, (one, other) in enumerate(pairs):
            _require_same(one, other, f"output {number}")
        arrays = [value for value in leaves_of(others) if isinstance(value, (np.ndarray, Array))]
        afterwards = [value for value in leaves_of(arguments) if isinstance(value, (np.ndarray, Array))]
        for position, (before, after) in enumerate(zip(arrays, afterwards, strict=True)):
            raw = after._data if isinstance(after, Array) else after
            was = before._data if isinstance(before, Array) else before
            np.testing.assert_array_equal(changed.get(position, was), raw, f"argument {position}")
    return run


def _require_same(found: Any, expected: Any, message: str) -> None:
    assert type(found) is type(expected), (message, type(found), type(expected))
    if isinstance(found, (np.ndarray, np.generic, Array)):
        one, other = (np.asarray(value._data if isinstance(value, Array) else value) for value in (found, expected))
        assert (one.shape, one.dtype) == (other.shape, other.dtype), message
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7, err_msg=message)
    else:
        assert found == expected, message
