"""Functions of ours that captured functions may call: those of `minpy.np`, `minpy.npx` and `minpy.nd`.

They are no user's, so they run as they are on proxies, where they do nothing but call NumPy's functions and operators;
what they make of numbers alone is a constant.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture.fronts import as_front
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.noting import constant
from minpy.capture.proxy import ArrayProxy
from minpy.capture.scalars import pinned
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.core.operator import Operator
from minpy.differentiation.trees import leaves_of, map_tree

__all__ = ["proxy_of"]

# By module, the functions that make arrays, or only rearrange arguments.
_FUNCTIONS = {
    "minpy.context": "cpu cpu_pinned",
    "minpy.ndarray.creation": "array arange empty eye full linspace ones zeros",
    "minpy.ndarray.array_functions": "concatenate moveaxis split_v2",
    "minpy.numpy.mxnet_arguments": (
        "asarray_chkfinite ascontiguousarray full_like ones_like percentile quantile take zeros_like"
    ),
    "minpy.numpy.creation": (
        "arange array asanyarray asarray bartlett blackman empty eye full geomspace hamming hanning identity indices "
        "linspace logspace ones zeros"
    ),
    "minpy.numpy.restored": "alltrue in1d msort product round_ row_stack sometrue trapz",
    "minpy.numpy_extension.operator_functions": "reshape",
}
_KNOWN = {(module, name) for module, names in _FUNCTIONS.items() for name in names.split()}


def proxy_of(shadow: Any, function: Any, module: str) -> Callable[..., Any] | None:
    """Return the proxy of a function of ours; None if it is not known to be free of effects."""
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None and module in ("minpy.numpy", "minpy.numpy.fft", "minpy.numpy.linalg"):
        if type(wrapped) is types.FunctionType and str(wrapped.__module__).startswith("minpy."):
            return proxy_of(shadow, wrapped, wrapped.__module__)
        return functools.partial(_as_numpys, shadow, wrapped)
    if (module, function.__name__) in _KNOWN:
        return functools.partial(_as_it_is, shadow, function)
    if module.startswith("minpy.numpy_extension"):
        operator = _operator_of(function)
        if operator is not None and (shadow.recorder.draws or not (operator.random or operator.auxiliary)):
            return functools.partial(_as_operator, shadow, operator)
    return None


def _operator_of(function: Any) -> Any:
    """Return the operator that a function of `minpy.npx` calls."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    operator = cells["operator"].cell_contents if "operator" in cells else None
    return operator if isinstance(operator, Operator) else None


def _as_numpys(shadow: Any, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a function of NumPy's whose results are arrays of `minpy.np`."""
    result = shadow.shadow_of(function, getattr(function, "__name__", "a function"))(*arguments, **keywords)
    return as_front(shadow.recorder, result, FRONT_ENDS["numpy"])


def _as_operator(shadow: Any, operator: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call an operator as `minpy.npx` does: integers are computed with as NDArrays are."""
    recorder = shadow.recorder
    arrays = [value for value in leaves_of((arguments, keywords)) if isinstance(value, BaseArrayProxy)]
    if arrays and all(array.dtype.kind in "iub" for array in arrays):
        result = operator(*map(_as_nd, arguments), **keywords)
        result = map_tree(lambda leaf, _: leaf.inner if isinstance(leaf, NDArrayProxy) else leaf, result)
    elif arrays:
        result = operator(*arguments, **keywords)
    else:
        return _as_it_is(shadow, operator, *arguments, **keywords)
    result = as_front(recorder, result, FRONT_ENDS["numpy"])
    return list(result) if type(result) is tuple else result


def _as_nd(value: Any) -> Any:
    return NDArrayProxy(value) if isinstance(value, ArrayProxy) else value


def _as_it_is(shadow: Any, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a function of ours on proxies; or on what they are, if no input is among them."""
    recorder = shadow.recorder
    called_with = (arguments, keywords)
    arguments, keywords = pinned(arguments), pinned(keywords)
    leaves = [value.inner if isinstance(value, NDArrayProxy) else value for value in leaves_of((arguments, keywords))]
    if all(not isinstance(value, BaseArrayProxy) or value.known is not None for value in leaves):
        arguments, keywords = map_tree(lambda leaf, _: _plain(leaf), (arguments, keywords))
    is_numpys = str(getattr(function, "__module__", "")).startswith("minpy.numpy")

    def proxy(value: Any, _: Any) -> Any:
        if isinstance(value, (Array, numpy.ndarray)):
            array = constant(recorder, numpy.array(raw_of(value)))
            if type(value) is FRONT_ENDS["mxnet"]:
                return shadow.array(array)
            return as_front(recorder, array, FRONT_ENDS["numpy"]) if isinstance(value, Array) else array
        return as_front(recorder, value, FRONT_ENDS["numpy"]) if is_numpys else value

    return recorder.made(map_tree(proxy, function(*arguments, **keywords)), called_with)


def _plain(value: Any) -> Any:
    if isinstance(value, NDArrayProxy):
        return value.inner.known
    return value.known if isinstance(value, BaseArrayProxy) else value
