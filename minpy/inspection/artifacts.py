"""Find the files of a model: its symbol and its parameters, by the name of either or of both; in folders and archives.

Archives (`model.tar.gz` as model servers write it, `.zip`, `.mar`, `.model`) are not unpacked to disk: their files are
read in memory, up to limits. Links inside of them are not followed, and names of members are never used as paths.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

from minpy.core.errors import ArgumentError, FileFormatError, FileMissingError, nearest
from minpy.files import accessing, checked_path, open_to_read, read_file
from minpy.inspection.archives import Archive, is_archive, opened, read_exactly
from minpy.ndarray.array_files import ArrayHead, heads
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.saving import load, load_frombuffer

__all__ = ["Artifact", "find", "heads_of_file", "label_lines"]

_COMMAND = "python -m minpy model"
_EPOCH = re.compile(r"-(\d{4,})\.params$")
_LARGEST_TEXT = 64 << 20
_PICTURE_OR_ARRAY = "no model: what a network is to be run on follows --run, after the model."
_OTHER_FORMATS = {
    (".onnx",): "an ONNX model. Make MXNet's files of it first: python -m minpy convert {name} {stem}-symbol.json",
    (".safetensors",): "a file of parameters alone. Make .params of it: python -m minpy convert {name} {stem}.params",
    (".npy", ".npz"): _PICTURE_OR_ARRAY,
    (".jpg", ".jpeg", ".png", ".bmp"): _PICTURE_OR_ARRAY,
}


@dataclass
class Artifact:
    """A model as it was found."""

    source: str  # the path that was given
    symbol_name: str  # the symbol's file
    symbol: bytes  # its content
    params_name: str = ""  # the parameters' file, if there is one
    heads: Mapping[str, ArrayHead] | None = None  # the shapes and dtypes of its arrays, by name
    read: Callable[[], Mapping[str, NDArray]] = dict  # reads the parameters themselves
    # The shapes of inputs from files beside the model, each with the place it was read from; and other facts from them.
    shapes: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)  # the names of classes
    notes: list[str] = field(default_factory=list)  # what was chosen among several files


def find(
    path: str | os.PathLike[str], params: str | os.PathLike[str] | None = None, epoch: int | None = None
) -> Artifact:
    """Find a model's files, and read the symbol and the headers of the parameters."""
    name = checked_path(_COMMAND, path)
    if params is not None:
        params = checked_path(_COMMAND, params)
        if name.endswith(".params") and params.endswith(".json"):
            name, params = params, name
    if os.path.isdir(name):
        symbols = sorted(file for file in os.listdir(name) if file.endswith("-symbol.json"))
        symbol = os.path.join(name, _only_symbol(symbols, f"the folder {name!r}"))
        return _from_files(name, symbol, params, epoch)
    if os.path.isfile(name) and is_archive(name):
        with opened(name) as archive:
            return _from_archive(name, archive, params, epoch)
    if params is None and name.endswith(".params") and os.path.isfile(name):
        params = name
    return _from_files(name, _symbol_file(name), params, epoch)


# -- files -------------------------------------------------------------------------------------------------------------


def _symbol_file(name: str) -> str:
    """Return the symbol's file for a path or prefix."""
    if name.endswith(".params"):
        stem = _EPOCH.sub("", name) if _EPOCH.search(name) else name.removesuffix(".params")
        candidates = [f"{stem}-symbol.json", f"{stem}.json"]
    elif os.path.isfile(name) or name.endswith(".json"):
        for endings, advice in _OTHER_FORMATS.items():
            if name.lower().endswith(endings):
                advice = advice.format(name=name, stem=os.path.splitext(name)[0])
                raise ArgumentError(f"{_COMMAND}: {name!r} is {advice}")
        return name
    else:
        stem = name.removesuffix("-")
        candidates = [f"{stem}-symbol.json", f"{stem}.json"]
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate
    folder = os.path.dirname(name) or os.curdir
    names = [file for file in sorted(os.listdir(folder)) if file.endswith(".json")] if os.path.isdir(folder) else []
    advice = nearest(os.path.basename(candidates[0]), names) or (
        f" The folder holds {', '.join(map(repr, names[:5]))}." if names else ""
    )
    if not os.path.isdir(folder):
        advice = f" The folder {folder!r} does not exist."
    raise FileMissingError(
        f"{_COMMAND}: there is no symbol for {name!r}: neither {' nor '.join(map(repr, candidates))}.{advice}"
    )


def _only_symbol(names: list[str], where: str) -> str:
    if not names:
        raise FileMissingError(f"{_COMMAND}: {where} holds no -symbol.json file.")
    if len(names) > 1:
        shown = ", ".join(map(repr, names[:6])) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        raise ArgumentError(f"{_COMMAND}: {where} holds {len(names)} models: {shown}. Name the one that is meant.")
    return names[0]


