"""The timing of calls: while a profiler runs, functions and methods are replaced by ones that time them.

While no profiler runs, calls do not pass here, and cost nothing more.

- Calls of operators: by name, by method, by sign (`x + y`).
- The tape's backward pass: a gradient is `_backward_` and the operator's name, as in MXNet.
- Custom operators: the time of `forward` and `backward` of a `CustomOp` itself is `name::pure_python`, and that of
  each operator that they call `name::operator`, of the category "Custom Operator".
- Programs (bound symbols, called graphs): they run step by step, as for `Executor.profile`, and each step is timed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from minpy.core import dispatch, tape_walk
from minpy.core.base_operator import BaseOperator
from minpy.core.configured import OperatorFamily
from minpy.core.exchanging import Exchange
from minpy.custom import prop_operator as custom_operator
from minpy.graph.compiled import Compiled
from minpy.graph.frame import Frame, start
from minpy.graph.gradient import VjpNode
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.program import Program
from minpy.ndarray import NDArray, methods
from minpy.numpy.array_class import ndarray as numpy_ndarray
from minpy.ops.optimizer.updates import Update
from minpy.ops.registry import FUNCTIONS
from minpy.ops.ufunc import UnaryUfunc
from minpy.profiler.event_log import LOG

__all__ = ["install", "remove"]


class _Method:
    """A method of a `CustomOp` that is being timed: its name, and nanoseconds of the operators that it called."""

    __slots__ = ("name", "operator_time")

    def __init__(self, name: str) -> None:
        self.name = name
        self.operator_time = 0


class _ThreadState(threading.local):
    operators: tuple[Any, ...] = ()  # the operators that the call being timed may be of
    method: _Method | None = None  # the method of a custom operator around that call


_thread = _ThreadState()

_exchange = Exchange()


def remove() -> None:
    """Restore the original functions and methods."""
    _exchange.remove()


def install(eager: bool, programs: bool) -> None:
    """Time calls of operators and the tape's backward pass, or the steps of programs, or both."""
    if eager:
        for kind in (BaseOperator, UnaryUfunc, Update):
            _exchange.put(kind, "__call__", _timed_call)
        _exchange.put(dispatch, "call_on_arrays", _timed_general_call)
        for family in OperatorFamily.__subclasses__():  # short cuts past what is timed
            if "__call__" in vars(family):
                _exchange.put(family, "__call__", lambda _: OperatorFamily.__call__)
        for cls in (NDArray, numpy_ndarray):
            for sign, operator in methods.ARITHMETIC.items():
                for prefix in ("", "r", "i"):
                    if f"__{prefix}{sign}__" in vars(cls):
                        _exchange.put(cls, f"__{prefix}{sign}__", _timed_sign(operator))
            for sign, (operator, ufunc) in methods.COMPARISONS.items():
                timed = operator if cls is NDArray else FUNCTIONS[ufunc]
                _exchange.put(cls, f"__{sign}__", _timed_sign(timed))
        _exchange.put(tape_walk, "_walk_direct", _timed_rules)
        _exchange.put(tape_walk, "_vjp", _timed_vjp)
    if eager or programs:
        _exchange.put(custom_operator, "run_method", _timed_method)
    if programs:
        _exchange.put(Compiled, "may_plan", lambda _: lambda compiled, key: True)  # all graphs run as programs
        _exchange.put(Program, "run", lambda _: lambda program, arrays, out=(): start(program, arrays)[0])
        _exchange.put(Program, "run_with_gradients", lambda _: lambda program, arrays: None)  # callers take frames
        _exchange.put(Frame, "forward", _timed_forward)
        _exchange.put(Frame, "backward", _timed_backward)


# -- calls ---------------------------------------------------------------------------------------------------------


def _call_timed(
    name: str, operators: tuple[Any, ...], function: Callable[..., Any], arguments: Any, keywords: dict[str, Any]
) -> Any:
    """Time a call of a function under a name, unless a call of the same operator around it is being timed."""
    outer = _thread.operators
    if operators[0] in outer:
        return function(*arguments, **keywords)
    _thread.operators = operators
    start = perf_counter_ns()
    try:
        result = function(*arguments, **keywords)
    finally:
        end = perf_counter_ns()
        _thread.operators = outer
    if LOG.running and not _is_symbolic(result):
        method = _thread.method
        if method is None:
            LOG.add("operator", name, start, end)
        else:
            method.operator_time += end - start
            LOG.add("Custom Operator", f"{method.name}::{name}", start, end)
    return result


