"""Groups of random graphs against a naive model; values, gradients and states before and after partitioning."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native import partition_cases

import minpy as mx
from minpy.core.errors import MXNetError
from minpy.graph.partitioning.editable import Graph
from minpy.graph.partitioning.growing import Labels, grown

GRAPHS = {"unary": ("tanh", "sin", "negative", "sigmoid"), "binary": ("elemwise_add", "elemwise_mul", "elemwise_sub")}


@pytest.fixture(scope="module", autouse=True)
def partitioners():
    """Partitioners that take nodes as options say, with the graph run as it is, by a function, and by a class."""
    register = mx.graph.register_partitioner

    def supported(node, labels=()):
        return labels[node.index]

    register("as_it_is", supported, replace=True)
    register("by_function", supported, replace=True).run(lambda graph, *inputs: graph(*inputs))

    class Runs:
        def __init__(self, graph):
            self.graph = graph

        def forward(self, *inputs):
            return self.graph(*inputs)

    register("by_class", supported, replace=True).run(Runs)


@st.composite
def graphs(draw):
    """Draw a graph as files hold it, with a number for each node."""
    b = partition_cases.Builder()
    values = [b.var(f"x{number}", (2, 2)) for number in range(draw(st.integers(1, 3)))]
    for number in range(draw(st.integers(1, 12))):
        one, other = (draw(st.sampled_from(values)) for _ in range(2))
        kind = draw(st.integers(0, 9))
        if kind < 4:
            values.append(b(draw(st.sampled_from(GRAPHS["unary"])), f"n{number}", one))
        elif kind < 9:
            values.append(b(draw(st.sampled_from(GRAPHS["binary"])), f"n{number}", one, other))
        else:
            joined = b.call("Concat", f"c{number}", [one, other], (4, 2), dim="0", num_args="2")
            values += b.call("SliceChannel", f"n{number}", joined, (2, 2), (2, 2), num_outputs="2", axis="0")
    read = {(a, i) for node in b.nodes for a, i, _ in node["inputs"]}
    heads = [value for value in values if value not in read] + draw(st.lists(st.sampled_from(values), max_size=2))
    graph = b.document(*heads)
    labels = [-2 if node["op"] == "null" else draw(st.sampled_from((-2, -1, -1, 0, 0, 1))) for node in graph["nodes"]]
    return graph, labels


def naive(edges, labels):
    """Return the groups by what is said of them, with all paths known in advance: each group counts as one node."""
    count = len(labels)
    groups: list[list[int]] = []
    of = {}

    def depends(members):
        """Return which members read something outside that depends on members."""
        names = [("m",) if n in members else ("g", of[n]) if n in of else ("n", n) for n in range(count)]
        kinds = sorted(set(names))
        reach = np.zeros((len(kinds), len(kinds)), bool)
        for a, b in edges:
            one, other = kinds.index(names[a]), kinds.index(names[b])
            if one != other:
                reach[one, other] = True
        mine = kinds.index(("m",))
        inner = reach.copy()
        inner[:, mine] = False  # no paths through the members
        closure = inner.copy()
        for _ in kinds:
            closure |= (closure.astype(int) @ inner.astype(int)) > 0
        return [b for a, b in edges if b in members and a not in members and closure[mine, kinds.index(names[a])]]

    for seed in range(count):
        if seed in of or labels[seed] == -2:
            continue
        excluded = set()
        while True:
            members, queue = {seed}, [seed]
            while queue:
                node = queue.pop(0)
                near = [a for a, b in edges if b == node] + [b for a, b in edges if a == node]
                for other in near:
                    fits = labels[other] == -1 or (labels[other] != -2 and labels[other] == labels[node])
                    if other not in members and other not in of and other not in excluded and fits:
                        members.add(other)
                        queue.append(other)
            entered = depends(members)
            if not entered:
                break
            if max(entered) in excluded:
                members = {seed}
                break
            excluded.add(max(entered))
        for node in members:
            of[node] = len(groups)
        groups.append(sorted(members))
    return groups


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_groups_of_a_naive_model(drawn):
    document, labels = drawn
    graph = Graph.from_json(json.dumps(document))
    graph.freeze()
    order = graph.nodes
    edges = [(source.index, node.index) for node in order for source, _ in node.inputs]
    found = [[node.index for node in group] for group in grown(graph, Labels(labels), "here")]
    assert found == naive(edges, labels)
    for group in found:  # convex, by brute force
        below = {node: {node} for node in range(len(order))}
        for a, b in sorted(edges, key=lambda edge: edge[1]):
            below[b] |= below[a]
        for outside in set(range(len(order))) - {*group}:
            before = any(outside in below[node] for node in group)
            after = any(node in below[outside] for node in group)
            assert not (before and after) or not _leads_through(edges, group, outside)


def _leads_through(edges, group, outside):
    """Tell whether a path leads from the group to a node and back into the group."""

    def reached(start, forward):
        found, waiting = set(), [start]
        while waiting:
            node = waiting.pop()
            for a, b in edges:
                here, there = (a, b) if forward else (b, a)
                if here == node and there not in found:
                    found.add(there)
                    waiting.append(there)
        return found

    return bool(reached(outside, True) & {*group}) and bool(reached(outside, False) & {*group})


def computed(symbol, args, aux):
    """Return outputs, gradients and states of two calls in training, and the outputs of one that is none."""
    mx.random.seed(3)
    args = {name: mx.nd.array(value) for name, value in args.items()}
    aux = {name: mx.nd.array(value) for name, value in aux.items()}
    gradients = {name: mx.nd.zeros(value.shape) for name, value in args.items()}
    executor = symbol.bind(mx.cpu(), args, gradients, "write", aux)
    found = []
    for _ in range(2):
        found += [output.asnumpy() for output in executor.forward(is_train=True)]
        executor.backward([mx.nd.array(np.cos(np.arange(one.size)).reshape(one.shape)) for one in executor.outputs])
        found += [gradients[name].asnumpy() for name in sorted(gradients)]
        found += [aux[name].asnumpy() for name in sorted(aux)]
    return found + [output.asnumpy() for output in executor.forward(is_train=False)]


def assert_same(one, other):
    assert len(one) == len(other)
    for before, after in zip(one, other, strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6, equal_nan=True)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.sampled_from(("as_it_is", "by_function", "by_class")), st.booleans(), st.integers(0, 2**31))
def test_values_and_gradients_stay(drawn, partitioner, deduplicated, seed):
    document, labels = drawn
    symbol = mx.sym.load_json(json.dumps(document))
    rng = np.random.RandomState(seed)
    args = {name: rng.uniform(-1, 1, (2, 2)).astype("float32") for name in symbol.list_arguments()}
    cut = symbol.optimize_for(partitioner, labels=labels, dedup_subgraph=deduplicated)
    assert cut.list_inputs() == symbol.list_inputs()
    assert len(cut.list_outputs()) == len(symbol.list_outputs())
    assert_same(computed(symbol, args, {}), computed(cut, args, {}))
    again = mx.sym.load_json(cut.tojson())
    assert again.tojson() == cut.tojson()


def _values(case):
    symbol = mx.sym.load_json(json.dumps(case.graph))
    rng = np.random.RandomState(0)
    shapes = {n: s for n, s in (case.shapes or ({}, {}))[0].items() if n in symbol.list_arguments()} or {"x": (2, 4)}
    found = symbol.infer_shape(**shapes)
    draw = [[rng.uniform(0.5, 1.5, shape).astype("float32") for shape in kind] for kind in (found[0], found[2])]
    names = symbol.list_arguments(), symbol.list_auxiliary_states()
    return symbol, *(dict(zip(keys, values, strict=True)) for keys, values in zip(names, draw, strict=True))


HAND = {name: case for name, case in partition_cases.by_hand().items() if case.shapes is not None}


@pytest.mark.parametrize("name", [*HAND])
@pytest.mark.parametrize("deduplicated", [False, True])
def test_values_of_graphs_that_mxnet_cuts(name, deduplicated):
    symbol, args, aux = _values(HAND[name])
    ops = {node["op"] for node in HAND[name].graph["nodes"]} - {"null"}
    for kinds in ({*sorted(ops)[:1]}, {*sorted(ops)[-1:]}, {*sorted(ops)[1:]}, ops):
        every = [0 if node.kind in kinds else -2 for node in symbol.order]
        cut = symbol.optimize_for("as_it_is", labels=every, dedup_subgraph=deduplicated)
        assert_same(computed(symbol, args, aux), computed(cut, args, aux))
        called = symbol.optimize_for("by_function", labels=every, dedup_subgraph=deduplicated)
        assert_same(computed(symbol, args, aux), computed(called, args, aux))


def test_groups_that_read_each_other_do_not_both_form():
    x, y = (mx.sym.exp(mx.sym.var(name), name=name.upper()) for name in "xy")
    a1 = mx.sym.sin(y, name="a1")
    b1 = mx.sym.elemwise_add(x, a1, name="b1")
    a2 = mx.sym.elemwise_add(y, mx.sym.sin(x, name="b2"), name="a2")
    net = mx.sym.Group([b1, a2])
    wanted = {"Y": 0, "a1": 0, "a2": 0, "X": 1, "b1": 1, "b2": 1}
    cut = net.optimize_for("as_it_is", labels=[wanted.get(node.name, -2) for node in net.order])
    inside = {node.name: node.operator.graphs[0].list_inputs() for node in cut.order if node.kind == "as_it_is"}
    assert len(inside) >= 2
    args = {"x": np.ones((2, 2)), "y": np.full((2, 2), 0.5)}
    assert_same(computed(net, args, {}), computed(cut, args, {}))


def test_a_variable_is_read_not_taken():
    net = mx.sym.exp(mx.sym.var("x"), name="a") + mx.sym.var("y")
    cut = net.optimize_for("as_it_is", labels=[-1, -1, -1, -1])
    assert cut.list_arguments() == ["x", "y"]
    assert [node.name for node in cut.order] == ["x", "y", "_op0"]
    alone = mx.sym.var("x").optimize_for("as_it_is", labels=[-1])
    assert alone.list_outputs() == ["x"]


def test_a_filter_may_not_leave_a_gap():
    from test_partitions import Chooser

    mx.graph.register_partitioner("gap", Chooser, replace=True)
    a = mx.sym.exp(mx.sym.var("x"), name="a")
    b = mx.sym.sin(a, name="b")
    net = mx.sym.tanh(mx.sym.elemwise_add(a, b, name="d"), name="f")
    expected = (
        "optimize_for('gap'): strategy 'gap': filter kept a, d of a group of 3 nodes, and d reads what depends on them "
        "through nodes that are not kept. Keep those in between, or leave it out."
    )
    with pytest.raises(MXNetError) as caught:
        net.optimize_for("gap", seeds="1", outs="1>2,2>3,1>3", drop="2")
    assert str(caught.value) == expected
