"""Golden cases of gradients through arrays that are made of recorded values, draws by their parameters, and arguments
by keyword; of shapes of deferred parameters that products tell.

What is drawn differs from library to library: its gradients are compared with formulas of what was drawn.
"""

from textwrap import dedent

_START = """
with mx.util.np_shape(True), mx.util.np_array(True):
    x = mx.np.array([[1., 2., 3.], [4., 5., 6.]]); x.attach_grad()
    with autograd.record():
        y = {call}
        heads = y if isinstance(y, (list, tuple)) else [y]
        loss = sum([(head * (1 + place)).sum() for place, head in enumerate(heads)])
    loss.backward()
    result = [head.asnumpy() for head in heads] + [x.grad.asnumpy()]
"""

CALLS = {
    "split_by_keyword": "mx.np.split(x, indices_or_sections=3, axis=1)",
    "split_at_by_keyword": "mx.np.split(x, indices_or_sections=(1,), axis=1)",
    "array_split_by_keyword": "mx.np.array_split(x, indices_or_sections=2, axis=1)",
    "take_clip": "mx.np.take(x, mx.np.array([0, 9, -5]), axis=1, mode='clip')",
    "take_wrap": "mx.np.take(x, mx.np.array([0, 9, -5]), axis=1, mode='wrap')",
    "take_clip_flat": "mx.np.take(x, mx.np.array([0, 9]), mode='clip')",
    "take_float_indices": "mx.np.take(x, mx.np.array([0.9, 1.2]), axis=1)",
    "cumsum_dtype": "mx.np.cumsum(x, axis=1, dtype='float64')",
    "cumsum_dtype_flat": "mx.np.cumsum(x, dtype='float64')",
    "full_like_ctx": "mx.np.full_like(x, 3, ctx=mx.cpu()) * x",
    "ones_like_dtype": "mx.np.ones_like(x, dtype='float32', ctx=mx.cpu()) * x",
    "array_of_an_array": "mx.np.array(x * 2)",
    "full_of_an_element": "mx.np.full((2,), x[0, 0])",
    "list_of_elements": "mx.np.array([x[0, 0], x[1, 1]])",
    "percentile_gradient": "mx.np.percentile(x, 30, axis=1)",
    "quantile_gradient": "mx.np.quantile(x, 0.3)",
}

_VALUES = """
with mx.util.np_shape(True), mx.util.np_array(True):
    x = mx.np.array([[1., 2., 3.], [4., 5., 6.]])
    result = {call}.asnumpy()
"""
_INTERPOLATIONS = {
    f"percentile_{word}": f"mx.np.percentile(x, mx.np.array([30., 75.]), axis=1, interpolation='{word}')"
    for word in ("linear", "lower", "higher", "midpoint", "nearest")
} | {"quantile_lower": "mx.np.quantile(x, mx.np.array([0.3]), axis=1, interpolation='lower')"}

_DRAWS = """
with mx.util.np_shape(True), mx.util.np_array(True):
    a, b = mx.np.array([0.5, 0.8, 1.2]), mx.np.array([1.5, 0.7, 1.1])
    a.attach_grad(); b.attach_grad()
    with autograd.record():
        y = {call}
    y.backward()
    a, b, y, g, h = [one.asnumpy().astype('float64') for one in (a, b, y, a.grad, b.grad)]
    total = lambda found: found if found.ndim == 1 else found.sum(0)
    differences = [np.abs(g - total({by_a})).max(), np.abs(h - total({by_b})).max()]
    result = [bool(one < 1e-3) for one in differences]
"""
# The call; the derivatives of what was drawn by a and by b.
_DISTRIBUTIONS = {
    "weibull": ("mx.np.random.weibull(a)", "-y * np.log(y) / a", "0 * y"),
    "pareto": ("mx.np.random.pareto(a)", "-(y + 1) * np.log(y + 1) / a", "0 * y"),
    "rayleigh": ("mx.np.random.rayleigh(a)", "y / a", "0 * y"),
    "exponential": ("mx.np.random.exponential(a)", "y / a", "0 * y"),
    "normal": ("mx.np.random.normal(a, b)", "0 * y + 1", "(y - a) / b"),
    "normal_of_a_size": ("mx.np.random.normal(a, b, size=(2, 3))", "0 * y + 1", "(y - a) / b"),
    "lognormal": ("mx.np.random.lognormal(a, b)", "y", "y * (np.log(y) - a) / b"),
    "gumbel": ("mx.np.random.gumbel(a, b)", "0 * y + 1", "(y - a) / b"),
    "logistic": ("mx.np.random.logistic(a, b)", "0 * y + 1", "(y - a) / b"),
    "power": ("mx.np.random.power(a)", "y * -np.log(y) / a", "0 * y"),
    "gamma": ("mx.np.random.gamma(a, 1.0)", "0 * y", "0 * y"),
    "beta": ("mx.np.random.beta(a, b)", "0 * y", "0 * y"),
    "chisquare": ("mx.np.random.chisquare(a)", "0 * y", "0 * y"),
    "normal_n": ("mx.npx.random.normal_n(a, b, batch_shape=2)", "0 * y + 1", "(y - a) / b"),
}
_SUMMED = """
with mx.util.np_shape(True), mx.util.np_array(True):
    a, b = mx.np.array([0.5, 0.8, 1.2]), mx.np.array([1.5, 1.7, 1.3])
    a.attach_grad(); b.attach_grad()
    with autograd.record():
        y = {call}
    y.backward()
    result = (a.grad + b.grad).asnumpy().round(5)
"""
_SHARES = {
    "uniform_gradients": "mx.np.random.uniform(a, b)",
    "uniform_gradients_of_a_size": "mx.np.random.uniform(a, b, size=(2, 3))",
    "uniform_n_gradients": "mx.npx.random.uniform_n(a, b, batch_shape=2)",
}

