"""`RNN` in native programs: unrolled, held against the operator's own definition, and how much code it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from many import each
from translated import call_graph, check, head_gradients

import minpy as mx
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.kernels.codegen import kernel_of
from minpy.backends.native.language import Assembly, Call
from minpy.backends.native.passes import optimized
from minpy.backends.native.translating.lowerings.recurrent import LONGEST
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.ops.kernels.recurrent_layers import Layers
from minpy.ops.registry import OPERATORS

COMPILES = True

RNN = OPERATORS["RNN"]


def inputs(
    dtype: str, steps: int = 4, batch: int = 3, width: int = 5, lengths: Any = None, **attributes: Any
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Return arrays for a call with these attributes."""
    given = {"state_size": 6, "num_layers": 1, "bidirectional": False, "state_outputs": True, **attributes}
    directions = 2 if given["bidirectional"] else 1
    size, mode, count = given["state_size"], given["mode"], given["num_layers"]
    layers = Layers(mode, size, count, directions, width, given.get("projection_size"))
    random = np.random.RandomState(3)
    cells = count * directions
    shapes = [(steps, batch, width), (layers.parameters(),), (cells, batch, layers.results)]
    shapes += [(cells, batch, size)] if mode == "lstm" else []
    arrays = [random.uniform(-0.9, 0.9, shape).astype(dtype) for shape in shapes]
    if lengths is not None:
        given["use_sequence_length"] = True
        arrays.append(np.array(lengths, dtype))
    return arrays, given


