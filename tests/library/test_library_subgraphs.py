"""Subgraph operators of native libraries: graphs inside of nodes, computed by states of the library."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from native.building import build
from native.puppet import Puppet
from native.puppet_cases import accept, arrays, by_name, by_op, chain

import minpy as mx
from minpy.core.configured import FAMILIES
from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    FileFormatError,
    LibraryError,
    MXNetError,
    OperatorError,
    ShapeError,
)


def load(source="puppet.c", **flags):
    path = build(source, flags=[f"-D{key}={value}" for key, value in flags.items()])
    mx.library.load(path, verbose=False)
    return Puppet(path, flags.get("TAG", "").strip('"'))


@pytest.fixture(autouse=True)
def puppet():
    puppet = load()
    gc.collect()
    states = puppet.library.raw_states()
    yield puppet
    gc.collect()
    puppet.library.puppet_fail(0)
    assert puppet.faults() == []
    assert puppet.lent() == 0
    assert puppet.library.raw_states() == states


def partitioned(puppet, symbol, *names, args=None, aux=None, **attributes):
    with puppet.doing(ids=by_name(*names), review=lambda *_: (True, attributes)):
        return symbol.optimize_for(f"puppet{puppet.tag}", args=args, aux=aux)


def doubled():
    return mx.sym.exp(mx.sym.elemwise_add(mx.sym.var("a"), mx.sym.var("b"), name="s"), name="e")


def three(puppet, **attributes):
    """Return a symbol in which `_op0` weighs: 3 * (1 * a + 2 * b), of which the exponential is taken."""
    return partitioned(puppet, doubled(), "s", factor="3", **attributes)


ARGS = {"a": [0.25, 0.5], "b": [0.5, 0.125]}
VALUES = np.exp(3 * (np.array(ARGS["a"]) + 2 * np.array(ARGS["b"])))


def given(dtype="float32"):
    return {name: mx.nd.array(values, dtype=dtype) for name, values in ARGS.items()}


# -- computing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_values_and_gradients(puppet, dtype):
    args = given(dtype)
    gradients = {name: mx.nd.ones(2, dtype=dtype) for name in args}
    executor = three(puppet).bind(mx.cpu(), args, args_grad=gradients, grad_req={"a": "write", "b": "add"})
    output = executor.forward(is_train=True)[0]
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    assert output.dtype == np.dtype(dtype)
    np.testing.assert_allclose(output.asnumpy(), VALUES, rtol=tolerance)
    for _ in range(2):
        executor.backward(mx.nd.ones(2, dtype=dtype))
    np.testing.assert_allclose(gradients["a"].asnumpy(), 3 * VALUES, rtol=tolerance)
    np.testing.assert_allclose(gradients["b"].asnumpy(), 1 + 2 * 6 * VALUES, rtol=tolerance)


def test_what_a_state_is_made_from(puppet):
    symbol = three(puppet, words="he llo", quoted='a "b" \n c', umlaut="ä")
    symbol.bind(mx.cpu(), given()).forward()
    attributes = puppet.attributes()
    graph = json.loads(attributes.pop("subgraph_sym_json"))
    assert [node["op"] for node in graph["nodes"]] == ["null", "null", "elemwise_add"]
    assert [node["name"] for node in graph["nodes"]] == ["a0", "b0", "s"]
    assert "attrs" not in graph
    assert attributes == {
        "__ext_dtype__": "[]",
        "__ext_shape__": "[]",
        "factor": "3",
        "words": "he llo",
        "quoted": 'a "b" \n c',
        "umlaut": "ä",
    }


def test_states_of_executors(puppet):
    symbol = three(puppet)
    made, alive = puppet.library.raw_states_made(), puppet.library.raw_states()
    executor = symbol.bind(mx.cpu(), given())
    for _ in range(3):
        executor.forward()
    assert puppet.library.raw_states_made() == made + 1
    other = symbol.bind(mx.cpu(), given())
    other.forward()
    assert puppet.library.raw_states() == alive + 2
    del executor, other
    gc.collect()
    assert puppet.library.raw_states() == alive


def test_strided_and_swapped_inputs(puppet):
    (node,) = (value.node for value in three(puppet).get_internals().values if value.node.name == "_op0")
    base = np.array([[0.25, 9, 9], [0.5, 9, 9]])
    value = node.operator(base[:, 0], np.array(ARGS["b"], ">f8"))
    np.testing.assert_allclose(value, np.log(VALUES), rtol=1e-12)
    np.testing.assert_array_equal(base[:, 1:], 9)


def test_states_inside_are_states_of_the_node(puppet):
    """The library writes to what the graph inside changes; it has no gradient."""
    data = mx.sym.var("data")
    symbol = mx.sym.BatchNorm(data, *map(mx.sym.var, ("gamma", "beta", "mean", "var")), name="bn", fix_gamma=False)
    args = {**arrays(mx, "data", shape=(2, 2)), **arrays(mx, "gamma", "beta")}
    aux = arrays(mx, "mean", "var")
    result = partitioned(puppet, mx.sym.exp(symbol, name="e"), "bn", args=args, aux=aux)
    assert result.list_auxiliary_states() == ["mean", "var"]
    operator = next(value.node.operator for value in result.get_internals().values if value.node.name == "_op0")
    assert operator.auxiliary == ("mean0", "var0")
    assert [operator.is_zero(index) for index in range(5)] == [False, False, False, True, True]
    gradients = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
    executor = result.bind(mx.cpu(), args, args_grad=gradients, aux_states=aux)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 2)))
    assert all(array.asnumpy().any() for array in gradients.values())
    assert result.infer_shape(data=(5, 3))[2] == [(3,), (3,)]


def test_inference_goes_through_the_graph_both_ways(puppet):
    layer = mx.sym.FullyConnected(*map(mx.sym.var, ("data", "weight", "bias")), num_hidden=4, name="fc")
    result = partitioned(puppet, mx.sym.exp(layer, name="e"), "fc")
    shapes, outputs, _ = result.infer_shape(data=(2, 3))
    assert shapes == [(2, 3), (4, 3), (4,)]
    assert outputs == [(2, 4)]
    types, outputs, _ = result.infer_type(data="float64")
    assert {*types, *outputs} == {np.float64}
    with pytest.raises(ShapeError) as caught:
        result.infer_shape(data=(2, 3), weight=(4, 5))
    assert "fc" in str(caught.value)
    backwards = partitioned(puppet, doubled(), "s").infer_shape_partial(b=(3,))
    assert backwards[0] == [(3,), (3,)]


def test_several_outputs_of_several_shapes(puppet):
    pieces = mx.sym.SliceChannel(mx.sym.exp(mx.sym.var("x"), name="e"), num_outputs=2, axis=1, name="p")
    symbol = mx.sym.Group([mx.sym.sum(pieces[1], name="t"), pieces[0]])
    result = partitioned(puppet, symbol, "e", "p", args={"x": mx.nd.ones((2, 4))})
    executor = result.bind(mx.cpu(), {"x": mx.nd.ones((2, 4))})
    first, second = (array.asnumpy() for array in executor.forward())
    np.testing.assert_array_equal(first, [4])
    np.testing.assert_array_equal(second, [[2, 2], [2, 2]])
    assert result.list_outputs() == ["t_output", "_op0_output1"]


def extended(graph, options, args, aux, host):
    """Append an input to `_op0`."""
    host.allocate("extra", np.array([100], np.float32))
    count = len(graph["nodes"])
    order = [*graph["nodes"][:-2], {"op": "null", "name": "extra", "inputs": []}, *graph["nodes"][-2:]]
    node, last = order[-2:]
    node["inputs"].append([count - 2, 0, 0])
    node["attrs"]["__ext_extra_inputs__"] = "1"
    last["inputs"] = [[count - 1, 0, 0]]
    return {"nodes": order, "heads": [[count, 0, 0]]}


def test_further_inputs(puppet):
    args = given()
    symbol = partitioned(puppet, doubled(), "s", args=args)
    with puppet.doing(run=extended):
        result = symbol.optimize_for("puppet_pass", args=args)
    assert result.list_arguments() == ["a", "b", "extra"]
    args["extra"] = mx.nd.array([0.125])
    gradients = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
    executor = result.bind(mx.cpu(), args, args_grad=gradients)
    expected = np.exp(np.array(ARGS["a"]) + 2 * np.array(ARGS["b"]) + 3 * 0.125)
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), expected, rtol=1e-6)
    executor.backward(mx.nd.ones(2))
    np.testing.assert_allclose(gradients["extra"].asnumpy(), [3 * expected.sum()], rtol=1e-6)
    np.testing.assert_allclose(gradients["b"].asnumpy(), 2 * expected, rtol=1e-6)
    again = mx.sym.load_json(result.tojson())
    assert again.tojson() == result.tojson()
    np.testing.assert_allclose(again.bind(mx.cpu(), args).forward()[0].asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("text", ["", "one", "-1", "1.0", "²"])
def test_further_inputs_that_are_no_number(puppet, text):
    document = json.loads(three(puppet).tojson())
    node = next(node for node in document["nodes"] if node["op"] == "_puppet_op")
    node["attrs"]["__ext_extra_inputs__"] = text
    with pytest.raises(MXNetError) as caught:
        mx.sym.load_json(json.dumps(document))
    assert f"__ext_extra_inputs__ is {text!r}; expected a number" in str(caught.value)


# -- files and pickles -------------------------------------------------------------------------------------------------

PROGRAM = """
import sys, minpy as mx
symbol, arguments, library = sys.argv[1:]
try:
    mx.sym.load(symbol)
