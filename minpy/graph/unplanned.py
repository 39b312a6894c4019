"""Graphs run operator by operator, as eager calls are: for arrays of ever new shapes, for which no program is made.

Nothing is lowered or planned, and gradients are those of the tape, on which each call of an operator is a node.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.core import dispatch
from minpy.core.base_operator import BaseOperator
from minpy.core.nodes import attach_outputs, record_node
from minpy.graph.compiled import Compiled, infer_from_arrays, require_everything
from minpy.graph.interpreting import read, step_call
from minpy.graph.ir import CONSTANT, Node, Value

__all__ = ["Unplanned", "note_place", "tape_place", "unplanned"]

# The kinds of arrays for which it is known what follows from their shapes: the latest ones.
_MOST_KINDS = 1024


class _Call(NamedTuple):
    """One call of an operator."""

    node: Node
    attributes: dict[str, Any]  # those of the node, and whether it is training
    function: Callable[..., Any] | None  # from raw inputs to the raw result; None if attributes follow from shapes
    released: list[Node]  # what nobody reads any more, once it has been made


class _Join(BaseOperator):
    """The outputs of a graph and its variables as the arguments of one node, as they are where a program has run.

    So backward of one output writes zeros for variables that only others depend on, and reaches layers that carry a
    loss.

    `name`: what messages call the graph. `count`: how many of the arguments are outputs.
    """

    builtin = True
    gradient_source = "its graph"

    def __init__(self, name: str, count: int) -> None:
        self.__name__ = self.__qualname__ = name
        self._count = count

    def is_zero(self, index: int) -> bool:
        """Tell whether an argument is a variable: its gradients come from the outputs."""
        return index >= self._count

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of outputs as they are."""
        upstream = gradient if type(gradient) is tuple else (gradient,)
        return [upstream[index] for index in requires_grad]


class Unplanned:
    """A graph as a list of calls.

    `training`: whether operators behave as in training. `name`: what messages call the graph.
    """

    def __init__(self, compiled: Compiled, training: bool, name: str) -> None:
        self._compiled = compiled
        self._join = _Join(name, len(compiled.outputs))
        # By which variables need gradients, and their dtypes: whether outputs differ in what they depend on.
        self._is_joined: dict[Any, bool] = {}
        last = {value.node: node for node in compiled.order for value in node.inputs}
        output_nodes = {output.node for output in compiled.outputs}
        released: dict[Node, list[Node]] = {}
        for source, node in last.items():
            if source not in output_nodes:
                released.setdefault(node, []).append(source)
        self._calls = []
        self._moves_states = False
        for node in compiled.order:
            operator, attributes = node.operator, node.attributes
            if operator is None:
                continue
            if operator.uses_training and attributes.get("training") is None:
                attributes = {**attributes, "training": training}
            function = None if _is_open(node) else step_call(_with(node, attributes))
            self._calls.append(_Call(node, attributes, function, released.get(node, [])))
            self._moves_states |= training and any(True for _ in node.auxiliary_inputs())
        self._is_open = any(call.function is None for call in self._calls)
        self._dtypes: dict[tuple[Any, ...], Mapping[Value, Any]] = {}  # of all values, by those of the latest arrays
        # By the kinds of the arrays, for each call what follows from shapes: its function and attributes.
        self._closed: OrderedDict[Any, list[tuple[Callable[..., Any], dict[str, Any]]]] = OrderedDict()

    def run(
        self, buffers: Sequence[numpy.ndarray], parents: Sequence[Any] | None, kinds: Any
    ) -> tuple[list[numpy.ndarray], list[Any]]:
        """Return the outputs, and where they stand on the tape: None for those that do not.

        `buffers`: for all variables. `parents`: where these stand on the tape; None: nothing is recorded. `kinds`: what
        the arrays are.

        Raises Exception what the operators raise for arrays that do not fit.
        """
        closed = self._followed(buffers, kinds) if self._is_open or self._moves_states else None
        variables = self._compiled.variables
        env: dict[Node, Any] = dict(zip(variables, buffers, strict=True))
        places: dict[Node, Any] = {}
        if parents is not None:
            places.update((node, place) for node, place in zip(variables, parents, strict=True) if place is not None)
        for number, (node, attributes, function, released) in enumerate(self._calls):
            if function is None:
                assert closed is not None
                function, attributes = closed[number]
            inputs = [read(env, value) for value in node.inputs]
            result = function(*inputs)
            if isinstance(result, numpy.generic):
                result = numpy.asarray(result)
            env[node] = result
            if places:
                above = [tape_place(places, value) for value in node.inputs]
                if any(place is not None for place in above):
                    _record(node, attributes, inputs, result, above, places)
            for source in released:
                del env[source]
        outputs = self._compiled.outputs
        results = _unaliased([read(env, output) for output in outputs], buffers)
        return results, self._standing(results, places, buffers) if places else [None] * len(outputs)

    def _standing(
        self, results: Sequence[numpy.ndarray], places: Mapping[Node, Any], buffers: Sequence[numpy.ndarray]
    ) -> list[Any]:
        """Return where the outputs stand on the tape: joined, if backward of one would not come to all that it must."""
        variables, outputs = self._compiled.variables, self._compiled.outputs
        nodes = [tape_place(places, output) for output in outputs]
        kinds = tuple([(node in places, buffer.dtype) for node, buffer in zip(variables, buffers, strict=True)])
        is_joined = self._is_joined.get(kinds)
        if is_joined is None:
            is_joined = self._is_joined[kinds] = self._needs_join(results, places)
        if not is_joined:
            return nodes
        parents = [*nodes, *[places.get(node) for node in variables]]
        node = record_node(self._join, [None] * len(parents), None, {}, parents)
        if len(results) == 1:
            node.shape, node.dtype = results[0].shape, results[0].dtype
            joined: Sequence[Any] = [node]
        else:
            joined = attach_outputs(node, results)
        return [place if result.dtype.kind in "fc" else None for place, result in zip(joined, results, strict=True)]

    def _needs_join(self, results: Sequence[numpy.ndarray], places: Mapping[Node, Any]) -> bool:
        """Tell whether a floating-point output does not depend on all variables that need gradients, and all losses."""
        to_reach = {node for node in places if node.operator is None or node.operator.starts_gradients}
        reached: dict[Node, set[Node]] = {}
        for node in self._compiled.order:
            above = [reached[value.node] for value in node.inputs if tape_place(places, value) is not None]
            reached[node] = set().union(*above, {node} & to_reach) if node in places else set()
        return any(
            not (to_reach <= reached[output.node] and tape_place(places, output) is not None)
            for output, result in zip(self._compiled.outputs, results, strict=True)
            if result.dtype.kind in "fc"
        )

    def _followed(
        self, buffers: Sequence[numpy.ndarray], kinds: Any
    ) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
        """Return what follows from the shapes of arrays, by the number of the call; those that do not fit raise."""
        closed = self._closed.get(kinds)
        if closed is not None:
            return closed
        compiled = self._compiled
        dtypes = tuple([buffer.dtype for buffer in buffers])
        origin = "of the array that is given"
        inferred = infer_from_arrays(compiled.order, compiled.variables, buffers, origin, self._dtypes.get(dtypes))
        require_everything(compiled.order, inferred)
        self._dtypes = {dtypes: inferred.dtypes}
        closed = []
        for node, attributes, function, _ in self._calls:
            if function is None:
                attributes = node.operator.completed(attributes, inferred.shapes[Value(node)])
                function = step_call(_with(node, attributes))
            closed.append((function, attributes))
        self._closed[kinds] = closed
        while len(self._closed) > _MOST_KINDS:
            self._closed.popitem(last=False)
        return closed


