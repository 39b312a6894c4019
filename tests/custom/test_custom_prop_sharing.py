"""What a custom operator is handed, and may write to: nobody else may notice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import ArgumentError, DTypeError, MutationError, OperatorError
from minpy.custom import prop_operator as custom_operator


@pytest.fixture(params=["lent", "copied"], autouse=True)
def sharing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with small arrays as with large ones, which methods share, and as they are: copied."""
    if request.param == "lent":
        monkeypatch.setattr(custom_operator, "LENT_SIZE", 0)


_names = itertools.count()


def custom(forward: Any, backward: Any = None, **methods: Any) -> Any:
    """Return a function that calls a new operator with these methods."""
    op = type("Op", (mx.operator.CustomOp,), {"forward": forward, "backward": backward or _ones})
    name = f"sharing_{next(_names)}"
    methods.setdefault("create_operator", lambda self, ctx, shapes, dtypes: op())
    mx.operator.register(name)(type("SharingProp", (mx.operator.CustomOpProp,), methods))
    return lambda *inputs, **kwargs: nd.Custom(*inputs, op_type=name, **kwargs)


def _ones(self, req, out_grad, in_data, out_data, in_grad, aux):
    self.assign(in_grad[0], req[0], out_grad[0])


def _copy(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], in_data[0])


def _residual(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], in_data[0] + in_data[0] * in_data[0])


def _residual_gradient(self, req, out_grad, in_data, out_data, in_grad, aux):
    self.assign(in_grad[0], req[0], mx.nd.array(out_grad[0]))
    self.assign(in_grad[0], "add", 2 * in_data[0] * out_grad[0])


def variable(values: Any) -> Any:
    x = nd.array(values)
    x.attach_grad()
    return x


def test_a_second_assign_leaves_the_head_gradient_and_siblings_alone():
    residual = custom(_residual, _residual_gradient)
    x, head = variable([1, 2]), nd.ones(2)
    with autograd.record():
        a = x * 1
        z = (a + 1) + residual(a)
    z.backward(head)
    assert x.grad.asnumpy().tolist() == [4, 6]
    assert head.asnumpy().tolist() == [1, 1]


def _assigned_twice(self, is_train, req, in_data, out_data, aux):
    a = np.exp(in_data[0].asnumpy())
    self.assign(out_data[0], req[0], mx.nd.array(a))
    self.assign(out_data[0], "add", mx.nd.array(a))
    self.assign(out_data[1], req[1], mx.nd.array(a))


def test_one_array_assigned_to_two_outputs_stays_apart():
    two = custom(_assigned_twice, list_outputs=lambda self: ["double", "single"])
    double, single = two(nd.array([0, 0]))
    assert double.asnumpy().tolist() == [2, 2]
    assert single.asnumpy().tolist() == [1, 1]


def _input_assigned_twice(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], mx.nd.array(in_data[0]))
    self.assign(out_data[0], "add", 5)


def test_an_input_assigned_as_it_is_stays_as_it_was():
    x = nd.array([1, 2])
    assert custom(_input_assigned_twice)(x).asnumpy().tolist() == [6, 7]
    assert x.asnumpy().tolist() == [1, 2]


def _writes_to_out_grad(self, req, out_grad, in_data, out_data, in_grad, aux):
    out_grad[0][:] = out_grad[0] * 3
    self.assign(in_grad[0], req[0], out_grad[0])


@pytest.mark.parametrize("shape", [(2,), (100, 100)])
def test_backward_may_write_to_its_head_gradients(shape):
    triple = custom(_copy, _writes_to_out_grad)
    x = variable(np.ones(shape))
    with autograd.record():
        a = x * 1
        z = (a + 1) + triple(a)
    z.backward()
    assert (x.grad.asnumpy() == 4).all()


class Tripled(autograd.Function):
    def forward(self, x):
        return x * 1

    def backward(self, dy):
        dy[:] = dy * 3
        return dy


@pytest.mark.parametrize("shape", [(2,), (100, 100)])
def test_a_function_may_write_to_its_head_gradients(shape):
    x = variable(np.ones(shape))
    with autograd.record():
        a = x * 1
        z = (a + 1) + Tripled()(a)
    z.backward()
    assert (x.grad.asnumpy() == 4).all()


def _writes_to_in_data(self, is_train, req, in_data, out_data, aux):
    in_data[0][:] = 7
    self.assign(out_data[0], req[0], in_data[0])


def test_inputs_cannot_be_written():
    x = nd.array([1, 2])
    with pytest.raises(MutationError, match=r"Op.forward changes one of its inputs in place; .* in_data\[0\].copy\(\)"):
        custom(_writes_to_in_data)(x)
    assert x.asnumpy().tolist() == [1, 2]


def test_arguments_are_passed_by_name():
    def backward(self, req, in_data, out_data, out_grad, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[0])

    x = variable([1, 20])
    with autograd.record():
        y = custom(_copy, backward)(x)
    y.backward(nd.array([2, 2]))
    assert x.grad.asnumpy().tolist() == [2, 40]


