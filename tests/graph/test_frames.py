"""Calls of compiled graphs: one program serves several at once, whoever forgets them, in whatever order they end."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from custom_operators import Sigmoid, operator_of
from documented_backend import built_in_and_documented

import minpy as mx
from minpy import autograd, customop, nd, sym
from minpy.core.buffers import note_write
from minpy.core.errors import ArgumentError, MutationError, NoGradientError, ShapeError
from minpy.graph import compiled as compiled_module
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.graph.locking import lock
from minpy.graph.recording import call_graph
from minpy.symbol.subgraphs import Subgraph

backend = built_in_and_documented()

SIGMOID = operator_of(Sigmoid)
x, y, w = sym.var("x"), sym.var("y"), sym.var("w")
A = np.array([[0.5, -1.0, 2.0], [0.25, 3.0, -0.5]], "float32")
W = np.array([[0.1, -0.2, 0.3], [0.4, 0.0, -0.1], [0.2, 0.2, 0.5]], "float32")
CELL = sym.tanh(sym.FullyConnected(x, w, num_hidden=3, no_bias=True, name="cell") * 1.5 + y)


def variable(value: Any) -> Any:
    array = nd.array(value, dtype=np.asarray(value).dtype)
    array.attach_grad()
    return array


def cell(h: Any, weight: Any, data: Any) -> Any:
    """Compute what `CELL` does."""
    return nd.tanh(nd.FullyConnected(h, weight, num_hidden=3, no_bias=True) * 1.5 + data)


def unrolled(step: Callable[..., Any], steps: int) -> list[np.ndarray]:
    """Return the last state of an unrolled cell, and the gradients of its sum."""
    h, weight, inputs = variable(A), variable(W), [variable(A * (number % 5) / 10) for number in range(steps)]
    with autograd.record():
        state = h
        for data in inputs:
            state = step(state, weight, data)
        total = (state * state).sum()
    total.backward()
    return [state.asnumpy(), h.grad.asnumpy(), weight.grad.asnumpy(), *(data.grad.asnumpy() for data in inputs)]


def assert_close(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


# -- several calls in flight -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 3])
def test_35_calls_of_one_program_then_one_backward_through_all(rounds: int) -> None:
    compiled = Compiled(CELL.values)
    assert [node.name for node in compiled.variables] == ["x", "w", "y"]
    expected = unrolled(cell, 35)
    for _ in range(rounds):
        assert_close(unrolled(lambda *arrays: call_graph(compiled, arrays)[0], 35), expected)
    assert len(compiled) == 1, "one program for all calls"


def test_calls_after_the_first_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither 35 calls forward nor 35 calls back run step by step, but for one of each."""
    from minpy.graph import frame, program

    interpreted: list[int] = []
    original = frame.interpret

    def counted(part: Any, *arguments: Any) -> None:
        interpreted.append(len(part))
        original(part, *arguments)

    for module in (frame, program):
        monkeypatch.setattr(module, "interpret", counted)
    compiled = Compiled(CELL.values)
    unrolled(lambda *arrays: call_graph(compiled, arrays)[0], 35)
    assert len(interpreted) == 3  # the first forward, the first backward, and that of the call that was first


def test_each_frame_answers_for_its_own_call() -> None:
    compiled = Compiled(CELL.values)
    requests = dict.fromkeys(compiled.variables, "write")
    generator = np.random.default_rng(0)
    calls = []
    for _ in range(12):
        arrays = [value.astype("float32") for value in (generator.normal(size=s) for s in ((2, 3), (3, 3), (2, 3)))]
        heads, frame = start(compiled.program(arrays, True, requests), arrays)
        calls.append((arrays, heads[0], frame, heads[0].copy()))
    generator.shuffle(calls)
    for arrays, head, frame, before in calls:
        buffers = {node: np.empty_like(array) for node, array in zip(compiled.variables, arrays, strict=True)}
        upstream = generator.normal(size=(2, 3)).astype("float32")
        for _ in range(2):  # the second time it is computed again
            frame.backward([upstream], buffers)
            inputs = [*map(variable, arrays)]
            with autograd.record():
                out = cell(*inputs)
            out.backward(nd.array(upstream))
            assert_close([head], [out.asnumpy()])
            assert_close(list(buffers.values()), [value.grad.asnumpy() for value in inputs])
        np.testing.assert_array_equal(head, before)


