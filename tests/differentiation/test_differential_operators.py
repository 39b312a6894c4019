"""HIPS autograd's names: they compute what autograd's do, and are found by changing the first word of an import."""

from __future__ import annotations

import importlib

import autograd
import autograd.differential_operators
import autograd.extend
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
from minpy import differential_operators
from minpy.core.errors import ArgumentError, DTypeError, ShapeError

A = np.random.default_rng(1).random((3, 3))
X = np.random.default_rng(2).random(3)
V = np.random.default_rng(3).random(3)


def vector(np, x, scale=1.5):
    return np.tanh(np.dot(A, x)) * x * scale


def number(np, x, scale=1.5):
    return np.sum(vector(np, x, scale) ** 2)


def both(function, make, *arguments, **options):
    """Return what a function of autograd's, and ours of the same name, make of a function."""
    ours = getattr(mx, make)(lambda *a, **k: function(np, *a, **k), **options)
    theirs = getattr(autograd.differential_operators, make)(lambda *a, **k: function(anp, *a, **k), **options)
    return ours(*arguments), theirs(*arguments)


@pytest.mark.parametrize("name", ["differential_operators", "extend"])
def test_modules_have_the_names_of_autograds(name):
    ours, theirs = importlib.import_module(f"minpy.{name}"), importlib.import_module(f"autograd.{name}")
    absent = {"Box", "JVPNode", "SparseObject", "VJPNode", "VSpace", "vspace"}
    own = {key for key, value in vars(theirs).items() if callable(value) and not key.startswith("_")}
    if name == "differential_operators":
        own = {key for key in own if getattr(vars(theirs)[key], "__module__", "").startswith("autograd")}
        own -= {"unary_to_nary", "primitive", "vspace", "defvjp_argnum", "atuple"}
        assert all(getattr(mx, key) is getattr(ours, key) for key in own)
    further = {"through_autograd"} if name == "extend" else set()
    assert own - absent == set(ours.__all__) - further


@pytest.mark.parametrize("name", ["Box", "VSpace", "vspace", "SparseObject"])
def test_names_that_are_not_there_have_a_reason(name):
    with pytest.raises(AttributeError, match=f"minpy.extend has no name '{name}': it is how HIPS autograd follows"):
        getattr(mx.extend, name)


@pytest.mark.parametrize("make", ["make_vjp", "make_hvp", "make_jvp", "make_jvp_reversemode", "make_ggnvp"])
def test_linear_maps(make):
    ours, theirs = both(number if make == "make_hvp" else vector, make, X)
    if make in ("make_vjp", "make_hvp"):
        np.testing.assert_allclose(ours[1], theirs[1])
        ours, theirs = ours[0], theirs[0]
    for direction in (V, X):
        for our_part, their_part in zip(np.atleast_2d(ours(direction)), np.atleast_2d(theirs(direction)), strict=True):
            np.testing.assert_allclose(our_part, their_part)


@pytest.mark.parametrize(
    "make", ["hessian_vector_product", "hessian_tensor_product", "vector_jacobian_product", "tensor_jacobian_product"]
)
@pytest.mark.parametrize("argnum", [0, 1])
def test_products(make, argnum):
    function = number if make.startswith("hessian") else vector
    arguments = [X, np.array([1.0, 2.0, 3.0])]
    ours, theirs = both(function, make, *arguments, V, argnum=argnum)
    np.testing.assert_allclose(ours, theirs)


def test_products_with_tensors():
    matrix = np.random.default_rng(4).random((3, 2))
    tensor = np.random.default_rng(5).random((3, 2))
    ours, theirs = both(lambda np, x: np.sum(np.tanh(np.dot(A, x)) ** 2), "hessian_tensor_product", matrix, tensor)
    np.testing.assert_allclose(ours, theirs)
    ours, theirs = both(lambda np, x: np.tanh(np.dot(A, x)), "tensor_jacobian_product", matrix, tensor)
    np.testing.assert_allclose(ours, theirs)
    ours, theirs = both(lambda np, x: np.tanh(np.dot(A, x)), "tensor_jacobian_product", matrix, V)
    np.testing.assert_allclose(ours, theirs)


def test_deriv_of_a_number_and_of_an_array():
    for function, point in ((lambda np, t: np.sin(A * t), 0.7), (vector, X)):
        ours, theirs = both(function, "deriv", point)
        np.testing.assert_allclose(ours, theirs)


def test_grad_and_aux_and_value_and_grad():
    ours, theirs = both(lambda np, x: (number(np, x), x * 2), "grad_and_aux", X)
    np.testing.assert_allclose(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1])
    assert type(ours[1]) is np.ndarray
    ours, theirs = both(number, "value_and_grad", X)
    np.testing.assert_allclose(ours[1], theirs[1])


def test_grad_named():
    ours = mx.grad_named(lambda x, scale: number(np, x, scale), "scale")(X, 2.0)
    theirs = autograd.grad_named(lambda x, scale: number(anp, x, scale), "scale")(X, 2.0)
    np.testing.assert_allclose(ours, theirs)
    with pytest.raises(ArgumentError, match="grad_named: number has no positional argument 'y'; it has np, x, scale"):
        mx.grad_named(number, "y")


