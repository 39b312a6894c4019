"""`from_jax`: functions of JAX's as operators."""

import pickle

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
from minpy import autograd as tape
from minpy.core.errors import ArgumentError

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402

from minpy.frameworks import from_jax  # noqa: E402

DRAWS = np.random.default_rng(0)
X, Y, CLASSES = DRAWS.random((4, 3)) + 0.5, DRAWS.random(3) + 0.5, np.array([0, 2, 1, 1])


@from_jax
def wave(x, *, frequency: float = 1.0):
    """A sine."""
    return jnp.sin(frequency * x)


def _cubed(x):
    return x**3


cubed = from_jax(_cubed, name="cubed")

OPERATORS = {
    "elementwise with an attribute": (wave, (X,), {"frequency": 2.0}),
    "two inputs that broadcast": (from_jax(lambda x, y: jnp.sin(x) * y**2, name="mixed"), (X, Y), {}),
    "several outputs": (
        from_jax(lambda x, y: (jnp.hypot(x, y), jnp.arctan2(y, x)), name="polar"),
        (X, X[::-1].copy()),
        {},
    ),
    "a list of outputs, one of them integers": (
        from_jax(lambda x: [x.max(1), x.argmax(1).astype(jnp.int32), x.min(1)], name="extremes"),
        (X,),
        {},
    ),
    "integer inputs": (
        from_jax(lambda x, c: jax.scipy.special.logsumexp(x, 1) - x[jnp.arange(len(c)), c], name="entropy"),
        (X, CLASSES),
        {},
    ),
    "attributes that are positional": (from_jax(jax.nn.softmax, inputs=("x",)), (X,), {"axis": 0}),
    "inputs by name": (
        from_jax(lambda scale, x, power=2: x**power * scale, inputs=("x", "scale"), name="powers"),
        (X, Y),
        {"power": 3},
    ),
    "a view": (from_jax(lambda x: x.T, name="turned"), (X,), {}),
    "its input": (from_jax(lambda x: x, name="same"), (X,), {}),
    "a reduction": (from_jax(lambda x, *, axis=0: (x * x).sum(axis), name="energy"), (X,), {"axis": 1}),
    "any number of inputs": (from_jax(lambda *xs: sum(x**2 for x in xs), name="norms"), (X, Y, X), {}),
    "a compiled one": (from_jax(jax.jit(lambda x: jnp.tanh(x)), name="bent"), (X,), {}),
    "one that chooses by values": (
        from_jax(lambda x: x**2 if x.sum() > 0 else x, jit=False, name="chosen"),
        (X,),
        {},
    ),
    "independent of an input": (from_jax(lambda x, y: y * 2, name="second"), (X, X), {}),
}


@pytest.mark.parametrize("title", OPERATORS)
def test_operators_pass_their_check_with_second_order(title):
    operator, inputs, attributes = OPERATORS[title]
    report = operator.check(*inputs, **attributes)
    assert {row.result for row in report.rows if row.what.startswith(("gradient", "second order"))} == {"ok"}
    assert report["bound symbol"].result == report["HIPS autograd"].result == "ok"


def test_gradients_of_third_order_are_those_of_the_formula():
    third = mx.grad(mx.grad(mx.grad(lambda x: cubed(x) * x)))  # x⁴
    assert third(2.0) == pytest.approx(48.0)
    nested = autograd.grad(autograd.grad(autograd.grad(lambda x: cubed(x) * x)))
    assert nested(2.0) == pytest.approx(48.0)


def test_a_function_with_a_vjp_of_its_own():
    @jax.custom_vjp
    def halved(x):
        return x

    halved.defvjp(lambda x: (x, None), lambda _, g: (g / 2,))
    assert mx.grad(from_jax(lambda x: halved(x), name="halved"))(3.0) == 0.5


def test_recorded_arrays_of_both_kinds():
    for array in (mx.nd.array(X), mx.np.array(X)):
        array.attach_grad()
        with tape.record():
            loss = wave(array, frequency=3.0).sum()
        assert type(loss) is type(array.sum())
        assert loss.dtype == array.dtype
        loss.backward()
        np.testing.assert_allclose(array.grad.asnumpy(), 3 * np.cos(3 * X), rtol=1e-5)


def test_a_hybridized_block_calls_it():
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.exp(wave(x, frequency=2.0))

    block = Block()
    block.hybridize()
    x = mx.nd.array(X)
    for _ in range(3):
        x.attach_grad()
        with tape.record():
            y = block(x)
        y.backward()
    np.testing.assert_allclose(y.asnumpy(), np.exp(np.sin(2 * X)), rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(np.sin(2 * X)) * 2 * np.cos(2 * X), rtol=1e-4)


def test_a_compiled_function_calls_it():
    compiled = mx.compile(lambda x: np.exp(wave(x, frequency=2.0)) + 1)
    for _ in range(4):
        np.testing.assert_allclose(compiled(X), np.exp(np.sin(2 * X)) + 1)
    np.testing.assert_allclose(mx.grad(lambda x: compiled(x).sum())(X), np.exp(np.sin(2 * X)) * 2 * np.cos(2 * X))


