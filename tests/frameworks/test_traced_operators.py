"""`op.traced`: an operator's steps and those of its gradients, for shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy
from minpy import customop
from minpy.core.errors import ArgumentError, NotTraceableError
from minpy.frameworks.tracing import TracedOperator

SCALE = np.array([1.0, 2.0, 3.0])


@customop("numpy")
def softplus(x, *, beta: float = 1.0):
    return np.logaddexp(0, beta * x) / beta


softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))


@customop("numpy")
def scaled(x):
    return x * SCALE


scaled.def_grad(lambda ans, x: lambda g: g * SCALE)


def names(steps: Any) -> list[str]:
    return [line.split(" = ")[1].split("(")[0] for line in str(steps).splitlines() if " = " in line.split("->")[0]]


def test_steps_shapes_and_dtypes() -> None:
    traced = softplus.traced(((2, 3), "float32"), beta=2.0)
    assert isinstance(traced, TracedOperator)
    assert traced.reason is None
    assert traced.attributes == {"beta": 2.0}
    assert traced.differentiable == (0,)
    assert not traced.returns_tuple
    assert [str(spec) for spec in traced.outputs] == ["float32 (2, 3)"]
    assert names(traced.forward) == ["numpy.multiply", "numpy.logaddexp", "numpy.divide"]
    assert len(traced.forward) == 3
    assert traced.is_current()
    gradient = traced.vjp()
    assert gradient is traced.vjp([0])
    assert [str(spec) for spec in gradient.input_specs] == ["float32 (2, 3)"] * 3
    assert [str(spec) for spec in gradient.output_specs] == ["float32 (2, 3)"]
    assert names(gradient)[-1] == "numpy.divide"


def test_it_prints_as_text_with_lines() -> None:
    text = str(softplus.traced(np.ones(2)))
    assert text.startswith("softplus(a0: float64 (2,))\n    v0 = numpy.multiply(1.0, a0) -> float64 (2,)  # line ")
    assert "return np.logaddexp(0, beta * x) / beta" in text
    assert "gradient of softplus(a0: float64 (2,), a1: float64 (2,), a2: float64 (2,))" in text


def test_numbers_are_part_of_the_steps() -> None:
    @customop("numpy")
    def shifted(x, shift):
        return x + shift

    shifted.def_grad(lambda ans, x, shift: lambda g: g)
    traced = shifted.traced(((2,), "float32"), 2.0)
    assert [str(spec) for spec in traced.outputs] == ["float32 (2,)"]
    assert len(traced.forward.inputs) == 1
    assert traced.differentiable == (0,)


def test_integers_and_zero_rules_have_no_gradient() -> None:
    @customop("numpy")
    def pick(scores, classes, weights):
        return scores[np.arange(len(scores)), classes] * weights

    pick.def_grad(lambda ans, scores, classes, weights: lambda g: scores * g[:, None])
    pick.def_grad_zero(2)
    traced = pick.traced(((4, 3), "f8"), ((4,), "i8"), ((4,), "f8"))
    assert traced.differentiable == (0,)
    assert traced.reason is None
    zeros = traced.vjp([2])
    assert len(zeros) == 0
    assert [str(spec) for spec in zeros.output_specs] == ["float64 (4,)"]


def test_the_reason_is_that_of_the_first_part_that_does_not_trace() -> None:
    @customop("numpy")
    def chosen(x):
        return x if x.sum() > 0 else -x

    traced = chosen.traced(np.ones(2))
    assert traced.reason is not None
    assert traced.reason.startswith("chosen does not trace: it chooses by values")
    assert "test_traced_operators.py:" in traced.reason
    assert "return x if x.sum() > 0 else -x" in traced.reason
    with pytest.raises(NotTraceableError, match="chosen does not trace: it chooses by values"):
        _ = traced.forward
    assert str(traced) == traced.reason

    @customop("numpy")
    def squared(x):
        return x * x

    squared.def_grad(lambda ans, x: lambda g: 2 * x * g if g.sum() > 0 else g)
    traced = squared.traced(np.ones(2))
    assert len(traced.forward) == 1
    assert traced.reason is not None
    assert traced.reason.startswith("gradient of squared for x does not trace: it chooses by values")
    with pytest.raises(NotTraceableError, match="gradient of squared for x does not trace"):
        traced.vjp()


def test_what_is_read_outside_is_compared_and_fetched() -> None:
    settings = {"factor": 2.0}

    @customop("numpy")
    def factored(x):
        return x * settings["factor"]

    factored.def_grad(lambda ans, x: lambda g: g * settings["factor"])
    traced = factored.traced(np.ones(3))
    assert traced.is_current()
    settings["factor"] = 3.0
    assert not traced.is_current()
    forward = scaled.traced(np.ones(3)).forward
    assert len(forward.captured) == 1
    assert forward.captured_arrays()[0] is SCALE


def test_rules_of_forward_mode() -> None:
    @customop("numpy")
    def both(x):
        return np.sin(x), np.cos(x)

    both.def_grad(lambda ans, x: lambda g: g[0] * ans[1] - g[1] * ans[0])
    both.def_jvp(lambda ans, x: lambda t: (t * ans[1], -t * ans[0]))
    traced = both.traced(np.ones(3))
    assert traced.returns_tuple
    steps = traced.jvp(0)
    assert [str(spec) for spec in steps.output_specs] == ["float64 (3,)"] * 2
    assert len(steps.inputs) == 4
    with pytest.raises(NotTraceableError, match=r"rule of def_jvp of softplus .* there is no such rule"):
        softplus.traced(np.ones(3)).jvp(0)


def test_built_in_operators_trace() -> None:
    traced = minpy.nd.LayerNorm.traced(((4, 3), "f4"), ((3,), "f4"), ((3,), "f4"))
    assert traced.reason is None
    assert str(traced.outputs[0]) == "float32 (4, 3)"
    assert minpy.nd.tanh.traced(((2,), "f4")).reason is None


def test_arguments_that_say_no_shape_or_no_length() -> None:
    with pytest.raises(ArgumentError, match=r"says no shape and dtype; expected an array, or a pair of both"):
        softplus.traced("abc")
    with pytest.raises(NotTraceableError, match=r"softplus: x has shape .*-1.*; a trace takes lengths that are known"):
        softplus.traced(((2, -1), "float32"))
    with pytest.raises(ArgumentError, match="softplus"):
        softplus.traced()
