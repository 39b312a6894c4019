"""What capturing an operator comes to: its steps, and for what is called as it is, which line and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.capture.captured_run import run_captured
from minpy.capture.forwards import capture_forward, definition_of
from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import Reads
from minpy.capture.recorder import Recorder
from minpy.capture.rule_capture import RuleCall, capture_rule
from minpy.core.array import raw_of
from minpy.core.output_counts import returns_tuple_of_one
from minpy.core.signatures import bind
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import CONSTANT, variable

__all__ = ["Part", "Step", "TraceReport", "trace_report"]


@dataclass(frozen=True)
class Step:
    """One step: its kind, the function, the shape and dtype of its result, and the line that it comes from."""

    kind: str
    name: str
    shape: tuple[int, ...]
    dtype: numpy.dtype
    place: SourceLocation | None

    def __str__(self) -> str:
        where = "" if self.place is None else f"  # line {self.place.line}: {self.place.text}"
        return f"{self.kind:<11} {self.name} -> {self.dtype.name} {self.shape}{where}"


@dataclass(frozen=True)
class Part:
    """What became of the forward function, or of the gradient rule of one argument."""

    name: str  # 'forward', or 'gradient of x'
    steps: tuple[Step, ...] = ()
    reason: str = ""  # why it is not captured; empty if it is
    place: SourceLocation | None = None  # the line where that was found

    @property
    def traced(self) -> bool:
        """Whether programs run its steps, and not the function."""
        return not self.reason

    def __str__(self) -> str:
        if self.traced:
            lines = [f"{self.name}: {len(self.steps)} step{'' if len(self.steps) == 1 else 's'}"]
            return "\n".join([*lines, *(f"    {step}" for step in self.steps)])
        where = "" if self.place is None else f"\n    {self.place}: {self.place.text}"
        return f"{self.name}: called as it is, because {self.reason}{where}"


@dataclass(frozen=True)
class TraceReport:
    """What capturing an operator came to, part by part; prints as text."""

    operator: str
    parts: tuple[Part, ...]

    @property
    def traced(self) -> bool:
        """Whether every part is."""
        return all(part.traced for part in self.parts)

    def __getitem__(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(f"{self.operator}: no part {name!r}; there are {', '.join(part.name for part in self.parts)}")

    def __str__(self) -> str:
        return "\n".join([self.operator, *map(str, self.parts)])

    __repr__ = __str__


def trace_report(operator: Any, arguments: Sequence[Any], attributes: dict[str, Any]) -> TraceReport:
    """Return what capturing an operator comes to, for arguments like these. See `Operator.trace_report`."""
    inputs, named = bind(operator.__name__, operator.signature, tuple(arguments), dict(attributes), operator.builtin)
    values = [_value(value) for value in inputs]
    if operator.uses_training and named.get("training") is None:
        named["training"] = False
    forward, results = _forward(operator, values, named)
    parts = [forward]
    for index, value in enumerate(values):
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "fc":
            name = f"gradient of {operator.argument_name(index)}"
            if operator.is_zero(index):
                parts.append(Part(name))
            elif operator.has_rule(index):
                parts.append(_rule(name, operator, index, values, named, results))
    shown = ", ".join(
        f"{name} {value.dtype} {value.shape}" if isinstance(value, numpy.ndarray) else f"{name} {value!r}"
        for name, value in zip(operator.argument_names(len(values)), values, strict=True)
    )
    return TraceReport(f"{operator.__name__}({shown})", tuple(parts))


def _value(value: Any) -> Any:
    buffer = raw_of(value)
    return numpy.array(buffer) if isinstance(buffer, (list, tuple)) else buffer


def _input_proxy(recorder: Recorder, value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        return ArrayProxy.from_outside(recorder, variable("argument"), value.shape, value.dtype)
    return value


def _forward(operator: Any, values: Sequence[Any], attributes: dict[str, Any]) -> tuple[Part, list[Any]]:
    """Return (the part, samples of the outputs)."""
    recorder = Recorder(GraphBuilder(), operator.__name__, ArrayProxy)
    inputs = [_input_proxy(recorder, value) for value in values]

    def trace() -> Any:
        if not operator.builtin:
            return capture_forward(recorder, Reads(), operator, inputs, attributes)
        result = run_captured(recorder, definition_of(operator), *inputs, **attributes)
        return result if isinstance(result, (tuple, list)) else [result]

    part, outputs = _part("forward", recorder, trace)
    if outputs is not None and all(isinstance(result, ArrayProxy) for result in outputs):
        return part, [numpy.broadcast_to(numpy.zeros((), output.dtype), output.shape) for output in outputs]
    with numpy.errstate(all="ignore"):
        result = operator(*values, **attributes) if operator.guarded else operator.forward(*values, **attributes)
    return part, [
        numpy.asarray(raw_of(output)) for output in (result if isinstance(result, (tuple, list)) else [result])
    ]


def _rule(
    name: str, operator: Any, index: int, values: Sequence[Any], attributes: dict[str, Any], results: Sequence[Any]
) -> Part:
    recorder = Recorder(GraphBuilder(), operator.__name__, ArrayProxy)

    def answer_proxies() -> Any:
        array = tuple(_input_proxy(recorder, result) for result in results)
        is_tuple = operator.visible_outputs is not None or returns_tuple_of_one(operator, attributes)
        return array if len(array) > 1 or is_tuple else array[0]

    def trace() -> Any:
        inputs = [_input_proxy(recorder, value) for value in values]
        call = RuleCall(operator, answer_proxies(), inputs, attributes, answer_proxies())
        return capture_rule(recorder, Reads(), call, index, [index])

    return _part(name, recorder, trace)[0]


def _part(name: str, recorder: Recorder, trace: Callable[[], Any]) -> tuple[Part, Any]:
    try:
        result = trace()
    except CaptureRefused as error:
        return Part(name, (), error.reason, error.place), None
    steps = tuple(
        Step(recorder.kinds[node], _name(node.operator), *recorder.facts[node], recorder.places[node])
        for node in recorder.nodes
        if node.operator is not CONSTANT
    )
    return Part(name, steps), result


def _name(operator: Any) -> str:
    """Return what NumPy calls the function of a step."""
    forward = operator.forward
    return forward.__name__ if isinstance(forward, numpy.ufunc) else str(operator.__name__).removeprefix("_numpy_")
