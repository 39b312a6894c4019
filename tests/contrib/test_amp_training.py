"""Training in mixed precision: the loss scale, trainers that leave steps out, gradients looked at before the step."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.contrib import amp
from minpy.contrib.amp.loss_scaler import LossScaler
from minpy.core.errors import ArgumentError, MXNetError

INFINITE = float("inf")


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    amp.init()
    yield
    amp.amp._reset()


def parameter(dtype: str = "float32", ctx: Any = None, grad_req: str = "write") -> gluon.Parameter:
    made = gluon.Parameter("weight", shape=(2,), dtype=dtype, grad_req=grad_req)
    made.initialize(mx.init.One(), ctx=ctx)
    return made


def trainer_of(*parameters: gluon.Parameter, initialized: bool = True, **options: Any) -> gluon.Trainer:
    given_options = {"learning_rate": 0.5, **options.pop("optimizer_params", {})}
    made = gluon.Trainer(list(parameters), "sgd", given_options, **{"update_on_kvstore": False, **options})
    if initialized:
        amp.init_trainer(made)
    return made


def backward(weight: gluon.Parameter, trainer: gluon.Trainer, *factors: float) -> None:
    with autograd.record():
        losses = [(data * factor).sum() for data, factor in zip(weight.list_data(), factors or (1.0,), strict=True)]
        with amp.scale_loss(losses, trainer) as scaled:
            autograd.backward(scaled)


def state_of(scaler: LossScaler) -> tuple[float, float, int]:
    return scaler._loss_scale, scaler._next_loss_scale, scaler._unskipped


# -- the scale -----------------------------------------------------------------------------------------------------


def test_the_scale_from_step_to_step(caplog: pytest.LogCaptureFixture) -> None:
    weight = parameter()
    scaler = LossScaler()
    assert vars(scaler) == {
        "_loss_scale": 65536.0,
        "_next_loss_scale": 65536.0,
        "_max_loss_scale": 16777216.0,
        "_scale_seq_len": 2000,
        "_unskipped": 0,
    }
    with caplog.at_level(logging.INFO):
        weight.grad()[:] = 1
        assert not scaler.has_overflow([weight])
        assert state_of(scaler) == (65536, 65536, 1)
        weight.grad()[:] = INFINITE
        assert scaler.has_overflow([weight])
        assert state_of(scaler) == (65536, 32768, 0)  # the scale changes at the next look
        weight.grad()[:] = 1
        assert not scaler.has_overflow([weight])
        assert state_of(scaler) == (32768, 32768, 1)
        scaler._unskipped = 1999
        assert not scaler.has_overflow([weight])
        assert state_of(scaler) == (32768, 65536, 0)
        assert not scaler.has_overflow([weight])
        assert state_of(scaler) == (65536, 65536, 1)
        scaler._next_loss_scale, scaler._unskipped = 2.0**24, 1999
        assert not scaler.has_overflow([weight])
        assert scaler._next_loss_scale == 2.0**24
    assert [record.message for record in caplog.records] == [
        "AMP: decreasing loss scale to 32768.000000",
        "AMP: increasing loss scale to 65536.000000",
        "AMP: increasing loss scale to 16777216.000000",
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5))
def test_the_scale_is_a_power_of_two_and_counts(overflows: list[bool], window: int) -> None:
    weight, scaler = parameter(), LossScaler()
    scaler._scale_seq_len = window
    scale = following = 2.0**16
    since = 0
    for overflow in overflows:
        weight.grad()[:] = float("nan") if overflow else 1
        assert scaler.has_overflow([weight]) is overflow
        scale, since = following, 0 if overflow else since + 1
        if overflow:
            following = scale / 2
        elif since == window:
            following, since = min(scale * 2, 2.0**24), 0
        assert (scaler.loss_scale, scaler._next_loss_scale, scaler._unskipped) == (scale, following, since)


def test_what_is_looked_at() -> None:
    scaler = LossScaler()
    constant = parameter(grad_req="null")
    constant.data()[:] = INFINITE
    assert not scaler.has_overflow([constant])
    assert not scaler.has_overflow([])
    both = parameter(ctx=[mx.cpu(0), mx.cpu(1)])
    both.list_grad()[1][:] = float("nan")
    assert scaler.has_overflow([constant, both])


# -- steps ---------------------------------------------------------------------------------------------------------


def test_a_step_divides_by_the_scale() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    backward(weight, trainer)
    assert weight.grad().asnumpy().tolist() == [65536, 65536]
    trainer.step(2)
    assert weight.data().asnumpy().tolist() == [0.75, 0.75]
    assert trainer.optimizer.num_update == 1


def test_a_step_that_overflows_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    weight = parameter()
    trainer = trainer_of(weight, optimizer_params={"momentum": 0.9})
    with caplog.at_level(logging.INFO):
        backward(weight, trainer, INFINITE)
        trainer.step(1)
    assert [record.message for record in caplog.records] == ["AMP: decreasing loss scale to 32768.000000"]
    assert weight.data().asnumpy().tolist() == [1, 1]
    assert trainer.optimizer.num_update == 0
    assert state_of(trainer._amp_loss_scaler) == (65536, 32768, 0)
    # As in MXNet the next loss is scaled as before: the scale changes when gradients are looked at.
    for scale, expected in ((65536, 0.5), (32768, -0.45)):
        backward(weight, trainer)
        assert weight.grad().asnumpy().tolist() == [scale, scale]
        trainer.step(1)
        np.testing.assert_allclose(weight.data().asnumpy(), expected, rtol=1e-6)
    assert trainer.optimizer.num_update == 2


def test_a_step_that_overflows_can_be_made_anew_after_it() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    backward(weight, trainer, INFINITE)
    trainer.step(1)
    trainer.step(1)  # gradients are what they were: left out again, and no error
    assert trainer._amp_loss_scaler._next_loss_scale == 16384
    assert weight.data().asnumpy().tolist() == [1, 1]


def test_update_is_left_out_as_step_is() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    backward(weight, trainer, float("nan"))
    trainer.allreduce_grads()
    trainer.update(1)
    assert weight.data().asnumpy().tolist() == [1, 1]
    assert trainer._amp_loss_scaler._next_loss_scale == 32768


@pytest.mark.parametrize("update_on_kvstore", [False, True])
def test_on_several_contexts(update_on_kvstore: bool) -> None:
    weight = parameter(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = trainer_of(weight, update_on_kvstore=update_on_kvstore, optimizer_params={"learning_rate": 0.25})
    backward(weight, trainer, 1.0, 1.0)
    trainer.step(1)
    assert [one.asnumpy().tolist() for one in weight.list_data()] == [[0.5, 0.5]] * 2
    backward(weight, trainer, 1.0, INFINITE)
    trainer.step(1)
    assert [one.asnumpy().tolist() for one in weight.list_data()] == [[0.5, 0.5]] * 2
    assert state_of(trainer._amp_loss_scaler) == (65536, 32768, 0)
    backward(weight, trainer, 1.0, 2.0)
    trainer.step(1)
    assert [one.asnumpy().tolist() for one in weight.list_data()] == [[-0.25, -0.25]] * 2


def test_beside_a_rescale_grad_of_ones_own() -> None:
    weight = parameter()
    trainer = trainer_of(weight, optimizer_params={"rescale_grad": 0.25})
    backward(weight, trainer)
    trainer.step(1)
    assert weight.data().asnumpy().tolist() == [0.875, 0.875]
    backward(weight, trainer)
    amp.unscale(trainer)
    assert weight.grad().asnumpy().tolist() == [0.25, 0.25]
    trainer.step(1)
    assert weight.data().asnumpy().tolist() == [0.75, 0.75]


def test_float16_parameters_of_several_precisions() -> None:
    weight = parameter("float16")
    trainer = trainer_of(weight, optimizer_params={"multi_precision": True, "learning_rate": 2.0**-13})
    backward(weight, trainer)
    assert not np.isfinite(weight.grad().asnumpy()).any()  # 65536 is beyond float16
    trainer.step(1)
    assert weight.data().asnumpy().tolist() == [1, 1]
    for _ in range(4):
        trainer._amp_loss_scaler._next_loss_scale = trainer._amp_loss_scaler._loss_scale = 1024.0
        backward(weight, trainer)
        trainer.step(1)
    # A step is half of what float16 can tell from 1; the copy in float32 has added up four of them.
    assert weight.data().asnumpy().tolist() == [1 - 2.0**-11] * 2


# -- gradients before the step -------------------------------------------------------------------------------------


def test_unscale_then_clip() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    backward(weight, trainer, 3.0)
    amp.unscale(trainer)
    assert weight.grad().asnumpy().tolist() == [3, 3]
    norm = gluon.utils.clip_global_norm(weight.list_grad(), 1.0)
    assert norm == pytest.approx(18**0.5)
    trainer.step(1)
    np.testing.assert_allclose(weight.data().asnumpy(), 1 - 0.5 / 2**0.5, rtol=1e-5)
    backward(weight, trainer)  # the next loss is scaled again
    assert weight.grad().asnumpy().tolist() == [65536, 65536]


def test_unscale_twice_is_unscale() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    backward(weight, trainer)
    amp.unscale(trainer)
    amp.unscale(trainer)
    assert weight.grad().asnumpy().tolist() == [1, 1]


def test_unscale_of_an_overflow_leaves_the_step_out() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    backward(weight, trainer, INFINITE)
    amp.unscale(trainer)
    trainer.step(1)
    assert weight.data().asnumpy().tolist() == [1, 1]
    assert trainer._amp_loss_scaler._next_loss_scale == 32768


def test_gradients_added_up_and_unscaled_once() -> None:
    weight = parameter(grad_req="add")
    other = parameter(grad_req="null")
    trainer = trainer_of(weight, other)
    for factor in (1.0, 2.0, 3.0):
        backward(weight, trainer, factor)
    amp.unscale(trainer)
    assert weight.grad().asnumpy().tolist() == [6, 6]
    trainer.step(3)
    assert weight.data().asnumpy().tolist() == [0, 0]


def test_losses_in_a_list_or_alone() -> None:
    weight = parameter()
    trainer = trainer_of(weight)
    loss = nd.array([2.0])
    for given_losses, kind in ((loss, nd.NDArray), ([loss], list), ((loss, loss), list)):
        with amp.scale_loss(given_losses, trainer) as scaled:
            assert type(scaled) is kind
            first = scaled if kind is nd.NDArray else scaled[0]
            assert first.asnumpy().tolist() == [131072]
    assert trainer._scale == 1 / 65536


# -- layers that carry a loss --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: nd.LinearRegressionOutput(x, nd.zeros((1, 2))), [0.5, 1.0]),
        (lambda x: nd.LinearRegressionOutput(data=x, label=nd.zeros((1, 2))), [0.5, 1.0]),
        (lambda x: nd.SoftmaxOutput(x * 0, nd.array([1.0]), grad_scale=2.0), [0.0, 0.0]),
    ],
    ids=["by position", "by keyword", "softmax"],
)
def test_their_gradients_are_scaled(call: Any, expected: list[float]) -> None:
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with autograd.record():
        y = call(x)
    y.backward()
    without = x.grad.asnumpy().copy()
    np.testing.assert_allclose(without[0], expected)  # nobody divides before there is a trainer with a scale
    weight = parameter()
    trainer_of(weight)
    with autograd.record():
        y = call(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), without * 65536)


def test_they_warn_in_graphs(caplog: pytest.LogCaptureFixture) -> None:
    mx.sym.SoftmaxOutput(mx.sym.var("x"), name="softmax")
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "SoftmaxOutput does not support dynamic loss scaling in symbolic and hybridized execution.")
    ]


# -- in the wrong order --------------------------------------------------------------------------------------------


def test_init_trainer_before_init() -> None:
    trainer = trainer_of(parameter(), initialized=False)
    amp.amp._reset()
    with pytest.raises(MXNetError) as raised:
        amp.init_trainer(trainer)
    assert str(raised.value) == (
        "amp.init_trainer: mixed precision is off: call amp.init() first, before the network is made."
    )
    with (
        pytest.raises(
            MXNetError, match=r"no loss scale; call amp\.init\(\) and then amp\.init_trainer\(trainer\) once"
        ),
        amp.scale_loss(nd.ones(1), trainer),
    ):
        pass


def test_scale_loss_and_unscale_before_init_trainer() -> None:
    trainer = trainer_of(parameter(), initialized=False)
    text = r": the trainer has no loss scale; call amp\.init_trainer\(trainer\) once, before the first step\."
    with pytest.raises(MXNetError, match=r"^amp\.scale_loss" + text), amp.scale_loss(nd.ones(1), trainer):
        pass
    with pytest.raises(MXNetError, match=r"^amp\.unscale" + text):
        amp.unscale(trainer)


@pytest.mark.parametrize("function", [amp.init_trainer, amp.unscale])
def test_what_is_no_trainer(function: Any) -> None:
    name = function.__name__
    with pytest.raises(ArgumentError) as raised:
        function(mx.optimizer.SGD())
    assert str(raised.value) == f"amp.{name}: a SGD cannot scale losses; give the gluon.Trainer that it works for."
    with pytest.raises(ArgumentError) as raised:
        function(3)
    assert str(raised.value) == f"amp.{name}: expected a gluon.Trainer, got int 3."


def test_each_trainer_has_a_scale_of_its_own() -> None:
    first, second = trainer_of(parameter()), trainer_of(parameter())
    assert first._amp_loss_scaler is amp.amp._loss_scaler
    assert second._amp_loss_scaler is not first._amp_loss_scaler
    assert amp.amp._amp_loss_scale_initialized


# -- all of it -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_network_learns(hybridized: bool) -> None:
    random = np.random.RandomState(0)
    x = random.normal(size=(64, 1, 8, 8)).astype("float32")
    label = (x[:, 0, :4].sum((1, 2)) > x[:, 0, 4:].sum((1, 2))).astype("float32")
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize(hybridized)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, update_on_kvstore=False)
    amp.init_trainer(trainer)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    values = []
    for _ in range(15):
        with autograd.record():
            value = loss(net(nd.array(x)), nd.array(label))
            with amp.scale_loss(value, trainer) as scaled:
                autograd.backward(scaled)
        trainer.step(len(x))
        values.append(float(value.mean().asscalar()))
    assert values[-1] < 0.2 < values[0]
    assert 0 < trainer._amp_loss_scaler._unskipped < 15  # 65536 is too much for the first steps, which are left out
