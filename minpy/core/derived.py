"""Operators derived from an operator: bound to an instance, as methods are; with a keyword argument as an input."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from minpy.core.operator_help import ShownDocstring
from minpy.core.signatures import Signature

__all__ = ["Bound", "is_method", "with_keyword_input"]


class Bound:
    """An operator that is a method, bound to its instance."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, operator: Any, instance: Any) -> None:
        self.__func__ = operator
        self.__self__ = instance

    def __call__(self, *arguments: Any, **attributes: Any) -> Any:
        return self.__func__(self.__self__, *arguments, **attributes)

    def check(self, *arguments: Any, **attributes: Any) -> Any:
        """Check the operator as `Operator.check` does, at a call of this method."""
        return self.__func__.check(self.__self__, *arguments, **attributes)

    def __get__(self, instance: Any, owner: type | None = None) -> Bound:
        return self  # as Python's bound methods; `help` tells routines by it

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            signature = inspect.signature(self.__func__)
            return signature.replace(parameters=[*signature.parameters.values()][1:])
        return getattr(self.__func__, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bound):
            return NotImplemented
        return self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.__name__)

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r} of {self.__self__!r}>"


Bound.__doc__ = ShownDocstring(Bound.__doc__, lambda bound: bound.__func__.__doc__)  # type: ignore[assignment]


def is_method(function: Callable[..., Any]) -> bool:
    """Tell whether a function was defined in a class body and takes its instance first."""
    code = function.__code__ if isinstance(function, types.FunctionType) else None
    scope = getattr(function, "__qualname__", "").rpartition(".")[0]
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount] if code is not None else ()
    return bool(scope) and not scope.endswith("<locals>") and bool(names)


def with_keyword_input(operator: Any, key: str) -> Any:
    """Return an operator like this one that takes the keyword argument `key` as its last positional input."""

    def rearranged(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **attributes: Any) -> Any:
            attributes[key] = arguments[-1]
            return function(*arguments[:-1], **attributes)

        return call

    original = operator.signature
    attributes = {name: value for name, value in original.attributes.items() if name != key}
    signature = Signature((*original.inputs, key), {}, attributes, original.variadic, original.open_ended)
    derived = operator.like(rearranged(operator.forward), signature)
    derived.adopt(operator.gradients.with_keyword(key, rearranged))
    derived.shape_rule = None if operator.shape_rule is None else rearranged(operator.shape_rule)
    return derived
