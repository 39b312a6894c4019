"""Where bits are to stay the same, every operator gives in each way of running what its first call gave."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row
from thoroughness import THOROUGH

import minpy as mx
from minpy import test_utils
from minpy.backends.native.machine import llvm
from minpy.backends.switches import is_enabled
from minpy.checking.differences import repeats
from minpy.gluon import HybridBlock
from minpy.jit import compiled_operators
from minpy.ops.registry import OPERATORS

COMPILES = True

CALLS = 20


def operator_of(row: Row) -> Any:
    return row.operator if row.operator is not None else OPERATORS[row.name]


def listed(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def bits(arrays: Sequence[Any]) -> list[Any]:
    """Return dtypes, shapes and bytes of results."""
    found = [one.asnumpy() if hasattr(one, "asnumpy") else np.asarray(one) for one in arrays]
    return [(one.dtype.str, one.shape, one.tobytes()) for one in found]


def starts(outputs: Sequence[Any]) -> list[Any]:
    draw = np.random.RandomState(3)
    return [mx.nd.array(draw.uniform(0.5, 1.5, one.shape), dtype=one.dtype) for one in outputs]


def recorded(row: Row, function: Callable[..., Any], inputs: Sequence[np.ndarray]) -> list[Any]:
    """Return what a function gives under `record()`, and the gradients."""
    arrays = [mx.nd.array(value, dtype=value.dtype) for value in inputs]
    for position in row.differentiable:
        arrays[position].attach_grad()
    with mx.autograd.record(train_mode=row.training):
        outputs = listed(function(*arrays))
    heads = [one for one in outputs if np.dtype(one.dtype).kind == "f"]
    if heads and row.differentiable and row.order:
        mx.autograd.backward(heads, starts(heads), train_mode=row.training)
    return [*outputs, *[arrays[position].grad for position in row.differentiable], *arrays]


def eager(row: Row) -> Callable[[Sequence[np.ndarray]], list[Any]]:
    return lambda inputs: recorded(row, lambda *given: operator_of(row)(*given, **row.attributes), inputs)


def hybridized(row: Row) -> Callable[[Sequence[np.ndarray]], list[Any]]:
    class Net(HybridBlock):
        def hybrid_forward(self, F, *given):
            return operator_of(row)(*given, **row.attributes)

    net = Net()
    net.hybridize()
    return lambda inputs: recorded(row, net, inputs)


def compiled(row: Row) -> Callable[[Sequence[np.ndarray]], list[Any]]:
    function = mx.compile(lambda *given: operator_of(row)(*given, **row.attributes))
    return lambda inputs: listed(function(*[value.copy() for value in inputs]))


def bound(row: Row) -> Callable[[Sequence[np.ndarray]], list[Any]]:
    names = [f"input{position}" for position in range(len(row.specs))]
    output = operator_of(row)(*map(mx.sym.var, names), **row.attributes)
    symbol = mx.sym.Group([mx.sym.identity(one) for one in output])
    executors: list[Any] = []

    def call(inputs: Sequence[np.ndarray]) -> list[Any]:
        arrays = {name: mx.nd.array(value, dtype=value.dtype) for name, value in zip(names, inputs, strict=True)}
        states = {name: arrays.pop(name) for name in symbol.list_auxiliary_states()}
        if not executors:
            wanted = [names[position] for position in row.differentiable if names[position] in arrays]
            gradients = {name: mx.nd.zeros_like(arrays[name]) for name in wanted}
            executors.append(symbol.bind(mx.cpu(), arrays, gradients, aux_states=states))
        (executor,) = executors
        for name, value in states.items():
            executor.aux_dict[name][:] = value
        outputs = executor.forward(is_train=row.training or bool(row.order), **arrays)
        for gradient in executor.grad_arrays:
            if gradient is not None:
                gradient[:] = np.random.uniform()  # what is not written shows
        if row.order:
            executor.backward(starts(outputs))
        gradients = [gradient for gradient in executor.grad_arrays if gradient is not None]
        return [*outputs, *(gradients if row.order else []), *executor.aux_arrays]

    return call


WAYS = {"recorded": eager, "hybridized": hybridized, "compiled": compiled, "bound": bound}
# What cannot be run in some ways, and why.
NOT_RUN = {
    ("bound", "_contrib_boolean_mask"): "its shape depends on values",
    ("bound", "_contrib_boolean_mask-axis"): "its shape depends on values",
}


def require_same_bits(row: Row, way: str, calls_before: int = 0) -> None:
    """Call a row often, and compare bits with those of the first call, or of a later one."""
    inputs = row.draw("float32") if "float32" in row.dtypes else row.draw()
    with mx.autograd.train_mode() if row.training else mx.autograd.predict_mode():
        call = WAYS[way](row)
        first = None
        for number in range(1, CALLS + 1):
            mx.random.seed(7)
            found = bits(call([value.copy() for value in inputs]))
            first = found if number <= calls_before + 1 else first
            assert found == first, f"call {number}"


def cases(count: int) -> dict[str, tuple[Row, str]]:
    found = {
        f"{row.id}, {way}": (row, way)
        for row in ALL_ROWS
        for way in WAYS
        if (row.specs or way not in ("hybridized", "bound")) and (way, row.id) not in NOT_RUN
    }
    names = list(found) if THOROUGH else random.Random(0).sample(list(found), count)
    return {name: found[name] for name in names}


@each(cases(200), at_once=40)
def test_every_operator_gives_the_same_bits_at_each_call(row: Row, way: str) -> None:
    with mx.compile.same_bits():
        require_same_bits(row, way)


@each(cases(60), at_once=20)
def test_without_the_switch_bits_change_up_to_the_third_call_only(row: Row, way: str) -> None:
    require_same_bits(row, way, 2)


# -- larger programs ---------------------------------------------------------------------------------------------------


def network() -> mx.gluon.HybridBlock:
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Conv2D(8, 3, activation="relu", in_channels=3),
        mx.gluon.nn.BatchNorm(in_channels=8),
        mx.gluon.nn.MaxPool2D(),
        mx.gluon.nn.Dropout(0.3),
        mx.gluon.nn.Dense(64, activation="tanh", in_units=8 * 15 * 15),
        mx.gluon.nn.LayerNorm(in_channels=64),
        mx.gluon.nn.Dense(10, in_units=64),
    )
    return net


def trained(optimizer: str, steps: int, hybridize: bool = True) -> list[Any]:
    """Return the bits of each step of a training that begins anew at every step."""
    net, loss = network(), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    mx.random.seed(1)
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
        loss.hybridize()
    draw = np.random.RandomState(0)
    images = mx.nd.array(draw.normal(size=(8, 3, 32, 32)))
    labels = mx.nd.array(draw.randint(0, 10, 8))
    parameters = net.collect_params()
    before = {name: parameter.data().copy() for name, parameter in parameters.items()}
    found = []
    for _ in range(steps):
        for name, parameter in parameters.items():
            parameter.set_data(before[name])
        trainer = mx.gluon.Trainer(parameters, optimizer)
        mx.random.seed(2)
        with mx.autograd.record():
            value = loss(net(images), labels)
        value.backward()
        trainer.step(8)
        found.append(bits([value, *(parameter.data() for parameter in parameters.values())]))
    return found


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("hybridize", [True, False], ids=["hybridized", "eager"])
def test_a_step_of_training_gives_the_same_bits_however_often_it_is_made(optimizer: str, hybridize: bool) -> None:
    with mx.compile.same_bits():
        found = trained(optimizer, CALLS, hybridize)
    assert all(step == found[0] for step in found)


def updated(steps: int) -> list[Any]:
    weight, gradient = np.random.RandomState(0).normal(size=(2, 5000)).astype("float32")
    found = []
    for _ in range(steps):
        arrays = [mx.nd.array(weight), mx.nd.array(gradient), mx.nd.zeros(5000), mx.nd.zeros(5000)]
        mx.nd.adam_update(*arrays, out=arrays[0], lr=0.1, wd=0.01)
        found.append(bits(arrays))
    return found


def test_updates_give_the_same_bits() -> None:
    with mx.compile.same_bits():
        found = updated(2 * CALLS)
    assert all(step == found[0] for step in found)


def smooth(x: Any) -> Any:
    return np.exp(np.tanh(x)).sum(axis=0) / 3


def test_what_has_become_native_code_gives_the_bits_of_python_again() -> None:
    compiled = mx.compile(smooth)
    x = np.random.RandomState(0).normal(size=(300, 50))
    found = [bits([compiled(x)]) for _ in range(5)]
    with mx.compile.same_bits():
        assert bits([compiled(x)]) == found[0]
        assert mx.compile.keeps_bits()
    assert not mx.compile.keeps_bits()
    if llvm.available():  # so the other tests would see it
        assert found[4] != found[0]


def test_scopes_nest_and_restore() -> None:
    scope = mx.compile.same_bits()
    with scope:
        with mx.compile.disabled(), scope:
            assert (mx.compile.keeps_bits(), is_enabled()) == (True, False)
        with pytest.raises(ZeroDivisionError), mx.compile.same_bits():
            _ = 1 / 0
        assert (mx.compile.keeps_bits(), is_enabled()) == (True, False)
    assert (mx.compile.keeps_bits(), is_enabled()) == (False, True)
    with mx.compile.disabled():
        assert not mx.compile.keeps_bits()
        with scope:
            assert mx.compile.keeps_bits()
        assert (mx.compile.keeps_bits(), is_enabled()) == (False, False)


def test_explanations_say_why_it_is_no_native_code() -> None:
    compiled = mx.compile(smooth)
    with mx.compile.same_bits():
        for _ in range(4):
            compiled(np.ones((3, 4)))
        assert "bits are to stay the same, by MINPY_SAME_BITS=1 or minpy.compile.same_bits()" in str(compiled.explain())


SCRIPT = """
import threading
import numpy as np
import minpy as mx

