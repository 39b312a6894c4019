"""The switches of NumPy's semantics: what they say, in which thread, and what they change."""

from __future__ import annotations

import pickle
import threading

import numpy
import pytest

import minpy as mx
from minpy import nd, npx
from minpy.core import numpy_semantics
from minpy.core.errors import ArgumentError, ArgumentValueError


@pytest.fixture(autouse=True)
def _off():
    yield
    mx.reset_np()


def now() -> tuple[bool, bool, bool]:
    return mx.is_np_array(), mx.is_np_shape(), npx.is_np_default_dtype()


def test_set_and_reset():
    assert now() == (False, False, False)
    npx.set_np()
    assert now() == (True, True, False)
    mx.set_np(dtype=True)
    assert now() == (True, True, True)
    mx.set_np(shape=True, array=False)
    assert now() == (False, True, False)
    npx.reset_np()
    assert now() == (False, False, False)
    assert (mx.set_np_shape(True), mx.set_np_shape(True), mx.set_np_shape(False)) == (False, True, True)
    with pytest.raises(ArgumentValueError, match=r"set_np: array=True needs shape=True"):
        mx.set_np(shape=False)
    assert now() == (False, False, False)


def test_scopes_nest_and_restore():
    scope = mx.np_shape()
    with scope, mx.np_array():
        with mx.np_shape(False), npx.np_default_dtype():
            assert now() == (True, False, True)
            with scope:
                assert now() == (True, True, True)
            assert now() == (True, False, True)
        with pytest.raises(ZeroDivisionError), mx.np_shape(False):
            _ = 1 / 0
        assert now() == (True, True, False)
    assert now() == (False, False, False)
    assert repr(scope) == "<scope of NumPy's semantics: shape=True>"


def test_each_thread_has_its_own():
    npx.set_np()
    found = []
    thread = threading.Thread(target=lambda: found.append(now()))
    thread.start()
    thread.join()
    assert found == [(False, False, False)]
    assert now() == (True, True, False)


@mx.use_np
class Layer:
    """What it says."""

    def __init__(self):
        self.made = now()

    def method(self):
        return now()

    @property
    def attribute(self):
        return now()

    @attribute.setter
    def attribute(self, value):
        self.made = value, now()

    @staticmethod
    def static(one):
        return one, now()

    @classmethod
    def of_class(cls):
        return cls, now()

    def __call__(self):
        return now()


class Derived(Layer):
    def own(self):
        return now()


def test_classes_run_in_scopes():
    layer, on = Derived(), (True, True, False)
    assert layer.made == layer.method() == layer.attribute == layer() == on
    assert layer.static(3) == (3, on)
    assert Derived.of_class() == (Derived, on)
    assert layer.own() == (False, False, False), "only what the class itself defines is wrapped, as in MXNet"
    layer.attribute = 5
    assert layer.made == (5, on)
    assert Layer.__doc__ == "What it says."
    assert Layer.method.__name__ == "method"
    assert type(pickle.loads(pickle.dumps(layer))) is Derived


@pytest.mark.parametrize(
    ("decorate", "on"),
    [
        (mx.use_np, (True, True, False)),
        (mx.use_np_array, (True, False, False)),
        (mx.use_np_shape, (False, True, False)),
        (numpy_semantics.use_np_default_dtype, (False, False, True)),
    ],
)
def test_functions_run_in_scopes(decorate, on):
    def function(value):
        """Its words."""
        return value, now()

    wrapped = decorate(function)
    assert wrapped(3) == (3, on)
    assert now() == (False, False, False)
    assert (wrapped.__name__, wrapped.__doc__) == ("function", "Its words.")
    with pytest.raises(ArgumentError, match=rf"{decorate.__name__} decorates functions and classes; got .*3"):
        decorate(3)


def test_shapes_of_ndarrays():
    x = nd.array([1.0, 2.0])
    assert x[0].shape == x[nd.array(1, dtype="int32").reshape(())].shape == (1,)
    with mx.np_shape():
        assert x[0].shape == ()
        assert x[numpy.array(1)].shape == ()
        assert nd.ones((2, 3)).sum().shape == (1,), "operators of nd have MXNet's shapes"


def test_shapes_that_are_inferred():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    both = x + y
    assert both.infer_shape_partial(x=(0, 3))[1] == [(0, 3)]
    assert both.infer_shape(x=(0, 3)) == (None, None, None)
    assert both.infer_shape_partial() == ([(), ()], [()], [])
    with mx.np_shape():
        assert both.infer_shape(x=(0, 3)) == ([(0, 3), (0, 3)], [(0, 3)], [])
        assert both.infer_shape_partial(x=(-1, 3))[1] == [(-1, 3)]
        assert both.infer_shape_partial() == ([None, None], [None], [])
        assert both.infer_shape(x=()) == ([(), ()], [()], [])
        assert both.infer_shape(x=(-1, 3)) == (None, None, None)
        assert mx.sym.var("z", shape=(0, 2)).infer_shape()[1] == [(0, 2)]
        executor = mx.sym.sum(x, axis=1).simple_bind(mx.cpu(), x=(0, 3))
        assert executor.forward()[0].shape == (0,)
        net = mx.sym.FullyConnected(x, num_hidden=3, name="fc")
        assert net.infer_shape_partial(x=(-1, 5))[0] == [(-1, 5), (3, 5), (3,)]
        assert net.infer_shape(x=(0, 5))[1] == [(0, 3)]


def test_the_default_dtype():
    made = {
        "ones": lambda: mx.np.ones(2),
        "array": lambda: mx.np.array([1, 2]),
        "arange": lambda: mx.np.arange(3),
        "full": lambda: mx.np.full(2, 3),
        "eye": lambda: mx.np.eye(2),
        "linspace": lambda: mx.np.linspace(0, 1, 3),
        "normal": lambda: mx.np.random.normal(size=2),
        "bernoulli": lambda: npx.random.bernoulli(0.5, size=2),
        "symbol": lambda: mx.sym.np.zeros(2).eval()[0],
        "drawn": lambda: mx.sym.np.random.uniform(size=2).eval()[0],
    }
    assert {name: make().dtype for name, make in made.items()} == dict.fromkeys(made, numpy.float32)
    mx.set_np(dtype=True)
    assert {name: make().dtype for name, make in made.items()} == dict.fromkeys(made, numpy.float64)
    assert mx.np.array(numpy.ones(2, "int32")).dtype == numpy.int32
    assert mx.np.ones(2, dtype="float16").dtype == numpy.float16
    assert nd.ones(2).dtype == numpy.float32, "nd does not ask"
