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
from minpy.core.numpy_semantics import switches
from minpy.core.state import TRACES, tracing
from minpy.jit.guards import GONE, Names, array_source, different, expression, guard_condition
from minpy.jit.pytrees import Nest
from minpy.jit.specialization import RUN_EAGERLY

__all__ = ["MISS", "RUN_EAGERLY", "Entry", "make_entry"]

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

    `spec`: of (arguments by position, arguments by keyword). `leaves`: of the call that was captured. `dynamic`: the
    positions of those that are numbers which may change. `run`: called with the arrays, those of the arguments and
    those that were read, where it holds; left out, the specialization runs.
    """
    writer = _EntryWriter(specialization)
    variables = writer.unpack(spec)
    writer.check_leaves(variables, leaves, dynamic)
    writer.check_reads(variables)
    writer.check_numbers()
    writer.check_layouts(dict(zip(variables, leaves, strict=True)))
    writer.check_modes()
    writer.call(run)
    text = "def entry(arguments, keywords):\n" + "\n".join(f"    {line}" for line in writer.lines)
    namespace = writer.names.values
    exec(compile(text, f"<entry of {specialization.operator.__name__}>", "exec"), namespace)
    entry: Entry = namespace["entry"]
    return entry


class _EntryWriter:
    """Writes the lines of an entry in the order of its methods: what costs least, and most often fails, comes first."""

    def __init__(self, specialization: Any) -> None:
        self._specialization = specialization
        self.lines: list[str] = []
        self.names = Names(
            different=different,
            GONE=GONE,
            MISS=MISS,
            RUN_EAGERLY=RUN_EAGERLY,
            TRACES=TRACES,
            tracing=tracing,
            switches=switches,
            is_calm=is_calm,
        )
        # The variables of the arrays of arguments, of those that were read, and what computes numbers that are inputs.
        self._arguments: list[str] = []
        self._read: list[str] = []
        self._inputs: list[str] = []
        # For each variable of an array the id of the array that it was.
        self._identities: dict[str, int] = {}
        self._has_ours = False

    def _miss_if(self, condition: str) -> None:
        self.lines.append(_miss(condition))

    def unpack(self, spec: Nest) -> list[str]:
        """Take the arguments apart into variables, one a leaf, and return their names."""
        variables: list[str] = []
        nests = ["None"]  # the pair of both
        _unpack(spec.parts[0], "arguments", self.names, self.lines, variables, nests)
        _unpack(spec.parts[1], "keywords", self.names, self.lines, variables, nests)
        inner = [name for name in nests[1:] if name not in ("arguments", "keywords")]
        if len(inner) > 1:
            self._miss_if(_identity({name: place for place, name in enumerate(inner)}))
        if inner and self._specialization.containers_read:
            read = self.names.of(self._specialization.containers_read)
            self.lines += [f"if id({name}) in {read}: return RUN_EAGERLY" for name in inner]
        return variables

    def check_leaves(self, variables: Sequence[str], leaves: Sequence[Any], dynamic: Set[int]) -> None:
        """Compare the arguments: arrays by their kinds, numbers that may change by their classes, all else by value."""
        arrays: dict[int, str] = {}
        for position, (variable, leaf) in enumerate(zip(variables, leaves, strict=True)):
            if position in dynamic and is_dynamic(leaf):
                self._miss_if(f"type({variable}) is not {type(leaf).__name__}")
            elif isinstance(leaf, (numpy.ndarray, Array)):
                first = arrays.setdefault(id(leaf), variable)
                is_first = first is variable
                self._miss_if(
                    _array_condition(variable, leaf, self.names) if is_first else f"{variable} is not {first}"
                )
                self._has_ours = self._has_ours or isinstance(leaf, Array)
            elif isinstance(leaf, CONSTANT_TYPES):
                constant = self.names.of(leaf)
                self._miss_if(f"{variable} is not {constant} and different({variable}, {constant})")
            else:
                self._miss_if(f"{variable} is not {self.names.of(leaf)}")
        self._arguments = list(arrays.values())
        self._identities = {variable: key for key, variable in arrays.items()}

    def check_reads(self, variables: Sequence[str]) -> None:
        """Read again what the function read, and compare it; which arrays are one is part of that."""
        specialization, names = self._specialization, self.names
        reading: list[str] = []
        for position, row in enumerate(specialization.arrays_read):
            variable = f"r{position}"
            assignment, condition = array_source(row, variable, names)
            reading += [assignment, _miss(condition)]
            self._read.append(variable)
            self._has_ours = self._has_ours or issubclass(row.kind.cls, Array)
            self._identities[variable] = id(row.source(row.container, row.key))
        reading += [_miss(guard_condition(row, names)) for row in specialization.reads.rows]
        if specialization.group is not None:
            group, clock = names.of(specialization.group), names.of(specialization.group.clock)
            reading.insert(0, _miss(f"{group}.count != {clock}.count and not {group}.holds()"))
            self._has_ours = True
        self._numbers = _Numbers(names, variables)
        for position, (place, row) in enumerate(specialization.scalars.reads.items()):
            self._numbers.reads[place] = f"n{position}"
            reading.append(f"n{position} = {expression(row, names)}")
            reading.append(_miss(f"type(n{position}) is not {row.expected.__name__}"))
        distinct = _identity(self._identities)
        if distinct and not self._read:
            self._miss_if(distinct)
        if reading:
            self.lines += ["try:", *(f"    {line}" for line in reading), "except GONE:", "    return MISS"]
        if distinct and self._read:
            self._miss_if(distinct)

    def check_numbers(self) -> None:
        """Compute what the function computed of numbers that change, and compare what its course depended on."""
        scalars, numbers = self._specialization.scalars, self._numbers
        for condition, expected in scalars.conditions:
            constant = self.names.of(expected)
            self.lines += numbers.lines(condition)
            self._miss_if(f"different({numbers.text(condition)}, {constant})")
        for row in scalars.inputs:
            self.lines += numbers.lines(row.expression)
            array = self.names.of(numpy.array)
            self._inputs.append(f"{array}({numbers.text(row.expression)}, {self.names.of(row.dtype)})")

    def check_layouts(self, leaves: Mapping[str, Any]) -> None:
        """Let a call run as written that gives arrays in another order than C's where that makes a difference."""
        for position in self._specialization.contiguous:
            variable = self._arguments[position]
            text = variable if isinstance(leaves[variable], numpy.ndarray) else f"{variable}._data"
            self.lines.append(f"if not {text}.flags.c_contiguous: return RUN_EAGERLY")

    def check_modes(self) -> None:
        """Compare what is set for the thread."""
        self._miss_if("TRACES and tracing.trace is not None")
        modes = ", ".join(map(repr, (switches.array, switches.shape, switches.dtype)))
        self._miss_if(f"(switches.array, switches.shape, switches.dtype) != ({modes})")
        self.lines.append("if not is_calm(): return RUN_EAGERLY")

    def call(self, run: Callable[[Sequence[Any]], Any] | None) -> None:
        """Call the specialization, or what runs in its place, with all arrays."""
        specialization = self._specialization
        function = self.names.of(run or (specialization.call if self._has_ours else specialization.run))
        grouped = [] if specialization.group is None else [f"*{self.names.of(specialization.group)}.arrays"]
        arrays = "".join(f"{array}, " for array in (*self._arguments, *self._read, *grouped, *self._inputs))
        self.lines.append(f"return {function}(({arrays}))")


