"""Executors: what they are bound with, what they refuse, and that they compute what eager execution does."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from custom_operators import Sigmoid, operator_of

import minpy as mx
from minpy import autograd, nd, sym
from minpy.core.errors import ArgumentError, DTypeError, MXNetError, ShapeError

SIGMOID = operator_of(Sigmoid)
x, y = sym.var("x"), sym.var("y")
A = np.array([[0.5, -1.0, 2.0], [0.25, 3.0, -0.5]], "float32")
B = np.array([[1.5, 2.0, -1.0], [0.75, -2.0, 1.0]], "float32")
FC = sym.FullyConnected(x, num_hidden=2, name="fc")


def bound(symbol: Any, grad_req: Any = "write", dtype: str = "float32", **values: Any) -> Any:
    """Return an executor with gradients for every argument, from values by name."""
    arrays = {name: nd.array(value, dtype=dtype) for name, value in values.items()}
    states = {name: arrays.pop(name) for name in symbol.list_auxiliary_states()}
    asked = {name: nd.zeros(array.shape, dtype=dtype) for name, array in arrays.items()}
    return symbol.bind(mx.cpu(), arrays, asked, grad_req, states)


def eagerly(function: Callable[..., Any], arrays: Sequence[np.ndarray], heads: Sequence[Any], **options: Any) -> Any:
    """Return (outputs, gradients) of a function of NDArrays, as the tape computes them."""
    inputs = [nd.array(value, dtype=value.dtype) for value in arrays]
    for array in inputs:
        array.attach_grad()
    with autograd.record(**options):
        outputs = function(*inputs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    autograd.backward(outputs, [nd.array(head, dtype=head.dtype) for head in heads])
    return [one.asnumpy() for one in outputs], [one.grad.asnumpy() for one in inputs]


def run(executor: Any, heads: Any = None) -> tuple[list[np.ndarray], list[np.ndarray]]:
    outputs = [one.asnumpy() for one in executor.forward(is_train=True)]
    executor.backward(heads)
    return outputs, [one.asnumpy() for one in executor.grad_arrays if one is not None]


def assert_close(found: Any, expected: Any, **options: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, **{"rtol": 1e-6, "atol": 1e-6, **options})


# -- binding -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "gradients"),
    [
        (lambda a, b: [a, b], lambda g, h: [g, h]),
        (lambda a, b: (a, b), lambda g, h: (g, h)),
        (lambda a, b: {"y": b, "x": a}, lambda g, h: {"y": h, "x": g}),
        (lambda a, b: {"y": b, "x": a, "unknown": a}, lambda g, h: {"y": h}),
        (lambda a, b: [a, b], lambda g, h: [None, h]),
        (lambda a, b: [a, b], lambda g, h: None),
    ],
)
def test_arrays_by_position_or_by_name(args: Any, gradients: Any) -> None:
    a, b, g, h = nd.array(A), nd.array(B), nd.zeros((2, 3)), nd.zeros((2, 3))
    executor = (x * y).bind(mx.cpu(), args(a, b), gradients(g, h))
    assert executor.arg_arrays == [a, b] or all(map(lambda p, q: p is q, executor.arg_arrays, [a, b]))
    assert executor.arg_dict["x"] is a
    [output], _ = run(executor, nd.ones((2, 3)))
    np.testing.assert_array_equal(output, A * B)
    given = gradients(g, h)
    asked = given.values() if isinstance(given, dict) else given or ()
    for wanted, array, expected in ((g, g, B), (h, h, A)):
        is_asked = any(one is wanted for one in asked)
        np.testing.assert_array_equal(array.asnumpy(), expected if is_asked else np.zeros((2, 3)))


BN = sym.BatchNorm(x, name="bn")
ONES = nd.ones((2, 3))
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "missing": (
        lambda: (x * y).bind(mx.cpu(), {"x": ONES, "z": ONES}),
        ArgumentError,
        "bind: argument(s) 'y' missing; expected x, y. Unknown: 'z'.",
    ),
    "missing, misspelled": (
        lambda: FC.bind(mx.cpu(), {"x": ONES, "fc_wieght": ONES, "fc_bias": ONES}),
        ArgumentError,
        ("bind: argument(s) 'fc_weight' missing; expected x, fc_weight, fc_bias. Unknown: 'fc_wieght'. Did you mean "
        "'fc_weight'?"),
    ),
    "none": ((lambda: x.bind(mx.cpu())), ArgumentError, "bind: no arguments are given; expected x."),
    "None": ((lambda: x.bind(mx.cpu(), [None])), ArgumentError, "bind: argument 'x' is None; expected x."),
    "count": (
        lambda: (x * y).bind(mx.cpu(), [ONES]),
        ArgumentError,
        "bind: 1 arguments given; expected 2: x, y.",
    ),
    "count of gradients": (
        lambda: (x * y).bind(mx.cpu(), [ONES, ONES], [ONES]),
        ArgumentError,
        "bind: 1 gradients given; expected 2: x, y.",
    ),
    "an array": (
        lambda: x.bind(mx.cpu(), nd.ones((1, 2))),
        ArgumentError,
        "bind: the arguments are float32 (1, 2); expected a list or dict of NDArrays: x.",
    ),
    "a number": (
        lambda: x.bind(mx.cpu(), 5),
        ArgumentError,
        "bind: the arguments are int 5; expected a list or dict of NDArrays: x.",
    ),
    "NumPy arrays": (
        lambda: x.bind(mx.cpu(), [np.ones(2)]),
        ArgumentError,
        "bind: argument 'x' is float64 (2,); expected an NDArray: mx.nd.array(...).",
    ),
    "NumPy gradients": (
        lambda: x.bind(mx.cpu(), [ONES], [np.ones((2, 3))]),
        ArgumentError,
        "bind: the gradient of 'x' is float64 (2, 3); expected an NDArray: mx.nd.array(...).",
    ),
    "shape of a gradient": (
        lambda: x.bind(mx.cpu(), [ONES], [nd.ones((3, 2))]),
        ShapeError,
        "bind: the gradient of 'x' has shape (3, 2); expected (2, 3), the argument's.",
    ),
    "dtype of a gradient": (
        lambda: x.bind(mx.cpu(), [ONES], [nd.ones((2, 3), dtype="float64")]),
        DTypeError,
        "bind: the gradient of 'x' has dtype float64; expected float32, the argument's.",
    ),
    "shapes": (
        lambda: sym.elemwise_mul(x, y, name="m").bind(mx.cpu(), [ONES, nd.ones((3, 2))]),
        ShapeError,
        ("infer_shape: node 'm' (elemwise_mul): lhs x (2, 3), rhs y (3, 2): (2, 3) and (3, 2) differ. (variable x: of "
        "the array that is bound; variable y: of the array that is bound)"),
    ),
    "two variables of one name": (
        lambda: (x * sym.var("x")).bind(mx.cpu(), {"x": ONES}),
        ArgumentError,
        "bind: two variables are named 'x'. Use one variable in both places, or two names.",
    ),
    "no states": (
        lambda: BN.bind(mx.cpu(), [ONES, nd.ones((3,)), nd.ones((3,))]),
        ArgumentError,
        "bind: no auxiliary states are given; expected bn_moving_mean, bn_moving_var.",
    ),
    "states missing": (
        lambda: BN.bind(mx.cpu(), [ONES, nd.ones((3,)), nd.ones((3,))], aux_states={"bn_moving_mean": nd.ones((3,))}),
        ArgumentError,
        "bind: auxiliary state(s) 'bn_moving_var' missing; expected bn_moving_mean, bn_moving_var.",
    ),
    "grad_req": (
        lambda: x.bind(mx.cpu(), [ONES], grad_req="wirte"),
        ArgumentError,
        "bind: grad_req of 'x' is 'wirte'; expected 'write', 'add' or 'null'.",
    ),
    "grad_req in a dict": (
        lambda: x.bind(mx.cpu(), [ONES], grad_req={"x": None}),
        ArgumentError,
        "bind: grad_req of 'x' is None; expected 'write', 'add' or 'null'.",
    ),
    "count of grad_req": (
        lambda: x.bind(mx.cpu(), [ONES], grad_req=["write", "add"]),
        ArgumentError,
        "bind: grad_req has 2 entries for 1 arguments.",
    ),
    "grad_req is a number": (
        lambda: x.bind(mx.cpu(), [ONES], grad_req=5),
        ArgumentError,
        "bind: grad_req is int 5; expected 'write', 'add' or 'null', or a list or dict of them.",
    ),
    "simple_bind knows nothing": (
        lambda: FC.simple_bind(mx.cpu()),
        ShapeError,
        ("simple_bind: not all shapes follow from what is given; not known: x ?, fc_weight (2, ?). Give shapes "
        "by name, as in data=(32, 784)."),
    ),
    "simple_bind knows too little": (
        lambda: sym.Group([BN, y]).simple_bind(mx.cpu(), bn_gamma=(3,)),
        ShapeError,
        ("simple_bind: not all shapes follow from what is given; not known: x ?, y ?. Give shapes by name, as in "
        "data=(32, 784)."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


UNKNOWN_NAMES = {
    "simple_bind": (
        lambda: FC.simple_bind(mx.cpu(), x=(2, 3), data=(2, 3)),
        "simple_bind names 'data', which is no argument and is not used; the symbol has x, fc_weight, fc_bias.",
    ),
    "grad_req of bind": (
        lambda: FC.bind(mx.cpu(), [ONES, ONES, nd.ones((2,))], grad_req={"weight": "write"}),
        ("bind: grad_req names 'weight', which is no argument and is not used; the symbol has x, fc_weight, fc_bias. "
        "Did you mean 'fc_weight'?"),
    ),
    "grad_req of simple_bind": (
        lambda: FC.simple_bind(mx.cpu(), grad_req={"data": "add", "x": "write"}, x=(2, 3)),
        "bind: grad_req names 'data', which is no argument and is not used; the symbol has x, fc_weight, fc_bias.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN_NAMES)
def test_unknown_names_are_warned_of(case: str) -> None:
    call, message = UNKNOWN_NAMES[case]
    with pytest.warns(UserWarning, match="which is no argument and is not used") as caught:
        executor = call()
    assert [str(warning.message) for warning in caught] == [message]
    assert caught[0].filename == __file__
    assert [*executor.arg_dict] == ["x", "fc_weight", "fc_bias"]


def test_simple_bind() -> None:
    executor = BN.simple_bind(mx.cpu(), grad_req={"x": "write", "bn_beta": "add"}, x=(2, 3))
    assert {name: array.shape for name, array in executor.arg_dict.items()} == {
        "x": (2, 3),
        "bn_gamma": (3,),
        "bn_beta": (3,),
    }
    assert list(executor.aux_dict) == ["bn_moving_mean", "bn_moving_var"]
    assert [name for name, array in executor.grad_dict.items() if array is not None] == ["x", "bn_beta"]
    assert all(not array.asnumpy().any() for array in [*executor.arg_arrays, *executor.aux_arrays])
    assert [one.shape for one in executor.outputs] == [(2, 3)]
    assert list(executor.output_dict) == ["bn_output"]
    assert FC.simple_bind(mx.cpu(), grad_req="null", x=(1, 2)).grad_arrays == [None] * 3
    executor = FC.simple_bind(mx.cpu(), type_dict={"x": "float64"}, x=(1, 2))
    assert {array.dtype for array in [*executor.arg_arrays, *executor.grad_arrays]} == {np.float64}
    assert repr(executor) == "<Executor of <Symbol fc>: x, fc_weight, fc_bias>"


# -- forward, backward -------------------------------------------------------------------------------------------------

BACKWARD_REFUSED = (
    "Executor.backward: call forward(is_train=True) first: what it computes are the gradients of the latest forward, "
    "unless that, or an earlier backward of it, failed."
)
RUN_REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "unknown argument": (
        lambda e: e.forward(z=ONES),
        ArgumentError,
        "Executor.forward: the symbol has no argument 'z'; it has x, y.",
    ),
    "shape of an argument": (
        lambda e: e.forward(x=nd.ones((3, 2))),
        ShapeError,
        "Executor.forward: argument 'x' has shape (3, 2); expected (2, 3), with which it was bound.",
    ),
    "no numbers": (
        lambda e: e.forward(x=x),
        DTypeError,
        "Executor.forward: argument 'x' is Symbol <Symbol x>; expected an array of numbers.",
    ),
    "backward first": (
        lambda e: (bound(x * y, x=A, y=B)).backward(),
        MXNetError,
        BACKWARD_REFUSED,
    ),
    "too few head gradients": (
        lambda e: (e.forward(is_train=True), e.backward(ONES)),
        ArgumentError,
        "Executor.backward: 1 gradient(s) for 2 output(s): m_output, s_output.",
    ),
    "unknown head": (
        lambda e: (e.forward(is_train=True), e.backward({"m_outptu": ONES})),
        ArgumentError,
        "Executor.backward: no output is named 'm_outptu'. Did you mean 'm_output' or 's_output'?",
    ),
    "shape of a head gradient": (
        lambda e: (e.forward(is_train=True), e.backward([nd.ones((2, 1)), ONES])),
        ShapeError,
        "Executor.backward: the gradient of m_output has shape (2, 1); expected (2, 3), the output's.",
    ),
}


@pytest.mark.parametrize("case", RUN_REFUSED)
def test_refused_while_running(case: str) -> None:
    call, kind, message = RUN_REFUSED[case]
    executor = bound(sym.Group([sym.elemwise_mul(x, y, name="m"), sym.elemwise_add(x, y, name="s")]), x=A, y=B)
    for _ in range(2):
        with pytest.raises(kind) as caught:
            call(executor)
        assert str(caught.value) == message
        assert_close(run(executor, [ONES, ONES])[1], [B + 1, A + 1])


@pytest.mark.parametrize(
    "heads",
    [
        lambda g, h: [nd.array(g), nd.array(h)],
        lambda g, h: (g, h),
        lambda g, h: {"s_output": nd.array(h), "m_output": nd.array(g)},
        lambda g, h: [nd.array(g, dtype="float64"), h.tolist()],
    ],
)
def test_head_gradients(heads: Any) -> None:
    executor = bound(sym.Group([sym.elemwise_mul(x, y, name="m"), sym.elemwise_add(x, y, name="s")]), x=A, y=B)
    g, h = A + 2, B - 1
    for _ in range(3):
        assert_close(run(executor, heads(g, h))[1], [g * B + h, g * A + h])
    assert_close(run(executor, {"m_output": g})[1], [g * B + 1, g * A + 1])  # what is left out is ones


def test_head_gradients_that_are_left_out_are_ones() -> None:
    """MXNet refuses that for outputs that are no losses."""
    executor = bound(sym.transpose(sym.reshape(sym.exp(x * y), shape=(3, 2))), x=A, y=B)
    for heads in (B.reshape(2, 3), None, B, None):
        expected = np.ones((2, 3), "float32") if heads is None else heads
        expected = expected.T.reshape(2, 3) * np.exp(A * B)
        assert_close(run(executor, heads)[1], [expected * B, expected * A])


def test_head_gradients_that_are_gradients_or_outputs_of_the_executor() -> None:
    executor = bound(x * y, x=A, y=B)
    for _ in range(3):
        executor.grad_arrays[0][:] = nd.array(A)
        assert_close(run(executor, executor.grad_arrays[0])[1], [A * B, A * A])
        executor.forward(is_train=True)
        executor.backward(executor.outputs)
        assert_close([executor.grad_arrays[1].asnumpy()], [A * A * B])


def test_requests() -> None:
    executor = bound(FC, ["add", "write", "null"], x=A, fc_weight=B, fc_bias=[1, 2])
    for array in executor.grad_arrays:
        array[:] = 5
    head = np.array([[1, 2], [3, 4]], "float32")
    for calls in range(1, 4):
        data, weight, bias = run(executor, head)[1]
        np.testing.assert_allclose(data, 5 + calls * head.dot(B), rtol=1e-6)
        np.testing.assert_allclose(weight, head.T.dot(A), rtol=1e-6)
        assert (bias == 5).all()


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        (("write", "add"), lambda a, b, before: a + b),
        (("add", "write"), lambda a, b, before: a + b),
        (("add", "add"), lambda a, b, before: before + a + b),
        (("write", "write"), lambda a, b, before: b),  # the last argument's
        (("write", "null"), lambda a, b, before: a),
        (("null", "add"), lambda a, b, before: before + b),
    ],
)
@pytest.mark.parametrize("first", [x * y, sym.BlockGrad(x) * y, sym.exp(x) - sym.exp(x * y)])
def test_one_gradient_array_for_two_arguments(first: Any, requests: tuple[str, str], expected: Any) -> None:
    apart = bound(first, x=A, y=B)
    slopes = run(apart, ONES)[1]
    shared = nd.zeros((2, 3))
    executor = first.bind(mx.cpu(), {"x": nd.array(A), "y": nd.array(B)}, {"x": shared, "y": shared}, list(requests))
    for number in range(4):
        before = shared.asnumpy()
        executor.forward(is_train=number != 2)
        executor.backward(ONES)
        np.testing.assert_allclose(shared.asnumpy(), expected(*slopes, before), rtol=1e-5, atol=1e-6)


def test_gradient_arrays_that_overlap() -> None:
    memory = nd.zeros((3, 3))
    gradients = {"x": memory[0:2], "y": memory[1:3]}
    executor = (x * y).bind(mx.cpu(), {"x": nd.array(A), "y": nd.array(B)}, gradients, {"x": "add", "y": "write"})
    for number in range(1, 4):
        executor.forward(is_train=True)
        executor.backward(ONES)
        middle = A[0] + B[1]  # written for y, then added to for x
        np.testing.assert_allclose(memory.asnumpy(), [number * B[0], middle, A[1]], rtol=1e-6)


@pytest.mark.parametrize(
    "symbol", [lambda: sym.BlockGrad(x), lambda: sym.argmax(x, axis=1), lambda: sym.zeros((2, 3)) + sym.BlockGrad(x)]
)
def test_gradients_that_nothing_reaches_are_zero(symbol: Any) -> None:
    for request, expected in (("write", 0), ("add", 5)):
        executor = bound(symbol(), request, x=A)
        executor.grad_arrays[0][:] = 5
        for _ in range(3):
            assert (run(executor)[1][0] == expected).all()


def test_integers_have_no_gradients() -> None:
    """In MXNet they do."""
    executor = bound(x * x + 1, dtype="int32", x=[1, 2])
    for _ in range(3):
        [output], [gradient] = run(executor)
        assert (output.tolist(), output.dtype, gradient.tolist()) == ([2, 5], np.int32, [0, 0])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-2), ("float32", 1e-5), ("float64", 1e-12)])
def test_dtypes(dtype: str, tolerance: float) -> None:
    def net(nn: Any, a: Any, b: Any) -> Any:
        return nn.tanh(nn.FullyConnected(nn.exp(a), b, num_hidden=2, no_bias=True)) / 2

    a, b, head = A.astype(dtype), B.astype(dtype), np.array([[1, 2], [3, 4]], dtype)
    expected = eagerly(lambda *arrays: net(nd, *arrays), [a, b], [head])
    executor = bound(net(sym, x, y), dtype=dtype, x=a, y=b)
    for _ in range(3):
        outputs, gradients = run(executor, nd.array(head, dtype=dtype))
        assert_close(outputs + gradients, expected[0] + expected[1], rtol=tolerance, atol=tolerance)


def test_arrays_without_elements() -> None:
    executor = bound(sym.Group([sym.tanh(x) * 2, sym.sum(x * x, axis=0)]), x=np.zeros((0, 3)))
    for _ in range(3):
        outputs, [gradient] = run(executor)
        assert [one.shape for one in outputs] == [(0, 3), (3,)]
        assert not outputs[1].any()
        assert gradient.shape == (0, 3)


def test_a_graph_without_arguments() -> None:
    executor = (sym.ones((2,)) * 3).bind(mx.cpu(), [])
    for _ in range(3):
        assert executor.forward()[0].asnumpy().tolist() == [3, 3]


# -- outputs -----------------------------------------------------------------------------------------------------------


def test_outputs_are_the_same_arrays_in_each_call() -> None:
    executor = bound(x * 2, x=A)
    first = executor.outputs[0]
    assert first.asnumpy().tolist() == np.zeros((2, 3)).tolist()
    for is_train in (False, True, False):
        outputs = executor.forward(is_train=is_train, x=B)
        assert outputs is executor.outputs
        assert outputs[0] is first
        np.testing.assert_array_equal(first.asnumpy(), 2 * B)
    kept = first.asnumpy()
    executor.forward(x=nd.array(A))
    np.testing.assert_array_equal(kept, 2 * B)
    np.testing.assert_array_equal(executor.output_dict[executor._symbol.list_outputs()[0]].asnumpy(), 2 * A)


VIEWS: dict[str, tuple[Callable[[], Any], Callable[[np.ndarray], list[np.ndarray]]]] = {
    "variable": (lambda: x, lambda a: [a]),
    "variable, twice": (lambda: sym.Group([x, x]), lambda a: [a, a]),
    "identity": (lambda: sym.identity(x), lambda a: [a]),
    "Flatten": (lambda: sym.Flatten(x), lambda a: [a]),
    "reshape": (lambda: sym.reshape(x, shape=(3, 2)), lambda a: [a.reshape(3, 2)]),
    "transpose": (lambda: sym.transpose(x), lambda a: [a.T]),
    "slice": (lambda: sym.slice_axis(x, axis=1, begin=1, end=3), lambda a: [a[:, 1:]]),
    "one output twice": (lambda: sym.Group([x * 2] * 2), lambda a: [2 * a] * 2),
    "a view of an output": (
        lambda: sym.Group([sym.reshape(x * 2, shape=(6,)), x * 2]),
        lambda a: [2 * a.reshape(6), 2 * a],
    ),
    "split": (lambda: sym.split(x, num_outputs=3), lambda a: [a[:, i : i + 1] for i in range(3)]),
    "BlockGrad": (lambda: sym.BlockGrad(x), lambda a: [a]),
}  # fmt: skip


@pytest.mark.parametrize("part", [False, True], ids=["whole", "slice"])
@pytest.mark.parametrize("case", VIEWS)
def test_outputs_stay_when_arguments_change(case: str, part: bool) -> None:
    symbol, expected = VIEWS[case][0](), VIEWS[case][1]
    whole = nd.array(np.concatenate([A, A, A]))
    argument = whole[2:4] if part else nd.array(A)
    executor = symbol.bind(mx.cpu(), [argument], [nd.zeros((2, 3))])
    for number in range(4):
        argument[:] = nd.array(A)
        outputs = executor.forward(is_train=number > 1)
        argument[:] = 7
        whole[:] = 8
        assert_close([one.asnumpy() for one in outputs], expected(A))
        if number > 1:
            outputs[0][:] = 9
            assert (argument.asnumpy() == (8 if part else 7)).all()


def test_arguments_change_between_calls() -> None:
    executor = bound(sym.exp(sym.reshape(x, shape=(-1,))), x=A)
    for values in (A, B, A + 1, B - 1):
        executor.arg_dict["x"][:] = nd.array(values)
        [output], [gradient] = run(executor)
        np.testing.assert_allclose(output, np.exp(values).reshape(-1), rtol=1e-6)
        np.testing.assert_allclose(gradient, np.exp(values), rtol=1e-6)


def strided(values: np.ndarray) -> nd.NDArray:
    """Return an NDArray of these values that lies in a part of the memory of another."""
    rows, columns = values.shape
    whole = nd.zeros((rows, 2 * columns))
    part = whole[:, columns:]
    part[:] = nd.array(values)
    return part


@pytest.mark.parametrize("order", [[strided, nd.array, nd.array], [nd.array, strided, nd.array, strided]])
def test_arrays_are_replaced_whatever_their_layout(order: list[Any]) -> None:
    executor = bound(sym.exp(sym.transpose(sym.reshape(sym.exp(sym.reshape(x, shape=(-1,))), shape=(3, 2)))), x=A)
    for is_train in (False, True):
        for number, make in enumerate(order * 2):
            values = A + number / 8
            executor.arg_arrays[0] = make(values)
            executor.grad_arrays[0] = make(np.zeros_like(A))
            [output] = executor.forward(is_train=is_train)
            np.testing.assert_allclose(output.asnumpy(), np.exp(np.exp(values).reshape(3, 2).T), rtol=1e-5)
            if is_train:
                executor.backward(make(B))
                expected = B.T.reshape(2, 3) * np.exp(np.exp(values)) * np.exp(values)
                np.testing.assert_allclose(executor.grad_arrays[0].asnumpy(), expected, rtol=1e-5)
            np.testing.assert_array_equal(executor.arg_arrays[0].asnumpy(), values)


def test_arrays_that_are_replaced_must_fit() -> None:
    executor = bound(x * 2, x=A)
    for array, kind, message in (
        (
            nd.ones((3, 2)),
            ShapeError,
            "the array of 'x' has shape (3, 2) now; expected (2, 3), with which it was bound.",
        ),
        (
            nd.ones((2, 3), dtype="int32"),
            DTypeError,
            "the array of 'x' has dtype int32 now; expected float32, with which it was bound.",
        ),
    ):
        executor.arg_arrays[0] = array
        with pytest.raises(kind, match=re.escape(message)):
            executor.forward()
    executor.arg_arrays[0] = nd.array(A)
    executor.forward(is_train=True)
    executor.grad_arrays[0] = nd.ones((6,))
    with pytest.raises(ShapeError, match=re.escape("the gradient of 'x' has shape (6,) now; expected (2, 3)")):
        executor.backward()
    executor.arg_arrays.append(nd.ones((1,)))
    with pytest.raises(ArgumentError, match=r"there are 2 arrays for 1 variables\."):
        executor.forward()


# -- copying, reshaping ------------------------------------------------------------------------------------------------


def test_copy_params_from() -> None:
    executor = BN.simple_bind(mx.cpu(), x=(2, 3))
    executor.copy_params_from(
        {"bn_gamma": nd.array([1, 2, 3], dtype="float64")}, {"bn_moving_var": np.array([4, 5, 6])}
    )
    assert executor.arg_dict["bn_gamma"].asnumpy().tolist() == [1, 2, 3]
    assert executor.aux_dict["bn_moving_var"].asnumpy().tolist() == [4, 5, 6]
    assert executor.arg_dict["bn_gamma"].dtype == np.float32
    for parameters, states, kind, message in (
        (
            {"bn_gama": ONES},
            None,
            ArgumentError,
            (
                "copy_params_from: the symbol has no argument 'bn_gama'; it has x, bn_gamma, bn_beta. Did you mean "
                "'bn_gamma'? Pass allow_extra_params=True to leave out what it does not have."
            ),
        ),
        (
            {},
            {"z": ONES},
            ArgumentError,
            (
                "copy_params_from: the symbol has no auxiliary state 'z'; it has bn_moving_mean, bn_moving_var. Pass "
                "allow_extra_params=True to leave out what it does not have."
            ),
        ),
        (
            {"bn_beta": ONES},
            None,
            ShapeError,
            "copy_params_from: argument 'bn_beta' has shape (2, 3); expected (3,), with which it was bound.",
        ),
    ):
        with pytest.raises(kind) as caught:
            executor.copy_params_from(parameters, states)
        assert str(caught.value) == message
    executor.copy_params_from({"z": ONES, "bn_beta": nd.ones((3,))}, {"z": ONES}, allow_extra_params=True)
    assert executor.arg_dict["bn_beta"].asnumpy().tolist() == [1, 1, 1]


def shapes_of(executor: Any) -> list[tuple[int, ...]]:
    return [array.shape for array in executor.arg_arrays]


def test_reshape() -> None:
    executor = FC.simple_bind(mx.cpu(), x=(4, 5))
    executor.arg_dict["fc_weight"][:] = 1
    smaller = executor.reshape(x=(2, 5))
    assert shapes_of(smaller) == [array.shape for array in smaller.grad_arrays] == [(2, 5), (2, 5), (2,)]
    assert smaller.outputs[0].shape == (2, 2)
    for name in ("fc_weight", "fc_bias"):
        assert smaller.arg_dict[name] is executor.arg_dict[name]
        assert smaller.grad_dict[name] is executor.grad_dict[name]
    executor.arg_dict["x"][:] = 3
    assert (smaller.arg_dict["x"].asnumpy() == 3).all()  # it is the first rows of the larger one
    for _ in range(3):
        assert (smaller.forward(is_train=True)[0].asnumpy() == 15).all()
        smaller.backward()
    assert (executor.grad_dict["fc_weight"].asnumpy() == 6).all()
    assert shapes_of(executor.reshape(allow_up_sizing=True, x=(8, 5))) == [(8, 5), (2, 5), (2,)]
    assert shapes_of(executor.reshape(partial_shaping=True, x=(4, 3))) == [(4, 3), (2, 3), (2,)]
    assert shapes_of(executor.reshape(True, True, x=(4, 7))) == [(4, 7), (2, 7), (2,)]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"x": (8, 5)}, ShapeError, "'x' would grow from (4, 5) to (8, 5). Pass allow_up_sizing=True"),
        ({"x": (4, 3)}, ShapeError, "'fc_weight' would change from (2, 5) to (2, 3), and was not named. Pass partial_"),
        ({"partial_shaping": True, "x": (4, 7)}, ShapeError, "'x' would grow from (4, 5) to (4, 7). Pass allow_up_"),
        ({"z": (4, 7)}, ArgumentError, "infer_shape: <Symbol fc> has no argument 'z'; it has x, fc_weight, fc_bias."),
        (
            {},
            ShapeError,
            "Executor.reshape: nothing is not enough to infer all shapes; not known: x ?, fc_weight (2, ?)",
        ),
    ],
)
def test_reshape_refuses(options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        FC.simple_bind(mx.cpu(), x=(4, 5)).reshape(**options)


def test_reshape_takes_states_by_name() -> None:
    executor = mx.sym.BatchNorm(mx.sym.var("x"), name="bn").simple_bind(mx.cpu(), x=(2, 3))
    names = ("bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var")
    smaller = executor.reshape(x=(2, 2), **dict.fromkeys(names, (2,)))
    assert {array.shape for array in smaller.aux_arrays} == {(2,)}
    with pytest.raises(ShapeError, match=r"'bn_moving_mean' would change from \(3,\) to \(2,\), and was not named"):
        executor.reshape(x=(2, 2), **dict.fromkeys(names[:2], (2,)))


# -- monitors, profiles ------------------------------------------------------------------------------------------------

# What MXNet 1.9.1 reports of this network, apart from the hidden outputs `bn_mean` and `bn_var`, from
#   executor.set_monitor_callback(lambda name, array: print(name), monitor_all=True)
# Of operators whose inputs it does not name (`tanh_input0`) we know the names.
MONITORED = [
    "x",
    "fc_data",
    "fc_weight",
    "fc_weight",
    "fc_bias",
    "fc_bias",
    "fc_output",
    "bn_data",
    "bn_gamma",
    "bn_gamma",
    "bn_beta",
    "bn_beta",
    "bn_moving_mean",
    "bn_moving_mean",
    "bn_moving_var",
    "bn_moving_var",
    "bn_output",
    "act_data",
    "act_output",
    "sm_data",
    "sm_label",
    "sm_label",
    "sm_output",
]


def test_monitors_see_what_those_of_mxnet_do() -> None:
    h = sym.BatchNorm(sym.FullyConnected(x, num_hidden=3, name="fc"), name="bn")
    executor = sym.SoftmaxOutput(sym.Activation(h, act_type="relu", name="act"), name="sm").simple_bind(
        mx.cpu(), x=(4, 5)
    )
    executor.arg_dict["fc_bias"][:] = nd.array([1, 2, 3])
    for is_train in (False, True, False):
        seen: dict[str, np.ndarray] = {}
        plain = [one.asnumpy() for one in executor.forward()]
        names: list[str] = []

        def callback(name: str, array: Any) -> None:
            names.append(name)
            seen[name] = array.asnumpy()
            array[:] = -1  # it is a copy

        executor.set_monitor_callback(callback, monitor_all=True)
        outputs = executor.forward(is_train=is_train)
        assert names == MONITORED
        if is_train:
            executor.backward()
            assert names == MONITORED
        else:
            np.testing.assert_allclose(outputs[0].asnumpy(), plain[0], rtol=1e-6)  # native code rounds otherwise
            np.testing.assert_array_equal(seen["fc_output"], [[1, 2, 3]] * 4)
            np.testing.assert_array_equal(seen["bn_data"], [[1, 2, 3]] * 4)
        executor.set_monitor_callback(callback)
        names.clear()
        executor.forward()
        assert names == [name for name in MONITORED if name.endswith("_output")]
        executor.set_monitor_callback(None)
        executor.forward()
        assert len(names) == 4


def test_monitors_of_several_outputs() -> None:
    names: list[str] = []
    executor = bound(sym.split(x, num_outputs=3, name="s")[1] * 2, x=A)
    executor.set_monitor_callback(lambda name, array: names.append(name))
    executor.forward()
    assert names[:3] == ["s_output0", "s_output1", "s_output2"]


@pytest.mark.stays_python
def test_profile() -> None:
    executor = BN.simple_bind(mx.cpu(), x=(4, 3))
    executor.arg_dict["x"][:] = 1
    for compiled in (False, True):
        profile = executor.profile(repeat=3)
        assert [(row.name, row.operator, row.part) for row in profile if row.part == "forward"] == [
            ("bn", "BatchNorm", "forward")
        ]
        assert {row.name for row in profile} == {"bn"}
        assert {row.part for row in profile} == {"forward", "backward"}
        assert profile.seconds == sum(row.seconds for row in profile)
        assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [0, 0, 0]
        assert not executor.grad_dict["x"].asnumpy().any()
        if not compiled:
            run(executor)
            executor.aux_dict["bn_moving_mean"][:] = 0
    executor = bound(sym.tanh(x, name="t"), x=A)
    table = str(executor.profile(is_train=False, repeat=1)).splitlines()
    assert [line.split()[:3] for line in table[:2]] == [["node", "operator", "part"], ["t", "tanh", "forward"]]
    assert re.fullmatch(r"total +[\d.]+ us  100\.0%", table[2])
    rows = [(row.name, row.part) for row in executor.profile(repeat=1)]
    assert rows[0] == ("t", "forward")
    assert set(rows[1:]) == {("t", "backward")}


# -- states and random numbers -----------------------------------------------------------------------------------------


def test_moving_statistics_are_those_of_eager_training() -> None:
    generator = np.random.default_rng(0)
    states = {name: [nd.zeros((3,)), nd.ones((3,))] for name in ("eager", "graph")}
    gamma, beta = nd.array([1, 2, 0.5]), nd.array([0, 1, -1])
    options = {"momentum": 0.8, "eps": 1e-3, "fix_gamma": False}
    arrays = [nd.zeros((5, 3)), gamma, beta]
    gradients = [nd.zeros(array.shape) for array in arrays]
    executor = sym.BatchNorm(x, **options).bind(mx.cpu(), arrays, gradients, aux_states=states["graph"])

    def eager(*inputs: Any) -> Any:
        return nd.BatchNorm(*inputs, *states["eager"], **options)

    for _ in range(5):
        data = generator.normal(size=(5, 3)).astype("float32")
        head = generator.normal(size=(5, 3)).astype("float32")
        expected = eagerly(eager, [data, gamma.asnumpy(), beta.asnumpy()], [head])
        executor.forward(is_train=True, x=data)
        executor.backward(head)
        assert_close([executor.outputs[0].asnumpy()], expected[0], rtol=1e-5)
        assert_close([one.asnumpy() for one in executor.grad_arrays], expected[1], rtol=1e-5)
        for one, other in zip(states["graph"], states["eager"], strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
        before = [one.asnumpy() for one in states["graph"]]
        [predicted] = executor.forward(is_train=False, x=data)
        expected_prediction = eager(nd.array(data), gamma, beta)
        assert_close([predicted.asnumpy()], [expected_prediction.asnumpy()], rtol=1e-5)
        assert_close([one.asnumpy() for one in states["graph"]], before, rtol=0)


def test_dropout() -> None:
    executor = bound(sym.Dropout(x * 1, p=0.5), x=np.ones((20, 20)))
    seen = []
    for _ in range(4):
        assert (executor.forward()[0].asnumpy() == 1).all()
        [output], [gradient] = run(executor)
        assert set(np.unique(output)) == {0, 2}
        np.testing.assert_array_equal(output, gradient)
        seen.append(output)
    assert not any((one == other).all() for one, other in itertools.pairwise(seen))
    mx.random.seed(3)
    first, _ = run(executor)
    mx.random.seed(3)
    second, _ = run(executor)
    np.testing.assert_array_equal(first, second)


# -- several executors -------------------------------------------------------------------------------------------------


def network() -> Any:
    h = sym.FullyConnected(sym.Custom(x, op_type=SIGMOID), num_hidden=4, name="fc1")
    return sym.FullyConnected(sym.Activation(h, act_type="tanh"), num_hidden=2, name="fc2")


def filled(symbol: Any, seed: int) -> tuple[Any, list[np.ndarray]]:
    """Return an executor with random arguments, and its gradients."""
    executor = symbol.simple_bind(mx.cpu(), x=(6, 3))
    generator = np.random.default_rng(seed)
    for array in executor.arg_arrays:
        array[:] = nd.array(generator.normal(size=array.shape))
    return executor, run(executor)[1]


def test_executors_of_one_symbol_do_not_disturb_each_other() -> None:
    symbol = network()
    made = [filled(symbol, seed) for seed in range(3)]
    for _ in range(3):
        for executor, _ in made:
            executor.forward(is_train=True)
        for executor, expected in reversed(made):
            executor.backward()
            assert_close([one.asnumpy() for one in executor.grad_arrays], expected)


def test_threads() -> None:
    symbol = network()
    made = [filled(symbol, seed) for seed in range(3)]
    problems = []

    def work(executor: Any, expected: list[np.ndarray]) -> None:
        try:
            for _ in range(50):
                assert_close(run(executor)[1], expected)
            executor, expected = filled(symbol, 7)
            assert_close(run(executor)[1], expected)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
def test_copies_share_nothing_that_runs(copied: Any) -> None:
    executor = bound(sym.sin(sym.exp(x) * sym.cos(x)), x=A)
    for _ in range(3):
        expected = run(executor)
    executor.forward(is_train=True)
    other = copied(executor)
    for _ in range(3):
        other.forward(is_train=True, x=A * 2)
        other.backward(nd.ones(A.shape))
    executor.backward(nd.ones(A.shape))
    assert_close([executor.outputs[0].asnumpy(), executor.grad_dict["x"].asnumpy()], [*expected[0], *expected[1]])


def test_failures_of_monitors_leave_the_executor_usable() -> None:
    def fails(name: str, array: Any) -> None:
        raise LookupError(name)

    executor = bound(sym.tanh(x, name="t") * 2, x=A)
    for _ in range(2):
        executor.set_monitor_callback(fails)
        with pytest.raises(LookupError, match="t_output"):
            executor.forward(is_train=True)
        executor.set_monitor_callback(None)
        assert_close(run(executor)[0], [2 * np.tanh(A)])
