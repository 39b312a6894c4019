"""Training that goes on from a checkpoint comes to the numbers of training that was not stopped, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy.backends.switches import disabled

COMPILES = True
DRAW = np.random.default_rng(0)
DATA, LABELS = DRAW.normal(size=(24, 2, 5, 5)).astype("float32"), DRAW.integers(0, 3, 24).astype("float32")


def network() -> Any:
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="norm"), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="dense"), name="softmax")


def batches(size: int) -> Any:
    return mx.io.NDArrayIter(DATA, LABELS, size)


def parameters() -> dict[str, Any]:
    shapes, _, _ = network().infer_shape(data=(24, 2, 5, 5))
    draw = np.random.default_rng(1)
    pairs = zip(network().list_arguments(), shapes, strict=True)
    return {
        name: mx.nd.array(draw.normal(size=shape)) for name, shape in pairs if name not in ("data", "softmax_label")
    }


def values_of(module: Any) -> dict[str, np.ndarray]:
    arguments, states = module.get_params()
    return {name: array.asnumpy() for name, array in (*arguments.items(), *states.items())}


def require_same_numbers(
    folder: Path, optimizer: str, options: dict[str, Any], size: int, stop: int, **kind: Any
) -> None:
    prefix, kvstore = str(folder / "net"), kind.pop("kvstore", "local")
    given = {"optimizer": optimizer, "optimizer_params": options, "kvstore": kvstore}
    found = []
    for epochs in (5, stop):
        module = mx.mod.Module(network(), **kind)
        saving = mx.callback.module_checkpoint(module, prefix, stop, save_optimizer_states=True)
        module.fit(
            batches(size),
            num_epoch=epochs,
            arg_params=parameters(),
            initializer=mx.init.One(),
            epoch_end_callback=saving if epochs == stop else None,
            **given,
        )
        found.append(values_of(module))
    again = mx.mod.Module.load(prefix, stop, load_optimizer_states=True, **kind)
    again.fit(batches(size), begin_epoch=stop, num_epoch=5, **given)
    reached = values_of(again)
    for name, expected in found[0].items():
        np.testing.assert_array_equal(reached[name], expected, err_msg=name)
    assert any((found[1][name] != expected).any() for name, expected in found[0].items())


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "nag": {"learning_rate": 0.1, "momentum": 0.9},
    "adam": {"learning_rate": 0.02},
    "nadam": {"learning_rate": 0.02},
    "ftml": {"learning_rate": 0.02},
    "rmsprop": {"learning_rate": 0.02, "centered": True},
    "lamb": {"learning_rate": 0.02},
}


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on(tmp_path: Path, name: str, native: bool) -> None:
    if native:
        require_same_numbers(tmp_path, name, OPTIMIZERS[name], 8, 2)
    else:
        with disabled():
            require_same_numbers(tmp_path, name, OPTIMIZERS[name], 8, 2)


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_epochs_of_one_batch_go_on(tmp_path: Path, stop: int) -> None:
    """The first two batches of a program run as Python: what goes on after one has one of these before it."""
    require_same_numbers(tmp_path, "adam", OPTIMIZERS["adam"], 24, stop)


@pytest.mark.parametrize(
    "kind",
    [
        {"context": [mx.cpu(0), mx.cpu(1)]},
        {"context": [mx.cpu(0), mx.cpu(1)], "kvstore": "device"},
        {"kvstore": None},
    ],
    ids=["two devices", "two devices, update on workers", "no store"],
)
@pytest.mark.parametrize("native", [True, False])
def test_stores_and_devices_go_on(tmp_path: Path, kind: dict[str, Any], native: bool) -> None:
    if native:
        require_same_numbers(tmp_path, "adam", OPTIMIZERS["adam"], 8, 2, **kind)
    else:
        with disabled():
            require_same_numbers(tmp_path, "adam", OPTIMIZERS["adam"], 8, 2, **kind)


@mx.customop("numpy")
def resuming_doubled(x: np.ndarray) -> np.ndarray:
    return np.tanh(x) * 2


resuming_doubled.def_grad(lambda ans, x: lambda g: g * 2 * (1 - np.tanh(x) ** 2))


def test_with_the_same_bits_graphs_with_operators_of_users_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = network()
    monkeypatch.setitem(globals(), "network", lambda: resuming_doubled(plain, name="doubled"))
    with mx.compile.same_bits():
        require_same_numbers(tmp_path, "adam", OPTIMIZERS["adam"], 10, 1)  # whose last batch is filled up


def test_going_on_draws_no_random_numbers_and_changes_nothing_besides(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    module = mx.mod.Module(network())
    module.fit(batches(8), num_epoch=1, initializer=mx.init.Xavier(), optimizer="adam")
    module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    found = []
    for states in (True, False):
        mx.random.seed(3)
        again = mx.mod.Module.load(prefix, 1, load_optimizer_states=states)
        again.bind(batches(8).provide_data, batches(8).provide_label)
        again.init_optimizer(optimizer="adam")
        again.forward_backward(next(batches(8)))
        gradients = again._exec_group.execs[0].grad_dict
        found.append([*(gradients[name].asnumpy() for name in sorted(gradients) if gradients[name] is not None)])
        found[-1].append(mx.nd.random.uniform(shape=4).asnumpy())
        found[-1] += [array.asnumpy() for array in again._exec_group.execs[0].aux_dict.values()]
    for with_states, without in zip(*found, strict=True):
        np.testing.assert_allclose(with_states, without, rtol=1e-4, atol=1e-6)
