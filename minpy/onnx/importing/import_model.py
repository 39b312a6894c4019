"""`import_model` and `import_to_gluon`: an ONNX model as a symbol with its parameters, and as a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy import symbol as sym
from minpy.core.errors import ArgumentError, FileFormatError, nearest
from minpy.onnx.importing.graph import GraphImporter, load_rows
from minpy.onnx.importing.lengths import Length
from minpy.onnx.importing.reading import local_functions, opset_of, read_model
from minpy.onnx.importing.refusals import Refusal, too_many_unknown
from minpy.onnx.importing.tensors import numpy_dtype
from minpy.onnx.importing.verifying import verify

__all__ = ["import_model", "import_to_gluon"]

# What a model declares beyond this is no array that anybody has.
_LARGEST = 1 << 40


def import_model(
    model_file: Any, shapes: Mapping[str, Sequence[int]] | None = None, check: bool = False
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return an ONNX model as a symbol, its arguments and its auxiliary states.

    Parameters
    ----------
    model_file : str, PathLike, bytes or onnx.ModelProto
        Of opset 6 or later.
    shapes : mapping of str to tuple of int, optional
        Shapes of inputs, where the model leaves lengths open and its nodes need them.
    check : bool
        Whether the symbol is run beforehand, on inputs that are drawn, and compared with onnxruntime, or onnx's
        reference evaluator where that is missing.

    Returns
    -------
    (Symbol, dict of str to NDArray, dict of str to NDArray)
        Running means and variances of batch normalization are the auxiliary states.

    Raises
    ------
    MissingDependencyError
        If onnx is not installed.
    FileMissingError, FileFormatError
        If the file is not there, or damaged.
    ModelRefused
        If nodes cannot be imported; the text lists all of them.
    CheckError
        If `check` finds another result; the text has the first node whose output differs.

    Examples
    --------
    >>> import onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 13]>
    ...     rectified (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }''')
    >>> symbol, arguments, auxiliaries = import_model(model, check=True)
    >>> symbol.list_arguments(), arguments
    (['x'], {})
    """
    symbol, importer, _, _ = _imported("import_model", model_file, shapes, check)
    arrays = [
        {name: nd.array(array, dtype=array.dtype) for name, array in parameters.items()}
        for parameters in (importer.arguments, importer.auxiliaries)
    ]
    return symbol, _used(symbol.list_arguments(), arrays[0]), _used(symbol.list_auxiliary_states(), arrays[1])


def import_to_gluon(
    model_file: Any, ctx: Any = None, shapes: Mapping[str, Sequence[int]] | None = None, check: bool = False
) -> Any:
    """Return an ONNX model as a block: call it with the model's inputs.

    Parameters
    ----------
    model_file, shapes, check
        As for `import_model`.
    ctx : Context or list of Context, optional
        Where its parameters lie.

    Returns
    -------
    SymbolBlock

    Examples
    --------
    >>> import onnx, minpy as mx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 13]>
    ...     rectified (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }''')
    >>> import_to_gluon(model)(mx.nd.array([[-1, 0, 2]])).asnumpy().tolist()
    [[0.0, 0.0, 2.0]]
    """
    from minpy.gluon import SymbolBlock

    symbol, importer, _, inputs = _imported("import_to_gluon", model_file, shapes, check)
    block = SymbolBlock(symbol, [sym.var(name) for name in inputs])
    arrays = importer.arguments | importer.auxiliaries
    for name, parameter in block.collect_params().items():
        parameter.shape, parameter.dtype = arrays[name].shape, arrays[name].dtype
        parameter.initialize(ctx=ctx)
        parameter.set_data(nd.array(arrays[name], dtype=arrays[name].dtype))
    return block


def _used(names: Sequence[str], arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: arrays[name] for name in names if name in arrays}


