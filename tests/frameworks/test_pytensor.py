"""`to_pytensor`: operators of minpy in PyTensor."""

import pickle
import warnings

import numpy as np
import pytest
from framework_operators import ROWS, ROWS_BY_NAME, differentiable

import minpy as mx
from minpy.core.errors import ArgumentError, NotTraceableError
from minpy.frameworks import to_pytensor

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pytensor.tensor as pt
    from pytensor.gradient import pushforward, verify_grad

pytestmark = pytest.mark.filterwarnings("ignore")
MODE = pytensor.compile.mode.Mode(linker="py", optimizer="fast_run")


@mx.customop("numpy")
def large(x):
    return np.array([value for value in x if value > 1])


large.def_grad(lambda ans, x: lambda g: np.where(x > 1, 1.0, 0.0))

SOFTPLUS, SCALED, ENERGY = (ROWS_BY_NAME[name].operator for name in ("softplus", "scaled", "sum_of_squares"))
in_table = pytest.mark.parametrize("name", ROWS_BY_NAME)
twice = pytest.mark.parametrize("name", [row.name for row in ROWS if row.order > 1])


def call_of(name):
    row = ROWS_BY_NAME[name]
    return row.operator, row.inputs(), row.attributes


def variables_of(arrays):
    return [pt.tensor(dtype=array.dtype.name, shape=(None,) * array.ndim) for array in arrays]


def of_floats(name):
    """Return (a function of the floating-point inputs to one variable, these inputs)."""
    operator, arrays, attributes = call_of(name)
    floats = [index for index in differentiable(arrays) if not operator.is_zero(index)]
    function = to_pytensor(operator)

    def call(*values):
        inputs = list(arrays)
        for index, value in zip(floats, values, strict=True):
            inputs[index] = value
        result = function(*inputs, **attributes)
        if not isinstance(result, list):
            return result
        return sum((index + 1) * pt.sin(part).sum() for index, part in enumerate(result) if part.dtype == "float64")

    return call, [arrays[index] for index in floats]


@in_table
def test_values_are_those_of_the_operator(name):
    operator, arrays, attributes = call_of(name)
    variables = variables_of(arrays)
    result = to_pytensor(operator)(*variables, **attributes)
    expected = operator(*arrays, **attributes)
    assert isinstance(result, list) == isinstance(expected, tuple)
    results, references = (result, expected) if isinstance(result, list) else ([result], [expected])
    got = pytensor.function(variables, results, mode=MODE)(*arrays)
    for variable, value, reference in zip(results, got, references, strict=True):
        assert variable.type.dtype == reference.dtype
        np.testing.assert_allclose(value, reference)


@in_table
def test_gradients_agree_with_numbers(name):
    call, arrays = of_floats(name)
    verify_grad(call, arrays, rng=np.random.default_rng(1), mode=MODE)


@twice
def test_gradients_of_gradients_agree_with_numbers(name):
    call, arrays = of_floats(name)

    def slope(*values):
        return pytensor.grad(pt.sin(call(*values)).sum(), values[0])

    verify_grad(slope, arrays, rng=np.random.default_rng(1), mode=MODE)


@twice
def test_forward_mode_is_that_of_the_transpose(name):
    call, arrays = of_floats(name)
    variables = variables_of(arrays)
    tangents = variables_of(arrays)
    result = call(*variables)
    pushed = [pushforward(result, variables, tangents, use_op_pushforward=direct) for direct in (True, False)]
    direct, twice = pytensor.function([*variables, *tangents], pushed, mode=MODE)(*arrays, *arrays)
    np.testing.assert_allclose(direct, twice)


@in_table
def test_shapes_are_told_without_a_call(name):
    operator, arrays, attributes = call_of(name)
    variables = variables_of(arrays)
    result = to_pytensor(operator)(*variables, **attributes)
    expected = operator(*arrays, **attributes)
    results, references = (result, expected) if isinstance(result, list) else ([result], [expected])
    for output, reference in zip(results, references, strict=True):
        compiled = pytensor.function(variables, output.shape, on_unused_input="ignore", mode=MODE)
        assert "MinpyOp" not in {type(node.op).__name__ for node in compiled.maker.fgraph.toposort()}
        assert tuple(compiled(*arrays)) == reference.shape


# -- as a graph --------------------------------------------------------------------------------------------------------

as_graph = pytest.mark.parametrize("name", [row.name for row in ROWS if row.traces])


def graph_of(name):
    """Return (variables of known shapes, the results of an operator as a graph of PyTensor's)."""
    operator, arrays, attributes = call_of(name)
    variables = [pt.tensor(dtype=array.dtype.name, shape=array.shape) for array in arrays]
    result = to_pytensor(operator, through="graph")(*variables, **attributes)
    return variables, result if isinstance(result, list) else [result]


