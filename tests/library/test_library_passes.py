"""Graph passes of native libraries: parameters that they add, change and remove; and graphs that are none."""

from __future__ import annotations

import copy
import json
import re
import threading

import numpy as np
import pytest
from native.building import build
from native.puppet import Puppet
from native.puppet_cases import accept, arrays, by_op, chain

import minpy as mx
from minpy.core.configured import FAMILIES
from minpy.core.errors import ArgumentError, DTypeError, LibraryError
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES


def load(**flags):
    path = build("puppet.c", flags=[f"-D{key}={value}" for key, value in flags.items()])
    mx.library.load(path, verbose=False)
    return Puppet(path, flags.get("TAG", "").strip('"'))


@pytest.fixture(autouse=True)
def puppet():
    puppet = load()
    yield puppet
    assert puppet.faults() == []
    assert puppet.lent() == 0


def unchanged(graph, *_):
    return graph


def scaled(graph, options, args, aux, host):
    """Multiply by a new argument."""
    host.allocate("w", np.array([5, 7], np.float32))
    count, head = len(graph["nodes"]), graph["heads"][0]
    graph["nodes"] += [
        {"op": "null", "name": "w", "inputs": []},
        {"op": "elemwise_mul", "name": "scaled", "inputs": [head, [count, 0, 0]]},
    ]
    graph["heads"] = [[count + 1, 0, 0]]
    return graph


# -- parameters --------------------------------------------------------------------------------------------------------


def test_a_new_argument_is_one_of_the_symbol(puppet):
    args = arrays(mx, "a", "b")
    with puppet.doing(run=scaled):
        result = chain(mx).optimize_for("puppet_pass", args=args, ctx=mx.cpu(1))
    assert result.list_arguments() == ["a", "b", "w"]
    assert type(args["w"]) is type(mx.nd.ones(1, ctx=mx.cpu(1)))
    assert args["w"].context == mx.cpu(1)
    args["w"] = args["w"].as_in_context(mx.cpu())
    gradients = {name: mx.nd.zeros(2) for name in args}
    executor = result.bind(mx.cpu(), args, args_grad=gradients)
    total = (args["a"] + args["b"]).asnumpy()
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), total * [5, 7], rtol=1e-6)
    executor.backward(mx.nd.ones(2))
    np.testing.assert_allclose(gradients["a"].asnumpy(), [5, 7], rtol=1e-6)
    np.testing.assert_allclose(gradients["w"].asnumpy(), total, rtol=1e-6)


VALUES = [
    np.array([[1.5, 2], [3, 4]], np.float32),
    np.array([1e300], np.float64),
    np.array([0.5, 1], np.float16),
    np.array([255, 0], np.uint8),
    np.array([-(2**31)], np.int32),
    np.array([-128, 127], np.int8),
    np.array([2**62], np.int64),
    np.array(3, np.float32),
    np.zeros((0, 3), np.float32),
    np.arange(2**6, dtype=np.float32).reshape((2,) * 6),
]


