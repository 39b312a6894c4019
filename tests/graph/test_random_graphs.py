"""Random graphs: executors against the tape, and against a naive evaluation with differences for gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import often

import minpy as mx
from minpy import autograd, nd, sym
from minpy.graph.verifier import verify

LARGEST = 20.0
SHAPES = {"x": (2, 3), "y": (2, 3), "z": (1, 3)}
Shape = tuple[int, ...]


class Kind(NamedTuple):
    """A kind of node.

    `call(nn, *inputs, **options)` is written for `nd` and `sym`, `reference(*inputs, **options)` for NumPy. `options`
    takes a number and the shapes of the inputs, and returns None where the kind does not fit.
    """

    arity: int
    call: Callable[..., Any]
    reference: Callable[..., Any]
    options: Callable[..., Any] = lambda number, *shapes: {}
    smooth: bool = True


def broadcastable(number: int, a: Shape, b: Shape) -> Any:
    fits = len(a) == len(b) and all(p == q or 1 in (p, q) for p, q in zip(a, b, strict=True))
    return {} if fits else None


def equal(number: int, a: Shape, b: Shape) -> Any:
    return {} if a == b else None


def axis_of(number: int, a: Shape) -> Any:
    return {"axis": number % len(a)}


def joined(number: int, a: Shape, b: Shape) -> Any:
    axis = number % len(a)
    fits = len(a) == len(b) and all(p == q or at == axis for at, (p, q) in enumerate(zip(a, b, strict=True)))
    return {"dim": axis} if fits and a[axis] + b[axis] <= 8 else None


def divided(number: int, a: Shape) -> Any:
    axis = number % len(a)
    return {"num_outputs": a[axis], "axis": axis} if 1 < a[axis] < 4 else None


def permuted(number: int, a: Shape) -> Any:
    return {"axes": tuple(np.random.default_rng(number).permutation(len(a)).tolist())}


def sliced(number: int, a: Shape) -> Any:
    axis = number % len(a)
    return {"axis": axis, "begin": number // 7 % a[axis], "end": a[axis]}


def reduced(number: int, a: Shape) -> Any:
    axes = (None, number // 2 % len(a), tuple(range(len(a)))[: 1 + number % len(a)])
    return {"axis": axes[number % 3], "keepdims": bool(number % 2)}


def at_least_1d(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction whose result has an axis, as those of MXNet do."""
    return lambda a, axis, keepdims: np.atleast_1d(function(a, axis=axis, keepdims=keepdims))


def unary(name: str, reference: Callable[..., Any], smooth: bool = True) -> Kind:
    return Kind(1, lambda nn, a: getattr(nn, name)(a), reference, smooth=smooth)


def binary(name: str, reference: Callable[..., Any], options: Callable[..., Any] = broadcastable) -> Kind:
    return Kind(2, lambda nn, a, b: getattr(nn, name)(a, b), reference, options, name not in ("broadcast_maximum",))


def scalar(function: Callable[[Any], Any]) -> Kind:
    return Kind(1, lambda nn, a: function(a), function)


def named(
    name: str, arity: int, reference: Callable[..., Any], options: Callable[..., Any], smooth: bool = True
) -> Kind:
    return Kind(arity, lambda nn, *a, **o: getattr(nn, name)(*a, **o), reference, options, smooth)


def activation(act_type: str, reference: Callable[[Any], Any], smooth: bool = True) -> Kind:
    return Kind(1, lambda nn, a: nn.Activation(a, act_type=act_type), reference, smooth=smooth)


def sigmoid(a: Any) -> Any:
    return 1 / (1 + np.exp(-a))


