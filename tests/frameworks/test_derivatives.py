"""Derivatives of any order as functions of flat arrays, their texts, and inference of what operators return."""

import numpy as np
import pytest
from framework_operators import ROWS, ROWS_BY_NAME, differentiable

import minpy as mx
from minpy import customop
from minpy.core.errors import ArgumentError, MXNetError, NoGradientError
from minpy.frameworks.derivatives import Derivative, fresh
from minpy.frameworks.digests import digest_of
from minpy.frameworks.spec_texts import read_text, text_of

STEP = 1e-6


def directional(function, values, positions, tangents):
    """Return the central difference of a function along tangents."""
    moved = [[*values], [*values]]
    for sign, point in zip((1, -1), moved, strict=True):
        for position, tangent in zip(positions, tangents, strict=True):
            point[position] = values[position] + sign * STEP * tangent
    return [(high - low) / (2 * STEP) for high, low in zip(function(*moved[0]), function(*moved[1]), strict=True)]


def derivative_of(row):
    return Derivative(row.operator, row.attributes, row.num_outputs)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_derivatives_of_each_order_are_those_of_the_order_below(row):
    random = np.random.default_rng(1)
    derivative, values = derivative_of(row), row.inputs()
    for order in range(1, row.order + 1):
        moving = differentiable(values) if order == 1 else differentiable(values)[-2:]
        results = derivative(*values)
        cotangents = [random.normal(size=result.shape) for result in results]
        inexact = [result.dtype.kind == "f" for result in results]
        tangents = [random.normal(size=values[position].shape) for position in moving]
        pull = derivative.pull(moving)
        below = [*cotangents, *(results if order == 1 else ()), *values]
        gradients = pull(*below)
        assert [gradient.shape for gradient in gradients] == [values[position].shape for position in moving]
        changes = directional(derivative, values, moving, tangents)
        expected = sum(
            np.sum(change * cotangent)
            for change, cotangent, is_inexact in zip(changes, cotangents, inexact, strict=True)
            if is_inexact
        )
        zero = [row.operator.is_zero(position) for position in moving] if order == 1 else [False] * len(moving)
        if not any(zero):
            actual = sum(np.sum(part * tangent) for part, tangent in zip(gradients, tangents, strict=True))
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-7)
            if row.order > 1:
                pushed = derivative.push(moving)(*tangents, *values)
                for change, tangent, is_inexact in zip(changes, pushed, inexact, strict=True):
                    if is_inexact:
                        np.testing.assert_allclose(tangent, change, rtol=1e-5, atol=1e-7)
        derivative, values = pull, below


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_a_derivative_returns_is_inferred(row):
    derivative, values = derivative_of(row), row.inputs()
    for order in range(min(row.order, 2) + 1):
        results = derivative(*values)
        inferred = (
            derivative.infer([(value.shape, value.dtype) for value in values])
            if order
            else [*row.operator.infer(*values, **row.attributes)]
        )
        assert [(spec[0], spec[1]) for spec in inferred] == [(result.shape, result.dtype) for result in results]
        assert all(result.flags.c_contiguous and result.flags.writeable for result in results)
        assert not any(np.may_share_memory(result, value) for result in results for value in values)
        moving = differentiable(values)[-1:]
        values = [*(np.ones_like(result) for result in results), *(results if order == 0 else ()), *values]
        derivative = derivative.pull(moving)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_text_means_the_same_derivative(row):
    derivative = derivative_of(row).pull([0]).push([0])
    again = Derivative.from_spec(row.operator, derivative.spec)
    assert (again.chain, again.attributes, again.num_outputs) == (
        derivative.chain,
        derivative.attributes,
        derivative.num_outputs,
    )
    assert Derivative.from_spec(row.operator, derivative.spec) is again


@pytest.mark.parametrize(
    "value",
    [1, -0.0, 1e-300, float("inf"), -float("inf"), 2 + 3j, None, True, "a'b\\", (), (1,), (1, (2.5, None)), [1, "x"]],
    ids=repr,
)
def test_values_survive_as_text(value):
    again = read_text(text_of(value))
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_dtypes_survive_as_text():
    assert read_text(text_of({"dtype": np.dtype("int16"), "type": np.float32})) == {
        "dtype": np.dtype("int16"),
        "type": np.float32,
    }
    assert np.isnan(read_text(text_of(float("nan"))))


def test_an_array_is_no_attribute():
    with pytest.raises(ArgumentError, match=r"softplus: beta is float64 .*Make an array an input\."):
        _ = Derivative(ROWS_BY_NAME["softplus"].operator, {"beta": np.ones(2)}).spec