def _from_files(source: str, symbol: str, params: str | None, epoch: int | None) -> Artifact:
    artifact = Artifact(source, symbol, read_file(_COMMAND, symbol, pipes=False))
    folder = os.path.dirname(symbol) or os.curdir
    if params is None:
        names = {name: os.path.join(os.path.dirname(symbol), name) for name in _file_names(folder)}
        chosen = _params_file(os.path.basename(symbol), names, epoch, artifact.notes)
        params = names[chosen] if chosen else None
    if params is not None:
        artifact.params_name = params
        artifact.heads = heads_of_file(params)
        artifact.read = lambda: _require_names(load(params), params)
    for name in _file_names(folder):
        if name in _SIDE_FILES:
            path = os.path.join(folder, name)
            with accessing(_COMMAND, "read", path), open_to_read(path, pipes=False) as file:
                text = file.read(_LARGEST_TEXT)
            _SIDE_FILES[name](artifact, text, path)
    return artifact


def _file_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:  # a file in it may be readable all the same
        return []


def _params_file(symbol: str, names: Mapping[str, Any], epoch: int | None, notes: list[str]) -> str | None:
    """Return the file of parameters that belongs to a symbol, of the given or the last epoch, if there is one."""
    prefix = symbol.removesuffix(".json").removesuffix("-symbol")
    file_of_epoch: dict[int, str] = {}
    for name in names:
        if name.startswith(f"{prefix}-") and re.fullmatch(r"\d{4,}\.params", name[len(prefix) + 1 :]):
            file_of_epoch[int(name[len(prefix) + 1 : -len(".params")])] = name
    if epoch is not None:
        if epoch not in file_of_epoch:
            epochs = ", ".join(map(str, sorted(file_of_epoch))) or "none"
            raise FileMissingError(
                f"{_COMMAND}: there is no {prefix}-{epoch:04d}.params beside {symbol!r}; "
                f"{'there are the epochs' if len(file_of_epoch) > 1 else 'there is epoch'} {epochs}."
            )
        return file_of_epoch[epoch]
    if file_of_epoch:
        last = max(file_of_epoch)
        if len(file_of_epoch) > 1:
            notes.append(f"{file_of_epoch[last]} is the last of {len(file_of_epoch)} epochs; --epoch N takes another")
        return file_of_epoch[last]
    return f"{prefix}.params" if f"{prefix}.params" in names else None


def heads_of_file(path: str) -> Mapping[str, ArrayHead]:
    """Return the shapes and dtypes of the arrays in a file of parameters, by name."""
    with accessing(_COMMAND, "read", path), open_to_read(path, pipes=False) as file:
        size = os.fstat(file.fileno()).st_size
        return _require_names(heads(file, size, f"{_COMMAND}: {path!r}"), path)


def _require_names(arrays: Any, path: str | None) -> Mapping[str, Any]:
    if isinstance(arrays, list) and arrays:
        raise FileFormatError(
            f"{_COMMAND}: {path!r} holds {len(arrays)} array(s) without names; expected a dict of them, as "
            "save_checkpoint, export and save_parameters write."
        )
    return arrays if isinstance(arrays, dict) else {}


# -- archives ----------------------------------------------------------------------------------------------------------


def _from_archive(source: str, archive: Archive, params: str | None, epoch: int | None) -> Artifact:
    texts: dict[str, bytes] = {}
    heads_of: dict[str, Mapping[str, ArrayHead] | FileFormatError] = {}
    for name, size, stream in archive.files():
        base = name.rpartition("/")[2]
        if base.startswith("._"):  # what macOS adds
            continue
        if base.endswith("-symbol.json") or base in _SIDE_FILES:
            texts[name] = _text(archive, name, size, stream)
        elif base.endswith(".params"):
            heads_of[name] = _read_heads(archive, name, size, stream)
    symbols = [name for name in texts if name.endswith("-symbol.json")]
    links = [name for name in archive.links if name.endswith(("-symbol.json", ".params"))]
    if links:
        raise FileFormatError(
            f"{_COMMAND}: {source!r} holds {links[0]!r} as a link, which is not followed: pack the file itself."
        )
    symbol = _only_symbol(symbols, f"the archive {source!r}")
    folder = symbol.rpartition("/")[0]
    artifact = Artifact(source, f"{source}:{symbol}", texts[symbol])
    if params is not None:
        artifact.params_name, artifact.heads = params, heads_of_file(params)
        artifact.read = lambda: _require_names(load(params), params)
    else:
        params_names = {name.rpartition("/")[2]: name for name in heads_of if name.rpartition("/")[0] == folder}
        chosen = _params_file(symbol.rpartition("/")[2], params_names, epoch, artifact.notes)
        if chosen is not None:
            name = params_names[chosen]
            member_heads = heads_of[name]
            if isinstance(member_heads, FileFormatError):
                raise member_heads
            artifact.params_name, artifact.heads = f"{source}:{name}", member_heads
            artifact.read = partial(_read_member, source, name)
    for name, text in texts.items():
        base = name.rpartition("/")[2]
        if base in _SIDE_FILES:
            _SIDE_FILES[base](artifact, text, f"{source}:{name}")
    return artifact


