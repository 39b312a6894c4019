"""Users' operators in programs: traced where that is right, with eager's numbers, also after what they read changed."""

from __future__ import annotations

import copy
import gc
from typing import Any

import numpy as np
import pytest
from compiling import ROUNDS, both_kinds_of_program, require_same
from tracing_operators import CASES, LOG, Case

import minpy as mx
from minpy import customop, nd, sym
from minpy.backends.switches import is_enabled
from minpy.core import Operator
from minpy.core.errors import ArgumentError, MutationError, MXNetError
from minpy.symbol.executor import Executor

COMPILES = True


def bound(operator: Operator, arrays: list[np.ndarray], **attributes: Any) -> Executor:
    """Return an executor of one call, with gradients."""
    names = [f"x{index}" for index in range(len(arrays))]
    symbol = operator(*map(sym.var, names), **attributes)
    values = {name: nd.array(array, dtype=array.dtype) for name, array in zip(names, arrays, strict=True)}
    return symbol.bind(mx.cpu(), values, {name: nd.zeros(a.shape, dtype=a.dtype) for name, a in values.items()})


native = both_kinds_of_program(autouse=True)


def is_called(operator: Operator, executor: Executor) -> bool:
    """Tell whether the program calls the forward function, instead of running its steps."""
    return any(node.operator is operator for node in executor._programs[True].steps.forward)


