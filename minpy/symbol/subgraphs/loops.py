"""Loops: `_foreach` and `_while_loop`. An iteration has a frame, and backward takes them in the opposite order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy

from minpy.core.array import Shaped
from minpy.core.base_operator import Shapes
from minpy.core.errors import ShapeError
from minpy.graph.frame import Frame
from minpy.graph.ir import Node
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.symbol.subgraphs.subgraph import Subgraph, is_same
from minpy.symbol.subgraphs.subgraph_operator import ControlFlow, holds, listed

__all__ = ["Foreach", "WhileLoop"]

Gradients = dict[Node, numpy.ndarray]


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
        self.most = UNKNOWN  # how often it runs at most
        self._forget()

    def _forget(self) -> None:
        self._frames: list[Frame] = []
        self._inputs: list[Any] | None = None  # what the frames were started with, before it is sliced
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
        """Return arrays, or stand-ins, with the shapes and dtypes of the body's variables."""
        arrays: list[Any] = self.body.inputs_of(raws)
        for position in self.data_positions:
            arrays[position] = Shaped(_slice_shape(arrays[position].shape), arrays[position].dtype)
        return arrays

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Run the loop; return what the iterations gave, stacked, and the last states."""
        self._forget()
        outputs = self._run(raws, bool(training), bool(training) or self.random, self._last_requires_grad[0])
        return outputs if len(outputs) > 1 else outputs[0]

    def _run(self, raws: Sequence[Any], training: bool, keep: bool, requires_grad: Any) -> tuple[numpy.ndarray, ...]:
        body, stacked = self.body, self.stacked
        arrays = self._example(raws)
        if keep:
            self._inputs = body.inputs_of(raws)
            program = self._program(body, arrays, raws, training, requires_grad, self.state_positions)
        else:
            program = body.program(arrays, training, None)
        outputs: list[numpy.ndarray] = []
        length, number = self._length(raws), 0
        for number, _ in enumerate(self._steps(raws, arrays, training), 1):
            heads, frame = body.start(program, arrays)
            if keep:
                self._frames.append(frame)
            if number == 1:
                outputs = [numpy.zeros((length, *head.shape), head.dtype) for head in heads[:stacked]]
            for output, head in zip(outputs, heads, strict=False):
                output[number - 1] = head
            for position, head in zip(self.state_positions, heads[stacked:], strict=True):
                arrays[position] = head
        self._count = number
        if number == 0:
            shapes, dtypes = body.facts_of(self._example(raws))
            outputs = [numpy.zeros((length, *shapes[value]), dtypes[value]) for value in body.symbol.values[:stacked]]
            return (*outputs, *(arrays[position].copy() for position in self.state_positions))
        return (*outputs, *(arrays[position] for position in self.state_positions))

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`: backward through all iterations."""
        self._refuse_recording()
        body, stacked = self.body, self.stacked
        self._last_requires_grad[0] = frozenset(requires_grad)
        example = self._example(arguments)
        requests = self._requests(body, arguments, requires_grad, self.state_positions)
        if self._inputs is None:
            self._run(arguments, bool(attributes.get("training")), True, frozenset(requires_grad))
        upstream = gradient if type(gradient) is tuple else (gradient,)
        totals = {index: numpy.zeros(arguments[index].shape, arguments[index].dtype) for index in requires_grad}
        state_gradients = [*upstream[stacked:]]
        if self._frames:
            self._move(body.inputs_of(arguments))
            self._ready(self._frames, body, example, requests)
            state_gradients = self._iterate_backward(upstream, state_gradients, arguments, totals)
        for position, part in zip(self.state_positions, state_gradients, strict=True):
            if body.sources[position] in totals:
                totals[body.sources[position]] += part
        return [totals[index] for index in requires_grad]

    def _move(self, inputs: list[Any]) -> None:
        """Let the frames go on with these arrays, if they lie elsewhere than before.

        A program that is run back a second time has computed its answers again: those of the first time, which the
        frames have seen slices of, were memory for others as soon as its first backward was done with them.
        """
        if self._inputs is not None and all(map(is_same, self._inputs, inputs)):
            return
        self._inputs, arrays = inputs, [*inputs]
        for number, frame in enumerate(self._frames):
            for position in self.data_positions:
                arrays[position] = _slice(inputs[position], number)
            self.body.move(frame, arrays)
            for position in self.state_positions:
                arrays[position] = None  # what the iteration before gave is the frames' own

    def _iterate_backward(
        self,
        upstream: Sequence[numpy.ndarray],
        state_gradients: list[numpy.ndarray],
        arguments: Sequence[Any],
        totals: dict[int, numpy.ndarray],
    ) -> list[numpy.ndarray]:
        """Add to the gradients of data and of captured inputs; return those of the first states."""
        body, stacked = self.body, self.stacked
        roles = [
            (node, position, source)
            for position, (node, source) in enumerate(zip(body.variables, body.sources, strict=True))
            if node in self._frames[0].program.steps.grad_req
        ]
        captured_gradients: Gradients = {}
        slices: list[tuple[Node, numpy.ndarray]] = []
        state_variables: list[tuple[Node, int]] = []
        for node, position, source in roles:
            like = arguments[source]
            if position in self.state_positions:
                state_variables.append((node, self.state_positions.index(position)))
            elif position in self.data_positions:
                whole = totals.get(source)
                repeated = sum(body.sources[data_position] == source for data_position in self.data_positions) > 1
                whole = numpy.empty(like.shape, like.dtype) if whole is None or repeated else whole
                slices.append((node, whole.reshape(-1, *_slice_shape(whole.shape))))
            else:
                captured_gradients[node] = numpy.zeros(like.shape, like.dtype)
        first_states = [arguments[body.sources[position]] for position in self.state_positions]
        zeros = [numpy.zeros(like.shape, like.dtype) for like in first_states]
        state_buffers: list[list[numpy.ndarray]] = [[numpy.empty_like(zero) for zero in zeros] for _ in range(2)]
        for number in reversed(range(self._count)):
            heads = [*(part[number, ...] for part in upstream[:stacked]), *state_gradients]
            buffers = {**captured_gradients, **{node: whole[number] for node, whole in slices}}
            targets = state_buffers[number % 2]
            buffers.update((node, targets[index]) for node, index in state_variables)
            self._frames[number].backward(heads, buffers)
            state_gradients = [*zeros]
            for _, index in state_variables:
                state_gradients[index] = targets[index]
        for node, _, source in roles:
            if node in captured_gradients and source in totals:
                totals[source] += captured_gradients[node]
        for node, whole in slices:
            source = body.sources[body.variables.index(node)]
            if source in totals and not numpy.may_share_memory(totals[source], whole):
                totals[source] += whole.reshape(totals[source].shape)
        return state_gradients

    # -- inference -------------------------------------------------------------------------------------------------

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Complete shapes: of the data's slices by the body, of states as what they become."""

        def row_of(shape: Any) -> Any:
            if shape is not None and len(shape) == 0:
                raise ShapeError("there is no axis to loop over: shape ()")
            return None if shape is None else _slice_shape(shape)

        def rows_like(shape: Any) -> Any:  # rows of shape (1,) may be of an array of one axis or of two
            return None if shape is None or (len(shape) == 1 and shape[0] in (1, UNKNOWN)) else (length, *shape)

        def without_first(shape: Any) -> Any:
            return shape[1:] if shape else None

        def with_first(shape: Any) -> Any:
            return None if shape is None else (length, *shape)

        over = [inputs[self.body.sources[position]] for position in self.data_positions]
        length = reduce(_same_length, (shape[0] for shape in (*over, *outputs[: self.stacked]) if shape), self.most)
        return self._completed(
            inputs, outputs, merge_shapes, Subgraph.infer_shapes, (row_of, rows_like), (without_first, with_first)
        )