@pytest.mark.parametrize("values", VALUES, ids=[f"{values.dtype}-{values.shape}" for values in VALUES])
@pytest.mark.parametrize("is_arg", [True, False])
def test_values_of_new_parameters(puppet, values, is_arg):
    args, aux = arrays(mx, "a", "b"), {}

    def run(graph, options, args, aux, host):
        assert host.allocate("new", values, is_arg)
        return graph

    with puppet.doing(run=run):
        chain(mx).optimize_for("puppet_pass", args=args, aux=aux)
    made = (args if is_arg else aux)["new"]
    assert (made.dtype, made.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(made.asnumpy(), values)
    made += 1  # it is an array like any other
    np.testing.assert_array_equal(made.asnumpy(), values + values.dtype.type(1))


def test_an_argument_gets_new_memory(puppet):
    """A pass may allocate an argument that is there, to give it another shape."""
    args = arrays(mx, "a", "b")

    def run(graph, options, args, aux, host):
        host.allocate("b", np.array([1, 2, 3], np.float64))
        return graph

    with puppet.doing(run=run):
        chain(mx).optimize_for("puppet_pass", args=args)
    assert args["b"].shape == (3,)
    assert args["b"].dtype == np.float64


def test_values_that_a_pass_changes(puppet):
    base = np.zeros((2, 6), np.float32)
    args = {"a": mx.nd.array([1, 2]), "b": base[:, ::3]}
    symbol = mx.sym.broadcast_add(mx.sym.var("a"), mx.sym.var("b"), name="s")

    def run(graph, options, args, aux, host):
        host.change("a", np.array([8, 9], np.float32))
        host.change("b", np.array([[1, 2], [3, 4]], np.float32))
        return graph

    memory = args["a"]._data
    with puppet.doing(run=run):
        symbol.optimize_for("puppet_pass", args=args)
    assert args["a"]._data is memory
    np.testing.assert_array_equal(memory, [8, 9])
    np.testing.assert_array_equal(base, [[1, 0, 0, 2, 0, 0], [3, 0, 0, 4, 0, 0]])


def test_values_that_the_tape_needs_are_not_changed_unseen(puppet):
    w = mx.nd.array([1.0, 2.0])
    w.attach_grad()
    with mx.autograd.record():
        y = w * w
    with puppet.doing(run=unchanged):
        mx.sym.exp(mx.sym.var("w"), name="e").optimize_for("puppet_pass", args={"w": w})
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(w.grad.asnumpy(), [2, 4])

    def run(graph, options, args, aux, host):
        host.change("w", np.array([8, 9], np.float32))
        return graph

    with puppet.doing(run=run):
        mx.sym.exp(mx.sym.var("w"), name="e").optimize_for("puppet_pass", args={"w": w})
    with pytest.raises(mx.MXNetError, match=r"in place|overwritten|changed"):
        y.backward()


def test_a_removed_argument_leaves_its_dict(puppet):
    def run(graph, *_):
        graph["nodes"][2]["inputs"][1] = [0, 0, 0]
        return graph

    args = {**arrays(mx, "a", "b"), "unused": mx.nd.ones(1)}
    with puppet.doing(run=run):
        result = chain(mx).optimize_for("puppet_pass", args=args)
    assert result.list_arguments() == ["a"]
    assert [*args] == ["a", "unused"]
    with puppet.doing(run=run), pytest.warns(UserWarning, match="b is not read any more"):
        chain(mx).optimize_for("puppet_pass")


# -- failures, which change nothing ------------------------------------------------------------------------------------


def fails(puppet, run, kind=LibraryError, symbol=None, backend="puppet_pass", **keywords):
    """Return the text of the error of a pass that changes nothing."""
    symbol = chain(mx) if symbol is None else symbol
    keywords.setdefault("args", arrays(mx, "a", "b"))
    before = symbol.tojson(), {**PARTITIONERS}, {**PASSES}, {**FAMILIES}
    tables = {name: dict(keywords[name]) for name in ("args", "aux") if keywords.get(name) is not None}
    values = {name: copy.deepcopy(array) for table in tables.values() for name, array in table.items()}
    with pytest.raises(kind) as caught, puppet.doing(run=run):
        symbol.optimize_for(backend, **keywords)
    assert (symbol.tojson(), PARTITIONERS, PASSES, FAMILIES) == before
    for name, table in tables.items():
        assert keywords[name] == table
        for key, array in table.items():
            np.testing.assert_array_equal(array.asnumpy(), values[key].asnumpy())
    assert puppet.lent() == 0
    return str(caught.value)


def changing(then):
    """Return a pass that changes values, adds parameters, and goes on."""

    def run(graph, options, args, aux, host):
        host.change("a", np.array([100, 100], np.float32))
        host.allocate("new", np.ones(3, np.float32))
        return then(graph)

    return run


def test_a_library_says_why_it_fails(puppet):
    puppet.message("an old one")

    def run(graph):
        puppet.message("no such luck")

    text = fails(puppet, changing(run))
    assert re.search(r"puppet-\w+\.so: pass 'puppet_pass' failed on a graph of 5 node\(s\)\.", text)
    assert "\n  puppet.c[1]: no such luck" in text
    assert "an old one" not in text


def edited(**changes):
    """Return a function that changes parts of a graph: 'heads', or 'node_3_op'."""

    def edit(graph):
        for path, value in changes.items():
            if re.match(r"node_\d_", path):
                _, number, key = path.split("_", 2)
                graph["nodes"][int(number)][key] = value
            elif value is None:
                del graph[path]
            else:
                graph[path] = value
        return graph

    return edit


NO_GRAPHS = [
    (lambda graph: "", "reported success, and gave back no graph"),
    (lambda graph: "{", "gave back a text that is no JSON: Expecting property name"),
    (lambda graph: " ", "gave back a text that is no JSON: Expecting value"),
    (lambda graph: json.dumps(graph)[:-9], "gave back a text that is no JSON"),
    (lambda graph: json.dumps(graph) + "}", "gave back a text that is no JSON: Extra data"),
    (lambda graph: b'{"nodes": "\xff"}', "gave back a text that is no JSON: 'utf-8' codec can't decode byte 0xff"),
    (lambda graph: "[" * 100_000, "gave back a text that is no JSON"),
    (lambda graph: nested(20), "_puppet_op takes 1 input(s), got 0"),
    (lambda graph: nested(300), "gave back a"),
    (lambda graph: "[1, 2]", "expected an object with lists of nodes and heads; it is [1, 2]."),
    (lambda graph: "null", "expected an object with lists of nodes and heads; it is None."),
    (edited(nodes=None), "expected an object with lists of nodes and heads"),
    (edited(heads=None), "expected an object with lists of nodes and heads"),
    (edited(heads=[]), "it has no heads; expected the outputs of the graph"),
    (edited(nodes=[]), "head 0 is of node 4, and there are 0 nodes"),
    (edited(nodes=["exp"]), "node 0 is 'exp'; expected an object with the texts op and name"),
    (edited(node_3_op=7), "node 3 is"),
    (edited(node_3_op="exq"), "exq"),
    (edited(node_3_op="puppet_totally"), "puppet_totally"),
    (
        edited(node_3_attrs={"level": 3}),
        "node 3 ('e', exp) has the attributes {'level': 3}; expected an object of texts",
    ),
    (edited(node_3_attrs=[]), "node 3 ('e', exp) has the attributes []; expected an object of texts"),
    (
        edited(node_3_inputs=[[3, 0, 0]]),
        "gave back a graph: it has a cycle: 'e' reads 'e'.",
    ),
    (edited(node_3_inputs=[[4, 0, 0]]), "gave back a graph: it has a cycle: 'l' reads 'e' reads 'l'."),
    (edited(node_3_inputs=[[5, 0, 0]]), "node 3 ('e', exp): input 0 is of node 5, and there are 5 nodes"),
    (
        edited(node_3_inputs=[[-1, 0, 0]]),
        "node 3 ('e', exp): input 0 is [-1, 0, 0]; expected [node, output, version]",
    ),
    (edited(node_3_inputs=[[0, 1, 0]]), "output 1 of"),
    (
        edited(node_3_inputs=[[0.5, 0, 0]]),
        "node 3 ('e', exp): input 0 is [0.5, 0, 0]; expected [node, output, version]",
    ),
    (
        edited(node_3_inputs=[[True, 0, 0]]),
        "node 3 ('e', exp): input 0 is [True, 0, 0]; expected [node, output, version]",
    ),
    (edited(node_3_inputs=3), "node 3 ('e', exp): inputs are 3; expected a list"),
    (edited(node_3_inputs=[]), "input"),
    (edited(node_2_inputs=[[0, 0, 0]]), "input"),
    (edited(node_0_inputs=[[0, 0, 0]]), "gave back a graph: it has a cycle: 'a' reads 'a'."),
    (edited(node_1_name="a"), "'a'"),
    (edited(heads=[[9, 0, 0]]), "head 0 is of node 9, and there are 5 nodes"),
    (edited(heads=[[4, 1, 0]]), "output 1"),
    (edited(heads=7), "expected an object with lists of nodes and heads"),
    (edited(node_3_subgraphs=3), "node 3 ('e', exp) has the subgraphs 3; expected a list of graphs"),
    (edited(node_3_subgraphs=[3]), "node 3 ('e', exp): subgraph 0: expected an object with lists of nodes and heads"),
]


@pytest.mark.parametrize(("then", "text"), NO_GRAPHS, ids=range(len(NO_GRAPHS)))
def test_what_comes_back_is_no_graph(puppet, then, text):
    error = fails(puppet, changing(then))
    assert re.search(r"puppet-\w+\.so: pass 'puppet_pass' (gave back|reported)", error), error
    assert text in error


def backwards(graph):
    """Return a graph whose nodes come before what they read."""
    last = len(graph["nodes"]) - 1
    nodes = [
        {**node, "inputs": [[last - number, index, 0] for number, index, _ in node["inputs"]]}
        for node in reversed(graph["nodes"])
    ]
    return {"nodes": nodes, "heads": [[last - number, index, 0] for number, index, _ in graph["heads"]]}


def nested(depth):
    """Return a graph in a graph, and so on."""
    text = '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[0, 0, 0]]}'
    for _ in range(depth):
        node = f'{{"op": "_puppet_op", "name": "n", "inputs": [], "subgraphs": [{text}]}}'
        text = f'{{"nodes": [{node}], "heads": [[0, 0]]}}'
    return text


GRAPHS = [
    edited(node_row_ptr=[7, "x"], arg_nodes="none"),
    edited(node_row_ptr=None, arg_nodes=None),
    edited(attrs={"mxnet_version": ["int", 10901], "more": {"of": "it"}}, further=3),
    edited(node_3_control_deps=[0]),
    edited(node_0_attrs={}),
    edited(heads=[[4, 0]]),
    edited(node_3_subgraphs=[]),
    lambda graph: "\n  " + json.dumps(graph, indent=3),
    lambda graph: backwards(graph),
    lambda graph: {**graph, "nodes": [*graph["nodes"], {"op": "unheard", "name": "unread", "inputs": [[5, 0, 0]]}]},
    lambda graph: json.dumps(graph).replace(", ", " ,").encode(),
]


@pytest.mark.parametrize("then", GRAPHS, ids=range(len(GRAPHS)))
def test_what_comes_back_may_be_written_otherwise(puppet, then):
    with puppet.doing(run=lambda graph, *_: then(graph)):
        result = chain(mx).optimize_for("puppet_pass")
    assert result.tojson() == chain(mx).tojson()


def asking(**request):
    def run(graph, options, args, aux, host):
        host.allocate(**{"name": "new", "values": np.ones(2, np.float32), **request})
        return graph

    return run


REQUESTS = [
    ({"name": None}, "asked for a parameter without a name"),
    ({"name": ""}, "asked for a parameter without a name"),
    ({"dtype": 7}, "asked for the parameter 'new' of shape (2,) and the dtype 7; expected a number of a dtype, 0 to 6"),
    ({"dtype": -1}, "and the dtype -1; expected a number of a dtype"),
    ({"dtype": 100}, "and the dtype 100; expected a number of a dtype"),
    ({"device": "gpu"}, "asked for the parameter 'new' of shape (2,) on the device 'gpu'; there is 'cpu'"),
    (
        {"shape": (-1, 2)},
        "asked for the parameter 'new' of shape (-1, 2) and 2 axes; expected up to 32 axes of lengths",
    ),
    ({"shape": (1,) * 33}, "and 33 axes; expected up to 32 axes"),
    ({"shape": (2**40, 2**40)}, "asked for the parameter 'new' of shape (1099511627776, 1099511627776)"),
    ({"shape": (2**62,)}, "asked for the parameter 'new' of shape (4611686018427387904,)"),
]


@pytest.mark.parametrize(("request_", "text"), REQUESTS, ids=range(len(REQUESTS)))
def test_parameters_that_cannot_be(puppet, request_, text):
    if np.prod(request_.get("shape", ()), dtype=float) > 100 or min(request_.get("shape", (0,))) < 0:
        request_ = {**request_, "values": np.float32(1)}
    error = fails(puppet, asking(**request_))
    assert "pass 'puppet_pass' asked for" in error
    assert text in error


def test_new_parameters_need_a_dict(puppet):
    with (
        pytest.raises(RuntimeError, match="Cannot add new args in optimize_for since args is None"),
        puppet.doing(run=scaled),
    ):
        chain(mx).optimize_for("puppet_pass")
    aux = {}
    with pytest.raises(RuntimeError, match="Cannot add new args"), puppet.doing(run=scaled):
        chain(mx).optimize_for("puppet_pass", aux=aux)
    assert aux == {}


def test_values_that_cannot_be_changed(puppet):
    frozen = np.ones(2, np.float32)
    frozen.flags.writeable = False
    args = {"a": mx.nd.ones(2), "b": frozen}

    def run(graph, options, args, aux, host):
        host.change("a", np.array([3, 3], np.float32))
        host.change("b", np.array([3, 3], np.float32))
        return graph

    with pytest.raises(ArgumentError) as caught, puppet.doing(run=run):
        chain(mx).optimize_for("puppet_pass", args=args)
    assert "pass 'puppet_pass': it has changed the values of float32 (2,), which cannot be written to" in str(
        caught.value
    )
    np.testing.assert_array_equal(args["a"].asnumpy(), [1, 1])
    np.testing.assert_array_equal(frozen, [1, 1])


def test_what_cannot_be_given(puppet):
    text = fails(
        puppet, unchanged, DTypeError, args={"a": mx.nd.ones(2), "b": mx.nd.array([1, 0], dtype=bool)}, skip_infer=True
    )
    assert "pass 'puppet_pass': args['b'] is bool (2,); native operators take" in text
    symbol = mx.sym.exp(mx.sym.var("x\\"), name="e")
    assert "ends with a backslash" in fails(puppet, unchanged, ArgumentError, symbol, args=None)
    text = fails(puppet, unchanged, ArgumentError, word=np.ones(2))
    assert "option 'word' is float64 (2,); native libraries are given options as texts" in text


# -- together with the rest --------------------------------------------------------------------------------------------


def test_what_a_file_cannot_hold_stays_what_it_was(puppet):
    """A function written in Python is found again by the name of its node."""

    @mx.customop("numpy")
    def doubled(x):
        return 2 * x

    doubled.def_grad(lambda ans, x: lambda g: 2 * g)
    a = mx.sym.var("a")
    symbol = mx.sym.exp(doubled(a), name="e")
    with puppet.doing(run=unchanged):
        result = symbol.optimize_for("puppet_pass")
    np.testing.assert_allclose(result.eval(a=mx.nd.ones(1))[0].asnumpy(), np.exp([2.0]), rtol=1e-6)


def test_older_libraries():
    """The texts of MXNet 1.7 may have no end: they end with their memory, and what comes behind is skipped."""
    older = load(ABI=7, TAG='"_v7"')
    for length in range(40):  # blocks of several sizes
        symbol = mx.sym.exp(mx.sym.var("a"), name="e" * (length + 1))
        with older.doing(run=lambda graph, *_: bytearray(json.dumps(graph).encode())):
            assert symbol.optimize_for("puppet_pass_v7").tojson() == symbol.tojson()
    error = fails(older, lambda *_: bytearray(b'{"nodes": []'), backend="puppet_pass_v7")
    assert "gave back a text that is no JSON" in error
    assert older.faults() == []
    assert older.lent() == 0


def test_a_partitioner_after_a_pass_after_a_partitioner(puppet):
    args = arrays(mx, "a", "b")
    symbol = chain(mx)
    with puppet.doing(ids=by_op("exp"), review=accept, run=scaled):
        mixed = symbol.optimize_for("puppet", args=args)
        mixed = mixed.optimize_for("puppet_pass", args=args)
        puppet.does["ids"] = by_op("elemwise_mul")
        mixed = mixed.optimize_for("puppet", args=args)
    nodes = json.loads(mixed.tojson())["nodes"]
    assert [(node["op"], node["name"]) for node in nodes if node["op"] == "_puppet_op"] == [("_puppet_op", "_op0")] * 2
    value = mixed.bind(mx.cpu(), args).forward()[0].asnumpy()
    total = (args["a"] + args["b"]).asnumpy()
    np.testing.assert_allclose(value, np.log(total) + 2 * np.array([5, 7]), rtol=1e-6)
    again = mx.sym.load_json(mixed.tojson())
    np.testing.assert_array_equal(again.bind(mx.cpu(), args).forward()[0].asnumpy(), value)


def test_several_threads_run_passes_at_once(puppet):
    errors = []
    meeting = threading.Barrier(4)

    def work(number):
        try:
            for _ in range(15):
                args = arrays(mx, "a", "b")
                chain(mx).optimize_for("puppet_pass", args=args, number=number)
                np.testing.assert_array_equal(args["new"].asnumpy(), [number] * 3)
        except Exception as error:
            errors.append(error)

    def run(graph, options, args, aux, host):
        meeting.wait(timeout=60)
        host.allocate("new", np.full(3, int(options["number"]), np.float32))
        meeting.wait(timeout=60)
        return graph

    with puppet.doing(run=run):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_an_interrupt_during_an_allocation_comes_when_the_pass_is_done(puppet, monkeypatch):
    from minpy.library import passes

    original = passes._Allocations.add
    calls = []

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(passes._Allocations, "add", interrupted)
    args = arrays(mx, "a", "b")
    with pytest.raises(KeyboardInterrupt), puppet.doing(run=scaled):
        chain(mx).optimize_for("puppet_pass", args=args)
    assert len(calls) == 2
    assert [*args] == ["a", "b"]
    assert puppet.lent() == 0
