"""`mx.viz`: tables of networks as MXNet prints them, pictures for Graphviz, and drawings for terminals."""

from __future__ import annotations

import configparser
import importlib
import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import GOLDEN, ROOT

import minpy as mx
from minpy.core.errors import ArgumentError, DTypeError, MissingDependencyError, ShapeError

sys.path.insert(0, str(GOLDEN))
try:
    run_case = importlib.import_module("case_runner").run_case
    CASES = dict(importlib.import_module("visualization_cases").CASES)
finally:
    sys.path.remove(str(GOLDEN))

ANSWERS = json.loads((GOLDEN / "visualization.json").read_text(encoding="utf-8"))

# Where MXNet counts wrongly, or shows less: our rows.
INTENDED = {
    # It multiplies the output's length by that of the second axis instead of the last one.
    "dense_on_every_row": ["data(null) | 2x3 | 0 | ", "fc(FullyConnected) | 2x4 | 16 | data", "Total params: 16"],
    # It counts a weight once for every layer that reads it.
    "shared_weight": [
        "data(null) | 3 | 0 | ",
        "fc1(FullyConnected) | 3 | 9 | data",
        "fc2(FullyConnected) | 3 | 0 | fc1",
        "Total params: 9",
    ],
    # It counts the parameters of five kinds of layers only.
    "transposed_convolution": [
        "data(null) | 4x8x8 | 0 | ",
        "deconv(Deconvolution) | 8x10x10 | 288 | data",
        "Total params: 288",
    ],
    "layer_norm": ["data(null) | 3 | 0 | ", "norm(LayerNorm) | 3 | 6 | data", "Total params: 6"],
    "free_parameter": ["data(null) | 3 | 0 | ", "scaled(broadcast_mul) | 3 | 3 | data", "Total params: 3"],
    # It knows the first input only: the second is no row, and the weight that reads it is not counted.
    "two_inputs": [
        "x(null) | 3 | 0 | ",
        "fc1(FullyConnected) | 3 | 12 | x",
        "y(null) | 4 | 0 | ",
        "fc2(FullyConnected) | 3 | 15 | y",
        "sum(elemwise_add) | 3 | 0 | fc1, fc2",
        "Total params: 27",
    ],
    # It shows no shape where there are several.
    "several_outputs": ["data(null) | 3 | 0 | ", "parts(SliceChannel) | 1, 1, 1 | 0 | data", "Total params: 0"],
}


def dense(data: Any, units: int, name: str, **options: Any) -> Any:
    return mx.sym.FullyConnected(data, num_hidden=units, name=name, **options)


def perceptron() -> Any:
    hidden = mx.sym.Activation(dense(mx.sym.var("data"), 8, "fc1"), act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(dense(hidden, 3, "fc2"), name="softmax")


def residual() -> Any:
    """Return two residual units, the second with a convolution on its skip connection."""

    def conv(x: Any, name: str, filters: int, size: int = 3, stride: int = 1) -> Any:
        pad = size // 2
        return mx.sym.Convolution(
            x, kernel=(size, size), stride=(stride, stride), pad=(pad, pad), num_filter=filters, no_bias=True, name=name
        )

    def relu(x: Any, name: str) -> Any:
        return mx.sym.Activation(mx.sym.BatchNorm(x, name=f"{name}_bn"), act_type="relu", name=f"{name}_relu")

    start = conv(mx.sym.var("data"), "conv0", 4)
    first = mx.sym.elemwise_add(conv(relu(start, "u1"), "u1_conv", 4), start, name="u1_add")
    active = relu(first, "u2")
    skip = conv(active, "u2_skip", 8, size=1, stride=2)
    return mx.sym.elemwise_add(conv(active, "u2_conv", 8, stride=2), skip, name="u2_add")


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_tables_have_the_rows_of_mxnet(name):
    got = run_case(mx, CASES[name])
    rows = [item["values"] for item in got["items"]]
    if name in INTENDED:
        assert got != ANSWERS[name], f"{name} is as in MXNet: take it out of INTENDED"
        assert rows == INTENDED[name]
    else:
        assert rows == [item["values"] for item in ANSWERS[name]["items"]]


def test_a_table_line_by_line(capsys):
    assert mx.viz.print_summary(perceptron(), shape={"data": (1, 4)}, line_length=90) is None
    line, double = "_" * 90, "=" * 90
    assert capsys.readouterr().out.splitlines() == [
        line,
        "Layer (type)                           Output Shape      Param #  Previous Layer",
        double,
        "data(null)                             4                 0",
        line,
        "fc1(FullyConnected)                    8                 40       data",
        line,
        "relu1(Activation)                      8                 0        fc1",
        line,
        "fc2(FullyConnected)                    3                 27       relu1",
        line,
        "softmax(SoftmaxOutput)                 3                 0        fc2",
        double,
        "Total params: 67",
        line,
    ]


def test_columns_where_they_are_wanted_and_names_that_do_not_fit(capsys):
    mx.viz.print_summary(perceptron(), shape={"data": (1, 4)}, line_length=50, positions=[16, 30, 38, 50])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Layer (type)    Output Shape  Param # Previous L…"
    assert lines[5] == "fc1(FullyConne… 8             40      data"


def test_without_shapes_what_is_not_known_is_a_question_mark(capsys):
    mx.viz.print_summary(perceptron())
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[0] not in "_="]
    assert rows[1:] == [
        ["data(null)", "0"],
        ["fc1(FullyConnected)", "8", "?", "data"],
        ["relu1(Activation)", "8", "0", "fc1"],
        ["fc2(FullyConnected)", "3", "27", "relu1"],
        ["softmax(SoftmaxOutput)", "3", "0", "fc2"],
        ["Total", "params:", "?"],
    ]


