"""Files of blocks: their parameters, by where they are or by name, and how they are built."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from minpy import ndarray as nd
from minpy.core.errors import FileFormatError, MXNetError, describe, nearest
from minpy.files import accessing, checked_path, open_to_read, write_file
from minpy.gluon.block.optimization_steps import Step
from minpy.gluon.parameter import Parameter
from minpy.gluon.parameter.parameter_loading import Options, filled, read_file
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES

__all__ = ["export", "load_arrays", "load_model", "load_parameters", "save_model", "save_parameters"]


def save_parameters(block: Any, filename: str | os.PathLike[str], deduplicate: bool) -> None:
    """Write the parameters of a block. See `Block.save_parameters`."""
    parameters = block._collect_params_with_prefix()
    if deduplicate:
        by_identity = {id(parameter): name for name, parameter in parameters.items()}  # of several names the last
        parameters = {name: parameters[name] for name in by_identity.values()}
    nd.save(filename, {name: parameter._reduce() for name, parameter in parameters.items()})


def load_parameters(
    block: Any,
    filename: str | os.PathLike[str],
    ctx: Any,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
) -> None:
    """Read the parameters of a block. See `Block.load_parameters`."""
    arrays = read_file(filename)
    where = f"file {os.fspath(filename)!r}"
    _take(block, arrays, Options(where, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source, owned=True))


def load_arrays(
    block: Any,
    arrays: Mapping[str, Any],
    where: str,
    ctx: Any,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
) -> None:
    """Take the parameters of a block from arrays, by where they are or by their names. See `Block.load_parameters`."""
    _take(block, arrays, Options(where, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source))


def _take(block: Any, arrays: Mapping[str, Any], options: Options) -> None:
    parameters = block._collect_params_with_prefix()
    if not arrays and not parameters:
        return
    if not any("." in name for name in arrays) and not set(arrays) & set(parameters):
        _load_by_name(block, arrays, options)
        return
    names_of: dict[int, list[str]] = {}
    for name, parameter in parameters.items():
        names_of.setdefault(id(parameter), []).append(name)
    present = {
        name
        for name, parameter in parameters.items()
        if any(alias in arrays for alias in names_of[id(parameter)])  # a parameter in several places may be there once
    }
    filled(parameters, arrays, options, present)


def _load_by_name(block: Any, arrays: Mapping[str, Any], options: Options) -> None:
    """Take parameters by their names, with or without the block's prefix, from arrays as older files hold them."""
    parameters = dict(block.collect_params().items())
    by_name = {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in arrays.items()}
    prefix = block.prefix
    if prefix and not any(name in parameters for name in by_name):
        parameters = {name.removeprefix(prefix): parameter for name, parameter in parameters.items()}
    filled(parameters, by_name, options, by_name)


def export(block: Any, path: str | os.PathLike[str], epoch: int, remove_amp_cast: bool) -> tuple[str, str]:
    """Write the graph and the parameters of a hybridized block. See `HybridBlock.export`."""
    if not block._cached_graph:
        raise MXNetError(
            f"{block.name}.export: there is no graph yet. Call hybridize(), then the block with a batch of data, "
            "and then export."
        )
    out = block._cached_graph[1]
    sources = {**block._parameters_by_name(), **block._lasting}
    arrays = {}
    for kind, of_kind in (("arg", out.list_arguments()), ("aux", out.list_auxiliary_states())):
        for name in of_kind:
            if name in sources:
                source = sources[name]
                arrays[f"{kind}:{name}"] = source._reduce() if isinstance(source, Parameter) else source
    names = f"{os.fspath(path)}-symbol.json", f"{os.fspath(path)}-{epoch:04d}.params"
    out.save(names[0], remove_amp_cast=remove_amp_cast)
    nd.save(names[1], arrays)
    return names


# -- models ------------------------------------------------------------------------------------------------------------


