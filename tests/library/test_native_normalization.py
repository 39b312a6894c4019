"""`batch_norm.cc`, which changes inputs, and `softmax_loss.cc` of `examples/native`: against built-in operators."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from native.examples import load_example, needs_compiler

import minpy as mx
from minpy import autograd, gluon, nd, sym
from minpy.core.configured import FAMILIES
from minpy.core.errors import ArgumentError, DTypeError, MutationError, OperatorError, ShapeError
from minpy.test_utils import check_numeric_gradient

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    for name in ("gemm", "batch_norm", "softmax_loss"):
        load_example(name)


def random(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.random.uniform(-1, 1, shape).astype(dtype)


# -- batch_norm -------------------------------------------------------------------------------------------------------


def batch(shape: tuple[int, ...], dtype: str = "float64") -> list[np.ndarray]:
    """data, gamma, beta, moving_mean, moving_var."""
    channels = shape[1]
    return [random(*shape, dtype=dtype) * 2 + 3, *(random(4, channels, dtype=dtype) * 0.5 + 1).astype(dtype)]


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 4), (2, 1, 2, 2, 2), (1, 2)])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batch_norm_is_the_built_in(shape: tuple[int, ...], training: bool, dtype: str) -> None:
    results = []
    g = nd.array(random(*shape), dtype=dtype)
    given = batch(shape, dtype)
    for built_in in (False, True):
        arrays = [nd.array(array, dtype=dtype) for array in given]
        for array in arrays[:3]:
            array.attach_grad()
        with autograd.record():
            if built_in:
                y = nd.BatchNorm(*arrays, eps=1e-3, momentum=0.8, fix_gamma=False, use_global_stats=not training)
            else:
                y = nd.my_batch_norm(*arrays, eps=1e-3, momentum=0.8, training=training)
        y.backward(g)
        results.append([y, *(array.grad for array in arrays[:3]), *arrays[3:]])
    for found, expected in zip(*results, strict=True):
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(6, 3), (3, 2, 2, 3)])
def test_batch_norm_passes_every_check(training: bool, shape: tuple[int, ...]) -> None:
    operator = FAMILIES["my_batch_norm"].configured({"training": str(training), "eps": "0.1"})
    inputs = batch(shape)
    inputs[4] += 1  # a variance
    report = str(operator.check(*inputs))
    assert "gradient of data2       ok" in report
    assert "HIPS autograd           ok" in report


def test_gradients_of_batch_norm_in_a_graph() -> None:
    names = ("data", "gamma", "beta", "mean", "var")
    y = sym.my_batch_norm(*map(sym.var, names), eps=0.1)
    assert y.list_arguments() == ["data", "gamma", "beta"]
    assert y.list_auxiliary_states() == ["mean", "var"]
    arrays = dict(zip(names, batch((4, 3, 2)), strict=True))
    states = {name: arrays.pop(name) for name in ("mean", "var")}
    check_numeric_gradient(sym.tanh(y), arrays, states, dtype="float64")


def test_sums_are_in_float64() -> None:
    """A million times 1e6 in float32: their mean is off by thousands if it is added up in float32."""
    data = np.full((1 << 20, 1), 1e6, "float32") + np.tile([-1, 1], 1 << 19)[:, None].astype("float32")
    mean, var = np.zeros(1, "float32"), np.zeros(1, "float32")
    y = nd.my_batch_norm(data, np.ones(1, "float32"), np.zeros(1, "float32"), mean, var, momentum=0, eps=1e-5)
    np.testing.assert_allclose(mean, 1e6, rtol=1e-7)
    np.testing.assert_allclose(var, 1, rtol=1e-5)
    np.testing.assert_allclose(np.abs(y), 1, rtol=1e-4)


def test_an_empty_batch_changes_nothing() -> None:
    mean, var = np.full(3, 0.5), np.full(3, 2.0)
    y = nd.my_batch_norm(np.zeros((0, 3, 2)), np.ones(3), np.zeros(3), mean, var)
    assert y.shape == (0, 3, 2)
    np.testing.assert_array_equal(mean, [0.5] * 3)
    np.testing.assert_array_equal(var, [2.0] * 3)
    x = nd.zeros((0, 3), dtype="float64")
    x.attach_grad()
    gamma = nd.ones(3, dtype="float64")
    gamma.attach_grad()
    with autograd.record():
        out = nd.my_batch_norm(x, gamma, *(nd.ones(3, dtype="float64") for _ in range(3)))
    out.backward()
    np.testing.assert_array_equal(gamma.grad.asnumpy(), [0, 0, 0])


@pytest.mark.parametrize("view", [slice(None, None, 2), slice(None, None, -1)], ids=["every second", "backwards"])
def test_averages_that_are_views_are_changed_where_they_are(view: slice) -> None:
    data = random(8, 3)
    memory = np.zeros(6) if view.step == 2 else np.zeros(3)
    mean = memory[view]
    nd.my_batch_norm(data, np.ones(3), np.zeros(3), mean, np.ones(3), momentum=0.0)
    np.testing.assert_allclose(mean, data.mean(axis=0), rtol=1e-12)
    if view.step == 2:
        np.testing.assert_array_equal(memory[1::2], 0)


def test_a_view_of_an_array_is_changed_where_it_is() -> None:
    averages = nd.zeros((2, 3), dtype="float64")
    data = random(8, 3)
    ones, zeros = nd.ones(3, dtype="float64"), nd.zeros(3, dtype="float64")
    nd.my_batch_norm(nd.array(data, dtype="float64"), ones, zeros, averages[0], averages[1], momentum=0.0)
    np.testing.assert_allclose(averages.asnumpy(), [data.mean(axis=0), data.var(axis=0)], rtol=1e-12)


def test_averages_that_cannot_be_changed_are_refused() -> None:
    mean = np.zeros(3)
    mean.flags.writeable = False
    with pytest.raises(MutationError, match="read-only"):
        nd.my_batch_norm(random(4, 3), np.ones(3), np.zeros(3), mean, np.ones(3))


BATCH_NORM_ERRORS = [
    ({"momentum": 1.5}, ArgumentError, "momentum should be from 0 to 1, and is 1.5"),
    ({"momentum": "nan"}, ArgumentError, "momentum should be a number, and is 'nan'"),
    ({"eps": "small"}, ArgumentError, "eps should be a number, and is 'small'"),
    ({"eps": 0}, ArgumentError, "eps should be above 0, and is 0"),
    ({"training": None}, ArgumentError, "training should be True or False, and is 'None'"),
    ({"gamma": np.ones(2)}, ShapeError, r"gamma should have the shape \(3,\), a number for each channel of data"),
    ({"moving_var": np.ones((3, 1))}, ShapeError, r"moving_var should have the shape \(3,\).*; it has \(3, 1\)"),
    ({"data": np.ones(3)}, ShapeError, r"data should have the shape \(N, C\) or \(N, C, ...\), and has \(3,\)"),
    ({"beta": np.ones(3, "float32")}, DTypeError, "the number of beta's type is 0, of those before it 1"),
    ({"data": np.ones((4, 3), int)}, DTypeError, "the number of data's type is 6"),
]


@pytest.mark.parametrize(("changes", "error", "text"), BATCH_NORM_ERRORS, ids=lambda one: str(one)[:30])
def test_batch_norm_says_what_does_not_fit(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    names = ("data", "gamma", "beta", "moving_mean", "moving_var")
    inputs = {**dict(zip(names, batch((4, 3)), strict=True)), **changes}
    arrays = [inputs.pop(name) for name in names]
    mean = arrays[3].copy()
    with pytest.raises(error, match=text):
        nd.my_batch_norm(*arrays, **inputs)
    np.testing.assert_array_equal(arrays[3], mean)


class Norm(gluon.HybridBlock):
    """Gluon's BatchNorm, of our operator."""

    def __init__(self) -> None:
        super().__init__(prefix="norm_")
        later: dict[str, Any] = {"shape": (0,), "allow_deferred_init": True}
        self.gamma = self.params.get("gamma", init="ones", **later)
        self.beta = self.params.get("beta", init="zeros", **later)
        self.running_mean = self.params.get("running_mean", init="zeros", differentiable=False, **later)
        self.running_var = self.params.get("running_var", init="ones", differentiable=False, **later)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        return F.my_batch_norm(x, gamma, beta, running_mean, running_var, training=autograd.is_training())


