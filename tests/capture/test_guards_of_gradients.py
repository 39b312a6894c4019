"""What graphs know of gradients that functions and blocks refer to, which backward passes write."""

from __future__ import annotations

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.backends.switches import CompileWarning

COMPILES = True


class Holder:
    """An object of a user's."""


def leaf():
    x = nd.ones((3,))
    x.attach_grad()
    return x


def back(x, factor):
    with autograd.record():
        loss = (x * factor).sum()
    loss.backward()


def of_name(x):
    return lambda a: a * x.grad.sum()


def of_number(x):
    return lambda a: a * float(x.grad.sum().asscalar())


def of_numpy(x):
    return lambda a: a * x.grad.asnumpy().sum()


def of_array(x):
    gradient = x.grad
    return lambda a: a * gradient.max()


def of_attribute(x):
    holder = Holder()
    holder.leaf = x
    return lambda a: a * holder.leaf.grad.sum()


def of_list(x):
    leaves = [x]
    return lambda a: a * sum(one.grad for one in leaves).sum()


@pytest.mark.parametrize("made", [of_number, of_numpy])
def test_numbers_of_gradients_are_taken_at_each_call(made):
    x, a = leaf(), nd.ones((2,))
    function = made(x)
    compiled = mx.compile(function)
    with pytest.warns(CompileWarning, match=r"an? .*as(numpy|scalar).* \(test_guards_of_gradients.py:\d+"):
        compiled(a)
    for number in range(9):
        np.testing.assert_array_equal(compiled(a).asnumpy(), function(a).asnumpy(), err_msg=f"call {number}")
        if number % 3 == 2:
            back(x, number)


@pytest.mark.parametrize("made", [of_name, of_array, of_attribute, of_list])
def test_a_backward_pass_is_seen_by_those_who_read_its_gradients(made):
    x, a = leaf(), nd.ones((2,))
    function = made(x)
    compiled = mx.compile(function)
    for number in range(9):
        np.testing.assert_array_equal(compiled(a).asnumpy(), function(a).asnumpy(), err_msg=f"call {number}")
        if number % 3 == 2:
            back(x, number)


def test_a_gradient_that_is_attached_anew_is_seen():
    x, a = leaf(), nd.ones((2,))
    function = of_name(x)
    compiled = mx.compile(function)
    for factor in range(1, 4):
        x.attach_grad()
        back(x, factor)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(a).asnumpy(), [3 * factor] * 2)


class Scaled(gluon.HybridBlock):
    """A layer that multiplies by what it reads of its parameter."""

    def __init__(self, read):
        super().__init__()
        self.read = read
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3,), init="ones")

    def forward(self, x):
        return x * self.read(self.weight)


def test_list_data_is_a_parameter_in_graphs():
    block = Scaled(lambda weight: weight.list_data()[0].sum())
    block.initialize()
    block.hybridize()
    for number in range(5):
        block.weight.set_data(nd.full((3,), number))
        assert block(nd.ones((1,))).asscalar() == 3 * number
    with autograd.record():
        found = block(nd.ones((1,)))
    found.backward()
    np.testing.assert_array_equal(block.weight.grad().asnumpy(), np.ones(3))


@pytest.mark.parametrize("read", [lambda weight: weight.grad().sum(), lambda weight: weight.list_grad()[0].sum()])
def test_gradients_of_parameters_are_not_traced(read):
    block = Scaled(read)
    block.initialize()
    block.hybridize()
    reason = rf"it reads the gradient of a parameter, {block.weight.name}: give it as an argument"
    with pytest.warns(UserWarning, match=reason):
        assert block(nd.ones((1,))).asscalar() == 0
    block.weight.grad()[:] = 2
    assert block(nd.ones((1,))).asscalar() == 6  # it runs as it is written

    def function(a):
        return a * read(block.weight)

    compiled = mx.compile(function)
    with pytest.warns(CompileWarning, match=reason) as seen:
        compiled(nd.ones((2,)))
    assert seen[0].filename == __file__
    block.weight.grad()[:] = 2
    assert compiled(nd.ones((1,))).asscalar() == 6
