"""`--picture`: a network drawn by Graphviz."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from minpy.core.errors import ArgumentError, MissingDependencyError
from minpy.files import write_file
from minpy.inspection.artifacts import Artifact
from minpy.symbol.picture import svg_of
from minpy.symbol.saving import load_json
from minpy.visualization import plot_network

__all__ = ["draw"]

_FORMATS = ("png", "svg", "pdf", "gv", "dot", "jpg")
# Boxes grow with what stands in them: in those of one size long names are cut off, and `dot` warns of each.
_BOXES = {"fixedsize": "false"}


def draw(artifact: Artifact, path: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, str]:
    """Write a picture of a network; return the file that was written, and what there is to say.

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
    said = ""
    try:
        dot = plot_network(symbol, title=title, save_format=kind, shape=dict(shapes) or None, node_attrs=_BOXES)
        content = dot.source.encode()
        if kind not in ("gv", "dot"):
            content, missing = _piped(dot, kind)
            if missing and kind != "svg":
                path = f"{stem}.gv"
                said = (
                    "the program `dot` is not installed (Debian, Ubuntu: apt install graphviz), so "
                    f"this is its input: later, dot -T{kind} {path} -o {stem}{ending}; or ask for {stem}.svg, which "
                    "is drawn without it"
                )
    except MissingDependencyError:
        if kind != "svg":
            raise
        missing = True
    if kind == "svg" and missing:
        known = symbol._infer_shape("--picture", (), dict(shapes)).known if shapes else None
        content = svg_of(symbol, known, title=title).encode()
    write_file("python -m minpy model", path, [content])
    return path, said


def _piped(dot: Any, kind: str) -> tuple[bytes, bool]:
    """Return what `dot` draws, and whether it is missing: then, its input."""
    import graphviz

    try:
        drawn: bytes = dot.pipe(format=kind)
    except graphviz.backend.ExecutableNotFound:
        return dot.source.encode(), True
    return drawn, False
