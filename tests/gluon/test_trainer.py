"""Trainer: beside the golden cases, what errors say, and files of states. Random programs have a file of their own."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import MXNetError, StaleGradientError

STATES = GOLDEN / "states"
TWO = [mx.cpu(0), mx.cpu(1)]

sys.path.insert(0, str(STATES.parent))
try:
    golden_states = importlib.import_module("check_trainer_states")
finally:
    sys.path.remove(str(STATES.parent))


def parameter(name: str = "a", values: Any = (1, -2), ctx: Any = None, **settings: Any) -> Any:
    made = gluon.Parameter(name, shape=(len(values),), **settings)
    made.initialize(mx.init.Zero(), ctx=ctx)
    made.set_data(nd.array(values))
    return made


def backward(*parameters: Any, contexts: Any = None) -> None:
    losses = []
    with autograd.record():
        for context in contexts or parameters[0].list_ctx():
            losses.append(sum((one.data(context) ** 2).sum() for one in parameters))
    autograd.backward(losses)


def trainer(*parameters: Any, rate: float = 0.25, momentum: float = 0.0, **settings: Any) -> Any:
    return gluon.Trainer(list(parameters), "sgd", {"learning_rate": rate, "momentum": momentum}, **settings)


def values(one: Any) -> list[list[float]]:
    return [data.asnumpy().tolist() for data in one.list_data()]


# -- errors ------------------------------------------------------------------------------------------------------------


def deferred() -> Any:
    made = gluon.Parameter("late_weight", shape=(0, 2), allow_deferred_init=True)
    made.initialize()
    return made


def moved() -> None:
    one = parameter()
    made = trainer(one)
    one.reset_ctx(TWO)
    backward(one)
    made.step(1)


def detached() -> None:
    one = parameter()
    made = trainer(one)
    one.data()._node = None
    made.step(1)


def inside_record() -> None:
    one = parameter()
    made = trainer(one)
    with autograd.record():
        loss = (one.data() ** 2).sum()
        loss.backward()
        made.step(1)


def apart(function: str) -> None:
    one = parameter(ctx=TWO)
    made = trainer(one)
    backward(one)
    getattr(made, function)(*([1] if function == "update" else []))


def stepped(batch_size: Any, **settings: Any) -> None:
    one = parameter(ctx=settings.pop("ctx", None))
    backward(one)
    trainer(one, **settings).step(batch_size)


def replaced(name: str) -> Any:
    made = trainer(parameter())
    made._optimizer = "sgd"
    return getattr(made, name)


ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "stale": (
        lambda: trainer(parameter("fc_weight")).step(1),
        StaleGradientError,
        (
            r"backward has not computed the gradient of the parameter 'fc_weight' on cpu\(0\) since the last step: .*"
            r"ignore_stale_grad=True, which leaves the others as they are; if it never does, set its grad_req to 'null'"
        ),
    ),
    "no parameters": (lambda: trainer(), TypeError, r"no parameters to train. Give net.collect_params\(\)"),
    "a parameter": (
        lambda: gluon.Trainer(parameter(), "sgd"),
        TypeError,
        "params must be a ParameterDict, or a dict or list of Parameters, got the parameter 'a' alone",
    ),
    "a block": (
        lambda: gluon.Trainer(gluon.nn.Dense(2), "sgd"),
        TypeError,
        r"got Dense Dense.* Call collect_params\(\) of the block",
    ),
    "an array": (lambda: trainer(nd.ones(2)), TypeError, r"must be Parameters, got float32 \(2,\) at position 0"),
    "twice": (lambda: trainer(*[parameter("w")] * 2), ValueError, "the parameter 'w' is given twice"),
    "uninitialized": (
        lambda: trainer(gluon.Parameter("w", shape=(2,))),
        MXNetError,
        r"Parameter 'w' is not initialized. Call initialize\(\)",
    ),
    "deferred": (lambda: trainer(deferred()).step(1), MXNetError, "'late_weight' has no values yet: its shape is"),
    "contexts": (
        lambda: trainer(parameter("a"), parameter("b", ctx=TWO)),
        ValueError,
        r"the parameter 'b' lies on cpu\(0\), cpu\(1\), and 'a' on cpu\(0\); all must lie on the same contexts",
    ),
    "moved": (moved, ValueError, r"lies on cpu\(0\), cpu\(1\) now, and lay on cpu\(0\) when the trainer was made"),
    "detached": (detached, MXNetError, r"array of the parameter 'a' on cpu\(0\) has no gradient any more"),
    "inside record": (inside_record, MXNetError, r"Trainer.step is called inside autograd.record\(\)"),
    "optimizer": (lambda: gluon.Trainer([parameter()], "sdg"), ValueError, "no optimizer 'sdg'. Did you mean 'sgd'"),
    "optimizer's arguments": (
        lambda: gluon.Trainer([parameter()], "sgd", {"learning_rte": 1}),
        TypeError,
        "SGD takes no 'learning_rte'. Did you mean 'learning_rate'",
    ),
    "arguments of what is made": (
        lambda: gluon.Trainer([parameter()], mx.optimizer.SGD(), {"wd": 1}),
        TypeError,
        "the SGD is made already, and cannot take optimizer_params={'wd': 1}",
    ),
    "arguments in a list": (
        lambda: gluon.Trainer([parameter()], "sgd", ["wd"]),
        TypeError,
        "optimizer_params must be a dict, such as {'learning_rate': 0.1}, got list of 1",
    ),
    "store": (lambda: stepped(1, kvstore=3), TypeError, "the name of a store, a KVStoreBase or None, got int 3"),
    "store's name": (
        lambda: stepped(1, kvstore="devise", ctx=TWO),
        ValueError,
        "no store 'devise'. Did you mean 'device'",
    ),
    "distributed": (lambda: stepped(1, kvstore="dist_sync"), MXNetError, "one process trains here"),
    "no store": (
        lambda: stepped(1, update_on_kvstore=True),
        ValueError,
        r"update_on_kvstore=True, but there is no store: kvstore is 'device', and parameters lie on cpu\(0\) only",
    ),
    "compression": (
        lambda: trainer(parameter(), compression_params={"type": "2bit"}),
        MXNetError,
        "compression_params={'type': '2bit'} compresses gradients that are sent",
    ),
    "allreduce": (lambda: apart("allreduce_grads"), MXNetError, "allreduce_grads: .* with update_on_kvstore=False"),
    "update": (lambda: apart("update"), MXNetError, "Trainer.update: the store updates parameters when gradients are"),
    "batch of none": (
        lambda: stepped(0),
        ValueError,
        "batch_size must be a number that gradients are divided by, got int 0",
    ),
    "batch of words": (lambda: stepped("all"), ValueError, "batch_size must be a number .*, got str 'all'"),
    "no optimizer": (
        lambda: replaced("learning_rate"),
        MXNetError,
        "Trainer.learning_rate: its optimizer was replaced by str",
    ),
    "no optimizer to set": (
        lambda: replaced("set_learning_rate")(1),
        MXNetError,
        "set_learning_rate: .* Make it with mx.optimizer.create",
    ),
    "states": (
        lambda: trainer(parameter()).load_states("/no/where"),
        FileNotFoundError,
        "load_states: cannot read '/no/where'",
    ),
    "states' folder": (
        lambda: trainer(parameter()).save_states("/no/where"),
        FileNotFoundError,
        "save_states: cannot write '/no/where': .* The folder '/no' does not exist",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()


def test_stale_gradients_are_caught_as_in_mxnet() -> None:
    with pytest.raises(UserWarning, match="backward has not computed"):
        trainer(parameter()).step(1)


@pytest.mark.parametrize("settings", [{}, {"update_on_kvstore": False}], ids=["store", "apart"])
@pytest.mark.parametrize("ctx", [None, TWO], ids=["one", "two"])
def test_a_step_that_fails_can_be_repeated(ctx: Any, settings: Any) -> None:
    one, other = parameter("a", ctx=ctx), parameter("b", ctx=ctx)
    made = trainer(one, other, momentum=0.5, **settings)
    backward(one)
    before = [gradient.asnumpy() for gradient in one.list_grad()]
    for _ in range(2):
        with pytest.raises(StaleGradientError, match="parameter 'b'"):
            made.step(1)
    assert values(one) == [[1, -2]] * len(one.list_ctx())
    np.testing.assert_array_equal([gradient.asnumpy() for gradient in one.list_grad()], before)
    made.step(1, ignore_stale_grad=True)
    assert values(one)[0] == [1 - 0.5 * len(before), -2 + len(before)]
    assert values(other)[0] == [1, -2]


def test_the_stale_context_is_named() -> None:
    one = parameter(ctx=TWO)
    backward(one, contexts=TWO[:1])
    with pytest.raises(StaleGradientError, match=r"'a' on cpu\(1\) since"):
        trainer(one).step(1)


# -- what is updated ---------------------------------------------------------------------------------------------------


def test_nothing_is_copied_on_one_context() -> None:
    one = parameter()
    made = trainer(one)
    data, gradient = one.data(), one.grad()
    backward(one)
    before = one.data()._data, gradient._data
    made.step(1)
    assert one.data() is data
    assert one.grad() is gradient
    assert (one.data()._data, gradient._data) == before or one.data()._data is before[0]
    assert made._kvstore is None


@pytest.mark.parametrize("ctx", [None, TWO], ids=["one", "two"])
def test_arrays_of_numpys_kind(ctx: Any) -> None:
    with mx.util.np_array(True):
        one = gluon.Parameter("a", shape=(2,))
        one.initialize(mx.init.One(), ctx=ctx)
        made = trainer(one, momentum=0.5)
        for _ in range(2):
            backward(one)
            made.step(len(one.list_ctx()))
        assert all(isinstance(data, mx.np.ndarray) for data in one.list_data())
        assert values(one)[0] == [0, 0]


def test_a_subclass_sums_gradients_itself() -> None:
    class Doubling(gluon.Trainer):
        def _allreduce_grads(self) -> None:
            for one in self._params:
                for gradient in one.list_grad():
                    gradient *= 2

    one = parameter()
    backward(one)
    Doubling([one], "sgd", {"learning_rate": 0.25}, kvstore=None).step(1)
    assert values(one) == [[0, 0]]


def test_parts_of_a_step_by_themselves() -> None:
    one = parameter()
    made = trainer(one)
    backward(one)
    assert one.data()._fresh_grad
    made._check_and_rescale_grad(made._scale / 2)
    made._allreduce_grads()
    made._update()
    assert values(one) == [[0.75, -1.5]]
    assert not one.data()._fresh_grad
    one.data()._fresh_grad = True
    made._update()
    assert values(one) == [[0.5, -1]]


def test_two_trainers_of_one_parameter() -> None:
    one = parameter()
    first, second = trainer(one), trainer(one)
    backward(one)
    first.step(1)
    with pytest.raises(StaleGradientError, match="'a'"):
        second.step(1)
    backward(one)
    second.step(1)
    assert values(one) == [[0.25, -0.5]]


def test_the_environment_says_where_parameters_are_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    made = trainer(parameter(ctx=TWO))
    made._init_kvstore()
    assert made._update_on_kvstore is False
    made = trainer(parameter(ctx=TWO), update_on_kvstore=True)
    made._init_kvstore()
    assert made._update_on_kvstore is True


def test_a_large_parameter_is_not_updated_in_a_local_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minpy.gluon.trainer._LARGE", 2)
    found = []
    for store, one in (
        ("local", parameter(values=[1] * 3, ctx=TWO)),
        ("local", parameter(ctx=TWO)),
        ("device", parameter(values=[1] * 3, ctx=TWO)),
    ):
        made = trainer(one, kvstore=store)
        made._init_kvstore()
        found.append(made._update_on_kvstore)
    assert found == [False, True, True]


def test_a_network_with_layers_that_wait_for_shapes() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), gluon.nn.Dense(1))
    net.initialize()
    made = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    data = nd.array([[1, 2], [3, 4], [-1, 0.5], [0, 1]])
    target = data.sum(axis=1, keepdims=True)
    losses = []
    for _ in range(60):
        with autograd.record():
            loss = ((net(data) - target) ** 2).mean()
        loss.backward()
        made.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < losses[0] / 5


def test_contexts_share_a_batch() -> None:
    data = nd.array(np.arange(12).reshape(6, 2) / 10)
    found = []
    for contexts in ([mx.cpu()], TWO, [mx.cpu(number) for number in range(3)]):
        one = parameter(ctx=contexts)
        made = trainer(one, momentum=0.9)
        for _ in range(3):
            with autograd.record():
                losses = [
                    (part * one.data(part.context)).sum() ** 2 / 6
                    if len(contexts) == 1
                    else ((part * one.data(part.context)).sum(axis=1)).sum()
                    for part in gluon.utils.split_and_load(data, contexts)
                ]
            if len(contexts) == 1:
                with autograd.record():
                    losses = [(data * one.data()).sum(axis=1).sum()]
            autograd.backward(losses)
            made.step(6)
        found.append(values(one)[0])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-6)


def test_a_copied_network_has_no_trainer() -> None:
    one = parameter()
    made = trainer(one)
    assert one._trainer is made
    assert copy.deepcopy(one)._trainer is None


def test_names_under_which_it_is_found() -> None:
    import minpy.gluon.trainer

    assert minpy.gluon.trainer.Trainer is gluon.Trainer
    assert "Trainer" in dir(gluon)
    assert gluon.trainer.opt is mx.optimizer


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "contexts"), golden_states.CASES)
def test_states_that_mxnet_has_written(name: str, contexts: int) -> None:
    path = STATES / f"trainer_{name}_{contexts}.states"
    expected = json.loads((STATES / "trainers.json").read_text())[path.name]
    for got, wanted in zip(golden_states.weights(mx, name, contexts, path), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4)


@pytest.mark.parametrize(("name", "contexts"), golden_states.CASES)
def test_states_written_and_read(name: str, contexts: int, tmp_path: Path) -> None:
    made, parameters = golden_states.train(mx, name, contexts)
    made.save_states(tmp_path / "states")
    expected = golden_states.step(mx, made, parameters)
    assert golden_states.weights(mx, name, contexts, tmp_path / "states") == expected
    names = {
        line.split()[0] for line in (tmp_path / "states").read_bytes().decode("latin1").splitlines() if "cmxnet" in line
    }
    assert any("mxnet.optimizer.optimizer" in one for one in names)


def test_states_that_would_run_code(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> Any:
            return (open, (str(tmp_path / "broken"), "w"))

    path = tmp_path / "states"
    path.write_bytes(pickle.dumps({0: Harmful()}))
    for ctx in (None, TWO):
        made = trainer(parameter(ctx=ctx), momentum=0.5)
        with pytest.raises(MXNetError, match="none of the classes that belong there"):
            made.load_states(path)
    assert not (tmp_path / "broken").exists()


@pytest.mark.parametrize("ctx", [None, TWO], ids=["one", "two"])
def test_damaged_states_change_nothing(ctx: Any, tmp_path: Path) -> None:
    one = parameter(ctx=ctx)
    made = trainer(one, momentum=0.5)
    backward(one)
    made.step(1)
    path = tmp_path / "states"
    made.save_states(path)
    content = path.read_bytes()
    updater = made._kvstore._updater if made._kvstore is not None else made._updaters[0]
    momentum = updater.states[0].asnumpy()
    for damaged in (b"", content[: len(content) // 2], b"no pickle", content[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(MXNetError, match="states"):
            made.load_states(path)
        np.testing.assert_array_equal(updater.states[0].asnumpy(), momentum)
        assert made.learning_rate == 0.25


def test_a_file_of_states_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "states"
    made = trainer(parameter())
    made.save_states(path)
    before = path.read_bytes()
    made.set_learning_rate(0.5)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left on device"):
            made.save_states(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_factors_of_parameters_count_after_loading(tmp_path: Path) -> None:
    one = parameter(lr_mult=0.5)
    made = trainer(one)
    made.save_states(tmp_path / "states")
    made.load_states(tmp_path / "states")
    backward(one)
    made.step(1)
    assert values(one) == [[0.75, -1.5]]


def test_parameters_and_states_go_on_in_any_order(tmp_path: Path) -> None:
    """Values that are set after states were loaded do not undo them, also where a store updates parameters."""
    found = []
    for order in ("parameters", "states"):
        for ctx in (None, TWO):
            one = parameter(ctx=ctx)
            made = trainer(one, momentum=0.5)
            for _ in range(2):
                backward(one)
                made.step(len(one.list_ctx()))
            made.save_states(tmp_path / "states")
            kept = one.list_data()[0].copy()
            other = parameter(ctx=ctx)
            again = trainer(other, momentum=0.5)
            if order == "parameters":
                other.set_data(kept)
            again.load_states(tmp_path / "states")
            if order == "states":
                other.set_data(kept)
            backward(other)
            again.step(len(other.list_ctx()))
            found.append(values(other)[0])
    assert found == [found[0]] * 4
