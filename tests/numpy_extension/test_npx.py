"""`npx`: networks' operators on `np` arrays; its own functions; arrays of both kinds on one tape."""

from __future__ import annotations

import json

import numpy
import pytest
from places import GOLDEN

import minpy as mx
from minpy import nd, np, npx
from minpy.core.errors import ArgumentError, ArgumentValueError, ContextError, ShapeError
from minpy.ops.inference.numpy_reshaping import resolve_numpy_shape
from minpy.ops.numpy.extension_names import OPERATOR_NAMES
from minpy.ops.registry import OPERATORS

X = numpy.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], "float32")
CALLS = {
    "activation": lambda f, x: f(x, act_type="relu"),
    "batch_dot": lambda f, x: f(x.reshape((2, 1, 3)), x.reshape((2, 3, 1))),
    "batch_flatten": lambda f, x: f(x.reshape((2, 3, 1))),
    "cast": lambda f, x: f(x, dtype="float64"),
    "embedding": lambda f, x: f(x * 0, x, input_dim=2, output_dim=3),
    "erf": lambda f, x: f(x),
    "fully_connected": lambda f, x: f(x, x, num_hidden=2, no_bias=True),
    "layer_norm": lambda f, x: f(x, x[0], x[1]),
    "leaky_relu": lambda f, x: f(x, act_type="gelu"),
    "log_softmax": lambda f, x: f(x),
    "one_hot": lambda f, x: f(x[0], depth=4),
    "pick": lambda f, x: f(x, x[:, 1] * 0),
    "relu": lambda f, x: f(x),
    "sequence_mask": lambda f, x: f(x, x[1] * 0 + 1, use_sequence_length=True),
    "shape_array": lambda f, x: f(x),
    "sigmoid": lambda f, x: f(x),
    "slice": lambda f, x: f(x, begin=(0, 1), end=(1, 3)),
    "smooth_l1": lambda f, x: f(x, scalar=1.0),
    "softmax": lambda f, x: f(x, axis=0),
    "topk": lambda f, x: f(x, k=2),
}


@pytest.mark.parametrize("name", CALLS)
def test_operators_answer_with_numpy_arrays(name):
    call, function = CALLS[name], getattr(npx, name)
    answer = call(function, np.array(X))
    assert type(answer) is np.ndarray
    numpy.testing.assert_array_equal(answer.asnumpy(), call(OPERATORS[OPERATOR_NAMES[name]], nd.array(X)).asnumpy())
    symbol = call(getattr(mx.sym.npx, name), mx.sym.var("x").as_np_ndarray())
    assert type(symbol) is mx.sym.np._Symbol
    (output,) = symbol.eval(x=np.array(X))
    numpy.testing.assert_allclose(output.asnumpy(), answer.asnumpy(), rtol=1e-6, atol=1e-7)
    assert function.__name__ == name


def test_every_operator_that_exists_has_its_name():
    for module in (npx, mx.sym.npx):
        assert {name for name, kind in OPERATOR_NAMES.items() if kind in OPERATORS} <= {*dir(module)}
    with pytest.raises(AttributeError, match=r"minpy\.npx has no function 'softmx'\. Did you mean 'softmax'"):
        _ = npx.softmx


def test_reshape_codes_are_those_of_mxnet():
    cases = json.loads(GOLDEN.joinpath("numpy_reshape.json").read_text())
    assert len(cases) >= 400
    for shape, target, reverse, wanted in cases:
        if isinstance(wanted, list):
            assert resolve_numpy_shape(shape, target, reverse) == tuple(wanted)
        else:
            with pytest.raises(ShapeError, match=r"npx\.reshape: cannot reshape"):
                resolve_numpy_shape(shape, target, reverse)


@pytest.mark.parametrize(
    ("shape", "target", "text"),
    [
        ((2, 3), (-1, -1), "-1 stands more than once"),
        ((2, 3), (-3, -4), "code -3 drops an axis of length 1, and this one is 2 long"),
        ((2, 3), (-2, -2, -2), "code -2 is for 1 axis, and fewer are left"),
        ((2, 3), (-2, -5), "code -5 is for 2 axes, and fewer are left"),
        ((6,), (-6, 4, -1), "code -6 splits 6 into 4 x 1"),
        ((6,), (-6, -1, -1), "code -6 comes with two lengths, of which one may be -1"),
        ((2, 3), (-7,), "-7 is no length and no code; codes are -1 to -6"),
        ((2, 3), (4, -1), "6 elements cannot be divided by 4"),
        ((2, 3), (4, 2), r"it has 6 elements, and \(4, 2\) has 8"),
    ],
)
def test_reshape_says_what_does_not_fit(shape, target, text):
    with pytest.raises(ShapeError, match=rf"npx\.reshape: cannot reshape .*: .*{text}"):
        npx.reshape(np.ones(shape), target)