def test_declared_shapes_are_enough(capsys):
    mx.viz.print_summary(dense(mx.sym.var("data", shape=(2, 5)), 3, "fc"))
    assert "Total params: 18" in capsys.readouterr().out


def test_states_and_labels_are_no_parameters(capsys):
    data = mx.sym.var("data")

    @mx.customop("numpy")
    def step(data: Any, weight: Any, state: Any) -> Any:
        return data @ weight + state

    variables = [data, mx.sym.var("w", shape=(3, 4)), mx.sym.var("h", shape=(2, 4))]
    mx.viz.print_summary(step(*variables), shape={"data": (2, 3)})
    text = capsys.readouterr().out
    assert "h(null)" in text
    assert "Total params: 12\n" in text
    labels = mx.sym.var("target")
    mx.viz.print_summary(mx.sym.LinearRegressionOutput(dense(data, 2, "fc"), labels), shape={"data": (2, 3)})
    assert "Total params: 8\n" in capsys.readouterr().out


def test_groups_have_the_rows_of_all(capsys):
    data = mx.sym.var("data")
    mx.viz.print_summary(mx.sym.Group([dense(data, 2, "a"), dense(data, 3, "b")]), shape={"data": (1, 4)})
    assert "Total params: 25" in capsys.readouterr().out


# -- drawings ----------------------------------------------------------------------------------------------------------


def test_skip_connections_are_lines():
    assert mx.viz.graph_text(residual(), shape={"data": (1, 3, 8, 8)}).splitlines() == [
        "○    data     variable                                          (1, 3, 8, 8)",
        "●    conv0    Convolution(kernel=(3, 3), stride=(1, 1), pa...)  (1, 4, 8, 8)  ← data",
        "├─●  u1_bn    BatchNorm                                         (1, 4, 8, 8)  ← conv0",
        "│ ●  u1_relu  Activation(act_type='relu')                       (1, 4, 8, 8)  ← u1_bn",
        "│ ●  u1_conv  Convolution(kernel=(3, 3), stride=(1, 1), pa...)  (1, 4, 8, 8)  ← u1_relu",
        "●─╯  u1_add   elemwise_add                                      (1, 4, 8, 8)  ← u1_conv, conv0",
        "●    u2_bn    BatchNorm                                         (1, 4, 8, 8)  ← u1_add",
        "●    u2_relu  Activation(act_type='relu')                       (1, 4, 8, 8)  ← u2_bn",
        "├─●  u2_conv  Convolution(kernel=(3, 3), stride=(2, 2), pa...)  (1, 8, 4, 4)  ← u2_relu",
        "● │  u2_skip  Convolution(kernel=(1, 1), stride=(2, 2), pa...)  (1, 8, 4, 4)  ← u2_relu",
        "◉─╯  u2_add   elemwise_add                                      (1, 8, 4, 4)  ← u2_conv, u2_skip",
    ]


