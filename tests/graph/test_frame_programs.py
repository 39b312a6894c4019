"""Random programs over executors and calls of graphs: forward, backward, change, forget, in any order.

Against a naive model, which keeps every value that ever was. What is answered must be right for the values at the time
of the forward part; an array that was changed since may be refused instead. Heads stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from documented_backend import built_in_and_documented
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import often

import minpy as mx
from minpy import autograd, customop, nd, sym
from minpy.core.errors import MutationError
from minpy.graph.compiled import Compiled
from minpy.graph.recording import call_graph

backend = built_in_and_documented()

SHAPE = (2, 3)
NAMES = ("x", "y", "z")
KEPT: list[tuple[Any, Any]] = []


@customop("numpy")
def cube(data):
    """Return the cube, and keep what came in."""
    KEPT.append((data, data.copy()))
    return data * data * data


@cube.def_grad()
def gradient_of_cube(ans, data):
    def rule(g):
        KEPT.append((g, g.copy()))
        return 3 * data * data * g

    return rule


cube.def_shape(lambda shape: shape)


class Remembering(mx.operator.CustomOp):
    """A sigmoid whose backward finds in the object what forward has left there."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.answer = sigmoid(in_data[0].asnumpy())
        self.assign(out_data[0], req[0], nd.array(self.answer, dtype="float64"))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        slope = out_grad[0].asnumpy() * self.answer * (1 - self.answer)
        self.assign(in_grad[0], req[0], nd.array(slope, dtype="float64"))


@mx.operator.register("remembering_sigmoid")
class RememberingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Remembering()


def sigmoid(a: Any) -> Any:
    return 1 / (1 + np.exp(-a))


class Kind(NamedTuple):
    """A node as a symbol; as NumPy computes it; and the gradients of its inputs, by hand."""

    build: Callable[..., Any]
    forward: Callable[..., Any]
    back: Callable[..., Sequence[Any]]
    arity: int = 1


def flipped(a: Any) -> Any:
    return a.reshape(-1).reshape(3, 2).T


KINDS: dict[str, Kind] = {
    "tanh": Kind(sym.tanh, np.tanh, lambda g, a: [g * (1 - np.tanh(a) ** 2)]),
    "sin": Kind(sym.sin, np.sin, lambda g, a: [g * np.cos(a)]),
    "double": Kind(lambda a: a * 2, lambda a: a * 2, lambda g, a: [2 * g]),
    "square": Kind(sym.square, np.square, lambda g, a: [2 * a * g]),
    "relu": Kind(sym.relu, lambda a: np.maximum(a, 0), lambda g, a: [g * (a > 0)]),
    "identity": Kind(sym.identity, np.array, lambda g, a: [g]),
    "block": Kind(sym.BlockGrad, np.array, lambda g, a: [g * 0]),
    "view": Kind(
        lambda a: sym.transpose(sym.reshape(a, shape=(3, 2))),
        flipped,
        lambda g, a: [g.T.reshape(2, 3)],
    ),
    "cube": Kind(cube, lambda a: a**3, lambda g, a: [3 * a**2 * g]),
    "custom": Kind(
        lambda a: sym.Custom(a, op_type="remembering_sigmoid"),
        sigmoid,
        lambda g, a: [g * sigmoid(a) * (1 - sigmoid(a))],
    ),
    "add": Kind(lambda a, b: a + b, np.add, lambda g, a, b: [g, g], 2),
    "subtract": Kind(lambda a, b: a - b, np.subtract, lambda g, a, b: [g, -g], 2),
    "multiply": Kind(lambda a, b: a * b, np.multiply, lambda g, a, b: [g * b, g * a], 2),
}  # fmt: skip


