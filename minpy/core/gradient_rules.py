"""Gradient rules: which arguments have one, how it was given, and what it reads.

What rules read is found in their code: a recorded call saves that, and nothing else, for backward.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = [
    "GradientRules",
    "OutputBuffer",
    "Plan",
    "Rule",
    "Unstaged",
    "VjpInto",
    "codes_of",
    "parameters_read",
    "values_read",
]

Rule = Callable[..., Callable[[Any], Any]]
# Names by which functions inspect frames, also those of their callers.
_FRAMES = {"_getframe", "currentframe", "f_back", "f_locals", "inspect"}
_FRAME_FUNCTIONS = (sys._getframe, inspect.currentframe, inspect.stack, inspect.trace)  # by other names
_LIBRARIES = ("autograd", "minpy", "numpy", "scipy")
_READS_EVERYTHING = {
    *("locals", "vars", "eval", "exec", "dir", "breakpoint", "set_trace"),
    *("globals", "builtins", "__builtins__", "__import__", "getattr"),  # these may return one of them
    *_FRAMES,
}


class Unstaged(TypeError):
    """A rule did not return a function of the upstream gradient, but this error's argument."""


class OutputBuffer(NamedTuple):
    """The shape and dtype of an argument's gradient, and a buffer that it may be computed in, or None."""

    shape: tuple[int, ...]
    dtype: Any
    buffer: Any


