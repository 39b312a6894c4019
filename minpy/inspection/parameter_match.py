"""Does every parameter fit: what a symbol needs, and what a file holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minpy.graph.ir import Node
from minpy.ops.inference.partial_shapes import is_known

__all__ = ["Fit", "by_name", "compared"]

_PREFIXES = {"arg": "argument", "aux": "auxiliary state"}


@dataclass(frozen=True)
class Fit:
    """What there is to say about a file of parameters."""

    fitting: int  # how many are as they should be
    missing: list[tuple[str, Any]] = field(default_factory=list)  # (name, shape or None)
    superfluous: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)  # what the symbol does not read
    # (name, shape in the file, shape that the symbol needs)
    other_shape: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    # Arguments that are filed as auxiliary states, and the other way round: (name, as what it is filed, what it is).
    other_kind: list[tuple[str, str, str]] = field(default_factory=list)
    note: str = ""  # why so much may be wrong

    @property
    def fits(self) -> bool:
        """Whether the network can be run: what is superfluous does no harm."""
        return not (self.missing or self.other_shape)


def by_name(given: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return arrays by their names in the symbol, each with the kind under which it is filed ('arg', 'aux' or '').

    Examples
    --------
    >>> by_name({'arg:fc_weight': 1, 'aux:bn_moving_mean': 2, 'fc_bias': 3})
    {'fc_weight': ('arg', 1), 'bn_moving_mean': ('aux', 2), 'fc_bias': ('', 3)}
    """
    arrays = {}
    for key, value in given.items():
        kind, colon, name = key.partition(":")
        if colon and kind in _PREFIXES:
            arrays[name] = (kind, value)
        else:
            arrays[key] = ("", value)
    return arrays


def compared(
    arguments: Sequence[Node],
    states: Sequence[Node],
    inputs: Collection[Node],
    given: Mapping[str, tuple[str, Any]],
    needed: Mapping[str, Any],
) -> Fit:
    """Compare what a symbol needs with what a file holds."""
    wanted = {node.name: "arg" for node in arguments if node not in inputs}
    wanted |= {node.name: "aux" for node in states}
    others = {node.name for node in inputs}
    fit = Fit(0)
    fitting = 0
    for name, kind in wanted.items():
        shape: Any = needed.get(name)
        if name not in given:
            fit.missing.append((name, shape if is_known(shape) else None))
            continue
        filed, array = given[name]
        if filed and filed != kind:
            fit.other_kind.append((name, _PREFIXES[filed], _PREFIXES[kind]))
        if is_known(shape) and tuple(array.shape) != tuple(shape):
            fit.other_shape.append((name, tuple(array.shape), tuple(shape)))
        else:
            fitting += 1
    for name, (_, array) in given.items():
        if name not in wanted and name not in others:
            fit.superfluous.append((name, tuple(array.shape)))
    note = ""
    if fit.missing and not fitting and given:
        if any("." in name for name in given):
            note = (
                "The file's names are those of Block.save_parameters, which go by attributes: load it into the Gluon "
                "network with load_parameters, or write both files anew with export."
            )
        else:
            note = "No name agrees: the file belongs to another network, or was written under another prefix."
    return Fit(fitting, fit.missing, fit.superfluous, fit.other_shape, fit.other_kind, note)
