"""Run a model on a picture or on arrays: its outputs, and how long they take."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, FileFormatError, MXNetError, ShapeError, nearest
from minpy.files import accessing, open_to_read, read_file, write_file
from minpy.inspection.artifacts import Artifact, label_lines
from minpy.inspection.findings import by_name
from minpy.inspection.report import Input, Report
from minpy.inspection.report_text import shape_text, table, wrapped
from minpy.ndarray.creation import array as make_array
from minpy.ndarray.creation import zeros
from minpy.symbol.saving import load_json

__all__ = ["Prediction", "Preparation", "labels_of", "predict", "read_arrays", "read_picture", "save"]

_PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
_COMMAND = "python -m minpy model"
_MAX_SECONDS = 5.0  # for the runs that are timed
_RUNS_TO_COMPILE = 3  # the third call of a program is compiled; one more is as all further ones are


@dataclass(frozen=True)
class Preparation:
    """The preparation of pictures: cut to the input's shape, then `(pixels * scale - mean) / std` for each channel."""

    mean: tuple[float, ...] = (0.0,)  # one number for all channels, or one for each in the network's order
    std: tuple[float, ...] = (1.0,)
    scale: float = 1.0
    bgr: bool = False  # whether the network has blue first; else red
    stretch: bool = False  # whether all of the picture is resized; else its shorter side, and the middle is cut out


@dataclass
class Prediction:
    """The outputs of a model, and how long they took."""

    outputs: dict[str, numpy.ndarray]
    seconds: dict[str, float]  # 'load', 'bind', 'first', 'warm-up', in which it is compiled, and 'next', a median
    runs: int  # how many the median is of
    labels: list[str] = field(default_factory=list)  # the names of classes
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the values as dicts, lists, strings and numbers."""
        outputs = [
            {"name": name, "shape": list(values.shape), "dtype": values.dtype.name, **_statistics(values)}
            | ({"top": [[number, label, value] for number, label, value in top]} if (top := self._top(values)) else {})
            for name, values in self.outputs.items()
        ]
        return {"outputs": outputs, "seconds": self.seconds, "runs": self.runs, "notes": self.notes}

    def _top(self, values: numpy.ndarray) -> list[tuple[int, str, float]]:
        """Return the five largest of one row of scores."""
        if values.ndim != 2 or values.shape[0] != 1 or values.shape[1] < 2:
            return []
        if values.dtype.kind != "f" or not values.size or values.min() == values.max():
            return []
        best = numpy.argsort(-values[0], kind="stable")[:5]
        return [
            (int(number), self.labels[number] if number < len(self.labels) else "", float(values[0, number]))
            for number in best
        ]

    def __str__(self) -> str:
        rows = []
        for name, values in self.outputs.items():
            statistics = _statistics(values)
            measured = [statistics[key] for key in ("min", "mean", "max", "std")]
            numbers = ["" if number is None else f"{number:.5g}" for number in measured]
            rows.append([name, shape_text(values.shape), *numbers, str(statistics["not_finite"] or "")])
        lines = table(("output", "shape", "min", "mean", "max", "std", "not finite"), rows, range(2, 7), 0)
        for name, values in self.outputs.items():
            top = self._top(values)
            if top:
                of = f" of {name}" if len(self.outputs) > 1 else ""
                heads = ("label", "class", "value") if any(label for _, label, _ in top) else ("class", "value")
                cells = [[label, str(number), f"{value:.5g}"][-len(heads) :] for number, label, value in top]
                lines += ["", f"the five largest{of}:", *table(heads, cells, (1, 2)[: len(heads) - 1])]
        times = ", ".join(f"{name} {_time(self.seconds[name])}" for name in ("load", "bind", "first", "warm-up"))
        lines += ["", *wrapped(f"{times}, next {_time(self.seconds['next'])} (the median of {self.runs})", "time: ")]
        return "\n".join([*lines, *(line for note in self.notes for line in wrapped(note, "note: "))])


def _warm_up(executor: Any) -> list[str]:
    """Run a model until it has been compiled, if it is, so that no timed run is; return notes about that."""
    for _ in range(_RUNS_TO_COMPILE):
        executor.forward(is_train=False)
    explained = executor.explain()[0]
    if explained.is_native:
        return ["it was compiled while it warmed up, before the runs that are timed as 'next'."]
    return [f"it runs as Python, because {explained.reason}."]


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.0f} us"


def _statistics(values: numpy.ndarray) -> dict[str, Any]:
    if not values.size:
        return {"min": None, "mean": None, "max": None, "std": None, "not_finite": 0}
    wide = values.astype(numpy.float64)
    finite = wide[numpy.isfinite(wide)]
    numbers = {key: float(getattr(finite, key)()) if finite.size else None for key in ("min", "mean", "max", "std")}
    return {**numbers, "not_finite": int(wide.size - finite.size)}


# -- inputs ------------------------------------------------------------------------------------------------------------


def is_picture(path: str) -> bool:
    """Tell whether a file is named like a picture."""
    return path.lower().endswith(_PICTURES)


def read_picture(path: str, shape: Sequence[int], preparation: Preparation) -> numpy.ndarray:
    """Return a picture as a network's input."""
    from minpy.pictures import read, resize

    if len(shape) != 4 or not (shape[1] in (1, 3) or shape[3] in (1, 3)):
        raise ShapeError(
            f"{_COMMAND}: the input has shape {tuple(shape)}, which is no picture of 1 or 3 channels; give it as an "
            "array: --run array.npy."
        )
    channels_first = shape[1] in (1, 3)
    channels, height, width = (shape[1], *shape[2:]) if channels_first else (shape[3], *shape[1:3])
    pixels = read(path, 1 if channels == 3 else 0, not preparation.bgr)
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    if preparation.stretch:
        pixels = resize(pixels, width, height, 2)
    else:
        ratio = max(height / pixels.shape[0], width / pixels.shape[1])
        rows, columns = max(height, round(pixels.shape[0] * ratio)), max(width, round(pixels.shape[1] * ratio))
        pixels = resize(pixels, columns, rows, 2)
        top, left = (rows - height) // 2, (columns - width) // 2
        pixels = pixels[top : top + height, left : left + width]
    pixels = pixels.reshape(height, width, channels)
    for name, numbers in (("--mean", preparation.mean), ("--std", preparation.std)):
        if len(numbers) not in (1, channels):
            raise ArgumentError(f"{_COMMAND}: {name} has {len(numbers)} numbers; expected 1, or {channels}.")
    values = pixels.astype(numpy.float32) * numpy.float32(preparation.scale)
    values = (values - numpy.asarray(preparation.mean, "float32")) / numpy.asarray(preparation.std, "float32")
    values = values.transpose(2, 0, 1) if channels_first else values
    return numpy.ascontiguousarray(numpy.broadcast_to(values, (shape[0], *values.shape)))


