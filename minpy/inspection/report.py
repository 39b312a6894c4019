"""`report`: a description of a model, as an object with tables."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import repeat
from math import prod
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, MXNetError, ShapeError, describe, nearest
from minpy.graph.inference import Inference
from minpy.graph.ir import Node, Value, variables
from minpy.inspection.artifacts import Artifact, find, heads_of_file
from minpy.inspection.findings import Findings, Input, Layer, Output, by_name, compared
from minpy.inspection.input_shapes import guess_shapes
from minpy.inspection.multiply_adds import multiply_adds
from minpy.inspection.report_text import shape_text, text
from minpy.ops.inference.partial_shapes import is_known
from minpy.symbol.contents import Contents, contents
from minpy.symbol.saving import load_json
from minpy.symbol.symbol import Symbol

__all__ = ["Input", "Layer", "Output", "Report", "report"]

Shape = tuple[int, ...]

# The names of parameters in operators, and the usual endings of their names in programs.
_ROLES = frozenset(("weight", "bias", "gamma", "beta", "parameters", "moving_mean", "moving_var"))
_ENDINGS = (
    *("_weight", "_bias", "_gamma", "_beta", "_alpha", "_parameters"),
    *("_moving_mean", "_moving_var", "_running_mean", "_running_var"),
)
# Examples of shapes that these layers read.
_EXAMPLES = {"Embedding": "1,32", "take": "1,32", "FullyConnected": "1,100", "RNN": "35,1,100", "reshape": "1,32"}


class Report(Findings):
    """A description of a model: `Findings` whose `str()` is a text, 100 columns wide."""

    def __str__(self) -> str:
        return text(self)


def report(
    symbol: Symbol | str | os.PathLike[str] | Artifact,
    params: Any = None,
    shapes: Mapping[str, Sequence[int]] | Sequence[int] | None = None,
    epoch: int | None = None,
) -> Report:
    """Describe a model.

    Parameters
    ----------
    symbol : Symbol, or str or PathLike
        A network; or the path of one: a `-symbol.json` file, a prefix, a folder, an archive.
    params : str or PathLike, or dict of str to NDArray, optional
        Its parameters; by default, for a file, those that lie beside it.
    shapes : dict of str to tuple of int, or tuple of int, optional
        The shapes of its inputs, or of the only one. By default they are guessed from the parameters.
    epoch : int, optional
        Which of several files of parameters.

    Returns
    -------
    Report

    Raises
    ------
    FileMissingError, FileAccessError, FileFormatError
        If a file is not there, cannot be read, or is damaged.
    ArgumentError
        If `shapes` names no input; or for what is no model.
    ShapeError
        If the shapes that are given contradict the network.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=10, name='fc')
    >>> result = report(net, {'fc_weight': mx.nd.ones((10, 5)), 'fc_bias': mx.nd.ones(10)})
    >>> result.inputs[0].shape, result.parameters, result.multiply_adds, result.fit.fits
    ((1, 5), 60, 50, True)
    """
    artifact: Artifact | None = None
    if isinstance(symbol, Symbol):
        given_params = None if params is None else find_params(params)
        kinds = Counter(node.kind for node in symbol.order if node.operator is not None)
        network = Contents(0, [], dict(kinds), [])
        arrays = {} if given_params is None else dict(given_params)
        has_params = given_params is not None
        source, params_name = repr(symbol), "the parameters that are given" if has_params else ""
    else:
        named = params if isinstance(params, (str, os.PathLike)) else None
        artifact = symbol if isinstance(symbol, Artifact) else find(symbol, named, epoch)
        network = contents(artifact.symbol, f"python -m minpy model: {artifact.symbol_name!r}")
        arrays = dict(artifact.heads or {}) if params is None or named is not None else dict(find_params(params))
        has_params = artifact.heads is not None or (params is not None and named is None)
        source, params_name = artifact.symbol_name, artifact.params_name
        if network.unknown:
            return _report_without_operators(artifact, network)
        symbol = load_json(artifact.symbol.decode("utf-8-sig"))
    return _Inspection(symbol, by_name(arrays), has_params, artifact).report(source, params_name, network, shapes)


def find_params(params: Any) -> Mapping[str, Any]:
    """Return parameters by name: those given, or those of a file."""
    if isinstance(params, Mapping):
        for name, array in params.items():
            if not hasattr(array, "shape") or not hasattr(array, "dtype"):
                raise ArgumentError(
                    f"inspection.report: the parameter {name!r} is {describe(array)}; expected an NDArray."
                )
        return params
    if isinstance(params, (str, os.PathLike)):
        return heads_of_file(os.fspath(params))
    raise ArgumentError(
        f"inspection.report: params is {describe(params)}; expected a dict of str to NDArray, or the name of a file."
    )


def _report_without_operators(artifact: Artifact, network: Contents) -> Report:
    """Return the report of a symbol whose operators are not all known."""
    heads = artifact.heads or {}
    names = by_name(heads)
    inputs = [
        Input(name, None, "", "", name.endswith("label"))
        for name in network.variables
        if name not in names and not name.endswith(_ENDINGS)
    ]
    sizes = [(prod(head.shape), head.dtype.itemsize) for head in heads.values()]
    return Report(
        *(artifact.symbol_name, artifact.params_name, network.version_text, inputs, [], []),
        *(network.operators, network.unknown),
        parameters=sum(count for count, _ in sizes) if heads else None,
        parameter_bytes=sum(count * width for count, width in sizes) if heads else None,
        dtypes=sorted({head.dtype.name for head in heads.values()}),
        facts=dict(artifact.facts),
        notes=list(artifact.notes),
        problem="operators are not here",
    )


class _Inspection:
    """The inspection of one symbol."""

    def __init__(
        self, symbol: Symbol, params: Mapping[str, tuple[str, Any]], has_params: bool, artifact: Artifact | None
    ) -> None:
        self.symbol, self.params, self.has_params, self.artifact = symbol, params, has_params, artifact
        self.order = symbol.order
        self.arguments, self.states = variables(self.order)
        self.readers: dict[Node, list[tuple[Node, str]]] = {}
        for node in self.order:
            for role, value in zip(node.input_names() if node.inputs else (), node.inputs, strict=False):
                if value.node.operator is None:
                    self.readers.setdefault(value.node, []).append((node, role))
        self.inputs = [node for node in self.arguments if self._is_input(node)]
        self.notes = list(artifact.notes) if artifact is not None else []
        names = [node.name for node in (*self.arguments, *self.states)]
        dtypes = {name: params[name][1].dtype for name in names if name in params}
        try:
            self.dtypes = symbol._infer_type("inspection", (), dtypes, default="float32").known
        except MXNetError as error:
            self.notes.append(f"The parameters' dtypes do not go together: {error}")
            self.dtypes = symbol._infer_type("inspection", (), {}, default="float32").known

    def _is_input(self, node: Node) -> bool:
        roles = {role for _, role in self.readers.get(node, ())}
        if node.name in self.params:  # some programs save a batch, too
            return self.params[node.name][0] != "aux" and (node.name == "data" or self._is_label(node))
        is_parameter = (
            (not self.params and node.name.endswith(_ENDINGS))
            or "__init__" in node.annotations
            or "__lr_mult__" in node.annotations
        )
        return not (is_parameter or roles & _ROLES)

    def _is_label(self, node: Node) -> bool:
        roles = {role for _, role in self.readers.get(node, ())}
        return node.name.endswith("label") or roles == {"label"}

    def _infer(self, shapes: Mapping[Value, Shape]) -> Inference:
        named_shapes = {value.node.name: shape for value, shape in shapes.items()}
        return self.symbol._infer_shape("inspection", (), named_shapes, self.dtypes)

    # -- shapes --------------------------------------------------------------------------------------------------------

    def _given_shapes(self, shapes: Any) -> dict[Node, tuple[Shape, str]]:
        """Return the shapes of inputs that are given, or in files beside the model."""
        inputs = {node.name: node for node in self.inputs}
        shapes_of: dict[Node, tuple[Shape, str]] = {
            node: (tuple(self.params[node.name][1].shape), "of the array in the parameters' file")
            for node in self.inputs
            if node.name in self.params
        }
        if self.artifact is not None:
            for name, (shape, where) in self.artifact.shapes.items():
                if name in inputs:
                    shapes_of[inputs[name]] = shape, where
                elif name != "data":
                    self.notes.append(f"A shape is said for {name!r} {where}; the network has no such input.")
        if shapes is None:
            return shapes_of
        if not isinstance(shapes, Mapping):
            data_inputs = [node for node in self.inputs if not self._is_label(node)]
            if len(data_inputs) != 1:
                raise ArgumentError(
                    f"inspection.report: one shape is given for {len(data_inputs)} inputs: "
                    f"{', '.join(node.name for node in data_inputs)}. Give them by name: "
                    f"--data {data_inputs[0].name if data_inputs else 'data'}:1,3,224,224."
                )
            shapes = {data_inputs[0].name: shapes}
        for name, shape in shapes.items():
            node = inputs.get(name)
            if node is None:
                node = next((argument for argument in self.arguments if argument.name == name), None)
                if node is None:
                    raise ArgumentError(
                        f"inspection.report: the network has no input {name!r}; it has {', '.join(inputs) or 'none'}."
                        + nearest(name, inputs)
                    )
                self.inputs.append(node)
            shapes_of[node] = tuple(int(length) for length in shape), "given"
        return shapes_of

    def report(self, source: str, params_name: str, network: Contents, shapes: Any) -> Report:
        """Return the report."""
        given_shapes = self._given_shapes(shapes)
        filed = {
            Value(node): tuple(self.params[node.name][1].shape)
            for node in (*self.arguments, *self.states)
            if node.name in self.params and node not in given_shapes
        }
        known_shapes = {Value(node): shape for node, (shape, _) in given_shapes.items()}
        open_inputs = [node for node in self.inputs if node not in given_shapes]
        labels = [node for node in open_inputs if self._is_label(node)]
        guesses = guess_shapes(self.order, open_inputs, labels, {**filed, **known_shapes}, self._infer)
        origins = {node: where for node, (_, where) in given_shapes.items()}
        origins |= {node: guess.origin for node, guess in guesses.items()}
        input_shapes = {**known_shapes, **{Value(node): guess.shape for node, guess in guesses.items()}}
        facts, problem, agrees = self._infer_all(input_shapes, filed)
        if "given" in origins.values() and problem.startswith("infer_shape"):
            raise ShapeError(problem)
        if not problem:
            for node in self.inputs:
                if not is_known(facts.get(Value(node))):
                    problem = self._missing_shape_text(node, facts)
                    break
        fit = None
        if self.has_params:
            required_shapes = facts if agrees else self._from_inputs(input_shapes, facts)
            expected = {node.name: required_shapes.get(Value(node)) for node in (*self.arguments, *self.states)}
            fit = compared(self.arguments, self.states, self.inputs, self.params, expected)
        owners = self._owners()
        layers = [self._layer(node, facts, owners) for node in self.order if node.operator is not None]
        learned = [node for node in self.arguments if node not in self.inputs]
        return Report(
            source,
            params_name,
            network.version_text if network.version else "",
            [self._input(node, facts, origins) for node in self.inputs],
            list(map(self._output, self.symbol.values, self.symbol.list_outputs(), repeat(facts))),
            layers,
            network.operators,
            [],
            fit,
            self._count(learned, facts),
            self._count(self.states, facts),
            _total([self._bytes(Value(node), facts) for node in (*learned, *self.states)]),
            _total([layer.memory for layer in layers]),
            self._peak(facts),
            sum(layer.multiply_adds or 0 for layer in layers) if not problem else None,
            sorted({numpy.dtype(array.dtype).name for _, array in self.params.values()}),
            dict(self.artifact.facts) if self.artifact is not None else {},
            self.notes,
            problem,
        )

    def _infer_all(
        self, input_shapes: Mapping[Value, Shape], filed: Mapping[Value, Shape]
    ) -> tuple[Mapping[Value, Any], str, bool]:
        """Return (all shapes, a problem or "", whether the parameters' shapes agree with those of the inputs)."""
        try:
            return self._infer({**filed, **input_shapes}).known, "", True
        except MXNetError as first:
            try:
                facts = self._infer(input_shapes).known
            except MXNetError as error:
                return {}, str(error), False
            return facts, "" if self.has_params else str(first), False

    def _from_inputs(self, input_shapes: Mapping[Value, Shape], facts: Mapping[Value, Any]) -> Mapping[Value, Any]:
        """Return the shapes that follow from those of the inputs."""
        try:
            return self._infer(input_shapes).known
        except MXNetError:
            return facts

    def _missing_shape_text(self, node: Node, facts: Mapping[Value, Any]) -> str:
        partly = facts.get(Value(node))
        readers = self.readers.get(node, ())
        example = _EXAMPLES.get(readers[0][0].operator.__name__, "1,3,224,224") if readers else "1,3,224,224"
        if partly is not None:
            usual = [1, 3, 224, 224]
            example = ",".join(str(length if length > 0 else usual[place % 4]) for place, length in enumerate(partly))
        partly_known = "" if partly is None else f"; what is known of it is {shape_text(partly)}"
        read = f" It is read by {readers[0][0].name!r} ({readers[0][0].kind})." if readers else ""
        return (
            f"The shape of the input {node.name!r} does not follow from the files{partly_known}.{read} "
            f"Give it: --data {node.name}:{example}."
        )

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _owners(self) -> dict[Node, list[Node]]:
        """Return the parameters of each layer; one that several read belongs to the first."""
        inputs = {*self.inputs}
        owners: dict[Node, list[Node]] = {}
        for variable in (*self.arguments, *self.states):
            readers = self.readers.get(variable)
            if variable not in inputs and readers:
                owners.setdefault(readers[0][0], []).append(variable)
        return owners

    def _layer(self, node: Node, facts: Mapping[Value, Any], owners: Mapping[Node, list[Node]]) -> Layer:
        results = [Value(node, index) for index in range(len(node.output_names()))]
        shapes = [facts.get(value) for value in results]
        inputs = [facts.get(value) for value in node.inputs]
        counted = None
        if all(map(is_known, (*inputs, *shapes))):
            counted = multiply_adds(node, inputs, shapes)  # type: ignore[arg-type]
        caption = getattr(node.operator, "caption", None)
        detail = ""
        if caption is not None:
            try:
                detail = caption(node.attributes)
            except (KeyError, TypeError):  # an attribute is left to its default
                detail = ""
        return Layer(
            node.name,
            node.kind,
            detail,
            [shape if is_known(shape) else None for shape in shapes],
            self._count(owners.get(node, ()), facts),
            counted,
            _total([self._bytes(value, facts) for value in results]),
        )

    def _input(self, node: Node, facts: Mapping[Value, Any], origins: Mapping[Node, str]) -> Input:
        value = Value(node)
        shape = facts.get(value)
        origin = origins.get(node, "follows from the others" if is_known(shape) else "")
        return Input(
            node.name, shape if is_known(shape) else None, self._dtype(value).name, origin, self._is_label(node)
        )

    def _output(self, value: Value, name: str, facts: Mapping[Value, Any]) -> Output:
        operator = value.node.operator
        shape = facts.get(value)
        is_loss = operator is not None and getattr(operator, "category", None) == "loss"
        return Output(name, shape if is_known(shape) else None, self._dtype(value).name, value.node.kind, is_loss)

    def _dtype(self, value: Value) -> numpy.dtype[Any]:
        return numpy.dtype(self.dtypes.get(value) or numpy.float32)

    def _bytes(self, value: Value, facts: Mapping[Value, Any]) -> int | None:
        shape: Any = facts.get(value)
        return prod(shape) * self._dtype(value).itemsize if is_known(shape) else None

    def _count(self, nodes: Sequence[Node], facts: Mapping[Value, Any]) -> int | None:
        return _total([prod(shape) if is_known(shape := facts.get(Value(node))) else None for node in nodes])  # type: ignore[arg-type]

    def _peak(self, facts: Mapping[Value, Any]) -> int | None:
        """Go through the nodes, and free each output after its last use."""
        last_use = {value: position for position, node in enumerate(self.order) for value in node.inputs}
        last_use |= dict.fromkeys(self.symbol.values, len(self.order))
        live = peak = 0
        for position, node in enumerate(self.order):
            if node.operator is None:
                continue
            results = [Value(node, index) for index in range(len(node.output_names()))]
            sizes = [self._bytes(value, facts) for value in results]
            if None in sizes:
                return None
            live += sum(size or 0 for size in sizes)
            peak = max(peak, live)
            freed = {value for value in (*node.inputs, *results) if last_use.get(value, position) == position}
            live -= sum(self._bytes(value, facts) or 0 for value in freed if value.node.operator is not None)
        return peak


def _total(numbers: Sequence[int | None]) -> int | None:
    return None if None in numbers else sum(number or 0 for number in numbers)
