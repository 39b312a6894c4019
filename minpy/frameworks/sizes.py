"""Numbers that follow from lengths: the lengths that traces are compared for, and source with expressions in it.

A graph is traced again for other lengths. Where nobody chooses by them, and the sources differ in single numbers only,
each such number is an expression of lengths: the sum, product or quotient that fits all traces.
"""

from __future__ import annotations

import io
import itertools
import math
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Unproven", "far_rows", "fitted", "generalized", "most_lengths", "probe_rows", "symbols_of"]

# Lengths of the traces that are compared. From one trace to the next, no two of these, sums or differences of two,
# grow in proportion, so that none is another one times or plus a number; and each is even once, so that halves are told
# apart.
_PROBES = (
    (11, 17, 22, 23, 26, 29, 31, 38),
    (73, 58, 41, 34, 37, 46, 86, 53),
    (82, 71, 47, 109, 127, 59, 97, 103),
)
# What they are longer by where one of them is a length that does not change.
_SHIFTS = (2, 6, 4)
# Lengths of one more trace, of which the largest that arrays have room for are taken: numbers that are bounds to the
# lengths above are not to these.
_FAR = (
    (2063, 2053, 2039, 2029, 2027, 2017, 2011, 2003),
    (563, 557, 547, 541, 523, 521, 509, 503),
    (251, 241, 239, 233, 229, 227, 223, 211),
)
_NEXT = (89, 83, 79, 71, 67, 61, 59, 53)  # those beyond a bound, at least
# Elements of an input with far lengths, without a bound and with: functions of users may make constants of its shape.
_MOST_ELEMENTS = (4_000_000, 64_000_000)


class Unproven(Exception):
    """Nothing says that a function is right for other lengths: the text says why."""


# -- lengths to try ---------------------------------------------------------------------------------------------------


def most_lengths() -> int:
    """Return how many lengths may be others at each call."""
    return len(_PROBES[0])


def probe_rows(names: Sequence[str], fixed: Collection[int] = ()) -> list[dict[str, int]]:
    """Return lengths for three traces, by name: none of them is one of the lengths that do not change."""
    for number in itertools.count():
        rows = [
            {name: length + number * shift for name, length in zip(names, probe, strict=False)}
            for probe, shift in zip(_PROBES, _SHIFTS, strict=True)
        ]
        if not any(length in fixed for row in rows for length in row.values()):
            return rows
    raise AssertionError


def far_rows(
    names: Sequence[str], shapes: Sequence[Sequence[int | str]], bounds: Collection[int] = ()
) -> list[dict[str, int]]:
    """Return lengths for more traces, beyond all that may bound them.

    Parameters
    ----------
    names : sequence of str
        Of the lengths.
    shapes : sequence of sequence of int or str
        Of the inputs, with names for the lengths that change.
    bounds : collection of int
        Numbers that a length of a result may be bounded by, alone or added up.

    Raises
    ------
    Unproven
        Where an input would have too many elements.
    """
    least = 2 * sum(bounds)
    most = _MOST_ELEMENTS[bool(bounds)]
    for far in (*_FAR, _NEXT) if bounds else _FAR:
        row = {name: least + length for name, length in zip(names, far, strict=False)}
        if _most_elements(shapes, row) <= most:
            return [row]
    if not bounds:
        return []
    near = probe_rows(names, bounds)[0]
    rows = [{**near, name: least + length} for name, length in zip(names, _NEXT, strict=False)]
    for row in rows:
        if _most_elements(shapes, row) > most:
            raise Unproven(
                f"a length may be bounded by {max(bounds)}, and inputs that are longer have too many elements to try"
            )
    return rows


def _most_elements(shapes: Sequence[Sequence[int | str]], row: Mapping[str, int]) -> int:
    return max(math.prod(row[each] if isinstance(each, str) else each for each in shape) for shape in shapes)


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
        if all(number > 0 and value == number**-0.5 for value, number in zip(values, numbers, strict=True)):
            return f"({text} ** -0.5)"
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
