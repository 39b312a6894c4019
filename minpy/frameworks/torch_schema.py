"""How an operator's signature is written for PyTorch: its schema, and the values of attributes on both sides.

PyTorch's schemas know a few types. An attribute of another kind (an axis that may be None, an integer or a tuple) is a
`str` there, as `spec_texts` writes it.
"""

from __future__ import annotations

import inspect
import keyword
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.core.signatures import Attribute
from minpy.frameworks.libraries import require
from minpy.frameworks.spec_texts import read_text, text_of

torch: Any = require("torch")

__all__ = ["AttributeForm", "Schema", "attribute_text", "schema_of"]

_TYPES = {float: "float", int: "int", bool: "bool", str: "str"}
_MISSING = inspect.Parameter.empty


@dataclass(frozen=True)
class AttributeForm:
    """One attribute in a schema: its type there, and what turns a value into one of PyTorch's, and back."""

    name: str
    type: str
    default: Any
    to_torch: Callable[[Any], Any]
    from_torch: Callable[[Any], Any]

    @property
    def is_typed(self) -> bool:
        """Whether the schema has its type, and not a text in its place."""
        return self.from_torch is not read_text

    def is_exact(self, value: Any) -> bool:
        """Tell whether equal values mean the same: not of a text that 1 and True become."""
        return self.is_typed and (not self.type.startswith("str") or value is None or type(value) is str)

    def convert(self, value: Any) -> Any:
        """Return a value as the operator takes it after a way through PyTorch: of the type that the schema says."""
        return self.from_torch(self.to_torch(value)) if self.is_typed else value

    @property
    def declaration(self) -> str:
        """What the schema says of it."""
        if self.default is _MISSING:
            return f"{self.type} {self.name}"
        return f"{self.type} {self.name}={_literal(self.to_torch(self.default))}"


@dataclass(frozen=True)
class Schema:
    """What PyTorch is told of an operator's arguments and outputs."""

    inputs: tuple[str, ...]
    optional: frozenset[str]  # the inputs that may be None
    variadic: bool
    attributes: tuple[AttributeForm, ...]
    num_outputs: int

    @property
    def text(self) -> str:
        """The schema, without a name in front."""
        if self.variadic:
            arguments = [f"Tensor[] {self.inputs[0]}"]
        else:
            arguments = [f"Tensor? {name}=None" if name in self.optional else f"Tensor {name}" for name in self.inputs]
        if self.attributes:
            arguments += ["*", *(form.declaration for form in self.attributes)]
        returned = "Tensor" if self.num_outputs == 1 else f"({', '.join(['Tensor'] * self.num_outputs)})"
        return f"({', '.join(arguments)}) -> {returned}"


def schema_of(operator: Any, num_outputs: int) -> Schema:
    """Return an operator's schema.

    Raises an ArgumentError for what PyTorch cannot be told: inputs with numbers as defaults are attributes there.

    Examples
    --------
    >>> import minpy
    >>> @minpy.customop('numpy')
    ... def scale(x, *, factor: float = 2.0, axis=None):
    ...     return x * factor
    >>> print(schema_of(scale, 1).text)
    (Tensor x, *, float factor=2.0, str axis="None") -> Tensor
    """
    signature = operator.signature
    name = operator.__name__
    for argument, default in signature.defaults.items():
        if default is not None:
            raise ArgumentError(
                f"{name}: {argument}={default!r} is an input with a default, and PyTorch's inputs are tensors, which "
                f"have none. If it is a number, make it an attribute, after a star: def {name}(..., *, "
                f"{argument}: {type(default).__name__} = {default!r}); if it is an array, leave out the default."
            )
    if signature.variadic is not None and signature.inputs:
        raise ArgumentError(
            f"{name} takes {', '.join(signature.inputs)} and *{signature.variadic}: PyTorch has inputs by name, or one "
            "list of them. Take all of them by the star, or none."
        )
    inputs = signature.inputs if signature.variadic is None else (signature.variadic,)
    reserved = [argument for argument in inputs if keyword.iskeyword(argument) or argument == "self"]
    if reserved:
        raise ArgumentError(f"{name}: an input cannot be called {reserved[0]!r} in PyTorch. Give it another name.")
    forms = tuple(_form(operator, attribute) for attribute in signature.attributes.values())
    optional = frozenset(argument for argument, default in signature.defaults.items() if default is None)
    return Schema(inputs, optional, signature.variadic is not None, forms, num_outputs)


def _form(operator: Any, attribute: Attribute) -> AttributeForm:
    if attribute.name == "training" and operator.uses_training:  # whoever calls says whether it trains
        return AttributeForm("training", "bool", False, bool, bool)
    kind, is_optional = _without_none(attribute.type)
    default = attribute.default
    if kind is None and not is_optional and default is not None and default is not _MISSING:
        kind = type(default)
        if kind is tuple and default and all(type(part) in (int, float) for part in default):
            kind = tuple[int, ...] if type(default[0]) is int else tuple[float, ...]
    is_optional = is_optional or default is None
    name = _TYPES.get(kind)
    if name is not None:
        convert = _cast(kind, is_optional)
        return AttributeForm(attribute.name, name + "?" * is_optional, default, convert, convert)
    if typing.get_origin(kind) is tuple:
        members = {member for member in typing.get_args(kind) if member is not ...}
        if members <= {int} or members <= {float}:
            element = float if float in members else int
            return AttributeForm(
                attribute.name,
                f"{_TYPES[element]}[]" + "?" * is_optional,
                default,
                _sequence(list, element, is_optional),
                _sequence(tuple, element, is_optional),
            )
    label = f"{operator.__name__}: {attribute.name}"
    return AttributeForm(attribute.name, "str", default, lambda value: text_of(value, label), read_text)


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Return (a type, whether it was in a union with None)."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        members = [member for member in typing.get_args(kind) if member is not type(None)]
        is_optional = len(members) < len(typing.get_args(kind))
        return (members[0] if len(members) == 1 else object), is_optional
    return kind, False


def _cast(kind: Any, is_optional: bool) -> Callable[[Any], Any]:
    if not is_optional:
        cast: Callable[[Any], Any] = kind
        return cast
    return lambda value: None if value is None else kind(value)


def _sequence(container: Any, element: Any, is_optional: bool) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        if value is None and is_optional:
            return None
        parts: Sequence[Any] = value if hasattr(value, "__iter__") else (value,)
        return container(map(element, parts))

    return converted


def _literal(value: Any) -> str:
    """Return a default as schemas write it."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def attribute_text(value: Any) -> Any:
    """Return the text of an attribute, as `text_of` does: of the values that `torch.compile` can follow.

    >>> attribute_text((0, None, 'wrap'))
    "(0, None, 'wrap', )"
    """
    if isinstance(value, tuple):
        return "(" + "".join([attribute_text(part) + ", " for part in value]) + ")"
    if isinstance(value, list):
        return "[" + "".join([attribute_text(part) + ", " for part in value]) + "]"
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if torch.compiler.is_dynamo_compiling():  # with dynamic shapes numbers are symbols, too; a text is of one number
        value = torch.fx.experimental.symbolic_shapes.guard_scalar(value)
    if value != value:
        return "{'nan'}"
    return f"{value}".replace("inf", "1e999")
