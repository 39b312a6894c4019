"""Backends: how one is registered, selected and asked, and what happens when it declines, fails or is not there."""

import ast
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from documented_backend import scope_of_guide

import minpy as mx
from minpy import sym
from minpy.backends import names, register, registry, using
from minpy.backends.protocol import Declined, Executable
from minpy.backends.switches import CompileWarning, disabled, is_enabled, same_bits, selection
from minpy.core.errors import ArgumentError
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start

COMPILES = True

A = np.linspace(-1, 1, 12).reshape(3, 4)
x = sym.var("x")


@pytest.fixture
def toy():
    """The counts of the backend of the guide, which is selected."""
    counts = scope_of_guide()["counts"]
    counts.clear()
    with using("toy"):
        yield counts


@pytest.fixture
def registered():
    """Registers backends for one test."""
    before = dict(registry._makers)
    yield register
    for name in set(registry._makers) - set(before):
        del registry._makers[name]
        registry._made.pop(name, None)


def program_of(symbol, compiles=True, requests=False):
    compiled = Compiled(symbol.values, compiles=compiles)
    return compiled.program([A], True, dict.fromkeys(compiled.arguments, "write") if requests else None)


class Answering:
    """A backend that answers with what it is made with, and notes how often it is asked."""

    after_rounds = 0

    def __init__(self, name, answer):
        self.name = name
        self.answer = answer
        self.asked = 0

    def compile(self, steps, facts, options):
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_the_first_call_is_step_by_step_and_the_others_are_the_backend_s(toy):
    program = program_of(sym.tanh(x) * 2)
    for number in range(4):
        np.testing.assert_array_equal(program.run([A])[0], np.tanh(A) * 2)
        assert toy["tanh"] == number
    assert type(program.executable()).__name__ == "CountingExecutable"


def test_an_error_of_a_step_names_its_node(toy):
    table = sym.var("table")
    picked = sym.take(table, sym.cast(x, dtype="int64"), mode="raise", name="picked")
    program = Compiled(picked.values).program([np.ones(3), np.ones(2)], False)
    order = [node.name for node in program.steps.variables]
    good = {"table": np.ones(3), "x": np.ones(2)}
    for _ in range(2):
        program.run([good[name] for name in order])
    bad = {**good, "x": np.full(2, 7.0)}
    with pytest.raises(mx.base.MXNetError, match="picked") as caught:
        program.run([bad[name] for name in order])
    assert any(frame.name == "run" for frame in caught.traceback)


def test_a_backend_that_declines_says_why_and_the_next_one_is_asked(registered, toy):
    first = Answering("unwilling", Declined("there is no room"))
    registered("unwilling", lambda: first)
    with using("unwilling", "toy"):
        program = program_of(sym.tanh(x))
        for _ in range(4):
            program.run([A])
        assert first.asked == 1
        assert toy["tanh"] == 3
    with using("unwilling"):
        other = program_of(sym.tanh(x))
        for _ in range(4):
            np.testing.assert_array_equal(other.run([A])[0], np.tanh(A))
        assert other.executable() is None
        assert str(other.explain()).endswith(": Python, because there is no room")


def test_a_backend_that_declines_for_now_is_asked_again(registered):
    waiting = Answering("waiting", Declined("more is to be known", ask_again=True))
    registered("waiting", lambda: waiting)
    with using("waiting"):
        program = program_of(sym.tanh(x))
        for _ in range(4):
            program.run([A])
        assert waiting.asked == 4
        assert program.may_improve
        waiting.answer = Declined("that was it")
        for _ in range(3):
            program.run([A])
        assert waiting.asked == 5
        assert not program.may_improve


def test_a_backend_that_fails_is_warned_of_once(registered):
    failing = Answering("failing", RuntimeError("no such instruction"))
    registered("failing", lambda: failing)
    with using("failing", "python"):
        program = program_of(sym.tanh(x, name="t"))
        with pytest.warns(CompileWarning, match=r"of t stays .*RuntimeError: no such instruction.*MINPY_COMPILE=0"):
            program.run([A])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                np.testing.assert_array_equal(program.run([A])[0], np.tanh(A))
    assert program.why_fallback() == "it could not be compiled: RuntimeError: no such instruction"