def _text(archive: Archive, name: str, size: int, stream: BinaryIO) -> bytes:
    if size > _LARGEST_TEXT:
        raise FileFormatError(
            f"{_COMMAND}: {archive.path!r}: {name!r} has {size} bytes; expected a text of 64 MiB at most."
        )
    return read_exactly(stream, size, f"{archive.path!r}: {name!r}")


def _read_heads(archive: Archive, name: str, size: int, stream: BinaryIO) -> Mapping[str, ArrayHead] | FileFormatError:
    try:
        return _require_names(heads(stream, size, f"{_COMMAND}: {archive.path!r}: {name!r}"), name)
    except FileFormatError as error:  # raised if this file is used
        return error


def _read_member(source: str, member: str) -> Mapping[str, NDArray]:
    with opened(source) as archive:
        for name, size, stream in archive.files():
            if name == member:
                content = read_exactly(stream, size, f"{source!r}: {name!r}")
                return _require_names(load_frombuffer(content), member)
    raise FileMissingError(f"{_COMMAND}: {member!r} is no longer in {source!r}.")


# -- files beside a model ----------------------------------------------------------------------------------------------


def _json(content: bytes, where: str) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{_COMMAND}: {where!r} is no JSON: {error}.") from None


def _shape(value: Any) -> tuple[int, ...] | None:
    lengths = value if isinstance(value, list) else []
    is_valid = lengths and len(lengths) <= 32 and all(type(length) is int and 0 <= length < 2**31 for length in lengths)
    return (
        tuple(length or 1 for length in lengths)
        if is_valid and math.prod(length or 1 for length in lengths) < 2**40
        else None
    )


def _shapes_in(
    entries: Sequence[Any], name: str, shape: str, where: str, example: str
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for entry in entries:
        lengths = _shape(entry.get(shape)) if isinstance(entry, dict) else None
        if lengths is None or not isinstance(entry.get(name), str):
            raise FileFormatError(f"{_COMMAND}: {where!r} is not as expected, which is {example}")
        yield entry[name], lengths


def _model_shapes(artifact: Artifact, content: bytes, where: str) -> None:
    """Read the shapes that are given to a model server: [{"name": "data", "shape": [1, 3, 300, 300]}]."""
    entries = _json(content, where)
    example = '[{"name": "data", "shape": [1, 3, 300, 300]}], an entry for each input.'
    for name, shape in _shapes_in(entries if isinstance(entries, list) else [entries], "name", "shape", where, example):
        artifact.shapes[name] = (shape, f"in {os.path.basename(where.rpartition(':')[2])}")


def _signature(artifact: Artifact, content: bytes, where: str) -> None:
    """Read the shapes of a signature: {"inputs": [{"data_name": "data", "data_shape": [0, 3, 224, 224]}]}."""
    parsed = _json(content, where)
    inputs = parsed.get("inputs") if isinstance(parsed, dict) else None
    example = '{"inputs": [{"data_name": "data", "data_shape": [0, 3, 224, 224]}]}.'
    for name, shape in _shapes_in(
        inputs if isinstance(inputs, list) else [], "data_name", "data_shape", where, example
    ):
        artifact.shapes.setdefault(name, (shape, "in signature.json"))


def _hyperparameters(artifact: Artifact, content: bytes, where: str) -> None:
    """Read the hyperparameters of training: an object of strings."""
    parsed = _json(content, where)
    if not isinstance(parsed, dict):
        raise FileFormatError(f"{_COMMAND}: {where!r} is not as expected, which is an object of hyperparameters.")
    artifact.facts.update(
        {
            str(key): str(value)
            for key, value in parsed.items()
            if isinstance(value, (str, int, float)) and len(str(value)) < 200
        }
    )
    text = artifact.facts.get("image_shape", "")
    lengths = [int(digits) for digits in re.findall(r"\d{1,6}", text)]
    if len(lengths) in (1, 3) and "data" not in artifact.shapes:
        shape = (1, *lengths) if len(lengths) == 3 else (1, 3, *lengths, *lengths)
        artifact.shapes["data"] = (shape, "image_shape in hyperparams.json")


def _synset(artifact: Artifact, content: bytes, where: str) -> None:
    artifact.labels = label_lines(content)


def label_lines(content: bytes) -> list[str]:
    """Return the names of classes, one a line; WordNet's numbers in front of them are left out."""
    lines = [line.strip() for line in content.decode("utf-8-sig", "replace").splitlines()]
    return [re.sub(r"^n\d{8}\s+", "", line) for line in lines if line]


_SIDE_FILES: dict[str, Callable[[Artifact, bytes, str], None]] = {
    # In this order: explicit shapes have precedence over those that follow from hyperparameters.
    "model-shapes.json": _model_shapes,
    "signature.json": _signature,
    "hyperparams.json": _hyperparameters,
    "synset.txt": _synset,
}