def _timed_method(function: Any) -> Any:
    def run(operator: Any, method: str, *arguments: Any) -> Any:
        name = operator.__name__ if method == "forward" else f"_backward_{operator.__name__}"
        outer = _thread.method, _thread.operators
        timed = _thread.method = _Method(name)
        _thread.operators = (None,)
        start = perf_counter_ns()
        try:
            return function(operator, method, *arguments)
        finally:
            end = perf_counter_ns()
            _thread.method, _thread.operators = outer
            if LOG.running:
                own = end - start - timed.operator_time
                LOG.add("Custom Operator", f"{name}::pure_python", start, end, {"own nanoseconds": own})

    return run


def _is_symbolic(result: Any) -> bool:
    """Tell whether a call was only recorded in a graph."""
    first = result[0] if isinstance(result, (tuple, list)) and result else result
    return dispatch.kind_of(type(first)) == dispatch.TRACER


def _timed_call(function: Any) -> Any:
    def call(operator: Any, /, *arguments: Any, **attributes: Any) -> Any:
        return _call_timed(operator.__name__, (operator,), function, (operator, *arguments), attributes)

    return call


def _timed_general_call(function: Any) -> Any:
    def call_on_arrays(operator: Any, inputs: Any, attributes: dict[str, Any]) -> Any:
        return _call_timed(operator.__name__, (operator,), function, (operator, inputs, attributes), {})

    return call_on_arrays


def _timed_sign(operator: Any) -> Callable[[Any], Any]:
    forms = operator.with_number or (operator, operator)
    operators = (operator, *forms)

    def make(method: Any) -> Any:
        def timed(self: Any, other: Any) -> Any:
            called = forms[method.__name__.startswith("__r")] if type(other) in (int, float) else operator
            return _call_timed(called.__name__, operators, method, (self, other), {})

        return timed

    return make


# -- gradients -----------------------------------------------------------------------------------------------------


def _timed_rules(function: Any) -> Any:
    def walk_direct(node: Any, operator: Any, *arguments: Any) -> None:
        if type(node.dtype) is tuple:  # goes on to `_vjp`
            return function(node, operator, *arguments)
        start = perf_counter_ns()
        function(node, operator, *arguments)
        if LOG.running:
            LOG.add("operator", f"_backward_{operator.__name__}", start, perf_counter_ns())
        return None

    return walk_direct


def _timed_vjp(function: Any) -> Any:
    def vjp(node: Any, *arguments: Any, **keywords: Any) -> Any:
        start = perf_counter_ns()
        parts = function(node, *arguments, **keywords)
        if LOG.running:
            LOG.add("operator", f"_backward_{node.operator.__name__}", start, perf_counter_ns())
        return parts

    return vjp


# -- programs ------------------------------------------------------------------------------------------------------


class _StepTimer:
    """Times each step, and passes it on to another observer."""

    def __init__(self, observer: Any) -> None:
        self._observer = observer
        self._start = perf_counter_ns()

    def __call__(self, node: Node, arguments: Any, result: Any) -> None:
        end = perf_counter_ns()
        if result is not None and node.operator is not CONSTANT and LOG.running:
            source = node.operator.node if isinstance(node.operator, VjpNode) else node
            kind = source.kind if source is node else f"_backward_{source.kind}"
            LOG.add("operator", kind, self._start, end, {"node": source.name})
        if self._observer is not None:
            self._observer(node, arguments, result)
        self._start = perf_counter_ns()


def _timed_forward(function: Any) -> Any:
    def forward(frame: Frame, observer: Any = None) -> Any:
        start = perf_counter_ns()
        outputs = function(frame, _StepTimer(observer))
        if LOG.running:
            LOG.add("program", "forward", start, perf_counter_ns(), {"steps": len(frame.program.steps.forward)})
        return outputs

    return forward


def _timed_backward(function: Any) -> Any:
    def backward(frame: Frame, head_gradients: Any, buffers: Any, observer: Any = None) -> None:
        start = perf_counter_ns()
        function(frame, head_gradients, buffers, _StepTimer(observer))
        if LOG.running:
            LOG.add("program", "backward", start, perf_counter_ns(), {"steps": len(frame.program.steps.backward)})

    return backward