_NDARRAY_DRAWS = """
a, b = nd.array([0.5, 0.8, 1.2]), nd.array([1.5, 0.9, 1.3])
a.attach_grad(); b.attach_grad()
with autograd.record():
    y = {call}
y.backward()
result = [a.grad.asnumpy(), b.grad.asnumpy()]
"""
_NDARRAY_CALLS = {
    "nd_uniform": "nd.random.uniform(a, b)",
    "nd_normal": "nd.random.normal(a, b)",
    "nd_gamma": "nd.random.gamma(a, b)",
    "nd_exponential": "nd.random.exponential(a)",
    "nd_poisson": "nd.random.poisson(a)",
    "nd_sample_normal": "nd.sample_normal(a, b, shape=2)",
    "nd_array_of_an_array": "nd.array(a * 2) * b",
    "nd_full_of_an_element": "nd.full((3,), a[0]) * b",
    "nd_shuffle": "nd.random.shuffle(a * 2)",
}

_BLOCK = """
class Net(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.w = self.params.get('w', shape={shape}, allow_deferred_init=True)
    def hybrid_forward(self, F, x, w):
        return {call}
with mx.util.np_shape(True), mx.util.np_array(True):
    net = Net(); net.initialize(mx.init.One())
    y = net(mx.np.ones({data}))
result = [str(tuple(net.w.shape)), str(y.shape)]
"""
_PRODUCTS = {
    "dot": ("F.np.dot(x, w)", (-1, 3), (2, 4)),
    "dot_zero": ("F.np.dot(x, w)", (0, 3), (2, 4)),
    "dot_of_more_axes": ("F.np.dot(x, w)", (-1, 3), (5, 2, 4)),
    "dot_from_the_left": ("F.np.dot(w, x)", (3, -1), (4, 2)),
    "dot_of_a_vector": ("F.np.dot(x, w)", (-1,), (2, 4)),
    "matmul": ("F.np.matmul(x, w)", (-1, 3), (2, 4)),
    "matmul_of_a_batch": ("F.np.matmul(x, w)", (5, -1, 3), (5, 2, 4)),
    "matmul_of_more_axes": ("F.np.matmul(x, w)", (-1, 3), (5, 2, 4)),
    "matmul_transposed": ("F.np.matmul(x, w.T)", (3, -1), (2, 4)),
    "tensordot": ("F.np.tensordot(x, w, axes=1)", (-1, 3), (2, 4)),
    "tensordot_of_two": ("F.np.tensordot(x, w, axes=2)", (-1, -1, 3), (2, 4, 5)),
    "tensordot_of_axes": ("F.np.tensordot(x, w, axes=[[1], [0]])", (-1, 3), (2, 4)),
}

_SNIPPETS = [
    *((f"recorded_{name}", _START.format(call=call)) for name, call in CALLS.items()),
    *((f"recorded_{name}", _VALUES.format(call=call)) for name, call in _INTERPOLATIONS.items()),
    *(
        (f"drawn_{name}", _DRAWS.format(call=call, by_a=by_a, by_b=by_b))
        for name, (call, by_a, by_b) in _DISTRIBUTIONS.items()
    ),
    *((f"drawn_{name}", _SUMMED.format(call=call)) for name, call in _SHARES.items()),
    *((f"drawn_{name}", _NDARRAY_DRAWS.format(call=call)) for name, call in _NDARRAY_CALLS.items()),
    *(
        (f"deferred_{name}", _BLOCK.format(call=call, shape=shape, data=data))
        for name, (call, shape, data) in _PRODUCTS.items()
    ),
]
CASES = [(name, dedent(snippet)) for name, snippet in _SNIPPETS]
