"""What stands for functions of ours in captured functions: of `mx.np`, `mx.npx`, `mx.nd` and `mx.autograd`.

Those of NumPy are NumPy's own on proxies; operators that draw, have states or act as in training become nodes as they
do of symbols; arrays that are made of numbers are made, and are constants.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from minpy import autograd, context, numpy_extension
from minpy import numpy as np
from minpy.capture import library
from minpy.capture.creation import CREATION
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.noting import constant, is_known, made, operand
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.steps import Slot
from minpy.capture.values import Traced
from minpy.capture.viewing import viewed
from minpy.context import Context
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.configured import OperatorFamily
from minpy.core.operator import Operator
from minpy.core.state import state
from minpy.core.switches import default_float
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.gluon.block.capturing import BlockCapture
from minpy.ndarray import creation as nd_creation
from minpy.numpy import arguments, linalg, random
from minpy.numpy import creation as np_creation
from minpy.ops.numpy.extension_names import OPERATOR_NAMES
from minpy.ops.registry import OPERATORS

__all__ = ["enter"]

_PROXIES = (Traced, NDArrayProxy)


@functools.lru_cache(None)
def enter() -> None:
    """Let captured functions call what is known here."""
    library.MODULES.update(
        f"minpy.{name}"
        for name in "autograd context numpy numpy.fft numpy.linalg numpy.random numpy_extension".split()  # noqa: SIM905
    )
    for space in (np, linalg, np.fft):
        wrapped = (value for value in vars(space).values() if callable(value) and "__wrapped__" in _own(value))
        library.register(_hashable(wrapped), _of_numpy)
    made = [getattr(np_creation, name) for name in np_creation.__all__]
    library.register(made, _made)
    library.register((getattr(nd_creation, name) for name in nd_creation.__all__), _made)
    for name in ("array", "asarray", "full"):
        library.register([getattr(np_creation, name)], functools.partial(_followed, getattr(numpy, name)))
    for name in ("full_like", "ones_like", "zeros_like"):
        library.register([getattr(arguments, name)], functools.partial(_like, getattr(numpy, name)))
    library.register([arguments.take], _taken)
    library.register((getattr(random, name) for name in random.__all__ if name not in ("seed", "shuffle")), _drawn)
    for name, kind in OPERATOR_NAMES.items():
        function = getattr(numpy_extension, name, None)
        if function is not None and kind in OPERATORS:
            library.register([function], functools.partial(_extension, OPERATORS[kind]))
    library.CLASSES[OperatorFamily] = _node
    library.register([Operator], lambda shadow, value, name: BlockCapture.of(shadow).computed)
    library.register([numpy_extension.reshape], _reshaped)
    library.register([autograd.is_training], functools.partial(_asked, True))
    library.register([autograd.is_recording], functools.partial(_asked, False))
    for name in ("pause", "predict_mode", "record", "train_mode"):
        library.register([getattr(autograd, name)], _scope)
    library.register([context.cpu, context.gpu, context.current_context], _as_it_is)
    library.CONSTANT_CLASSES.update([Context, type(OPERATORS)])
    library.MEMBERS.append(_member)


def _own(value: Any) -> dict[str, Any]:
    return getattr(value, "__dict__", {})


def _hashable(values: Any) -> list[Any]:
    return [value for value in values if getattr(type(value), "__hash__", None) is not None]


def _of_numpy(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return NumPy's function for the one of ours that answers with arrays of the tape."""
    function = shadow.known_function(value.__wrapped__, name)

    def call(*arguments: Any, **keywords: Any) -> Any:
        return function(*map(_inner, arguments), **{key: _inner(part) for key, part in keywords.items()})

    return call


def _inner(value: Any) -> Any:
    """Return a nest with proxies of NumPy's semantics in the place of those of MXNet's."""
    if type(value) in (list, tuple):
        return type(value)(map(_inner, value))
    return value.inner if isinstance(value, NDArrayProxy) else value


