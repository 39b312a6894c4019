"""What `explain` says of compiled programs: kernels and the operators inside, calls and why, costs, pictures."""

import sys

import numpy as np
import pytest

import minpy as mx
from minpy import customop
from minpy.core.errors import MissingDependencyError

COMPILES = True

pytest.importorskip("llvmlite")


@customop("numpy")
def clipped(x):
    return np.clip(x, -1, 1) if x.size > 0 and float(x[0, 0]) < 1e9 else x  # a choice by values: called as it is


clipped.def_grad(lambda ans, x: lambda g: g * (np.abs(x) < 1))


@pytest.fixture(scope="module")
def executor(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # Another process that runs tests of this module may have kept the plan already.
        patch.setenv("MINPY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return made_executor()


def made_executor():
    x = mx.sym.var("x")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=8, name="fc"), act_type="tanh", name="act")
    y = mx.sym.softmax(clipped(hidden, name="clip"), name="soft")
    made = y.simple_bind(mx.cpu(), x=(4, 3))
    made.arg_dict["x"][:] = np.arange(12).reshape(4, 3) / 12
    for _ in range(3):
        made.forward(is_train=True)
        made.backward(mx.nd.ones((4, 8)))
    return made


def test_kernels_products_and_calls(executor):
    explanation = executor.explain()[0]
    assert explanation.is_native
    assert explanation.title == "soft (training, with gradients)"
    assert [part.name for part in explanation.parts] == ["forward", "backward"]
    forward = explanation.parts[0].items
    assert [item.kind for item in forward] == ["product", "kernel", "call", "kernel"]
    assert forward[0].operators == ("fc",)
    assert forward[0].flops == 2 * 4 * 3 * 8
    assert set(forward[1].operators) == {"fc", "act"}
    assert forward[3].operators == ("soft",)
    assert forward[1].reads == (0,)
    assert forward[3].reads == (2,)
    assert "it makes a Python number of an array" in forward[2].reason
    assert forward[2].place.file == __file__
    assert explanation.memory > 0
    assert {"translating", "fusing", "compiling"} <= explanation.seconds.keys()


def test_as_text(executor):
    text = str(executor.explain())
    assert "soft (training, with gradients): native code," in text
    assert "4x3 by 3x8" in text
    assert "because it makes a Python number of an array" in text
    assert "a choice by values: called as it is" in text  # the line itself
    assert "bytes of arrays" in text


def test_as_a_picture(executor):
    pytest.importorskip("graphviz")
    source = executor.explain()[0].picture().source
    assert "cluster_forward" in source
    assert "cluster_backward" in source
    assert "0 -> 1" in source
    assert "4x3 by 3x8" in source


def test_pictures_say_what_they_need(executor, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(MissingDependencyError, match=r"pip install graphviz\. print shows the same as text"):
        executor.explain()[0].picture()


def test_of_blocks_and_functions():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    with pytest.raises(mx.MXNetError, match=r"the block has no graph\. Call hybridize"):
        net.explain()
    net.hybridize()
    for _ in range(3):
        net(mx.nd.ones((1, 3)))
    assert net.explain()[0].is_native
    net.hybridize(compile=False)
    for _ in range(3):
        net(mx.nd.ones((1, 3)))
    assert str(net.explain()).endswith("Python, because compiling is switched off for it")

    @mx.compile
    def energy(x):
        return np.sum(np.tanh(x) ** 2)

    for _ in range(3):
        energy(np.ones(4))
    assert energy.explain()[0].count("kernel") == 1
    gradient = mx.compile(mx.grad(energy.__wrapped__))
    for _ in range(3):
        gradient(np.ones(4))
    assert [part.name for part in gradient.explain()[0].parts] == ["forward", "backward"]


def test_of_what_cannot_be_a_graph():
    choosing = mx.compile(lambda x: x if x.sum() > 0 else -x)
    reason = r"it chooses by values: .*Choose with np.where or npx.cond \(test_native_explain.py:\d+\)"
    with pytest.warns(UserWarning, match=reason) as seen:
        choosing(np.ones(2))
    assert len(seen) == 1
    with pytest.raises(mx.MXNetError, match=rf"called as it is written, because {reason}"):
        choosing.explain()


def test_profiles_have_a_row_for_each_kernel(executor):
    profile = executor.profile(mx.nd.ones((4, 8)), repeat=2)
    rows = [(row.part, row.operator.split()[0]) for row in profile]
    assert rows[:4] == [(("forward"), kind) for kind in ("product", "kernel", "call", "kernel")]
    assert {part for part, _ in rows} == {"forward", "backward"}
    assert all(row.seconds > 0 for row in profile)
    assert "fc, act" in str(profile)
    assert "4x3 by 3x8" in str(profile)
    before = executor.grad_dict["x"].asnumpy()
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4, 8)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), before, rtol=1e-5, atol=1e-7)
