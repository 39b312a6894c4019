"""The Python source of a program: one line a step, every operator and buffer a name of its own."""

from __future__ import annotations

import functools
import keyword
import traceback
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from minpy.graph.gradient import PullBack
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.graph.memory import Fact, Placement, place

if TYPE_CHECKING:
    from minpy.graph.program import Program

__all__ = ["Emitter"]

_FILE = "<minpy program>"
_TAKEN = ("make", "forward", "backward", "arrays", "heads", "gradients")
_KEYWORD_OUT = (numpy.maximum, numpy.minimum)  # NumPy wants their `out` by keyword; by position it costs less


class Emitter:
    """Writes and compiles the source of a program whose facts are known."""

    def __init__(self, program: Program, facts: Mapping[Node, Fact], calls: Mapping[Node, Callable[..., Any]]) -> None:
        self.program: Program = weakref.proxy(program)  # which refers to this
        self.facts = facts
        self.calls = calls
        self.steps = [*program.forward, *program.backward]
        self.number = {node: number for number, node in enumerate(self.steps)}
        self.into_gradient = self._into_gradient()
        self.plan = place(self.steps, program.heads, self._early_gradients(), self.facts, self.into_gradient)
        self.last = program.last_uses
        self.names: dict[Node, str] = {node: f"a{index}" for index, node in enumerate(program.variables)}
        self.names |= {value.node: f"h{index}" for index, value in enumerate(program.head_gradients)}
        self.gradient_names = {node: f"g{index}" for index, node in enumerate(program.gradients)}
        self.constants: dict[str, Any] = {}
        self.kept: set[str] = set()  # variables that the backward part reads, and the forward part sets
        self.source = ""
        self._line_nodes: dict[int, Node] = {}

    def _early_gradients(self) -> dict[Node, int]:
        """Return the steps of the forward part whose answers are gradients as they are, and when these are read."""
        first = len(self.program.forward)
        found = {value.node for value in self.program.gradients.values()}
        return {node: first for node in self.steps[:first] if node in found}

    def _into_gradient(self) -> dict[Node, Node]:
        """Return the steps that may compute straight into the array that a gradient is asked into."""
        found: dict[Node, Node] = {}
        counts: dict[Node, int] = {}
        for value in self.program.gradients.values():
            counts[value.node] = counts.get(value.node, 0) + 1
        for variable, value in self.program.gradients.items():
            fact = self.facts.get(value.node)
            if (
                self.program.requests[variable] == "write"
                and counts[value.node] == 1
                and value.node in self.number
                and self.number[value.node] >= len(self.program.forward)
                and fact is not None
                and fact.shape is not None
                and (fact.shape, fact.dtype) == (self.facts[variable].shape, self.facts[variable].dtype)
                and value.node not in {head.node for head in self.program.heads}
                and fact.c_contiguous
            ):
                found[value.node] = variable
        return found

    def compile(self) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """Return the functions that run the forward and backward parts."""
        program = self.program
        forward = self._part(program.forward, backward=False)
        heads = "".join(f"{self._expression(head)}, " for head in program.heads)
        forward.append((f"return ({heads})", None))
        backward = self._part(program.backward, backward=True) if program.requests else []
        lines: list[tuple[str, Node | None]] = [("def make(" + ", ".join(self.constants) + "):", None)]
        if self.kept:
            lines.append(("    " + " = ".join(sorted(self.kept)) + " = None", None))
        lines += self._function("forward", ["arrays"], forward)
        if backward:
            lines += self._function("backward", ["arrays", "heads", "gradients"], backward)
        lines.append((f"    return forward, {'backward' if backward else 'None'}", None))
        self.source = "\n".join(line for line, _ in lines) + "\n"
        self._line_nodes = {number: node for number, (_, node) in enumerate(lines, 1) if node is not None}
        scope: dict[str, Any] = {}
        exec(compile(self.source, _FILE, "exec"), scope)
        made: tuple[Callable[..., Any], Callable[..., Any] | None] = scope.pop("make")(*self.constants.values())
        return made

    def described(self) -> str:
        """Return the source with the name of each step's node, and how much memory is planned."""
        plan = self.plan
        lines = self.source.splitlines()
        for number, node in self._line_nodes.items():
            lines[number - 1] = f"{lines[number - 1]:<60} # {node.name}"
        reused = sum(placement.kind == "reuse" for placement in plan.placements.values())
        lines.append(
            f"# {len(self.steps)} steps; {plan.arena_bytes} bytes of buffers hold {plan.unshared_bytes} bytes of "
            f"answers; {reused} answers are computed in the memory of another."
        )
        return "\n".join(lines)

    def step_of(self, error: BaseException) -> Node | None:
        """Return the node at whose line an error was raised; None if it was raised elsewhere."""
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == _FILE and line in self._line_nodes:
                return self._line_nodes[line]
        return None

    # -- parts -------------------------------------------------------------------------------------------------------

    def _function(self, name: str, parameters: list[str], body: list[tuple[str, Node | None]]) -> list[Any]:
        lines: list[tuple[str, Node | None]] = [(f"    def {name}({', '.join(parameters)}):", None)]
        if self.kept:
            lines.append((f"        nonlocal {', '.join(sorted(self.kept))}", None))
        read = {word for line, _ in body for word in _words(line)}
        for parameter, names in (
            ("arrays", [self.names[node] for node in self.program.variables]),
            ("heads", [f"h{index}" for index in range(len(self.program.head_gradients))]),
            ("gradients", list(self.gradient_names.values())),
        ):
            if parameter in parameters:
                lines += [
                    (f"        {one} = {parameter}[{index}]", None) for index, one in enumerate(names) if one in read
                ]
        return lines + [(f"        {line}", node) for line, node in body]

    def _part(self, steps: list[Node], backward: bool) -> list[tuple[str, Node | None]]:
        lines: list[tuple[str, Node | None]] = []
        forward_end = len(self.program.forward)
        finals: dict[Node, list[Node]] = {}
        for variable, value in self.program.gradients.items():
            finals.setdefault(value.node, []).append(variable)
        if backward:
            for variable, value in self.program.gradients.items():
                if value.node not in self.number or self.number[value.node] < forward_end:
                    lines.append((self._store(variable, value), None))
        for node in steps:
            lines.append((self._statement(node), node))
            if backward:
                for variable in finals.get(node, ()):
                    if self.into_gradient.get(node) is not variable or self.plan.placements[node].kind != "gradient":
                        lines.append((self._store(variable, self.program.gradients[variable]), node))
            lines += [(f"{name} = None", None) for name in self._dying(node)]
        return lines

    def _dying(self, node: Node) -> list[str]:
        """Return the names of fresh answers that nobody reads after this step."""
        number = self.number[node]
        names: list[str] = []
        for one in dict.fromkeys([*(value.node for value in node.inputs), node]):
            root = self.plan.roots.get(one)
            if root is None or root.operator is CONSTANT or self.plan.placements[root].kind != "fresh":
                continue
            if self.facts[one].shape is None:
                names += [name for index, name in enumerate(self._parts(one)) if self._part_end(one, index) == number]
            elif self.plan.root_end[root] == number and self.names[root] not in names:
                names.append(self.names[root])
        return names

    def _parts(self, node: Node) -> list[str]:
        """Return the names of the outputs of a node that has several."""
        return [f"{self.names[node]}_{index}" for index in range(self.facts[node].count)]

    def _part_end(self, node: Node, index: int) -> int:
        """Return the step that reads one of several outputs last; the node's own, if none does."""
        whole = self.last.get(Value(node, ANSWER), self.number[node])
        return max(whole, self.last.get(Value(node, index), self.number[node]))

    def _store(self, variable: Node, value: Value) -> str:
        target, gradient = self.gradient_names[variable], self._expression(value)
        if self.program.requests[variable] == "add":
            return f"{self._constant('add', numpy.add)}({target}, {gradient}, {target})"
        return f"{self._constant('copyto', numpy.copyto)}({target}, {gradient})"

    # -- steps -------------------------------------------------------------------------------------------------------

    def _statement(self, node: Node) -> str:
        placement: Placement = self.plan.placements[node]
        number = self.number[node]
        arguments = [self._expression(value) for value in node.inputs]
        if node.operator is CONSTANT:
            self.names[node] = self._constant(f"c{number}", node.attributes["value"])
            return "pass"
        direct = self._direct_rule(node)
        if placement.kind == "gradient":
            self.names[node] = self.gradient_names[self.into_gradient[node]]
        elif placement.kind == "reuse":
            assert placement.source is not None
            self.names[node] = self.names[placement.source]
        elif placement.kind == "arena":
            self.names[node] = self._constant(f"b{number}", placement.buffer)
        else:
            self.names[node] = f"v{number}"
            self._keep(node, number)
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
            function = functools.partial(into, **node.attributes) if node.attributes else into
            return f"{self._constant(f'k{number}', function)}({', '.join([out, *arguments])})"
        if direct is not None and node.operator.conformed:  # the rule itself gave the right shape and dtype
            first, last = direct
            return f"{out} = {self._constant(f'r{number}', node.operator.rule())}({first})({last})"
        return f"{out} = {self._constant(f'f{number}', self.calls[node])}({', '.join(arguments)})"

    def _keep(self, node: Node, number: int) -> None:
        """Note which names the forward part sets and the backward part reads."""
        first = len(self.program.forward)
        if number >= first or not self.program.requests:
            return
        if self.facts[node].shape is not None:
            if self.plan.root_end[node] >= first:
                self.kept.add(self.names[node])
        else:
            parts = enumerate(self._parts(node))
            self.kept.update(name for index, name in parts if self._part_end(node, index) >= first)

    def _direct_rule(self, node: Node) -> tuple[str, str] | None:
        """Return (the rule's arguments, the upstream gradient) as source, if the step is one plain rule."""
        operator = node.operator
        if not isinstance(operator, PullBack) or not operator.is_plain_rule:
            return None
        names = [self._expression(value) for value in node.inputs]
        first = len(operator.upstream)
        rest = names[first:]
        answer = rest.pop(0) if operator.answers else "None"
        arguments = [
            rest.pop(0) if index in operator.reads else self._constant(f"s{self.number[node]}_{index}", stand_in)
            for index, stand_in in enumerate(operator.stand_ins)
        ]
        return ", ".join([answer, *arguments]), names[0]

    def _expression(self, value: Value) -> str:
        name = self.names[value.node]
        fact = self.facts[value.node]
        if fact.shape is not None:
            return name
        parts = self._parts(value.node)
        return f"({', '.join(parts)},)" if value.index == ANSWER else parts[value.index]

    def _constant(self, name: str, value: Any) -> str:
        """Return a name by which the source may call an object."""
        if not name.isidentifier() or keyword.iskeyword(name) or name in _TAKEN:
            name = f"{''.join(_words(name))}_"
        while self.constants.setdefault(name, value) is not value:
            name += "_"
        return name


def _words(line: str) -> list[str]:
    return "".join(character if character.isalnum() or character == "_" else " " for character in line).split()
