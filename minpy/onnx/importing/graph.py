"""Graphs of ONNX models walked node by node: values that are known are computed, others become symbols by the rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy import symbol as sym
from minpy.core.dtypes import DTYPE_NUMBERS
from minpy.core.errors import MXNetError
from minpy.importing import import_module
from minpy.onnx.importing.calls import REASONS, ROWS, Call
from minpy.onnx.importing.folding import computed_by_reference, constant_of
from minpy.onnx.importing.lengths import Length
from minpy.onnx.importing.refusals import Refusal, Refused
from minpy.onnx.importing.shape_values import partial_value
from minpy.onnx.importing.tensors import Tensor, numpy_dtype
from minpy.symbol.naming import NameManager

__all__ = ["GraphImporter", "load_rows"]

_FAMILIES = (
    "elementwise", "shapes", "indexing", "reductions", "products", "convolution", "normalization",
    "resizing", "quantized", "recurrent", "control_flow", "refused",
)  # fmt: skip
# Nodes that draw numbers, or hold graphs, are not computed beforehand.
_NOT_FOLDED = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
_NOT_FOLDED |= {"If", "Loop", "Scan", "SequenceMap"}
# What is computed beforehand may have so many elements, or as many as what it is computed of.
_LARGEST_FOLDED = 1 << 22
# Functions within functions, and graphs within graphs.
_DEEPEST = 32


def load_rows() -> None:
    """Fill the table of rows."""
    for family in _FAMILIES:
        import_module(f"minpy.onnx.importing.rows.{family}")


class _NodeNames(NameManager):
    """Names symbols after the node that they are made for."""

    def __init__(self, importer: GraphImporter) -> None:
        super().__init__()
        self.importer = importer
        self.node = ""

    def get(self, name: str | None, hint: str) -> str:
        return self.importer.unused(name or f"{self.node}_{hint}")


class GraphImporter:
    """What is known of a graph: its values by their names, and what cannot be imported.

    Parameters
    ----------
    opset : int
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.tensors: dict[str, Tensor] = {}
        self.arguments: dict[str, numpy.ndarray] = {}
        self.auxiliaries: dict[str, numpy.ndarray] = {}
        self.refused: list[Refused] = []
        self.functions: dict[tuple[str, str], Any] = {}
        self.count = 0
        self.depth = 0
        self.names: set[str] = set()
        self._node_names = _NodeNames(self)

    # -- names and variables ---------------------------------------------------------------------------------------

    def unused(self, name: str) -> str:
        """Return a name that nothing has yet, and take it."""
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        unused = next(candidate for candidate in itertools.chain([name], numbered) if candidate not in self.names)
        self.names.add(unused)
        return unused

    def add_input(self, name: str, dtype: Any, shape: list[Any] | None) -> Tensor:
        """Enter an input of the model: a variable."""
        self.names.add(name)
        tensor = Tensor(name, _numpy(sym.var(name, **_said_dtype(dtype))), None, dtype, shape)
        self.tensors[name] = tensor
        return tensor

    def add_constant(self, name: str, array: numpy.ndarray) -> Tensor:
        """Enter a value that is known."""
        tensor = self.tensors[name] = Tensor(name, constant=array)
        return tensor

    def parameter(self, name: str, array: numpy.ndarray) -> Any:
        """Return a variable for an array, which becomes an argument; no file holds scalars and empty arrays well."""
        if array.size == 0:
            return sym.np.zeros(array.shape, dtype=array.dtype.name)
        name = self.unused(name)
        stored = array.reshape(1) if array.ndim == 0 else array
        self.arguments[name] = stored
        variable = _numpy(sym.var(name, **_said(stored)))
        return variable if array.ndim else sym.np.reshape(variable, ())

    def symbol_of(self, tensor: Tensor) -> Any:
        """Return the symbol of a value: for a constant a variable, made when it is first read."""
        if tensor.symbol is None:
            assert tensor.constant is not None
            tensor.symbol = self.parameter(tensor.name, tensor.constant)
        return tensor.symbol

    def auxiliary_of(self, tensor: Tensor) -> Any:
        """Return the auxiliary variable of a constant."""
        if tensor.aux is None:
            if tensor.constant is None:
                raise Refusal("its running statistics are computed by other nodes", needs_shapes=False)
            is_read = tensor.symbol is not None
            name = self.unused(f"{tensor.name}_statistic" if is_read else tensor.name)
            self.auxiliaries[name] = tensor.constant
            tensor.aux = _numpy(sym.var(name, **_said(tensor.constant)))
        return tensor.aux

    # -- the walk --------------------------------------------------------------------------------------------------

    def walk(self, nodes: Iterable[Any], functions: bool = False) -> None:
        """Import nodes, in their order."""
        for node in nodes:
            self.count += not functions
            self._take(node)

    def walk_within(self, graph: Any, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Import a graph that an attribute holds, in the place of its node, and return its outputs.

        Parameters
        ----------
        graph : onnx.GraphProto
            Its nodes see the values round it.
        inputs : sequence of Tensor
            One for each input of the graph.
        """
        import onnx

        outer, refusals, naming = self.tensors, len(self.refused), self._node_names.node
        self.tensors = dict(outer)
        try:
            for value, tensor in zip(graph.input, inputs, strict=True):
                self.tensors[value.name] = tensor
            for initializer in graph.initializer:
                numpy_dtype(initializer.data_type)
                self.add_constant(initializer.name, onnx.numpy_helper.to_array(initializer))
            self.walk(graph.node, functions=True)
            if len(self.refused) > refusals:
                raise Refusal("nodes of its graph cannot be imported")
            results = [self.tensors.get(output.name) for output in graph.output]
        finally:
            self.tensors, self._node_names.node = outer, naming
        if None in results:
            raise Refusal("no node of its graph computes one of the graph's outputs. The model is damaged")
        return [tensor for tensor in results if tensor is not None]

    def _take(self, node: Any) -> None:
        import onnx

        name = node.name or next((output for output in node.output if output), node.op_type)
        outputs = [Tensor(output) for output in node.output]
        inputs = [self.tensors.get(entry) if entry else None for entry in node.input]
        try:
            absent = [entry for entry, tensor in zip(node.input, inputs, strict=True) if entry and tensor is None]
            if absent:
                raise Refusal(f"nothing before it computes its input {absent[0]!r}. The model is damaged")
            attributes = {attribute.name: _attribute(attribute) for attribute in node.attribute}
            self._infer(node, inputs, outputs)
            call = Call(self, node, name, self.opset, inputs, outputs, attributes)
            if not self._fold(call):
                self._make(call)
        except Refusal as refusal:
            self._refuse(node, name, outputs, refusal.reason, refusal.needs_shapes)
        except onnx.checker.ValidationError as error:
            text = " ".join(str(error).split())
            reason = f"onnx.checker finds it invalid: {text}. Export the model anew"
            self._refuse(node, name, outputs, reason, False)
        except (MXNetError, TypeError, ValueError) as error:
            self._refuse(node, name, outputs, f"it does not fit: {' '.join(str(error).split())}", False)
        self.tensors.update({tensor.name: tensor for tensor in outputs if tensor.name})

    def _refuse(self, node: Any, name: str, outputs: list[Tensor], reason: str, needs_shapes: bool) -> None:
        kind = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        self.refused.append(Refused(name, kind, reason, needs_shapes))
        for tensor in outputs:  # so that all that is wrong is found: what comes after is looked at, too
            tensor.symbol = _numpy(sym.var(self.unused(tensor.name or name)))

    def _infer(self, node: Any, inputs: list[Tensor | None], outputs: list[Tensor]) -> None:
        """Fill in dtypes and shapes of a node's outputs, as far as onnx infers them."""
        import onnx

        if node.domain not in ("", "ai.onnx"):
            return
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opset)
        except onnx.defs.SchemaError:
            raise Refusal(f"opset {self.opset} has no such operator. {REASONS.get(node.op_type, '')}".strip()) from None
        types, values = {}, {}
        for entry, tensor in zip(node.input, inputs, strict=True):
            if tensor is None:
                continue
            if tensor.dtype is not None:
                types[entry] = _type(tensor)
            if tensor.constant is not None and tensor.constant.size <= 4096 and tensor.constant.dtype.kind in "iufb":
                values[entry] = onnx.numpy_helper.from_array(tensor.constant, entry)
        try:
            inferred = onnx.shape_inference.infer_node_outputs(
                schema, node, types, values, opset_imports=[onnx.helper.make_opsetid("", self.opset)]
            )
        except (onnx.shape_inference.InferenceError, RuntimeError, KeyError, AttributeError, ValueError) as error:
            text = " ".join(str(error).split())
            if all(tensor is None or tensor.dtype is not None for tensor in inputs) and "ShapeInference" in text:
                raise Refusal(f"it does not fit its inputs: {text}") from None
            return
        for tensor in outputs:
            kind = inferred.get(tensor.name)
            if kind is not None and kind.HasField("tensor_type"):
                tensor.dtype = numpy_dtype(kind.tensor_type.elem_type)
                if kind.tensor_type.HasField("shape"):
                    tensor.shape = self.lengths(tensor.name, kind.tensor_type.shape)

    def lengths(self, name: str, shape: Any) -> list[Any]:
        """Return a shape of the model as ints and lengths."""
        lengths: list[Any] = []
        for axis, dimension in enumerate(shape.dim):
            if dimension.HasField("dim_value"):
                lengths.append(int(dimension.dim_value))
            else:
                lengths.append(Length.named(dimension.dim_param or f"{name}[{axis}]"))
        return lengths

    # -- what is known ---------------------------------------------------------------------------------------------

    def _fold(self, call: Call) -> bool:
        """Compute a node whose inputs are known, and tell whether that was possible."""
        if call.operator in _NOT_FOLDED or call.node.domain not in ("", "ai.onnx"):
            return False
        if call.operator == "Constant":
            array = constant_of(call)
            call.outputs[0].constant, call.outputs[0].dtype = array, array.dtype
            call.outputs[0].shape = list(array.shape)
            return True
        output = call.outputs[0]
        if call.operator in ("Shape", "Size") or not all(
            tensor is None or tensor.constant is not None for tensor in call.inputs
        ):
            elements = partial_value(call)
            if elements is None:
                return False
            output.elements, output.shape = elements, list(elements.shape)
            if not all(isinstance(element, (int, bool, numpy.integer)) for element in elements.ravel()):
                if call.operator in ("Shape", "Size"):
                    return False
                return self._is_lengths(call)
            dtype = output.dtype if output.dtype is not None else numpy.dtype(numpy.int64)
            output.constant, output.dtype = numpy.asarray(elements.astype(dtype)), dtype
            return True
        if not call.inputs or not self._is_small(call):
            return False
        try:
            values = computed_by_reference(
                call.node, [tensor and tensor.constant for tensor in call.inputs], self.opset
            )
        except Exception:  # whatever the evaluator cannot do is left to the row, which says what it cannot
            return False
        for tensor, array in zip(call.outputs, values, strict=False):
            if not isinstance(array, numpy.ndarray) or array.dtype.kind not in "biufc":
                return False
            tensor.constant, tensor.dtype, tensor.shape = array, array.dtype, list(array.shape)
        return True

    def _is_lengths(self, call: Call) -> bool:
        """Enter a symbol for lengths that are not known, if there is a row: most are read as shapes only."""
        try:
            self._make(call)
        except (Refusal, MXNetError):
            call.outputs[0].symbol = None
        return True

    def _is_small(self, call: Call) -> bool:
        largest = max(
            [
                _LARGEST_FOLDED,
                *(tensor.constant.size for tensor in call.inputs if tensor is not None and tensor.constant is not None),
            ]
        )
        for tensor in call.outputs:
            shape = tensor.static_shape
            if (
                tensor.name
                and shape is None
                and call.operator in ("Expand", "Tile", "ConstantOfShape", "Range", "Resize")
            ):
                return False
            if shape is not None and int(numpy.prod([float(length) for length in shape])) > largest:
                return False
        return True

    # -- symbols ---------------------------------------------------------------------------------------------------

    def _make(self, call: Call) -> None:
        node = call.node
        if node.domain not in ("", "ai.onnx"):
            body = self.functions.get((node.domain, node.op_type))
            if body is not None:
                self.run_body(call, body)
                return
            raise Refusal(
                f"the domain {node.domain!r} is not ONNX's own. Export the model without operators of other libraries"
            )
        function = ROWS.get(call.operator)
        if function is None:
            if call.operator in REASONS:
                raise Refusal(REASONS[call.operator])
            if self._inline(call):
                return
            raise Refusal("there is no operator for it yet. Express it by others, or run this part elsewhere")
        node_name = self.unused(call.name)
        self._node_names.node = node_name
        with self._node_names:
            results = function(call)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        named = self._name(results[0], node_name)
        if not named:
            self.names.discard(node_name)
        for tensor, result in zip(call.outputs, results, strict=False):
            if isinstance(result, Tensor):
                tensor.symbol, tensor.constant, tensor.elements = result.symbol, result.constant, result.elements
                if tensor.shape is None:
                    tensor.shape = result.shape
                tensor.dtype = result.dtype
            else:
                tensor.symbol = _numpy(result)
        for tensor in call.outputs[len(results) :]:
            if tensor.name:
                raise Refusal(f"its output {tensor.name!r} is not computed here. Leave it out, if nothing needs it")

    def _name(self, result: Any, name: str) -> bool:
        """Let the last node that a row made have the name of the node."""
        if isinstance(result, Tensor):
            return False
        last = result.values[0].node
        if last.operator is None or not last.name.startswith(f"{name}_"):
            return False
        last.name = name
        return True

    def _inline(self, call: Call) -> bool:
        """Import the body of an operator that ONNX defines by others, and tell whether it does."""
        import onnx

        schema = onnx.defs.get_schema(call.operator, self.opset)
        body = None
        if schema.has_function:
            text = schema.get_function_with_opset_version(self.opset)
            body = schema.function_body if text is None else text
        elif schema.has_context_dependent_function:
            types = [onnx.TypeProto() if tensor is None else _type(tensor) for tensor in call.inputs]
            text = schema.get_context_dependent_function_with_opset_version(
                self.opset, call.node.SerializeToString(), [entry.SerializeToString() for entry in types]
            )
            body = onnx.FunctionProto.FromString(text) if text else None
        if isinstance(body, bytes):
            body = onnx.FunctionProto.FromString(body) if body else None
        if body is None:
            return False
        self.run_body(call, body)
        return True

    def run_body(self, call: Call, body: Any) -> None:
        """Import the nodes of a function in the place of a call."""
        if self.depth >= _DEEPEST:
            raise Refusal(f"functions are nested more than {_DEEPEST} deep")
        opsets = {entry.domain: entry.version for entry in body.opset_import}
        outer, opset, prefix = self.tensors, self.opset, call.name
        self.tensors = {}
        for position, name in enumerate(body.input):
            if call.has(position):
                self.tensors[name] = call.tensor(position)
        self.opset = opsets.get("", self.opset)
        self.depth += 1
        try:
            given = {attribute.name: attribute for attribute in call.node.attribute}
            given = {attribute.name: attribute for attribute in body.attribute_proto} | given
            if not body.attribute_proto:
                given = _with_defaults(call, given)
            for node in body.node:
                copied = _bound(node, given)
                copied.name = f"{prefix}_{node.name or next(iter(node.output), node.op_type)}"
                for index, name in enumerate(copied.input):  # an optional input of the function that was left out
                    if name and name not in self.tensors and name in body.input:
                        copied.input[index] = ""
                self._take(copied)
            values = [self.tensors.get(name) for name in body.output]
        finally:
            self.tensors, self.opset = outer, opset
            self.depth -= 1
        for tensor, value in zip(call.outputs, values, strict=False):
            if value is not None:
                tensor.symbol, tensor.constant, tensor.elements = value.symbol, value.constant, value.elements
                tensor.dtype = value.dtype
                tensor.shape = value.shape if tensor.shape is None else tensor.shape


