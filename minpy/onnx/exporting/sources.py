"""What is exported: a symbol, or the graph that a function's call was captured as. Each is written, and run itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from minpy.core.errors import MXNetError
from minpy.frameworks.dialects import NoEqual, Operand
from minpy.frameworks.tracing import TracedSteps
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.graph.ir import Node, Value, topological
from minpy.onnx.exporting.emitter import Emitter
from minpy.onnx.exporting.graph_writer import GraphWriter, Problem, draws
from minpy.onnx.exporting.lengths import FAILURES

__all__ = ["ExportError", "ExportInput", "FunctionSource", "Source", "SymbolSource", "Writing"]


class ExportError(MXNetError):
    """A graph that cannot be exported, or an exported model that computes something else; no file is written."""


@dataclass(frozen=True)
class ExportInput:
    """An input of a model.

    Attributes
    ----------
    name : str
    shape : tuple of int
        What the model is written and tried for.
    dtype : numpy.dtype
    open_axes : mapping of int to str
        What the lengths of axes that may have any are called; where two are called the same, they are.
    """

    name: str
    shape: tuple[int, ...]
    dtype: numpy.dtype
    open_axes: Mapping[int, str] = field(default_factory=dict)

    def at(self, lengths: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with these lengths."""
        return tuple(lengths.get(self.open_axes.get(axis, ""), length) for axis, length in enumerate(self.shape))


@dataclass
class Writing:
    """A graph as it was written for some lengths: the nodes, and what stands for the values and the outputs."""

    emitter: Emitter
    writer: GraphWriter
    outputs: list[Operand]


class Source:
    """A graph with its inputs and parameters.

    Attributes
    ----------
    name : str
    heads : list of Value
        What is computed.
    inputs : list of ExportInput
    parameters : dict of str to numpy.ndarray
    """

    name: str
    heads: list[Value]
    inputs: list[ExportInput]
    parameters: dict[str, numpy.ndarray]

    def __init__(self, heads: Sequence[Value], inputs: Sequence[ExportInput]) -> None:
        self.heads = list(heads)
        self.inputs = list(inputs)
        self.order = topological(self.heads)

    def output_names(self) -> list[str]:
        """Return what the outputs are called if they are inputs, or computed twice."""
        raise NotImplementedError(f"{type(self).__name__} defines no output_names.")

    def write(self, opset: int, lengths: Mapping[str, int], is_open: bool) -> Writing:
        """Write the graph for some lengths of the open axes.

        Raises
        ------
        ExportError
            If nodes have no equal in ONNX; the text lists them all.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no write.")

    def _arrays(self, inputs: Mapping[str, numpy.ndarray]) -> dict[Node, numpy.ndarray]:
        raise NotImplementedError(f"{type(self).__name__} defines no _arrays.")

    def evaluate(self, values: Sequence[Value], inputs: Mapping[str, numpy.ndarray]) -> list[numpy.ndarray]:
        """Return values of the graph for arrays of the inputs, as minpy computes them, in predict mode."""
        compiled = Compiled(values, compiles=False)
        by_node = self._arrays(inputs)
        arrays = [_read_only(by_node[node]) for node in compiled.variables]
        with numpy.errstate(all="ignore"):
            outputs, _ = start(compiled.program(arrays, False), arrays)
        return [numpy.asarray(output) for output in outputs]

    def random_nodes(self) -> set[Node]:
        """Return the nodes whose outputs hang on random numbers: of these, shapes and dtypes are compared."""
        drawn: set[Node] = set()
        for node in self.order:
            if _draws(node) or any(value.node in drawn for value in node.inputs):
                drawn.add(node)
        return drawn

    def open_lengths(self) -> dict[str, int]:
        """Return the lengths that are open, by name, as the model is tried for."""
        return {name: each.shape[axis] for each in self.inputs for axis, name in each.open_axes.items()}

    def fixed_lengths(self) -> set[int]:
        """Return the lengths of the graph's values that are the same whatever the open ones are."""
        raise NotImplementedError(f"{type(self).__name__} defines no fixed_lengths.")

    def _emitter(self, opset: int, is_open: bool) -> Emitter:
        emitter = Emitter(opset, open_lengths=is_open)
        emitter.taken.update(self.parameters, (each.name for each in self.inputs))
        return emitter


