"""`op.def_batch`, and calls of operators for many examples at once."""

from __future__ import annotations

import numpy as np
import pytest

import minpy as mx
from minpy import customop
from minpy.batching.operator_calls import batch_way, call_batched, pull_batched
from minpy.core.errors import ArgumentError, GradientError


def make_total(calls):
    @customop("numpy")
    def total(x, *, axis=-1):
        calls.append(x.shape)
        return np.sum(x, axis=axis)

    total.def_grad(lambda ans, x, *, axis: lambda g: np.broadcast_to(np.expand_dims(g, axis), x.shape))
    return total


def rule_of(total):
    def rule(batch_size, in_axes, x, *, axis):
        return total(x, axis=axis + 1 if axis >= 0 else axis), 0

    return rule


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("in_axis", [0, 1, -1])
def test_a_rule_gives_what_a_call_for_each_example_gives(axis, in_axis):
    calls = []
    total = make_total(calls)
    x = np.arange(24.0).reshape(2, 3, 4)
    count = x.shape[in_axis]
    looped = call_batched(total, count, [in_axis], [x], {"axis": axis})
    assert len(calls) == count
    assert batch_way(total) == "loop"
    assert total.def_batch(rule_of(total)) is total
    assert batch_way(total) == "rule"
    calls.clear()
    np.testing.assert_array_equal(call_batched(total, count, [in_axis], [x], {"axis": axis}), looped)
    assert len(calls) == 1
    np.testing.assert_array_equal(looped, np.stack([np.sum(row, axis=axis) for row in np.moveaxis(x, in_axis, 0)]))


def test_defaults_of_attributes_are_filled_in():
    total = make_total([])
    total.def_batch(rule_of(total))
    assert call_batched(total, 2, [0], [np.ones((2, 3, 4))], {}).shape == (2, 3)


def test_an_elementwise_operator_is_called_once_and_broadcasts_as_each_example_does():
    calls = []

    @customop("numpy")
    def scaled(x, y):
        calls.append((x.shape, y.shape))
        return x * y

    assert scaled.def_batch("elementwise") is scaled
    x, y = np.arange(5.0), np.arange(6.0).reshape(2, 3)
    result = call_batched(scaled, 5, [0, None], [x, y], {})
    np.testing.assert_array_equal(result, np.stack([scaled(row, y) for row in x]))
    assert calls[0] == ((5, 1, 1), (2, 3))
    z = np.arange(15.0).reshape(5, 3)
    np.testing.assert_array_equal(
        call_batched(scaled, 5, [0, 0], [z, x], {}), np.stack([scaled(*rows) for rows in zip(z, x, strict=True)])
    )


def test_ufuncs_are_known_to_be_elementwise():
    assert batch_way(mx.nd.exp) == "elementwise"
    assert batch_way(mx.nd.softmax) == "loop"


def test_the_rule_of_an_operator_of_ndarrays_is_given_ndarrays():
    classes = []

    @customop("mxnet")
    def double(x):
        return x * 2

    @double.def_batch()
    def rule(batch_size, in_axes, x):
        classes.append(type(x))
        return double(x), 0

    result = call_batched(double, 3, [0], [np.ones((3, 2))], {})
    assert classes == [mx.nd.NDArray]
    np.testing.assert_array_equal(result.asnumpy(), np.full((3, 2), 2.0))


def test_several_outputs_with_axes_of_their_own():
    @customop("numpy")
    def both(x):
        return np.sum(x), x * 2

    @both.def_batch()
    def rule(batch_size, in_axes, x):
        return (np.sum(x, axis=1), np.transpose(x * 2)), (0, 1)

    x = np.arange(6.0).reshape(2, 3)
    sums, doubles = call_batched(both, 2, [0], [x], {})
    np.testing.assert_array_equal(sums, [3.0, 12.0])
    np.testing.assert_array_equal(doubles, x * 2)


def test_an_output_that_is_the_same_for_all_examples():
    @customop("numpy")
    def first_of(x, y):
        return y

    first_of.def_batch(lambda batch_size, in_axes, x, y: (y, None))
    assert call_batched(first_of, 4, [0, None], [np.ones(4), np.arange(3.0)], {}).shape == (4, 3)


@pytest.mark.parametrize("way", ["loop", "rule"])
def test_gradients_of_each_example(way):
    total = make_total([])
    if way == "rule":
        total.def_batch(rule_of(total))
    x = np.arange(12.0).reshape(2, 2, 3)
    cotangents = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    [gradient] = pull_batched(total, 2, [0], [x], {"axis": 0}, [cotangents], [0])
    np.testing.assert_array_equal(gradient, np.stack([np.broadcast_to(row, (2, 3)) for row in cotangents]))


def test_the_gradient_of_an_input_shared_by_all_examples_differs_from_example_to_example():
    weight, x = np.array(2.0), np.array([1.0, 2.0, 3.0])

    @customop("numpy")
    def product(x, y):
        return x * y

    product.def_multiple_grad(lambda ans, x, y: lambda g: (g * y, g * x))
    gradients = pull_batched(product, 3, [None, 0], [weight, x], {}, [np.ones(3)], [0, 1])
    np.testing.assert_array_equal(gradients[0], x)
    np.testing.assert_array_equal(gradients[1], np.full(3, 2.0))


def test_no_examples():
    total = make_total([])
    assert call_batched(total, 0, [0], [np.ones((0, 2, 3))], {}).shape == (0, 2)


@pytest.mark.parametrize("rule", ["per element", 3])
def test_other_rules_are_refused(rule):
    with pytest.raises(ArgumentError, match=r"total.def_batch: .*expected 'elementwise', or a function rule\(batch_si"):
        make_total([]).def_batch(rule)


def test_a_rule_that_lacks_parameters_is_refused():
    with pytest.raises(ArgumentError, match=r"the batch rule takes \(x\), and is called with \(batch_size, in_axes, x"):
        make_total([]).def_batch(lambda x: x)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda batch_size, in_axes, x: x, r"the batch rule returned .*; expected \(outputs, out_axes\)"),
        (lambda batch_size, in_axes, x: (x, 5), r"the out_axes 5 for an output of shape \(2, 3\); expected one of its"),
        (lambda batch_size, in_axes, x: (x, 1), r"shape \(2, 3\) with the examples along axis 1; expected 2 of them"),
        (lambda batch_size, in_axes, x: ((x, x), (0, 0, 0)), r"returned 2 outputs, and 3 out_axes; expected one for"),
        (lambda batch_size, in_axes, x: x + [1, 2], "total: the batch rule failed"),
    ],
)
def test_what_a_rule_returns_is_checked(rule, message):
    total = make_total([])
    total.def_batch(rule)
    with pytest.raises((GradientError, ValueError), match=message):
        call_batched(total, 2, [0], [np.ones((2, 3))], {})


def test_an_operator_that_is_not_elementwise_is_told():
    total = make_total([])
    total.def_batch("elementwise")
    with pytest.raises(GradientError, match=r"total: it is said to be elementwise \(def_batch\), and gave .*def_batch"):
        call_batched(total, 2, [0], [np.ones((2,))], {"axis": 0})


def test_a_second_rule_warns():
    total = make_total([])
    total.def_batch(rule_of(total))
    with pytest.warns(UserWarning, match="total.def_batch: the batch rule is defined already"):
        total.def_batch("elementwise")
