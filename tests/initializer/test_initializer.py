"""Initializers: what they draw, how they are chosen and written, and what they say of bad input.

Values that do not depend on chance are compared with MXNet's in tests/golden/initializer_cases.py.
"""

from __future__ import annotations

import copy
import logging
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import minpy as mx
from minpy import init, nd

KINDS = {"nd": nd.zeros, "np": mx.np.zeros}


def initialized(initializer, shape, dtype="float32", name="w_weight", kind="nd"):
    arr = KINDS[kind](shape, dtype=dtype)
    assert initializer(init.InitDesc(name), arr) is None
    return arr.asnumpy()


# -- what is drawn --------------------------------------------------------------------------------------------------


def factor(shape, kind):
    each = int(np.prod(shape[2:]))
    return {"in": shape[1], "out": shape[0], "avg": (shape[0] + shape[1]) / 2}[kind] * each


# Initializer, shape, its standard deviation, and its bound (None: the normal distribution, which has none).
DRAWN = [
    (init.Uniform(), (200, 300), 0.07 / 3**0.5, 0.07),
    (init.Uniform(2), (60000,), 2 / 3**0.5, 2),
    (init.Normal(), (200, 300), 0.01, None),
    (init.Normal(3), (60000,), 3, None),
    *(
        (init.Xavier("uniform", kind, 3), shape, factor(shape, kind) ** -0.5, (3 / factor(shape, kind)) ** 0.5)
        for kind in ("avg", "in", "out")
        for shape in [(200, 300), (40, 60, 5, 5)]
    ),
    *(
        (init.Xavier("gaussian", kind, 2), (100, 30, 4, 5), (2 / factor((100, 30, 4, 5), kind)) ** 0.5, None)
        for kind in ("avg", "in", "out")
    ),
    (init.MSRAPrelu(), (200, 300), (2 / (1 + 0.25**2) / 250) ** 0.5, None),
    (init.MSRAPrelu("in", 0), (200, 300), (2 / 300) ** 0.5, None),
]


@pytest.mark.parametrize(("initializer", "shape", "deviation", "bound"), DRAWN, ids=lambda value: None)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_distributions(initializer, shape, deviation, bound, dtype):
    mx.random.seed(7)
    values = initialized(initializer, shape, dtype)
    assert values.dtype == dtype
    values = values.astype("float64").ravel()
    assert abs(values.mean()) < 5 * deviation / len(values) ** 0.5
    assert values.std() == pytest.approx(deviation, rel=0.03)
    if bound is None:
        assert (abs(values) > 2 * deviation).mean() == pytest.approx(0.0455, abs=0.005)
    else:
        assert bound * 0.999 < abs(values).max() <= bound * 1.001


@pytest.mark.parametrize("rand_type", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (4, 2, 3), (7, 2, 3)])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5), ("float16", 5e-3)])
def test_orthogonal(rand_type, shape, dtype, tolerance):
    values = initialized(init.Orthogonal(2, rand_type), shape, dtype)
    assert values.dtype == dtype
    matrix = values.astype("float64").reshape(shape[0], -1) / 2
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, np.eye(len(product)), atol=tolerance)


RANDOM = [init.Uniform(), init.Normal(), init.Xavier(), init.MSRAPrelu(), init.Orthogonal()]


@pytest.mark.parametrize("initializer", RANDOM, ids=lambda value: type(value).__name__)
def test_draws_follow_the_seed_of_mx_random_and_no_other(initializer):
    state = np.random.get_state()[1].copy()
    mx.random.seed(3)
    first, second = initialized(initializer, (4, 5)), initialized(initializer, (4, 5), kind="np")
    mx.random.seed(3)
    assert (initialized(initializer, (4, 5)) == first).all()
    assert (initialized(initializer, (4, 5)) == second).all()
    assert (first != second).any()
    assert (np.random.get_state()[1] == state).all()


def test_uniform_draws_what_nd_random_draws():
    mx.random.seed(11)
    values = initialized(init.Uniform(0.5), (3, 4))
    mx.random.seed(11)
    assert (values == nd.random.uniform(-0.5, 0.5, (3, 4)).asnumpy()).all()


ALL = [*RANDOM, init.Zero(), init.One(), init.Constant(2)]


@pytest.mark.parametrize("initializer", ALL, ids=lambda value: type(value).__name__)
def test_arrays_without_elements(initializer):
    for shape in [(0, 3), (3, 0)]:
        assert initialized(initializer, shape, kind="np").shape == shape


