"""`from_torch`: functions of PyTorch's as operators."""

import pickle
import threading
from functools import partial

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
from minpy import autograd as tape
from minpy.core.errors import ArgumentError, GradientError, MutationError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from minpy.frameworks import from_torch  # noqa: E402

torch.set_num_threads(1)
DRAWS = np.random.default_rng(0)
X, Y, CLASSES = DRAWS.random((4, 3)) + 0.5, DRAWS.random(3) + 0.5, np.array([0, 2, 1, 1])


@from_torch
def wave(x, *, frequency: float = 1.0):
    """A sine."""
    return torch.sin(frequency * x)


def _cubed(x):
    return x**3


cubed = from_torch(_cubed, name="cubed")


class LegacyCube(torch.autograd.Function):
    """As functions are written that torch.func does not take."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


OPERATORS = {
    "elementwise with an attribute": (wave, (X,), {"frequency": 2.0}),
    "two inputs that broadcast": (from_torch(lambda x, y: torch.sin(x) * y**2, name="mixed"), (X, Y), {}),
    "several outputs": (
        from_torch(lambda x, y: (torch.hypot(x, y), torch.arctan2(y, x)), name="polar"),
        (X, X[::-1].copy()),
        {},
    ),
    "a list of outputs, one of them integers": (
        from_torch(lambda x: [x.max(1).values, x.argmax(1), x.min(1).values], name="extremes"),
        (X,),
        {},
    ),
    "integer inputs": (
        from_torch(lambda x, c: torch.logsumexp(x, 1) - x[torch.arange(len(c)), c], name="entropy"),
        (X, CLASSES),
        {},
    ),
    "a function without a signature": (from_torch(torch.logsumexp, inputs=("x",)), (X,), {"dim": 1}),
    "inputs by name": (
        from_torch(lambda scale, x, power=2: x**power * scale, inputs=("x", "scale"), name="powers"),
        (X, Y),
        {"power": 3},
    ),
    "a view": (from_torch(lambda x: x.T, name="turned"), (X,), {}),
    "its input": (from_torch(lambda x: x, name="same"), (X,), {}),
    "in place inside": (from_torch(lambda x: x.clone().mul_(x).add_(1.0), name="squared"), (X,), {}),
    "a reduction": (from_torch(lambda x, *, axis=0: (x * x).sum(axis), name="energy"), (X,), {"axis": 1}),
    "any number of inputs": (from_torch(lambda *xs: sum(x**2 for x in xs), name="norms"), (X, Y, X), {}),
    "an autograd.Function": (from_torch(lambda x: LegacyCube.apply(x), name="legacy"), (X,), {}),
    "independent of an input": (from_torch(lambda x, y: y * 2 + 0 * len(x), name="second"), (X, X), {}),
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


def test_forward_mode_and_hessians_follow_from_the_gradient():
    _value, tangent = mx.jvp(lambda x: wave(x, frequency=2.0), (X,), (Y * np.ones_like(X),))
    np.testing.assert_allclose(tangent, 2 * np.cos(2 * X) * Y)
    hessian = mx.hessian(lambda y: cubed(y).sum())(Y)
    np.testing.assert_allclose(hessian, np.diag(6 * Y))


def test_recorded_arrays_of_both_kinds():
    for array in (mx.nd.array(X), mx.np.array(X)):
        array.attach_grad()
        with tape.record():
            loss = wave(array, frequency=3.0).sum()
        assert type(loss) is type(array.sum())
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


def test_symbols_hold_its_name_and_load_it_again():
    symbol = wave(mx.sym.var("x"), frequency=2.0)
    loaded = mx.sym.load_json(symbol.tojson())
    [output] = loaded.bind(mx.cpu(), {"x": mx.nd.array(X)}).forward()
    np.testing.assert_allclose(output.asnumpy(), np.sin(2 * X), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128", "int64", "bool"])
def test_dtypes_go_in_and_come_out_as_they_are(dtype):
    x = X.astype(dtype)
    assert from_torch(lambda x: x[:2], name="head")(x).dtype == dtype


def test_gradients_of_complex_numbers_follow_the_convention_of_numpy():
    z = X[0] + 1j * Y

    def loss(multiply, numpy_like):
        return lambda z: numpy_like.real(multiply(z)).sum() + numpy_like.imag(multiply(z)).sum() * 2

    product = from_torch(lambda z: z * z * (1 + 2j), name="product")
    expected = autograd.grad(loss(lambda z: z * z * (1 + 2j), anp))(z)
    np.testing.assert_allclose(autograd.grad(loss(product, anp))(z), expected)
    magnitude = from_torch(lambda z: z.abs(), name="magnitude")
    np.testing.assert_allclose(
        autograd.grad(lambda z: magnitude(z).sum())(z), autograd.grad(lambda z: anp.abs(z).sum())(z)
    )


def test_inputs_of_any_layout_and_numbers():
    plus = from_torch(lambda x, y: x + y, name="plus")
    read_only = X.copy()
    read_only.setflags(write=False)
    for x in (X[::-1], X.T, X[:, ::2], read_only, X.astype(">f8"), X[:0], np.float64(1.5), 2.5, [1.0, 2.0]):
        np.testing.assert_array_equal(plus(x, 1.0), np.asarray(x) + 1.0)
    assert plus(X.astype("float32"), 1.0).dtype == np.float32


def test_outputs_share_memory_with_nothing():
    kept = torch.zeros(3)
    constant = from_torch(lambda x: kept, name="constant")
    first = constant(X)
    first += 1
    assert not kept.any()
    assert not constant(X).any()
    same = from_torch(lambda x: x, name="same")
    assert not np.shares_memory(same(X), X)


def test_a_module_has_its_parameters_as_constants_or_as_inputs():
    layer = torch.nn.Linear(3, 2).double()
    weight, bias = (parameter.detach().numpy() for parameter in (layer.weight, layer.bias))
    constant = from_torch(layer)
    assert constant.__name__ == "Linear"
    assert constant.signature.inputs == ("input",)
    np.testing.assert_allclose(constant(X), X @ weight.T + bias)
    constant.check(X)
    with torch.no_grad():
        layer.weight += 1.0
    np.testing.assert_allclose(constant(X), X @ weight.T + bias)  # `weight` shares its memory: it has moved, too

    def apply(x, weight, bias):
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    from_torch(apply).check(X, weight.copy(), bias.copy())


def test_a_function_pickles_where_it_has_a_name():
    assert pickle.loads(pickle.dumps(wave)) is wave
    again = pickle.loads(pickle.dumps(cubed))
    assert again.__name__ == "cubed"
    assert again(2.0) == 8.0
    gradient = cubed.gradient_operator((0,), (True,), False, 1)
    assert pickle.loads(pickle.dumps(gradient))(np.ones(1), np.full(1, 2.0)) == [12.0]
    layer = from_torch(torch.nn.Linear(3, 2).double())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(layer))(X), layer(X))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(from_torch(lambda x: x))


def test_names_and_docstrings_are_the_functions():
    assert (wave.__name__, wave.__module__) == ("wave", __name__)
    assert repr(wave) == "<Operator wave(x, frequency=), gradients: x>"
    assert wave.__doc__ == "A sine.\n\nGradients\n---------\nAll, of any order: computed by PyTorch."
    assert cubed.__name__ == "cubed"


def test_shapes_and_dtypes_are_told_without_a_run():
    operator = from_torch(lambda x, c: (x[c], x.to(torch.float32).sum()), name="taken")
    facts = operator.output_facts([((4, 3), np.dtype("float64")), ((7,), np.dtype("int64"))], {})
    assert facts == [((7, 3), np.float64), ((), np.float32)]
    by_values = from_torch(lambda x: x[x > 1], name="large")
    assert by_values.output_facts([((4, 3), np.dtype("float64"))], {}) is None


def test_threads_call_it_at_once():
    gradients, threads = {}, []
    for number in range(4):
        threads.append(threading.Thread(target=partial(_grad_into, gradients, number)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, gradient in gradients.items():
        np.testing.assert_allclose(gradient, 3 * (X + number) ** 2)


def _grad_into(gradients, number):
    for _ in range(20):
        gradients[number] = mx.grad(lambda x: cubed(x).sum())(X + number)


class TestErrors:
    """What cannot be done is said."""

    def test_a_function_that_changes_its_input(self):
        x = X.copy()
        operator = from_torch(lambda x: x.mul_(2), name="doubled")
        with pytest.raises(MutationError, match=r"doubled: it changes its input x in place.*x = x\.clone\(\)"):
            operator(x)
        np.testing.assert_array_equal(x, X)

    def test_a_dtype_that_numpy_has_not(self):
        operator = from_torch(lambda x: x.to(torch.bfloat16), name="short")
        with pytest.raises(ArgumentError, match=r"short: its function returned a tensor of dtype torch\.bfloat16"):
            operator(X)

    def test_something_else_than_tensors(self):
        with pytest.raises(ArgumentError, match=r"text: output 1 of its function returned .*; expected a tensor"):
            from_torch(lambda x: (x, "a"), name="text")(X)
        with pytest.raises(ArgumentError, match=r"returned a torch\.sparse_coo tensor; end it with \.to_dense"):
            from_torch(lambda x: x.to_sparse(), name="sparse")(X)

    def test_random_numbers_in_the_gradient(self):
        operator = from_torch(lambda x: x * torch.rand_like(x), name="noisy")
        operator(X)
        with pytest.raises(GradientError, match=r"the function draws random numbers.*module\.eval\(\)"):
            mx.grad(lambda x: operator(x).sum())(X)

    def test_buffers_of_a_module_that_change(self):
        module = torch.nn.BatchNorm1d(3).double()
        with pytest.raises(GradientError, match=r"the module changes its buffer \w+ at each run"):
            mx.grad(lambda x: from_torch(module)(x).sum())(X)
        from_torch(module.eval()).check(X)

    def test_inputs_that_cannot_be_told(self):
        with pytest.raises(ArgumentError, match=r"the parameters of logsumexp cannot be read off it.*inputs=\('x',\)"):
            from_torch(torch.logsumexp)
        with pytest.raises(ArgumentError, match=r"has no parameter 'z'; it has x, axis"):
            from_torch(lambda x, axis=0: x, inputs=("z",))
        with pytest.raises(ArgumentError, match=r"inputs of <lambda> is .*expected how many there are"):
            from_torch(lambda x: x, inputs=("x", "x"))
        with pytest.raises(ArgumentError, match=r"has no positional parameters"):
            from_torch(lambda *, x: x)
        with pytest.raises(ArgumentError, match=r"from_torch makes an operator of a function of tensors, got"):
            from_torch(3)

    def test_an_array_that_becomes_a_number(self):
        total = from_torch(lambda x: x.sum().item(), name="total")
        np.testing.assert_allclose(total(X), X.sum())
        with pytest.raises(GradientError, match=r"total_vjp: its function returned float .*without float\(\) or"):
            mx.grad(total)(X)

    def test_an_attribute_that_is_an_array(self):
        with pytest.raises(ArgumentError, match=r"frequency is an attribute, through which no gradient flows.*inputs="):
            mx.grad(lambda f: wave(X, frequency=f).sum())(2.0)

    def test_a_rule_for_it(self):
        with pytest.raises(ArgumentError, match=r"wave\.def_grad: the gradient of a TorchFunction is what its library"):
            wave.def_grad(lambda ans, x: lambda g: g)

    def test_an_error_inside(self):
        with pytest.raises(Exception, match=r"mat1 and mat2|size mismatch|shapes cannot be multiplied") as caught:
            from_torch(lambda x, y: x @ y, name="product")(X, X)
        assert "product" in str(caught.value)
