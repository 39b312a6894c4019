"""Users' code, read before it runs on stand-ins: its instructions and the names that it looks up."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator
from typing import NamedTuple

from minpy.capture.places import SourceLocation

__all__ = ["Name", "codes_of", "forbidden", "names_read"]

# What changes something outside, or gives control away, by the instruction that does it.
_FORBIDDEN = {
    "STORE_GLOBAL": "it sets a global name",
    "DELETE_GLOBAL": "it deletes a global name",
    "STORE_ATTR": "it sets an attribute",
    "DELETE_ATTR": "it deletes an attribute",
    "LOAD_BUILD_CLASS": "it defines a class",
    "SETUP_WITH": "it has a with statement",
    "BEFORE_WITH": "it has a with statement",
    "LOAD_SPECIAL": "it has a with statement",
    "BEFORE_ASYNC_WITH": "it has a with statement",
    "SETUP_ASYNC_WITH": "it has a with statement",
    "GET_AWAITABLE": "it awaits",
    "IMPORT_STAR": "it imports all names of a module",
    "SETUP_FINALLY": "it has a try statement",
    "POP_EXCEPT": "it has a try statement",
    "CHECK_EXC_MATCH": "it has a try statement",
    "JUMP_IF_NOT_EXC_MATCH": "it has a try statement",
}
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Name(NamedTuple):
    """A name that code looks up outside, and the attributes that it asks of it at once: `np.linalg.inv`."""

    name: str
    is_cell: bool
    attributes: tuple[str, ...]
    place: SourceLocation


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes_of(one)


def _instructions(code: types.CodeType) -> Iterator[tuple[dis.Instruction, SourceLocation]]:
    lines = {start: line for start, _, line in code.co_lines() if line is not None}
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset, line)
        yield instruction, SourceLocation(code.co_filename, line)


def forbidden(code: types.CodeType) -> tuple[str, SourceLocation] | None:
    """Return (why, where) a function does what tracing cannot let it do; None if it does nothing of the kind."""
    for inner in codes_of(code):
        if inner.co_flags & _GENERATORS and inner.co_name != "<genexpr>":
            return "it is a generator or a coroutine", SourceLocation(inner.co_filename, inner.co_firstlineno)
        for instruction, place in _instructions(inner):
            name = instruction.opname
            if name in _FORBIDDEN:
                return _FORBIDDEN[name], place
            if name in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in code.co_freevars:
                return f"it sets {instruction.argval!r} of an enclosing function", place
            if name in ("LOAD_ATTR", "LOAD_METHOD") and str(instruction.argval).startswith("__"):
                return f"it reads {instruction.argval}", place
    return None


def names_read(code: types.CodeType) -> Iterator[Name]:
    """Yield the global names and the closure's variables that a function reads, functions inside it included."""
    for inner in codes_of(code):
        found: tuple[str, bool, SourceLocation] | None = None
        attributes: list[str] = []
        for instruction, place in _instructions(inner):
            name = instruction.opname
            if found is not None and name in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.append(str(instruction.argval))
                continue
            if found is not None:
                yield Name(found[0], found[1], tuple(attributes), found[2])
                found, attributes = None, []
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                found = (str(instruction.argval), False, place)
            elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF") and instruction.argval in code.co_freevars:
                found = (str(instruction.argval), True, place)
        if found is not None:
            yield Name(found[0], found[1], tuple(attributes), found[2])
