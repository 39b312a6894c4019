"""Operators made for their attributes: in every mode, saved, loaded and pickled."""

import pickle

import numpy as np
import pytest

import minpy as mx
from minpy import nd, sym
from minpy.core.configured import FAMILIES, ConfiguredOperator, OperatorFamily
from minpy.core.errors import ArgumentError, CheckError, NoValueError
from minpy.symbol.composition import compose_family


class Scaled(ConfiguredOperator):
    def forward(self, *raws):
        return sum(raws) * float(self.all_attributes.get("factor", "2"))

    def vjp(self, answer, arguments, attributes, gradient, requires_grad):
        return [gradient * float(self.all_attributes.get("factor", "2")) for _ in requires_grad]

    def shape_inference(self, inputs, outputs):
        return inputs, [next((one for one in inputs if one is not None), None)]

    def type_inference(self, inputs, outputs):
        return inputs, [inputs[0]]


class ScaledFamily(OperatorFamily):
    def configure(self, parameters, annotations, graphs):
        count = int(parameters.get("count", "1"))
        return Scaled(self, parameters, annotations, graphs, [f"data{index}" for index in range(count)], ["output"])


@pytest.fixture
def scaled():
    family = ScaledFamily("test_scaled")
    FAMILIES["test_scaled"] = family
    yield family
    del FAMILIES["test_scaled"]


def of_symbols(family, *inputs, **keywords):
    return compose_family(family, inputs, keywords, family.__name__)


def test_arrays_of_every_kind(scaled):
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(scaled(x, factor=3), [3, 6])
    assert type(scaled(x)) is np.ndarray
    assert type(scaled(nd.array(x))) is nd.NDArray
    assert type(scaled(mx.np.array(x))) is mx.np.ndarray
    out = nd.zeros(2)
    assert scaled(nd.array(x), nd.array(x), count=2, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), [4, 8])


def test_check(scaled):
    with mx.name.NameManager():  # the names that it gives to nodes count for nobody else
        report = scaled.check([1.0, 2.0], factor=3)
    assert report["gradient of data0"].result == report["bound symbol"].result == "ok"
    with pytest.raises(ArgumentError, match=r"test_scaled takes 1 input\(s\) with factor='3', got 2\."):
        scaled.check([1.0], [2.0], factor=3)


def test_check_finds_a_wrong_gradient(scaled, monkeypatch):
    monkeypatch.setattr(Scaled, "vjp", lambda self, answer, arguments, attributes, gradient, requires_grad: [gradient])
    with (
        mx.name.NameManager(),
        pytest.raises(CheckError, match=r"test_scaled\.check: the gradient of argument 0 \(data0\) is wrong"),
    ):
        scaled.check([1.0, 2.0])


def test_gradients(scaled):
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = scaled(x, x * x, count=2)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [6, 10])
    np.testing.assert_array_equal(mx.grad(lambda x: scaled(x, factor=5).sum())(np.ones(3)), [5, 5, 5])


def test_the_same_attributes_are_the_same_operator(scaled):
    assert scaled.configured({"factor": "2"}) is scaled.configured({"factor": "2"})
    assert scaled.configured({"factor": "2"}) is not scaled.configured({"factor": "3"})
    assert scaled.configured({"factor": "2"}) is not scaled.configured({}, {"factor": "2"})


def test_graphs(scaled):
    a, b = sym.var("a"), sym.var("b")
    with mx.AttrScope(lr_mult="3"):
        y = of_symbols(scaled, a, b, count=2, factor=4, name="y")
    assert y.list_arguments() == ["a", "b"]
    assert y.list_outputs() == ["y_output"]
    assert y.attr_dict()["y"] == {"__lr_mult__": "3", "count": "2", "factor": "4", "lr_mult": "3"}
    assert y.values[0].node.operator.all_attributes == {"__lr_mult__": "3", "count": "2", "factor": "4"}
    assert of_symbols(scaled, a).name == "test_scaled0"
    assert scaled(a, factor=3).attr("factor") == "3"
    executor = y.bind(mx.cpu(), {"a": nd.ones(2), "b": nd.ones(2)}, {"a": nd.zeros(2)}, grad_req={"a": "add"})
    np.testing.assert_array_equal(executor.forward(is_train=True)[0].asnumpy(), [8, 8])
    for _ in range(2):
        executor.backward(nd.ones(2))
    np.testing.assert_array_equal(executor.grad_dict["a"].asnumpy(), [8, 8])


def test_files_and_pickles(scaled):
    y = of_symbols(scaled, sym.var("a"), count=1, factor=4, name="y", attr={"__lr_mult__": "3"})
    for again in (sym.load_json(y.tojson()), pickle.loads(pickle.dumps(y))):
        assert again.tojson() == y.tojson()
        np.testing.assert_array_equal(again.eval(a=nd.ones(2))[0].asnumpy(), [4, 4])
    assert pickle.loads(pickle.dumps(scaled)) is scaled


ERRORS = [
    (lambda op: op(nd.ones(2), count=2), "test_scaled takes 2 input(s) with count='2', got 1."),
    (lambda op: op(nd.ones(2), other=nd.ones(2)), "its inputs are given by position, and attributes are numbers"),
    (lambda op: of_symbols(op, sym.var("a"), count=2), "sym.test_scaled takes 2 input(s) with count='2', got 1."),
    (lambda op: pickle.loads(pickle.dumps(op).replace(b"test_scaled", b"test_slaced")), "there is no operator"),
]


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(scaled, call, text):
    with pytest.raises(ArgumentError) as caught:
        call(scaled)
    assert text in str(caught.value)


def test_arrays_are_no_symbols(scaled):
    with pytest.raises(NoValueError, match="expected a Symbol"):
        of_symbols(scaled, nd.ones(2))


def test_a_file_that_needs_what_is_not_there(scaled):
    text = of_symbols(scaled, sym.var("a")).tojson()
    del FAMILIES["test_scaled"]
    try:
        with pytest.raises(mx.MXNetError, match="test_scaled"):
            sym.load_json(text)
    finally:
        FAMILIES["test_scaled"] = scaled
    wrong = text.replace('"inputs": [[0, 0, 0]]', '"inputs": []')
    with pytest.raises(ArgumentError, match=r"takes 1 input\(s\), got 0"):
        sym.load_json(wrong)
