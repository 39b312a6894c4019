"""One line a layer: its name, its operator, the shapes of its outputs, and what it became."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from minpy.frameworks.libraries import require
from minpy.inspection.report_text import shape_text, table

__all__ = ["lines_of_export", "lines_of_import", "lines_of_tensors"]

_SEPARATORS = "_/.:-"


def lines_of_export(layers: Sequence[Any], model_file: str) -> list[str]:
    """Return the lines for a model in an ONNX file.

    Parameters
    ----------
    layers : sequence of Layer
        Of the symbol, as `minpy.inspection` describes them.
    model_file : str
    """
    onnx = require("onnx")
    model = onnx.load(model_file, load_external_data=False)
    owned = _by_owner(model.graph.node, [layer.name for layer in layers])
    rows = [
        [layer.name, layer.operator, _shapes(layer.shapes), _counted(owned.get(layer.name, []))] for layer in layers
    ]
    return table(["layer", "operator", "output", "nodes of ONNX"], rows)


def _by_owner(nodes: Iterable[Any], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the operators of nodes by the layers that they are named after."""
    known_names = frozenset(names)
    owned: dict[str, list[str]] = {}
    for node in nodes:
        owners = [owner for text in (node.name, *node.output) if (owner := _owner(text, known_names))]
        if owners:
            owned.setdefault(max(owners, key=len), []).append(node.op_type)
    return owned


def _owner(text: str, names: frozenset[str]) -> str:
    """Return the longest of the names that a text is, or begins with before a separator.

    >>> _owner('fc1_output', frozenset(('fc', 'fc1')))
    'fc1'
    """
    if text in names:
        return text
    for end in range(len(text) - 1, 0, -1):
        if text[end] in _SEPARATORS and text[:end] in names:
            return text[:end]
    return ""


def lines_of_import(symbol: Any, source: str) -> list[str]:
    """Return the lines for an ONNX file that became a symbol."""
    rows = [[node.name, node.kind] for node in symbol.order if node.operator is not None]
    return table(["layer", "operator"], rows)


def lines_of_tensors(tensors: Any) -> list[str]:
    """Return the lines for arrays by name."""
    return table(
        ["name", "dtype", "shape"],
        [[name, tensor.dtype, shape_text(tensor.data.shape)] for name, tensor in tensors.items()],
    )


def _shapes(shapes: Sequence[Any]) -> str:
    return ", ".join(map(shape_text, shapes))


def _counted(operators: Sequence[str]) -> str:
    """Return operators in their order, with how often each is there.

    >>> _counted(['Mul', 'Add', 'Mul']), _counted([])
    ('2 Mul, Add', 'none: it was folded into others')
    """
    if not operators:
        return "none: it was folded into others"
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in Counter(operators).items())