def lanes(symbol: Any) -> list[str]:
    """Return the lines of a drawing, with the names of the nodes."""
    names = [node.name for node in symbol.order]
    found = []
    for row, name in zip(mx.viz.graph_text(symbol, hide_weights=False).splitlines(), names, strict=True):
        found.append(row[: row.index(f" {name} ")].rstrip() + " " + name)
    return found


def test_every_node_reads_every_one_before_it():
    made = [mx.sym.var("x0")]
    for number in range(1, 4):
        made.append(mx.sym.Concat(*made, name=f"x{number}") if number > 1 else mx.sym.exp(made[0], name="x1"))
    assert lanes(made[-1]) == ["○ x0", "├─● x1", "├─┼─● x2", "◉─┴─╯ x3"]


def test_parallel_branches():
    data = mx.sym.var("data")
    branches = [mx.sym.exp(data, name=f"b{number}") for number in range(4)]
    assert lanes(mx.sym.Concat(*branches, name="all")) == [
        "○ data",
        "├─● b0",
        "├─│─● b1",
        "├─│─│─● b2",
        "● │ │ │ b3",
        "◉─┴─┴─╯ all",
    ]


def test_lines_that_cross_and_lanes_that_are_free_again():
    a, b, c, d = (mx.sym.var(name) for name in "abcd")
    first = mx.sym.Concat(a, d, name="ad")
    second = mx.sym.Concat(b, d, name="bd")
    third = mx.sym.Concat(a, b, c, name="abc")
    assert lanes(mx.sym.Concat(first, second, third, name="all")) == [
        "○ a",
        "│ ○ d",
        "├─┼─● ad",
        "│ │ │ ○ b",
        "│ ●─│─┤ bd",
        "│ │ │ │ ○ c",
        "●─│─│─┴─╯ abc",
        "◉─┴─╯ all",
    ]


def test_an_output_that_is_read_again_and_one_node_read_twice():
    x = mx.sym.exp(mx.sym.var("x"), name="e")
    twice = mx.sym.elemwise_mul(x, x, name="square")
    assert lanes(mx.sym.Group([x, twice])) == ["○ x", "◉ e", "◉ square"]


