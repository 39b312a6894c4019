"""Wrong use of `nd.Custom`, of a prop's methods, and of an operator's forward and backward: each with its own error."""

from __future__ import annotations

import re
import traceback
from typing import Any

import numpy as np
import pytest
from custom_operators import Double, gradient, operator_of, recorded, register

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import ArgumentError, GradientError, MXNetError, NoGradientError, OperatorError, ShapeError
from minpy.operator import CustomOp, CustomOpProp

X = nd.array([[1, 2, 3], [4, 5, 6]])


def call(op_type: str, *inputs: Any, **keywords: Any) -> Any:
    return nd.Custom(*(inputs or (X,)), op_type=op_type, **keywords)


def raises(kind: type[Exception], *texts: str) -> Any:
    """Expects an error of a kind, that is also an MXNetError, with these texts in order."""
    assert issubclass(kind, MXNetError)
    return pytest.raises(kind, match="(?s)" + ".*".join(map(re.escape, texts)))


def op(forward: Any = None, backward: Any = None) -> type[CustomOp]:
    """Returns an operator class named Op."""
    parts = {"forward": forward or Double.forward}
    if backward is not None:
        parts["backward"] = backward
    return type("Op", (CustomOp,), parts)


# -- registering and finding -------------------------------------------------------------------------------------------


def test_unknown_op_type() -> None:
    with raises(ArgumentError, "no custom operator 'shared_sigmiod' is registered. Did you mean 'shared_sigmoid'"):
        call("shared_sigmiod")
    with raises(
        ArgumentError, "no custom operator None is registered", "'shared_sigmoid'", "@mx.operator.register(name)"
    ):
        nd.Custom(X)