def test_two_threads_call_one_program() -> None:
    compiled = Compiled(CELL.values)
    expected = unrolled(cell, 7)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(40):
                assert_close(unrolled(lambda *arrays: call_graph(compiled, arrays)[0], 7), expected)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_operators_with_states_have_one_in_each_call() -> None:
    """A custom operator keeps what its backward needs in itself."""
    compiled = Compiled(sym.Custom(x * 2, op_type=SIGMOID, name="c").values)
    inputs = [variable(A + number) for number in range(5)]
    for _ in range(3):
        with autograd.record():
            outputs = [call_graph(compiled, [one])[0] for one in inputs]
        for output in reversed(outputs):
            output.backward()
        for one in inputs:
            s = 1 / (1 + np.exp(-2 * one.asnumpy()))
            np.testing.assert_allclose(one.grad.asnumpy(), 2 * s * (1 - s), rtol=1e-4, atol=1e-6)


def test_moving_statistics_move_once_a_call() -> None:
    norm = sym.BatchNorm(x, name="n", fix_gamma=False, momentum=0.5)
    compiled = Compiled(norm.values)
    states = {name: [nd.zeros((3,)), nd.ones((3,))] for name in ("eager", "graph")}
    gamma, beta = variable(np.ones(3, "float32")), variable(np.zeros(3, "float32"))
    for number in range(4):
        data = [variable(A * (number + at)) for at in range(3)]
        with autograd.record():
            for one in data:
                [out] = call_graph(compiled, [one, gamma, beta, *states["graph"]])
                other = nd.BatchNorm(one, gamma, beta, *states["eager"], fix_gamma=False, momentum=0.5)
                np.testing.assert_allclose(out.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)
            total = (out * nd.array(A)).sum()
        for _ in range(3):
            total.backward(retain_graph=True)
        for one, same in zip(states["graph"], states["eager"], strict=True):
            np.testing.assert_allclose(one.asnumpy(), same.asnumpy(), rtol=1e-5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_is_forked_while_another_thread_compiles() -> None:
    """The lock is free in the child, although the thread that held it is not there."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock():
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    expected = 2.0 * A
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        array = variable(A)
        with autograd.record():
            [output] = call_graph(Compiled((x * x).values), [array])
        output.backward()
        os._exit(0 if np.allclose(array.grad.asnumpy(), expected) else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


# -- heads and their memory --------------------------------------------------------------------------------------------


HEADS: dict[str, tuple[Any, int]] = {
    "computed": (lambda: x * 2, 1),
    "variable": (lambda: x, 1),
    "view of a variable": (lambda: sym.reshape(x, shape=(-1,)), 1),
    "view of an answer": (lambda: sym.reshape(x * 2, shape=(-1,)), 1),
    "view and what it is of": (lambda: sym.Group([sym.reshape(x * 2, shape=(-1,)), x * 2]), 2),
    "read by others": (lambda: sym.Group([sym.tanh(x), sym.exp(sym.tanh(x))]), 2),
    "parts": (lambda: sym.split(x * 2, num_outputs=3), 3),
    "one twice": (lambda: sym.Group([x * 2] * 2), 2),
    "custom": (lambda: sym.Custom(x, op_type=SIGMOID), 1),
    "zeros": (lambda: sym.zeros((2, 3)) + sym.BlockGrad(x), 1),
}  # fmt: skip


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("case", HEADS)
def test_heads_have_memory_of_their_own(case: str, training: bool) -> None:
    make, count = HEADS[case]
    compiled = Compiled(make().values)
    array = A.copy()
    requests = {compiled.variables[0]: "write"} if training else None
    seen: list[np.ndarray] = []
    copies: list[np.ndarray] = []
    for number in range(4):
        array[:] = A + number
        heads, frame = start(compiled.program([array], training, requests), [array])
        if number % 2 and training:
            frame.backward([np.ones_like(head) for head in heads], {compiled.variables[0]: np.empty_like(array)})
        assert len(heads) == count
        seen += heads
        copies += [head.copy() for head in heads]
    for head, copy in zip(seen, copies, strict=True):
        np.testing.assert_array_equal(head, copy)
    for at, head in enumerate(seen):
        assert not np.may_share_memory(head, array)
        assert not any(np.shares_memory(head, other) for other in seen[:at])


def test_what_users_operators_keep_stays_as_it_was() -> None:
    kept: list[np.ndarray] = []
    copies: list[np.ndarray] = []

    def keep(array: Any) -> None:
        kept.append(array)
        copies.append(array.copy())

    @customop("numpy")
    def hoarding(data):
        keep(data)
        return data * 2

    @hoarding.def_grad()
    def gradient(ans, data):
        def rule(g):
            keep(g)
            keep(ans)
            return g * 2

        return rule

    inner = sym.reshape(sym.exp(hoarding(sym.tanh(x * 3))) * 2, shape=(6,))
    executor = (inner * inner).bind(mx.cpu(), {"x": nd.array(A)}, {"x": nd.zeros((2, 3))})
    for number in range(4):
        executor.forward(is_train=True, x=A + number)
        executor.backward()
    executor.forward(x=A)
    executor.forward(x=A + 1)
    assert len(kept) > 12
    for one, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(one, copy)


# -- the life of frames ------------------------------------------------------------------------------------------------


def test_frames_that_are_dropped_leave_nothing() -> None:
    """Without the garbage collector: there are no cycles, and buffers serve the next call."""
    h = sym.Custom(sym.Dropout(CELL, p=0.5), op_type=SIGMOID)
    compiled = Compiled(sym.Group([h, CELL]).values)
    inputs = [variable(A), variable(W), variable(A)]

    def drop(count: int) -> list[Any]:
        made = []
        for _ in range(count):
            with autograd.record():
                outputs = call_graph(compiled, inputs)
            frame = outputs[0]._node.parents[0].arguments[-1]
            made += [weakref.ref(frame), weakref.ref(outputs[0]._data), weakref.ref(outputs[1])]
            del frame, outputs
        return made

    drop(3)
    gc.collect()
    gc.disable()
    try:
        references = drop(500)
        assert [one() for one in references if one() is not None] == []
        assert gc.collect() == 0
    finally:
        gc.enable()
    [program] = compiled._programs.values()
    assert len(program.idle) == 1


@pytest.mark.parametrize("calls_before", [0, 2, 4], ids=["step by step", "compiled", "native code"])
@pytest.mark.parametrize("part", ["forward", "backward"])
def test_calls_that_fail_leave_nothing(calls_before: int, part: str) -> None:
    """Without the garbage collector: an error that knew itself by its traceback kept the call's arrays."""

    def checked(values):
        if np.isnan(values).any():
            raise LookupError("not a number")
        return values * 2

    touchy = customop("numpy")(lambda value: checked(value))
    touchy.def_grad(lambda ans, value: lambda g: checked(g))
    compiled = Compiled(touchy(sym.exp(x) * 2).values, compiles=calls_before > 2)
    program = compiled.program([A], True, dict.fromkeys(compiled.arguments, "write"))

    def call(value: np.ndarray, head: np.ndarray) -> None:
        _, frame = start(program, [value])
        frame.backward([head], {node: np.empty_like(A) for node in compiled.arguments})

    for _ in range(calls_before):
        call(A, A)
    bad = A * np.nan
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises(LookupError, match="not a number") as caught:
                call(bad if part == "forward" else A, bad)
            del caught
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_frame_dies_with_the_tape() -> None:
    compiled = Compiled(CELL.values)
    inputs = [variable(A), variable(W), variable(A)]
    for retain in (False, False, True):
        with autograd.record():
            [output] = call_graph(compiled, inputs)
        frame = weakref.ref(output._node.arguments[-1])
        output.backward(retain_graph=retain)
        assert (frame() is not None) == retain
    del output
    assert frame() is None


def test_activations_go_when_backward_is_done() -> None:
    network = sym.exp(sym.Custom(sym.sin(x), op_type=SIGMOID)) * sym.cos(x)
    executor = sym.sum(network).bind(mx.cpu(), {"x": nd.array(A)}, {"x": nd.zeros((2, 3))})
    for number in range(3):
        executor.forward(is_train=True)
        frame = executor._frame
        assert (frame._residuals is None) == (number == 0)
        assert (frame._env is None) == (number > 0)
        executor.backward()
        assert frame._residuals is None
        assert frame._env is None
        assert frame._replayed is None


def test_the_number_of_programs_is_bounded() -> None:
    compiled = Compiled((x * 2).values)
    for length in range(1, 100):
        array = variable(np.ones(length, "float32"))
        with autograd.record():
            [output] = call_graph(compiled, [array])
        output.backward()
        np.testing.assert_array_equal(array.grad.asnumpy(), np.full(length, 2))
    assert len(compiled) == compiled_module._MOST_PROGRAMS


def test_shapes_and_dtypes_are_inferred_once_a_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    from minpy.symbol import symbol as symbol_module

    counts = {"infer_shapes": 0, "infer_dtypes": 0}

    def counting(name: str, original: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **options)

        return counted

    for module in (compiled_module, symbol_module):
        for name in counts:
            monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    once = {"infer_shapes": 1, "infer_dtypes": 1}
    executor = CELL.simple_bind(mx.cpu(), x=(2, 3))
    assert counts == once
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
        executor.backward()
        executor.forward()
        executor.backward()
    assert counts == once
    counts.update(infer_shapes=0, infer_dtypes=0)
    CELL.bind(mx.cpu(), executor.arg_dict, executor.grad_dict).forward()
    assert counts == once
    counts.update(infer_shapes=0, infer_dtypes=0)
    executor.reshape(x=(1, 3), y=(1, 3)).forward()
    assert counts == {"infer_shapes": 1, "infer_dtypes": 0}


# -- what is refused ---------------------------------------------------------------------------------------------------


def changed(what: str, described: str = "float32 (2, 3)") -> str:
    return (
        f"backward: {what} ({described}) was changed in place after forward, and the gradient needs its old value. "
        "Make the change after backward, or call forward again."
    )


@pytest.mark.parametrize("runs", [1, 3], ids=["step by step", "compiled"])
@pytest.mark.parametrize("again", [False, True], ids=["first backward", "second backward"])
@pytest.mark.parametrize(
    ("make", "change", "needed", "message"),
    [
        (lambda: x * x, lambda e: e.arg_dict["x"], True, changed("variable 'x'")),
        (lambda: sym.exp(sym.reshape(x, shape=(6,)) ** 2), lambda e: e.arg_dict["x"], True, None),
        (lambda: sym.tanh(x), lambda e: e.outputs[0], True, changed("an output")),
        (lambda: x + x, lambda e: e.outputs[0], False, ""),
        (lambda: sym.sin(x) + y, lambda e: e.arg_dict["y"], False, ""),
    ],
)
def test_what_backward_reads_may_not_change(
    make: Any, change: Any, needed: bool, message: str | None, again: bool, runs: int
) -> None:
    symbol = make()
    names = symbol.list_arguments()
    executor = symbol.bind(mx.cpu(), {n: nd.array(A) for n in names}, {n: nd.zeros((2, 3)) for n in names})
    for run in range(runs + 1):
        executor.forward(is_train=True)
        if run == runs:
            if again:
                executor.backward()
            before = change(executor).asnumpy()
            change(executor)[:] = 5
        refused = needed and run == runs and not (again and "output" in (message or ""))
        if again and run == runs and not needed and change(executor) is not executor.outputs[0]:
            refused, message = True, changed("variable 'y'")  # the whole forward part is computed again
        if not refused:
            executor.backward()
            continue
        with pytest.raises(MutationError) as caught:
            executor.backward()
        if message is not None:
            assert str(caught.value) == message
        change(executor)[:] = nd.array(before)
        executor.forward(is_train=True)
        executor.backward()


def test_writes_before_forward_are_none() -> None:
    executor = (x * x).bind(mx.cpu(), {"x": nd.array(A)}, {"x": nd.zeros((2, 3))})
    for number in range(3):
        executor.arg_dict["x"][:] = number
        executor.forward(is_train=True)
        note_write(np.zeros(3))
        executor.backward()
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full((2, 3), 2 * number))


