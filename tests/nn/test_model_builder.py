"""Models of `minpy.nn.model_builder`, and the layers of `minpy.nn.modules`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import minpy.numpy as np
from minpy import sym
from minpy.core import grad
from minpy.core.errors import ArgumentError
from minpy.nn import layers, modules
from minpy.nn.io import NDArrayIter
from minpy.nn.model_builder import Layer, Model, Module, Parallel, Sequential, Updater
from minpy.nn.solver import Solver

X = numpy.random.RandomState(0).standard_normal((6, 4)).astype("float32")
LABELS = numpy.array([0, 1, 2, 2, 1, 0])


class Net(Model):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.net = Sequential(
            modules.FullyConnected(num_hidden=8, name="hidden"),
            modules.Tanh(),
            modules.FullyConnected(num_hidden=3, name="scores"),
        )

    def forward(self, X: Any, mode: str) -> Any:
        return self.net(X)


def by_hand(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    hidden = np.tanh(layers.affine(np.array(X), w1.T, b1))
    return layers.softmax_loss(layers.affine(hidden, w2.T, b2), np.array(LABELS))


NAMES = ["hidden_weight", "hidden_bias", "scores_weight", "scores_bias"]


def test_a_model_has_the_loss_and_gradients_of_its_layers() -> None:
    model = Net(loss="softmax_loss")
    for _ in range(2):  # parameters are made at the first call, while it is recorded
        loss = model(X, labels=LABELS)
        found = model.backward()
        values = [model.params[name] for name in NAMES]
        numpy.testing.assert_allclose(loss, by_hand(*values), rtol=1e-6)
        assert found.keys() == set(NAMES)
        for name, wanted in zip(NAMES, grad(by_hand, [0, 1, 2, 3])(*values), strict=True):
            numpy.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-7)


def test_results_without_a_loss_take_gradients_from_above() -> None:
    model = Net()
    scores = model(X)
    assert scores.shape == (6, 3)
    upstream = numpy.zeros((6, 3), "float32")
    upstream[2, 1] = 2
    assert model.backward(upstream)["scores_bias"].tolist() == [0, 2, 0]
    with pytest.raises(ArgumentError, match=r"Net\.backward: there is nothing to differentiate; call the model first"):
        model.backward()
    found, loss = Net(loss=layers.l2_loss).grad_and_loss(X, numpy.zeros((6, 3)))
    assert float(loss) > 0
    assert found.keys() == set(NAMES)


def test_a_call_may_have_its_own_forward_loss_and_labels() -> None:
    model = Net()
    seen = []

    def forward(first: Any, second: Any, mode: str, scale: float) -> Any:
        seen.append((mode, scale))
        return model.net(first), second * scale

    def loss(scores: Any, other: Any, label: Any, weight: float) -> Any:
        return weight * np.sum(scores * label) + np.sum(other)

    found = model(
        (X, X),
        forward_kwargs={"scale": 2.0},
        labels=numpy.ones((6, 3)),
        loss_kwargs={"weight": 3.0},
        forward=forward,
        loss=loss,
        reduce_array=True,
    )
    assert isinstance(found, float)
    assert seen == [("training", 2.0)]
    assert model.backward()["scores_bias"].tolist() == [18.0] * 3


def test_single_arrays_can_be_attached_and_detached() -> None:
    model = Net(loss="softmax_loss")
    model(X, labels=LABELS)

    def forward(data: Any, mode: str) -> Any:
        model.attach("data", data)
        return model.net(data)

    model(X, labels=LABELS, forward=forward, attach_all=False)
    found = model.backward()
    assert {name: value.shape for name, value in found.items()} == {"data": (6, 4)}
    model(X, labels=LABELS)
    assert "hidden_bias" not in model.detach("hidden_bias").backward()


def test_an_updater_trains() -> None:
    np.random.seed(0)
    model = Net(loss="softmax_loss")
    first = float(model(X, labels=LABELS))
    update = Updater(model, update_rule="adam", learning_rate=0.05)
    fixed = model.params["hidden_bias"].tolist()
    for _ in range(60):
        model(X, labels=LABELS)
        gradients = model.backward()
        del gradients["hidden_bias"]  # what is not given stays
        update(gradients)
    assert float(model(X, labels=LABELS)) < 0.1 < first
    assert model.params["hidden_bias"].tolist() == fixed
    assert update["scores_bias"].t == 60
    assert "t" not in dict(update.items())["hidden_bias"]
    update["hidden_bias"].learning_rate = 1.0
    with pytest.raises(AttributeError, match=re.escape("'learning_rate' differs between parameters")):
        _ = update.learning_rate
    update.learning_rate = 0.5
    assert update.learning_rate == 0.5
    update["hidden_bias"] = {"update_rule": "sgd", "learning_rate": 2.0}
    update({"hidden_bias": np.ones(8)})
    numpy.testing.assert_allclose(model.params["hidden_bias"], numpy.array(fixed) - 2)


def test_a_solver_trains_layers_by_their_own_settings() -> None:
    class Line(Model):
        def __init__(self) -> None:
            super().__init__(loss="l2_loss")
            self.line = modules.FullyConnected(
                num_hidden=1,
                name="line",
                init_configs={"bias": {"init_rule": "constant", "value": 2}},
                update_configs={"bias": {"learning_rate": 0.0}},
            )

        def forward(self, X: Any, mode: str) -> Any:
            return self.line(X)

    x = numpy.random.RandomState(0).standard_normal((40, 2))
    data = NDArrayIter(x, x @ [[2.0], [-1.0]] + 2, batch_size=10)
    solver = Solver(
        Line(), data, data, task_type="regression", num_epochs=30, optim_config={"learning_rate": 0.1}, verbose=False
    )
    with pytest.raises(ArgumentError, match=r"the model has no parameters yet; call solver\.init\(\) first"):
        solver.train()
    solver.init()
    solver.train()
    numpy.testing.assert_allclose(solver.model.params["line_weight"], [[2, -1]], atol=1e-3)
    assert solver.model.params["line_bias"].tolist() == [2]


def test_batch_norm_moves_its_statistics_in_training_only(tmp_path: Path) -> None:
    class Norm(Model):
        def __init__(self) -> None:
            super().__init__()
            self.norm = modules.BatchNorm(fix_gamma=False, momentum=0.5, name="norm")

        def forward(self, X: Any, mode: str) -> Any:
            return self.norm(X)

    model = Norm()
    model.inference()
    model.norm(np.array([[0.0], [2.0]]))
    assert model.norm.aux_param_dict["norm_moving_mean"].tolist() == [0]
    model.training()
    out = model(numpy.array([[0.0], [2.0]]))
    numpy.testing.assert_allclose(out, [[-1], [1]], atol=1e-2)
    assert model.aux_params["norm_moving_mean"].tolist() == [0.5]
    assert set(model.backward()) == {"norm_gamma", "norm_beta"}
    model.save(str(tmp_path / "norm"))
    again = Norm()
    again.load(str(tmp_path / "norm"))
    assert again.aux_params["norm_moving_mean"].tolist() == [0.5]


def test_modules_combine() -> None:
    class Sum(Model):
        def __init__(self) -> None:
            super().__init__()
            self.both = modules.Identity() * modules.Variable((4,), name="v", init_configs={"value": 3})
            self.more = [modules.Identity(name="a") + modules.ReLU(name="b"), modules.ReLU() - modules.Identity()]

        def forward(self, X: Any, mode: str) -> Any:
            plus, minus = self.more
            return plus(X), minus(X)

    model = Sum()
    plus, minus = model(X)
    numpy.testing.assert_allclose(plus, X + numpy.maximum(X, 0))
    numpy.testing.assert_allclose(minus, numpy.maximum(X, 0) - X)
    assert isinstance(model.both, Parallel)
    assert repr(model.more[0]) == "a add b"


def test_sequences_change_after_they_belong_to_a_model() -> None:
    model = Net()
    model.net.append(modules.Dropout(0.5))
    model.net.insert(0, modules.BatchReshape((2, 2)))
    model.inference()
    assert len(model.net) == 5
    data = np.array(X)
    half = model.net(data)
    model.net.pop()
    numpy.testing.assert_allclose(half * 2, model.net(data), rtol=1e-6)
    model.net.reverse()
    assert isinstance(model.net[-1], modules.BatchReshape)


def test_models_share_the_parameters_of_models_inside() -> None:
    class Outer(Model):
        def __init__(self) -> None:
            super().__init__(loss="softmax_loss")
            self.inner = Net()
            self.last = modules.FullyConnected(num_hidden=3, name="last")

        def forward(self, X: Any, mode: str) -> Any:
            return self.last(self.inner.forward(X, mode))

    model = Outer()
    model(X, labels=LABELS)
    assert model.backward().keys() == {*NAMES, "last_weight", "last_bias"}
    assert model.inner.params is model.params


def test_a_recurrent_step_is_that_of_layers() -> None:
    class Steps(Model):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = modules.RNN(3, "tanh", name="rnn")
            self.lstm = modules.LSTM(3, name="lstm")

        def forward(self, X: Any, mode: str) -> Any:
            state = self.rnn(X, self.rnn(X))
            hidden, cell = self.lstm(X, *self.lstm(X))
            return state, hidden, cell

    model = Steps()
    state, hidden, cell = model(X)
    assert set(model.backward()) == {f"{a}_{b}" for a in ("rnn", "lstm") for b in ("XH_weight", "HH_weight", "HH_bias")}
    data, params = np.array(X), model.params
    numpy.testing.assert_array_equal(params["rnn_HH_weight"], numpy.eye(3))
    wanted = np.zeros((6, 3))
    for _ in range(2):
        wanted = layers.rnn_step(data, wanted, params["rnn_XH_weight"].T, params["rnn_HH_weight"].T, np.zeros(3))
    numpy.testing.assert_allclose(state, wanted, rtol=1e-5)
    h, c = numpy.zeros((6, 3)), numpy.zeros((6, 3))
    for _ in range(2):
        gates = X @ numpy.asarray(params["lstm_XH_weight"]).T + h @ numpy.asarray(params["lstm_HH_weight"]).T
        into, keep, out = (1 / (1 + numpy.exp(-gates[:, 3 * n : 3 * n + 3])) for n in range(3))
        c = keep * c + into * numpy.tanh(gates[:, 9:])
        h = out * numpy.tanh(c)
    numpy.testing.assert_allclose(cell, c, rtol=1e-4, atol=1e-6)
    numpy.testing.assert_allclose(hidden, h, rtol=1e-4, atol=1e-6)


def test_convolutions_learn_through_pooling() -> None:
    class Convolutional(Model):
        def __init__(self) -> None:
            super().__init__(loss="softmax_loss")
            self.net = Sequential(
                modules.Convolution(kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv"),
                modules.ReLU(),
                modules.Pooling(kernel=(2, 2), stride=(2, 2), pool_type="max"),
                modules.BatchFlatten(),
                modules.FullyConnected(num_hidden=3, name="fc"),
            )

        def forward(self, X: Any, mode: str) -> Any:
            return self.net(X)

    np.random.seed(3)
    pictures = numpy.random.RandomState(1).standard_normal((6, 1, 4, 4))
    model = Convolutional()
    first = float(model(pictures, labels=LABELS))
    update = Updater(model, update_rule="sgd_momentum", learning_rate=0.02)
    for _ in range(60):
        model(pictures, labels=LABELS)
        update(model.backward())
    assert model.params["conv_weight"].shape == (4, 1, 3, 3)
    assert float(model(pictures, labels=LABELS)) < 0.2 * first


class NoShapes(Layer):
    _module_name = "noshapes"

    def forward(self, X: Any) -> Any:
        return X * self._get_param(self._param_names[0])


def of_one(layer: Layer) -> Model:
    model = Model()
    model.layer = layer
    return model


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "unbound": (
        lambda: modules.ReLU(name="r")(np.ones(1)),
        "r is no part of a model: assign it to an attribute of one",
    ),
    "no module": (lambda: Sequential(3, name="s"), "s: int is no module; give layers of minpy.nn.modules"),  # type: ignore[arg-type]
    "twice": (
        lambda: setattr(of_one(modules.ReLU(name="r")), "other", modules.Tanh(name="r")),
        "Model: there is a layer 'r' already; give another name=",
    ),
    "loss": (
        lambda: Model(loss="softmax_los"),
        "the loss 'softmax_los' is not known; there are affine",
    ),
    "shapes": (
        lambda: of_one(NoShapes(("gain",), name="n")).layer(np.ones(2)),
        "n: no shape is known of n_gain; NoShapes.param_shapes and aux_param_shapes return those of all parameters.",
    ),
    "init rule": (
        lambda: of_one(modules.Variable((1,), init_configs={"init_rule": "gausian"}, name="v")).layer(),
        "v: the init rule 'gausian' is not known; there are constant, custom, gaussian, xavier. Did you mean 'gau",
    ),
    "settings": (
        lambda: modules.FullyConnected(num_hidden=2, name="fc", init_configs={"weigth": {"value": 1}}),
        "fc has no parameter 'weigth'; it has weight, bias. Did you mean 'weight'?",
    ),
    "no rule": (
        lambda: Updater(of_one(modules.Variable((1,), name="v")))({"v_variable": np.ones(1)}),
        "Updater: v_variable has no update rule; give Updater(model, update_rule='sgd')",
    ),
    "no parameter": (
        lambda: Updater(of_one(modules.Variable((1,), name="v")))["w"],
        "Updater: the model has no parameter 'w'; it has v_variable.",
    ),
    "not attached": (lambda: Model().detach("w"), "Model.detach: nothing is attached as 'w'."),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, text = BAD[name]
    with pytest.raises(ArgumentError, match=re.escape(text)):
        call()


def test_what_is_to_be_defined_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Module defines no forward"):
        Module()(1)
    with pytest.raises(NotImplementedError, match="Model defines no forward"):
        Model()(X)
    with pytest.raises(ArgumentError, match=r"Net has no loss; give Model\(loss='softmax_loss'\), or define one"):
        Net().loss_batch(next(iter(NDArrayIter(X, LABELS))), np.ones((1, 3)))


def test_symbols_are_layers_with_several_data() -> None:
    a, b = sym.var("a"), sym.var("b")
    model = of_one(modules.Symbolic(a + b * sym.var("w"), ("a", "b"), {"w": {"value": 2}}, name="s"))
    model.params["s_w"] = np.array([2.0])
    assert model.layer(a=np.ones(1), b=np.ones(1)).tolist() == [3.0]