def test_a_name_registered_twice_warns_and_the_later_wins() -> None:
    class First(CustomOpProp):
        pass

    class Second(CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Double()

    name = register(First)
    with pytest.warns(UserWarning, match=rf"'{name}' is registered twice: .*Second replaces .*First") as caught:
        mx.operator.register(name)(Second)
    assert caught[0].filename == __file__
    assert call(name, nd.array([1])).asscalar() == 2
    mx.operator.register(name)(Second)  # again the same class: no warning


def test_registering_what_is_no_prop() -> None:
    with raises(ArgumentError, "operator.register('x') registers a class derived from CustomOpProp", "type"):
        mx.operator.register("x")(CustomOp)
    with raises(ArgumentError, "operator.register needs a name"):
        mx.operator.register(CustomOpProp)
    assert "x" not in mx.operator.get_all_registered_operators()


# -- the call ----------------------------------------------------------------------------------------------------------


class Biased(CustomOpProp):
    def __init__(self, bias, scale="1"):
        super().__init__()
        self.bias = float(bias)


def test_constructor_that_does_not_take_a_keyword() -> None:
    name = register(Biased)
    with raises(
        ArgumentError, f"op_type='{name}'", "Biased.__init__ takes bias, scale; got bais. Did you mean 'bias'?"
    ):
        call(name, bais=1)
    with raises(ArgumentError, "Biased.__init__ takes bias, scale; got none.", "missing"):
        call(name)
    with raises(ArgumentError, "DefaultProp.__init__ takes need_top_grad; got size."):
        call(register(type("DefaultProp", (CustomOpProp,), {})), size=2)


def test_exception_in_the_constructor_is_the_users_own() -> None:
    with raises(OperatorError, "Biased.__init__ failed", "ValueError: could not convert string to float: 'much'"):
        call(register(Biased), bias="much")

    class Inner(CustomOpProp):
        def __init__(self, size):
            super().__init__(size=size)

    with raises(OperatorError, "Inner.__init__ failed", "TypeError", "unexpected keyword argument 'size'"):
        call(register(Inner), size=1)


def test_inputs_by_name_and_number() -> None:
    name = operator_of(Double, list_arguments=["data", "weight"])
    with raises(ArgumentError, f"'{name}'", "input(s) 'weight' missing; TestProp lists data, weight."):
        call(name, X)
    with raises(ArgumentError, "input(s) 'data' missing"):
        nd.Custom(weight=X, op_type=name)
    with raises(ArgumentError, "no input is named 'wieght'; TestProp lists data, weight. Did you mean 'weight'?"):
        call(name, X, wieght=X)
    with raises(ArgumentError, "input 'data' is given twice"):
        call(name, X, data=X)
    with raises(ArgumentError, "takes 2 input(s) (data, weight), got 3."):
        call(name, X, X, X)


# -- the prop's answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["list_arguments", "list_outputs", "list_auxiliary_states"])
def test_lists_of_names(method: str) -> None:
    for answer, texts in (
        ("data", ["returned str 'data'; expected a list of names"]),
        (None, ["returned NoneType None; expected a list of names"]),
        ([1], ["returned list of 1: [int 1]; expected a list of names"]),
        (["a", "a"], ["returned ['a', 'a']; names must differ"]),
    ):
        with raises(ArgumentError, f"TestProp.{method}", *texts):
            call(operator_of(Double, **{method: answer}))


def test_an_operator_without_outputs() -> None:
    with raises(ArgumentError, "TestProp.list_outputs returned no names; an operator has an output"):
        call(operator_of(Double, list_outputs=[]))


EXAMPLE = "A right return value: return [data_shape, weight_shape], [output_shape], []"


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        (None, ["returned NoneType None; expected 2 or 3 lists", EXAMPLE]),
        (([(2, 3), (2, 3)],), ["returned 1 entries; expected 2 or 3 lists", EXAMPLE]),
        (([], [], [], []), ["returned 4 entries; expected 2 or 3 lists", EXAMPLE]),
        (([(2, 3)], [(2, 3)], []), ["returned 1 input shapes; expected 2, for 'data', 'weight'", EXAMPLE]),
        (([(2, 3)] * 2, [(2, 3)] * 2, []), ["returned 2 output shapes; expected 1, for 'output'", EXAMPLE]),
        (([(2, 3)] * 2, [(2, 3)], [(1,)]), ["returned 1 auxiliary shapes; expected 0.", EXAMPLE]),
        (([(2, 3)] * 2, 6, []), ["returned int 6 output shapes; expected 1", EXAMPLE]),
        (([(2, 3)] * 2, (6,), []), ["returned int 6 as the shape of output 'output'", "mind the comma: (shape,)"]),
        (([(2, 3)] * 2, ["23"], []), ["returned str '23' as the shape of output 'output'; expected a tuple of int"]),
        (([(2, 3)] * 2, [(2.0, 3)], []), ["as the shape of output 'output'; expected a tuple of int"]),
    ],
)
def test_infer_shape_of_wrong_counts_and_kinds(answer: Any, texts: list[str]) -> None:
    name = operator_of(Double, list_arguments=["data", "weight"], infer_shape=answer)
    with raises(ArgumentError, "TestProp.infer_shape", *texts):
        call(name, X, X)


def test_infer_shape_that_contradicts_the_inputs() -> None:
    name = operator_of(Double, infer_shape=([(2, 4)], [(2, 3)], []))
    with raises(ShapeError, "TestProp.infer_shape says that input 'data' has shape (2, 4); the one given has (2, 3)"):
        call(name)
    with raises(ShapeError, "TestProp.infer_shape returned (-1, 3) as the shape of output 'output'", "negative"):
        call(operator_of(Double, infer_shape=([(2, 3)], [(-1, 3)])))
    name = operator_of(Double, list_auxiliary_states=["mean"], infer_shape=([(2, 3)], [(2, 3)], [(3,)]))
    with raises(ArgumentError, "TestProp.infer_shape says that auxiliary state 'mean' has shape (3,)", "has (2, 3)"):
        call(name, X, X)


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        (None, ["returned NoneType None; expected 2 or 3 lists"]),
        (([np.float32],), ["returned 1 entries; expected 2 or 3 lists: input types, output types, auxiliary types"]),
        (([], [np.float32], []), ["returned 0 input types; expected 1, for 'data'"]),
        (([np.float32], [np.float32] * 2, []), ["returned 2 output types; expected 1, for 'output'"]),
        (([np.float32], [np.float32], [np.float32]), ["returned 1 auxiliary types; expected 0"]),
        (([np.float32], np.float32, []), ["output types; expected 1, for 'output'"]),
        (([np.float32], ["float33"], []), ["returned str 'float33' as the type of output 'output'", "numpy.float32"]),
    ],
)
def test_infer_type_of_wrong_counts_and_kinds(answer: Any, texts: list[str]) -> None:
    with raises(ArgumentError, "TestProp.infer_type", *texts):
        call(operator_of(Double, infer_type=answer))