def test_calls_that_are_refused() -> None:
    compiled = Compiled(CELL.values)
    with pytest.raises(ArgumentError) as caught:
        call_graph(compiled, [variable(A)], "rnn")
    assert str(caught.value) == "rnn: 1 input(s) given; expected 3: x, w, y."
    with pytest.raises(ShapeError, match=r"infer_shape: node 'cell' \(FullyConnected"):
        call_graph(compiled, [variable(A), variable(A), variable(A)])


def test_a_gradient_is_recorded_for_a_second_one() -> None:
    found = []
    steps = (cell, lambda *inputs: call_graph(Compiled(CELL.values), [inputs[0], inputs[1], inputs[2]], "rnn")[0])
    for step in steps:
        inputs = [variable(A), variable(W), variable(A / 2)]
        with autograd.record():
            first = autograd.grad(step(*inputs), inputs, create_graph=True)
            total = sum((one * one).sum() for one in first)
        total.backward()
        found.append([one.grad.asnumpy() for one in inputs])
    assert_close(*found)


def test_a_gradient_that_is_not_defined_is_refused_when_the_program_is_made() -> None:
    @customop("numpy")
    def opaque(data):
        return data * 2

    compiled = Compiled(opaque(x).values)
    with autograd.record(), pytest.raises(NoGradientError, match="opaque has no gradient for argument 0"):
        call_graph(compiled, [variable(A)])
    assert call_graph(compiled, [variable(A)])[0].asnumpy().tolist() == (A * 2).tolist()


