"""Names and attributes that symbols get by where they are made, against the answers of MXNet 1.9.1."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from typing import Any

import autograd as hips
import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy.core.errors import ArgumentError

sys.path.insert(0, str(GOLDEN))
try:
    run_case = importlib.import_module("case_runner").run_case
    CASES = dict(importlib.import_module("naming_cases").CASES)
finally:
    sys.path.remove(str(GOLDEN))

ANSWERS = json.loads((GOLDEN / "naming.json").read_text(encoding="utf-8"))

# Our answers where they differ on purpose.
INTENDED = {
    # MXNet takes an attribute without underscores for one that the operator should know.
    "attribute_scope_of_inputs_that_are_made": [
        *("fc.mood=good", "fc.num_hidden=2", "fc_bias.mood=good", "fc_weight.mood=good", "x.mood=good")
    ],
    "attribute_attributes_of_an_operator_are_not_its_inputs": [
        *("fc.mood=good", "fc.num_hidden=2", "fc_bias.mood=good", "fc_weight.mood=good")
    ],
    "attribute_list_attr": ["act_type=relu", "mood=good"],
    # MXNet shows the attributes of operators at the variables that were made for them, too.
    "attribute_hidden_attributes_of_an_operator": [
        *("fc.__lr_mult__=2", "fc.lr_mult=2", "fc.num_hidden=2"),
        *("fc_bias.__lr_mult__=2", "fc_bias.lr_mult=2", "fc_weight.__lr_mult__=2", "fc_weight.lr_mult=2"),
    ],
    # In MXNet a scope keeps for good what it took over from the one around it.
    "attribute_the_same_scope_in_another": ["x.a=1", "x.b=2", "y.a=1"],
    # A ValueError in MXNet.
    "attribute_not_a_string": "ArgumentValueError",
    "attribute_not_a_string_in_attr": "ArgumentValueError",
    "attribute_option_without_underscores": "ArgumentError",
}


def plain(answer: dict[str, Any]) -> Any:
    """Return the values of a described result; for an error its name."""
    if "items" in answer:
        return [plain(item) for item in answer["items"]]
    return answer.get("values", answer.get("error"))


@pytest.mark.parametrize("name", CASES)
def test_names_and_attributes_are_those_of_mxnet(name):
    got, answer = run_case(mx, CASES[name]), ANSWERS[name]
    if name in INTENDED:
        assert got != answer, f"{name} is as in MXNet: take it out of INTENDED"
        assert plain(got) == INTENDED[name]
    else:
        assert got == answer


def test_many_threads_at_once_keep_their_names_and_attributes_apart():
    count, rounds = 8, 50
    barrier, found = threading.Barrier(count), {}

    def run(number: int) -> None:
        barrier.wait()
        names, moods = [], set()
        with mx.name.Prefix(f"t{number}_"), mx.AttrScope(mood=str(number)):
            for _ in range(rounds):
                made = mx.sym.exp(mx.sym.var("x"))
                names.append(made.name)
                moods.add(made.attr("mood"))
        found[number] = names, moods

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(count):
        assert found[number] == ([f"t{number}_exp{index}" for index in range(rounds)], {str(number)})


def test_one_scope_and_one_manager_in_nested_blocks():
    scope, manager = mx.AttrScope(a="1"), mx.name.Prefix("p_")
    with scope, manager, mx.AttrScope(b="2"), mx.name.NameManager(), scope, manager:
        inner = mx.sym.exp(mx.sym.var("x"))
    assert (inner.name, inner.list_attr()) == ("p_exp0", {"a": "1", "b": "2"})
    with scope, manager:
        outer = mx.sym.exp(mx.sym.var("x"))
    assert (outer.name, outer.list_attr()) == ("p_exp1", {"a": "1"})
    after = mx.sym.exp(mx.sym.var("x"))
    assert not after.name.startswith("p_")
    assert after.list_attr() == {}


def test_a_new_thread_starts_without_scopes():
    found = []
    with mx.name.Prefix("outer_"), mx.AttrScope(a="1"):
        thread = threading.Thread(target=lambda: found.append(mx.sym.exp(mx.sym.var("x"))))
        thread.start()
        thread.join()
    assert found[0].name == "exp0"
    assert found[0].list_attr() == {}


def test_errors_say_which_attribute():
    with pytest.raises(ArgumentError, match=r"^AttrScope: attribute 'a' is int 1; expected a string\.$"):
        mx.AttrScope(a=1)
    with pytest.raises(ArgumentError, match=r"^sym\.var\('x'\): attribute 'a' is int 1; expected a string\.$"):
        mx.sym.var("x", attr={"a": 1})
    with pytest.raises(ArgumentError, match=r"^sym\.var\('x'\): attribute 'own' must be written __own__\.$"):
        mx.sym.var("x", own="1")


@mx.customop("numpy")
def powered(x, exponent=2.0):
    return x**exponent


@mx.customop("numpy")
def labelled(x, *, name="plus"):
    return x if name == "plus" else -x


@mx.customop("numpy")
def scaled(x, *, by):
    return x * by


def test_calls_of_any_operator_may_be_named():
    x = mx.sym.var("x")
    assert powered(x, name="mine").list_outputs() == ["mine_output"]
    assert scaled(x, by=mx.sym.var("factor"), name="mine").list_outputs() == ["mine_output"]
    assert mx.nd.exp(x, name="mine").list_outputs() == ["mine_output"]
    assert powered(np.array([3.0]), name="mine") == 9  # code that is written for arrays and symbols alike
    assert powered(mx.nd.array([3.0]), name="mine").asscalar() == 9


def test_an_argument_called_name_is_the_operators():
    assert labelled(np.array([3.0]), name="minus") == -3
    assert labelled(mx.sym.var("x"), name="minus").eval(x=mx.nd.array([3.0]))[0].asscalar() == -3


@mx.customop("numpy")
def weighted(x, *, attr=1.0, lr_mult=2.0):
    return x * attr * lr_mult


def test_arguments_that_are_called_as_annotations_are_the_operators():
    found = weighted(mx.sym.var("x"), attr=5.0, lr_mult=3.0)
    assert found.eval(x=mx.nd.ones(2))[0].asnumpy().tolist() == [15, 15]
    assert list(found.attr_dict().values()) == [{"attr": "5.0", "lr_mult": "3.0"}]


@mx.operator.register("named_copy")
class NamedCopy(mx.operator.CustomOpProp):
    """A prop whose operator is never run."""


def test_updates_and_custom_operators_called_on_symbols_keep_their_names():
    x, g = mx.sym.var("x"), mx.sym.var("g")
    assert mx.nd.sgd_update(x, g, lr=0.1, name="step").list_outputs() == ["step_output"]
    assert mx.nd.Custom(x, op_type="named_copy", name="mine").list_outputs() == ["mine_output"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, box: mx.nd.exp(x, out=mx.nd.ones(3)),
            "exp: out= cannot be used with a symbol; use what it returns.",
        ),
        (
            lambda x, box: mx.nd.sgd_update(x, x, lr=0.1, out=mx.nd.ones(3)),
            "sgd_update: out= cannot be used with a symbol; use what it returns.",
        ),
        (
            lambda x, box: mx.nd.exp(mx.nd.ones(3), out=x),
            "exp: out= is a symbol; give an array, or use what the call returns.",
        ),
        (
            lambda x, box: mx.nd.exp(box, out=np.ones(3)),
            "exp: out= cannot be used with an argument traced by HIPS autograd; use what it returns.",
        ),
        (
            lambda x, box: mx.nd.exp(np.ones(3), out=box),
            "exp: out= is an argument traced by HIPS autograd; give an array, or use what the call returns.",
        ),
        (
            lambda x, box: mx.nd.sgd_update(np.ones(3), np.ones(3), lr=0.1, out=3),
            "sgd_update: out= is int 3; give an array, or use what the call returns.",
        ),
        (
            lambda x, box: mx.nd.sgd_update(1.0, np.ones(3), lr=0.1),
            "sgd_update: weight is float 1.0; expected an NDArray or NumPy array.",
        ),
    ],
)
def test_what_cannot_be_written_into_is_said(call, message):
    def function(box):
        with pytest.raises(ArgumentError) as caught:
            call(mx.sym.var("x"), box)
        assert str(caught.value) == message
        return box.sum()

    hips.grad(function)(np.ones(3))
