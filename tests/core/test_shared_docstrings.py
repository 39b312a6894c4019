"""Docstrings that are filled with texts which several of them share."""

from __future__ import annotations

import pytest

from minpy.core.docstrings import documented
from minpy.core.families import with_defaults


def test_lines_and_words_are_filled_as_far_indented_as_their_places():
    @documented(size="\n    size : int\n        Of {all} of it.\n", what="circle")
    def draw(size):
        """Draw a {what}, or {'a': 1}.

        Parameters
        ----------
        {size}
        """

    lines = [line.removeprefix("        ") for line in (draw.__doc__ or "").splitlines()]
    assert lines[0] == "Draw a circle, or {'a': 1}."
    assert lines[-3:] == ["size : int", "    Of {all} of it.", ""]


def test_classes_and_functions_without_docstrings():
    @documented(name="A class")
    class Described:
        """{name}."""

    assert Described.__doc__ == "A class."

    def silent():
        return None

    assert documented(name="a text")(silent) is silent
    assert silent.__doc__ is None


def test_a_text_without_a_place_is_an_error():
    def draw():
        """Draw."""

    with pytest.raises(ValueError, match=r"draw has no place for size; write \{size\} where the text goes"):
        documented(size="size : int")(draw)


def test_a_default_that_no_parameter_has_is_an_error():
    class Window:
        def __init__(self, length, step=1):
            self.length, self.step = length, step

    message = r"Wide.__init__ has no default of length, steps; it has some of step\.$"
    with pytest.raises(ValueError, match=message):

        @with_defaults(length=8, steps=2)
        class Wide(Window):
            pass
