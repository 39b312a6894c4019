"""`foreach`, `while_loop` and `cond`: on arrays, in graphs, in files, against loops that are written out."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import GOLDEN

import minpy as mx
from minpy import autograd, customop, gluon, nd, sym
from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, ShapeError
from minpy.graph.compiled import Compiled
from minpy.graph.recording import call_graph

V = sym.var


def array(values: Any, dtype: str = "float64") -> Any:
    return nd.array(np.array(values, dtype), dtype=dtype)


def flat(value: Any) -> list[Any]:
    return [value] if isinstance(value, (sym.Symbol, nd.NDArray)) else [one for part in value for one in flat(part)]


def bound(symbols: Any, request: Any = "write", start: float = 0, **values: Any) -> Any:
    net = sym.Group(flat(symbols))
    arrays = {name: array(value) for name, value in values.items()}
    states = {name: arrays.pop(name) for name in net.list_auxiliary_states()}
    gradients = {name: nd.zeros(one.shape, dtype=one.dtype) + start for name, one in arrays.items()}
    return net.bind(mx.cpu(), arrays, gradients, request, states)


def stepped(executor: Any, training: bool = True) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Return outputs, and gradients of the sum of their squares."""
    outputs = executor.forward(is_train=training)
    executor.backward([2 * one for one in outputs])
    return [one.asnumpy() for one in outputs], {
        name: one.asnumpy().copy() for name, one in executor.grad_dict.items() if one is not None
    }


def recorded(function: Any, **values: Any) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    arrays = {name: array(value) for name, value in values.items()}
    for one in arrays.values():
        one.attach_grad()
    with autograd.record():
        heads = flat(function(**arrays))
        loss = sum((head * head).sum() for head in heads)
    loss.backward()
    return [head.asnumpy() for head in heads], {name: one.grad.asnumpy() for name, one in arrays.items()}


