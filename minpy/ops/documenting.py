"""Docstrings of the many operators that are one NumPy ufunc: composed from a sentence and an example."""

from __future__ import annotations

__all__ = ["binary_doc", "unary_doc"]

_UNARY = """{sentence}{notes}

Parameters
----------
data : NDArray
    Of any shape and dtype. The result of an integer array is truncated to its dtype.

Returns
-------
NDArray
    Of the shape and dtype of `data`.

Examples
--------
>>> from minpy import nd
>>> nd.{name}(nd.array({example})).asnumpy().round(4)
{result}
"""

_BINARY = """{sentence}{notes}

Parameters
----------
lhs, rhs : NDArray
    Their shapes must be equal, or broadcast: axes, counted from the right, are equal or 1. One may be a number.

Returns
-------
NDArray
    Of the common shape, and the dtype of the operands.

Raises
------
ShapeError
    If the shapes do not broadcast.

Examples
--------
>>> from minpy import nd
>>> nd.{name}(nd.array({lhs}), nd.array({rhs})).asnumpy().round(4)
{result}
"""


def _array_text(values: str) -> str:
    return f"array({values}, dtype=float32)"


def unary_doc(name: str, sentence: str, example: str, result: str, notes: str = "") -> str:
    """Return the docstring of an elementwise operator of one array.

    Parameters
    ----------
    name : str
        As which `nd` has it.
    sentence : str
        What it returns.
    example : str
        The list that the example applies it to.
    result : str
        The example's values, rounded to four digits, as NumPy prints them.
    notes : str
        Further paragraphs.
    """
    notes = f"\n\n{notes}" if notes else ""
    return _UNARY.format(name=name, sentence=sentence, notes=notes, example=example, result=_array_text(result))


def binary_doc(name: str, sentence: str, lhs: str, rhs: str, result: str, notes: str = "") -> str:
    """Return the docstring of an elementwise operator of two arrays, like `unary_doc`."""
    notes = f"\n\n{notes}" if notes else ""
    return _BINARY.format(name=name, sentence=sentence, notes=notes, lhs=lhs, rhs=rhs, result=_array_text(result))
