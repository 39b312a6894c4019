"""Changes in place of what stands for arrays in a trace: the stand-in is another value from there on.

Two stand-ins may be of one memory, one a view of the other. A change of one is a change of the other, too, of which
only this is followed: a part that is taken by a basic index and changed, which changes the whole. All else is refused
as long as anybody holds the other stand-in.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy

from minpy import symbol
from minpy.core.array import Array
from minpy.gluon.block.stand_ins.arithmetic import Arithmetic
from minpy.ops.registry import OPERATORS

__all__ = ["ARGUMENT", "Changing", "Part"]

ARGUMENT = "an argument"
_REMEDY = "Make a new array: x = x + 1 instead of x += 1"
_OF_PARTS = (
    "stores into a part of an array (`x[1:] = 0`), which a graph cannot.",
    "Make a new array: np.where(np.arange(len(x)) < 1, x, 0), np.concatenate([x[:1], ...])",
)
_OF_OTHER_PARTS = (
    "stores into a part of an array that is chosen by positions, or backwards (`x[[2, 0]] = 0`), which a graph cannot.",
    "Make a new array: np.where(mask, 0, x)",
)


class Part(NamedTuple):
    """What a basic index selects of an array of some shape: a range along each axis, and the axes that are left."""

    ranges: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]
    is_whole: bool

    @property
    def lengths(self) -> tuple[int, ...]:
        """The shape with axes of length 1 where an index is a number."""
        return tuple(len(range(*one)) for one in self.ranges)

    @classmethod
    def of(cls, key: Any, shape: Sequence[int]) -> Part | None:
        """Return the part; None for indices of other kinds.

        >>> Part.of((1, slice(2, None)), (3, 5))
        Part(ranges=((1, 2, 1), (2, 5, 1)), shape=(3,), is_whole=False)
        """
        parts = list(key) if type(key) is tuple else [key]
        if sum(part is Ellipsis for part in parts) > 1:
            return None
        missing = len(shape) - sum(part is not Ellipsis for part in parts)
        if missing < 0:
            return None
        place = next((index for index, part in enumerate(parts) if part is Ellipsis), len(parts))
        parts[place : place + 1] = [slice(None)] * missing
        ranges, left = [], []
        for part, length in zip(parts, shape, strict=True):
            if type(part) is slice:
                bounds = (part.start, part.stop, part.step)
                if not all(one is None or isinstance(one, (int, numpy.integer)) for one in bounds):
                    return None
                begin, end, step = part.indices(length)
                if step < 1:
                    return None
                ranges.append((begin, max(begin, end), step))
                left.append(len(range(begin, end, step)))
            elif isinstance(part, (int, numpy.integer)) and not isinstance(part, bool) and -length <= part < length:
                ranges.append((int(part) % length, int(part) % length + 1, 1))
            else:
                return None
        return cls(tuple(ranges), tuple(left), tuple(left) == tuple(shape))


class Changing(Arithmetic):
    """A stand-in that can be changed in place."""

    __slots__ = ()

    if TYPE_CHECKING:
        symbol: Any
        _role: str
        _is_scalar: bool
        _part_of: tuple[Changing, Part] | None
        _relatives: list[weakref.ref[Changing]]

        @property
        def shape(self) -> tuple[int, ...]: ...

    # -- who shares memory -------------------------------------------------------------------------------------------

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

    def _is_seen_by_others(self) -> bool:
        """Tell whether a change would have to be one of a value that is not followed."""
        known, one = {id(self)}, self._part_of
        while one is not None:
            known.add(id(one[0]))
            one = one[0]._part_of
        if all(id(member) in known for member in self._family()):
            return False
        gc.collect()  # an error that was caught on the way may hold a frame, and that a view
        return any(id(member) not in known for member in self._family())

    # -- changes -----------------------------------------------------------------------------------------------------

    def _replaced(self, answer: Any) -> Any:
        """Answer an operator in place: the value is another from here on, but for a scalar, which nobody changes."""
        if answer is NotImplemented:
            return answer
        if self._trace.of_function and self._in_numpy and not self._role and not self.shape:
            self._trace.asked_for_classes = True
            if self._is_scalar and self._trace.is_of_numpy:
                return answer
            # All who hold it see the change if it is an array, and none but the one who makes it if it is a scalar.
            if self._part_of is None and self._trace.is_of_numpy:
                self._refuse_change("a value without axes, which may be a scalar", "Write x = x + 1")
        self._require_changeable()
        if not self._trace.of_function:
            self.symbol = answer.symbol
            return self
        if answer.shape != self.shape:
            raise ValueError(f"non-broadcastable output operand: {self.shape} for {answer.shape}")
        self._take(self._cast(answer, "same_kind"))
        return self

    def _require_changeable(self) -> None:
        """Refuse to change what the traced function was given, if nobody can write it back; or what others see."""
        root: Changing = self
        while root._part_of is not None:
            root = root._part_of[0]
        role = root._role
        follows = self._trace.of_function and self._in_numpy
        if role == ARGUMENT and follows:
            role = ""
        if not role and (self._is_seen_by_others() or (self._part_of is not None and not follows)):
            role = "an array of which there are views"
        if role:
            raise self._trace.refusal(f"changes {role} in place, which a graph cannot.", _REMEDY)

    def _take(self, value: Any) -> None:
        """Be another value of the same shape and dtype, and let what this is a part of be another, too."""
        # Another symbol, though it may be of the same value: that it was written to is seen by it.
        self.symbol = type(value.symbol)(value.symbol.values)
        if self._part_of is not None:
            whole, part = self._part_of
            whole._take(whole._with(part, self))

    def _with(self, part: Part, value: Any) -> Any:
        """Return the array with another value in a part of it."""
        if part.is_whole:
            return value
        if value.shape != part.lengths:
            value = value.reshape(part.lengths)
        begin, end, step = zip(*part.ranges, strict=True)
        assign = OPERATORS["_slice_assign"]
        return self._trace.wrapped(assign(self.symbol, value.symbol, begin=begin, end=end, step=step), self._in_numpy)

    def _cast(self, value: Any, casting: str) -> Any:
        """Return a value in this array's dtype, as NumPy stores it there."""
        found, dtype = numpy.dtype(value.dtype), numpy.dtype(self.dtype)
        if found == dtype:
            return value
        # These errors are not seen: NumPy's own are, as the function runs as it is written then.
        if not numpy.can_cast(found, dtype, casting):  # type: ignore[arg-type]
            raise TypeError(f"a value of {found} is stored into an array of {dtype}")
        if found.kind == "c" and dtype.kind != "c":
            self._refuse_change(f"a value of {found} for one of {dtype}", "Take its real part")
        return value.astype(dtype)

    def _store(self, value: Any, part: Part, casting: str) -> None:
        """Put a value, which is broadcast, into a part of the array."""
        is_part = self._part_of is not None and not self._is_scalar
        if not self._role and not is_part and not self.shape:  # a scalar of NumPy's, or an array
            self._refuse_change("a store into a value without axes", "Write x = value")
        self._require_changeable()
        value = self._cast(value, casting)
        if value.shape != part.shape:
            lead = len(part.shape) - len(value.shape)
            if lead < 0 or any(one not in (1, two) for one, two in zip(value.shape, part.shape[lead:], strict=True)):
                if lead > 0 or value.size != 1:  # NumPy leaves out leading axes of length 1
                    raise ValueError(f"a value of shape {value.shape} is stored into one of {part.shape}")
                self._refuse_change(f"a value of shape {value.shape} for one of {part.shape}", _REMEDY)
            value = self._of_numpy("broadcast_to", (value, part.shape), {})
        self._take(self._with(part, value))

    def _whole(self) -> Part:
        found = Part.of(Ellipsis, self.shape)
        assert found is not None
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if not (self._trace.of_function and self._in_numpy):
            raise self._trace.refusal(*_OF_PARTS)
        if isinstance(key, Changing) and key.dtype == bool and key.shape == self.shape and key.shape:
            self._store_chosen(key, value)
            return
        part = Part.of(key, self.shape)
        if part is None:
            if isinstance(key, (int, numpy.integer)) and not isinstance(key, bool):
                raise IndexError(f"index {key} is out of bounds of {self.shape}")
            raise self._trace.refusal(*_OF_OTHER_PARTS)
        if isinstance(value, Changing) and value._part_of is not None:
            whole, same = value._part_of
            if whole is self and same == part:  # `x[1:] += 1`, which has changed it already
                return
        self._store(self._as_value(value, part), part, "unsafe")

    def _store_chosen(self, mask: Changing, value: Any) -> None:
        """Put a number where a mask says so."""
        whole, is_number = self._whole(), not hasattr(value, "shape") or isinstance(value, numpy.generic)
        value = self._cast(self._as_value(value, whole), "unsafe")
        if not is_number and value.shape:
            raise self._trace.refusal(*_OF_OTHER_PARTS)
        self._store(self._of_numpy("where", (mask, value, self), {}), whole, "same_kind")

    def _as_value(self, value: Any, part: Part) -> Any:
        """Return what is stored in a part as a stand-in."""
        if isinstance(value, Changing):
            return value
        if isinstance(value, (Array, numpy.ndarray)):
            return self._trace.capture(value)
        if isinstance(value, (bool, int, float, numpy.generic)):
            number = numpy.empty((), numpy.dtype(self.dtype))
            number[()] = value  # which refuses what the dtype does not hold
            # Python compares whole numbers with floats exactly.
            is_exact = number.dtype.kind in "fiu" and float(number) == number.item()
            if part.shape and 0 not in part.shape and is_exact:
                return self._trace.call(symbol.np.full, (part.shape, number.item()), {"dtype": number.dtype}, True)
            return self._trace.capture(number)
        return self._refuse_change(f"a {type(value).__name__} that is stored", _REMEDY)

    def _into(self, outs: Any, answer: Any, casting: str) -> Any:
        """Store what a function of NumPy's has answered into what was given as `out`.

        Only ufuncs cast and broadcast it; another one may have computed in the dtype of `out`.
        """
        targets = outs if isinstance(outs, tuple) else (outs,)
        answers = answer if isinstance(answer, (tuple, list)) else (answer,)
        found = []
        for target, value in zip(targets, answers, strict=True):
            if target is not None:
                if not isinstance(target, Changing) or not target._in_numpy:
                    self._refuse_change("out= an array that it refers to", "Leave it out")
                if casting == "no" and value.shape != target.shape:
                    raise ValueError(f"out= of shape {target.shape} for a value of {value.shape}")
                target._store(value, target._whole(), casting)
            found.append(value if target is None else target)
        return tuple(found) if isinstance(answer, (tuple, list)) else found[0]

    def _refuse_change(self, what: str, remedy: str) -> NoReturn:
        raise self._trace.refusal(f"changes an array in place, with {what}, which a graph cannot.", remedy)


def without_out(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call but for `out` and how its result is cast."""
    return {key: value for key, value in options.items() if key not in ("out", "casting")}
