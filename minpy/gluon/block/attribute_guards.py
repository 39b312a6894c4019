"""What a graph of symbols is valid for: attributes of blocks, and what their functions refer to.

Numbers, strings and functions become part of a graph; arrays do so by reference, and what is computed of them by value.
Where one of them is another than before, or was changed, the block is traced again: `reference_finder` finds what
functions refer to, `references` compares it, with the `snapshots` of what it was.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

import numpy

from minpy.capture.guard_sources import ABSENT
from minpy.capture.reads import CONSTANT_TYPES
from minpy.core.array import Array
from minpy.gluon.block.reference_finder import ReferenceFinder, methods_of, names_in
from minpy.gluon.block.references import References
from minpy.gluon.block.snapshots import LONGEST, difference, is_same, snapshot
from minpy.gluon.change_counter import CHANGES

__all__ = ["Guards"]

# What is always compared among the attributes of blocks; other objects are looked at where methods name them.
_COMPARED: tuple[Any, ...] = (
    *CONSTANT_TYPES,
    slice,
    Array,
    numpy.ndarray,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
    tuple,
    list,
    dict,
    set,
    frozenset,
)
# No attribute has such a name.
_CHILDREN, _DTYPES = "blocks inside", "dtypes of the parameters of"
# So many functions may be arguments before all graphs are forgotten: each call may have another one.
_MOST_ARGUMENTS = 50


class Guards:
    """What some blocks, and functions that they call, referred to before one of them was traced.

    `internal` names the attributes that are not looked at.
    """

    def __init__(self, blocks: Iterable[Any], internal: frozenset[str]) -> None:
        self._internal = internal
        self._count, self._meanings = CHANGES.count, CHANGES.meanings
        self._references = References()
        self._finder = ReferenceFinder(self._references)
        self._arguments: set[int] = set()  # ids of functions
        # Of each block its latest changes, as of when its attributes were compared, and snapshots of these.
        self._rows = [
            [block, _latest_changes(block), {name: snapshot(value) for name, value in self._compared(block).items()}]
            for block in blocks
        ]
        for block, *_ in self._rows:
            self._follow(block)
        # Whether nothing is looked at but attributes, of which changes are counted.
        self.are_of_attributes = not self._references

    @property
    def frozen(self) -> dict[str, str]:
        """By name, the classes of values that functions name, and of which no changes are noticed."""
        return self._references.frozen

    @property
    def generators(self) -> Collection[Any]:
        """The generators of random numbers that blocks and functions can reach."""
        return self._references.generators.values()

    @property
    def are_full(self) -> bool:
        """Whether more functions have been arguments than are worth being looked at."""
        return len(self._arguments) > _MOST_ARGUMENTS

    def note_arguments(self, functions: Iterable[types.FunctionType]) -> None:
        """Note what functions refer to that are arguments of the call that is traced."""
        for function in functions:
            self._arguments.add(id(function))
            self._finder.follow_function(function)  # which keeps it, so that nothing else gets its id
        self.are_of_attributes = not self._references

    def failure(self) -> str | None:
        """Return in words what is another than it was; None if everything is the same, and graphs are valid."""
        if self._meanings != CHANGES.meanings:
            return "operators compute otherwise than before (mixed precision)"
        if not self.are_of_attributes:
            reason = self._references.failure()
            if reason is not None:
                return reason
        return None if self._count == CHANGES.count else self._attribute_failure()

    def refers_to_the_same(self) -> bool:
        """Tell whether everything is the same that functions refer to."""
        return self._references.failure() is None

    def _attribute_failure(self) -> str | None:
        """Return in words which attribute of a block is another, of blocks that were changed at all."""
        count = CHANGES.count
        for row in self._rows:
            block, compared_changes, attributes = row
            changes = _latest_changes(block)
            if changes == compared_changes:
                continue
            values = self._compared(block)
            for name in {**attributes, **values}:
                value = values.get(name, vars(block).get(name, ABSENT))
                was = attributes.get(name, ABSENT)
                if not is_same(value, was):
                    if name in (_CHILDREN, _DTYPES):
                        return f"the {name} {block.name} are others than before"
                    return difference(f"{block.name}.{name}", value, was)
            row[1] = changes
        self._count = count
        return None

    def _follow(self, block: Any) -> None:
        """Note what the functions of a block refer to, and its attributes that they name."""
        attributes = self._attributes(block)
        for name, value in attributes.items():
            self._references.add_arrays(value, f"{block.name}.{name}")
            if type(value) in (list, dict) and len(value) <= LONGEST:
                self._references.add_container(value, f"{block.name}.{name}")
        own_functions = [value for value in vars(block).values() if isinstance(value, types.FunctionType)]
        functions = [*methods_of(type(block)), *own_functions]
        for function in functions:
            self._finder.follow_function(function)
        names = {name for function in functions for name in names_in(function.__code__)}
        for name, value in attributes.items():
            path = f"{block.name}.{name}"
            if name in names:
                self._references.add_unseen(name, value)
                if not isinstance(value, _COMPARED):
                    self._references.add(partial(vars(block).get, name, ABSENT), path)
            self._finder.follow(value, names, path)

    def _attributes(self, block: Any) -> dict[str, Any]:
        skipped = self._internal | block._not_compared
        return {name: value for name, value in vars(block).items() if name not in skipped}

    def _compared(self, block: Any) -> dict[str, Any]:
        return {
            **{name: value for name, value in self._attributes(block).items() if isinstance(value, _COMPARED)},
            _CHILDREN: tuple(id(child) for child in block._children.values()),
            _DTYPES: tuple(parameter._dtype for parameter in block._reg_params.values()),
        }


def _latest_changes(block: Any) -> tuple[Any, ...]:
    """Return the latest changes of a block and of its parameters."""
    parameters = [vars(parameter).get("_changes") for parameter in block._reg_params.values()]
    return (vars(block).get("_changes"), *parameters)
