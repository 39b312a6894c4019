"""`to_jax`: operators of all kinds as functions of JAX's, as graphs and by callbacks."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

import framework_operators
import numpy as np
import pytest
from framework_operators import ROWS, ROWS_BY_NAME, Row, differentiable
from many import each

import minpy
from minpy import customop
from minpy.core.errors import ArgumentError, DTypeError, NoGradientError, NotTraceableError
from minpy.frameworks import to_jax

jax = pytest.importorskip("jax", reason="needs JAX")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util", reason="needs JAX's tests of gradients").check_grads


@pytest.fixture(autouse=True)
def _with_64_bits() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def function_of(row: Row, through: str) -> tuple[Callable[..., Any], list[Any], Any]:
    """Return (a row's call as a function of its floating-point inputs, these, the operator of JAX's)."""
    operator = to_jax(row.operator, through=through)
    arrays = [jnp.asarray(array) for array in row.inputs()]
    live = differentiable(row.inputs())

    def function(*floats: Any) -> tuple[Any, ...]:
        filled = dict(zip(live, floats, strict=True))
        results = operator(*(filled.get(at, array) for at, array in enumerate(arrays)), **row.attributes)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(result for result in results if result.dtype.kind == "f")

    return function, [arrays[position] for position in live], operator


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: sum(jnp.sum(jnp.sin(result)) for result in function(*values))


def as_arrays(values: Any) -> list[np.ndarray]:
    values = values if isinstance(values, (tuple, list)) else [values]
    return [np.asarray(getattr(value, "_data", value)) for value in values]


FORMS = {f"{row.name} through={through}": (row, through) for through in ("auto", "numpy") for row in ROWS}
GRAPHS = {row.name: (row,) for row in ROWS if row.name != "smoothed" and row.order > 1}


@each(FORMS)
def test_values_and_dtypes(row: Row, through: str) -> None:
    operator = to_jax(row.operator, through=through)
    results = as_arrays(operator(*map(jnp.asarray, row.inputs()), **row.attributes))
    expected = as_arrays(row.operator(*row.inputs(), **row.attributes))
    assert [(result.shape, result.dtype) for result in results] == [(part.shape, part.dtype) for part in expected]
    for result, part in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, part, 1e-12)
    assert (operator.reason is None) == (through == "auto" and row.name in GRAPHS)


@each(FORMS)
def test_reverse_mode_to_the_order_that_there_is(row: Row, through: str) -> None:
    function, floats, _ = function_of(row, through)
    check_grads(function, floats, row.order, modes=["rev"])


@each(GRAPHS)
def test_forward_over_reverse(row: Row) -> None:
    function, floats, operator = function_of(row, "graph")
    check_grads(function, floats, 2, modes=["fwd", "rev"])
    hessian = jax.hessian(summed(function))(*floats)
    np.testing.assert_allclose(hessian, jax.jacrev(jax.jacrev(summed(function)))(*floats), 1e-6, 1e-9)
    assert operator.reason is None


@each(FORMS)
def test_transforms(row: Row, through: str) -> None:
    function, floats, _ = function_of(row, through)
    gradient = jax.grad(summed(function))
    expected = gradient(*floats)
    np.testing.assert_allclose(jax.jit(gradient)(*floats), expected, 1e-9)
    rows = jnp.stack([1.1 * floats[0], floats[0], 0.9 * floats[0]])
    axes = (0, *(None for _ in floats[1:]))
    np.testing.assert_allclose(jax.jit(jax.vmap(gradient, axes))(rows, *floats[1:])[1], expected, 1e-9)
    for result, single in zip(jax.vmap(function, axes)(rows, *floats[1:]), function(*floats), strict=True):
        np.testing.assert_allclose(result[1], single, 1e-9)


@each(FORMS)
def test_without_64_bits(row: Row, through: str) -> None:
    jax.config.update("jax_enable_x64", False)
    function, floats, _ = function_of(row, through)
    expected = as_arrays(row.operator(*row.inputs(), **row.attributes))
    for result, part in zip(function(*floats), [part for part in expected if part.dtype.kind == "f"], strict=True):
        assert result.dtype == "float32"
        np.testing.assert_allclose(result, part, 1e-4, 1e-5)
    gradient = jax.jit(jax.grad(summed(function)))(*floats)
    assert gradient.dtype == "float32"
    jax.config.update("jax_enable_x64", True)
    function, floats, _ = function_of(row, through)
    np.testing.assert_allclose(gradient, jax.grad(summed(function))(*floats), 1e-3, 1e-4)


# -- dtypes ------------------------------------------------------------------------------------------------------------

softplus, pick, scaled = (ROWS_BY_NAME[name].operator for name in ("softplus", "pick", "scaled"))
BOTH = {"graph": ("graph",), "numpy": ("numpy",)}


@each(BOTH)
def test_bfloat16_is_an_error_of_ours(through: str) -> None:
    with pytest.raises(DTypeError, match=r"softplus: x is an array of bfloat16, .* x.astype\('float32'\)"):
        to_jax(softplus, through=through)(jnp.ones(3, "bfloat16"))


@each(BOTH)
def test_integers_give_floating_point_and_have_no_gradient(through: str) -> None:
    operator = to_jax(softplus, through=through)
    whole = jnp.array([1, 2, 3])
    result = operator(whole)
    assert result.dtype == "float64"
    np.testing.assert_allclose(result, softplus(np.array([1, 2, 3])))
    gradient = jax.grad(lambda x: operator(x).sum(), allow_int=True)(whole)
    assert gradient.dtype == jax.dtypes.float0
    scores, classes = (jnp.asarray(array) for array in ROWS_BY_NAME["pick"].inputs())
    chosen = to_jax(pick, through=through)
    gradients = jax.grad(lambda *values: chosen(*values).sum(), (0, 1), allow_int=True)(scores, classes)
    assert (gradients[0].dtype, gradients[1].dtype) == (np.float64, jax.dtypes.float0)


@each(BOTH)
def test_single_and_half_precision_stay(through: str) -> None:
    operator = to_jax(softplus, through=through)
    for dtype in ("float16", "float32", "float64"):
        x = jnp.ones(3, dtype)
        assert operator(x, beta=2.0).dtype == dtype
        assert jax.grad(lambda x: operator(x, beta=2.0).sum())(x).dtype == dtype


@each(BOTH)
def test_numbers_are_weakly_typed_as_numpy_s_are(through: str) -> None:
    operator = to_jax(scaled, through=through)
    x = jnp.ones(3, "float32")
    for call in (lambda: operator(x, 2.0), lambda: jax.jit(operator)(x, 2.0), lambda: operator(x, 2)):
        assert call().dtype == "float32"
        np.testing.assert_allclose(call(), 4.0)
    assert float(jax.grad(lambda w: operator(x, w).sum())(2.0)) == 12.0
    assert operator(2.0, 3.0).shape == ()


@each(BOTH)
def test_arrays_without_axes_and_without_elements(through: str) -> None:
    operator = to_jax(softplus, through=through)
    assert operator(jnp.float64(1.0)).shape == ()
    assert float(jax.grad(operator)(1.0)) == pytest.approx(1 / (1 + np.exp(-1)))
    assert operator(jnp.zeros((0, 3))).shape == (0, 3)
    assert jax.grad(lambda x: operator(x).sum())(jnp.zeros((0, 3))).shape == (0, 3)


# -- errors ------------------------------------------------------------------------------------------------------------


@each(BOTH)
def test_shapes_are_checked_while_jax_traces(through: str) -> None:
    multiplied = to_jax(ROWS_BY_NAME["multiplied"].operator, through=through)
    with pytest.raises(Exception, match="matmul") as caught:
        jax.jit(multiplied)(jnp.ones((2, 3)), jnp.ones((2, 3)))
    assert "XlaRuntimeError" not in type(caught.value).__name__


@each(BOTH)
def test_a_missing_rule_is_named_where_its_gradient_is_asked_for(through: str) -> None:
    @customop("numpy")
    def one_sided(x, y):
        return x * y

    one_sided.def_grad(lambda ans, x, y: lambda g: g * y)
    operator = to_jax(one_sided, through=through)
    x = jnp.ones(3)
    np.testing.assert_allclose(jax.grad(lambda x: operator(x, jnp.ones(3)).sum())(x), 1.0)
    with pytest.raises(NoGradientError, match=r"one_sided has no gradient for argument 1 \(y\)"):
        jax.grad(lambda y: operator(x, y).sum())(x)


def test_attributes_are_values_of_python() -> None:
    operator = to_jax(softplus)
    with pytest.raises(ArgumentError, match=r"softplus: beta is .*What jit traces is an array"):
        jax.jit(lambda x, beta: operator(x, beta=beta))(jnp.ones(3), 2.0)
    with pytest.raises(ArgumentError, match="softplus"):
        operator(jnp.ones(3), gamma=2.0)


def test_what_is_no_operator_and_what_is_no_way() -> None:
    with pytest.raises(ArgumentError, match=r"to_jax takes an operator of minpy's, got .*@minpy.customop"):
        to_jax(np.exp)
    with pytest.raises(ArgumentError, match="through='fast'; expected 'auto', 'graph' or 'numpy'"):
        to_jax(softplus, through="fast")
    with pytest.raises(ArgumentError, match="batch='loop'; expected 'sequential', 'expand_dims' or 'broadcast_all'"):
        to_jax(softplus, batch="loop")
    with pytest.raises(ArgumentError, match="to_jax: outputs is int 0; expected how many arrays"):
        to_jax(softplus, outputs=0)
    with pytest.raises(ArgumentError, match="outputs=2 was said of softplus, which returns 1 for float64"):
        to_jax(softplus, outputs=2)(jnp.ones(3))
    with pytest.raises(ArgumentError, match="BatchNorm changes its states moving_mean, moving_var in place"):
        to_jax(minpy.nd.BatchNorm)


def test_an_array_of_another_library_is_named() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ArgumentError, match=r"x is torch\.float32 \(3,\); expected an array of JAX's or NumPy's"):
        to_jax(softplus)(torch.ones(3))


def test_the_reason_names_the_line() -> None:
    smoothed = ROWS_BY_NAME["smoothed"].operator
    operator = to_jax(smoothed)
    x = jnp.ones((4, 3))
    operator(x)
    for reason in (operator.reason, operator.explain(x)):
        assert reason is not None
        assert "makes a Python number of an array" in reason
        assert "framework_operators.py:" in reason
        assert "float(np.sum(x[index]))" in reason
    with pytest.raises(NotTraceableError, match="makes a Python number of an array"):
        to_jax(smoothed, through="graph")(x)
    with pytest.raises(NotTraceableError, match="makes a Python number of an array"):
        operator.source(x)
    assert "def softplus(a0):" in to_jax(softplus).source(x)


def test_shapes_that_hang_on_values_are_an_error() -> None:
    @customop("numpy")
    def positive(x):
        return x[x > 0]

    with pytest.raises(Exception, match=r"positive: output 0 has shape \(2,\); JAX was told \(3,\)"):
        jax.block_until_ready(to_jax(positive)(jnp.array([1.0, -1.0, 2.0])))


def test_rules_that_are_not_linear_are_called() -> None:
    @customop("numpy")
    def bent(x):
        return x * 2

    bent.def_grad(lambda ans, x: lambda g: np.abs(g) * 2)
    operator = to_jax(bent)
    np.testing.assert_allclose(jax.grad(lambda x: -operator(x).sum())(jnp.ones(2)), 2.0)
    assert operator.reason is not None
    assert operator.reason.startswith("gradient of bent for x: JAX does not take it for linear in the gradient")


# -- what changes ------------------------------------------------------------------------------------------------------


def test_what_a_function_refers_to_may_change() -> None:
    settings = {"factor": 2.0}
    weights = np.array([1.0, 2.0])

    @customop("numpy")
    def factored(x):
        return x * settings["factor"] * weights

    factored.def_grad(lambda ans, x: lambda g: g * settings["factor"] * weights)
    operator = to_jax(factored, through="graph")
    x = jnp.ones(2)
    gradient = jax.grad(lambda x: operator(x).sum())
    np.testing.assert_allclose(operator(x), [2.0, 4.0])
    settings["factor"] = 3.0
    np.testing.assert_allclose(operator(x), [3.0, 6.0])
    np.testing.assert_allclose(gradient(x), [3.0, 6.0])
    weights[:] = 1.0
    np.testing.assert_allclose(operator(x), [3.0, 3.0])
    np.testing.assert_allclose(gradient(x), [3.0, 3.0])


def test_callbacks_hand_over_what_rules_read() -> None:
    seen: list[tuple[bool, ...]] = []

    @customop("numpy")
    def exponential(x):
        return np.exp(x)

    def rule(ans, x):
        return lambda g: g * ans

    exponential.def_grad(rule)
    operator = to_jax(exponential, through="numpy")
    compiled = jax.jit(jax.grad(lambda x: operator(x).sum()))
    x = jnp.array([0.5, 1.0])
    np.testing.assert_allclose(compiled(x), np.exp(x))
    with pytest.warns(UserWarning, match="replaces it"):
        exponential.def_grad(lambda ans, x: lambda g: seen.append((bool(x.any()),)) or g * np.exp(x))
    with pytest.raises(Exception, match=r"exponential has another gradient rule than when JAX traced it"):
        jax.block_until_ready(compiled(x))
    np.testing.assert_allclose(jax.grad(lambda x: operator(x).sum())(x), np.exp(x))
    assert seen == [(True,)]


def test_a_rule_of_forward_mode_is_taken() -> None:
    calls: list[str] = []

    @customop("numpy")
    def doubled(x):
        return x * 2

    doubled.def_grad(lambda ans, x: lambda g: g * 2)
    doubled.def_jvp(lambda ans, x: lambda t: t * 7)  # wrong on purpose, to tell which one runs
    operator = to_jax(doubled, through="graph")
    calls.append(operator.source(jnp.ones(2)))
    _, tangent = jax.jvp(operator, (jnp.ones(2),), (jnp.ones(2),))
    np.testing.assert_allclose(tangent, 7.0)
    assert "tangent_of_doubled" in calls[0]


def test_batches_of_what_is_elementwise_are_one_call() -> None:
    shapes: list[tuple[int, ...]] = []

    @customop("numpy")
    def noted(x):
        shapes.append(x.shape)
        return 1.0 * np.tanh(x) if x.shape else x

    noted.def_grad(lambda ans, x: lambda g: g * (1 - ans * ans))
    rows = jnp.ones((5, 3))
    jax.block_until_ready(jax.vmap(to_jax(noted, through="numpy"))(rows))
    assert shapes.count((3,)) >= 5
    shapes.clear()
    result = jax.vmap(to_jax(noted, through="numpy", batch="broadcast_all"))(rows)
    np.testing.assert_allclose(result, np.tanh(rows))
    assert (5, 3) in shapes
    assert shapes.count((3,)) <= 1


def test_rules_of_def_batch() -> None:
    shapes: list[tuple[int, ...]] = []

    @customop("numpy")
    def product(x, w):
        shapes.append(x.shape)
        return x * w

    product.def_grad(lambda ans, x, w: lambda g: g * w)
    product.def_grad(lambda ans, x, w: lambda g: g * x, argnum=1)
    product.def_batch("elementwise")

    @customop("numpy")
    def total(x, *, axis: int = -1):
        shapes.append(x.shape)
        return np.sum(x * x, axis=axis)

    total.def_grad(lambda ans, x, *, axis: lambda g: 2 * x * np.expand_dims(g, axis))

    @total.def_batch()
    def total_of_batch(batch_size, in_axes, x, *, axis):
        assert in_axes == (0,)
        return total(x, axis=axis + 1 if axis >= 0 else axis), 0

    x, w = jnp.asarray(np.random.rand(5, 4, 3)), jnp.asarray(np.random.rand(5, 3))
    multiplied, summing = to_jax(product, through="numpy"), to_jax(total, through="numpy")
    calls = (
        (lambda x, w: multiplied(x, w).sum(), (x, w), (5, 4, 3), lambda x, w: (x * w).sum()),
        (lambda x, w: summing(x, axis=0).sum() * w[0], (x, w), (5, 4, 3), lambda x, w: (x * x).sum() * w[0]),
    )
    for function, values, batch, expected in calls:
        jax.vmap(function)(*values).block_until_ready()
        shapes.clear()
        for ours, theirs in (
            (function, expected),
            (jax.grad(function), jax.grad(expected)),
            (jax.jacrev(jax.grad(function)), jax.jacrev(jax.grad(expected))),
        ):
            np.testing.assert_allclose(jax.jit(jax.vmap(ours))(*values), jax.vmap(theirs)(*values), 1e-12)
        assert set(shapes) - {(4, 3)} >= {batch}
        assert (4, 3) not in shapes[1:]
        nested = jax.vmap(jax.vmap(function))(*(jnp.stack([value, 2 * value]) for value in values))
        np.testing.assert_allclose(nested[0], jax.vmap(expected)(*values), 1e-12)


def test_threads_scans_and_pickles() -> None:
    operator = pickle.loads(pickle.dumps(to_jax(framework_operators.softplus, through="numpy")))
    totals: list[float] = []

    def work() -> None:
        gradient = jax.jit(jax.grad(lambda x: operator(x, beta=2.0).sum()))
        totals.extend(float(gradient(jnp.ones(3)).sum()) for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(totals) == 40
    assert len(set(totals)) == 1
    for through in ("numpy", "graph"):
        step = to_jax(framework_operators.softplus, through=through)
        last, _ = jax.jit(lambda x, step=step: jax.lax.scan(lambda carry, _: (step(carry), None), x, None, length=3))(
            jnp.ones(3)
        )
        x: Any = np.ones(3)
        for _ in range(3):
            x = softplus(x)
        np.testing.assert_allclose(last, x)


def test_inputs_by_keyword_lists_and_inputs_that_are_left_out() -> None:
    @customop("numpy")
    def shifted(x, shift=None):
        return x if shift is None else x + shift

    shifted.def_grad(lambda ans, x, shift=None: lambda g: g)
    shifted.def_grad(lambda ans, x, shift=None: lambda g: g, argnum=1)
    for through in ("graph", "numpy"):
        operator = to_jax(shifted, through=through)
        x = jnp.ones(2)
        np.testing.assert_allclose(operator(x), 1.0)
        np.testing.assert_allclose(operator(shift=x, x=[1.0, 2.0]), [2.0, 3.0])
        np.testing.assert_allclose(jax.grad(lambda s, operator=operator: operator(x, s).sum())(x), 1.0)
        np.testing.assert_allclose(jax.grad(lambda x, operator=operator: operator(x).sum())(x), 1.0)


def test_built_in_operators_with_attributes() -> None:
    rows: Sequence[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (minpy.nd.LayerNorm, (np.random.rand(4, 3), np.ones(3), np.zeros(3)), {}),
        (minpy.nd.softmax, (np.random.rand(4, 3),), {"axis": 0}),
        (minpy.nd.FullyConnected, (np.random.rand(4, 3), np.random.rand(5, 3), np.random.rand(5)), {"num_hidden": 5}),
        (minpy.nd.Activation, (np.random.rand(4, 3),), {"act_type": "softrelu"}),
    ]
    for op, arrays, attributes in rows:
        operator = to_jax(op)
        expected = as_arrays(op(*map(minpy.nd.array, arrays), **attributes))
        results = as_arrays(operator(*map(jnp.asarray, arrays), **attributes))
        for result, part in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, part, 1e-5, 1e-6)
        check_grads(lambda *values, operator=operator, attributes=attributes: operator(*values, **attributes),
                    tuple(map(jnp.asarray, arrays)), 1, modes=["rev"])  # fmt: skip