def test_multigrad_dict():
    def function(a, b, c=3.0, *rest, d=2.0, **named):
        return a * b**2 * c * d * rest[0] * named["e"]

    gradients = mx.multigrad_dict(function)(2.0, 5.0, 7.0, 11.0, e=13.0)
    assert gradients == {
        "a": 25 * 7 * 2 * 11 * 13,
        "b": 2 * 2 * 5 * 7 * 2 * 11 * 13,
        "c": 2 * 25 * 2 * 11 * 13,
        "rest": (2 * 25 * 7 * 2 * 13,),
        "d": 2 * 25 * 7 * 11 * 13,
        "named": {"e": 2 * 25 * 7 * 2 * 11},
    }
    assert mx.multigrad_dict(lambda a, b=2.0: a * b)(b=4.0, a=3.0) == {"a": 4.0, "b": 3.0}


def test_several_arguments_and_nests():
    vjp, result = mx.make_vjp(lambda p, y: {"out": p["w"] * y}, (0, 1))({"w": X}, V)
    gradients = vjp({"out": np.ones(3)})
    np.testing.assert_array_equal(result["out"], X * V)
    np.testing.assert_array_equal(gradients[0]["w"], V)
    np.testing.assert_array_equal(gradients[1], X)
    value, tangent = mx.make_jvp(lambda p, y: p["w"] * y, (0, 1))({"w": X}, V)(({"w": V}, X))
    np.testing.assert_allclose(tangent, V * V + X * X)
    np.testing.assert_allclose(value, X * V)


def test_they_nest_in_each_other():
    def through_vjp(x):
        return np.sum(mx.make_vjp(np.tanh)(x)[0](x * x))

    np.testing.assert_allclose(mx.grad(through_vjp)(X), mx.grad(lambda x: np.sum((1 - np.tanh(x) ** 2) * x * x))(X))
    third = mx.deriv(mx.deriv(mx.deriv(lambda t: t**5)))
    np.testing.assert_allclose(third(2.0), 240.0)
    np.testing.assert_allclose(mx.make_jvp(mx.grad(lambda x: np.sum(x**3)))(X)(V)[1], 6 * X * V)


def test_a_pull_back_may_be_used_again_and_its_argument_changed():
    x = X.copy()
    vjp, _ = mx.make_vjp(lambda x: x**2)(x)
    x[:] = 0.0
    np.testing.assert_allclose(vjp(np.ones(3)), 2 * X)
    np.testing.assert_allclose(vjp(2 * np.ones(3)), 4 * X)


# -- complex numbers ---------------------------------------------------------------------------------------------------