@pytest.mark.parametrize("enabled", [False, True])
def test_arrays_decide_how_many_bits_there_are(enabled):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", enabled)
    try:
        for dtype in ("float16", "float32", "float64", "complex64", "complex128", "int32", "int64", "bool"):
            x = X.astype(dtype)
            assert from_jax(lambda x: x[:2], name="head")(x).dtype == dtype
        large = np.array([2**40])
        assert from_jax(lambda x: x + 1, name="more")(large) == [2**40 + 1]
        np.testing.assert_allclose(mx.grad(lambda x: cubed(x).sum())(X), 3 * X**2, rtol=1e-14)
        assert wave(X.astype("float32"), frequency=2.0).dtype == np.float32
        assert jax.config.jax_enable_x64 == enabled
    finally:
        jax.config.update("jax_enable_x64", before)


def test_gradients_of_complex_numbers_follow_the_convention_of_numpy():
    z = X[0] + 1j * Y

    def loss(multiply):
        return lambda z: anp.real(multiply(z)).sum() + anp.imag(multiply(z)).sum() * 2

    product = from_jax(lambda z: z * z * (1 + 2j), name="product")
    expected = autograd.grad(loss(lambda z: z * z * (1 + 2j)))(z)
    np.testing.assert_allclose(autograd.grad(loss(product))(z), expected)


def test_inputs_of_any_layout_and_numbers():
    plus = from_jax(lambda x, y: x + y, name="plus")
    for x in (X[::-1], X.T, X[:, ::2], X.astype(">f8"), X[:0], np.float64(1.5), [1.0, 2.0]):
        np.testing.assert_array_equal(plus(x, 1.0), np.asarray(x) + 1.0)
    assert plus(X.astype("float32"), 1.0).dtype == np.float32
    result = plus(X, 0.0)
    result += 1  # of its own memory, that can be written


def test_attributes_of_one_value_and_different_types_are_different():
    kinds = from_jax(lambda x, *, a: x + (1 if isinstance(a, bool) else 2 if isinstance(a, int) else 3), name="kinds")
    assert [float(kinds(0.0, a=a)) for a in (True, 1, 1.0, True)] == [1, 2, 3, 1]
    shaped = from_jax(lambda x, *, shape: x.reshape(shape), name="shaped")
    assert shaped(X, shape=[3, 4]).shape == (3, 4) == shaped(X, shape=(3, 4)).shape
    weighed = from_jax(lambda x, *, weights: x * weights, name="weighed")
    np.testing.assert_allclose(weighed(X, weights=Y), X * Y)  # not compiled: nothing to know the array again by


def test_a_function_pickles_where_it_has_a_name():
    assert pickle.loads(pickle.dumps(wave)) is wave
    again = pickle.loads(pickle.dumps(cubed))
    assert again.__name__ == "cubed"
    assert again(2.0) == 8.0
    softmax = pickle.loads(pickle.dumps(from_jax(jax.nn.softmax, inputs=("x",))))
    np.testing.assert_allclose(softmax(X, axis=1).sum(1), 1)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(from_jax(lambda x: x))


def test_names_and_docstrings_are_the_functions():
    assert repr(wave) == "<Operator wave(x, frequency=), gradients: x>"
    assert wave.__doc__ == "A sine.\n\nGradients\n---------\nAll, of any order: computed by JAX."


def test_shapes_and_dtypes_are_told_without_a_run():
    operator = from_jax(lambda x, c: (x[c], x.astype(jnp.float32).sum()), name="taken")
    facts = operator.output_facts([((4, 3), np.dtype("float64")), ((7,), np.dtype("int64"))], {})
    assert facts == [((7, 3), np.float64), ((), np.float32)]
    plus = from_jax(lambda x, y: x + y, name="plus")
    assert plus.output_facts([((4,), np.dtype("float32")), ((), np.dtype("float64"))], {}) is None
    by_values = from_jax(lambda x: x[x > 1], name="large", jit=False)
    assert by_values.output_facts([((4, 3), np.dtype("float64"))], {}) is None


class TestErrors:
    """What cannot be done is said."""

    def test_a_function_that_asks_for_values(self):
        operator = from_jax(lambda x: x if x.sum() > 0 else -x, name="chosen")
        with pytest.raises(ArgumentError, match=r"JAX does not compile its function.*from_jax\(\.\.\., jit=False"):
            operator(X)

    def test_a_dtype_that_numpy_has_not(self):
        operator = from_jax(lambda x: x.astype(jnp.bfloat16), name="short")
        with pytest.raises(ArgumentError, match=r"short: its function returned an array of dtype bfloat16, which"):
            operator(X)

    def test_something_else_than_arrays(self):
        with pytest.raises(ArgumentError, match="output 1 of its function returned"):
            from_jax(lambda x: (x, "a"), name="text", jit=False)(X)

    def test_inputs_that_cannot_be_told(self):
        with pytest.raises(ArgumentError, match=r"has no parameter 'z'; it has x, axis"):
            from_jax(lambda x, axis=0: x, inputs=("z",))
        with pytest.raises(ArgumentError, match=r"from_jax makes an operator of a function of arrays, got"):
            from_jax(3)

    def test_an_array_that_becomes_a_number(self):
        total = from_jax(lambda x: float(x.sum()), name="total", jit=False)
        np.testing.assert_allclose(total(X), X.sum())
        with pytest.raises(ArgumentError, match=r"total_vjp: JAX does not trace its function.*without float\(\)"):
            mx.grad(total)(X)
        with pytest.raises(ArgumentError, match=r"name the arrays: inputs=\('x',\)"):
            from_jax(jax.nn.softmax)(X)

    def test_an_attribute_that_is_an_array(self):
        with pytest.raises(ArgumentError, match=r"frequency is an attribute, through which no gradient.*from_jax"):
            mx.grad(lambda f: wave(X, frequency=f).sum())(2.0)