def unplanned(compiled: Compiled, training: bool, name: str) -> Unplanned | None:
    """Return a graph, which messages call by a name, as a list of calls; None if only programs run what is in it.

    That are users' operators and graphs inside it, which have states of each call, and outputs that nothing computes.
    """
    computes_outputs = not any(output.node.operator in (None, CONSTANT) for output in compiled.outputs)
    is_plain = all(map(_is_plain, compiled.order)) and compiled.state_pool is None
    return Unplanned(compiled, training, name) if is_plain and computes_outputs else None


def _is_plain(node: Node) -> bool:
    """Tell whether a node is a variable, a constant, or a call of an operator of ours that has a name."""
    operator = node.operator
    if operator is None or operator is CONSTANT:
        return True
    return bool(operator.builtin) and getattr(operator, "unpickled_by", None) is not None


def _is_open(node: Node) -> bool:
    """Tell whether attributes of a node follow from shapes."""
    if node.operator.completed is None:
        return False
    shape = node.attributes.get("shape")
    return not isinstance(shape, tuple) or not all(length > 0 for length in shape)


def _with(node: Node, attributes: Mapping[str, Any]) -> Node:
    return Node(node.operator, node.inputs, attributes, node.name, node.kind)


def tape_place(places: Mapping[Node, Any], value: Value) -> Any:
    """Return where a value stands on the tape."""
    place = places.get(value.node)
    return place[value.index] if type(place) is list else place


def _record(
    node: Node,
    attributes: dict[str, Any],
    inputs: Sequence[Any],
    result: Any,
    above: Sequence[Any],
    places: dict[Node, Any],
) -> None:
    """Put a call on the tape: one that has a result of floating-point numbers."""
    results = result if isinstance(result, tuple) else (result,)
    if not any(part.dtype.kind in "fc" for part in results):
        return
    constants: Sequence[Any] = ()
    if any(value.node.operator is CONSTANT for value in node.inputs):
        pairs = zip(inputs, node.inputs, strict=True)
        constants = [argument if value.node.operator is CONSTANT else None for argument, value in pairs]
    taped = dispatch.record(node.operator, constants, inputs, result, attributes, above)
    note_place(places, node, taped, result)


def note_place(places: dict[Node, Any], node: Node, taped: Any, result: Any) -> None:
    """Note where the result of a step stands on the tape, as far as it holds floating-point numbers."""
    if isinstance(result, tuple):
        outputs = attach_outputs(taped, result)
        places[node] = [
            output if part.dtype.kind in "fc" else None for output, part in zip(outputs, result, strict=True)
        ]
    else:
        taped.shape, taped.dtype = result.shape, result.dtype
        if result.dtype.kind in "fc":
            places[node] = taped


def _unaliased(outputs: list[Any], buffers: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
    """Return outputs in memory of their own: copies of those that share it with what was given, or with one another."""
    occupied = list(buffers)
    for position, output in enumerate(outputs):
        if any(numpy.may_share_memory(output, earlier) for earlier in occupied):
            outputs[position] = output.copy()
        occupied.append(outputs[position])
    return outputs
