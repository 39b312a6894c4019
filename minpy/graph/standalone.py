"""One operator alone: its forward function and its rules run as programs where that is faster, also outside of graphs.

An operator that is compiled has these in the places of its kernels: for each kind of arguments its definition is traced
into a program, which is fused into native code. Which of the two runs is measured, not guessed: a small array is
computed by NumPy before a program has even been entered.
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
from minpy.capture.rules import RuleCall, capture_rule
from minpy.capture.steps import frozen
from minpy.core.array import Array, Shaped, raw_of
from minpy.core.errors import is_quitting
from minpy.core.floating_point import is_calm
from minpy.core.rules import OutputBuffer, Unstaged, VjpInto
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import Node, Value, topological, variable
from minpy.graph.operator_inlining import Inliner
from minpy.graph.program import Program
from minpy.graph.steps import Steps

__all__ = ["CompiledForward", "CompiledRule", "install"]

# Arguments that are compared by what they are.
_BY_VALUE = (*CONSTANT_TYPES, list, dict, slice)
# Kinds of arguments that are kept for one function; when there come more, it is only called.
_MOST_KINDS = 64
# After so many programs that were given up, because what the function refers to had changed, it is only called.
_REMADE = 8
# Calls of each of the two ways that are timed before one is chosen.
_TIMED = 3
# A program is not even made where NumPy takes less than so many times what entering a program costs.
_WORTH = 2.0


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


# -- tracing -----------------------------------------------------------------------------------------------------------


class _Trace:
    """One capture of a function: proxies in the places of its arguments, and the steps that came of it."""

    def __init__(self, title: str) -> None:
        self.recorder = Recorder(GraphBuilder(), title, ArrayProxy)
        self.reads = Reads()
        self._given: list[Node] = []
        self._absent: set[Node] = set()

    def stand_in(self, value: Any) -> Any:
        """Return what stands for an argument: for an array a variable, for a number itself."""
        if isinstance(value, tuple):
            return tuple(map(self.stand_in, value))
        value = raw_of(value)
        if not isinstance(value, (numpy.ndarray, Shaped)):
            return value
        made = variable(f"argument{len(self._given)}").node
        if isinstance(value, numpy.ndarray):
            self._given.append(made)
        else:
            self._absent.add(made)  # only its shape is there
        return ArrayProxy.from_outside(self.recorder, Value(made), value.shape, value.dtype)

    def steps(self, heads: Sequence[ArrayProxy]) -> Steps:
        """Return the steps that give some proxies, of the arrays in the order in which they were given."""
        values = [head.value for head in heads]
        order = topological(values)
        if not self._absent.isdisjoint(order):
            raise self.recorder.refuse("it reads values where it was said to read shapes only")
        facts = self.recorder.facts
        return Steps(
            outputs=values,
            variables=[*self._given, *self.reads.nodes],
            forward=[node for node in order if node.operator is not None],
            backward=[],
            cotangents=[],
            gradients={},
            grad_req={},
            training=False,
            repeatable=False,
            num_inputs=len(self._given),
            reads=self.reads,
            inline=True,
            _written=values,
            _inliner=Inliner(),
            _builder=self.recorder.builder,
            _shapes={Value(node): shape for node, (shape, _) in facts.items()},
            _dtypes={Value(node): dtype for node, (_, dtype) in facts.items()},
        )


# -- choosing ----------------------------------------------------------------------------------------------------------


class _Way:
    """What is known of one kind of arguments: how long either way takes, and which of them it is."""

    __slots__ = (
        "form",
        "function_time",
        "kinds",
        "positions",
        "program",
        "program_time",
        "reason",
        "runs",
        "settled",
    )

    def __init__(self) -> None:
        self.program: Program | None = None
        self.positions: tuple[int, ...] | None = None  # which argument each head is the gradient of
        self.kinds: list[tuple[tuple[int, ...], numpy.dtype]] = []  # shapes and dtypes of the heads
        self.function_time = self.program_time = float("inf")
        self.runs = 0
        self.settled = False  # whether `program` (None: the function) is what runs from now on
        self.reason = ""
        self.form: tuple[type, ...] | type | None = None  # what the function has returned: types of one, or of several

    def note(self, result: Any) -> None:
        """Note what the function returns: NumPy has scalars in the place of arrays without axes."""
        self.form = tuple(map(type, result)) if isinstance(result, (tuple, list)) else type(result)

    def places(
        self, targets: Mapping[int, OutputBuffer], captured: Sequence[numpy.ndarray]
    ) -> list[numpy.ndarray | None]:
        """Return, for each head, the buffer in which native code may compute it; nothing where some do not fit.

        They would be refused, or converted, after others have been written. A buffer may be that of an array that the
        rule refers to, which is read meanwhile.
        """
        assert self.positions is not None
        kinds = dict(zip(self.positions, self.kinds, strict=True))
        if any(kinds.get(position) != (target.shape, target.dtype) for position, target in targets.items()):
            return []
        if captured:
            buffers = [target.buffer for target in targets.values() if target.buffer is not None]
            if any(numpy.may_share_memory(buffer, array) for buffer in buffers for array in captured):
                return []
        return [targets[position].buffer if position in targets else None for position in self.positions]

    def settle(self, reason: str, program: Program | None = None) -> None:
        """Decide: the program runs from now on, or, without one, the function."""
        self.program, self.reason, self.settled = program, reason, True


class _Compiled:
    """A function of raw arrays that runs as it is written or as a program, whichever is faster.

    Parameters
    ----------
    operator : Operator
    definition : callable
        The function as it is written.
    """

    # It computes what the definition does: whoever traces that need not look for another form.
    is_program = True

    def __init__(self, operator: Any, definition: Callable[..., Any]) -> None:
        self.operator = operator
        self.definition = definition
        self.__wrapped__ = definition
        # Its code says what it reads, where that is asked.
        self.adapted_from = getattr(definition, "adapted_from", definition)
        self._ways: dict[Any, _Way] = {}
        self._lock = threading.Lock()
        # With so few elements NumPy is done before a program has been entered, as far as has been measured.
        self._few = 0
        self._remade = 0

    def __reduce__(self) -> Any:
        return type(self), (self.operator, self.definition)

    def heads(self, trace: _Trace, values: Sequence[Any], attributes: dict[str, Any]) -> tuple[list[ArrayProxy], Any]:
        """Return (what the function gives for proxies; the positions of the arguments these are gradients of)."""
        raise NotImplementedError

    def answer(self, heads: Sequence[Any], positions: Any, values: Sequence[Any]) -> Any:
        """Return what the function returns, from the heads of a program."""
        raise NotImplementedError

    def reasons(self) -> dict[Any, str]:
        """Return, for each kind of arguments that there was, why which way is taken: for reports."""
        return {key: way.reason or "not decided yet" for key, way in self._ways.items()}

    def run(
        self,
        function: Callable[[], Any],
        values: Sequence[Any],
        attributes: dict[str, Any],
        targets: Mapping[int, OutputBuffer] | None = None,
    ) -> Any:
        """Return what `function()` does, which runs the definition on `values`; or what a program gives for them.

        A program may compute heads in `targets`, by their `positions`.
        """
        arrays: list[numpy.ndarray] = []
        try:
            kinds = tuple([_kind_of(value, arrays) for value in values])
            size = sum([array.size for array in arrays])
            if size <= self._few or not is_enabled() or not is_calm():
                return function()
            key = (kinds, frozen(attributes)) if attributes else kinds
            way = self._ways.get(key)
        except TypeError:  # among the arguments there is what cannot be compared
            return function()
        if way is None:
            if len(self._ways) >= _MOST_KINDS:
                return function()
            way = self._ways.setdefault(key, _Way())
        if not way.settled:
            return self._try(key, way, function, values, attributes, arrays, size)
        if way.program is None:
            return function()
        if not way.program.steps.is_valid():  # what the function refers to is another than it was
            self._changed(key)
            return function()
        return self._computed(way, function, values, arrays, targets)

    def _changed(self, key: Any) -> None:
        """Begin anew with one kind of arguments, as the function refers to something else; but not for ever."""
        self._remade += 1
        if self._remade < _REMADE:
            self._ways.pop(key, None)
        else:
            self._ways[key] = way = _Way()
            way.settle("what it refers to changes again and again")

    def _try(
        self,
        key: Any,
        way: _Way,
        function: Callable[[], Any],
        values: Sequence[Any],
        attributes: dict[str, Any],
        arrays: list[numpy.ndarray],
        size: int,
    ) -> Any:
        """Run one of the two ways, and take the time; choose, when both have run often enough."""
        if way.runs < _TIMED:
            began = perf_counter()
            result = function()
            way.function_time = min(way.function_time, perf_counter() - began)
            way.note(result)
            way.runs += 1
            if way.runs == _TIMED and way.function_time < _WORTH * seconds_to_enter():
                way.settle("NumPy is done before a program has been entered")
                self._few = max(self._few, size)
            return result
        if not _can_be_given(way.form):
            way.settle("it returns what is no array")
            return function()
        with self._lock:
            if way.program is None and not way.settled:
                self._trace(way, values, attributes)
        program = way.program
        if program is None:
            return function()
        if not program.steps.is_valid():
            self._changed(key)
            return function()
        began = perf_counter()
        result = self._computed(way, function, values, arrays)
        elapsed = perf_counter() - began
        if program.executable() is not None:
            way.runs += 1
            if way.runs > _TIMED + 1:  # the first one fills caches
                way.program_time = min(way.program_time, elapsed)
            if way.runs > 2 * _TIMED:
                faster = way.program_time < way.function_time
                way.settle("the program is faster" if faster else "NumPy is faster", program if faster else None)
        elif not program.may_improve:
            way.settle("its program is not native code")
        return result

    def _trace(self, way: _Way, values: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Trace the function into a program, or note why it cannot be."""
        trace = _Trace(self.operator.__name__)
        try:
            heads, way.positions = self.heads(trace, values, attributes)
            way.kinds = [(head.shape, head.dtype) for head in heads]
            way.program = Program(trace.steps(heads))
            way.program.rounds = 1  # it has been called often enough: one run tells what is to be known
        except CaptureRefused as error:
            way.settle(str(error))

    def _computed(
        self,
        way: _Way,
        function: Callable[[], Any],
        values: Sequence[Any],
        arrays: list[numpy.ndarray],
        targets: Mapping[int, OutputBuffer] | None = None,
    ) -> Any:
        assert way.program is not None
        try:
            out: Sequence[numpy.ndarray | None] = ()
            if targets:
                steps = way.program.steps
                out = way.places(targets, steps.with_captured(arrays)[steps.num_inputs :])
            heads = way.program.run(arrays, out)
        except Exception as error:
            if is_quitting(error):
                raise
            return function()  # its own error says more, and is at the user's line
        return self.answer(heads, way, values)


