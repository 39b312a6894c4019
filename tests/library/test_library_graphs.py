"""A C++ library with partitioners, passes and subgraph operators, as MXNet 1.9.1 has it: whole graphs, and training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from native.building import build
from native.evaluating_cases import CASES, given, graph, run
from places import GOLDEN
from test_library_partitioners import plain

import minpy as mx
from minpy.core.errors import LibraryError

ANSWERS = json.loads((GOLDEN / "native" / "evaluating.json").read_text())
INCLUDE = Path(mx.__file__).parent / "include"


@pytest.fixture(autouse=True, scope="module")
def library():
    return mx.library.load(build("evaluating.cc", include=[INCLUDE]), verbose=False)


def test_what_it_has(library):
    assert library.operators == ("_evaluated", "_evaluated_too")
    assert library.partitioners == ("evaluated", "evaluated_chosen", "evaluated_twice")
    assert library.passes == ("rescaled",)


@pytest.mark.parametrize("known", ["known", "unknown"])
@pytest.mark.parametrize("name", CASES)
def test_as_mxnet(name, known):
    answer = json.loads(json.dumps(run(mx, CASES[name], known == "known")))
    expected = ANSWERS.get(f"{name}, {known}")
    if expected is None:  # where MXNet fails
        assert (name, known) == ("wrong_on_purpose", "unknown")
        expected = {part: ANSWERS[f"{name}, known"][part] for part in ("values", "gradients")}
    for part, value in expected.items():
        assert plain(answer[part]) == plain(value), part


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dedup", [False, True])
@pytest.mark.parametrize("backend", ["evaluated", "evaluated_chosen", "evaluated_twice"])
def test_as_without_it(backend, dedup, dtype):
    args = given(mx, dtype)
    results = []
    for symbol in (graph(mx), graph(mx).optimize_for(backend, args=args, dedup_subgraph=dedup)):
        gradients = {name: mx.nd.zeros(array.shape, dtype=dtype) for name, array in args.items()}
        executor = symbol.bind(mx.cpu(), args, args_grad=gradients)
        outputs = executor.forward(is_train=True)
        executor.backward([mx.nd.ones(output.shape, dtype=dtype) for output in outputs])
        results.append([*(one.asnumpy() for one in outputs), *(gradients[name].asnumpy() for name in sorted(args))])
    assert "_evaluated" not in graph(mx).tojson()
    for expected, answer in zip(*results, strict=True):
        assert answer.dtype == np.dtype(dtype)
        np.testing.assert_allclose(answer, expected, rtol=1e-5 if dtype == "float32" else 1e-13)


def test_its_gradient_is_the_librarys():
    """A state that says wrong gradients is believed: nothing is computed around it."""
    args = given(mx)
    symbol = graph(mx).optimize_for("evaluated", args=args)
    document = json.loads(symbol.tojson())
    for node in document["nodes"]:
        if node["op"] == "_evaluated":
            node["attrs"]["scale"] = "0"
    changed = mx.sym.load_json(json.dumps(document))
    gradients = {name: mx.nd.ones(array.shape) for name, array in args.items()}
    executor = changed.bind(mx.cpu(), args, args_grad=gradients)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((1, 2))] * 2)
    np.testing.assert_array_equal(gradients["a"].asnumpy(), np.zeros((1, 2)))
    assert gradients["w"].asnumpy().any()


ERRORS = [
    (
        "evaluated",
        {"review": "fail"},
        "partitioner 'evaluated', strategy 'supported': reviewSubgraph failed on group 0",
    ),
    ("evaluated", {"review": "fail"}, "subgraph 0 of"),
    (
        "evaluated_chosen",
        {"selector": "fail"},
        "strategy 'chosen': createSelector failed on a graph of 10 node(s) with",
    ),
    ("evaluated_chosen", {"selector": "fail"}, "no selector for 10 nodes"),
    ("evaluated_chosen", {"selector": "none"}, "without a selector"),
    ("rescaled", {"pass": "fail"}, "pass 'rescaled' failed on a graph of 10 node(s)"),
    ("rescaled", {"pass": "fail"}, "not today"),
]


@pytest.mark.parametrize(("backend", "options", "text"), ERRORS, ids=range(len(ERRORS)))
def test_failures(backend, options, text):
    args = given(mx)
    with pytest.raises(LibraryError) as caught:
        graph(mx).optimize_for(backend, args=args, **options)
    assert text in str(caught.value)
    assert [*args] == ["a", "b", "w"]
    graph(mx).optimize_for(backend, args=args)


def test_exceptions_of_a_library_are_errors():
    """Our header does not let them out: MXNet's would, and the process would end."""
    with pytest.raises(LibraryError) as caught:
        graph(mx).optimize_for("rescaled", args=given(mx), factor="three")
    assert "pass 'rescaled' failed" in str(caught.value)
    assert "stod" in str(caught.value)


def test_a_partitioned_model_is_trained_saved_and_trained_on(tmp_path):
    """Steps of training are those of the model without the library, before it is saved and after it is loaded."""
    x = mx.nd.array([[0.5, -0.25], [0.125, 1]])

    def net():
        data, weight, bias = (mx.sym.var(name) for name in ("data", "weight", "bias"))
        layer = mx.sym.FullyConnected(data, weight, bias, num_hidden=2, name="fc")
        return mx.sym.log(mx.sym.elemwise_add(mx.sym.exp(layer, name="e"), mx.sym.exp(data, name="d")), name="l")

    def trained(block, steps):
        trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        losses = []
        for _ in range(steps):
            with mx.autograd.record():
                loss = (block(x) ** 2).sum()
            loss.backward()
            trainer.step(2)
            losses.append(float(loss.asscalar()))
        return losses

    def block_of(symbol):
        block = mx.gluon.SymbolBlock(symbol, [mx.sym.var("data")])
        block.hybridize()
        for name, values in (("weight", [[0.5, 0.25], [-0.5, 1]]), ("bias", [0.125, 0.5])):
            parameter = block.collect_params()[name]
            parameter.shape = np.shape(values)
            parameter.initialize()
            parameter.set_data(mx.nd.array(values))
        return block

    expected = trained(block_of(net()), 4)
    shapes = {"data": (2, 2), "weight": (2, 2), "bias": (2,)}
    symbol = net().optimize_for("evaluated", args={"bias": mx.nd.ones(2)}, shape_dict=shapes)
    assert "_evaluated" in symbol.tojson()
    block = block_of(symbol)
    np.testing.assert_allclose(trained(block, 4), expected, rtol=1e-5)
    path = str(tmp_path / "net")
    block.export(path)
    again = mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
    np.testing.assert_array_equal(again(x).asnumpy(), block(x).asnumpy())
    np.testing.assert_allclose(trained(again, 2), trained(block, 2), rtol=1e-6)