def read_back(symbol: Any) -> list[set[str]]:
    """Return which nodes feed each node, read off the lines of a drawing alone."""
    held: dict[int, str] = {}
    found = []
    for node, row in zip(symbol.order, mx.viz.graph_text(symbol).splitlines(), strict=True):
        marks = dict(enumerate(row[: row.index(f" {node.name} ")][::2]))
        own = next(lane for lane, mark in marks.items() if mark in "○●◉")
        read = [lane for lane, mark in marks.items() if mark in "├┼┤╯┴"]
        found.append({held[lane] for lane in read} | ({held[own]} if own in held else set()))
        assert all((marks.get(lane, " ") in " ─") is (lane not in held) for lane in {*marks, *held} - {own, *read})
        for lane in read:
            if marks[lane] in "╯┴":
                del held[lane]
        readers = [other for other in symbol.order if any(value.node is node for value in other.inputs)]
        held.pop(own, None)
        if readers:
            held[own] = node.name
    assert not held
    return found


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=4), min_size=1, max_size=25),
    st.lists(st.integers(0, 30), min_size=1, max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_the_lines_of_any_graph_say_which_nodes_feed_each(inputs, outputs):
    nodes = []
    for number, chosen in enumerate(inputs):
        read = [nodes[index % number] for index in chosen] if number else []
        nodes.append(mx.sym.Concat(*read, name=f"n{number}") if read else mx.sym.var(f"n{number}"))
    symbol = mx.sym.Group([nodes[index % len(nodes)] for index in outputs])
    assert read_back(symbol) == [{value.node.name for value in node.inputs} for node in symbol.order]


def test_weights_are_shown_on_demand_and_unused_outputs_named():
    net = dense(mx.sym.var("data"), 2, "fc")
    assert mx.viz.graph_text(net).splitlines() == [
        "○  data  variable",
        "◉  fc    FullyConnected(num_hidden=2)  ← data",
    ]
    assert mx.viz.graph_text(net, hide_weights=False).splitlines() == [
        "○      data       variable",
        "│ ○    fc_weight  variable",
        "│ │ ○  fc_bias    variable",
        "◉─┴─╯  fc         FullyConnected(num_hidden=2)  ← data, fc_weight, fc_bias",
    ]
    parts = mx.sym.SliceChannel(mx.sym.var("data"), num_outputs=2, name="parts")
    drawing = mx.viz.graph_text(mx.sym.exp(parts[1], name="e"), shape={"data": (3, 4)})
    assert drawing.splitlines()[1:] == [
        "●  parts  SliceChannel(num_outputs=2)  (3, 2), (3, 2)  ← data",
        "◉  e      exp                          (3, 2)          ← parts[1]",
    ]


def test_shapes_that_are_not_known_do_not_stop_a_drawing(capsys):
    assert mx.viz.print_graph(dense(mx.sym.var("data"), 2, "fc"), shape={}) is None
    assert capsys.readouterr().out.splitlines() == [
        "○  data  variable                      ?",
        "◉  fc    FullyConnected(num_hidden=2)  (?, 2)  ← data",
    ]


def test_deep_networks_are_drawn():
    x = start = mx.sym.var("x")
    for _ in range(2000):
        x = mx.sym.elemwise_add(mx.sym.exp(x), start)
    assert len(mx.viz.graph_text(x).splitlines()) == 4001


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def graphviz() -> Any:
    return pytest.importorskip("graphviz")


def nodes_and_edges(dot: Any) -> tuple[list[str], list[str]]:
    """Return the names of a picture's nodes, and its edges with their labels."""
    lines = [line.strip() for line in dot.source.splitlines() if line.startswith("\t")]
    edges = [line.partition(" arrowtail")[0] for line in lines if "->" in line]
    return [line.split(" [")[0] for line in lines if "->" not in line], edges


def test_pictures_have_the_nodes_and_edges_of_mxnet(graphviz):
    dot = mx.viz.plot_network(perceptron())
    assert isinstance(dot, graphviz.Digraph)
    assert (dot.name, dot.format, dot.filename) == ("plot", "pdf", "plot.gv")
    nodes, edges = nodes_and_edges(dot)
    assert nodes == ["data", "fc1", "relu1", "fc2", "softmax_label", "softmax"]
    assert edges == [
        'fc1 -> data [label=""',
        'relu1 -> fc1 [label=""',
        'fc2 -> relu1 [label=""',
        'softmax -> fc2 [label=""',
        'softmax -> softmax_label [label=""',
    ]


def test_edges_say_shapes_and_dtypes(graphviz):
    net = perceptron()
    assert nodes_and_edges(mx.viz.plot_network(net, shape={"data": (2, 4)}))[1][:2] == [
        "fc1 -> data [label=4",
        "relu1 -> fc1 [label=8",
    ]
    dtypes = mx.viz.plot_network(net, shape={"data": (2, 4)}, dtype={"data": "float16"})
    assert nodes_and_edges(dtypes)[1][0] == 'fc1 -> data [label="4(float16)"'
    assert (
        nodes_and_edges(mx.viz.plot_network(net, dtype={"data": "float16"}))[1][0] == 'fc1 -> data [label="(float16)"'
    )
    image = mx.viz.plot_network(residual(), shape={"data": (1, 3, 8, 8)})
    assert 'u2_add -> u2_skip [label="8x4x4"' in nodes_and_edges(image)[1]
    parts = mx.sym.SliceChannel(mx.sym.var("data"), num_outputs=2, name="parts")
    assert (
        "e -> parts [label=2"
        in nodes_and_edges(mx.viz.plot_network(mx.sym.exp(parts[1], name="e"), shape={"data": (3, 4)}))[1]
    )


def test_weights_are_hidden_unless_they_are_wanted(graphviz):
    weights = {"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}
    shown = mx.viz.plot_network(perceptron(), hide_weights=False)
    assert weights < set(nodes_and_edges(shown)[0])
    assert 'fc1_weight [label=fc1_weight fillcolor="#e4e7eb"' in shown.source
    statistics = mx.viz.plot_network(residual()).source
    assert "moving" not in statistics
    assert "gamma" not in statistics


def test_labels_say_what_common_layers_are(graphviz):
    data = mx.sym.var("data")
    labels = {
        "3x2/1, 8": mx.sym.Convolution(data, kernel=(3, 2), num_filter=8),
        "3x3/2x1, 8": mx.sym.Convolution(data, kernel=(3, 3), stride=(2, 1), num_filter=8),
        "leaky": mx.sym.LeakyReLU(data),
        "max, 2x2/1": mx.sym.Pooling(data, kernel=(2, 2)),
        "global avg": mx.sym.Pooling(data, global_pool=True, pool_type="avg"),
    }
    for label, symbol in labels.items():
        assert f'\n{label}" fillcolor' in mx.viz.plot_network(symbol).source


def test_title_format_and_attributes_of_nodes(graphviz):
    given = {"shape": "oval", "fixedsize": "false", "color": "red"}
    dot = mx.viz.plot_network(perceptron(), title="net", save_format="png", node_attrs=given)
    assert (dot.name, dot.format) == ("net", "png")
    row = next(line for line in dot.source.splitlines() if line.startswith("\tsoftmax ["))
    assert row == (
        '\tsoftmax [label=softmax color=red fillcolor="#f2a7b5" fixedsize=false height=0.8034 shape=oval style=filled '
        "width=1.3]"
    )


def test_names_that_mean_something_to_graphviz(graphviz):
    x = mx.sym.exp(mx.sym.var("data"), name="a:b")
    x = mx.sym.exp(mx.sym.exp(x, name="<b>bold</b>"), name="a:b")
    nodes, edges = nodes_and_edges(mx.viz.plot_network(mx.sym.exp(x, name="back\\slash")))
    assert nodes == ["data", "a_b", '"<b>bold</b>"', '"a_b#2"', '"back\\\\slash"']
    assert edges[2:] == ['"a_b#2" -> "<b>bold</b>" [label=""', '"back\\\\slash" -> "a_b#2" [label=""']


def test_without_graphviz_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(MissingDependencyError) as caught:
        mx.viz.plot_network(perceptron())
    assert str(caught.value) == (
        "plot_network needs the Python package graphviz, which is not installed. Install it with: "
        "python -m pip install graphviz. print_graph draws the network in the terminal, without it."
    )
    assert isinstance(caught.value, ImportError)
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["options.extras_require"]["viz"].strip().startswith("graphviz")


# -- errors ------------------------------------------------------------------------------------------------------------

METHODS = ["print_summary", "plot_network", "print_graph", "graph_text"]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_no_network_and_what_is_no_shape(graphviz, method):
    show, net = getattr(mx.viz, method), dense(mx.sym.var("data"), 3, "fc")
    with pytest.raises(ArgumentError, match=rf"^{method}: the network is int 3; expected a Symbol\.$"):
        show(3)
    with pytest.raises(
        ArgumentError, match=rf"^{method}: shape is tuple of 2: .*; expected a dict, such as \{{'data': "
    ):
        show(net, shape=(2, 3))
    with pytest.raises(ArgumentError, match=rf"^{method}: <Symbol fc> has no argument 'dat'; .* Did you mean 'data'"):
        show(net, shape={"dat": (2, 3)})
    with pytest.raises(ShapeError, match=r"^infer_shape: node 'fc' .* fc_weight \(3, 4\)"):
        show(net, shape={"data": (2, 3), "fc_weight": (3, 4)})


@pytest.mark.parametrize("method", ["print_summary", "plot_network"])
def test_shapes_that_are_not_enough(graphviz, method):
    with pytest.raises(ShapeError) as caught:
        getattr(mx.viz, method)(dense(mx.sym.var("data"), 3, "fc"), shape={"fc_bias": (3,)})
    assert str(caught.value) == (
        f"{method}: the shapes of data, fc_weight do not follow from those given. Give more, by the names of "
        "arguments: shape={'data': ...}."
    )


def test_dtypes_that_are_not_enough_or_no_dict(graphviz):
    net = mx.sym.Group([mx.sym.exp(mx.sym.var("x"), name="a"), mx.sym.exp(mx.sym.var("y"), name="b")])
    with pytest.raises(DTypeError, match=r"^plot_network: the dtypes of y do not follow from those given\."):
        mx.viz.plot_network(net, dtype={"x": "float32"})
    with pytest.raises(ArgumentError, match=r"^plot_network: dtype is str 'float32'; expected a dict, such as"):
        mx.viz.plot_network(net, dtype="float32")


def test_it_has_two_names():
    assert mx.viz is mx.visualization