def require_equal(operator: Operator, executor: Executor, attributes: dict[str, Any], message: str = "") -> None:
    """Compare outputs and gradients with eager's: to the last bit, or of native code but for rounding."""
    arrays = [array.copy() for array in executor.arg_arrays]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        outputs = operator(*arrays, **attributes)
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    random = np.random.RandomState(5)
    heads = [nd.array(random.normal(size=output.shape), dtype=output.dtype) for output in outputs]
    mx.autograd.backward(outputs, heads)
    for _ in range(ROUNDS if is_enabled() else 1):
        found = executor.forward(is_train=True)
        executor.backward(heads)
    for one, expected in zip(found, outputs, strict=True):
        require_same(one.asnumpy(), expected.asnumpy(), message)
    for gradient, array in zip(executor.grad_arrays, arrays, strict=True):
        assert gradient is not None
        require_same(gradient.asnumpy(), array.grad.asnumpy(), message)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operators_as_people_write_them(case: Case, dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = case.draw(dtype)
    executor = bound(case.operator, arrays, **case.attributes)
    for seed in range(3):  # the first run is step by step; and nothing may hang on the first values
        for array, values in zip(executor.arg_arrays, case.draw(dtype, seed), strict=True):
            array[:] = values
        if case.exact:
            require_equal(case.operator, executor, case.attributes)
        else:
            executor.forward(is_train=True)
    assert is_called(case.operator, executor) == bool(case.forward)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_reports_say_what_is_traced_and_what_is_not(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    LOG.clear()
    report = case.operator.trace_report(*case.draw(), **case.attributes)
    forward = report["forward"]
    for part, reason in [(forward, case.forward), *((part, case.rules) for part in report.parts[1:])]:
        assert part.reason.startswith(reason)
        assert part.traced == (not reason), str(report)
    assert report.traced == (not case.forward and not case.rules)
    for part in report.parts:
        if not part.traced:
            assert part.place is not None
            assert part.place.file.endswith("tracing_operators.py")
            assert f"{part.place}: {part.place.text}" in str(report)


def test_a_report_as_text() -> None:
    report = CASES["softplus"].operator.trace_report(np.ones((2, 3), "float32"), beta=2.0)
    place = report["forward"].steps[0].place
    assert place is not None
    assert str(report).splitlines()[:3] == [
        "softplus(x float32 (2, 3))",
        "forward: 3 steps",
        f"    elementwise multiply -> float32 (2, 3)  # line {place.line}: return np.logaddexp(0, beta * x) / beta",
    ]
    text = str(CASES["scaled_if_large"].operator.trace_report(np.ones((2, 3))))
    assert (
        "forward: called as it is, because it chooses by values: `if`, `while`, `and` or `assert` of an array" in text
    )
    assert text.splitlines()[2].endswith("return x / x.max() if x.max() > 1 else x")
    with pytest.raises(
        KeyError, match=r"scaled_if_large\(x float64 \(3,\)\): no part 'backward'; there are forward, gradient of x"
    ):
        CASES["scaled_if_large"].operator.trace_report(np.ones(3))["backward"]
    with pytest.raises(ArgumentError, match="softplus"):
        CASES["softplus"].operator.trace_report()


def test_reports_of_built_in_operators() -> None:
    report = nd.softmax.trace_report(np.ones((2, 3), "float32"))
    assert {step.kind for step in report["gradient of data"].steps} == {"elementwise", "reduce"}


def test_tracing_has_no_effects(capsys: pytest.CaptureFixture[str]) -> None:
    """What an operator does beside its answer happens when it is called, and as often."""
    for name in ("talkative", "timed"):
        case = CASES[name]
        executor = bound(case.operator, case.draw())
        capsys.readouterr()
        LOG.clear()
        case.operator.trace_report(*case.draw())
        assert len(LOG) == (1 if name == "timed" else 0)  # its forward is run for the shape of its answer
        capsys.readouterr()
        LOG.clear()
        for _ in range(3):
            executor.forward(is_train=True)
            executor.backward(nd.ones((6, 10)))
        assert capsys.readouterr().out == ("called\n" * 3 if name == "talkative" else "")
        assert len(LOG) == (6 if name == "timed" else 3)


def test_binding_runs_a_forward_at_most_once() -> None:
    calls: list[int] = []

    @customop("numpy")
    def counted(x):
        calls.append(1)
        return x * 2

    bound(counted, [np.ones(3, "float32")])
    assert len(calls) == 1
    counted(sym.var("x")).simple_bind(mx.cpu(), x=(3,))
    assert len(calls) == 2


def test_shapes_are_found_without_running_the_forward() -> None:
    """On arrays of ones it would need 40 TB."""
    symbol = CASES["layer_norm"].operator(*map(sym.var, "xwb"))
    _, outputs, _ = symbol.infer_shape(x=(10**8, 10**5), w=(10**5,), b=(10**5,))
    assert outputs == [(10**8, 10**5)]


# -- what functions read -----------------------------------------------------------------------------------------------

SCALE = 0.5
WEIGHTS = np.linspace(0, 1, 4).astype("float32")
POWERS = [1.0, 2.0]
TABLE: dict[str, Any] = {"w": np.ones(4, "float32"), "k": 2}


def helped(x):
    return x * SCALE


def another_help(x):
    return x * SCALE + 1


class Settings:
    factor = 3.0

    def __init__(self) -> None:
        self.shift = np.ones(4, "float32")

    @property
    def twice(self):
        return 2 * self.factor

    def applied(self, x):
        return x * self.factor + self.shift


SETTINGS = Settings()


def made(start: float) -> tuple[Operator, Any, np.ndarray]:
    """Return an operator, what sets a number in its closure, and the array there."""
    number, array = start, np.ones(4, "float32")

    def put(value: float) -> None:
        nonlocal number
        number = value

    @customop("numpy")
    def reader(x, *, offset=0.25):
        total = helped(x) * WEIGHTS + POWERS[1] * TABLE["w"] * TABLE["k"] + SETTINGS.applied(x) * SETTINGS.twice
        return total + number * array + offset

    reader.def_grad(
        lambda ans, x, *, offset=0.25: lambda g: g * (SCALE * WEIGHTS + SETTINGS.factor * SETTINGS.twice) + number * 0
    )
    return reader, put, array


def change_globals(**values: Any) -> Any:
    return lambda put, array: globals().update(values)


CHANGES: dict[str, Any] = {
    "an array, in place": lambda put, array: np.multiply(WEIGHTS, 0.9, out=WEIGHTS),
    "another array": lambda put, array: globals().update(WEIGHTS=WEIGHTS * 2),
    "a view": lambda put, array: globals().update(WEIGHTS=np.arange(8, dtype="float32")[::2]),
    "an array of another dtype": lambda put, array: globals().update(WEIGHTS=WEIGHTS.astype("float16")),
    "an array of another shape": lambda put, array: globals().update(WEIGHTS=np.ones((1,), "float32")),
    "a number in place of an array": lambda put, array: globals().update(WEIGHTS=2.0),
    "a number": lambda put, array: globals().update(SCALE=0.7),
    "another kind of number": lambda put, array: globals().update(SCALE=np.float32(0.7)),
    "a sign of zero": lambda put, array: globals().update(SCALE=-0.0),
    "a number in a list": lambda put, array: POWERS.__setitem__(1, 5.0),
    "a list": lambda put, array: globals().update(POWERS=[0.0, 1.5]),
    "an array in a dict": lambda put, array: TABLE.update(w=TABLE["w"] * 3),
    "a number in a dict": lambda put, array: TABLE.update(k=7),
    "an attribute": lambda put, array: setattr(SETTINGS, "factor", 9.0),
    "an array that is an attribute": lambda put, array: setattr(SETTINGS, "shift", SETTINGS.shift * 4),
    "an attribute of the class": lambda put, array: setattr(Settings, "factor", -1.0),
    "a method": lambda put, array: setattr(Settings, "applied", lambda self, x: x - self.shift),
    "a property": lambda put, array: setattr(Settings, "twice", property(lambda self: self.factor)),
    "an object": lambda put, array: globals().update(SETTINGS=copy.copy(SETTINGS)),
    "a number in the closure": lambda put, array: put(4.0),
    "an array in the closure": lambda put, array: np.add(array, 1, out=array),
    "a function": lambda put, array: globals().update(helped=another_help),
    "the code of a function": lambda put, array: setattr(helped, "__code__", (lambda x: x * 3).__code__),
}


@pytest.fixture
def as_it_was() -> Any:
    """Put what the operators read back after a test."""
    names = ("SCALE", "WEIGHTS", "POWERS", "TABLE", "SETTINGS", "helped")
    before = {name: globals()[name] for name in names}
    contents = copy.deepcopy([WEIGHTS, POWERS, TABLE])
    members = {name: vars(Settings)[name] for name in ("factor", "twice", "applied")}
    attributes, code = dict(vars(SETTINGS)), helped.__code__
    yield
    globals().update(before)
    WEIGHTS[:], POWERS[:] = contents[0], contents[1]
    TABLE.update(contents[2])
    for name, value in members.items():
        setattr(Settings, name, value)
    vars(SETTINGS).clear()
    vars(SETTINGS).update(attributes)
    helped.__code__ = code


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_functions_read_may_change(change: Any, as_it_was: None) -> None:
    operator, put, array = made(1.0)
    executor = bound(operator, [np.arange(4, dtype="float32")])
    require_equal(operator, executor, {})
    require_equal(operator, executor, {})
    assert not is_called(operator, executor)
    before = executor.outputs[0].asnumpy()
    change(put, array)
    require_equal(operator, executor, {})
    assert np.array_equal(before, executor.outputs[0].asnumpy()) == (change is CHANGES["an object"])
    require_equal(operator, executor, {})


def test_gradients_of_symbols_notice_changes(as_it_was: None) -> None:
    operator, _, _ = made(1.0)
    symbol = operator(sym.var("x")).gradient(["x"])
    for scale in (0.5, 0.75):
        globals().update(SCALE=scale)
        found = symbol.eval(x=nd.ones(4))[0].asnumpy()
        np.testing.assert_array_equal(found, np.float32(scale) * WEIGHTS + np.float32(18))


def test_what_changes_at_each_call_is_not_traced_for_ever(as_it_was: None) -> None:
    operator, put, _ = made(1.0)
    executor = bound(operator, [np.arange(4, dtype="float32")])
    for step in range(20):
        put(float(step))
        require_equal(operator, executor, {}, f"step {step}")
    assert is_called(operator, executor)


def test_what_is_not_traced_may_change(as_it_was: None) -> None:
    """What a function read before it turned out that it is to be called."""

    @customop("numpy")
    def logged(x):
        LOG.append(SCALE)
        return x * SCALE

    logged.def_grad(lambda ans, x: lambda g: g * SCALE if LOG.append(1) is None else g)
    executor = bound(logged, [np.ones(4, "float32")])
    LOG.clear()
    executor.forward(is_train=True)
    program = executor._programs[True]
    for step in range(3):
        globals().update(SCALE=float(step))
        require_equal(logged, executor, {})
    assert executor._programs[True] is program


def test_what_rules_read_may_not_change_between_forward_and_backward(as_it_was: None) -> None:
    operator, put, _ = made(1.0)
    executor = bound(operator, [np.arange(4, dtype="float32")])
    for _ in range(2):
        executor.forward(is_train=True)
        put(7.0 if _ else 3.0)
        with pytest.raises(MXNetError, match=r"a value that a gradient rule refers to .* Call forward again"):
            executor.backward(nd.ones(4))
    executor.forward(is_train=True)
    np.multiply(WEIGHTS, 2, out=WEIGHTS)  # arrays are read when the rule runs, as eagerly
    executor.backward(nd.ones(4))
    gradient = executor.grad_arrays[0]
    assert gradient is not None
    np.testing.assert_array_equal(gradient.asnumpy(), SCALE * WEIGHTS + np.float32(18))


def test_backward_again_and_after_prediction_reads_captured_arrays(as_it_was: None) -> None:
    operator, _, _ = made(1.0)
    executor = bound(operator, [np.arange(4, dtype="float32")])
    for training in (False, True, True):
        executor.forward(is_train=training)
        for _ in range(2):
            executor.backward(nd.ones(4))
            gradient = executor.grad_arrays[0]
            assert gradient is not None
            np.testing.assert_array_equal(gradient.asnumpy(), SCALE * WEIGHTS + np.float32(18))
        np.multiply(WEIGHTS, 2, out=WEIGHTS)


def test_methods_read_their_instance() -> None:
    class Layer:
        def __init__(self, width: int) -> None:
            self.weight = np.linspace(0, 1, width).astype("float32")
            self.power = 2

        @customop("numpy")
        def scaled(self, x):
            return self.weight * x**self.power

        @scaled.def_grad()
        def scaled_gradient(ans, self, x):
            return lambda g: g * self.weight * self.power * x ** (self.power - 1)

    layer = Layer(4)
    executor = bound(layer.scaled, [np.arange(4, dtype="float32")])
    for change in ({}, {"power": 3}, {"weight": layer.weight + 1}):
        vars(layer).update(change)
        require_equal(layer.scaled, executor, {})
        assert not any(not node.operator.builtin for node in executor._programs[True].steps.forward)


def test_nested_operators_and_redefined_rules() -> None:
    @customop("numpy")
    def inner(x):
        return np.exp(x)

    @customop("numpy")
    def outer(x):
        return inner(x) * 2

    outer.def_grad(lambda ans, x: lambda g: g * ans)
    executor = bound(outer, [np.arange(4, dtype="float32")])
    require_equal(outer, executor, {})
    assert not is_called(outer, executor)
    with pytest.warns(UserWarning, match="is defined already"):
        outer.def_grad(lambda ans, x: lambda g: g * ans * 5)
    require_equal(outer, executor, {})


def test_inputs_may_not_be_changed() -> None:
    @customop("numpy")
    def greedy(x):
        x *= 2
        return x

    @customop("numpy")
    def greedy_rule(x):
        return x * 2

    @greedy_rule.def_grad()
    def rule(ans, x):
        def back(g):
            g *= 2
            return g

        return back

    assert greedy_rule.trace_report(np.ones(3))["gradient of x"].reason == "it stores into an array that it was given"
    with pytest.raises(MutationError, match=r"greedy forward: it changes one of its inputs in place"):
        bound(greedy, [np.ones(3, "float32")])
    executor = bound(greedy_rule, [np.ones(3, "float32")])
    executor.forward(is_train=True)
    with pytest.raises(MutationError, match=r"greedy_rule gradient rule of x: it changes one of its inputs in place"):
        executor.backward(nd.ones(3))


def test_answers_have_memory_of_their_own() -> None:
    table = np.ones(3, "float32")

    @customop("numpy")
    def kept(x):
        return x, table, x[::-1], np.full(3, 7, "float32"), x.copy(), x

    kept.outputs = [f"out{index}" for index in range(6)]
    executor = bound(kept, [np.arange(3, dtype="float32")])
    for _ in range(3):
        outputs = executor.forward()
        expected = [output.asnumpy() for output in outputs]
        for output in outputs:
            output[:] = -5
        assert table.tolist() == [1, 1, 1]
        assert executor.arg_arrays[0].asnumpy().tolist() == [0, 1, 2]
        for output, values in zip(executor.forward(), expected, strict=True):
            np.testing.assert_array_equal(output.asnumpy(), values)
    assert all(node.operator.builtin for node in executor._programs[False].steps.forward)


def test_monitors_see_operators_as_users_wrote_them() -> None:
    case = CASES["gelu"]
    symbol = case.operator(sym.var("x"), name="act")
    executor = symbol.bind(mx.cpu(), {"x": nd.ones((2, 3))}, {"x": nd.zeros((2, 3))})
    executor.forward(is_train=True)
    assert not is_called(case.operator, executor)
    seen: list[str] = []
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward(is_train=True)
    assert seen == ["act_output"]
    executor.set_monitor_callback(None)
    executor.forward(is_train=True)
    assert seen == ["act_output"]
    assert not is_called(case.operator, executor)


def test_symbols_keep_one_named_node() -> None:
    symbol = CASES["gelu"].operator(sym.var("x"), name="act")
    executor = symbol.bind(mx.cpu(), {"x": nd.ones((2, 3))}, {"x": nd.zeros((2, 3))})
    executor.forward(is_train=True)
    assert [(node.name, node.kind) for node in symbol.order] == [("x", "null"), ("act", "gelu")]
    assert {node.name for node in executor._programs[True].steps.forward} <= {"act", "constant"}
    assert {row.name for row in executor.profile(repeat=1)} <= {"act", "constant"}


def test_a_loop_with_very_many_steps_is_called() -> None:
    @customop("numpy")
    def long_loop(x):
        for row in x:
            x = x + row
        return x

    reason = long_loop.trace_report(np.zeros((3000, 1), "float32"))["forward"].reason
    assert reason == "it has more than 2000 steps: is there a loop over rows?"
    assert long_loop.trace_report(np.zeros((30, 1), "float32"))["forward"].traced


@pytest.mark.parametrize("forward", [False, True])
def test_tracing_leaves_nothing_to_the_garbage_collector(forward):
    @customop("numpy")
    def scaled(x):
        return np.tanh(x) * 2.0

    scaled.def_grad(lambda ans, x: lambda g: g * (4 - ans * ans) / 2)

    def run():
        executor = scaled(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.ones((2, 3))}, {"x": nd.zeros((2, 3))})
        if forward:
            executor.forward(is_train=True)
            executor.backward(nd.ones((2, 3)))

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        assert gc.collect() == 0
    finally:
        gc.enable()
