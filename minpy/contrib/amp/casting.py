"""`amp.init`: listed operators cast their inputs from then on, on arrays and in new graphs.

While it is off it costs nothing. A listed operator becomes one of a class whose calls cast first, so that it does
wherever it was imported; no other call is touched. Nodes of graphs get their casts where they are composed. The signs
of arrays (`x ** 2`), which do not come by the operator, are exchanged. All that is undone by `turn_off`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.contrib.amp.casting_policy import LOW, WIDE, WIDEST, Policy
from minpy.contrib.amp.lists.symbol_fp16 import LOSS_OUTPUT_FUNCTIONS
from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.exchanging import Exchange
from minpy.core.operator import Operator
from minpy.core.state import state
from minpy.custom.prop_operator import PropOperator
from minpy.gluon.change_counter import CHANGES
from minpy.graph.ir import Node, Value
from minpy.ndarray import NDArray
from minpy.ops.nn.class_log_probability import class_log_probability
from minpy.ops.registry import OPERATORS
from minpy.symbol import composition
from minpy.symbol.naming import current_names, current_scope

__all__ = ["is_on", "turn_off", "turn_on"]

_CAST, _MULTICAST = OPERATORS["amp_cast"], OPERATORS["amp_multicast"]
_SCALED = OPERATORS["_contrib_gradientmultiplier"]
_FLOATS = (numpy.dtype("float16"), numpy.dtype("float32"))
# Operators that stand for others which are listed.
_STANDING_FOR = {class_log_probability: "log_softmax"}
# The signs of arrays that are operators of the list for float32, or become so with a number on one side.
_SIGNS = {"__pow__": "_power", "__rpow__": "_rpower_scalar", "__rtruediv__": "_rdiv_scalar"}

_exchange = Exchange()
_classes: dict[type, type] = {}
_listed: list[tuple[Operator, type]] = []
_by_operator: dict[Operator, list[str]] = {}


class _Current:
    policy: Policy | None = None
    # Returns what the gradients of layers that carry a loss are multiplied by; 1.0 before `amp.init_trainer`.
    loss_scale: Callable[[], float] = staticmethod(lambda: 1.0)
    warn: Callable[[str], None] = staticmethod(lambda name: None)


def is_on() -> bool:
    """Tell whether operators are cast."""
    return _Current.policy is not None


def turn_on(policy: Policy, loss_scale: Callable[[], float], warn: Callable[[str], None]) -> None:
    """Let the operators of a policy cast their inputs.

    `loss_scale` returns what the gradients of layers that carry a loss are multiplied by; `warn` is called with the
    name of such a layer when one is put into a graph, where it does not see the scale.
    """
    turn_off()
    for name in policy.names() | set(LOSS_OUTPUT_FUNCTIONS):
        operator = OPERATORS.get(name)
        if operator is not None:
            _by_operator.setdefault(operator, []).append(name)
    for operator, name in _STANDING_FOR.items():
        _by_operator[operator] = [name]
    for operator, names in _by_operator.items():
        names.sort(key=lambda name: (name != operator.__name__, name))
        _listed.append((operator, type(operator)))
        operator.__class__ = _casting_class(type(operator))
    _Current.policy, _Current.loss_scale, _Current.warn = policy, staticmethod(loss_scale), staticmethod(warn)
    _exchange.put(composition, "cast_inputs", lambda before: _cast_symbols)
    if policy.place(["Custom"], {}) is not None:
        _exchange.put(dispatch, "call_on_arrays", _custom_call)
    for sign, kind in _SIGNS.items():
        if policy.place([kind], {}) == WIDE:
            _exchange.put(NDArray, sign, _wide_sign)
    CHANGES.note_meaning()


def turn_off() -> None:
    """Let all operators compute in the dtype that they are given again."""
    CHANGES.note_meaning()
    _Current.policy = None
    _exchange.remove()
    while _listed:
        operator, kind = _listed[-1]
        operator.__class__ = kind
        _listed.pop()
    _by_operator.clear()


# -- arrays --------------------------------------------------------------------------------------------------------


def _casting_class(kind: type) -> type:
    """Return the class of listed operators that were of another."""
    if kind not in _classes:
        _classes[kind] = type(kind.__name__, (_Casting, kind), {"__module__": kind.__module__})
    return _classes[kind]


class _Casting:
    """An operator that casts arrays which it is given, if they have MXNet's semantics."""

    def __call__(self, /, *arguments: Any, **attributes: Any) -> Any:
        place = _place(self, attributes)
        if place is not None:
            arguments, attributes = _cast_arrays(place, arguments, attributes)
        if self.__name__ in LOSS_OUTPUT_FUNCTIONS and state.recording:  # type: ignore[attr-defined]
            arguments, attributes = _with_scaled_gradient(arguments, attributes)
        return super().__call__(*arguments, **attributes)  # type: ignore[misc]


