"""What NumPy's functions are among steps: which kind, which of their arguments may be traced, and what shape comes out.

A function that is an operator (`minpy.ops.registry.FUNCTIONS`) becomes a node of that operator. What is not listed here
is not traced.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture.facts import VALUE_BASED, Fact, fact_of, tiny
from minpy.capture.noting import (
    FUNCTION_HANDLERS,
    constant,
    is_known,
    known_of,
    operand,
    require_order,
    steps_of,
)
from minpy.capture.recorder import Recorder
from minpy.capture.storage import require_apart, require_writable, store, store_all
from minpy.capture.values import Traced
from minpy.core.operator import Operator
from minpy.differentiation.trees import leaves_of
from minpy.ops.registry import FUNCTIONS

__all__ = ["changed", "filled", "full_like"]

# By kind, with the number of their first arguments that may be traced.
_ELEMENTWISE = {
    1: "angle around fix i0 imag isneginf isposinf nan_to_num real round sinc",
    2: "isclose",
    3: "clip select",
}
_VIEWS = (
    "array_split atleast_1d atleast_2d atleast_3d broadcast_to diag diagonal dsplit expand_dims flip fliplr flipud "
    "hsplit matrix_transpose moveaxis permute_dims ravel reshape rollaxis rot90 split squeeze swapaxes transpose vsplit"
)
_REDUCTIONS = (
    "all amax amin any argmax argmin max mean median min nanargmax nanargmin nanmax nanmean nanmedian "
    "nanmin nanprod nanstd nansum nanvar prod ptp std sum var"
)
_ACCUMULATIONS = "cumprod cumsum nancumprod nancumsum"
_PRODUCTS = {2: "dot inner tensordot vdot vecdot"}
_CALLS = {
    1: "argpartition argsort block column_stack concatenate corrcoef cov delete diagflat diff dstack fft.fft fft.fft2 "
    "fft.fftn fft.fftshift fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.irfft fft.rfft gradient hstack "
    "linalg.cholesky linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_power linalg.multi_dot "
    "linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.svd nanpercentile nanquantile pad partition percentile "
    "quantile repeat roll row_stack sort stack tile trace tril triu unwrap vander vstack",
    2: "append convolve correlate cross digitize kron linalg.solve outer polyval searchsorted take take_along_axis "
    "trapezoid trapz",
    3: "average interp",
}
_WRITERS = "copyto fill_diagonal place put put_along_axis putmask"
_LIKE = "empty_like full_like ones_like zeros_like"
_STRUCTURE = "iscomplexobj isrealobj ndim result_type shape size"
_SHAPES_DEPEND_ON_VALUES = "argwhere bincount compress extract flatnonzero nonzero trim_zeros union1d unique"

# The parameters of functions that `inspect` cannot read.
_PARAMETERS = {
    "concatenate": "arrays axis out dtype casting",
    "copyto": "dst src casting where",
    "dot": "a b out",
    "empty_like": "prototype dtype order subok shape",
    "inner": "a b",
    "putmask": "a mask values",
    "vdot": "a b",
    "where": "condition x y",
}
_NO_VALUE = vars(numpy)["_NoValue"]


@functools.lru_cache(None)
def _signature(function: Any) -> inspect.Signature:
    known = _PARAMETERS.get(function.__name__)
    if known is None:
        return inspect.signature(function)
    return inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=_NO_VALUE) for name in known.split()]
    )


def _bound(function: Any, arguments: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, without those that are not given or given as their default."""
    signature = _signature(function)
    given = dict(signature.bind(*arguments, **keywords).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(given.pop(name, {}))
    return {
        name: value
        for name, value in given.items()
        if value is not _NO_VALUE
        and not (name in signature.parameters and _is_default(value, signature.parameters[name].default))
    }


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and type(value) in (int, str, bool) and value == default)


def _prepared(
    recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any], traced: int
) -> tuple[dict[str, Any], Any]:
    """Return (arguments by name, `out`); only the first `traced` parameters may hold what is traced."""
    named = _bound(function, arguments, keywords)
    out = named.pop("out", None)
    if named.get("copy") is False or named.get("overwrite_input"):
        raise recorder.refuse(f"{function.__name__} changes an array in place")
    if function in (numpy.ravel, numpy.reshape):
        require_order(recorder, function.__name__, named.get("order", "C"))
    for position, name in enumerate(_signature(function).parameters):
        if name in named and position >= traced:
            for value in leaves_of(named[name]):
                if not is_known(value):
                    raise recorder.refuse(f"{function.__name__} with an array as {name}= is not traced")
            named[name] = _plain(named[name])
            if callable(named[name]) and not isinstance(named[name], type):
                raise recorder.refuse(f"{function.__name__} calls a function: {name}=")
    return named, out


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value)) if isinstance(value, list) else tuple(map(_plain, value))
    return known_of(value)


