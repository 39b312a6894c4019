"""What is accepted as in MXNet, with a warning of what is ignored; `golden/accepted_cases.py` has the answers."""

from __future__ import annotations

import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import ArgumentError
from minpy.core.signatures import _IGNORED

ROOT = Path(mx.__file__).parent.parent


def warnings_of(function: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return caught


IGNORED = {
    "an array": lambda: nd.broadcast_mul(nd.ones((2, 1)), nd.ones((1, 3)), axis=-1),
    "a symbol": lambda: mx.sym.broadcast_mul(mx.sym.var("a"), mx.sym.var("b"), axis=-1),
    "one argument": lambda: nd.tanh(nd.ones(2), axis=1),
    "an attribute of ours": lambda: nd.zeros_like(nd.ones(2), shape=3),
}


@pytest.mark.parametrize("name", IGNORED)
def test_an_attribute_of_an_operator_without_attributes_is_ignored_with_one_warning(name: str) -> None:
    _IGNORED.clear()
    caught = warnings_of(IGNORED[name])
    assert len(caught) == 1
    assert Path(caught[0].filename) == Path(__file__)
    assert " ignores " in str(caught[0].message)
    assert not warnings_of(IGNORED[name])


def test_the_warning_says_what_the_operator_takes() -> None:
    _IGNORED.clear()
    text = r"^broadcast_add ignores lsh=\.\.\., as in MXNet: it takes lhs, rhs\. Did you mean 'lhs'\? Leave it out\.$"
    with pytest.warns(UserWarning, match=text):
        nd.broadcast_add(nd.ones(2), nd.ones(2), lsh=3)


def test_operators_with_attributes_and_those_of_users_refuse_unknown_ones() -> None:
    with pytest.raises(ArgumentError, match="softmax has no argument 'foo'"):
        nd.softmax(nd.ones(2), foo=1)

    @mx.customop("numpy")
    def double(x: np.ndarray) -> np.ndarray:
        return x * 2

    with pytest.raises(ArgumentError, match="double has no argument 'axis'"):
        double(nd.ones(2), axis=1)


@pytest.mark.filterwarnings("ignore:.* ignores axis")
def test_ignored_attributes_change_neither_gradients_nor_graphs() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = nd.broadcast_mul(x, x, axis=0)
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.broadcast_mul(x, F.exp(x, axis=1), axis=-1)

    net = Net()
    before = net(x).asnumpy()
    net.hybridize()
    for _ in range(4):
        np.testing.assert_allclose(net(x).asnumpy(), before, rtol=1e-6)


def test_an_iterator_ignores_arguments_that_it_has_not(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, 2, 1, 2) + bytes([0, 128, 64, 192]))
    (tmp_path / "labels").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 2) + bytes([3, 7]))
    (tmp_path / "rows.csv").write_text("1,2\n3,4\n")
    program = f"""
import warnings
import minpy as mx
for _ in range(2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        it = mx.io.MNISTIter(image={str(tmp_path / "images")!r}, label={str(tmp_path / "labels")!r}, batch_size=2,
                             data_shape=(2,))
        rows = mx.io.CSVIter(data_csv={str(tmp_path / "rows.csv")!r}, data_shape=(2,), batch_size=1, round_batches=1)
    print(next(it).data[0].shape, next(rows).data[0].shape, *sorted(str(one.message) for one in caught), sep="|")
    print(all(one.filename == "<string>" for one in caught))
"""
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    first, inside, second, _ = found.stdout.splitlines()
    assert first.split("|") == [
        "(2, 1, 1, 2)",
        "(1, 2)",
        (
            "CSVIter ignores round_batches=...: it has no such argument, as in MXNet. Did you mean 'round_batch'? "
            "Leave it out."
        ),
        (
            "MNISTIter ignores data_shape=...: it has no such argument, as in MXNet. Did you mean 'data_name'? "
            "Leave it out."
        ),
    ]
    assert inside == "True"
    assert second == "(2, 1, 1, 2)|(1, 2)"


class LeavesLabel(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * 3)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * 3)


@mx.operator.register("accepted_leaves_label")
class LeavesLabelProp(mx.operator.CustomOpProp):
    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> mx.operator.CustomOp:
        return LeavesLabel()


def test_the_gradient_of_a_label_that_backward_leaves_unwritten_is_zero_with_a_warning_that_names_it() -> None:
    x, label = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    x.attach_grad()
    label.attach_grad()
    label.grad[:] = 7

    def step() -> None:
        with autograd.record():
            y = nd.Custom(x, label, op_type="accepted_leaves_label")
        y.backward()

    with pytest.warns(UserWarning, match=r"LeavesLabel\.backward left the gradient of 'label' unwritten: it is ta"):
        step()
    assert (x.grad.asnumpy().tolist(), label.grad.asnumpy().tolist()) == ([3, 3], [0, 0])
    assert not warnings_of(step)


