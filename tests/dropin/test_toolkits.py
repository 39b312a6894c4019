"""What vision toolkits of MXNet's time rely on: tables of what they call, and which answers they need."""

from __future__ import annotations

import time

import numpy as np
import pytest

import minpy as mx
from minpy import gluon
from minpy.core.errors import ArgumentValueError, NotReadyError


def features() -> gluon.SymbolBlock:
    """Return a block as detectors make theirs: layers of a network, with symbols added to them."""
    network = gluon.nn.HybridSequential(prefix="net_")
    with network.name_scope():
        network.add(gluon.nn.Conv2D(4, 1), gluon.nn.BatchNorm(), gluon.nn.PReLU())
    data = mx.sym.var("data")
    more = mx.sym.Convolution(
        network(data), num_filter=2, kernel=(1, 1), no_bias=True, name="more", attr={"__init__": mx.init.Xavier()}
    )
    more = mx.sym.BatchNorm(more, name="bn")
    return gluon.SymbolBlock([network(data), more], [data], params=network.collect_params())


def test_states_come_after_arguments() -> None:
    """Initial values are drawn in this order, and files have it."""
    block = features()
    assert list(block.collect_params()) == [
        "net_conv0_weight",
        "net_conv0_bias",
        "net_batchnorm0_gamma",
        "net_batchnorm0_beta",
        "net_prelu0_alpha",
        "more_weight",
        "bn_gamma",
        "bn_beta",
        "net_batchnorm0_running_mean",
        "net_batchnorm0_running_var",
        "bn_moving_mean",
        "bn_moving_var",
    ]
    block.initialize(mx.init.One())
    assert [out.shape for out in block(mx.nd.ones((2, 3, 5, 5)))] == [(2, 4, 5, 5), (2, 2, 5, 5)]


def test_resetting_what_is_not_initialized() -> None:
    """Detectors move every parameter, and catch MXNet's ValueError of those that have no values yet."""
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.Dense(2, in_units=2))
    net[0].initialize()
    parameters = net.collect_params()
    for name in ("net_dense0_weight", "net_dense0_bias"):
        parameters[name].reset_ctx(mx.cpu(1))
        assert parameters[name].list_ctx() == [mx.cpu(1)]
    for name in ("net_dense1_weight", "net_dense1_bias"):
        message = rf"Parameter '{name}' is not initialized\. Call initialize\(\) on its block"
        with pytest.raises(ArgumentValueError, match=message):
            parameters[name].reset_ctx(mx.cpu(1))
    with pytest.raises(NotReadyError, match=r"Parameter 'net_dense1_bias' is not initialized\. Call initialize\(\)"):
        net[1].bias.set_data(mx.nd.ones((2,)))


@pytest.mark.parametrize(("name", "value"), [("zeros_like", 0), ("ones_like", 1)])
def test_dtype_of_what_is_alike(name: str, value: int) -> None:
    """`dtype` is taken and not used, as in MXNet."""
    data = mx.nd.array([3, 4], dtype="int32")
    result = getattr(mx.nd, name)(data, dtype="int64")
    assert result.dtype is np.int32
    assert result.asnumpy().tolist() == [value, value]
    symbol = getattr(mx.sym, name)(mx.sym.var("x"), dtype="int64")
    assert mx.sym.load_json(symbol.tojson()).eval(x=data)[0].asnumpy().tolist() == [value, value]


def test_workers_after_threads_of_opencv() -> None:
    """Datasets warp pictures before a loader forks its workers, which then have none of OpenCV's threads."""
    cv2 = pytest.importorskip("cv2")
    before = cv2.getNumThreads()
    cv2.setNumThreads(4)
    try:
        picture = np.random.default_rng(0).integers(0, 255, (1200, 1200, 3), np.uint8)
        turned = cv2.getRotationMatrix2D((600, 600), 30, 1)
        expected = cv2.warpAffine(picture, turned, (1200, 1200))
        time.sleep(0.05)  # its threads go to sleep, which is when a fork loses them for good
        dataset = gluon.data.SimpleDataset([0, 1]).transform(
            lambda index: int(cv2.warpAffine(picture, turned, (1200, 1200)).sum())
        )
        loader = gluon.data.DataLoader(dataset, 2, num_workers=1, timeout=20)
        assert [batch.asnumpy().tolist() for batch in loader] == [[int(expected.sum())] * 2]
        assert cv2.getNumThreads() == 4
    finally:
        cv2.setNumThreads(before)