KINDS: dict[str, Kind] = {
    "tanh": unary("tanh", np.tanh),
    "sin": unary("sin", np.sin),
    "exp": unary("exp", np.exp),
    "sigmoid": unary("sigmoid", sigmoid),
    "square": unary("square", np.square),
    "negative": unary("negative", np.negative),
    "identity": unary("identity", np.array),
    "abs": unary("abs", np.abs, smooth=False),
    "relu": activation("relu", lambda a: np.maximum(a, 0), smooth=False),
    "softrelu": activation("softrelu", lambda a: np.logaddexp(a, 0)),
    "act sigmoid": activation("sigmoid", sigmoid),
    "act tanh": activation("tanh", np.tanh),
    "softsign": activation("softsign", lambda a: a / (1 + np.abs(a)), smooth=False),
    "BlockGrad": unary("BlockGrad", np.array),
    "plus": scalar(lambda a: a + 1.5),
    "rminus": scalar(lambda a: 2 - a),
    "times": scalar(lambda a: a * -0.75),
    "divided": scalar(lambda a: a / 2),
    "power": scalar(lambda a: a**2),
    "elemwise_add": Kind(2, lambda nn, a, b: a + b, np.add, equal),
    "elemwise_sub": Kind(2, lambda nn, a, b: a - b, np.subtract, equal),
    "elemwise_mul": Kind(2, lambda nn, a, b: a * b, np.multiply, equal),
    "broadcast_add": binary("broadcast_add", np.add),
    "broadcast_sub": binary("broadcast_sub", np.subtract),
    "broadcast_mul": binary("broadcast_mul", np.multiply),
    "broadcast_maximum": binary("broadcast_maximum", np.maximum),
    "reshape": Kind(1, lambda nn, a: nn.reshape(a, shape=(-1,)), lambda a: a.reshape(-1)),
    "columns": Kind(1, lambda nn, a: nn.reshape(a, shape=(-1, 1)), lambda a: a.reshape(-1, 1)),
    "Flatten": unary("Flatten", lambda a: a.reshape(a.shape[0], -1)),
    "transpose": named("transpose", 1, np.transpose, permuted),
    "expand_dims": named("expand_dims", 1, np.expand_dims, lambda n, a: axis_of(n, a) if len(a) < 3 else None),
    "slice_axis": named(
        "slice_axis", 1, lambda a, axis, begin, end: np.take(a, range(begin, end), axis), sliced
    ),
    "Concat": named("Concat", 2, lambda *a, dim: np.concatenate(a, dim), joined),
    "split": named("split", 1, lambda a, num_outputs, axis: np.split(a, num_outputs, axis), divided),
    "sum": named("sum", 1, at_least_1d(np.sum), reduced),
    "mean": named("mean", 1, at_least_1d(np.mean), reduced),
    "max": named("max", 1, at_least_1d(np.max), reduced, smooth=False),
    "softmax": named("softmax", 1, lambda a, axis: np.exp(a) / np.exp(a).sum(axis, keepdims=True), axis_of),
    "FullyConnected": named(
        "FullyConnected",
        2,
        lambda a, w, num_hidden, no_bias: a.reshape(a.shape[0], -1).dot(w.T),
        lambda n, a, w: {"num_hidden": w[0], "no_bias": True},
    ),
}  # fmt: skip


class Step(NamedTuple):
    """A node: its kind, the numbers of the values that it reads, its options, and how many values it gives."""

    kind: str
    inputs: tuple[int, ...]
    options: dict[str, Any]
    outputs: int = 1


class Plan(NamedTuple):
    """A graph: variables with their values, and steps. Values are numbered, variables first."""

    variables: dict[str, np.ndarray]
    steps: list[Step]
    heads: list[int]
    requests: list[str]

    @property
    def smooth(self) -> bool:
        """Whether differences say what the gradients are."""
        return all(KINDS[step.kind].smooth for step in self.steps)


Blocked = dict[int, np.ndarray]


