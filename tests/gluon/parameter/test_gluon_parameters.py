"""Parameters: their values, gradients, files; what is wrong with them."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import ArgumentError, ArgumentValueError, ContextError, MXNetError, ShapeError
from minpy.gluon import nn


def parameter(**options: Any) -> Any:
    return gluon.Parameter("w", **{"shape": (2,), **options})


# -- values ------------------------------------------------------------------------------------------------------------


def test_initialized_twice() -> None:
    one = parameter()
    one.initialize(mx.init.One())
    with pytest.warns(UserWarning, match=r"'w' is initialized already, and keeps its values\. .* force_reinit=True"):
        one.initialize(mx.init.Zero())
    assert one.data().asnumpy().tolist() == [1, 1]
    one.initialize(mx.init.Zero(), force_reinit=True)
    assert one.data().asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("init", ["xavier", mx.init.Xavier()])
def test_initializers_tell_what_they_do(init: Any, caplog: Any) -> None:
    net = nn.Dense(2, in_units=3)
    with caplog.at_level("INFO"):
        net.initialize(init, verbose=True)
    assert net.weight.data().asnumpy().any()
    assert any("weight" in record.getMessage() for record in caplog.records)


def test_data_set_before_the_shape_is_known() -> None:
    net = nn.Dense(1, use_bias=False)
    with pytest.raises(MXNetError, match=r"is not initialized\. Call initialize"):
        net.weight.set_data(nd.ones((1, 2)))
    net.initialize()
    with pytest.raises(ShapeError, match=r"has shape \(1, 0\); set_data got \(2, 2\)"):
        net.weight.set_data(nd.ones((2, 2)))
    net.weight.set_data([[3, 4]])
    assert net(nd.ones((1, 2))).asscalar() == 7


def test_contexts() -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    one = parameter(init="ones")
    one.initialize(ctx=contexts)
    assert [array.context for array in one.list_data()] == contexts == one.list_ctx()
    with pytest.raises(ContextError, match=r"'w' is not on cpu\(2\): it was initialized on cpu\(0\), cpu\(1\)\. Call"):
        one.data(mx.cpu(2))
    one.data(mx.cpu(1))[:] = 3
    one.reset_ctx(mx.cpu(2))
    assert one.data().asnumpy().tolist() == [2, 2]  # the mean
    assert one.data().context == one.grad().context == mx.cpu(2)
    with pytest.raises(ArgumentValueError, match="ctx is an empty list; expected one or more contexts"):
        one.initialize(ctx=[], force_reinit=True)
    with pytest.raises(ArgumentError, match=r"ctx is str 'cpu'; expected a Context such as mx\.cpu\(\)"):
        one.initialize(ctx="cpu", force_reinit=True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: parameter(shape="ab"), r"'w': shape is str 'ab'; expected a tuple of lengths"),
        (lambda: parameter(grad_req="sum"), r"grad_req is 'sum'; expected 'write', 'add' or 'null'"),
        (lambda: parameter(stype="sparse"), r"stype is 'sparse'; expected one of 'default', 'row_sparse', 'csr'"),
        (lambda: parameter(shape=(2, 0)).initialize(), r"its shape is \(2, 0\)\. Give the lengths that are missing"),
        (lambda: setattr(parameter(), "shape", (3,)), r"has shape \(2,\), which \(3,\) contradicts"),
        (lambda: parameter().data(), r"'w' is not initialized\. Call initialize\(\) on its block"),
        (lambda: parameter().list_ctx(), r"'w' is not initialized"),
        (lambda: parameter().row_sparse_data(None), r"'w' is dense: there are no row_sparse arrays here\. Call data"),
        (lambda: parameter().list_row_sparse_data(None), r"Call list_data\(\)"),
    ],
)
def test_what_is_wrong(make: Any, words: str) -> None:
    with pytest.raises(MXNetError, match=words):
        make()


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_gradients_that_a_user_attaches() -> None:
    one = parameter(init="ones")
    one.initialize()
    one.data().attach_grad()
    with autograd.record():
        loss = (one.data() * 3).sum()
    loss.backward()
    assert one.grad().asnumpy().tolist() == one.list_grad()[0].asnumpy().tolist() == [3, 3]
    one.zero_grad()
    assert not one.data().grad.asnumpy().any()


@pytest.mark.parametrize("hybridized", [False, True])
def test_requests_that_change(hybridized: bool) -> None:
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    net.hybridize(hybridized)
    x = nd.array([[2, 3]])

    def step() -> None:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()

    step()
    net.weight.grad_req = "add"
    step()
    step()
    assert net.weight.grad().asnumpy().tolist() == [[4, 6]]
    net.weight.grad_req = "null"
    x.attach_grad()
    step()
    with pytest.raises(MXNetError, match=r"has no gradient: its grad_req is 'null'\. Set grad_req to 'write' or 'add'"):
        net.weight.grad()
    assert x.grad.asnumpy().tolist() == [[1, 1]]
    net.weight.grad_req = "write"
    step()
    assert net.weight.grad().asnumpy().tolist() == [[2, 3]]
    fixed = parameter(differentiable=False)
    fixed.grad_req = "write"
    fixed.initialize()
    with pytest.raises(MXNetError, match="has no gradient: it is not differentiable"):
        fixed.grad()


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_casts_go_to_gradients(dtype: str) -> None:
    net = nn.Dense(1, in_units=2)
    net.initialize(mx.init.One())
    net.hybridize()
    net(nd.ones((1, 2)))
    net.cast(dtype)
    with autograd.record():
        loss = net(nd.ones((1, 2), dtype=dtype)).sum()
    loss.backward()
    assert net.weight.data().dtype == net.weight.grad().dtype == numpy.dtype(dtype)
    assert net.weight.grad().asnumpy().tolist() == [[1, 1]]


@pytest.mark.parametrize("make", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies(make: Any) -> None:
    one = parameter(init="ones", lr_mult=3, grad_req="add")
    one.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    [made, again] = make([one, one])
    assert made is again
    assert (made.name, made.lr_mult, made.grad_req, made.list_ctx()) == ("w", 3, "add", [mx.cpu(0), mx.cpu(1)])
    with autograd.record():
        loss = (made.data(mx.cpu(1)) * 2).sum()
    loss.backward()
    assert made.grad(mx.cpu(1)).asnumpy().tolist() == [2, 2]
    assert not one.grad(mx.cpu(1)).asnumpy().any()


# -- dicts -------------------------------------------------------------------------------------------------------------


def test_dicts() -> None:
    shared = gluon.ParameterDict("a_")
    weight = shared.get("weight", shape=(2, 0), dtype="float32")
    found = gluon.ParameterDict("a_", shared=shared)
    assert found.get("weight", shape=(0, 3), dtype=numpy.float32) is weight
    assert weight.shape == (2, 3)
    assert "a_weight" in found
    assert repr(found) == "a_ (\n  Parameter a_weight (shape=(2, 3), dtype=float32)\n)"
    with pytest.raises(
        ShapeError, match=r"a_\.get: the parameter 'a_weight' is there with shape=\(2, 3\); shape=\(4, 3"
    ):
        found.get("weight", shape=(4, 3))
    with pytest.raises(ArgumentValueError, match=r"with lr_mult=1\.0; lr_mult=2 was asked for\. Blocks that share"):
        found.get("weight", lr_mult=2)
    with pytest.raises(KeyError, match=r"'a_weigth' is no parameter of these\..*a_weight"):
        found["a_weigth"]
    other = gluon.ParameterDict("a_")
    other.get("weight")
    with pytest.raises(ArgumentValueError, match=r"Two parameters are named 'a_weight'\. Give one of their blocks"):
        found.update(other)
    table = found.get_constant("table", [1, 2])
    assert found.get_constant("table", nd.array([1, 2])) is table
    with pytest.raises(ArgumentValueError, match=r"'a_table' is there already, with other values"):
        found.get_constant("table", [1, 3])
    with pytest.raises(ArgumentError, match=r"'a_weight' is no constant, but Parameter a_weight"):
        found.get_constant("weight")
    with pytest.raises(ArgumentError, match=r"There is no constant 'a_tabel'\. Give its value"):
        found.get_constant("tabel")


def test_files_of_dicts(tmp_path: Any) -> None:
    net = nn.Dense(2, in_units=3, prefix="net_")
    net.initialize()
    path = tmp_path / "a.params"
    net.collect_params().save(path, strip_prefix="net_")
    assert sorted(nd.load(str(path))) == ["bias", "weight"]
    before = path.read_bytes()
    with pytest.raises(
        ArgumentValueError, match=r"strip_prefix is 'other_', with which the name 'net_weight' does not"
    ):
        net.collect_params().save(path, strip_prefix="other_")
    assert path.read_bytes() == before
    other = nn.Dense(2, in_units=3, prefix="other_")
    with pytest.raises(
        ArgumentValueError, match=r"restore_prefix is 'net_', with which the name 'other_weight' does n"
    ):
        other.collect_params().load(path, restore_prefix="net_")
    with pytest.raises(MXNetError, match=r"2 parameter\(s\) are missing in the file .*: 'other_weight', 'other_bias'"):
        other.collect_params().load(path)
    other.collect_params().load(path, restore_prefix="other_")
    numpy.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())
    nd.save(str(tmp_path / "list"), [nd.ones((2,))])
    with pytest.raises(MXNetError, match=r"holds 1 array\(s\) without names; parameters are read by name"):
        other.load_parameters(tmp_path / "list")


@pytest.mark.parametrize(("source", "dtype"), [("current", "float32"), ("saved", "float64")])
def test_dtypes_of_files(source: str, dtype: str, tmp_path: Any) -> None:
    net = nn.Dense(2, in_units=3)
    net.cast("float64")
    net.initialize()
    net.save_parameters(tmp_path / "a.params")
    for initialized in (False, True):
        other = nn.Dense(2, in_units=3)
        if initialized:
            other.initialize()
        other.load_parameters(tmp_path / "a.params", cast_dtype=True, dtype_source=source)
        assert other.weight.data().dtype == other.weight.grad().dtype == numpy.dtype(dtype)
    with pytest.raises(ArgumentValueError, match=r"dtype_source is 'file'; expected 'current' or 'saved'"):
        other.load_parameters(tmp_path / "a.params", cast_dtype=True, dtype_source="file")


def test_a_file_for_other_contexts(tmp_path: Any) -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=mx.cpu(0))
    net.save_parameters(tmp_path / "a.params")
    with pytest.raises(ContextError, match=r"lies on cpu\(0\), and is loaded on cpu\(1\)\. Load without ctx, or call"):
        net.load_parameters(tmp_path / "a.params", ctx=mx.cpu(1))
    other = nn.Dense(2, in_units=3)
    other.load_parameters(tmp_path / "a.params", ctx=[mx.cpu(1), mx.cpu(2)])
    assert other.weight.list_ctx() == [mx.cpu(1), mx.cpu(2)]


def test_constants() -> None:
    table = gluon.Constant("table", [[1, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.initialize(default_init=mx.init.Zero())
    assert table.data().asnumpy().tolist() == [[1, 2]]
    table.grad_req = "add"
    assert table.grad_req == "null"
    with pytest.raises(ArgumentValueError, match=r"Constant 'table': grad_req is 'sum'; it can only be 'null'"):
        table.grad_req = "sum"