def test_a_numpy_array_is_an_input_of_a_custom_operator_by_its_name_and_text_otherwise() -> None:
    seen = []

    @mx.operator.register("accepted_texts")
    class TextsProp(mx.operator.CustomOpProp):
        def __init__(self, K: str, **others: str) -> None:
            super().__init__()
            seen.append((K, others))

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> mx.operator.CustomOp:
            return LeavesLabel()

    data = np.array([1.0, 2.0])
    made = nd.Custom(data=data, op_type="accepted_texts", K=data, further=np.arange(2))
    assert np.asarray(made).tolist() == [3, 6]
    assert seen[-1] == ("[1. 2.]", {"further": "[0 1]"})
    with pytest.raises(ArgumentError, match="no input is named 'foo'"):
        nd.Custom(nd.ones(2), op_type="accepted_leaves_label", foo=data)


@pytest.mark.parametrize("hybridize", [False, True])
def test_pooling_along_one_axis_takes_padding_with_further_numbers(hybridize: bool) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.MaxPool1D(2, padding=(0, 0, 0)), mx.gluon.nn.HybridLambda(pooled))
    x = nd.arange(16).reshape((1, 1, 16))
    net.hybridize(hybridize)
    for _ in range(4):
        assert net(x).asnumpy().tolist() == [[[3, 7, 11, 15]]]


def pooled(F: Any, x: Any) -> Any:
    return F.Pooling(x, kernel=(2,), stride=(2, 5), pad=(0, 0, 0), pool_type="max")


def test_a_parameter_twice_on_one_context() -> None:
    net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(0)])
    assert net.weight.list_ctx() == [mx.cpu(0), mx.cpu(0)]
    net.weight.set_data(nd.array([[2.0, 3.0]]))
    assert [array.asnumpy().tolist() for array in net.weight.list_data()] == [[[2, 3]], [[2, 3]]]
    assert net(nd.ones((1, 2))).asscalar() == 5


def test_a_block_that_is_not_hybridized_takes_options_beside_arrays() -> None:
    class Scaled(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, xs: Any, k: Any, how: str) -> Any:
            return getattr(F, how)(xs[0] * k + xs[1])

    net = Scaled()
    x = nd.array([0.0, 1.0])
    assert net([x, x], 3, "square").asnumpy().tolist() == [0, 16]
    with pytest.raises(ArgumentError, match="An input of a block is int 3; expected an NDArray"):
        net(3, 4, "square")


HALF = {"nd": lambda: nd.ones((2, 3), dtype="float16"), "np": lambda: mx.np.ones((2, 3), dtype="float16")}
WITH_DTYPE = {
    "zeros": lambda dtype: nd.zeros((2,), dtype=dtype),
    "ones": lambda dtype: nd.ones((2,), dtype=dtype),
    "full": lambda dtype: nd.full((2,), 1, dtype=dtype),
    "empty": lambda dtype: nd.empty((2,), dtype=dtype),
    "arange": lambda dtype: nd.arange(3, dtype=dtype),
    "array": lambda dtype: nd.array([1], dtype=dtype),
    "cast": lambda dtype: nd.cast(nd.ones(2), dtype=dtype),
    "uniform": lambda dtype: nd.random.uniform(shape=(2,), dtype=dtype),
    "one_hot": lambda dtype: nd.one_hot(nd.array([1]), 3, dtype=dtype),
    "np.zeros": lambda dtype: mx.np.zeros((2,), dtype=dtype),
    "np.array": lambda dtype: mx.np.array([1], dtype=dtype),
    "np.sum": lambda dtype: mx.np.sum(mx.np.ones(2), dtype=dtype),
    "numpy": lambda dtype: np.zeros(2, dtype),
}


@pytest.mark.filterwarnings("ignore:in the future the `.dtype` attribute:DeprecationWarning")  # before NumPy 2.4
@pytest.mark.parametrize("kind", HALF)
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_an_array_stands_for_its_dtype(name: str, kind: str) -> None:
    assert WITH_DTYPE[name](HALF[kind]()).dtype == np.float16


@pytest.mark.parametrize("kind", HALF)
def test_an_array_stands_for_its_dtype_in_symbols(kind: str) -> None:
    x = mx.sym.var("x")
    half = HALF[kind]()
    for symbol in (mx.sym.cast(x, dtype=half), x + mx.sym.zeros((2,), dtype=half), mx.sym.ones(2, half)):
        made = [node for node in symbol.get_internals() if node.attr("dtype") is not None]
        assert [node.attr("dtype") for node in made] == ["float16"]
        assert mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()
