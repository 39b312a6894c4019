"""What gradient rules read, told from their code: recording a call keeps that, and nothing else, until backward."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Plan", "Rule", "parameters_read", "values_read"]

Rule = Callable[..., Callable[[Any], Any]]
_READS_EVERYTHING = {"locals", "vars", "eval", "exec", "dir"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What recording a call has to keep: worked out once from the rules."""

    reads_arguments: frozenset[int] | None
    reads_answer: bool
    # Of those arguments, the ones of which only shape and dtype are read.
    reads_shapes: frozenset[int] = frozenset()


def values_read(rules: Iterable[Rule]) -> tuple[frozenset[int] | None, bool]:
    """Return (positions of the arguments that the rules read, None if unknown; whether they read the answer)."""
    reads: set[int] = set()
    answer = False
    for rule in rules:
        read = parameters_read(rule)
        if read is None:
            return None, True
        names, first = read
        answer = answer or first in names
        positions = rule.__code__.co_varnames[1 : rule.__code__.co_argcount]  # not what it wraps: what it is called as
        reads |= {positions.index(name) for name in names if name != first}
    return frozenset(reads), answer


def parameters_read(rule: Rule) -> tuple[set[str], str] | None:
    """Return (names of the parameters that a rule reads, name of the first); None if that cannot be told.

    What no rule reads is not kept until backward. A parameter is read if its code loads it, or an inner function does.
    """
    code = getattr(rule, "__code__", None)
    if not isinstance(rule, types.FunctionType) or code is None or code.co_argcount == 0:
        return None
    if code.co_flags & inspect.CO_VARARGS:
        return None
    names = code.co_varnames[: code.co_argcount]
    if _READS_EVERYTHING & set(code.co_names):
        return None
    read = set(code.co_cellvars) & set(names)
    for instruction in dis.get_instructions(code):
        if "LOAD" in instruction.opname or "CHECK" in instruction.opname:
            values = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            read.update(value for value in values if isinstance(value, str) and value in names)
    return read, names[0]
