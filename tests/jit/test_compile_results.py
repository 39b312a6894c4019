"""What compiled functions return: memory of their own, one array where it is one, NumPy's dtypes and classes."""

import collections
import numbers

import numpy as np
import pytest

import minpy as mx
from minpy.backends.switches import CompileWarning
from minpy.differentiation.trees import leaves_of

COMPILES = True

CALLS = 4  # before and after a program has become native code
X = np.arange(1.0, 10.0).reshape(3, 3)

VIEWS = {
    "itself": lambda x: x, "slice": lambda x: x[1:], "transposed": lambda x: x.T, "real": lambda x: x.real,
    "view": lambda x: x.view(), "reshape": lambda x: x.reshape(-1), "diagonal": lambda x: np.diagonal(x),
    "nested": lambda x: {"a": [x[0], x * 2], "b": (x.T, 3)}, "squeeze": lambda x: np.squeeze(x),
    "astype": lambda x: x.astype("float64", copy=False),
}  # fmt: skip


@pytest.mark.parametrize("which", VIEWS)
@pytest.mark.parametrize("written", [False, True], ids=["graph", "as written"])
def test_results_share_no_memory_with_arguments(which, written):
    view = VIEWS[which]

    def function(x):
        if written and x[0, 0] > -1:
            return view(x)
        return view(x)

    compiled = mx.compile(function)
    for number in range(CALLS):
        x = X.copy()
        if written and not number:
            with pytest.warns(CompileWarning, match="as it is written"):
                found = compiled(x)
        else:
            found = compiled(x)
        for one, other in zip(leaves_of(found), leaves_of(view(x)), strict=True):
            np.testing.assert_array_equal(one, other)
            if isinstance(one, np.ndarray):
                if one is x:  # it may have been changed: it is not exchanged for a copy
                    continue
                assert not np.may_share_memory(one, x)
                one[...] = 0
        np.testing.assert_array_equal(x, X)
    assert (compiled.reason is not None) == written


def test_views_of_recorded_arrays_are_copies_with_gradients():
    @mx.compile
    def function(x):
        return x[1:] if x[0] > 0 else x

    x = mx.np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    for number in range(2):
        with mx.autograd.record():
            if number:
                y = function(x)
            else:
                with pytest.warns(CompileWarning, match="as it is written"):
                    y = function(x)
            total = (y * y).sum()
        total.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), [0, 4, 6])
        assert not np.may_share_memory(y.asnumpy(), x.asnumpy())


def twice(x):
    y = x**2
    return y, {"again": y, "other": x**2 + 0}, [x, x, y.sum()]


def pattern(values):
    """Where each leaf stands first."""
    leaves = leaves_of(values)
    return [next(place for place, other in enumerate(leaves) if other is one) for one in leaves]


@pytest.mark.parametrize("kind", [np.array, mx.np.array, mx.nd.array])
def test_what_is_returned_twice_is_one_array(kind):
    compiled = mx.compile(twice)
    for _ in range(CALLS):
        x = kind(X)
        found = compiled(x)
        assert pattern(found) == pattern(twice(x)) == [0, 0, 2, 3, 3, 5]
        for one, other in zip(leaves_of(found), leaves_of(twice(x)), strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_one_scalar_twice():
    compiled = mx.compile(lambda x: (lambda y: (y, y))(x.sum()))
    for _ in range(CALLS):
        first, second = compiled(X)
        assert first is second
        assert type(first) is np.float64


def test_gradients_of_what_is_returned_twice():
    compiled = mx.compile(lambda x: (lambda y: (y, y, x))(x**2))
    derivative = mx.elementwise_grad(compiled)
    x = mx.np.array(X)
    x.attach_grad()
    for _ in range(CALLS + 1):
        np.testing.assert_array_equal(derivative(X), 4 * X + 1)
        with mx.autograd.record():
            first, second, third = compiled(x)
            assert first is second
            total = (2 * first + 3 * second + third).sum()
        total.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), 10 * X + 1)
        with mx.autograd.record():
            heads = compiled(x)
        mx.autograd.backward(list(heads))
        np.testing.assert_array_equal(x.grad.asnumpy(), 4 * X + 1)