@pytest.mark.parametrize("initializer", [init.Uniform(), init.Normal(), init.One(), init.Constant(2)])
def test_scalars_of_np(initializer):
    assert initialized(initializer, (), kind="np") != 0


def test_views_and_transposed_arrays_are_written_to():
    whole = nd.zeros((4, 3))
    init.One()(init.InitDesc("w_weight"), whole[1:3])
    assert whole.asnumpy().sum(1).tolist() == [0, 3, 3, 0]
    whole = mx.np.zeros((3, 14))
    init.FusedRNN(init.One(), 2, 1, "rnn_tanh")(init.InitDesc("w_weight"), whole.T[:, 1])
    assert whole.asnumpy().sum(1).tolist() == [0, 10, 0]
    init.Orthogonal(1)(init.InitDesc("w_weight"), whole.T)
    np.testing.assert_allclose(whole.asnumpy() @ whole.asnumpy().T, np.eye(3), atol=1e-5)


def test_quantized_weights_are_whole_numbers():
    values = initialized(init.Zero(), (4,), dtype="int8", name="w_weight_quantize")
    assert values.dtype == "int8"
    assert abs(values.astype(int)).max() <= 127


# -- how they are written, and made -----------------------------------------------------------------------------------

WRITTEN = [
    init.Constant([1, 2.5]),
    init.Constant((1, 2)),
    init.Constant([[1, 2], [3, 4]]),
    init.Constant(np.float32(2)),
    init.Constant(np.array([1, 2])),
    init.Constant(nd.array([1, 2])),
    init.Constant(mx.np.array([1, 2])),
    init.Constant([np.float64(1), nd.array([2])[0].asscalar()]),
    init.FusedRNN(init.Xavier(), 2, 1, "lstm", True, 2.0),
    init.FusedRNN(init.Xavier().dumps(), 2, 1, "lstm"),
    init.FusedRNN("xavier", 2, 1, "gru"),
    *ALL,
]


@pytest.mark.parametrize("initializer", WRITTEN, ids=lambda value: value.dumps())
def test_json_makes_an_equal_one(initializer):
    again = init.create(initializer.dumps())
    assert type(again) is type(initializer)
    assert again == initializer
    assert again.dumps() == initializer.dumps()
    for other in (copy.deepcopy(initializer), pickle.loads(pickle.dumps(initializer))):
        assert other == initializer


@given(
    values=arrays("float64", st.sampled_from([(), (3,), (2, 3), (2, 1)]), elements=st.floats(-100, 100, width=32)),
    kind=st.sampled_from([np.ndarray.tolist, np.asarray, lambda v: mx.np.array(v, dtype="float64")]),
)
def test_constants_of_every_kind_and_their_json_fill_alike(values, kind):
    expected = np.broadcast_to(values, (2, 3))
    constant = init.Constant(kind(values))
    assert (initialized(constant, (2, 3), "float64") == expected).all()
    assert (initialized(init.create(constant.dumps()), (2, 3), "float64") == expected).all()


def test_a_constant_list_in_a_variable():
    variable = mx.sym.var("scales", init=init.Constant([1.0, 2.0, 3.0]))
    text = variable.attr("__init__")
    assert text == '["constant", {"value": [1.0, 2.0, 3.0]}]'
    arr = nd.zeros((3,))
    init.Zero()(init.InitDesc("scales", variable.attr_dict()["scales"]), arr)
    assert arr.asnumpy().tolist() == [1, 2, 3]


def test_a_class_of_ones_own():
    @init.register
    class Ramp(init.Initializer):
        def __init__(self, step=1):
            super().__init__(step=step)
            self.step = step

        def _init_weight(self, name, arr):
            arr[:] = np.arange(arr.size).reshape(arr.shape) * self.step

        def _init_bias(self, name, arr):
            arr[:] = -1

    ramp = init.create("ramp", step=2)
    assert ramp.dumps() == '["ramp", {"step": 2}]'
    assert initialized(init.create(ramp.dumps()), (2, 2)).tolist() == [[0, 2], [4, 6]]
    assert initialized(ramp, (2,), name="x_bias").tolist() == [-1, -1]


