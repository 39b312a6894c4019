"""The findings about a model: its inputs, outputs, layers, sizes, and whether its parameters fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from minpy.graph.ir import Node
from minpy.ops.inference.partial_shapes import is_known
from minpy.symbol.contents import UnknownOperator

__all__ = ["Findings", "Fit", "Input", "Layer", "Output", "by_name", "compared"]

_PREFIXES = {"arg": "argument", "aux": "auxiliary state"}


@dataclass(frozen=True)
class Fit:
    """How a file of parameters fits a symbol."""

    fitting: int  # how many fit
    missing: list[tuple[str, Any]] = field(default_factory=list)  # (name, shape or None)
    superfluous: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)  # what the symbol does not read
    # (name, shape in the file, shape that the symbol needs)
    other_shape: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    # Arguments that are filed as auxiliary states, and the other way round: (name, its kind in the file, its kind).
    other_kind: list[tuple[str, str, str]] = field(default_factory=list)
    note: str = ""  # why nothing may fit

    @property
    def fits(self) -> bool:
        """Whether the network can be run: what is superfluous does no harm."""
        return not (self.missing or self.other_shape)


def by_name(filed: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return arrays by their names in the symbol, each with the kind under which it is filed ('arg', 'aux' or '').

    Examples
    --------
    >>> by_name({'arg:fc_weight': 1, 'aux:bn_moving_mean': 2, 'fc_bias': 3})
    {'fc_weight': ('arg', 1), 'bn_moving_mean': ('aux', 2), 'fc_bias': ('', 3)}
    """
    arrays = {}
    for key, value in filed.items():
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
    filed_arrays: Mapping[str, tuple[str, Any]],
    expected: Mapping[str, Any],
) -> Fit:
    """Compare what a symbol needs with what a file holds."""
    kind_of = {node.name: "arg" for node in arguments if node not in inputs}
    kind_of |= {node.name: "aux" for node in states}
    input_names = {node.name for node in inputs}
    fit = Fit(0)
    fitting = 0
    for name, kind in kind_of.items():
        shape: Any = expected.get(name)
        if name not in filed_arrays:
            fit.missing.append((name, shape if is_known(shape) else None))
            continue
        filed, array = filed_arrays[name]
        if filed and filed != kind:
            fit.other_kind.append((name, _PREFIXES[filed], _PREFIXES[kind]))
        if is_known(shape) and tuple(array.shape) != tuple(shape):
            fit.other_shape.append((name, tuple(array.shape), tuple(shape)))
        else:
            fitting += 1
    for name, (_, array) in filed_arrays.items():
        if name not in kind_of and name not in input_names:
            fit.superfluous.append((name, tuple(array.shape)))
    note = ""
    if fit.missing and not fitting and filed_arrays:
        if any("." in name for name in filed_arrays):
            note = (
                "The file's names are those of Block.save_parameters, which go by attributes: load it into the Gluon "
                "network with load_parameters, or write both files anew with export."
            )
        else:
            note = "No name agrees: the file belongs to another network, or was written under another prefix."
    return Fit(fitting, fit.missing, fit.superfluous, fit.other_shape, fit.other_kind, note)


Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """An input of the network.

    Attributes
    ----------
    name : str
    shape : tuple of int, or None
    dtype : str
    origin : str
        Where the shape comes from.
    is_label : bool
        Whether it is a label, which only training needs.
    """

    name: str
    shape: Shape | None
    dtype: str
    origin: str
    is_label: bool


@dataclass(frozen=True)
class Output:
    """An output of the network.

    Attributes
    ----------
    name : str
    shape : tuple of int, or None
    dtype : str
    operator : str
        What computes it.
    is_loss : bool
        Whether that is a loss, at which gradients start.
    """

    name: str
    shape: Shape | None
    dtype: str
    operator: str
    is_loss: bool


@dataclass(frozen=True)
class Layer:
    """A call of an operator.

    Attributes
    ----------
    name, operator : str
    detail : str
        Kernel, strides, filters, or whatever describes a layer of this kind best.
    shapes : list of tuple of int
        Of its outputs; None for one that is not known.
    parameters : int or None
        How many numbers its parameters and states have. One that several layers read belongs to the first.
    multiply_adds : int or None
        In prediction; see `minpy.inspection.multiply_adds` for what is counted.
    memory : int or None
        The bytes of its outputs.
    """

    name: str
    operator: str
    detail: str
    shapes: list[Shape | None]
    parameters: int | None
    multiply_adds: int | None
    memory: int | None


@dataclass(frozen=True)
class Findings:
    """A description of a model, from which its text is made.

    Attributes
    ----------
    source, params_name : str
        The path that was given, and the file of its parameters.
    version : str
        The MXNet that wrote it.
    inputs, outputs, layers : list of Input, Output, Layer
        Layers are empty if operators are missing.
    operators : dict of str to int
        How many nodes call each.
    unknown : list of UnknownOperator
        The operators that are not here.
    fit : Fit or None
        Whether the parameters fit; None without parameters.
    parameters, states : int or None
        How many numbers are learned, and how many are statistics.
    parameter_bytes, activation_bytes, peak_bytes : int or None
        Memory: of all parameters and states; of all outputs of layers; of those that are needed at the same time in
        prediction, if each is freed after its last use.
    multiply_adds : int or None
        Of all layers of which they are known.
    dtypes : list of str
        Of parameters.
    facts : dict of str to str
        Other facts from files beside the model.
    notes : list of str
        Choices that were made, and what is not known.
    problem : str
        Why shapes are not known; empty if they are.
    """

    source: str
    params_name: str
    version: str
    inputs: list[Input]
    outputs: list[Output]
    layers: list[Layer]
    operators: dict[str, int]
    unknown: list[UnknownOperator] = field(default_factory=list)
    fit: Fit | None = None
    parameters: int | None = None
    states: int | None = None
    parameter_bytes: int | None = None
    activation_bytes: int | None = None
    peak_bytes: int | None = None
    multiply_adds: int | None = None
    dtypes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def runs(self) -> bool:
        """Whether the network can be run: nothing is missing, and everything fits."""
        return not self.unknown and not self.problem and (self.fit is None or self.fit.fits)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and numbers: what `--json` prints."""
        return {**asdict(self), "runs": self.runs}
