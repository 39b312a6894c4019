"""Subclasses of `gluon.Parameter` that take over another parameter's private state, as weight dropout is written."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import minpy as mx


class Doubled(mx.gluon.Parameter):
    """A parameter whose layer sees twice its values: it takes the place of another, and shares its arrays."""

    def __init__(self, parameter: Any) -> None:
        p = parameter
        self._deferred_init = p._deferred_init
        super().__init__(
            name=p.name,
            grad_req=p.grad_req,
            shape=p._shape,
            dtype=p.dtype,
            lr_mult=p.lr_mult,
            wd_mult=p.wd_mult,
            init=p.init,
            allow_deferred_init=p._allow_deferred_init,
            differentiable=p._differentiable,
        )
        self._var = p._var
        self._data = p._data
        self._grad = p._grad
        self._ctx_list = p._ctx_list
        self._ctx_map = p._ctx_map
        self._trainer = p._trainer

    def data(self, ctx: Any = None) -> Any:
        return self._check_and_get(self._data, ctx) * 2


def replaced(layer: Any, name: str) -> None:
    parameter = layer._reg_params[name]
    doubled = Doubled(parameter)
    layer._reg_params[name] = layer.params._params[parameter.name] = doubled
    if name in vars(layer):
        super(mx.gluon.Block, layer).__setattr__(name, doubled)


@pytest.mark.parametrize("hybridized", [False, True], ids=["imperative", "hybridized"])
@pytest.mark.parametrize("initialized", [False, True], ids=["before", "after"])
def test_layers_ask_the_subclass_for_their_data(hybridized: bool, initialized: bool) -> None:
    layer = mx.gluon.nn.Dense(2, in_units=3, weight_initializer=mx.init.One())
    if initialized:
        layer.initialize()
    replaced(layer, "weight")
    if not initialized:
        layer.initialize()
    if hybridized:
        layer.hybridize()
    x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    with mx.autograd.record():
        y = layer(x)
    y.backward()
    assert y.asnumpy().tolist() == [[12, 12], [30, 30]]
    numpy.testing.assert_array_equal(
        layer.collect_params()[layer.name + "_weight"].grad().asnumpy(), [[10, 14, 18]] * 2
    )


@pytest.mark.parametrize("hybridized", [False, True], ids=["imperative", "hybridized"])
def test_recurrent_layers_ask_the_subclass_for_their_data(hybridized: bool) -> None:
    x, outputs = mx.nd.ones((2, 1, 3)), []
    for doubles in (False, True):
        layer = mx.gluon.rnn.RNN(2, activation="relu", input_size=3, h2h_weight_initializer=mx.init.One())
        layer.initialize(mx.init.One())
        if doubles:
            replaced(layer, "l0_h2h_weight")
        if hybridized:
            layer.hybridize()
        outputs.append(layer(x).asnumpy())
    assert outputs[0].tolist() == [[[3, 3]], [[9, 9]]]
    assert outputs[1].tolist() == [[[3, 3]], [[15, 15]]]


def test_contexts_follow_from_the_arrays() -> None:
    parameter = mx.gluon.Parameter("weight", shape=(2,))
    assert parameter._ctx_list is None
    assert parameter._ctx_map is None
    parameter.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    assert parameter._ctx_list == [mx.cpu(0), mx.cpu(1)]
    assert parameter._ctx_map == [[], [0, 1]]
