"""`examples/native/subgraph.cc` and `pass.cc`: what they make of graphs, what that computes, and its gradients.

And the answers of all the examples' libraries to the cases of `golden/native`, of which MXNet 1.9.1 gives the same.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native.examples import NATIVE, load_example, needs_compiler
from places import GOLDEN

import minpy as mx
from minpy import autograd, gluon, nd, sym
from minpy.core.errors import LibraryError, OperatorError
from minpy.test_utils import check_numeric_gradient

NATIVE_GOLDEN = GOLDEN / "native"

sys.path.insert(0, str(NATIVE_GOLDEN))
try:
    golden = importlib.import_module("make_examples")
finally:
    sys.path.remove(str(NATIVE_GOLDEN))

ANSWERS = json.loads(golden.ANSWERS.read_text(encoding="utf-8"))

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    for name in golden.LIBRARIES:
        load_example(name)


@pytest.mark.parametrize(("name", "snippet"), golden.CASES, ids=[name for name, _ in golden.CASES])
def test_answers_are_those_of_mxnet(name: str, snippet: str) -> None:
    difference = golden.difference(golden.answer(mx, snippet), ANSWERS[name])
    if name in golden.DIFFERENCES:
        assert difference, f"{name} is as in MXNet: take it out of DIFFERENCES"
    else:
        assert not difference


def test_every_case_has_an_answer() -> None:
    assert sorted(ANSWERS) == sorted(name for name, _ in golden.CASES)
    assert {*golden.DIFFERENCES} <= {*ANSWERS}


def test_the_comparison_sees_differences() -> None:
    one = {"kind": "list", "items": [{"kind": "array", "shape": [1], "dtype": "float32", "values": [2.0]}]}
    assert not golden.difference(one, json.loads(json.dumps(one)))
    for old, new in (("2.0", "2.1"), ("[1]", "[1, 1]"), ("float32", "float64"), ("array", "numpy")):
        assert golden.difference(one, json.loads(json.dumps(one).replace(old, new)))
    assert golden.difference({"kind": "string", "values": "a"}, {"kind": "string", "values": "b"})
    assert golden.difference(one, {"kind": "error", "error": "MXNetError"})


# -- subgraphs of exp and log -----------------------------------------------------------------------------------------


def operators(symbol: mx.sym.Symbol) -> list[str]:
    return [node["op"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] != "null"]


def random(*shape: int) -> np.ndarray:
    return np.random.uniform(0.5, 1.5, shape)


def branches() -> tuple[mx.sym.Symbol, dict[str, np.ndarray]]:
    """A graph in which exp and log stand before, between and after other operators."""
    a, b = sym.var("a"), sym.var("b")
    e = sym.exp(a)
    left = sym.log(sym.log(sym.exp(e)) + 2)
    right = sym.exp(sym.log(b)) * e
    return sym.Group([sym.exp((left + right) / 10), e, sym.log(e)]), {"a": random(3, 4), "b": random(3, 4)}


BACKENDS = [
    ("exp_log", {}),
    ("exp_log", {"min_size": 2}),
    ("exp_log", {"dedup_subgraph": True}),
    ("exp_log_chosen", {"max_size": 2}),
    ("exp_log_chosen", {"operators": "log"}),
]


@pytest.mark.parametrize(("backend", "options"), BACKENDS)
def test_gradients_through_subgraphs(backend: str, options: dict[str, Any]) -> None:
    symbol, arrays = branches()
    partitioned = symbol.optimize_for(backend, **options)
    assert "_exp_log" in operators(partitioned)
    check_numeric_gradient(partitioned, arrays, dtype="float64")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_partition_computes_the_same_whatever_the_type(dtype: str) -> None:
    symbol, values = branches()
    arrays = {name: nd.array(value, dtype=dtype) for name, value in values.items()}
    results = []
    for graph in (symbol, symbol.optimize_for("exp_log", dict(arrays))):
        gradients = {name: nd.zeros(array.shape, dtype=dtype) for name, array in arrays.items()}
        executor = graph.bind(mx.cpu(), arrays, args_grad=gradients)
        outputs = executor.forward(is_train=True)
        executor.backward([nd.ones(output.shape, dtype=dtype) for output in outputs])
        results.append([*outputs, *gradients.values()])
    for found, expected in zip(*results, strict=True):
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_graph_computes_what_it_did(data: st.DataObject) -> None:
    """Random graphs of exp, log and others, of which each operator may be read several times, and be a head."""
    values = [sym.var("a"), sym.var("b")]
    for number in range(data.draw(st.integers(1, 9))):
        x = data.draw(st.sampled_from(values))
        kind = data.draw(st.sampled_from(["exp", "log", "exp", "log", "tanh", "add"]))
        if kind == "exp":
            values.append(sym.exp(x, name=f"n{number}"))
        elif kind == "log":
            values.append(sym.log(x, name=f"n{number}"))
        elif kind == "tanh":
            values.append(sym.sigmoid(x, name=f"n{number}"))
        else:
            values.append(sym.elemwise_add(x, data.draw(st.sampled_from(values)), name=f"n{number}"))
    heads = data.draw(st.lists(st.sampled_from(values[2:]), min_size=1, max_size=3))
    symbol = sym.Group(heads)
    backend, options = data.draw(st.sampled_from(BACKENDS))
    partitioned = symbol.optimize_for(backend, **options)
    assert partitioned.list_arguments() == symbol.list_arguments()
    arrays = {name: nd.array(random(2, 3), dtype="float64") for name in symbol.list_arguments()}
    results = []
    with np.errstate(all="ignore"):  # logarithms of what is negative, and powers that are too large
        for graph in (symbol, partitioned, sym.load_json(partitioned.tojson())):
            gradients = {name: nd.zeros(array.shape, dtype="float64") for name, array in arrays.items()}
            executor = graph.bind(mx.cpu(), arrays, args_grad=gradients)
            outputs = executor.forward(is_train=True)
            executor.backward([nd.ones(output.shape, dtype="float64") for output in outputs])
            results.append([*outputs, *gradients.values()])
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-9)


@pytest.mark.parametrize("shape", [(0,), (), (1,), (511,), (512,), (513,), (40, 50)])
def test_arrays_of_every_size(shape: tuple[int, ...]) -> None:
    graph = sym.log(sym.exp(sym.exp(sym.var("a")))).optimize_for("exp_log")
    x = np.array(random(*shape))
    gradient = nd.zeros(shape, dtype="float64")
    executor = graph.bind(mx.cpu(), {"a": nd.array(x, dtype="float64")}, args_grad={"a": gradient})
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), np.exp(x))
    executor.backward(nd.ones(shape, dtype="float64"))
    np.testing.assert_allclose(gradient.asnumpy(), np.exp(x))


def test_other_types_stay_where_they_are_if_they_are_known() -> None:
    symbol = sym.exp(sym.log(sym.cast(sym.var("a"), "float16")))
    assert operators(symbol.optimize_for("exp_log", {"a": nd.ones(3)})) == ["Cast", "log", "exp"]
    unknown = symbol.optimize_for("exp_log")
    assert operators(unknown) == ["Cast", "_exp_log"]
    with pytest.raises(OperatorError, match=r"of float32 \(0\) or float64 \(1\); the number of this one's type is 2"):
        unknown.bind(mx.cpu(), {"a": nd.ones(3)}).forward()


OPTION_ERRORS = [
    ("exp_log", {"min_size": "large"}, "min_size should be a whole number from 0, and is 'large'"),
    ("exp_log", {"min_size": -1}, "min_size should be a whole number from 0, and is '-1'"),
    ("exp_log_chosen", {"max_size": 1.5}, "max_size should be a whole number from 0, and is '1.5'"),
    ("exp_log_chosen", {"operators": "sin"}, "operators should be 'exp', 'log' or 'exp,log', and is 'sin'"),
]


@pytest.mark.parametrize(("backend", "options", "text"), OPTION_ERRORS)
def test_options_that_are_wrong(backend: str, options: dict[str, Any], text: str) -> None:
    symbol, arrays = branches()
    before = symbol.tojson()
    given = {name: nd.array(array) for name, array in arrays.items()}
    with pytest.raises(LibraryError, match=text):
        symbol.optimize_for(backend, given, **options)
    assert symbol.tojson() == before
    assert sorted(given) == ["a", "b"]
    assert "_exp_log" in operators(symbol.optimize_for(backend, given))


def test_a_subgraph_of_other_operators_is_refused() -> None:
    symbol = sym.exp(sym.var("a"), name="e").optimize_for("exp_log")
    wrong = sym.load_json(symbol.tojson().replace('"op": "exp"', '"op": "sqrt"'))
    with pytest.raises(OperatorError, match="a subgraph of exp and log holds the operator sqrt"):
        wrong.bind(mx.cpu(), {"a": nd.ones(3)}).forward()


def test_partitions_of_partitions() -> None:
    symbol, values = branches()
    arrays = {name: nd.array(value, dtype="float64") for name, value in values.items()}
    expected = [output.asnumpy() for output in symbol.bind(mx.cpu(), arrays).forward()]
    partitioned = symbol.optimize_for("exp_log_chosen", operators="exp").optimize_for("exp_log", min_size=1)
    assert not {"exp", "log"} & {*operators(partitioned)}
    for found, one in zip(partitioned.bind(mx.cpu(), arrays).forward(), expected, strict=True):
        np.testing.assert_allclose(found.asnumpy(), one)


class LogSum(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.log(F.sum(F.exp(x), axis=1)) + F.exp(F.log(F.sum(x * x, axis=1)))


@pytest.mark.parametrize("how", ["optimize_for", "hybridize"])
def test_a_block_is_partitioned(how: str, tmp_path: Path) -> None:
    plain, net = LogSum(), LogSum()
    x = nd.array(random(4, 5), dtype="float32")
    if how == "optimize_for":
        net.optimize_for(x, backend="exp_log")
    else:
        net.hybridize(backend="exp_log")
    gradients = []
    for block in (plain, net):
        for _ in range(2):
            x.attach_grad()
            with autograd.record():
                y = block(x)
            y.backward()
        gradients.append((y.asnumpy(), x.grad.asnumpy()))
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    net.export(str(tmp_path / "net"))
    assert operators(sym.load(str(tmp_path / "net-symbol.json"))).count("_exp_log") == 3


def test_threads_share_a_partitioned_block() -> None:
    net = LogSum()
    net.hybridize(backend="exp_log")
    net(nd.ones((2, 2)))
    problems: list[str] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).random((3 + seed, 5))
        expected = np.log(np.exp(x).sum(axis=1)) + (x * x).sum(axis=1)
        for _ in range(10):
            if not np.allclose(net(nd.array(x, dtype="float64")).asnumpy(), expected):
                problems.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


# -- passes -----------------------------------------------------------------------------------------------------------

MODEL = NATIVE.parent / "data" / "digits"


def digits() -> nd.NDArray:
    return nd.array(np.load(NATIVE.parent / "data" / "digits.npy")[:, None] / 16)


def predict(symbol: mx.sym.Symbol, args: dict[str, Any], aux: dict[str, Any], data: nd.NDArray) -> np.ndarray:
    given = {**args, "data": data}
    if "softmax_label" in symbol.list_arguments():
        given["softmax_label"] = nd.zeros(len(data))
    executor = symbol.bind(mx.cpu(), given, aux_states=aux, grad_req="null")
    return executor.forward(is_train=False)[0].asnumpy()


def test_an_old_model_is_folded(tmp_path: Path) -> None:
    symbol, args, aux = mx.model.load_checkpoint(str(MODEL), 12)
    expected = predict(symbol, args, aux, digits())
    smaller = symbol.optimize_for("remove_identities", args, aux).optimize_for("fold_batch_norm", args, aux)
    assert len(operators(symbol)) == 13
    assert len(operators(smaller)) == 10
    assert sorted(aux) == ["bn_data_moving_mean", "bn_data_moving_var"]
    assert sorted(set(args) - {"bn_data_gamma", "bn_data_beta", "fc_weight", "fc_bias"}) == [
        f"conv{number}_folded_{what}" for number in (1, 2) for what in ("bias", "weight")
    ]
    np.testing.assert_allclose(predict(smaller, args, aux, digits()), expected, atol=1e-5)
    mx.model.save_checkpoint(str(tmp_path / "small"), 0, smaller, args, aux)
    loaded = mx.model.load_checkpoint(str(tmp_path / "small"), 0)
    np.testing.assert_allclose(predict(*loaded, digits()), expected, atol=1e-5)


LAYERS = {
    "convolution": lambda x, **kwargs: sym.Convolution(x, kernel=(2, 2), num_filter=3, name="f", **kwargs),
    "strided": lambda x, **kwargs: sym.Convolution(
        x, kernel=(3, 3), stride=(2, 2), dilate=(1, 1), pad=(1, 1), num_filter=4, num_group=2, name="f", **kwargs
    ),
    "dense": lambda x, **kwargs: sym.FullyConnected(x, num_hidden=3, name="f", **kwargs),
}
NORM: dict[str, Any] = {"name": "bn", "eps": 1e-3}
FOLLOWERS = {
    "batch norm": lambda z: sym.BatchNorm(z, fix_gamma=False, **NORM),
    "fixed gamma": lambda z: sym.BatchNorm(z, **NORM),
    "numbers": lambda z: (z * 3 - 0.5) / 4 + 0.25,
    "all": lambda z: sym.BatchNorm(2 * z + 1, fix_gamma=False, **NORM) / 3,
}


@pytest.mark.parametrize("follower", FOLLOWERS)
@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_follows_a_layer_is_folded(layer: str, follower: str, no_bias: bool, dtype: str) -> None:
    symbol = sym.tanh(FOLLOWERS[follower](LAYERS[layer](sym.var("data"), no_bias=no_bias)))
    shapes, _, aux_shapes = symbol.infer_shape(data=(2, 2, 5, 5))
    names = zip(symbol.list_arguments(), shapes, strict=True)
    args = {name: nd.array(random(*shape) - 1, dtype=dtype) for name, shape in names if name != "data"}
    states = zip(symbol.list_auxiliary_states(), aux_shapes, strict=True)
    aux = {name: nd.array(random(*shape), dtype=dtype) for name, shape in states}
    data = nd.array(random(2, 2, 5, 5), dtype=dtype)
    expected = predict(symbol, args, aux, data)
    folded = symbol.optimize_for("fold_batch_norm", args, aux)
    assert operators(folded) == [operators(symbol)[0], "tanh"]
    assert sorted(args) == ["f_folded_bias", "f_folded_weight"]
    assert not aux
    assert args["f_folded_weight"].dtype == np.dtype(dtype)
    np.testing.assert_allclose(predict(folded, args, aux, data), expected, atol=1e-5 if dtype == "float32" else 1e-12)


def test_what_cannot_be_folded_stays() -> None:
    data, f = sym.var("data"), sym.FullyConnected(sym.var("data"), num_hidden=3, name="f")
    computed = sym.FullyConnected(data, weight=sym.var("w") * 2, no_bias=True, num_hidden=3, name="c")
    transposed = sym.Deconvolution(data, kernel=(2, 2), num_filter=3, name="d")
    rows = sym.FullyConnected(data, num_hidden=3, flatten=False, name="r")
    for symbol in (
        sym.Group([f * 2, f]),  # it is read elsewhere, too
        sym.Group([f * 2, sym.exp(f)]),
        sym.BatchNorm(f, output_mean_var=True)[1],
        sym.BatchNorm(sym.Convolution(data, kernel=(1, 1), num_filter=3), axis=2),
        computed * 2,
        transposed * 2,
        rows * 2,
        sym.exp(f) * 2,
    ):
        assert operators(symbol.optimize_for("fold_batch_norm", skip_infer=True)) == operators(symbol)


def test_folding_needs_the_values() -> None:
    symbol, args, aux = mx.model.load_checkpoint(str(MODEL), 12)
    names = sorted(args)
    without = {name: array for name, array in aux.items() if name != "bn2_moving_var"}
    with pytest.raises(LibraryError, match="bn2 can be folded only if the values of its bn2_moving_var are given"):
        symbol.optimize_for("fold_batch_norm", args, without)
    assert sorted(args) == names
    args["bn2_gamma"] = nd.ones(5)
    with pytest.raises(LibraryError, match=r"bn2_gamma should hold 32 numbers, .* before bn2, and holds 5"):
        symbol.optimize_for("fold_batch_norm", args, aux, skip_infer=True)


def test_values_of_other_types_are_refused() -> None:
    symbol = sym.FullyConnected(sym.var("data"), no_bias=True, num_hidden=2, name="f") * 2
    args = {"f_weight": nd.ones((2, 2), dtype="float16")}
    with pytest.raises(LibraryError, match=r"f_weight should be of float32 .* the number of its type is 2"):
        symbol.optimize_for("fold_batch_norm", args, {})


@pytest.mark.parametrize("is_known", [False, True])
def test_identities_are_removed(is_known: bool) -> None:
    x = sym.var("x")
    e = sym.Dropout(sym.BlockGrad(sym.identity(sym.exp(x, name="e"))), p=0.3)
    symbol = sym.Group([e + sym.Dropout(x), sym.Dropout(e, mode="always", p=0.0), sym.identity(x)])
    args = {"x": nd.ones((2, 2))} if is_known else None
    removed = symbol.optimize_for("remove_identities", args)
    assert sorted(operators(removed)) == ["Dropout", "elemwise_add", "exp"]
    outputs = removed.bind(mx.cpu(), {"x": nd.ones((2, 2))}).forward()
    for output, expected in zip(outputs, (np.e + 1, np.e, 1), strict=True):
        np.testing.assert_allclose(output.asnumpy(), np.full((2, 2), expected), rtol=1e-6)


def test_a_folded_block_goes_on(tmp_path: Path) -> None:
    files = f"{MODEL}-symbol.json", f"{MODEL}-0012.params"
    block, folded = (gluon.SymbolBlock.imports(files[0], ["data"], files[1]) for _ in range(2))
    folded.hybridize()
    for backend in ("remove_identities", "fold_batch_norm"):
        folded.optimize_for(digits(), backend=backend)
    expected = block(digits()).asnumpy()
    np.testing.assert_allclose(folded(digits()).asnumpy(), expected, atol=1e-5)
    folded.export(str(tmp_path / "small"))
    again = gluon.SymbolBlock.imports(
        str(tmp_path / "small-symbol.json"), ["data"], str(tmp_path / "small-0000.params")
    )
    np.testing.assert_allclose(again(digits()).asnumpy(), expected, atol=1e-5)
    assert "conv1_folded_weight" in again.collect_params()


def test_passes_and_partitions_one_after_the_other() -> None:
    x = sym.var("data")
    symbol = sym.log(sym.exp(sym.Dropout(sym.BatchNorm(sym.FullyConnected(x, num_hidden=3, name="f"), name="bn"))))
    args = {"f_weight": nd.array(random(3, 4)), "f_bias": nd.array(random(3))}
    args.update(bn_gamma=nd.ones(3), bn_beta=nd.array(random(3)))
    aux = {"bn_moving_mean": nd.array(random(3)), "bn_moving_var": nd.array(random(3))}
    data = nd.array(random(2, 4))
    expected = predict(symbol, args, aux, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for backend in ("remove_identities", "fold_batch_norm", "exp_log"):
            symbol = symbol.optimize_for(backend, args, aux)
    assert operators(symbol) == ["FullyConnected", "_exp_log"]
    np.testing.assert_allclose(predict(symbol, args, aux, data), expected, rtol=1e-5)