class CompiledForward(_Compiled):
    """The forward function of an operator, in the place of its kernel."""

    def __init__(self, operator: Any, definition: Callable[..., Any]) -> None:
        super().__init__(operator, definition)
        self.__name__ = operator.__name__

    def __call__(self, *values: Any, **attributes: Any) -> Any:
        """Return what the definition returns for raw arrays."""
        return self.run(lambda: self.definition(*values, **attributes), values, attributes)

    def heads(self, trace: _Trace, values: Sequence[Any], attributes: dict[str, Any]) -> tuple[list[ArrayProxy], Any]:
        """Return what the forward function gives for proxies."""
        inputs = [trace.stand_in(value) for value in values]
        return capture_forward(trace.recorder, trace.reads, self.operator, inputs, attributes), None

    def answer(self, heads: Sequence[Any], way: _Way, values: Sequence[Any]) -> Any:
        """Return an array or a scalar, or a tuple of them, as the function does."""
        if isinstance(way.form, tuple):
            return tuple(map(self._as, heads, way.form))
        return self._as(heads[0], way.form)

    def _as(self, head: numpy.ndarray, form: Any) -> Any:
        if form is numpy.ndarray:
            return head
        return self.operator.wrap_raw(head) if issubclass(form, Array) else head[()]


class CompiledRule(_Compiled):
    """A gradient rule of an operator, in the place of its kernel.

    Parameters
    ----------
    operator : Operator
    definition : callable
        The rule.
    index : int
        The position of the argument that it is for, or of one of them.
    several : bool
        Whether it is a rule of `def_multiple_grad`, which returns a tuple.
    """

    def __init__(self, operator: Any, definition: Callable[..., Any], index: int, several: bool = False) -> None:
        super().__init__(operator, definition)
        self.index = index
        self.several = several

    def __reduce__(self) -> Any:
        return CompiledRule, (self.operator, self.definition, self.index, self.several)

    def __call__(self, answer: Any, *values: Any, **attributes: Any) -> Callable[[Any], Any]:
        """Return the function from the upstream gradient to that of the argument, or to a tuple of them."""

        return _Pull(self, answer, values, attributes)

    def heads(self, trace: _Trace, values: Sequence[Any], attributes: dict[str, Any]) -> tuple[list[ArrayProxy], Any]:
        """Return what the rule gives for proxies."""
        gradient, answer, *arguments = [trace.stand_in(value) for value in values]
        if not isinstance(gradient, (ArrayProxy, tuple)):
            raise trace.recorder.refuse("the upstream gradient is no array")
        if answer is None:  # the rule does not read it: any of its kind will do
            answer = gradient
        needed = [position for position, value in enumerate(arguments) if isinstance(value, ArrayProxy)]
        call = RuleCall(self.operator, answer, arguments, attributes, gradient)
        found = capture_rule(trace.recorder, trace.reads, call, self.index, needed)
        return list(found.values()), tuple(found)

    def answer(self, heads: Sequence[Any], way: _Way, values: Sequence[Any]) -> Any:
        """Return the gradient, or the tuple that the rule returns."""
        if self.operator.kind == "mxnet":
            heads = list(map(self.operator.wrap_raw, heads))
        if not self.several:
            return heads[0]
        assert way.positions is not None
        found = dict(zip(way.positions, heads, strict=True))
        return tuple(found.get(position) for position in self._positions(len(values) - 2))

    def _positions(self, count: int) -> Sequence[int]:
        answering = self.operator.gradients.of_several(self.index)
        indices = None if answering is None else answering[0]
        return range(count) if indices is None else indices