class VjpInto:
    """The function of the upstream gradient that a rule returns if it can also compute in given buffers."""

    def __call__(self, gradient: Any) -> Any:
        """Return the rule's gradients for an upstream gradient."""
        raise NotImplementedError

    def into(self, gradient: Any, output_buffers: Mapping[int, OutputBuffer]) -> Any:
        """Return the same; gradients may have been computed in these buffers, by the positions of arguments.

        Nothing has been written there if it raises, or if a gradient that it returns has another shape or dtype.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Plan:
    """Which values a recorded call has to save, determined once from the rules."""

    reads_arguments: frozenset[int] | None
    reads_result: bool
    # Of those arguments, the ones of which only shape and dtype are read.
    reads_shapes: frozenset[int] = frozenset()


class GradientRules:
    """The gradient rules of an operator."""

    def __init__(self, count: int, zeros: Iterable[int] = ()) -> None:
        # By position: the definition of the rule, in plain NumPy, or None; and what is called on raw arrays: a kernel,
        # or the definition where there is none.
        self.definitions: list[Rule | None] = [None] * count
        self.raw: list[Rule | None] = [None] * count
        # The positions (None: all) and the rules of several arguments, the latest first; their kernels.
        self.several: list[tuple[tuple[int, ...] | None, Rule]] = []
        self.several_raw: dict[Rule, Rule] = {}
        self.by_keyword: dict[str, Rule] = {}
        self.jvp: dict[int, Rule] = {}  # forward-mode rules, by position
        self.into: dict[int, Rule] = {}  # rules that compute in given memory, by position
        self.states = frozenset(zeros)
        self.zeros: set[int] = set(self.states)  # positions whose gradient is zero
        self.shapes_only: set[int] = set()  # positions of which only shape and dtype are read
        self.all_zero = False  # whether every gradient is zero
        self.further_zero = False  # whether those of further variadic and keyword inputs are

    def __repr__(self) -> str:
        defined = [str(index) for index in range(len(self.definitions)) if self.has(index)] + list(self.by_keyword)
        return f"<gradient rules of {', '.join(defined) or 'no argument'}>"

    # -- defining --------------------------------------------------------------------------------------------------

    def define(self, index: int, rule: Rule) -> None:
        """Set the rule of one argument; faster forms of an earlier one are dropped."""
        self._spell_out_zeros()
        self.definitions[index] = self.raw[index] = rule
        self.into.pop(index, None)
        self.zeros.discard(index)

    def define_several(self, indices: tuple[int, ...] | None, rule: Rule) -> None:
        """Set the rule of several arguments; None: of all, however many a call has."""
        self._spell_out_zeros()
        if indices is None:
            self.zeros = set(self.states)
            self.further_zero = False
        else:
            self.zeros.difference_update(indices)
        for index in range(len(self.definitions)) if indices is None else indices:
            self.definitions[index] = self.raw[index] = None
        covered = [entry for entry in self.several if indices and not set(entry[0] or (-1,)) <= set(indices)]
        self.several[:] = [(indices, rule), *covered]

    def define_zero(self, index: int | None) -> None:
        """Declare the gradient of one argument, or of every one, zero."""
        if index is not None:
            self.definitions[index] = self.raw[index] = None
            self.zeros.add(index)
            return
        self.all_zero = True
        for position in range(len(self.definitions)):
            self.definitions[position] = self.raw[position] = None
        self.several.clear()
        self.by_keyword.clear()

    def extend(self, count: int) -> None:
        """Make room for the rules of `count` arguments."""
        missing = [None] * (count - len(self.definitions))
        self.definitions.extend(missing)
        self.raw.extend(missing)

    def _spell_out_zeros(self) -> None:
        """Turn "every gradient is zero" into one entry for each argument, so that single ones can be changed."""
        if self.all_zero:
            self.all_zero = False
            self.further_zero = True
            self.zeros = set(range(len(self.definitions)))

    def with_keyword(self, key: str, change: Callable[[Rule], Rule]) -> GradientRules:
        """Return these rules for calls that give the keyword argument `key` as the last input.

        `change` converts a rule to such calls.
        """

        def changed(rule: Rule | None) -> Rule | None:
            return None if rule is None else change(rule)

        count = len(self.definitions)
        rules = GradientRules(count + 1)
        rules.definitions[:] = [*map(changed, self.definitions), changed(self.by_keyword.get(key))]
        rules.raw[:] = [*map(changed, self.raw), rules.definitions[-1]]
        rules.several[:] = [(indices, change(rule)) for indices, rule in self.several]
        rules.by_keyword.update({name: change(rule) for name, rule in self.by_keyword.items() if name != key})
        rules.jvp.update({index: change(rule) for index, rule in self.jvp.items()})
        rules.states, rules.zeros, rules.shapes_only = self.states, set(self.zeros), set(self.shapes_only)
        if self.further_zero and key not in self.by_keyword:
            rules.zeros.add(count)
        rules.all_zero, rules.further_zero = self.all_zero, self.further_zero
        return rules

    # -- queries ---------------------------------------------------------------------------------------------------

    def has(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is known, as a rule or as zero."""
        if self.is_zero(index) or (index < len(self.definitions) and self.definitions[index] is not None):
            return True
        return self.of_several(index) is not None

    def has_each(self, first: int) -> bool:
        """Tell whether every input from a position on has a rule of its own, or a zero gradient."""
        if self.all_zero:
            return True
        return all(
            rule is not None or first + offset in self.zeros for offset, rule in enumerate(self.definitions[first:])
        )

    def is_zero(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is said to be zero."""
        return self.all_zero or index in self.zeros or (self.further_zero and index >= len(self.definitions))

    def of_several(self, index: int) -> tuple[tuple[int, ...] | None, Rule] | None:
        """Return (positions, rule) of the rule for several arguments that covers the one at a position, or None."""
        if index < len(self.definitions) and self.definitions[index] is not None:
            return None
        for entry in self.several:
            if entry[0] is None or index in entry[0]:
                return entry
        return None

    def plan(self) -> Plan:
        """Return which values a recorded call has to save."""
        rules = [rule for rule in (*self.definitions, *self.raw) if rule is not None]
        rules += [rule for _, rule in self.several]
        rules += [*self.several_raw.values(), *self.jvp.values(), *self.into.values()]
        reads_arguments, reads_result = values_read(rules)
        return Plan(reads_arguments, reads_result, frozenset(self.shapes_only))

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what the rules of the inputs at the positions `indices` read.

        The positions of the arguments (None: all of them), and whether they read the result.
        """
        positions = [index for index in indices if index < len(self.definitions)]
        rules = [forms[index] for index in positions for forms in (self.definitions, self.raw)]
        requested = set(indices)
        several = [rule for covered, rule in self.several if covered is None or requested & set(covered)]
        several += [self.several_raw[rule] for rule in several if rule in self.several_raw]
        return values_read([rule for rule in (*rules, *several) if rule is not None])


def values_read(rules: Iterable[Rule]) -> tuple[frozenset[int] | None, bool]:
    """Return (positions of the arguments that the rules read, None if unknown; whether they read the result)."""
    reads: set[int] = set()
    reads_result = False
    for rule in rules:
        read = parameters_read(rule)
        if read is None:
            return None, True
        names, positions = read
        reads_result = reads_result or positions[0] in names
        reads |= {positions.index(name) - 1 for name in names if name in positions[1:]}
    return frozenset(reads), reads_result


def parameters_read(rule: Rule) -> tuple[set[str], tuple[str, ...]] | None:
    """Return (the names of the parameters that a rule reads, those by position in order); None if unknown.

    What no rule reads is not saved for backward. A parameter is read if its code loads it, or an inner function does.
    """
    rule = getattr(rule, "adapted_from", rule)
    code = getattr(rule, "__code__", None)
    if not isinstance(rule, types.FunctionType) or code is None or code.co_argcount == 0:
        return None
    if code.co_flags & inspect.CO_VARARGS:
        return None
    positions = code.co_varnames[: code.co_argcount]
    if _READS_EVERYTHING & set(code.co_names) or _looks_at_frames(rule, set()):
        return None
    read = set(code.co_cellvars) & set(positions)
    for instruction in dis.get_instructions(code):
        if "LOAD" in instruction.opname or "CHECK" in instruction.opname:
            values = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            read.update(value for value in values if isinstance(value, str) and value in positions)
    return read, positions


def _looks_at_frames(function: types.FunctionType, seen: set[int]) -> bool:
    """Tell whether a function, or a user's function that it calls by name, inspects the frames of its callers."""
    if id(function) in seen:
        return False
    seen.add(id(function))
    names = {name for code in codes_of(function.__code__) for name in code.co_names}
    if _FRAMES & names:
        return True
    called = [function.__globals__.get(name) for name in names]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty
            called.append(cell.cell_contents)
    return any(
        any(inner is frame_function for frame_function in _FRAME_FUNCTIONS)
        or (
            type(inner) is types.FunctionType
            and str(inner.__module__).split(".")[0] not in _LIBRARIES
            and _looks_at_frames(inner, seen)
        )
        for inner in called
    )


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)
