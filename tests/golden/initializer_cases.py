"""Golden cases of initializers: what does not depend on chance, and what is written of all of them as JSON."""

_NAMES = [
    "weight",
    "w_weight",
    "w_bias",
    "gamma",
    "bn_gamma",
    "bn_beta",
    "bn_moving_mean",
    "bn_running_mean",
    "bn_moving_var",
    "bn_moving_inv_var",
    "bn_moving_avg",
    "x_min",
    "x_max",
    "upsampling1",
    "upsampling_weight",
    "stn_loc_weight",
    "stn_loc_foo",
    "foo",
    "w_Weight",
    "parameters",
    "state",
    "x_min_",
    "quantized_weight",
    "a_bias_quantize",
]

_MADE = {
    "zero": "Zero()",
    "one": "One()",
    "constant_int": "Constant(3)",
    "constant_float": "Constant(2.5)",
    "constant_nd": "Constant(nd.array([1, 2]))",
    "constant_numpy": "Constant(np.array([1, 2]))",
    "uniform": "Uniform()",
    "uniform_scale": "Uniform(0.2)",
    "normal": "Normal()",
    "normal_sigma": "Normal(3)",
    "orthogonal": "Orthogonal()",
    "orthogonal_normal": "Orthogonal(1, 'normal')",
    "xavier": "Xavier()",
    "xavier_gaussian": "Xavier('gaussian', 'in', 2)",
    "msraprelu": "MSRAPrelu()",
    "msraprelu_slope": "MSRAPrelu('in', 0.1)",
    "bilinear": "Bilinear()",
    "lstmbias": "LSTMBias()",
    "lstmbias_two": "LSTMBias(2)",
    "fusedrnn": "FusedRNN(mx.init.Zero(), 2, 1, 'lstm')",
    "fusedrnn_none": "FusedRNN(None, 2, 1, 'gru', True, 2.0)",
    "initializer": "Initializer()",
    "initializer_arguments": "Initializer(a=1, b='two')",
}

# Initializer, shape, name.
_FILLED = {
    "zero": ("Zero()", (2, 3), "w_weight"),
    "one": ("One()", (2, 3), "w_weight"),
    "one_bias": ("One()", (2, 3), "w_bias"),
    "constant": ("Constant(-2.5)", (2, 3), "w_weight"),
    "constant_list": ("Constant([1, 2, 3])", (2, 3), "w_weight"),
    "constant_nd": ("Constant(nd.array([1, 2, 3]))", (2, 3), "w_weight"),
    "constant_numpy": ("Constant(np.array([1, 2, 3]))", (2, 3), "w_weight"),
    "constant_tuple": ("Constant((1, 2, 3))", (3,), "w_weight"),
    "constant_matrix": ("Constant([[1, 2], [3, 4]])", (2, 2), "w_weight"),
    "constant_wrong_shape": ("Constant([1, 2, 3])", (2,), "w_weight"),
    "bilinear": ("Bilinear()", (1, 2, 4, 4), "w_weight"),
    "bilinear_odd": ("Bilinear()", (2, 1, 3, 5), "w_weight"),
    "bilinear_even": ("Bilinear()", (1, 1, 5, 2), "w_weight"),
    "lstmbias": ("LSTMBias()", (8,), "w_weight"),
    "lstmbias_odd": ("LSTMBias(3.0)", (7,), "w_weight"),
    "lstmbias_matrix": ("LSTMBias()", (8, 2), "w_weight"),
    "lstmbias_bias": ("LSTMBias()", (8,), "w_bias"),
    "xavier_vector": ("Xavier()", (8,), "w_weight"),
    "xavier_bias": ("Xavier()", (8,), "w_bias"),
    "orthogonal_gamma": ("Orthogonal()", (8,), "w_gamma"),
    "base": ("Initializer()", (2,), "w_weight"),
    "base_max": ("Initializer()", (2,), "w_max"),
}

_ATTRIBUTES = {
    "json": """'["constant", {"value": 3}]'""",
    "json_list": """'["constant", {"value": [3, 4]}]'""",
    "name": "'zeros'",
    "capital": "'Ones'",
    "empty": "''",
    "instance": "mx.init.Constant(4)",
}

# Names that are plain strings are warned of.
_QUIET = "import warnings; warnings.simplefilter('ignore')\n"

_SEVEN = """class Seven(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = 7
"""

# Counts up, so that the order of the parts shows.
_COUNTING = """class Counting(mx.init.Initializer):
    def __init__(self):
        super().__init__()
        self.names = []
    def _init_weight(self, name, arr):
        self.names.append(str(name) + str(arr.shape))
        arr[:] = len(self.names)
    def _init_bias(self, name, arr):
        self._init_weight(name, arr)
counting = Counting()
"""


def _fused(mode, layers, both, inputs=3):
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    directions = 1 + both
    rows = directions * gates * 2
    size = rows * (inputs + 2 + 2) + (layers - 1) * rows * (2 * directions + 2 + 2)
    return (
        f"{_COUNTING}x = nd.zeros(({size},))\n"
        f"mx.init.FusedRNN(counting, 2, {layers}, {mode!r}, {both}, 5.0)(mx.init.InitDesc('rnn_weight'), x)\n"
        f"result = [x, counting.names]"
    )


