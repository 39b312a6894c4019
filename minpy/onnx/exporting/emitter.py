"""Nodes and constants of an ONNX graph, or of the body of a model-local function, as they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from minpy.frameworks.dialects import NoEqual, Operand

__all__ = ["EmittedFunction", "EmittedGraph", "EmittedNode", "Emitter"]

# Arrays of equal or consecutive numbers that are longer are computed where lengths are open: they may hang on these.
_SHORT = 1


@dataclass
class EmittedNode:
    """A node: its operator, the names of its inputs and outputs, and its attributes as Python values.

    `owner`: the name of the node of the graph, or the function, that it is written for; for messages.
    """

    op_type: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    name: str
    domain: str = ""
    owner: str = ""

    def values_read(self) -> Iterator[str]:
        """Yield the names of the values that it, and what it holds, read."""
        yield from self.inputs
        for value in self.attributes.values():
            if isinstance(value, EmittedGraph):
                yield from value.outputs
                for node in value.nodes:
                    yield from node.values_read()

    def rename(self, old: str, new: str) -> None:
        """Give a value another name, here and in the graphs that the node holds."""
        self.inputs = [new if name == old else name for name in self.inputs]
        if old in self.outputs:
            if len(self.outputs) == 1:
                self.name = new
            self.outputs = [new if name == old else name for name in self.outputs]
        for value in self.attributes.values():
            if isinstance(value, EmittedGraph):
                value.outputs = [new if name == old else name for name in value.outputs]
                for node in value.nodes:
                    node.rename(old, new)


@dataclass
class EmittedGraph:
    """A graph that a node holds: the body of a loop, or a branch. It reads values of the graph around it by name.

    `inputs`: for each its name, shape and dtype.
    """

    name: str
    nodes: list[EmittedNode]
    inputs: list[tuple[str, tuple[int, ...], numpy.dtype]]
    outputs: list[str]
    output_specs: list[tuple[tuple[int, ...], numpy.dtype]]


@dataclass
class EmittedFunction:
    """A model-local function: its body, and what its inputs and outputs are called there."""

    name: str
    body: Emitter
    inputs: list[str]
    outputs: list[str]
    documentation: str = ""
    domain: str = ""

    def is_same(self, function: EmittedFunction) -> bool:
        """Tell whether another function does the same."""
        constants, others = self.body.constants, function.body.constants
        return (
            (self.inputs, self.outputs) == (function.inputs, function.outputs)
            and _comparable(self.body.nodes) == _comparable(function.body.nodes)
            and constants.keys() == others.keys()
            and all(_content(constants[name]) == _content(others[name]) for name in constants)
        )


def _comparable(nodes: Sequence[EmittedNode]) -> list[Any]:
    return [
        (
            (node.op_type, node.domain, node.inputs, node.outputs),
            {key: _part(value) for key, value in node.attributes.items()},
        )
        for node in nodes
    ]


def _last_of_its_kind(matrix: numpy.ndarray) -> int:
    """Return the last diagonal on which a matrix has the number of its lower left corner; the main one is 0."""
    first_row = [value.tobytes() == matrix[-1, 0].tobytes() for value in matrix[0]]
    if first_row[0]:
        return first_row.index(False) - 1 if False in first_row else len(first_row) - 1
    first_column = [value.tobytes() == matrix[-1, 0].tobytes() for value in matrix[:, 0]]
    return -first_column.index(True)


def _part(value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        return _content(value)
    if isinstance(value, EmittedGraph):
        return _comparable(value.nodes), value.inputs, value.outputs
    return value


def _content(array: numpy.ndarray) -> tuple[Any, ...]:
    return array.dtype.str, array.shape, array.tobytes()


@dataclass
class Emitter:
    """What is written so far.

    Parameters
    ----------
    opset : int
        The version of ONNX's operators.
    open_lengths : bool
        Whether constants that may hang on lengths are computed by nodes, from numbers that can follow a length.
    prefix : str
        What the names of further values begin with.
    owner : str
        The node of the graph, or the function, that further nodes are written for.
    nodes : list of EmittedNode
    constants : dict of str to numpy.ndarray
    functions : dict of str to EmittedFunction
        Those of the model; each after those that it calls.
    taken : set of str
        Names that values have.
    """

    opset: int
    open_lengths: bool = False
    prefix: str = ""
    owner: str = ""
    nodes: list[EmittedNode] = field(default_factory=list)
    constants: dict[str, numpy.ndarray] = field(default_factory=dict)
    functions: dict[str, EmittedFunction] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    _by_content: dict[Any, str] = field(default_factory=dict)

    # -- graphs within -----------------------------------------------------------------------------------------------

    def of_graph(self) -> Emitter:
        """Return what writes a graph that a node of this one holds: names and constants are shared."""
        return Emitter(
            self.opset,
            self.open_lengths,
            self.prefix,
            self.owner,
            [],
            self.constants,
            self.functions,
            self.taken,
            self._by_content,
        )

    def of_function(self, name: str) -> Emitter:
        """Return what writes the body of a model-local function, which sees nothing of what is around it."""
        return Emitter(self.opset, self.open_lengths, "", name, functions=self.functions)

    def declare(self, function: EmittedFunction) -> EmittedFunction:
        """Add a function to the model, and return it; or one that is there and does the same."""
        name, count = function.name, 1
        while (present := self.functions.get(name)) is not None:
            if present.is_same(function):
                return present
            count += 1
            name = f"{function.name}_{count}"
        function.name = name
        self.functions[name] = function
        return function

    # -- names and values --------------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return a name that nothing has yet, and take it."""
        name, count = stem, 0
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name

    def constant(self, data: Any) -> Operand:
        """Return the operand of an array that is part of the graph; equal ones are one."""
        array = numpy.asarray(data)
        if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
            raise NoEqual(f"an array of {array.dtype.name}")
        if self.open_lengths and array.size > _SHORT and (computed := self._computed(array)) is not None:
            return Operand(computed, array.shape, array.dtype, array)
        return Operand(self.stored(array), array.shape, array.dtype, array)

    def stored(self, array: numpy.ndarray) -> str:
        """Return the name of an array that is stored as it is."""
        key = _content(array)
        if self.open_lengths and array.size < 64:  # what is equal here may differ for other lengths
            key = (*key, len(self.constants))
        name = self._by_content.get(key)
        if name is None:
            name = self._by_content[key] = self.fresh(f"{self.prefix}constant")
            self.constants[name] = array
        return name

    def _computed(self, array: numpy.ndarray) -> str | None:
        """Return the name of an array that nodes compute from its shape, or its ends; None for one of another kind."""
        first = array.reshape(-1)[0]
        if array.tobytes() == numpy.full(array.shape, first, array.dtype).tobytes() and (
            array.dtype != numpy.int64 or array.ndim > 1
        ):
            shape = self.stored(numpy.array(array.shape, numpy.int64))
            (name,) = self.add("ConstantOfShape", [shape], 1, {"value": numpy.full((1,), first, array.dtype)})
            return name
        if array.dtype.kind not in "biuf":
            return None
        steps = numpy.diff(array.reshape(-1)) if array.dtype.kind != "b" else numpy.zeros(1)
        if array.size == max(array.shape) > 2 and bool((steps == 1).all()):
            ends = [self.stored(numpy.asarray(int(end), numpy.int64)) for end in (first, array.reshape(-1)[-1] + 1)]
            (name,) = self.add("Range", [*ends, self.stored(numpy.asarray(1, numpy.int64))], 1, {})
            if array.ndim > 1:
                (name,) = self.add("Reshape", [name, self.stored(numpy.array(array.shape, numpy.int64))], 1, {})
            return name if array.dtype == numpy.int64 else self.cast(name, array.dtype)
        if array.ndim >= 2 and min(array.shape[-2:]) > 2 and array.size == array.shape[-2] * array.shape[-1]:
            return self._computed_triangle(array)
        return None

    def _computed_triangle(self, array: Any) -> str | None:
        """Return the name of a matrix of two numbers, one on a diagonal, or up to one, which nodes compute; or None."""
        matrix = array.reshape(array.shape[-2:])
        rows, columns = array.shape[-2:]
        below, above = matrix[-1, 0], matrix[0, -1]
        distances = numpy.arange(columns) - numpy.arange(rows)[:, None]
        if below.tobytes() != above.tobytes():
            diagonal, op_type, inside, outside = _last_of_its_kind(matrix), "LessOrEqual", below, above
            mask = distances <= diagonal
        else:
            others = numpy.flatnonzero(matrix != below)
            row, column = divmod(int(others[0]), columns) if others.size else (0, 0)
            diagonal, op_type, inside, outside = column - row, "Equal", matrix[row, column], below
            mask = distances == diagonal
        if numpy.where(mask, inside, outside).astype(array.dtype).tobytes() != matrix.tobytes():
            return None
        zero, one = (self.stored(numpy.asarray(number, numpy.int64)) for number in (0, 1))
        ends = [self.stored(numpy.asarray(length, numpy.int64)) for length in (rows, columns)]
        (down,), (along,) = (self.add("Range", [zero, end, one], 1, {}) for end in ends)
        (down,) = self.add("Unsqueeze", [down, self.stored(numpy.array([1]))], 1, {})
        (distance,) = self.add("Sub", [along, down], 1, {})
        (condition,) = self.add(op_type, [distance, self.stored(numpy.asarray(diagonal, numpy.int64))], 1, {})
        number = numpy.dtype(numpy.uint8) if array.dtype.kind == "b" else array.dtype
        values = [self.stored(numpy.asarray(value).astype(number)) for value in (inside, outside)]
        (name,) = self.add("Where", [condition, *values], 1, {})
        if array.ndim > 2:
            leading = numpy.arange(array.ndim - 2)
            (name,) = self.add("Unsqueeze", [name, self.stored(leading)], 1, {})
        return name if number == array.dtype else self.cast(name, array.dtype)

    def cast(self, name: str, dtype: Any) -> str:
        """Return the name of an array in another dtype."""
        (result,) = self.add("Cast", [name], 1, {"to": numpy.dtype(dtype)})
        return result

    def output(self, name: str, inputs: Sequence[str] = ()) -> str:
        """Return the name of a value as an output: of a copy where it is an input or a constant."""
        if name in inputs or name in self.constants or not any(name in node.outputs for node in self.nodes):
            (name,) = self.add("Identity", [name], 1, {})
        return name

    def add(
        self, op_type: str, inputs: Sequence[str], num_outputs: int, attributes: dict[str, Any], domain: str = ""
    ) -> list[str]:
        """Write a node, and return the names of its outputs."""
        name = self.fresh(f"{self.prefix}{op_type}")
        outputs = [name] if num_outputs == 1 else [self.fresh(f"{name}.{index}") for index in range(num_outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        inputs = list(inputs)
        while inputs and not inputs[-1]:
            inputs.pop()
        self.nodes.append(EmittedNode(op_type, inputs, outputs, attributes, name, domain, self.owner))
        return outputs

    def keep_only(self, outputs: Sequence[str]) -> None:
        """Leave out the nodes that outputs do not hang on."""
        read = set(outputs)
        kept = []
        for node in reversed(self.nodes):
            if not read.isdisjoint(node.outputs):
                kept.append(node)
                read.update(node.values_read())
        self.nodes[:] = reversed(kept)

    def rename(self, old: str, new: str, start: int = 0) -> None:
        """Give a value that was written since `start` another name, and its node, too, if it has one output."""
        for node in self.nodes[start:]:
            node.rename(old, new)
