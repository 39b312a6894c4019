"""One operator alone: its forward function and its rules run as programs where that is faster, also outside of graphs.

An operator that is compiled has these in the places of its kernels: for each kind of arguments its definition is
captured into a program, which is fused into native code. Which of the two runs is measured, not guessed: a small array
is computed by NumPy before a program has even been entered.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy

from minpy.backends.switches import is_enabled
from minpy.capture.forwards import capture_forward, definition_of
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import CONSTANT_TYPES, Reads
from minpy.capture.recorder import Recorder
from minpy.capture.rule_capture import RuleCall, capture_rule
from minpy.capture.steps import frozen
from minpy.core.array import Array, Shaped, raw_of
from minpy.core.errors import is_quitting
from minpy.core.floating_point import is_calm
from minpy.core.gradient_rules import OutputBuffer, Unstaged, VjpInto
from minpy.graph.allowance import Allowance
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import Node, Value, topological, variable
from minpy.graph.operator_inlining import Inliner
from minpy.graph.program import Program
from minpy.graph.schedule import Steps
from minpy.jit.trial import Candidate

__all__ = ["CompiledForward", "CompiledRule", "install"]

# Arguments that are compared by what they are.
_BY_VALUE = (*CONSTANT_TYPES, list, dict, slice)
# Kinds of arguments that are remembered for one function; beyond that the oldest is dropped.
_MAX_KINDS = 128
# Calls as written that are timed before a program is made.
_OFTEN = 3
# A program is not even made where NumPy takes less than so many times what entering a program costs.
_MIN_SPEEDUP = 2.0


def install(operator: Any) -> None:
    """Put programs in the places of an operator's kernels, for its forward function and all rules that it has."""
    definition = definition_of(operator)
    if operator.forward is definition:
        operator.forward = CompiledForward(operator, definition)
    gradients = operator.gradients
    for index, rule in enumerate(gradients.definitions):
        if rule is not None and gradients.raw[index] is rule:
            gradients.raw[index] = CompiledRule(operator, rule, index)
    for indices, rule in gradients.several:
        if rule not in gradients.several_raw:
            gradients.several_raw[rule] = CompiledRule(operator, rule, 0 if indices is None else indices[0], True)


# -- capturing ---------------------------------------------------------------------------------------------------------


class _FunctionCapture:
    """One capture of a function: proxies of its arguments, and the steps that came of it."""

    def __init__(self, title: str) -> None:
        self.recorder = Recorder(GraphBuilder(), title, ArrayProxy)
        self.reads = Reads()
        self._inputs: list[Node] = []
        self._shapes_only: set[Node] = set()  # arguments of which no values are there

    def proxy(self, value: Any) -> Any:
        """Return the proxy of an argument: for an array a variable, for a number itself."""
        if isinstance(value, tuple):
            return tuple(map(self.proxy, value))
        value = raw_of(value)
        if not isinstance(value, (numpy.ndarray, Shaped)):
            return value
        node = variable(f"argument{len(self._inputs)}").node
        if isinstance(value, numpy.ndarray):
            self._inputs.append(node)
        else:
            self._shapes_only.add(node)
        return ArrayProxy.from_outside(self.recorder, Value(node), value.shape, value.dtype)

    def steps(self, outputs: Sequence[ArrayProxy]) -> Steps:
        """Return the steps that give some proxies, of the arrays in the order in which they were given."""
        values = [output.value for output in outputs]
        order = topological(values)
        if not self._shapes_only.isdisjoint(order):
            raise self.recorder.refuse("it reads values where it was said to read shapes only")
        facts = self.recorder.facts
        return Steps(
            outputs=values,
            variables=[*self._inputs, *self.reads.nodes],
            forward=[node for node in order if node.operator is not None],
            training=False,
            repeatable=False,
            num_inputs=len(self._inputs),
            reads=self.reads,
            inline=True,
            _written=values,
            _inliner=Inliner(),
            _builder=self.recorder.builder,
            _shapes={Value(node): shape for node, (shape, _) in facts.items()},
            _dtypes={Value(node): dtype for node, (_, dtype) in facts.items()},
        )


# -- choosing ----------------------------------------------------------------------------------------------------------


