"""`help` and `inspect` show an operator as they show a function, and which gradients it has."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import numpy as np
import pytest

from minpy import customop, nd
from minpy.core.operator import Operator
from minpy.ops.ufunc import UnaryUfunc
from minpy.primitive import Primitive


def softplus(x, beta=1.0, shift=0.0, *, limit=3.0):  # type: ignore[no-untyped-def]
    """Return a smooth maximum.

    Parameters
    ----------
    x : array
    """
    return x * beta


def made() -> Any:
    operator = customop("numpy")(softplus)
    operator.def_grad(lambda ans, x, beta, shift: lambda g: g)
    operator.def_grad_zero(1)
    return operator


def shown(thing: Any) -> str:
    return pydoc.plain(pydoc.render_doc(thing)).partition("\n\n")[2]


HELP = """softplus(x, beta=1.0, shift=0.0, *, limit=3.0)
    Return a smooth maximum.

    Parameters
    ----------
    x : array

    Gradients
    ---------
    x : by a rule
    beta : zero
    shift : none; softplus.def_grad(rule, argnum=2) adds one"""


def test_help_shows_signature_docstring_and_gradients() -> None:
    assert [line.rstrip() for line in shown(made()).splitlines()] == HELP.splitlines()


def test_help_follows_the_rules() -> None:
    operator = made()
    operator.def_jvp(lambda ans, x, beta, shift: lambda t: t)
    assert "x : by a rule, and one of forward mode\n" in operator.__doc__
    with pytest.warns(UserWarning, match="the gradient of argument 0"):
        operator.def_multiple_grad(lambda ans, x, beta, shift: lambda g: (g, g), argnums=(0, 2))
    assert "shift : by the rule for several arguments" in operator.__doc__
    operator.def_grad_kw(lambda ans, x, beta, shift, *, limit: lambda g: g, key="limit")
    assert operator.__doc__.endswith("limit : by a rule")
    operator.def_grad_zero()
    assert "x : zero" in operator.__doc__


def test_operators_without_docstring_or_inputs() -> None:
    @customop("numpy")
    def first(*arrays):  # type: ignore[no-untyped-def]
        return arrays[0]

    @customop("numpy")
    def nothing():  # type: ignore[no-untyped-def]
        return 1.0

    assert first.__doc__ == "Gradients\n---------\n*arrays : none; first.def_multiple_grad(rule) adds them"
    assert nothing.__doc__ == "Gradients\n---------\nnone: it has no inputs"
    first.def_multiple_grad(lambda ans, *arrays: lambda g: [g])
    assert "*arrays : by the rule for several arguments" in first.__doc__


class Layer:
    """A layer."""

    @customop("numpy")
    def scale(self, x, by=2.0):  # type: ignore[no-untyped-def]
        """Return x times a number."""
        return x * by


def test_methods() -> None:
    text = "Return x times a number.\n\nGradients\n---------\nx : none; scale.def_grad(rule, argnum=0) adds one\n"
    assert Layer.scale.__doc__.startswith(text)
    assert Layer().scale.__doc__ == Layer.scale.__doc__
    assert str(inspect.signature(Layer().scale)) == "(x, by=2.0)"
    assert shown(Layer().scale).startswith("scale(x, by=2.0)\n    Return x times a number.")
    bound = Layer().scale
    other = type("Other", (), {"scale": bound})
    assert other().scale is bound


@pytest.mark.parametrize("cls", [Operator, UnaryUfunc, type(Layer().scale)])
def test_classes_keep_their_own_docstrings(cls: Any) -> None:
    assert isinstance(cls.__doc__, str)
    assert "Gradients\n---" not in cls.__doc__
    assert inspect.getdoc(cls) == inspect.cleandoc(cls.__doc__)


def test_docstrings_can_be_given() -> None:
    operator = made()
    operator.__doc__ = "Mine."
    assert inspect.getdoc(operator) == operator.__doc__ == "Mine."


def test_builtin_operators_have_the_docstring_of_their_function() -> None:
    assert nd.FullyConnected.__doc__ == nd.FullyConnected.__wrapped__.__doc__
    assert shown(nd.tanh).startswith("tanh(data)\n    Return the hyperbolic tangent of each element.\n")


def test_dir_of_an_operator_lists_what_is_for_users() -> None:
    shown = [name for name in dir(nd.softmax) if not name.startswith("_")]
    assert {"check", "def_grad", "compile", "signature"} <= {*shown}
    assert not {"raw_rules", "plan", "keeps_dtype", "vjp", "adopt"} & {*shown}
    for name in shown:
        member = getattr(type(nd.softmax), name, None)
        assert hasattr(nd.softmax, name)
        assert not callable(member) or inspect.getdoc(member), name
    assert "__name__" in dir(nd.softmax)
    assert {"gradable", "typestr"} <= {*dir(Primitive(np.tanh, 0))}
