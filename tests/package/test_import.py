"""What `import minpy` costs, and what operators work out only when they are asked: signatures and types."""

import functools
import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy.core.operator import Operator
from minpy.core.signatures import REQUIRED, read_signature

LOADED = """
import sys, numpy
before = set(sys.modules)
import minpy
print(*sorted(set(sys.modules) - before))
"""

UNNEEDED = {
    "ast", "autograd", "concurrent.futures", "decimal", "difflib", "fractions", "hashlib", "json", "logging",
    "minpy.autograd", "minpy.checking", "multiprocessing", "numpy.f2py", "numpy.ma", "numpy.random", "numpy.testing",
    "platform", "random", "scipy", "secrets", "shutil", "subprocess", "tempfile", "unittest", "urllib.request",
    "zipfile",
}  # fmt: skip
# What is in these is imported when it is looked up.
ROOMS = (
    *("minpy.capture.", "minpy.custom.", "minpy.gluon.", "minpy.graph.", "minpy.numpy.", "minpy.pictures."),
    *("minpy.symbol.", "minpy.ops.contrib.", "minpy.ops.image.", "minpy.ops.nn.rnn.", "minpy.ops.optimizer."),
)


def test_import_loads_nothing_that_only_some_programs_need():
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", LOADED], check=True, capture_output=True, text=True)
    loaded = set(result.stdout.split())
    assert "minpy.ndarray.ndarray" in loaded
    assert not loaded & UNNEEDED
    assert not [name for name in loaded if f"{name}.".startswith(ROOMS)]
    ours = [name for name in loaded if name.partition(".")[0] == "minpy"]
    assert len(ours) <= 120, f"import minpy is to import 120 modules of ours at most: {len(ours)}"


def plain(a: Any, b=2, /, c=3, *, d: int, e: float = 1.0, f=None): ...


def variadic(*inputs: Any, axis: "tuple[int, ...]" = (), **others: Any): ...


def method(self, x, *, flag: bool = False): ...


def inner(x, *, size: int = 1): ...


@functools.wraps(inner)
def wrapped(*arguments, **keywords): ...


FUNCTIONS = [plain, variadic, method, wrapped, functools.partial(plain, 1), lambda: None]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_signatures_are_what_inspect_reads(function):
    read, parameters = read_signature(function), inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    assert read.inputs == tuple(p.name for p in positional)
    assert read.defaults == {p.name: p.default for p in positional if p.default is not p.empty}
    named = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert {name: attribute.default for name, attribute in read.attributes.items()} == named
    assert read.variadic == next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    assert read.open_ended == any(p.kind is p.VAR_KEYWORD for p in parameters)
    assert read.text == inspect.signature(function)


def test_types_of_attributes():
    attributes = read_signature(plain).attributes
    assert [attributes[name].type for name in "def"] == [int, float, None]
    assert attributes["d"].default is REQUIRED
    assert read_signature(variadic).attributes["axis"].type == tuple[int, ...]
    assert read_signature(wrapped).attributes["size"].type is int


@pytest.mark.parametrize("annotation", ["Unknown", "int.unknown", "some words", "int | 'text'"])
def test_an_annotation_that_cannot_be_read_is_no_type(annotation):
    def function(x, *, a=None): ...

    function.__annotations__["a"] = annotation
    assert read_signature(function).attributes["a"].type is None


def test_operators_show_their_signature():
    assert str(inspect.signature(mx.nd.exp)) == "(data)"
    assert str(inspect.signature(Operator(np.add))) == "(x1, x2)"
    assert inspect.signature(Operator(inner)) == inspect.signature(inner)
    assert "forward" in inspect.signature(Operator).parameters
    assert not hasattr(Operator, "__signature__")
