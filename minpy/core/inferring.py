"""What graphs ask of an operator before anything is computed: its inputs and outputs, their shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from minpy.core.attributes import Signature

__all__ = ["DTypes", "Inferring", "PartialShape", "Shapes"]

# Lengths, -1 for one that is not known; None if not even the number of axes is.
PartialShape = tuple[int, ...] | None
Shapes = Sequence[PartialShape]
DTypes = Sequence["numpy.dtype | None"]
# `rule(inputs, outputs, **attributes)`: what is known, to what is known then.
ShapeInference = Callable[..., tuple[Shapes, Shapes]]
TypeInference = Callable[..., tuple[DTypes, DTypes]]


class Inferring:
    """The part of an `Operator` that symbols and graphs use."""

    __name__: str
    signature: Signature
    auxiliary: tuple[str, ...]
    builtin: bool

    # Tells for an input with the default None whether a call with given attributes has it (`bias` unless `no_bias`).
    optional_inputs: Mapping[str, Callable[[dict[str, Any]], bool]] = {}
    # The names of the outputs that callers see, or a function of the attributes that returns them.
    outputs: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]] = ("output",)
    # What the variables that symbols make for inputs are initialized with, where it is not for users to choose.
    initializers: Mapping[str, str] = {}
    # From the attributes of a call in a graph, and the inferred shape of its output, to those to compute with.
    completed: Callable[[dict[str, Any], Any], dict[str, Any]] | None = None
    # Whether two calls with the same inputs may differ.
    random = False
    # `rule(*input_shapes, **attributes)`: the output's shape, where all input shapes are known.
    shape_rule: Callable[..., Any] | None = None
    shape_inference: ShapeInference | None = None
    type_inference: TypeInference | None = None

    def def_infer_shape(self, rule: ShapeInference) -> ShapeInference:
        """Register how partly known shapes of inputs and outputs complete each other; may be used as a decorator.

        `rule(inputs, outputs, **attributes)` is given one shape for each input of a call and each output that callers
        see (a tuple, with `UNKNOWN` for lengths that are not known, or None), and returns two such lists: what follows.
        What it does not know it returns as it is, or as None; what it returns is merged with what was known. A
        contradiction inside the rule is a `ShapeError`; the caller adds where it happened. Inputs that are given by
        no attribute (a bias with `no_bias`) are not in the list.

        Examples
        --------
        >>> from minpy.core import Operator
        >>> double = Operator(lambda x: x + x, name='double')
        >>> @double.def_infer_shape
        ... def shapes(inputs, outputs):
        ...     return outputs, inputs
        """
        self.shape_inference = rule
        return rule

    def def_infer_type(self, rule: TypeInference) -> TypeInference:
        """Register how dtypes of inputs and outputs follow from each other; may be used as a decorator.

        As with `def_infer_shape`, with dtypes (None: unknown) in place of shapes.
        """
        self.type_inference = rule
        return rule

    def input_names(self, attributes: dict[str, Any], count: int | None = None) -> list[str]:
        """Return the names of the inputs of a call with these attributes; `count` of them if they are variadic."""
        if self.signature.variadic is not None:
            names = list(self.signature.inputs)
            return names + [f"arg{index}" for index in range((count or 0) - len(names))]
        names = []
        for name in self.signature.inputs:
            used = self.optional_inputs.get(name)
            if used(attributes) if used is not None else name not in self.signature.defaults:
                names.append(name)
        return names

    def output_names(self, attributes: dict[str, Any]) -> list[str]:
        """Return the names of the outputs that callers of a call with these attributes see."""
        outputs = self.outputs
        return list(outputs(attributes) if callable(outputs) else outputs)