def test_what_backward_does_not_declare_may_change():
    declared = custom(_copy, declare_backward_dependency=lambda self, out_grad, in_data, out_data: [out_grad[0]])
    x = variable([1, 2])
    with autograd.record():
        y = declared(x)
    x += 1
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1]


def test_what_backward_does_not_declare_it_cannot_read():
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], in_data[0] * 2)

    hidden = custom(_copy, backward, declare_backward_dependency=lambda self, *numbers: [])
    x = variable([1, 2])
    with autograd.record():
        y = hidden(x)
    with pytest.raises(
        ArgumentError, match=r"reads in_data\[0\] \('data'\), which declare_backward_dependency did not"
    ):
        y.backward()


def test_a_dependency_that_is_no_number_of_an_array():
    wrong = custom(_copy, declare_backward_dependency=lambda self, *numbers: "junk")
    x = variable([1, 2])
    with (
        autograd.record(),
        pytest.raises(ArgumentError, match="declare_backward_dependency returned str 'junk'; expected"),
    ):
        wrong(x)


class Refused(Exception):
    def __init__(self, text, reason):
        super().__init__(text)
        self.reason = reason


@pytest.mark.parametrize(
    ("raised", "kind", "field", "value"),
    [
        (Refused("no", 3), Refused, "reason", 3),
        (FileNotFoundError(2, "gone"), FileNotFoundError, "errno", 2),
        (StopIteration(4), StopIteration, "value", 4),
    ],
)
def test_exceptions_keep_their_fields(raised, kind, field, value):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise raised

    with pytest.raises(kind) as caught:
        custom(forward)(nd.ones(1))
    assert isinstance(caught.value, OperatorError)
    assert getattr(caught.value, field) == value
    assert caught.value.original is raised


def test_the_context_of_the_call():
    seen = []

    def forward(self, is_train, req, in_data, out_data, aux):
        seen.extend([in_data[0].context, mx.current_context()])
        self.assign(out_data[0], req[0], in_data[0])

    def create(self, ctx, shapes, dtypes):
        seen.append(ctx)
        return type("Op", (mx.operator.CustomOp,), {"forward": forward})()

    y = custom(_copy, create_operator=create)(nd.ones(2, ctx=mx.cpu(1)))
    assert [*seen, y.context] == [mx.cpu(1)] * 4


def _mixes(self, is_train, req, in_data, out_data, aux):
    y = in_data[0].asnumpy() * 2
    self.assign(out_data[0], req[0], mx.nd.array(y) * in_data[0])


@pytest.mark.parametrize("context", [mx.cpu(), mx.cpu(1)])
def test_arrays_that_a_method_makes_are_on_the_context_of_the_call(context):
    y = custom(_mixes)(nd.array([1, 2], ctx=context))
    assert y.context == context
    assert y.asnumpy().tolist() == [2, 8]


@pytest.mark.parametrize(
    ("types", "error", "text"),
    [
        ([np.float64], DTypeError, "says that input 'data' has type float64; the one given has float32"),
        ([None], ArgumentError, "returned NoneType None as the type of input 'data'"),
    ],
)
def test_input_types_that_contradict(types, error, text):
    typed = custom(_copy, infer_type=lambda self, given: (types, [np.float32], []))
    with pytest.raises(error, match=text):
        typed(nd.ones(2))


@pytest.mark.parametrize("kind", [None, object, "U5"])
def test_output_types_that_hold_no_numbers(kind):
    typed = custom(_copy, infer_type=lambda self, given: (given, [kind], []))
    with pytest.raises(ArgumentError, match="as the type of output 'output'; expected a NumPy type of numbers"):
        typed(nd.ones(2))


def test_a_name_of_an_argument_and_an_auxiliary_state():
    twice = custom(_copy, list_auxiliary_states=lambda self: ["data"])
    with pytest.raises(ArgumentError, match="list_auxiliary_states and list_arguments both list 'data'"):
        twice(nd.ones(2), nd.ones(2))


def test_errors_of_operators_inside_say_where():
    def infer_shape(self, shapes):
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))

    with pytest.raises(OperatorError, match=r"(?s)Custom operator: SharingProp.infer_shape failed.*dot"):
        custom(_copy, infer_shape=infer_shape)(nd.ones(2))


def test_assign_to_the_list_of_outputs():
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data, req[0], in_data[0])

    with pytest.raises(
        ArgumentError, match=r"Op.assign: dst is list of 1: .*; expected one buffer, such as out_data\[0\]"
    ):
        custom(forward)(nd.ones(2))


def test_lending_notices_that_a_function_was_replaced(monkeypatch):
    double = custom(_exponential)
    x = nd.array([0, 0])
    assert double(x).asnumpy().tolist() == [1, 1]

    def overwriting(array):
        array[...] = 99
        return array

    monkeypatch.setattr(np, "exp", overwriting)
    double(x)
    assert x.asnumpy().tolist() == [0, 0]


def _exponential(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], mx.nd.array(np.exp(in_data[0].asnumpy())))
