"""What calls with unusual arguments do, and what errors say of those that cannot be taken."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import customop, nd, sym
from minpy.core.errors import ArgumentError, DTypeError, MutationError, MXNetError, ShapeError

X = sym.var("x")
BYTES = np.frombuffer(b"abcd", dtype="uint8")

# Call, kind of the error in Python's hierarchy, and the text.
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "zeros into another shape": (
        lambda: nd.zeros((2, 2), out=nd.ones((2, 3))),
        ShapeError,
        "nd.zeros: out has shape (2, 3), the result has (2, 2); they must be equal.",
    ),
    "ones into another shape": (
        lambda: nd.ones(2, out=nd.ones((2, 3))),
        ShapeError,
        "nd.ones: out has shape (2, 3), the result has (2,); they must be equal.",
    ),
    "zeros of another storage": (
        lambda: nd.zeros(2, stype="csr"),
        ArgumentError,
        "nd.zeros: stype='csr' is not supported: there are no sparse arrays here. Leave stype out, for a dense array.",
    ),
    "a gradient of another storage": (
        lambda: nd.zeros(2).attach_grad(stype="row_sparse"),
        ArgumentError,
        (
            "attach_grad: stype='row_sparse' is not supported: there are no sparse arrays here. Leave stype out, for a "
            "dense array."
        ),
    ),
    "unknown parameters of a distribution": (
        lambda: nd.sample_normal(loc=nd.ones(1), scale=nd.ones(1)),
        TypeError,
        "sample_normal has no argument 'loc'; it takes mu, sigma, shape, dtype, out, name.",
    ),
    "an argument by position and by another name": (
        lambda: nd.power(nd.ones(1), base=nd.ones(1)),
        ArgumentError,
        "broadcast_power: argument 'lhs' is given twice, by position and by keyword.",
    ),
    "an argument by position and by name": (
        lambda: nd.exp(nd.ones(1), data=nd.ones(1)),
        ArgumentError,
        "exp: argument 'data' is given twice, by position and by keyword.",
    ),
    "integers of more than 64 bits": (
        lambda: nd.array([2**70], dtype="int64"),
        DTypeError,
        "nd.array: list of 1: [int 1180591620717411303424] holds integers of more than 64 bits, which no dtype does.",
    ),
    "NaN as an integer": (
        lambda: nd.array([1, float("nan")], dtype="int8"),
        DTypeError,
        "nd.array: the value nan is no int8 number. Give a floating-point dtype.",
    ),
    "from_numpy of a list": (
        lambda: nd.from_numpy([1, 2]),  # type: ignore[arg-type]
        ArgumentError,
        "from_numpy: got list of 2: [int 1, int 2]; expected a numpy.ndarray. Use nd.array() instead.",
    ),
    "from_numpy in another order": (
        lambda: nd.from_numpy(np.ones((2, 3)).T),
        ValueError,
        "from_numpy: the array is not contiguous; pass zero_copy=False, or numpy.ascontiguousarray(a).",
    ),
    "a value written to memory that is not ours": (
        lambda: nd.from_numpy(BYTES).__setitem__(slice(1, 2), 5),
        MutationError,
        (
            "x[1:2] = value: the memory of the array is read-only, because it is that of another object, such as "
            "bytes. Write to a copy: x = x.copy(), or nd.from_numpy(a, zero_copy=False)."
        ),
    ),
    "coordinates out of range": (
        lambda: nd.gather_nd(nd.ones((2, 3)), nd.array([[0, 1], [0, 5]])),
        IndexError,
        "gather_nd: index 5 is out of range for axis 1 of length 3.",
    ),
    "positions out of range": (
        lambda: nd.scatter_nd(nd.ones(1), nd.array([[-4]]), shape=(3,)),
        IndexError,
        "scatter_nd: index -4 is out of range for axis 0 of length 3.",
    ),
    "rows out of range": (
        lambda: nd.take(nd.ones(3), nd.array([3]), mode="raise"),
        IndexError,
        "take: index 3 is out of range for an axis of length 3.",
    ),
    "an argument by two names": (
        lambda: nd.power(nd.ones(1), rhs=2, exp=3),
        TypeError,
        "broadcast_power: one argument is given twice, as 'rhs' and as 'exp'.",
    ),
    "a symbol's argument by two names": (
        lambda: sym.maximum(X, right=2, rhs=3),
        TypeError,
        "sym.maximum: one argument is given twice, as 'right' and as 'rhs'.",
    ),
    "no shape at all": (
        lambda: nd.reshape(nd.ones(4)),
        ArgumentError,
        "reshape: attribute 'shape' is missing; pass shape=... .",
    ),
    "two lengths to infer": (
        lambda: nd.reshape(nd.ones(4), target_shape=(0, 0)),
        ShapeError,
        "reshape: cannot reshape (4,) to (-1, -1): -1 stands more than once.",
    ),
    "slopes that fit no axes": (
        lambda: nd.LeakyReLU(nd.ones((2, 3)), nd.ones(5), act_type="prelu"),
        ShapeError,
        (
            "LeakyReLU: gamma has shape (5,); expected (1,) or (3,), one slope a channel, or (2, 3), one for each "
            "example too."
        ),
    ),
    "parameters that a symbol does not have": (
        lambda: X.bind(mx.cpu(), [nd.ones(1)]).copy_params_from({"yy": nd.ones(1)}),
        ValueError,
        (
            "copy_params_from: the symbol has no argument 'yy'; it has x. Pass allow_extra_params=True to leave out "
            "what it does not have."
        ),
    ),
    "attributes of all nodes": (
        lambda: X.list_attr(recursive=True),
        ArgumentError,
        "<Symbol x>.list_attr: recursive=True is not supported any more; use attr_dict().",
    ),
    "an unknown keyword of a random symbol": (
        lambda: sym.random.uniform(surprise=1),
        ArgumentError,
        (
            "sym.random.uniform: got an unexpected keyword argument 'surprise'; it takes low, high, shape, dtype, ctx, "
            "name, attr."
        ),
    ),
    "an unknown axis in place": (
        lambda: nd.ones(2).expand_dims(3, inplace=True),
        ShapeError,
        "expand_dims: axis 3 is out of range for an array with 2 axes; expected -2 <= axis < 2.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(MXNetError) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert str(caught.value) == message


def test_numpy_semantics_do_not_wrap() -> None:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("NumPy 1 wraps integers")
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        mx.numpy.array([200], dtype="int8")
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        mx.numpy.zeros(2, dtype="int8")[0] = 200


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integers_wrap_as_casts_do(dtype: str) -> None:
    values = [0, 1, -1, 127, 128, 255, 256, -129, 2**31, 2**40 + 3, -(2**62)]
    expected = np.array(values).astype(dtype)
    np.testing.assert_array_equal(nd.array(values, dtype=dtype).asnumpy(), expected)
    np.testing.assert_array_equal(nd.array(np.array(values), dtype=dtype).asnumpy(), expected)
    for value, wrapped in zip(values, expected, strict=True):
        assert nd.full(1, value, dtype=dtype).asscalar() == wrapped
        x = nd.zeros(2, dtype=dtype)
        x[1] = value
        assert x.asnumpy().tolist() == [0, wrapped]
    assert nd.array([2.0**63], dtype="uint64").asscalar() == 2**63


def test_memory_of_a_read_only_array_is_written_through_the_ndarray() -> None:
    rows = np.zeros((3, 2), "float32")
    part = rows[1:]
    part.flags.writeable = False
    x = nd.from_numpy(part)
    x[0] = 5
    x += 1
    assert rows.tolist() == [[0, 0], [6, 6], [1, 1]]
    assert rows.flags.writeable
    assert not part.flags.writeable


def test_memory_that_is_not_ours_can_be_read() -> None:
    x = nd.from_numpy(BYTES)
    assert x.asnumpy().tolist() == [97, 98, 99, 100]
    assert (x + 1).asnumpy().tolist() == [98, 99, 100, 101]
    with pytest.raises(ValueError, match="read-only"):
        x += 1


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 0, 3), (0,), (4, 1)])
def test_inplace_is_the_same_array_on_the_same_memory(shape: tuple[int, ...]) -> None:
    for call in (
        lambda x, **more: x.flatten(**more),
        lambda x, **more: x.expand_dims(0, **more),
        lambda x, **more: x.expand_dims(axis=-1, **more),
        lambda x, **more: x.squeeze(**more),
    ):
        x = nd.arange(int(np.prod(shape))).reshape(shape) if np.prod(shape) else nd.zeros(shape)
        copied, shared = call(x), call(x, inplace=True)
        assert shared.shape == copied.shape
        np.testing.assert_array_equal(shared.asnumpy(), copied.asnumpy())
        shared += 1
        np.testing.assert_array_equal(x.asnumpy(), shared.asnumpy().reshape(shape))
        np.testing.assert_array_equal(copied.asnumpy() + 1, shared.asnumpy())


def test_both_semantics_on_one_device() -> None:
    for context in (mx.cpu(), mx.cpu(1), mx.cpu_pinned()):
        x = nd.ones(2, ctx=context)
        assert x.as_np_ndarray().context == context
        assert x.as_np_ndarray().as_nd_ndarray().context == context
        assert type(x.as_np_ndarray()).__mro__[-3:] == type(mx.numpy.array([1])).__mro__[-3:]
        assert (x.as_np_ndarray() + 1).context == context
    x = nd.ones(2, ctx=mx.cpu(1))
    x.attach_grad()
    with mx.autograd.record():
        y = (x.as_np_ndarray() * 3).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3]


def test_contexts_as_text() -> None:
    assert nd.ones(1, ctx="cpu(1)").context == mx.cpu(1)  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match=re.escape("unknown context 'cpu(x)'")):
        nd.ones(1, ctx="cpu(x)")  # type: ignore[arg-type]


def test_current_scopes_can_be_set() -> None:
    before = mx.name.NameManager.current, mx.AttrScope.current, mx.Context.default_ctx
    assert before[2] == mx.current_context()
    try:
        mx.name.NameManager.current = mx.name.Prefix("p_")
        mx.AttrScope.current = mx.AttrScope(ctx_group="g")
        mx.Context.default_ctx = mx.cpu(1)
        assert sym.tanh(X).name == "p_tanh0"
        assert sym.var("y").attr("ctx_group") == "g"
        assert nd.ones(1).context == mx.cpu(1)
    finally:
        mx.name.NameManager.current, mx.AttrScope.current, mx.Context.default_ctx = before
    assert nd.ones(1).context == mx.cpu()


def test_synonyms_do_not_change_how_calls_are_remembered() -> None:
    x = nd.array([2.0])
    for _ in range(3):
        assert nd.power(base=x, exp=3).asscalar() == 8
        assert nd.power(lhs=x, rhs=3).asscalar() == 8
        assert nd.power(x, exp=3, name="n").asscalar() == 8
        assert nd.split_v2(ary=x, indices_or_sections=1)[0].asscalar() == 2
        assert nd.add_n(x, x, num_args=2).asscalar() == 4
        assert nd.add_n(x, x, x, num_args=3).asscalar() == 6


def test_target_shapes_are_saved_and_loaded() -> None:
    symbol = sym.Reshape(X, target_shape=(0, 2), keep_highest=True, name="r")
    assert symbol.list_attr() == {"target_shape": "(0, 2)", "keep_highest": "True"}
    loaded = sym.load_json(symbol.tojson())
    for made in (symbol, loaded):
        assert made.infer_shape(x=(3, 2))[1] == [(3, 2)]
        assert made.eval(x=nd.ones((3, 2)))[0].shape == (3, 2)
    x = nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = nd.reshape(x, target_shape=(3, 0)) * nd.array([[1, 2], [3, 4], [5, 6]])
    y.backward()
    assert x.grad.asnumpy().tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (3,), (1, 3), (1,), (2,)])
def test_slopes_in_every_mode(shape: tuple[int, ...]) -> None:
    data = np.array([[-1.0, 2.0, -0.5], [-3.0, -4.0, 0.25]])
    nd.LeakyReLU.check(data, np.arange(1.0, 1 + np.prod(shape)).reshape(shape), act_type="prelu")


def decorated(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def wrapper(answer: Any, *given: Any, **attributes: Any) -> Any:
        return rule(answer, *given, **attributes)

    return wrapper


def renamed(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def wrapper(answer: Any, first: Any, second: Any) -> Any:
        return rule(answer, first, second)

    return wrapper


def reads_less(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def wrapper(answer: Any, lhs: Any, y: Any) -> Any:
        return lambda g: g * y

    return wrapper


@pytest.mark.parametrize("decorate", [decorated, renamed, reads_less])
def test_rules_that_are_wrapped(decorate: Callable[..., Any]) -> None:
    """A wrapper's parameters are what it is called with, whatever those of the function are that it wraps."""

    @customop("numpy")
    def product(x, y):  # type: ignore[no-untyped-def]
        return x * y

    product.def_grad(decorate(lambda ans, x, y: lambda g: g * y), argnum=0)
    product.def_grad(renamed(lambda ans, x, y: lambda g: g * x), argnum=1)
    x, y = nd.array([2.0, 3.0]), nd.array([5.0, 7.0])
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        z = product(x, y)
    z.backward()
    assert (x.grad.asnumpy().tolist(), y.grad.asnumpy().tolist()) == ([5, 7], [2, 3])
    symbol = product(sym.var("x"), sym.var("y"))
    executor = symbol.bind(mx.cpu(), [x, y], [nd.zeros(2), nd.zeros(2)])
    executor.forward(is_train=True)
    executor.backward(nd.ones(2))
    assert [gradient.asnumpy().tolist() for gradient in executor.grad_arrays] == [[5, 7], [2, 3]]


