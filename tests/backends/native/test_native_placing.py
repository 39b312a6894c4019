"""Convolutions in programs: brought into the layouts of generated kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from translated import assert_close, outcome, translated_program

import minpy as mx
from minpy import sym
from minpy.backends.native.convolutions.convolution_functions import Convolution, Packing
from minpy.backends.native.convolutions.cost_model import choose
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.language import Call, Elementwise
from minpy.backends.native.language.routine_verifier import verify
from minpy.backends.native.passes import Notes, optimized
from minpy.backends.switches import disabled, is_enabled
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start

COMPILES = True

AVX512 = Processor(64, 32)


def lenet(data: Any) -> Any:
    for filters in (6, 9):
        data = sym.Activation(sym.Convolution(data, kernel=(3, 3), num_filter=filters), act_type="relu")
        data = sym.Pooling(data, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return sym.FullyConnected(sym.Flatten(data), num_hidden=5)


def unit(data: Any, filters: int, act: bool = True, **given: Any) -> Any:
    data = sym.Convolution(data, num_filter=filters, no_bias=True, **given)
    data = sym.BatchNorm(data, fix_gamma=False)
    return sym.Activation(data, act_type="relu") if act else data


def residual(data: Any) -> Any:
    """A network with a residual sum, a projection, a depthwise convolution, and a mean of all positions."""
    h = unit(data, 20, kernel=(3, 3), pad=(1, 1))
    h = sym.Activation(h + unit(h, 20, False, kernel=(3, 3), pad=(1, 1)), act_type="relu")
    down = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
    h = sym.Activation(unit(h, 24, False, **down) + unit(h, 24, False, kernel=(1, 1), stride=(2, 2)), act_type="relu")
    h = unit(h, 24, kernel=(3, 3), pad=(1, 1), num_group=24)
    h = sym.Pooling(h, global_pool=True, pool_type="avg", kernel=(1, 1))
    return sym.FullyConnected(sym.Flatten(h), num_hidden=5)


def wide(data: Any) -> Any:
    """Two convolutions of as many channels as Winograd's way takes."""
    data = sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=64)
    return sym.Convolution(sym.Activation(data, act_type="relu"), kernel=(3, 3), pad=(1, 1), num_filter=48)


def one_dimension(data: Any) -> Any:
    data = sym.Convolution(data, kernel=(3,), num_filter=8, pad=(1,))
    return sym.Convolution(sym.Activation(data, act_type="tanh"), kernel=(5,), stride=(2,), num_filter=4)


def functions(routine: Any) -> list[Convolution]:
    return [
        step.function for step in routine.steps if isinstance(step, Call) and isinstance(step.function, Convolution)
    ]