def reference(plan: Plan, inputs: Sequence[np.ndarray], blocked: Blocked | None = None) -> tuple[list[Any], Blocked]:
    """Return all values, computed one by one, and those behind `BlockGrad`; with `blocked`, these stay as they are."""
    values: list[Any] = list(inputs)
    stopped: Blocked = {}
    for number, step in enumerate(plan.steps):
        answer = KINDS[step.kind].reference(*(values[index] for index in step.inputs), **step.options)
        if step.kind == "BlockGrad":
            answer = stopped[number] = blocked[number] if blocked is not None else answer
        values += answer if step.kind == "split" else [answer]
    return values, stopped


def built(nn: Any, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
    """Return the heads as NDArrays or symbols."""
    values = list(inputs)
    for step in plan.steps:
        answer = KINDS[step.kind].call(nn, *(values[index] for index in step.inputs), **step.options)
        values += list(answer) if step.kind == "split" else [answer]
    return [values[head] for head in plan.heads]


NUMBERS = st.tuples(st.sampled_from(list(KINDS)), *[st.integers(0, 10**4)] * 3)


@st.composite
def plans(draw: Callable[[Any], Any]) -> Plan:
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    variables = {name: generator.uniform(-1.5, 1.5, shape) for name, shape in SHAPES.items()}
    values = list(variables.values())
    numbers = draw(st.lists(NUMBERS, min_size=10, max_size=30))
    # Weights are variables, and so come before the steps: a few for every width that turns up.
    for width in (1, 2, 3, 6):
        variables[f"w{width}"] = generator.uniform(-1, 1, (3, width))
    values = list(variables.values())
    weights = {value.shape[1]: len(values) - 4 + at for at, value in enumerate(values[-4:])}
    steps: list[Step] = []
    for kind, first, second, number in numbers:
        recent = min(len(values), 8)
        a = len(values) - 1 - first % recent if number % 3 else first % len(values)
        inputs: tuple[int, ...] = (a,)
        if kind == "FullyConnected":
            width = values[a][0].size
            if width not in weights:
                continue
            inputs = (a, weights[width])
        elif KINDS[kind].arity == 2:
            inputs = (a, second % len(values))
        shapes = [values[index].shape for index in inputs]
        options = KINDS[kind].options(number, *shapes)
        if options is None:
            continue
        answer = KINDS[kind].reference(*(values[index] for index in inputs), **options)
        answers = answer if kind == "split" else [answer]
        if max(np.abs(one).max() for one in answers) > LARGEST or answers[0].size > 200:
            kind, inputs, options, answers = "tanh", (a,), {}, [np.tanh(values[a])]
        steps.append(Step(kind, inputs, options, len(answers)))
        values += answers
    heads = sorted(
        {len(values) - 1, *(index % len(values) for index in draw(st.lists(st.integers(0, 10**4), max_size=2)))}
    )
    heads += heads[:1] if draw(st.booleans()) else []
    requests = draw(st.lists(st.sampled_from(["write", "write", "add", "null"]), min_size=7, max_size=7))
    return Plan(variables, steps, heads, requests)


def on_tape(plan: Plan, inputs: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """Return heads and gradients from eager execution."""
    arrays = [nd.array(value, dtype="float64") for value in inputs]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        # A variable itself as a head has no place on the tape.
        heads = [nd.identity(head) for head in built(nd, plan, arrays)]
    recorded = [pair for pair in zip(heads, weights, strict=True) if pair[0]._node is not None]
    if recorded:
        autograd.backward([head for head, _ in recorded], [nd.array(weight, dtype="float64") for _, weight in recorded])
    return [head.asnumpy() for head in heads], [array.grad.asnumpy() for array in arrays]


def differences(plan: Plan, inputs: list[np.ndarray], weights: Sequence[np.ndarray], where: Any) -> list[float]:
    """Return the gradients of some elements, (number of the variable, index), from central differences."""
    _, blocked = reference(plan, inputs)

    def loss(position: int, index: int, move: float) -> float:
        moved = [value.copy() if at == position else value for at, value in enumerate(inputs)]
        moved[position].flat[index] += move
        values, _ = reference(plan, moved, blocked)
        return sum((values[head] * weight).sum() for head, weight in zip(plan.heads, weights, strict=True))

    step = 1e-5
    return [(loss(*place, step) - loss(*place, -step)) / (2 * step) for place in where]


def used_by(plan: Plan, symbol: Any) -> list[int]:
    names = symbol.list_arguments()
    return [position for position, name in enumerate(plan.variables) if name in names]


def require_same(plan: Plan, symbol: Any) -> None:
    verify(symbol.values)
    used = used_by(plan, symbol)
    names = [list(plan.variables)[position] for position in used]
    start = list(plan.variables.values())
    arrays = {name: nd.array(plan.variables[name], dtype="float64") for name in names}
    gradients = {name: nd.zeros(array.shape, dtype="float64") for name, array in arrays.items()}
    requests = {name: plan.requests[position] for name, position in zip(names, used, strict=True)}
    executor = symbol.bind(mx.cpu(), arrays, gradients, requests)
    generator = np.random.default_rng(len(plan.steps))
    sums = {name: np.zeros(array.shape) for name, array in arrays.items()}
    for change in (0.0, 0.125, -0.0625):  # step by step, compiled, compiled again
        inputs = [value * (1 - abs(change)) + change / 4 for value in start]
        values, _ = reference(plan, inputs)
        expected = [values[head] for head in plan.heads]
        weights = [generator.uniform(-1, 1, value.shape) for value in expected]
        for name, position in zip(names, used, strict=True):
            arrays[name][:] = nd.array(inputs[position], dtype="float64")
        outputs = [output.asnumpy() for output in executor.forward(is_train=True)]
        executor.backward([nd.array(weight, dtype="float64") for weight in weights])
        taped, slopes = on_tape(plan, inputs, weights)
        for output, eager, value in zip(outputs, taped, expected, strict=True):
            np.testing.assert_allclose(output, eager, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(output, value, rtol=1e-9, atol=1e-9)
        for name, position in zip(names, used, strict=True):
            found, slope = gradients[name].asnumpy(), slopes[position]
            if requests[name] == "add":
                sums[name] = slope = sums[name] + slope
            elif requests[name] == "null":
                slope = np.zeros(slope.shape)
            scale = max(1.0, np.abs(slope).max())
            np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-10 * scale, err_msg=name)
        predicted = executor.forward()
        for output, value in zip(predicted, expected, strict=True):
            np.testing.assert_allclose(output.asnumpy(), value, rtol=1e-9, atol=1e-9)
    for program in executor._programs.values():
        verify([*program.steps.outputs, *program.steps.gradients.values()])
    if plan.smooth:
        where = [(position, int(index)) for position in used for index in {0, generator.integers(start[position].size)}]
        for place, numeric in zip(where, differences(plan, inputs, weights, where), strict=True):
            slope = slopes[place[0]].flat[place[1]]
            assert abs(slope - numeric) <= 1e-5 * max(1.0, abs(slope), np.abs(slopes[place[0]]).max()), place


def test_executors_against_the_tape_and_a_naive_reference() -> None:
    """What is drawn is not trivial: all kinds, several outputs and heads, and nodes that nobody reads."""
    seen: set[str] = set()
    heads: set[int] = set()
    dead = 0

    @settings(max_examples=often(150, 1000), deadline=None, suppress_health_check=list(HealthCheck))
    @given(plans())
    def compare(plan: Plan) -> None:
        nonlocal dead
        seen.update(step.kind for step in plan.steps)
        heads.add(len(plan.heads))
        symbol = sym.Group(built(sym, plan, [sym.var(name) for name in plan.variables]))
        dead += len(symbol.get_internals().values) < len(plan.variables) + len(plan.steps)
        require_same(plan, symbol)

    compare()
    assert seen == set(KINDS)
    assert heads >= {1, 2, 3}
    assert dead > 10
