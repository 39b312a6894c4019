"""A default stands in one place, the signature of the operator's forward function, and is filled in once."""

from __future__ import annotations

import functools
import gc

import numpy as np
import pytest
from many import each

import minpy as mx
from minpy import customop, nd
from minpy.core.errors import ArgumentError
from minpy.core.operator import Operator
from minpy.ops.registry import OPERATORS

PUBLIC = [*OPERATORS.values()]  # which imports them
BUILTIN = sorted(
    (one for one in gc.get_objects() if isinstance(one, Operator) and one.builtin), key=lambda one: one.__name__
)


def functions_of(operator):
    """Yield all that an operator calls beside its forward function, as it was written."""
    rules = operator.gradients
    forms = [*rules.definitions, *rules.raw, *rules.by_keyword.values(), *rules.jvp.values(), *rules.into.values()]
    forms += [rule for _, rule in rules.several]
    forms += [operator.shape_rule, operator.shape_inference, operator.type_inference, operator.into]
    definition = getattr(operator.definition, "__code__", operator.definition)
    # A kernel that is the definition with other steps has the definition's own defaults.
    forms += [operator.forward] if getattr(operator.forward, "__code__", operator.forward) is not definition else []
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
        *(name for name in inputs if name in signature.defaults or name in signature.attributes),
    ]


@each({f"{number} {operator.__name__}": (operator,) for number, operator in enumerate(BUILTIN)})
def test_nobody_restates_a_default(operator):
    found = {str(function): restated(operator, function) for function in functions_of(operator)}
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

    for rule in (Rule(), functools.partial(lambda extra, ans, x, *, factor: lambda g: g * factor, None)):
        operator = customop("numpy")(scaled)
        operator.def_grad(rule)
        x = nd.array([3.0])
        x.attach_grad()
        with mx.autograd.record():
            y = operator(x, power=1.0)
        y.backward()
        assert x.grad.asscalar() == 2


def gradient_of(operator, **attributes):
    x = nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = operator(x, **attributes)
    y.backward()
    return x.grad.asscalar()


class HasRules:
    def method(self, ans, x, *, factor):
        return lambda g: g * factor

    def __call__(self, ans, x, factor=7.0):
        return lambda g: g * factor


def passed_on(rule):
    @functools.wraps(rule)
    def wrapper(*arguments, **attributes):
        return rule(*arguments, **attributes)

    return wrapper


def consuming(rule):
    @functools.wraps(rule)
    def wrapper(*arguments, **attributes):
        attributes["factor"] *= attributes.pop("power", 100.0)
        return rule(*arguments, **attributes)

    return wrapper


def by_position(ans, x, factor):
    return lambda g: g * factor


def by_name(ans, x, *, factor):
    return lambda g: g * factor


# However a rule takes an attribute: what it is given is that of the call.
WAYS = {
    "by name": by_name,
    "by position": by_position,
    "by position, restating a default": lambda ans, x, factor=2.0: lambda g: g * factor,
    "by position, with a default that drifted": lambda ans, x, factor=7.0: lambda g: g * factor,
    "with others by name": lambda ans, x, factor=7.0, *, note: lambda g: g * factor,
    "open-ended": lambda ans, x, **attributes: lambda g: g * attributes["factor"],
    "open-ended, others by name": lambda ans, x, *, note, **attributes: lambda g: g * attributes["factor"],
    "decorated": passed_on(by_name),
    "decorated twice": passed_on(passed_on(by_position)),
    "decorated by what takes an attribute itself": consuming(by_name),
    "method": HasRules().method,
    "instance": HasRules(),
    "partial": functools.partial(lambda ans, x, factor, exponent: lambda g: g * factor**exponent, exponent=1),
}


@pytest.mark.parametrize("rule", WAYS.values(), ids=WAYS)
def test_ways_to_take_an_attribute(rule):
    operator = customop("numpy")(scaled).def_grad(rule)
    assert gradient_of(operator) == 2
    assert gradient_of(operator, factor=3.0) == 3
    assert gradient_of(operator, factor=3.0, power=1.0, note="a") == 3


def test_inputs_may_be_called_as_attributes_are():
    operator = customop("numpy")(scaled).def_grad(lambda ans, note, *, factor: lambda g: g * factor * np.sign(note))
    assert gradient_of(operator, factor=3.0, note="a") == 3


def test_rules_of_keyword_arguments_get_what_they_name():
    operator = customop("numpy")(scaled)
    operator.def_grad_kw(lambda ans, x, *, factor, power: lambda g: np.sum(g * x**power), "factor")
    factor = nd.array([5.0])
    factor.attach_grad()
    with mx.autograd.record():
        y = operator(nd.array([3.0]), factor=factor)
    y.backward()
    assert factor.grad.asscalar() == 3


def test_a_rule_that_names_what_there_is_not():
    operator = customop("numpy")(scaled)
    with pytest.raises(
        ArgumentError,
        match=(
            r"scaled: the gradient rule of argument 0 \(x\) names 'factr', which is no attribute of the operator; its "
            r"attributes are factor, power, note. Did you mean 'factor'\?"
        ),
    ):
        operator.def_grad(lambda ans, x, *, factr: lambda g: g * factr)
    assert not operator.has_rule(0)
    with pytest.raises(
        ArgumentError,
        match=(
            r"plain: the gradient rule of argument 0 \(x\) names 'by', which is no attribute of the operator; its "
            r"attributes are none. Inputs are given to it by position."
        ),
    ):
        Operator(lambda x, by=1.0: x + by, name="plain").def_grad(lambda ans, x, *, by: lambda g: g * by)


def test_inputs_with_defaults_are_filled_in_too():
    @customop("numpy")
    def shifted(x, by=1.0):
        return x + by

    shifted.def_grad(lambda ans, x, by: lambda g: g * np.sign(by))
    np.testing.assert_array_equal(mx.grad(lambda x: shifted(x).sum())(np.ones(2)), [1, 1])
