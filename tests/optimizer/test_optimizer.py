"""Optimizers beyond the numbers of `golden/training_updates_cases.py`: classes of users, states in files, bad input."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    FileFormatError,
    MutationError,
    PicklingError,
    ShapeError,
)
from minpy.ops.optimizer.adamax import adamax_update, nadam_update
from minpy.ops.optimizer.dcasgd import dcasgd_mom_update, dcasgd_update
from minpy.ops.optimizer.element_rates import adadelta_update, adagrad_update
from minpy.ops.optimizer.lamb import lamb_update, mp_lamb_update
from minpy.optimizer import SGD, Adam, Optimizer, get_updater
from minpy.optimizer.state_bytes import dump_states, load_states
from minpy.test_utils import compare_optimizer

sys.path.insert(0, str(GOLDEN))
try:
    stored = importlib.import_module("optimizers_with_states")
finally:
    sys.path.remove(str(GOLDEN))

# Those of other modules, as `contrib.svrg_optimization`, are there once these are imported.
NAMES = sorted(name for name, cls in Optimizer.opt_registry.items() if cls.__module__.startswith("minpy.optimizer."))
# Made to show all that they can keep; their weights have rows.
SETTINGS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9}, "nag": {"momentum": 0.9}, "dcasgd": {"momentum": 0.9}, "lars": {"momentum": 0.9},
    "lbsgd": {"momentum": 0.9, "batch_scale": 2}, "rmsprop": {"centered": True},
}  # fmt: skip


def make(name: str, **settings: Any) -> Any:
    return mx.optimizer.create(name, **{**SETTINGS.get(name, {}), **settings})


def make_steps(update: Any, weights: list[Any], first: int, last: int) -> None:
    for step in range(first, last):
        random = np.random.RandomState(step)
        grads = [nd.array(random.uniform(-1, 1, weight.shape), dtype=weight.dtype) for weight in weights]
        update(list(range(len(weights))), grads, weights) if update.aggregate_updates else [
            update(index, grad, weight) for index, (grad, weight) in enumerate(zip(grads, weights, strict=True))
        ]


def rows(dtype: str = "float32") -> list[Any]:
    return [nd.array(np.random.RandomState(9).uniform(-1, 1, shape), dtype=dtype) for shape in ((2, 3), (4, 1))]


# -- what is in MXNet's module -----------------------------------------------------------------------------------------


def test_the_registered_classes_are_those_of_mxnet():
    expected = (
        "adadelta adagrad adam adamax ccsgd dcasgd ftml ftrl groupadagrad lamb lars lbsgd nadam nag rmsprop sgd sgld "
        "signum test"
    )
    assert " ".join(NAMES) == expected
    assert mx.optimizer.optimizer.SGD is mx.optimizer.SGD is Optimizer.opt_registry["sgd"]
    assert type(mx.optimizer.create("SgD")) is SGD


def test_names_of_operators_are_found_where_mxnet_imports_them():
    assert mx.optimizer.optimizer.sgd_mom_update is nd.sgd_mom_update
    with pytest.raises(AttributeError, match=r"minpy.optimizer.optimizer has no optimizer 'Adan'. .*Adam"):
        mx.optimizer.optimizer.Adan  # noqa: B018
    assert dir(mx.optimizer) == sorted(mx.optimizer.__all__)


# -- each optimizer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_pickles_and_copies_go_on_where_the_optimizer_was(name):
    """Of the optimizer alone, and of it and its states."""
    for duplicate in (
        lambda update: pickle.loads(pickle.dumps(update)),
        copy.deepcopy,
        lambda update: _read(update.get_states(dump_optimizer=True)),
    ):
        update, weights = get_updater(make(name, learning_rate=0.1)), rows()
        make_steps(update, weights, 0, 3)
        other, copies = duplicate(update), [weight.copy() for weight in weights]
        for one, several in ((update, weights), (other, copies)):
            mx.random.seed(1)
            make_steps(one, several, 3, 6)
        for weight, again in zip(weights, copies, strict=True):
            np.testing.assert_array_equal(weight.asnumpy(), again.asnumpy())


def _read(content: bytes) -> Any:
    update = get_updater(SGD())
    update.set_states(content)
    return update


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sgld"])
def test_views_and_arrays_of_numpy_semantics_are_updated_as_others(name):
    plain = rows()
    strided = [nd.array(np.repeat(weight.asnumpy(), 2, axis=0))[::2] for weight in plain]
    numpys = [weight.as_np_ndarray().copy() for weight in plain]
    for weights in (plain, strided, numpys):
        make_steps(get_updater(make(name, learning_rate=0.1)), weights, 0, 4)
    for weight, view, other in zip(plain, strided, numpys, strict=True):
        np.testing.assert_allclose(view.asnumpy(), weight.asnumpy(), rtol=1e-6)
        assert isinstance(other, mx.np.ndarray)
        np.testing.assert_allclose(other.asnumpy(), weight.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("sgld", "test")])
def test_float16_in_float32_follows_float32(name):
    low, high = rows("float16"), [weight.astype("float32") for weight in rows("float16")]
    make_steps(get_updater(make(name, learning_rate=0.01, multi_precision=True)), low, 0, 4)
    make_steps(get_updater(make(name, learning_rate=0.01)), high, 0, 4)
    for one, other in zip(low, high, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=4e-3)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("adadelta", "ftrl", "sgld", "test")])
def test_the_schedule_says_the_rate(name):
    """A schedule of zeros leaves the weight as it is; weights of two devices have states of their own."""

    class Never(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return 1e-12

    optimizer = make(name)
    optimizer.lr_scheduler = Never()
    for context in (mx.cpu(0), mx.cpu(1)):
        weights = [weight.as_in_context(context) for weight in rows()]
        update = get_updater(optimizer)
        make_steps(update, weights, 0, 3) if context == mx.cpu(0) else [
            update(index, weight.copy(), weight) for index, weight in enumerate(weights)
        ]
        for weight, before in zip(weights, rows(), strict=True):
            np.testing.assert_allclose(weight.asnumpy(), before.asnumpy(), atol=1e-5)
            assert weight.context == context
    assert sorted(optimizer._all_index_update_counts) == [0, 1]


PRIVATE = (
    adadelta_update, adagrad_update, adamax_update, nadam_update, dcasgd_mom_update, dcasgd_update, lamb_update,
    mp_lamb_update,
)  # fmt: skip
ATTRIBUTES = {
    "lr": 0.1, "wd": 0.25, "rescale_grad": 0.5, "clip_gradient": 0.75, "momentum": 0.5, "t": 3, "epsilon": 0.01,
    "rho": 0.5,
    "lamda": 0.5, "of_grad": 0.5, "of_mean": 0.75, "of_var": 2.0, "lower_bound": 0.5, "upper_bound": 2.0, "beta1": 0.5,
    "beta2": 0.75, "bias_correction": True,
}  # fmt: skip


@pytest.mark.parametrize("operator", PRIVATE, ids=lambda one: one.__name__)
@pytest.mark.parametrize("shape", [(5,), (300_001,), ()])
def test_steps_in_place_are_as_their_definitions(operator, shape):
    names, known = operator.signature.inputs, operator.signature.attributes
    attributes = {name: value for name, value in ATTRIBUTES.items() if name in known}
    random = np.random.RandomState(3)
    arrays = [random.uniform(0.5, 1.5, shape) for _ in names]
    expected = [array.copy() for array in arrays]
    wanted = operator.definition(*expected, **attributes)
    found = [nd.NDArray._like(nd.zeros(1), array.copy()) for array in arrays]
    operator.change(found, attributes)
    np.testing.assert_allclose(found[0].asnumpy(), wanted, rtol=1e-12, atol=1e-14)
    for name, array, moved in zip(names, found, expected, strict=True):
        if name in operator.auxiliary:
            np.testing.assert_allclose(array.asnumpy(), moved, rtol=1e-12, atol=1e-14)


def test_dcasgd_with_momentum():
    """(MXNet's fails on it.)"""
    optimizer = mx.optimizer.DCASGD(learning_rate=0.1, momentum=0.5, lamda=0.25, wd=0.5)
    weight, state = nd.array([2.0]), None
    state = optimizer.create_state(0, weight)
    value, previous, mom = 2.0, 2.0, 0.0
    for grad in (1.0, -3.0, 0.5):
        optimizer.update(0, weight, nd.array([grad]), state)
        mom = 0.5 * mom - 0.1 * (grad + 0.5 * value + 0.25 * grad * grad * (value - previous))
        previous, value = value, value + mom
        assert weight.asscalar() == pytest.approx(value, rel=1e-6)


def test_the_noise_of_langevin_dynamics():
    mx.random.seed(3)
    weight = nd.zeros(20_000)
    update = get_updater(mx.optimizer.SGLD(learning_rate=0.25))
    update(0, nd.ones(20_000), weight)
    drawn = weight.asnumpy()
    assert abs(drawn.mean() + 0.125) < 0.02
    assert abs(drawn.std() - 0.5) < 0.02
    mx.random.seed(3)
    again = nd.zeros(20_000)
    get_updater(mx.optimizer.SGLD(learning_rate=0.25))(0, nd.ones(20_000), again)
    np.testing.assert_array_equal(again.asnumpy(), drawn)


def test_compare_optimizer():
    for shape, count in (((2, 3), 1), ([(2, 3), (4,)], 2), ((3,), 2)):
        compare_optimizer(SGD(momentum=0.5), mx.optimizer.ccSGD(momentum=0.5), shape, "float32", ntensors=count)
    compare_optimizer(Adam(multi_precision=True), Adam(multi_precision=True), (3,), "float16")
    with pytest.raises(AssertionError):
        compare_optimizer(SGD(learning_rate=0.1), SGD(learning_rate=0.2), (3,), "float32")
    with pytest.raises(AssertionError, match=r"compare_optimizer: states are float32 \(3,\) and NoneType None"):
        compare_optimizer(SGD(momentum=0.5), SGD(), (3,), "float32")
    with pytest.raises(ArgumentError, match=r"^compare_optimizer: shape is .*, with 1 shapes; ntensors=2 weights need"):
        compare_optimizer(SGD(), SGD(), [(3,)], "float32", ntensors=2)


# -- what an update changes is known -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_of_the_old_weight_is_not_walked(name):
    weight = nd.ones((2, 2))
    weight.attach_grad()
    update = get_updater(make(name, learning_rate=0.1))
    with autograd.record():
        loss = (weight * weight).sum()
    for _ in range(2):  # LBSGD gathers two gradients
        update(0, nd.ones((2, 2)), weight)
    with pytest.raises(mx.MXNetError, match="changed in place"):
        loss.backward()
    with autograd.record():
        loss = (weight * 3).sum()
    loss.backward()
    assert weight.grad.asnumpy().tolist() == [[3, 3], [3, 3]]


def test_updates_while_recording_are_refused():
    weight = nd.ones(2)
    weight.attach_grad()
    with autograd.record(), pytest.raises(MutationError):
        get_updater(SGD())(0, nd.ones(2), weight)
    assert weight.asnumpy().tolist() == [1, 1]


# -- classes of users --------------------------------------------------------------------------------------------------


class BERTAdam(Optimizer):
    """AdamW as GluonNLP writes it: through the operator, in float32 for float16 weights."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state_multi_precision(self, index, weight):
        if self.multi_precision and weight.dtype == np.float16:
            master = weight.astype(np.float32)
            return (self.create_state(index, master), master)
        return self.create_state(index, weight)

    def create_state(self, index, weight):
        return tuple(nd.zeros(weight.shape, weight.context, dtype=weight.dtype, stype=weight.stype) for _ in range(2))

    def update(self, index, weight, grad, state):
        self._update_impl(index, weight, grad, state, multi_precision=False)

    def update_multi_precision(self, index, weight, grad, state):
        low = self.multi_precision and weight.dtype == np.float16
        self._update_impl(index, weight, grad, state, multi_precision=low)

    def _update_impl(self, indices, weight, grad, state, multi_precision=False):
        assert isinstance(weight, nd.NDArray)
        self._update_count(indices)
        lr, wd = self._get_lr(indices), self._get_wd(indices)
        kwargs = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon, "rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            kwargs["clip_gradient"] = self.clip_gradient
        if multi_precision:
            (mean, var), master = state
            nd.contrib.mp_adamw_update(weight, grad, mean, var, master, out=weight, lr=1, wd=wd, eta=lr, **kwargs)
        else:
            mean, var = state
            nd.contrib.adamw_update(weight, grad, mean, var, out=weight, lr=1, wd=wd, eta=lr, **kwargs)


@pytest.fixture
def registered(monkeypatch):
    """A registry of which nothing stays."""
    monkeypatch.setattr(Optimizer, "opt_registry", dict(Optimizer.opt_registry))
    return mx.optimizer.register


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_optimizer_of_a_user(registered, dtype):
    assert registered(BERTAdam) is BERTAdam
    optimizer = mx.optimizer.create(
        "bertadam", learning_rate=0.1, wd=0.5, multi_precision=True, param_idx2name={0: "a_weight", 1: "a_bias"}
    )
    update, weights = get_updater(optimizer), [nd.ones(1, dtype=dtype), nd.ones(1, dtype=dtype)]
    for index, weight in enumerate(weights):
        update(index, nd.ones(1, dtype=dtype), weight)
    step = 0.1 * 0.1 / (np.sqrt(0.001) + 1e-6)
    expected = [1 - step - 0.05, 1 - step]
    np.testing.assert_allclose([weight.asscalar() for weight in weights], expected, rtol=1e-3)
    again = _read(update.get_states(dump_optimizer=True))
    assert type(again.optimizer) is BERTAdam
    assert again.optimizer._index_update_count == {0: 1, 1: 1}


def test_a_class_written_on_arrays_sees_those_of_mxnet(registered):
    seen = []

    @registered
    class Plain(Optimizer):
        def create_state(self, index, weight):
            return nd.zeros(weight.shape)

        def update(self, index, weight, grad, state):
            seen.append([type(array) for array in (weight, grad, state)])
            self._update_count(index)
            state[:] += grad
            weight[:] -= self._get_lr(index) * state

    weight = mx.np.ones(2)
    update = get_updater(mx.optimizer.create("plain", learning_rate=0.5))
    for _ in range(2):
        update(0, mx.np.ones(2), weight)
    assert seen == [[nd.NDArray] * 3] * 2
    assert weight.tolist() == [-0.5, -0.5]


def test_a_name_that_is_taken_goes_to_the_new_class_with_a_warning(registered):
    class Other(Optimizer):
        pass

    Other.__name__ = "NAG"
    with pytest.warns(UserWarning, match=r"the optimizer 'nag' is now test_optimizer.*Other; it was minpy.optimizer"):
        registered(Other)
    assert type(mx.optimizer.create("nag")) is Other
    registered(Other)  # once more, without a warning


def test_the_rate_beside_a_schedule_is_said():
    def factor():
        return mx.lr_scheduler.FactorScheduler(5, base_lr=0.3)

    with pytest.warns(UserWarning, match=r"^Adam: learning_rate=0.001 replaces base_lr=0.3 of the FactorScheduler"):
        assert Adam(lr_scheduler=factor()).learning_rate == 0.001
    assert SGD(lr_scheduler=factor()).learning_rate == 0.3
    assert SGD(lr_scheduler=factor(), learning_rate=0.3).learning_rate == 0.3
    assert Adam(lr_scheduler=mx.lr_scheduler.CosineScheduler(5, base_lr=0.3)).learning_rate == 0.3
    for given in ({}, {"learning_rate": 0.7}):  # its rate does not become the schedule's
        assert mx.optimizer.Ftrl(lr_scheduler=factor(), **given).learning_rate == 0.3


def test_float16_alone_warns_once_for_each_state():
    with pytest.warns(UserWarning, match=r"^Adam accumulates in float16, in which small steps get lost") as caught:
        Adam().create_state_multi_precision(0, nd.ones(2, dtype="float16"))
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_factors_of_parameters_that_change_are_followed():
    class Parameter:
        lr_mult, wd_mult = 1.0, 1.0

    optimizer = SGD(learning_rate=1.0, wd=0.5, param_dict={0: Parameter})
    Parameter.lr_mult, Parameter.wd_mult = 0.25, 0.0
    assert (optimizer._get_lr(0), optimizer._get_wd(0), optimizer._get_lr(1)) == (0.25, 0.0, 1)
    assert pickle.loads(pickle.dumps(optimizer)).param_dict == {}


def test_states_follow_the_weight_to_its_device():
    update, weight = get_updater(SGD(momentum=0.5, learning_rate=1)), nd.ones(2)
    update(0, nd.ones(2), weight)
    there = weight.as_in_context(mx.cpu(1))
    update.set_states(update.get_states())
    update(0, nd.ones(2, ctx=mx.cpu(1)), there)
    assert update.states[0].context == mx.cpu(1)
    assert there.asnumpy().tolist() == [-1.5, -1.5]


# -- states in files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dump_optimizer", [False, True])
@pytest.mark.parametrize("name", stored.OPTIMIZERS)
def test_states_that_mxnet_wrote_are_gone_on_with(name, dump_optimizer):
    """The files, and the weights after three and six steps, are MXNet's. (`check_states.py` proves the other way.)"""
    update, weights = stored.start(mx, name)
    content = (GOLDEN / "states" / f"{name}.{dump_optimizer}.states").read_bytes()
    update.set_states(content)
    if not dump_optimizer:  # the counts are the optimizer's
        stored.steps(mx, get_updater(update.optimizer), weights, 0, 3)
    with np.load(GOLDEN / "states" / "states.npz") as values:
        for index, weight in enumerate(weights):
            weight[:] = values[f"{name}_{index}_3"]
        stored.steps(mx, update, weights, 3, 6)
        for index, weight in enumerate(weights):
            tolerance = 2e-3 if weight.dtype == np.float16 else 1e-5
            np.testing.assert_allclose(weight.asnumpy(), values[f"{name}_{index}_6"], rtol=tolerance, atol=tolerance)


def test_what_is_written_names_classes_of_mxnet_only():
    update, weights = get_updater(Adam(lr_scheduler=mx.lr_scheduler.PolyScheduler(9, 0.1))), rows()
    make_steps(update, weights, 0, 1)
    content = update.get_states(dump_optimizer=True)
    assert b"minpy" not in content
    for name in (b"cmxnet.ndarray.ndarray\nNDArray\n", b"cmxnet.optimizer.optimizer\nAdam\n", b"cmxnet.lr_scheduler\n"):
        assert name in content
    group = dump_states(mx.optimizer.contrib.GroupAdaGrad(learning_rate=np.float64(0.5)))
    assert b"cmxnet.optimizer.contrib\nGroupAdaGrad\n" in group
    assert b"numpy._core" not in group
    assert load_states(group).lr == 0.5


def test_all_that_belongs_into_states_is_kept():
    values = {
        0: None,
        "name": (nd.ones((2, 0)), [np.float32(2), np.arange(3), np.dtype("int8")], {1, 2}, b"\xff", 1j, np.float16),
        (1, 2): mx.cpu(1),
        1: nd.ones(2).astype("float16"),
    }
    for written in (dump_states(values), *(pickle.dumps(_plain(values), protocol) for protocol in range(6))):
        found = load_states(written)
        array, (number, numbers, dtype), members, content, imaginary, scalar = found["name"]
        assert (array.shape, number, numbers.tolist(), dtype) == ((2, 0), 2, [0, 1, 2], np.int8)
        assert (members, content, imaginary, scalar) == ({1, 2}, b"\xff", 1j, np.float16)
        assert found[1].dtype == np.float16
        assert found[1, 2] == mx.cpu(1)


def _plain(values: dict[Any, Any]) -> dict[Any, Any]:
    """Return states with NumPy's arrays in the place of ours."""
    return {**values, "name": (values["name"][0].asnumpy(), *values["name"][1:]), 1: values[1].asnumpy()}


class Malicious:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def _attack(tmp_path: Path) -> dict[str, Any]:
    target = str(tmp_path / "written")
    return {
        "os.mkdir": Malicious(os.mkdir, target),
        "eval": Malicious(eval, f"open({target!r}, 'w')"),
        "getattr": Malicious(getattr, SGD(), "update"),
        "partial": Malicious(importlib.import_module, "antigravity"),
        "file": Malicious(nd.save, target, [nd.ones(2)]),
        "memory map": Malicious(np.memmap, target, "uint8", "w+", 0, (3,)),
        "of the module": Malicious(dump_states, {}),
    }


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", _attack(Path()))
def test_pickles_that_would_run_code_are_refused(tmp_path, name, protocol):
    content = pickle.dumps({0: (None, _attack(tmp_path)[name])}, protocol)
    with pytest.raises(
        FileFormatError, match=r"^optimizer states: they name .*, which is none of the classes that belong"
    ):
        get_updater(SGD()).set_states(content)
    assert not [*tmp_path.iterdir()]


def test_classes_cannot_be_changed_by_what_is_read():
    """BUILD on a class would set its attributes, if it had no `__setstate__`."""
    for module, name in (("mxnet.lr_scheduler", "LRScheduler"), ("mxnet.optimizer.optimizer", "SGD")):
        content = f"c{module}\n{name}\n(N(dS'base_lr'\nI1\nstb.".encode()
        with pytest.raises(FileFormatError, match="cannot be read as a pickle"):
            load_states(content)
    assert not hasattr(mx.lr_scheduler.LRScheduler, "base_lr")
    assert not hasattr(SGD, "base_lr")


class Watched(Adam):
    """Adam, one weight after the other: it overrides the update."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: list[int] = []

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self.seen.append(index)
        super().update(index, weight, grad, state)


class Few(SGD):
    """SGD that says how many weights it is given at once."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: list[int] = []

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self.seen.append(len(index))
        super().update_multi_precision(index, weight, grad, state)


def _trained(optimizer: Any, at_once: bool, steps: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    """Return weights and counts after updates of some of six weights at a time."""
    optimizer.set_lr_mult({1: 0.5})
    update, draw = get_updater(optimizer), np.random.RandomState(0)
    weights = [nd.array(draw.randn(3)) for _ in range(6)]
    for indices in steps:
        grads = [nd.array(draw.randn(3)) for _ in indices]
        if at_once:
            update(list(indices), grads, [weights[one] for one in indices])
        else:
            for one, grad in zip(indices, grads, strict=True):
                update(one, grad, weights[one])
    return [weight.asnumpy().tolist() for weight in weights], optimizer._index_update_count, optimizer.num_update


@pytest.mark.parametrize(
    "settings", [{}, {"wd": 0.1, "clip_gradient": 0.5}, {"rescale_grad": 0.25}, {"rescale_grad": 1e-20}, {"wd": 0.1}]
)
@pytest.mark.parametrize(("known", "overriding"), [(Adam, Watched), (SGD, Few)])
def test_weights_at_once_are_updated_as_one_after_the_other(known, overriding, settings):
    """Also where a weight was left out, so that counts differ; what is overridden is called."""
    settings = {"learning_rate": 0.1, **({"momentum": 0.5} if known is SGD else {}), **settings}
    steps = ((0, 1, 2, 3, 4, 5), (0, 2, 3, 4, 5), (1, 1, 0), (0, 1, 2, 3, 4, 5))
    expected = _trained(known(**settings), False, steps)
    assert _trained(known(**settings), True, steps) == expected
    watched = overriding(**settings)
    assert _trained(watched, True, steps) == expected
    assert watched.seen == ([index for step in steps for index in step] if known is Adam else [4, 2, 4, 1, 3, 4, 2])


def test_a_schedule_is_asked_as_often_as_weights_are_counted():
    """Where counts differ, the count of one weight moves the rate of those that follow."""

    def made(known: Any) -> Any:
        return known(lr_scheduler=mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.25), learning_rate=0.25)

    steps = ((1,), (1,), (1,), (0, 1, 2))
    assert _trained(made(Adam), True, steps) == _trained(made(Adam), False, steps)
    steps = ((5,), (5,), (0, 1, 2, 3, 5))
    assert _trained(made(SGD), True, steps) == _trained(made(SGD), False, steps)


def _call(module: str, name: str, *arguments: bytes) -> bytes:
    """Return the words of a pickle that call something."""
    return f"c{module}\n{name}\n".encode() + b"(" + b"".join(arguments) + b"tR"


def _forging() -> dict[str, bytes]:
    """Return pickles that name nothing but what belongs into states, and would have NumPy take numbers for objects."""
    pointer, number = b"C\x08" + b"\x10" * 8, b"J\x01\x00\x00\x00"
    objects = _call("numpy", "dtype", b"V\x4f8\n", b"\x89", b"\x88")
    state = b"(K\x03V|\nN(Va\nt}Va\n(" + objects + b"K\x00tsK\x08K\x01K\x00tb"
    meaning = _call("numpy", "dtype", b"Vf8\n", b"\x89", b"\x88") + state
    void = _call("numpy", "dtype", b"VV8\n", b"\x89", b"\x88") + state
    empty = _call("numpy.core.multiarray", "_reconstruct", b"cnumpy\nndarray\n", b"(K\x00t", b"C\x01b")
    return {
        "memory of an array": _call("numpy", "ndarray", b"(" + number + b"t", objects, pointer),
        "memory of a scalar": _call("numpy.core.multiarray", "scalar", void, pointer),
        "members of a scalar": _call("builtins", "tuple", _call("numpy.core.multiarray", "scalar", void, pointer)),
        "state of a dtype": meaning,
        "state of an array": empty + b"(K\x01(K\x01t" + meaning + b"\x89" + pointer + b"tb",
        "a scalar type": _call("numpy", "void", pointer, objects),
        "an object type": _call("numpy", "object_", number),
        "an array's class": _call("numpy.core.multiarray", "_reconstruct", b"cbuiltins\nint\n", b"(K\x00t", b"C\x01b"),
        "a class": b"cmxnet.context\nContext\n(N}Vowned\nK\x01stb",
        "a function": b"c_codecs\nencode\n(cbuiltins\nint\n)}Ntb",
        "a list without end": _call("builtins", "list", _call("builtins", "range", b"I1000000000000\n")),
        "a memo without end": b"Nr\xff\xff\xff\x7f0",
    }


@pytest.mark.parametrize("name", _forging())
def test_pickles_that_would_forge_memory_are_refused(name):
    with pytest.raises(FileFormatError, match=r"^optimizer states: "):
        load_states(b"\x80\x03" + _forging()[name] + b".")
    assert not hasattr(mx.Context, "owned")


def test_numbers_and_strings_are_read_as_python_reads_them():
    for dtype in (">f4", "<f8", "S3", "U2", "?"):
        for protocol in range(6):
            content = pickle.dumps(np.array([0, 1]).astype(dtype), protocol)
            found, expected = load_states(content), pickle.loads(content)
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()


def _local() -> type:
    class Local(mx.lr_scheduler.LRScheduler):
        pass

    return Local


W = nd.ones(3)
BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: mx.optimizer.create("sdg"),
        ArgumentValueError,
        (
            "optimizer.create: there is no optimizer 'sdg'. Did you mean 'sgd'? There are adadelta, adagrad,"
            " adam, adamax, ccsgd, dcasgd, ftml, ftrl, groupadagrad, lamb, lars, lbsgd, nadam, nag, rmsprop,"
            " sgd, sgld, signum, test. Others have to be registered first, with optimizer.register."
        ),
    ),
    (
        lambda: mx.optimizer.create("sgd", momentun=0.9),
        ArgumentError,
        (
            "optimizer.create: SGD takes no 'momentun'. Did you mean 'momentum'? It takes momentum, "
            "lazy_update, rescale_grad, param_idx2name, wd, clip_gradient, learning_rate, lr_scheduler, sym,"
            " begin_num_update, multi_precision, param_dict."
        ),
    ),
    (
        lambda: mx.optimizer.create(SGD()),
        ArgumentError,
        (
            "optimizer.create: name is SGD <minpy.optimizer.descent.SGD object a...; expected a string. It "
            "is an optimizer already: use it as it is."
        ),
    ),
    (
        lambda: mx.optimizer.register(int),
        ArgumentError,
        "register: expected a class derived from Optimizer; got type <class 'int'>.",
    ),
    (lambda: SGD(learning_rate="a"), ArgumentError, "SGD: learning_rate is str 'a'; expected a number."),
    (
        lambda: SGD(learning_rate=mx.lr_scheduler.PolyScheduler(3)),
        ArgumentError,
        (
            "SGD: learning_rate is PolyScheduler <minpy.lr_scheduler.PolyScheduler obj...; expected a "
            "number. A schedule is given as lr_scheduler."
        ),
    ),
    (
        lambda: SGD(lr_scheduler=0.1),
        ArgumentError,
        ("SGD: lr_scheduler is float 0.1; expected an LRScheduler, or another function of the number of updates."),
    ),
    (
        lambda: SGD(param_idx2name=["a"]),
        ArgumentError,
        ("SGD: param_idx2name is list of 1: [str 'a']; expected a dict of the indices of parameters to their names."),
    ),
    (lambda: SGD(sym="net"), ArgumentError, "SGD: sym is str 'net'; expected a Symbol."),
    (
        lambda: SGD(lr_scheduler=mx.lr_scheduler.PolyScheduler(3)).set_learning_rate(1),
        UserWarning,
        (
            "set_learning_rate: the learning rate of this SGD is what its PolyScheduler says. Change the "
            "schedule's base_lr, or set optimizer.lr_scheduler = None first."
        ),
    ),
    (
        lambda: SGD().set_lr_scale({}),
        DeprecationWarning,
        "set_lr_scale is gone: call set_lr_mult with a dict of names to factors.",
    ),
    (
        lambda: Optimizer().update(0, W, W, None),
        NotImplementedError,
        "Optimizer has no update(index, weight, grad, state): write one.",
    ),
    (
        lambda: SGD(momentum=0.5).update(0, W, W, None),
        ArgumentError,
        (
            "SGD: momentum is 0.5, but a weight of shape (3,) has no state for it: its state was made while "
            "momentum was 0. Make new states, or set momentum to 0."
        ),
    ),
    (
        lambda: get_updater(Adam())(0, nd.ones(2), W),
        ShapeError,
        "adam_update: grad is float32 (2,), weight float32 (3,); shapes must be equal.",
    ),
    (
        lambda: get_updater(mx.optimizer.AdaGrad())(0, nd.ones(2), W),
        ShapeError,
        "adagrad_update: grad is float32 (2,), weight float32 (3,); shapes must be equal.",
    ),
    (
        lambda: SGD().update(0, W, 3, None),
        ArgumentError,
        "sgd_update: grad is int 3; expected an NDArray or NumPy array.",
    ),
    (
        lambda: get_updater(SGD())(0, np.ones(3), np.ones(3)),
        ArgumentError,
        "Updater: got a NumPy array, float64 (3,); expected an NDArray, as weight and as gradient.",
    ),
    (
        lambda: get_updater(SGD())([0, 1], [W], [W]),
        ArgumentError,
        "Updater: 2 indices, 1 gradients and 1 weights are given; expected as many of each.",
    ),
    (
        lambda: get_updater("sgd"),
        ArgumentError,
        ("Updater: optimizer is str 'sgd'; expected an Optimizer. Make one first: optimizer.create('sgd')."),
    ),
    (
        lambda: Adam().create_state(0, np.ones(3)),
        ArgumentError,
        "create_state: weight is a NumPy array, float64 (3,); expected an NDArray, as nd.array makes.",
    ),
    (
        lambda: mx.optimizer.LBSGD(warmup_strategy="cubic"),
        ArgumentValueError,
        "LBSGD: warmup_strategy is 'cubic'; expected one of 'linear', 'power2', 'sqrt', 'lars'.",
    ),
    (
        lambda: mx.optimizer.LBSGD(batch_scale=0),
        ArgumentValueError,
        "LBSGD: batch_scale is 0; expected 1 call or more.",
    ),
    (
        lambda: get_updater(mx.optimizer.contrib.GroupAdaGrad(wd=0.1))(0, nd.ones((2, 2)), nd.ones((2, 2))),
        ArgumentValueError,
        (
            "GroupAdaGrad: the weight decay of parameter 0 is not 0, and it has none. Give wd=0, or the "
            "parameter wd_mult=0."
        ),
    ),
    (
        lambda: mx.optimizer.contrib.GroupAdaGrad().create_state(0, W),
        ShapeError,
        "GroupAdaGrad: weight has shape (3,); expected rows: two axes.",
    ),
    (
        lambda: get_updater(SGD()).set_states("states"),
        ArgumentError,
        (
            "optimizer states: got str 'states'; expected bytes, as Updater.get_states returns them. Of a "
            "file, give what file.read() returns once it is opened in mode 'rb'."
        ),
    ),
    (
        lambda: get_updater(SGD()).set_states(b"\x80\x03}q"),
        FileFormatError,
        (
            "optimizer states: 4 bytes that cannot be read as a pickle: pickle data was truncated. The file "
            "is damaged, or is none that Updater.get_states or Trainer.save_states has written; parameters "
            "are loaded with nd.load."
        ),
    ),
    (
        lambda: get_updater(SGD()).set_states(pickle.dumps([1])),
        FileFormatError,
        (
            "set_states: expected a pickle of a dict of states, or of that and an Optimizer; got list of 1: "
            "[int 1], and no states. Give what Updater.get_states, or Trainer.save_states, has written."
        ),
    ),
    (
        lambda: load_states(b"cmxnet.kvstore\nKVStore\n."),
        FileFormatError,
        (
            "optimizer states: they name mxnet.kvstore.KVStore, which is none of the classes that belong "
            "there: arrays, optimizers, learning-rate schedules, containers and NumPy's scalars. Nothing of "
            "it was run. If it is an optimizer or a schedule of yours, define it before you load them, "
            "derived from mx.optimizer.Optimizer or mx.lr_scheduler.LRScheduler; if you do not know where "
            "the file comes from, do not use it."
        ),
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), BAD, ids=[text[:50] for _, _, text in BAD])
def test_bad_input(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_what_cannot_be_pickled_says_so():
    with pytest.raises(PicklingError, match=r"^optimizer states: they cannot be pickled: .* at the top of a module\.$"):
        dump_states((None, _local()()))


# -- a learning rate of 0 ----------------------------------------------------------------------------------------------


# Not those that other modules, or tests, register when they are imported.
BUILT_IN = [name for name, cls in Optimizer.opt_registry.items() if cls.__module__.startswith("minpy.optimizer.")]


@pytest.mark.parametrize("gradient", [[0.5, -2.0], [0.0, 0.0]])
@pytest.mark.parametrize("options", [{}, {"wd": 0.1, "clip_gradient": 1.0}, {"multi_precision": True}], ids=str)
@pytest.mark.parametrize("name", sorted({*BUILT_IN} - {"adadelta", "ccsgd", "test"}))
def test_a_learning_rate_of_zero_changes_no_weight(name: str, options: dict[str, Any], gradient: list[float]) -> None:
    """A warm-up may begin there; of these AdaDelta alone has no learning rate."""
    if name == "groupadagrad":
        options = {key: value for key, value in options.items() if key != "wd"}
    optimizer = mx.optimizer.create(name, learning_rate=0.0, **options)
    dtype = "float16" if "multi_precision" in options else "float32"
    weight = nd.array([[1.0], [-2.0]], dtype=dtype)
    update = get_updater(optimizer)
    for _ in range(3):
        update(0, nd.array(gradient, dtype=dtype).reshape((2, 1)), weight)
    np.testing.assert_array_equal(weight.asnumpy(), [[1], [-2]])
    optimizer.set_learning_rate(0.01)
    for _ in range(3):
        update(0, nd.array(gradient, dtype=dtype).reshape((2, 1)), weight)
    assert np.isfinite(weight.asnumpy()).all()


def test_ftml_averages_squares_at_a_learning_rate_of_zero() -> None:
    """Otherwise the first steps after a warm-up would be too long: the average is corrected by the count of updates."""
    optimizer = mx.optimizer.FTML(learning_rate=0.0)
    update, weight, gradient = get_updater(optimizer), nd.array([1.0, -2.0]), nd.array([0.5, -2.0])
    for _ in range(5):
        update(0, gradient, weight)
    d, v, z = (state.asnumpy() for state in update.states[0])
    np.testing.assert_allclose(v, (1 - 0.999**5) * gradient.asnumpy() ** 2, rtol=1e-4)
    assert not d.any()
    assert not z.any()
