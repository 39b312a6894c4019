"""Graphs and programs: what is refused, what inference says, what lowering leaves, and where answers are computed."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from calling_rows import operator_of as operator_of_row
from custom_operators import Sigmoid, operator_of
from operator_table import ALL_ROWS
from operator_table.row import Row
from thoroughness import often

import minpy as mx
from minpy import customop, nd, sym
from minpy.core.errors import ArgumentError, OperatorError, ShapeError
from minpy.graph.ir import CONSTANT, Node, Value, constant, consumers, topological, variable
from minpy.graph.verifier import GraphError, verify
from minpy.ops.registry import OPERATORS
from minpy.symbol.composition import compose

SIGMOID = operator_of(Sigmoid)
TANH, ADD, ZEROS = OPERATORS["tanh"], OPERATORS["elemwise_add"], OPERATORS["_zeros"]


def node(operator: Any, *inputs: Any, name: str = "a") -> Value:
    return Value(Node(operator, inputs, name=name))


def cycle(length: int) -> Value:
    """Return a value of the last of some nodes, each of which reads the one before, and the first the last."""
    first = last = node(TANH, variable("x"), name="n0")
    for number in range(1, length):
        last = node(TANH, last, name=f"n{number}")
    first.node.inputs = (last,)
    return last


# -- the verifier ------------------------------------------------------------------------------------------------------

X = variable("x")
BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "cycle": (lambda: cycle(2), "node 'n0' (tanh) depends on itself, through node 'n1' (tanh)."),
    "cycle of one": (lambda: cycle(1), "node 'n0' (tanh) depends on itself, through node 'n0' (tanh)."),
    "cycle of many": (lambda: cycle(5000), "node 'n0' (tanh) depends on itself, through node 'n4999' (tanh)."),
    "too few inputs": (lambda: node(ADD, X), "node 'a' (elemwise_add) has 1 input(s); expected lhs, rhs."),
    "too many inputs": (lambda: node(TANH, X, X), "node 'a' (tanh) has 2 input(s); expected data."),
    "inputs of a source": (lambda: node(ZEROS, X), "node 'a' (_zeros) has 1 input(s); expected none."),
    "no such input": (
        lambda: node(TANH, Value(X.node, 1)),
        "an input of node 'a' (tanh) is output 1 of variable 'x', which has 1.",
    ),
    "no such head": (lambda: Value(node(TANH, X).node, 2), "a head is output 2 of node 'a' (tanh), which has 1."),
    "negative head": (lambda: Value(node(TANH, X).node, -2), "a head is output -2 of node 'a' (tanh), which has 1."),
    "no value as input": (lambda: node(TANH, 3), "an input of node 'a' (tanh) is 3; expected a value of a node."),
    "no value as head": (lambda: X.node, "a head is <variable x>; expected a value of a node."),
    "variables of one name": (lambda: node(ADD, X, variable("x")), "two variables are named 'x'."),
    "variable with inputs": (lambda: node(None, X, name="z"), "variable 'z' must have a name and no inputs."),
    "variable without a name": (lambda: variable(""), "variable '' must have a name and no inputs."),
}


@pytest.mark.parametrize("case", BROKEN)
def test_the_verifier_rejects(case: str) -> None:
    make, message = BROKEN[case]
    with pytest.raises(GraphError) as caught:
        verify([X, make()])
    assert str(caught.value) == message


def test_the_verifier_wants_every_shape() -> None:
    a = node(TANH, X)
    split = Value(Node(OPERATORS["SliceChannel"], [a], {"num_outputs": 2}, "s"), 1)
    known = {X: (2, 4), a: (2, 4), Value(split.node, 0): (2, 2), split: (2, 2)}
    verify([split], known)
    for missing, message in (
        (X, "variable 'x': the shape of output 0 is not known."),
        (a, "node 'a' (tanh): the shape of output 0 is not known."),
        (split, "node 's' (SliceChannel, num_outputs=2): the shape of output 1 is not known."),
    ):
        for shape in (None, (2, -1)):
            with pytest.raises(GraphError) as caught:
                verify([split], {**known, missing: shape})
            assert str(caught.value) == message


def test_the_verifier_accepts_what_is_well_formed() -> None:
    verify([])
    a = node(TANH, X)
    verify([a, a, node(ADD, a, a, name="b"), constant(3.0), node(ADD, constant(1.0), a, name="c")])
    assert [one.name for one in topological([node(ADD, a, X, name="b")])] == ["x", "a", "b"]
    b = node(ADD, a, X, name="b")
    assert consumers(topological([b])) == {X: [a.node, b.node], a: [b.node]}


# -- inference ---------------------------------------------------------------------------------------------------------

x, y = sym.var("x"), sym.var("y")
FC = sym.FullyConnected(x, num_hidden=3, name="fc")
CONV = sym.Convolution(x, kernel=(3, 3), num_filter=4, name="conv")
DECLARED = sym.var("d", shape=(2, 3))
CONFLICTS: dict[str, tuple[Callable[[], Any], str]] = {
    "weight": (
        lambda: FC.infer_shape(x=(2, 5), fc_weight=(3, 4)),
        (
            "infer_shape: node 'fc' (FullyConnected, num_hidden=3): data x (2, 5), weight fc_weight (3, 4), bias "
            "fc_bias ?: (2, 5) and (?, 4) differ. (variable x: given to infer_shape; variable fc_weight: given to "
            "infer_shape)"
        ),
    ),
    "weight that is bound": (
        lambda: FC.bind(mx.cpu(), {"x": nd.ones((2, 5)), "fc_weight": nd.ones((3, 4)), "fc_bias": nd.ones((3,))}),
        (
            "infer_shape: node 'fc' (FullyConnected, num_hidden=3): data x (2, 5), weight fc_weight (3, 4), bias "
            "fc_bias (3,): (2, 5) and (?, 4) differ. (variable x: of the array that is bound; variable fc_weight: of "
            "the array that is bound; variable fc_bias: of the array that is bound)"
        ),
    ),
    "convolution": (
        lambda: CONV.infer_shape(x=(2, 3, 8, 8), conv_weight=(4, 2, 3, 3)),
        (
            "infer_shape: node 'conv' (Convolution, kernel=(3, 3), num_filter=4): data x (2, 3, 8, 8), weight "
            "conv_weight (4, 2, 3, 3), bias conv_bias ?: lengths that must be equal are 2 and 3. (variable x: given "
            "to infer_shape; variable conv_weight: given to infer_shape)"
        ),
    ),
    "number of axes": (
        lambda: CONV.infer_shape(x=(2, 3, 8)),
        (
            "infer_shape: node 'conv' (Convolution, kernel=(3, 3), num_filter=4): data x (2, 3, 8), weight "
            "conv_weight ?, bias conv_bias ?: data has shape (2, 3, 8), with 3 axes; expected 4: (batch, channels, "
            "height, width). One item without a batch becomes a batch of one with data.expand_dims(0). (variable x: "
            "given to infer_shape)"
        ),
    ),
    "elementwise": (
        lambda: sym.elemwise_add(sym.tanh(x, name="t"), y, name="sum").infer_shape(x=(2, 3), y=(3, 2)),
        (
            "infer_shape: node 'sum' (elemwise_add): lhs t (2, 3), rhs y (3, 2): (2, 3) and (3, 2) differ. (variable "
            "y: given to infer_shape)"
        ),
    ),
    "declared": (
        lambda: sym.elemwise_add(DECLARED, x, name="sum").infer_shape(x=(2, 4)),
        (
            "infer_shape: node 'sum' (elemwise_add): lhs d (2, 3), rhs x (2, 4): (2, 3) and (2, 4) differ. (variable "
            "d: declared by var; variable x: given to infer_shape)"
        ),
    ),
    "shared weight": (
        lambda: sym.Group(
            [FC, sym.FullyConnected(y, weight=FC.get_internals()["fc_weight"], num_hidden=3, name="fc2", no_bias=True)]
        ).infer_shape(x=(2, 5), y=(2, 6)),
        (
            "infer_shape: node 'fc2' (FullyConnected, num_hidden=3, no_bias=True): data y (2, 6), weight fc_weight "
            "(3, 5): (2, 6) and (?, 5) differ. (variable y: given to infer_shape; variable fc_weight: inferred at "
            "node 'fc' (FullyConnected, num_hidden=3))"
        ),
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflicts_say_where_shapes_came_from(case: str) -> None:
    call, message = CONFLICTS[case]
    with pytest.raises(ShapeError) as caught:
        call()
    assert str(caught.value) == message


def test_a_given_shape_goes_before_a_declared_one() -> None:
    assert sym.tanh(DECLARED).infer_shape(d=(2, 4)) == ([(2, 4)], [(2, 4)], [])
    assert sym.tanh(DECLARED).infer_shape() == ([(2, 3)], [(2, 3)], [])


@customop("numpy")
def sum_and_product(a, b):
    return a + b, a * b


def test_a_customop_with_several_outputs_need_not_name_them() -> None:
    executor = sum_and_product(x, y).simple_bind(mx.cpu(), x=(2,), y=(2,))
    assert [one.shape for one in executor.outputs] == [(2,), (2,)]


@customop("numpy")
def fails(a):
    raise KeyError("deliberately")


def test_a_failure_while_shapes_are_inferred_says_where() -> None:
    symbol = compose(fails, "fails", [sym.tanh(x)], {"name": "f"})
    with pytest.raises(KeyError) as caught:
        symbol.simple_bind(mx.cpu(), x=(2,))
    assert isinstance(caught.value, OperatorError)
    assert str(caught.value) == (
        "infer_shape: node 'f' (fails): fails: forward failed on NumPy arrays (not recording): a float32 (2,)\n"
        "  KeyError: 'deliberately'"
    )


# -- lowering ----------------------------------------------------------------------------------------------------------


def bound(symbol: Any, gradients: bool = True, **arrays: Any) -> Any:
    arrays = {name: nd.array(value) for name, value in arrays.items()}
    asked = {name: nd.zeros(array.shape) for name, array in arrays.items()} if gradients else None
    return symbol.bind(mx.cpu(), arrays, asked)


def trained(executor: Any) -> Any:
    """Run forward and backward, and return the program of training."""
    executor.forward(is_train=True)
    executor.backward([nd.ones(output.shape) for output in executor.outputs])
    return executor._programs[True].steps


def kinds(steps: list[Node]) -> list[str]:
    return [step.kind for step in steps if step.operator is not CONSTANT]


DATA = np.array([[0.5, -1.0, 2.0]], "float32")


UNIFORM = partial(sym.random.uniform, shape=(3, 3))
SQUARE = np.array([[0.5, -1.0, 2.0], [0.0, 1.0, 3.0], [-2.0, 0.25, 1.0]], "float32")


@pytest.mark.parametrize(
    ("symbol", "steps"),
    [
        (lambda: sym.tanh(x) * sym.tanh(x), ["tanh", "elemwise_mul"]),
        (lambda: sym.Group([sym.tanh(x) + 1, 1 + sym.tanh(x)]), ["tanh", "_plus_scalar"]),
        (lambda: sym.Group([x * 2, x * 2, x * 3]), ["_mul_scalar"] * 2),
        (lambda: sym.Group([x * 0.0, x * -0.0]), ["_mul_scalar"] * 2),
        (lambda: sym.sum(x, axis=0) + sym.sum(x, axis=1), ["sum", "sum", "elemwise_add"]),
        (lambda: sym.sum(x, axis=[0]) + sym.sum(x, axis=(0,)), ["sum", "elemwise_add"]),
        (lambda: (x - x * 1) + (x * 1 - x), ["_mul_scalar", "elemwise_sub", "elemwise_sub", "elemwise_add"]),
        (lambda: sym.Dropout(x) + sym.Dropout(x), ["Dropout", "Dropout", "elemwise_add"]),
        (lambda: UNIFORM() + UNIFORM(), ["_random_uniform", "_random_uniform", "elemwise_add"]),
        (lambda: sym.split(x, num_outputs=3)[0] + sym.split(x, num_outputs=3)[1], ["split", "elemwise_add"]),
        (lambda: sym.Group([x, x]), []),
    ],
)  # fmt: skip
def test_what_computes_the_same_is_computed_once(symbol: Any, steps: list[str]) -> None:
    symbol = symbol()
    executor = symbol.bind(mx.cpu(), {name: nd.array(SQUARE) for name in symbol.list_arguments()})
    executor.forward()
    assert kinds(executor._programs[False].steps.forward) == steps


def test_users_operators_and_states_are_not_merged() -> None:
    calls = []

    @customop("numpy")
    def counted(a):
        calls.append(a)
        return a * 2

    counted.def_shape(lambda shape: shape)
    executor = bound(counted(x) + counted(x), gradients=False, x=DATA)
    executor.forward()
    assert len(calls) == 2
    norms = [sym.BatchNorm(x, name="bn") for _ in range(2)]
    with pytest.raises(ArgumentError, match="two variables are named 'bn_gamma'"):
        (norms[0] + norms[1]).simple_bind(mx.cpu(), x=(2, 3))


def test_dead_nodes_are_dropped() -> None:
    h = sym.tanh(x)
    sym.exp(h)
    parts = sym.split(h, num_outputs=3)
    executor = bound(parts[1] * 2, x=DATA)
    program = trained(executor)
    assert kinds(program.forward) == ["tanh", "split", "_mul_scalar"]
    expected = np.zeros_like(DATA)
    expected[:, 1] = 2 * (1 - np.tanh(DATA[:, 1]) ** 2)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), expected, rtol=1e-6)
    assert kinds(trained(bound(sym.BlockGrad(h), x=DATA)).backward) == []
    assert kinds(trained(h.bind(mx.cpu(), [nd.array(DATA)])).backward) == []


# -- memory ------------------------------------------------------------------------------------------------------------


def chain(length: int, start: Any = x) -> Any:
    for number in range(length):
        start = sym.tanh(start) if number % 2 else start * 1.0001
    return start


def test_buffers_are_reused() -> None:
    executor = bound(chain(10), gradients=False, x=np.ones((4, 256)))
    executor.forward()
    plan = executor._programs[False].executable("python").plan
    assert (plan.unshared_bytes, plan.arena_bytes) == (4096, 4096)
    assert [placement.kind for placement in plan.placements.values()] == ["arena", *["reuse"] * 8, "fresh"]

    h = x
    for number in range(6):
        h = sym.FullyConnected(h, num_hidden=64, name=f"fc{number}", no_bias=True)
    executor = h.simple_bind(mx.cpu(), grad_req="null", x=(16, 64))
    executor.forward()
    plan = executor._programs[False].executable("python").plan
    assert (plan.unshared_bytes, plan.arena_bytes) == (5 * 4096, 2 * 4096)  # the head has memory of its own

    executor = h.simple_bind(mx.cpu(), x=(16, 64))
    steps = trained(executor)
    plan = executor._programs[True].executable("python").plan
    kinds_of_gradients = {plan.placements[value.node].kind for value in steps.gradients.values()}
    assert kinds_of_gradients == {"gradient"}
    assert plan.unshared_bytes == 10 * 4096  # five gradients of activations, and five activations
    assert plan.arena_bytes <= 6 * 4096


def test_the_text_of_a_plan() -> None:
    executor = bound(sym.exp(sym.tanh(x, name="t") * 2, name="e"), x=DATA)
    assert executor.debug_str() == "t = tanh(x)\n_mulscalarN = _mul_scalar(t)\ne = exp(_mulscalarN)".replace(
        "N", re.findall(r"_mulscalar(\d+)", executor.debug_str())[0]
    )
    executor.forward()
    assert re.sub(r"_mulscalar\d+", "m", executor.debug_str()).splitlines() == [
        "def make(b0, tanh, k1, f2, contiguous, states):",
        "    def forward(arrays, out=()):",
        "        arrays = contiguous(arrays, states)",
        "        a0, = arrays",
        "        tanh(a0, b0)                                         # t",
        "        k1(b0, b0)                                           # m",
        "        v2 = f2(b0)                                          # e",
        "        return (v2, ), (arrays, [], ())",
        "    return forward",
        "# 3 steps; 64 bytes of buffers hold 12 bytes of answers; 1 answers are computed in the memory of another.",
    ]
    trained(executor)
    text = executor.debug_str()
    assert "    def backward(arrays, cotangents, gradients, kept):" in text
    assert len(re.findall(r"^ +multiply\(.*# gradient of [tem]", re.sub(r"_mulscalar\d+", "m", text), re.M)) >= 4
    assert re.search(r"^ +\w+\(.*, g0\) +# gradient of t$", text, re.M), "the last step writes where it is asked to"


IN_PLACE = [row for row in ALL_ROWS if operator_of_row(row).elementwise and operator_of_row(row).into is not None]


@pytest.mark.stays_python
@pytest.mark.parametrize("row", IN_PLACE, ids=lambda row: row.id)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operators_compute_in_the_memory_of_their_inputs(row: Row, dtype: str) -> None:
    """Each input dies at the operator, so the answer may be computed in its memory."""
    operator = operator_of_row(row)
    inputs = row.draw(dtype)
    names = [f"input{index}" for index in range(len(inputs))]
    in_place = 0
    for dying in range(len(inputs)):
        symbols = [sym.var(name) * 1 if at == dying else sym.var(name) for at, name in enumerate(names)]
        symbol = sym.identity(compose(operator, operator.__name__, symbols, dict(row.attributes)))  # no head
        arrays = [nd.array(value, dtype=value.dtype) for value in inputs]
        expected = getattr(nd, operator.__name__)(*arrays, **row.attributes).asnumpy()
        executor = symbol.bind(mx.cpu(), dict(zip(names, arrays, strict=True)), grad_req="null")
        for _ in range(3):
            [answer] = executor.forward()
            assert answer.dtype == expected.dtype
            np.testing.assert_array_equal(answer.asnumpy(), expected)
        placed = [
            placement.kind
            for step, placement in executor._programs[False].executable("python").plan.placements.items()
            if step.operator is operator and step.inputs[dying].node.kind == "_mul_scalar"
        ]
        in_place += placed[-1:] == ["reuse"]
    assert in_place or any(value.shape != expected.shape for value in inputs)


# -- size and life -----------------------------------------------------------------------------------------------------


def test_a_chain_of_thousands_of_nodes() -> None:
    length = often(4000, 20000)
    assert length > sys.getrecursionlimit()
    symbol = chain(length)
    verify(symbol.values)
    assert symbol.infer_shape(x=(2,)) == ([(2,)], [(2,)], [])
    start = np.array([0.5, -0.25])
    executor = symbol.bind(mx.cpu(), {"x": nd.array(start, dtype="float64")}, {"x": nd.zeros((2,), dtype="float64")})
    value, slope = start.copy(), np.ones(2)
    for number in range(length):
        value = np.tanh(value) if number % 2 else value * 1.0001
        slope *= 1 - value**2 if number % 2 else 1.0001
    for _ in range(2):
        [output] = executor.forward(is_train=True)
        np.testing.assert_allclose(output.asnumpy(), value, rtol=1e-9)
        executor.backward()
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), slope, rtol=1e-6)
    assert executor.debug_str().count("\n") > length
    del executor, symbol


def test_executors_die_with_their_last_reference() -> None:
    def run() -> list[Any]:
        h = sym.FullyConnected(sym.Dropout(sym.tanh(x)), num_hidden=2, name="fc")
        executor = sym.Group([h, sym.Custom(h, op_type=SIGMOID)]).simple_bind(mx.cpu(), x=(2, 3))
        for _ in range(2):
            executor.forward()
            trained(executor)
        executor.set_monitor_callback(lambda name, array: None, monitor_all=True)
        executor.forward()
        executor.profile(repeat=1)
        executor.set_monitor_callback(None)
        trained(executor)
        programs = list(executor._programs.values())
        buffers = executor._frame._context.bound.buffers
        kept = [executor, executor._frame, *programs, executor.outputs[0]._data, *buffers, h.values[0].node]
        return [weakref.ref(one) for one in kept]

    run()
    with mx.compile.disabled():  # which imports modules when it is first used
        run()
    gc.collect()
    gc.disable()
    try:
        references = run()
        assert [reference() for reference in references if reference() is not None] == []
        gc.collect()
        with mx.compile.disabled():  # what native code was made of, steps and what they make, refers to each other
            run()
        assert gc.collect() == 0
    finally:
        gc.enable()
