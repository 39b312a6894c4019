"""A default stands in one place, the signature of the operator's forward function, and is filled in once."""

from __future__ import annotations

import functools
import gc

import numpy as np
import pytest

import minpy as mx
from minpy import customop, nd
from minpy.core.errors import ArgumentError
from minpy.core.operator import Operator

BUILTIN = sorted(
    (one for one in gc.get_objects() if isinstance(one, Operator) and one.builtin), key=lambda one: one.__name__
)


def functions_of(operator):
    """Yield all that an operator calls beside its forward function, as it was written."""
    rules = operator.gradients
    forms = [*rules.definitions, *rules.raw, *rules.by_keyword.values(), *rules.jvp.values(), *rules.into.values()]
    forms += [rule for _, rule in rules.several]
    forms += [operator.shape_rule, operator.shape_inference, operator.type_inference, operator.into]
    forms += [operator.forward] if operator.forward is not operator.definition else []
    for form in forms:
        if form is not None:
            yield getattr(form, "adapted_from", form)


def restated(operator, function):
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    positions = code.co_varnames[: code.co_argcount]
    inputs = positions[len(positions) - len(function.__defaults__ or ()) :]
    signature = operator.signature
    return [
        *(name for name in function.__kwdefaults__ or () if name in signature.attributes),
        *(name for name in inputs if name in signature.defaults),
    ]


@pytest.mark.parametrize("operator", BUILTIN, ids=lambda operator: operator.__name__)
def test_nobody_restates_a_default(operator):
    found = {function.__qualname__: restated(operator, function) for function in functions_of(operator)}
    assert not any(found.values()), f"{operator.__name__}: {found}"


def test_the_walk_sees_most_functions():
    assert sum(1 for operator in BUILTIN for _ in functions_of(operator)) > 900


def scaled(x, *, factor=2.0, power=1.0, note=""):
    return factor * x**power


def test_rules_get_what_they_name_filled_in():
    operator = customop("numpy")(scaled)
    operator.def_grad(lambda ans, x, *, power, factor: lambda g: g * factor * power * x ** (power - 1))
    x = nd.array([3.0])
    x.attach_grad()
    for attributes, expected in (({}, 2), ({"power": 2.0}, 12), ({"note": "a", "factor": 5.0}, 5)):
        with mx.autograd.record():
            y = operator(x, **attributes)
        y.backward()
        assert x.grad.asscalar() == expected


def test_a_default_of_a_rule_that_drifted_does_not_count():
    operator = customop("numpy")(scaled)
    operator.def_grad(lambda ans, x, *, factor=7.0, power: lambda g: g * factor)
    x = nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = operator(x)
    y.backward()
    assert x.grad.asscalar() == 2


def test_wrapped_rules_get_everything_filled_in():
    seen = []

    def rule(ans, x, *, factor, power, note):
        seen.append((factor, power, note))
        return lambda g: g * factor

    @functools.wraps(rule)
    def wrapper(first, *rest, **attributes):
        return rule(first, *rest, **attributes)

    operator = customop("numpy")(scaled)
    operator.def_grad(wrapper)
    x = nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = operator(x, note="b")
    y.backward()
    assert seen == [(2.0, 1.0, "b")]


def test_callables_that_are_no_functions_get_what_they_name():
    class Rule:
        def __call__(self, ans, x, *, factor):
            return lambda g: g * factor

    operator = customop("numpy")(scaled)
    for rule in (Rule(), functools.partial(lambda extra, ans, x, *, factor: lambda g: g * factor, None)):
        operator.def_grad(rule)
        x = nd.array([3.0])
        x.attach_grad()
        with mx.autograd.record():
            y = operator(x, power=1.0)
        y.backward()
        assert x.grad.asscalar() == 2


def test_a_rule_that_names_what_there_is_not():
    operator = customop("numpy")(scaled)
    with pytest.raises(
        ArgumentError,
        match=(
            r"scaled: the gradient rule of argument 0 \(x\) names 'factr', which the operator does not have; its "
            r"attributes are factor, power, note. Did you mean 'factor'\?"
        ),
    ):
        operator.def_grad(lambda ans, x, *, factr: lambda g: g * factr)
    assert not operator.has_rule(0)


def test_inputs_with_defaults_are_filled_in_too():
    @customop("numpy")
    def shifted(x, by=1.0):
        return x + by

    shifted.def_grad(lambda ans, x, by: lambda g: g * np.sign(by))
    np.testing.assert_array_equal(mx.grad(lambda x: shifted(x).sum())(np.ones(2)), [1, 1])