def test_own_functions(tmp_path):
    x = np.array(X)
    assert npx.nonzero(x).tolist() == numpy.argwhere(X).tolist()
    out = np.zeros(6)
    assert npx.reshape(x, -1, out=out) is out
    numpy.testing.assert_array_equal(out.asnumpy(), X.ravel())
    with pytest.raises(ArgumentError, match=r"npx\.reshape: order is 'F'; expected 'C'"):
        npx.reshape(x, -1, order="F")
    assert bool(npx.constraint_check(x > -5, "low"))
    with pytest.raises(ArgumentValueError, match=r"^low \(npx\.constraint_check: 1 of 6 elements are not true\.\)"):
        npx.constraint_check(x > -2, "low")
    with pytest.raises(ContextError, match=r"gpu_memory_info\(0\): .*no GPU"):
        npx.gpu_memory_info()
    file = tmp_path / "arrays"
    npx.save(file, [x, np.array(3.0)])
    loaded = npx.load(file)
    assert [type(one) for one in loaded] == [np.ndarray] * 2
    assert [one.shape for one in loaded] == [(2, 3), ()]
    assert npx.waitall() is None
    assert npx.num_gpus() == 0


def test_files_under_np_shape_are_of_the_version_that_mxnet_reads_there(tmp_path):
    versions = []
    for active in (False, True):
        with mx.np_shape(active):
            npx.save(tmp_path / "x", {"x": np.ones(2)})
        versions.append((tmp_path / "x").read_bytes()[24:28][::-1].hex())
    assert versions == ["f993fac9", "f993faca"]


def test_draws():
    npx.seed(3)
    first = npx.random.normal_n(np.zeros(3), 1.0, (4,))
    npx.random.seed(3)
    numpy.testing.assert_array_equal(npx.random.normal_n(np.zeros(3), 1.0, (4,)).asnumpy(), first.asnumpy())
    assert first.shape == (4, 3)
    assert (
        npx.random.uniform_n(np.array([0.0, 5.0]), np.array([1.0, 6.0]), 100).asnumpy().mean(0).round().tolist()[1] >= 5
    )
    odds = npx.random.bernoulli(logit=np.array([-50.0, 50.0]))
    assert odds.tolist() == [0.0, 1.0]
    with pytest.raises(ArgumentError, match=r"bernoulli: give one of prob= and logit="):
        npx.random.bernoulli()


def test_both_kinds_of_arrays_share_memory_and_the_tape():
    x = nd.array([1.0, 2.0])
    y = x.as_np_ndarray()
    y[0] = 7
    assert x.asnumpy().tolist() == [7.0, 2.0]
    y.as_nd_ndarray()[1] = 5
    assert x.asnumpy().tolist() == [7.0, 5.0]
    assert numpy.shares_memory(x._data, y._data)
    x.attach_grad()
    with mx.autograd.record():
        there = (x * x).as_np_ndarray()
        back = np.exp(there * 0.1).as_nd_ndarray()
        total = nd.sum(back).as_np_ndarray().sum()
    total.backward()
    values = numpy.array([7.0, 5.0])
    numpy.testing.assert_allclose(x.grad.asnumpy(), numpy.exp(values**2 * 0.1) * 0.2 * values, rtol=1e-5)
    variable = np.array([1.0, 3.0])
    variable.attach_grad()
    with mx.autograd.record():
        result = nd.sum(nd.square(variable.as_nd_ndarray()))
    result.backward()
    assert variable.grad.tolist() == [2.0, 6.0]
    assert np.array(3.0).as_nd_ndarray().shape == (1,)


def test_layers_find_both_namespaces_at_either_f():
    assert nd.np is mx.np
    assert nd.npx is mx.npx

    def layer(F, x):
        return F.npx.relu(F.np.mean(x, axis=1) - 1)

    on_arrays = layer(nd, np.array(X))
    (output,) = layer(mx.sym, mx.sym.var("x").as_np_ndarray()).eval(x=np.array(X))
    numpy.testing.assert_array_equal(output.asnumpy(), on_arrays.asnumpy())


def test_in_place_orders_of_copies():
    x = np.array(X)
    assert x.copy("F")._data.flags.f_contiguous
    assert x.T.copy()._data.flags.c_contiguous
    x.attach_grad()
    with mx.autograd.record():
        y = x.copy("F") * 2
    y.backward()
    assert (x.grad.asnumpy() == 2).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["erf", "erfinv", "gamma", "gammaln", "sigmoid", "relu"])
def test_functions_of_integers_answer_in_their_dtype_in_every_mode(name: str, dtype: str) -> None:
    """As in MXNet; hybridized and compiled they did so, but eagerly not."""
    function = getattr(mx.npx, name)
    with numpy.errstate(all="ignore"):
        x = mx.np.array([0, 1, 2], dtype=dtype)
        eager = function(x)
        assert type(eager) is np.ndarray
        assert eager.dtype == dtype
        classic = getattr(mx.nd, name)(mx.nd.array([0, 1, 2], dtype=dtype))
        numpy.testing.assert_array_equal(eager.asnumpy(), classic.asnumpy())
        compiled = mx.compile(lambda x: function(x))
        for _ in range(4):
            answer = compiled(x)
            assert answer.dtype == dtype
            numpy.testing.assert_array_equal(answer.asnumpy(), eager.asnumpy())