@pytest.mark.parametrize("hybridize", [False, True])
def test_running_averages_of_a_layer(hybridize: bool, tmp_path: Any) -> None:
    ours, theirs = Norm(), gluon.nn.BatchNorm()
    x = nd.array(random(6, 3, 2, 2), dtype="float32")
    outputs = []
    for net in (ours, theirs):
        net.initialize()
        if hybridize:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        before = net(x)  # by the averages, which stay as they are
        for _ in range(3):
            with autograd.record():
                loss = ((net(x) - 1) ** 2).sum()
            loss.backward()
            trainer.step(1)
        outputs.append([before, loss, net(x), *(one.data() for one in (net.running_mean, net.running_var, net.gamma))])
    for found, expected in zip(*outputs, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=2e-4, atol=2e-4)
    assert abs(ours.running_mean.data()).sum().asscalar() > 0

    ours.save_parameters(str(tmp_path / "norm.params"))
    again = Norm()
    again.load_parameters(str(tmp_path / "norm.params"))
    np.testing.assert_array_equal(again(x).asnumpy(), ours(x).asnumpy())
    if hybridize:
        ours.export(str(tmp_path / "norm"))
        symbol, args, aux = mx.model.load_checkpoint(str(tmp_path / "norm"), 0)
        assert sorted(aux) == ["norm_running_mean", "norm_running_var"]
        executor = symbol.bind(mx.cpu(), {**args, "data": x}, aux_states=aux)
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), ours(x).asnumpy(), rtol=1e-6)