def _split(function: Any, named: dict[str, Any], traced: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return (arguments by position, by keyword): the first `traced` are by position, if none before is missing."""
    positional: list[Any] = []
    rest = dict(named)
    for name, parameter in list(_signature(function).parameters.items())[:traced]:
        if name not in rest:
            break
        value = rest.pop(name)
        positional += value if parameter.kind is parameter.VAR_POSITIONAL else [value]
    return tuple(positional), rest


def _operator_of(
    recorder: Recorder, function: Any, named: dict[str, Any]
) -> tuple[Operator, list[Any], dict[str, Any]] | None:
    """Return (operator, inputs, attributes) if the call is one of an operator."""
    operator = FUNCTIONS.get(function)
    if not isinstance(operator, Operator) or operator.keeps_dtype:
        return None
    if recorder.of_user and function in (numpy.sum, numpy.mean):  # ours lose fewer digits
        return None
    names = operator.signature.inputs[: len([name for name in operator.signature.inputs if name in named])]
    attributes = {name: value for name, value in named.items() if name not in names}
    inputs = [named.get(name) for name in names]
    if attributes.keys() - operator.signature.attributes.keys():
        return None
    if any(value is None or type(value) in (list, tuple) for value in inputs):
        return None
    return operator, inputs, attributes


def _handler(kind: str, traced: int) -> Callable[..., Any]:
    def handle(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        named, out = _prepared(recorder, function, arguments, keywords, traced)
        positional, rest = _split(function, named, traced)
        result = steps_of(recorder, function, positional, rest, kind, operator=_operator_of(recorder, function, named))
        return result if out is None else store_all(recorder, out, result)

    return handle


def _where(recorder: Recorder, function: Any, *arguments: Any) -> Any:
    if len(arguments[0]) == 1:
        return _depends_on_values(recorder, numpy.nonzero)
    return _handler("elementwise", 3)(recorder, function, *arguments)


def _copy(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """A copy of what is no view needs no step: nothing is ever written to."""
    array = arguments[0]
    if not isinstance(array, Traced) or array.is_view or array.scalar or array.known is not None:
        return _handler("elementwise", 1)(recorder, function, arguments, keywords)
    return recorder.stand_in(recorder, array.value, array.fact)


def _accumulate(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    named, out = _prepared(recorder, function, arguments, keywords, 1)
    positional, rest = _split(function, named, 1)
    (array,) = positional
    found = fact_of(function(tiny(array), **rest))
    shape = (array.size,) if rest.get("axis") is None or not array.shape else array.shape
    fact = Fact(shape, found.dtype, False)
    result = steps_of(recorder, function, positional, rest, "call", fact)
    return result if out is None else store_all(recorder, out, result)


def _einsum(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    out = keywords.pop("out", None)
    if not arguments or not isinstance(arguments[0], str):
        raise recorder.refuse("numpy.einsum without a string of subscripts is not traced")
    operands = [operand(recorder, value) for value in arguments[1:]]
    kind = "product" if len(operands) > 1 else "view"  # of one array it may be a view
    result = steps_of(recorder, function, (arguments[0], *operands), keywords, kind)
    return result if out is None else store_all(recorder, out, result)


def _write(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> None:
    """Answer a function that changes its first argument: another one of its kind is made."""
    target, *rest = arguments or [keywords.pop("dst", None)]
    if not isinstance(target, Traced):
        raise recorder.refuse(f"numpy.{function.__name__} changes an array that is not traced")
    require_writable(target)
    if function is not numpy.copyto:
        require_apart(target, (rest, keywords))
    store(target, steps_of(recorder, changed, (function, target, tuple(rest), keywords), {}, "call", target.fact))


def changed(function: Any, target: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return a copy of an array after a function that changes its first argument."""
    target = numpy.array(target)
    function(target, *arguments, **keywords)
    return target


def _like(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    named = _bound(function, arguments, keywords)
    array = next(iter(named.values()))
    shape = named.get("shape", array.shape)
    dtype = numpy.dtype(named.get("dtype") or array.dtype)
    if function is numpy.full_like:
        value = named["fill_value"]
        if not is_known(value):
            return full_like(recorder, value, shape, dtype)
        return constant(recorder, numpy.full(shape, known_of(value), dtype))
    return constant(recorder, (numpy.ones if function is numpy.ones_like else numpy.zeros)(shape, dtype))


def full_like(recorder: Recorder, value: Any, shape: Any, dtype: Any) -> Any:
    """Return an array that is filled with a value which is traced."""
    return steps_of(recorder, filled, (value, tuple(shape), dtype), {}, "call", Fact(tuple(shape), dtype, False))


def filled(value: Any, shape: Any, dtype: Any) -> Any:
    """Return `numpy.full`, with its arguments in another order."""
    return numpy.full(shape, value, dtype)


def _structure(recorder: Recorder, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    if function is numpy.result_type:
        if VALUE_BASED and any(not is_known(one) and not one.shape for one in arguments):
            raise recorder.refuse("the dtype of the answer depends on a value: NumPy 2 looks at dtypes only")
        return numpy.result_type(*(known_of(one) if is_known(one) else tiny(one) for one in arguments))
    (array, *rest) = arguments
    if function is numpy.size and rest:
        return array.shape[rest[0]]
    if function in (numpy.shape, numpy.ndim, numpy.size):
        return getattr(array, function.__name__)
    return (array.dtype.kind == "c") is (function is numpy.iscomplexobj)


def _depends_on_values(recorder: Recorder, function: Any, *_: Any) -> Any:
    raise recorder.refuse(f"the shape of numpy.{function.__name__}'s answer depends on values")


def _named(names: str) -> list[Any]:
    """Return the functions of these names that this NumPy has."""
    found = []
    for name in names.split():
        place: Any = numpy
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is not None:
            found.append(place)
    return found


def _register(handler: Callable[..., Any], names: str) -> None:
    FUNCTION_HANDLERS.update(dict.fromkeys(_named(names), handler))


for _kind, _lists in (("elementwise", _ELEMENTWISE), ("product", _PRODUCTS), ("call", _CALLS)):
    for _count, _names in _lists.items():
        _register(_handler(_kind, _count), _names)
_register(_handler("view", 1), _VIEWS)
_register(_handler("reduce", 1), _REDUCTIONS)
for _function, _names in (
    (_accumulate, _ACCUMULATIONS),
    (_copy, "copy"),
    (_depends_on_values, _SHAPES_DEPEND_ON_VALUES),
    (_einsum, "einsum"),
    (_like, _LIKE),
    (_structure, _STRUCTURE),
    (_where, "where"),
    (_write, _WRITERS),
):
    _register(_function, _names)