@pytest.mark.parametrize("method", ["infer_shape", "infer_type", "list_arguments", "create_operator"])
def test_exception_in_a_method_of_the_prop(method: str) -> None:
    def fail(self: Any, *arguments: Any) -> Any:
        raise ValueError("shapes are none of my business")

    name = register(**{"list_arguments": lambda self: ["a", "b"], method: fail})
    with raises(OperatorError, f"TestProp.{method} failed", "ValueError: shapes are none of my business") as caught:
        call(name, nd.zeros((4, 3)), nd.zeros((5, 3)))
    assert isinstance(caught.value, ValueError)
    assert any(frame.name == "fail" for frame in traceback.extract_tb(caught.value.__traceback__))


def test_create_operator_that_returns_no_operator() -> None:
    for answer, text in ((None, "NoneType None"), (Double, "type <class"), (3, "int 3")):
        with raises(ArgumentError, f"TestProp.create_operator returned {text}", "expected a CustomOp", "return MyOp()"):
            call(operator_of(lambda answer=answer: answer))


# -- forward -----------------------------------------------------------------------------------------------------------


def test_forward_that_is_not_defined() -> None:
    with raises(OperatorError, "CustomOp.forward failed", "CustomOp defines no forward(self, is_train, req, in_data"):
        call(register())


def test_forward_that_leaves_an_output_unwritten() -> None:
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])
        self.assign(out_data[1], "null", in_data[0])

    text = "Op.forward left output 'q' unwritten. Assign it: self.assign(out_data[1], req[1], value)"
    with raises(ArgumentError, text):
        call(operator_of(op(forward), list_outputs=["p", "q"]))

    def lost(self, is_train, req, in_data, out_data, aux):
        out_data[0] = in_data[0] * 2  # changes the list, not the output

    with raises(ArgumentError, "Op.forward left output 'output' unwritten"):
        call(operator_of(op(lost)))


def test_assign_of_a_wrong_shape_in_forward() -> None:
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0].T)

    text = "Op.forward assigns float32 (3, 2) to output 'output', which has shape (2, 3); they must be equal."
    with raises(ShapeError, text, "as infer_shape promised"):
        call(operator_of(op(forward)))

    def of_numpy(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(np.zeros(3)))

    with raises(ShapeError, "Op.forward assigns float32 (3,) to output 'output', which has shape (2, 3)"):
        call(operator_of(op(of_numpy)))


def test_assign_with_an_unknown_request() -> None:
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], "wirte", in_data[0])

    with raises(ArgumentError, "Op.assign: unknown req 'wirte'; expected 'null', 'write', 'inplace' or 'add'"):
        call(operator_of(op(forward)))


# -- backward ----------------------------------------------------------------------------------------------------------


def test_backward_that_is_not_defined() -> None:
    name = operator_of(op())
    assert call(name).shape == (2, 3)
    y = recorded(X.copy(), name)
    with raises(NoGradientError, "Op defines no backward, and a gradient through it was asked for", "x.detach()"):
        y.backward()


def test_backward_that_assigns_a_wrong_shape() -> None:
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0].sum(axis=0))

    text = "Op.backward assigns float32 (3,) to the gradient of 'data', which has shape (2, 3); they must be equal."
    with raises(ShapeError, text, "in the shape (2, 3), that of the input itself"):
        gradient(X.copy(), operator_of(op(backward=backward)))


