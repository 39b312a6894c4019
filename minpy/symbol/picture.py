"""A symbol as a picture: SVG, which needs no other program, and which notebooks show."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from minpy.graph.ir import Node, Value
from minpy.ops.inference.rule_parts import joined
from minpy.symbol.symbol import Symbol, method

__all__ = ["PARAMETER_ENDINGS", "color_of", "label_of", "svg_of"]

# How the names of parameters and states of layers end.
PARAMETER_ENDINGS = (
    *("_weight", "_bias", "_gamma", "_beta", "_alpha", "_parameters"),
    *("_moving_mean", "_moving_var", "_running_mean", "_running_var"),
)
_VARIABLE_COLOR = "#e4e7eb"
_OTHER_COLOR = "#f7f7f7"
# By the category of operators.
_COLORS = {
    "product": "#f4a582",
    "normalization": "#b8e0b0",
    "activation": "#fbe7a1",
    "pooling": "#9ecae1",
    "shape": "#d4c2e8",
    "loss": "#f2a7b5",
}

# Letters of one width, so that it is known how wide a text is.
_FONT, _SIZE, _WIDE, _HIGH, _MARGIN = "DejaVu Sans Mono, Menlo, Consolas, monospace", 13, 8.0, 17.0, 12.0
_MOST_NODES = 3000  # of what a notebook shows by itself


def color_of(node: Node) -> str:
    """Return the color of a node's box."""
    return _VARIABLE_COLOR if node.operator is None else _COLORS.get(node.operator.category, _OTHER_COLOR)


def label_of(node: Node) -> str:
    """Return what stands in the box of a node: its name, or for common layers what they are."""
    caption = None if node.operator is None else node.operator.caption
    return node.name if caption is None else f"{node.kind}\n{caption(node.attributes)}"


def svg_of(
    symbol: Symbol, shapes: Mapping[Value, Any] | None = None, hide_weights: bool = True, title: str = "network"
) -> str:
    """Return a network as SVG: data at the bottom, outputs at the top.

    Parameters
    ----------
    symbol : Symbol
    shapes : mapping of Value to tuple of int, optional
        What lines are labelled with, without the first axis.
    hide_weights : bool
        Leave out weights, biases and statistics: variables whose names end as those of layers do.
    title : str
        What a browser shows of it, beside the picture.

    Examples
    --------
    >>> from minpy import sym
    >>> picture = svg_of(sym.exp(sym.var('x'), name='y'))
    >>> picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"'), picture.count('<text')
    (True, 2)
    """
    from html import escape  # most programs draw nothing

    from minpy.graph.layered_layout import laid_out

    nodes = [
        node
        for node in symbol.order
        if not (hide_weights and node.operator is None and node.name.endswith(PARAMETER_ENDINGS))
    ]
    places = {node: place for place, node in enumerate(nodes)}
    lines = [label_of(node).split("\n") for node in nodes]
    sizes = [(max(map(len, text)) * _WIDE + 24, len(text) * _HIGH + 14) for text in lines]
    edges = [(value, node) for node in nodes for value in node.inputs if value.node in places]
    layout = laid_out(sizes, [(places[value.node], places[node]) for value, node in edges])
    drawn, right = [], layout.width
    for (value, _), route in zip(edges, layout.routes, strict=True):
        drawn.append(f'<path d="{_curve(route)}" fill="none" stroke="#55606e" marker-end="url(#head)"/>')
        shape = None if shapes is None else shapes.get(value)
        if shape is not None and len(shape) > 1:
            (x, y), text = _middle(route), joined(tuple(shape)[1:])
            drawn.append(f'<text x="{x + 6:.1f}" y="{y:.1f}" text-anchor="start" fill="#55606e">{escape(text)}</text>')
            right = max(right, x + 6 + len(text) * _WIDE)
    for node, words, (width, height), (x, y) in zip(nodes, lines, sizes, layout.centers, strict=True):
        box = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}"'
        rounded = height / 2 if node.operator is None else 4
        drawn.append(f'<rect {box} rx="{rounded:.1f}" fill="{color_of(node)}" stroke="#55606e"/>')
        for number, line in enumerate(words):
            base = y + (number - (len(words) - 1) / 2) * _HIGH + _SIZE * 0.35
            drawn.append(f'<text x="{x:.1f}" y="{base:.1f}" text-anchor="middle">{escape(line)}</text>')
    width, height = right + 2 * _MARGIN, layout.height + 2 * _MARGIN
    page = f'width="{width:.0f}" height="{height:.0f}"'
    corner = f"{-_MARGIN:.0f}"
    view = f'viewBox="{corner} {corner} {width:.0f} {height:.0f}"'
    head = (
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="8" refY="4" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#55606e"/></marker></defs>'
    )
    first = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {page} {view} font-family="{_FONT}" font-size="{_SIZE}">',
        f"<title>{escape(title)}</title>",
        head,
        f'<rect x="{corner}" y="{corner}" {page} fill="white"/>',
    ]
    return "\n".join([*first, *drawn, "</svg>"])


def _curve(route: list[tuple[float, float]]) -> str:
    """Return a path upwards through points, which leaves and reaches each of them upright."""
    parts = [f"M{route[0][0]:.1f} {route[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(route):
        half = (y + to_y) / 2
        parts.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
    return " ".join(parts)


def _middle(route: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the middle of the first part of a line, where its label is."""
    (x, y), (to_x, to_y) = route[:2]
    return (x + to_x) / 2, (y + to_y) / 2


@method
def _repr_svg_(self: Symbol) -> str | None:
    """Return the network as a picture, which a notebook shows; None if it is too large for that."""
    return svg_of(self) if len(self.order) <= _MOST_NODES else None
