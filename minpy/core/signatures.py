"""What an operator's Python signature says: its inputs, its attributes, their types, defaults and string forms.

Inputs are the positional parameters; attributes are the keyword-only ones. The same definition serves calls by
keyword, the strings of `-symbol.json` files and of `nd.Custom`, and the signature that `help()` shows.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.source_lines import warn_at_program

__all__ = ["Attribute", "ShownSignature", "Signature", "parse_attribute", "read_signature"]

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Attribute:
    """A keyword-only parameter: its annotation (None if there is none) and its default (or `REQUIRED`).

    `scope` is where names in an annotation that is a string are looked up: the globals of the function's module.
    """

    name: str
    annotation: Any
    default: Any
    scope: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # The annotated type under 'type', and for types of values the result of `accepts`.
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def type(self) -> Any:
        """The annotated type; None if there is none, or one that cannot be read."""
        if not isinstance(self.annotation, str):
            return self.annotation
        if "type" not in self.cache:
            try:
                self.cache["type"] = eval(_compiled(self.annotation), vars(typing), self.scope)
            except (NameError, AttributeError, SyntaxError, TypeError):
                return None
        return self.cache["type"]

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the attribute may be, if it is annotated with a `Literal` of them."""
        return tuple(
            word for kind in _options(self.type) if typing.get_origin(kind) is Literal for word in typing.get_args(kind)
        )

    def accepts(self, cls: builtins.type) -> bool | frozenset[Any]:
        """Tell whether values of a class are accepted: all of them, none, or the values that are returned."""
        if cls not in self.cache:
            if cls is type(None) and self.default is None:
                self.cache[cls] = True
            else:
                self.cache[cls] = _accepts(self.type, cls)
        accepted: bool | frozenset[Any] = self.cache[cls]
        return accepted

    def require(self, value: Any, operator_name: str) -> None:
        """Raise the error for a value that is not accepted.

        Raises
        ------
        ArgumentValueError
            For another word than those of an enumeration, or a value of another type than the annotated one.
        """
        accepted = self.cache.get(type(value))
        if accepted is None:
            accepted = self.accepts(type(value))
        if accepted is True or (accepted and value in accepted):
            return
        options = _options(self.type)
        words = self.words
        expected = [_TYPE_TEXTS.get(kind) or _type_text(kind) for kind in options if kind not in (type(None), *words)]
        listed = [repr(word) for word in words] + [text for text in expected if text]
        if type(None) in options or self.default is None:
            listed.append("None")
        joined = " or ".join(", ".join(listed).rsplit(", ", 1))
        if type(value) is str and words:
            raise ArgumentValueError(
                f"{operator_name}: unknown {self.name} {value!r}; expected {joined}.{nearest(value, words)}"
            )
        raise ArgumentValueError(f"{operator_name}: {self.name} is {describe(value)}; expected {joined}.")


