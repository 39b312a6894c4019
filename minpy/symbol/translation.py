"""What was captured, as symbols: MXNet's names for the operators and NumPy's functions that it is made of.

A capture notes what eager code runs. Where MXNet has a name that means the same (`_npi_add`, `_np_sum`), the symbol has
that, so that files load both ways. Whether it means the same is looked at call by call: what `mx.sym.np` makes of the
call must have the shape and dtype that the capture knows, and the table of NumPy's functions may say for which dtypes
the operator answers otherwise. All else stays the call of NumPy's function: `minpy:np.f`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.capture.recorder import Recorder
from minpy.capture.steps import Step, fill, power, power_of_array
from minpy.capture.storage import as_dtype, item_of
from minpy.core.errors import MXNetError, NotTraceableError
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.graph.inference import infer_dtypes, infer_shapes
from minpy.graph.ir import CONSTANT, Node, Value, topological, variable
from minpy.numpy_table.table import named, row_of
from minpy.ops.inference.partial_shapes import is_known
from minpy.ops.registry import find_operator
from minpy.symbol import numpy as functions_of_symbols
from minpy.symbol.autograd_scopes import new_outputs
from minpy.symbol.creation import scalar_kind
from minpy.symbol.naming import NameManager, current_names, current_scope
from minpy.symbol.numpy.symbol_class import _Symbol, generic
from minpy.symbol.recorded import number_as_written

__all__ = ["Translation"]

# Integers up to this are floats, too: MXNet's operators hold numbers as these.
_EXACT = 2**53
# Steps that are methods of symbols.
_METHODS = ("__getitem__", "astype", "flatten")
_REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}


class Translation:
    """The symbols that the values of a captured graph are; `variable_of` gives an array's variable among them.

    Attributes
    ----------
    values : dict of Value to Value
        What is known already: the variables, at first.
    arrays : dict of Value to Array
        The arrays that variables stand for which have none in the graph of symbols yet.
    """

    def __init__(self, recorder: Recorder, variable_of: Callable[[Any], Value]) -> None:
        self.values: dict[Value, Value] = {}
        self.arrays: dict[Value, Any] = {}
        self._recorder = recorder
        self._variable_of = variable_of

    def translate(self, outputs: Sequence[Value]) -> list[Value]:
        """Return what some values are in the graph of symbols.

        Raises
        ------
        NotTraceableError
            If there is a step that graphs of symbols have no operator for.
        """
        for node in topological(outputs):
            if Value(node) not in self.values:
                self._add(node)
        return [self.values[output] for output in outputs]

    def _add(self, node: Node) -> None:
        if node.operator is None:
            array = self.arrays.get(Value(node))
            outputs = [Value(node) if array is None else self._variable_of(array)]
        elif node.operator is CONSTANT:
            outputs = [self._variable_of(node.attributes["value"])]
        else:
            call = self._call_of(node)
            outputs = self._operator(node) if call is None else self._function(node, *call)
        self.values.update((Value(node, index), value) for index, value in enumerate(outputs))

    # -- operators -------------------------------------------------------------------------------------------------

    def _operator(self, node: Node) -> list[Value]:
        """Return the outputs of an operator that was called by its name."""
        kind, names = node.kind, current_names()
        if node.name != self._recorder.title:  # a layer of symbols made it
            name, annotations = node.name, node.annotations
        else:
            with_number = self._with_number(node)
            if with_number is not None:
                return with_number
            name, annotations = names.get(None, kind.lower()), current_scope().get(None)
        values = [self.values[value] for value in node.inputs]
        copied = Node(node.operator, values, node.attributes, name, kind, annotations)
        copied.outputs_expected = node.outputs_expected
        return new_outputs(copied)

    def _with_number(self, node: Node) -> list[Value] | None:
        """Return the output of the operator with a number that one of two arrays is, if one is a number."""
        numbers = [_number_of(value) for value in node.inputs]
        if len(numbers) != 2 or (numbers[0] is None) == (numbers[1] is None):
            return None
        on_right = numbers[1] is not None
        kind = scalar_kind(node.operator, on_right)
        if kind is None:
            return None
        value = self.values[node.inputs[not on_right]]
        name = current_names().get(None, kind.replace("_scalar", "scalar"))
        call = Node(find_operator(kind), [value], {"scalar": numbers[on_right]}, name, kind, current_scope().get(None))
        return new_outputs(call)

    # -- NumPy's functions -------------------------------------------------------------------------------------------

    def _call_of(self, node: Node) -> tuple[str, Any, dict[str, Any]] | None:
        """Return a node as a call of NumPy's: (the function's name, arguments, keywords), with values among these.

        None: it is an operator that was called by its name.
        """
        operator = node.operator
        inputs = [_plain(value) for value in node.inputs]
        if isinstance(operator, Step):
            function, (arguments, keywords) = operator.function, fill((operator.arguments, operator.keywords), inputs)
        elif node in self._recorder.functions:
            function, arguments, keywords = self._recorder.functions[node], inputs, dict(node.attributes)
        else:
            return None
        call = _as_numpys(function, list(arguments), keywords)
        if call is None:
            place = self._recorder.places.get(node)
            raise NotTraceableError(
                f"{self._recorder.title}: graphs of symbols have no operator for what {place or 'a step of it'} does "
                f"({operator.__name__}). To store into a part of an array, make a new one: np.where(np.arange(len(x)) "
                "< 1, x, 0), np.concatenate([x[:1], ...])."
            )
        return call

    def _function(self, node: Node, name: str, arguments: Any, keywords: dict[str, Any]) -> list[Value]:
        """Return the outputs of a call of a function of NumPy's."""
        function_of_symbols: Any = functions_of_symbols
        for part in name.split("."):
            function_of_symbols = vars(function_of_symbols).get(part)
        function_of_symbols = vars(_Symbol).get(name) if name in _METHODS else function_of_symbols
        if function_of_symbols is None:
            place = self._recorder.places.get(node)
            raise NotTraceableError(
                f"{self._recorder.title}: graphs of symbols have no operator for numpy.{name}"
                f"{'' if place is None else f' ({place})'}. Write it with functions that symbols have "
                "(dir(mx.sym.np)), or call it outside of the block."
            )
        if self._means_the_same(node, name, function_of_symbols, arguments, keywords):
            return _values_of(_called_on(self.values, function_of_symbols, arguments, keywords))
        count = len(node.output_names())
        return _values_of(_called_on(self.values, _generic(name, count), arguments, keywords))

    def _means_the_same(self, node: Node, name: str, function: Any, arguments: Any, keywords: dict[str, Any]) -> bool:
        """Tell whether what `mx.sym.np` makes of a call answers what NumPy's function does."""
        leaves = leaves_of((arguments, keywords))
        operands = [leaf.value for leaf in leaves if isinstance(leaf, _Operand)]
        dtypes = {self._fact(value)[1] for value in operands}
        row = named(name)
        if row is not None and (row.differs == "any" or any(dtype.kind in row.differs for dtype in dtypes)):
            return False
        numbers = [leaf for leaf in leaves if isinstance(leaf, (bool, int, float, complex, numpy.generic))]
        if any(isinstance(number, (int, numpy.integer)) and abs(int(number)) > _EXACT for number in numbers):
            return False
        has_booleans = "b" in {dtype.kind for dtype in dtypes} and {bool, numpy.bool_} & {*map(type, numbers)}
        if has_booleans and row is not None and row.kind in ("ufunc", "elementwise", "choose"):
            return False
        return self._agrees(node, function, operands, arguments, keywords)

    def _agrees(
        self, node: Node, function: Any, operands: Sequence[Value], arguments: Any, keywords: dict[str, Any]
    ) -> bool:
        """Tell whether what a function of symbols makes of a call has the shapes and dtypes that the capture knows."""
        variables = {value: variable(f"x{index}") for index, value in enumerate(dict.fromkeys(operands))}
        shapes = {variables[value]: self._fact(value)[0] for value in variables}
        dtypes = {variables[value]: self._fact(value)[1] for value in variables}
        try:
            with NameManager():
                outputs = _values_of(_called_on(variables, function, arguments, keywords))
            order = topological(outputs)
            known_dtypes = infer_dtypes(order, [(dtypes, "")]).known
            known_shapes = infer_shapes(order, [(shapes, "")], known_dtypes).known
        except (MXNetError, TypeError, ValueError):  # it takes no such arguments
            return False
        for index, value in enumerate(outputs):
            fact = self._recorder.outputs.get(Value(node, index))
            if fact is None:
                continue
            shape, dtype = known_shapes.get(value), known_dtypes.get(value)
            if dtype is not None and numpy.dtype(dtype) != fact[1]:
                return False
            if shape is not None and is_known(shape) and tuple(shape) != tuple(fact[0]):
                return False
        return True

    def _fact(self, value: Value) -> tuple[tuple[int, ...], numpy.dtype]:
        fact: Any = self._recorder.outputs.get(value)
        if fact is None and value.node.operator is CONSTANT:
            array = numpy.asarray(value.node.attributes["value"])
            return array.shape, array.dtype
        return fact if fact is not None else self._recorder.facts[value.node]


