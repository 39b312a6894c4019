"""Operators registered as `CustomOpProp`: what their methods are given, and what they may do with it."""

from __future__ import annotations

import numpy as np
import pytest
from custom_operators import Double, gradient, operator_of, recorded, register

import minpy as mx
from minpy import autograd, nd
from minpy.custom import prop_operator as custom_operator
from minpy.custom.registry import PROPS
from minpy.operator import CustomOpProp


@pytest.fixture(params=["lent", "copied"], autouse=True)
def sharing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with small arrays as with large ones, which methods share, and as they are: copied."""
    if request.param == "lent":
        monkeypatch.setattr(custom_operator, "LENT_SIZE", 0)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


# -- the prop's methods ------------------------------------------------------------------------------------------------


def test_defaults_of_the_prop() -> None:
    prop = CustomOpProp()
    assert prop.list_arguments() == ["data"]
    assert prop.list_outputs() == ["output"]
    assert prop.list_auxiliary_states() == []
    assert prop.infer_shape([[2, 3]]) == ([[2, 3]], ([2, 3],), ())
    assert prop.infer_type([np.float16]) == ([np.float16], [np.float16], [])
    assert prop.infer_storage_type(["default"]) == (["default"], ["default"], [])
    backward_types = prop.infer_storage_type_backward(["default"], ["default"], ["default"], ["default"], [])
    assert backward_types == (["default"], ["default"], ["default"], ["default"], [])
    assert prop.declare_backward_dependency([1], [2, 3], [4]) == [1, 2, 3, 4]
    assert CustomOpProp(need_top_grad=False).declare_backward_dependency([1], [2, 3], [4]) == [2, 3, 4]
    assert isinstance(prop.create_operator(mx.cpu(), [[2]], [np.float32]), mx.operator.CustomOp)


def test_defaults_follow_the_lists() -> None:
    class Prop(CustomOpProp):
        def list_outputs(self):
            return ["p", "q"]

        def list_auxiliary_states(self):
            return ["s"]

    assert Prop().infer_shape([(4,), (5,)]) == ([(4,), (5,)], ((4,), (4,)), ())
    assert Prop().infer_type([np.float64]) == ([np.float64], [np.float64] * 2, [np.float64])


def test_register_returns_the_class_and_lists_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(PROPS, "listed_operator", raising=False)

    class Prop(CustomOpProp):
        pass

    assert mx.operator.register("listed_operator")(Prop) is Prop
    names = mx.operator.get_all_registered_operators()
    assert {"listed_operator", "Custom", "FullyConnected"} <= set(names)
    assert names == sorted(names)


def test_keywords_reach_the_constructor_as_strings() -> None:
    given = {}

    class Prop(CustomOpProp):
        def __init__(self, **keywords):
            super().__init__()
            given.update(keywords)

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Double()

    name = register(Prop)
    y = nd.Custom(nd.array([1]), op_type=name, size=3, shape=(1, 2), flag=True, ratio=0.1, none=None, text="t")
    assert given == {"size": "3", "shape": "(1, 2)", "flag": "True", "ratio": "0.1", "none": "None", "text": "t"}
    assert y.asscalar() == 2


def test_what_the_methods_are_given() -> None:
    given = {}

    class Prop(CustomOpProp):
        def list_arguments(self):
            return ["a", "b"]

        def list_auxiliary_states(self):
            return ["s"]

        def infer_shape(self, in_shape):
            given["shapes"] = in_shape
            return in_shape, [in_shape[1]], [(4,)]

        def infer_type(self, in_type):
            given["types"] = in_type
            return in_type, [np.float64], [np.float16]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            given["create"] = (ctx, in_shapes, in_dtypes)
            return Ones()

    class Ones(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            given["forward"] = (is_train, req, [x.shape for x in (*in_data, *out_data, *aux)])
            self.assign(out_data[0], req[0], 1)

    a, b, s = nd.zeros((2, 1)), nd.zeros((3,), dtype="int32"), nd.zeros((4,), dtype="float16")
    y = nd.Custom(a, b, s, op_type=register(Prop))
    assert given["shapes"] == [[2, 1], [3]]
    assert given["types"] == [np.float32, np.int32]
    assert given["create"] == (mx.cpu(0), [[2, 1], [3], [4]], [np.float32, np.int32, np.float16])
    assert given["forward"] == (False, ["write"], [(2, 1), (3,), (3,), (4,)])
    assert y.shape == (3,)
    assert y.dtype is np.float64
    assert y.asnumpy().tolist() == [1, 1, 1]


def test_infer_shape_may_return_two_or_three_lists() -> None:
    two = operator_of(Double, infer_shape=lambda self, shapes: (shapes, [tuple(shapes[0])]))
    three = operator_of(Double, infer_shape=lambda self, shapes: [shapes, (np.array(shapes[0]),), []])
    assert nd.Custom(nd.ones((2, 3)), op_type=two).shape == (2, 3)
    assert nd.Custom(nd.ones((2, 3)), op_type=three).shape == (2, 3)


# -- inputs and outputs ------------------------------------------------------------------------------------------------


def test_inputs_by_position_and_by_name() -> None:
    a, b = nd.array([1, 2]), nd.array([10, 20])

    class Difference(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] - in_data[1])

    name = operator_of(Difference, list_arguments=["first", "second"])
    for y in (
        nd.Custom(a, b, op_type=name),
        nd.Custom(a, second=b, op_type=name),
        nd.Custom(second=b, first=a, op_type=name),
        nd.Custom(a, b.asnumpy(), op_type=name, name="ignored"),
    ):
        assert isinstance(y, nd.NDArray)
        assert y.asnumpy().tolist() == [-9, -18]


def test_several_outputs_come_as_a_list() -> None:
    a, b = nd.array([1, 2]), nd.array([3, 4])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        outputs = nd.Custom(a, b, op_type="shared_sum_and_product")
        assert type(outputs) is list
        total, product = outputs
        y = total * 10 + product
    y.backward()
    assert (total.asnumpy().tolist(), product.asnumpy().tolist()) == ([4, 6], [3, 8])
    assert (a.grad.asnumpy().tolist(), b.grad.asnumpy().tolist()) == ([13, 14], [11, 12])


def test_one_of_several_outputs_may_be_unused() -> None:
    a, b = nd.array([1, 2]), nd.array([3, 4])
    a.attach_grad()
    with autograd.record():
        product = nd.Custom(a, b, op_type="shared_sum_and_product")[1]
    product.backward()
    assert a.grad.asnumpy().tolist() == [3, 4]


def test_out_receives_the_result() -> None:
    x, target = nd.array([0, 1]), nd.zeros((2,))
    assert nd.Custom(x, op_type="shared_sigmoid", out=target) is target
    np.testing.assert_allclose(target.asnumpy(), sigmoid(np.array([0, 1])), rtol=1e-6)


def test_an_operator_without_inputs() -> None:
    class Three(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], 3)

    name = operator_of(Three, list_arguments=[], infer_shape=([], [(2,)], []))
    y = nd.Custom(op_type=name)
    assert isinstance(y, nd.NDArray)
    assert y.dtype is np.float32
    assert y.asnumpy().tolist() == [3, 3]


def test_empty_arrays() -> None:
    x = nd.zeros((0, 3))
    assert gradient(x, "shared_sigmoid").shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    x = nd.array([-1, 0, 2], dtype=dtype)
    y = recorded(x, "shared_sigmoid")
    y.backward()
    assert y.dtype is x.grad.dtype is np.dtype(dtype).type
    expected = sigmoid(np.array([-1.0, 0, 2]))
    tolerance = {"float16": 5e-3, "float32": 1e-6, "float64": 1e-6}[dtype]
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=tolerance)
    np.testing.assert_allclose(x.grad.asnumpy(), expected * (1 - expected), rtol=tolerance)


def test_float64_keeps_its_precision() -> None:
    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            self.assign(out_data[0], req[0], nd.array(x * x, dtype="float64"))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

    x = nd.array([0.1], dtype="float64")
    y = recorded(x, operator_of(Square))
    y.backward()
    assert y.asscalar() == 0.1 * 0.1
    assert x.grad.asscalar() == 0.2


def test_integers_compute_and_have_no_gradient() -> None:
    x = nd.array([1, 2], dtype="int32")
    with autograd.record():
        y = nd.Custom(x, op_type=operator_of(Double))
    assert y.dtype is np.int32
    assert y.asnumpy().tolist() == [2, 4]
    assert y._node is None


# -- flags, requests, states -------------------------------------------------------------------------------------------


def test_is_train_follows_the_modes() -> None:
    seen = []

    class Watch(Double):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append(is_train)
            assert not autograd.is_recording()
            super().forward(is_train, req, in_data, out_data, aux)

    name, x = operator_of(Watch), nd.ones((1,))

    def call() -> None:
        nd.Custom(x, op_type=name)

    call()
    with autograd.record():
        call()
    with autograd.record(train_mode=False):
        call()
        with autograd.train_mode():
            call()
    with autograd.train_mode():
        call()
        with autograd.predict_mode():
            call()
    assert seen == [False, True, False, True, True, False]


class Requests(mx.operator.CustomOp):
    """Writes down what it is asked for."""

    seen: list = []

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.seen.append(list(req))
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] * in_data[0])


def test_requests_say_which_gradients_are_needed() -> None:
    name = operator_of(Requests, list_arguments=["a", "b"])
    Requests.seen.clear()
    for requests in (("write", "write"), ("write", "null"), ("null", "write"), ("add", "write"), (None, "add")):
        a, b = nd.array([2]), nd.array([5])
        for array, request in ((a, requests[0]), (b, requests[1])):
            if request is not None:
                array.attach_grad(request)
        for _ in range(2):
            with autograd.record():
                y = nd.Custom(a, b, op_type=name)
            y.backward()
        for array, request, value in ((a, requests[0], 5), (b, requests[1], 2)):
            if request in ("write", "add"):
                assert array.grad.asscalar() == value * (2 if request == "add" else 1)
    expected = [["write", "write"], ["write", "null"], ["null", "write"], ["add", "write"], ["null", "add"]]
    assert Requests.seen == [request for request in expected for _ in range(2)]


def test_add_accumulates_over_two_uses_in_one_graph() -> None:
    x = nd.array([0, 1])
    x.attach_grad("add")
    x.grad[:] = 100
    with autograd.record():
        y = nd.Custom(x, op_type="shared_sigmoid") + nd.Custom(x, op_type="shared_sigmoid") * 2
    y.backward()
    s = sigmoid(np.array([0, 1.0]))
    np.testing.assert_allclose(x.grad.asnumpy(), 100 + 3 * s * (1 - s), rtol=1e-6)


def test_one_variable_as_two_inputs() -> None:
    x = nd.array([3])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, x, op_type="shared_sum_and_product")[1]
    y.backward()
    assert x.grad.asscalar() == 6


def test_outputs_and_gradients_may_be_written_in_place() -> None:
    class InPlace(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            out_data[0][:] = in_data[0] * 2
            out_data[0][0] += 1

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            nd.broadcast_mul(out_grad[0], nd.array([2]), out=in_grad[0])

    x = nd.array([1, 2])
    y = recorded(x, operator_of(InPlace))
    y.backward()
    assert y.asnumpy().tolist() == [3, 4]
    assert x.grad.asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("request_", ["write", "inplace", "add", "null"])
def test_assign(request_: str) -> None:
    target = nd.array([1, 2])
    mx.operator.CustomOp().assign(target, request_, nd.array([10, 20]))
    assert target.asnumpy().tolist() == {"add": [11, 22], "null": [1, 2]}.get(request_, [10, 20])


def test_assign_takes_numpy_arrays_and_numbers() -> None:
    op, target = mx.operator.CustomOp(), nd.zeros((2,))
    cases = ((np.array([1.5, 2]), [1.5, 2]), (3, [3, 3]), (nd.array([4]), [4, 4]), (np.float64(5), [5, 5]))
    for value, expected in cases:
        op.assign(target, "write", value)
        assert target.asnumpy().tolist() == expected


def test_assign_to_a_part_of_an_output() -> None:
    class Halves(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0][0:2], req[0], nd.array([1, 2]))
            self.assign(out_data[0][2:4], req[0], nd.array([3, 4]))

    assert nd.Custom(nd.zeros((4,)), op_type=operator_of(Halves)).asnumpy().tolist() == [1, 2, 3, 4]


def test_a_loss_ignores_the_head_gradient() -> None:
    class Loss(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 3)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_data[0] - in_data[1])

    class LossProp(CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Loss()

    assert gradient(nd.array([1, 2]), register(LossProp), nd.array([5, 5]), head=nd.array([7, 8])).tolist() == [-2, 1]


class Average(mx.operator.CustomOp):
    """Keeps a running mean in an auxiliary state, and counts its backward calls in another."""

    def forward(self, is_train, req, in_data, out_data, aux):
        if is_train:
            self.assign(aux[0], "write", nd.array(0.5 * aux[0].asnumpy() + 0.5 * in_data[0].asnumpy().mean()))
        self.assign(out_data[0], req[0], in_data[0] - aux[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        aux[1][:] += 1
        self.assign(in_grad[0], req[0], out_grad[0])


@pytest.mark.parametrize("kind", [nd.array, np.array])
def test_auxiliary_states_change_in_forward_and_backward(kind) -> None:
    name = operator_of(
        Average, list_auxiliary_states=["mean", "calls"], infer_shape=lambda self, s: (s, [s[0]], [(1,), (1,)])
    )
    x, mean, calls = nd.array([2, 6]), kind([0.0]), kind([0.0])
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = nd.Custom(x, mean, calls=calls, op_type=name)
        y.backward()
    assert float(mean[0]) == 3.0
    assert float(calls[0]) == 2.0
    assert y.asnumpy().tolist() == [-1, 3]
    assert x.grad.asnumpy().tolist() == [1, 1]
    nd.Custom(x, mean, calls, op_type=name)
    assert float(mean[0]) == 3.0


def test_auxiliary_states_get_no_gradient() -> None:
    name = operator_of(
        Average, list_auxiliary_states=["mean", "calls"], infer_shape=lambda self, s: (s, [s[0]], [(1,), (1,)])
    )
    x, mean, calls = nd.array([2]), nd.array([1]), nd.array([0])
    x.attach_grad()
    mean.attach_grad()
    with autograd.record(train_mode=False):
        y = nd.Custom(x, mean, calls, op_type=name)
    y.backward()
    assert y.asscalar() == 1
    assert x.grad.asscalar() == 1
    assert mean.grad.asscalar() == 0


class Masked(mx.operator.CustomOp):
    """Carries what its forward decided to its backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.mask = x > x.mean()
        self.assign(out_data[0], req[0], nd.array(x * self.mask))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy() * self.mask))


def test_state_goes_from_forward_to_backward_of_the_same_call() -> None:
    name = operator_of(Masked)
    a, b = nd.array([1, 2, 9]), nd.array([9, 2, 1])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        y = nd.Custom(a, op_type=name) + nd.Custom(b, op_type=name)
        nd.Custom(nd.array([1, 9, 1]), op_type=name)
    y.backward()
    assert a.grad.asnumpy().tolist() == [0, 0, 1]
    assert b.grad.asnumpy().tolist() == [1, 0, 0]


def test_methods_set_on_the_instance_are_called() -> None:
    def make() -> Double:
        op = Double()
        op.forward = lambda is_train, req, in_data, out_data, aux: op.assign(out_data[0], req[0], in_data[0] * 7)
        return op

    assert nd.Custom(nd.array([1]), op_type=operator_of(make)).asscalar() == 7
