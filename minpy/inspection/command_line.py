"""`python -m minpy model`: the command line; a network drawn by Graphviz (`--picture`)."""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, MissingDependencyError, MXNetError
from minpy.files import access_error, write_file
from minpy.inspection.artifacts import Artifact, find
from minpy.inspection.report import Report, report
from minpy.inspection.report_text import wrapped
from minpy.symbol.picture import svg_of
from minpy.symbol.saving import load_json
from minpy.visualization import plot_network

__all__ = ["draw", "main"]

_FORMATS = ("png", "svg", "pdf", "gv", "dot", "jpg")
# Boxes grow with their text: in boxes of a fixed size long names are cut off, and `dot` warns of each.
_BOXES = {"fixedsize": "false"}


def draw(artifact: Artifact, path: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, str]:
    """Write a picture of a network; return the file that was written, and a note.

    Graphviz draws it, where it is there. Without it an SVG is drawn all the same; for other formats the file is a
    description for the program `dot`, with the ending .gv.
    """
    stem, ending = os.path.splitext(path)
    kind = ending[1:].lower()
    if kind not in _FORMATS:
        raise ArgumentError(
            f"python -m minpy model: --picture {path!r} ends with {ending or 'nothing'!r}; expected one of "
            f"{', '.join('.' + ending for ending in _FORMATS)}."
        )
    symbol = load_json(artifact.symbol.decode("utf-8-sig"))
    title = os.path.basename(artifact.symbol_name.rpartition(":")[2]).removesuffix(".json").removesuffix("-symbol")
    note = ""
    try:
        dot = plot_network(symbol, title=title, save_format=kind, shape=dict(shapes) or None, node_attrs=_BOXES)
        content = dot.source.encode()
        if kind not in ("gv", "dot"):
            content, missing = _piped(dot, kind)
            if missing and kind != "svg":
                path = f"{stem}.gv"
                note = (
                    "the program `dot` is not installed (Debian, Ubuntu: apt install graphviz), so "
                    f"this is its input: later, dot -T{kind} {path} -o {stem}{ending}; or ask for {stem}.svg, which "
                    "is drawn without it"
                )
    except MissingDependencyError:
        if kind != "svg":
            raise
        missing = True
    if kind == "svg" and missing:
        shapes_of = symbol._infer_shape("--picture", (), dict(shapes)).known if shapes else None
        content = svg_of(symbol, shapes_of, title=title).encode()
    write_file("python -m minpy model", path, [content])
    return path, note


def _piped(dot: Any, kind: str) -> tuple[bytes, bool]:
    """Return what `dot` draws, and whether it is missing: then, its input."""
    import graphviz

    try:
        drawn: bytes = dot.pipe(format=kind)
    except graphviz.backend.ExecutableNotFound:
        return dot.source.encode(), True
    return drawn, False


_EPILOG = """\
MODEL is a -symbol.json file, a .params file, the prefix of both, a folder with one model, or an archive of one
(.tar, .tar.gz, .zip, .mar; as model servers write them; nothing is unpacked). Parameters are looked for beside the
symbol, under its name; of several epochs the last is taken.

Mult-adds: a multiplication with its addition counts as one. Layers with products count these, without biases; pooling
counts the elements in its windows, all else one for each element; what only moves values counts nothing.

A picture is resized so that it covers the input, and cut (--stretch: resized to the input's form); then for each
channel (pixel * SCALE - MEAN) / STD. Gluon's model zoo wants
--scale 1/255 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225.

The exit status is 0 if the model can be run, 1 if it cannot, 2 if the command cannot be understood.
"""


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(part) for part in text.strip("()[] ").split(",") if part.strip())


def _number(text: str) -> float:
    """Return a number, or a fraction such as 1/255."""
    numerator, slash, denominator = text.partition("/")
    return float(numerator) / float(denominator) if slash else float(numerator)