class _Numbers:
    """The variables that hold what is computed of numbers that change."""

    def __init__(self, names: Names, variables: Sequence[str]) -> None:
        self.reads: dict[Any, str] = {}
        self._names, self._variables = names, variables
        self._computed: dict[int, str] = {}

    def lines(self, expression: Any) -> list[str]:
        """Return the lines that compute an expression, as far as it is not computed yet."""
        if not isinstance(expression, ScalarCall) or id(expression) in self._computed:
            return []
        lines = [line for operand in expression.operands for line in self.lines(operand)]
        operands = ", ".join(map(self.text, expression.operands))
        variable = self._computed[id(expression)] = f"e{len(self._computed)}"
        return [*lines, f"{variable} = {self._names.of(expression.function)}({operands})"]

    def text(self, expression: Any) -> str:
        """Return the source text of an expression once its lines have run."""
        if isinstance(expression, ScalarRead):
            return self._variables[expression.key] if expression.kind == "argument" else self.reads[expression.key]
        if isinstance(expression, ScalarCall):
            return self._computed[id(expression)]
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
    buffer = array if isinstance(array, numpy.ndarray) else array._data
    text = variable if isinstance(array, numpy.ndarray) else f"{variable}._data"
    condition = f"type({variable}) is not {names.of(cls)} or {text}.shape != {buffer.shape!r}"
    comparison = "is not" if numpy.dtype(buffer.dtype.str) is buffer.dtype else "!="
    condition += f" or {text}.dtype {comparison} {names.of(buffer.dtype)}"
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
        conditions += [f"{name} is {twin}" for place, name in enumerate(names) for twin in names[place + 1 :]]
    return " or ".join(conditions)