Z = np.array([0.3 + 0.4j, -0.5 + 0.2j, 1.1 - 0.7j])
COMPLEX = {
    "product": lambda np, z: z * z * (2 - 1j),
    "exp": lambda np, z: np.exp(z) + np.sin(z) / z,
    "power": lambda np, z: z**3 + z**0.5,
    "conjugate": lambda np, z: np.conj(z) * z * 1j,
    "parts": lambda np, z: np.real(z) * z + 1j * np.imag(z),
    "absolute": lambda np, z: np.abs(z) * z,
    "angle": lambda np, z: np.angle(z) * z,
    "matrix": lambda np, z: np.dot(A * (1 + 2j), z),
    "sum": lambda np, z: np.sum(z) * z,
    "fourier": lambda np, z: np.fft.fft(z) * z,
    "index": lambda np, z: z[::-1] * z[0],
    "of real": lambda np, z: np.exp(1j * np.real(z)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives_follow_autograds_convention(name):
    function = COMPLEX[name]
    ours, theirs = both(function, "make_vjp", Z)
    direction = np.array([1.0 + 2.0j, 0.5j, -1.0])
    np.testing.assert_allclose(ours[0](direction), theirs[0](direction), rtol=1e-10)
    _, tangent = mx.make_jvp(lambda z: function(np, z))(Z)(direction)
    difference = (function(np, Z + 1e-6 * direction) - function(np, Z - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(tangent, difference, rtol=1e-7, atol=1e-8)
    if name != "fourier":  # for which autograd has no forward mode
        _, theirs = both(function, "make_jvp", Z)
        np.testing.assert_allclose(tangent, theirs(direction)[1], rtol=1e-10)
    ours, theirs = both(lambda np, z: np.sum(np.abs(function(np, z)) ** 2), "grad", Z)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-15)


def test_the_gradient_of_a_real_function_of_a_complex_number():
    gradient = mx.grad(lambda z: np.real(z) ** 2 + 3 * np.imag(z))(1.0 + 2.0j)
    assert gradient == 2.0 - 3.0j  # du/dx - i du/dy


def test_holomorphic_grad():
    for function in (lambda np, z: z**2 * np.exp(z), lambda np, z: np.sin(z) / z):
        ours, theirs = both(function, "holomorphic_grad", 0.7 + 0.2j)
        np.testing.assert_allclose(ours, theirs)
    with pytest.warns(UserWarning, match="Input to holomorphic_grad is not complex"):
        assert mx.holomorphic_grad(lambda x: x**2)(3.0) == 6.0


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mx.make_vjp(3.0), ArgumentError, r"make_vjp: the first argument is the function .*make_vjp\(f\)\(x\)"),
        (lambda: mx.make_jvp(np.sin, "0"), ArgumentError, "make_jvp: argnum is a position .*, got '0'"),
        (lambda: mx.make_vjp(np.sin)(3), DTypeError, "make_vjp: argument 0 is int 3, and integers have no gradient"),
        (lambda: mx.make_vjp(np.sin, 1)(3.0), ArgumentError, "make_vjp: there is no argument 1: sin was called with 1"),
        (lambda: mx.make_vjp(np.sin)(X)[0](np.ones(2)), ShapeError, r"make_vjp: the gradient has shape \(2,\), expect"),
        (lambda: mx.make_jvp(np.sin)(X)(np.ones(2)), ShapeError, r"make_jvp: the tangent has shape \(2,\), expected"),
        (
            lambda: mx.make_vjp(lambda x: {"y": x})(X)[0](np.ones(3)),
            ShapeError,
            r"make_vjp: the gradient must have the structure of what it belongs to: expected arrays at \['y'\], got",
        ),
        (
            lambda: mx.make_jvp(np.multiply, (0, 1))(X, X)(np.ones(3)),
            ShapeError,
            r"make_jvp: the tangent must have the structure of what it belongs to: expected arrays at \[0\], \[1\]",
        ),
        (
            lambda: mx.make_jvp_reversemode(np.sin)(X)(np.ones(2)),
            ShapeError,
            r"make_jvp_reversemode: the tangent has shape \(2,\), expected \(3,\)",
        ),
        (
            lambda: mx.make_jvp_reversemode(3.0),
            ArgumentError,
            r"make_jvp_reversemode: the first argument is the function to differentiate, got float 3.0. Write make_jvp",
        ),
        (lambda: mx.make_jvp_reversemode(np.sin)(3), DTypeError, "make_jvp_reversemode: argument 0 is int 3, and inte"),
        (lambda: mx.make_hvp(3.0), ArgumentError, r"make_hvp: the first argument is the function .*make_hvp\(f\)\(x\)"),
        (lambda: mx.make_hvp(np.sum)(3), DTypeError, "make_hvp: argument 0 is int 3, and integers have no gradient"),
        (lambda: mx.make_hvp(np.sin)(X), ShapeError, "grad differentiates a function whose result is one number, got"),
        (
            lambda: mx.make_hvp(lambda x: np.sum(x**3))(X)[0](np.ones(2)),
            ShapeError,
            r"make_hvp: the vector has shape \(2,\), expected \(3,\)",
        ),
        (lambda: mx.make_ggnvp(3.0), ArgumentError, r"make_ggnvp: the first argument is the function to differentiate"),
        (
            lambda: mx.make_ggnvp(np.sin)(X)(np.ones(2)),
            ShapeError,
            r"make_ggnvp: the vector has shape \(2,\), expected \(3,\)",
        ),
        (
            lambda: mx.make_ggnvp(np.sin, np.cos)(X),
            ShapeError,
            "grad differentiates a function whose result is one number, got float64",
        ),
        (
            lambda: mx.make_ggnvp(np.sin)(3),
            DTypeError,
            "make_ggnvp: argument 0 is int 3, and integers have no gradient",
        ),
        (lambda: mx.deriv(3.0), ArgumentError, r"deriv: the first argument is the function .*deriv\(f\)\(x\)"),
        (lambda: mx.deriv(np.sin)(3), DTypeError, "deriv: argument 0 is int 3, and integers have no gradient"),
        (lambda: mx.deriv(np.sin, ())(3.0), ArgumentError, r"deriv: argnum is a position .*, got \(\)"),
        (lambda: mx.deriv(np.sin, True)(3.0), ArgumentError, "deriv: argnum is a position .*, got True"),
        (lambda: mx.grad_named(np.sin, "y"), ArgumentError, "grad_named: sin has no positional argument 'y'; it has x"),
        (lambda: mx.grad_and_aux(lambda x: x)(X), ArgumentError, "returned float64 .3,..*; expected a tuple of two"),
        (lambda: mx.grad_and_aux(lambda x: (x, x))(X), ShapeError, "the first of two results, which is one number"),
        (
            lambda: autograd.grad(lambda x: mx.make_vjp(np.sin)(x)[1])(1.0),
            ArgumentError,
            "make_vjp: an argument is traced by HIPS autograd, .* autograd's own make_vjp",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_names_and_docstrings():
    assert mx.make_vjp(vector).__name__ == "make_vjp_of_vector"
    assert differential_operators.vector_jacobian_product is mx.tensor_jacobian_product
