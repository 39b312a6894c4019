"""The proof of an exported model: it is checked, run, and compared with the graph that it was written from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.graph.ir import CONSTANT, Node, Value
from minpy.onnx.comparing import Difference, OutputRow, difference, drawn_input, tolerances
from minpy.onnx.exporting.lengths import FAILURES, OpenLengthError, does_not_run
from minpy.onnx.exporting.sources import ExportError
from minpy.onnx.exporting.writing import WrittenModel
from minpy.onnx.running import LoadedModel, RuntimeFailure, loaded, outputs_added, runtime_name

__all__ = ["prove", "tried_sizes"]

_ADVICE = (
    "No file was written. If that node is a @customop, run op.check() on it; else this is a fault of the exporter: "
    "please report it with the symbol. check=False writes the file nevertheless."
)


def prove(
    exported: WrittenModel,
    model: Any,
    example_inputs: Mapping[str, numpy.ndarray] | None = None,
    content: bytes | None = None,
) -> list[OutputRow]:
    """Check a model and run it, for two sizes of each open axis, against the graph; return a row an output.

    Parameters
    ----------
    exported : WrittenModel
    model : onnx.ModelProto or str
        The model, or where it lies, if it is larger than a message may be.
    example_inputs : mapping of str to numpy.ndarray, optional
        Inputs to compare on, too. With them, drawn ones that the graph refuses are left out.
    content : bytes, optional
        The model as a file has it, if that is known.

    Raises
    ------
    ExportError
        If the model is not valid, or an output differs: the text names the first node that does, with both numbers.
        If the graph refuses the drawn inputs, and there are no others.
    """
    stored: Any = model if isinstance(model, str) else content or model.SerializeToString()
    _check(stored)
    source = exported.source
    drawn_nodes = source.random_nodes()
    rows: list[OutputRow] = []
    tries = _tried_inputs(exported, example_inputs)
    runner = _Runner(stored)
    inner_values = [] if isinstance(model, str) else _inner_values(exported)
    for arrays in tries:
        # A softmax that is all zeros and a one hides what is wrong before it: so inner values are compared, too.
        values = inner_values if arrays is tries[0] or arrays is example_inputs else []
        try:
            evaluated = source.evaluate([*source.heads, *values], arrays)
        except FAILURES as error:
            if arrays is example_inputs:
                raise
            if example_inputs is not None:
                continue
            if arrays is not tries[0]:
                raise OpenLengthError(does_not_run(arrays, error)) from error
            raise ExportError(
                "export_model: there is nothing to compare the model on, as the graph refuses inputs that were drawn: "
                f"{str(error).rstrip('.')}. Give inputs that it takes: example_inputs={{name: array, ...}}, for "
                f"{', '.join(repr(each.name) for each in source.inputs)}."
            ) from error
        expected, inner = evaluated[: len(source.heads)], evaluated[len(source.heads) :]
        if not isinstance(arrays, _Narrowed) and arrays is not example_inputs and not all(map(_is_finite, expected)):
            tries.append(_narrowed(arrays))  # where a logarithm or a square root has numbers
        actual, runtime = runner.run(arrays)
        for position, (name, value, ours) in enumerate(zip(exported.output_names, source.heads, expected, strict=True)):
            distance = _distance(ours, actual[name], value.node in drawn_nodes)
            if not distance.is_close:
                inner = inner or source.evaluate(inner_values, arrays)
                different = _first_difference(exported, model, arrays, inner_values, inner)
                raise ExportError(_difference_text(arrays, name, distance, runtime, different))
            before = rows[position] if position < len(rows) else OutputRow(name, (), "", 0.0, 0.0, 0)
            rows[position : position + 1] = [
                OutputRow(
                    name,
                    tuple(ours.shape),
                    ours.dtype.name,
                    max(before.absolute, distance.absolute),
                    max(before.relative, distance.relative),
                    before.sizes + (0 if isinstance(arrays, _Narrowed) else 1),
                )
            ]
        different = _first_difference(exported, model, arrays, values, inner) if values else None
        if different is not None:
            raise ExportError(
                f"{_run_on(arrays, runtime)}: the outputs are equal there, but {different[0].described()} differs: "
                f"{different[1]}. {_ADVICE}"
            )
    _prove_short(exported, model, runner, drawn_nodes)
    return rows


def _prove_short(exported: WrittenModel, model: Any, runner: _Runner, drawn_nodes: set[Node]) -> None:
    """Require that no output differs where axes are one or two long, as far as the graph and the model run then.

    What a slice cuts off, or a choice by a length, shows there: the graph is written from longer ones.
    """
    source = exported.source
    for number, lengths in enumerate(_short_sizes(exported)):
        arrays = _drawn(exported, lengths, number)
        try:
            expected = source.evaluate(source.heads, arrays)
        except FAILURES:
            continue  # too short for the graph
        try:
            actual, runtime = runner.run(arrays)
        except ExportError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            warnings.warn(
                f"export_model: a dynamic axis may have any length, and the model does not run on {shapes}, where the "
                f"graph does: {str(error).removeprefix('export_model: ').rstrip('.')}. It is right for the lengths "
                "that it runs for; make that axis fixed if these are not enough.",
                stacklevel=2,
            )
            continue
        for name, value, ours in zip(exported.output_names, source.heads, expected, strict=True):
            distance = _distance(ours, actual[name], value.node in drawn_nodes)
            # Of one number, what is left of it less its mean is rounding alone.
            if not distance.is_close and not difference(ours, actual[name]).is_close:
                values = [] if isinstance(model, str) else _inner_values(exported)
                different = _first_difference(exported, model, arrays, values, source.evaluate(values, arrays))
                raise ExportError(_difference_text(arrays, name, distance, runtime, different))


def _short_sizes(exported: WrittenModel) -> list[dict[str, int]]:
    declared = exported.source.open_lengths()
    sizes = [dict.fromkeys(declared, length) for length in (1, 2)]
    if len(declared) > 1:
        sizes += [{**declared, name: length} for name in declared for length in (1, 2)]
    return [lengths for lengths in sizes if declared and lengths != declared]


def _drawn(exported: WrittenModel, lengths: Mapping[str, int], number: int) -> dict[str, numpy.ndarray]:
    return {
        each.name: drawn_input(each.at(lengths), each.dtype, seed)
        for seed, each in enumerate(exported.source.inputs, start=number)
    }


def _tried_inputs(
    exported: WrittenModel, example_inputs: Mapping[str, numpy.ndarray] | None
) -> list[Mapping[str, numpy.ndarray]]:
    tries: list[Mapping[str, numpy.ndarray]] = [
        _drawn(exported, lengths, number) for number, lengths in enumerate(tried_sizes(exported))
    ]
    return tries if example_inputs is None else [*tries, example_inputs]


class _Narrowed(dict[str, numpy.ndarray]):
    """Inputs between 0 and 1, for graphs that have no finite result for others."""


def _narrowed(inputs: Mapping[str, numpy.ndarray]) -> _Narrowed:
    """Return inputs from the same numbers, brought between 0.1 and 0.9."""
    return _Narrowed(
        (name, (0.5 + 0.4 * numpy.tanh(array)).astype(array.dtype) if array.dtype.kind == "f" else array)
        for name, array in inputs.items()
    )


def _is_finite(array: numpy.ndarray) -> bool:
    return array.dtype.kind not in "fc" or bool(numpy.isfinite(array).all())


def tried_sizes(exported: WrittenModel) -> list[dict[str, int]]:
    """Return the lengths of open axes that a model is tried with: as declared, and each some longer."""
    declared = exported.source.open_lengths()
    if not declared:
        return [{}]
    return [declared, {name: length + 1 + position for position, (name, length) in enumerate(declared.items())}]


def _check(model: Any) -> None:
    import onnx

    try:
        onnx.checker.check_model(model, full_check=not isinstance(model, str))
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        text = " ".join(str(error).split())
        raise ExportError(
            f"export_model: onnx.checker refuses the model that was written; nothing is kept: {text}. This is a fault "
            "of the exporter: please report it with the symbol."
        ) from error


class _Runner:
    """Runs a model; by onnx's own evaluator where onnxruntime lacks an operator for a dtype."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._failure: RuntimeFailure | None = None
        try:
            self._loaded = LoadedModel(model)
        except RuntimeFailure as error:
            self._loaded = self._reference(error)

    def run(self, inputs: Mapping[str, numpy.ndarray]) -> tuple[dict[str, numpy.ndarray], str]:
        """Return what the model computes, and what ran it."""
        try:
            return self._loaded.run(inputs), self._loaded.runtime
        except RuntimeFailure as error:
            if self._loaded.runtime == "onnx.reference":
                raise _not_run(*filter(None, [self._failure, error])) from error
            reference = self._reference(error)
        try:
            return reference.run(inputs), reference.runtime
        except RuntimeFailure as other:
            raise _not_run(*filter(None, [self._failure, other])) from other

    def _reference(self, failure: RuntimeFailure) -> LoadedModel:
        self._failure = failure
        if runtime_name() == "onnx.reference":
            raise _not_run(failure) from failure
        try:
            return LoadedModel(self._model, "onnx.reference")
        except RuntimeFailure as other:
            raise _not_run(failure, other) from other


