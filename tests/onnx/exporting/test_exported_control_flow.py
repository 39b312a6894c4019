"""Loops and branches as Scan, Loop and If: for lengths that are open, loops that end early, loops in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from many import each

from minpy import sym

pytest.importorskip("onnx", minversion="1.16", reason="models are checked by onnx")
pytest.importorskip("onnxruntime", reason="models are run by onnxruntime")

from exported import exported, op_types

from minpy.onnx.exporting.sources import ExportError

X, W, S, Q = map(sym.var, ("x", "w", "s", "q"))


def recurrent() -> Any:
    def body(data: Any, state: Any) -> Any:
        moved = sym.tanh(data * W + state)
        return moved * 2, moved

    return sym.Group(list(sym.contrib.foreach(body, X, S)))


def unchanged() -> Any:
    """Return a loop whose outputs are its inputs."""
    return sym.Group(list(sym.contrib.foreach(lambda data, state: (state, data), X, S)))


def several() -> Any:
    outputs, states = sym.contrib.foreach(
        lambda data, states: ([data[0] + data[1], data[0]], [states[0] + data[1], states[1] * 2]), [X, W], [S, Q]
    )
    return sym.Group([*outputs, *states])


def nested() -> Any:
    def outer(data: Any, state: Any) -> Any:
        inner, _ = sym.contrib.foreach(
            lambda part, total: (sym.broadcast_add(part * W, sym.sum(total)), total + 1), data, state
        )
        return inner, sym.contrib.cond(sym.sum(inner) > 0, lambda: state + 1, lambda: state - 1)

    return sym.Group(list(sym.contrib.foreach(outer, X, S)))


LOOPS: dict[str, Any] = {
    "recurrent": (recurrent, {"x": (4, 3), "w": (3,), "s": (3,)}, {"x": ("t", "n"), "w": ("n",), "s": ("n",)}),
    "inputs returned": (unchanged, {"x": (4, 1), "s": (1,)}, {"x": ("t", 1), "s": (1,)}),
    "numbers": (unchanged, {"x": (4,), "s": (1,)}, {"x": ("t",), "s": (1,)}),
    "several": (several, {"x": (4, 2), "w": (4, 2), "s": (2,), "q": (3,)}, None),
    "no state": (lambda: sym.contrib.foreach(lambda data, _: (data + 1, []), X, [])[0], {"x": (4, 2)}, {"x": ("t", 2)}),
    "nested": (nested, {"x": (2, 4, 3), "w": (3,), "s": (3,)}, {"x": ("a", "b", 3), "w": (3,), "s": (3,)}),
}


@each(LOOPS)
def test_loops_over_arrays_are_scans(make: Any, shapes: Any, dynamic: Any) -> None:
    symbol = make()
    assert op_types(exported(symbol, shapes)).count("Scan") == 1
    exported(symbol, shapes, opset=13)
    if dynamic is not None:
        exported(symbol, shapes, dynamic=dynamic)


def counted(most: int) -> Any:
    index = sym.var("i")
    outputs, states = sym.contrib.while_loop(
        lambda index, total: sym.sum(total) < 10,
        lambda index, total: ([total * 2 + W], [index + 1, total + W * W]),
        [index, S],
        max_iterations=most,
    )
    return sym.Group([outputs[0], *states])


@pytest.mark.parametrize("opset", [13, None])
@pytest.mark.parametrize("first", [0.0, 2.5, 9.0])
def test_loops_that_end_early_are_padded_with_zeros(first: float, opset: Any) -> None:
    """Of no, some, and as many iterations as there may be."""
    shapes = {"i": (1,), "s": (3,), "w": (3,)}
    example = {"i": np.zeros(1), "s": np.full(3, first), "w": np.ones(3)}
    for most in (2, 7):
        assert "Loop" in op_types(exported(counted(most), shapes, example_inputs=example, opset=opset))
    dynamic = {"i": (1,), "s": ("n",), "w": ("n",)}
    if opset is None:
        exported(counted(7), shapes, example_inputs=example, dynamic=dynamic)


@pytest.mark.parametrize("sign", [1, -1])
def test_branches(sign: int) -> None:
    shapes, dynamic = {"x": (2, 3), "w": (2, 3)}, {"x": ("n", "m"), "w": ("n", "m")}
    example = {"x": np.full((2, 3), float(sign)), "w": np.ones((2, 3))}
    computed = sym.contrib.cond(sym.sum(X) > 0, lambda: sym.exp(X) * W, lambda: X - W)
    taken = sym.contrib.cond(sym.sum(X) > 0, lambda: X, lambda: W)
    for symbol in (computed, taken):
        assert op_types(exported(symbol, shapes, example_inputs=example))[-1] == "If"
        exported(symbol, shapes, example_inputs=example, dynamic=dynamic)


def test_what_a_body_lacks_is_named() -> None:
    outputs, _ = sym.contrib.foreach(
        lambda data, state: (sym.linalg.inverse(data, name="inverted"), state), X, sym.var("s"), name="loop"
    )
    with pytest.raises(ExportError) as error:
        exported(outputs, {"x": (2, 3, 3), "s": (1,)})
    assert "(_foreach): 'inverted' (_linalg_inverse): numpy.linalg.inv" in str(error.value)
