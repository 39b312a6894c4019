"""Golden cases of custom operators: `nd.Custom` on registered operators, and `autograd.Function`."""

# ruff: noqa: E501 - one case is one line of text

SIGMOID = """
class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = 1.0 / (1.0 + np.exp(-x))
        self.assign(out_data[0], req[0], mx.nd.array(y))
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0].asnumpy()
        dy = out_grad[0].asnumpy()
        dx = dy*(1.0 - y)*y
        self.assign(in_grad[0], req[0], mx.nd.array(dx))
@mx.operator.register("golden_sigmoid")
class SigmoidProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Sigmoid()
"""

DENSE = """
class Dense(mx.operator.CustomOp):
    def __init__(self, bias):
        self._bias = bias
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy().dot(in_data[1].asnumpy().T) + self._bias
        self.assign(out_data[0], req[0], mx.nd.array(y))
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, weight, dy = in_data[0].asnumpy(), in_data[1].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(dy.dot(weight)))
        self.assign(in_grad[1], req[1], mx.nd.array(dy.T.dot(x)))
@mx.operator.register("golden_dense")
class DenseProp(mx.operator.CustomOpProp):
    def __init__(self, bias):
        super(DenseProp, self).__init__(True)
        self._bias = float(bias)
    def list_arguments(self):
        return ['data', 'weight']
    def infer_shape(self, in_shapes):
        return in_shapes, [(in_shapes[0][0], in_shapes[1][0])], ()
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Dense(self._bias)
"""

# Two inputs, two outputs, a state that counts calls; it writes down what it was given.
PROBE = """
seen = []
class Probe(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        seen.append(['forward', bool(is_train), list(req)])
        self.assign(out_data[0], req[0], in_data[0] * 2 + in_data[1])
        self.assign(out_data[1], req[1], in_data[0] * in_data[1])
        aux[0][:] = aux[0] + 1
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        seen.append(['backward', list(req), len(out_grad), len(in_data), len(out_data), len(in_grad), len(aux)])
        self.assign(in_grad[0], req[0], out_grad[0] * 2 + out_grad[1] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] + out_grad[1] * in_data[0])
        self.assign(aux[0], 'write', mx.nd.array(aux[0].asnumpy() + 10))
@mx.operator.register("golden_probe")
class ProbeProp(mx.operator.CustomOpProp):
    def __init__(self, **kwargs):
        super(ProbeProp, self).__init__(True)
        seen.append(['kwargs', sorted(kwargs.items())])
    def list_arguments(self):
        return ['a', 'b']
    def list_outputs(self):
        return ['linear', 'product']
    def list_auxiliary_states(self):
        return ['count']
    def infer_shape(self, in_shapes):
        seen.append(['infer_shape', [list(shape) for shape in in_shapes]])
        return in_shapes, [in_shapes[0], in_shapes[0]], [[1]]
    def create_operator(self, ctx, in_shapes, in_dtypes):
        seen.append(['create_operator', str(ctx), [list(shape) for shape in in_shapes]])
        return Probe()
"""

LOSS = """
class Loss(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 3)
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_data[0] - in_data[1])
        self.assign(in_grad[1], req[1], 0)
@mx.operator.register("golden_loss")
class LossProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(LossProp, self).__init__(need_top_grad=False)
    def list_arguments(self):
        return ['data', 'label']
    def infer_shape(self, in_shapes):
        return in_shapes, [in_shapes[0]], []
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Loss()
"""

SQUARE = """
class Square(autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x
    def backward(self, dy):
        x, = self.saved_tensors
        return 2 * x * dy
"""

MIX = """
class Mix(autograd.Function):
    def forward(self, a, b):
        self.save_for_backward(a, b)
        return a + b, a * b
    def backward(self, dsum, dproduct):
        a, b = self.saved_tensors
        return dsum + dproduct * b, dsum + dproduct * a
"""

CALL = "x = nd.array([0, 1, 2, 3]); x.attach_grad()\nwith autograd.record():\n    y = nd.Custom(x, op_type='golden_sigmoid')\n"
PROBED = """
a, b, count = nd.array([1, 2]), nd.array([3, 4]), nd.array([0])
a.attach_grad('{a}'); b.attach_grad('{b}')
for _ in range(2):
    with autograd.record({train}):
        linear, product = nd.Custom(a, b, count, op_type='golden_probe'{more})
    nd.waitall()
    autograd.backward([linear, product], [nd.array([1, 10]), nd.array([100, 1000])])
    nd.waitall()
result = [linear, product, a.grad, b.grad, count, seen]
"""


# What graphs infer of dtypes: each prop answers otherwise, and may be asked before all is known.
TYPES = """
class Copy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])
class Same(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ['data', 'label']
    def list_auxiliary_states(self):
        return ['state']
    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0]], [in_shape[0]]
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Copy()
class First(Same):
    def infer_type(self, in_type):
        return [in_type[0], np.int32], [np.int32], [np.float64]
class Fixed(Same):
    def infer_type(self, in_type):
        return [np.float64, np.int32], [np.int32], [np.float64]
class Stateless(Same):
    def list_auxiliary_states(self):
        return []
    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0]]
    def infer_type(self, in_type):
        return [np.float64, np.int32], [np.int32]
for prop in (Same, First, Fixed, Stateless):
    mx.operator.register('golden_' + prop.__name__)(prop)
"""
NOTHING = """
class Ones(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1)
@mx.operator.register('golden_nothing')
class Nothing(mx.operator.CustomOpProp):
    def list_arguments(self):
        return []
    def infer_shape(self, in_shape):
        return [], [(2,)], []
    def infer_type(self, in_type):
        return [], [np.float64], []
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Ones()
"""
INFER = "result = mx.sym.Custom(mx.sym.var('x'), mx.sym.var('l'), op_type='golden_{prop}', name='c').{call}"