except mx.MXNetError as error:
    print(str(error))
mx.library.load(library, verbose=False)
net = mx.sym.load(symbol)
print(net.bind(mx.cpu(), mx.nd.load(arguments)).forward()[0].asnumpy().tolist())
"""


def test_a_model_in_files_needs_its_library(puppet, tmp_path):
    symbol = three(puppet)
    symbol.save(str(tmp_path / "net-symbol.json"))
    mx.nd.save(str(tmp_path / "net.params"), given())
    library = puppet.library._name
    command = [sys.executable, "-c", PROGRAM, tmp_path / "net-symbol.json", tmp_path / "net.params", library]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(mx.__file__).parents[1])
    assert done.returncode == 0, done.stderr
    error, values = done.stdout.splitlines()
    assert "_puppet_op" in error
    assert "Load the library first, with mx.library.load" in error
    np.testing.assert_allclose(json.loads(values), VALUES, rtol=1e-6)


def test_graphs_in_files_stay_what_they_are(puppet):
    symbol = three(puppet, words="he llo")
    for again in (mx.sym.load_json(symbol.tojson()), pickle.loads(pickle.dumps(symbol))):
        assert again.tojson() == symbol.tojson()
        np.testing.assert_allclose(again.bind(mx.cpu(), given()).forward()[0].asnumpy(), VALUES, rtol=1e-6)


def test_nodes_without_a_graph(puppet):
    document = json.loads(three(puppet).tojson())
    node = next(node for node in document["nodes"] if node["op"] == "_puppet_op")
    for graphs, count in (([], 0), (node["subgraphs"] * 2, 2)):
        node["subgraphs"] = graphs
        with pytest.raises(MXNetError) as caught:
            mx.sym.load_json(json.dumps(document))
        assert f"stands for a part of a graph, which it holds; got {count} graphs" in str(caught.value)


def test_nodes_with_other_inputs(puppet):
    document = json.loads(three(puppet).tojson())
    node = next(node for node in document["nodes"] if node["op"] == "_puppet_op")
    node["inputs"] = node["inputs"][:1]
    with pytest.raises(MXNetError) as caught:
        mx.sym.load_json(json.dumps(document))
    assert "_puppet_op takes 2 input(s)" in str(caught.value)


def test_it_is_no_function(puppet):
    assert not hasattr(mx.nd._internal, "_puppet_op")
    assert not hasattr(mx.sym._internal, "_puppet_op")
    with pytest.raises(ArgumentError, match="stands for a part of a graph"):
        FAMILIES["_puppet_op"](mx.nd.ones(1))


# -- failures ----------------------------------------------------------------------------------------------------------


def test_failures_in_the_library(puppet):
    puppet.message("an old one")
    with pytest.raises(OperatorError) as caught:
        three(puppet, refuse="state").bind(mx.cpu(), given()).forward()
    text = str(caught.value)
    assert "_puppet_op: createOpState failed for inputs of shapes (2,), (2,)" in text
    assert "no state today" in text
    assert "an old one" not in text
    args = given()
    executor = three(puppet).bind(mx.cpu(), args, args_grad={name: mx.nd.zeros(2) for name in args})
    puppet.library.puppet_fail(1)
    with pytest.raises(OperatorError) as caught:
        executor.forward(is_train=True)
    assert "_puppet_op: forward failed on a0 float32 (2,), b0 float32 (2,)" in str(caught.value)
    assert "it was told to fail" in str(caught.value)
    puppet.library.puppet_fail(0)
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), VALUES, rtol=1e-6)
    puppet.library.puppet_fail(1)
    with pytest.raises(OperatorError) as caught:
        executor.backward(mx.nd.ones(2))
    assert "_puppet_op: backward failed on the gradient of output" in str(caught.value)


def test_dtypes_that_libraries_do_not_know(puppet):
    symbol = mx.sym.cast(mx.sym.exp(mx.sym.var("a"), name="e"), dtype="bool", name="c")
    result = partitioned(puppet, mx.sym.cast(symbol, dtype="float32", name="back"), "e", "c")
    with pytest.raises(DTypeError) as caught:
        result.bind(mx.cpu(), {"a": mx.nd.ones(2)}).forward()
    assert "_puppet_op: output is bool (2,); native operators take" in str(caught.value)


def test_graphs_that_cannot_be_told(puppet):
    symbol = mx.sym.exp(mx.sym.var("a"), name="e")
    result = partitioned(puppet, symbol, "e", note="C:\\")
    executor = result.bind(mx.cpu(), {"a": mx.nd.ones(2)})
    executor.forward()  # attributes are texts of their own
    assert puppet.attributes()["note"] == "C:\\"
    document = json.loads(result.tojson())
    inner = next(node for node in document["nodes"] if "subgraphs" in node)["subgraphs"][0]
    inner["nodes"][1]["attrs"] = {"__note__": "C:\\"}
    with pytest.raises(ArgumentError) as caught:
        mx.sym.load_json(json.dumps(document)).bind(mx.cpu(), {"a": mx.nd.ones(2)}).forward()
    assert "_puppet_op: createOpState: attribute '__note__' of node 'e' is 'C:\\\\'" in str(caught.value)


# -- together with the rest --------------------------------------------------------------------------------------------


def test_second_derivatives_are_not_there(puppet):
    symbol = three(puppet)
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var("a"), mx.sym.var("b")])
    a, b = given().values()
    a.attach_grad()
    with mx.autograd.record():
        y = block(a, b)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), VALUES, rtol=1e-6)
    np.testing.assert_allclose(a.grad.asnumpy(), 3 * VALUES, rtol=1e-6)
    with mx.autograd.record():
        (first,) = mx.autograd.grad(block(a, b).sum(), [a], create_graph=True)
    with pytest.raises(MXNetError, match=r"_puppet_op|second"):
        first.backward()


@pytest.mark.parametrize("static", [False, True])
def test_blocks_of_symbols(puppet, static):
    """Trained steps of a partitioned symbol in Gluon, hybridized."""
    symbol = three(puppet)
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var("a")])
    block.hybridize(static_alloc=static, static_shape=static)
    parameter = block.collect_params()["b"]
    parameter.shape = (2,)
    parameter.initialize(mx.init.Constant(0.25))
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.01})
    a = mx.nd.array(ARGS["a"])
    for _ in range(3):
        before = parameter.data().asnumpy().copy()
        with mx.autograd.record():
            y = block(a)
        y.backward()
        trainer.step(1)
        expected = 6 * np.exp(3 * (np.array(ARGS["a"]) + 2 * before))
        np.testing.assert_allclose(y.asnumpy(), expected / 6, rtol=1e-5)
        np.testing.assert_allclose(parameter.data().asnumpy(), before - 0.01 * expected, rtol=1e-4, atol=1e-5)


def test_the_same_node_in_several_threads(puppet):
    symbol = three(puppet)
    errors = []

    def work(number):
        try:
            args = {name: array * (1 + number / 8) for name, array in given().items()}
            expected = np.exp(np.log(VALUES) * (1 + number / 8))
            executor = symbol.bind(mx.cpu(), args)
            for _ in range(30):
                np.testing.assert_allclose(executor.forward()[0].asnumpy(), expected, rtol=1e-5)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_graphs_inside_of_graphs(puppet):
    args = arrays(mx, "a", "b")
    with puppet.doing(
        ids=by_op("exp"),
        select=lambda graph, node: graph["nodes"][node]["op"] == "_puppet_op",
        select_output=lambda graph, node, other: True,
        review=accept,
    ):
        result = chain(mx).optimize_for("puppet_two", args=args)
    outer = next(node for node in json.loads(result.tojson())["nodes"] if node["op"] == "_puppet_other")
    assert [node["op"] for node in outer["subgraphs"][0]["nodes"]] == ["null", "_puppet_op", "log"]
    np.testing.assert_allclose(
        result.bind(mx.cpu(), args).forward()[0].asnumpy(), 10 * (args["a"] + args["b"]).asnumpy()
    )
    graph = json.loads(puppet.attributes()["subgraph_sym_json"])
    assert "subgraphs" in graph["nodes"][1]
    assert mx.sym.load_json(result.tojson()).tojson() == result.tojson()


def test_a_strategy_whose_operator_is_another_librarys(puppet):
    """Or nobody's: it is looked up when it is needed."""
    other = load(TAG='"_taken"')
    from minpy.graph.partitioning.registry import PARTITIONERS

    strategy = PARTITIONERS["puppet_taken"].strategies[0]
    family, strategy._families = strategy._families, {}
    try:
        assert strategy.family is FAMILIES["_puppet_op_taken"]
        strategy._entry.operator, name = "_puppet_opp", strategy._entry.operator
        with pytest.raises(LibraryError) as caught, other.doing(ids=by_op("exp"), review=accept):
            chain(mx).optimize_for("puppet_taken")
        assert other.log == []
        assert "it makes nodes of the operator '_puppet_opp', which neither this library nor another one" in str(
            caught.value
        )
        assert "Did you mean '_puppet_op'" in str(caught.value)
        strategy._entry.operator = "puppet_total"
        with pytest.raises(LibraryError) as caught, other.doing(ids=by_op("exp"), review=accept):
            chain(mx).optimize_for("puppet_taken")
        assert "'puppet_total', which holds no subgraph. Register it with setIsSubgraphOp." in str(caught.value)
    finally:
        strategy._families, strategy._entry.operator = family, name


@pytest.mark.parametrize("version", [7, 10])
def test_older_libraries(version):
    older = load(ABI=version, TAG=f'"_v{version}"')
    symbol = partitioned(older, doubled(), "s", factor="3")
    args = given()
    gradients = {name: mx.nd.zeros(2) for name in args}
    executor = symbol.bind(mx.cpu(), args, args_grad=gradients)
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), VALUES, rtol=1e-6)
    executor.backward(mx.nd.ones(2))
    np.testing.assert_allclose(gradients["b"].asnumpy(), 6 * VALUES, rtol=1e-6)
    assert json.loads(older.attributes()["subgraph_sym_json"])["heads"] == [[2, 0, 0]]
    assert older.faults() == []


def test_files_that_are_damaged(puppet):
    document = json.loads(three(puppet).tojson())
    node = next(node for node in document["nodes"] if node["op"] == "_puppet_op")
    node["subgraphs"][0]["heads"] = [[7, 0, 0]]
    with pytest.raises(FileFormatError) as caught:
        mx.sym.load_json(json.dumps(document))
    assert "node 2 ('_op0'): graph 0" in str(caught.value)
