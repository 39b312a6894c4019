"""One NaN or infinity in a picture: answers and gradients are NaN at the same places, eagerly and hybridized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minpy import autograd, nd
from minpy.gluon import nn

COMPILES = True

NETWORKS: dict[str, Callable[[], list[Any]]] = {
    "convolution": lambda: [nn.Conv2D(8, 3, padding=1)],
    "relu, largest": lambda: [nn.Conv2D(8, 3, padding=1), nn.Activation("relu"), nn.MaxPool2D(2)],
    "largest, relu": lambda: [nn.Conv2D(8, 5), nn.MaxPool2D(3, 2, 1), nn.Activation("relu")],
    "norm, relu, mean": lambda: [nn.Conv2D(8, 3), nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(2)],
    "two of Winograd's": lambda: [nn.Conv2D(32, 3, padding=1), nn.Conv2D(32, 3, padding=1), nn.MaxPool2D(2)],
    "groups": lambda: [nn.Conv2D(8, 1), nn.Conv2D(8, 3, groups=8), nn.GlobalMaxPool2D()],
    "transposed": lambda: [nn.Conv2DTranspose(8, 3, strides=2), nn.LeakyReLU(0.1), nn.GlobalAvgPool2D()],
    "dense": lambda: [nn.Conv2D(6, 5), nn.Activation("tanh"), nn.AvgPool2D(2), nn.Dense(5)],
}


def results(layers: Callable[[], list[Any]], picture: np.ndarray, hybridized: bool) -> list[np.ndarray]:
    """Return the answer and all gradients; of a hybridized network those of its fourth call."""
    network = nn.HybridSequential()
    network.add(*layers())
    network.initialize()
    network(nd.zeros(picture.shape))
    draw = np.random.default_rng(1)
    for parameter in network.collect_params().values():
        parameter.set_data(nd.array(draw.normal(size=parameter.shape) * 0.1 + (parameter.name.endswith("var"))))
    if hybridized:
        network.hybridize()
    x = nd.array(picture)
    x.attach_grad()
    for _ in range(4 if hybridized else 1):
        with autograd.record():
            y = network(x)
        y.backward(nd.array(np.random.default_rng(2).normal(size=y.shape)))
    trained = [parameter for parameter in network.collect_params().values() if parameter.grad_req != "null"]
    return [y.asnumpy(), x.grad.asnumpy(), *(parameter.grad().asnumpy() for parameter in trained)]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", NETWORKS)
def test_eager_and_hybridized_networks_are_nan_at_the_same_places(name: str, value: float) -> None:
    picture = np.random.default_rng(0).normal(size=(2, 16, 14, 14)).astype("float32")
    picture[0, 1, 6, 7] = value
    with np.errstate(all="ignore"):
        eager, hybridized = (results(NETWORKS[name], picture, mode) for mode in (False, True))
    assert np.isnan(eager[0]).any() or value == np.inf
    for one, other in zip(eager, hybridized, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)  # NaN equals NaN


@pytest.mark.parametrize("hybridized", [False, True])
def test_what_becomes_of_a_nan(hybridized: bool) -> None:
    """Relu and pooling pass it on, as NumPy's functions do; no gradient goes through relu there."""
    picture = np.random.default_rng(0).normal(size=(1, 1, 4, 4)).astype("float32")
    picture[0, 0, 1, 1] = np.nan
    with np.errstate(all="ignore"):
        y, gradient = results(lambda: [nn.Activation("relu")], picture, hybridized)
        assert np.isnan(y).sum() == 1 == np.isnan(y[0, 0, 1, 1]).sum()
        assert gradient[0, 0, 1, 1] == 0
        assert np.isfinite(gradient).all()
        for layer in (nn.MaxPool2D, nn.AvgPool2D):
            y, gradient = results(lambda layer=layer: [layer(2)], picture, hybridized)
            assert np.isnan(y).tolist() == [[[[True, False], [False, False]]]]
            assert np.isfinite(gradient).all()
