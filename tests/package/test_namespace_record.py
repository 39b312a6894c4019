"""MXNet's names: each that `golden/namespaces.json` records is there, or is to come, or has a reason."""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
from types import ModuleType

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy.absent import HOMES, ROWS, reason
from minpy.namespaces import missing_part

sys.path.insert(0, str(GOLDEN))
try:
    record = importlib.import_module("make_to_come")
finally:
    sys.path.remove(str(GOLDEN))

RECORDED = record.RECORD["modules"]
TO_COME = {module: names.split() for module, names in json.loads((GOLDEN / "to_come.json").read_text()).items()}
ADVICE = "run python tests/golden/make_to_come.py, which takes out what is there now"

# Python's own names, which NumPy lists from 2.0 on.
LATER_IN_NUMPY = {"np": {"abs", "bool", "max", "min", "round"}} if np.lib.NumpyVersion(np.__version__) < "2.0.0" else {}

# Of classes, what MXNet lists and minpy does not have.
IN_CLASSES = {
    "nd.NDArray": {"handle": "a pointer to memory in C++; there is none"},
    "sym.Symbol": {"handle": "a pointer to a graph in C++; there is none"},
    "np.ndarray": {"handle": "a pointer to memory in C++; there is none"},
}


@functools.cache
def all_absent() -> dict[str, list[str]]:
    """Return, by module, the names that are neither there nor have a reason: of one look for all modules."""
    found: dict[str, list[str]] = record.absent()
    return found


@pytest.mark.parametrize("module", RECORDED, ids=lambda module: module or "mxnet")
def test_each_name_is_there_or_has_a_reason(module: str) -> None:
    open_names = set(all_absent().get(module, ()))
    new = sorted(open_names - set(TO_COME.get(module, ())) - LATER_IN_NUMPY.get(module, set()))
    assert not new, f"mx.{module} has {', '.join(new)}: make them, or say in minpy/absent.py why they are not there"
    there = sorted(set(TO_COME.get(module, ())) - open_names)
    assert not there, f"{module}: {', '.join(there)} need not come any more: {ADVICE}"


def test_what_is_to_come_was_recorded() -> None:
    assert TO_COME.keys() <= RECORDED.keys()
    for module, names in TO_COME.items():
        assert set(names) <= RECORDED[module].keys()


@pytest.mark.parametrize("name", record.RECORD["classes"])
def test_each_member_of_a_class_is_there_or_has_a_reason(name: str) -> None:
    cls = record.find(name)
    if cls is None:
        module, _, inner = name.rpartition(".")
        assert inner in TO_COME.get(module, ())
        return
    absent = {member for member in record.RECORD["classes"][name] if not hasattr(cls, member)}
    assert absent == IN_CLASSES.get(name, {}).keys()


def test_a_look_up_says_the_reason() -> None:
    looked_up = 0
    for module, names in RECORDED.items():
        owner = record.find(module)
        if module == "th" or not isinstance(owner, ModuleType) or "__getattr__" not in vars(owner):
            continue  # mx.th has one reason for all
        for name in names:
            why = reason(module, name)
            if why is None or record.has(owner, name) or missing_part(f"{module}.{name}".lstrip(".")):
                continue
            with pytest.raises(AttributeError, match=re.escape(f"{name!r}: {why}")):
                getattr(owner, name)
            looked_up += 1
    assert looked_up > 200


EXAMPLES = [
    ("nd.contrib", "quantize", "minpy.nd.contrib has no operator 'quantize': it computes with quantised numbers"),
    ("nd.contrib", "dgl_subgraph", "it works on graphs in sparse matrices"),
    ("nd.sparse", "retain", "it is for sparse arrays, and arrays are dense here"),
    ("sym._internal", "_sg_mkldnn_conv", "it is what MXNet's backend for Intel's oneDNN makes"),
    ("nd._internal", "_backward_tanh", "it is the gradient of an operator"),
    ("", "tvmop", "minpy has no attribute 'tvmop': it is for operators made by TVM"),
    ("autograd", "check_call", "it is how MXNet's Python calls its library in C\\+\\+"),
    ("random", "Context", "MXNet's module imports it for itself; it is minpy.Context"),
    ("context", "threading", "Import it where it comes from"),
    ("nd", "gen_op", "it is how MXNet's Python is made"),
]


@pytest.mark.parametrize(("module", "name", "text"), EXAMPLES)
def test_what_a_look_up_says(module: str, name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(record.find(module), name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.names[:30])
def test_each_row_is_of_some_name(row: object) -> None:
    assert any(reason(module, name) == row.text for module, names in RECORDED.items() for name in names)


def test_homes_are_there_or_to_come() -> None:
    for name, home in HOMES.items():
        module, _, inner = home.rpartition(".")
        is_there = record.find(home) is not None
        assert is_there or missing_part(home.partition(".")[0]) or inner in TO_COME.get(module, ()), (name, home)


def test_names_that_nobody_knows_get_the_nearest() -> None:
    assert reason("nd", "expp") is None
    with pytest.raises(AttributeError, match=r"minpy\.random has no name 'unifrom'\. Did you mean 'uniform'"):
        _ = mx.random.unifrom
