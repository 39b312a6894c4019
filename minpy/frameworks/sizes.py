"""Which lengths a trace depends on: proxies that tell who asked for lengths, and source with lengths in place of them.

A graph is traced again for other lengths by proxies whose lengths are numbers that note it when somebody chooses by
them. Where nobody does, and the sources differ in single numbers only, each such number is an expression of lengths:
the sum, product or quotient that fits all traces.
"""

from __future__ import annotations

import io
import itertools
import math
import sys
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy

from minpy.capture.proxy import ArrayProxy
from minpy.capture.recorder import LIMIT, Recorder
from minpy.capture.scalars import ScalarCall, ScalarProxy, Scalars
from minpy.graph.builder import GraphBuilder

__all__ = ["LARGE_PROBES", "Length", "SizedProxy", "SizedRecorder", "Unproven", "fitted", "generalized", "symbols_of"]

# Lengths of the traces that are compared. From one trace to the next, no two of these, sums or differences of two,
# grow in proportion, so that none is another one times or plus a number; and each is even once, so that halves are told
# apart.
PROBES = (
    (11, 17, 22, 23, 26, 29, 31, 38),
    (73, 58, 41, 34, 37, 46, 86, 53),
    (82, 71, 47, 109, 127, 59, 97, 103),
)
# Lengths of one more trace, of which the largest that arrays have room for are taken: numbers that are bounds to the
# lengths above (`np.minimum(len(x), 100)`) are not to these.
LARGE_PROBES = (
    (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079),
    (2003, 2011, 2017, 2027, 2029, 2039, 2053, 2063),
    (503, 509, 521, 523, 541, 547, 557, 563),
    (211, 223, 227, 229, 233, 239, 241, 251),
)
# Modules that ask for shapes to note steps, not to choose by them on a user's behalf.
_OF_CAPTURES = ("minpy.capture.", "minpy.graph.", "minpy.frameworks.")
_CHOOSING = ("minpy.capture.shadow", "minpy.capture.own_functions", "minpy.capture.foreign")


class Unproven(Exception):
    """Nothing says that a function is right for other lengths: the text says why."""


class SizedRecorder(Recorder):
    """A recorder whose proxies have `Length`s: `scalars.conditions` holds what was chosen by them."""

    def __init__(self, title: str, fixed: Collection[int] = ()) -> None:
        super().__init__(GraphBuilder(), title, SizedProxy, LIMIT)
        self.scalars = Scalars(self)
        self.fixed = frozenset(fixed)  # lengths that are the same at every call

    def like(self, title: str) -> SizedRecorder:
        """Return the recorder of a part, which notes in the same place."""
        part = SizedRecorder(title, self.fixed)
        part.scalars = self.scalars
        return part


