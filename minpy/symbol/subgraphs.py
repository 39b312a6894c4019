"""Operators whose nodes hold graphs: `_foreach`, `_while_loop` and `_cond`.

A node's graphs are run as compiled programs: one for the body of a loop, with a frame for each iteration, which
backward takes in the opposite order. What the graphs read from outside are inputs of the node.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import Shaped
from minpy.core.attributes import Attribute, Signature
from minpy.core.base import BaseOperator, DTypes, Shapes
from minpy.core.errors import ArgumentError, GradientError, NoGradientError, ShapeError
from minpy.core.state import state
from minpy.graph.compiled import Compiled, Known, infer_from_arrays
from minpy.graph.frame import Frame, start
from minpy.graph.inference import infer_dtypes, infer_shapes
from minpy.graph.ir import Node, Value, topological
from minpy.graph.program import Program
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_dtypes, merge_shapes
from minpy.symbol.pickling import graph_state, rebuild
from minpy.symbol.symbol import Symbol

__all__ = ["CONTROL_FLOW", "Cond", "ControlFlow", "Foreach", "Subgraph", "WhileLoop"]

_TRAINING = {"training": Attribute("training", bool, None)}
Gradients = dict[Node, numpy.ndarray]


class Subgraph:
    """A graph inside a node, and where its inputs come from.

    Parameters
    ----------
    symbol : Symbol
    sources : sequence of int
        For each of its variables, in the order of the graph, the position of the node's input that it is.
    """

    def __init__(self, symbol: Symbol, sources: Sequence[int]) -> None:
        self.symbol = symbol
        self.sources = tuple(sources)
        self.order = topological(symbol.values)
        self.variables = [node for node in self.order if node.operator is None]
        self.compiled = Compiled(symbol.values)
        states = set(self.compiled.states)
        self.states = {position for position, node in enumerate(self.variables) if node in states}
        position = {node: index for index, node in enumerate(self.variables)}
        self._positions = [position[node] for node in self.compiled.variables]
        operators = [node.operator for node in self.order if node.operator is not None]
        # Whether it may give something else when it runs again.
        self.varies = bool(states) or any(operator.random or not operator.builtin for operator in operators)
        self.starts_gradients = any(operator.starts_gradients for operator in operators)

    def given(self, raws: Sequence[Any]) -> list[Any]:
        """Return its inputs, from those of the node."""
        return [raws[source] for source in self.sources]

    def known(self, arrays: Sequence[Any]) -> Known:
        """Return the shapes and dtypes of its values, from arrays for its variables, or what has shapes as they do."""
        return infer_from_arrays(self.order, self.variables, arrays, "of the array that is given")

    def program(self, arrays: Sequence[Any], training: bool, requests: Mapping[Node, str] | None) -> Program:
        """Return the program for such arrays."""
        return self.compiled.program(self._in_order(arrays), training, requests)

    def differentiated(self, program: Program, arrays: Sequence[Any], requests: Mapping[Node, str]) -> Program:
        """Return a program of the same forward part that gives other gradients."""
        return self.compiled.with_gradients(program, self._in_order(arrays), requests)

    def start(self, program: Program, arrays: Sequence[Any]) -> tuple[list[numpy.ndarray], Frame]:
        """Run the program; return its heads, and the frame for its backward."""
        heads, frame = start(program, self._in_order(arrays))
        return [*map(_contiguous, heads)], frame

    def move(self, frame: Frame, arrays: Sequence[Any]) -> None:
        """Let a frame go on with arrays of the same values as those that it was started with."""
        frame.move(self._in_order(arrays))

    def _in_order(self, arrays: Sequence[Any]) -> list[Any]:
        return [arrays[position] for position in self._positions]

    # -- inference -------------------------------------------------------------------------------------------------

    def infer_shapes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what is known of its variables' and heads' shapes, from what is known of them."""
        return self._inferred(lambda given: infer_shapes(self.order, given).known, inputs, outputs)

    def infer_dtypes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what is known of its variables' and heads' dtypes, from what is known of them."""
        return self._inferred(lambda given: infer_dtypes(self.order, given).known, inputs, outputs)

    def _inferred(
        self, infer: Callable[[Any], Mapping[Value, Any]], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        variables = [*map(Value, self.variables)]
        heads = self.symbol.values
        facts = [
            ({value: fact}, f"{what} {index} of the node")
            for what, values, known in (("input", variables, inputs), ("output", heads, outputs))
            for index, (value, fact) in enumerate(zip(values, known, strict=True))
            if fact is not None
        ]
        found = infer(facts)
        return [found.get(value) for value in variables], [found.get(value) for value in heads]


def _contiguous(array: Any) -> numpy.ndarray:
    array = numpy.asarray(array)
    return array if array.flags.c_contiguous else array.copy()


class ControlFlow(BaseOperator):
    """The base of the three: an operator made for one node, of graphs and of where their inputs come from.

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

    def __init__(self, graphs: Sequence[Subgraph], outputs: int) -> None:
        self.__qualname__ = self.__name__
        self.graphs = [*graphs]
        self.outputs: Sequence[str] = ["output"] if outputs == 1 else [f"output{index}" for index in range(outputs)]
        count = len({source for graph in graphs for source in graph.sources})
        self.arity = count
        names: list[str] = [""] * count
        moved = set()
        for graph in graphs:
            for position, (node, source) in enumerate(zip(graph.variables, graph.sources, strict=True)):
                names[source] = names[source] or node.name
                if position in graph.states:
                    moved.add(source)
        # Two inputs may have been captured from variables of the same name.
        self.names = [name if names.count(name) == 1 else f"{name}#{position}" for position, name in enumerate(names)]
        self._moved = moved
        self.auxiliary = tuple(self.names[source] for source in sorted(moved))
        self.random = any(graph.varies for graph in graphs)
        self.starts_gradients = any(graph.starts_gradients for graph in graphs)
        # Whose gradients were asked for the last time: what is computed in advance for the next time.
        self._asked: list[Any] = [None]

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
        made = copy.copy(self)
        made._forget()
        return made

    def _forget(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _forget.")

    def __reduce__(self) -> Any:
        graphs = [(graph_state(graph.symbol.values), graph.sources) for graph in self.graphs]
        return _remade, (type(self), graphs, self._made_from())

    def _made_from(self) -> tuple[Any, ...]:
        """Return what the class is called with, after the graphs."""
        raise NotImplementedError(f"{type(self).__name__} defines no _made_from.")

    def is_zero(self, index: int) -> bool:
        """Tell whether an input is a state, or is read by conditions only."""
        return index in self._moved or not any(index in graph.sources for graph in self._differentiated())

    def _differentiated(self) -> Sequence[Subgraph]:
        """Return the graphs that gradients go through."""
        return self.graphs

    def _refuse_recording(self) -> None:
        if state.recording:
            raise GradientError(
                f"{self.__name__}: the gradient of a graph's loop or branch cannot be recorded for a second "
                "derivative. Use mx.nd.contrib on arrays where create_graph=True is needed."
            )

    def _requests(self, graph: Subgraph, raws: Sequence[Any], needed: Any, always: Sequence[int]) -> dict[Node, str]:
        """Return which gradients of a graph to ask for: of the inputs needed, or of all if that is None."""
        wanted = {}
        for position, (node, source) in enumerate(zip(graph.variables, graph.sources, strict=True)):
            if position in graph.states or raws[source].dtype.kind not in "fc":
                continue
            if position in always:
                wanted[node] = "write"
            elif needed is None or source in needed:
                wanted[node] = self._request(position)
        return wanted

    def _request(self, position: int) -> str:
        return "write"

    def _program(
        self, graph: Subgraph, arrays: Sequence[Any], raws: Sequence[Any], training: bool, needed: Any, always: Any
    ) -> Program:
        """Return a program that will give gradients, as far as they are known to exist."""
        try:
            return graph.program(arrays, training, self._requests(graph, raws, needed, always))
        except NoGradientError:
            if needed is not None:
                raise
            return graph.program(arrays, training, None)  # who asks will say for which

    def _ready(
        self, frames: Sequence[Frame], graph: Subgraph, arrays: Sequence[Any], requests: dict[Node, str]
    ) -> None:
        """Make the frames of a graph give these gradients, at least."""
        program = frames[0].program
        if requests.items() <= program.steps.requests.items():
            return
        program = graph.differentiated(program, arrays, requests)
        for frame in frames:
            frame.differentiate(program)


def _remade(cls: type[Any], graphs: Sequence[tuple[Any, Sequence[int]]], rest: tuple[Any, ...]) -> ControlFlow:
    """Return an operator that was pickled."""
    made: ControlFlow = cls([Subgraph(rebuild(table), sources) for table, sources in graphs], *rest)
    return made


class _Loop(ControlFlow):
    """What loops share: a body that turns states into states, and gives outputs that are stacked.

    Parameters
    ----------
    graphs : sequence of Subgraph
        The body comes last.
    stacked : int
        How many of the outputs are stacked; the others are the last states.
    states : sequence of int
        The positions of the states among the body's variables.
    """

    def __init__(self, graphs: Sequence[Subgraph], stacked: int, states: Sequence[int]) -> None:
        super().__init__(graphs, stacked + len(states))
        self.stacked = stacked
        self.state_positions = [*states]
        self.body = self.graphs[-1]
        self.data_positions: list[int] = []
        self._forget()

    def _forget(self) -> None:
        self._frames: list[Frame] = []
        self._count = 0

    @property
    def outputs_read(self) -> Sequence[int]:  # type: ignore[override]
        """The last states: what the frames may have noted, and nobody else may write to until backward is done."""
        return range(self.stacked, len(self.outputs))

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what backward reads: all inputs, and the last states."""
        return None, len(self.outputs) > self.stacked

    def _request(self, position: int) -> str:
        return "write" if position in self.data_positions else "add"

    def _differentiated(self) -> Sequence[Subgraph]:
        return [self.body]

    def _steps(self, raws: Sequence[Any], arrays: list[Any], training: bool) -> Any:
        """Yield before each iteration, with `arrays` for its body: with its data, and its states already there."""
        raise NotImplementedError(f"{type(self).__name__} defines no _steps.")

    def _length(self, raws: Sequence[Any]) -> int:
        """Return the length of what is stacked."""
        raise NotImplementedError(f"{type(self).__name__} defines no _length.")

    def _example(self, raws: Sequence[Any]) -> list[Any]:
        """Return what has the shapes and dtypes of the body's variables."""
        arrays: list[Any] = self.body.given(raws)
        for position in self.data_positions:
            arrays[position] = Shaped(_of_slice(arrays[position].shape), arrays[position].dtype)
        return arrays

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Run the loop; return what the iterations gave, stacked, and the last states."""
        self._forget()
        answer = self._run(raws, bool(training), bool(training) or self.body.varies, self._asked[0])
        return answer if len(answer) > 1 else answer[0]

    def _run(self, raws: Sequence[Any], training: bool, keep: bool, needed: Any) -> tuple[numpy.ndarray, ...]:
        body, stacked = self.body, self.stacked
        arrays = self._example(raws)
        if keep:
            program = self._program(body, arrays, raws, training, needed, self.state_positions)
        else:
            program = body.program(arrays, training, None)
        outputs: list[numpy.ndarray] = []
        length, number = self._length(raws), 0
        for number, _ in enumerate(self._steps(raws, arrays, training), 1):
            heads, frame = body.start(program, arrays)
            if keep:
                self._frames.append(frame)
            if number == 1:
                outputs = [_stack_for(head, length) for head in heads[:stacked]]
            for output, head in zip(outputs, heads, strict=False):
                output[number - 1] = head
            for position, head in zip(self.state_positions, heads[stacked:], strict=True):
                arrays[position] = head
        self._count = number
        if number == 0:
            shapes, dtypes = body.known(self._example(raws))
            outputs = [numpy.zeros((length, *shapes[value]), dtypes[value]) for value in body.symbol.values[:stacked]]
            return (*outputs, *(arrays[position].copy() for position in self.state_positions))
        return (*outputs, *(arrays[position] for position in self.state_positions))

    def pull_back(
        self, answer: Any, arguments: Sequence[Any], attributes: dict[str, Any], gradient: Any, needed: Sequence[int]
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `needed`: backward through all iterations."""
        self._refuse_recording()
        body, stacked = self.body, self.stacked
        self._asked[0] = frozenset(needed)
        example = self._example(arguments)
        requests = self._requests(body, arguments, needed, self.state_positions)
        if not self._frames:
            self._run(arguments, bool(attributes.get("training")), True, frozenset(needed))
        upstream = gradient if type(gradient) is tuple else (gradient,)
        totals = {index: numpy.zeros(arguments[index].shape, arguments[index].dtype) for index in needed}
        carried = [*upstream[stacked:]]
        if self._frames:
            self._ready(self._frames, body, example, requests)
            carried = self._walk(upstream, carried, arguments, totals)
        for position, part in zip(self.state_positions, carried, strict=True):
            if body.sources[position] in totals:
                totals[body.sources[position]] += part
        return [totals[index] for index in needed]

    def _walk(
        self,
        upstream: Sequence[numpy.ndarray],
        carried: list[numpy.ndarray],
        arguments: Sequence[Any],
        totals: dict[int, numpy.ndarray],
    ) -> list[numpy.ndarray]:
        """Add to the gradients of data and of what is captured; return those of the first states."""
        body, stacked = self.body, self.stacked
        roles = [
            (node, position, source)
            for position, (node, source) in enumerate(zip(body.variables, body.sources, strict=True))
            if node in self._frames[0].program.steps.requests
        ]
        fixed: Gradients = {}
        slices: list[tuple[Node, numpy.ndarray]] = []
        moving: list[tuple[Node, int]] = []
        for node, position, source in roles:
            like = arguments[source]
            if position in self.state_positions:
                moving.append((node, self.state_positions.index(position)))
            elif position in self.data_positions:
                whole = totals.get(source)
                repeated = sum(body.sources[other] == source for other in self.data_positions) > 1
                whole = numpy.empty(like.shape, like.dtype) if whole is None or repeated else whole
                slices.append((node, whole.reshape(-1, *_of_slice(whole.shape))))
            else:
                fixed[node] = numpy.zeros(like.shape, like.dtype)
        given = [arguments[body.sources[position]] for position in self.state_positions]
        zeros = [numpy.zeros(like.shape, like.dtype) for like in given]
        spares: list[list[numpy.ndarray]] = [[numpy.empty_like(zero) for zero in zeros] for _ in range(2)]
        for number in reversed(range(self._count)):
            heads = [*(part[number, ...] for part in upstream[:stacked]), *carried]
            buffers = {**fixed, **{node: whole[number] for node, whole in slices}}
            into = spares[number % 2]
            buffers.update((node, into[index]) for node, index in moving)
            self._frames[number].backward(heads, buffers)
            carried = [*zeros]
            for _, index in moving:
                carried[index] = into[index]
        for node, _, source in roles:
            if node in fixed and source in totals:
                totals[source] += fixed[node]
        for node, whole in slices:
            source = body.sources[body.variables.index(node)]
            if source in totals and not numpy.may_share_memory(totals[source], whole):
                totals[source] += whole.reshape(totals[source].shape)
        return carried

    # -- inference -------------------------------------------------------------------------------------------------

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Complete shapes: of the data's slices by the body, of states as what they become."""

        def row_of(shape: Any) -> Any:
            if shape is not None and len(shape) == 0:
                raise ShapeError("there is no axis to loop over: shape ()")
            return None if shape is None else _of_slice(shape)

        def rows_like(shape: Any) -> Any:  # rows of shape (1,) may be of an array of one axis or of two
            return None if shape is None or (len(shape) == 1 and shape[0] in (1, UNKNOWN)) else (length, *shape)

        def without_first(shape: Any) -> Any:
            return shape[1:] if shape else None

        def with_first(shape: Any) -> Any:
            return None if shape is None else (length, *shape)

        length = UNKNOWN
        for position in self.data_positions:
            shape = inputs[self.body.sources[position]]
            if shape:
                length = _same_length(length, shape[0])
        length = self._stacked_length(length, outputs[: self.stacked])
        return self._completed(
            inputs,
            outputs,
            merge_shapes,
            lambda graph, known, heads: graph.infer_shapes(known, heads),
            (row_of, rows_like),
            (without_first, with_first),
        )

    def _stacked_length(self, length: int, outputs: Sequence[Any]) -> int:
        for shape in outputs:
            if shape:
                length = _same_length(length, shape[0])
        return length

    def type_inference(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        """Complete dtypes, by the body; those of states are those of what they become."""

        def same(dtype: Any) -> Any:
            return dtype

        return self._completed(
            inputs,
            outputs,
            merge_dtypes,
            lambda graph, known, heads: graph.infer_dtypes(known, heads),
            (same, same),
            (same, same),
        )

    def _completed(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        merge: Callable[[Any, Any], Any],
        infer: Callable[[Subgraph, list[Any], list[Any]], tuple[list[Any], list[Any]]],
        of_data: tuple[Callable[[Any], Any], Callable[[Any], Any]],
        of_outputs: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    ) -> tuple[list[Any], list[Any]]:
        """Apply the rules of the graphs until nothing new follows; the pairs take a slice's fact, and give back."""
        inputs, outputs = [*inputs], [*outputs]
        changed = True
        while changed:
            before = [*inputs], [*outputs]
            for graph in self.graphs:
                known: list[Any] = [inputs[source] for source in graph.sources]
                data = self.data_positions if graph is self.body else ()
                for position in data:
                    known[position] = of_data[0](known[position])
                heads: list[Any] = [None] * len(graph.symbol.values)
                if graph is self.body:
                    heads = [*map(of_outputs[0], outputs[: self.stacked]), *outputs[self.stacked :]]
                    for index, position in enumerate(self.state_positions):
                        heads[self.stacked + index] = known[position] = merge(
                            known[position], heads[self.stacked + index]
                        )
                known, heads = infer(graph, known, heads)
                for position, source in enumerate(graph.sources):
                    fact = of_data[1](known[position]) if position in data else known[position]
                    inputs[source] = merge(inputs[source], fact)
                if graph is self.body:
                    parts = [*map(of_outputs[1], heads[: self.stacked]), *heads[self.stacked :]]
                    outputs = [merge(old, new) for old, new in zip(outputs, parts, strict=True)]
            changed = not (_same_facts(before[0], inputs) and _same_facts(before[1], outputs))
        return inputs, outputs


def _of_slice(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape of a slice along the first axis; of an array of one axis it is an array, as MXNet's are."""
    return (*shape[1:],) if len(shape) > 1 else (1,)


def _same_facts(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return all(
        (old is None) == (new is None) and (old is None or bool(old == new))
        for old, new in zip(one, other, strict=True)
    )


def _same_length(one: int, other: int) -> int:
    if UNKNOWN in (one, other):
        return max(one, other)
    if one != other:
        raise ShapeError(f"what is looped over has lengths {one} and {other} along its first axis; expected one length")
    return one


def _stack_for(head: numpy.ndarray, length: int) -> numpy.ndarray:
    return numpy.zeros((length, *head.shape), head.dtype)


class Foreach(_Loop):
    """`_foreach`: a body called on each slice of some arrays along their first axis.

    Parameters
    ----------
    graphs : sequence of Subgraph
        The body alone.
    stacked : int
        How many of its heads are stacked; the others are states.
    data, states : sequence of int
        The positions of the slices, and of the states, among its variables.
    """

    __name__ = "_foreach"

    def __init__(self, graphs: Sequence[Subgraph], stacked: int, data: Sequence[int], states: Sequence[int]) -> None:
        super().__init__(graphs, stacked, states)
        self.data_positions = [*data]

    def _made_from(self) -> tuple[Any, ...]:
        return self.stacked, self.data_positions, self.state_positions

    @property
    def parameters(self) -> dict[str, Any]:
        """What files say of the node."""
        position = {source: index for index, source in enumerate(self.body.sources)}
        first = len(self.data_positions) + len(self.state_positions)
        return {
            "num_args": 1 + self.arity,
            "num_outputs": len(self.outputs),
            "num_out_data": self.stacked,
            "in_data_locs": _listed(self.data_positions),
            "in_state_locs": _listed(self.state_positions),
            "remain_locs": _listed([position[source] for source in range(first, self.arity)]),
        }

    def _length(self, raws: Sequence[Any]) -> int:
        lengths = {raws[self.body.sources[position]].shape[:1] for position in self.data_positions}
        if len(lengths) != 1 or () in lengths:
            shown = ", ".join(str(raws[self.body.sources[position]].shape) for position in self.data_positions)
            raise ShapeError(f"_foreach: data of shapes {shown}; expected one length of the first axis.")
        return int(lengths.pop()[0])

    def _steps(self, raws: Sequence[Any], arrays: list[Any], training: bool) -> Any:
        data = [(position, raws[self.body.sources[position]]) for position in self.data_positions]
        for number in range(self._length(raws)):
            for position, whole in data:
                arrays[position] = whole[number] if whole.ndim > 1 else whole[number : number + 1]
            yield number


class WhileLoop(_Loop):
    """`_while_loop`: a body called as long as a condition of the states holds, and a number of times at most.

    Parameters
    ----------
    graphs : sequence of Subgraph
        The condition and the body.
    stacked : int
        How many of the body's heads are stacked; the others are states.
    states : sequence of int
        The positions of the states among the body's variables.
    most : int
        How often the body runs at most: the length of what is stacked.
    """

    __name__ = "_while_loop"

    def __init__(self, graphs: Sequence[Subgraph], stacked: int, states: Sequence[int], most: int) -> None:
        super().__init__(graphs, stacked, states)
        self.most = most

    def _made_from(self) -> tuple[Any, ...]:
        return self.stacked, self.state_positions, self.most

    @property
    def parameters(self) -> dict[str, Any]:
        """What files say of the node."""
        return {
            "num_args": 2 + self.arity,
            "num_outputs": len(self.outputs),
            "num_out_data": self.stacked,
            "max_iterations": self.most,
            "cond_input_locs": _listed(self.graphs[0].sources),
            "func_input_locs": _listed(self.body.sources),
            "func_var_locs": _listed(self.state_positions),
        }

    def _length(self, raws: Sequence[Any]) -> int:
        return self.most

    def _stacked_length(self, length: int, outputs: Sequence[Any]) -> int:
        return super()._stacked_length(self.most, outputs)

    def _steps(self, raws: Sequence[Any], arrays: list[Any], training: bool) -> Any:
        condition = self.graphs[0]
        current = condition.given(raws)
        program = condition.program(current, training, None)
        of_body = {self.body.sources[position]: position for position in self.state_positions}
        moving = [(index, of_body[source]) for index, source in enumerate(condition.sources) if source in of_body]
        for number in range(self.most):
            for index, position in moving:
                current[index] = arrays[position]
            if not _holds(condition.start(program, current)[0][0], "_while_loop: the condition"):
                return
            yield number


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
        self._chosen: tuple[Subgraph, Frame] | None = None
        self._holds = False

    def _made_from(self) -> tuple[Any, ...]:
        return ()

    @property
    def parameters(self) -> dict[str, Any]:
        """What files say of the node."""
        names = ("cond_input_locs", "then_input_locs", "else_input_locs")
        return {
            "num_args": 3 + self.arity,
            "num_outputs": len(self.outputs),
            **{name: _listed(graph.sources) for name, graph in zip(names, self.graphs, strict=True)},
        }

    def _differentiated(self) -> Sequence[Subgraph]:
        return self.graphs[1:]

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Run the condition, and the graph that it chooses."""
        self._forget()
        condition = self.graphs[0]
        given = condition.given(raws)
        heads, _ = condition.start(condition.program(given, bool(training), None), given)
        self._holds = _holds(heads[0], "_cond: the condition")
        answer = self._run(raws, bool(training), self._asked[0])
        return tuple(answer) if len(answer) > 1 else answer[0]

    def _run(self, raws: Sequence[Any], training: bool, needed: Any) -> list[numpy.ndarray]:
        graph = self.graphs[1 if self._holds else 2]
        given = graph.given(raws)
        if training or graph.varies:
            program = self._program(graph, given, raws, training, needed, ())
        else:
            program = graph.program(given, training, None)
        answer, frame = graph.start(program, given)
        if training or graph.varies:
            self._chosen = graph, frame
        return answer

    def pull_back(
        self, answer: Any, arguments: Sequence[Any], attributes: dict[str, Any], gradient: Any, needed: Sequence[int]
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `needed`: zero where the graph not chosen reads them."""
        self._refuse_recording()
        self._asked[0] = frozenset(needed)
        graph = self.graphs[1 if self._holds else 2]
        given = graph.given(arguments)
        requests = self._requests(graph, arguments, needed, ())
        totals = {index: numpy.zeros(arguments[index].shape, arguments[index].dtype) for index in needed}
        if not requests:
            return [totals[index] for index in needed]
        if self._chosen is None:
            program = graph.program(given, bool(attributes.get("training")), requests)
            frame = graph.start(program, given)[1]
        else:
            frame = self._chosen[1]
            self._ready([frame], graph, given, requests)
        buffers = {
            node: numpy.empty(array.shape, array.dtype)
            for node, array in zip(graph.variables, given, strict=True)
            if node in frame.program.steps.requests
        }
        frame.backward(gradient if type(gradient) is tuple else (gradient,), buffers)
        for node, source in zip(graph.variables, graph.sources, strict=True):
            if node in buffers and source in totals:
                totals[source] += buffers[node]
        return [totals[index] for index in needed]

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Complete shapes by the graphs; both that are chosen from give the same."""
        return self._completed(inputs, outputs, merge_shapes, lambda graph, *known: graph.infer_shapes(*known))

    def type_inference(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        """Complete dtypes by the graphs."""
        return self._completed(inputs, outputs, merge_dtypes, lambda graph, *known: graph.infer_dtypes(*known))

    def _completed(
        self, inputs: Sequence[Any], outputs: Sequence[Any], merge: Callable[[Any, Any], Any], infer: Callable[..., Any]
    ) -> tuple[list[Any], list[Any]]:
        inputs, outputs = [*inputs], [*outputs]
        changed = True
        while changed:
            before = [*inputs], [*outputs]
            for graph in self.graphs:
                is_branch = graph is not self.graphs[0]
                known, heads = infer(graph, graph.given(inputs), outputs if is_branch else [None])
                for source, fact in zip(graph.sources, known, strict=True):
                    inputs[source] = merge(inputs[source], fact)
                if is_branch:
                    outputs = [merge(old, new) for old, new in zip(outputs, heads, strict=True)]
            changed = not (_same_facts(before[0], inputs) and _same_facts(before[1], outputs))
        return inputs, outputs


def _holds(value: numpy.ndarray, what: str) -> bool:
    if value.size != 1:
        raise ArgumentError(f"{what} is an array of shape {value.shape}; expected one element. Reduce it, as by sum().")
    return bool(value.reshape(-1)[0])


def _listed(positions: Sequence[int]) -> str:
    """Return positions as files hold them."""
    return str([*positions])


# By what files call them.
CONTROL_FLOW: dict[str, type[ControlFlow]] = {"_foreach": Foreach, "_while_loop": WhileLoop, "_cond": Cond}
