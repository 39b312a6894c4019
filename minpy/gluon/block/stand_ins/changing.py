"""Changes in place of what stands for arrays in a trace: the stand-in is another value from there on.

Two stand-ins may be of one memory, one a view of the other: a change of one would be a change of the other, too, and is
refused as long as anybody holds that.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from minpy.gluon.block.stand_ins.arithmetic import Arithmetic

__all__ = ["ARGUMENT", "Changing"]

ARGUMENT = "an argument"
_REMEDY = "Make a new array: x = x + 1 instead of x += 1"


class Changing(Arithmetic):
    """A stand-in that can be changed in place."""

    __slots__ = ()

    if TYPE_CHECKING:
        symbol: Any
        _role: str
        _relatives: list[weakref.ref[Changing]]

    def _relate(self, others: Iterable[Any]) -> None:
        """Note of values that they may lie in the same memory."""
        members = {id(member): member for one in (self, *others) for member in one._family()}
        relatives = [weakref.ref(member) for member in members.values()]
        for member in members.values():
            member._relatives = relatives

    def _family(self) -> list[Changing]:
        """Return all that may lie in the same memory and that somebody holds; the value itself among them."""
        found = [member for reference in self._relatives if (member := reference()) is not None]
        return found or [self]

    def _replaced(self, answer: Any) -> Any:
        """Answer an operator in place: the value is another from here on."""
        if answer is NotImplemented:
            return answer
        role = self._role
        if not role and any(member is not self for member in self._family()):
            role = "an array of which there are views"
        if role:
            raise self._trace.refusal(f"changes {role} in place, which a graph cannot.", _REMEDY)
        self.symbol = answer.symbol
        return self

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise self._trace.refusal(
            "stores into a part of an array (`x[1:] = 0`), which a graph cannot.",
            "Make a new array: np.where(np.arange(len(x)) < 1, x, 0), np.concatenate([x[:1], ...])",
        )