class Plan(NamedTuple):
    """A graph: steps over the values before them, variables first; and which values are heads."""

    steps: list[tuple[str, tuple[int, ...]]]
    heads: list[int]

    def symbol(self) -> Any:
        """Return the graph as a symbol."""
        values = [sym.var(name) for name in NAMES]
        for kind, inputs in self.steps:
            values.append(KINDS[kind].build(*(values[index] for index in inputs)))
        return sym.Group([values[head] for head in self.heads])

    def values(self, variables: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return all values, one by one."""
        values = list(variables)
        for kind, inputs in self.steps:
            values.append(KINDS[kind].forward(*(values[index] for index in inputs)))
        return values

    def gradients(self, variables: Sequence[np.ndarray], upstream: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the gradients of the variables."""
        values = self.values(variables)
        slopes = [np.zeros(SHAPE) for _ in values]
        for head, gradient in zip(self.heads, upstream, strict=True):
            slopes[head] = slopes[head] + gradient
        for number in reversed(range(len(self.steps))):
            kind, inputs = self.steps[number]
            parts = KINDS[kind].back(slopes[len(NAMES) + number], *(values[index] for index in inputs))
            for index, part in zip(inputs, parts, strict=True):
                slopes[index] = slopes[index] + part
        return slopes[: len(NAMES)]


@st.composite
def plans(draw: Callable[[Any], Any]) -> Plan:
    steps: list[tuple[str, tuple[int, ...]]] = []
    # At first a head that reads all variables, so that each graph has them.
    steps += [("multiply", (0, 1)), ("add", (3, 2))]
    for kind, first, second in draw(
        st.lists(st.tuples(st.sampled_from(list(KINDS)), st.integers(0, 50), st.integers(0, 50)), max_size=8)
    ):
        count = len(NAMES) + len(steps)
        inputs = (count - 1 - first % min(count, 3), second % count)[: KINDS[kind].arity]
        steps.append((kind, inputs))
        steps.append(("tanh", (len(NAMES) + len(steps) - 1,)))  # so that nothing grows
    count = len(NAMES) + len(steps)
    heads = [4, count - 1, *(index % count for index in draw(st.lists(st.integers(0, 50), max_size=2)))]
    return Plan(steps, heads)


class Call(NamedTuple):
    """A call in flight: its outputs, and the values that its variables had."""

    outputs: list[Any]
    inputs: list[np.ndarray]
    time: int


class Machine:
    """Executors and calls of one graph, beside the naive model."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan
        self.random = np.random.default_rng(seed)
        symbol = plan.symbol()
        self.compiled = Compiled(symbol.values)
        self.names = [node.name for node in self.compiled.variables]
        self.variables = [nd.array(self.draw(), dtype="float64") for _ in NAMES]
        for array in self.variables:
            array.attach_grad()
        requests = {name: ("write", "add")[int(self.random.integers(2))] for name in NAMES}
        self.requests = [requests[name] for name in NAMES]
        self.executors = []
        for _ in range(2):
            arrays = {name: nd.array(self.draw(), dtype="float64") for name in NAMES}
            gradients = {name: nd.zeros(SHAPE, dtype="float64") for name in NAMES}
            self.executors.append(symbol.bind(mx.cpu(), arrays, gradients, requests))
        self.sums = [[np.zeros(SHAPE) for _ in NAMES] for _ in self.executors]
        # What each executor's latest forward was given; None if there was none, or its backward failed.
        self.latest: list[tuple[list[np.ndarray], int] | None] = [None for _ in self.executors]
        self.changed = [0 for _ in self.executors]
        self.calls: list[Call] = []
        self.variables_changed = 0
        self.clock = 0
        self.heads: list[tuple[np.ndarray, np.ndarray]] = []
        self.refused = 0

    def draw(self) -> np.ndarray:
        return self.random.uniform(-1, 1, SHAPE)

    def note_heads(self, arrays: Sequence[Any], inputs: Sequence[np.ndarray]) -> None:
        values = self.plan.values(inputs)
        for array, head in zip(arrays, self.plan.heads, strict=True):
            np.testing.assert_allclose(array.asnumpy(), values[head], rtol=1e-9, atol=1e-12)
            self.heads.append((array._data, array._data.copy()))

    # -- executors -------------------------------------------------------------------------------------------------

    def forward(self, which: int, number: int) -> None:
        executor = self.executors[which]
        given = {"x": nd.array(self.draw(), dtype="float64")} if number % 2 else {}
        outputs = executor.forward(is_train=bool(number // 2 % 3), **given)
        inputs = [executor.arg_dict[name].asnumpy() for name in NAMES]
        self.note_heads(outputs, inputs)
        self.clock += 1
        self.latest[which] = (inputs, self.clock)

    def backward(self, which: int, number: int) -> None:
        executor, latest = self.executors[which], self.latest[which]
        if latest is None:
            return
        upstream = [self.draw() for _ in self.plan.heads]
        given = [nd.array(one, dtype="float64") for one in upstream]
        try:
            executor.backward(given + given[: number % 2])  # what is surplus is ignored
        except MutationError:
            assert self.changed[which] > latest[1], "nothing was changed"
            self.latest[which] = None
            self.refused += 1
            return
        slopes = self.plan.gradients(latest[0], upstream)
        for at, (name, request) in enumerate(zip(NAMES, self.requests, strict=True)):
            self.sums[which][at] = slopes[at] + (self.sums[which][at] if request == "add" else 0)
            np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), self.sums[which][at], rtol=1e-8, atol=1e-10)

    def change_argument(self, which: int, number: int) -> None:
        array = self.executors[which].arg_dict[NAMES[number % 3]]
        if number % 2:
            array[:] = nd.array(self.draw(), dtype="float64")
        else:
            array[0:1] *= 0.5
        self.clock += 1
        self.changed[which] = self.clock

    def change_output(self, which: int, number: int) -> None:
        outputs = self.executors[which].outputs
        output = outputs[number % len(outputs)]
        output[:] = 7
        self.heads = [(data, data.copy() if data is output._data else copy) for data, copy in self.heads]
        self.clock += 1
        self.changed[which] = self.clock

    # -- recorded calls --------------------------------------------------------------------------------------------

    def call(self, which: int, number: int) -> None:
        arrays = [self.variables[NAMES.index(name)] for name in self.names]
        inputs = [array.asnumpy() for array in self.variables]
        if number % 5 == 0:
            self.note_heads(call_graph(self.compiled, arrays), inputs)
            return
        with autograd.record(train_mode=bool(number % 2)):
            outputs = call_graph(self.compiled, arrays)
        self.note_heads(outputs, inputs)
        self.clock += 1
        self.calls.append(Call(outputs, inputs, self.clock))

    def back_through_calls(self, which: int, number: int) -> None:
        count = min(len(self.calls), 1 + number % 4)
        if not count:
            return
        chosen = [self.calls[int(at)] for at in self.random.permutation(len(self.calls))[:count]]
        retain = bool(number % 2)
        upstream = [[self.draw() for _ in self.plan.heads] for _ in chosen]
        heads = [output for call in chosen for output in call.outputs]
        given = [nd.array(one, dtype="float64") for some in upstream for one in some]
        try:
            autograd.backward(heads, given, retain_graph=retain)
        except MutationError:
            assert self.variables_changed > min(call.time for call in chosen), "nothing was changed"
            self.refused += 1
        else:
            parts = [self.plan.gradients(call.inputs, some) for call, some in zip(chosen, upstream, strict=True)]
            for at, array in enumerate(self.variables):
                expected = sum(part[at] for part in parts)
                np.testing.assert_allclose(array.grad.asnumpy(), expected, rtol=1e-8, atol=1e-10)
            if retain:
                return
        self.calls = [call for call in self.calls if not any(call is one for one in chosen)]

    def change_variable(self, which: int, number: int) -> None:
        self.variables[number % 3][:] = nd.array(self.draw(), dtype="float64")
        self.clock += 1
        self.variables_changed = self.clock

    def forget(self, which: int, number: int) -> None:
        if self.calls:
            self.calls.pop(number % len(self.calls))

    ACTIONS = (
        forward, forward, forward, backward, backward, backward, change_argument, change_output,
        call, call, call, call, back_through_calls, back_through_calls, change_variable, forget,
    )  # fmt: skip


INSTRUCTIONS = st.lists(
    st.tuples(st.integers(0, len(Machine.ACTIONS) - 1), st.integers(0, 1), st.integers(0, 10**4)),
    min_size=10,
    max_size=40,
)


def run(plan: Plan, seed: int, instructions: Sequence[tuple[int, int, int]]) -> Machine:
    """Run a program, and return what it has left; anything wrong is an AssertionError."""
    KEPT.clear()
    machine = Machine(plan, seed)
    for action, which, number in instructions:
        Machine.ACTIONS[action](machine, which, number)
    for data, copy in machine.heads:
        np.testing.assert_array_equal(data, copy)
    own = [array._data for executor in machine.executors for array in executor.arg_arrays]
    own += [array._data for array in machine.variables]
    own += [array._data for executor in machine.executors for array in executor.grad_arrays]
    own += [data for data, _ in machine.heads]
    for data, copy in KEPT:  # but for arrays of users, which they may change
        if not any(np.may_share_memory(data, array) for array in own):
            np.testing.assert_array_equal(data, copy)
    return machine


def test_random_programs() -> None:
    """They compute the same, and are not trivial: changes that matter, kinds of nodes, calls left in flight."""
    refused: list[int] = []
    left: list[int] = []
    kinds: set[str] = set()

    @settings(max_examples=often(160, 1000), deadline=None, suppress_health_check=list(HealthCheck))
    @given(plans(), st.integers(0, 10**4), INSTRUCTIONS)
    def programs(plan: Plan, seed: int, instructions: list[tuple[int, int, int]]) -> None:
        machine = run(plan, seed, instructions)
        refused.append(machine.refused)
        left.append(len(machine.calls))
        kinds.update(kind for kind, _ in plan.steps)

    programs()
    assert kinds == set(KINDS)
    # What is drawn hangs on which modules are loaded: Hypothesis takes numbers from their constants.
    assert 8 <= sum(map(bool, refused)) < 0.9 * len(refused)
    assert max(left) > 2
