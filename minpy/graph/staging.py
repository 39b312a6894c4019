"""Gradient rules staged into graphs: run on stand-ins that know shape and dtype, and note what is computed.

A rule is plain NumPy, so its ufuncs and arithmetic become nodes like any other, which are merged, planned and run
without its Python. Whatever else a rule does (it asks for values, or calls other functions) makes it opaque: it is then
one node, which calls the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from minpy.core.operator import Operator
from minpy.graph.ir import CONSTANT, Value
from minpy.graph.lowering import Builder
from minpy.ops.registry import FUNCTIONS

__all__ = ["Opaque", "Staged", "stage"]


class Opaque(Exception):
    """What a rule does cannot be noted as nodes."""


class Staged(numpy.lib.mixins.NDArrayOperatorsMixin):
    """A stand-in for an array: a value of a graph, with its shape and dtype."""

    __slots__ = ("builder", "dtype", "shape", "value")

    def __init__(self, builder: Builder, value: Value, shape: tuple[int, ...], dtype: numpy.dtype) -> None:
        self.builder = builder
        self.value = value
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise Opaque("a length of a scalar")
        return self.shape[0]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.nout != 1 or ufunc.signature is not None:
            raise Opaque(f"{ufunc.__name__}.{method}")
        return _call(self.builder, ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is numpy.shape:
            return self.shape
        if function is numpy.ndim:
            return self.ndim
        raise Opaque(function.__name__)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Opaque("the values are asked for")

    def __bool__(self) -> bool:
        raise Opaque("a choice depends on values")

    def __getattr__(self, name: str) -> Any:
        raise Opaque(f"its {name} is asked for")


@lru_cache(None)
def _ufunc_operator(ufunc: Any, of_floats: bool) -> Operator:
    known = FUNCTIONS.get(ufunc)
    # Of integers and booleans MXNet's operators do not answer as NumPy does, and rules are NumPy.
    if isinstance(known, Operator) and known.forward is ufunc and of_floats:
        return known
    return Operator(ufunc, name=ufunc.__name__, builtin=True)


def _call(builder: Builder, ufunc: Any, inputs: Sequence[Any]) -> Staged:
    values: list[Value] = []
    samples: list[Any] = []
    shapes: list[tuple[int, ...]] = []
    for value in inputs:
        if isinstance(value, Staged):
            values.append(value.value)
            samples.append(numpy.ones((1,) * value.ndim, value.dtype))
            shapes.append(value.shape)
        elif isinstance(value, (bool, int, float, complex, numpy.generic)):
            values.append(Value(builder.node(CONSTANT, (), {"value": value}, repr(value))))
            samples.append(value)
            shapes.append(())
        else:
            raise Opaque(f"an operand is a {type(value).__name__}")
    with numpy.errstate(all="ignore"):
        dtype = numpy.asarray(ufunc(*samples)).dtype
    name = f"{ufunc.__name__}_{len(builder.created)}"
    of_floats = all(sample.dtype.kind in "fc" for sample in samples if isinstance(sample, numpy.ndarray))
    node = builder.node(_ufunc_operator(ufunc, of_floats), values, {}, name)
    return Staged(builder, Value(node), numpy.broadcast_shapes(*shapes), dtype)


def stage(
    rule: Any, answer: Staged, arguments: Sequence[Staged], attributes: dict[str, Any], gradient: Staged
) -> Staged:
    """Return what a gradient rule computes, as a value of the graph.

    Raises
    ------
    Opaque
        If it does something that cannot be noted.
    """
    try:
        result = rule(answer, *arguments, **attributes)(gradient)
        if not isinstance(result, Staged):
            raise Opaque("the result is a constant")
    except Opaque:
        raise
    except Exception as error:  # whatever it is, it is raised again when the rule runs on arrays
        raise Opaque(str(error)) from error
    return result
