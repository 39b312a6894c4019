"""`--picture`: a network drawn by Graphviz."""

from __future__ import annotations

import os
from collections.abc import Mapping

from minpy.core.errors import ArgumentError
from minpy.files import access_error, write_whole
from minpy.inspection.artifacts import Artifact
from minpy.symbol.saving import load_json
from minpy.visualization import plot_network

__all__ = ["draw"]

_FORMATS = ("png", "svg", "pdf", "gv", "dot", "jpg")
# Boxes grow with what stands in them: in those of one size long names are cut off, and `dot` warns of each.
_BOXES = {"fixedsize": "false"}


def draw(artifact: Artifact, path: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, str]:
    """Write a picture of a network; return the file that was written, and what there is to say.

    Without the program `dot` the file is a description for it, with the ending .gv.

    Raises
    ------
    ArgumentError
        For an ending that is not known.
    MissingDependencyError
        If the Python package graphviz is not installed.
    FileAccessError
        If the file cannot be written.
    """
    stem, ending = os.path.splitext(path)
    kind = ending[1:].lower()
    if kind not in _FORMATS:
        raise ArgumentError(
            f"python -m minpy model: --picture {path!r} ends with {ending or 'nothing'!r}; expected one of "
            f"{', '.join('.' + one for one in _FORMATS)}."
        )
    symbol = load_json(artifact.symbol.decode("utf-8-sig"))
    title = os.path.basename(artifact.symbol_name.rpartition(":")[2]).removesuffix(".json").removesuffix("-symbol")
    dot = plot_network(symbol, title=title, save_format=kind, shape=dict(shapes) or None, node_attrs=_BOXES)
    said = ""
    content = dot.source.encode()
    if kind not in ("gv", "dot"):
        import graphviz

        try:
            content = dot.pipe(format=kind)
        except graphviz.backend.ExecutableNotFound:
            path = f"{stem}.gv"
            said = (
                f"the program `dot` is not installed (Debian, Ubuntu: apt install graphviz; conda install graphviz), "
                f"so this is its input: later, dot -T{kind} {path} -o {stem}{ending}"
            )
    try:
        write_whole(path, iter([content]))
    except OSError as error:
        raise access_error("python -m minpy model", "write", path, error) from error
    return path, said