def _as_it_is(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    return value


def _holds_proxies(*values: Any) -> bool:
    return any(isinstance(leaf, _PROXIES) for leaf in leaves_of(values))


def _made(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return what makes arrays of numbers: they are made, and are constants of the graph."""

    def make(*arguments: Any, **keywords: Any) -> Any:
        if _holds_proxies(arguments, keywords):
            arguments, keywords = map_tree(_known, (arguments, keywords))
        return _constants(shadow, value(*arguments, **keywords), name)

    def _known(leaf: Any, _: Any) -> Any:
        if not isinstance(leaf, _PROXIES):
            return leaf
        if isinstance(leaf, NDArrayProxy) or not is_known(leaf):
            raise shadow.recorder.refuse(f"{name} of what depends on values")
        return leaf.known

    return make


def _constants(shadow: ShadowFunctions, answer: Any, name: str) -> Any:
    def proxied(leaf: Any, _: Any) -> Any:
        if not isinstance(leaf, Array):
            return leaf
        like = shadow.capture.like
        if like is not None and leaf.context != like.context:
            raise shadow.recorder.refuse(f"{name} makes an array on {leaf.context}")
        proxy = constant(shadow.recorder, leaf._data)
        return NDArrayProxy(proxy) if leaf._keeps_dtype else proxy

    return map_tree(proxied, answer)


def _followed(function: Any, shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return `array`, `asarray` or `full`, which may be given proxies."""
    plain = _made(shadow, value, name)

    def make(*arguments: Any, **keywords: Any) -> Any:
        if not _holds_proxies(arguments, keywords):
            return plain(*arguments, **keywords)
        place = keywords.pop("ctx", None)
        if place is not None and shadow.capture.like is not None and place != shadow.capture.like.context:
            raise shadow.recorder.refuse(f"{name} makes an array on {place}")
        source = arguments[-1 if function is numpy.full else 0] if arguments else None
        if function is not numpy.full and type(source) in (list, tuple) and keywords.get("dtype") is None:
            return operand(shadow.recorder, list(source)).astype(default_float())
        return CREATION[function](shadow.recorder, function, *arguments, **keywords)

    return make


def _like(function: Any, shadow: ShadowFunctions, value: Any, name: str) -> Any:
    def make(a: Any, *arguments: Any, ctx: Any = None, **keywords: Any) -> Any:
        if not isinstance(a, Traced) or ctx is not None or keywords.get("out") is not None:
            raise shadow.recorder.refuse(f"{name} with ctx= or out=, or of what is no array")
        return function(a, *arguments, **keywords)

    return make


def _taken(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise", out: Any = None) -> Any:
        if isinstance(indices, Traced) and indices.dtype.kind == "f":
            indices = indices.astype(numpy.int64)
        if out is not None:
            raise shadow.recorder.refuse(f"{name} with out=")
        return numpy.take(a, indices, axis=axis, mode=mode)

    return take


def _drawn(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return what becomes a node that draws, at every call of the graph."""
    return functools.partial(BlockCapture.of(shadow).drawn, value.__name__)


def _extension(operator: Any, shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return an operator of networks, on arrays with NumPy's semantics."""
    capture = BlockCapture.of(shadow)

    def call(*arguments: Any, **keywords: Any) -> Any:
        answer = capture.computed(operator, *arguments, **keywords)
        return list(answer) if type(answer) is tuple else answer

    return call


def _node(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return an operator of another kind, which becomes a node as it does of symbols."""
    return functools.partial(BlockCapture.of(shadow).computed, value)


def _reshaped(shadow: ShadowFunctions, value: Any, name: str) -> Callable[..., Any]:
    from minpy.ops.inference.numpy_reshaping import resolve_numpy_shape

    def reshape(a: Any, newshape: Any, reverse: bool = False, order: str = "C") -> Any:
        if order != "C":
            raise shadow.recorder.refuse(f"{name} with order={order!r}")
        return numpy.reshape(a, resolve_numpy_shape(a.shape, newshape, reverse))

    return reshape


def _asked(of_training: bool, shadow: ShadowFunctions, value: Any, name: str) -> Any:
    def ask() -> bool:
        capture = BlockCapture.of(shadow)
        if not capture.scopes:  # inside of one, that says it
            capture.note_modes(of_training, not of_training)
        return bool(value())

    return ask


class _Scope:
    """A scope of autograd's inside a captured function."""

    def __init__(self, capture: BlockCapture, scope: Any) -> None:
        self._capture, self._scope = capture, scope
        self._before = False

    def __enter__(self) -> None:
        recorder = self._capture.shadow.recorder
        self._scope.__enter__()
        self._capture.scopes += 1
        self._before, recorder.paused = recorder.paused, state.recording is False

    def __exit__(self, *error: Any) -> None:
        self._capture.scopes -= 1
        self._capture.shadow.recorder.paused = self._before
        self._scope.__exit__(*error)


def _scope(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    return lambda *arguments, **keywords: _Scope(BlockCapture.of(shadow), value(*arguments, **keywords))


# Methods of arrays that are composed of functions of arrays.
_COMPOSED = frozenset(
    [
        "broadcast_like",
        "broadcast_to",
        "dot",
        "expand_dims",
        "flatten",
        "one_hot",
        "pad",
        "slice",
        "slice_axis",
        "split",
        "swapaxes",
        "tile",
        "zeros_like",
        "ones_like",
        "T",
        "mT",
    ]
)


def _member(proxy: Any, name: str) -> Any:
    """Return a member of an array that NumPy's arrays do not have, for what stands in its place."""
    is_plain = isinstance(proxy, NDArrayProxy)
    inner = proxy.inner if is_plain else proxy
    capture = inner.recorder.capture
    place = None if capture is None or capture.like is None else capture.like.context
    if name in ("context", "ctx", "device"):
        return place
    if name in ("as_in_context", "as_in_ctx", "to_device"):
        return lambda other: proxy if other == place else _refuse_place(inner.recorder, other)
    if name == "detach":
        return lambda: NDArrayProxy(_detached(inner)) if is_plain else _detached(inner)
    if name == "as_np_ndarray":
        return lambda: inner
    if name == "as_nd_ndarray":
        return lambda: NDArrayProxy(inner if inner.ndim else inner.reshape((1,)))
    if name in _COMPOSED and not is_plain:
        member = inspect.getattr_static(FRONT_ENDS["numpy"], name, None)
        if isinstance(member, property) and member.fget is not None:
            return member.fget(proxy)
        if isinstance(member, types.FunctionType):
            return types.MethodType(member, proxy)
    return None


def _refuse_place(recorder: Any, place: Any) -> NoReturn:
    raise recorder.refuse(f"it moves an array to {place}")


def _detached(array: Any) -> Any:
    """Return an array through which no gradient goes, in the same memory."""
    node = array.recorder.node(OPERATORS["BlockGrad"], [array.value])
    found = made(array.recorder, node, array.fact._replace(scalar=False))
    return viewed(array.recorder, _same, ((Slot(0),), {}), [array], found)


def _same(array: Any) -> Any:
    return array[...]


_same.is_view_of_any = True  # type: ignore[attr-defined]
