"""Golden cases of what MXNet accepts and programs rely on, although it is odd: ignored attributes, other ranks, texts."""

# ruff: noqa: E501 - one case is one line of text

A = "a = nd.array([[1, 2, 3], [4, 5, 6]])\nb = nd.array([[10], [20]])\n"
IGNORING = ("axis=-1", "axis=1", "keepdims=True", "foo='bar'", "dim=0")
ELEMENTWISE = {
    "broadcast_add": "a, b", "broadcast_mul": "a, b", "broadcast_sub": "a, b", "broadcast_div": "a, b",
    "broadcast_maximum": "a, b", "broadcast_power": "a, b", "broadcast_equal": "a, b", "broadcast_mod": "a, b",
    "broadcast_greater": "a, b", "broadcast_logical_and": "a, b", "broadcast_hypot": "a, b", "elemwise_add": "a, a",
    "elemwise_mul": "a, a", "exp": "a", "sqrt": "a", "relu": "a", "tanh": "a", "sigmoid": "a", "negative": "a",
    "zeros_like": "a", "ones_like": "a", "BlockGrad": "a", "log": "a", "abs": "a", "identity": "a", "add_n": "a, a",
    "shape_array": "a", "Flatten": "a", "dot": "a, b", "batch_dot": "a.expand_dims(0), b.expand_dims(0)",
    "expand_dims": "a, axis=0", "mean": "a", "softmax": "a", "concat": "a, a", "transpose": "a", "_plus_scalar": "a, scalar=2",
    "clip": "a, 0, 2", "where": "a, a, a", "erf": "a", "gamma": "a", "argmax_channel": "a", "Activation": "a, act_type='relu'",
    "slice_axis": "a, axis=0, begin=0, end=1", "LeakyReLU": "a", "squeeze": "a.expand_dims(0)",
}  # fmt: skip


def _operator(name: str) -> str:
    return f"nd._internal.{name}" if name.startswith("_") else f"nd.{name}"


CUSTOM = """
class Kept(mx.operator.CustomOp):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.scale)
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.scale)
seen = []
@mx.operator.register("accepted_NAME")
class KeptProp(mx.operator.CustomOpProp):
    def __init__(self, K='1', **others):
        super().__init__(need_top_grad=True)
        seen.append((K, sorted(others.items())))
    def list_arguments(self): return ARGUMENTS
    def infer_shape(self, in_shape): return in_shape, [in_shape[0]], []
    def create_operator(self, ctx, shapes, dtypes): return Kept(3)
"""


def _custom(name: str, body: str, arguments: str = "['data']") -> str:
    return CUSTOM.replace("NAME", name).replace("ARGUMENTS", arguments) + body.replace("NAME", name)


