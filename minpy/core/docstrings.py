"""Texts that several docstrings share, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TypeVar

__all__ = ["documented"]

Documented = TypeVar("Documented", bound=Callable[..., object])
_cleaned = cache(inspect.cleandoc)


def documented(**shared: str) -> Callable[[Documented], Documented]:
    """Return a decorator that fills a docstring with texts that it shares with others.

    A line that is only ``{name}`` becomes the lines of the text of that name, as far indented as the line was; a
    ``{name}`` within a line becomes the text. Other braces stay as they are.

    Parameters
    ----------
    **shared : str
        The texts by name. Their own indentation does not count.

    Returns
    -------
    callable
        Takes a function or class and returns it. Without docstrings (``python -OO``) it changes nothing.

    Raises
    ------
    ValueError
        For a text that the docstring does not name.

    Examples
    --------
    >>> WIDTH = '''
    ...     width : int
    ...         In pixels.
    ...     '''
    >>> @documented(width=WIDTH, what='line')
    ... def draw(width):
    ...     '''Draw a {what}.
    ...
    ...     Parameters
    ...     ----------
    ...     {width}
    ...     '''
    >>> print(inspect.getdoc(draw))
    Draw a line.
    <BLANKLINE>
    Parameters
    ----------
    width : int
        In pixels.
    """

    def decorate(described: Documented) -> Documented:
        docstring = described.__doc__
        if docstring is None:
            return described
        for name, text in shared.items():
            before, place, after = docstring.partition(f"{{{name}}}")
            if not place:
                raise ValueError(
                    f"documented: the docstring of {described.__qualname__} has no place for {name}; "
                    f"write {{{name}}} where the text goes, or do not pass it."
                )
            docstring = ""
            while place:
                line = before[before.rfind("\n") + 1 :]
                is_alone = not line.strip() and (not after or after[0] == "\n")
                filling = _cleaned(text) if "\n" in text else text
                docstring += before + (_indented(filling, line) if is_alone else filling)
                before, place, after = after.partition(f"{{{name}}}")
            docstring += before
        described.__doc__ = docstring
        return described

    return decorate


def _indented(text: str, indentation: str) -> str:
    """Return a text whose lines but the first, and those that are empty, are indented."""
    first, *following = text.split("\n")
    return "\n".join([first, *(indentation + line if line else line for line in following)])