def test_backward_that_leaves_a_needed_gradient_unwritten() -> None:
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])

    name = operator_of(op(backward=backward), list_arguments=["data", "weight"])
    x, weight = X.copy(), X.copy()
    assert gradient(x, name, weight).tolist() == np.ones((2, 3)).tolist()  # the weight's is not needed
    weight.attach_grad()
    with raises(GradientError, "Op.backward left the gradient of 'weight' unwritten", "in_grad[1], req[1]", "assign 0"):
        gradient(x, name, weight)
    assert weight.grad.asnumpy().tolist() == np.zeros((2, 3)).tolist()


# -- exceptions of the user's own --------------------------------------------------------------------------------------


class Refused(Exception):
    """An exception whose constructor takes something else than a text."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyError, OSError, StopIteration, IndexError, MemoryError])
@pytest.mark.parametrize("where", ["forward", "backward"])
def test_exceptions_keep_class_and_traceback(kind: type[Exception], where: str) -> None:
    def failing_line(self: Any, *arguments: Any) -> None:
        raise kind("of the user")

    name = operator_of(op(**{where: failing_line}))
    x = nd.array([1, 2])
    x.attach_grad()
    with pytest.raises(kind) as caught, autograd.record():
        nd.Custom(x, op_type=name).backward()
    error = caught.value
    assert isinstance(error, MXNetError)
    first, *rest = str(error).splitlines()
    assert first == f"Custom operator '{name}': Op.{where} failed (data float32 (2,))"
    assert rest == [f"  {kind.__name__}: {kind('of the user')}"]
    assert type(error.original) is kind
    assert any(frame.name == "failing_line" for frame in traceback.extract_tb(error.__traceback__))
    assert not autograd.is_recording()
    assert not autograd.is_training()


def test_exceptions_with_other_constructors() -> None:
    def forward(self: Any, *arguments: Any) -> None:
        raise Refused(3, "no")

    with pytest.raises(OperatorError, match=r"Op.forward failed .*\n  Refused: \(3, 'no'\)") as caught:
        call(operator_of(op(forward)))
    assert type(caught.value.original) is Refused


def test_errors_of_the_library_inside_an_operator_name_it() -> None:
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + nd.zeros((7,)))

    name = operator_of(op(forward))
    with raises(OperatorError, f"Custom operator '{name}': Op.forward failed", "shapes do not broadcast") as caught:
        call(name)
    assert isinstance(caught.value, ShapeError)


def test_an_operator_inside_an_operator_is_named_once() -> None:
    def fail(self: Any, *arguments: Any) -> None:
        raise KeyError("inner")

    inner = operator_of(op(fail))

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.Custom(in_data[0], op_type=inner))

    with raises(OperatorError, f"Custom operator '{inner}'", "KeyError: 'inner'") as caught:
        call(operator_of(op(forward)))
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).count("Custom operator") == 1
    assert caught.value.original is not caught.value


def test_registry_and_tape_are_usable_after_exceptions() -> None:
    class Fragile(CustomOp):
        fail = True

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            if Fragile.fail:
                raise RuntimeError("not yet")
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    name = operator_of(Fragile)
    x, w = nd.array([1, 2]), nd.array([5, 6])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = nd.Custom(x * w, op_type=name) * w
    for _ in range(2):
        with pytest.raises(OperatorError, match="RuntimeError: not yet"):
            y.backward()
        assert x.grad.asnumpy().tolist() == w.grad.asnumpy().tolist() == [0, 0]
    Fragile.fail = False
    y.backward()  # the failures have neither freed the graph nor written half of the gradients
    assert x.grad.asnumpy().tolist() == [50, 72]
    assert w.grad.asnumpy().tolist() == [20, 48]
    np.testing.assert_allclose(gradient(nd.array([0.0]), "shared_sigmoid"), [0.25])
