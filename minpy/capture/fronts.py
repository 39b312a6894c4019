"""Proxies of minpy's own array classes: a function of arrays of `minpy.np` gives one again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minpy.capture.recorder import Recorder
from minpy.capture.values import BaseArrayProxy, Storage
from minpy.differentiation.trees import leaves_of

__all__ = ["as_front", "fronted"]


def _fronts(values: Any) -> Iterator[Any]:
    for value in leaves_of(values):
        if isinstance(value, BaseArrayProxy) and value.front is not None:
            yield value.front


def fronted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of a proxy return the proxy of an array of `minpy.np`, if one of the arguments is such a proxy."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = method(self, *arguments, **keywords)
        front = next(_fronts((self, arguments, keywords)), None)
        if front is None:
            return result
        inputs = {id(value) for value in leaves_of((self, arguments, keywords))}
        return as_front(self.recorder, result, front, inputs)

    return call


def as_front(recorder: Recorder, result: Any, front: Any, inputs: Any = ()) -> Any:
    """Return a result with proxies of arrays of a class of ours, in the place of NumPy's; but for those in `inputs`."""
    if isinstance(result, (list, tuple)):
        parts = [as_front(recorder, part, front, inputs) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if not isinstance(result, BaseArrayProxy) or result.front is front or id(result) in inputs:
        return result
    fact = result.fact._replace(scalar=False)
    elements = None if result.known is None else numpy.asarray(result.known)
    if result.scalar:  # of our arrays, what has no axes is an array
        return recorder.proxy_class(
            recorder, result.value, fact, Storage(result.value, elements, fact), elements, (), front
        )
    return recorder.proxy_class(recorder, result.value, fact, result.storage, elements, result.chain, front)