from minpy.jit.trial import trials

trials.enabled = mx.compile.keeps_bits()  # without: Python's program, then native code
compiled = mx.compile(lambda x: np.exp(np.tanh(x)).sum(axis=0) / 3)
x = np.random.RandomState(0).normal(size=(300, 50))

def run():
    kept.append(mx.compile.keeps_bits())
    found.update(compiled(x).tobytes() for _ in range(5))

kept, found = [], set()
run()
thread = threading.Thread(target=run)
thread.start()
thread.join()
print(kept, len(found))
"""


@pytest.mark.parametrize(("value", "kept"), [("1", True), ("0", False), ("", False)])
def test_the_environment_decides_for_all_threads(value: str, kept: bool) -> None:
    environment = {**os.environ, "MINPY_SAME_BITS": value, "MINPY_COMPILE": "1"}
    found = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    kinds = 1 if kept or not llvm.available() else 2
    assert found.stdout.strip() == f"{[kept, kept]} {kinds}"


# -- without the switch: checks that run something several times ------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (5, 7), (8, 8), (11,)])
def test_numeric_gradients_where_native_code_rounds_otherwise_than_the_runs_before_it(shape: tuple[int, ...]) -> None:
    x = mx.sym.var("x")
    random = np.random.RandomState(0)
    for net in (mx.sym.tanh(x), mx.sym.exp(x), mx.sym.sum(x), mx.sym.softmax(x) * 3, mx.sym.log(mx.sym.exp(x) + 1)):
        for dtype in ("float64", "float32"):
            test_utils.check_numeric_gradient(net, [random.normal(size=shape)], dtype=dtype)
    # All that is left of the sum is what rounding has left.
    centred = mx.sym.mean(mx.sym.broadcast_sub(x, mx.sym.mean(x, axis=0, keepdims=True)))
    test_utils.check_numeric_gradient(centred, [random.normal(size=shape)], dtype="float64", atol=1e-9)


@pytest.mark.parametrize("calls", range(7))
def test_an_operator_that_becomes_native_code_meanwhile_is_not_taken_for_a_random_one(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_operators, "_MIN_SPEEDUP", 0.0)

    @mx.customop("numpy", compile=True)
    def smoothed(x):
        return np.exp(np.tanh(x)).sum(axis=0) / 3

    smoothed.def_grad(lambda ans, x: lambda g: g * np.exp(np.tanh(x)) / np.cosh(x) ** 2 / 3)
    x = np.random.RandomState(0).normal(size=(20, 5))
    for _ in range(calls):
        smoothed(x)
    assert "random" not in str(smoothed.check(x))


def test_what_draws_is_still_found() -> None:
    @mx.customop("numpy")
    def noisy(x):
        return x + np.random.normal(size=x.shape) * 1e-6

    assert not repeats(lambda: [noisy(np.ones(3))])
    assert not repeats(lambda: [np.random.randint(0, 100, 20)])
    assert not repeats(lambda: [np.ones(np.random.randint(1, 1000))])
    counts = iter([1.0, 1.0 + 2**-52, 1.0])
    assert repeats(lambda: [np.array(next(counts))])
    left = iter([1e-17, 3e-17, 3e-17])  # of numbers that cancel
    assert repeats(lambda: [np.array(next(left))])