def _described(block: Any, number: int = 0) -> tuple[dict[str, Any], int]:
    """Return how a block is built, and the next number: all blocks of a model are counted from 0, outer ones first."""
    description: dict[str, Any] = {"orig_name": block.name}
    graph = getattr(block, "_cached_graph", ()) if getattr(block, "_active", False) else ()
    if graph:
        inputs, out = graph
        description |= {
            "in_format": block._in_format,
            "out_format": block._out_format,
            "inputs": [an_input.tojson(remove_amp_cast=False) for an_input in inputs],
            "symbol": out.tojson(remove_amp_cast=False),
        }
    description["hybridized"] = bool(graph)
    steps = block._optimizations.steps if hasattr(block, "_optimizations") else ()
    if steps:
        description["optimized_for"] = [step.described() for step in steps]
    description["children"] = {child.name: name for name, child in block._children.items()}
    number += 1
    for child in block._children.values():
        key = _key(child, number)
        description[key], number = _described(child, number)
    return description, number


def _key(block: Any, number: int) -> str:
    return f"{type(block).__name__.lower()}{number}"


def save_model(block: Any, prefix: str) -> None:
    """Write parameters, and how a block is built. See `Block.save`."""
    text = json.dumps({_key(block, 0): _described(block)[0]})
    save_parameters(block, f"{prefix}-model.params", False)
    path = checked_path("Block.save", f"{prefix}-model.json")
    write_file("Block.save", path, [text.encode()])


def load_model(block: Any, prefix: str) -> None:
    """Read what `save_model` wrote. See `Block.load`."""
    path = checked_path("Block.load", f"{prefix}-model.json")
    try:
        with accessing("Block.load", "read", path), open_to_read(path, "r", encoding="utf-8") as file:
            described = json.load(file)
    except ValueError as error:
        raise FileFormatError(f"Block.load: {path!r} is no JSON: {error}.") from None
    top = next(iter(described.values()), None) if isinstance(described, dict) else None
    if not isinstance(top, dict):
        raise FileFormatError(
            f"Block.load: {path!r} does not describe a block, as Block.save writes it: it is {describe(described)}."
        )
    _require_alike(block, top, path)
    _require_backends(block, top, path)
    load_parameters(block, f"{prefix}-model.params", None, False, False, False, "current")
    _hybridize_as(block, top)
    _optimize_as(block, top)


def _hybridize_as(block: Any, described: Mapping[str, Any]) -> None:
    """Hybridize the blocks that were when they were saved, each with those inside it."""
    if described.get("hybridized"):
        block.hybridize()
        return
    for child, description in _inside(block, described):
        _hybridize_as(child, description)


def _optimize_as(block: Any, described: Mapping[str, Any]) -> None:
    """Let blocks go through the backends that those which were saved have gone through, at their next calls."""
    steps = [Step.of(description) for description in described.get("optimized_for", ())]
    if steps and hasattr(block, "_optimizations"):
        block.hybridize()
        block._optimizations.steps += steps
    for child, description in _inside(block, described):
        _optimize_as(child, description)


def _inside(block: Any, described: Mapping[str, Any]) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return the blocks inside of one, each with its description: they stand in one order."""
    return [*zip(block._children.values(), _descriptions(described), strict=True)]


def _descriptions(described: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        description for key, description in described.items() if isinstance(description, dict) and key != "children"
    ]


def _require_alike(block: Any, described: Mapping[str, Any], path: str) -> None:
    children, parts = [*block._children.values()], _descriptions(described)
    if len(children) != len(parts):
        raise MXNetError(
            f"Block.load: {path!r} describes {described.get('orig_name')!r} with {len(parts)} block(s) inside, and "
            f"{block.name!r} has {len(children)}. Build the block as it was when it was saved."
        )
    for child, description in zip(children, parts, strict=True):
        _require_alike(child, description, path)


def _require_backends(block: Any, described: Mapping[str, Any], path: str) -> None:
    for backend, _ in described.get("optimized_for", ()):
        if backend not in PARTITIONERS and backend not in PASSES:
            raise MXNetError(
                f"Block.load: {path!r} describes {described.get('orig_name')!r}, which is optimized for {backend!r}, "
                f"and there is no such partitioner or pass.{nearest(backend, [*PARTITIONERS, *PASSES])} Load the "
                "library that has it, with mx.library.load(path), or register it."
            )
    for child, description in _inside(block, described):
        _require_backends(child, description, path)