# -- name= -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"name": "here"}, {"name": None}], ids=["unnamed", "named", "none"])
def test_names_are_for_graphs_only(given):
    x, weight = nd.array([[1.0, 2.0]]), nd.array([[0.5, -1.0]])
    x.attach_grad()
    with mx.autograd.record():
        results = [
            nd.FullyConnected(x, weight, no_bias=True, num_hidden=1, **given),
            nd.FullyConnected(x, weight, num_hidden=1, no_bias=True, **given),
            nd.tanh(x, **given),
            nd.elemwise_add(x, x, **given),
        ]
    expected = [[[-1.5]], [[-1.5]], np.tanh([[1, 2]]), [[2, 4]]]
    for result, numbers in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.asnumpy(), numbers, rtol=1e-6)
    mx.autograd.backward(results)
    slopes = np.array([[1.0, -2.0]]) + 1 - np.tanh([[1, 2]]) ** 2 + 2
    np.testing.assert_allclose(x.grad.asnumpy(), slopes, rtol=1e-5)
    out = nd.zeros((1, 2))
    assert nd.tanh(x, out=out, **given) is out
    np.testing.assert_allclose(out.asnumpy(), np.tanh([[1, 2]]), rtol=1e-6)


def test_a_name_after_a_call_without_one_names_the_node():
    data = mx.sym.var("data")
    for call in (lambda **name: nd.tanh(nd.ones(2), **name), lambda **name: nd.Activation(nd.ones(2), "relu", **name)):
        call()
        call(name="here")
    assert mx.sym.tanh(data, name="bent").name == "bent"
    assert mx.sym.Activation(data, act_type="relu", name="cut").name == "cut"
    assert mx.sym.FullyConnected(data, num_hidden=2, name="full").list_arguments() == [
        "data",
        "full_weight",
        "full_bias",
    ]


