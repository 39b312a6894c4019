"""What users see who debug an operator: one traceback that ends at their line, rules that run once, breakpoints."""

from __future__ import annotations

import bdb
import inspect
import io
import os
import pdb
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any

import autograd as hips
import autograd.numpy as anp
import numpy as np
import pytest
from custom_operators import register

import minpy as mx
from minpy import autograd, customop, gluon, nd
from minpy.backends.switches import CompileWarning
from minpy.core.errors import OperatorError

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]], "float32")
PACKAGE = os.path.dirname(mx.__file__)


def numpy_arrays(op: Any) -> None:
    mx.grad(lambda x: op(x).sum())(X)


def recorded(op: Any) -> None:
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        y = op(x)
    y.backward()


def recorded_deep(op: Any) -> None:
    x = mx.np.array(X)
    x.attach_grad()
    with autograd.record():
        y = (op(x * 2) * 3).sum()
    y.backward()


def second_order(op: Any) -> None:
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        y = op(x)
        autograd.grad(y, x, create_graph=True)


def in_hips(op: Any) -> None:
    hips.grad(lambda x: anp.sum(op(x)))(X)


def in_symbol(op: Any) -> None:
    executor = op(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.array(X)}, {"x": nd.zeros(X.shape)})
    executor.forward(is_train=True)
    executor.backward(nd.ones(X.shape))


def hybridized(op: Any) -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return op(x)

    net = Net()
    net.hybridize()
    recorded(net)


def compiled(op: Any) -> None:
    recorded(mx.compile(lambda x: op(x)))


def compiled_as_written(op: Any) -> None:
    """Compile a function that cannot be captured: it says so once."""
    line = inspect.getsourcelines(forward_with_breakpoint)[1] + 2
    message = (
        "it calls forward_with_breakpoint, an operator of a user: what it gives is not known without a call, because "
        rf"breakpoint is not known to be free of effects \(line {line} of test_debugging.py\)\. Say it with "
        r"forward_with_breakpoint\.def_shape, and def_infer_type where dtypes differ \(test_debugging.py:\d+\)"
    )
    with pytest.warns(CompileWarning, match=message) as seen:
        compiled(op)
    assert len(seen) == 1


MODES = {
    "NumPy arrays": numpy_arrays,
    "recorded": recorded,
    "recorded, deep": recorded_deep,
    "second order": second_order,
    "HIPS autograd": in_hips,
    "symbol": in_symbol,
    "hybridized": hybridized,
    "compiled": compiled,
}
CALLS: list[str] = []


def fail() -> None:
    CALLS.append("called")
    raise KeyError("deliberately")


def with_bad_rule(kind: str, **options: Any) -> Any:
    op = customop(kind, **options)(lambda x: x * 2)

    def staged(ans: Any, x: Any) -> Any:
        def pull_back(g: Any) -> Any:
            fail()
            return g

        return pull_back

    op.def_grad(staged)
    return op


def with_bad_staging() -> Any:
    op = customop("numpy")(lambda x: x * 2)

    def staged(ans: Any, x: Any) -> Any:
        fail()
        return lambda g: g

    op.def_grad(staged)
    return op


def with_bad_multiple_rule() -> Any:
    op = customop("numpy")(lambda x: x * 2)

    @op.def_multiple_grad
    def staged(ans: Any, x: Any) -> Any:
        def pull_back(g: Any) -> Any:
            fail()
            return (g,)

        return pull_back

    return op


def bad_prop() -> Any:
    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            fail()

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Op()

    op_type = register(Prop)
    return lambda x: (mx.sym if isinstance(x, mx.sym.Symbol) else nd).Custom(x, op_type=op_type)


RULES: dict[str, Callable[[], Any]] = {
    "rule": lambda: with_bad_rule("numpy"),
    "rule with NDArrays": lambda: with_bad_rule("mxnet"),
    "rule of a compiled operator": lambda: with_bad_rule("numpy", compile=True),
    "staging of a rule": with_bad_staging,
    "rule of several": with_bad_multiple_rule,
    "CustomOp": bad_prop,
}


def require_one_traceback(error: BaseException) -> list[Any]:
    """Require that an error shows one traceback, which ends where `fail` raised; return its frames."""
    text = "".join(traceback.format_exception(error))
    assert text.count("Traceback (most recent call last)") == 1, text
    frames = traceback.extract_tb(error.__traceback__)
    assert [frame.name for frame in frames[-1:]] == ["fail"], text
    assert frames[-2].filename == __file__
    return frames


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("written", RULES)
def test_a_rule_that_raises_runs_once_and_shows_one_traceback(written: str, mode: str) -> None:
    if written == "CustomOp" and mode in ("second order", "compiled"):
        pytest.skip("a CustomOp has no second order, and is called from a compiled function as it is")
    CALLS.clear()
    with pytest.raises(KeyError) as caught:
        MODES[mode](RULES[written]())
    assert CALLS == ["called"]
    require_one_traceback(caught.value)
    assert isinstance(caught.value, OperatorError)
    assert type(caught.value.original) is KeyError
    assert "deliberately" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.original) == (str(caught.value), None)


