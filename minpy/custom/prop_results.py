"""What a `CustomOpProp`'s methods return, checked: an error names class and method, got and expected."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy

from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    MXNetError,
    ShapeError,
    describe,
    in_place_of,
    nearest,
    operator_error,
)
from minpy.custom.prop import CustomOpProp
from minpy.ops.inference.partial_shapes import UNKNOWN, complete

__all__ = [
    "call_method",
    "checked_shapes",
    "checked_types",
    "declared_dependencies",
    "infer_partly",
    "infer_types_partly",
    "init_error",
    "method_error",
    "names_of",
]

_INTEGERS = {int}
_NO_STATES = CustomOpProp.list_auxiliary_states


def call_method(prop: Any, method: str, *arguments: Any) -> Any:
    """Return what a method of a prop returns; an exception inside it is raised with a line that says where."""
    try:
        return getattr(prop, method)(*arguments)
    except Exception as error:
        raise in_place_of(method_error(prop, method, arguments, error), error) from None


def method_error(prop: Any, method: str, arguments: Sequence[Any], error: Exception) -> Exception:
    """Return the error to raise for an exception inside a method of a prop."""
    shown = f" ({', '.join(map(repr, arguments))})" if arguments else ""
    return operator_error(error, f"Custom operator: {type(prop).__name__}.{method} failed{shown}")


def init_error(op_type: Any, prop_class: type[CustomOpProp], parameters: dict[str, Any], error: Exception) -> Exception:
    """Return the error for a prop that could not be made."""
    method = f"nd.Custom(op_type={op_type!r}): {prop_class.__name__}.__init__"
    signature = inspect.signature(prop_class)
    try:
        signature.bind(**parameters)
    except TypeError:
        accepted = list(signature.parameters)
        unknown = [name for name in parameters if name not in accepted]
        hint = nearest(unknown[0], accepted) if unknown else ""
        return ArgumentError(
            f"{method} takes {', '.join(accepted) or 'no keyword arguments'}; got {', '.join(parameters) or 'none'}."
            f"{hint} Inputs by name must be arrays. ({error})"
        )
    return operator_error(error, f"{method} failed")


def names_of(prop: Any) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the arguments, outputs and auxiliary states that a prop lists."""
    try:
        arguments, outputs = prop.list_arguments(), prop.list_outputs()
        list_states = prop.list_auxiliary_states
        if (
            getattr(list_states, "__func__", None) is _NO_STATES  # it lists none
            and type(arguments) is type(outputs) is list
            and len(arguments) == len(outputs) == 1
            and type(arguments[0]) is type(outputs[0]) is str
        ):
            return arguments, outputs, []  # the fast path
    except Exception as error:
        if isinstance(error, MXNetError) and error.located:
            raise
    # The methods are called again one by one, for error messages that say which of them is wrong.
    arguments = checked_names(prop, "list_arguments")
    outputs = checked_names(prop, "list_outputs")
    auxiliaries = checked_names(prop, "list_auxiliary_states")
    twice = set(arguments).intersection(auxiliaries)
    if twice:
        raise ArgumentError(
            f"{type(prop).__name__}.list_auxiliary_states and list_arguments both list "
            f"{', '.join(sorted(map(repr, twice)))}; names must differ."
        )
    return arguments, outputs, auxiliaries


def checked_names(prop: Any, method: str) -> list[str]:
    """Return the names that a `list_*` method lists."""
    names = call_method(prop, method)
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            f"{type(prop).__name__}.{method} returned {describe(names)}; expected a list of names, such as "
            f"return {['data'] if method == 'list_arguments' else ['output']!r}."
        )
    if len(set(names)) != len(names):
        raise ArgumentError(f"{type(prop).__name__}.{method} returned {list(names)}; names must differ.")
    if not names and method == "list_outputs":
        raise ArgumentError(f"{type(prop).__name__}.list_outputs returned no names; an operator has an output.")
    return list(names)


