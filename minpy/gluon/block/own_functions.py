"""Proxies for functions of ours in captured functions, beside those that are nothing but functions of NumPy's.

Operators that draw, have states or act as in training become nodes as they do of symbols; so do draws of
`mx.np.random`. Scopes of `mx.autograd` are entered, and noted.
"""

from __future__ import annotations

import inspect
import types
from functools import lru_cache, partial
from typing import Any

from minpy import autograd, context, numpy_extension
from minpy.capture import own_functions
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.shadow import ShadowFunctions
from minpy.context import Context
from minpy.core.array import FRONT_ENDS
from minpy.core.configured import OperatorFamily
from minpy.core.numpy_semantics import is_np_array, is_np_default_dtype, is_np_shape
from minpy.core.operator import Operator
from minpy.core.state import state
from minpy.custom.custom_call import Custom
from minpy.gluon.block.block_capture import BlockCapture
from minpy.numpy import random
from minpy.ops.numpy.extension_names import OPERATOR_NAMES
from minpy.ops.registry import OPERATORS

__all__ = ["enter"]

_SCOPES = ("pause", "predict_mode", "record", "train_mode")
# Methods of arrays that are composed of functions of arrays.
_COMPOSED = frozenset(
    "broadcast_like broadcast_to dot expand_dims flatten mT one_hot pad slice slice_axis split T tile".split()  # noqa: SIM905
)


@lru_cache(None)
def enter() -> None:
    """Let captured functions call what is known here."""
    own_functions.MODULES.update(
        ["minpy.autograd", "minpy.context", "minpy.gluon", "minpy.numpy.random", "minpy.symbol"]
    )
    draws = (getattr(random, name) for name in random.__all__ if name not in ("seed", "shuffle"))
    own_functions.register(draws, lambda shadow, value, name: partial(BlockCapture.of(shadow).drawn, value.__name__))
    for name, kind in OPERATOR_NAMES.items():
        function = getattr(numpy_extension, name, None)
        operator = OPERATORS[kind] if function is not None and kind in OPERATORS else None
        if operator is not None and (operator.random or operator.auxiliary or operator.uses_training):
            own_functions.register([function], partial(_extension, operator))
    own_functions.CLASSES[OperatorFamily] = _node
    own_functions.register([Custom], _node)
    own_functions.register([Operator], lambda shadow, value, name: BlockCapture.of(shadow).computed)
    own_functions.register([autograd.is_training], partial(_mode_question, True))
    own_functions.register([autograd.is_recording], partial(_mode_question, False))
    own_functions.register((getattr(autograd, name) for name in _SCOPES), _scope)
    own_functions.register([context.current_context], lambda shadow, value, name: BlockCapture.of(shadow).noted_context)
    switches = [is_np_array, is_np_shape, is_np_default_dtype]
    own_functions.register(switches, lambda shadow, value, name: value)  # which every entry guards
    own_functions.CONSTANT_CLASSES.update([Context, type(OPERATORS)])
    own_functions.MEMBERS.append(_member)


def _extension(operator: Any, shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return an operator of networks, on arrays with NumPy's semantics."""
    capture = BlockCapture.of(shadow)

    def call(*arguments: Any, **keywords: Any) -> Any:
        outputs = capture.computed(operator, *arguments, **keywords)
        return list(outputs) if type(outputs) is tuple else outputs

    return call


def _node(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return an operator of another kind, which becomes a node as it does of symbols."""
    return partial(BlockCapture.of(shadow).computed, value)


# -- autograd ----------------------------------------------------------------------------------------------------------


def _mode_question(of_training: bool, shadow: ShadowFunctions, value: Any, name: str) -> Any:
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


# -- arrays ------------------------------------------------------------------------------------------------------------


def _member(proxy: Any, name: str) -> Any:
    """Return a member of an array that NumPy's arrays do not have, for its proxy."""
    is_plain = isinstance(proxy, NDArrayProxy)
    inner = proxy.inner if is_plain else proxy
    if name == "as_np_ndarray":
        return lambda: type(inner)(
            inner.recorder, inner.value, inner.fact, inner.storage, inner.known, inner.chain, FRONT_ENDS["numpy"]
        )
    if name == "as_nd_ndarray":
        return lambda: NDArrayProxy(inner if inner.ndim else inner.reshape((1,)))
    if name in _COMPOSED and not is_plain:
        member = inspect.getattr_static(FRONT_ENDS["numpy"], name, None)
        if isinstance(member, property) and member.fget is not None:
            return member.fget(proxy)
        if isinstance(member, types.FunctionType):
            return types.MethodType(member, proxy)
    return None


enter()
