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
    """Return the shapes that a graph asks for, of those variables whose shapes, by name, contradict it, or others.

    Where two contradict each other, the one that the graph reads first is right. Lengths that do not follow are those
    that `Parameter` takes for unknown ones.

    >>> from minpy import sym
    >>> graph = sym.FullyConnected(sym.var('data'), num_hidden=3, name='fc')
    >>> expected_shapes(graph, {'fc_weight': (3, 4), 'fc_bias': (5,)})
    {'fc_bias': (3,)}
    """
    accepted: dict[str, tuple[int, ...]] = {}

    def inferred(known_shapes: Mapping[str, tuple[int, ...]]) -> Mapping[Value, Any]:
        values: Mapping[Value, Any] = graph._infer_shape("SymbolBlock.imports", (), known_shapes).known
        return values

    def refused(rows: _Rows) -> list[str]:
        try:
            inferred({**accepted, **dict(rows)})
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
    values, unknown = inferred(accepted), -1 if is_np_shape() else 0
    nodes = {node.name: node for node in graph.order if node.operator is None}
    expected = {name: values.get(Value(nodes[name])) for name in wrong}
    return {
        name: tuple(unknown if length < 0 else length for length in shape)
        for name, shape in expected.items()
        if shape is not None
    }