ATTRIBUTES = {
    "real": lambda x: x.real * 2, "imag": lambda x: x.imag, "conj": lambda x: x.conj(), "trace": lambda x: x.trace(),
    "trace of": lambda x: x.trace(1), "conjugate": lambda x: x.conjugate() + 1, "view": lambda x: x.view() + 1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("which", ATTRIBUTES)
def test_attributes_of_arrays(which, dtype):
    function, x = ATTRIBUTES[which], X.astype(dtype)
    compiled = mx.compile(function)
    for _ in range(CALLS):
        found, wanted = compiled(x), function(x)
        assert (type(found), found.dtype) == (type(wanted), wanted.dtype)
        np.testing.assert_array_equal(found, wanted)
    assert compiled.reason is None


WHOLE = {
    "cumsum": lambda x: np.cumsum(x), "method": lambda x: x.cumsum(axis=0), "fabs": lambda x: np.fabs(x),
    "trace": lambda x: np.trace(x), "ldexp": lambda x: np.ldexp(x, 2), "hypot": lambda x: np.hypot(x, 1),
    "maximum": lambda x: np.maximum(x, 1), "clip": lambda x: x.clip(0, 1), "power": lambda x: np.power(x, 3),
    "minimum": lambda x: np.minimum(1, x), "fmax": lambda x: np.fmax(x, 1),
}  # fmt: skip


@pytest.mark.parametrize("which", WHOLE)
def test_integers_and_bools_take_the_dtype_that_numpy_gives(which):
    function = WHOLE[which]
    compiled = mx.compile(function)
    for dtype in ("float64", "int32", "bool", "uint8", "int64"):  # one function, called with all
        if dtype == "bool" and which == "ldexp":
            continue
        x = (X % 2).astype(dtype)
        for _ in range(CALLS):
            found, wanted = compiled(x), function(x)
            assert (type(found), found.dtype) == (type(wanted), wanted.dtype)
            np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert compiled.reason is None


def asking(x):
    total = x.sum()
    checks = [
        isinstance(x, np.ndarray), isinstance(x + 1, np.ndarray), isinstance(total, np.ndarray),
        isinstance(total, np.floating), isinstance(total, float), isinstance(x, (list, tuple)),
        isinstance(x, numbers.Number), isinstance(x, collections.abc.Iterable), isinstance(x, collections.abc.Sequence),
    ]  # fmt: skip
    return [x * check for check in checks]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_may_ask_what_an_argument_is(dtype):
    compiled, x = mx.compile(asking), X.astype(dtype)
    for _ in range(CALLS):
        np.testing.assert_array_equal(compiled(x), asking(x))
    assert compiled.reason is None


def test_functions_may_ask_for_arrays_of_mxnet():
    compiled = mx.compile(lambda x: x * 2 if isinstance(x, mx.nd.NDArray) else x * 3)
    for _ in range(CALLS):
        np.testing.assert_array_equal(compiled(mx.nd.array(X)).asnumpy(), 2 * X)


READ = {
    "shape": lambda x, other: x * other.shape[0], "dtype": lambda x, other: x.astype(other.dtype),
    "fits": lambda x, other: x + 1 if x.shape == other.shape else x,
}  # fmt: skip


@pytest.mark.parametrize("which", READ)
def test_arguments_of_which_only_the_shape_or_dtype_is_read(which):
    function = READ[which]
    compiled = mx.compile(function)
    kinds = [(3, "float64")] * CALLS + [(2, "float64"), (3, "float32"), (2, "float32"), (3, "float64")]
    for shape, dtype in kinds:
        found, wanted = (one(np.ones(3), np.ones(shape, dtype)) for one in (compiled, function))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_what_an_argument_is_depends_on_what_is_given():
    def function(x):
        kinds = np.ndarray, mx.np.ndarray, mx.nd.NDArray
        return x * sum(10**place * isinstance(x, kind) for place, kind in enumerate(kinds))

    compiled = mx.compile(function)
    for _ in range(CALLS):
        for x in (X, mx.np.array(X, dtype=X.dtype), mx.nd.array(X, dtype=X.dtype)):
            found, wanted = compiled(x), function(x)
            assert type(found) is type(wanted)
            np.testing.assert_array_equal(mx.np.array(found).asnumpy(), mx.np.array(wanted).asnumpy())
    assert compiled.reason is None


Pair = collections.namedtuple("Pair", "first second")
SEVERAL = {
    "modf": lambda x: np.modf(x), "divmod": lambda x: np.divmod(x, 2), "split": lambda x: np.split(x, 3),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1]), "eigh": lambda x: np.linalg.eigh(x + x.T),
    "a field": lambda x: np.linalg.eigh(x + x.T).eigenvalues * 2, "slogdet": lambda x: np.linalg.slogdet(x + np.eye(3)),
    "own": lambda x: Pair(x * 2, Pair(x[0], 3)), "only R": lambda x: np.abs(np.linalg.qr(x, mode="r")),
}  # fmt: skip