class Length(ScalarProxy):
    """A length as users' code sees it: what is computed of it is computed; what is chosen by it is noted."""

    __slots__ = ()

    def pin(self) -> Any:
        """Return the number, for a step: what stands there in the source is compared with other traces."""
        return self.value

    def met(self, dtype: numpy.dtype) -> Any:
        """Return the number beside arrays."""
        return self.value

    def _chosen(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.scalars.conditions.append((ScalarCall(function, (self.expression, *arguments)), self.value))
        return function(self.value, *arguments)

    def __int__(self) -> int:
        return int(self._chosen(int))

    def __float__(self) -> float:
        return float(self._chosen(float))

    def __index__(self) -> int:
        return int(self._chosen(int))

    def __hash__(self) -> int:
        return hash(self._chosen(hash))

    def __str__(self) -> str:
        return str(self._chosen(str))

    __repr__ = __str__

    def __format__(self, specification: str) -> str:
        return str(self._chosen(format, specification))

    def __bool__(self) -> bool:
        return True if self._is_symbol else bool(self._chosen(bool))

    def __eq__(self, value: object) -> bool:
        decided = self._same(value)
        return decided if decided is not None else bool(super().__eq__(value))

    def __ne__(self, value: object) -> bool:
        decided = self._same(value)
        return not decided if decided is not None else bool(super().__ne__(value))

    @property
    def _is_symbol(self) -> bool:
        return isinstance(self.expression, str)

    def _same(self, value: object) -> bool | None:
        """Tell whether a length is another one, or a number, where that is so for all lengths from two on."""
        if not self._is_symbol:
            return None
        if isinstance(value, Length) and value.expression == self.expression:
            return True
        return False if type(value) is int and value < 2 else None


class SizedProxy(ArrayProxy):
    """An array's proxy that gives `Length`s to whoever is no part of captures."""

    __slots__ = ()

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        result = super().__array_function__(function, types, arguments, keywords)
        if function in (numpy.shape, numpy.size) and not _is_of_captures(2):
            return tuple(map(self._length, result)) if isinstance(result, tuple) else self._length(result)
        return result

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        lengths = self.fact.shape
        return lengths if _is_of_captures() else tuple(map(self._length, lengths))

    @property
    def size(self) -> Any:
        """The number of elements."""
        size = math.prod(self.fact.shape)
        return size if _is_of_captures() else self._length(size)

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        nbytes = math.prod(self.fact.shape) * self.dtype.itemsize
        return nbytes if _is_of_captures() else self._length(nbytes)

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_without_lengths(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_without_lengths(index), value)

    def __len__(self) -> int:
        if not self.fact.shape:
            raise TypeError("len() of unsized object")
        recorder: Any = self.recorder
        if self.fact.shape[0] not in recorder.fixed:
            self._note("len")
        return self.fact.shape[0]

    def __iter__(self) -> Iterator[Any]:
        recorder: Any = self.recorder
        if self.fact.shape[0] not in recorder.fixed:
            self._note("iteration")
        return (self[position] for position in range(self.fact.shape[0]))

    def _length(self, length: int) -> Any:
        """Return a length as users' code sees it; those that are the same in all traces are numbers."""
        recorder: Any = self.recorder
        if length < 2 or length in recorder.fixed:
            return length
        symbol = f"length {length}" if length in _SYMBOLS else ScalarCall(int, (length,))
        return Length(self._scalars, symbol, length)

    def _note(self, asked: str) -> None:
        self._scalars.conditions.append((asked, self.fact.shape))

    @property
    def _scalars(self) -> Scalars:
        recorder: Any = self.recorder
        scalars: Scalars = recorder.scalars
        return scalars


def _without_lengths(index: Any) -> Any:
    """Return an index with numbers in the place of the lengths in its slices: a step has no others."""
    if isinstance(index, tuple):
        return tuple(map(_without_lengths, index))
    if isinstance(index, slice):
        return slice(*(end.pin() if isinstance(end, Length) else end for end in (index.start, index.stop, index.step)))
    return index


_SYMBOLS = frozenset(itertools.chain(*PROBES, *LARGE_PROBES))


def _is_of_captures(depth: int = 1) -> bool:
    name = str(sys._getframe(depth + 1).f_globals.get("__name__", ""))
    return name.startswith(_OF_CAPTURES) and not name.startswith(_CHOOSING)


# -- lengths that differ -----------------------------------------------------------------------------------------------


def symbols_of(shapes: Sequence[Sequence[int] | None], tied: bool) -> list[list[int | str] | None]:
    """Return, for each length of some shapes, its symbol, or itself where it is 0 or 1.

    `tied`: whether lengths that are equal are one symbol; else each has its own.
    """
    names: dict[Any, str] = {}
    symbols: list[list[int | str] | None] = []
    for position, shape in enumerate(shapes):
        if shape is None:
            symbols.append(None)
            continue
        row: list[int | str] = []
        for axis, length in enumerate(shape):
            if length < 2:
                row.append(length)
            else:
                row.append(names.setdefault(length if tied else (position, axis), f"s{len(names)}"))
        symbols.append(row)
    return symbols


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def generalized(sources: Sequence[str], lengths: Sequence[Mapping[str, int]], texts: Mapping[str, str]) -> str:
    """Return a source with expressions in the place of the numbers that differ.

    Parameters
    ----------
    sources : sequence of str
        Of the traces.
    lengths : sequence of dict
        For each, the lengths by symbol.
    texts : dict
        By symbol, the expression of the length in the source.

    Raises
    ------
    Unproven
        Where the sources differ in more than numbers, or a number fits no expression.
    """
    streams = [_tokens(source) for source in sources]
    if len({len(stream) for stream in streams}) > 1:
        raise Unproven("it takes other steps for other lengths")
    pieces: list[tuple[int, int, int, str]] = []
    for column in zip(*streams, strict=True):
        first = column[0]
        if all(token.string == first.string for token in column):
            continue
        if any(token.type != tokenize.NUMBER for token in column):
            raise Unproven("it takes other steps for other lengths")
        text = fitted([float(token.string) for token in column], lengths, texts)
        if text is None:
            numbers = ", ".join(token.string for token in column)
            raise Unproven(f"a number of it follows from lengths in another way than by + - * //: {numbers}")
        pieces.append((first.start[0], first.start[1], first.end[1], text))
    lines = sources[0].splitlines(keepends=True)
    for line, start, end, text in sorted(pieces, reverse=True):
        row = lines[line - 1]
        lines[line - 1] = f"{row[:start]}{text}{row[end:]}"
    return "".join(lines)


def fitted(values: Sequence[float], lengths: Sequence[Mapping[str, int]], texts: Mapping[str, str]) -> str | None:
    """Return the expression of lengths that has these values; None if there is none of the kinds that are tried."""
    for name, text in texts.items():  # a length itself, before others that happen to be as much longer
        if all(value == row[name] for value, row in zip(values, lengths, strict=True)):
            return text
    for text, numbers in _expressions(lengths, texts):
        if list(values) == numbers:
            return text
        offset = values[0] - numbers[0]
        if offset.is_integer() and all(value - number == offset for value, number in zip(values, numbers, strict=True)):
            return f"({text} {'+' if offset > 0 else '-'} {abs(int(offset))})"
        factor = values[0] / numbers[0]
        if factor.is_integer() and all(value == factor * number for value, number in zip(values, numbers, strict=True)):
            return f"({text} * {int(factor)})"
        if all(value == 1.0 / number for value, number in zip(values, numbers, strict=True)):
            return f"(1.0 / {text})"
        if all(value == math.sqrt(number) for value, number in zip(values, numbers, strict=True)):
            return f"({text} ** 0.5)"
        for divisor in (2, 3, 4):
            if all(value == number // divisor for value, number in zip(values, numbers, strict=True)):
                return f"({text} // {divisor})"
            if all(value == -(-number // divisor) for value, number in zip(values, numbers, strict=True)):
                return f"(({text} + {divisor - 1}) // {divisor})"
    return None


def _expressions(lengths: Sequence[Mapping[str, int]], texts: Mapping[str, str]) -> Iterator[tuple[str, list[float]]]:
    """Yield sums and products of lengths, from the simplest on, and their values."""
    names = list(texts)
    for name in names:
        yield texts[name], [float(row[name]) for row in lengths]
    for count in range(2, min(max(len(names), 2), 4) + 1):
        for chosen in itertools.combinations_with_replacement(names, count):
            yield (
                f"({' * '.join(texts[name] for name in chosen)})",
                [float(math.prod(row[name] for name in chosen)) for row in lengths],
            )
    for one, other in itertools.combinations_with_replacement(names, 2):
        yield f"({texts[one]} + {texts[other]})", [float(row[one] + row[other]) for row in lengths]
        if one != other:
            for left, right in ((one, other), (other, one)):
                numbers = [float(row[left] - row[right]) for row in lengths]
                if all(number > 0 for number in numbers):
                    yield f"({texts[left]} - {texts[right]})", numbers