def read_arrays(path: str, inputs: Sequence[Input]) -> dict[str, numpy.ndarray]:
    """Return arrays by the names of inputs, from a .npy file (for the first input) or a .npz file (by name)."""
    try:
        with accessing(_COMMAND, "read", path), open_to_read(path, pipes=False) as stream:
            if path.endswith(".npz"):
                with numpy.load(stream, allow_pickle=False) as file:
                    arrays = {name: file[name] for name in file.files}
            else:
                arrays = {"": numpy.lib.format.read_array(stream, allow_pickle=False)}
    except MXNetError:
        raise
    except Exception as error:  # zipfile, zlib and numpy have each their own
        raise FileFormatError(f"{_COMMAND}: {path!r} cannot be read as an array: {error}.") from None
    names = [entry.name for entry in inputs if not entry.is_label] or [entry.name for entry in inputs]
    if "" in arrays:
        if not names:
            raise ArgumentError(f"{_COMMAND}: the network has no input for {path!r}.")
        arrays = {names[0]: arrays[""]}
    for name in arrays:
        if name not in {entry.name for entry in inputs}:
            raise ArgumentError(
                f"{_COMMAND}: {path!r} holds {name!r}, which is no input; inputs are "
                f"{', '.join(entry.name for entry in inputs)}.{nearest(name, names)}"
            )
    return arrays


def labels_of(path: str) -> list[str]:
    """Return the names of classes from a text, one a line, or a JSON list or object of them."""
    import json

    content = read_file(_COMMAND, path, pipes=False)
    if path.endswith(".json"):
        try:
            labels = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{_COMMAND}: {path!r} is no JSON: {error}.") from None
        if isinstance(labels, dict):
            labels = [labels[key] for key in sorted(labels, key=lambda key: int(key) if key.isdigit() else 0)]
        if isinstance(labels, list):
            return [str(entry[-1]) if isinstance(entry, list) and entry else str(entry) for entry in labels]
        raise FileFormatError(f"{_COMMAND}: {path!r} holds no list of labels.")
    return label_lines(content)


