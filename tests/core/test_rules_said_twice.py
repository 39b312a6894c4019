"""Definitions that replace one another, and rules that cannot be called: said when they are defined."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import customop
from minpy.core.errors import ArgumentError


def made(**options: Any) -> Any:
    @customop("numpy", **options)
    def product(x, y, *, scale=1.0):
        return x * y * scale

    return product


def rule(ans: Any, x: Any, y: Any) -> Any:
    return lambda g: g * y


def other_rule(ans: Any, x: Any, y: Any) -> Any:
    return lambda g: g * x


def shapes(inputs: Any, outputs: Any) -> Any:
    return inputs, outputs


def other_shapes(inputs: Any, outputs: Any) -> Any:
    return outputs, inputs


# What is defined, how it is defined first and then again, and what a second argument would have been given with.
TWICE: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any], str]] = {
    "gradient of argument 0 (x)": (
        "def_grad",
        lambda op: op.def_grad(rule),
        lambda op: op.def_grad(other_rule),
        "def_grad(rule, argnum=1)",
    ),
    "gradient of argument 1 (y)": (
        "def_grad",
        lambda op: op.def_grad_zero(1),
        lambda op: op.def_grad(other_rule, 1),
        "def_grad(rule, argnum=0)",
    ),
    "gradient of argument 0 (x), said to be zero": (
        "def_grad_zero",
        lambda op: op.def_grad(rule),
        lambda op: op.def_grad_zero(0),
        "def_grad_zero(1)",
    ),
    "gradient of argument 0 (x), of several": (
        "def_multiple_grad",
        lambda op: op.def_grad(rule),
        lambda op: op.def_multiple_grad(other_rule, (0,)),
        "",
    ),
    "gradient of scale": (
        "def_grad_kw",
        lambda op: op.def_grad_kw(lambda ans, x, y, *, scale: lambda g: g, "scale"),
        lambda op: op.def_grad_kw(lambda ans, x, y, *, scale: lambda g: 2 * g, "scale"),
        "",
    ),
    "forward-mode rule of argument 1 (y)": (
        "def_jvp",
        lambda op: op.def_jvp(rule, 1),
        lambda op: op.def_jvp(other_rule, 1),
        "def_jvp(rule, argnum=0)",
    ),
    "kernel": (
        "def_kernel",
        lambda op: op.def_kernel(lambda x, y: x * y),
        lambda op: op.def_kernel(lambda x, y: y * x),
        "",
    ),
    "form for given memory": (
        "def_into",
        lambda op: op.def_into(lambda out, x, y: np.multiply(x, y, out)),
        lambda op: op.def_into(lambda out, x, y: np.multiply(y, x, out)),
        "",
    ),
    "kernel of the gradient of argument 0 (x)": (
        "def_grad_kernel",
        lambda op: op.def_grad(rule).def_grad_kernel(rule),
        lambda op: op.def_grad_kernel(other_rule),
        "def_grad_kernel(rule, argnum=1)",
    ),
    "shape rule": ("def_shape", lambda op: op.def_shape(shapes), lambda op: op.def_shape(other_shapes), ""),
    "inference of shapes": (
        "def_infer_shape",
        lambda op: op.def_infer_shape(shapes),
        lambda op: op.def_infer_shape(other_shapes),
        "",
    ),
    "inference of dtypes": (
        "def_infer_type",
        lambda op: op.def_infer_type(shapes),
        lambda op: op.def_infer_type(other_shapes),
        "",
    ),
}


@pytest.mark.parametrize("what", TWICE)
def test_a_second_definition_warns_with_both_places(what: str) -> None:
    method, first, second, remedy = TWICE[what]
    op = made()
    first(op)
    with pytest.warns(UserWarning, match="is defined already") as caught:
        second(op)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith(f"product.{method}: the {what.partition(',')[0]} is defined already, with def_"), text
    places = re.findall(rf"{re.escape(__file__)}:(\d+)", text)
    assert len(places) == 2
    assert places[0] != places[1]
    assert text.endswith(f"it is meant for another argument, say for which: {remedy}." if remedy else "replaces it.")
    assert caught[0].filename == __file__


def test_what_is_no_second_definition() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):  # the operator is another one
            made().def_grad(rule).def_grad(other_rule, argnum=1).def_grad_zero()
        op = made()
        for _ in range(2):  # the very same
            op.def_grad(rule)
            op.def_grad_zero(1)
            op.def_jvp(lambda ans, x, y: lambda t: t * y)
        op = made().def_grad_zero()  # all but one
        op.def_grad(rule)
        mx.nd.exp.def_grad(mx.nd.exp.rules[0])  # of ours


CELL = """
@customop('numpy')
def cube(x):
    return x ** 3
"""
RULE_CELL = """
@cube.def_grad
def gradient_of_cube(ans, x):
    return lambda g: {factor} * g * x ** 2