@pytest.mark.parametrize("anew", [False, True], ids=["as compiled", "differentiated anew"])
def test_frames_that_move_see_nothing_of_where_they_were(anew: bool) -> None:
    a, b = sym.var("a"), sym.var("b")
    graph = Subgraph(sym.exp(a.reshape((3, 2)) * b.reshape((3, 2))), [0, 1])
    first, second = graph.variables
    values = [np.random.default_rng(seed).normal(size=(2, 3)) for seed in range(2)]
    expected = values[1] * np.exp(values[0] * values[1])
    for _ in range(3):  # step by step, then compiled
        old = [value.copy() for value in values]
        _, frame = graph.start(graph.program(old, True, {second if anew else first: "write"}), old)
        if anew:
            frame.differentiate(graph.differentiated(frame.program, old, {first: "write"}))
        for moved in ([], [0], [1], [0, 1]):
            given = [value.copy() if position in moved else None for position, value in enumerate(values)]
            if moved:
                graph.move(frame, given)
            for position in moved:
                old[position].fill(np.nan)
                old[position] = given[position]
            gradient = np.empty((2, 3))
            frame.backward([np.ones((3, 2))], {first: gradient})
            np.testing.assert_allclose(gradient, expected, rtol=1e-12)


# -- random numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_train", [False, True])
def test_a_second_backward_has_the_draws_of_its_forward(is_train: bool) -> None:
    calls: list[int] = []

    @customop("numpy")
    def noisy(data):
        calls.append(1)
        return data * np.random.default_rng(len(calls)).uniform(1, 2, data.shape)

    noisy.def_grad(lambda ans, data: lambda g: g * (ans / data))
    noisy.def_shape(lambda shape: shape)
    scaled = sym.exp(sym.random.uniform(1, 2, shape=(20, 3)) * noisy(x))
    executor = sym.Dropout(scaled, p=0.5).bind(mx.cpu(), {"x": nd.ones((20, 3))}, {"x": nd.zeros((20, 3))})
    for number in range(3):
        output = executor.forward(is_train=is_train)[0].asnumpy()
        found = []
        for factor in (1, 2, 1):
            executor.backward(nd.full((20, 3), factor))
            found.append(executor.grad_dict["x"].asnumpy())
        assert len(calls) == number + 1, "a user's forward runs once"
        np.testing.assert_allclose(found[0] * 2, found[1], rtol=1e-5)
        np.testing.assert_allclose(found[0], found[2], rtol=1e-5)
        # d/dx of exp(r·x·n) at x = 1 is r·n·exp(r·n), and the output is that exponential (twice where not dropped).
        exponential = output / 2 if is_train else output
        expected = np.where(output > 0, output * np.log(np.where(output > 0, exponential, 1)), 0)
        np.testing.assert_allclose(found[0], expected, rtol=1e-4)
        assert (output == 0).any() == is_train