class _Pull(VjpInto):
    """What a compiled rule returns: the function from the upstream gradient."""

    __slots__ = ("_answer", "_attributes", "_rule", "_values")

    def __init__(self, rule: CompiledRule, answer: Any, values: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self._rule = rule
        self._answer = answer
        self._values = values
        self._attributes = attributes

    def __call__(self, gradient: Any) -> Any:
        return self.into(gradient, None)

    def into(self, gradient: Any, targets: Mapping[int, OutputBuffer] | None) -> Any:
        """Return what the rule gives, computed in `targets` by a program that is native code from end to end."""
        rule, answer, values, attributes = self._rule, self._answer, self._values, self._attributes

        def function() -> Any:
            staged = rule.definition(answer, *values, **attributes)
            if not callable(staged):
                raise Unstaged(staged)
            return staged(gradient)

        return rule.run(function, (gradient, answer, *values), attributes, targets)


def _can_be_given(form: Any) -> bool:
    """Tell whether a result of such types is what heads of a program can be made."""
    if isinstance(form, tuple):
        return all(map(_can_be_given, form))
    return isinstance(form, type) and (form is numpy.ndarray or issubclass(form, (numpy.generic, Array)))


class _Itself:
    """An object in a key, which is that object only: another one may be equal, and have other attributes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and other.value is self.value


def _kind_of(value: Any, arrays: list[numpy.ndarray]) -> Any:
    """Return what a program is made for, of an argument; arrays are added to a list.

    Raises
    ------
    TypeError
        For an argument that cannot be compared.
    """
    if type(value) is numpy.ndarray:
        arrays.append(value)
        return value.shape, value.dtype
    if isinstance(value, tuple):
        return tuple([_kind_of(one, arrays) for one in value])
    if isinstance(value, Shaped):
        return Shaped, value.shape, value.dtype
    if isinstance(value, Array):
        if value._node is not None:
            raise TypeError("it is recorded")
        return Array, _kind_of(value._data, arrays)
    return frozen(value) if isinstance(value, _BY_VALUE) else _Itself(value)


@functools.lru_cache(None)
def seconds_to_enter() -> float:
    """Return how long it takes to call a program that computes next to nothing, measured once.

    Examples
    --------
    >>> 0 < seconds_to_enter() < 1
    True
    """
    trace = _Trace("nothing")
    array = numpy.zeros(1, numpy.float32)
    program = Program(trace.steps([numpy.negative(trace.stand_in(array))]))
    times = []
    for _ in range(20):
        began = perf_counter()
        program.run([array])
        times.append(perf_counter() - began)
    return min(times)