# -- out= --------------------------------------------------------------------------------------------------------------


def test_out_takes_one_array_for_each_output():
    x, first, second = nd.array([1.0, 2.0]), nd.zeros(1), nd.zeros(1)
    assert nd.split(x, num_outputs=2, axis=0, out=[first, second])[1] is second
    assert (first.asscalar(), second.asscalar()) == (1, 2)
    one = [nd.zeros(2)]
    assert nd.square(x, out=one) is one
    np.testing.assert_array_equal(one[0].asnumpy(), [1, 4])


@pytest.mark.parametrize("wrong", [nd.zeros(2), [nd.zeros(1)], [nd.zeros(1)] * 3], ids=["one", "few", "many"])
def test_out_of_a_wrong_number_of_arrays(wrong):
    count = len(wrong) if isinstance(wrong, list) else 1
    text = rf"SliceChannel: out= is {count} array\(s\), the call returns 2; give a list with one for each\."
    with pytest.raises(ArgumentError, match=text):
        nd.split(nd.array([1.0, 2.0]), num_outputs=2, axis=0, out=wrong)
    assert not any(array.asnumpy().any() for array in (wrong if isinstance(wrong, list) else [wrong]))
    with pytest.raises(ArgumentError, match=r"square: out= is 2 array\(s\), the call returns 1; give one\."):
        nd.square(nd.ones(1), out=(nd.zeros(1), nd.zeros(1)))
