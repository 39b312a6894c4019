"""Which arrays of a file cannot be the parameters of a graph, by their shapes: all of them, before any is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.errors import ShapeError
from minpy.core.numpy_semantics import is_np_shape
from minpy.graph.ir import Value
from minpy.symbol import Symbol

__all__ = ["expected_shapes"]

_Rows = Sequence[tuple[str, tuple[int, ...]]]


def expected_shapes(graph: Symbol, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes that a graph asks for, of those variables whose given shapes contradict it, or others.

    Where two contradict each other, the one that the graph reads first is right. Lengths that do not follow are those
    that `Parameter` takes for unknown ones.

    Parameters
    ----------
    graph : Symbol
    shapes : mapping of str to tuple of int
        Of variables of the graph.

    Examples
    --------
    >>> from minpy import sym
    >>> graph = sym.FullyConnected(sym.var('data'), num_hidden=3, name='fc')
    >>> expected_shapes(graph, {'fc_weight': (3, 4), 'fc_bias': (5,)})
    {'fc_bias': (3,)}
    """
    accepted: dict[str, tuple[int, ...]] = {}

    def refused(rows: _Rows) -> list[str]:
        try:
            _known(graph, {**accepted, **dict(rows)})
        except ShapeError:
            if len(rows) == 1:
                return [rows[0][0]]
            middle = len(rows) // 2
            return refused(rows[:middle]) + refused(rows[middle:])
        accepted.update(rows)
        return []

    rows = [(name, shapes[name]) for name in graph.list_inputs() if name in shapes]
    wrong = refused(rows) if rows else []
    if not wrong:
        return {}
    shapes_known, unknown = _known(graph, accepted), -1 if is_np_shape() else 0
    nodes = {node.name: node for node in graph.order if node.operator is None}
    expected = {name: shapes_known.get(Value(nodes[name])) for name in wrong}
    return {
        name: tuple(unknown if length < 0 else length for length in shape)
        for name, shape in expected.items()
        if shape is not None
    }


def _known(graph: Symbol, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[Value, Any]:
    shapes_known: Mapping[Value, Any] = graph._infer_shape("SymbolBlock.imports", (), shapes).known
    return shapes_known