def _probe(a="write", b="write", train="", more=""):
    return PROBE + PROBED.format(a=a, b=b, train=train, more=more)


_CASES = [
    ("sigmoid", SIGMOID + CALL + "y.backward()\nresult = [y, x.grad]"),
    ("sigmoid_head_gradient", SIGMOID + CALL + "y.backward(nd.array([1, 10, 100, 1000]))\nresult = [y, x.grad]"),
    ("sigmoid_twice_with_retain_graph", SIGMOID + CALL + "y.backward(retain_graph=True)\ny.backward()\nresult = x.grad"),
    (
        "sigmoid_add",
        SIGMOID + CALL.replace("attach_grad()", "attach_grad('add')") + "y.backward()\n" + CALL.split("\n", 1)[1]
        + "y.backward()\nresult = x.grad",
    ),
    ("sigmoid_of_sigmoid", SIGMOID + CALL + "    z = nd.Custom(y, op_type='golden_sigmoid') * y\nz.backward()\nresult = [z, x.grad]"),
    *(
        (f"sigmoid_{dtype}", SIGMOID + CALL.replace("3])", f"3], dtype='{dtype}')") + "y.backward()\nresult = [y, x.grad]")
        for dtype in ("float64", "float16")
    ),
    ("sigmoid_int32", SIGMOID + "result = nd.Custom(nd.array([-9, 0, 9], dtype='int32'), op_type='golden_sigmoid')"),
    (
        "dense",
        DENSE + "x, w = nd.array([[1, 2, 3], [4, 5, 6]]), nd.array([[1, 0, -1], [2, 1, 0]])\nx.attach_grad(); w.attach_grad()\n"
        "with autograd.record():\n    y = nd.Custom(x, w, bias=0.1, op_type='golden_dense')\n"
        "y.backward(nd.array([[1, 2], [3, 4]]))\nresult = [y, x.grad, w.grad]",
    ),
    ("probe", _probe()),
    ("probe_add", _probe(a="add")),
    ("probe_null", _probe(a="null")),
    ("probe_predict", _probe(train="train_mode=False")),
    ("probe_keywords", _probe(more=", size=3, shape=(1, 2), flag=True, ratio=0.5, name='z'")),
    ("loss", LOSS + "x, l = nd.array([1, 2]), nd.array([5, 5])\nx.attach_grad(); l.attach_grad()\nwith autograd.record():\n"
     "    y = nd.Custom(x, l, op_type='golden_loss')\ny.backward(nd.array([100, 100]))\nresult = [y, x.grad, l.grad]"),
    ("function", SQUARE + "x = nd.array([1, 2, 3]); x.attach_grad()\nwith autograd.record():\n    y = Square()(x) * 2\n"
     "y.backward()\nresult = [y, x.grad]"),
    ("function_add", SQUARE + "x = nd.array([1, 2, 3]); x.attach_grad('add')\nwith autograd.record():\n"
     "    y = Square()(x) + Square()(2 * x)\ny.backward()\nresult = [y, x.grad]"),
    ("function_several", MIX + "a, b = nd.array([1, 2]), nd.array([3, 4])\na.attach_grad(); b.attach_grad()\n"
     "with autograd.record():\n    s, p = Mix()(a, b)\nautograd.backward([s, p], [nd.array([1, 10]), nd.array([5, 7])])\n"
     "result = [s, p, a.grad, b.grad]"),
    ("function_one_output_used", MIX + "a, b = nd.array([1, 2]), nd.array([3, 4])\na.attach_grad(); b.attach_grad()\n"
     "with autograd.record():\n    s, p = Mix()(a, b)\np.backward()\nresult = [a.grad, b.grad]"),
    ("function_not_recorded", SQUARE + "result = Square()(nd.array([3]))"),
    ("function_twice", SQUARE + "x = nd.array([3]); f = Square(); f(x); result = f(x)"),
    *(
        (f"infer_type_{prop}_{number}", TYPES + INFER.format(prop=prop, call=call))
        for prop in ("Same", "First", "Fixed", "Stateless")
        for number, call in enumerate((
            "infer_type()", "infer_type_partial()", "infer_type(x='float64')", "infer_type(x='float16')",
            "infer_type(x='float64', l='int32')", "infer_type(x='float64', l='float32')",
            "infer_type_partial(l='float32')", "infer_type_partial(l='int32')",
        ))
    ),
    *(
        (f"infer_type_{prop}_bound", TYPES + INFER.format(prop=prop, call="simple_bind(mx.cpu(), x=(2,), l=(2,), "
         "type_dict={'x': 'float64'})") + "\nresult = [a.dtype for a in result.arg_arrays + result.aux_arrays]")
        for prop in ("First", "Fixed", "Stateless")
    ),
    ("infer_type_without_inputs", NOTHING + "result = [*mx.sym.Custom(op_type='golden_nothing').infer_type(), "
     "nd.Custom(op_type='golden_nothing'), mx.sym.Custom(op_type='golden_nothing').bind(mx.cpu(), {}).forward()[0]]"),
]  # fmt: skip

# Each case registers its operators under names of its own.
CASES = [(f"custom_{name}", snippet.replace("golden_", f"golden_{name}_")) for name, snippet in _CASES]