def test_a_rule_that_is_missing_is_said():
    @customop("numpy")
    def half(x):
        return x / 2

    with pytest.raises(NoGradientError, match="half has no gradient for argument 0"):
        Derivative(half).pull([0])(np.ones(2), np.ones(2), np.ones(2))


def test_the_number_of_outputs_is_checked():
    @customop("numpy")
    def two(x):
        return tuple(x + number for number in range(2))

    with pytest.raises(
        ArgumentError, match=r"two returned a tuple of 2, and was taken to return one array\. .*outputs=2"
    ):
        Derivative(two)(np.ones(2))


def test_absent_inputs_are_none():
    @customop("numpy")
    def shifted(x, shift=None, scale=None):
        return (x if shift is None else x + shift) * (1 if scale is None else scale)

    shifted.def_grad(lambda ans, x, shift, scale: lambda g: g * (1 if scale is None else scale))
    shifted.def_grad(lambda ans, x, shift, scale: lambda g: g * (x + (0 if shift is None else shift)), argnum=2)
    derivative = Derivative(shifted, absent=(1,))
    x, scale = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    [result] = derivative(x, scale)
    np.testing.assert_array_equal(result, x * scale)
    first, second = derivative.pull([0, 1])(np.ones(2), result, x, scale)
    np.testing.assert_array_equal(first, scale)
    np.testing.assert_array_equal(second, x)


def test_results_are_in_memory_of_their_own():
    x = np.ones((2, 3))
    assert fresh(x.T).flags.c_contiguous
    assert fresh(x) is x
    assert fresh(x[:]) is not x
    assert type(fresh(np.float64(1.0))) is np.ndarray


def test_what_is_inferred_says_how():
    def values_of(x):
        return x[x > 1]

    guessed = customop("numpy")(values_of).infer(((3,), "float64"))
    assert guessed.is_guess
    assert guessed.source == "run"
    ruled = mx.nd.FullyConnected.infer(((4, 3), "float32"), ((2, 3), "float32"), ((2,), "float32"), num_hidden=2)
    assert [(spec.shape, spec.dtype) for spec in ruled] == [((4, 2), np.dtype("float32"))]
    assert not ruled.returns_tuple
    two = ROWS_BY_NAME["to_polar"].operator.infer(((4,), "float32"), ((4,), "float64"))
    assert two.returns_tuple
    assert str(two) == "(float64 (4,), float64 (4,)), by capture"
    assert mx.nd.Dropout.infer(((2,), "float32"))[0].shape == (2,)
    assert len(mx.nd.Dropout.infer(((2,), "float32"))) == 1


def test_an_argument_without_a_shape_is_refused():
    with pytest.raises(ArgumentError, match=r"says no shape and dtype; expected an array, or a pair"):
        ROWS_BY_NAME["softplus"].operator.infer("x")
    with pytest.raises(ArgumentError, match=r"\(2, 3\) says no dtype; expected a pair of .* such as \(\(2, 3\),"):
        ROWS_BY_NAME["softplus"].operator.infer((2, 3))
    with pytest.raises(MXNetError, match="softplus: argument 'x' is missing"):
        ROWS_BY_NAME["softplus"].operator.infer()


def test_tensors_of_another_library_tell_their_shape_and_dtype():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    operator = ROWS_BY_NAME["softplus"].operator
    assert str(operator.infer(torch.ones(2, 3))[0]) == "float32 (2, 3)"
    with pytest.raises(ArgumentError, match=r"torch\.bfloat16 \(2,\) has a dtype that NumPy does not have"):
        operator.infer(torch.ones(2, dtype=torch.bfloat16))


def made(factor, code="2 * x", rule="factor * g", name="f"):
    scope = {"np": np, "factor": factor}
    exec(f"def {name}(x): return {code}\ndef rule(ans, x): return lambda g: {rule}", scope)
    operator = customop("numpy")(scope[name])
    return operator.def_grad(scope["rule"])


def test_the_digest_is_another_one_where_something_else_is_computed():
    digests = [
        digest_of(operator)[0]
        for operator in (
            made(2.0),
            made(3.0),
            made(2.0, code="3 * x"),
            made(2.0, rule="factor * g + 0"),
            made(np.arange(3.0)),
            made(np.arange(3.0) + 1),
            made({"a": 1}),
            made({"a": 2}),
            made(lambda: 1),
            made(lambda: 2),
            made(2.0).def_shape(lambda x: x),
        )
    ]
    assert len(set(digests)) == len(digests)
    assert digest_of(made(2.0)) == digest_of(made(2.0))


def test_the_digest_says_what_it_cannot_read():
    assert digest_of(made(2.0))[1]
    assert not digest_of(made(iter([1])))[1]
