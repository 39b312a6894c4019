"""What a `CustomOpProp`'s methods answer, checked: a wrong answer names class and method, got and expected."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, MXNetError, ShapeError, describe, operator_error

__all__ = ["ask", "checked_names", "checked_shapes", "checked_types"]


def ask(prop: Any, method: str, *arguments: Any) -> Any:
    """Return what a method of a prop answers; an exception inside it is raised with a line that says where."""
    try:
        return getattr(prop, method)(*arguments)
    except MXNetError:
        raise
    except Exception as error:
        given = f" ({', '.join(map(repr, arguments))})" if arguments else ""
        raise operator_error(error, f"Custom operator: {type(prop).__name__}.{method} failed{given}") from error


def checked_names(prop: Any, method: str) -> list[str]:
    """Return the names that a `list_*` method lists."""
    names = ask(prop, method)
    if type(names) is list and len(names) < 2:
        if names and type(names[0]) is str:
            return names
        if not names and method != "list_outputs":
            return names
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


def checked_shapes(
    operator: Any, in_shapes: list[tuple[int, ...]]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return (output shapes, auxiliary shapes) as the prop infers them for the given input shapes."""
    answer = ask(operator.prop, "infer_shape", [*map(list, in_shapes)])
    if type(answer) is tuple and len(answer) == 3:  # a right answer, recognized at once
        inputs, outputs, auxiliaries = answer
        try:
            if len(outputs) == len(operator.outputs) and len(auxiliaries) == len(operator.auxiliaries):
                found = [tuple(map(index, shape)) for shape in outputs], [tuple(map(index, shape)) for shape in auxiliaries]
                if [*map(tuple, inputs)] == in_shapes and min(map(min, filter(None, found[0] + found[1])), default=0) >= 0:
                    return found
        except TypeError:
            return _read_shapes(operator, in_shapes, answer)
    return _read_shapes(operator, in_shapes, answer)


def _read_shapes(
    operator: Any, in_shapes: list[tuple[int, ...]], answer: Any
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Go through an answer of `infer_shape` with all the words for what may be wrong with it."""
    who = f"{operator.prop_name}.infer_shape"
    if not isinstance(answer, (tuple, list)) or len(answer) not in (2, 3):
        got = f"{len(answer)} entries" if isinstance(answer, (tuple, list)) else describe(answer)
        raise ArgumentError(
            f"{who} returned {got}; expected 2 or 3 lists: input shapes, output shapes, and auxiliary shapes. "
            f"{_example(operator)}"
        )
    shapes: list[list[tuple[int, ...]]] = []
    for part, names, what in (
        (answer[0], operator.arguments, "input"),
        (answer[1], operator.outputs, "output"),
        (answer[2] if len(answer) == 3 else (), operator.auxiliaries, "auxiliary"),
    ):
        if not part and not names:
            shapes.append([])
            continue
        if not isinstance(part, (tuple, list)) or len(part) != len(names):
            got = str(len(part)) if isinstance(part, (tuple, list)) else describe(part)
            of = f", for {', '.join(map(repr, names))}" if names else ""
            raise ArgumentError(
                f"{who} returned {got} {what} shapes; expected {len(names)}{of}. {_example(operator)}"
            )
        shapes.append([_shape(shape, who, what, name) for shape, name in zip(part, names, strict=True)])
    for name, shape, given in zip(operator.arguments, shapes[0], in_shapes, strict=True):
        if shape != tuple(given):
            raise ShapeError(
                f"{who} says that input {name!r} has shape {shape}; the one given has {tuple(given)}. "
                "Pass an array of that shape, or correct infer_shape."
            )
    return shapes[1], shapes[2]


def _shape(shape: Any, who: str, what: str, name: str) -> tuple[int, ...]:
    try:
        lengths = tuple(map(index, shape))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{who} returned {describe(shape)} as the shape of {what} {name!r}; expected a tuple of int. For "
            "one-element lists mind the comma: (shape,)."
        ) from None
    if lengths and min(lengths) < 0:
        raise ShapeError(f"{who} returned {lengths} as the shape of {what} {name!r}; lengths cannot be negative.")
    return lengths


def _example(operator: Any) -> str:
    def part(names: list[str], suffix: str) -> str:
        return "[" + ", ".join(f"{name}_{suffix}" for name in names) + "]"

    return (
        f"A right return value: return {part(operator.arguments, 'shape')}, {part(operator.outputs, 'shape')}, "
        f"{part(operator.auxiliaries, 'shape')}"
    )


def checked_types(operator: Any, in_types: list[Any]) -> list[Any]:
    """Return the output types as the prop infers them for the given input types."""
    who = f"{operator.prop_name}.infer_type"
    if not in_types:
        return [numpy.float32] * len(operator.outputs)
    if getattr(type(operator.prop).infer_type, "_is_default", False):
        return [in_types[0]] * len(operator.outputs)
    answer = ask(operator.prop, "infer_type", list(in_types))
    if not isinstance(answer, (tuple, list)) or len(answer) not in (2, 3):
        got = f"{len(answer)} entries" if isinstance(answer, (tuple, list)) else describe(answer)
        raise ArgumentError(f"{who} returned {got}; expected 2 or 3 lists: input types, output types, auxiliary types.")
    for part, names, what in (
        (answer[0], operator.arguments, "input"),
        (answer[1], operator.outputs, "output"),
        (answer[2] if len(answer) == 3 else operator.auxiliaries, operator.auxiliaries, "auxiliary"),
    ):
        if not isinstance(part, (tuple, list)) or len(part) != len(names):
            got = str(len(part)) if isinstance(part, (tuple, list)) else describe(part)
            of = f", for {', '.join(map(repr, names))}" if names else ""
            raise ArgumentError(f"{who} returned {got} {what} types; expected {len(names)}{of}.")
    types = []
    for name, value in zip(operator.outputs, answer[1], strict=True):
        try:
            types.append(numpy.dtype(value).type)
        except TypeError:
            raise ArgumentError(
                f"{who} returned {describe(value)} as the type of output {name!r}; expected a NumPy type such as "
                "numpy.float32."
            ) from None
    return types
