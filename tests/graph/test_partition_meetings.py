"""Groups of nodes where they meet the rest: second backwards, random numbers, files, edits, large graphs."""

import copy
import json
import pickle

import numpy as np
import pytest

import minpy as mx
from minpy import gluon, nd, sym
from minpy.graph.partitioning import growing
from minpy.graph.partitioning.editable import Graph
from minpy.graph.partitioning.growing import Labels, grown
from minpy.library.passes import _sorted_graph

LAYERS = ["FullyConnected", "Activation", "BatchNorm", "Dropout", "exp", "tanh", "elemwise_add", "_foreach"]


class Runner:
    def __init__(self, graph):
        self.graph = graph

    def forward(self, *inputs):
        return self.graph(*inputs)


RUNNERS = {
    "itself": None,
    "function": lambda graph, *inputs: graph(*inputs),
    "on_copies": lambda graph, *inputs: graph(*[one.copy() for one in inputs]),
    "class": Runner,
}


@pytest.fixture(params=RUNNERS)
def backend(request):
    made = mx.graph.register_partitioner(f"meeting_{request.param}", LAYERS, replace=True)
    if RUNNERS[request.param] is not None:
        made.run(RUNNERS[request.param])
    return made.name


def network():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(5, activation="tanh", in_units=6), gluon.nn.Dropout(0.5), gluon.nn.Dense(3, in_units=5))
    net.initialize(mx.init.Xavier())
    return net


@pytest.mark.stays_python
def test_a_second_backward_takes_the_same_random_numbers(backend):
    net, x = network(), nd.random.normal(shape=(4, 6))
    plain = copy.deepcopy(net)
    plain.hybridize()
    net.optimize_for(x, backend=backend)
    found = []
    for one in (plain, net):
        for _ in range(2):  # the first call runs step by step
            mx.random.seed(3)
            x.attach_grad()
            with mx.autograd.record():
                loss = (one(x) ** 2).sum()
            grads = []
            for _ in range(3):
                loss.backward(retain_graph=True)
                grads.append(x.grad.asnumpy())
            np.testing.assert_array_equal(grads[0], grads[1])
            np.testing.assert_array_equal(grads[0], grads[2])
            found.append((grads[0], nd.random.uniform(shape=(2,)).asnumpy()))  # and draws no more of them
    for grad, drawn in found[1:]:
        np.testing.assert_allclose(grad, found[0][0], rtol=1e-5)
        np.testing.assert_array_equal(drawn, found[0][1])


@pytest.mark.parametrize("backend", [one for one in RUNNERS if one != "on_copies"], indirect=True)
def test_states_move_once_for_a_forward(backend):
    s = sym.cos(sym.exp(sym.BatchNorm(sym.exp(sym.var("x")), name="n")))
    outcomes = []
    for one in (s, s.optimize_for(backend)):
        executor = one.simple_bind(mx.cpu(), x=(4, 3))
        executor.arg_dict["x"][:] = nd.array(np.linspace(0, 1, 12).reshape(4, 3))
        executor.arg_dict["n_gamma"][:] = 1
        executor.aux_dict["n_moving_var"][:] = 1
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(nd.ones((4, 3)))
            executor.backward(nd.ones((4, 3)))
        outcomes.append([*executor.aux_dict.values(), *executor.grad_dict.values()])
    for one, other in zip(*outcomes, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-7)


def test_partitioned_saved_and_partitioned_again(backend):
    def body(row, states):
        out = sym.tanh(row + states[0])
        return out, [out]

    looped, last = sym.contrib.foreach(body, sym.exp(sym.var("x")), [sym.var("h")])
    s = sym.Group([sym.cos(looped), last[0]])
    given = {"x": nd.ones((4, 3)), "h": nd.ones((3,))}
    expected = [one.asnumpy() for one in s.bind(mx.cpu(), given).forward()]
    parted = s.optimize_for(backend, {**given})
    for one in (sym.load_json(parted.tojson()), pickle.loads(pickle.dumps(parted)), copy.deepcopy(parted)):
        assert one.tojson() == parted.tojson()
        for again in (one, one.optimize_for(backend), one.optimize_for(backend, {**given})):
            for found, wanted in zip(again.bind(mx.cpu(), given).forward(), expected, strict=True):
                np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)


def test_versions_inside_of_groups_are_zero():
    mx.graph.register_partitioner("meeting_versions", ["BatchNorm"], replace=True)
    s = sym.exp(sym.BatchNorm(sym.var("x"), name="n"))
    nodes = json.loads(s.optimize_for("meeting_versions").tojson())["nodes"]
    group = next(node for node in nodes if "subgraphs" in node)
    assert [entry[2] for entry in group["inputs"]] == [0, 0, 0, 1, 1]
    assert [entry[2] for entry in group["subgraphs"][0]["nodes"][-1]["inputs"]] == [0, 0, 0, 0, 0]


def test_edits_are_seen():
    graph = Graph()
    x, y = graph.add_node("null", "x"), graph.add_node("null", "y")
    one, other = graph.add_node("sum", "one", [x, y]), graph.add_node("sum", "other", [x])
    graph.outputs = [(one, 0), (other, 0)]
    assert x.outputs == [(one, 0), (other, 0)]
    assert y.outputs == [(one, 1)]
    other.inputs.insert(0, one.inputs.pop())  # the same entries in the same order, and others read them
    assert x.outputs == [(one, 0), (other, 1)]
    assert y.outputs == [(other, 0)]
    x.outputs.clear()  # a list of its own
    assert len(x.outputs) == 2
    graph.outputs = [(other, 0)]
    assert [node.name for node in graph.nodes] == ["y", "x", "other"]
    other.inputs[0] = (x, 0)
    assert [node.name for node in graph.nodes] == ["x", "other"]
    assert y.outputs == []


def test_large_graphs_are_walked_through_near_the_groups_only(monkeypatch):
    """Each of a thousand groups of a chain looks at its neighbours, not at all that depends on it."""
    graph = Graph()
    node = graph.add_node("null", "x")
    for number in range(2000):
        node = graph.add_node("exp" if number % 2 else "log", f"n{number}", [node])
    graph.outputs = [(node, 0)]
    graph.freeze()
    asked = []
    labels = Labels([-1 if one.op == "exp" else -2 for one in graph.nodes])
    readers = growing._Line.readers
    monkeypatch.setattr(growing._Line, "readers", lambda self, one: asked.append(one) or readers(self, one))
    assert len(grown(graph, labels, "test")) == 1000
    assert len(asked) < 10_000


def test_graphs_of_passes_with_nodes_that_nobody_reads():
    """MXNet's header gives back nodes that were taken out, in front of all others, with what they read behind them."""
    document = {
        "nodes": [
            {"op": "log", "name": "out", "inputs": [[3, 0, 0]]},
            {"op": "null", "name": "unread", "inputs": []},
            {"op": "exp", "name": "e", "inputs": [[3, 0, 0]]},
            {"op": "null", "name": "x", "inputs": []},
        ],
        "heads": [[2, 0, 0]],
    }
    found = Graph.from_json(json.dumps(_sorted_graph(document, "test")))
    assert [node.name for node in found.nodes] == ["x", "e"]