def _not_run(*errors: RuntimeFailure) -> ExportError:
    texts = "; ".join(str(error).rstrip(".") for error in errors)
    return ExportError(f"export_model: the model was written and cannot be run, so nothing is kept: {texts}.")


def _distance(expected: numpy.ndarray, actual: numpy.ndarray, is_random: bool) -> Difference:
    if is_random:
        distance = difference(expected, numpy.asarray(actual))
        is_alike = (expected.shape, expected.dtype) == (actual.shape, actual.dtype)
        return distance._replace(absolute=0.0, relative=0.0, is_close=True) if is_alike else distance
    relative, _ = tolerances(expected.dtype)
    finite = numpy.abs(expected[numpy.isfinite(expected)]) if expected.dtype.kind in "fc" else expected.reshape(-1)[:0]
    # Sums of numbers that cancel are as far off as their parts' rounding: in terms of the largest number.
    scale = float(finite.max()) if finite.size else 0.0
    return difference(expected, actual, relative, relative / 10 * scale)


def _difference_text(
    inputs: Mapping[str, numpy.ndarray],
    output: str,
    distance: Difference,
    runtime: str,
    different: tuple[Node, Difference] | None,
) -> str:
    message = f"{_run_on(inputs, runtime)}, and its output {output!r} differs: {distance}. "
    if different is not None:
        numbers = "" if str(different[1]) == str(distance) else f": {different[1]}"
        message += f"The first node that differs is {different[0].described()}{numbers}. "
    return message + _ADVICE