def _place(operator: Any, attributes: dict[str, Any]) -> str | None:
    policy = _Current.policy
    return None if policy is None else policy.place(_by_operator.get(operator, ()), attributes)


def _is_cast(value: Any) -> bool:
    return isinstance(value, Array) and value._keeps_dtype and value._data.dtype in _FLOATS


def _cast_arrays(
    place: str, arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with floating-point arrays in the dtype of its place."""
    if place == WIDEST:
        values = [*arguments, *attributes.values()]
        if len({value._data.dtype for value in values if _is_cast(value)}) < 2:
            return arguments, attributes
        place = WIDE

    def cast(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(cast, value)) if type(value) in (list, tuple) else value
        return _CAST(value, dtype=place) if _is_cast(value) and value._data.dtype != place else value

    return (
        tuple(map(cast, arguments)),
        {name: value if name == "out" else cast(value) for name, value in attributes.items()},
    )


def _with_scaled_gradient(
    arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a layer that carries a loss, so that its gradient is multiplied by the loss scale."""
    scale = _Current.loss_scale()
    if scale == 1:
        return arguments, attributes
    if arguments and isinstance(arguments[0], Array):
        return (_SCALED(arguments[0], scalar=scale), *arguments[1:]), attributes
    if not arguments and isinstance(attributes.get("data"), Array):
        return arguments, {**attributes, "data": _SCALED(attributes["data"], scalar=scale)}
    return arguments, attributes


def _custom_call(call: Any) -> Any:
    def casting_call(operator: Any, inputs: Any, attributes: dict[str, Any]) -> Any:
        if isinstance(operator, PropOperator) and _Current.policy is not None:
            place = _Current.policy.place(["Custom"], attributes)
            if place is not None:
                inputs, _ = _cast_arrays(place, tuple(inputs), {})
        return call(operator, inputs, attributes)

    return casting_call


def _wide_sign(method: Any) -> Any:
    def wide(self: Any, other: Any) -> Any:
        (self, other), _ = _cast_arrays(WIDE, (self, other), {})
        return method(self, other)

    wide.__name__ = getattr(method, "__name__", "wide")
    return wide


# -- graphs --------------------------------------------------------------------------------------------------------


def _cast_symbols(operator: Any, kind: str, values: list[Value], attributes: dict[str, Any]) -> list[Value]:
    """Return the inputs of a node that is made, with casts in front."""
    policy = _Current.policy
    if kind in LOSS_OUTPUT_FUNCTIONS:
        _Current.warn(kind)
    place = None if policy is None else policy.place([kind], attributes)
    if place is None or not values:
        return values
    names = operator.input_names(attributes, len(values)) if operator.auxiliary else ()
    states = {index for index, name in enumerate(names) if name in operator.auxiliary}
    if place == WIDEST:
        node = _node(_MULTICAST, values, {"num_outputs": len(values)})
        return [Value(node, index) for index in range(len(values))]
    return [
        value if index in states else Value(_node(_CAST, [value], {"dtype": LOW if place == LOW else WIDE}))
        for index, value in enumerate(values)
    ]


def _node(operator: Operator, values: list[Value], attributes: dict[str, Any]) -> Node:
    kind = operator.__name__
    return Node(operator, values, attributes, current_names().get(None, kind), kind, current_scope().get(None))
