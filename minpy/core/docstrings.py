"""What several docstrings say alike, written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

__all__ = ["documented"]

Documented = TypeVar("Documented", bound=Callable[..., object])
_PLACE = re.compile(r"^(?P<indentation> *)\{(?P<alone>\w+)\}$|\{(?P<inside>\w+)\}", re.MULTILINE)


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
        For a text that the docstring has no place for.

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
    texts = {name: inspect.cleandoc(text) for name, text in shared.items()}

    def decorate(described: Documented) -> Documented:
        docstring = described.__doc__
        if docstring is None:
            return described
        filled: set[str] = set()

        def fill(place: re.Match[str]) -> str:
            name = place["alone"] or place["inside"]
            if name not in texts:
                return place[0]
            filled.add(name)
            if place["alone"] is None:
                return texts[name]
            return "\n".join(f"{place['indentation']}{line}".rstrip() for line in texts[name].splitlines())

        described.__doc__ = _PLACE.sub(fill, docstring)
        if unused := sorted(texts.keys() - filled):
            raise ValueError(
                f"documented: the docstring of {described.__qualname__} has no place for {', '.join(unused)}; "
                f"write {{{unused[0]}}} where the text goes, or do not pass it."
            )
        return described

    return decorate