def _named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Return (name or '', shape) of `data:1,3,224,224`, or with any other signs between."""
    match = re.fullmatch(r"(?:(.*?)\s*[:=])?\s*[(\[]?\s*(\d+(?:\s*[,xX× ]\s*\d+)*)\s*,?\s*[)\]]?", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; expected 1,3,224,224, or data:1,3,224,224")
    return match[1] or "", tuple(int(digits) for digits in re.findall(r"\d+", match[2]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m minpy model",
        description="Says what a model in MXNet's files is: layers, shapes, work and memory; whether it is whole.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="where the model lies")
    add("params", metavar="PARAMS", nargs="?", help="its .params file; by default that beside the symbol")
    add("--data", metavar="SHAPE", action="append", type=_named_shape, default=[],
        help="an input's shape: 1,3,224,224 or data:1,3,224,224; by default guessed from the parameters")  # fmt: skip
    add("--epoch", metavar="N", type=int, help="which of several .params files")
    add("--import", metavar="MODULE", action="append", default=[], dest="modules",
        help="a module that defines custom operators; imported first")  # fmt: skip
    add("--json", action="store_true", help="print everything as JSON")
    add("--picture", metavar="FILE", help="draw the network: .png, .svg, .pdf, .gv (by graphviz, the extra `viz`)")
    add("--run", metavar="FILE", help="run it on a picture, a .npy array, or a .npz of arrays by the names of inputs")
    add("--output", metavar="FILE", help="where --run saves the outputs: a .npz file")
    add("--labels", metavar="FILE", help="the names of classes, one a line, or in JSON")
    add("--scale", type=_number, default=1.0, help="what pixels are multiplied with: 1/255; by default 1")
    add("--mean", type=_numbers, default=(0.0,), help="what is subtracted then: a number, or one for each channel")
    add("--std", type=_numbers, default=(1.0,), help="by what that is divided")
    add("--bgr", action="store_true", help="the network has blue first")
    add("--stretch", action="store_true", help="resize pictures to the input's form, whatever theirs is")
    add("--repeat", metavar="N", type=int, default=10, help="how many runs are timed, at most; by default 10")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command line after `python -m minpy model`, and return the exit status."""
    parser = _parser()
    try:
        options = parser.parse_args(list(arguments))
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    try:
        return _run(options)
    except MXNetError as error:
        message = str(error)
        prefix = "" if message.startswith("python -m minpy model") else "python -m minpy model: "
        print("\n".join(wrapped(prefix + message)), file=sys.stderr)
        return 1
    except BrokenPipeError:  # as of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(options: argparse.Namespace) -> int:
    for module in options.modules:
        _import(module)
    artifact = find(options.model, options.params, options.epoch)
    shapes = _shapes(options.data)
    arrays: dict[str, Any] = {}
    if options.run is not None:
        from minpy.inspection import prediction

        if not prediction.is_picture(options.run):
            first = report(artifact, shapes=shapes)
            arrays = prediction.read_arrays(options.run, first.inputs)
            shapes = _with_arrays(first, shapes, arrays)
    model = report(artifact, shapes=shapes)
    if options.run is not None and model.runs and not os.path.isfile(options.run):
        missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise access_error("python -m minpy model: --run", "read", options.run, missing)
    if not options.json:
        print(model)
    predicted = None
    if options.run is not None and model.runs:
        data = arrays or _picture(options, model)
        labels = prediction.labels_of(options.labels) if options.labels else ()
        predicted = prediction.predict(artifact, model, data, labels, options.repeat)
        if options.output is not None:
            prediction.save(options.output, predicted.outputs)
            predicted.notes.append(f"the outputs are in {options.output}")
        if not options.json:
            print(f"\n{predicted}")
    elif options.run is not None:
        print("python -m minpy model: --run is left out, as the network cannot be run.", file=sys.stderr)
    drawn = _draw(options, artifact, model) if options.picture is not None else None
    if options.json:
        content = model.as_dict()
        content |= {"answer": predicted.as_dict()} if predicted is not None else {}
        content |= {"picture": drawn[0]} if drawn is not None else {}
        print(json.dumps(content, indent=1))
    return 0 if model.runs else 1


def _import(module: str) -> None:
    import minpy

    minpy.install_as_mxnet()
    if os.curdir not in sys.path and "" not in sys.path:
        sys.path.insert(0, "")
    try:
        importlib.import_module(module.removesuffix(".py").replace(os.sep, "."))
    except ImportError as error:
        raise ArgumentError(f"python -m minpy model: --import {module}: {error}.") from error


def _shapes(options: Sequence[tuple[str, tuple[int, ...]]]) -> Any:
    if not options:
        return None
    if len(options) == 1 and not options[0][0]:
        return options[0][1]
    if any(not name for name, _ in options):
        raise ArgumentError(
            "python -m minpy model: of several --data each needs the name of its input: --data data:1,3,224,224."
        )
    return dict(options)


def _with_arrays(model: Report, shapes: Any, arrays: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of inputs, from arrays where given; an array that lacks the axis of the batch gets it."""
    inputs = {entry.name: entry for entry in model.inputs}
    if shapes is not None and not isinstance(shapes, dict):
        shapes = {next(iter(arrays)): shapes}
    result = dict(shapes or {})
    for name, array in arrays.items():
        known_shape = inputs[name].shape
        shape = tuple(array.shape)
        if name not in result:
            if known_shape is not None and len(known_shape) == len(shape) + 1:
                shape = (1, *shape)
                arrays[name] = array.reshape(shape)
            result[name] = shape
    return result


def _picture(options: argparse.Namespace, model: Report) -> dict[str, Any]:
    from minpy.inspection import prediction

    inputs = [entry for entry in model.inputs if not entry.is_label and entry.shape is not None]
    pictures = [entry for entry in inputs if entry.shape is not None and len(entry.shape) == 4] or inputs
    if not pictures:
        raise ArgumentError(f"python -m minpy model: the network has no input for the picture {options.run!r}.")
    preparation = prediction.Preparation(options.mean, options.std, options.scale, options.bgr, options.stretch)
    return {pictures[0].name: prediction.read_picture(options.run, pictures[0].shape or (), preparation)}


def _draw(options: argparse.Namespace, artifact: Artifact, model: Report) -> tuple[str, str] | None:
    if model.unknown:
        print("python -m minpy model: --picture is left out, as operators are not here.", file=sys.stderr)
        return None
    shapes = {entry.name: entry.shape for entry in model.inputs if entry.shape is not None}
    path, note = draw(artifact, options.picture, shapes if not model.problem else {})
    print("\n".join(wrapped(f"the picture is in {path}{': ' if note else ''}{note}")), file=sys.stderr)
    return path, note