class _Kind:
    """One kind of arguments: the program for it, and how long the function takes as it is written."""

    __slots__ = ("calls", "candidate", "eager_time", "facts", "form", "positions", "program", "reason")

    may_run_twice = True  # what was captured has no effects

    def __init__(self) -> None:
        self.program: Program | None = None
        self.candidate: Candidate | None = None
        self.positions: tuple[int, ...] | None = None  # which argument each output is the gradient of
        self.facts: list[tuple[tuple[int, ...], numpy.dtype]] = []  # shapes and dtypes of the outputs
        self.form: tuple[type, ...] | type | None = None  # what the function has returned: types of one, or of several
        self.eager_time = float("inf")
        self.calls = 0
        self.reason = ""  # why the function runs as it is written, once that is decided

    @property
    def is_settled(self) -> bool:
        """Whether the program is native code."""
        return self.program is not None and self.program.executable() is not None

    def note(self, result: Any, seconds: float) -> None:
        """Note what the function returns as written: NumPy has scalars in the place of arrays without axes."""
        self.form = tuple(map(type, result)) if isinstance(result, (tuple, list)) else type(result)
        self.eager_time = min(self.eager_time, seconds)
        self.calls += 1

    def output_buffers(
        self, targets: Mapping[int, OutputBuffer], captured: Sequence[numpy.ndarray]
    ) -> list[numpy.ndarray | None]:
        """Return, for each output, the buffer in which native code may compute it; nothing where some do not fit.

        They would be refused, or converted, after others have been written. A buffer may be that of an array that the
        rule refers to, which is read meanwhile.
        """
        assert self.positions is not None
        facts = dict(zip(self.positions, self.facts, strict=True))
        if any(facts.get(position) != (target.shape, target.dtype) for position, target in targets.items()):
            return []
        if captured:
            buffers = [target.buffer for target in targets.values() if target.buffer is not None]
            if any(numpy.may_share_memory(buffer, array) for buffer in buffers for array in captured):
                return []
        return [targets[position].buffer if position in targets else None for position in self.positions]

    def give_up(self, reason: str) -> None:
        """Let the function run as it is written from now on."""
        self.reason, self.program = reason, None


