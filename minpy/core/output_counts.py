"""The number of outputs of a user's function: as declared, else as in its code, else as its calls returned.

Calls on arrays need not know it in advance, but a graph does.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minpy.core.errors import ArgumentError, describe

__all__ = [
    "LearnedOutputs",
    "declared_outputs",
    "number_returned",
    "numbered_outputs",
    "require_declared",
    "returns_tuple_of_one",
]

_BUILDING = ("BUILD_TUPLE", "BUILD_LIST")
_UNREAD = -1
_MAX_SEEN = 1000  # combinations of attributes that are remembered, the latest


def numbered_outputs(count: int) -> list[str]:
    """Return names for outputs without names: 'output0', 'output1', ...; one alone is 'output'."""
    return ["output"] if count == 1 else [f"output{index}" for index in range(count)]


def declared_outputs(outputs: Any, where: str) -> Sequence[str]:
    """Return the names of outputs that a user has declared by their names, all distinct, or by their number.

    >>> declared_outputs(2, 'customop')
    ['output0', 'output1']
    """
    if isinstance(outputs, int) and not isinstance(outputs, bool) and outputs >= 1:
        return numbered_outputs(outputs)
    if (
        isinstance(outputs, (tuple, list))
        and outputs
        and all(isinstance(name, str) and name for name in outputs)
        and len(set(outputs)) == len(outputs)
    ):
        return [*outputs]
    raise ArgumentError(
        f"{where}: outputs is {describe(outputs)}; expected how many arrays the function returns (2), or a name for "
        "each, all different (('low', 'high'))."
    )


def require_declared(operator: str, names: Sequence[str], count: int) -> None:
    """Raise unless a call returned the outputs that are declared: a tuple of `count` arrays, or 0, an array alone."""
    if count == len(names) > 1 or (count == 0 and len(names) == 1):
        return
    declared = f"its outputs are said to be {len(names)}: {', '.join(names)}"
    if count == 0:
        text = f"returned one array, and {declared}. Say outputs=1, or return a tuple with one array for each."
    elif count == 1:
        text = f"returned a tuple of one array, and {declared}. " + (
            "Return the array itself."
            if len(names) == 1
            else "Say outputs=1 and return the array itself, or return one array for each."
        )
    else:
        text = f"returned {count} array(s), and {declared}. Say outputs={count}, or return one array for each."
    raise ArgumentError(f"{operator}: its forward {text}")


def number_returned(function: Any) -> int | None:
    """Return how many values the function's code returns in a tuple or list; None if it does not tell.

    Examples
    --------
    >>> number_returned(lambda x: (x, -x)), number_returned(lambda x: -x)
    (2, None)
    """
    if type(function) is not types.FunctionType or hasattr(function, "__wrapped__"):
        return None
    counts: set[int | None] = set()
    before: Any = None
    for instruction in dis.get_instructions(function):
        if instruction.opname == "RETURN_VALUE":
            is_plain = before is not None and before.opname in _BUILDING and not instruction.is_jump_target
            counts.add(before.arg if is_plain else None)
        elif instruction.opname.startswith(("RETURN", "YIELD")) and instruction.opname != "RETURN_GENERATOR":
            counts.add(None)
        before = instruction
    return counts.pop() if len(counts) == 1 else None


class LearnedOutputs:
    """The `outputs` of an operator whose user has not named them: called with attributes, it returns names.

    What its code does not say (`return tuple(parts)`) is learned from the calls on arrays, for each combination of
    attributes, as they may decide it. Where nothing is known, one output is expected.

    Examples
    --------
    >>> outputs = LearnedOutputs(lambda x, *, parts: tuple(x[:parts]))
    >>> outputs.note(3, {'parts': 3})
    >>> outputs({'parts': 3})
    ['output0', 'output1', 'output2']
    """

    __slots__ = ("_count_in_code", "_defaults", "_function", "_seen", "_varying")

    def __init__(self, function: Callable[..., Any], defaults: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._function = function
        self._defaults = defaults
        self._count_in_code: int | None = _UNREAD
        self._seen: dict[str, int] = {}
        self._varying: set[str] = set()

    def __call__(self, attributes: Mapping[str, Any]) -> list[str]:
        return numbered_outputs(self.count(attributes) or 1)

    def note(self, count: int, attributes: Mapping[str, Any]) -> None:
        """Note how many arrays a call returned in a tuple or list; 0 for an array alone."""
        key = self._key(attributes)
        if self._seen.get(key, count) != count:
            self._varying.add(key)
        elif len(self._seen) >= _MAX_SEEN and key not in self._seen:
            earlier = [*self._seen]  # at once: other threads may note, too
            self._seen.pop(earlier[0], None)
        self._seen[key] = count

    def varies(self, attributes: Mapping[str, Any]) -> bool:
        """Tell whether calls with the same attributes have returned different numbers of arrays."""
        return bool(self._varying) and self._key(attributes) in self._varying

    def count(self, attributes: Mapping[str, Any]) -> int | None:
        """Return how many arrays a call returns in a tuple, 0 for an array alone; None if nothing is known.

        For attributes that no call has had, it is what all other calls have returned.
        """
        number = self.exact_count(attributes)
        if number is None and len(counts := {*self._seen.values()}) == 1:
            return counts.pop()
        return number

    def exact_count(self, attributes: Mapping[str, Any]) -> int | None:
        """Return how many arrays a call with exactly these attributes returns in a tuple; None if not known."""
        if self._seen and (seen := self._seen.get(self._key(attributes))) is not None:
            return seen
        return self.count_in_code

    @property
    def count_in_code(self) -> int | None:
        """How many arrays the function returns in a tuple, as its code tells; None if it does not tell."""
        if self._count_in_code == _UNREAD:
            self._count_in_code = number_returned(self._function)
        return self._count_in_code

    def _key(self, attributes: Mapping[str, Any]) -> str:
        """Return a text that is equal for equal attributes."""
        if not attributes and not self._defaults:
            return ""
        named = {**self._defaults, **attributes}
        return repr([(name, named[name]) for name in sorted(named) if name != "training"])


def returns_tuple_of_one(operator: Any, attributes: Mapping[str, Any]) -> bool:
    """Tell whether an operator is a user's function that returns one array in a tuple or list."""
    outputs = operator.outputs
    return type(outputs) is LearnedOutputs and outputs.count(attributes) == 1
