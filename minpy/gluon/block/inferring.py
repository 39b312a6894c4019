"""Shapes and dtypes of a hybridized block's parameters, as they follow from what it is called with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.errors import NotTraceableError, ShapeError
from minpy.gluon.parameter.unknown_shapes import is_complete

__all__ = ["infer", "infer_waiting", "initialize_waiting", "require_complete", "require_rule"]


def infer(block: Any, attribute: str, args: Sequence[Any]) -> None:
    """Set an attribute, 'shape' or 'dtype', of all parameters of a block from those of its arguments."""
    graph, leaves = block._graphs.find(block, args)
    input_names = graph.out.list_inputs()
    input_values = {
        variable.name: getattr(leaf, attribute)
        for variable, leaf in zip(graph.inputs, leaves, strict=True)
        if variable is not None and variable.name in input_names
    }
    infer_values = graph.out.infer_shape_partial if attribute == "shape" else graph.out.infer_type_partial
    arguments, _, states = infer_values(**input_values)
    names = [*graph.out.list_arguments(), *graph.out.list_auxiliary_states()]
    values = dict(zip(names, [*arguments, *states], strict=True))
    for parameter in graph.parameters:
        value = values.get(parameter.name)
        if value is not None:
            setattr(parameter, attribute, value)


def initialize_waiting(block: Any, args: Sequence[Any]) -> None:
    """Give a block's own parameters that wait for their shapes these, and values."""
    waiting = [parameter for parameter in block._reg_params.values() if parameter._deferred_init]
    if any(not is_complete(parameter._shape) for parameter in waiting):
        block.infer_shape(*args)
    for parameter in waiting:
        parameter._finish_deferred_init()


def infer_waiting(block: Any, args: Sequence[Any]) -> None:
    """Let a block that has a rule, `infer_shape`, say the shapes of its own parameters, if they are not known."""
    has_rule = not type(block).infer_shape.__module__.startswith("minpy.gluon.block.")
    if has_rule and not all(is_complete(parameter._shape) for parameter in block._reg_params.values()):
        block.infer_shape(*args)


def require_complete(name: str, parameter: Any) -> None:
    """Raise the error for a parameter whose shape is asked for, and is not known yet."""
    if not is_complete(parameter._shape):
        raise NotTraceableError(
            f"{name}: the shape of {parameter.name} is asked for, and it is {parameter.shape}, not known yet: give "
            "in_units, in_channels, or initialize the block and call it on arrays first."
        )


def require_rule(block: Any, is_certain: bool) -> None:
    """Raise the error for a block that defines `forward`, and not how shapes follow from its arguments.

    If that is not certain, only where its own parameters have shapes that are not known.
    """
    unknown = ", ".join(
        f"{parameter.name} {parameter.shape}"
        for parameter in block._reg_params.values()
        if not is_complete(parameter._shape)
    )
    if not unknown and not is_certain:
        return
    raise ShapeError(
        f"{block.name}: parameters have shapes that are not known yet ({unknown}), and a block that "
        "defines forward says how they follow from its arguments in a method: `def infer_shape(self, x): "
        "self.weight.shape = (self.units, x.shape[1])`. Define it, or give the shapes when parameters are made."
    )
