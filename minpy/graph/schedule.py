"""A graph as it is run: two flat lists of nodes, forward and backward, in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minpy.capture.reads import Reads
from minpy.capture.recorder import Notes
from minpy.graph.builder import GraphBuilder
from minpy.graph.gradient import VjpNode, differentiate
from minpy.graph.ir import ANSWER, Node, Value
from minpy.graph.lowering import lower, used
from minpy.graph.operator_inlining import Inliner
from minpy.graph.subgraph_inlining import inlined

__all__ = ["Steps", "is_trusted", "lowered"]


@dataclass(eq=False, kw_only=True)
class Steps:
    """A lowered graph."""

    outputs: list[Value]  # what it computes
    variables: list[Node]  # in the order in which their arrays are given; those of captured arrays come last
    forward: list[Node]  # the steps of both parts
    backward: list[Node] = field(default_factory=list)
    cotangents: list[Value] = field(default_factory=list)  # variables of the backward part, one for each output
    # Variable to the value that is its gradient; variables that no gradient reaches are absent.
    gradients: dict[Node, Value] = field(default_factory=dict)
    # Which gradients are wanted: variable to 'write' or 'add'. Without any there is no backward part.
    grad_req: dict[Node, str] = field(default_factory=dict)
    training: bool
    repeatable: bool  # whether the forward part may have to be computed again for a further backward
    num_inputs: int  # how many variables are not captured
    reads: Reads  # what users' functions in it refer to
    inline: bool  # whether users' operators become what they compute
    _written: list[Value]
    _inliner: Inliner
    _builder: GraphBuilder
    _shapes: dict[Value, Any]
    _dtypes: dict[Value, Any]
    # Value to the number of the step that reads it last. Of nodes with several outputs, each is a value of its own;
    # where a step reads all of them together, that is the last use of `Value(node, ANSWER)`.
    last_uses: dict[Value, int] = field(init=False)
    states: set[int] = field(init=False)  # positions of the variables that operators change
    # The forward steps that give something else when they run again, random ones and those of users' operators: what
    # they gave is kept, if the graph is to be repeatable.
    saved_for_replay: dict[Node, None] = field(init=False)
    refers: bool = field(init=False)  # whether there are `reads`
    # The positions of outputs that callers put in the place of a variable's values, and of these variables.
    stored: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.refers = bool(self.reads)
        steps = self.all
        last_uses: dict[Value, int] = {}
        for number, node in enumerate(steps):
            for value in node.inputs:
                last_uses[value] = number
        for value in (*self.outputs, *self.gradients.values()):
            last_uses[value] = len(steps)
        self.last_uses = last_uses
        changed = {value.node for node in self.forward for value in node.auxiliary_inputs()}
        self.states = {position for position, node in enumerate(self.variables) if node in changed}
        replayed = [node for node in self.forward if _draws(node) or not is_trusted(node)]
        self.saved_for_replay = dict.fromkeys(replayed if self.repeatable else ())

    @property
    def all(self) -> list[Node]:
        """The steps of both parts."""
        return [*self.forward, *self.backward]

    def inferred(self, node: Node) -> list[tuple[tuple[int, ...], Any]]:
        """Return the shape and dtype of each output of a step, as they were inferred."""
        outputs = [Value(node, index) for index in range(len(node.output_names()))]
        return [(self._shapes[output], self._dtypes[output]) for output in outputs]

    def differentiated(self, grad_req: Mapping[Node, str]) -> Steps:
        """Return the same forward part with a backward part that computes these gradients.

        Raises NoGradientError if a gradient is asked for through an operator that has none.
        """
        shapes, dtypes, builder = dict(self._shapes), dict(self._dtypes), self._builder
        reads, inliner = self.reads.copy(), self._inliner
        cotangents = []
        for index, output in enumerate(self._written):
            value = Value(Node(None, (), {}, f"head_gradient{index}"))
            shapes[value], dtypes[value] = shapes[output], dtypes[output]
            cotangents.append(value)
        gradient_values = differentiate(
            self._written,
            cotangents,
            grad_req,
            shapes,
            dtypes,
            builder,
            reads if self.inline else None,
            inliner.notes,
        )
        inliner.go_on(builder.created, shapes, dtypes, None)
        gradients = {node: inliner.value(value) for node, value in gradient_values.items()}
        live, forward = used([*self.outputs, *gradients.values()]), set(self.forward)
        return replace(
            self,
            variables=[*self.variables[: self.num_inputs], *reads.nodes],
            backward=[node for node in inliner.nodes if node in live and node not in forward],
            cotangents=cotangents,
            gradients={node: gradients[node] for node in grad_req if node in gradients},
            grad_req=dict(grad_req),
            repeatable=True,
            reads=reads,
            _shapes=shapes,
            _dtypes=dtypes,
        )

    @property
    def written(self) -> list[Value]:
        """The outputs of the graph as it is written: before users' functions became what they compute."""
        return self._written

    @property
    def notes(self) -> Notes:
        """Where in users' code steps come from, and why some are calls."""
        return self._inliner.notes

    def ran_as(self, value: Value) -> Value:
        """Return what stands among the steps for a value of the graph as it is written."""
        return self._inliner.value(value)

    def is_valid(self) -> bool:
        """Tell whether what users' functions refer to is what it was; if not, steps are to be made anew."""
        return not self.refers or self.reads.hold()

    def with_captured(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the arrays of all variables: those that are given, and the captured ones as they are now."""
        if len(self.variables) == self.num_inputs:
            return arrays
        return [*arrays[: self.num_inputs], *self.reads.arrays()]

    def read_by_backward(self) -> dict[Value, None]:
        """Return the values that the backward part reads of what is there before it."""
        first = set(self.backward)
        read = [value for node in self.backward for value in node.inputs]
        return dict.fromkeys(value for value in (*read, *self.gradients.values()) if value.node not in first)

    def values_of(self, step: Node) -> list[Node]:
        """Return the nodes whose values the result of a forward step depends on: labels of output layers are not."""
        if step.operator.starts_gradients and step.operator.builtin:
            return [step.inputs[0].node]
        return [value.node for value in step.inputs]

    def part_end(self, node: Node, index: int, number: int) -> int:
        """Return the step that reads one of several outputs last; `number`, the node's own, if none does."""
        whole = self.last_uses.get(Value(node, ANSWER), number)
        return max(whole, self.last_uses.get(Value(node, index), number))


def lowered(
    outputs: Sequence[Value],
    variables: Sequence[Node],
    shapes: Mapping[Value, Any],
    dtypes: Mapping[Value, Any],
    training: bool,
    repeatable: bool,
    inline: bool = True,
    stateful_operators: dict[Node, Any] | None = None,
) -> Steps:
    """Lower a graph: the steps of its forward part.

    `outputs`: what it computes. `variables`: in the order in which their arrays will be given. `shapes`, `dtypes`: of
    every value of the graph. `training`, `repeatable`, `inline`: as in `Steps`. `stateful_operators`: the operators, by
    node, whose states live over all calls.
    """
    if inline:
        outputs, shapes, dtypes = inlined(outputs, shapes, dtypes)
    builder, inliner, reads = GraphBuilder(), Inliner(), Reads()
    written, became = lower(outputs, training, builder, shapes, dtypes, inline, stateful_operators)
    known_shapes = {became[value]: shape for value, shape in shapes.items() if value in became}
    known_dtypes = {became[value]: dtype for value, dtype in dtypes.items() if value in became}
    inliner.go_on(builder.created, known_shapes, known_dtypes, reads if inline else None)
    run_outputs = [inliner.value(output) for output in written]
    live = used(run_outputs)
    return Steps(
        outputs=run_outputs,
        variables=[*variables, *reads.nodes],
        forward=[node for node in inliner.nodes if node in live],
        training=training,
        repeatable=repeatable,
        num_inputs=len(variables),
        reads=reads,
        inline=inline,
        _written=written,
        _inliner=inliner,
        _builder=builder,
        _shapes=known_shapes,
        _dtypes=known_dtypes,
    )


def _draws(node: Node) -> bool:
    """Tell whether a step may give something else when it runs again, as it draws random numbers."""
    operator = node.operator
    return bool(operator.random) and (operator.draws is None or operator.draws(node.attributes))


def is_trusted(node: Node) -> bool:
    """Tell whether a step is one of our operators, or the gradient of one."""
    operator = node.operator
    return bool(operator.node.operator.builtin if isinstance(operator, VjpNode) else operator.builtin)
