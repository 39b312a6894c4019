"""What a framework is to translation: a `Dialect`, whose rows write calls of NumPy's functions, and what rows get."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from minpy.core.errors import NotTraceableError
from minpy.frameworks.inference import ArraySpec
from minpy.importing import import_module
from minpy.numpy_table.table import row_of

__all__ = ["Call", "Dialect", "NoEqual", "Operand", "dialect", "function_key"]

_DIALECTS = {
    "jax": "minpy.frameworks.jax_rows",
    "pytensor": "minpy.frameworks.pytensor_rows",
    "torch": "minpy.frameworks.torch_rows",
}


@dataclass(frozen=True)
class Dialect:
    """How a framework writes what NumPy does.

    Parameters
    ----------
    name : str
        'torch', 'jax' or 'pytensor'.
    rows : mapping
        By the name of a function of NumPy's (see `function_key`): `row(call, *arguments, **arguments)`, which returns
        the text of an expression, of a tuple for several outputs.
    scope : callable
        Returns the names that the source refers to, and what they are.
    cast : callable
        `cast(text, dtype)`: an expression in another dtype.
    array : callable
        `array(text, device)`: an expression of a constant of the scope; `device`: an expression of an array.
    full : callable
        `full(shape_text, value_text, dtype, device)`: an array of equal elements.
    counted : callable
        `counted(start_text, stop_text, dtype, device)`: whole numbers one after the other.
    constant : callable
        Returns what stands in the scope for an array of NumPy's.
    refused : mapping
        By dtype, why it cannot be an array there.
    """

    name: str
    rows: Mapping[str, Callable[..., str]]
    scope: Callable[[], dict[str, Any]]
    cast: Callable[[str, numpy.dtype], str]
    dtype: Callable[[numpy.dtype], str]
    array: Callable[[str, str], str]
    full: Callable[[str, str, numpy.dtype, str], str]
    counted: Callable[[str, str, numpy.dtype, str], str]
    constant: Callable[[numpy.ndarray], Any]
    refused: Mapping[str, str] = field(default_factory=dict)


def dialect(name: str) -> Dialect:
    """Return the dialect of a framework, 'torch', 'jax' or 'pytensor'."""
    module = _DIALECTS.get(name)
    if module is None:
        raise NotTraceableError(f"there is no dialect {name!r}; there are {', '.join(map(repr, sorted(_DIALECTS)))}.")
    made: Dialect = import_module(module).DIALECT
    return made


class Operand(NamedTuple):
    """An array in the source: its expression, shape and dtype, and its elements where it is a constant."""

    text: str
    shape: tuple[int, ...]
    dtype: numpy.dtype
    value: numpy.ndarray | None = None

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def real_dtype(self) -> numpy.dtype:
        """The dtype of the real part."""
        return numpy.zeros((), self.dtype).real.dtype


class NoEqual(Exception):
    """A framework has no equal of a call: the text says of what about it."""


def function_key(function: Any) -> str:
    """Return the name under which tables have a function of NumPy's, or one of captures'.

    >>> function_key(numpy.linalg.norm), function_key(numpy.add), function_key(numpy.add.reduce)
    ('linalg.norm', 'add', 'add.reduce')
    """
    owner = getattr(function, "__self__", None)
    if isinstance(owner, numpy.ufunc):
        return f"{owner.__name__}.{function.__name__}"
    row = row_of(function)
    if row is not None:
        return row.name
    if function is numpy.ndarray.flatten:
        return "flatten"
    return str(getattr(function, "__name__", type(function).__name__))


class Call:
    """One call as a row sees it, with what rows need to write it.

    `results`: the `ArraySpec` of each output. `several`: whether the function returns a tuple or list.
    """

    def __init__(self, source: Any, function: Any, results: Sequence[ArraySpec], several: bool) -> None:
        self.source = source
        self.function = function
        self.results = tuple(results)
        self.several = several

    @property
    def key(self) -> str:
        """The name under which tables have the function."""
        return function_key(self.function)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the (first) result."""
        return self.results[0].shape

    @property
    def result_dtype(self) -> numpy.dtype:
        """The dtype of the (first) result."""
        return self.results[0].dtype

    @property
    def device(self) -> str:
        """An expression of an array on the device where the result is to be."""
        return self.source.device

    def refuse(self, reason: str) -> NoEqual:
        """Return the exception to raise where there is no equal: `reason` completes 'it has no equal of ...'."""
        return NoEqual(reason)

    def dtype(self, dtype: Any) -> str:
        """Return the expression of a dtype."""
        return self.source.dtype(numpy.dtype(dtype))

    def spec(self, value: Any) -> ArraySpec:
        """Return the shape and dtype of an argument as NumPy would make an array of it."""
        if isinstance(value, Operand):
            return ArraySpec(value.shape, value.dtype)
        if isinstance(value, (list, tuple)):
            parts = [self.spec(part) for part in value]
            dtype = numpy.result_type(*(part.dtype for part in parts)) if parts else numpy.dtype(float)
            return ArraySpec((len(parts), *(parts[0].shape if parts else ())), dtype)
        array = numpy.asarray(value)
        return ArraySpec(array.shape, array.dtype)

    def text(self, value: Any, dtype: Any = None) -> str:
        """Return the expression of an argument: of an array in a dtype; of a number or a nest as it is written."""
        if isinstance(value, Operand):
            return value.text if dtype is None else self._cast(value, numpy.dtype(dtype))
        return self.source.literal(value, None if dtype is None else numpy.dtype(dtype))

    def array(self, value: Any, dtype: Any = None) -> str:
        """Return the expression of an argument as an array, in a dtype."""
        if isinstance(value, Operand):
            return self.text(value, dtype)
        if isinstance(value, (list, tuple)) and any(isinstance(part, Operand) for part in value):
            parts = [Operand(self.array(part, dtype), self.spec(part).shape, self.spec(value).dtype) for part in value]
            return self.emit(numpy.stack, (parts,), {}, self.spec(value)).text
        data = numpy.asarray(value) if dtype is None else numpy.asarray(value).astype(dtype)
        return self.source.constant(data).text

    def operand(self, text: str, shape: Sequence[int], dtype: Any) -> Operand:
        """Return an expression as an operand of further calls; it gets a name of its own."""
        return Operand(self.source.assign(text), tuple(shape), numpy.dtype(dtype))

    def emit(
        self, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], spec: ArraySpec | None = None
    ) -> Operand:
        """Write another call of a function of NumPy's first, and return its result."""
        if spec is None:
            samples = [
                numpy.ones((1,) * value.ndim, value.dtype) if isinstance(value, Operand) else value
                for value in arguments
            ]
            with numpy.errstate(all="ignore"):
                sample = numpy.asarray(function(*samples, **keywords))
            shape = numpy.broadcast_shapes(*(value.shape for value in arguments if isinstance(value, Operand)))
            spec = ArraySpec(shape, sample.dtype)
        (text,) = self.source.call_texts(function, list(arguments), dict(keywords), [spec], False)
        return Operand(text, spec.shape, spec.dtype)

    def loop(self, operands: Sequence[Any], dtype: Any = None) -> list[numpy.dtype]:
        """Return the dtypes in which a ufunc takes its operands and gives its results."""
        ufunc = self.function if isinstance(self.function, numpy.ufunc) else numpy.power
        kinds: list[Any] = []
        for value in operands:
            if isinstance(value, (Operand, numpy.generic)):
                kinds.append(value.dtype)
            elif type(value) in (int, float, complex):
                kinds.append(type(value))
            else:
                kinds.append(numpy.asarray(value).dtype)
        results = [None if dtype is None else numpy.dtype(dtype)] * ufunc.nout
        if dtype is not None:  # it names the loop, which the operands are cast to
            return [numpy.dtype(dtype)] * ufunc.nin + results
        return list(ufunc.resolve_dtypes((*kinds, *results)))

    def _cast(self, operand: Operand, dtype: numpy.dtype) -> str:
        if operand.dtype == dtype:
            return operand.text
        self.source.require(dtype)
        return self.source.dialect.cast(operand.text, dtype)
