"""Groups of contexts: where `group2ctx` places arrays and outputs of executors and modules, and what it refuses."""

from __future__ import annotations

import copy
import pickle

import pytest

import minpy as mx
from minpy import nd, sym
from minpy.core.errors import ArgumentError, ArgumentValueError, ContextError, MXNetError

WHERE = {"first": mx.cpu(1), "second": mx.cpu(2)}


def stages():
    """Return a network whose first layer is of one group, and its second of another."""
    with mx.AttrScope(ctx_group="first"):
        hidden = sym.FullyConnected(sym.var("data"), num_hidden=3, name="one")
    with mx.AttrScope(ctx_group="second"):
        return sym.BatchNorm(sym.FullyConnected(hidden, num_hidden=2, name="two"), name="norm")


def places(executor):
    found = {**executor.arg_dict, **executor.aux_dict, "out": executor.outputs[0]}
    return {name: array.context.device_id for name, array in found.items()}


EXPECTED = {"data": 1, "one_weight": 1, "one_bias": 1, "two_weight": 2, "two_bias": 2, "out": 2}
EXPECTED |= dict.fromkeys(("norm_gamma", "norm_beta", "norm_moving_mean", "norm_moving_var"), 2)


def test_arrays_are_made_where_their_groups_lie():
    executor = stages().simple_bind(mx.cpu(), group2ctx=WHERE, data=(4, 5))
    assert places(executor) == EXPECTED
    assert {name: array.context.device_id for name, array in executor.grad_dict.items()} == {
        name: place for name, place in EXPECTED.items() if "moving" not in name and name != "out"
    }
    executor.forward(is_train=True)
    executor.backward()
    assert places(executor.reshape(data=(2, 5))) == EXPECTED
    assert places(copy.deepcopy(executor)) == places(pickle.loads(pickle.dumps(executor))) == EXPECTED


def test_groups_do_not_change_numbers():
    values = {}
    for groups in (None, WHERE):
        executor = stages().simple_bind(mx.cpu(), group2ctx=groups, data=(4, 5))
        for number, array in enumerate(executor.arg_arrays):
            array[:] = nd.arange(array.size).reshape(array.shape) * (number + 1)
        out = executor.forward(is_train=True)[0].asnumpy().tolist()
        executor.backward(nd.ones((4, 2)))
        values[groups is None] = out, [array.asnumpy().tolist() for array in executor.grad_arrays]
    assert values[True] == values[False]


def test_outputs_of_a_graph_without_arguments_are_where_it_is_bound():
    executor = sym.zeros((2,)).bind(mx.cpu(3), {})
    assert executor.outputs[0].context == executor.forward()[0].context == mx.cpu(3)


@pytest.mark.parametrize(
    ("groups", "kind", "text"),
    [
        (
            {"first": mx.cpu(1)},
            ArgumentError,
            r"simple_bind: 'two_weight' is of ctx_group 'second', and group2ctx has no",
        ),
        (
            {"frist": mx.cpu(1), **WHERE, "second": "cpu"},
            ArgumentError,
            r"group2ctx\['second'\] is str 'cpu'; expected a",
        ),
        (
            [mx.cpu(1)],
            ArgumentError,
            r"simple_bind: group2ctx is list of 1: .*; expected a dict of contexts by the names",
        ),
        ({"first": mx.gpu(0), "second": mx.cpu(0)}, ContextError, r"cannot allocate on gpu\(0\)"),
    ],
)
def test_wrong_groups_are_refused(groups, kind, text):
    with pytest.raises(kind, match=text) as caught:
        stages().simple_bind(mx.cpu(), group2ctx=groups, data=(4, 5))
    assert isinstance(caught.value, MXNetError)


@pytest.mark.parametrize(
    "groups",
    [WHERE, {"first": [mx.cpu(1)], "second": [mx.cpu(2)] * 2}, [WHERE, dict(WHERE)]],
    ids=["for all", "by group", "by context"],
)
def test_modules_place_their_executors(groups):
    module = mx.mod.Module(stages(), ["data"], None, context=[mx.cpu(0), mx.cpu(5)], group2ctxs=groups)
    module.bind([("data", (4, 5))])
    assert module._exec_group.group2ctxs == [WHERE, WHERE]
    assert [places(executor) for executor in module._exec_group.execs] == [EXPECTED, EXPECTED]
    module.init_params()
    for rows in (4, 2):  # the second is bound anew, and shares parameters
        module.forward(mx.io.DataBatch([nd.ones((rows, 5))]), is_train=True)
        module.backward([nd.ones((rows, 2))])
        assert [places(executor) for executor in module._exec_group.execs] == [EXPECTED, EXPECTED]


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ([WHERE], r"group2ctxs has 1 dict\(s\) for 2 context\(s\)"),
        ({"first": [mx.cpu(1)] * 3}, r"group2ctxs\['first'\] has 3 contexts for 2 context\(s\) of the module"),
        ("first", r"group2ctxs is str 'first'; expected a dict of contexts by the names of groups"),
    ],
)
def test_modules_refuse_wrong_groups(groups, text):
    module = mx.mod.Module(stages(), ["data"], None, context=[mx.cpu(0), mx.cpu(5)], group2ctxs=groups)
    with pytest.raises(ArgumentValueError, match=text) as caught:
        module.bind([("data", (4, 5))])
    assert isinstance(caught.value, AssertionError)
    assert not module.binded


def test_files_keep_groups(tmp_path):
    path = str(tmp_path / "net-symbol.json")
    stages().save(path)
    loaded = sym.load(path)
    assert {row.get("ctx_group") for row in loaded.attr_dict().values()} == {"first", "second"}
    assert places(loaded.simple_bind(mx.cpu(), group2ctx=WHERE, data=(4, 5))) == EXPECTED