def test_an_executor_keeps_its_averages_when_a_call_fails() -> None:
    names = ("data", "gamma", "beta", "mean", "var")
    y = sym.my_softmax_loss(sym.my_batch_norm(*map(sym.var, names), momentum=0.0), sym.var("label"))
    executor = y.simple_bind(mx.cpu(), data=(4, 3))
    executor.arg_dict["gamma"][:] = 1
    executor.arg_dict["data"][:] = random(4, 3)
    executor.forward(is_train=True)
    mean = executor.aux_dict["mean"].asnumpy()
    np.testing.assert_allclose(mean, executor.arg_dict["data"].asnumpy().mean(axis=0), rtol=1e-5)
    executor.arg_dict["label"][:] = 7
    with pytest.raises(OperatorError, match=r"the labels of 3 classes are from 0 to 2; labels\[0\] is 7"):
        executor.forward(is_train=True)
    executor.arg_dict["label"][:] = 1
    executor.forward(is_train=True)
    executor.backward(nd.ones(4))
    assert np.isfinite(executor.grad_dict["data"].asnumpy()).all()


# -- softmax_loss -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_loss_is_the_built_in(dtype: str) -> None:
    scores = nd.array(random(5, 4) * 10, dtype=dtype)
    labels = nd.array([0, 3, 1, 1, 2], dtype=dtype)
    results = []
    for loss in (nd.my_softmax_loss, lambda s, t: -nd.pick(nd.log_softmax(s), t)):
        x = scores.copy()
        x.attach_grad()
        with autograd.record():
            y = loss(x, labels)
        y.backward(nd.array([1, 2, 3, 4, 5], dtype=dtype))
        results.append((y, x.grad))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


def test_gradient_of_softmax_loss() -> None:
    loss = sym.my_softmax_loss(sym.var("scores"), sym.var("labels"))
    location = {"scores": random(3, 4), "labels": np.array([0.0, 3, 1])}
    check_numeric_gradient(loss, location, grad_nodes=["scores"], dtype="float64")


SOFTMAX_ERRORS = [
    (random(2, 3), np.array([0.0, 3.0]), OperatorError, r"labels of 3 classes are from 0 to 2; labels\[1\] is 3"),
    (random(2, 3), np.array([-1.0, 0.0]), OperatorError, r"labels\[0\] is -1"),
    (random(2, 3), np.array([0.0, np.nan]), OperatorError, r"labels\[1\] is -?nan"),
    (random(2, 3), np.array([0.0, 0.5]), OperatorError, r"labels\[1\] is 0.5"),
    (random(2, 3), np.zeros(3), ShapeError, "one number for each of the 2 rows of scores; it has 1 dimensions and 3"),
    (random(2), np.zeros(2), ShapeError, "scores should be a matrix"),
    (random(2, 3), np.zeros(2, "int32"), DTypeError, "the numbers of their types are 1 and 4"),
]


@pytest.mark.parametrize(("scores", "labels", "error", "text"), SOFTMAX_ERRORS, ids=range(len(SOFTMAX_ERRORS)))
def test_softmax_loss_says_what_does_not_fit(
    scores: np.ndarray, labels: np.ndarray, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        nd.my_softmax_loss(scores, labels)


def test_operators_meet_in_one_network() -> None:
    """A product, its normalization and a loss, all of C++, learn what the built-in ones learn."""
    data, labels = random(32, 6, dtype="float32"), np.arange(32) % 4
    losses = []
    for native in (True, False):
        mx.random.seed(0)
        np.random.seed(0)
        weight = nd.array(np.random.uniform(-0.5, 0.5, (6, 4)))
        gamma, beta, mean, var = nd.ones(4), nd.zeros(4), nd.zeros(4), nd.ones(4)
        parameters = [weight, gamma, beta]
        for one in parameters:
            one.attach_grad()
        x, y = nd.array(data), nd.array(labels)
        for _ in range(5):
            with autograd.record():
                if native:
                    z = nd.my_batch_norm(nd.my_gemm(x, weight), gamma, beta, mean, var)
                    loss = nd.my_softmax_loss(z, y).mean()
                else:
                    z = nd.BatchNorm(nd.dot(x, weight), gamma, beta, mean, var, fix_gamma=False, eps=1e-5)
                    loss = -nd.pick(nd.log_softmax(z), y).mean()
            loss.backward()
            losses.append(loss.asscalar())
            for one in parameters:
                one -= 0.5 * one.grad
    np.testing.assert_allclose(losses[:5], losses[5:], rtol=1e-4)
    assert losses[4] < losses[0]


def test_threads_have_averages_of_their_own() -> None:
    problems: list[str] = []

    def work(seed: int) -> None:
        data = np.random.default_rng(seed).random((50 + seed, 4))
        mean, var = np.zeros(4), np.ones(4)
        for turn in range(1, 16):
            y = nd.my_batch_norm(data, np.ones(4), np.zeros(4), mean, var)
            if not (np.allclose(mean, (1 - 0.9**turn) * data.mean(axis=0)) and np.allclose(y.mean(axis=0), 0)):
                problems.append(f"thread {seed}, turn {turn}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
