"""Functions traced, and what came of it computed node by node: the naive way, beside which programs are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.capture.captured_run import run_captured
from minpy.capture.forwards import capture_forward, definition_of
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import Reads
from minpy.capture.recorder import Recorder
from minpy.capture.rule_capture import RuleCall, capture_rule
from minpy.core import Operator
from minpy.graph.builder import GraphBuilder
from minpy.graph.interpreting import step_call
from minpy.graph.ir import Node, Value, topological, variable

__all__ = ["Trace", "traced_definition", "traced_forward", "traced_rule"]


class Trace:
    """One trace: its stand-ins, and the arrays that they stand for."""

    def __init__(self) -> None:
        self.recorder = Recorder(GraphBuilder(), "trace", ArrayProxy)
        self.reads = Reads()
        self.arrays: dict[Node, Any] = {}

    def given(self, value: Any) -> Any:
        """Return what stands for an array, or for a tuple of them; other values as they are."""
        if isinstance(value, tuple):
            return tuple(map(self.given, value))
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        made = variable("given")
        self.arrays[made.node] = np.asarray(value)
        return ArrayProxy.from_outside(self.recorder, made, np.shape(value), np.asarray(value).dtype)

    def compute(self, part: ArrayProxy, others: Sequence[Any] = ()) -> Any:
        """Return the value of a stand-in; `others` are arrays to use in place of those that were given, in order."""
        env: dict[Node, Any] = dict(self.arrays)
        env.update(zip(list(self.arrays), others, strict=False))
        env.update(zip(self.reads.nodes, self.reads.arrays(), strict=True))
        for node in topological([part.value]):
            if node not in env:
                arguments = [self._read(env, value) for value in node.inputs]
                env[node] = step_call(node)(*arguments)
        found = self._read(env, part.value)
        assert (np.shape(found), np.asarray(found).dtype) == (part.shape, part.dtype), part.value.node
        return found

    @staticmethod
    def _read(env: dict[Node, Any], value: Value) -> Any:
        answer = env[value.node]
        return answer[value.index] if isinstance(answer, tuple) else answer


def traced_forward(operator: Operator, arrays: Sequence[Any], **attributes: Any) -> tuple[Trace, list[ArrayProxy]]:
    """Return the trace of a user's forward function; `CaptureRefused` if there is none."""
    trace = Trace()
    return trace, capture_forward(trace.recorder, trace.reads, operator, [*map(trace.given, arrays)], attributes)


def traced_rule(
    operator: Operator, index: int, answer: Any, arrays: Sequence[Any], attributes: dict[str, Any], gradient: Any
) -> tuple[Trace, ArrayProxy]:
    """Return the trace of the rule of one input; `CaptureRefused` if there is none."""
    trace = Trace()
    arguments = [trace.given(array) for array in arrays]
    call = RuleCall(operator, trace.given(answer), arguments, attributes, trace.given(gradient))
    return trace, capture_rule(trace.recorder, trace.reads, call, index, [index])[index]


def traced_definition(operator: Operator, arrays: Sequence[Any], attributes: dict[str, Any]) -> tuple[Trace, list[Any]]:
    """Return the trace of a built-in operator's definition, and its outputs; `CaptureRefused` if there is none."""
    trace = Trace()
    answer = run_captured(trace.recorder, definition_of(operator), *map(trace.given, arrays), **attributes)
    return trace, list(answer) if isinstance(answer, (tuple, list)) else [answer]
