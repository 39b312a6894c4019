"""Passes written in Python: graphs edited in place or made anew, new and removed parameters, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import minpy as mx
from minpy import nd, sym
from minpy.core.configured import FAMILIES
from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, MXNetError
from minpy.graph import Entry, Graph, GraphNode, register_pass
from minpy.graph.partitioning.editable import EditingError
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES


@pytest.fixture(autouse=True)
def registries():
    """What is registered in a test is gone after it."""
    before = [dict(table) for table in (PARTITIONERS, PASSES, FAMILIES)]
    yield
    for table, content in zip((PARTITIONERS, PASSES, FAMILIES), before, strict=True):
        table.clear()
        table.update(content)


def network():
    x = sym.var("x", lr_mult=2)
    e = sym.exp(x, name="e", attr={"__mine__": "yes"})
    return sym.elemwise_add(sym.FullyConnected(e, num_hidden=2, name="fc"), sym.var("z"), name="out")


def applied(function, symbol=None, args=None, aux=None, **options):
    """Return what a pass makes of a symbol."""
    register_pass("pass", function, replace=True)
    return (network() if symbol is None else symbol).optimize_for("pass", args, aux, **options)


def test_an_edit_in_place():
    def edit(graph, op="log"):
        for node in graph:
            if node.op == "exp":
                node.op = op
                node.name = op
                node.attrs["__noted__"] = "here"

    net = network()
    text = net.tojson()
    changed = applied(edit, net)
    assert net.tojson() == text
    assert changed.attr_dict()["log"] == {"__mine__": "yes", "__noted__": "here"}
    assert changed.attr_dict()["x"]["__lr_mult__"] == "2"
    assert changed.list_arguments() == net.list_arguments()
    assert [node.kind for node in applied(edit, net, op="sin").order if node.name == "sin"] == ["sin"]
    with pytest.raises(ArgumentError, match=r"pass 'pass' takes no option 'ops'; it takes op\. Did you mean 'op'"):
        applied(edit, net, ops="sin")


def test_nothing_changed():
    net = network()
    for function in (lambda graph: None, lambda graph: graph, lambda graph: Graph.from_json(graph.json())):
        assert applied(function, net).tojson() == net.tojson()
    args = {"x": nd.ones((3, 4)), "z": nd.ones((3, 2))}
    annotated = applied(lambda graph: None, net, args)
    assert annotated.attr_dict()["fc_weight"]["__ext_shape__"] == "[[2,4]]"
    assert list(args) == ["x", "z"]
    again = applied(lambda graph: Graph.from_json(graph.json()), annotated)
    assert again.tojson() == annotated.tojson()


def test_nodes_put_in_and_taken_out():
    def edit(graph):
        e = graph.node("e")
        graph.replace(e, e.inputs[0])
        out = graph.node("out")
        graph.replace(out, graph.add_node("_mul_scalar", "twice", [out], {"scalar": 2}))

    net = applied(edit)
    assert [node.name for node in net.order] == ["x", "fc_weight", "fc_bias", "fc", "z", "out", "twice"]
    values = {"x": nd.ones((1, 3)), "fc_weight": nd.ones((2, 3)), "fc_bias": nd.zeros((2,)), "z": nd.ones((1, 2))}
    assert net.eval(**values)[0].asnumpy().tolist() == [[8, 8]]


def test_new_and_removed_parameters():
    def edit(graph):
        out = graph.node("out")
        shift = graph.add_argument("shift", np.full((1, 2), 5, "float32"), {"__lr_mult__": "0"})
        out.inputs[1] = Entry(shift)
        mean, var = (graph.add_auxiliary(f"bn_{one}", nd.ones((2,)) * 4) for one in ("mean", "var"))
        gamma, beta = (graph.add_argument(f"bn_{one}", nd.ones((2,))) for one in ("gamma", "beta"))
        attrs = {"use_global_stats": True, "eps": 0, "fix_gamma": False}
        graph.outputs = [graph.add_node("BatchNorm", "bn", [out, gamma, beta, mean, var], attrs)]
        graph.add_argument("unread", nd.ones((1,)))

    args = {name: nd.ones(s) for name, s in {"x": (1, 3), "fc_weight": (2, 3), "fc_bias": (2,), "z": (1, 2)}.items()}
    aux = {}
    net = applied(edit, None, args, aux)
    assert list(args) == ["x", "fc_weight", "fc_bias", "shift", "bn_gamma", "bn_beta"]
    assert list(aux) == ["bn_mean", "bn_var"]
    assert net.list_arguments() == list(args)
    assert net.list_auxiliary_states() == list(aux)
    assert type(args["shift"]) is nd.NDArray
    assert net.attr_dict()["shift"]["lr_mult"] == "0"
    expected = (3 * np.exp(1) + 1 + 5 - 4) / 2 + 1
    np.testing.assert_allclose(net.bind(mx.cpu(), args, aux_states=aux).forward()[0].asnumpy(), expected, rtol=1e-3)


def test_parameters_without_a_dictionary():
    def add(graph):
        graph.node("out").inputs[1] = Entry(graph.add_argument("shift", nd.ones((1, 2))))

    with pytest.raises(RuntimeError, match="Cannot add new args in optimize_for since args is None\nProvide a dict"):
        applied(add)

    def remove(graph):
        graph.replace(graph.node("out"), graph.node("fc"))

    register_pass("pass", remove, replace=True)
    with pytest.warns(UserWarning, match="z is not read any more, and there is no dictionary args=... to") as said:
        net = network().optimize_for("pass")
    assert "z" not in net.list_arguments()
    assert said[0].filename == __file__


def test_values_are_seen():
    seen = {}

    def look(graph):
        seen.update({node.name: node.array for node in graph.variables})
        seen["args"] = sorted(graph.args)

    x = nd.ones((3, 4))
    applied(look, None, {"x": x, "other": nd.ones((1,))})
    assert seen["x"] is x
    assert seen["z"] is None
    assert seen["args"] == ["x"]


def test_a_group_is_edited_inside():
    mx.graph.register_partitioner("ours", ["exp", "log"], replace=True)
    net = sym.tanh(sym.exp(sym.log(sym.var("x"), name="l"), name="e"), name="t").optimize_for("ours")

    def edit(graph):
        inner = graph.node("_op0").subgraphs[0]
        inner.node("e").op = "sin"

    changed = applied(edit, net)
    assert changed.eval(x=nd.ones((1,)))[0].asscalar() == 0
    assert net.eval(x=nd.ones((1,)))[0].asscalar() == pytest.approx(np.tanh(1))
    assert [node.kind for node in changed.order] == ["null", "ours", "tanh"]


def test_constants_and_functions_stay_what_they_are():
    @mx.customop("numpy")
    def local(x, y):
        return x * y

    net = sym.exp(local(sym.var("x"), 3.0))

    def edit(graph):
        graph.node(net.name).op = "negative"

    assert applied(edit, net).eval(x=nd.ones((1,)))[0].asscalar() == -3


def _cycle(graph):
    graph.node("e").inputs[0] = Entry(graph.node("out"))


def _not_there(graph):
    graph.node("out").inputs[1] = Entry(graph.node("e"), 2)


def _no_node(graph):
    graph.node("out").inputs[1] = "z"


def _two_variables(graph):
    graph.node("z").name = "x"


def _two_nodes(graph):
    graph.node("fc").name = "e"


def _unknown(graph):
    graph.node("e").op = "expp"


def _attribute(graph):
    graph.node("fc").attrs["num_hiden"] = "3"


def _value(graph):
    graph.node("fc").attrs["num_hidden"] = "many"


def _inputs(graph):
    graph.node("out").inputs.pop()


def _no_outputs(graph):
    graph.outputs = []


def _reading_variable(graph):
    graph.node("z").inputs.append(Entry(graph.node("e")))


def _wrong_kind(graph):
    graph.node("out").inputs[1] = Entry(graph.add_auxiliary("state", nd.ones((1, 2))))


def _other_kind(graph):
    variables = [graph.add_argument(f"v{number}", nd.ones((2,))) for number in range(4)]
    graph.outputs = [Entry(graph.add_node("BatchNorm", "bn", [graph.node("out"), *variables]))]


BROKEN = {
    _cycle: "the graph has a cycle: node 'out' (elemwise_add) reads itself, through out <- fc <- e <- out.",
    _not_there: "input 1 of 'out' (elemwise_add) is output 2 of node 'e' (exp), which has 1.",
    _no_node: "an input of a node is str 'z'; expected a GraphNode, or a pair (GraphNode, output).",
    _two_variables: "two variables are named 'x'.",
    _two_nodes: "2 nodes are named 'e'; give each a name of its own.",
    _unknown: "node 1 ('e', 'expp'): there is no operator 'expp'. Did you mean 'exp' or 'expm1'?",
    _attribute: "node 4 ('fc', 'FullyConnected'): 'FullyConnected' has no attribute 'num_hiden'; it has num_hidden",
    _value: "node 4 ('fc', 'FullyConnected'): attribute 'num_hidden' is 'many'; expected int",
    _inputs: "node 5 ('out', 'elemwise_add') has 1 input(s); expected lhs, rhs.",
    _no_outputs: "the graph has no outputs; give it some, with graph.outputs = [node].",
    _reading_variable: "node 5 ('z', variable): a variable must have no inputs.",
    _wrong_kind: "'state' was added as an auxiliary state, and is an argument: no operator changes it. Add it",
    _other_kind: "'v2' was added as an argument, and is an auxiliary state: an operator changes it. Add it with Graph.",
}


@pytest.mark.parametrize("edit", BROKEN)
def test_what_is_no_graph_any_more(edit):
    net, args, aux = network(), {"x": nd.ones((3, 4))}, {}
    text = net.tojson()

    def adds_too(graph):
        graph.replace(graph.node("z"), graph.add_argument("new", nd.ones((3, 2)))) if edit is None else edit(graph)

    with pytest.raises(EditingError) as caught:
        applied(adds_too, net, args, aux)
    assert str(caught.value).startswith("optimize_for('pass'): ")
    assert BROKEN[edit] in str(caught.value)
    assert net.tojson() == text
    assert (list(args), list(aux)) == (["x"], [])


def test_what_is_no_pass():
    with pytest.raises(ArgumentError) as caught:
        register_pass("pass", 3)
    assert str(caught.value) == "register_pass: pass 'pass' is int 3; expected a function of a graph, def pass(graph)."
    assert "pass" not in PASSES
    with pytest.raises(ArgumentError) as caught:
        applied(lambda graph: graph.json())
    assert str(caught.value).startswith("pass 'pass' returned str '{")
    assert str(caught.value).endswith("expected the Graph, or None if it was edited in place.")

    def fails(graph):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        applied(fails)


def test_what_a_graph_refuses():
    graph = Graph()
    x = graph.add_node("null", "x")
    graph.outputs = [Entry(x)]
    for call, kind, text in (
        (lambda: graph.add_node("", "y"), ArgumentError, "Graph.add_node: op is str ''; expected a string"),
        (lambda: graph.add_node("exp", 3), ArgumentError, "Graph.add_node: name is int 3; expected a string that is"),
        (
            lambda: graph.add_node("exp", "y", ["x"]),
            ArgumentError,
            "an input of a node is str 'x'; expected a GraphNode",
        ),
        (lambda: graph.add_argument("x", nd.ones((1,))), ArgumentValueError, "the graph has a variable 'x' already"),
        (lambda: graph.node("xx"), ArgumentValueError, "the graph has no node 'xx'. Did you mean 'x'?"),
        (lambda: Graph.from_json("{"), FileFormatError, "Graph.from_json: it is no JSON: "),
        (lambda: Graph.from_json("[]"), FileFormatError, "Graph.from_json: it describes no graph: TypeError"),
        (lambda: Graph.from_json('{"nodes": [{}]}'), FileFormatError, "it describes no graph: KeyError: 'inputs'"),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert text in str(caught.value)
    assert issubclass(EditingError, MXNetError)


def test_text_of_a_graph():
    net = sym.SliceChannel(sym.var("x"), num_outputs=2, name="s")
    seen = {}
    applied(lambda graph: seen.update(text=str(graph), json=graph.json(), length=len(graph)), net)
    assert seen["text"] == "x\ns = SliceChannel(x[0], num_outputs=2)\noutputs: s[0], s[1]"
    assert seen["length"] == 2
    document = json.loads(seen["json"])
    assert document["node_row_ptr"] == [0, 1, 3]
    assert document["heads"] == [[1, 0, 0], [1, 1, 0]]
    assert repr(GraphNode("null", "x")) == "<GraphNode x>"


def test_in_numpy_semantics():
    x = sym.var("x").as_np_ndarray()
    net = sym.np.exp(x)
    kept = net.optimize_for(_registered("same", lambda graph: None))
    assert type(kept) is type(net)
    mx.graph.register_partitioner("ours", lambda node: not node.is_variable, replace=True)
    cut = net.optimize_for("ours")
    assert type(cut) is type(net)
    assert cut.eval(x=mx.np.zeros((2,)))[0].asnumpy().tolist() == [1, 1]


def _registered(name, function):
    register_pass(name, function, replace=True)
    return name