def assert_same(one: Any, other: Any) -> None:
    assert len(one[0]) == len(other[0])
    assert one[1].keys() == other[1].keys()
    for got, expected in zip(one[0], other[0], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    for name, expected in other[1].items():
        np.testing.assert_allclose(one[1][name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


# -- against loops that are written out --------------------------------------------------------------------------------

STEPS = [
    lambda F, d, s, t, w: d * w + s,
    lambda F, d, s, t, w: F.tanh(s * t) - d,
    lambda F, d, s, t, w: F.broadcast_add(s, d.sum()) * 0.5,
    lambda F, d, s, t, w: F.maximum(s, t * w) + d * d,
    lambda F, d, s, t, w: F.sigmoid(d + w) * t,
    lambda F, d, s, t, w: s,
    lambda F, d, s, t, w: (
        F.FullyConnected(F.expand_dims(d, axis=0), F.expand_dims(w, axis=0), num_hidden=1, no_bias=True)
        .reshape((1,))
        .broadcast_to((3,))
        + t
    ),
]
choices = st.integers(0, len(STEPS) - 1)


def body_of(F: Any, w: Any, output: int, first: int, second: int) -> Any:
    def body(row: Any, states: Any) -> Any:
        s, t = states[0], states[1][0]
        new = STEPS[first](F, row, s, t, w) + 0 * row * w
        other = STEPS[second](F, row, t, s, w)
        return [STEPS[output](F, row, s, t, w) + row, [new * 2]], [new, [other + 0 * s]]

    return body


@settings(max_examples=25, deadline=None)
@given(output=choices, first=choices, second=choices, length=st.integers(1, 4), seed=st.integers(0, 99))
def test_random_bodies_are_as_unrolled(output: int, first: int, second: int, length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {
        "d": rng.normal(size=(length, 3)),
        "s": rng.normal(size=3),
        "t": rng.normal(size=3),
        "w": rng.normal(size=3),
    }

    def unrolled(F: Any, d: Any, s: Any, t: Any, w: Any) -> Any:
        body, states, outputs = body_of(F, w, output, first, second), [s, [t]], []
        for number in range(length):
            out, states = body(F.slice_axis(d, axis=0, begin=number, end=number + 1).reshape((3,)), states)
            outputs.append(flat(out))
        return [F.stack(*column, axis=0) for column in zip(*outputs, strict=True)], states

    def looped(F: Any, d: Any, s: Any, t: Any, w: Any) -> Any:
        return F.contrib.foreach(body_of(F, w, output, first, second), d, [s, [t]])

    expected = recorded(lambda **given: unrolled(nd, **given), **values)
    assert_same(recorded(lambda **given: looped(nd, **given), **values), expected)
    executor = bound(looped(sym, **{name: V(name) for name in values}), **values)
    for training in (True, True, False):
        assert_same(stepped(executor, training), expected)


def nested(F: Any, d: Any, s: Any, w: Any) -> Any:
    def outer(plane: Any, state: Any) -> Any:
        outputs, (state, _) = F.contrib.while_loop(
            lambda s, i: i < 2,
            lambda s, i: (s * w, [F.contrib.foreach(lambda row, t: ([], F.tanh(row + t * w)), plane, s)[1], i + 1]),
            [state, F.zeros((1,), dtype="float64")],
            max_iterations=2,
        )
        return F.contrib.cond(state.sum() < w.sum(), lambda: outputs * 2, lambda: outputs - 1), state

    return F.contrib.foreach(outer, d, s)


def test_nested() -> None:
    rng = np.random.default_rng(0)
    values = {"d": rng.normal(size=(3, 2, 2)), "s": rng.normal(size=2), "w": rng.normal(size=2)}
    expected = recorded(lambda **given: nested(nd, **given), **values)
    net = sym.Group(flat(nested(sym, V("d"), V("s"), V("w"))))
    for one in (net, sym.load_json(net.tojson()), pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        executor = bound(one, **values)
        for _ in range(2):
            assert_same(stepped(executor), expected)
    assert sym.load_json(net.tojson()).tojson() == net.tojson()


def test_gradients_are_derivatives() -> None:
    rng = np.random.default_rng(1)
    values = {"d": rng.normal(size=(3, 2)), "s": rng.normal(size=2), "w": rng.normal(size=2)}
    w = V("w")
    net = sym.contrib.foreach(lambda d, s: (sym.tanh(d * w + s), s * d + w), V("d"), V("s"))

    def loss(**given: Any) -> float:
        return sum(float((one.asnumpy() ** 2).sum()) for one in bound(net, **given).forward())

    _, gradients = stepped(bound(net, **values))
    for name, value in values.items():
        for index in np.ndindex(value.shape):
            step = np.zeros(value.shape)
            step[index] = 1e-6
            found = (loss(**{**values, name: value + step}) - loss(**{**values, name: value - step})) / 2e-6
            np.testing.assert_allclose(gradients[name][index], found, rtol=1e-5, atol=1e-7)


# -- in graphs ---------------------------------------------------------------------------------------------------------

VALUES = {"d": [[1.0, 2.0], [3.0, -1.0]], "s": [0.5, 1.0], "w": [2.0, 3.0]}


def simple() -> Any:
    w = V("w")
    return sym.contrib.foreach(lambda d, s: (d * w + s, s * d), V("d"), V("s"))


def test_backward_twice_added_and_of_some() -> None:
    _, gradients = stepped(bound(simple(), **VALUES))
    executor = bound(simple(), "add", 5, **VALUES)
    stepped(executor)
    executor.backward([2 * one for one in executor.outputs])
    for name, one in executor.grad_dict.items():
        np.testing.assert_allclose(one.asnumpy(), 5 + 2 * gradients[name])
    for wanted in VALUES:
        executor = bound(simple(), {name: "write" if name == wanted else "null" for name in VALUES}, **VALUES)
        for _ in range(2):
            np.testing.assert_allclose(stepped(executor)[1][wanted], gradients[wanted])


def test_another_gradient_than_last_time_is_asked_for() -> None:
    _, gradients = stepped(bound(simple(), **VALUES))
    net = sym.Group(flat(simple()))
    for wanted in ("s", "w", "d"):  # one graph: what it computes in advance was asked of it before
        arrays = {name: array(value) for name, value in VALUES.items()}
        found = nd.zeros(arrays[wanted].shape, dtype="float64")
        executor = net.bind(mx.cpu(), arrays, {wanted: found})
        executor.forward(is_train=True)
        executor.backward([2 * one for one in executor.outputs])
        np.testing.assert_allclose(found.asnumpy(), gradients[wanted])


def test_recorded_call_of_a_graph() -> None:
    net = sym.Group(flat(simple()))
    compiled = Compiled(net.values)
    arrays = [array(VALUES[node.name]) for node in compiled.variables]
    for one in arrays:
        one.attach_grad()
    with autograd.record():
        first = call_graph(compiled, arrays)
        second = call_graph(compiled, [*arrays[:1], *arrays[1:]])  # two calls in flight
        loss = sum((one * one).sum() for one in (*first, *second))
    loss.backward()
    _, gradients = stepped(bound(simple(), **VALUES))
    for node, one in zip(compiled.variables, arrays, strict=True):
        np.testing.assert_allclose(one.grad.asnumpy(), 2 * gradients[node.name])


def test_threads_share_a_graph() -> None:
    net, wrong = simple(), []
    expected = stepped(bound(net, **VALUES))

    def work() -> None:
        executor = bound(net, **VALUES)
        for _ in range(20):
            try:
                assert_same(stepped(executor), expected)
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_states_of_a_body_move_once_an_iteration() -> None:
    out, _ = sym.contrib.foreach(
        lambda d, s: (sym.BatchNorm(d, name="n", momentum=0.5, fix_gamma=False), s + d), V("d"), V("s")
    )
    assert out.list_auxiliary_states() == ["n_moving_mean", "n_moving_var"]
    rng = np.random.default_rng(0)
    data = rng.normal(size=(3, 4, 2))
    executor = bound(
        out, d=data, s=np.zeros((4, 2)), n_gamma=[1, 2], n_beta=[0, 1], n_moving_mean=[0, 0], n_moving_var=[1, 1]
    )
    mean = np.zeros(2)
    for one in data:
        mean = 0.5 * mean + 0.5 * one.mean(axis=0)
    outputs = executor.forward(is_train=True)
    np.testing.assert_allclose(executor.aux_dict["n_moving_mean"].asnumpy(), mean)
    executor.backward([2 * one for one in outputs])
    before = executor.grad_dict["d"].asnumpy().copy()
    executor.backward([2 * one for one in outputs])
    np.testing.assert_allclose(executor.grad_dict["d"].asnumpy(), before)
    np.testing.assert_allclose(executor.aux_dict["n_moving_mean"].asnumpy(), mean)


def test_random_numbers_are_those_of_the_forward_part() -> None:
    net = sym.contrib.foreach(lambda d, s: (sym.Dropout(d, p=0.5), s * 2), V("d"), V("s"))
    executor = bound(net, d=np.ones((50, 4)), s=[1.0])
    outputs = executor.forward(is_train=True)
    assert {*np.unique(outputs[0].asnumpy())} == {0.0, 2.0}
    for _ in range(2):
        executor.backward([nd.ones(one.shape, dtype="float64") for one in outputs])
        np.testing.assert_array_equal(executor.grad_dict["d"].asnumpy(), outputs[0].asnumpy())
    noise = sym.contrib.foreach(
        lambda d, s: (d * sym.random.normal(shape=(4,), dtype="float64"), s * 2), V("d"), V("s")
    )
    executor = bound(noise, d=np.ones((3, 4)), s=[1.0])
    outputs = executor.forward(is_train=False)
    executor.backward([nd.ones(one.shape, dtype="float64") for one in outputs])
    np.testing.assert_array_equal(executor.grad_dict["d"].asnumpy(), outputs[0].asnumpy())


def loop_with_draws(F: Any, x: Any, h: Any) -> Any:
    def body(d: Any, states: Any) -> Any:
        output = F.Dropout(F.tanh(d.reshape((-1, 2)).reshape((-1,)) * 2 + states[0]), p=0.5)
        return F.exp(output), [output]

    return F.contrib.foreach(body, F.exp(x) * F.tanh(x), [F.sin(h)])[0]


def nested_with_draws(F: Any, x: Any, h: Any) -> Any:
    def body(d: Any, states: Any) -> Any:
        output = loop_with_draws(F, F.stack(F.cos(d), d, axis=0), states[0])
        return output, [F.sum(output, axis=0)]

    return F.contrib.foreach(body, F.exp(x) * F.tanh(x), [F.sin(h)])[0]


def while_with_draws(F: Any, x: Any, h: Any) -> Any:
    def body(number: Any, state: Any) -> Any:
        state = F.Dropout(F.tanh(F.broadcast_mul(moved, state)), p=0.5)
        return F.exp(state), [number + 1, state]

    moved = F.exp(x) * F.tanh(x)
    start = [F.sum(x * 0), F.broadcast_add(F.sin(h), F.cos(x))]
    return F.contrib.while_loop(lambda number, state: number < 3, body, start, max_iterations=4)[0]


def cond_with_draws(F: Any, x: Any, h: Any) -> Any:
    moved, other = F.exp(x) * F.tanh(x), F.sin(h)
    return F.contrib.cond(
        F.sum(x * x) >= 0,
        lambda: F.Dropout(F.tanh(F.broadcast_add(moved.reshape((3, 8)).reshape((4, 6)), other)), p=0.5),
        lambda: moved * 2,
    )


@pytest.mark.parametrize("part", [loop_with_draws, nested_with_draws, while_with_draws, cond_with_draws])
@pytest.mark.parametrize("backend", [None, "again_of_groups"])
def test_a_second_backward_reads_what_the_graph_around_computed_again(part: Any, backend: str | None) -> None:
    class Block(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, h: Any, w: Any) -> Any:
            output = part(F, x, h)
            return F.sum(F.cos(output) * F.exp(output)) + F.sum(x * F.exp(w * x))

    random = np.random.default_rng(0)
    x, h, w = (array(random.normal(size=shape)) for shape in ((4, 6), (6,), (4, 6)))
    block = Block()
    block.hybridize()
    if backend is not None:
        names = ["exp", "tanh", "sin", "_foreach", "_while_loop", "_cond"]
        mx.graph.register_partitioner(backend, names, replace=True)
        block.optimize_for(x, h, w, backend=backend)
    arrays = [x, h, w]
    for one in arrays:
        one.attach_grad()
    for number in range(4):
        losses = []
        for _ in range(2):
            mx.random.seed(number)
            with autograd.record():
                losses.append(block(*arrays) ** 2)
        losses[0].backward()
        expected = [one.grad.asnumpy() for one in arrays]
        for _ in range(3):
            losses[1].backward(retain_graph=True)
            for one, gradient in zip(arrays, expected, strict=True):
                np.testing.assert_allclose(one.grad.asnumpy(), gradient, rtol=1e-9, atol=1e-12)
        for one, gradient in zip(arrays, expected, strict=True):
            found = autograd.grad(losses[1], [one], retain_graph=True)[0].asnumpy()
            np.testing.assert_allclose(found, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("training", [False, True])
def test_backward_goes_through_as_many_iterations_as_a_random_condition_let_run(training: bool) -> None:
    _, states = sym.contrib.while_loop(
        lambda state: sym.random.uniform(shape=(1,)) < 0.6, lambda state: (state, [state * 2]), [V("s")], 9
    )
    executor = bound(states, s=[1.0])
    counts = set()
    mx.random.seed(0)
    for _ in range(20):
        output = executor.forward(is_train=training)[0].asnumpy().copy()
        counts.add(float(output[0]))
        for _ in range(2):
            executor.backward([nd.ones((1,), dtype="float64")])
            np.testing.assert_array_equal(executor.grad_dict["s"].asnumpy(), output)
    assert {1.0, 2.0, 4.0} <= counts


FACTOR = 3.0


@customop("numpy")
def control_flow_scaled(x):
    return x * FACTOR


control_flow_scaled.def_grad(lambda ans, x: lambda g: g * FACTOR)


def test_operators_of_users_in_a_body() -> None:
    net = sym.contrib.foreach(lambda d, s: (control_flow_scaled(d) + s, s * 2), V("d"), V("s"))
    outputs, gradients = stepped(bound(net, d=VALUES["d"], s=VALUES["s"]))
    np.testing.assert_allclose(outputs[0], 3 * np.array(VALUES["d"]) + np.array([[0.5, 1], [1, 2]]))
    np.testing.assert_allclose(gradients["d"], 6 * outputs[0])


def test_losses_in_a_body_need_no_gradient_from_above() -> None:
    net = sym.contrib.foreach(lambda d, s: (sym.MakeLoss(d * s), s), V("d"), V("s"))[0]
    executor = bound(net, d=VALUES["d"], s=VALUES["s"])
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["d"].asnumpy(), [VALUES["s"]] * 2)


def test_loops_without_iterations() -> None:
    outputs, gradients = stepped(bound(simple(), d=np.zeros((0, 2)), s=VALUES["s"], w=VALUES["w"]))
    assert outputs[0].shape == (0, 2)
    np.testing.assert_allclose(outputs[1], VALUES["s"])
    np.testing.assert_allclose(gradients["s"], 2 * np.array(VALUES["s"]))
    np.testing.assert_allclose(gradients["w"], 0)
    loop = sym.contrib.while_loop(lambda i: i < 0, lambda i: (i * 2, i + 1), V("i"), max_iterations=3)
    outputs, gradients = stepped(bound(loop, i=[4.0]))
    assert outputs[0].tolist() == [[0.0]] * 3
    assert outputs[1].tolist() == [4.0]
    assert gradients["i"].tolist() == [8.0]
    assert nd.contrib.foreach(lambda d, s: (d, s), array(np.zeros((0, 2))), []) == ([], [])


def test_the_rest_of_a_loop_that_ends_early_is_zeros() -> None:
    outputs, last = nd.contrib.while_loop(lambda i: i < 2, lambda i: ([i + 1], i + 1), array([0]), max_iterations=4)
    assert outputs[0].asnumpy().tolist() == [[1.0], [2.0], [0.0], [0.0]]
    assert last.asscalar() == 2
    outside = V("n")
    loop = sym.contrib.while_loop(lambda i: i < outside, lambda i: ([i + 1], i + 1), V("i"), max_iterations=4)
    outputs, gradients = stepped(bound(loop, i=[0.0], n=[2.0]))
    assert outputs[0].tolist() == [[1.0], [2.0], [0.0], [0.0]]
    assert gradients["i"].tolist() == [2.0 * (1 + 2 + 2)]
    assert gradients["n"].tolist() == [0.0]


def test_integers() -> None:
    net = sym.Group(flat(sym.contrib.foreach(lambda d, s: (d * s, s + 1), V("d"), V("s"))))
    arrays = {"d": array([[1, 2], [3, 4]], "int32"), "s": array([1, 1], "int32")}
    outputs = net.bind(mx.cpu(), arrays).forward()
    assert [one.dtype for one in outputs] == [np.int32] * 2
    assert outputs[0].asnumpy().tolist() == [[1, 2], [6, 8]]
    assert net.infer_type(d="int32")[1] == [np.int32] * 2


def test_the_same_symbol_twice() -> None:
    a = V("a")

    def looped(F: Any, a: Any) -> Any:
        def body(d: Any, s: Any) -> Any:
            return F.broadcast_add(d[0] * d[1], a.sum()), [s[0] * 2, F.broadcast_mul(s[1], d[0].sum())]

        return F.contrib.foreach(body, [a, a], [a, a])

    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert_same(stepped(bound(looped(sym, a), a=values)), recorded(lambda a: looped(nd, a), a=values))


def test_data_in_nested_lists() -> None:
    data = [array(VALUES["d"]), [array(VALUES["d"])]]
    outputs, _ = nd.contrib.foreach(lambda d, s: (d[0] + d[1][0], s), data, [])
    assert (outputs.asnumpy() == 2 * np.array(VALUES["d"])).all()


def test_shapes_are_inferred_through_subgraphs() -> None:
    net = sym.Group(flat(simple()))
    assert net.infer_shape(d=(4, 3)) == ([(4, 3), (3,), (3,)], [(4, 3), (3,)], [])
    assert net.infer_shape_partial(s=(3,)) == ([(0, 3), (3,), (3,)], [(0, 3), (3,)], [])
    assert net.infer_type(w="float16")[0] == [np.float16] * 3
    choice = sym.contrib.cond(V("p"), lambda: V("a") * 2, lambda: V("b") * 3)
    assert choice.infer_shape(p=(1,), b=(2, 3)) == ([(1,), (2, 3), (2, 3)], [(2, 3)], [])
    loop = sym.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), V("i"), max_iterations=5)
    assert sym.Group(flat(loop)).infer_shape(i=(1,)) == ([(1,)], [(5, 1), (1,)], [])
    with pytest.raises(ShapeError, match=r"what is looped over has lengths 3 and 4 along its first axis"):
        sym.contrib.foreach(lambda d, s: (d[0] + d[1], s), [V("a"), V("b")], V("s"))[0].infer_shape(a=(3, 2), b=(4, 2))
    growing = sym.contrib.foreach(lambda d, s: (d, sym.concat(s, s, dim=0)), V("d"), V("s"))[0]
    with pytest.raises(ShapeError, match=r"node '_foreach\d+' \(_foreach"):
        growing.infer_shape(d=(3, 2), s=(2,))


# -- files -------------------------------------------------------------------------------------------------------------

sys.path.insert(0, str(GOLDEN))
try:
    import control_flow_cases
finally:
    sys.path.remove(str(GOLDEN))
ANSWERS = json.loads((GOLDEN / "control_flow.json").read_text())


@pytest.mark.parametrize("name", control_flow_cases.MAKERS)
def test_files_of_mxnet_compute_the_same(name: str) -> None:
    text = ANSWERS[f"control_flow_file_{name}"]["values"]
    loaded = sym.load_json(text)
    assert loaded.tojson() == text
    make, values = control_flow_cases.MAKERS[name]
    if values is None:
        values = (
            "d=D, s=[1., 2.], w=[3., 4.]"
            if "d" in loaded.list_arguments()
            else "i=[0.], s=[1.], w=[3.], n=[2.], f=[1.]"
        )
    scope: dict[str, Any] = {"mx": mx, "nd": nd, "autograd": autograd, "np": np}
    exec(control_flow_cases.BEGINNING + control_flow_cases.OF_SYMBOLS, scope)
    net = sym.Group(flat(eval(make, scope)()))
    known = net.list_arguments()
    given = {key: value for key, value in eval(f"dict({values})", scope).items() if key in known}
    assert_same(stepped(bound(loaded, **given)), stepped(bound(net, **given)))


DAMAGED = [
    (
        "foreach",
        '"in_data_locs": "[0]"',
        '"in_data_locs": "[7]"',
        r"attribute 'in_data_locs' is '\[7\]'; expected different numbers below 3",
    ),
    ("foreach", '"in_data_locs": "[0]"', '"in_data_locs": "[1]"', r"expected each of 3 input\(s\) once"),
    ("foreach", '"num_outputs": "2"', '"num_outputs": "3"', r"has 3 variable\(s\) and 2 output\(s\); expected 3 and 3"),
    ("foreach", '"num_out_data": "1"', '"num_out_data": "x"', r"attribute 'num_out_data' is 'x'; expected a number"),
    ("foreach", '"remain_locs"', '"remain"', r"attribute 'remain_locs' is ''; expected a list of numbers"),
    ("foreach", '"op": "_foreach"', '"op": "_while_loop"', r'"subgraphs" holds 1 graph\(s\); expected 2'),
    (
        "foreach",
        '"op": "_foreach"',
        '"op": "tanh"',
        r'has "subgraphs", which _foreach, _while_loop, _cond have, and operators of native libraries',
    ),
    ("foreach", '"subgraphs": [', '"subgraphs": [3, ', r'"subgraphs"\[0\] is int 3; expected an object'),
    (
        "foreach",
        '"op": "elemwise_add"',
        '"op": "elemwise_odd"',
        r"graph 0: node 4 .*there is no operator 'elemwise_odd'",
    ),
    ("while", '"max_iterations": "3"', '"max_iterations": "many"', r"attribute 'max_iterations' is 'many'"),
    ("cond", '"then_input_locs": "[0]"', '"then_input_locs": "[1]"', r"its graphs do not read each of them"),
]


@pytest.mark.parametrize(("of", "old", "new", "problem"), DAMAGED)
def test_damaged_files(of: str, old: str, new: str, problem: str) -> None:
    a = V("a")
    texts = {
        "foreach": sym.Group(flat(simple())).tojson(),
        "while": sym.contrib.while_loop(lambda i: i < 2, lambda i: (i, i + 1), V("i"), max_iterations=3)[0].tojson(),
        "cond": sym.contrib.cond(V("p"), lambda: a * 2, lambda: V("b") * 3)
        .tojson()
        .replace('"cond_input_locs": "[0]"', '"cond_input_locs": "[1]"')
        .replace('"then_input_locs": "[1]"', '"then_input_locs": "[0]"'),
    }
    assert old in texts[of]
    with pytest.raises(FileFormatError, match=problem):
        sym.load_json(texts[of].replace(old, new, 1))


def test_graphs_that_are_nested_too_deep() -> None:
    text = sym.contrib.cond(V("p"), lambda: V("a"), lambda: V("b")).tojson()
    document = json.loads(text)
    inner = document["nodes"][-1]["subgraphs"][0]
    for _ in range(60):
        inner["nodes"].append(copy.deepcopy(document["nodes"][-1]) | {"subgraphs": [], "inputs": []})
        inner["nodes"][-1]["subgraphs"] = [{"nodes": [], "heads": []}]
        inner = inner["nodes"][-1]["subgraphs"][0]
    with pytest.raises(FileFormatError, match="graphs are nested more than 50 deep"):
        sym.load_json(json.dumps(document))


# -- errors ------------------------------------------------------------------------------------------------------------

ERRORS: list[tuple[Any, str]] = [
    (lambda: nd.contrib.foreach(lambda d, s: (3, s), array([[1]]), []), "foreach: the body's output is int 3"),
    (lambda: nd.contrib.foreach(lambda d, s: d, array([[1]]), []), "foreach: body returned .*; expected two things"),
    (
        lambda: nd.contrib.foreach(lambda d, s: (d, s), 3, []),
        "foreach: data is int 3.*; expected an NDArray, or nested lists",
    ),
    (lambda: nd.contrib.foreach(lambda d, s: (d, s), [], []), "foreach: data is of shapes no arrays"),
    (
        lambda: nd.contrib.foreach(lambda d, s: (d, s), [array([1]), array([1, 2])], []),
        r"foreach: data is of shapes \(1,\), \(2,\); expected arrays of one length",
    ),
    (
        lambda: nd.contrib.foreach(lambda d, s: ([d] * int(d.asscalar()), s), array([1, 2]), []),
        r"foreach: the body returned 2 output\(s\) in step 1, and 1 in the first",
    ),
    (
        lambda: nd.contrib.while_loop(lambda i: True, lambda i: (i, i), array([1])),
        "while_loop: max_iterations is missing; say how often",
    ),
    (
        lambda: nd.contrib.while_loop(lambda i: True, lambda i: (i, i), array([1]), "x"),
        "while_loop: max_iterations is str 'x'.*; expected a number, such as 10",
    ),
    (
        lambda: nd.contrib.while_loop(lambda i: True, lambda i: (i, [i, i]), array([1]), 2),
        r"while_loop: func returned 2 loop variable\(s\), and was given 1",
    ),
    (
        lambda: sym.contrib.foreach(lambda d, s: (s, s), V("d"), V("s")),
        "sym.contrib.foreach: the body does not use data d; leave it out",
    ),
    (
        lambda: sym.contrib.foreach(lambda d, s: (d, s[0]), V("d"), [V("s"), V("t")]),
        r"the body returned states \*, and was given \[\*, \*\]; expected the same lists",
    ),
    (
        lambda: sym.contrib.while_loop(lambda i, s: i < s, lambda i, s: (i, [i, i]), [V("i"), V("s")], 2),
        r"sym.contrib.while_loop: func does not use loop variable 1 \(s\)",
    ),
    (
        lambda: sym.contrib.while_loop(lambda i: i, lambda i: (i, i), V("i"), 0),
        "max_iterations is 0; expected 1 or more",
    ),
    (
        lambda: sym.contrib.cond(1, lambda: V("a"), lambda: V("b")),
        "sym.contrib.cond: pred is int 1.*; expected a Symbol",
    ),
    (
        lambda: sym.contrib.cond(V("p"), lambda: V("a"), lambda: [V("b"), V("c")]),
        r"then_func returned 1 symbol\(s\), and else_func 2; expected as many",
    ),
    (
        lambda: sym.contrib.cond(V("p"), lambda: 3, lambda: V("b")),
        "then_func is int 3.*; expected a Symbol, or nested lists",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call: Any, text: str) -> None:
    with pytest.raises((ArgumentError, ArgumentValueError, ShapeError), match=text):
        call()


def test_conditions_of_several_elements() -> None:
    loop = sym.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), V("i"), max_iterations=2)
    with pytest.raises(ArgumentError, match=r"the condition is an array of shape \(2,\); expected one element"):
        bound(loop, i=[0.0, 1.0]).forward()


def test_names_of_subgraphs_are_nested() -> None:
    def outer(d: Any, s: Any) -> Any:
        return sym.contrib.foreach(lambda x, t: (x * t, t), d, s, name="in")

    text = sym.Group(flat(sym.contrib.foreach(outer, V("d"), V("s"), name="out"))).tojson()
    assert re.search(r'"__subgraph_name__": "out\d+\$in0"', text)


def test_subgraphs_show_in_listings() -> None:
    out, last = simple()
    assert out.attr("num_out_data") == "1"
    assert out.list_arguments() == ["d", "s", "w"]
    assert last.list_outputs()[0].endswith("_output1")
    assert "_foreach" in bound(out, **VALUES).debug_str()