def _draws(node: Node) -> bool:
    """Tell whether a node, or one of a graph that it holds, draws random numbers in predict mode."""
    operator: Any = node.operator
    if hasattr(operator, "graphs"):  # a loop or a branch
        return any(_draws(inner) for graph in operator.graphs for inner in graph.order if inner.operator is not None)
    return draws(operator, node.attributes)


class SymbolSource(Source):
    """A symbol with arrays for its parameters."""

    def __init__(
        self, symbol: Any, inputs: Sequence[ExportInput], parameters: Mapping[str, numpy.ndarray], name: str = ""
    ) -> None:
        super().__init__(symbol.values, inputs)
        self.symbol = symbol
        self.name = name or symbol.name or "graph"
        names = set(symbol.list_inputs())
        self.parameters = {name: array for name, array in parameters.items() if name in names}

    def output_names(self) -> list[str]:
        """Return the names of the outputs as the symbol lists them, without `_output`."""
        return [name.removesuffix("_output") for name in self.symbol.list_outputs()]

    def write(self, opset: int, lengths: Mapping[str, int], is_open: bool) -> Writing:
        """Write the graph for some lengths of the open axes."""
        shapes, dtypes = self._inferred(lengths)
        emitter = self._emitter(opset, is_open)
        emitter.taken.update(node.name for node in self.order)
        writer = GraphWriter(emitter, shapes, dtypes, self._fixed_lengths(lengths, shapes) if is_open else None)
        by_name = {each.name: each for each in self.inputs}
        for node in self.order:
            if node.operator is not None:
                continue
            value = Value(node)
            if node.name in by_name:
                each = by_name[node.name]
                writer.give(value, Operand(node.name, each.at(lengths), each.dtype))
            elif node.name in self.parameters:
                array = self.parameters[node.name]
                writer.give(value, Operand(node.name, array.shape, array.dtype, array))
            else:  # a label: what reads it must not need it
                dtype = numpy.dtype(dtypes.get(value) or "float32")
                writer.give(value, Operand(node.name, tuple(shapes.get(value) or ()), dtype))
        outputs = writer.write(self.heads)
        unread = {node.name for node in self.order if node.operator is None} - {*by_name, *self.parameters}
        for emitted in emitter.nodes:
            for name in unread.intersection(emitted.inputs):
                raise ExportError(
                    f"export_model: {emitted.owner!r} reads {name!r}, which is neither in params nor in in_shapes. "
                    "Give it in one of them."
                )
        if writer.problems:
            raise ExportError(_listed(writer.problems))
        return Writing(emitter, writer, outputs)

    def fixed_lengths(self) -> set[int]:
        """Return the lengths of the graph's values that are the same whatever the open ones are."""
        lengths = self.open_lengths()
        shapes = self._inferred(lengths)[0]
        try:
            return set().union(*self._fixed_lengths(lengths, shapes).values())
        except FAILURES:  # what does not run for other lengths is said where it is written for such
            return {length for shape in shapes.values() for length in shape or ()}

    def _fixed_lengths(self, lengths: Mapping[str, int], shapes: Mapping[Value, Any]) -> dict[Value, set[int]]:
        """Return, by value, its lengths that are the same for other lengths of the open axes."""
        others = self._inferred({name: length + 1 for name, length in lengths.items()})[0]
        fixed: dict[Value, set[int]] = {}
        for value, shape in shapes.items():
            other = others.get(value)
            if shape is not None and other is not None and len(shape) == len(other):
                open_ones = {one for one, two in zip(shape, other, strict=True) if one != two}
                fixed[value] = set(shape) - open_ones
        return fixed

    def _inferred(self, lengths: Mapping[str, int]) -> tuple[dict[Value, Any], dict[Value, Any]]:
        names = {node.name for node in self.order if node.operator is None}
        facts = {name: (array.shape, array.dtype) for name, array in self.parameters.items()}
        facts |= {each.name: (each.at(lengths), each.dtype) for each in self.inputs if each.name in names}
        given_dtypes = {name: dtype for name, (_, dtype) in facts.items()}
        given_shapes = {name: shape for name, (shape, _) in facts.items()}
        dtypes = self.symbol._infer_type("export_model", (), given_dtypes).known
        shapes = self.symbol._infer_shape("export_model", (), given_shapes, dtypes).known
        return shapes, dtypes

    def _arrays(self, inputs: Mapping[str, numpy.ndarray]) -> dict[Node, numpy.ndarray]:
        given = {**self.parameters, **inputs}
        lengths = {name: given[each.name].shape[axis] for each in self.inputs for axis, name in each.open_axes.items()}
        shapes: Mapping[Value, Any] = {}
        arrays = {}
        for node in self.order:
            if node.operator is None:
                array = given.get(node.name)
                if array is None:  # a label, which no prediction reads
                    shapes = shapes or self._inferred(lengths)[0]
                    array = numpy.zeros(tuple(shapes.get(Value(node)) or ()), "float32")
                arrays[node] = array
        return arrays


