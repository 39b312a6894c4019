"""What the options of `python -m minpy convert` say: shapes, dtypes and open axes by the names of inputs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy

from minpy.core.errors import ArgumentError, nearest
from minpy.onnx.conversion.tensors import COMMAND

__all__ = ["OpenAxes", "named_axes", "named_dtype", "named_shape", "open_axes", "separated_dynamic", "values_by_name"]

Shape = tuple[int, ...]
_AXES = r"(.+):(\d+(?:,\d+)*)"


class OpenAxes(NamedTuple):
    """Axes of an input whose lengths are left open; name '' and no axes: the first axis of each input."""

    name: str
    axes: tuple[int, ...]


def named_shape(text: str) -> tuple[str, Shape]:
    """Return (name or '', shape) of `data=1,3,224,224`, or with any other signs between.

    >>> named_shape('data=1,3,224,224'), named_shape('(8, 5)')
    (('data', (1, 3, 224, 224)), ('', (8, 5)))
    """
    match = re.fullmatch(
        r"(?:(.*?)\s*[:=])?\s*[(\[]?\s*(\d{1,18}(?:\s*[,xX× ]\s*\d{1,18})*)?\s*,?\s*[)\]]?", text.strip()
    )
    if match is None or (match[2] is None and not re.search(r"[=:(\[]", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; expected data=1,3,224,224")
    return match[1] or "", tuple(int(digits) for digits in re.findall(r"\d+", match[2] or ""))


def named_dtype(text: str) -> tuple[str, str]:
    """Return (name or '', dtype) of `data=float32`.

    >>> named_dtype('data=float16'), named_dtype('int32')
    (('data', 'float16'), ('', 'int32'))
    """
    name, _, word = text.rpartition("=") if "=" in text else text.rpartition(":")
    try:
        dtype = numpy.dtype(word)
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise argparse.ArgumentTypeError(f"{word!r} is no dtype of numbers; expected data=float32, int64, bool, ...")
    return name, dtype.name


def named_axes(text: str) -> OpenAxes:
    """Return the axes of `data:0,2`; '' stands for the first of each input.

    >>> named_axes('data:0,2')
    OpenAxes(name='data', axes=(0, 2))
    """
    if not text:
        return OpenAxes("", ())
    match = re.fullmatch(_AXES, text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} names no axes; expected data:0 or data:0,2, or nothing")
    return OpenAxes(match[1], tuple(int(digits) for digits in match[2].split(",")))


def separated_dynamic(arguments: Sequence[str]) -> list[str]:
    """Return arguments in which a `--dynamic` without axes does not take what follows it.

    >>> separated_dynamic(['--dynamic', 'net', 'net.onnx', '--dynamic', 'data:0'])
    ['--dynamic=', 'net', 'net.onnx', '--dynamic=data:0']
    """
    result: list[str] = []
    remaining = list(arguments)
    while remaining:
        argument = remaining.pop(0)
        if argument == "--":
            return [*result, argument, *remaining]
        if argument == "--dynamic":
            argument = "--dynamic="
            if remaining and re.fullmatch(_AXES, remaining[0]):
                argument += remaining.pop(0)
        result.append(argument)
    return result


def values_by_name(option: str, entries: Sequence[tuple[str, Shape | str]], names: Sequence[str]) -> dict[str, object]:
    """Return the values of an option by the inputs that they are for; one without a name is for the only input."""
    values: dict[str, object] = {}
    for name, value in entries:
        if not name and len(names) != 1:
            raise ArgumentError(
                f"{COMMAND}: {option} needs the name of an input: {', '.join(names)}. Write {option} "
                f"{names[0] if names else 'data'}=..."
            )
        _require_input(option, name or names[0], names)
        values[name or names[0]] = value
    return values


def _require_input(option: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        inputs = ", ".join(map(repr, names)) or "none"
        raise ArgumentError(f"{COMMAND}: {option} names {name!r}; the inputs are {inputs}.{nearest(name, names)}")


def open_axes(options: Sequence[OpenAxes], shapes: Mapping[str, Shape]) -> dict[str, set[int]]:
    """Return the axes of each input whose lengths are left open, checked."""
    axes: dict[str, set[int]] = {name: set() for name in shapes}
    for option in options:
        if not option.name:
            for name, shape in shapes.items():
                axes[name] |= {0} if shape else set()
            continue
        _require_input("--dynamic", option.name, list(shapes))
        for axis in option.axes:
            if axis >= len(shapes[option.name]):
                raise ArgumentError(
                    f"{COMMAND}: --dynamic {option.name}:{axis}: the input {option.name!r} is "
                    f"{shapes[option.name]}, and has no axis {axis}."
                )
            axes[option.name].add(axis)
    return axes
