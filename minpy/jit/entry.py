"""Entries: one generated function for each specialization, which tells whether it holds for a call, and runs it.

The source is made of names that are counted; values come in as constants of its namespace, and text of users does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy

from minpy.capture.reads import CONSTANT_TYPES
from minpy.capture.scalars import ScalarCall, ScalarRead, is_dynamic
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.floating_point import is_calm
from minpy.core.state import TRACES, tracing
from minpy.core.switches import switches
from minpy.jit.guards import GONE, Names, array_source, different, expression, source
from minpy.jit.pytrees import Nest
from minpy.jit.specialization import AS_WRITTEN

__all__ = ["AS_WRITTEN", "MISS", "Entry", "make_entry"]

# What an entry returns for a call that its specialization does not hold for.
MISS = object()

Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]

# Up to so many arrays are compared in pairs.
_FEW_ARRAYS = 4


def make_entry(
    specialization: Any,
    spec: Nest,
    leaves: Sequence[Any],
    dynamic: Set[int] = frozenset(),
    run: Callable[[Sequence[Any]], Any] | None = None,
) -> Entry:
    """Return the entry of a specialization for calls like one.

    Parameters
    ----------
    specialization : Specialization
    spec : Nest
        Of (arguments by position, arguments by keyword).
    leaves : sequence
        Of the call that was captured.
    dynamic : set of int
        The positions of leaves that are numbers which may change.
    run : callable, optional
        Called with the arrays, those of the arguments and those that were read, where it holds; left out, the
        specialization runs.
    """
    names = Names(
        different=different,
        GONE=GONE,
        MISS=MISS,
        AS_WRITTEN=AS_WRITTEN,
        TRACES=TRACES,
        tracing=tracing,
        switches=switches,
        is_calm=is_calm,
    )
    lines: list[str] = []
    variables: list[str] = []
    nests = ["None"]  # the pair of both
    _unpack(spec.parts[0], "arguments", names, lines, variables, nests)
    _unpack(spec.parts[1], "keywords", names, lines, variables, nests)
    inner = [name for name in nests[1:] if name not in ("arguments", "keywords")]
    if len(inner) > 1:
        lines.append(_miss(_identity({name: place for place, name in enumerate(inner)})))
    if inner and specialization.containers_read:
        read = names.of(specialization.containers_read)
        lines += [f"if id({name}) in {read}: return AS_WRITTEN" for name in inner]
    arrays: dict[int, str] = {}
    ours = any(isinstance(leaf, Array) for leaf in leaves)
    scalars = specialization.scalars
    for position, (variable, leaf) in enumerate(zip(variables, leaves, strict=True)):
        if position in dynamic and is_dynamic(leaf):
            lines.append(_miss(f"type({variable}) is not {type(leaf).__name__}"))
        elif isinstance(leaf, (numpy.ndarray, Array)):
            first = arrays.setdefault(id(leaf), variable)
            lines.append(
                _miss(_array_condition(variable, leaf, names) if first is variable else f"{variable} is not {first}")
            )
        elif isinstance(leaf, CONSTANT_TYPES):
            constant = names.of(leaf)
            lines.append(_miss(f"{variable} is not {constant} and different({variable}, {constant})"))
        else:
            lines.append(_miss(f"{variable} is not {names.of(leaf)}"))
    given = list(arrays.values())
    by_name = dict(zip(variables, leaves, strict=True))
    identities = {variable: key for key, variable in arrays.items()}
    reading: list[str] = []
    fetched: list[str] = []
    for position, row in enumerate(specialization.arrays_read):
        fetch, condition = array_source(row, f"r{position}", names)
        reading += [fetch, _miss(condition)]
        fetched.append(f"r{position}")
        ours = ours or issubclass(row.kind.cls, Array)
        identities[f"r{position}"] = id(row.source(row.container, row.key))
    reading += [_miss(source(row, names)) for row in specialization.reads.rows]
    grouped = ""
    if specialization.group is not None:
        group, clock = names.of(specialization.group), names.of(specialization.group.clock)
        reading.insert(0, _miss(f"{group}.count != {clock}.count and not {group}.holds()"))
        grouped = f"*{group}.arrays, "
        ours = True
    numbers = _Numbers(names, variables)
    for position, (where, row) in enumerate(scalars.reads.items()):
        numbers.reads[where] = f"n{position}"
        reading.append(f"n{position} = {expression(row, names)}")
        reading.append(_miss(f"type(n{position}) is not {row.expected.__name__}"))
    distinct = _identity(identities)
    lines += [f"if {distinct}: return MISS"] if distinct and not fetched else []
    if reading:
        lines += ["try:", *(f"    {line}" for line in reading), "except GONE:", "    return MISS"]
    lines += [f"if {distinct}: return MISS"] if distinct and fetched else []
    for condition, expected in scalars.conditions:
        constant = names.of(expected)
        lines += [*numbers.lines(condition), _miss(f"different({numbers.text(condition)}, {constant})")]
    inputs = []
    for row in scalars.inputs:
        lines += numbers.lines(row.expression)
        inputs.append(f"{names.of(numpy.array)}({numbers.text(row.expression)}, {names.of(row.dtype)})")
    for position in specialization.contiguous:
        text = given[position] if isinstance(by_name[given[position]], numpy.ndarray) else f"{given[position]}._data"
        lines.append(f"if not {text}.flags.c_contiguous: return AS_WRITTEN")
    modes = ", ".join(map(repr, (switches.array, switches.shape, switches.dtype)))
    lines.append(_miss("TRACES and tracing.trace is not None"))
    lines.append(_miss(f"(switches.array, switches.shape, switches.dtype) != ({modes})"))
    lines.append("if not is_calm(): return AS_WRITTEN")
    called = names.of(run or (specialization.call if ours else specialization.run))
    before, after = ("".join(f"{name}, " for name in part) for part in ((*given, *fetched), inputs))
    lines.append(f"return {called}(({before}{grouped}{after}))")
    text = "def entry(arguments, keywords):\n" + "\n".join(f"    {line}" for line in lines)
    exec(compile(text, f"<entry of {specialization.operator.__name__}>", "exec"), names.values)
    entry: Entry = names.values["entry"]
    return entry


class _Numbers:
    """The variables that hold what is computed of numbers that change."""

    def __init__(self, names: Names, variables: Sequence[str]) -> None:
        self.reads: dict[Any, str] = {}
        self._names, self._variables = names, variables
        self._known: dict[int, str] = {}

    def lines(self, expression: Any) -> list[str]:
        """Return the lines that compute an expression, as far as it is not computed yet."""
        if not isinstance(expression, ScalarCall) or id(expression) in self._known:
            return []
        found = [line for operand in expression.operands for line in self.lines(operand)]
        operands = ", ".join(map(self.text, expression.operands))
        variable = self._known[id(expression)] = f"e{len(self._known)}"
        return [*found, f"{variable} = {self._names.of(expression.function)}({operands})"]

    def text(self, expression: Any) -> str:
        """Return what stands for an expression once its lines have run."""
        if isinstance(expression, ScalarRead):
            return self._variables[expression.key] if expression.kind == "argument" else self.reads[expression.key]
        if isinstance(expression, ScalarCall):
            return self._known[id(expression)]
        return self._names.of(expression)


def _miss(condition: str) -> str:
    return f"if {condition}: return MISS"


def _unpack(
    spec: Nest | None, name: str, names: Names, lines: list[str], variables: list[str], nests: list[str]
) -> None:
    """Add the lines that take a nest apart into variables, one a leaf, and the names of those of the nests."""
    if spec is None:
        variables.append(name)
        return
    if spec.twin is not None:
        lines.append(_miss(f"{name} is not {nests[spec.twin]}"))
        return
    nests.append(name)
    parts = [f"{name}_{position}" for position in range(len(spec.parts))]
    is_outer = name in ("arguments", "keywords")
    kind = "" if is_outer else f"type({name}) is not {names.of(spec.kind)} or "
    if spec.keys is not None:
        if not parts:
            lines.append(_miss(f"{name}" if is_outer else f"{kind}{name}"))
            return
        keys = names.of(spec.keys)
        if spec.key_kinds is not None:  # equal keys may be of other types, and others cannot be compared
            lines.append(_miss(f"{kind}different(tuple({name}), {keys})"))
        else:
            if not is_outer:
                kind += f"[*map(type, {name})] != {names.of([str] * len(parts))} or "
            lines.append(_miss(f"{kind}tuple({name}) != {keys}"))
        lines.append(f"{', '.join(parts)}, = {name}.values()")
    elif parts:
        lines.append(_miss(f"{kind}len({name}) != {len(parts)}"))
        lines.append(f"{', '.join(parts)}, = {name}")
    else:
        lines.append(_miss(f"{kind}{name}"))
    for part, variable in zip(spec.parts, parts, strict=True):
        _unpack(part, variable, names, lines, variables, nests)


def _array_condition(variable: str, array: Any, names: Names) -> str:
    """Return the condition under which an argument is another kind of array than one."""
    cls = type(array)
    raw = array if isinstance(array, numpy.ndarray) else array._data
    text = variable if isinstance(array, numpy.ndarray) else f"{variable}._data"
    condition = f"type({variable}) is not {names.of(cls)} or {text}.shape != {raw.shape!r}"
    comparison = "is not" if numpy.dtype(raw.dtype.str) is raw.dtype else "!="
    condition += f" or {text}.dtype {comparison} {names.of(raw.dtype)}"
    if isinstance(array, Array) and cls not in FRONT_ENDS.values():
        condition += f" or {variable}.context != {names.of(array.context)}"
    return condition


def _identity(identities: Mapping[str, int]) -> str:
    """Return the condition under which other arrays of a call are one than at the capture; '' for less than two."""
    first: dict[int, str] = {}
    conditions = []
    for name, identity in identities.items():
        if identity in first:
            conditions.append(f"{name} is not {first[identity]}")
        else:
            first[identity] = name
    names = list(first.values())
    if len(names) > _FEW_ARRAYS:
        conditions.append(f"len({{{', '.join(f'id({name})' for name in names)}}}) != {len(names)}")
    else:
        conditions += [f"{name} is {other}" for place, name in enumerate(names) for other in names[place + 1 :]]
    return " or ".join(conditions)