def test_arrays_as_arguments_of_a_class_of_ones_own():
    class Table(init.Initializer):
        def __init__(self, values, inner):
            super().__init__(values=values, inner=inner)

    table = Table(nd.array([1, 2]), init.Zero())
    assert table.dumps() == '["table", {"values": [1.0, 2.0], "inner": "[\\"zero\\", {}]"}]'
    assert table == Table(np.array([1.0, 2.0]), init.Zero())
    assert table != Table(np.array([1.0, 3.0]), init.Zero())


def test_descriptions_keep_what_they_say():
    desc = init.InitDesc("w_weight", {"__lr_mult__": "2"}, init.One())
    assert desc == "w_weight"
    again = pickle.loads(pickle.dumps(desc))
    assert (again, again.attrs, again.global_init) == ("w_weight", {"__lr_mult__": "2"}, init.One())
    assert init.InitDesc("a").attrs is not init.InitDesc("b").attrs


def test_plain_names_are_warned_of():
    with pytest.warns(DeprecationWarning, match=re.escape("write initializer(mx.init.InitDesc('w_weight'), array)")):
        init.One()("w_weight", nd.zeros((2,)))


# -- Mixed, Load, FusedRNN ------------------------------------------------------------------------------------------


def test_mixed_takes_the_first_that_matches_and_is_created_like_the_others():
    mixed = init.create(init.Mixed([".*embedding", ".*"], ["ones", init.Constant(3)]))
    assert initialized(mixed, (1,), name="a_embedding_weight") == 1
    assert initialized(mixed, (1,), name="a_weight") == 3
    assert initialized(mixed, (1,), name="a_bias") == 0


def test_blocks_take_mixed_and_load_for_parameters_without_initializers_of_their_own():
    dense = mx.gluon.nn.Dense(3, in_units=2, prefix="dense_")
    dense.initialize(init.Mixed([".*weight", ".*"], [init.Constant([1, 2]), init.One()]))
    assert dense.weight.data().asnumpy().tolist() == [[1, 2]] * 3
    assert dense.bias.data().asnumpy().tolist() == [0, 0, 0]
    dense.initialize(init.Load({"dense_weight": nd.full((3, 2), 4)}), force_reinit=True)
    assert dense.weight.data().asnumpy().tolist() == [[4, 4]] * 3
    dense.initialize(init.Load({}, default_init=init.One()), force_reinit=True)
    assert dense.weight.data().asnumpy().tolist() == [[1, 1]] * 3