class _Operand:
    """An array among the arguments of a call."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


def _called_on(values: Mapping[Value, Value], function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return what a function of symbols makes of a call whose arrays are these values of a graph of symbols."""
    positional, by_keyword = map_tree(
        lambda leaf, _: _Symbol([values[leaf.value]]) if isinstance(leaf, _Operand) else leaf,
        (list(arguments), keywords),
    )
    return function(*positional, **by_keyword)


def _plain(value: Value) -> Any:
    """Return an input of a node as an argument of a call: a number, or what stands for an array."""
    if value.node.operator is CONSTANT:
        constant = value.node.attributes["value"]
        if not isinstance(constant, numpy.ndarray):
            return constant
    return _Operand(value)


def _number_of(value: Value) -> float | None:
    """Return the number that a value is which needs no input; None for others."""
    if value.node.operator is not CONSTANT:
        return None
    constant = value.node.attributes["value"]
    return number_as_written(constant, getattr(constant, "dtype", None))


def _as_numpys(
    function: Any, arguments: list[Any], keywords: Mapping[str, Any]
) -> tuple[str, list[Any], dict[str, Any]] | None:
    """Return a call of a step as one of a function of NumPy's, by name; None if it is none."""
    keywords = dict(keywords)
    row = row_of(function)
    if row is not None:
        return row.name, arguments, keywords
    if function in (power, power_of_array):
        return "power", arguments, keywords
    if function is item_of:
        return "__getitem__", [arguments[0], _without_ellipsis(arguments[1])], keywords
    if function is as_dtype:
        return "astype", arguments, keywords
    if function is numpy.array:
        return "copy", arguments, keywords
    if function is numpy.ndarray.flatten:
        return "flatten", arguments, keywords
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, numpy.ufunc) and function.__name__ == "reduce" and ufunc.__name__ in _REDUCTIONS:
        return _REDUCTIONS[ufunc.__name__], arguments, keywords
    return None


def _without_ellipsis(index: Any) -> Any:
    """Return an index without the ellipsis behind it, which stands for axes that are all taken."""
    if type(index) is not tuple or len(index) < 2 or index[-1] is not Ellipsis:
        return index
    if any(isinstance(part, (_Operand, list)) for part in index):
        return index
    return index[0] if len(index) == 2 else index[:-1]


def _generic(name: str, count: int) -> Callable[..., Any]:
    """Return what makes the call of a function of NumPy's as that."""
    name = {"__getitem__": "getitem"}.get(name, name)
    return lambda *arguments, **keywords: generic(name, arguments, keywords, count)


def _values_of(outputs: Any) -> list[Value]:
    """Return the values of a symbol, or of several in a list."""
    symbols = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [value for symbol in symbols for value in symbol.values]
