"""`numpy.einsum` in all its forms, written with functions for which autograd has rules."""

from __future__ import annotations

import itertools
from string import ascii_letters
from typing import Any

import autograd.numpy as anp
import numpy

__all__ = ["composed_einsum"]


def composed_einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    """Return `numpy.einsum` of operands brought into a form for which autograd's rule holds.

    There each label of an operand stands once, has one length, and is read elsewhere. `subscripts` and `operands` are a
    text and operands, or operands with lists of labels behind them; `options` what `numpy.einsum` takes besides.
    """
    terms, output, arrays = _parsed(subscripts, operands)
    lengths = {
        label: max(length, 1)
        for term, array in zip(terms, arrays, strict=True)
        for label, length in zip(term, anp.shape(array), strict=False)
    }
    for term, array in zip(terms, arrays, strict=True):
        for label, length in zip(term, anp.shape(array), strict=True):
            lengths[label] = length if lengths[label] == 1 else lengths[label]
    plain_terms, plain = [], []
    for place, (term, array) in enumerate(zip(terms, arrays, strict=True)):
        other_terms = [*terms[:place], *terms[place + 1 :]]
        elsewhere = {*output, *itertools.chain(*other_terms)}
        for label in dict.fromkeys(term):
            if term.count(label) > 1:
                array, term = _diagonal_of(array, term, label)
            if label not in elsewhere:
                array, term = anp.sum(array, axis=term.index(label)), [own for own in term if own != label]
            elif anp.shape(array)[term.index(label)] == 1 != lengths[label]:
                array, term = array[_at(term, label, 0)], [own for own in term if own != label]
        plain_terms.append(term)
        plain.append(array)
    names = dict(zip(lengths, ascii_letters, strict=False))
    text = ",".join("".join(names[label] for label in term) for term in plain_terms)
    return anp.einsum(f"{text}->{''.join(names[label] for label in output)}", *plain, **options)


def _parsed(subscripts: Any, operands: Any) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """Return the labels of each operand and of the output, and the operands; an ellipsis becomes labels, too."""
    if isinstance(subscripts, str):
        left, arrow, right = subscripts.replace(" ", "").partition("->")
        written_terms = [list(term.replace("...", ".")) for term in left.split(",")]
        output = list(right.replace("...", ".")) if arrow else None
        arrays = list(operands)
    else:
        parts = [subscripts, *operands]
        output = None
        if len(parts) % 2:
            output = ["." if label is Ellipsis else label for label in parts.pop()]
        arrays = parts[::2]
        written_terms = [["." if label is Ellipsis else label for label in term] for term in parts[1::2]]
    terms, widest = [], 0
    for term, array in zip(written_terms, arrays, strict=True):
        count = anp.ndim(array) - len(term) + 1
        widest = max(widest, count if "." in term else 0)
        terms.append(_spelt_out(term, count))
    if output is None:
        every = [label for term in written_terms for label in term if label != "."]
        output = ["."] * bool(widest) + sorted(label for label in set(every) if every.count(label) == 1)
    return terms, _spelt_out(output, widest), arrays


def _spelt_out(term: list[Any], count: int) -> list[Any]:
    """Return labels with those of so many axes, counted from the last one, in the place of an ellipsis."""
    if "." not in term:
        return term
    place = term.index(".")
    return [*term[:place], *((".", axis) for axis in range(count - 1, -1, -1)), *term[place + 1 :]]


def _at(term: list[Any], label: Any, key: Any) -> tuple[Any, ...]:
    return tuple(key if axis_label == label else slice(None) for axis_label in term)


def _diagonal_of(array: Any, term: list[Any], label: Any) -> tuple[Any, list[Any]]:
    """Return an array with the axes of one label drawn together into its first one."""
    axes = [axis for axis, axis_label in enumerate(term) if axis_label == label]
    other_axes = [axis for axis, axis_label in enumerate(term) if axis_label != label]
    array = anp.transpose(array, (*axes, *other_axes))
    numbers = [numpy.arange(anp.shape(array)[0])] * len(axes)
    return array[tuple(numbers)], [label, *(term[axis] for axis in other_axes)]
