"""A graph written as an ONNX model: once, or for several lengths of its open axes, and then made right for any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minpy.frameworks.dialects import Operand
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.sizes import Unproven, far_rows, most_lengths, probe_rows
from minpy.graph.ir import Value
from minpy.onnx.exporting.emitter import Emitter
from minpy.onnx.exporting.lengths import FAILURES, OpenLengthError, does_not_run, with_open_lengths
from minpy.onnx.exporting.model_building import TensorInfo, build_model
from minpy.onnx.exporting.sources import ExportError, Source, Writing

__all__ = ["WrittenModel", "written"]


@dataclass
class WrittenModel:
    """An ONNX model, and what its values stand for.

    Attributes
    ----------
    model : onnx.ModelProto
    source : Source
    output_names : list of str
    values : dict of Value to str
        By the graph's values, what they are called in the model.
    """

    model: Any
    source: Source
    output_names: list[str]
    values: dict[Value, str]


def written(source: Source, opset: int) -> WrittenModel:
    """Return a graph as an ONNX model.

    Raises
    ------
    ExportError
        If nodes have no equal in ONNX; the text lists them all.
    OpenLengthError
        If the graph is not the same for all lengths of an open axis.
    """
    lengths = source.open_lengths()
    rows: list[dict[str, int]] = [{}]
    if lengths:
        rows, writings = _for_several_lengths(source, opset, lengths)
        _opened(source, rows, writings)
    else:
        writings = [source.write(opset, {}, False)]
    first = writings[0]
    values = {value: each.text for value, each in first.writer.operands.items() if isinstance(each, Operand)}
    names = _output_names(first.emitter, first, source)
    first.emitter.keep_only(names)
    inputs = [
        TensorInfo(each.name, tuple(each.open_axes.get(axis, n) for axis, n in enumerate(each.shape)), each.dtype)
        for each in source.inputs
    ]
    model = build_model(first.emitter, source.name, inputs, _output_infos(writings, names, rows), [], source.parameters)
    return WrittenModel(model, source, names, values)


def _for_several_lengths(
    source: Source, opset: int, lengths: Mapping[str, int]
) -> tuple[list[dict[str, int]], list[Writing]]:
    """Write the graph for several sets of lengths: probes, or as much more than declared where they are too short."""
    if len(lengths) > most_lengths():
        raise ExportError(
            f"export_model: {len(lengths)} dynamic axes have names of their own, and {most_lengths()} may. Give "
            "axes that are always equally long one name in dynamic_input_shapes."
        )
    fixed = source.fixed_lengths()
    probes = probe_rows(list(lengths), fixed)
    try:
        return _with_far_lengths(source, opset, probes)
    except (ExportError, OpenLengthError):
        raise
    except FAILURES:  # a kernel is larger than these, maybe
        longer = probe_rows(list(lengths), {n - length for n in fixed for length in lengths.values()})
        beyond = [{name: length + row[name] for name, length in lengths.items()} for row in longer]
    try:
        return _with_far_lengths(source, opset, beyond)
    except (ExportError, OpenLengthError):
        raise
    except FAILURES as error:
        tried = {each.name: ArraySpec(each.at(beyond[0]), each.dtype) for each in source.inputs}
        raise OpenLengthError(does_not_run(tried, error)) from error


def _with_far_lengths(
    source: Source, opset: int, rows: list[dict[str, int]]
) -> tuple[list[dict[str, int]], list[Writing]]:
    """Write the graph for sets of lengths, and for longer ones than what may bound a length in it."""
    writings = [source.write(opset, row, True) for row in rows]
    shapes = [tuple(each.open_axes.get(axis, n) for axis, n in enumerate(each.shape)) for each in source.inputs]
    bounds: set[int] = set().union(*(writing.writer.bounds for writing in writings))
    try:
        far = far_rows(list(rows[0]), shapes, bounds)
    except Unproven as error:
        raise OpenLengthError(f"export_model: {error}. Make that axis fixed.") from None
    for row in far:
        try:
            writings.append(source.write(opset, row, True))
        except (ExportError, OpenLengthError):
            raise
        except FAILURES as error:  # of lengths that do not fit, nothing is computed
            if bounds and isinstance(error.__cause__, MemoryError):
                raise OpenLengthError(
                    f"export_model: a length may be bounded by {max(bounds)}, and there is no memory to try longer "
                    "ones. Make that axis fixed."
                ) from error
        else:
            rows = [*rows, row]
    return rows, writings


def _opened(source: Source, rows: Sequence[Mapping[str, int]], writings: Sequence[Writing]) -> None:
    identifiers = {name: f"s{position}" for position, name in enumerate(rows[0])}
    axes = {identifiers[name]: (each.name, axis) for each in source.inputs for axis, name in each.open_axes.items()}
    named_rows = [{identifiers[name]: length for name, length in row.items()} for row in rows]
    titles = {identifier: name for name, identifier in identifiers.items()}
    with_open_lengths([writing.emitter for writing in writings], named_rows, axes, titles)


def _output_names(emitter: Emitter, writing: Writing, source: Source) -> list[str]:
    """Return what the outputs are called; those that are inputs, parameters or another output become copies."""
    written_names = {name for node in emitter.nodes for name in node.outputs}
    names: list[str] = []
    for operand, listed in zip(writing.outputs, source.output_names(), strict=True):
        name = operand.text
        if name in names or name not in written_names:
            (copy,) = emitter.add("Identity", [name], 1, {})
            name = emitter.fresh(f"{listed}_output" if listed in emitter.taken else listed)
            emitter.rename(copy, name)
        names.append(name)
    return names


def _output_infos(
    writings: Sequence[Writing], names: Sequence[str], rows: Sequence[Mapping[str, int]]
) -> list[TensorInfo]:
    """Return what outputs are: lengths that differ between writings are called as the axes that are so long."""
    infos = []
    for position, name in enumerate(names):
        shapes = [writing.outputs[position].shape for writing in writings]
        shape: list[int | str] = []
        for lengths in zip(*shapes, strict=True):
            axes = [axis for axis in rows[0] if all(row[axis] == n for row, n in zip(rows, lengths, strict=True))]
            is_fixed = all(length == lengths[0] for length in lengths)
            shape.append(lengths[0] if is_fixed else axes[0] if axes else -1)
        infos.append(TensorInfo(name, tuple(shape), writings[0].outputs[position].dtype))
    return infos
