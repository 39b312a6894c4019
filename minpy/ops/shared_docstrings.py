"""Texts that docstrings of operators share, and the docstrings of the many that are one NumPy ufunc."""

from __future__ import annotations

from minpy.core.docstrings import Documented, documented

__all__ = ["binary_doc", "unary_doc", "with_shared_texts"]

# By the names of their places in the docstrings of operators: `{examples}`, alone on a line.
_SHARED = {
    "data_parameter": """
        Parameters
        ----------
        data : NDArray""",
    "matrix_parameter": """
        Parameters
        ----------
        A : NDArray""",
    "returns_array": """
        Returns
        -------
        NDArray""",
    "returns_like_data": """
        Returns
        -------
        NDArray
            Of the data's shape.""",
    "raises_shape_error": """
        Raises
        ------
        ShapeError""",
    "raises_unless_shapes_fit": """
        Raises
        ------
        ShapeError
            If the shapes do not fit.""",
    "raises_unless_factorable": """
        Raises
        ------
        ShapeError
            If the matrices are not square.
        DTypeError
            If `A` does not hold float32 or float64 numbers.""",
    "raises_argument_error": """
        Raises
        ------
        ArgumentError""",
    "or_integers": """
        DTypeError
            If `data` holds integers.""",
    "examples": """
        Examples
        --------
        >>> from minpy import nd""",
    "recorded_examples": """
        Examples
        --------
        >>> from minpy import autograd, nd""",
}

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


def with_shared_texts(function: Documented) -> Documented:
    """Fill the docstring of an operator with the texts that it shares with others."""
    docstring = function.__doc__ or ""
    return documented(**{name: text for name, text in _SHARED.items() if f"{{{name}}}" in docstring})(function)
