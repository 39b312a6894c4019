"""`translate`: from the steps of a program, which are calls of operators, to a routine of the step language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.language import Array, Call, Origin, Part, Routine, Step
from minpy.backends.native.translating.operator_lowering import Operators, constant_operand
from minpy.backends.native.translating.promotion import converted
from minpy.backends.native.translating.results import CALLED, NotLowered, Result, Untranslatable
from minpy.backends.native.translating.step_builder import Emitter
from minpy.backends.protocol import ArrayFact
from minpy.capture.places import SourceLocation
from minpy.graph.gradient import VjpNode
from minpy.graph.interpreting import step_call
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.graph.schedule import Steps

__all__ = ["FAILED", "Translated", "Translation", "translate"]

# How the reason for a call begins that should not be one.
FAILED = "it could not be lowered"


class Translated(NamedTuple):
    """How one node was translated."""

    node: Node
    how: str  # 'lowered' by what is written for it; 'traced', its definition; or 'called' as it is
    reason: str  # why it is called; empty if it is not
    place: SourceLocation | None  # the line of a user's code that it comes from, or that says why it is called

    def __str__(self) -> str:
        where = "" if self.place is None else f" ({self.place})"
        why = f", because {self.reason}" if self.reason else ""
        return f"{self.node.name or self.node.kind}: {self.how}{why}{where}"


@dataclass(eq=False)
class Translation:
    """A program in the step language."""

    # Its parts are 'forward', whose inputs are the arrays of all variables and whose outputs are the heads and then the
    # results of `steps.saved_for_replay`; and 'backward', if there is one, whose inputs are the cotangents and whose
    # outputs those of `steps.gradients`, in their order.
    routine: Routine
    # The array that each value of the graph became; those of constants that are no arrays are absent.
    arrays: dict[Value, Array]
    # The steps whose results outlive 'forward', each with the number of its outputs there: 0 for one result that is no
    # tuple.
    saved_for_replay: list[tuple[Node, int]]
    report: list[Translated]  # what became of each node, in the order in which they run

    def __str__(self) -> str:
        return "\n".join(map(str, self.report))


def translate(steps: Steps, facts: Mapping[Node, ArrayFact]) -> Translation:
    """Translate a program.

    `facts`: what running the program once has told about its steps: `Program.facts`.

    Raises Untranslatable if a step that is called changes a state which others read.
    """
    return _Translator(steps, facts).translation()


class _State(NamedTuple):
    """An array of a variable that operators change, and its value after those so far."""

    input: Array
    now: Array


class _Translator:
    def __init__(self, steps: Steps, facts: Mapping[Node, ArrayFact]) -> None:
        self.steps = steps
        self.facts = facts
        self.emitter = Emitter()
        self.operators = Operators(self.emitter)
        self.env: dict[Node, Any] = {}
        self.states: dict[Node, _State] = {}
        self.report: list[Translated] = []

    def translation(self) -> Translation:
        """Return the translated program."""
        steps = self.steps
        inputs = [self._variable(node) for node in steps.variables]
        forward = self._part(steps.forward)
        saved_for_replay = [(node, self._width(node)) for node in steps.saved_for_replay]
        outputs = [self._array(head) for head in steps.outputs]
        for node, width in saved_for_replay:
            outputs += [self._array(Value(node, index)) for index in range(width or 1)]
        updates = [(state.input, state.now) for state in self.states.values() if state.now is not state.input]
        parts = [Part("forward", inputs, forward, outputs, updates)]
        for node, state in self.states.items():  # its memory holds what it is now
            self.env[node] = state.input
        if steps.grad_req:
            backward_inputs = [self._variable(value.node) for value in steps.cotangents]
            backward = self._part(steps.backward)
            parts.append(
                Part(
                    "backward",
                    backward_inputs,
                    backward,
                    [self._array(gradient) for gradient in steps.gradients.values()],
                )
            )
        _remove_dead_steps(parts)
        return Translation(Routine(parts), self._arrays(), saved_for_replay, self.report)

    def _variable(self, node: Node) -> Array:
        fact = self.facts[node]
        assert fact.shape is not None
        array = self.env[node] = Array(fact.shape, numpy.dtype(fact.dtype), name=node.name)
        return array

    def _part(self, nodes: Iterable[Node]) -> list[Step]:
        start = self.emitter.mark()
        for node in nodes:
            self._node(node)
        return self.emitter.steps[start:]

    def _width(self, node: Node) -> int:
        result = self.env[node]
        return len(result) if isinstance(result, (tuple, list)) else 0

    def _array(self, value: Value) -> Array:
        result = self._read(value)
        if isinstance(result, Array):
            return result
        if isinstance(result, (bool, int, float)):
            return converted(result, numpy.asarray(result).dtype)
        raise Untranslatable(f"{value.node.described()} gives a {type(result).__name__}, which is no array")

    def _arrays(self) -> dict[Value, Array]:
        arrays = {}
        for node, result in self.env.items():
            several = result if isinstance(result, (tuple, list)) else [result]
            for index, item in enumerate(several):
                if isinstance(item, Array):
                    arrays[Value(node, index)] = item
        return arrays

    def _read(self, value: Value) -> Any:
        result = self.env[value.node]
        if not isinstance(result, (tuple, list)):
            return result
        return tuple(result) if value.index == ANSWER else result[value.index]

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        if node.operator is None:
            return
        if node.operator is CONSTANT:
            self.env[node] = constant_operand(node.attributes["value"])
            return
        emitter, notes = self.emitter, self.steps.notes
        named = node.operator.node if isinstance(node.operator, VjpNode) else node
        place = notes.places.get(node)
        emitter.origin = Origin((named.name,), place)
        operands = [self._read(value) for value in node.inputs]
        mark = emitter.mark()
        try:
            result = self._lowered(node, operands)
        except NotLowered as refusal:
            emitter.forget(mark)
            refused = None if named.operator.builtin else notes.refusals.get(node)
            reason, where = (refusal.reason, refusal.place) if refused is None else (refused.reason, refused.place)
            self.report.append(Translated(node, CALLED, reason, where or place))
            self._call(node, operands, reason)
            return
        self.env[node] = result.value
        self.report.append(Translated(node, result.how, "", place))
        for position, array in result.updates:
            self._update(node.inputs[position], array)

    def _lowered(self, node: Node, operands: Sequence[Any]) -> Result:
        """Return the lowered node.

        Raises NotLowered.
        """
        try:
            result = self.operators.lower(node.operator, operands, node.attributes)
        except (NotLowered, Untranslatable):
            raise
        except Exception as error:  # it runs as it is, whatever the matter is
            raise NotLowered(f"{FAILED}: {type(error).__name__}: {error}") from error
        self._require_facts(node, result.value)
        return result

    def _require_facts(self, node: Node, result: Any) -> None:
        """Refuse a result that differs in shape or dtype from what running the step gave."""
        fact = self.facts.get(node)
        if fact is None:
            return
        expected = [(fact.shape, fact.dtype)] if fact.shape is not None else list(fact.parts)
        several = isinstance(result, (tuple, list))
        actual = [(item.shape, item.dtype) for item in (result if several else [result])]
        if actual != expected or several != (fact.shape is None):
            raise NotLowered(f"it would give {actual}, and not {expected}")

    def _update(self, value: Value, array: Array) -> None:
        """Note the new value of a state after an operator that changes it."""
        node = value.node
        if node.operator is not None:
            raise Untranslatable(f"{node.described()} is computed, and changed in place as a state of an operator.")
        before = self.states[node].input if node in self.states else self.env[node]
        self.states[node] = _State(before, array)
        self.env[node] = array

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, node: Node, operands: Sequence[Any], reason: str) -> None:
        """Add a call of a node that is not lowered."""
        fact = self.facts.get(node)
        if fact is None:
            raise Untranslatable(f"{node.described()} has to be called, and nothing is known of its answer.")
        facts = [(fact.shape, fact.dtype)] if fact.shape is not None else list(fact.parts)
        if any(dtype is None for _, dtype in facts):
            raise Untranslatable(f"{node.described()} gives something that is no array.")
        arguments = [
            value.node.attributes["value"]
            if value.node.operator is CONSTANT and not isinstance(operand, Array)
            else operand
            for value, operand in zip(node.inputs, operands, strict=True)
        ]
        function = None if _is_bound_to_frame(node) else step_call(node)
        outputs = self.emitter.call(function, arguments, facts, reason, node)
        self.env[node] = outputs[0] if fact.shape is not None else list(outputs)
        for value in node.auxiliary_inputs():
            if value.node.operator is not None:
                raise Untranslatable(
                    f"{value.node.described()} is computed, and changed in place by {node.described()}."
                )
            if value.node in self.states:
                raise Untranslatable(f"{value.node.described()} is a state of several operators, one of them called.")
            for reader in self.steps.forward:
                if reader is not node and any(read.node is value.node for read in reader.inputs):
                    raise Untranslatable(
                        f"{value.node.described()} is read by {reader.described()}, too, and changed in place by "
                        f"{node.described()}, which is called."
                    )
            if any(head.node is value.node for head in self.steps.outputs):
                raise Untranslatable(f"{value.node.described()} is returned, and changed in place by a call.")


def _is_bound_to_frame(node: Node) -> bool:
    """Tell whether a node runs in a frame, by a function that belongs to it."""
    operator = node.operator
    return (
        isinstance(operator, VjpNode)
        or not operator.builtin
        or bool(operator.random or operator.auxiliary)
        or hasattr(operator, "fresh")
    )


def _remove_dead_steps(parts: Sequence[Part]) -> None:
    """Remove the steps on which nothing depends; calls may have side effects."""
    live: set[Array] = set()
    for part in reversed(parts):
        live.update(part.outputs)
        live.update(source for _, source in part.updates)
        alive = []
        for step in reversed(part.steps):
            if isinstance(step, Call) or any(output in live for output in step.outputs):
                live.update(step.operands)
                alive.append(step)
        part.steps[:] = reversed(alive)
