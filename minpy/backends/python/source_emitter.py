"""The Python source of a program: one line a step, every operator and buffer a name of its own.

A part of a program becomes one function inside `make`, which takes what the source names: operators, constants, and the
blocks of a frame's buffers. So each frame has a function with memory of its own.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.protocol import ArrayFact
from minpy.backends.python.result_planner import Placement, Planner
from minpy.backends.source_parts import Line, NodeCall, SourcePart, StridedView, words
from minpy.core.default_attributes import with_attributes
from minpy.graph.array_facts import as_contiguous
from minpy.graph.gradient import VjpNode
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.graph.outputs import how_returned, no_alias
from minpy.graph.schedule import Steps, is_trusted

__all__ = ["Emitter"]

_RESERVED = ("make", "forward", "backward", "arrays", "out", "cotangents", "gradients", "kept", "copy")
_KEYWORD_OUT = (numpy.maximum, numpy.minimum)  # NumPy wants their `out` by keyword; by position it costs less


class Emitter:
    """Writes the source of both parts, each as soon as its steps are planned."""

    def __init__(self, steps: Steps, planner: Planner) -> None:
        self.steps = steps
        self.plan = planner.plan
        self.facts: dict[Node, ArrayFact] = planner.facts
        self.number = {node: number for number, node in enumerate(steps.all)}
        self.names: dict[Node, str] = {node: f"a{index}" for index, node in enumerate(steps.variables)}
        self.names |= {value.node: f"h{index}" for index, value in enumerate(steps.cotangents)}
        self.gradient_names = {node: f"g{index}" for index, node in enumerate(steps.gradients)}
        self.constants: dict[str, Any] = {}
        # The names of fresh results that the forward part passes to the backward part.
        self.kept: list[str] = []
        self.into_gradient: Mapping[Node, Node] = {}

    def forward(self) -> SourcePart:
        """Return the forward part: a function of the arrays that returns outputs and `Residuals`."""
        body: list[tuple[str, Node | None]] = self._lines(self.steps.forward)
        outputs = ""
        for output, how in zip(self.steps.outputs, how_returned(self.steps, self.facts), strict=True):
            name = self._expression(output)
            if how == "copy":
                name = f"{name}.copy()"
            elif how == "no_alias":
                name = f"{self._constant('no_alias', no_alias)}({name}, arrays)"
            outputs += f"{name}, "
        self.kept = list(dict.fromkeys(self._kept_names()))
        saved = "".join(f"{self._expression(Value(node, ANSWER))}, " for node in self.steps.saved_for_replay)
        body.append((f"return ({outputs}), (arrays, [{', '.join(self.kept)}], ({saved}))", None))
        contiguous = self._constant("contiguous", as_contiguous)
        states = self._constant("states", self.steps.states)
        return self._part("forward", ["arrays", "out=()"], body, [f"arrays = {contiguous}(arrays, {states})"])

    def backward(self, into_gradient: Mapping[Node, Node]) -> SourcePart:
        """Return the backward part: a function of the arrays, the cotangents, where gradients are asked, and
        what the forward part kept, which it uses up.
        """
        self.into_gradient = into_gradient
        body: list[tuple[str, Node | None]] = []
        finals: dict[Node, list[Node]] = {}
        forward_end = len(self.steps.forward)
        if self.kept:
            body += [(f"{', '.join(self.kept)}, = kept", None), ("kept.clear()", None)]
        for variable, value in self.steps.gradients.items():
            finals.setdefault(value.node, []).append(variable)
            if self.number.get(value.node, -1) < forward_end:
                body.append((self._store(variable, value), None))
        body += self._lines(self.steps.backward, finals)
        return self._part("backward", ["arrays", "cotangents", "gradients", "kept"], body)

    def environment(self, kept: Sequence[Any], context: Any) -> dict[Node, Any]:
        """Return the results of the forward part that the backward part reads, by node."""
        saved = dict(zip(self.kept, kept, strict=True))

        def named(name: str) -> Any:
            value = self.constants.get(name)
            return (
                saved.get(name)
                if value is None
                else value.bind(None, context)
                if isinstance(value, StridedView)
                else value
            )

        results: dict[Node, Any] = {}
        for node in dict.fromkeys(value.node for value in self.steps.read_by_backward() if value.node in self.number):
            if node.operator is CONSTANT:
                results[node] = node.attributes["value"]
            elif self.facts[node].shape is None:
                results[node] = tuple(saved.get(name) for name in self._parts(node))
            else:
                results[node] = named(self.names[node])
        return results

    # -- parts -------------------------------------------------------------------------------------------------------

    def _part(
        self, name: str, parameters: list[str], body: list[tuple[str, Node | None]], before: Sequence[str] = ()
    ) -> SourcePart:
        unpacked = {"arrays": [self.names[node] for node in self.steps.variables]}
        if name == "backward":
            unpacked["cotangents"] = [f"h{index}" for index in range(len(self.steps.cotangents))]
            unpacked["gradients"] = list(self.gradient_names.values())
        lines: list[Line] = [(line, node, "" if node is None else node.name) for line, node in body]
        return SourcePart(name, parameters, self.constants, lines, unpacked, before)

    def _lines(self, steps: Sequence[Node], finals: Mapping[Node, list[Node]] | None = None) -> list[Any]:
        lines: list[tuple[str, Node | None]] = []
        for node in steps:
            if node.operator is CONSTANT:
                self.names[node] = self._constant(f"c{self.number[node]}", node.attributes["value"])
                for variable in (finals or {}).get(node, ()):  # a gradient that depends on nothing
                    lines.append((self._store(variable, self.steps.gradients[variable]), node))
                continue
            lines.append((self._statement(node), node))
            for variable in (finals or {}).get(node, ()):
                if self.into_gradient.get(node) is not variable or self.plan.placements[node].kind != "gradient":
                    lines.append((self._store(variable, self.steps.gradients[variable]), node))
            lines += [(f"{name} = None", None) for name in self._dead_names(node)]
        return lines

    def _kept_names(self) -> Iterable[str]:
        for value in self.steps.read_by_backward():
            node = value.node
            if node not in self.number or node.operator is CONSTANT:
                continue
            if self.facts[node].shape is None:
                parts = self._parts(node)
                yield from parts if value.index == ANSWER else (parts[value.index],)
            elif self.plan.placements[self.plan.roots[node]].kind == "fresh":
                yield self.names[node]

    def _dead_names(self, node: Node) -> list[str]:
        """Return the names of fresh results that nobody reads after this step."""
        number = self.number[node]
        names: list[str] = []
        for dying in dict.fromkeys([*(value.node for value in node.inputs), node]):
            root = self.plan.roots.get(dying)
            if root is None or root.operator is CONSTANT or self.plan.placements[root].kind != "fresh":
                continue
            if self.facts[dying].shape is None:
                if dying not in self.steps.saved_for_replay or number >= len(self.steps.forward):
                    ends = [
                        self.steps.part_end(dying, index, self.number[dying])
                        for index in range(self.facts[dying].count)
                    ]
                    names += [name for name, end in zip(self._parts(dying), ends, strict=True) if end == number]
            elif self.plan.root_end[root] == number and self.names[root] not in names:
                names.append(self.names[root])
        return names

    def _parts(self, node: Node) -> list[str]:
        """Return the names of the outputs of a node that has several."""
        return [f"{self.names[node]}_{index}" for index in range(self.facts[node].count)]

    def _store(self, variable: Node, value: Value) -> str:
        target, gradient = self.gradient_names[variable], self._expression(value)
        if self.steps.grad_req[variable] == "add":
            return f"{self._constant('add', numpy.add)}({target}, {gradient}, {target})"
        return f"{self._constant('copyto', numpy.copyto)}({target}, {gradient})"

    # -- steps -------------------------------------------------------------------------------------------------------

    def _statement(self, node: Node) -> str:
        placement: Placement = self.plan.placements[node]
        number = self.number[node]
        direct = self._direct_rule(node)
        arguments = [] if direct is not None else [self._argument(node, value) for value in node.inputs]
        if placement.kind == "gradient":
            self.names[node] = self.gradient_names[self.into_gradient[node]]
        elif placement.kind == "reuse":
            assert placement.source is not None
            self.names[node] = self.names[placement.source]
        elif placement.kind == "arena":
            self.names[node] = self._constant(f"b{number}", placement.block)
        else:
            self.names[node] = f"v{number}"
        out = self.names[node]
        if self.facts[node].shape is None:
            out = ", ".join([*self._parts(node), ""]).rstrip()
        if placement.kind != "fresh":
            if direct is not None:
                first, last = direct
                return f"{self._constant(f'i{number}', node.operator.rule_into())}({first})({last}, {out})"
            into = node.operator.into
            if isinstance(into, numpy.ufunc):
                target = f"out={out}" if into in _KEYWORD_OUT else out
                return f"{self._constant(into.__name__, into)}({', '.join([*arguments, target])})"
            function = with_attributes(into, node.attributes)
            return f"{self._constant(f'k{number}', function)}({', '.join([out, *arguments])})"
        return f"{out} = {self._constant(f'f{number}', NodeCall(node))}({', '.join(arguments)})"

    def _argument(self, node: Node, value: Value) -> str:
        """Return an input as source; users' operators, which may keep their inputs, get copies of buffers."""
        expression = self._expression(value)
        if not is_trusted(node) and value.index != ANSWER:
            owners = self.facts[value.node].shares
            roots = [self.plan.roots[owner] for owner in owners if owner in self.plan.roots]
            if any(self.plan.placements[root].kind == "arena" for root in roots):
                return f"{expression}.copy()"
        return expression

    def _direct_rule(self, node: Node) -> tuple[str, str] | None:
        """Return (the rule's arguments, the upstream gradient) as source, if a rule computes in given memory."""
        operator = node.operator
        if self.plan.placements[node].kind == "fresh" or not isinstance(operator, VjpNode):
            return None
        names = [self._expression(value) for value in node.inputs]
        first = len(operator.upstream)
        operands = names[first:]
        result = operands.pop(0) if operator.results_read else "None"
        arguments = [
            operands.pop(0) if index in operator.reads else self._constant(f"s{self.number[node]}_{index}", placeholder)
            for index, placeholder in enumerate(operator.placeholders)
        ]
        return ", ".join([result, *arguments]), names[0]

    def _expression(self, value: Value) -> str:
        name = self.names[value.node]
        fact = self.facts[value.node]
        if fact.shape is not None:
            return name
        parts = self._parts(value.node)
        return f"({', '.join(parts)},)" if value.index == ANSWER else parts[value.index]

    def _constant(self, name: str, value: Any) -> str:
        """Return a name by which the source may call an object."""
        if not name.isidentifier() or keyword.iskeyword(name) or name in _RESERVED:
            name = f"{''.join(words(name))}_"
        while self.constants.setdefault(name, value) is not value:
            name += "_"
        return name
