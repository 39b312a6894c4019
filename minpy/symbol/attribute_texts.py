"""Values of attributes, from the texts that files hold."""

from __future__ import annotations

import ast
import math
import re
import typing
from typing import Any

import numpy

from minpy.core.dtypes import DTYPES
from minpy.core.errors import MXNetError
from minpy.core.signatures import Attribute, parse_attribute
from minpy.ops.registry import OPERATORS

__all__ = ["Unfit", "says_nothing", "value_of"]

_DTYPE_NUMBERS = frozenset(map(str, DTYPES))


class Unfit(ValueError):
    """A text that is no value of an attribute: says what one is."""


def says_nothing(attribute: Attribute, text: str) -> bool:
    """Tell whether a text means that an attribute is not given: None, for a tuple or a dtype that is never None."""
    options = typing.get_args(attribute.type) or (attribute.type,)
    if typing.get_origin(attribute.type) is tuple:
        return text == "None"
    if attribute.default is None or type(None) in options or attribute.type in (None, Any):
        return False
    if attribute.name == "dtype":
        return text in ("None", "-1")
    return text == "None" and any(typing.get_origin(option) is tuple for option in options)


def value_of(text: str, attribute: Attribute, op: str) -> Any:
    """Return the value of an attribute of the operator `op`, of the type that it must have.

    Raises
    ------
    Unfit
        If the text is no such value.

    Examples
    --------
    >>> value_of("(2, 3)", Attribute("shape", tuple[int, ...], ()), "reshape")
    (2, 3)
    """
    kind = attribute.type
    options = typing.get_args(kind) or (kind,)
    if kind is None:
        return _literal(text)
    optional = kind is Any or type(None) in options or attribute.default is None
    if attribute.name == "dtype" and op in OPERATORS and not _is_dtype(text, optional):
        raise Unfit("the name of a dtype, such as 'float32'")
    if str in options:
        return None if type(None) in options and text.strip() == "None" else text
    if bool in options and text.strip().lower() in ("true", "false", "1", "0"):
        return text.strip().lower() in ("true", "1")
    if float in options and re.fullmatch(r"[+-]?(inf|nan|infinity)", text.strip().lower()):
        return float(text)
    if float in options and re.fullmatch(r"[+-]?\d{1,15}", text):
        return int(text)  # as in `x * 2`; it is written again as it was
    try:
        value = parse_attribute(text, attribute, op) if _is_flat(text) else text
    except (MXNetError, ValueError, OverflowError, MemoryError, RecursionError):
        value = text
    kinds = (kind,) if typing.get_origin(kind) is tuple else options
    if type(value) is int and int not in kinds and any(typing.get_origin(option) is tuple for option in kinds):
        value = (value,)
    if kind is bool or (isinstance(value, float) and not math.isfinite(value)):  # 1e400; inf was told above
        value = text
    if not (_fits(value, kind) or (value is None and attribute.default is None)):
        raise Unfit(_type_name(kind))
    return value


def _is_dtype(text: str, optional: bool) -> bool:
    """Tell whether a text names a dtype, or none where it is optional."""
    if text == "None":
        return optional
    try:
        return text in _DTYPE_NUMBERS or (text.isalnum() and numpy.dtype(text) is not None)
    except TypeError:
        return False


def _is_flat(text: str) -> bool:
    """Tell whether Python's parser may be given a text: deep nests and long sums exhaust its stack."""
    if len(text) <= 100:
        return True
    if not re.fullmatch(r"[\s\w.,()\[\]'\"+-]*", text) or re.search(
        r"[\w.)\]]\s*[+-](?<!\d[eE][+-])|[+-]\s*[+-]", text
    ):
        return False
    depth = 0
    for bracket in re.findall(r"[()\[\]]", text):
        depth += 1 if bracket in "([" else -1
        if depth > 10:
            return False
    return True


def _literal(text: str) -> Any:
    """Return the value that a text spells, if it does; else the text."""
    try:
        return ast.literal_eval(text) if _is_flat(text) else text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is of an annotated type; of types that are not known here everything is."""
    options = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(part, options[0]) for part in value)
    if options:
        return any(_fits(value, option) for option in options)
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    if kind is float:
        return type(value) in (int, float)
    return kind not in (str, type(None)) or isinstance(value, kind)


def _type_name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind)) if not typing.get_args(kind) else str(kind)
