"""`many.each`: all cases run, each as if it were a test of its own, and those that fail are named."""

from __future__ import annotations

import random
import re

import pytest
from many import each, require_each

import minpy as mx


@each({"one": (1,), "two": (2,), "three": (3,)}, at_once=2)
def test_cases_are_given(number):
    assert number in (1, 2, 3)


def test_some_cases_are_one_test():
    (mark,) = test_cases_are_given.pytestmark
    assert mark.args[1] == [{"one": (1,), "two": (2,)}, {"three": (3,)}]
    assert mark.kwargs["ids"] == ["one", "three"]


def test_failures_are_named_and_the_others_run():
    ran = []

    def check(number):
        ran.append((number, random.random()))
        if number == 2:
            raise ValueError("two is wrong")
        if number == 3:
            pytest.skip("three is not for here")
        if number == 4:
            mx.autograd.set_recording(True)

    cases = {str(number): (number,) for number in range(1, 6)}
    with pytest.raises(AssertionError) as caught:
        require_each(check, cases)
    text = str(caught.value)
    assert text.startswith("2 of 5 cases fail:\n== 2\nTraceback")
    assert re.search(r"^ValueError: two is wrong$", text, re.MULTILINE)
    assert re.search(
        r"^== 4\n(.*\n)*AssertionError: it leaves \(recording, training\) at \(True, False\)", text, re.MULTILINE
    )
    assert [number for number, _ in ran] == [1, 2, 3, 4, 5]
    assert len({value for _, value in ran}) == 1, "each begins with the same random numbers"
    assert mx.autograd.is_recording() is False
    del cases["2"], cases["4"]
    require_each(check, cases)