@as_graph
def test_graphs_give_what_the_operator_gives(name):
    operator, arrays, attributes = call_of(name)
    variables, results = graph_of(name)
    compiled = pytensor.function(variables, results, mode=MODE)
    assert "MinpyOp" not in {type(node.op).__name__ for node in compiled.maker.fgraph.toposort()}
    expected = operator(*arrays, **attributes)
    for value, reference in zip(compiled(*arrays), expected if len(results) > 1 else [expected], strict=True):
        assert value.dtype == reference.dtype
        np.testing.assert_allclose(value, reference, rtol=1e-13)


@as_graph
def test_gradients_of_graphs_are_those_of_the_rules(name):
    operator, arrays, attributes = call_of(name)
    floats = [index for index in differentiable(arrays) if not operator.is_zero(index)]
    slopes = []
    for through in ("graph", "numpy"):
        variables = [pt.tensor(dtype=array.dtype.name, shape=array.shape) for array in arrays]
        result = to_pytensor(operator, through=through)(*variables, **attributes)
        results = [part for part in (result if isinstance(result, list) else [result]) if part.dtype == "float64"]
        loss = sum((index + 1) * pt.sin(part).sum() for index, part in enumerate(results))
        first = pytensor.grad(loss, [variables[index] for index in floats])
        total = sum(pt.cos(part).sum() for part in first)
        second = pytensor.grad(total, [variables[index] for index in floats])
        slopes.append(pytensor.function(variables, [*first, *second], mode=MODE, on_unused_input="ignore")(*arrays))
    for by_graph, by_numpy in zip(*slopes, strict=True):
        np.testing.assert_allclose(by_graph, by_numpy, rtol=1e-11, atol=1e-13)


