"""NumPy's protocols: `numpy.*`, `autograd.numpy.*` and SciPy functions called on arrays of the tape.

A function that is an operator here runs as that operator. Any other is looked up among autograd's functions, and
recorded as one node. What neither knows is an error on a recorded array, never a silent constant.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy

from minpy.bridge.arrival import await_autograd, register_array
from minpy.bridge.hips_boxes import is_box
from minpy.bridge.orders import ORDERED, in_known_order
from minpy.bridge.sequence_arguments import has_lists, with_arrays
from minpy.bridge.writers import WRITERS, target_of, write
from minpy.core.array import Array
from minpy.core.buffers import memory_of, note_external, note_write
from minpy.core.errors import ArgumentError, MutationError, NoGradientError, ShapeError, describe
from minpy.core.state import state
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.numpy_table.table import row_of
from minpy.ops.registry import FUNCTIONS

__all__ = ["PRECEDING", "NumPyProtocols", "autograd_version", "call_function"]


_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    numpy.add: numpy.sum,
    numpy.multiply: numpy.prod,
    numpy.maximum: numpy.max,
    numpy.minimum: numpy.min,
    numpy.logical_and: numpy.all,
    numpy.logical_or: numpy.any,
}
_ACCUMULATIONS: dict[Any, Callable[..., Any]] = {numpy.add: numpy.cumsum, numpy.multiply: numpy.cumprod}

# What a recorded call may leave to the forward function alone, at these values.
_DEFAULTS = {
    "where": (True,),
    "order": ("K",),
    "casting": ("same_kind",),
    "subok": (True,),
    "initial": (vars(numpy)["_NoValue"],),
}


# `numpy.float32(2) > x` does not ask for the array's method: it calls the ufunc, with an array without axes.
_REFLECTED: dict[Any, Callable[[Any, Any], Any]] = {
    numpy.equal: operator.eq,
    numpy.not_equal: operator.ne,
    numpy.greater: operator.lt,
    numpy.greater_equal: operator.le,
    numpy.less: operator.gt,
    numpy.less_equal: operator.ge,
}


# Classes in the place of arrays that answer calls in which they meet arrays.
PRECEDING: set[type] = set()


class NumPyProtocols(Array):
    """`Array` with `__array_ufunc__`, `__array_function__`, `__array__` and DLPack."""

    __slots__ = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        register_array(cls)

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if PRECEDING and not PRECEDING.isdisjoint(map(type, inputs)):
            return NotImplemented
        outs = keywords.pop("out", None)
        name = f"numpy.{ufunc.__name__}" if method == "__call__" else f"numpy.{ufunc.__name__}.{method}"
        if method == "at":
            return _change(name, ufunc.at, inputs, {})
        if not _is_recorded((inputs, keywords, outs)):
            if outs is not None:
                return _call_into(name, getattr(ufunc, method), inputs, keywords, outs)
        elif keywords:
            keywords = _without_defaults(name, keywords)
        if method == "__call__":
            is_scalar = type(inputs[0]) is numpy.ndarray and not inputs[0].ndim
            if is_scalar and ufunc in _REFLECTED and not keywords and outs is None:
                return _REFLECTED[ufunc](inputs[1], inputs[0][()])
            if "dtype" in keywords and _is_recorded(inputs):
                dtype = keywords.pop("dtype")
                inputs = tuple(value.astype(dtype) if isinstance(value, Array) else value for value in inputs)
            own = FUNCTIONS.get(ufunc) if not keywords and not _complex_absolute(ufunc, inputs) else None
            result = own(*inputs) if own is not None else call_function(ufunc, inputs, keywords)
        elif method == "reduce" and ufunc in _REDUCTIONS:
            array, axis = inputs[0], keywords.pop("axis", inputs[1] if len(inputs) > 1 else 0)
            keywords = {key: value for key, value in keywords.items() if value is not None}
            result = _REDUCTIONS[ufunc](array, axis=axis, **keywords)
        elif method == "accumulate" and ufunc in _ACCUMULATIONS:
            result = _ACCUMULATIONS[ufunc](*inputs, **{"axis": 0, **keywords} if len(inputs) < 2 else keywords)
        elif method == "outer":
            x, y = inputs
            result = ufunc(numpy.reshape(x, (*numpy.shape(x), *(1,) * numpy.ndim(y))), y, **keywords)
        else:
            result = call_function(getattr(ufunc, method), inputs, keywords, name)
        return result if outs is None else _write_outs(name, result, outs)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if len(types) > 1 and not PRECEDING.isdisjoint(types):
            return NotImplemented
        name = f"{function.__module__}.{function.__name__}"
        if has_lists(arguments, keywords):
            arguments, keywords = with_arrays(function, arguments, keywords)
        if function in WRITERS:
            return _change(name, function, arguments, keywords)
        keywords = dict(keywords)
        if isinstance(keywords.get("dtype"), str):
            keywords["dtype"] = numpy.dtype(keywords["dtype"])
        if type(keywords.get("axis")) is list:  # which MXNet's functions take, and NumPy's do not
            keywords["axis"] = tuple(keywords["axis"])
        elif len(arguments) > 1 and type(arguments[1]) is list and _has_axis_second(function):
            arguments = (arguments[0], tuple(arguments[1]), *arguments[2:])
        out = keywords.pop("out", None)
        recorded = _is_recorded((arguments, keywords, out))
        if out is not None and not recorded:
            return _call_into(name, function, arguments, keywords, out)
        if recorded and function in ORDERED:
            arguments, keywords = in_known_order(function, arguments, keywords)
        own = FUNCTIONS.get(function)
        if recorded and keywords and not (own is not None and keywords.keys() <= _accepted(own)):
            keywords = _without_defaults(name, keywords)
        if own is not None and keywords.keys() <= _accepted(own):
            result = own(*arguments, **keywords)
        else:
            result = call_function(function, arguments, keywords, name)
        return result if out is None else _write_outs(name, result, out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        if self._node is not None and state.recording:
            raise NoGradientError(
                f"a recorded array ({describe(self._data)}) was converted to a NumPy array inside autograd.record(), "
                "by a function that knows nothing of gradients. Convert it explicitly with x.asnumpy() or "
                "x.detach() if no gradient shall flow; of several arrays, make one with numpy.stack or "
                "numpy.concatenate; or write the function as an operator with @customop('numpy')."
            )
        data = self._data if dtype is None else self._data.astype(dtype, copy=False)
        if copy is False:
            note_external(data)
            return data
        return data.copy()

    def view(self, kind: Any = None) -> Any:
        """Return the array itself, for `x.view(numpy.ndarray)`: what functions for array subclasses ask.

        Raises
        ------
        ArgumentError
            For a dtype: bytes read as another type have no gradient. `astype` converts.
        """
        if kind is None or kind is numpy.ndarray or kind is type(self):
            return self
        raise ArgumentError(f"view({kind!r}): arrays are not reinterpreted. Use astype, or x.asnumpy().view({kind!r}).")

    def __dlpack__(self, **keywords: Any) -> Any:
        """Return the buffer as a DLPack capsule, without copying. `backward` sees no later write through it."""
        note_write(self._data).external = True  # whoever takes it may write: now, as far as we know
        return self._data.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and number: the CPU."""
        return self._data.__dlpack_device__()


