"""What completes the core from above: found by name, and imported when it is used for the first time."""

import subprocess
import sys
from importlib import import_module

import pytest

from minpy import wiring
from minpy.core import extensions


@pytest.mark.parametrize("name", sorted(wiring._EXTENSIONS))
def test_every_extension_is_there(name):
    module, _, path = wiring._EXTENSIONS[name].partition(":")
    expected = import_module(module)
    for part in path.split("."):
        expected = getattr(expected, part)
    assert extensions.extension(name) == expected


def test_an_unknown_extension_is_an_error_that_names_those_there_are():
    assert not extensions.is_provided("Operator.chekc")
    with pytest.raises(LookupError, match=r"no extension 'Operator\.chekc' is provided; there are .*Operator\.check, "):
        extensions.extension("Operator.chekc")


def test_a_module_is_added_once(monkeypatch):
    monkeypatch.setattr(extensions, "_MODULES", {})
    extensions.import_modules("Operator.check")  # nobody has added one
    for _ in range(2):
        extensions.add_module("Operator.check", "minpy.checking")
    assert extensions._MODULES == {"Operator.check": ["minpy.checking"]}


CHECKED = """
import sys, minpy as mx
assert not {"minpy.checking", "minpy.symbol.checking"} & {*sys.modules}
report = mx.nd.exp.check([1.0, 2.0])
assert {row.what for row in report.rows} >= {"bound symbol", "HIPS autograd", "recorded NDArray"}
"""


def test_check_knows_all_modes_in_a_program_that_has_used_nothing_else():
    subprocess.run([sys.executable, "-c", CHECKED], check=True)
