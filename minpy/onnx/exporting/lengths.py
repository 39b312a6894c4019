"""Graphs that are right for any length of some axes: written for several lengths, of which what differs is computed."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.core.errors import MXNetError
from minpy.frameworks.sizes import fitted
from minpy.onnx.exporting.emitter import EmittedFunction, EmittedGraph, EmittedNode, Emitter

__all__ = ["FAILURES", "OpenLengthError", "does_not_run", "with_open_lengths"]

# What a graph raises that does not run for some lengths: rules of inference are Python, too.
FAILURES = (MXNetError, ArithmeticError, LookupError, TypeError, ValueError)

_OPERATORS: dict[type, str] = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul"}


class OpenLengthError(MXNetError):
    """A graph that is not the same for all lengths of an axis: the text says where it differs."""


def with_open_lengths(
    builds: Sequence[Emitter],
    lengths: Sequence[Mapping[str, int]],
    axes: Mapping[str, tuple[str, int]],
    titles: Mapping[str, str],
) -> Emitter:
    """Return the first of several writings of a graph, with what follows from lengths computed by nodes.

    Parameters
    ----------
    builds : sequence of Emitter
        The same graph, written for other lengths each; the first is changed.
    lengths : sequence of mapping of str to int
        For each, the lengths by their names, which are Python's identifiers.
    axes : mapping of str to (str, int)
        By the name of a length, an input of the graph, and the axis that is so long.
    titles : mapping of str to str
        By the name of a length, what messages call it.

    Raises
    ------
    OpenLengthError
        If the graphs differ in more than numbers, or a number follows from lengths in no way that is tried.
    """
    try:
        _Opening(builds, lengths, axes, titles).run()
    except OpenLengthError as error:
        raise OpenLengthError(f"export_model: {error}") from None
    return builds[0]


def does_not_run(arrays: Mapping[str, Any], error: Exception) -> str:
    """Return the message for a graph that fails where open axes have other lengths; `arrays`: by name, with shapes."""
    shown = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    return (
        f"export_model: a dynamic axis may have any length, and the graph does not run on {shown}: "
        f"{' '.join(str(error).split()).rstrip('.')}. Make the axes fixed whose lengths have to fit each other or a "
        "number, or give those that are always equally long one name in dynamic_input_shapes."
    )


class _Opening:
    def __init__(
        self,
        builds: Sequence[Emitter],
        lengths: Sequence[Mapping[str, int]],
        axes: Mapping[str, tuple[str, int]],
        titles: Mapping[str, str],
    ) -> None:
        self.titles = titles
        self.builds = builds
        self.lengths = lengths
        self.axes = axes
        self.names = {name: name for name in axes}
        self.scalars: dict[str, str] = {}
        self.rows: dict[str, str] = {}
        self.numbers: dict[Any, str] = {}
        self.computed = builds[0].of_graph()
        self.computed.prefix = "lengths/"

    def run(self) -> None:
        functions = [list(build.functions.values()) for build in self.builds]
        _require_same([[each.name for each in row] for row in functions], "operators", "")
        for function_builds in zip(*functions, strict=True):
            self._open_function(list(function_builds))
        self._compare_nodes([build.nodes for build in self.builds])
        for name in self._differing(self.builds):
            arrays = [build.constants[name] for build in self.builds]
            result = self._array(arrays, self._owner(name))
            del self.builds[0].constants[name]
            for node in self.builds[0].nodes:
                node.rename(name, result)
        self.builds[0].nodes[:0] = self.computed.nodes

    # -- functions ---------------------------------------------------------------------------------------------------

    def _open_function(self, functions: list[EmittedFunction]) -> None:
        """Make inputs of what differs: whoever calls the function computes it."""
        first = functions[0]
        self._compare_nodes([function.body.nodes for function in functions])
        differing = self._differing([function.body for function in functions])
        if not differing:
            return
        contexts = [[build, *(other.body for other in build.functions.values())] for build in self.builds]
        for position in range(len(contexts[0])):
            emitters = [row[position] for row in contexts]
            for nodes in zip(*(_every_node(emitter.nodes) for emitter in emitters), strict=True):
                if (nodes[0].op_type, nodes[0].domain) != (first.name, first.domain):
                    continue
                for name in differing:
                    argument = emitters[0].fresh(f"{emitters[0].prefix}{name}")
                    for node, emitter, function in zip(nodes, emitters, functions, strict=True):
                        emitter.constants[argument] = function.body.constants[name]
                        node.inputs.append(argument)
        for function in functions:
            for name in differing:
                function.inputs.append(name)
        for name in differing:
            del first.body.constants[name]

    # -- what differs ------------------------------------------------------------------------------------------------

    def _compare_nodes(self, builds: Sequence[Sequence[EmittedNode]]) -> None:
        _require_same([len(nodes) for nodes in builds], "nodes", builds[0][0].owner if builds[0] else "")
        for nodes in zip(*builds, strict=True):
            owner = nodes[0].owner
            _require_same([(node.op_type, node.domain, node.inputs, node.outputs) for node in nodes], "nodes", owner)
            _require_same([sorted(node.attributes) for node in nodes], "attributes", owner)
            for name, value in nodes[0].attributes.items():
                values = [node.attributes[name] for node in nodes]
                if isinstance(value, EmittedGraph):
                    self._compare_nodes([graph.nodes for graph in values])
                    _open_shapes(values)
                elif not all(_is_equal(value, other) for other in values):
                    raise OpenLengthError(
                        f"{owner!r}: {name} of {nodes[0].op_type} is {', '.join(map(str, values[:3]))} for other "
                        "lengths, and an attribute of ONNX is one number. Make that axis fixed."
                    )

    def _differing(self, emitters: Sequence[Emitter]) -> list[str]:
        """Return the names of the constants that are not the same in all builds."""
        first = emitters[0].constants
        _require_same([sorted(emitter.constants) for emitter in emitters], "constants", "")
        return [
            name
            for name, array in first.items()
            if not all(_is_equal(array, each.constants[name]) for each in emitters)
        ]

    def _owner(self, constant: str) -> str:
        for node in _every_node(self.builds[0].nodes):
            if constant in node.inputs:
                return node.owner
        return constant

    # -- nodes that compute ------------------------------------------------------------------------------------------

    def _array(self, arrays: Sequence[numpy.ndarray], owner: str) -> str:
        first = arrays[0]
        if any(array.shape != first.shape or array.dtype != first.dtype for array in arrays) or first.size > 64:
            raise OpenLengthError(
                f"{owner!r} has an array of constants that depends on lengths. Make that axis fixed, or compute the "
                "array from the input."
            )
        # Numbers that stay beside each other are one array.
        pieces: list[Any] = []
        for index in numpy.ndindex(first.shape):
            values = [array[index] for array in arrays]
            if all(value.tobytes() == values[0].tobytes() for value in values):
                if not pieces or isinstance(pieces[-1], str):
                    pieces.append([])
                pieces[-1].append(values[0])
            else:
                pieces.append(self._number(values, owner))
        if not first.ndim:
            return str(pieces[0])
        rows = [
            self._row(piece) if isinstance(piece, str) else self.computed.stored(numpy.array(piece, first.dtype))
            for piece in pieces
        ]
        flat = rows[0] if len(rows) == 1 else self._node("Concat", *rows, axis=0)
        return flat if first.ndim == 1 else self._node("Reshape", flat, self.computed.stored(numpy.array(first.shape)))

    def _row(self, name: str) -> str:
        """Return the name of a number as an array of one axis."""
        if name not in self.rows:
            self.rows[name] = self._node("Unsqueeze", name, self.computed.stored(numpy.array([0])))
        return self.rows[name]

    def _number(self, values: Sequence[Any], owner: str) -> str:
        """Write what a number is that follows from lengths, and return its name."""
        dtype = values[0].dtype
        text = self._fitted(values)
        if text is None:
            shown = ", ".join(str(value.item()) for value in values)
            rows = "; ".join(
                ", ".join(f"{self.titles[name]}={length}" for name, length in row.items()) for row in self.lengths
            )
            raise OpenLengthError(
                f"{owner!r} has a number that follows from lengths in another way than by + - * // /: {shown} for "
                f"{rows}. Make that axis fixed."
            )
        if (text, dtype) not in self.numbers:
            name, computed = self._expression(ast.parse(text, mode="eval").body)
            self.numbers[text, dtype] = name if computed == dtype else self.computed.cast(name, dtype)
        return self.numbers[text, dtype]

    def _fitted(self, values: Sequence[Any]) -> str | None:
        """Return the expression of lengths that has these values, rounded to their dtype."""
        text = fitted([float(value) for value in values], self.lengths, self.names)
        if text is not None or values[0].dtype.kind != "f" or not all(values):
            return text
        kind = values[0].dtype.type
        with numpy.errstate(all="ignore"):
            for form, whole, back in (
                ("1.0 / {}", lambda x: 1.0 / x, lambda n: 1.0 / n),
                ("{} ** 0.5", lambda x: x * x, lambda n: n**0.5),
                ("1.0 / {} ** 0.5", lambda x: 1.0 / (x * x), lambda n: 1.0 / n**0.5),
            ):
                numbers = [float(numpy.rint(whole(float(value)))) for value in values]
                if all(n > 0 and kind(back(n)) == value for n, value in zip(numbers, values, strict=True)):
                    text = fitted(numbers, self.lengths, self.names)
                    if text is not None:
                        return form.format(text)
        return None

    def _expression(self, tree: ast.expr) -> tuple[str, numpy.dtype]:
        """Write an expression of lengths; return the name of its value, and its dtype."""
        integer, floating = numpy.dtype("int64"), numpy.dtype("float64")
        if isinstance(tree, ast.Name):
            return self._length(tree.id), integer
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.operand, ast.Constant):  # a negative factor
            tree = ast.Constant(-tree.operand.value)  # type: ignore[operator]
        if isinstance(tree, ast.Constant):
            number = numpy.asarray(tree.value, integer if isinstance(tree.value, int) else floating)
            return self.computed.stored(number), number.dtype
        assert isinstance(tree, ast.BinOp)
        if isinstance(tree.op, ast.Pow):  # "(length ** 0.5)" and "(length ** -0.5)" only
            name, dtype = self._expression(tree.left)
            root = self._node("Sqrt", self.computed.cast(name, floating) if dtype != floating else name)
            is_root = isinstance(tree.right, ast.Constant)
            return root if is_root else self._node("Reciprocal", root), floating
        (left, left_dtype), (right, right_dtype) = self._expression(tree.left), self._expression(tree.right)
        if isinstance(tree.op, ast.FloorDiv):  # of lengths, which are not negative
            return self._node("Div", left, right), integer
        dtype = floating if isinstance(tree.op, ast.Div) else numpy.result_type(left_dtype, right_dtype)
        left = left if left_dtype == dtype else self.computed.cast(left, dtype)
        right = right if right_dtype == dtype else self.computed.cast(right, dtype)
        return self._node(_OPERATORS.get(type(tree.op), "Div"), left, right), dtype

    def _length(self, name: str) -> str:
        if name not in self.scalars:
            source, axis = self.axes[name]
            shape = self._node("Shape", source)
            index = self.computed.stored(numpy.asarray(axis))
            self.scalars[name] = self._node("Gather", shape, index, axis=0)
        return self.scalars[name]

    def _node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        (name,) = self.computed.add(op_type, inputs, 1, attributes)
        return name


def _open_shapes(graphs: Sequence[EmittedGraph]) -> None:
    """Say of the inputs and outputs of the first of several writings of a graph which lengths are not known."""
    inputs, outputs = ([graph.inputs for graph in graphs], [graph.output_specs for graph in graphs])
    graphs[0].inputs = [(row[0][0], _common([each[1] for each in row]), row[0][2]) for row in zip(*inputs, strict=True)]
    graphs[0].output_specs = [(_common([each[0] for each in row]), row[0][1]) for row in zip(*outputs, strict=True)]


def _common(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return a shape with -1 for lengths that are not the same in all."""
    return tuple(lengths[0] if len(set(lengths)) == 1 else -1 for lengths in zip(*shapes, strict=True))


def _every_node(nodes: Sequence[EmittedNode]) -> list[EmittedNode]:
    """Return nodes and those of the graphs that they hold."""
    every = []
    for node in nodes:
        every.append(node)
        for value in node.attributes.values():
            if isinstance(value, EmittedGraph):
                every += _every_node(value.nodes)
    return every


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, numpy.ndarray):
        return (left.dtype, left.shape) == (right.dtype, right.shape) and left.tobytes() == right.tobytes()
    return bool(left == right)


def _require_same(facts: Sequence[Any], kind: str, owner: str) -> None:
    if any(fact != facts[0] for fact in facts):
        where = f"{owner!r}" if owner else "the graph"
        raise OpenLengthError(f"{where} becomes other {kind} for other lengths of the dynamic axes. Make them fixed.")