def test_a_context_that_cannot_be_made_lets_the_next_backend_run(registered):
    class Full(Executable):
        def context(self, calls):
            raise MemoryError("no room")

    registered("full", lambda: Answering("full", Full()))
    with using("full", "python"):
        program = program_of(sym.tanh(x))
        program.run([A])
        with pytest.warns(CompileWarning, match="MemoryError: no room"):
            np.testing.assert_array_equal(program.run([A])[0], np.tanh(A))
        np.testing.assert_array_equal(program.run([A])[0], np.tanh(A))


def test_programs_that_are_not_to_be_compiled_ask_the_fallback_only(toy):
    program = program_of(sym.tanh(x), compiles=False)
    for _ in range(3):
        program.run([A])
    assert not toy
    assert program.executable("python") is not None
    assert program.explain().reason == "compiling is switched off for it"


def test_selections_are_of_a_thread_and_end_with_their_scope(toy):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(selection.backends))
    thread.start()
    thread.join()
    assert selection.backends == ("toy",)
    assert "toy" not in seen[0]
    for scope in (disabled, same_bits):
        with scope():
            assert selection.backends == ("python",)
            assert not is_enabled()
        assert selection.backends == ("toy",)
    with using("python"):
        assert not is_enabled()


def test_a_program_goes_from_one_backend_to_another_and_back(toy):
    program = program_of(sym.tanh(x) * 3)
    results = [program.run([A])[0] for _ in range(3)]
    with disabled():
        results += [program.run([A])[0] for _ in range(3)]
    assert toy["tanh"] == 2
    results.append(program.run([A])[0])
    assert toy["tanh"] == 3
    for result in results:
        np.testing.assert_array_equal(result, np.tanh(A) * 3)
        assert not any(np.shares_memory(result, other) for other in results if other is not result)


def test_an_executor_trains_with_it(toy):
    executor = (sym.tanh(x) * 2).bind(mx.cpu(), [mx.nd.array(A)], [mx.nd.zeros(A.shape)])
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(A.shape))
    np.testing.assert_allclose(executor.grad_arrays[0].asnumpy(), 2 * (1 - np.tanh(A) ** 2), rtol=1e-6)
    assert toy["tanh"] == 3


def test_gradients_at_once(toy):
    program = program_of(sym.tanh(x), requests=True)
    assert program.run_with_gradients([A]) is None  # nothing is known of it
    heads, frame = start(program, [A])
    expected = np.empty_like(A)
    frame.backward([np.ones_like(A)], dict.fromkeys(program.steps.grad_req, expected))
    heads, (gradient,) = program.run_with_gradients([A])
    np.testing.assert_array_equal(heads[0], np.tanh(A))
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("request_", ["write", "add"])
def test_gradients_at_once_of_what_is_not_reached_are_zeros(toy, request_):
    y = sym.var("y")
    compiled = Compiled((sym.tanh(x) + sym.BlockGrad(y)).values)
    program = compiled.program([A, A], True, dict.fromkeys(compiled.arguments, request_))
    _, frame = start(program, [A, A])
    frame.backward([np.ones_like(A)], {node: np.zeros_like(A) for node in compiled.arguments})
    for _ in range(2):
        _, gradients = program.run_with_gradients([A, A])
        found = {node.name: gradient for node, gradient in zip(program.steps.grad_req, gradients, strict=True)}
        np.testing.assert_allclose(found["x"], 1 - np.tanh(A) ** 2, rtol=1e-14)
        np.testing.assert_array_equal(found["y"], 0)


def test_errors_of_the_registry():
    scope_of_guide()
    with pytest.raises(ArgumentError, match=r"^register: there is a backend 'native' already; choose another name\.$"):
        register("native", "nowhere:Nothing")
    with pytest.raises(
        ArgumentError, match=r"^there is no backend 'fortran'; there are 'native', 'python',.*'toy'.*Register one "
    ):
        using("fortran")
    assert names()[:2] == ["native", "python"]


def test_graphs_name_no_backend():
    """Neither as imports, which `test_layers` looks at, nor as text: but in prose."""
    for path in Path(mx.graph.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                assert node.value not in ("native", "python", "toy"), f"{path}:{node.lineno}"