def _slice_shape(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape of a slice along the first axis; of an array of one axis it is an array, as MXNet's are."""
    return (*shape[1:],) if len(shape) > 1 else (1,)


def _slice(whole: Any, number: int) -> Any:
    return whole[number] if whole.ndim > 1 else whole[number : number + 1]


def _same_length(length: int, expected: int) -> int:
    if UNKNOWN in (length, expected):
        return max(length, expected)
    if length != expected:
        raise ShapeError(
            f"what is looped over has lengths {length} and {expected} along its first axis; expected one length"
        )
    return length


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

    def _constructor_arguments(self) -> tuple[Any, ...]:
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
            "in_data_locs": listed(self.data_positions),
            "in_state_locs": listed(self.state_positions),
            "remain_locs": listed([position[source] for source in range(first, self.arity)]),
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
                arrays[position] = _slice(whole, number)
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

    def _constructor_arguments(self) -> tuple[Any, ...]:
        return self.stacked, self.state_positions, self.most

    @property
    def parameters(self) -> dict[str, Any]:
        """What files say of the node."""
        return {
            "num_args": 2 + self.arity,
            "num_outputs": len(self.outputs),
            "num_out_data": self.stacked,
            "max_iterations": self.most,
            "cond_input_locs": listed(self.graphs[0].sources),
            "func_input_locs": listed(self.body.sources),
            "func_var_locs": listed(self.state_positions),
        }

    def _length(self, raws: Sequence[Any]) -> int:
        return self.most

    def _steps(self, raws: Sequence[Any], arrays: list[Any], training: bool) -> Any:
        condition = self.graphs[0]
        current = condition.inputs_of(raws)
        program = condition.program(current, training, None)
        of_body = {self.body.sources[position]: position for position in self.state_positions}
        moving = [(index, of_body[source]) for index, source in enumerate(condition.sources) if source in of_body]
        for number in range(self.most):
            for index, position in moving:
                current[index] = arrays[position]
            if not holds(condition.start(program, current)[0][0], "_while_loop: the condition"):
                return
            yield number