_OTHERS = {
    "equal": "i = mx.init; result = [i.Zero() == i.Zero(), i.Zero() == i.One(), i.Uniform() == i.Uniform(0.07), "
    "i.Uniform(1) == i.Uniform(2), i.Uniform() == 3, i.Xavier() == i.MSRAPrelu(), i.Zero() != i.Zero()]",
    "hash": "result = hash(mx.init.Zero())",
    "magnitudes": "result = [mx.init.Xavier().magnitude, mx.init.MSRAPrelu().magnitude, "
    "mx.init.MSRAPrelu('in', 0).magnitude]",
    "create_none": "result = mx.init.create(None)",
    "create_instance": "x = mx.init.Zero(); result = mx.init.create(x) is x",
    "create_dict": "result = mx.init.create({'initializer': 'uniform', 'scale': 3}).scale",
    "create_keyword": "result = mx.init.create('uniform', scale=3).scale",
    "create_json": """result = mx.init.create('["uniform", {"scale": 2}]').scale""",
    "registered": _SEVEN.replace("class", "@mx.init.register\nclass")
    + "x = nd.zeros((2,)); mx.init.create('seven')(mx.init.InitDesc('w_weight'), x); result = x",
    "json_of_list": "result = mx.init.Constant([1, 2]).dumps()",
    "json_of_number": "result = mx.init.Constant(np.float64(2)).dumps() + mx.init.Constant(np.float32(2)).dumps()",
    "fused_json": "x = mx.init.FusedRNN(mx.init.Zero(), 2, 1, 'lstm').dumps(); result = mx.init.create(x).dumps() == x",
    "create_mixed": "m = mx.init.Mixed(['.*'], [mx.init.Zero()]); result = mx.init.create(m) is m",
    "constant_none": "x = nd.zeros((2,)); mx.init.Constant(None)(mx.init.InitDesc('w_weight'), x); result = x",
    "equal_arrays": "result = mx.init.Constant(np.array([1, 2])) == mx.init.Constant(np.array([1, 2]))",
    "global_init": "d = mx.init.InitDesc('w_bias', {}); z = mx.init.Zero(); z(d, nd.zeros((2,))); "
    "result = [d.global_init is z, d.attrs == {}, str(d)]",
    "mixed": _QUIET
    + "m = mx.init.Mixed(['bias', '.*'], [mx.init.Zero(), mx.init.One()]); a = [nd.full((2,), 5) for _ in range(4)]\n"
    "for name, x in zip(['bias', 'x_bias', 'x_weight', 'bn_beta'], a): m(name, x)\nresult = a",
    "mixed_anchored": "mx.init.Mixed(['bias'], [mx.init.Zero()])('x_bias', nd.zeros((2,)))",
    "load": _QUIET
    + "l = mx.init.Load({'arg:a': nd.ones((2,)), 'aux:b': nd.array([3, 4]), 'c': nd.zeros((2,))}, mx.init.One()); "
    "a = [nd.full((2,), 5) for _ in range(4)]\n"
    "for name, x in zip(['a', 'b', 'c', 'd_weight'], a): l(name, x)\nresult = [a, sorted(l.param)]",
    "stn_loc_bias": _QUIET + "x = nd.zeros((6,)); mx.init.Zero()('stn_loc_bias', x); result = x",
    "stn_loc_bias_desc": "x = nd.ones((6,)); mx.init.Zero()(mx.init.InitDesc('stn_loc_bias'), x); result = x",
    "loc_bias": "x = nd.zeros((6,)); mx.init.Zero()._init_loc_bias('x', x); result = x",
    "bilinear_method": "x = nd.zeros((1, 1, 4, 4)); mx.init.Zero()._init_bilinear('x', x); result = x",
}

CASES = [
    *(
        (
            f"initializer_name_{name}",
            f"{_QUIET}{_SEVEN}x = nd.full((2, 2, 4, 4), -1); Seven()({name!r}, x); result = x",
        )
        for name in _NAMES
    ),
    *(
        (
            f"initializer_description_{name}",
            f"{_SEVEN}x = nd.full((2, 2), -1); Seven()(mx.init.InitDesc({name!r}), x); result = x",
        )
        for name in _NAMES
    ),
    *((f"initializer_dumps_{name}", f"result = mx.init.{made}.dumps()") for name, made in _MADE.items()),
    *(
        (
            f"initializer_{name}{suffix}",
            f"x = nd.full({shape}, -1, dtype={dtype!r}); mx.init.{made}(mx.init.InitDesc({word!r}), x); result = x",
        )
        for name, (made, shape, word) in _FILLED.items()
        for suffix, dtype in (("", "float32"), ("_float64", "float64"), ("_float16", "float16"))
    ),
    *(
        (
            f"initializer_attribute_{name}",
            f"{_SEVEN}x = nd.zeros((2,)); Seven()(mx.init.InitDesc('w_bias', {{'__init__': {text}}}), x); result = x",
        )
        for name, text in _ATTRIBUTES.items()
    ),
    *(
        (f"initializer_fused_{mode}_{layers}{'_both' if both else ''}", _fused(mode, layers, both))
        for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu")
        for layers in (1, 2)
        for both in (False, True)
    ),
    *((f"initializer_{name}", snippet) for name, snippet in _OTHERS.items()),
]
