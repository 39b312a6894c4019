"""MinPy's own names: what its users import works, on today's parts."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import pytest
from places import GOLDEN, ROOT

import minpy
import minpy.numpy as np
from minpy import sym
from minpy.core import Function, convert_args, function, grad, grad_and_loss, minpy_to_numpy, numpy_to_minpy
from minpy.core.errors import ArgumentError
from minpy.dispatch import policy
from minpy.nn import init, layers, optim
from minpy.nn.io import DataIter, NDArrayIter, load_data_labels, save_data_labels
from minpy.nn.model import ModelBase, ParamsNameNotFoundError
from minpy.nn.solver import Solver

EXAMPLE = ROOT / "examples" / "minpy_digits.py"


@pytest.mark.skipif(find_spec("sklearn") is None, reason="the example needs scikit-learn")
def test_the_example_learns_digits() -> None:
    command = [sys.executable, EXAMPLE, "--quick"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    shares = [float(line.split(": ")[1].split("%")[0]) for line in result.stdout.splitlines()]
    assert len(shares) == 7
    assert min(shares) > 85
    assert shares[0] == shares[1]  # the operator of our own is the same loss


# -- core --------------------------------------------------------------------------------------------------------------


def test_the_names_of_the_core_are_those_of_the_top() -> None:
    def area(width: Any, height: Any) -> Any:
        return width * height

    for argnum in (0, 1):
        assert grad(area, argnum)(3.0, 2.0) == minpy.grad(area, argnum)(3.0, 2.0)
        assert grad_and_loss(area, argnum)(3.0, 2.0) == minpy.grad_and_loss(area, argnum)(3.0, 2.0)
    for argnums in ([0, 1], (1, 0), range(2)):  # of several, MinPy returned a list
        assert grad(area, argnums)(3.0, 2.0) == [*minpy.grad(area, tuple(argnums))(3.0, 2.0)]
        assert grad_and_loss(area, argnums)(3.0, 2.0) == (grad(area, argnums)(3.0, 2.0), 6.0)
    # of one argument in a sequence, MinPy returned the gradient itself
    assert (grad(area, [1])(3.0, 2.0), minpy.grad(area, [1])(3.0, 2.0)) == (3.0, (3.0,))
    assert grad_and_loss(area, [1])(3.0, 2.0) == (3.0, 6.0)
    with pytest.raises(AttributeError, match="has no attribute 'gradd'"):
        minpy.core.gradd  # noqa: B018


def test_a_symbol_as_a_function_has_the_gradients_of_its_operators() -> None:
    data, label = numpy.random.RandomState(0).standard_normal((5, 4)), numpy.array([0, 1, 2, 1, 0])
    net = sym.FullyConnected(sym.var("x"), name="fc", num_hidden=3)
    f = Function(net, {"x": (5, 4)})
    params = {name: init.gaussian(one["shape"], {"stdvar": 1}) for name, one in f.get_params().items()}
    assert f.get_one_output_shape() == (5, 3)
    x = np.array(data)

    def by_symbol(weight: Any, bias: Any) -> Any:
        return layers.softmax_loss(f(x=x, fc_weight=weight, fc_bias=bias), label)

    def by_hand(weight: Any, bias: Any) -> Any:
        return layers.softmax_loss(layers.affine(x, weight.T, bias), label)

    values = params["fc_weight"], params["fc_bias"]
    for found, wanted in zip(grad(by_symbol, [0, 1])(*values), grad(by_hand, [0, 1])(*values), strict=True):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_symbol_as_a_function_moves_states_in_training_only() -> None:
    f = function(sym.BatchNorm(sym.var("x"), name="bn", momentum=0.5, fix_gamma=False))
    x, mean, variance = np.array([[0.0], [2.0]]), np.zeros(1), np.ones(1)
    given = {"bn_gamma": np.ones(1), "bn_beta": np.zeros(1), "bn_moving_mean": mean, "bn_moving_var": variance}
    numpy.testing.assert_allclose(f(x=x, **given), [[-1], [1]], atol=1e-2)
    assert mean.tolist() == [0.5]
    f.is_train = False
    f(x=x, **given)
    assert mean.tolist() == [0.5]


def test_labels_of_a_symbol_may_be_left_out() -> None:
    f = Function(sym.SoftmaxOutput(sym.var("x"), name="softmax"), {"x": (2, 3)})
    numpy.testing.assert_allclose(f(x=np.zeros((2, 3))), numpy.full((2, 3), 1 / 3), rtol=1e-6)


def test_arrays_are_converted_both_ways() -> None:
    found = numpy_to_minpy({"a": [numpy.ones(2)], "b": 3})
    assert isinstance(found["a"][0], np.ndarray)
    assert found["b"] == 3
    back = minpy_to_numpy(found)
    assert type(back["a"][0]) is numpy.ndarray
    assert convert_args(lambda x, *, y: isinstance(x, np.ndarray) and isinstance(y, np.ndarray))(
        numpy.ones(1), y=numpy.ones(1)
    )


# -- layers ------------------------------------------------------------------------------------------------------------


def draw(*shape: int) -> Any:
    return np.array(numpy.random.RandomState(sum(shape)).standard_normal(shape), dtype="float64")


LAYERS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "affine": (layers.affine, [draw(3, 4), draw(4, 2), draw(2)]),
    "relu": (layers.relu, [draw(3, 4)]),
    "sigmoid": (layers.sigmoid, [draw(3, 4)]),
    "batchnorm": (lambda x, g, b: layers.batchnorm(x, g, b)[0], [draw(5, 3), draw(3), draw(3)]),
    "svm_loss": (lambda x: layers.svm_loss(x, np.array([0, 3, 1])), [draw(3, 4)]),
    "softmax_loss": (lambda x: layers.softmax_loss(x, np.array([0, 3, 1])), [draw(3, 4)]),
    "l2_loss": (lambda x: layers.l2_loss(x, np.array([0, 3, 1])), [draw(3, 4)]),
    "rnn_temporal": (layers.rnn_temporal, [draw(2, 3, 4), draw(2, 5), draw(4, 5), draw(5, 5), draw(5)]),
    "gru_step": (
        layers.gru_step,
        [draw(2, 4), draw(2, 3), draw(4, 6), draw(3, 6), draw(6), draw(4, 3), draw(3, 3), draw(3)],
    ),
    "lstm_temporal": (layers.lstm_temporal, [draw(2, 3, 4), draw(2, 5), draw(4, 20), draw(5, 20), draw(20)]),
    "temporal_affine": (layers.temporal_affine, [draw(2, 3, 4), draw(4, 5), draw(5)]),
    "temporal_softmax_loss": (
        lambda x: layers.temporal_softmax_loss(x, np.array([[0, 1, 2], [2, 1, 0]]), np.array([[1, 1, 0], [1, 0, 0]])),
        [draw(2, 3, 4)],
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_layers_are_differences(name: str) -> None:
    layer, inputs = LAYERS[name]
    weights = numpy.random.RandomState(1).uniform(0.5, 1.5, numpy.shape(layer(*inputs)))

    def total(*arrays: Any) -> Any:
        return np.sum(layer(*arrays) * weights)

    gradients = minpy.grad(total, list(range(len(inputs))))(*inputs)
    for index, (array, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        direction = numpy.random.RandomState(2).standard_normal(array.shape)
        ends = []
        for sign in (1, -1):
            moved = [*inputs[:index], array + sign * 1e-6 * direction, *inputs[index + 1 :]]
            ends.append(float(total(*moved)))
        slope = (ends[0] - ends[1]) / 2e-6
        numpy.testing.assert_allclose(float((gradient * direction).sum()), slope, rtol=1e-5, atol=1e-7)


def test_dropout_drops_in_training_and_scales_in_tests() -> None:
    x = np.ones((1000,))
    kept = layers.dropout(x, 0.25, seed=1)
    assert set(kept.tolist()) == {0.0, 1.0}
    assert 650 < float(kept.sum()) < 850
    assert layers.dropout(x, 0.25, mode="test").tolist() == [0.75] * 1000


def test_update_rules_find_the_bottom_of_a_bowl() -> None:
    for rule, rate in ((optim.sgd, 0.2), (optim.sgd_momentum, 0.02), (optim.rmsprop, 0.05), (optim.adam, 0.2)):
        w, config = np.array([3.0, -2.0]), {"learning_rate": rate}
        for _ in range(300):
            w, config = rule(w, 2 * (w - 1), config)
        numpy.testing.assert_allclose(w, [1, 1], atol=0.06)


# -- models and solvers ------------------------------------------------------------------------------------------------


class Line(ModelBase):
    def __init__(self) -> None:
        super().__init__()
        self.add_param("w", (2, 1)).add_param("b", (1,), init_rule="constant", init_config={"value": 2})
        self.add_aux_param("seen", np.zeros(1))

    def forward(self, X: Any, mode: str) -> Any:
        return layers.affine(X, self.params["w"], self.params["b"])

    def loss(self, predict: Any, y: Any) -> Any:
        return layers.l2_loss(predict, y)


def line_data(**options: Any) -> NDArrayIter:
    x = numpy.random.RandomState(0).standard_normal((40, 2))
    return NDArrayIter(x, x @ [[2.0], [-1.0]] + 0.5, batch_size=10, **options)


def test_a_solver_fits_a_line_and_models_are_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"task_type": "regression", "num_epochs": 30, "lr_decay": 0.99, "print_every": 50}
    solver = Solver(Line(), line_data(), line_data(), optim_config={"learning_rate": 0.1}, **options)
    solver.init()
    assert solver.model.params["b"].tolist() == [2]
    solver.train()
    numpy.testing.assert_allclose(solver.model.params["w"], [[2], [-1]], atol=1e-3)
    assert len(solver.loss_history) == 120
    assert solver.loss_history[-1] < 1e-5 < solver.loss_history[0]
    assert solver.optim_configs["w"]["learning_rate"] == pytest.approx(0.1 * 0.99**30)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("(Iteration 1 / 120) loss: ")
    assert printed[-1].startswith("(Epoch 30 / 30) train loss: ")
    solver.model.save(str(tmp_path / "line"))
    again = Line()
    again.load(str(tmp_path / "line"))
    for name, value in solver.model.params.items():
        numpy.testing.assert_array_equal(again.params[name], value)
    assert again.aux_params["seen"].tolist() == [0]


def test_batches_cover_the_data() -> None:
    batches = NDArrayIter(numpy.arange(7), numpy.arange(7), batch_size=3, shuffle=True)
    seen = [batch.data[0].tolist()[: 3 - batch.pad] for batch in batches]
    assert sorted(number for numbers in seen for number in numbers) == list(range(7))
    assert batches.getnumiterations() == 3
    assert [batch.pad for batch in NDArrayIter(numpy.arange(7), batch_size=3, last_batch_handle="discard")] == [0, 0]
    assert batches.getsubiter(4).num_data == 4
    assert batches.provide_data == [("data", (3,))]


# -- policies and contexts ---------------------------------------------------------------------------------------------


def test_policies_are_accepted_and_change_nothing() -> None:
    before = minpy.get_global_policy()
    try:
        for plc in ("auto_blacklist", "only_numpy", policy.PreferMXNetPolicy()):
            minpy.set_global_policy(plc)
            assert minpy.get_global_policy().name == policy.create(plc).name
            assert grad(lambda x: x * x)(3.0) == 6.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="NumPy computes all functions"):
                minpy.set_global_policy("only_mxnet")
        inside = minpy.wrap_policy("only_numpy")(lambda: minpy.get_global_policy().name)
        assert inside() == "OnlyNumPyPolicy"
        assert minpy.get_global_policy().name == "PreferMXNetPolicy"
    finally:
        minpy.set_global_policy(before)


def test_the_context_can_be_set() -> None:
    with minpy.cpu(0):
        minpy.context.set_context(minpy.cpu(1))
        assert minpy.current_context() == minpy.cpu(1).as_mxnet_context()
    assert minpy.current_context() == minpy.cpu(0)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "update rule": (
        lambda: Solver(Line(), line_data(), line_data(), update_rule="sgdd"),
        "Solver: there is no update rule 'sgdd'; there are adam, rmsprop, sgd, sgd_momentum. Did you mean 'sgd'?",
    ),
    "task": (
        lambda: Solver(Line(), line_data(), line_data(), task_type="ranking"),
        "Solver: task_type is 'ranking'; expected 'classification' or 'regression'.",
    ),
    "not drawn": (
        lambda: Solver(Line(), line_data(), line_data()).train(),
        "Solver.train: the model has no w, b yet; call solver.init() first.",
    ),
    "twice": (
        lambda: Line().add_param("w", (1,)),
        "add_param: there is a parameter 'w' already; choose another name.",
    ),
    "mode": (
        lambda: layers.dropout(np.ones(1), 0.5, mode="predict"),
        "dropout: mode is 'predict'; expected 'train' or 'test'.",
    ),
    "batch size": (
        lambda: NDArrayIter(numpy.ones(3), batch_size=4),
        "NDArrayIter: batch_size is 4; expected 1 to 3, all examples.",
    ),
    "policy": (
        lambda: policy.create("numpy"),
        (
            "there is no policy 'numpy'; there are auto_blacklist, prefer_mxnet, only_numpy, only_mxnet. Did you "
            "mean 'only_numpy'?"
        ),
    ),
    "variable": (
        lambda: Function(sym.var("x") * 2)(y=np.ones(1)),
        "mxnet_symbol has no variable 'y'; its variables are x.",
    ),
    "no symbol": (
        lambda: Function(3),  # type: ignore[arg-type]
        "Function: int is no symbol; give what mx.sym's functions return.",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, text = BAD[name]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert str(caught.value) == text


def old_model() -> ModelBase:
    return ModelBase().add_param("w", (2, 2)).add_aux_param("seen", numpy.zeros(1))


def test_models_that_minpy_saved_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = str(GOLDEN / "minpy_model")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "h5py", None)
        with pytest.raises(ArgumentError, match=r"written by MinPy, in HDF5, .* Install it: pip install h5py"):
            old_model().load(saved)
    pytest.importorskip("h5py")
    model = old_model()
    model.load(saved)
    assert (model.params["w"].tolist(), model.aux_params["seen"].tolist()) == ([[3, 3], [3, 3]], [1])


def test_a_file_without_a_parameter_is_refused(tmp_path: Path) -> None:
    other = ModelBase()
    other.params["w"] = np.ones((2, 2))
    other.save(str(tmp_path / "other"))
    model = old_model()
    with pytest.raises(ParamsNameNotFoundError, match="has no parameter 'seen'"):
        model.load(str(tmp_path / "other"))
    assert model.params == {}  # nothing is loaded by half


def test_data_and_labels_are_kept_in_files(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    save_data_labels(numpy.eye(2), [0, 1], path)
    data, labels = load_data_labels(path)
    assert (data.tolist(), labels.tolist()) == ([[1, 0], [0, 1]], [0, 1])
    (tmp_path / "pickle").write_bytes(pickle.dumps({"data": 1, "labels": 2}))
    with pytest.raises(ArgumentError, match="If MinPy wrote it, and you trust it, read it with"):
        load_data_labels(str(tmp_path / "pickle"))


class Countdown(DataIter):
    """An iterator of a program's own, which defines what `next` calls."""

    def __init__(self) -> None:
        self.left = 3

    def iter_next(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def getdata(self) -> list[Any]:
        return [numpy.array([self.left])]


def test_iterators_define_next_or_what_it_calls() -> None:
    batches = [*Countdown()]
    assert [batch.data[0].tolist() for batch in batches] == [[2], [1], [0]]
    assert [(batch.label, batch.pad, batch.index) for batch in batches] == [([], 0, None)] * 3
    with pytest.raises(NotImplementedError, match=r"DataIter defines neither next\(self\) nor iter_next\(self\)"):
        next(DataIter())


def test_batches_roll_over() -> None:
    batches = NDArrayIter(numpy.arange(5), batch_size=2, last_batch_handle="roll_over")
    for wanted in ([[0, 1], [2, 3], [4, 0]], [[1, 2], [3, 4]], [[0, 1], [2, 3], [4, 0]]):
        assert [batch.data[0].tolist() for batch in batches] == wanted
        batches.reset()
    batches.hard_reset()
    assert batches.iter_next()
    assert (batches.getdata()[0].tolist(), batches.getpad(), batches.getindex().tolist()) == ([0, 1], 0, [0, 1])
    assert minpy.nn.io.MNISTIter is minpy.io.MNISTIter
