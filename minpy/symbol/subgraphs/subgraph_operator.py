"""`ControlFlow`: the base class of operators whose nodes hold graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.base_operator import BaseOperator, DTypes
from minpy.core.errors import ArgumentError, GradientError, NoGradientError
from minpy.core.signatures import Attribute, Signature
from minpy.core.state import state
from minpy.graph.frame import Frame
from minpy.graph.ir import Node
from minpy.graph.program import Program
from minpy.ops.inference.partial_shapes import merge_dtypes
from minpy.symbol.pickling import graph_state, rebuild
from minpy.symbol.subgraphs.subgraph import Subgraph

__all__ = ["ControlFlow", "holds", "listed"]

Conversions = tuple[Callable[[Any], Any], Callable[[Any], Any]]

_TRAINING = {"training": Attribute("training", bool, None)}


def _unchanged(fact: Any) -> Any:
    return fact


_UNCHANGED: Conversions = (_unchanged, _unchanged)


class ControlFlow(BaseOperator):
    """The base of the three: an operator made for one node, of graphs and of where their inputs come from.

    Loops have data and states among the variables of their body, and outputs that are stacked.

    Parameters
    ----------
    graphs : sequence of Subgraph
    outputs : int
        The number of the node's outputs.
    """

    builtin = uses_training = True
    may_alias = False
    gradient_source = "its graphs"
    category = "control"
    stacked = 0
    data_positions: Sequence[int] = ()
    state_positions: Sequence[int] = ()

    def __init__(self, graphs: Sequence[Subgraph], outputs: int) -> None:
        self.__qualname__ = self.__name__
        self.graphs = [*graphs]
        self.outputs: Sequence[str] = ["output"] if outputs == 1 else [f"output{index}" for index in range(outputs)]
        count = len({source for graph in graphs for source in graph.sources})
        self.arity = count
        names: list[str] = [""] * count
        state_sources = set()
        for graph in graphs:
            for position, (node, source) in enumerate(zip(graph.variables, graph.sources, strict=True)):
                names[source] = names[source] or node.name
                if position in graph.states:
                    state_sources.add(source)
        # Two inputs may have been captured from variables of the same name.
        self.names = [name if names.count(name) == 1 else f"{name}#{position}" for position, name in enumerate(names)]
        self._state_sources = state_sources
        self.auxiliary = tuple(self.names[source] for source in sorted(state_sources))
        self.random = any(graph.varies for graph in graphs)
        self.starts_gradients = any(graph.starts_gradients for graph in graphs)
        # Whose gradients were asked for the last time: what is computed in advance for the next time.
        self._last_requires_grad: list[Any] = [None]

    __name__: str = ""

    @property
    def signature(self) -> Signature:  # type: ignore[override]
        """The inputs of the node."""
        return Signature(tuple(self.names), {}, _TRAINING)

    @property
    def parameters(self) -> dict[str, Any]:
        """What files say of the node, apart from the graphs."""
        raise NotImplementedError(f"{type(self).__name__} defines no parameters.")

    def fresh(self) -> ControlFlow:
        """Return the same operator for another series of calls, with frames of its own."""
        copied = copy.copy(self)
        copied._forget()
        return copied

    def _forget(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _forget.")

    def __reduce__(self) -> Any:
        graphs = [(graph_state(graph.symbol.values), graph.sources) for graph in self.graphs]
        return _remade, (type(self), graphs, self._constructor_arguments())

    def _constructor_arguments(self) -> tuple[Any, ...]:
        """Return what the class is called with, after the graphs."""
        raise NotImplementedError(f"{type(self).__name__} defines no _constructor_arguments.")

    def is_zero(self, index: int) -> bool:
        """Tell whether an input is a state, or is read by conditions only."""
        return index in self._state_sources or not any(index in graph.sources for graph in self._differentiated())

    def _differentiated(self) -> Sequence[Subgraph]:
        """Return the graphs that gradients go through."""
        return self.graphs

    def _completed(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        merge: Callable[[Any, Any], Any],
        infer: Callable[[Subgraph, Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]],
        of_data: Conversions = _UNCHANGED,
        of_stacked: Conversions = _UNCHANGED,
    ) -> tuple[list[Any], list[Any]]:
        """Apply the rules of the graphs until nothing new follows.

        `of_data` takes what is known of data to what is of its slices, and back; `of_stacked` the same of outputs.
        """
        inputs, outputs = [*inputs], [*outputs]
        changed = True
        while changed:
            before = [*inputs], [*outputs]
            for graph in self.graphs:
                gives_outputs = graph in self._differentiated()  # others are conditions
                data = self.data_positions if gives_outputs else ()
                variables = graph.inputs_of(inputs)
                for position in data:
                    variables[position] = of_data[0](variables[position])
                heads: list[Any] = [None] * len(graph.symbol.values)
                if gives_outputs:
                    heads = [*map(of_stacked[0], outputs[: self.stacked]), *outputs[self.stacked :]]
                    for index, position in enumerate(self.state_positions, self.stacked):
                        heads[index] = variables[position] = merge(variables[position], heads[index])
                variables, heads = infer(graph, variables, heads)
                for position, source in enumerate(graph.sources):
                    fact = of_data[1](variables[position]) if position in data else variables[position]
                    inputs[source] = merge(inputs[source], fact)
                if gives_outputs:
                    heads[: self.stacked] = map(of_stacked[1], heads[: self.stacked])
                    outputs = [*map(merge, outputs, heads)]
            changed = not (_same_facts(before[0], inputs) and _same_facts(before[1], outputs))
        return inputs, outputs

    def type_inference(self, inputs: DTypes, outputs: DTypes, **_: Any) -> tuple[DTypes, DTypes]:
        """Complete dtypes by the graphs; those of states are those of what they become."""
        return self._completed(inputs, outputs, merge_dtypes, Subgraph.infer_dtypes)

    def _refuse_recording(self) -> None:
        if state.recording:
            raise GradientError(
                f"{self.__name__}: the gradient of a graph's loop or branch cannot be recorded for a second "
                "derivative. Use mx.nd.contrib on arrays where create_graph=True is needed."
            )

    def _requests(
        self, graph: Subgraph, raws: Sequence[Any], requires_grad: Any, always: Sequence[int]
    ) -> dict[Node, str]:
        """Return which gradients of a graph to ask for: of the inputs needed, or of all if that is None."""
        requests = {}
        for position, (node, source) in enumerate(zip(graph.variables, graph.sources, strict=True)):
            if position in graph.states or raws[source].dtype.kind not in "fc":
                continue
            if position in always:
                requests[node] = "write"
            elif requires_grad is None or source in requires_grad:
                requests[node] = self._request(position)
        return requests

    def _request(self, position: int) -> str:
        return "write"

    def _program(
        self,
        graph: Subgraph,
        arrays: Sequence[Any],
        raws: Sequence[Any],
        training: bool,
        requires_grad: Any,
        always: Any,
    ) -> Program:
        """Return a program that will give gradients, as far as they are known to exist."""
        try:
            return graph.program(arrays, training, self._requests(graph, raws, requires_grad, always))
        except NoGradientError:
            if requires_grad is not None:
                raise
            return graph.program(arrays, training, None)  # who asks will say for which

    def _ready(
        self, frames: Sequence[Frame], graph: Subgraph, arrays: Sequence[Any], requests: dict[Node, str]
    ) -> None:
        """Make the frames of a graph give these gradients, at least."""
        program = frames[0].program
        if requests.items() <= program.steps.grad_req.items():
            return
        program = graph.differentiated(program, arrays, requests)
        for frame in frames:
            frame.differentiate(program)


def _remade(cls: type[Any], graphs: Sequence[tuple[Any, Sequence[int]]], arguments: tuple[Any, ...]) -> ControlFlow:
    """Return an operator that was pickled."""
    operator: ControlFlow = cls([Subgraph(rebuild(table), sources) for table, sources in graphs], *arguments)
    return operator


def _same_facts(before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Tell whether of the same values the same is known."""
    return all(
        (old is None) == (new is None) and (old is None or bool(old == new))
        for old, new in zip(before, after, strict=True)
    )


def holds(value: numpy.ndarray, subject: str) -> bool:
    """Tell whether a condition holds, which messages call `what`.

    Raises
    ------
    ArgumentError
        If it is not one element.
    """
    if value.size != 1:
        raise ArgumentError(
            f"{subject} is an array of shape {value.shape}; expected one element. Reduce it, as by sum()."
        )
    return bool(value.reshape(-1)[0])


def listed(positions: Sequence[int]) -> str:
    """Return positions as files hold them."""
    return str([*positions])