def _has_axis_second(function: Any) -> bool:
    """Tell whether the second argument of a function is an axis, or several."""
    row = row_of(function)
    return row is not None and (row.kind == "reduce" or function is numpy.squeeze)


def _is_recorded(values: Any) -> bool:
    """Tell whether the thread records, and something in a nest needs a gradient."""
    if not state.recording:
        return False
    return any(array._node is not None for array in _arrays_in(values))


def _complex_absolute(ufunc: numpy.ufunc, inputs: Any) -> bool:
    return ufunc is numpy.absolute and isinstance(inputs[0], Array) and inputs[0]._data.dtype.kind == "c"


def _without_defaults(name: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a recorded call without those that say nothing; some others have no gradient."""
    options = {}
    for key, value in keywords.items():
        if key == "dtype" and value is None:
            continue
        if key not in _DEFAULTS or (key == "order" and value in (None, "K", "C")):
            options[key] = value
        elif not any(value is default or value == default for default in _DEFAULTS[key] if not hasattr(value, "shape")):
            raise NoGradientError(
                f"{name} has no gradient with {key}=, and was called on a recorded array. "
                + (
                    "Select with numpy.where(mask, x, y) instead."
                    if key == "where"
                    else "Leave it out, or call it on x.detach() if no gradient shall flow."
                )
            )
    return options


def _change(name: str, function: Any, arguments: Any, keywords: Any) -> None:
    """Call a function that changes its first argument in place."""
    target = target_of(function, arguments, keywords)
    if _is_recorded((arguments, keywords)):
        if function in WRITERS and isinstance(target, Array):
            write(function, arguments, keywords)
            return
        raise MutationError(
            f"{name} changes {'an array of NumPy' if function in WRITERS else 'an array'} in place, which cannot be "
            "recorded. Write it with operators that return new arrays (numpy.where, x[...] = value on a copy), or as "
            "a @customop('numpy')."
        )
    replaces = function is numpy.copyto and "where" not in keywords
    if not replaces:
        _refuse_part(name, target)
    function(*_unwrapped(tuple(arguments)), **_unwrapped(dict(keywords)))
    if isinstance(target, Array):
        target._changed(replaces=replaces)


def _refuse_part(name: str, target: Any) -> None:
    """Raise if a write into an unknown part of an array would have to be recorded, as others on its memory are."""
    if state.recording and isinstance(target, Array) and memory_of(target._data).taped:
        raise MutationError(
            f"{name} changes memory in place that a recorded array shares, which cannot be recorded. Write "
            "x[...] = value, or into a copy (x = x.copy())."
        )


def _call_into(name: str, function: Any, arguments: Any, keywords: Any, outs: Any) -> Any:
    """Make a call that is not recorded, and whose result goes into the arrays given as `out`."""
    targets = outs if isinstance(outs, tuple) else (outs,)
    if "where" in keywords:
        for target in targets:
            _refuse_part(name, target)
    function(*_unwrapped(tuple(arguments)), **_unwrapped(dict(keywords)), out=_unwrapped(outs))
    for target in targets:
        if isinstance(target, Array):
            target._changed(replaces="where" not in keywords)
    return outs[0] if isinstance(outs, tuple) and len(outs) == 1 else outs


def _accepted(function: Any) -> Any:
    """Return the names of the parameters of an operator, or of a function of ours."""
    signature = getattr(function, "signature", None)
    if signature is None:
        code = function.__code__
        return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return {*signature.inputs, *signature.attributes}


def _unwrapped(value: Any) -> Any:
    """Return a value, or a nest of lists, tuples and dicts of them, with buffers in place of arrays."""
    return map_tree(lambda leaf, _: leaf._data if isinstance(leaf, Array) else leaf, value)


def _copied(value: Any) -> Any:
    """Return a nest with copies of its NumPy arrays, which their owner may write to before the gradient is taken."""
    return map_tree(lambda leaf, _: leaf.copy() if type(leaf) is numpy.ndarray else leaf, value)


def _arrays_in(*values: Any) -> list[Array]:
    return [leaf for leaf in leaves_of(values) if isinstance(leaf, Array)]


def _has_box(value: Any) -> bool:
    return any(map(is_box, leaves_of(value)))


def call_function(function: Any, arguments: Any, keywords: dict[str, Any], name: str | None = None) -> Any:
    """Call a NumPy or SciPy function that is no operator of ours, on arguments with `Array`s among them.

    Raises a NoGradientError if the call is recorded, and autograd has no version of the function.
    """
    from minpy.bridge.hips import no_gradient, wrap_result  # it imports autograd

    name = name or _full_name(function)
    arrays = _arrays_in(arguments, keywords)
    recorded = state.recording and any(array._node is not None for array in arrays)
    boxed = _has_box((tuple(arguments), keywords))
    row = row_of(function)
    if row is not None and row.gradient == "zero" and row.kind != "ufunc":
        return wrap_result(function(*_unwrapped(tuple(arguments)), **_unwrapped(keywords)), arrays)
    target = function
    if recorded or boxed:
        target = autograd_version(function)
        if target is None:
            raise no_gradient(name)
    return call_version(name, target, function, arguments, keywords)


def call_version(name: str, target: Any, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Call a function written for HIPS autograd on arguments with `Array`s among them; `function`: what it stands for.

    Raises a NoGradientError if the call is recorded, and autograd has no rule for it.
    """
    from minpy.bridge.hips import call_through_autograd  # it imports autograd

    arrays = _arrays_in(arguments, keywords)
    recorded = state.recording and any(array._node is not None for array in arrays)
    boxed = _has_box((tuple(arguments), keywords))
    if recorded and boxed:
        raise ArgumentError(
            f"{name}: an argument is traced by HIPS autograd and another is recorded by minpy.autograd; one call "
            "can follow one of them. Use .detach() on the recorded array."
        )
    if (recorded or boxed) and getattr(target, "_is_autograd_primitive", False):
        arguments, keywords = _by_position(name, function, arguments, keywords)
        arrays = _arrays_in(arguments)
    if recorded:
        arguments, keywords = _copied(tuple(arguments)), _copied(keywords)
    if boxed:
        return target(*_unwrapped(tuple(arguments)), **_unwrapped(keywords))

    def flat(*values: Any) -> Any:
        remaining = iter(values)
        call = (tuple(arguments), keywords)
        positional, named = map_tree(lambda leaf, _: next(remaining) if isinstance(leaf, Array) else leaf, call)
        return target(*positional, **named)

    return call_through_autograd(name, flat, arrays)


def _by_position(name: str, function: Any, arguments: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of a call of one of autograd's primitives with the arrays among them by position.

    It does not look for traced values among keywords, nor in lists.
    """
    from minpy.bridge.hips import no_gradient

    if any(_nested(value) for value in (*arguments, *keywords.values())):
        raise no_gradient(name, " of arrays in a list")
    last = max((key for key, value in keywords.items() if isinstance(value, Array) or is_box(value)), default=None)
    if last is None:
        return arguments, keywords
    keywords = dict(keywords)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        raise no_gradient(name, f" with an array as the keyword {last}=") from None
    positional = list(arguments)
    for parameter in parameters[len(arguments) :]:
        if not any(isinstance(value, Array) or is_box(value) for value in keywords.values()):
            break
        if parameter.kind is parameter.KEYWORD_ONLY or (
            parameter.name not in keywords and parameter.default is parameter.empty
        ):
            raise no_gradient(name, f" with an array as the keyword {last}=")
        positional.append(keywords.pop(parameter.name, parameter.default))
    return tuple(positional), keywords


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict)) and (bool(_arrays_in(value)) or _has_box(value))


def _full_name(function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    module = getattr(function, "__module__", None)
    if isinstance(function, numpy.ufunc):
        module = "numpy" if getattr(numpy, name, None) is function else _scipy_special(function)
    return f"{module}.{name}" if module else name


def _scipy_special(ufunc: numpy.ufunc) -> str | None:
    special = sys.modules.get("scipy.special")
    return "scipy.special" if getattr(special, ufunc.__name__, None) is ufunc else None


def autograd_version(function: Any) -> Callable[..., Any] | None:
    """Return autograd's version of a NumPy or SciPy function, or None."""
    import autograd.numpy
    from autograd.tracer import trace_primitives_map

    from minpy.bridge.moving_gradients import COMPOSITIONS

    if function in COMPOSITIONS:
        return COMPOSITIONS[function]
    package, _, path = _full_name(function).partition(".")
    if package == "numpy":
        place: Any = autograd.numpy
        for part in path.split("."):
            place = getattr(place, part, None)
        if callable(place) and place is not function:
            return place
    elif package == "scipy":
        try:
            importlib.import_module("autograd." + package + "." + path.split(".")[0])
        except ImportError:
            return None
    return trace_primitives_map.get(function)


def _write_outs(name: str, result: Any, outs: Any) -> Any:
    """Write a recorded call's result(s) into the array(s) given as `out`."""
    outs = outs if isinstance(outs, tuple) else (outs,)
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(outs):
        raise ArgumentError(
            f"{name}: out has {len(outs)} array(s), the call returns {len(results)}; give one for each, or None."
        )
    for value, out in zip(results, outs, strict=True):
        if out is None:
            continue
        if out.shape != value._data.shape:
            raise ShapeError(
                f"{name}: out has shape {out.shape}, the result has {value._data.shape}; they must be equal."
            )
        if isinstance(out, Array):
            out._receive(value._data, value._node)
        elif value._node is not None:
            raise MutationError(f"{name}: out= is a NumPy array, but the result is recorded. Use the returned array.")
        else:
            numpy.copyto(out, value._data, casting="same_kind")
    return outs[0] if len(outs) == 1 else outs


await_autograd()