def _with_defaults(call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with the defaults of the operator's schema."""
    import onnx

    if call.node.domain not in ("", "ai.onnx"):
        return dict(given)
    schema = onnx.defs.get_schema(call.operator, call.opset)
    defaults = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name  # else it has none
    }
    return defaults | dict(given)


def _bound(node: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a copy of a function's node in which attributes of the function have their values."""
    import onnx

    copied = onnx.NodeProto()
    copied.CopyFrom(node)
    del copied.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in attributes:
                value = onnx.AttributeProto()
                value.CopyFrom(attributes[attribute.ref_attr_name])
                value.name = attribute.name
                copied.attribute.append(value)
        else:
            value = copied.attribute.add()
            value.CopyFrom(attribute)
            for graph in [value.g, *value.graphs] if value.type in (5, 10) else []:
                inner = [_bound(entry, attributes) for entry in graph.node]
                del graph.node[:]
                graph.node.extend(inner)
    return copied


def _numpy(symbol: Any) -> Any:
    return symbol.as_np_ndarray()


def _said(array: numpy.ndarray) -> dict[str, Any]:
    """Return what a variable says of a parameter, which NumPy's functions do not infer."""
    return {"shape": array.shape} | _said_dtype(array.dtype)


def _said_dtype(dtype: Any) -> dict[str, Any]:
    """Return what a variable says of its dtype: symbols know those that have a number in files."""
    if dtype is None or dtype == numpy.float32 or dtype not in DTYPE_NUMBERS:
        return {}
    return {"dtype": numpy.dtype(dtype).name}


def _type(tensor: Tensor) -> Any:
    import onnx

    number = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(tensor.dtype)) if tensor.dtype is not None else 0
    shape = tensor.shape
    lengths = None if shape is None else [str(entry) if isinstance(entry, Length) else int(entry) for entry in shape]
    return onnx.helper.make_tensor_type_proto(number, lengths)


def _attribute(attribute: Any) -> Any:
    """Return the value of an attribute: texts as str, tensors as they are."""
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (str, int, float)) or hasattr(value, "DESCRIPTOR"):
        return value
    return [entry.decode("utf-8", "replace") if isinstance(entry, bytes) else entry for entry in value]