def arrays_for(symbol: Any, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return random data, parameters and states of a network."""
    shapes, _, states = symbol.infer_shape(data=shape)
    random = np.random.RandomState(3)
    arrays = {}
    for name, one in zip(symbol.list_arguments(), shapes, strict=True):
        arrays[name] = random.normal(0, 1 if name == "data" else 0.3, one).astype("f")
    for name, one in zip(symbol.list_auxiliary_states(), states, strict=True):
        arrays[name] = random.uniform(0.5, 1.5, one).astype("f")
    return arrays


def optimized_network(network: Any, shape: tuple[int, ...], training: bool) -> tuple[Any, Notes]:
    """Hold an optimized network, run by the naive model, against its program; return its routine and notes."""
    symbol = network(sym.Variable("data"))
    arrays = arrays_for(symbol, shape)
    compiled = Compiled(symbol.values)
    given = [arrays[node.name] for node in compiled.variables]
    wanted = [node for node in compiled.variables if node.name in symbol.list_arguments()] if training else []
    program, translation, expected = translated_program(symbol.values, given, training, wanted)
    notes = Notes()
    translation.routine = optimized(translation.routine, notes=notes)
    verify(translation.routine)
    found = outcome(program, translation, given)
    for got, right in ((found.heads, expected.heads), (found.gradients, expected.gradients)):
        assert_close(got, right, 2e-4, str(translation.routine))
    return translation.routine, notes


@pytest.mark.parametrize("batch", [16, 21])
def test_training_lies_with_the_batch_last(batch: int) -> None:
    routine, notes = optimized_network(lenet, (batch, 2, 14, 14), True)
    found = functions(routine)
    assert [one.computed for one in found].count("weight") == 2
    assert not any(one.has_channels_last for one in found)
    # Nothing is turned but the pictures, for both parts, their gradient, and what comes back from the dense layer.
    copies = [step for step in routine.steps if isinstance(step, Elementwise) and step.function == "copy"]
    assert len(copies) <= 4, str(routine)
    assert notes.counts["transposes are moved behind assemblies"] >= 1


@pytest.mark.parametrize("batch", [1, 3])
def test_inference_of_few_lies_with_the_channels_last(batch: int) -> None:
    routine, _ = optimized_network(residual, (batch, 3, 9, 9), False)
    found = functions(routine)
    assert len(found) == 5
    assert all(one.has_channels_last for one in found)
    copies = [step.output for step in routine.steps if isinstance(step, Elementwise) and step.function == "copy"]
    large = [array for array in copies if len(array.shape) == 4 and array.size > 24 * batch]
    # Pictures are turned, and the projection, of every second position, has its own copied; all else lies as it is.
    assert [array.shape for array in large] == [(batch, 9, 9, 3), (batch, 5, 5, 20)], str(routine)


@pytest.mark.parametrize(("network", "shape"), [(residual, (18, 3, 9, 9)), (one_dimension, (17, 3, 12))])
def test_gradients_of_networks(network: Any, shape: tuple[int, ...]) -> None:
    routine, _ = optimized_network(network, shape, True)
    assert {one.computed for one in functions(routine)} >= {"result", "weight"}


@pytest.mark.parametrize("batch", [2, 17])
def test_inference_in_one_dimension(batch: int) -> None:
    routine, _ = optimized_network(one_dimension, (batch, 3, 12), False)
    assert len(functions(routine)) == 2


@pytest.mark.parametrize("kind", ["channels", "channels depthwise"])
@pytest.mark.parametrize("filters", [5, 16, 37])
def test_packed_weights_are_unpacked_again(kind: str, filters: int) -> None:
    groups = filters if kind == "channels depthwise" else 1
    problem = Problem(1, groups * 3 if groups == 1 else groups, filters, (5, 5), (3, 2), groups=groups)
    weight = np.random.RandomState(0).normal(size=(filters, problem.channels // groups, 3, 2)).astype("f")
    packing = Packing(problem, kind, AVX512)
    packed = packing(weight)
    assert packed.shape == packing.shape
    np.testing.assert_array_equal(packing.unpacked(packed), weight)


# -- run by native code ------------------------------------------------------------------------------------------------


def rounds(symbol: Any, arrays: dict[str, np.ndarray], training: bool, count: int) -> tuple[list[np.ndarray], Any]:
    """Return heads and gradients of the last of some calls, and the program."""
    compiled = Compiled(symbol.values)
    nodes = [node for node in compiled.variables if node.name in symbol.list_arguments()] if training else []
    found: list[np.ndarray] = []
    for _ in range(count):
        given = [arrays[node.name].copy() for node in compiled.variables]
        program = compiled.program(given, training, dict.fromkeys(nodes, "write") if nodes else None)
        heads, frame = start(program, given)
        found = [np.array(head) for head in heads]
        if nodes:
            gradients = {node: np.full(arrays[node.name].shape, 7, "f") for node in nodes}
            frame.backward([np.ones_like(head) for head in found], gradients)
            found += gradients.values()
    return found, program


@pytest.mark.parametrize(
    ("network", "shape", "training", "kernels"),
    [
        (lenet, (16, 2, 14, 14), True, ["direct_result", "direct_data", "direct_weight"]),
        (residual, (18, 3, 9, 9), True, ["direct_result", "direct_data", "direct_weight"]),
        (residual, (19, 3, 9, 9), False, ["direct_result"]),
        (residual, (1, 3, 9, 9), False, ["pack_weight", "channels_result", "channels_depthwise_result"]),
        (wide, (17, 3, 12, 11), True, ["winograd_weight", "winograd_result", "winograd_data"]),
        (wide, (1, 3, 12, 11), False, ["pack_weight", "channels_winograd_result"]),
        (wide, (15, 3, 12, 11), False, ["pack_weight", "channels_winograd_result"]),
        (one_dimension, (17, 3, 12), True, ["direct_result", "direct_weight"]),
    ],
)
def test_networks_as_native_code(network: Any, shape: tuple[int, ...], training: bool, kernels: list[str]) -> None:
    symbol = network(sym.Variable("data"))
    arrays = arrays_for(symbol, shape)
    with disabled():
        expected, _ = rounds(symbol, arrays, training, 1)
    found, program = rounds(symbol, arrays, training, 4)
    assert program.executable("native") is not None
    assert all(name in program.executable("native").build.ir for name in kernels)
    assert_close(found, expected, 5e-4)


# -- choosing ----------------------------------------------------------------------------------------------------------

CHOICES = [
    (Problem(32, 64, 64, (32, 32), (3, 3), pad=(1, 1)), "result", False, "winograd"),
    (Problem(32, 64, 64, (32, 32), (3, 3), pad=(1, 1)), "weight", False, "direct"),
    (Problem(32, 64, 128, (32, 32), (3, 3), (2, 2), pad=(1, 1)), "data", False, "direct"),
    (Problem(64, 1, 20, (28, 28), (5, 5)), "result", False, "direct"),
    (Problem(32, 64, 64, (32, 32), (3, 3), pad=(1, 1), groups=64), "data", False, "direct"),
    (Problem(32, 256, 512, (8, 8), (1, 1)), "result", False, "direct"),
    (Problem(32, 512, 3, (8, 8), (1, 1)), "result", False, "product"),
    (Problem(1, 64, 64, (32, 32), (3, 3), pad=(1, 1)), "result", False, "columns"),
    (Problem(1, 64, 64, (32, 32), (3, 3), pad=(1, 1)), "result", True, "channels winograd"),
    (Problem(1, 512, 512, (7, 7), (3, 3), pad=(1, 1)), "result", True, "channels winograd"),
    (Problem(1, 64, 64, (32, 32), (3, 3), (2, 2), pad=(1, 1)), "result", True, "channels"),
    (Problem(1, 64, 64, (32, 32), (3, 3), pad=(1, 1), groups=64), "result", True, "channels depthwise"),
]


@pytest.mark.parametrize(("problem", "what", "inference", "expected"), CHOICES)
def test_choices(problem: Problem, what: str, inference: bool, expected: str) -> None:
    plan = choose(problem, what, AVX512, inference)
    assert plan.kind == expected, str(plan)
    assert plan.cycles == tuple(sorted(plan.cycles, key=lambda way: way[1]))
    assert str(plan).startswith(f"{what} of {problem.batch} x {problem.channels} x ")
    assert all(f"    {kind}: " in str(plan) for kind, _ in plan.cycles)


# -- maxima of windows -------------------------------------------------------------------------------------------------

WINDOWS = {
    "padded": {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
    "full": {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "full"},
    "2 x 2": {"kernel": (2, 2), "stride": (2, 2)},
    "overlapping": {"kernel": (3, 2), "stride": (1, 1), "pad": (0, 1)},
}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", WINDOWS)
def test_maxima_of_windows(name: str, batch: int) -> None:
    def network(data: Any) -> Any:
        data = sym.Convolution(data, kernel=(1, 1), num_filter=20)
        data = sym.Pooling(data, pool_type="max", **WINDOWS[name])
        return sym.Convolution(data, kernel=(2, 2), num_filter=8)

    for training in (False, True):
        optimized_network(network, (batch, 3, 11, 12), training)


def test_special_numbers_in_maxima_of_windows() -> None:
    """A NaN reaches the windows that it is in, and an infinity is the largest there, as in the program."""
    data = sym.Convolution(sym.Variable("data"), kernel=(1, 1), num_filter=16, no_bias=True, name="one")
    data = sym.Pooling(data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    values = np.random.RandomState(0).normal(size=(1, 1, 9, 9)).astype("f")
    values[0, 0, 2, 3], values[0, 0, 7, 1], values[0, 0, 0, 8] = np.nan, np.inf, -np.inf
    arrays = {"data": mx.nd.array(values), "one_weight": mx.nd.ones((16, 1, 1, 1))}

    def results() -> list[np.ndarray]:
        executor = data.bind(mx.cpu(), arrays, grad_req="null")
        found = [executor.forward(is_train=False)[0].asnumpy() for _ in range(4)]
        assert is_enabled() == (executor.explain()[0].is_native)
        return found

    with disabled():
        expected = results()[0]
    for found in results():
        np.testing.assert_array_equal(found, expected)