def _imported(function: str, source: Any, shapes: Any, check: bool) -> tuple[Any, GraphImporter, Any, list[str]]:
    """Return the symbol, what importing it found, the model and the names of its inputs."""
    model, name = read_model(function, source)
    opset = opset_of(function, model, name)
    load_rows()
    importer = GraphImporter(opset)
    importer.functions = local_functions(model)
    inputs = _enter_inputs(function, importer, model, name, shapes)
    importer.walk(model.graph.node)
    unknown = [entry for entry in inputs if importer.tensors[entry].static_shape is None]
    if importer.refused:
        raise too_many_unknown(function, name, importer.refused, importer.count, unknown)
    heads = []
    for output in model.graph.output:
        tensor = importer.tensors.get(output.name)
        if tensor is None:
            raise FileFormatError(f"{function}: no node of {name} computes its output {output.name!r}: it is damaged.")
        head = importer.symbol_of(tensor)
        if head.values[0].node.operator is None:
            head = sym.identity(head, name=importer.unused(f"{output.name}_identity"))
        heads.append(head)
    symbol = sym.Group([head.as_nd_ndarray() for head in heads]) if len(heads) > 1 else heads[0].as_nd_ndarray()
    if check:
        verify(function, name, model, importer, symbol, inputs)
    return symbol, importer, model, inputs


def _enter_inputs(function: str, importer: GraphImporter, model: Any, name: str, shapes: Any) -> list[str]:
    """Enter initializers and inputs, and return the names of the inputs."""
    import onnx

    shapes = dict(shapes or {})
    constants = {tensor.name for tensor in model.graph.initializer}
    variables = [value for value in model.graph.input if value.name not in constants]
    for unknown in shapes.keys() - {value.name for value in variables}:
        near = nearest(unknown, [value.name for value in variables])
        raise ArgumentError(f"{function}: shapes has {unknown!r}, and {name} has no such input.{near}")
    if model.graph.sparse_initializer:
        raise FileFormatError(
            f"{function}: {name} has sparse initializers; there are no sparse arrays. Make them dense."
        )
    importer.names.update(constants)
    for tensor in model.graph.initializer:
        importer.names.discard(tensor.name)
        try:
            numpy_dtype(tensor.data_type)
            if int(numpy.prod([float(length) for length in tensor.dims])) > _LARGEST or min(tensor.dims, default=0) < 0:
                raise ValueError(f"its shape is {tuple(tensor.dims)}")
            array = numpy.asarray(onnx.numpy_helper.to_array(tensor))
        except Refusal as refusal:
            raise FileFormatError(f"{function}: the initializer {tensor.name!r} of {name}: {refusal.reason}.") from None
        except Exception as error:  # damaged data make the library raise many kinds
            raise FileFormatError(
                f"{function}: the initializer {tensor.name!r} of {name} is damaged: {' '.join(str(error).split())}"
            ) from error
        importer.add_constant(tensor.name, array)
    for value in variables:
        if not value.type.HasField("tensor_type"):
            raise FileFormatError(
                f"{function}: the input {value.name!r} of {name} is no array but a sequence, map or optional value."
            )
        kind = value.type.tensor_type
        try:
            dtype = numpy_dtype(kind.elem_type)
        except Refusal as refusal:
            raise FileFormatError(f"{function}: the input {value.name!r} of {name}: {refusal.reason}.") from None
        lengths = importer.lengths(value.name, kind.shape) if kind.HasField("shape") else None
        if value.name in shapes:
            lengths = _fixed(function, value.name, lengths, shapes[value.name])
        importer.add_input(value.name, dtype, lengths)
    return [value.name for value in variables]


def _fixed(function: str, name: str, lengths: list[Any] | None, shape: Sequence[int]) -> list[int]:
    """Return the shape that is given for an input, if it fits what the model says."""
    given = [int(length) for length in shape]
    fits = lengths is None or (
        len(lengths) == len(given)
        and all(isinstance(old, Length) or old == new for old, new in zip(lengths, given, strict=True))
    )
    if not fits:
        declared = ", ".join(map(str, lengths or []))
        raise ArgumentError(f"{function}: shapes[{name!r}] is {tuple(given)}, and the model's input has ({declared}).")
    return given