class _Compiled:
    """A function of raw arrays that runs as it is written, as its `definition`, or as a program: what is faster."""

    # It computes what the definition does: whoever captures that need not look for another form.
    is_program = True

    def __init__(self, operator: Any, definition: Callable[..., Any]) -> None:
        self.operator = operator
        self.definition = definition
        self.__wrapped__ = definition
        # Its code says what it reads, where that is asked.
        self.adapted_from = getattr(definition, "adapted_from", definition)
        self._kinds: dict[Any, _Kind] = {}
        self._lock = threading.Lock()
        # With so few elements NumPy is done before a program has been entered, as far as has been measured.
        self._eager_threshold = 0
        self._budget = Allowance()
        self._changes = 0  # how often what the function refers to was another than when it was captured

    def __reduce__(self) -> Any:
        return type(self), (self.operator, self.definition)

    def captured_outputs(
        self, capture: _FunctionCapture, values: Sequence[Any], attributes: dict[str, Any]
    ) -> tuple[list[ArrayProxy], Any]:
        """Return (what the function gives for proxies; the positions of the arguments these are gradients of)."""
        raise NotImplementedError

    def result_of(self, outputs: Sequence[Any], positions: Any, values: Sequence[Any]) -> Any:
        """Return what the function returns, from the outputs of a program."""
        raise NotImplementedError

    def reasons(self) -> dict[Any, str]:
        """Return, for each kind of arguments that there was, why which way is taken: for reports."""
        return {key: self._reason(kind) for key, kind in self._kinds.items()}

    def _reason(self, kind: _Kind) -> str:
        if kind.reason:
            return kind.reason
        if kind.candidate is not None and kind.candidate.is_decided:
            return "the program is faster"
        if kind.calls < _OFTEN or kind.candidate is not None:
            return "not decided yet"
        # Programs have taken as long as they may.
        return "what it refers to changes again and again" if self._changes else "there are ever new kinds of arguments"

    def run(
        self,
        function: Callable[[], Any],
        values: Sequence[Any],
        attributes: dict[str, Any],
        targets: Mapping[int, OutputBuffer] | None = None,
    ) -> Any:
        """Return what `function()` does, which runs the definition on `values`; or what a program gives for them.

        A program may compute outputs in `targets`, by their `positions`.
        """
        arrays: list[numpy.ndarray] = []
        try:
            kinds = tuple([_kind_of(value, arrays) for value in values])
            size = sum([array.size for array in arrays])
            if size <= self._eager_threshold or not is_enabled() or not is_calm():
                return function()
            key = (kinds, frozen(attributes)) if attributes else kinds
            kind = self._kinds.get(key)
        except TypeError:  # among the arguments there is what cannot be compared
            return function()
        if kind is None:
            kind = self._kinds.setdefault(key, _Kind())
            while len(self._kinds) > _MAX_KINDS:
                self._kinds.pop(next(iter(self._kinds)), None)
        program, candidate = kind.program, kind.candidate
        if program is None or candidate is None:
            return function() if kind.reason else self._eager(kind, function, values, attributes, size)
        if not program.steps.is_valid():  # what the function refers to is another than it was
            self._changes += 1
            self._kinds.pop(key, None)
            return function()
        if candidate.is_decided:
            return self._computed(kind, function, values, arrays, targets)
        return self._compared(kind, program, candidate, function, values, arrays)

    def _eager(
        self, kind: _Kind, function: Callable[[], Any], values: Sequence[Any], attributes: dict[str, Any], size: int
    ) -> Any:
        """Run the function as it is written, take the time, and make a program when that may be worth it."""
        began = perf_counter()
        result = function()
        seconds = perf_counter() - began
        kind.note(result, seconds)
        self._budget.eager_seconds += seconds
        if kind.calls < _OFTEN:
            return result
        if kind.eager_time < _MIN_SPEEDUP * seconds_to_enter():
            kind.give_up("NumPy is done before a program has been entered")
            self._eager_threshold = max(self._eager_threshold, size)
        elif not _is_array_result(kind.form):
            kind.give_up("it returns what is no array")
        elif self._budget.is_free or self._budget.covers():
            with self._lock:
                if kind.candidate is None and not kind.reason:
                    self._capture(kind, values, attributes)
        return result

    def _compared(
        self,
        kind: _Kind,
        program: Program,
        candidate: Candidate,
        function: Callable[[], Any],
        values: Sequence[Any],
        arrays: list[numpy.ndarray],
    ) -> Any:
        """Run the program, and, once it is native code, also the function: the faster one stays."""
        began = perf_counter()
        result = self._computed(kind, function, values, arrays)
        candidate.note(perf_counter() - began, function)
        if candidate.runs_eagerly:
            kind.give_up("NumPy is faster")
        elif not kind.is_settled and not program.may_improve:
            kind.give_up("its program is not native code")
        return result

    def _capture(self, kind: _Kind, values: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Capture the function as a program, or note why it cannot be."""
        began = perf_counter()
        capture = _FunctionCapture(self.operator.__name__)
        try:
            outputs, kind.positions = self.captured_outputs(capture, values, attributes)
            kind.facts = [(output.shape, output.dtype) for output in outputs]
            program = Program(capture.steps(outputs))
            program.rounds = 1  # it has been called often enough: one run tells what is to be known
            kind.candidate, kind.program = Candidate(None, kind), program
        except CaptureRefused as error:
            kind.give_up(str(error))
        self._budget.charge(perf_counter() - began)

    def _computed(
        self,
        kind: _Kind,
        function: Callable[[], Any],
        values: Sequence[Any],
        arrays: list[numpy.ndarray],
        targets: Mapping[int, OutputBuffer] | None = None,
    ) -> Any:
        program = kind.program
        if program is None:
            return function()
        try:
            out: Sequence[numpy.ndarray | None] = ()
            if targets:
                steps = program.steps
                out = kind.output_buffers(targets, steps.with_captured(arrays)[steps.num_inputs :])
            outputs = program.run(arrays, out)
        except Exception as error:
            if is_quitting(error):
                raise
            return function()  # its own error says more, and is at the user's line
        return self.result_of(outputs, kind, values)


class CompiledForward(_Compiled):
    """The forward function of an operator, in the place of its kernel."""

    def __init__(self, operator: Any, definition: Callable[..., Any]) -> None:
        super().__init__(operator, definition)
        self.__name__ = operator.__name__

    def __call__(self, *values: Any, **attributes: Any) -> Any:
        """Return what the definition returns for raw arrays."""
        return self.run(lambda: self.definition(*values, **attributes), values, attributes)

    def captured_outputs(
        self, capture: _FunctionCapture, values: Sequence[Any], attributes: dict[str, Any]
    ) -> tuple[list[ArrayProxy], Any]:
        """Return what the forward function gives for proxies."""
        inputs = [capture.proxy(value) for value in values]
        return capture_forward(capture.recorder, capture.reads, self.operator, inputs, attributes), None

    def result_of(self, outputs: Sequence[Any], kind: _Kind, values: Sequence[Any]) -> Any:
        """Return an array or a scalar, or a tuple of them, as the function does."""
        if isinstance(kind.form, tuple):
            return tuple(map(self._as, outputs, kind.form))
        return self._as(outputs[0], kind.form)

    def _as(self, output: numpy.ndarray, form: Any) -> Any:
        if form is numpy.ndarray:
            return output
        return self.operator.wrap_raw(output) if issubclass(form, Array) else output[()]


class CompiledRule(_Compiled):
    """A gradient rule of an operator, in the place of its kernel.

    `index`: the position of the argument that it is for, or of one of them. `several`: whether it is a rule of
    `def_multiple_grad`, which returns a tuple.
    """

    def __init__(self, operator: Any, definition: Callable[..., Any], index: int, several: bool = False) -> None:
        super().__init__(operator, definition)
        self.index = index
        self.several = several

    def __reduce__(self) -> Any:
        return CompiledRule, (self.operator, self.definition, self.index, self.several)

    def __call__(self, ans: Any, *values: Any, **attributes: Any) -> Callable[[Any], Any]:
        """Return the function from the upstream gradient to that of the argument, or to a tuple of them."""
        return _Vjp(self, ans, values, attributes)

    def captured_outputs(
        self, capture: _FunctionCapture, values: Sequence[Any], attributes: dict[str, Any]
    ) -> tuple[list[ArrayProxy], Any]:
        """Return what the rule gives for proxies."""
        gradient, ans, *arguments = [capture.proxy(value) for value in values]
        if not isinstance(gradient, (ArrayProxy, tuple)):
            raise capture.recorder.refuse("the upstream gradient is no array")
        if ans is None:  # the rule does not read it: any of its kind will do
            ans = gradient
        requires_grad = [position for position, value in enumerate(arguments) if isinstance(value, ArrayProxy)]
        call = RuleCall(self.operator, ans, arguments, attributes, gradient)
        gradients = capture_rule(capture.recorder, capture.reads, call, self.index, requires_grad)
        return list(gradients.values()), tuple(gradients)

    def result_of(self, outputs: Sequence[Any], kind: _Kind, values: Sequence[Any]) -> Any:
        """Return the gradient, or the tuple that the rule returns."""
        if self.operator.kind == "mxnet":
            outputs = list(map(self.operator.wrap_raw, outputs))
        if not self.several:
            return outputs[0]
        assert kind.positions is not None
        gradients = dict(zip(kind.positions, outputs, strict=True))
        return tuple(gradients.get(position) for position in self._positions(len(values) - 2))

    def _positions(self, count: int) -> Sequence[int]:
        rule_of_several = self.operator.gradients.of_several(self.index)
        indices = None if rule_of_several is None else rule_of_several[0]
        return range(count) if indices is None else indices


class _Vjp(VjpInto):
    """What a compiled rule returns: the function from the upstream gradient."""

    __slots__ = ("_ans", "_attributes", "_rule", "_values")

    def __init__(self, rule: CompiledRule, ans: Any, values: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self._rule = rule
        self._ans = ans
        self._values = values
        self._attributes = attributes

    def __call__(self, gradient: Any) -> Any:
        return self.into(gradient, None)

    def into(self, gradient: Any, targets: Mapping[int, OutputBuffer] | None) -> Any:
        """Return what the rule gives, computed in `targets` by a program that is native code from end to end."""
        rule, ans, values, attributes = self._rule, self._ans, self._values, self._attributes

        def function() -> Any:
            staged = rule.definition(ans, *values, **attributes)
            if not callable(staged):
                raise Unstaged(staged)
            return staged(gradient)

        return rule.run(function, (gradient, ans, *values), attributes, targets)


def _is_array_result(form: Any) -> bool:
    """Tell whether a result of such types is what outputs of a program can be made."""
    if isinstance(form, tuple):
        return all(map(_is_array_result, form))
    return isinstance(form, type) and (form is numpy.ndarray or issubclass(form, (numpy.generic, Array)))


class _ByIdentity:
    """An object in a key, which is that object only: another one may be equal, and have other attributes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, another: object) -> bool:
        return type(another) is _ByIdentity and another.value is self.value


def _kind_of(value: Any, arrays: list[numpy.ndarray]) -> Any:
    """Return what a program is made for, of an argument, or raise a TypeError; arrays are added to a list."""
    if type(value) is numpy.ndarray:
        arrays.append(value)
        return value.shape, value.dtype
    if isinstance(value, tuple):
        return tuple([_kind_of(part, arrays) for part in value])
    if isinstance(value, Shaped):
        return Shaped, value.shape, value.dtype
    if isinstance(value, Array):
        if value._node is not None:
            raise TypeError("it is recorded")
        return Array, _kind_of(value._data, arrays)
    return frozen(value) if isinstance(value, _BY_VALUE) else _ByIdentity(value)


@functools.lru_cache(None)
def seconds_to_enter() -> float:
    """Return how long it takes to call a program that computes next to nothing, measured once.

    >>> 0 < seconds_to_enter() < 1
    True
    """
    capture = _FunctionCapture("nothing")
    array = numpy.zeros(1, numpy.float32)
    program = Program(capture.steps([numpy.negative(capture.proxy(array))]))
    times = []
    for _ in range(20):
        began = perf_counter()
        program.run([array])
        times.append(perf_counter() - began)
    return min(times)