def _run_on(inputs: Mapping[str, numpy.ndarray], runtime: str) -> str:
    shapes = ", ".join(f"{name} {array.shape}" for name, array in inputs.items()) or "no inputs"
    return f"export_model: the model was run by {runtime} on {shapes}"


def _inner_values(exported: WrittenModel) -> list[Value]:
    """Return the values that nodes of the graph compute, in its order, and that have names in the model."""
    order = {node: position for position, node in enumerate(exported.source.order)}
    values = [value for value in exported.values if value.node in order]
    values = [value for value in values if value.node.operator not in (None, CONSTANT)]
    return sorted(values, key=lambda value: (order[value.node], value.index))


def _first_difference(
    exported: WrittenModel,
    model: Any,
    inputs: Mapping[str, numpy.ndarray],
    values: Sequence[Value],
    expected: Sequence[numpy.ndarray],
) -> tuple[Node, Difference] | None:
    """Return the first node, in the order of the graph, whose output differs; None where that cannot be told."""
    if not values:
        return None
    try:
        with outputs_added(loaded(model)) as with_all:
            actual, _ = _Runner(with_all).run(inputs)
    except ExportError:
        return None
    drawn = exported.source.random_nodes()
    for value, ours in zip(values, expected, strict=True):
        theirs = actual.get(exported.values[value])
        if theirs is None or value.node in drawn:
            continue
        distance = _distance(ours, theirs, False)
        if not distance.is_close:
            return value.node, distance
    return None