"""
PROP_CELL = """
@mx.operator.register('of_a_notebook')
class Prop(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return {answer}
"""


def test_cells_of_a_notebook_run_again() -> None:
    scope: dict[str, Any] = {"customop": customop, "mx": mx, "__name__": "__main__"}

    def run(cell: str, number: int) -> None:
        exec(compile(cell, f"/tmp/ipykernel_1/{number}.py", "exec"), scope)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(2):
            run(CELL, number)
            run(RULE_CELL.format(factor=3), 5)
        run(RULE_CELL.format(factor=3), 5)
        run(RULE_CELL.format(factor=3.0), 6)  # edited
        run(PROP_CELL.format(answer=None), 7)
        run(PROP_CELL.format(answer=1), 8)
    assert mx.grad(scope["cube"])(2.0) == 12
    with pytest.warns(UserWarning, match=r"gradient of argument 0 \(x\) is defined already"):
        run("cube.def_grad(lambda ans, x: lambda g: g)", 9)


# -- rules that cannot be called ---------------------------------------------------------------------------------------

RULE = "product: the gradient rule of argument 0 (x)"
WRITE = "Write def rule(ans, x, y, *, scale): return lambda g: ..., with those of the attributes that it reads."
ANS = " What the operator returned, ans, comes first."
UNCALLABLE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "lacks ans": (
        lambda op: op.def_grad(lambda x, y: lambda g: g * y),
        f"{RULE} takes (x, y), and is called with (ans, x, y).{ANS} {WRITE}",
    ),
    "lacks an input": (
        lambda op: op.def_grad(lambda ans, x: lambda g: g),
        f"{RULE} takes (ans, x), and is called with (ans, x, y). {WRITE}",
    ),
    "is not staged": (
        lambda op: op.def_grad(lambda g: g),
        f"{RULE} takes (g), and is called with (ans, x, y).{ANS} {WRITE}",
    ),
    "wants more": (
        lambda op: op.def_grad(lambda ans, x, y, z: lambda g: g),
        f"{RULE} takes (ans, x, y, z), and is called with (ans, x, y). {WRITE}",
    ),
    "of several": (
        lambda op: op.def_multiple_grad(lambda x, y: lambda g: (g, g)),
        f"product: the rule takes (x, y), and is called with (ans, x, y).{ANS} {WRITE}",
    ),
    "of forward mode": (
        lambda op: op.def_jvp(lambda x, y: lambda t: t),
        f"{RULE} takes (x, y), and is called with (ans, x, y).{ANS} {WRITE}",
    ),
    "kernel": (
        lambda op: op.def_kernel(lambda x: x),
        (
            "product: the kernel takes (x), and is called with (x, y). Write def rule(x, y, *, scale), with those of "
            "the attributes that it reads."
        ),
    ),
    "into": (
        lambda op: op.def_into(lambda x, y: x),
        (
            "product: the form for given memory takes (x, y), and is called with (out, x, y). Write def rule(out, x, "
            "y, *, scale), with those of the attributes that it reads."
        ),
    ),
    "shape": (
        lambda op: op.def_shape(lambda x: x),
        (
            "product: the shape rule takes (x), and is called with (x, y). Write def rule(x, y, *, scale), with those "
            "of the attributes that it reads."
        ),
    ),
}


@pytest.mark.parametrize("case", UNCALLABLE)
def test_a_rule_that_cannot_be_called_is_refused_when_it_is_defined(case: str) -> None:
    define, message = UNCALLABLE[case]
    op = made()
    op.def_grad(rule)
    with pytest.raises(ArgumentError) as caught:
        define(op)
    assert str(caught.value) == message
    assert mx.grad(lambda x: op(x, 3.0))(2.0) == 3, "the rule of before is still there"


def test_rules_that_take_anything_or_attributes_by_position() -> None:
    op = made()
    op.def_grad(lambda *everything: lambda g: g * everything[2])
    op.def_grad(lambda ans, x, y, scale: lambda g: g * x * scale, argnum=1)
    assert [float(one) for one in mx.grad(lambda x, y: op(x, y, scale=1.0), [0, 1])(2.0, 3.0)] == [3, 2]

    @customop("numpy")
    def total(*arrays):
        return sum(arrays)

    total.def_multiple_grad(lambda ans, first, second: lambda g: (g, g))  # for calls with two
    assert [float(one) for one in mx.grad(total, [0, 1])(2.0, 3.0)] == [1, 1]


# -- usual mistakes ----------------------------------------------------------------------------------------------------


def gradient_of_two(rule: Any) -> None:
    op = customop("numpy")(lambda x: (2 * x, 3 * x))
    op.def_grad(rule)
    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        first, _ = op(x)
    first.backward()


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a string that is an input": (
        lambda: customop("numpy")(lambda x, kind: x + kind)(mx.nd.ones(2), "abc"),
        "What is a string is an attribute, after the star: def <lambda>(..., *, kind).",
    ),
    "asnumpy": (
        lambda: customop("numpy")(lambda x: x.asnumpy())(mx.nd.ones(2)),
        "What is made with @customop('numpy') is given NumPy arrays: leave out asnumpy().",
    ),
    "gradients of outputs one by one": (
        lambda: gradient_of_two(lambda ans, x: lambda g1, g2: 2 * g1 + 3 * g2),
        "The upstream gradient of several outputs is one tuple: lambda g: ..., with g[0], g[1].",
    ),
    "a tuple times two": (
        lambda: gradient_of_two(lambda ans, x: lambda g: 2 * g),
        "The upstream gradient of several outputs is a tuple: use g[0], g[1].",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_usual_mistakes_are_told_with_the_next_step(mistake: str) -> None:
    make, advice = MISTAKES[mistake]
    with pytest.raises(mx.MXNetError) as caught:
        make()
    assert str(caught.value).endswith(advice)
