"""`BatchedArray`, in the place of one example's array while a function runs for all of them at once.

It has the shape, the methods and the protocols of an example's array. NumPy's functions lead to `numpy_rules`,
operators to `operator_calls`. What depends on the values of one example ends the run with `NotBatchedError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from minpy.batching import numpy_rules
from minpy.batching.levels import BATCHED, Level, NotBatchedError
from minpy.batching.operator_calls import batch_way, call_batched, call_each
from minpy.bridge.protocols import PRECEDING
from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.errors import ArgumentError
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.numpy_table.table import METHODS

__all__ = ["BatchedArray", "batched", "example_of", "level_of"]

_VALUES = "it asks for the values of an example"


class BatchedArray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """An example's array, for all examples: `data` has them along its first axis."""

    __slots__ = ("data", "level")

    __array_priority__ = 1e7
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, level: Level, data: Any) -> None:
        self.level = level
        self.data = data

    # -- what is the same for all examples -----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an example."""
        self._require_open()
        whole: tuple[int, ...] = self.data.shape
        return whole[1:]

    @property
    def ndim(self) -> int:
        """The number of axes of an example."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of an example."""
        return int(numpy.prod(self.shape, dtype=int))

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.data.dtype

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return numpy.transpose(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return numpy.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return numpy.imag(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return f"<{self.level.batch_size} examples of {self.data.dtype} {self.data.shape[1:]}>"

    def _require_open(self) -> None:
        if not self.level.is_open:
            raise ArgumentError(
                f"vmap: {self!r} is used after the function has returned that it was given to. Return what is needed "
                "later."
            )

    # -- what is not ---------------------------------------------------------------------------------------------------

    def _refuse(self, *_: Any, **__: Any) -> Any:
        self._require_open()
        raise NotBatchedError(self.level, _VALUES)

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = __contains__ = _refuse
    __setitem__ = __format__ = __str__ = _refuse
    # Changes in place: another name of the array would have to show them.
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = _refuse
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _refuse

    def __getattr__(self, name: str) -> Any:
        """Return a method of an example's array, which is called for each example."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._require_open()
        method = getattr(example_of(self.data), name)
        if not callable(method) or name in _VALUE_METHODS:
            raise NotBatchedError(self.level, f"it asks for .{name} of an example")

        def call(*arguments: Any, **keywords: Any) -> Any:
            return looped(
                name, lambda own, *rest, **named: getattr(own, name)(*rest, **named), (self, *arguments), keywords
            )

        return call

    # -- NumPy's protocols ---------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if "out" in keywords or method == "at":
            return self._refuse()
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if method == "__call__" and ufunc.signature is None:
            return called(name, ufunc, inputs, keywords, numpy_rules.elementwise)
        if ufunc is numpy.matmul and method == "__call__":
            return called(name, ufunc, inputs, keywords, numpy_rules.RULES.get(numpy.matmul))
        return looped(name, getattr(ufunc, method), inputs, keywords)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if keywords.get("out") is not None:
            return self._refuse()
        return called(function.__name__, function, arguments, keywords, numpy_rules.rule_of(function))

    def __getitem__(self, key: Any) -> Any:
        return called("getitem", operator.getitem, (self, key), {}, numpy_rules.getitem)

    def reshape(self, *shape: Any, **keywords: Any) -> Any:
        """Return the elements in another shape."""
        return numpy.reshape(self, shape[0] if len(shape) == 1 else shape, **keywords)

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes in another order."""
        return numpy.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def astype(self, dtype: Any, **keywords: Any) -> Any:
        """Return the elements in another dtype."""
        self._require_open()
        return BatchedArray(self.level, self.data.astype(dtype, **keywords))

    def flatten(self) -> Any:
        """Return the elements along one axis."""
        return numpy.reshape(self, -1)

    def copy(self, *_: Any) -> Any:
        """Return the array itself, which nothing changes."""
        return self

    def detach(self) -> Any:
        """Return the array as a constant of the tape."""
        return BatchedArray(self.level, self.data.detach() if hasattr(self.data, "detach") else self.data)


_VALUE_METHODS = frozenset(
    ("asnumpy", "asscalar", "backward", "attach_grad", "item", "tolist", "tobytes", "fill", "sort")
)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return function(self, *arguments, **keywords)

    method.__doc__ = f"Return `numpy.{function.__name__}` of the array."
    return method


for _name, _function in METHODS.items():
    if _name not in vars(BatchedArray) and _name != "sort":
        setattr(BatchedArray, _name, _method(_function))


def example_of(data: Any) -> Any:
    """Return one example of many; zeros if there are none."""
    return data[0, ...] if data.shape[0] else numpy.zeros(data.shape[1:], data.dtype)


def level_of(values: Sequence[Any]) -> Level:
    """Return the innermost level of the batched arrays among some values."""
    return max((value.level for value in values if type(value) is BatchedArray), key=lambda level: level.number)


def batched(level: Level, result: Any) -> Any:
    """Return what was computed for all examples as what one example has: an array, or a tuple of arrays."""
    if isinstance(result, (tuple, list)):
        parts = [batched(level, part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, Array) and result._keeps_dtype:
        raise NotBatchedError(level, "it computes with NDArrays, whose axes mean what they mean in MXNet")
    return BatchedArray(level, result)


def called(name: str, function: Any, arguments: Any, keywords: Any, rule: Any) -> Any:
    """Call a function of NumPy's by its rule: for all examples at once where that answers, else for each."""
    level = _open_level(arguments, keywords)
    if rule is not None:
        result = rule(level, function, arguments, keywords)
        if result is not numpy_rules.NO_RULE:
            level.note(name, "batched")
            return result.value if type(result) is numpy_rules.Same else batched(level, result)
    return looped(name, function, arguments, keywords)


def looped(name: str, function: Any, arguments: Any, keywords: Any) -> Any:
    """Call a function for each example, and stack the results."""
    level = _open_level(arguments, keywords)
    call = (tuple(arguments), dict(keywords))
    leaves = leaves_of(call)
    inputs = [leaf.data for leaf in leaves if numpy_rules.is_of(leaf, level)]
    structure: Any = None

    def of_example(*rows: Any) -> Any:
        nonlocal structure
        remaining = iter(rows)
        positional, named = map_tree(lambda leaf, _: next(remaining) if numpy_rules.is_of(leaf, level) else leaf, call)
        structure = function(*positional, **named)
        results = leaves_of(structure)
        if not all(
            isinstance(leaf, (Array, numpy.ndarray, numpy.generic, int, float, complex)) or type(leaf) in BATCHED
            for leaf in results
        ):
            raise NotBatchedError(level, f"{name} returns what is no array")
        return tuple(results)

    results = call_each(of_example, level.batch_size, [0] * len(inputs), inputs)
    level.note(name, "looped")
    remaining = iter(results)
    return map_tree(lambda _, __: batched(level, next(remaining)), structure)


def _open_level(arguments: Any, keywords: Any) -> Level:
    level = level_of(leaves_of((tuple(arguments), keywords)))
    if not level.is_open:
        next(leaf for leaf in leaves_of((tuple(arguments), keywords)) if numpy_rules.is_of(leaf, level))._require_open()
    return level


def _call_operator(called_operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Call an operator whose inputs include batched arrays. (What `minpy.core.dispatch` does with them.)"""
    level = _open_level(inputs, {})
    for value in inputs:
        if type(value) in (list, tuple) and any(type(leaf) in BATCHED for leaf in leaves_of(value)):
            raise NotBatchedError(level, f"{called_operator.__name__} is given a list of arrays")
    in_axes = [0 if numpy_rules.is_of(value, level) else None for value in inputs]
    values = [value.data if axis == 0 else value for value, axis in zip(inputs, in_axes, strict=True)]
    result = call_batched(called_operator, level.batch_size, in_axes, values, attributes)
    level.note(called_operator.__name__, "looped" if batch_way(called_operator) == "loop" else "batched")
    return batched(level, result)


BATCHED.add(BatchedArray)
PRECEDING.add(BatchedArray)
dispatch.register_tracer(BatchedArray, _call_operator, "an array inside of vmap")
