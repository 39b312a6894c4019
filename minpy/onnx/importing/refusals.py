"""What is raised where an ONNX model cannot be taken in: one error for all that stands in the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minpy.core.errors import MXNetError

__all__ = ["ModelRefused", "Refusal", "Refused", "too_many_unknown"]


class ModelRefused(MXNetError, NotImplementedError):
    """An ONNX model with nodes that no operators of minpy compute; the text lists all of them."""


class Refusal(Exception):
    """Raised by a row that cannot import a node: caught where nodes are walked, and listed with the others.

    Parameters
    ----------
    reason : str
        What stands in the way, and what to do.
    needs_shapes : bool
        Whether lengths that are not known are the reason, which `shapes=` tells.
    """

    def __init__(self, reason: str, needs_shapes: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.needs_shapes = reason, needs_shapes


class Refused(NamedTuple):
    """A node that is not imported, and why."""

    node: str
    operator: str
    reason: str
    needs_shapes: bool


# A model of thousands of such nodes needs no text of thousands of lines.
_SHOWN = 50


def too_many_unknown(
    function: str, model: str, refused: Sequence[Refused], count: int, inputs: Sequence[str]
) -> ModelRefused:
    """Return the error for nodes that cannot be imported, all of them.

    Parameters
    ----------
    function, model : str
        What was called, and what the model is called.
    refused : sequence of Refused
    count : int
        How many nodes there are.
    inputs : sequence of str
        Inputs of the model whose shapes are not wholly known.
    """
    lines = [f"{function}: {len(refused)} of {count} nodes of {model} cannot be imported:"]
    lines += [f"  node {entry.node!r} ({entry.operator}): {entry.reason}" for entry in refused[:_SHOWN]]
    if len(refused) > _SHOWN:
        lines.append(f"  and {len(refused) - _SHOWN} more")
    if any(entry.needs_shapes for entry in refused) and inputs:
        shapes = ", ".join(f"{name!r}: (...)" for name in inputs)
        lines.append(f"Lengths that are not known can be given: {function}(..., shapes={{{shapes}}}).")
    return ModelRefused("\n".join(lines))
