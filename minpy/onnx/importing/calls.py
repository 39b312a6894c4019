"""`Call`: what the row of an operator sees of the node that it makes symbols of; and the table of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy

from minpy.onnx.importing.lengths import Length
from minpy.onnx.importing.refusals import Refusal
from minpy.onnx.importing.tensors import Tensor

__all__ = ["REASONS", "ROWS", "Call", "Importer", "refuse", "row"]

ROWS: dict[str, Callable[[Call], Any]] = {}
# Why operators without a row have none.
REASONS: dict[str, str] = {}


def row(*operators: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Enter a function in the table: it returns what a node of these operators computes, a symbol or several."""

    def enter(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        ROWS.update(dict.fromkeys(operators, function))
        return function

    return enter


def refuse(reason: str, *operators: str) -> None:
    """Say why these operators are not imported."""
    REASONS.update(dict.fromkeys(operators, reason))


class Importer(Protocol):
    """What the rows use of the graph that is imported."""

    tensors: dict[str, Tensor]
    names: set[str]

    def unused(self, name: str) -> str:
        """Return a name that nothing has yet, and take it."""

    def add_constant(self, name: str, array: numpy.ndarray) -> Tensor:
        """Enter a value that is known."""

    def parameter(self, name: str, array: numpy.ndarray) -> Any:
        """Return a variable for an array, which becomes an argument."""

    def symbol_of(self, tensor: Tensor) -> Any:
        """Return the symbol of a value."""

    def auxiliary_of(self, tensor: Tensor) -> Any:
        """Return the auxiliary variable of a constant."""

    def walk_within(self, graph: Any, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Import a graph that an attribute holds, in the place of its node, and return its outputs."""


class Call:
    """A node, its attributes as Python values, and what is known of its inputs and outputs."""

    def __init__(
        self,
        importer: Importer,
        node: Any,
        name: str,
        opset: int,
        inputs: list[Tensor | None],
        outputs: list[Tensor],
        attributes: dict[str, Any],
    ) -> None:
        self.importer, self.node, self.name, self.opset = importer, node, name, opset
        self.inputs, self.outputs, self.attributes = inputs, outputs, attributes

    @property
    def operator(self) -> str:
        """The ONNX operator."""
        return str(self.node.op_type)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attributes.get(name, default)

    def has(self, index: int) -> bool:
        """Tell whether there is such an input: optional ones may be left out, or have an empty name."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def tensor(self, index: int) -> Tensor:
        """Return an input."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise Refusal(f"its input {index} is missing. Check the model with onnx.checker.check_model")
        return tensor

    def symbol(self, index: int = 0) -> Any:
        """Return the symbol of an input, with NumPy's semantics."""
        return self.importer.symbol_of(self.tensor(index))

    def symbols(self) -> list[Any]:
        """Return the symbols of all inputs."""
        return [self.symbol(index) for index in range(len(self.inputs))]

    def value(self, index: int, meaning: str) -> numpy.ndarray:
        """Return the value of an input that has to be known now; `meaning` is what the error calls it."""
        tensor = self.tensor(index)
        if tensor.constant is None:
            raise Refusal(
                f"its {meaning} ({tensor.name!r}) are computed while the model runs, and symbols need them beforehand. "
                "Give shapes=, if they follow from the shapes of inputs; else make them constants of the model",
                needs_shapes=True,
            )
        return tensor.constant

    def ints(self, index: int, meaning: str, attribute: str | None = None) -> list[int] | None:
        """Return whole numbers that are an attribute, or in later opsets an input; None if there are none."""
        if attribute is not None and attribute in self.attributes:
            values = self.attributes[attribute]
            return [int(value) for value in (values if isinstance(values, list) else [values])]
        return [int(value) for value in self.value(index, meaning).ravel()] if self.has(index) else None

    def elements(self, index: int, meaning: str) -> list[Any]:
        """Return an input of few numbers as a list of ints and lengths that are not known yet."""
        tensor = self.tensor(index)
        if tensor.constant is None and tensor.elements is not None:
            return list(tensor.elements.ravel())
        return [int(value) for value in self.value(index, meaning).ravel()]

    def rank(self, index: int = 0) -> int:
        """Return the number of axes of an input."""
        shape = self.tensor(index).shape
        if shape is None:
            raise Refusal(
                f"the number of axes of its input {self.tensor(index).name!r} is not known. Give shapes=, or run "
                "onnx.shape_inference over the model",
                needs_shapes=True,
            )
        return len(shape)

    def lengths(self, index: int = 0) -> list[Any]:
        """Return the shape of an input, ints and lengths that are not known yet."""
        self.rank(index)
        return list(self.tensor(index).shape or [])

    def shape(self, index: int = 0, axes: Any = None) -> tuple[int, ...]:
        """Return the shape of an input, or its lengths along some axes, which have to be known."""
        lengths = self.lengths(index)
        chosen = lengths if axes is None else [lengths[axis] for axis in axes]
        if any(isinstance(length, Length) for length in chosen):
            shown = ", ".join(map(str, lengths))
            raise Refusal(
                f"the shape of its input {self.tensor(index).name!r}, ({shown}), has to be known. Give shapes=",
                needs_shapes=True,
            )
        return tuple(chosen)

    def dtype(self, index: int = 0) -> numpy.dtype:
        """Return the dtype of an input."""
        dtype = self.tensor(index).dtype
        if dtype is None:
            raise Refusal(f"the dtype of its input {self.tensor(index).name!r} is not known; infer types first")
        return numpy.dtype(dtype)

    def axis(self, default: int, index: int = 0) -> int:
        """Return the attribute `axis`, counted from the beginning."""
        axis = int(self.get("axis", default))
        return axis + self.rank(index) if axis < 0 else axis

    def parameter(self, array: Any, suffix: str) -> Any:
        """Return a symbol of numbers that the node needs and the model does not have: a new argument."""
        return self.importer.parameter(f"{self.name}_{suffix}", numpy.asarray(array))
