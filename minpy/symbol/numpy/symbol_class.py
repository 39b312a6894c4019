"""`_Symbol`: a symbol with the arithmetic, methods and indexing of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy

from minpy.core.errors import ArgumentError
from minpy.graph.ir import Node, Value
from minpy.ops.numpy.unnamed_functions import PREFIX, call_text
from minpy.ops.registry import find_operator
from minpy.symbol.autograd_scopes import new_outputs
from minpy.symbol.composition import compose, shown_signature
from minpy.symbol.naming import current_names, current_scope
from minpy.symbol.symbol import Symbol

__all__ = [
    "_Symbol",
    "as_lengths",
    "as_np",
    "as_tuple",
    "call",
    "generic",
    "is_symbol",
    "named",
    "operator_function",
    "set_method",
]


class _Symbol(Symbol):
    """One output of a graph whose value is not computed yet, with NumPy's semantics.

    It has the arithmetic, methods and indexing of `minpy.np.ndarray`; what is computed from it has NumPy's shapes and
    is such a symbol, too. `mx.sym.var(name).as_np_ndarray()` makes a variable of this kind.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x').as_np_ndarray()
    >>> (x + 1).mean().infer_shape(x=(2, 3))
    ([(2, 3)], [()], [])
    """

    __slots__ = ()
    in_numpy: ClassVar[bool] = True

    def __len__(self) -> int:
        raise TypeError(f"{self!r} has no length: a symbol does not know its shape. Use infer_shape.")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{self!r} cannot be iterated over: a symbol does not know its shape. Use sym.np.split.")

    def __getitem__(self, key: Any) -> Any:
        return _item(self, key)

    def as_np_ndarray(self) -> Symbol:
        """Return the symbol itself."""
        return self

    def as_nd_ndarray(self) -> Symbol:
        """Return the same value with MXNet's semantics."""
        return Symbol(self.values)


def as_np(symbol: Symbol) -> _Symbol:
    """Return a symbol with NumPy's semantics."""
    return symbol if isinstance(symbol, _Symbol) else _Symbol(symbol.values)


def as_lengths(shape: Any) -> Any:
    """Return a shape as files hold it: a length, or a tuple of them."""
    return int(shape) if isinstance(shape, (int, numpy.integer)) else tuple(int(length) for length in shape)


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, and anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


def is_symbol(value: Any) -> bool:
    """Tell whether a value is a symbol of either kind."""
    return isinstance(value, Symbol)


def call(kind: str, inputs: Sequence[Any], hint: str | None = None, **attributes: Any) -> Any:
    """Return the symbol of a call of an operator; of several outputs a list."""
    outputs = compose(find_operator(kind), kind, inputs, attributes, hint)
    if len(outputs.values) == 1:
        return _Symbol(outputs.values)
    return [_Symbol([value]) for value in outputs.values]


def generic(name: str, arguments: Sequence[Any], keywords: dict[str, Any], count: int = 1) -> Any:
    """Return the symbol of a call of a function of NumPy's that has no name in MXNet; of several outputs a list."""
    node_name = keywords.pop("name", None)
    options = {key: value for key, value in keywords.items() if not (key == "out" and value is None)}
    if "out" in options:
        raise ArgumentError(f"sym.np.{name}: out= is for arrays; a symbol has no memory to write to.")
    text, inputs = call_text(name, arguments, options, is_symbol)
    values: list[Value] = []
    for symbol in inputs:
        if len(symbol.values) != 1:
            raise ArgumentError(f"sym.np.{name}: an argument is {symbol!r}, of several outputs; choose one: symbol[0].")
        values += symbol.values
    kind = f"{PREFIX}{name}"
    attributes: dict[str, Any] = {"call": text} if count == 1 else {"call": text, "num_outputs": count}
    hint = name.rpartition(".")[2].lower()
    node = Node(
        find_operator(kind), values, attributes, current_names().get(node_name, hint), kind, current_scope().get(None)
    )
    outputs = [_Symbol([value]) for value in new_outputs(node)]
    return outputs[0] if count == 1 else outputs


# -- indexing ----------------------------------------------------------------------------------------------------------


def _item(symbol: _Symbol, key: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    plain = [isinstance(part, (int, numpy.integer)) and not isinstance(part, bool) for part in parts]
    if not parts or not all(
        number or (isinstance(part, slice) and _is_plain(part)) for part, number in zip(parts, plain, strict=True)
    ):
        return generic("getitem", (symbol, key), {})
    begin, end, step = [], [], []
    for part, number in zip(parts, plain, strict=True):
        if number:
            begin.append(int(part))
            end.append(int(part) + 1 if part != -1 else None)
            step.append(1)
        else:
            begin.append(part.start)
            end.append(part.stop)
            step.append(part.step)
    attributes: dict[str, Any] = {"begin": tuple(begin), "end": tuple(end)}
    if not (len(parts) == 1 and plain[0]):
        attributes["step"] = tuple(step)
    sliced = call("slice", [symbol], "slice", **attributes)
    if not any(plain) and len(parts) == 1:
        return sliced
    codes = tuple(-3 if number else -2 for number in plain)
    return call("_npx_reshape", [sliced], "reshape", newshape=(*codes, -4))


def _is_plain(part: slice) -> bool:
    return all(bound is None or isinstance(bound, (int, numpy.integer)) for bound in (part.start, part.stop, part.step))


def named(
    name: str, function: Callable[..., Any], doc: str | None = None, module: str = "minpy.symbol.numpy"
) -> Callable[..., Any]:
    """Return a function with the name, the module and the docstring of a public one."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = doc or f"Return the symbol of `numpy.{name}`."
    return function


def operator_function(name: str, kind: str, module: str, node_kind: str | None = None) -> Callable[..., Any]:
    """Return an operator as a function of a module; `node_kind` is the operator of its nodes, if that is another."""
    operator = find_operator(kind)

    def function(*arguments: Any, **keywords: Any) -> Any:
        if keywords.get("out") is None:
            keywords.pop("out", None)
        return call(node_kind or kind, arguments, name, **keywords)

    vars(function)["__signature__"] = shown_signature(operator)
    return named(name, function, operator.__doc__, module)


def set_method(name: str, function: Callable[..., Any]) -> None:
    """Make a function a method of `_Symbol`, under the name by which help shows it and pickle finds it."""
    function.__name__, function.__qualname__ = name, f"_Symbol.{name}"
    setattr(_Symbol, name, function)