def test_numba_does_not_warn_of_graphs():
    x = pt.tensor(dtype="float64", shape=(3,))
    for through, warned in (("graph", False), ("numpy", True)):
        slope = pytensor.grad(to_pytensor(SOFTPLUS, through=through)(x, beta=2.0).sum(), x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled = pytensor.function([x], slope, mode="NUMBA")
            np.testing.assert_allclose(compiled(np.zeros(3)), 0.5)
        assert any("object mode" in str(warning.message) for warning in caught) == warned


def test_a_rule_that_is_not_the_derivative_is_the_gradient_of_the_graph():
    rounded = mx.customop("numpy")(lambda x: np.floor(x))
    rounded.def_grad(lambda ans, x: lambda g: 3 * g)  # straight through, and three times
    x = pt.tensor(dtype="float64", shape=(2,))
    slope = pytensor.grad(to_pytensor(rounded, through="graph")(x).sum(), x)
    np.testing.assert_array_equal(pytensor.function([x], slope, mode=MODE)(np.ones(2)), [3.0, 3.0])


def test_why_there_is_no_graph_is_said():
    function = to_pytensor(SOFTPLUS)
    function(pt.dvector())
    assert "a graph is made for arrays of known shapes, and those of its inputs are (None,)" in function.reason
    function(pt.tensor(dtype="float64", shape=(3,)))
    assert function.reason is None
    with pytest.raises(NotTraceableError, match=r"smoothed does not trace: it makes a Python number of an array"):
        to_pytensor(ROWS_BY_NAME["smoothed"].operator, through="graph")(pt.tensor(dtype="float64", shape=(4, 3)))
    sorted_ = mx.customop("numpy")(lambda x: np.sort(x))
    with pytest.raises(NotTraceableError, match=r"pytensor has no equal of that function: numpy\.sort"):
        to_pytensor(sorted_, through="graph")(pt.tensor(dtype="float64", shape=(4,)))
    with pytest.raises(ArgumentError, match=r"to_pytensor: through='c'; expected 'auto', 'graph' or 'numpy'"):
        to_pytensor(SOFTPLUS, through="c")
    with pytest.raises(ArgumentError, match=r"scaled: argument 'w' is missing; its inputs are x, w"):
        to_pytensor(SCALED)(pt.dvector())


def test_functions_pickle():
    x = pt.dvector()
    function = pickle.loads(pickle.dumps(to_pytensor(SOFTPLUS, through="numpy")))
    assert function.through == "numpy"
    np.testing.assert_allclose(pytensor.function([x], function(x), mode=MODE)(np.zeros(1)), np.log(2))


# -- shapes, and the rest ----------------------------------------------------------------------------------------------


def test_what_does_not_hang_on_unknown_lengths_is_known():
    x = pt.tensor(dtype="float64", shape=(4, None))
    assert to_pytensor(ENERGY)(x, axis=1).type.shape == (4,)
    assert to_pytensor(ENERGY)(x, axis=0).type.shape == (None,)
    assert to_pytensor(SOFTPLUS)(x).type.shape == (4, None)
    first = mx.customop("numpy")(lambda x: x[:2])
    assert to_pytensor(first)(x).type.shape == (2, None)
    assert to_pytensor(first)(pt.dvector()).type.shape == (None,)


def test_shapes_that_hang_on_values_are_found_by_a_run():
    x = pt.dvector()
    result = to_pytensor(large)(x)
    assert result.type.shape == (None,)
    values = np.array([0.5, 1.5, 2.5])
    compiled = pytensor.function([x], [result, result.shape[0]], mode=MODE)
    got, length = compiled(values)
    np.testing.assert_array_equal(got, [1.5, 2.5])
    assert length == 2


def test_third_order():
    x = pt.dscalar()
    result = to_pytensor(SCALED)(1.0, x, power=4)
    for _ in range(3):
        result = pytensor.grad(result, x)
    assert pytensor.function([x], result, mode=MODE)(2.0) == pytest.approx(48.0)


def test_equal_calls_are_computed_once():
    x = pt.dvector()
    function = to_pytensor(SOFTPLUS)
    compiled = pytensor.function([x], function(x, beta=2.0) + function(x, beta=2.0) * function(x), mode=MODE)
    calls = [node for node in compiled.maker.fgraph.toposort() if type(node.op).__name__ == "MinpyOp"]
    assert len(calls) == 2


def test_compiled_functions_pickle():
    x = pt.dvector()
    slope = pytensor.grad(to_pytensor(SOFTPLUS)(x, beta=2.0).sum(), x)
    compiled = pickle.loads(pickle.dumps(pytensor.function([x], slope, mode=MODE)))
    np.testing.assert_allclose(compiled(np.zeros(2)), 0.5)


def test_float32_and_numbers_and_keywords():
    x = pt.fvector()
    result = to_pytensor(SCALED)(x, w=np.float32(2.0))
    assert result.type.dtype == "float32"
    np.testing.assert_allclose(pytensor.function([x], result, mode=MODE)(np.ones(3, "float32")), 4.0)


def test_a_gradient_that_is_not_defined_says_how_to_define_it():
    half = mx.customop("numpy")(lambda x, y: x * y)
    half.__name__ = "half"
    half.def_grad(lambda ans, x, y: lambda g: g * y)
    x, y = pt.dvector(), pt.dvector()
    result = to_pytensor(half)(x, y).sum()
    pytensor.grad(result, x)
    with pytest.raises(Exception, match=r"half has no gradient for argument 1 \(y\)"):
        pytensor.grad(result, y)


def test_what_is_no_operator_is_refused():
    with pytest.raises(ArgumentError, match=r"to_pytensor takes an operator of minpy's, got .*@minpy\.customop\('nu"):
        to_pytensor(np.sin)


def test_inputs_that_it_does_not_take():
    fixed = mx.customop("numpy")(lambda x: x.reshape(7, 11))
    with pytest.raises(ArgumentError, match=r"(?s)lengths that are not known \(None\) tried as 2, 3, 1, 7.*def_shape"):
        to_pytensor(fixed)(pt.dvector())
    assert to_pytensor(fixed)(pt.tensor(dtype="float64", shape=(77,))).type.shape == (7, 11)


@mx.customop("numpy")
def leaky(x, slope=0.1):
    return np.where(x > 0, x, slope * x)


@mx.customop("numpy")
def log_ratio(x, y):
    return np.log(x) - np.log(y)


def test_numbers_among_the_inputs_are_as_wide_as_the_arrays_beside_them():
    for dtype in ("float16", "float32", "float64"):
        x = pt.tensor("x", dtype=dtype, shape=(3,))
        for through in ("graph", "numpy"):
            call = to_pytensor(leaky, through=through)
            assert [call(x).dtype, call(x, 0.3).dtype, call(x, 2).dtype, call(x, slope=1e6).dtype] == [dtype] * 4
    x = pt.tensor("x", dtype="float64", shape=(1,))
    for number in (0.5, 3):  # neither NumPy's log of a float32 nor that of an int8
        value = to_pytensor(log_ratio)(x, number).eval({x: np.ones(1)})
        np.testing.assert_allclose(value, -np.log([number]), rtol=1e-15)
    i = pt.tensor("i", dtype="uint8", shape=(2,))
    assert to_pytensor(leaky)(i, 2).dtype == "uint8"
    assert to_pytensor(leaky)(i, 70000).dtype == "int64"


def test_what_a_call_lacks_or_has_too_much_is_said_as_the_operator_says_it():
    x = pt.dvector()
    with pytest.raises(ArgumentError, match=r"log_ratio takes 2 positional argument\(s\) \(x, y\), got 3"):
        to_pytensor(log_ratio)(x, x, x)
    with pytest.raises(ArgumentError, match=r"softplus has no argument 'bta'; .*Did you mean 'beta'\?"):
        to_pytensor(SOFTPLUS)(x, bta=2.0)
    with pytest.raises(ArgumentError, match=r"softplus: beta is TensorVariable .*Make an array an input"):
        to_pytensor(SOFTPLUS)(x, beta=pt.dscalar())
    # With all lengths known, none was guessed: what is wrong is said alone.
    with pytest.raises(ValueError, match=r"log_ratio: forward failed .*\n.*could not be broadcast together") as caught:
        to_pytensor(log_ratio)(pt.tensor(dtype="float64", shape=(3,)), pt.tensor(dtype="float64", shape=(4,)))
    assert "static shapes" not in str(caught.value)
