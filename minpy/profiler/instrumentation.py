"""What is timed while a profiler runs, and only then: functions and methods are exchanged for ones that time them.

Nothing is asked on the way of a call while no profiler runs, as the call does not come by here.

- Calls of operators: by name, by method, by sign (`x + y`).
- The tape's walk back: a gradient is `_backward_` and the operator's name, as in MXNet.
- Custom operators: what `forward` and `backward` of a `CustomOp` take themselves is `name::pure_python`, and each
  operator that they call `name::operator`, of the category "Custom Operator".
- Programs (bound symbols, called graphs): they go step by step, as for `Executor.profile`, and each step is timed.
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

    __slots__ = ("inside", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.inside = 0


class _Timed(threading.local):
    operators: tuple[Any, ...] = ()  # what the call that this thread is timing may be a call of
    method: _Method | None = None  # of a custom operator, in which the call is


_timed = _Timed()

_exchange = Exchange()


def remove() -> None:
    """Put back what was there."""
    _exchange.remove()


def install(eager: bool, programs: bool) -> None:
    """Time calls of operators and the tape's walk back, or the steps of programs, or both."""
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


def _timing(
    name: str, operators: tuple[Any, ...], function: Callable[..., Any], arguments: Any, keywords: dict[str, Any]
) -> Any:
    """Call a function, and note it under a name, unless it is part of a call of the same operator that is timed."""
    outer = _timed.operators
    if operators[0] in outer:
        return function(*arguments, **keywords)
    _timed.operators = operators
    start = perf_counter_ns()
    try:
        result = function(*arguments, **keywords)
    finally:
        end = perf_counter_ns()
        _timed.operators = outer
    if LOG.running and not _is_symbolic(result):
        method = _timed.method
        if method is None:
            LOG.add("operator", name, start, end)
        else:
            method.inside += end - start
            LOG.add("Custom Operator", f"{method.name}::{name}", start, end)
    return result


def _timed_method(function: Any) -> Any:
    def run(operator: Any, method: str, *arguments: Any) -> Any:
        name = operator.__name__ if method == "forward" else f"_backward_{operator.__name__}"
        outer = _timed.method, _timed.operators
        timed = _timed.method = _Method(name)
        _timed.operators = (None,)
        start = perf_counter_ns()
        try:
            return function(operator, method, *arguments)
        finally:
            end = perf_counter_ns()
            _timed.method, _timed.operators = outer
            if LOG.running:
                own = end - start - timed.inside
                LOG.add("Custom Operator", f"{name}::pure_python", start, end, {"own nanoseconds": own})

    return run


def _is_symbolic(result: Any) -> bool:
    """Tell whether a call has only been noted in a graph."""
    first = result[0] if isinstance(result, (tuple, list)) and result else result
    return dispatch.kind_of(type(first)) == dispatch.TRACER


def _timed_call(function: Any) -> Any:
    def call(operator: Any, /, *arguments: Any, **attributes: Any) -> Any:
        return _timing(operator.__name__, (operator,), function, (operator, *arguments), attributes)

    return call


def _timed_general_call(function: Any) -> Any:
    def call_on_arrays(operator: Any, inputs: Any, attributes: dict[str, Any]) -> Any:
        return _timing(operator.__name__, (operator,), function, (operator, inputs, attributes), {})

    return call_on_arrays


def _timed_sign(operator: Any) -> Callable[[Any], Any]:
    forms = operator.with_number or (operator, operator)
    operators = (operator, *forms)

    def make(method: Any) -> Any:
        def timed(self: Any, other: Any) -> Any:
            called = forms[method.__name__.startswith("__r")] if type(other) in (int, float) else operator
            return _timing(called.__name__, operators, method, (self, other), {})

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


class _Steps:
    """Times each step, and lets another observer see it."""

    def __init__(self, observer: Any) -> None:
        self._observer = observer
        self._start = perf_counter_ns()

    def __call__(self, node: Node, arguments: Any, result: Any) -> None:
        end = perf_counter_ns()
        if result is not None and node.operator is not CONSTANT and LOG.running:
            of = node.operator.node if isinstance(node.operator, VjpNode) else node
            kind = of.kind if of is node else f"_backward_{of.kind}"
            LOG.add("operator", kind, self._start, end, {"node": of.name})
        if self._observer is not None:
            self._observer(node, arguments, result)
        self._start = perf_counter_ns()


def _timed_forward(function: Any) -> Any:
    def forward(frame: Frame, observer: Any = None) -> Any:
        start = perf_counter_ns()
        heads = function(frame, _Steps(observer))
        if LOG.running:
            LOG.add("program", "forward", start, perf_counter_ns(), {"steps": len(frame.program.steps.forward)})
        return heads

    return forward


def _timed_backward(function: Any) -> Any:
    def backward(frame: Frame, head_gradients: Any, buffers: Any, observer: Any = None) -> None:
        start = perf_counter_ns()
        function(frame, head_gradients, buffers, _Steps(observer))
        if LOG.running:
            LOG.add("program", "backward", start, perf_counter_ns(), {"steps": len(frame.program.steps.backward)})

    return backward