@pytest.mark.parametrize("which", SEVERAL)
def test_several_arrays_come_in_the_class_that_numpy_gives(which):
    function = SEVERAL[which]
    compiled = mx.compile(function)
    for _ in range(CALLS):
        found, wanted = compiled(X), function(X)
        assert type(found) is type(wanted)
        for one, other in zip(leaves_of(found), leaves_of(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert compiled.reason is None


@pytest.mark.parametrize("function", [lambda x, y: x @ y, lambda x, y: y @ y, lambda x, y: x // y])
def test_products_of_arrays_of_mxnet(function):
    compiled = mx.compile(function)
    x, y = mx.nd.array(X), mx.nd.array([1, 2, 3])
    for _ in range(CALLS):
        found, wanted = compiled(x, y), function(x, y)
        assert (type(found), found.shape) == (type(wanted), wanted.shape)
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
    assert compiled.reason is None


def test_second_derivatives_through_broadcast_positions():
    def picked(x):
        return np.sum(np.take_along_axis(np.sin(x), np.array([[0, 1]]), 1) ** 3)

    def second(function):
        return mx.grad(lambda x: np.sum(mx.grad(function)(x) ** 2))

    wanted = second(picked)(X)
    compiled = second(mx.compile(picked))
    for _ in range(CALLS):
        np.testing.assert_allclose(compiled(X), wanted, rtol=1e-12)


def test_programs_of_many_arguments_see_which_one_does_not_fit():
    count = 80
    compiled = mx.compile(lambda *xs: sum(x * number for number, x in enumerate(xs)))
    xs = [X + number for number in range(count)]
    wanted = sum(x * number for number, x in enumerate(xs))
    for _ in range(CALLS):
        np.testing.assert_allclose(compiled(*xs), wanted, rtol=1e-12)
    assert compiled.explain()[0].count("call") == 0
    for place in (0, 31, 32, count - 1):
        for change in (np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: x.astype("float32")):
            given = [*xs]
            given[place] = change(xs[place])
            np.testing.assert_allclose(compiled(*given), wanted, rtol=1e-12)


def test_an_argument_as_an_array_of_another_class_is_returned_as_that():
    compiled = mx.compile(lambda x: x.as_np_ndarray())
    words = "it returns an array that it was given, as one of another class"
    with pytest.warns(CompileWarning, match=words):
        result = compiled(mx.nd.ones(2))
    assert type(result) is type(compiled(mx.nd.ones(2))) is mx.np.ndarray