MNIST = """
import gzip, os, struct, tempfile
folder = tempfile.mkdtemp()
with open(folder + "/i", "wb") as file: file.write(struct.pack(">IIII", 2051, 4, 28, 28) + bytes(range(0, 196)) * 16)
with open(folder + "/l", "wb") as file: file.write(struct.pack(">II", 2049, 4) + bytes([3, 1, 2, 0]))
def first(**options):
    it = mx.io.MNISTIter(image=folder + "/i", label=folder + "/l", batch_size=2, shuffle=False, silent=True, **options)
    return [it.provide_data[0].shape, next(it).data[0].shape]
"""
CASES = [
    *(
        (
            f"accepted_{name}_{attribute.partition('=')[0]}_{number}",
            f"{A}result = {_operator(name)}({given}, {attribute})",
        )
        for name, given in ELEMENTWISE.items()
        for number, attribute in enumerate(IGNORING)
        if attribute.partition("=")[0] + "=" not in given
    ),
    *(
        (
            f"accepted_symbol_{name}",
            f"a, b = mx.sym.var('a'), mx.sym.var('b')\nresult = mx.sym.{name}({given}, foo='bar').infer_shape(a=(2, 3){', b=(2, 1)' if 'b' in given else ''})[1]",
        )
        for name, given in {
            "broadcast_mul": "a, b",
            "exp": "a",
            "elemwise_add": "a, a",
            "relu": "a",
            "zeros_like": "a",
            "softmax": "a",
        }.items()
    ),
    (
        "accepted_symbol_file",
        "import json\ns = json.loads((mx.sym.broadcast_mul(mx.sym.var('a'), mx.sym.var('b')) + 0).tojson())\ns['nodes'][2]['attrs'] = {'axis': '-1'}\nresult = mx.sym.load_json(json.dumps(s)).infer_shape(a=(2, 3), b=(2, 1))[1]",
    ),
    ("accepted_like_method_no_axes", "result = nd.array([[[1]], [[2]]]).broadcast_like(nd.zeros((2, 3)))"),
    ("accepted_like_method_less", "result = nd.array([[1, 2, 3]]).broadcast_like(nd.zeros((2, 2, 3)))"),
    ("accepted_like_function_less", "result = nd.broadcast_like(nd.array([[1, 2, 3]]), nd.zeros((2, 2, 3)))"),
    ("accepted_like_method_vector", "result = nd.array([1]).broadcast_like(nd.zeros((2, 3)))"),
    ("accepted_like_same", "result = nd.array([[1, 2, 3]]).broadcast_like(nd.zeros((2, 3)))"),
    ("accepted_astype_array", "result = nd.array([1.5, 2]).astype(nd.array([1], dtype='int32'))"),
    ("accepted_astype_np_array", "result = nd.array([1.5, 2]).astype(np.zeros(3, 'float16'))"),
    ("accepted_astype_symbol", "result = mx.sym.var('x').astype('float16').infer_type(x='float32')[1][0]"),
    ("accepted_np_astype_array", "result = mx.np.array([1.5, 2]).astype(mx.np.array([1], dtype='int32'))"),
    ("accepted_mnist_plain", MNIST + "result = first()"),
    ("accepted_mnist_shape", MNIST + "result = first(data_shape=(784,))"),
    ("accepted_mnist_shape_picture", MNIST + "result = first(data_shape=(1, 28, 28))"),
    ("accepted_mnist_shape_flat", MNIST + "result = first(data_shape=(784,), flat=True)"),
    ("accepted_mnist_input_shape", MNIST + "result = first(input_shape=(1, 28, 28))"),
    ("accepted_mnist_any", MNIST + "result = first(anything=3)"),
    (
        "accepted_initialize_twice",
        "net = mx.gluon.nn.Dense(2, in_units=3)\nnet.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(0)])\nresult = [str(one) for one in net.weight.list_ctx()], len(net.weight.list_data()), net(nd.ones((1, 3)))",
    ),
    (
        "accepted_initialize_twice_trained",
        "net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)\nnet.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(0)])\ntrainer = mx.gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.5})\nx = mx.gluon.utils.split_and_load(nd.ones((4, 2)), [mx.cpu(0), mx.cpu(0)])\nwith autograd.record():\n    losses = [net(one).sum() for one in x]\nfor one in losses: one.backward()\ntrainer.step(1)\nresult = [one for one in net.weight.list_data()], len(net.weight.list_grad())",
    ),
    ("accepted_activation_unknown", "net = mx.gluon.nn.Dense(2, activation='nothing')\nresult = net.name[:5]"),
    ("accepted_activation_unknown_layer", "result = mx.gluon.nn.Activation('nothing').name[:10]"),
    ("accepted_activation_unknown_conv", "result = mx.gluon.nn.Conv2D(2, 3, activation='nothing').name[:4]"),
    ("accepted_activation_unknown_rnn", "result = mx.gluon.rnn.RNNCell(2, activation='nothing').name[:3]"),
    (
        "accepted_activation_unknown_called",
        "net = mx.gluon.nn.Dense(2, activation='nothing')\nnet.initialize()\nresult = net(nd.ones((1, 3))).asnumpy()",
    ),
    ("accepted_dropout_true", "net = mx.gluon.nn.Dropout(True)\nresult = net(nd.ones((2, 2)))"),
    (
        "accepted_dropout_false",
        "net = mx.gluon.nn.Dropout(False)\nwith autograd.train_mode():\n    result = net(nd.ones((2, 2)))",
    ),
    (
        "accepted_dropout_true_trained",
        "net = mx.gluon.nn.Dropout(True)\nwith autograd.train_mode():\n    result = net(nd.ones((2, 2)))",
    ),
    (
        "accepted_dropout_one",
        "net = mx.gluon.nn.Dropout(1)\nwith autograd.train_mode():\n    result = net(nd.ones((2, 2)))",
    ),
    ("accepted_gamma_zero_beta", "result = nd.random.gamma(nd.ones(3), nd.zeros(3))"),
    ("accepted_gamma_zero_beta_number", "result = nd.random.gamma(1, 0, shape=(2,))"),
    ("accepted_normal_zero_scale", "result = nd.random.normal(nd.ones(3), nd.zeros(3))"),
    ("accepted_exponential_zero", "result = nd.random.exponential(nd.zeros(2))"),
    ("accepted_poisson_zero", "result = nd.random.poisson(nd.zeros(3))"),
    ("accepted_negative_binomial_certain", "result = nd.random.negative_binomial(nd.ones(2), nd.ones(2))"),
    ("accepted_uniform_equal", "result = nd.random.uniform(nd.ones(2), nd.ones(2))"),
    (
        "accepted_label_unwritten",
        _custom(
            "label",
            "x, y = nd.array([1, 2]), nd.array([3, 4])\nx.attach_grad(); y.attach_grad()\nwith autograd.record():\n    z = nd.Custom(x, y, op_type='accepted_NAME')\nz.backward()\nresult = z, x.grad",
            "['data', 'label']",
        ),
    ),
    (
        "accepted_label_unwritten_symbol",
        _custom(
            "label_symbol",
            "s = mx.sym.Custom(data=mx.sym.var('x'), label=mx.sym.var('y'), op_type='accepted_NAME')\ne = s.simple_bind(mx.cpu(), x=(2,), y=(2,))\ne.arg_dict['x'][:] = 2\ne.forward(is_train=True)\ne.backward(nd.ones(2))\nresult = e.outputs[0], e.grad_dict['x']",
            "['data', 'label']",
        ),
    ),
    (
        "accepted_custom_array",
        _custom("array", "nd.Custom(nd.ones(2), op_type='accepted_NAME', K=np.array([1., 2.]))\nresult = seen[0][0]"),
    ),
    (
        "accepted_custom_array_symbol",
        _custom(
            "array_symbol",
            "mx.sym.Custom(data=mx.sym.var('x'), op_type='accepted_NAME', K=np.array([1., 2.]))\nresult = seen[0][0]",
        ),
    ),
    (
        "accepted_custom_integers",
        _custom(
            "integers",
            "nd.Custom(nd.ones(2), op_type='accepted_NAME', K=np.arange(12).reshape(3, 4))\nresult = seen[0][0]",
        ),
    ),
    (
        "accepted_custom_tuple",
        _custom(
            "tuple",
            "nd.Custom(nd.ones(2), op_type='accepted_NAME', K=(1, 2.5), L=None, M=True, N=[1])\nresult = [seen[0][0], *(list(one) for one in seen[0][1])]",
        ),
    ),
    (
        "accepted_pool1d_pad",
        "x = nd.arange(8).reshape((1, 1, 8))\nresult = nd.Pooling(x, kernel=(2,), stride=(2,), pad=(0, 0, 0), pool_type='max')",
    ),
    (
        "accepted_pool1d_pad_one",
        "x = nd.arange(8).reshape((1, 1, 8))\nresult = nd.Pooling(x, kernel=(2,), stride=(2,), pad=(0,), pool_type='max')",
    ),
    (
        "accepted_pool1d_pad_two",
        "x = nd.arange(8).reshape((1, 1, 8))\nresult = nd.Pooling(x, kernel=(2,), stride=(2,), pad=(1, 0, 0), pool_type='max')",
    ),
    (
        "accepted_pool1d_stride",
        "x = nd.arange(8).reshape((1, 1, 8))\nresult = nd.Pooling(x, kernel=(2,), stride=(2, 2), pool_type='max')",
    ),
    (
        "accepted_pool2d_pad",
        "x = nd.arange(16).reshape((1, 1, 4, 4))\nresult = nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0), pool_type='avg')",
    ),
    (
        "accepted_pool3d_pad",
        "x = nd.arange(64).reshape((1, 1, 4, 4, 4))\nresult = nd.Pooling(x, kernel=(2, 2, 2), stride=(2, 2, 2), pad=(0, 0, 0, 0), pool_type='avg')",
    ),
    (
        "accepted_pool1d_pad_symbol",
        "x = mx.sym.Pooling(mx.sym.var('x'), kernel=(2,), stride=(2,), pad=(0, 0, 0), pool_type='max')\nresult = x.infer_shape(x=(1, 1, 8))[1]",
    ),
    (
        "accepted_pool1d_layer",
        "x = nd.arange(8).reshape((1, 1, 8))\nresult = mx.gluon.nn.MaxPool1D(2, padding=(0, 0, 0))(x)",
    ),
    (
        "accepted_pool1d_layer_strides",
        "x = nd.arange(8).reshape((1, 1, 8))\nresult = mx.gluon.nn.AvgPool1D(2, strides=(2, 3), padding=(1, 0))(x)",
    ),
    ("accepted_pool_layer_few", "result = mx.gluon.nn.MaxPool2D(2, padding=(0,))(nd.ones((1, 1, 4, 4)))"),
    ("accepted_np_iteration", "result = [one for one in mx.np.array(1.)]"),
    ("accepted_np_iteration_vector", "result = [float(one) for one in mx.np.array([1., 2.])]"),
    (
        "accepted_csv_any",
        "import os, tempfile\nhandle, path = tempfile.mkstemp()\nos.write(handle, b'1,2,3\\n4,5,6\\n')\nresult = next(mx.io.CSVIter(data_csv=path, data_shape=(3,), batch_size=1, anything=3)).data[0]",
    ),
    ("accepted_potrf_upper_read", "result = nd.linalg.potrf(nd.array([[4, 2], [9, 3]]), lower=False)"),
    ("accepted_potrf_lower_read", "result = nd.linalg.potrf(nd.array([[4, 9], [2, 3]]), lower=True)"),
    *(
        (
            f"accepted_{name}_gradient_{lower}",
            f"a = nd.array([[[4, 2], [2, 3]], [[9, 3], [3, 5]]], dtype='float64')\na.attach_grad()\nwith autograd.record():\n    y = nd.linalg.{name}(a, lower={lower})\ny.backward(nd.array([[[1, 2], [3, 4]], [[5, 6], [7, 9]]], dtype='float64'))\nresult = y, a.grad",
        )
        for name in ("potrf", "potri")
        for lower in (True, False)
    ),
    (
        "accepted_block_number",
        "class Sum(mx.gluon.Block):\n    def forward(self, xs, k): return xs[0] * k + xs[1]\nresult = Sum()([nd.ones(2), nd.ones(2)], 3)",
    ),
    (
        "accepted_hybrid_block_number",
        "class Sum(mx.gluon.HybridBlock):\n    def hybrid_forward(self, F, xs, k): return xs[0] * k + xs[1]\nresult = Sum()([nd.ones(2), nd.ones(2)], 3)",
    ),
    (
        "accepted_hybrid_block_number_hybridized",
        "class Sum(mx.gluon.HybridBlock):\n    def hybrid_forward(self, F, xs, k): return xs[0] * k + xs[1]\nnet = Sum()\nnet.hybridize()\nresult = net([nd.ones(2), nd.ones(2)], 3)",
    ),
    (
        "accepted_hybrid_block_array_number",
        "class Sum(mx.gluon.HybridBlock):\n    def hybrid_forward(self, F, x, k): return x * k\nresult = Sum()(nd.ones(2), 3)",
    ),
    (
        "accepted_hybrid_block_array_text",
        "class Sum(mx.gluon.HybridBlock):\n    def hybrid_forward(self, F, x, k): return x * len(k)\nresult = Sum()(nd.ones(2), 'abc')",
    ),
    ("accepted_squeeze_inplace", "x = nd.ones((1, 2))\nresult = [nd.squeeze(x, axis=0, inplace=True), x.shape]"),
    ("accepted_squeeze_inplace_method", "x = nd.ones((1, 2))\nresult = [x.squeeze(axis=0, inplace=True), x.shape]"),
    (
        "accepted_squeeze_inplace_method_alone",
        "x = nd.ones((1, 2, 1))\ny = x.squeeze(inplace=True)\nresult = [y is x, x.shape, y.shape]",
    ),
    (
        "accepted_expand_dims_inplace_method",
        "x = nd.ones((2,))\ny = x.expand_dims(axis=0, inplace=True)\nresult = [y is x, x.shape, y.shape]",
    ),
    (
        "accepted_reshape_inplace",
        "x = nd.ones((2, 3))\ny = x.reshape((3, 2), inplace=True)\nresult = [x.shape, y.shape]",
    ),
    (
        "accepted_flatten_inplace",
        "x = nd.ones((2, 3, 1))\ny = x.flatten(inplace=True)\nresult = [y is x, x.shape, y.shape]",
    ),
    ("accepted_potrf_lower", "a = nd.array([[4, 2], [2, 3]])\nresult = nd.linalg.potrf(a, lower=True)"),
    ("accepted_potrf_upper", "a = nd.array([[4, 2], [2, 3]])\nresult = nd.linalg.potrf(a, lower=False)"),
    ("accepted_potri_lower", "a = nd.array([[2, 0], [1, 3]])\nresult = nd.linalg.potri(a, lower=True)"),
    ("accepted_potri_upper", "a = nd.array([[2, 0], [1, 3]])\nresult = nd.linalg.potri(a, lower=False)"),
    (
        "accepted_normal_symbols",
        "f = mx.sym.random.normal(mx.sym.var('a'), mx.sym.var('b'))\nresult = f.list_arguments(), f.infer_shape(a=(3,), b=(3,))[1]",
    ),
    (
        "accepted_normal_symbols_shape",
        "f = mx.sym.random.normal(mx.sym.var('a'), mx.sym.var('b'), shape=(4,))\nresult = f.infer_shape(a=(3,), b=(3,))[1]",
    ),
    (
        "accepted_uniform_symbols",
        "f = mx.sym.random.uniform(mx.sym.var('a'), mx.sym.var('b'))\nresult = f.infer_shape(a=(3,), b=(3,))[1]",
    ),
    (
        "accepted_gamma_symbols",
        "f = mx.sym.random.gamma(mx.sym.var('a'), mx.sym.var('b'))\nresult = f.infer_shape(a=(3,), b=(3,))[1]",
    ),
    ("accepted_poisson_symbols", "f = mx.sym.random.poisson(mx.sym.var('a'))\nresult = f.infer_shape(a=(3,))[1]"),
    (
        "accepted_exponential_symbols",
        "f = mx.sym.random.exponential(mx.sym.var('a'))\nresult = f.infer_shape(a=(3,))[1]",
    ),
    (
        "accepted_negative_binomial_symbols",
        "f = mx.sym.random.negative_binomial(mx.sym.var('a'), mx.sym.var('b'))\nresult = f.infer_shape(a=(3,), b=(3,))[1]",
    ),
    (
        "accepted_generalized_symbols",
        "f = mx.sym.random.generalized_negative_binomial(mx.sym.var('a'), mx.sym.var('b'))\nresult = f.infer_shape(a=(3,), b=(3,))[1]",
    ),
    (
        "accepted_multinomial_symbols",
        "f = mx.sym.random.multinomial(mx.sym.var('a'))\nresult = f.infer_shape(a=(2, 3))[1]",
    ),
    (
        "accepted_normal_symbol_drawn",
        "f = mx.sym.random.normal(mx.sym.var('a'), mx.sym.var('b'))\nresult = f.bind(mx.cpu(), {'a': nd.array([5, 7]), 'b': nd.zeros(2)}).forward()[0]",
    ),
    (
        "accepted_cond_symbol_one",
        "a = mx.sym.var('a')\nout = mx.sym.contrib.cond(a < 3, lambda: a + 1, lambda: a - 1)\nresult = type(out).__name__, out.bind(mx.cpu(), {'a': nd.array([1])}).forward()[0]",
    ),
    (
        "accepted_cond_symbol_list",
        "a = mx.sym.var('a')\nout = mx.sym.contrib.cond(a < 3, lambda: [a + 1], lambda: [a - 1])\nresult = type(out).__name__, len(out)",
    ),
    (
        "accepted_cond_symbol_unpacked",
        "a = mx.sym.var('a')\nout, = mx.sym.contrib.cond(a < 3, lambda: a + 1, lambda: a - 1)\nresult = type(out).__name__",
    ),
    (
        "accepted_while_symbol_one",
        "i = mx.sym.var('i')\nout, states = mx.sym.contrib.while_loop(lambda i: i < 3, lambda i: (i * 2, i + 1), i, max_iterations=5)\nresult = type(out).__name__, type(states).__name__",
    ),
    (
        "accepted_while_symbol_unpacked",
        "i = mx.sym.var('i')\n(out,), (state,) = mx.sym.contrib.while_loop(lambda i: i < 3, lambda i: (i * 2, i + 1), i, max_iterations=5)\nresult = type(out).__name__, type(state).__name__, out.bind(mx.cpu(), {'i': nd.array([1])}).forward()[0][:2]",
    ),
    (
        "accepted_while_symbol_lists",
        "i = mx.sym.var('i')\nout, states = mx.sym.contrib.while_loop(lambda i: i < 3, lambda i: ([i * 2], [i + 1]), [i], max_iterations=5)\nresult = type(out).__name__, type(states).__name__",
    ),
    (
        "accepted_foreach_symbol_unpacked",
        "x = mx.sym.var('x')\ns = mx.sym.var('s')\n(out,), (state,) = mx.sym.contrib.foreach(lambda x, s: (x + s, x + s), x, s)\nresult = type(out).__name__, type(state).__name__",
    ),
    ("accepted_symbol_iterated", "s = mx.sym.var('x') + 1\nresult = [type(one).__name__ for one in s], len(s)"),
]
