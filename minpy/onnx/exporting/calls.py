"""What a row of the tables of ONNX sees of a call: its operands and results, and how nodes are written for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand, function_key
from minpy.frameworks.inference import ArraySpec
from minpy.onnx.exporting.emitter import Emitter

__all__ = ["NodeCall", "Row", "Rows", "StepsInstead"]

Row = Callable[..., Any]  # row(call, *inputs, **attributes): the name of the result, a tuple of names for several


class StepsInstead(Exception):
    """Raised by the row of an operator that leaves this call to the steps of the operator's definition."""


class Rows(dict[str, Row]):
    """A table of rows, or a part of one."""

    def enter(self, names: str) -> Callable[[Row], Row]:
        """Return a decorator that enters a row under names, which are separated by spaces."""

        def entered(row: Row) -> Row:
            self.update(dict.fromkeys(names.split(), row))
            return row

        return entered


class NodeCall(Call):
    """One call, of an operator of a graph or of a function of NumPy's.

    `results`: the `ArraySpec` of each output. A row asks for arguments by `array` (an `Operand`, a NumPy array or a
    number becomes the name of a value), writes nodes by `node`, and returns the names of the results.
    """

    source: Any  # what writes: it has an `emitter`, and `call_row`

    def __init__(
        self,
        source: Any,
        function: Any,
        results: Sequence[ArraySpec],
        several: bool,
        name: str = "",
        nested: Any = None,
    ) -> None:
        super().__init__(source, function, results, several)
        self.name = name
        self.nested = nested

    @property
    def emitter(self) -> Emitter:
        """Where nodes are written."""
        emitter: Emitter = self.source.emitter
        return emitter

    @contextmanager
    def inner_graph(self) -> Iterator[Emitter]:
        """Let what is written go to a graph that a node will hold: see `inner_graphs`."""
        outer = self.source.emitter
        self.source.emitter = outer.of_graph()
        try:
            yield self.source.emitter
        finally:
            self.source.emitter = outer

    @property
    def opset(self) -> int:
        """The version of ONNX's operators."""
        return self.emitter.opset

    @property
    def ndim(self) -> int:
        """The number of axes of the (first) result."""
        return len(self.shape)

    def array(self, value: Any, dtype: Any = None) -> str:
        """Return the name of an argument as an array, in a dtype."""
        if isinstance(value, str):
            return value
        if isinstance(value, Operand):
            if dtype is None or value.dtype == numpy.dtype(dtype):
                return value.text
            if value.value is not None:
                return self.emitter.constant(value.value.astype(dtype)).text
            return self.emitter.cast(value.text, dtype)
        if isinstance(value, (list, tuple)) and any(isinstance(part, Operand) for part in value):
            parts = [Operand(self.array(part, dtype), self.spec(part).shape, self.spec(value).dtype) for part in value]
            return self.emit(numpy.stack, (parts,), {}, self.spec(value)).text
        data = numpy.asarray(value) if dtype is None else numpy.asarray(value).astype(dtype)
        return self.emitter.constant(data).text

    text = array

    def _cast(self, operand: Operand, dtype: numpy.dtype) -> str:
        return self.array(operand, dtype)

    def ints(self, values: Any) -> str:
        """Return the name of a constant of int64: a shape, axes, bounds."""
        return self.emitter.stored(numpy.asarray(values, numpy.int64))

    def node(self, op_type: str, *inputs: Any, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Write a node; return the name of its output, a tuple of names for several.

        Parameters
        ----------
        op_type : str
            ONNX's name of the operator.
        *inputs
            Names, operands, NumPy arrays or numbers; None for one that is left out.
        outputs : int
            How many outputs the node has.
        domain : str
            Of the operator; ONNX's own by default.
        **attributes
            Numbers, texts, sequences of these, dtypes, NumPy arrays (tensors); None is left out.
        """
        names = ["" if value is None else self.array(value) for value in inputs]
        results = self.emitter.add(op_type, names, outputs, attributes, domain)
        return results[0] if outputs == 1 else tuple(results)

    def cast(self, value: Any, dtype: Any) -> str:
        """Return the name of a value in another dtype; of a name whose dtype is not known, by a node in any case."""
        return self.emitter.cast(value, dtype) if isinstance(value, str) else self.array(value, dtype)

    def reshape(self, value: Any, shape: Sequence[int]) -> str:
        """Return the name of a value in another shape."""
        name: str = self.node("Reshape", value, self.ints(list(shape)))
        return name

    def squeeze(self, value: Any, axes: Sequence[int]) -> str:
        """Return the name of a value without axes of length 1."""
        name: str = self.node("Squeeze", value, self.ints(list(axes)))
        return name

    def unsqueeze(self, value: Any, axes: Sequence[int]) -> str:
        """Return the name of a value with new axes of length 1, at these positions of the result."""
        name: str = self.node("Unsqueeze", value, self.ints(list(axes)))
        return name

    def transpose(self, value: Any, axes: Any) -> str:
        """Return the name of a value with its axes in another order."""
        name: str = self.node("Transpose", value, perm=[int(axis) for axis in axes])
        return name

    def reduce(self, op_type: str, value: Any, axes: Sequence[int] | None, keepdims: bool) -> str:
        """Return the name of a reduction (`ReduceMax`, ...) over axes; over all for None."""
        chosen = None if axes is None else [int(axis) for axis in axes]
        if chosen == []:
            return self.array(value)
        as_input = self.opset >= 18 or op_type == "ReduceSum"
        name: str
        if as_input:
            name = self.node(op_type, value, None if chosen is None else self.ints(chosen), keepdims=int(keepdims))
        else:
            name = self.node(op_type, value, axes=chosen, keepdims=int(keepdims))
        return name

    def emit(
        self, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], spec: ArraySpec | None = None
    ) -> Operand:
        """Write a call of a function of NumPy's by its row, and return its result."""
        return super().emit(function, arguments, keywords, spec)

    def row(self, key: str, *inputs: Any, results: Sequence[ArraySpec] | None = None, **attributes: Any) -> Any:
        """Return what another row of the tables writes; by default its results are those of this call."""
        return self.source.call_row(key, inputs, attributes, self.results if results is None else results, self.name)

    def steps(self, function: Callable[..., Any], *inputs: Operand) -> Any:
        """Return what a function of NumPy's arrays computes, written step by step: operands, or the one it returns.

        It is traced for the shapes and dtypes of its inputs, so that parts of definitions can be rows.
        """
        results = self.source.write_function(function, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def key(self) -> str:
        """The name under which tables have the function."""
        return self.function if isinstance(self.function, str) else function_key(self.function)
