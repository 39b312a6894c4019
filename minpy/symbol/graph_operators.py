"""Operators around a graph, which replace a group of nodes that a partitioner has put together.

A graph that is run as it is takes the place of its node when a program is made, as does a `@customop` that stands for
it: nothing is lost by having it in a node. Functions and classes of users are called.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy

from minpy.core.array import raw_of
from minpy.core.base_operator import DTypes, Shapes
from minpy.core.configured import ConfiguredOperator, OperatorFamily
from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    GradientError,
    MXNetError,
    NoGradientError,
    ShapeError,
    describe,
    in_place_of,
)
from minpy.core.operator import Operator
from minpy.core.signatures import parse_attribute
from minpy.core.state import state
from minpy.core.user_functions import read_only, user_error
from minpy.graph.compiled import ValueFacts
from minpy.graph.frame import Frame
from minpy.graph.ir import Node, Value
from minpy.graph.partitioning.python_partitioners import PythonStrategy
from minpy.ops.inference.partial_shapes import show_shape
from minpy.symbol.subgraphs import Subgraph, is_same
from minpy.symbol.symbol import Symbol

__all__ = ["GraphOperatorFamily", "OperatorAroundGraph", "PythonGraphOperator", "RunnableGraph"]


class OperatorAroundGraph(ConfiguredOperator):
    """An operator that has a graph, whose variables are its inputs, and whose outputs are its own.

    Shapes and dtypes are inferred over the graph; its auxiliary states are those of the operator. `extra` inputs come
    after those of the graph. What computes it is for derived classes to say.

    Raises
    ------
    ArgumentError
        If it is made of no graph, or of several.
    """

    def __init__(
        self,
        family: OperatorFamily,
        parameters: Mapping[str, str],
        annotations: Mapping[str, str],
        graphs: Sequence[Symbol],
        extra: int = 0,
    ) -> None:
        if len(graphs) != 1:
            raise ArgumentError(
                f"{family.__name__} stands for a part of a graph, which is inside of its node; got {len(graphs)} "
                "graphs. Such nodes are made by optimize_for."
            )
        symbol = graphs[0]
        names = [*symbol.list_inputs(), *(f"extra{index}" for index in range(extra))]
        outputs = ["output"] if len(symbol) == 1 else [f"output{index}" for index in range(len(symbol))]
        super().__init__(family, parameters, annotations, graphs, names, outputs, symbol.list_auxiliary_states())
        self.extra = extra
        self.graph = Subgraph(symbol, range(len(names) - extra))

    def shape_inference(self, inputs: Shapes, outputs: Shapes, **_: Any) -> tuple[Shapes, Shapes]:
        """Infer over the graph."""
        count = len(inputs) - self.extra
        known_inputs, results = self.graph.infer_shapes(inputs[:count], outputs)
        return [*known_inputs, *inputs[count:]], results

    def type_inference(self, inputs: DTypes, outputs: DTypes, **_: Any) -> tuple[DTypes, DTypes]:
        """Infer over the graph."""
        count = len(inputs) - self.extra
        known_inputs, results = self.graph.infer_dtypes(inputs[:count], outputs)
        return [*known_inputs, *inputs[count:]], results


class RunnableGraph:
    """The graph of a node, for the function or class that computes it: it can be called.

    Attributes
    ----------
    symbol : Symbol
    names : list of str
        What its inputs are called.
    attributes : dict of str to str
        Those of the node, which a review gave.
    training : bool
        Whether the call that goes on is one of training.

    Examples
    --------
    >>> import minpy as mx, numpy as np
    >>> partitioner = mx.graph.register_partitioner('twice_of_exp', ['exp'], replace=True)
    >>> @partitioner.run
    ... def run_twice(graph, x):
    ...     return graph(x) + graph(x)
    >>> mx.sym.exp(mx.sym.var('x')).optimize_for('twice_of_exp').eval(x=mx.nd.zeros((1,)))
    [
    [2.]
    <NDArray 1 @cpu(0)>]
    """

    def __init__(self, name: str, graph: Subgraph, attributes: Mapping[str, str]) -> None:
        self.symbol = graph.symbol
        self.names = [node.name for node in graph.variables]
        self.attributes = dict(attributes)
        self.training = False
        self._name = name
        self._graph = graph
        self._last_requires_grad: Sequence[int] = range(len(self.names))  # whose gradients were wanted the last time
        self._last: tuple[Frame, list[Any]] | None = None  # what backward may go on from
        self._differentiated: tuple[Frame, Sequence[Any]] | None = None  # what backward has gone on from

    def __repr__(self) -> str:
        return f"<graph of {self._name}: {', '.join(self.names)} -> {', '.join(self.symbol.list_outputs())}>"

    def __call__(self, *inputs: Any) -> Any:
        """Compute the outputs of the graph.

        Parameters
        ----------
        *inputs : array_like
            For each of its variables; auxiliary states among them are changed, in training.

        Returns
        -------
        numpy.ndarray or tuple of numpy.ndarray

        Raises
        ------
        ArgumentError
            For another number of inputs.
        ShapeError, DTypeError
            If they do not fit the graph.
        """
        if len(inputs) != len(self.names):
            raise ArgumentError(
                f"the graph of {self._name} takes {len(self.names)} input(s) ({', '.join(self.names)}), got "
                f"{len(inputs)}."
            )
        raws = [numpy.asarray(raw_of(value)) for value in inputs]
        heads = self._run(raws)
        return tuple(heads) if len(heads) > 1 else heads[0]

    def _run(self, raws: list[Any]) -> list[numpy.ndarray]:
        keep = self.training or self._graph.varies
        requests = self._requests(raws, self._last_requires_grad) if keep else None
        try:
            program = self._graph.program(raws, self.training, requests)
        except NoGradientError:  # who asks for one will be told
            keep, program = False, self._graph.program(raws, self.training, None)
        heads, frame = self._graph.start(program, raws)
        self._last = (frame, raws) if keep else None
        return heads

    def _requests(self, raws: Sequence[Any], requires_grad: Sequence[int]) -> dict[Node, str]:
        return {
            node: "write"
            for position, node in enumerate(self._graph.variables)
            if position in requires_grad and position not in self._graph.states and raws[position].dtype.kind in "fc"
        }

    def begin(self, training: bool) -> None:
        """Forget what went before: another call of the operator begins."""
        self.training, self._last, self._differentiated = training, None, None

    def gradients(
        self, raws: Sequence[Any], upstream: Sequence[Any], requires_grad: Sequence[int]
    ) -> list[numpy.ndarray]:
        """Return the gradients of some inputs: those of the call that went before, if it was of these values.

        A second time the same random numbers count, and inputs that are no random numbers may lie elsewhere.
        """
        self._last_requires_grad = tuple(requires_grad)
        requests = self._requests(raws, requires_grad)
        earlier = self._differentiated or self._last
        if earlier is not None and (earlier is self._differentiated or all(map(_is_equal, earlier[1], raws))):
            frame, earlier_raws = earlier
            if not all(map(is_same, earlier_raws, raws)):
                self._graph.move(frame, raws)
            if not requests.items() <= frame.program.steps.grad_req.items():
                frame.differentiate(self._graph.differentiated(frame.program, raws, requests))
        else:
            inputs = [raw.copy() if position in self._graph.states else raw for position, raw in enumerate(raws)]
            frame = self._graph.start(self._graph.program(inputs, self.training, requests), inputs)[1]
        self._differentiated = frame, raws
        buffers = {
            node: numpy.empty(raw.shape, raw.dtype)
            for node, raw in zip(self._graph.variables, raws, strict=True)
            if node in frame.program.steps.grad_req
        }
        frame.backward(upstream, buffers)
        nodes = self._graph.variables
        return [buffers.get(nodes[index], numpy.zeros(raws[index].shape, raws[index].dtype)) for index in requires_grad]


def _is_equal(left: Any, right: Any) -> bool:
    return is_same(left, right) or (left.dtype == right.dtype and numpy.array_equal(left, right))


class PythonGraphOperator(OperatorAroundGraph):
    """An operator around a graph that is run as it is, or by a function, a class or a `@customop`."""

    builtin = uses_training = True
    gradient_source = "that of its graph, or of what runs it"

    def __init__(
        self, family: GraphOperatorFamily, parameters: Mapping[str, str], annotations: Mapping[str, str], graphs: Any
    ) -> None:
        super().__init__(family, parameters, annotations, graphs)
        self._runner = family.strategy.runner
        self.inside: Subgraph | None = None
        if self._runner is None:
            self.inside = self.graph
        elif isinstance(self._runner, Operator):
            self.inside = self._of_operator(self._runner)
        self.random = self.graph.varies if self.inside is None else self.inside.varies
        self.starts_gradients = self.graph.starts_gradients
        self._facts_by_kind: dict[Any, ValueFacts] = {}
        self._forget()

    def _forget(self) -> None:
        self._instance: Any = None
        self._runnable = RunnableGraph(self.__name__, self.inside or self.graph, self.all_attributes)

    def fresh(self) -> PythonGraphOperator:
        """Return the same operator for another series of calls, with a state of its own."""
        copied = copy.copy(self)
        copied._forget()
        return copied

    def _of_operator(self, operator: Operator) -> Subgraph:
        """Return the graph of one call of a `@customop` on the same variables."""
        known_attributes = operator.signature.attributes
        attributes = {
            key: parse_attribute(text, known_attributes[key], operator.__name__)
            for key, text in self.parameters.items()
            if key in known_attributes
        }
        signature, count = operator.signature, len(self.names)
        least, most = len(signature.inputs) - len(signature.defaults), len(signature.inputs)
        if signature.variadic is None and not least <= count <= most:
            raise ArgumentError(
                f"{self.__name__}: {operator.__name__}, which runs its graph, takes {most} input(s) "
                f"({', '.join(signature.inputs)}), and the group has {count} ({', '.join(self.names)}). A value that "
                "several nodes of a group read is an input for each of them: "
                "optimize_for(..., dedup_subgraph=True) makes them one."
            )
        variables = [Value(Node(None, (), {}, name)) for name in self.names]
        node = Node(operator, variables, attributes, operator.__name__)
        count = len(node.output_names())
        if count != len(self.output_names({})):
            raise ArgumentError(
                f"{self.__name__}: {operator.__name__}, which runs its graph, has {count} output(s), and the graph "
                f"{len(self.output_names({}))}. Name what it returns: {operator.__name__}.outputs = {self.outputs}."
            )
        return Subgraph(Symbol([Value(node, index) for index in range(count)]), range(len(variables)))

    # -- forward -----------------------------------------------------------------------------------------------------

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Return the outputs: what the graph gives, or what runs it."""
        arrays = [numpy.asarray(raw) for raw in raws]
        runnable = self._runnable
        runnable.begin(bool(training))
        if self.inside is not None:
            heads: Sequence[Any] = runnable._run(arrays)
        else:
            states = self.graph.states
            views = [raw if position in states else read_only(raw) for position, raw in enumerate(arrays)]
            recording, state.recording = state.recording, False
            try:
                heads = self._checked(self._called(views), arrays)
            except MXNetError:
                raise
            except Exception as error:
                raise in_place_of(user_error(self, error, "forward", views), error) from None
            finally:
                state.recording = recording
        return tuple(heads) if len(heads) > 1 else heads[0]

    def _called(self, views: Sequence[Any]) -> Any:
        if not isinstance(self._runner, type):
            return self._runner(self._runnable, *views)
        if self._instance is None:
            self._instance = self._runner(self._runnable)
        return self._instance.forward(*views)

    def _checked(self, results: Any, arrays: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
        """Return what a user's function answered, if it has the shapes and dtypes of the graph's outputs."""
        shapes, dtypes = self._facts_for(arrays)
        heads = self.graph.symbol.values
        returned = list(results) if isinstance(results, (tuple, list)) else [results]
        if len(returned) != len(heads):
            raise ArgumentError(
                f"{self.__name__}: what runs its graph returned {len(returned)} array(s); expected {len(heads)}: "
                f"{', '.join(self.graph.symbol.list_outputs())}."
            )
        outputs = []
        for index, (result, head) in enumerate(zip(returned, heads, strict=True)):
            array = raw_of(result)
            subject = f"{self.__name__}: output {index} of what runs its graph"
            if not isinstance(array, (numpy.ndarray, numpy.generic, int, float, complex)):
                raise ArgumentError(f"{subject} is {describe(result)}; expected an array.")
            array = numpy.asarray(array)
            if array.shape != shapes[head]:
                raise ShapeError(f"{subject} has shape {show_shape(array.shape)}; expected {show_shape(shapes[head])}.")
            if not numpy.can_cast(array.dtype, dtypes[head], "same_kind"):
                raise DTypeError(f"{subject} is of {array.dtype}; expected {dtypes[head]}.")
            outputs.append(numpy.array(array, dtype=dtypes[head], order="C"))  # a copy: nobody else keeps it
        return outputs

    def _facts_for(self, arrays: Sequence[numpy.ndarray]) -> ValueFacts:
        kinds = tuple([(array.shape, array.dtype) for array in arrays])
        facts = self._facts_by_kind.get(kinds)
        if facts is None:
            while len(self._facts_by_kind) >= 64:
                self._facts_by_kind.pop(next(iter(self._facts_by_kind)), None)
            facts = self._facts_by_kind[kinds] = self.graph.facts_of(arrays)
        return facts

    # -- gradients ---------------------------------------------------------------------------------------------------

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`: by a class, or of the graph."""
        if state.recording:
            raise GradientError(
                f"{self.__name__}: the gradient of what runs a part of a graph cannot be recorded for a second "
                "derivative. Leave the graph to itself (no run), or run it by a @customop, where create_graph=True is "
                "needed."
            )
        upstream = gradient if type(gradient) is tuple else (gradient,)
        if not callable(getattr(self._runner, "backward", None)):
            self._runnable.training = bool(attributes.get("training"))
            return [*self._runnable.gradients(arguments, upstream, requires_grad)]
        if self._instance is None:
            self._instance = self._runner(self._runnable)
        outputs = [read_only(array) for array in (result if type(result) is tuple else (result,))]
        inputs = [read_only(array) for array in arguments]
        try:
            gradients = self._instance.backward([read_only(array) for array in upstream], inputs, outputs)
        except MXNetError:
            raise
        except Exception as error:
            raise in_place_of(user_error(self, error, "backward", inputs), error) from None
        rows = list(gradients) if isinstance(gradients, (tuple, list)) else [gradients]
        if len(rows) != self.arity:
            raise GradientError(
                f"{self.__name__}: {self._runner.__name__}.backward returned {len(rows)} gradient(s); expected "
                f"{self.arity}, one for each input: {', '.join(self.names)}. None stands for zeros."
            )
        return [self._gradient(rows[index], index, arguments[index]) for index in requires_grad]

    def _gradient(self, part: Any, index: int, like: Any) -> numpy.ndarray:
        if part is None:
            return numpy.zeros(like.shape, like.dtype)
        array = numpy.array(raw_of(part), dtype=like.dtype)
        if array.shape != like.shape:
            raise GradientError(
                f"{self.__name__}: {self._runner.__name__}.backward returned a gradient of shape "
                f"{show_shape(array.shape)} for {self.names[index]}; expected {show_shape(like.shape)}."
            )
        return array


class GraphOperatorFamily(OperatorFamily):
    """Makes the operators of nodes that stand for the groups of a strategy written in Python."""

    is_function: ClassVar[bool] = False

    def __init__(self, strategy: PythonStrategy) -> None:
        super().__init__(strategy.__name__, f"Stands for the groups of {strategy.where}.")
        self.strategy = strategy

    def configure(
        self, parameters: Mapping[str, str], annotations: Mapping[str, str], graphs: Sequence[Any]
    ) -> ConfiguredOperator:
        """Make the operator of one node."""
        return PythonGraphOperator(self, parameters, annotations, graphs)
