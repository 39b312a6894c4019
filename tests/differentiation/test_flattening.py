"""`minpy.misc.flatten`: nests of arrays as one vector, as in HIPS autograd, and differentiated."""

from __future__ import annotations

from collections import namedtuple

import autograd.misc
import numpy as np
import pytest

import minpy as mx
from minpy.core.errors import ArgumentError, ShapeError
from minpy.misc import flatten, flatten_func

Pair = namedtuple("Pair", "left right")
NEST = {"w": np.arange(6.0).reshape(2, 3), "b": (1.5, [np.array(2.5)]), "a": [np.zeros((0, 2))]}


def test_it_is_what_autograds_is():
    ours, unflatten = flatten(NEST)
    theirs, _ = autograd.misc.flatten(NEST)
    np.testing.assert_array_equal(ours, theirs)
    again = unflatten(ours)
    assert list(again) == list(NEST)
    assert again["b"] == (1.5, [np.array(2.5)])
    assert type(again["b"][0]) is float
    np.testing.assert_array_equal(again["w"], NEST["w"])
    assert again["a"][0].shape == (0, 2)


@pytest.mark.parametrize("nest", [{}, [], 2.0, np.float32(3), Pair(np.ones(2), [1.0]), np.ones((2, 2))])
def test_nests_come_back(nest):
    vector, unflatten = flatten(nest)
    again = unflatten(vector)
    assert type(again) is type(nest)
    assert vector.ndim == 1
    np.testing.assert_array_equal(flatten(again)[0], vector)


def test_dtypes_come_back():
    vector, unflatten = flatten([np.float32(1), np.array([1 + 2j]), np.array([1, 2])])
    assert vector.dtype == np.complex128
    assert [np.asarray(part).dtype.name for part in unflatten(vector)] == ["float32", "complex128", "int64"]


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_differentiated(order):
    def cubes(nest):
        vector, unflatten = flatten(nest)
        return np.sum(unflatten(vector**3)["w"]) + 2 * np.sum(vector)

    nest = {"w": np.array([[1.0, 2.0]]), "b": np.array([5.0])}
    if order == 1:
        gradient = mx.grad(cubes)(nest)
        np.testing.assert_allclose(gradient["w"], 3 * nest["w"] ** 2 + 2)
        np.testing.assert_allclose(gradient["b"], [2.0])
    else:
        hvp, _ = mx.make_hvp(cubes)(nest)
        product = hvp({"w": np.array([[1.0, 1.0]]), "b": np.array([1.0])})
        np.testing.assert_allclose(product["w"], 6 * nest["w"])
        np.testing.assert_allclose(product["b"], [0.0])


def test_recorded_arrays():
    x = mx.np.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        vector, unflatten = flatten({"x": x})
        total = (unflatten(vector * vector)["x"] * 3).sum()
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 2), 6.0))


def test_functions_of_vectors():
    function, unflatten, vector = flatten_func(
        lambda p, scale: {"y": scale * p["x"], "z": p["x"][0]}, {"x": np.ones(2)}
    )
    np.testing.assert_array_equal(function(vector, 3.0), [3.0, 3.0, 1.0])
    np.testing.assert_array_equal(unflatten(vector)["x"], [1.0, 1.0])
    np.testing.assert_array_equal(mx.jacobian(lambda v: function(v, 3.0))(vector), [[3.0, 0.0], [0.0, 3.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("nest", "message"),
    [
        ({"a": ["text"]}, r"flatten: \['a'\]\[0\] is str 'text'; expected an array or a number."),
        ({"a": {1: 1.0, "b": 2.0}}, r"flatten: the keys of the dict at \['a'\] have no order"),
    ],
)
def test_what_is_no_nest_of_arrays(nest, message):
    with pytest.raises(ArgumentError, match=message):
        flatten(nest)


def test_a_vector_of_another_length():
    _, unflatten = flatten([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"the vector has the shape \(3,\); expected \(2,\), that of the vector which"):
        unflatten(np.zeros(3))
