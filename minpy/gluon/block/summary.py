"""What is inside of a block, as a table: `Block.summary`, which has called it, and what a notebook shows of a block."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from html import escape
from math import prod
from typing import Any

from minpy.core.errors import NotReadyError
from minpy.core.notebooks import in_notebook
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["Summary", "print_summary", "table_of_blocks"]

_WIDTH = 80
_MOST_ROWS = 1000  # of what a notebook shows by itself


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_shown(part)}' for key, part in value.items())}}}"
    return str(tuple(value.shape)) if isinstance(value, NDArray) else str(value)


def _shapes(values: Any) -> str:
    shown = _shown(values)
    return shown[1:-1] if isinstance(values, (list, tuple)) else shown


class Summary:
    """The layers of a block in the order in which a call ran them: shapes of outputs, and numbers of parameters."""

    def __init__(self, block: Any, inputs: Sequence[Any]) -> None:
        self.rows: list[tuple[str, str, str]] = [("Input", _shapes(list(inputs)), "0")]  # name, shapes and parameters
        counted: dict[int, int] = {}
        total = trainable = shared = 0
        handles = []

        def note(child: Any, inputs: Any, outputs: Any) -> None:
            nonlocal total, trainable, shared
            if any(isinstance(value, Symbol) for value in inputs):
                return  # shapes are being inferred
            count = 0
            for parameter in child.params.values():
                size = prod(parameter.shape or (0,))
                count += size
                trainable += size if parameter.grad_req != "null" else 0
                shared += size if id(parameter) in counted else 0
                counted[id(parameter)] = size
            total += count
            self.rows.append((f"{type(child).__name__}-{len(self.rows)}", _shapes(outputs), str(count)))

        def listen(child: Any) -> None:
            if getattr(child, "_active", False):
                raise NotReadyError(
                    f"summary: {child.name} is hybridized, so that the blocks inside are not called one by one. Call "
                    "summary before hybridize, or hybridize(False)."
                )
            if not child._is_sequence:
                handles.append(child.register_forward_hook(note))

        try:
            block.apply(listen)
            block(*inputs)
        finally:
            for handle in handles:
                handle.detach()
        self.totals = [  # below the table
            ("   Total params", total),
            ("   Trainable params", trainable),
            ("   Non-trainable params", total - trainable),
            ("Shared params in forward computation graph", shared),
            ("Unique parameters in model", sum(counted.values())),
        ]

    def __str__(self) -> str:
        lines = ["-" * _WIDTH, f"{'Layer (type)':>20}  {'Output Shape':>42} {'Param #':>15}", "=" * _WIDTH]
        lines += [f"{name:>20}  {shapes:>42} {count:>15}" for name, shapes, count in self.rows]
        lines += ["=" * _WIDTH, "Parameters in forward computation graph, duplicate included"]
        lines += [f"{title}: {count}" for title, count in self.totals]
        return "\n".join([*lines, "-" * _WIDTH])

    def _repr_html_(self) -> str:
        """Return the table as HTML, which a notebook shows."""
        totals = [f"{title.strip()}: {count}" for title, count in self.totals]
        return _html(("Layer (type)", "Output Shape", "Param #"), self.rows, totals)


def print_summary(block: Any, inputs: Sequence[Any]) -> None:
    """Print the table of a block that is called on `inputs`; in a notebook, show it. See `Block.summary`."""
    summary = Summary(block, inputs)
    if in_notebook():
        importlib.import_module("IPython.display").display(summary)
    else:
        print(summary)


def table_of_blocks(block: Any) -> str | None:
    """Return the blocks inside of a block, which need not have been called, as HTML; None if there are very many."""
    rows = [*_blocks_in(block, type(block).__name__, 0)]
    if len(rows) > _MOST_ROWS:
        return None
    sizes = [_size(parameter) for parameter in block.collect_params().values()]
    known_sizes = [size for size in sizes if size is not None]
    total = f"Unique parameters: {sum(known_sizes)}"
    if len(known_sizes) < len(sizes):
        total += f", and {len(sizes) - len(known_sizes)} arrays whose shapes the first call tells"
    return _html(("Block", "Layer", "Param #"), rows, [total])


def _blocks_in(block: Any, name: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and number of parameters of a block and of those inside."""
    sizes = [_size(parameter) for parameter in block.params.values()]
    children = block._children
    described = type(block).__name__ if children else repr(block)
    yield "\u2003" * depth + name, described, "?" if None in sizes else str(sum(sizes))  # type: ignore[arg-type]
    for key, child in children.items():
        yield from _blocks_in(child, f"({key})", depth + 1)


def _size(parameter: Any) -> int | None:
    """Return how many numbers a parameter has; None if that is not known yet."""
    shape = parameter.shape
    return None if shape is None or any(length <= 0 for length in shape) else prod(shape)


def _html(head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return a table as HTML, with notes below; the last column has numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left"] * (len(cells) - 1) + ["right"]
        texts = (
            f'<{tag} style="text-align: {side}; white-space: pre-wrap">{escape(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(texts)}</tr>"

    body = "\n".join(line("td", cells) for cells in rows)
    below = "<br>".join(map(escape, notes))
    return f"<table>\n<thead>{line('th', head)}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n<p>{below}</p>"
