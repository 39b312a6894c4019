"""The descriptions of a module's inputs: their names, and the shapes of their arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.io import DataDesc
from minpy.symbol import Symbol

__all__ = ["check_all_input_names", "check_input_names", "check_names_match", "parse_descriptions"]

_PARAMETERS = ("_weight", "_bias", "_gamma", "_beta")


def check_input_names(symbol: Symbol, names: Sequence[str], typename: str, throw: bool) -> None:
    """Refuse names of inputs that a symbol does not have, or warn of them."""
    arguments = symbol.list_arguments()
    unknown = [name for name in names if name not in arguments]
    if not unknown:
        return
    inputs = [name for name in arguments if not name.endswith(_PARAMETERS)]
    text = (
        f"Module: {typename}_names={list(names)!r} names {', '.join(map(repr, unknown))}, and the symbol has no such "
        f"argument.{nearest(unknown[0], arguments)} Its arguments that are no weights: {', '.join(inputs) or 'none'}."
    )
    if throw:
        raise ArgumentValueError(text)
    advice = " Give label_names=None if it takes none." if typename == "label" else ""
    warnings.warn(text + advice, UserWarning, stacklevel=4)


def check_all_input_names(symbol: Symbol, **names: Sequence[str] | None) -> None:
    """Check the names of a module's inputs, by their kind; unknown labels are a warning only."""
    for kind, kind_names in names.items():
        check_input_names(symbol, list(kind_names or []), kind, throw=kind != "label")


def check_names_match(names: Sequence[str], shapes: Sequence[Any], name: str, throw: bool) -> None:
    """Refuse descriptions whose names are not those of a module's inputs, or warn of them."""
    described_names = [desc.name for desc in shapes]
    if sorted(names) == sorted(described_names):
        return
    unknown = [name for name in described_names if name not in names]
    text = (
        f"bind: {name}_shapes describes {', '.join(map(repr, described_names)) or 'nothing'}; the module's "
        f"{name}_names are {', '.join(map(repr, names)) or 'none'}.{nearest(unknown[0], names) if unknown else ''} "
        f"Give the module {name}_names={described_names!r}, or the iterator the names of the module."
    )
    if throw:
        raise ArgumentValueError(text)
    warnings.warn(text, UserWarning, stacklevel=4)


def parse_descriptions(
    data_names: Sequence[str], label_names: Sequence[str], data_shapes: Any, label_shapes: Any
) -> tuple[list[Any], list[Any] | None]:
    """Return descriptions of data and labels as DataDescs, whose names are those of a module."""
    data = described("data", data_shapes)
    check_names_match(data_names, data, "data", True)
    labels = described("label", label_shapes) if label_shapes is not None else None
    check_names_match(label_names, labels or [], "label", False)
    return data, labels


def described(kind: str, shapes: Any) -> list[Any]:
    """Return descriptions as DataDescs: they may be (name, shape)."""
    if not isinstance(shapes, (list, tuple)):
        raise ArgumentError(
            f"bind: {kind}_shapes is {describe(shapes)}; expected a list such as [('data', (32, 784))], or what an "
            f"iterator says: provide_{kind}."
        )
    descriptions = []
    for desc in shapes:
        if isinstance(desc, DataDesc):
            descriptions.append(desc)
        elif isinstance(desc, (list, tuple)) and len(desc) >= 2 and isinstance(desc[0], str):
            descriptions.append(DataDesc(*desc))
        else:
            raise ArgumentError(
                f"bind: {kind}_shapes holds {describe(desc)}; expected a name and a shape, as ('data', (32, 784))."
            )
    return descriptions