@customop("numpy")
def lengthened(a, like):
    return np.concatenate([a, a[: like.shape[0]]])


lengthened.def_grad(lambda ans, a, like: lambda g: g[: a.shape[0]])
lengthened.def_grad(lambda ans, a, like: lambda g: np.full(like.shape, 3.0, like.dtype), argnum=1)


@pytest.mark.parametrize("is_native", [False, True], ids=["python", "native"])
@pytest.mark.parametrize("request_", ["write", "add"])
def test_gradients_that_depend_on_nothing_are_written_at_every_call(request_, is_native):
    symbol = lengthened(x, y) * 2
    gradients = {name: nd.zeros((3,)) for name in "xy"}
    executor = symbol.bind(mx.cpu(), {"x": nd.ones((3,)), "y": nd.ones((3,))}, gradients, request_)
    with mx.compile.disabled() if not is_native else autograd.pause():
        for number in range(1, 6):
            if request_ == "write":
                gradients["y"][:] = 77
            executor.forward(is_train=True)
            executor.backward(nd.ones((6,)))
            times = number if request_ == "add" else 1
            np.testing.assert_array_equal(gradients["y"].asnumpy(), np.full(3, 3.0 * times))
            np.testing.assert_array_equal(gradients["x"].asnumpy(), np.full(3, 2.0 * times))