class FunctionSource(Source):
    """The steps that a call of a function was captured as."""

    def __init__(self, steps: TracedSteps, inputs: Sequence[ExportInput]) -> None:
        super().__init__(steps.outputs, inputs)
        self.steps = steps
        self.name = steps.name
        names: dict[str, numpy.ndarray] = {}
        self._captured: dict[Node, str] = {}
        taken = {each.name for each in inputs}
        for node, array in zip(steps.captured, steps.captured_arrays(), strict=True):
            name = node.name.removeprefix("captured ")
            while name in taken:
                name += "_"
            taken.add(name)
            names[name] = self._captured_array(array)
            self._captured[node] = name
        self.parameters = names

    @staticmethod
    def _captured_array(array: Any) -> numpy.ndarray:
        return numpy.asarray(array)

    def output_names(self) -> list[str]:
        """Return names for outputs: `output`, or with their numbers."""
        return ["output"] if len(self.heads) == 1 else [f"output{index}" for index in range(len(self.heads))]

    def fixed_lengths(self) -> set[int]:
        """Return none: no length of captured steps is open."""
        return set()

    def write(self, opset: int, lengths: Mapping[str, int], is_open: bool) -> Writing:
        """Write the steps; they are those for the shapes that they were captured with."""
        emitter = self._emitter(opset, is_open)
        writer = GraphWriter(emitter, {}, {})
        for node, name in self._captured.items():
            array = self.parameters[name]
            writer.give(Value(node), Operand(name, array.shape, array.dtype, array))
        operands = [Operand(each.name, each.shape, each.dtype) for each in self.inputs]
        try:
            outputs = writer.write_steps(self.steps, operands)
        except NoEqual as error:
            raise ExportError(_listed([Problem.of_step(self.name, error)])) from None
        written = {name for node in emitter.nodes for name in node.outputs}
        for position, name in enumerate(self.output_names()):
            old = outputs[position].text
            if old in written and name not in emitter.taken:
                emitter.rename(old, emitter.fresh(name))
                outputs = [each._replace(text=name) if each.text == old else each for each in outputs]
                writer.rename(old, name)
        return Writing(emitter, writer, outputs)

    def _arrays(self, inputs: Mapping[str, numpy.ndarray]) -> dict[Node, numpy.ndarray]:
        arrays = {value.node: inputs[each.name] for value, each in zip(self.steps.inputs, self.inputs, strict=True)}
        arrays.update((node, self.parameters[name]) for node, name in self._captured.items())
        return arrays


def _read_only(array: numpy.ndarray) -> numpy.ndarray:
    """Return a view that cannot be written to: parameters are large, and no prediction changes them."""
    view = array.view()
    view.flags.writeable = False
    return view


def _listed(problems: Sequence[Problem]) -> str:
    lines = "".join(f"\n  {problem}" for problem in problems)
    count = f"{len(problems)} nodes have" if len(problems) > 1 else "1 node has"
    ways = "operators of mx.onnx.get_operator_support()"
    if not all(problem.is_of_customop for problem in problems):
        ways += ", or as a @customop of NumPy's functions: its steps are exported"
    return (
        f"export_model: {count} no equal in ONNX; nothing was written:{lines}\n"
        "Compute them outside the model (export the symbol up to them: sym.get_internals()[name]), or write them with "
        f"{ways}."
    )