@pytest.mark.parametrize("array", [np.array, nd.array, mx.np.array], ids=["NumPy", "NDArray", "np"])
def test_few_frames_of_ours_stand_between(array: Any) -> None:
    op = customop("numpy")(lambda x: fail())
    with pytest.raises(KeyError) as caught:
        op(array(X))
    ours = [frame for frame in require_one_traceback(caught.value) if frame.filename.startswith(PACKAGE)]
    assert len(ours) <= 4, ours


def test_the_staging_of_a_rule_that_is_no_function_of_the_gradient() -> None:
    op = customop("numpy")(lambda x: x * 2)
    runs = []

    def forgets_to_stage(ans: Any, x: Any) -> Any:
        runs.append(x)
        return x * 2

    op.def_grad(forgets_to_stage)
    with pytest.raises(mx.MXNetError, match="expected a function of the upstream gradient") as caught:
        recorded(op)
    assert len(runs) == 1
    assert "".join(traceback.format_exception(caught.value)).count("Traceback (most recent") == 1


# -- breakpoints -------------------------------------------------------------------------------------------------------


def forward_with_breakpoint(x: Any) -> Any:
    doubled = 2 * x
    breakpoint()
    return doubled


def rule_with_breakpoint(ans: Any, x: Any) -> Any:
    def pull_back(g: Any) -> Any:
        found = 2 * g
        breakpoint()
        return found

    return pull_back


@pytest.mark.parametrize("compile", [False, True], ids=["plain", "compile=True"])
@pytest.mark.parametrize("mode", MODES)
def test_breakpoints_stop_in_the_users_frame(mode: str, compile: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[tuple[str, str]] = []
    files: set[str] = set()

    def stop() -> None:
        frame = sys._getframe(1)
        files.add(frame.f_code.co_filename)
        value = frame.f_locals.get("doubled", frame.f_locals.get("found"))
        stops.append((frame.f_code.co_name, type(value).__name__))

    monkeypatch.setattr(sys, "breakpointhook", stop)
    op = customop("numpy", compile=compile)(forward_with_breakpoint)
    op.def_grad(rule_with_breakpoint)
    (compiled_as_written if mode == "compiled" else MODES[mode])(op)
    assert files == {__file__}
    assert {name for name, _ in stops} == {"forward_with_breakpoint", "pull_back"}
    if mode not in ("second order", "HIPS autograd"):
        assert {kind for _, kind in stops} == {"ndarray"}, "values are there, and no stand-ins"


@pytest.mark.parametrize("compile", [False, True], ids=["plain", "compile=True"])
@pytest.mark.parametrize("part", ["forward", "rule"])
@pytest.mark.parametrize("mode", [*MODES, "check"])
def test_to_quit_the_debugger_ends_the_program(
    mode: str, part: str, compile: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[str] = []

    def stop() -> None:
        stops.append(sys._getframe(1).f_code.co_name)
        raise bdb.BdbQuit

    monkeypatch.setattr(sys, "breakpointhook", stop)
    op = customop("numpy", compile=compile)(forward_with_breakpoint if part == "forward" else lambda x: 2 * x)
    op.def_grad(rule_with_breakpoint if part == "rule" else lambda ans, x: lambda g: 2 * g)
    with pytest.raises(bdb.BdbQuit):
        op.check(X.astype("float64")) if mode == "check" else MODES[mode](op)
    assert len(stops) == 1


def test_a_rule_that_stops_has_all_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def rule(ans: Any, x: Any) -> Any:
        breakpoint()
        return lambda g: 2 * g

    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.update(sys._getframe(1).f_locals))
    op = customop("numpy")(lambda x: 2 * x)
    op.def_grad(rule)
    recorded(op)
    assert seen["x"].tolist() == X.tolist()
    assert seen["ans"].tolist() == (2 * X).tolist()


def test_the_debugger_shows_the_users_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    commands = "p 'values', doubled.shape\nlist\nnext\nwhere\ncontinue\n"

    def stop() -> None:
        debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=shown, nosigint=True, readrc=False)
        debugger.use_rawinput = False
        debugger.set_trace(sys._getframe(1))

    monkeypatch.setattr(sys, "breakpointhook", stop)
    tracing = sys.gettrace()
    try:
        customop("numpy")(forward_with_breakpoint)(nd.array(X))
    finally:
        sys.settrace(tracing)
    text = shown.getvalue()
    assert "test_debugging.py" in text.splitlines()[0]
    assert "forward_with_breakpoint" in text.splitlines()[0]
    assert "('values', (2, 3))" in text
    assert "return doubled" in text
    assert text.rstrip().removesuffix("(Pdb)").rstrip().endswith("-> return doubled"), (
        "`where` ends in the user's frame"
    )
