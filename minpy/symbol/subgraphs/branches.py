"""Branches: `_cond`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.base_operator import Shapes
from minpy.graph.frame import Frame
from minpy.ops.inference.partial_shapes import merge_shapes
from minpy.symbol.subgraphs.subgraph import Subgraph, is_same
from minpy.symbol.subgraphs.subgraph_operator import ControlFlow, holds, listed

__all__ = ["Cond"]


class Cond(ControlFlow):
    """`_cond`: one of two graphs, as a third one says.

    Parameters
    ----------
    graphs : sequence of Subgraph
        The condition, the graph for where it holds, and the other.
    """

    __name__ = "_cond"

    def __init__(self, graphs: Sequence[Subgraph]) -> None:
        super().__init__(graphs, len(graphs[1].symbol.values))
        self._forget()

    def _forget(self) -> None:
        self._chosen: tuple[Frame, list[Any]] | None = None  # with what it was started with
        self._holds = False

    def _constructor_arguments(self) -> tuple[Any, ...]:
        return ()

    @property
    def parameters(self) -> dict[str, Any]:
        """What files say of the node."""
        names = ("cond_input_locs", "then_input_locs", "else_input_locs")
        return {
            "num_args": 3 + self.arity,
            "num_outputs": len(self.outputs),
            **{name: listed(graph.sources) for name, graph in zip(names, self.graphs, strict=True)},
        }

    def _differentiated(self) -> Sequence[Subgraph]:
        return self.graphs[1:]

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Run the condition, and the graph that it chooses."""
        self._forget()
        condition = self.graphs[0]
        inputs = condition.inputs_of(raws)
        heads, _ = condition.start(condition.program(inputs, bool(training), None), inputs)
        self._holds = holds(heads[0], "_cond: the condition")
        outputs = self._run(raws, bool(training), self._last_requires_grad[0])
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def _run(self, raws: Sequence[Any], training: bool, requires_grad: Any) -> list[numpy.ndarray]:
        graph = self.graphs[1 if self._holds else 2]
        inputs = graph.inputs_of(raws)
        if training or graph.varies:
            program = self._program(graph, inputs, raws, training, requires_grad, ())
        else:
            program = graph.program(inputs, training, None)
        outputs, frame = graph.start(program, inputs)
        if training or graph.varies:
            self._chosen = frame, inputs
        return outputs

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`: zero if the other graph reads them."""
        self._refuse_recording()
        self._last_requires_grad[0] = frozenset(requires_grad)
        graph = self.graphs[1 if self._holds else 2]
        inputs = graph.inputs_of(arguments)
        requests = self._requests(graph, arguments, requires_grad, ())
        totals = {index: numpy.zeros(arguments[index].shape, arguments[index].dtype) for index in requires_grad}
        if not requests:
            return [totals[index] for index in requires_grad]
        if self._chosen is None:
            program = graph.program(inputs, bool(attributes.get("training")), requests)
            frame = graph.start(program, inputs)[1]
        else:
            frame, inputs_before = self._chosen
            if not all(map(is_same, inputs_before, inputs)):
                graph.move(frame, inputs)
                self._chosen = frame, inputs
            self._ready([frame], graph, inputs, requests)
        buffers = {
            node: numpy.empty(array.shape, array.dtype)
            for node, array in zip(graph.variables, inputs, strict=True)
            if node in frame.program.steps.grad_req
        }
        frame.backward(gradient if type(gradient) is tuple else (gradient,), buffers)
        for node, source in zip(graph.variables, graph.sources, strict=True):
            if node in buffers and source in totals:
                totals[source] += buffers[node]
        return [totals[index] for index in requires_grad]

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Complete shapes by the graphs; both that are chosen from give the same."""
        return self._completed(inputs, outputs, merge_shapes, Subgraph.infer_shapes)