def checked_shapes(operator: Any, shapes: list[tuple[int, ...]]) -> tuple[list[Any], list[Any]]:
    """Return (output shapes, auxiliary shapes) as the prop infers them for the given input shapes."""
    in_shapes = [*map(list, shapes)]
    try:
        result = operator.prop.infer_shape(in_shapes)
    except Exception as error:
        raise in_place_of(method_error(operator.prop, "infer_shape", (in_shapes,), error), error) from None
    try:  # the fast path: a correct result of the usual kind
        inputs, outputs, states = result
        if (
            type(result) is tuple
            and not states
            and not operator.auxiliaries
            and len(outputs) == len(operator.outputs)
            and [*map(tuple, inputs)] == shapes
        ):
            if len(outputs) == 1 and in_shapes and outputs[0] is inputs[0] is in_shapes[0]:  # returned as it was given
                return shapes[:1], []
            output_shapes = []
            for shape in map(tuple, outputs):
                if not {*map(type, shape)} <= _INTEGERS or min(shape, default=0) < 0:
                    return _read_shapes(operator, shapes, result)
                output_shapes.append(shape)
            return output_shapes, []
    except (TypeError, ValueError):
        return _read_shapes(operator, shapes, result)
    return _read_shapes(operator, shapes, result)


def _read_shapes(
    operator: Any, in_shapes: list[tuple[int, ...]], result: Any
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the output and state shapes of a result of `infer_shape`; raise a detailed error if it is wrong."""
    method_name = f"{operator.prop_name}.infer_shape"
    shapes = _read_lists(operator, method_name, result, "shape", _read_shape, _example_return(operator))
    for name, shape, in_shape in zip(operator.arguments, shapes[0], in_shapes, strict=True):
        if shape != tuple(in_shape):
            raise ShapeError(
                f"{method_name} says that input {name!r} has shape {shape}; the one given has {tuple(in_shape)}. "
                "Pass an array of that shape, or correct infer_shape."
            )
    return shapes[1], shapes[2]


def _read_lists(
    operator: Any, method_name: str, result: Any, noun: str, read: Any, example: str = ""
) -> list[list[Any]]:
    """Return the three lists of shapes or types of a result, each read by `read(value, method, role, name)`."""
    example = f" {example}" if example else ""
    lists = f"2 or 3 lists: input {noun}s, output {noun}s, {'and auxiliary shapes.' if example else 'auxiliary types.'}"
    if not isinstance(result, (tuple, list)) or len(result) not in (2, 3):
        got = f"{len(result)} entries" if isinstance(result, (tuple, list)) else describe(result)
        raise ArgumentError(f"{method_name} returned {got}; expected {lists}{example}")
    states = result[2] if len(result) == 3 else [None] * len(operator.auxiliaries) if noun == "type" else ()
    results: list[list[Any]] = []
    for values, names, kind in (
        (result[0], operator.arguments, "input"),
        (result[1], operator.outputs, "output"),
        (states, operator.auxiliaries, "auxiliary"),
    ):
        if not isinstance(values, (tuple, list)) or len(values) != len(names):
            if noun == "shape" and not values and not names:
                results.append([])
                continue
            got = str(len(values)) if isinstance(values, (tuple, list)) else describe(values)
            listed = f", for {', '.join(map(repr, names))}" if names else ""
            raise ArgumentError(f"{method_name} returned {got} {kind} {noun}s; expected {len(names)}{listed}.{example}")
        results.append([read(value, method_name, kind, name) for value, name in zip(values, names, strict=True)])
    return results


def infer_partly(operator: Any, inputs: Any, outputs: Any) -> tuple[Any, Any]:
    """Return what a prop infers from shapes that may not all be known; what it cannot infer yet stays unknown.

    Unknown shapes are given as [], and unknown lengths as 0. A prop that fails on those is asked again later.
    """
    count = len(operator.arguments)
    arguments = inputs[:count]
    if arguments and arguments[0] is None:
        return inputs, outputs
    in_shapes = [[] if shape is None else [max(length, 0) for length in shape] for shape in arguments]
    if complete(arguments):
        results, states = checked_shapes(operator, [tuple(shape) for shape in in_shapes])
        return [*arguments, *states], results
    try:
        result = operator.prop.infer_shape(in_shapes)
        parts = [[*map(_partial_shape, shapes)] for shapes in result]
        if [*map(len, parts)][:2] != [count, len(operator.outputs)] or len(parts) not in (2, 3):
            return inputs, outputs
    except Exception:  # it may have needed what is not known; if it is wrong in earnest, it fails again when all is
        return inputs, outputs
    return [*parts[0], *inputs[count:]], outputs  # once these are known, it is asked again, and checked


def _partial_shape(shape: Any) -> Any:
    return tuple(index(length) or UNKNOWN for length in shape) or None


def _read_shape(shape: Any, method: str, role: str, name: str) -> tuple[int, ...]:
    try:
        lengths = tuple(map(index, shape))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{method} returned {describe(shape)} as the shape of {role} {name!r}; expected a tuple of int. For "
            "one-element lists mind the comma: (shape,)."
        ) from None
    if lengths and min(lengths) < 0:
        raise ShapeError(f"{method} returned {lengths} as the shape of {role} {name!r}; lengths cannot be negative.")
    return lengths


def _example_return(operator: Any) -> str:
    def part(names: list[str], suffix: str) -> str:
        return "[" + ", ".join(f"{name}_{suffix}" for name in names) + "]"

    return (
        f"A right return value: return {part(operator.arguments, 'shape')}, {part(operator.outputs, 'shape')}, "
        f"{part(operator.auxiliaries, 'shape')}"
    )


def checked_types(operator: Any, in_types: list[Any]) -> list[Any]:
    """Return the output types as the prop infers them for the given input types."""
    method_name = f"{operator.prop_name}.infer_type"
    if getattr(operator.prop.infer_type, "_is_default", False):
        return [in_types[0] if in_types else numpy.float32] * len(operator.outputs)
    inputs, outputs, _ = _read_types(operator, call_method(operator.prop, "infer_type", list(in_types)))
    for name, value, in_type in zip(operator.arguments, inputs, in_types, strict=True):
        if value is not in_type:
            raise DTypeError(
                f"{method_name} says that input {name!r} has type {numpy.dtype(value).name}; the one given has "
                f"{numpy.dtype(in_type).name}. Pass x.astype({numpy.dtype(value).name!r}), or correct infer_type."
            )
    return outputs


def _read_types(operator: Any, result: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the types of inputs, outputs and states in a result of `infer_type`; raise if it is wrong."""
    inputs, outputs, states = _read_lists(operator, f"{operator.prop_name}.infer_type", result, "type", _read_type)
    return inputs, outputs, states


def infer_types_partly(operator: Any, inputs: Any, outputs: Any) -> tuple[Any, Any]:
    """Return what a prop infers from dtypes that may not all be known; unknown ones are given as None, as in MXNet.

    A prop that fails on those is asked again later.
    """
    count = len(operator.arguments)
    if getattr(operator.prop.infer_type, "_is_default", False):
        first = inputs[0] if count else numpy.dtype(numpy.float32)
        return [*inputs[:count], *[first] * len(operator.auxiliaries)], [first] * len(outputs)
    in_types = [None if dtype is None else dtype.type for dtype in inputs[:count]]
    if None not in in_types:
        types, results, states = _read_types(operator, call_method(operator.prop, "infer_type", in_types))
        return _dtypes([*types, *states]), _dtypes(results)
    try:
        result = operator.prop.infer_type(in_types)
        parts = [*map(_dtypes, result)]
        if len(parts) == 2:
            parts.append([None] * len(operator.auxiliaries))
        if [*map(len, parts)] != [count, len(operator.outputs), len(operator.auxiliaries)]:
            return inputs, outputs
    except Exception:  # it may have needed what is not known; if it is wrong in earnest, it fails again when all is
        return inputs, outputs
    return [*parts[0], *parts[2]], parts[1]


def _dtypes(types: Any) -> list[Any]:
    return [None if value is None else numpy.dtype(value) for value in types]


def _read_type(value: Any, method: str, role: str, name: str) -> Any:
    if value is None and role == "auxiliary":  # whatever the state that is given has
        return None
    try:
        dtype = numpy.dtype(value) if value is not None else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "fciub":
        raise ArgumentError(
            f"{method} returned {describe(value)} as the type of {role} {name!r}; expected a NumPy type of numbers, "
            "such as numpy.float32. A right return value: return in_type, [in_type[0]], []"
        )
    return dtype.type


def declared_dependencies(operator: Any) -> tuple[frozenset[int], bool]:
    """Return what the prop declares that its backward reads: positions of inputs, and whether outputs."""
    outputs, inputs = len(operator.outputs), len(operator.arguments)
    out_grad, in_data = [*range(outputs)], [*range(outputs, outputs + inputs)]
    out_data = [*range(outputs + inputs, 2 * outputs + inputs)]
    result = call_method(operator.prop, "declare_backward_dependency", out_grad, in_data, out_data)
    declarable = {*out_grad, *in_data, *out_data}
    if not isinstance(result, (list, tuple)) or not declarable.issuperset(result):
        raise ArgumentError(
            f"{operator.prop_name}.declare_backward_dependency returned {describe(result)}; expected a list of some "
            "of the numbers it was given, such as return [*out_grad, *in_data]."
        )
    return frozenset(number - outputs for number in result if number in in_data), bool(set(result) & set(out_data))