def _options(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union; any other type alone."""
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return typing.get_args(kind) if is_union else (kind,)


_TYPE_TEXTS = {bool: "True or False", int: "an integer", float: "a number"}
_ZERO_OR_ONE: frozenset[Any] = frozenset((0, 1))


def _type_text(kind: Any) -> str:
    members = typing.get_args(kind)
    if typing.get_origin(kind) is not tuple:
        return ""
    return "a tuple of numbers" if float in members else "a tuple of integers"


def _accepts(kind: Any, cls: builtins.type) -> bool | frozenset[Any]:
    """Return `Attribute.accepts` for the annotation `kind`: classes need the protocol of a number or sequence."""
    for option in _options(kind):
        origin = typing.get_origin(option)
        if origin is Literal:
            if issubclass(cls, str):
                return frozenset(typing.get_args(option))
        elif option is bool:
            if issubclass(cls, (bool, numpy.bool_)):
                return True
            if issubclass(cls, (int, numpy.integer)):
                return _ZERO_OR_ONE
        elif option is int:
            if hasattr(cls, "__index__"):
                return True
        elif option is float:
            if hasattr(cls, "__float__"):
                return True
        elif origin is tuple:
            number = "__float__" if float in typing.get_args(option) else "__index__"
            if issubclass(cls, (tuple, list, numpy.ndarray)) or hasattr(cls, number):
                return True
            if cls is type(None) and option is kind and number == "__index__":  # an omitted shape, as in MXNet
                return True
        elif option is not type(None) or cls is type(None):
            return True
    return False


@lru_cache(None)
def _compiled(annotation: str) -> types.CodeType:
    return compile(annotation, "<annotation>", "eval")


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs and attributes of an operator, in order.

    `variadic` is the name of a `*inputs` parameter; `open_ended` says whether there is a `**attributes`; `function` is
    what they were read from. `synonyms` maps further names of arguments to the names here.
    `bare` is set for an operator with attributes that has none in MXNet.
    """

    inputs: tuple[str, ...]
    defaults: Mapping[str, Any]
    attributes: Mapping[str, Attribute]
    variadic: str | None = None
    open_ended: bool = False
    function: Callable[..., Any] | None = field(default=None, compare=False)
    synonyms: Mapping[str, str] = field(default_factory=dict)
    bare: bool = False

    @property
    def ignores_attributes(self) -> bool:
        """Whether the operator ignores unknown attributes, as MXNet's operators without attributes do."""
        return self.bare or (not self.attributes and self.variadic is None)

    @property
    def text(self) -> inspect.Signature | None:
        """The signature that `help()` shows; None if the signature was not read from a function."""
        if isinstance(self.function, numpy.ufunc):
            return inspect.Signature(
                [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in self.inputs]
            )
        if self.function is None:
            return None
        full = inspect.signature(self.function)
        shown = [
            parameter
            for name, parameter in full.parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY or name in self.attributes
        ]
        return full.replace(parameters=shown)


class ShownSignature:
    """An operator's `__signature__`, computed on access; the class itself has none."""

    def __get__(self, operator: Any, owner: type) -> inspect.Signature:
        text: inspect.Signature | None = None if operator is None else operator.signature.text
        if text is None:
            raise AttributeError("__signature__")
        return text


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read inputs and attributes off a function's signature.

    Examples
    --------
    >>> def scale(data, *, factor: float = 2.0): ...
    >>> signature = read_signature(scale)
    >>> signature.inputs, signature.attributes['factor'].default
    (('data',), 2.0)
    """
    if isinstance(function, numpy.ufunc):
        names = ("x",) if function.nin == 1 else tuple(f"x{number}" for number in range(1, function.nin + 1))
        return Signature(names, {}, {}, function=function)
    if isinstance(function, types.FunctionType) and not vars(function):
        return _read_code(function)
    inputs, defaults, attributes = [], {}, {}
    variadic, open_ended = None, False
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            inputs.append(name)
            if parameter.default is not REQUIRED:
                defaults[name] = parameter.default
        elif parameter.kind is parameter.VAR_POSITIONAL:
            variadic = name
        elif parameter.kind is parameter.KEYWORD_ONLY:
            annotation = None if parameter.annotation is REQUIRED else parameter.annotation
            attributes[name] = Attribute(name, annotation, parameter.default, scope)
        else:
            open_ended = True
    return Signature(tuple(inputs), defaults, attributes, variadic, open_ended, function)


def _read_code(function: types.FunctionType) -> Signature:
    """Read the signature of a plain function as `inspect` would, at a tenth of its time: there are hundreds of them."""
    code = function.__code__
    count, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    inputs = code.co_varnames[:count]
    values = function.__defaults__ or ()
    defaults = dict(zip(inputs[count - len(values) :], values, strict=True))
    annotations, keyword_defaults, scope = function.__annotations__, function.__kwdefaults__ or {}, function.__globals__
    attributes = {
        name: Attribute(name, annotations.get(name), keyword_defaults.get(name, REQUIRED), scope)
        for name in code.co_varnames[count:end]
    }
    variadic = code.co_varnames[end] if code.co_flags & inspect.CO_VARARGS else None
    return Signature(inputs, defaults, attributes, variadic, bool(code.co_flags & inspect.CO_VARKEYWORDS), function)


def parse_attribute(value: Any, attribute: Attribute, operator_name: str) -> Any:
    """Return an attribute's value from its string form, as `-symbol.json` files and `nd.Custom` hold it.

    Values that are no strings, and strings where the attribute is a string, are returned as they are.

    Raises
    ------
    ArgumentError
        If the string does not spell a value of the attribute's type.

    Examples
    --------
    >>> parse_attribute('(2, 2)', Attribute('kernel', tuple[int, ...], None), 'Pooling')
    (2, 2)
    >>> parse_attribute('True', Attribute('no_bias', bool, False), 'FullyConnected')
    True
    """
    accepted = attribute.cache.get(str)
    if type(accepted) is frozenset and value in accepted:  # a word of an enumeration, found so before
        return value
    kind = attribute.type
    if not isinstance(value, str) or kind is None or kind is str:
        return value
    if str in _options(kind):
        return value
    words = attribute.words
    if words:
        return None if value == "None" and None not in words and type(None) in _options(kind) else value
    text = value.strip()
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    if text in ("None", ""):
        return None
    try:
        parsed = ast.literal_eval(text.replace("L", "") if text.endswith(("L", "L)")) else text)
    except (ValueError, SyntaxError):
        if kind is Any:  # a name, such as a dtype's
            return value
        raise ArgumentValueError(
            f"{operator_name}: attribute {attribute.name}={value!r} does not spell a value of type "
            f"{getattr(kind, '__name__', kind)}."
        ) from None
    if kind is bool:
        return bool(parsed)
    if kind is float and isinstance(parsed, int):
        return float(parsed)
    if kind is int and isinstance(parsed, float) and parsed.is_integer():
        return int(parsed)
    return tuple(parsed) if isinstance(parsed, list) else parsed


def replace_synonyms(operator_name: str, signature: Signature, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with synonyms replaced by the names that the signature has.

    Raises
    ------
    ArgumentError
        If an argument is given under two of its names.

    Examples
    --------
    >>> replace_synonyms('power', Signature(('lhs', 'rhs'), {}, {}, synonyms={'base': 'lhs', 'exp': 'rhs'}), {'exp': 2})
    {'rhs': 2}
    """
    result: dict[str, Any] = {}
    for key, value in keywords.items():
        name = signature.synonyms.get(key, key)
        if name in result:
            first = next(keyword for keyword in keywords if signature.synonyms.get(keyword, keyword) == name)
            raise ArgumentError(f"{operator_name}: one argument is given twice, as {first!r} and as {key!r}.")
        result[name] = value
    return result


def bind(
    operator_name: str,
    signature: Signature,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    positional_attributes: bool = False,
) -> tuple[list[Any], dict[str, Any]]:
    """Return (inputs in order, attributes): keywords that name inputs are bound to their positions.

    With `positional_attributes`, positional arguments beyond the inputs are attributes in their order, as MXNet's
    generated functions allow (`nd.clip(x, 0, 1)`).

    Raises
    ------
    ArgumentError
        For missing, unknown, or doubly given arguments.
    """
    inputs = list(arguments)
    names = signature.inputs
    if signature.synonyms:
        keywords = replace_synonyms(operator_name, signature, keywords)
    attributes: dict[str, Any] = {}
    if len(inputs) > len(names) and signature.variadic is None:
        surplus = inputs[len(names) :]
        if not positional_attributes or len(surplus) > len(signature.attributes):
            raise ArgumentError(
                f"{operator_name} takes {len(names)} positional argument(s) ({', '.join(names)}), got {len(inputs)}."
                + (f" Give {', '.join(signature.attributes)} by keyword." if signature.attributes else "")
            )
        del inputs[len(names) :]
        attributes.update(zip(signature.attributes, surplus, strict=False))
    for name in names[len(inputs) :]:
        if name in keywords:
            inputs.append(keywords.pop(name))
        elif name in signature.defaults:
            inputs.append(signature.defaults[name])
        else:
            for key in keywords:
                if key in names[: len(arguments)]:
                    raise _given_twice(operator_name, "argument", key)
            raise ArgumentError(
                f"{operator_name}: argument {name!r} is missing; its inputs are {', '.join(names)}."
                + (f" Unknown keyword(s): {', '.join(map(repr, keywords))}." if keywords else "")
            )
    for name, value in keywords.items():
        attribute = signature.attributes.get(name)
        if attribute is not None:
            if name in attributes:
                raise _given_twice(operator_name, "attribute", name)
            attributes[name] = parse_attribute(value, attribute, operator_name) if type(value) is str else value
        elif name in names:
            raise _given_twice(operator_name, "argument", name)
        elif signature.open_ended:
            attributes[name] = value
        elif positional_attributes and signature.ignores_attributes:
            warn_ignored_attribute(operator_name, signature, name)
        elif name != "num_args" or signature.variadic is None:  # which MXNet takes beside any number of inputs
            accepted = [*names, *signature.attributes]
            raise ArgumentError(
                f"{operator_name} has no argument {name!r}; it takes {', '.join(accepted)}.{nearest(name, accepted)}"
            )
    for name, attribute in signature.attributes.items():
        if name in attributes:
            if positional_attributes:
                attribute.require(attributes[name], operator_name)
        elif attribute.default is REQUIRED:
            raise ArgumentError(f"{operator_name}: attribute {name!r} is missing; pass {name}=... .")
    return inputs, attributes


_IGNORED: set[tuple[str, str]] = set()


def warn_ignored_attribute(operator_name: str, signature: Signature, name: str) -> None:
    """Warn of an attribute passed to an operator that has none, once for each operator and name."""
    if (operator_name, name) in _IGNORED:
        return
    _IGNORED.add((operator_name, name))
    accepted = [*signature.inputs, *signature.attributes]
    warn_at_program(
        f"{operator_name} ignores {name}=..., as in MXNet: it takes {', '.join(accepted)}.{nearest(name, accepted)} "
        "Leave it out."
    )


def _given_twice(operator_name: str, kind: str, name: str) -> ArgumentError:
    return ArgumentError(f"{operator_name}: {kind} {name!r} is given twice, by position and by keyword.")