def test_a_parameter_of_a_hybridized_block_keeps_a_constant_list():
    class Scale(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.scales = self.params.get("scales", shape=(3,), init=init.Constant([1.0, 2.0, 3.0]))

        def hybrid_forward(self, F, x, scales):
            return F.broadcast_mul(x, scales)

    block = Scale()
    block.initialize()
    block.hybridize()
    assert block(nd.ones((1, 3))).asnumpy().tolist() == [[1, 2, 3]]
    assert block.scales.var().attr("__init__") == '["constant", {"value": [1.0, 2.0, 3.0]}]'


def test_load_reads_files(tmp_path):
    path = tmp_path / "net.params"
    nd.save(path, {"arg:a": nd.array([1, 2]), "aux:b": nd.array([3])})
    load = init.Load(str(path), default_init=init.One())
    assert initialized(load, (2,), name="a").tolist() == [1, 2]
    assert initialized(load, (1,), name="b") == 3
    assert initialized(load, (1,), name="c_weight") == 1


def test_fused_parts_go_to_what_initializes_the_network():
    arr = nd.zeros((14,))
    init.FusedRNN(None, 2, 1, "rnn_relu")(init.InitDesc("rnn_weight", global_init=init.Constant(3)), arr)
    assert arr.asnumpy().tolist() == [3] * 10 + [0] * 4


# -- what is logged ---------------------------------------------------------------------------------------------------


def test_verbosity(caplog):
    caplog.set_level(logging.INFO)
    one = init.One()
    initialized(one, (2,))
    assert one.set_verbosity(True) is one
    initialized(one, (4,))
    initialized(one, (4,), name="x_bias")
    one.set_verbosity(True, lambda arr: f"of shape {arr.shape}")
    one(init.InitDesc("y", {"__init__": '["zero", {}]'}), nd.zeros((4,)))
    one.set_verbosity()
    initialized(one, (4,))
    init.Load({"a": nd.ones((1,))}, init.Zero(), verbose=True)("a", nd.ones((1,)))
    assert [record.getMessage() for record in caplog.records] == [
        "Initialized w_weight as weight: 1.0",
        "Initialized x_bias as bias: 0.0",
        'Initialized y as ["zero", {}]: of shape (4,)',
        "Initialized a by loading",
    ]


# -- bad input --------------------------------------------------------------------------------------------------------

REFUSED = {
    "unknown": (
        lambda: init.create("xavir"),
        ValueError,
        "create: there is no initializer 'xavir'. Did you mean 'xavier'? There are 'zero', 'zeros', 'one'",
    ),
    "unknown in JSON": (
        lambda: init.create('["normall", {}]'),
        ValueError,
        "create: there is no initializer 'normall'. Did you mean 'normal'?",
    ),
    "no name": (
        lambda: init.create(3),
        TypeError,
        "create: expected the name of an initializer, or an Initializer; got int 3.",
    ),
    "arguments of an instance": (
        lambda: init.create(init.Zero(), 3),
        TypeError,
        "create: Zero is made already, and cannot take further arguments (3)",
    ),
    "unknown in a description": (
        lambda: init.Zero()(init.InitDesc("x", {"__init__": "uniforme"}), nd.zeros((2,))),
        ValueError,
        "create: there is no initializer 'uniforme'. Did you mean 'uniform'?",
    ),
    "no default": (
        lambda: initialized(init.Xavier(), (2, 2), name="state"),
        ValueError,
        (
            "Xavier: the name 'state' does not say how to initialize it. Names that end in 'weight' are initialized by "
            "Xavier, those in 'bias', 'beta' or 'min' with 0, those in 'gamma' or 'max' with 1. Give this one an "
            "initializer of its own, as in mx.sym.var('state', init=mx.init.Zero()), or rename it."
        ),
    ),
    "no weights": (
        lambda: initialized(init.Initializer(), (2,)),
        NotImplementedError,
        "Initializer does not say how to initialize weights ('w_weight'): define _init_weight(self, name, arr)",
    ),
    "name of another type": (
        lambda: init.Zero()(3, nd.zeros((2,))),
        TypeError,
        "Zero: the name must be a string, or an mx.init.InitDesc; got int 3.",
    ),
    "plain array by a plain name": (
        lambda: init.Zero()("w_weight", np.zeros(2)),
        TypeError,
        "Zero: what is to be initialized as 'w_weight' must be an NDArray, got float64 (2,).",
    ),
    "plain array": (
        lambda: init.Uniform()(init.InitDesc("w_weight"), np.zeros(2)),
        TypeError,
        "Uniform: what is to be initialized as 'w_weight' must be an NDArray, got float64 (2,).",
    ),
    "no class": (
        lambda: init.register(int),
        TypeError,
        "register: expected a class derived from Initializer, to be an initializer; got",
    ),
    "argument without JSON": (
        lambda: init.Initializer(a=object()).dumps(),
        TypeError,
        "Initializer.dumps: an argument cannot be written as JSON (Object of type object is not JSON serializable)",
    ),
    "constant none": (
        lambda: init.Constant(None),
        TypeError,
        "Constant: expected a number, an array, or a list of numbers; got NoneType None.",
    ),
    "constant ragged": (
        lambda: init.Constant([1, [2, 3]]),
        TypeError,
        "Constant: expected a number, an array, or a list of numbers; got list of 2",
    ),
    "constant shape": (
        lambda: initialized(init.Constant([1, 2, 3]), (2, 2)),
        ValueError,
        "Constant: 'w_weight' has shape (2, 2); a value of shape (3,) cannot be broadcast to it.",
    ),
    "integers": (
        lambda: initialized(init.Uniform(), (2,), "int32"),
        TypeError,
        "uniform: dtype int32 is not floating point; expected 'float16', 'float32' or 'float64'.",
    ),
    "xavier of a vector": (
        lambda: initialized(init.MSRAPrelu(), (3,)),
        ValueError,
        (
            "MSRAPrelu: 'w_weight' has shape (3,); at least two axes are needed, outputs and inputs, from whose "
            "numbers the scale follows. Give it another initializer, such as mx.init.Uniform()."
        ),
    ),
    "xavier's distribution": (
        lambda: init.Xavier("gausian"),
        ValueError,
        "Xavier: rnd_type must be 'uniform' or 'gaussian', got str 'gausian'. Did you mean 'gaussian'?",
    ),
    "xavier's factor": (
        lambda: init.Xavier(factor_type=2),
        ValueError,
        "Xavier: factor_type must be 'avg' or 'in' or 'out', got int 2.",
    ),
    "orthogonal of a vector": (
        lambda: initialized(init.Orthogonal(), (3,)),
        ValueError,
        "Orthogonal: 'w_weight' has shape (3,); at least two axes are needed, for rows and columns.",
    ),
    "orthogonal's distribution": (
        lambda: init.Orthogonal(rand_type="gaussian"),
        ValueError,
        "Orthogonal: rand_type must be 'uniform' or 'normal', got str 'gaussian'.",
    ),
    "bilinear": (
        lambda: initialized(init.Bilinear(), (3, 3)),
        ValueError,
        (
            "Bilinear: 'w_weight' cannot hold a bilinear interpolation: expected the shape (channels, channels, "
            "height, width) of a deconvolution's weight, got (3, 3)."
        ),
    ),
    "biases of a scalar": (
        lambda: initialized(init.LSTMBias(), (), kind="np"),
        ValueError,
        "LSTMBias: 'w_weight' is a scalar; expected the biases of four gates, one by one.",
    ),
    "localization": (
        lambda: init.Zero()._init_loc_bias("stn_loc_bias", nd.zeros((4,))),
        ValueError,
        (
            "Zero: 'stn_loc_bias' is the bias of a spatial transformer's localization, the 2 × 3 matrix of an affine "
            "transformation; expected shape (6,), got (4,)."
        ),
    ),
    "fused mode": (
        lambda: init.FusedRNN(None, 2, 1, "lstn"),
        ValueError,
        "FusedRNN: there is no mode 'lstn'. Did you mean 'lstm'? There are 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'.",
    ),
    "fused initializer": (
        lambda: init.FusedRNN(3, 2, 1, "lstm"),
        TypeError,
        "FusedRNN: init must be an initializer, its JSON, or None; got int 3.",
    ),
    "fused without": (
        lambda: initialized(init.FusedRNN(None, 2, 1, "rnn_tanh"), (14,)),
        TypeError,
        "FusedRNN: no initializer for the parts of 'w_weight': give one as init=",
    ),
    "fused length": (
        lambda: initialized(init.FusedRNN(init.Zero(), 2, 1, "rnn_tanh"), (15,)),
        ValueError,
        (
            "FusedRNN: 'w_weight' has 15 elements; 1 layer(s) of rnn_tanh with 2 units in 1 direction(s) need 8 + 2 "
            "for each input."
        ),
    ),
    "mixed numbers": (
        lambda: init.Mixed([".*"], []),
        ValueError,
        "Mixed: 1 patterns and 0 initializers; there must be one for each.",
    ),
    "mixed pattern": (
        lambda: init.Mixed(["("], [init.Zero()]),
        ValueError,
        "Mixed: '(' is no regular expression: missing ), unterminated subpattern at position 0.",
    ),
    "mixed no match": (
        lambda: initialized(init.Mixed(["a", "bias"], [init.Zero(), init.One()]), (2,), name="x_bias"),
        ValueError,
        (
            "Mixed: 'x_bias' matches none of the patterns 'a', 'bias'. 'a' occurs in it, but not at its beginning: "
            "write '.*a'. Add '.*' as the last pattern, with an initializer for all other names."
        ),
    ),
    "load what": (
        lambda: init.Load(3),
        TypeError,
        "Load: expected a dict of names and NDArrays, or the file of one; got int 3.",
    ),
    "load missing": (
        lambda: initialized(init.Load({"dense0_weight": nd.zeros((2,))}), (2,), name="dense1_weight"),
        TypeError,
        (
            "Load: 'dense1_weight' is not among the 1 parameters that were saved. Did you mean 'dense0_weight'? Give "
            "default_init=, an initializer for those that were not."
        ),
    ),
    "load shape": (
        lambda: initialized(init.Load({"a": nd.zeros((3,))}), (2,), name="a"),
        ValueError,
        "Load: 'a' has shape (2,), and was saved with shape (3,); load a file of this network, or change the layer.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input(case):
    call, kind, text = REFUSED[case]
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, (mx.MXNetError, NotImplementedError))


def test_files_without_names_cannot_be_loaded(tmp_path):
    path = tmp_path / "list.params"
    nd.save(path, [nd.zeros((2,))])
    with pytest.raises(mx.MXNetError, match=re.escape(f"Load: {path} holds arrays without names; save a dict.")):
        init.Load(path)
