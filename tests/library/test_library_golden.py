"""Native libraries under minpy and under MXNet 1.9.1: the same answers, the same report, the same errors."""

from __future__ import annotations

import importlib
import json
import sys

import pytest
from golden_answers import difference_between
from native.building import build
from native.watching import Watched
from places import GOLDEN

import minpy as mx
from minpy.core.errors import MXNetError

sys.path.insert(0, str(GOLDEN))
try:
    run_case = importlib.import_module("case_runner").run_case
    table = importlib.import_module("native_cases")
finally:
    sys.path.remove(str(GOLDEN))

ANSWERS = json.loads((GOLDEN / "native.json").read_text(encoding="utf-8"))
FAILURES, PRINTED = ANSWERS.pop("failures"), ANSWERS.pop("printed")


@pytest.fixture(autouse=True)
def library():
    paths = build("operators.c", flags=["-DABI=11", '-DTAG=""']), build("failing.c")
    for path in paths:
        mx.library.load(path, verbose=False)
    watched = [Watched(path) for path in paths]
    yield dict(zip(("operators", "failing"), watched, strict=True))
    for one in watched:
        assert one.faults == []
        assert one.blocks == 0


def test_all_cases_have_answers():
    assert {name for name, _ in table.CASES} == set(ANSWERS)
    assert len(table.CASES) == len(ANSWERS)
    assert set(table.DIFFERENT) <= set(ANSWERS)


@pytest.mark.parametrize(("name", "snippet"), table.CASES, ids=[name for name, _ in table.CASES])
def test_case(name, snippet):
    got, answer = run_case(mx, snippet), ANSWERS[name]
    if name in table.DIFFERENT:
        assert difference_between(got, answer), f"{name} is as in MXNet: take it out of DIFFERENT"
        answer = table.DIFFERENT[name]
    assert not difference_between(got, answer)


@pytest.mark.parametrize("name", ["operators", "failing"])
def test_what_loading_prints(name, library, capfd):
    mx.library.load(library[name].path)
    printed = capfd.readouterr()
    assert printed.err.splitlines() == PRINTED[name]
    assert printed.out == ""
    mx.library.load(library[name].path, verbose=False)
    assert capfd.readouterr() == ("", "")


NAMES = {"mutate": "raw_fail_mutate", "storage": "raw_fail_storage", "create": "raw_fail_state"}
# What MXNet calls it, and what we do.
FUNCTIONS = {
    "ParseAttrs": "parseAttrs",
    "InferShape": "inferShape",
    "InferType": "inferType",
    "InferSType": "inferSType",
    "MutateInputs": "mutateInputs",
    "FCompute": "forward",
    "CreateOpState CPU": "createOpState",
}


@pytest.mark.parametrize("at", FAILURES)
def test_what_errors_say(at):
    """The function, the operator, and what the library says, as MXNet has it."""
    line, message = FAILURES[at]
    function, operator = line.removeprefix("Error calling ").split(" for custom operator ")
    with pytest.raises(MXNetError) as caught:
        getattr(mx.nd, NAMES.get(at, "raw_fail"))(mx.nd.ones((2,)), at=at, message=f"{at} is bad")
    text = str(caught.value)
    assert operator.strip("'") in text
    assert FUNCTIONS[function] in text
    assert message in text