# -- running -----------------------------------------------------------------------------------------------------------


def predict(
    artifact: Artifact, report: Report, data: Mapping[str, numpy.ndarray], labels: Sequence[str] = (), repeat: int = 10
) -> Prediction:
    """Run a model."""
    if not report.runs:
        raise ArgumentError(f"{_COMMAND}: the network cannot be run, as said above.")
    notes: list[str] = []
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    symbol = load_json(artifact.symbol.decode("utf-8-sig"))
    parameters = {name: value for name, (_, value) in by_name(artifact.read()).items()}
    seconds["load"] = time.perf_counter() - start
    inputs = _input_values(report, data, notes)
    start = time.perf_counter()
    arrays = {name: make_array(values, dtype=values.dtype) for name, values in inputs.items()}
    bound = {**parameters, **arrays}
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    missing = [name for name in (*names, *states) if name not in bound]
    if missing:
        raise ArgumentError(
            f"{_COMMAND}: there are no values for {', '.join(missing[:5])}: the network cannot be run without its "
            ".params file."
        )
    executor = symbol.bind(
        None,
        {name: bound[name] for name in names},
        grad_req="null",
        aux_states={name: bound[name] for name in states},
    )
    seconds["bind"] = time.perf_counter() - start
    start = time.perf_counter()
    executor.forward(is_train=False)
    seconds["first"] = time.perf_counter() - start
    outputs = {name: array.asnumpy() for name, array in executor.output_dict.items()}
    start = time.perf_counter()
    notes += _warm_up(executor)
    seconds["warm-up"] = time.perf_counter() - start
    times: list[float] = []
    while len(times) < max(repeat, 1) and (not times or sum(times) < _MAX_SECONDS):
        start = time.perf_counter()
        executor.forward(is_train=False)
        times.append(time.perf_counter() - start)
    seconds["next"] = sorted(times)[len(times) // 2]
    return Prediction(outputs, seconds, len(times), list(labels or artifact.labels), notes)


def _input_values(report: Report, arrays: Mapping[str, numpy.ndarray], notes: list[str]) -> dict[str, numpy.ndarray]:
    """Return a value for every input."""
    inputs: dict[str, numpy.ndarray] = {}
    for entry in report.inputs:
        shape = entry.shape
        assert shape is not None
        if entry.name in arrays:
            values = arrays[entry.name]
            if tuple(values.shape) != shape and prod(values.shape) == prod(shape):
                values = values.reshape(shape)
            if tuple(values.shape) != shape:
                raise ShapeError(f"{_COMMAND}: the input {entry.name!r} has shape {values.shape}; expected {shape}.")
            inputs[entry.name] = numpy.ascontiguousarray(values, entry.dtype)
        elif entry.name == "im_info" and len(shape) == 2 and shape[1] == 3:
            picture = next((array for array in arrays.values() if array.ndim == 4), None)
            if picture is not None:
                inputs[entry.name] = numpy.tile(numpy.array([*picture.shape[2:], 1.0], entry.dtype), (shape[0], 1))
                notes.append(f"im_info is the size of the input, with a scale of 1: {inputs[entry.name][0].tolist()}")
        elif entry.is_label or "state" in entry.name:
            inputs[entry.name] = zeros(shape, dtype=entry.dtype).asnumpy()
            if not entry.is_label:
                notes.append(f"{entry.name} is zero, {shape}")
    missing = [entry.name for entry in report.inputs if entry.name not in inputs]
    if missing:
        names = ", ".join(f"{entry.name}=..." for entry in report.inputs[:4])
        raise ArgumentError(
            f"{_COMMAND}: there are no values for the input(s) {', '.join(map(repr, missing))}. Give all of them by "
            f"name in one file: numpy.savez('inputs.npz', {names}), "
            "and --run inputs.npz."
        )
    return inputs


def save(path: str, outputs: Mapping[str, numpy.ndarray]) -> None:
    """Write outputs to a .npz file, whole or not at all."""
    import io

    stream = io.BytesIO()
    numpy.savez(stream, **outputs)  # type: ignore[arg-type]
    write_file(_COMMAND, os.fspath(path), [stream.getbuffer()])
