"""`minpy.core.grad` takes what MinPy's took, `minpy.grad` refuses it; MinPy's arrays, tape and check of gradients."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import minpy
import minpy.numpy as np
from minpy import sym
from minpy.array import Array, Number, Value, wrap
from minpy.array_variants import ArrayType
from minpy.core import Function, grad, grad_and_loss
from minpy.core.errors import ArgumentError, DTypeError, NoGradientError, ShapeError
from minpy.primitive import NoGradientFuncError, Primitive, customop
from minpy.tape import Tape, global_tape, tape
from minpy.utils.gradient_checker import quick_grad_check

# -- what minpy.grad refuses -------------------------------------------------------------------------------------------

# (function, arguments, argnum, the gradient as MinPy 0.3.4 has it, what minpy.grad raises)
LENIENT: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any, Any, type[Exception]]] = {
    "a Python int": (lambda x: x * x, (3,), 0, 6.0, DTypeError),
    "an array of integers": (lambda x: np.sum(x * x), (numpy.arange(3),), 0, [0, 2, 4], DTypeError),
    "a boolean": (lambda x: 2 * x, (True,), 0, 2.0, DTypeError),
    "a range of positions": (lambda x, y: x * y, (2.0, 3.0), range(2), [3.0, 2.0], ArgumentError),
    "a set of one position": (lambda x, y: x * y, (2.0, 3.0), {1}, 2.0, ArgumentError),
    "a result that is an array": (lambda x: x * x, (numpy.arange(3.0),), 0, [0, 2, 4], ShapeError),
    "a result of shape (1,)": (lambda x: np.sum(np.log(x))[0], (numpy.array([1.0, 2.0]),), 0, [1, 0.5], UserWarning),
    "several results": (lambda x: (x * x, 3 * x), (numpy.ones(2),), 0, [5, 5], ShapeError),
    "a gradient of zero": (lambda x, y: y * 1.0, (numpy.ones(2), 1.0), 0, [0, 0], AssertionError),
}


@pytest.mark.parametrize("name", LENIENT)
def test_core_grad_takes_what_minpy_took(name: str) -> None:
    function, arguments, argnum, wanted, refusal = LENIENT[name]
    found = grad(function, argnum)(*arguments)
    both = grad_and_loss(function, argnum)(*arguments)[0]
    for gradient in (found, both):
        numpy.testing.assert_array_equal(gradient, wanted)
        for part in gradient if isinstance(gradient, list) else [gradient]:
            numpy.testing.assert_array_equal(numpy.asarray(part.asnumpy()), numpy.asarray(part))
    if refusal is not AssertionError:  # minpy.grad tells of each but the last, which is none of MinPy's leniency
        with pytest.raises(refusal):
            minpy.grad(function, argnum)(*arguments)


def test_kinds_of_gradients_and_losses_are_minpys() -> None:
    gradients, loss = grad_and_loss(lambda x, y: np.sum(x) * y, (0, 1))(numpy.ones(2, numpy.float32), 3)
    assert [type(value) for value in (*gradients, loss)] == [Array, Number, Array]
    assert gradients[0].dtype == "float32"
    assert (gradients[1].asnumpy(), float(loss), loss[0].asnumpy()) == (2.0, 6.0, 6.0)
    assert [type(value) for value in grad_and_loss(lambda x: x * x)(3)] == [Number, Number]
    assert type(grad(lambda x: (x * x).sum())(minpy.nd.ones(2))) is minpy.nd.NDArray


def test_functions_are_given_minpys_arrays() -> None:
    seen: list[Any] = []

    def loss(x: Any, labels: Any, axis: Any) -> Any:
        seen.extend((x, labels, axis))
        assert labels.asnumpy().tolist() == [1, 0]
        return np.sum(x[np.arange(2), labels], axis=axis)

    assert grad(loss)(numpy.ones((2, 2)), numpy.array([1, 0]), 0).tolist() == [[0, 1], [1, 0]]
    assert [type(value) for value in seen] == [Array, Array, int]


def test_arrays_stand_for_themselves_where_a_function_reads_them_elsewhere() -> None:
    params = {"w": np.array([2.0, 3.0]), "b": np.ones((1,)), "unused": np.ones((1,))}

    def loss(*_: Any) -> Any:
        return np.sum(params["w"] ** 2 * params["b"])

    gradients, _ = grad_and_loss(loss, range(3))(*params.values())
    assert [gradient.tolist() for gradient in gradients] == [[4, 6], [13], [0]]
    assert all(value._node is None for value in params.values())
    with pytest.raises(ZeroDivisionError):
        grad(lambda *_: 1 / 0)(params["w"])
    assert params["w"]._node is None


def test_gradients_nest_and_move_numpys_arrays() -> None:
    assert grad(grad(lambda x: x**3))(2) == 12
    assert grad(lambda x: np.sum(grad(lambda y: np.sum(y**3))(x) ** 2))(numpy.ones(2)).tolist() == [36, 36]
    weights = numpy.ones(3)
    weights -= 0.25 * grad(lambda w: np.sum(w * w))(weights)
    assert type(weights) is numpy.ndarray
    assert weights.tolist() == [0.5] * 3


def test_what_minpys_own_refused_is_refused() -> None:
    with pytest.raises(DTypeError, match="argument 0 is str 'text'"):
        grad(lambda x: x)("text")
    with pytest.raises(ArgumentError, match="there is no argument 2"):
        grad(lambda x: x, 2)(1.0)
    with pytest.raises(ArgumentError, match="returned None"):
        grad(lambda x: None)(1.0)


def test_a_number_of_an_array_without_axes_is_itself_with_a_warning() -> None:
    total = np.sum(np.ones((2, 2)))
    for key in (0, -1):
        with pytest.warns(UserWarning, match=r"one number: x\.item\(\) returns it\..* \(1,\) in MinPy"):
            assert total[key] == 4
    with pytest.raises(IndexError, match=r"x\[1\] of an array of shape \(\), which is one number"):
        total[1]
    with pytest.raises(IndexError), pytest.warns(UserWarning, match="one number"):
        total[0][0]  # programs that take the first element until there is none come to an end
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with minpy.autograd.record(), pytest.warns(UserWarning, match="one number"):
        y = np.sum(x * x)[0]
    y.backward()
    assert x.grad.tolist() == [2, 4]


# -- symbols as functions ----------------------------------------------------------------------------------------------


def test_a_function_ignores_names_that_it_does_not_need() -> None:
    layer = Function(sym.FullyConnected(sym.var("X"), name="fc", num_hidden=2), {"X": (3, 4)})
    assert layer._param_shapes == {"fc_weight": (2, 4), "fc_bias": (2,)}
    assert (layer._out_shapes, layer._aux_shapes) == ({"fc_output": (3, 2)}, {})
    params = {name: np.ones(shape) for name, shape in layer._param_shapes.items()}
    assert layer(X=np.ones((5, 4)), other_weight=np.ones(7), **params).tolist() == [[5, 5]] * 5
    assert layer.get_params().keys() == params.keys()
    with pytest.raises(ArgumentError, match=r"no variable 'fc_weigth'; .* Did you mean 'fc_weight'\?"):
        layer(X=np.ones((3, 4)), fc_weigth=params["fc_weight"])
    with pytest.raises(ArgumentError, match="no variable 'images'; its variables are X, fc_weight, fc_bias"):
        layer(images=np.ones((3, 4)))


# -- arrays ------------------------------------------------------------------------------------------------------------


def test_what_is_computed_from_minpys_arrays_is_one() -> None:
    x, plain = wrap(numpy.ones((2, 2))), np.ones((2, 2))
    results = [x + 1, 1 + x, plain * x, x @ plain, np.exp(x), x.sum(), x[0], x.T, np.concatenate([plain, x]), x > 0]
    assert {type(result) for result in results} == {Array}
    assert type(plain + plain) is np.ndarray
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Array
        assert made.tolist() == x.tolist()


def test_kinds_of_values_are_told_apart() -> None:
    number, array, plain = wrap(3), wrap(numpy.ones(2)), np.ones(2)
    assert [isinstance(number, kind) for kind in (Value, Number, Array, float)] == [True, True, False, True]
    assert [isinstance(array, kind) for kind in (Value, Number, Array)] == [True, False, True]
    assert [isinstance(plain, kind) for kind in (Value, Number, Array)] == [True, False, True]
    assert not isinstance(minpy.nd.ones(2), Value)
    assert wrap(array) is array
    assert wrap("text") == "text"
    assert wrap(True) is True


def test_an_array_gives_its_values_in_both_kinds() -> None:
    raw = numpy.array([1.0, 2.0])
    array = Array(raw, ArrayType.NUMPY)
    assert array.get_data(ArrayType.NUMPY) is raw
    array.get_data_mutable(ArrayType.MXNET)[:] = 7
    assert raw.tolist() == [7, 7]
    assert array.has_type(ArrayType.MXNET)
    assert (array.context, array.id == array.id, array.wait_to_read()) == (minpy.cpu(), True, None)
    with pytest.raises(ArgumentError, match="5 is no kind of array"):
        array.get_data(5)


def test_numbers_compute_as_what_they_were_made_from() -> None:
    three = Number(3)
    for found, wanted in [
        (three + 1, 4), (1 - three, -2), (three * 2.5, 7.5), (three / 2, 1.5), (7 // three, 2), (three % 2, 1),
        (2**three, 8), (-three, -3), (abs(Number(-3)), 3), (three + three, 6),
    ]:  # fmt: skip
        assert type(found) is Number
        assert (found, repr(found)) == (wanted, repr(wanted))
    assert list(range(three)) == [0, 1, 2]
    assert (three * np.ones(2)).tolist() == (numpy.ones(2) * three).tolist() == [3, 3]
    assert Number(numpy.float32(0.5)).get_data(ArrayType.NUMPY) == 0.5
    assert type(pickle.loads(pickle.dumps(three))) is Number
    with pytest.raises(ArgumentError, match=r"3 is a number, which has no place on a tape; take np.array\(3\)"):
        three.mark_for_bp(Tape())


# -- the tape ----------------------------------------------------------------------------------------------------------


def test_a_tape_is_turned_on_and_off() -> None:
    x, unused = wrap(np.array([1.0, 2.0])), wrap(np.ones(3))
    with tape() as current:
        assert global_tape() is current
        x.mark_for_bp(current)
        before = np.sum(x)
        assert not x.is_marked_for_bp(current)
        current.start_recording()
        assert x.is_marked_for_bp(current)
        y, z = x * x, 3 * x
        current.stop_recording()
        gradients = current.get_gradient((x, unused), (y, z, before))
    assert [gradient.tolist() for gradient in gradients] == [[5, 7], [0, 0, 0]]
    assert global_tape() is None
    assert not minpy.autograd.is_recording()
    with pytest.raises(ArgumentError, match="get_gradient takes arrays of minpy, got"):
        current.get_gradient((3.0,), y)


def test_a_tape_is_of_its_thread_and_ends_with_its_scope() -> None:
    found: list[Any] = []

    def record_and_fail() -> None:
        with tape() as current:
            current.start_recording()
            thread = threading.Thread(target=lambda: found.append(global_tape()))
            thread.start()
            thread.join()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record_and_fail()
    assert found == [None]
    assert not minpy.autograd.is_recording()


# -- operators, and the check ------------------------------------------------------------------------------------------


def test_a_primitive_is_an_operator() -> None:
    square = Primitive(numpy.square, ArrayType.NUMPY, type_str="mine")
    assert not square.gradable((0,), ())
    square.def_grad(lambda ans, x: lambda g: 2 * g * x)
    assert (square.gradable((0,), ()), square.type, square.typestr) == (True, ArrayType.NUMPY, "NumPy")
    assert grad(square)(numpy.array([1.0, 2.0])).tolist() == [2, 4]
    assert isinstance(customop("numpy")(lambda x: x), Primitive)
    twice = Primitive(lambda x: 2 * x, ArrayType.MXNET)
    assert isinstance(twice(minpy.nd.ones(2)), minpy.nd.NDArray)
    with pytest.raises(NoGradientFuncError, match="no gradient for argument 0"):
        grad(twice)(numpy.ones(2))
    assert NoGradientFuncError is NoGradientError
    with pytest.raises(ArgumentError, match="return the new value instead of mutate_args"):
        Primitive(numpy.square, ArrayType.NUMPY, mutate_args=[0])
    with pytest.raises(ArgumentError, match="7 is no kind of array"):
        Primitive(numpy.square, 7)


def test_the_check_of_gradients_tells_a_wrong_rule(capsys: pytest.CaptureFixture[str]) -> None:
    draws = numpy.random.RandomState(0)
    assert quick_grad_check(lambda x: np.sum(np.log(x))[0], numpy.full((2, 3), 3.0), rs=draws)
    assert capsys.readouterr().out.startswith("The gradient is right in this direction: ")

    @customop("numpy")
    def cube(x: Any) -> Any:
        return x**3

    cube.def_grad(lambda ans, x: lambda g: g * 2 * x**2)
    assert not quick_grad_check(lambda x: np.sum(cube(x)), np.array([1.0, 2.0]), rs=draws)
    assert capsys.readouterr().out.startswith("The gradient is wrong in this direction: ")
    assert quick_grad_check(lambda x: x * x, 2.0, verbose=False, rs=draws)