CASES: dict[str, tuple[dict[str, Any]]] = {
    **{mode: ({"mode": mode},) for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru")},
    **{
        f"{mode}, both ways, two layers": ({"mode": mode, "bidirectional": True, "num_layers": 2},)
        for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru")
    },
    **{
        f"{mode}, lengths": ({"mode": mode, "bidirectional": True, "num_layers": 2, "lengths": [2, 4, 0]},)
        for mode in ("rnn_tanh", "lstm", "gru")
    },
    "lstm, one step": ({"mode": "lstm", "steps": 1, "num_layers": 2},),
    "gru, one of all": ({"mode": "gru", "steps": 1, "batch": 1, "width": 1, "state_size": 1},),
    "lstm, projected": ({"mode": "lstm", "projection_size": 2, "num_layers": 2, "bidirectional": True},),
    "lstm, projected, lengths": ({"mode": "lstm", "projection_size": 2, "lengths": [1, 3, 4]},),
    "lstm, bounds": ({"mode": "lstm", "lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.1},),
    "lstm, bounds for NaN": (
        {"mode": "lstm", "lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.1, "lstm_state_clip_nan": True},
    ),
    "lstm, no states asked for": ({"mode": "lstm", "state_outputs": False, "num_layers": 2},),
}


def compiled_outcome(arrays: list[np.ndarray], given: dict[str, Any], rounds: int) -> tuple[Any, list[np.ndarray]]:
    """Return a program, and what it gave in its last round: heads, then gradients."""
    heads, variables = call_graph(RNN, arrays, given)
    compiled = Compiled(heads[: visible(given)])
    order = dict(zip(variables, arrays, strict=True))
    leading = variables[: 4 if given["mode"] == "lstm" else 3]
    program = compiled.program([order[node] for node in compiled.variables], False, dict.fromkeys(leading, "write"))
    for _ in range(rounds):
        found, frame = start(program, [order[node].copy() for node in compiled.variables])
        results = [np.array(head) for head in found]
        buffers = {node: np.empty_like(order[node]) for node in leading}
        frame.backward(head_gradients(results), buffers)
    return program, [*results, *buffers.values()]


def visible(given: dict[str, Any]) -> int:
    if not given["state_outputs"]:
        return 1
    return 3 if given["mode"] == "lstm" else 2


def assert_all_close(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    for got, wanted in zip(found, expected, strict=True):
        atol = tolerance * max(1, float(np.abs(wanted).max()))
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=atol)


@each(CASES)
def test_its_steps_compute_what_the_definition_does(options: dict[str, Any]) -> None:
    arrays, given = inputs("float64", **options)
    found = check(RNN, arrays, given, range(4 if given["mode"] == "lstm" else 3), tolerance=1e-12)
    assert {step.reason for step in found.routine.steps if isinstance(step, Call)} <= {
        "lengths that are longer than the time are refused"
    }
    _, outcome = compiled_outcome(arrays, given, 1)
    count = visible(given)
    assert_all_close(outcome[:count], list(RNN.definition(*arrays, **given)[:count]), 1e-12)


@pytest.mark.parametrize(
    ("dtype", "name"), [("float32", "lstm, both ways, two layers"), ("float64", "gru"), ("float32", "lstm, lengths")]
)
def test_native_code_computes_what_the_definition_does(dtype: str, name: str) -> None:
    arrays, given = inputs(dtype, **CASES[name][0])
    program, found = compiled_outcome(arrays, given, 4)
    assert program.executable("native") is not None
    _, expected = compiled_outcome([array.astype("float64") for array in arrays], given, 1)
    assert {one.dtype for one in found} == {np.dtype(dtype)}
    assert_all_close(found, expected, 1e-12 if dtype == "float64" else 2e-5)


def test_a_naive_model_of_the_steps_agrees() -> None:
    arrays, given = inputs("float64", mode="lstm", num_layers=2, p=0.5)
    found = check(RNN, arrays, given, range(4), training=True, tolerance=1e-12)
    assert [step.reason for step in found.routine.steps if isinstance(step, Call)] == ["the masks are drawn at random"]


@pytest.mark.parametrize(("mode", "most"), [("rnn_tanh", 16), ("lstm", 16), ("gru", 18)])
def test_steps_in_time_share_their_code(mode: str, most: int) -> None:
    def functions(steps: int) -> tuple[int, int]:
        arrays, given = inputs("float32", mode=mode, steps=steps, num_layers=2, state_size=40, width=40, batch=8)
        found = check(RNN, arrays, given, range(len(arrays)), tolerance=1e-3)
        items = [item for one in scheduled(optimized(found.routine)) for item in one.items]
        assert not any(isinstance(item, Assembly) and item.output.size > arrays[1].size for item in items)
        nests = [item for item in items if hasattr(item, "phases")]
        return len(nests), len({kernel_of(nest).body for nest in nests})

    (few, code), (many, more) = functions(5), functions(12)
    assert many > few
    assert code == more <= most


def test_sequences_that_are_too_long_are_called() -> None:
    arrays, given = inputs("float32", mode="rnn_tanh", steps=LONGEST // 2 + 1, num_layers=2, state_size=1, width=1)
    found = check(RNN, arrays, given, range(3), tolerance=1e-3)
    reasons = {step.reason for step in found.routine.steps if isinstance(step, Call)}
    assert reasons == {
        "its 258 steps in time, of all layers, are more than the 256 that are unrolled",
        "its forward pass is called",
    }


def test_inputs_of_two_dtypes_are_called() -> None:
    arrays, given = inputs("float32", mode="gru")
    found = check(RNN, [arrays[0].astype("float64"), *arrays[1:]], given, range(3), tolerance=1e-4)
    assert {step.reason for step in found.routine.steps if isinstance(step, Call)} == {
        "its inputs differ in their dtypes",
        "its forward pass is called",
    }


@pytest.mark.parametrize(("p", "training", "kept"), [(0.0, True, 0), (0.5, False, 0), (0.5, True, 1), ("0.0", True, 0)])
def test_answers_are_kept_where_numbers_are_drawn(p: Any, training: bool, kept: int) -> None:
    data, weights, state = (mx.sym.var(name) for name in ("data", "weights", "state"))
    symbol = mx.sym.RNN(data, weights, state, state_size=3, num_layers=2, mode="rnn_tanh", p=p)
    executor = symbol.simple_bind(mx.cpu(), data=(4, 2, 5))
    random = np.random.RandomState(0)
    for array in executor.arg_arrays:
        array[:] = random.normal(size=array.shape)
    heads = mx.nd.array(random.normal(size=executor.outputs[0].shape))
    for _ in range(4):
        executor.forward(is_train=training)
        executor.backward(heads)
        first = [array.asnumpy() for array in executor.grad_arrays]
        executor.backward(heads)  # of the same draws
        for array, before in zip(executor.grad_arrays, first, strict=True):
            np.testing.assert_allclose(array.asnumpy(), before, rtol=1e-5, atol=1e-6)
    [program] = {id(one): one for one in executor._programs.values()}.values()
    assert len(program.steps.saved_for_replay) == kept
