"""What the tape keeps and returns belongs to it: callers may write to what they gave, and to what they got."""

from __future__ import annotations

import gc
import math
import re
import weakref

import numpy as np
import pytest

import minpy
from minpy import autograd, customop, nd
from minpy.core.errors import ArgumentError, DTypeError, MutationError, NoGradientError, OperatorError


def variable(values: object = (1.0, 2.0)) -> nd.NDArray:
    x = nd.array(values)
    x.attach_grad()
    return x


def test_numpy_operands_may_be_written_after_recording():
    x, w, key = variable(), np.ones(2, "float32"), np.array([0, 0])
    with autograd.record():
        y = x * w + x[key]
    w[:] = 5
    key[:] = 1
    y.backward()
    assert x.grad.asnumpy().tolist() == [3.0, 1.0]


def test_arguments_and_results_of_vjp_may_be_written():
    x = np.array([1.0, 2.0])
    result, pull = minpy.vjp(lambda x: np.exp(x) * x, x)
    same, pull_same = minpy.vjp(np.exp, np.zeros(2))
    x[:] = 5
    same[:] = 5
    np.testing.assert_allclose(pull(np.ones(2))[0], np.exp([1.0, 2.0]) * [2.0, 3.0])
    assert pull_same(np.ones(2))[0].tolist() == [1.0, 1.0]
    assert result.shape == (2,)


def test_gradients_share_no_memory():
    a, b, head = variable(), variable(), nd.ones(2)
    with autograd.record():
        y = a + b
    g1, g2 = autograd.grad(y, [a, b], head_grads=head)
    g1[:] = 5
    assert g2.asnumpy().tolist() == head.asnumpy().tolist() == [1.0, 1.0]
    start = np.ones(2)
    g1, g2 = minpy.vjp(np.add, np.ones(2), np.ones(2))[1](start)
    g1[:] = 5
    assert g2.tolist() == start.tolist() == [1.0, 1.0]


def test_a_result_is_not_the_operators_own_array():
    table = np.ones(2)
    lookup = customop("numpy")(lambda x: table)
    result = lookup(np.zeros(2))
    result[:] = 5
    assert table.tolist() == [1.0, 1.0]


def test_a_freed_graph_keeps_no_values():
    x = variable()
    with autograd.record():
        h = x * 2
        y = h * h
        z = (y * 3).sum()
    saved = weakref.ref(h._data)
    del h
    z.backward()
    assert saved() is None
    assert y._node.arguments is None


@pytest.mark.parametrize("make", [minpy.grad, minpy.value_and_grad, minpy.jacobian, minpy.hessian])
def test_derivatives_are_in_no_cycle(make):
    class Held:
        power = 2

    def alive_after() -> weakref.ref:
        held = Held()
        make(lambda x: x**held.power)(2.0)
        return weakref.ref(held)

    gc.disable()
    try:
        assert alive_after()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("convert", "what"), [(float, "float(x)"), (int, "int(x)"), (math.exp, "float(x)")])
def test_a_number_of_a_recorded_array_is_asked_for(convert, what):
    x = variable([2.0])
    convert(x)
    text = (
        f"{what} of a recorded array (float32 (1,)) inside autograd.record(): a number has no gradient. Convert it "
        "explicitly with x.asscalar() or x.detach() if no gradient shall flow"
    )
    with autograd.record(), pytest.raises(NoGradientError, match=re.escape(text)):
        convert(x)
    with autograd.record():
        assert x
        assert x.asscalar() == 2


@pytest.mark.parametrize(
    ("source", "dtype", "error", "text"),
    [
        ([1.0, None], None, DTypeError, "element [1] is None, which is no float32 number. Leave it out"),
        ([[1, 2], [3, "a"]], None, DTypeError, "which is no float32 number. Convert it to a number first."),
        (np.array([1, {}], object), None, DTypeError, "element [1] is dict {}, which is no float32 number."),
        ([1.0, 2j], None, DTypeError, "Give dtype='complex64', or take numpy.real or numpy.abs of it."),
        (
            np.array([[1], [1, 2]], object),
            None,
            ArgumentError,
            "ragged: source[0] has length 1, source[1] has length 2",
        ),
        ([1], "foo", DTypeError, "nd.array: unknown dtype 'foo'; give a numeric dtype such as 'float32'."),
    ],
)
def test_what_is_no_number(source, dtype, error, text):
    with pytest.raises(error, match=re.escape(text)):
        nd.array(source, dtype=dtype)


def test_numbers_of_any_type():
    assert nd.array(np.array([1, 2.5], object)).asnumpy().tolist() == [1.0, 2.5]


def test_a_failing_rule_says_shapes_and_mode():
    @customop("numpy")
    def op(x, y):
        return x + y

    op.def_grad(lambda ans, x, y: lambda g: g / 0 if g is None else {}["k"])
    x = variable(np.ones((3, 4)))
    with autograd.record():
        z = op(x, nd.ones((3, 4)))
    text = "op: gradient rule of x failed on NumPy arrays (backward): x float32 (3, 4), "
    with pytest.raises(OperatorError, match=re.escape(text)):
        z.backward()


def test_a_rule_that_changes_the_upstream_gradient():
    @customop("numpy")
    def op(x):
        return x + 0

    def rule(ans, x):
        def pull(g):
            g *= 2
            return g

        return pull

    op.def_grad(rule)
    x = variable()
    with autograd.record():
        z = op(x)
    with pytest.raises(MutationError, match=re.escape("the upstream gradient g float32 (2,)")):
        z.backward()


def test_lists_are_arrays_to_a_custom_operator():
    @customop("numpy")
    def op(x, y):
        return x * y

    op.def_grad(lambda ans, x, y: lambda g: g * y)
    assert op([1.0, 2.0], 3).tolist() == [3.0, 6.0]
    x = variable()
    with autograd.record():
        y = op(x, [3.0, 4.0])
    y.backward()
    assert x.grad.asnumpy().tolist() == [3.0, 4.0]


def two():
    op = customop("numpy")(lambda x, y: x * y)

    def gradients():
        pull = minpy.vjp(op, 2.0, 3.0)[1]
        return pull(1.0)

    return op, gradients


@pytest.mark.filterwarnings("ignore:.* is defined already:UserWarning")
def test_definitions_replace_each_other():
    op, gradients = two()
    op.def_grad_zero().def_grad(lambda ans, x, y: lambda g: g * y)
    assert gradients() == (3.0, 0.0)
    op.def_grad_zero(0).def_multiple_grad(lambda ans, x, y: lambda g: (g * y, g * x), (0, 1))
    assert gradients() == (3.0, 2.0)
    op.def_multiple_grad(lambda ans, x, y: lambda g: (7 * g,), 0)
    assert gradients() == (7.0, 2.0)
    op.def_multiple_grad(lambda ans, x, y: lambda g: (8 * g, 9 * g))
    assert gradients() == (8.0, 9.0)
    op.def_grad(lambda ans, x, y: lambda g: 5 * g, 1)
    assert gradients() == (8.0, 5.0)
    op.def_grad_zero()
    assert gradients() == (0.0, 0.0)


class Scaler:
    factor = 3.0

    @customop("numpy")
    def scale(this, x):
        return this.factor * x

    scale.def_grad(lambda ans, this, x: lambda g: this.factor * g)


def test_a_bound_method_can_be_checked():
    scaler = Scaler()
    scaler.scale.check(np.array([1.0, 2.0]))
    assert scaler.scale(2.0) == 6.0
    assert scaler.scale.__name__ == "scale"
