"""Golden cases of `mx.np` and `mx.npx`: values, shapes and dtypes, and gradients of the main functions."""

# ruff: noqa: E501 - one case is one line of text

START = "P, X = mx.np, mx.npx\n"
A = "[[0.5, -1.25, 2.0, 0.25], [1.5, 0.75, -0.5, 3.0], [-2.0, 1.0, 0.125, -0.75]]"
POSITIVE = "[[0.5, 1.25, 2.0, 0.25], [1.5, 0.75, 0.5, 3.0], [2.0, 1.0, 0.125, 0.875]]"
UNIT = "[[0.5, -0.25, 0.2, 0.25], [0.3, 0.75, -0.5, 0.6], [-0.2, 0.1, 0.125, -0.75]]"
SQUARE = "[[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]]"


def _gradients(expression, dtype="float32", **inputs):
    """Makes a snippet: the output of ``expression`` and every input's gradient, for head gradients 0.5, 1.5, 2.5, ..."""
    lines = ["with mx.np_shape(True), mx.np_array(True):"]
    lines += [
        f"    {name} = P.array({values}, dtype='{dtype}'); {name}.attach_grad()" for name, values in inputs.items()
    ]
    lines += ["    with autograd.record():", f"        y = {expression}"]
    lines += [f"    y.backward((P.arange(y.size, dtype='{dtype}') + 0.5).reshape(y.shape))"]
    lines += [f"    result = [y, {', '.join(f'{name}.grad' for name in inputs)}]"]
    return START + "\n".join(lines)


def _value(expression):
    return f"{START}with mx.np_shape(True), mx.np_array(True):\n    result = {expression}"


UNARY = {
    A: "absolute arctan arcsinh cbrt ceil cos cosh degrees exp expm1 fix floor negative radians rint sign sin sinh square tan tanh trunc",
    POSITIVE: "log log10 log1p log2 sqrt reciprocal",
    UNIT: "arcsin arccos arctanh",
}
ONE = [
    "P.sum(x)", "P.sum(x, axis=1)", "P.sum(x, axis=(0, 1), keepdims=True)", "P.mean(x)", "P.mean(x, axis=0)", "P.prod(x, axis=1)",
    "P.max(x, axis=1)", "P.min(x)", "P.std(x)", "P.var(x, axis=0)", "P.std(x, axis=1, ddof=1)", "P.cumsum(x)", "P.cumsum(x, axis=1)",
    "P.average(x, axis=1)", "P.reshape(x, (2, -1))", "P.transpose(x)", "x.T", "P.swapaxes(x, 0, 1)", "P.moveaxis(x, 0, 1)",
    "P.expand_dims(x, 1)", "P.squeeze(P.expand_dims(x, 0))", "P.ravel(x)", "P.broadcast_to(x, (2, 3, 4))", "P.flip(x, 1)",
    "P.roll(x, 1)", "P.roll(x, 2, axis=1)", "P.rot90(x)", "P.tile(x, (1, 2))", "P.repeat(x, 2, axis=0)", "P.diag(x[:, :3])",
    "P.diagonal(x)", "P.trace(x[:, :3])", "P.tril(x)", "P.diff(x)", "P.clip(x, -0.6, 1.1)", "P.stack([x, x], axis=1)",
    "P.concatenate([x, x], axis=1)", "P.vstack([x, x])", "P.hstack([x, x])", "P.dstack([x, x])", "P.split(x, 2, axis=1)[1]",
    "P.where(x > 0, x, 0.5 * x)", "P.maximum(x, 0.3)", "P.minimum(x, 0.3)", "x ** 2", "2 ** x", "x + 1", "1 - x", "x / 2", "x % 2",
    "x[1]", "x[1:3, ::2]", "x[0, 1]", "x[:, None, 1]", "x[P.array([0, 2], dtype='int32')]", "P.take(x, P.array([1, 0], dtype='int32'), axis=1)",
    "P.linalg.norm(x)", "P.linalg.norm(x, axis=1)", "X.relu(x)", "X.sigmoid(x)", "X.softmax(x)", "X.log_softmax(x, axis=0)",
    "X.reshape(x, (-2, 2, -1))", "X.leaky_relu(x, act_type='gelu')", "X.smooth_l1(x, scalar=1.0)", "X.pick(x, P.array([0, 1, 2]))",
    "X.activation(x, act_type='tanh')", "X.batch_flatten(x)", "X.gamma(P.absolute(x))", "X.erf(x)", "P.nan_to_num(x)",
    "P.pad(x, ((1, 1), (0, 2)))", "P.around(x)",
]  # fmt: skip
TWO = [
    "x + z", "x - z", "x * z", "x / z", "P.power(P.absolute(x), z)", "P.maximum(x, z)", "P.minimum(x, z)", "P.hypot(x, z)",
    "P.arctan2(x, z)", "P.copysign(x, z)", "P.mod(x, z)", "P.dot(x, z.T)", "P.matmul(x, z.T)", "P.tensordot(x, z, axes=2)",
    "P.einsum('ij,kj->ik', x, z)", "P.inner(x, z)", "P.vdot(x, z)", "P.outer(x[0], z[1])", "P.where(x > z, x, z)",
    "P.average(x, axis=0, weights=z)", "P.append(x, z, axis=0)", "P.polyval(x[0], z)", "x @ z.T",
]  # fmt: skip
MATRICES = [
    "P.linalg.inv(x)", "P.linalg.det(x)", "P.linalg.slogdet(x)[1]", "P.linalg.cholesky(x)", "P.linalg.solve(x, x + 1)",
    "P.linalg.pinv(x)", "P.linalg.tensorinv(x, ind=1)",
]  # fmt: skip
VALUES = [
    "P.delete({a}, 1, axis=0)", "P.ediff1d({a})", "P.flatnonzero({a} > 0)",
    "P.argmax({a}, axis=1)", "P.argmin({a})", "P.argsort({a}, axis=0)", "P.sort({a}, axis=1)", "P.all({a})", "P.any({a}, axis=0)",
    "{a} > 0.5", "{a} == {a}", "P.logical_not({a})", "P.isnan({a})", "P.isinf({a})", "P.unique({a})", "P.nonzero({a} > 0)",
    "X.nonzero({a} > 0)", "P.bincount(P.array([0, 1, 1, 3], dtype='int32'))", "P.histogram({a}, bins=3, range=(-2, 3))[0]",
    "P.percentile({a}, 30)", "P.quantile({a}, 0.3, axis=1)", "{a}[{a} > 0]", "P.zeros((2, 3))", "P.ones(2)", "P.full((2,), 3)",
    "P.arange(3)", "P.arange(1, 7, 2)", "P.linspace(0, 1, 5)", "P.logspace(0, 2, 3)", "P.eye(3)", "P.eye(2, 3, 1)", "P.identity(2)",
    "P.zeros_like({a})", "P.ones_like({a})", "P.full_like({a}, 2)", "P.array([1, 2])", "P.array(3)", "P.array([True])",
    "P.indices((2, 2))", "P.hanning(5)", "P.hamming(5)", "P.blackman(5)", "P.atleast_2d({a}[0])", "P.meshgrid(P.arange(2), P.arange(3))[0]",
    "P.tril_indices_from({a}[:, :3])[0]", "P.zeros((0, 3)).sum()", "P.zeros((0, 3)).sum(axis=0)", "P.ones((2, 0)).shape",
    "{a}.sum().shape", "{a}.mean().item()", "{a}.tolist()", "P.sum(P.array([1, 2], dtype='int32'))", "P.mean(P.array([1, 2], dtype='int32'))",
    "P.array([1, 2], dtype='int32') / 2", "P.array([1, 2], dtype='int32') + 1", "P.array([1, 2], dtype='int32') * P.array([0.5, 1.5])",
    "X.one_hot(P.array([0, 2]), 3)", "X.topk({a}, k=2)", "X.topk({a}, k=1, ret_typ='value')", "X.shape_array({a})", "X.cast({a}, dtype='int32')",
    "X.sequence_mask({a}, P.array([1, 2, 3, 1]), use_sequence_length=True)", "X.gather_nd({a}, P.array([[0, 1], [1, 2]]))",
    "X.embedding(P.array([0, 2]), {a}, input_dim=3, output_dim=4)", "X.layer_norm({a}, P.ones(4), P.zeros(4))",
    "X.batch_dot({a}.reshape(1, 3, 4), {a}.reshape(1, 4, 3))", "X.constraint_check(P.array([1.0]) > 2, 'no')",
    "P.linalg.eigvalsh(P.array({s}))", "P.linalg.svd({a})[1]", "{a}.astype('int32')", "{a}.as_nd_ndarray().sum()", "nd.ones(3).as_np_ndarray().sum()",
]  # fmt: skip


WORDS = {
    "**": " to ",
    "*": " times ",
    "/": " over ",
    "%": " modulo ",
    "+": " plus ",
    "-": " minus ",
    ">": " above ",
    "==": " is ",
    "@": " at ",
    "[": " of ",
    ":": " to ",
    "(1, 7": "seven",
}


def _name(expression):
    for sign, word in WORDS.items():
        expression = expression.replace(sign, word)
    letters = "".join(letter if letter.isalnum() else " " for letter in expression)
    return "_".join(["np", *letters.split()])


CASES = [
    *((f"np_{name}", _gradients(f"P.{name}(x)", x=domain)) for domain, names in UNARY.items() for name in names.split()),
    *((f"np_{name}_float64", _gradients(f"P.{name}(x)", "float64", x=domain)) for domain, names in UNARY.items() for name in names.split()[::4]),
    *((_name(one), _gradients(one, x=A)) for one in ONE),
    *((_name(one) + "_float64", _gradients(one, "float64", x=A)) for one in ONE[::4]),
    *((_name(two), _gradients(two, x=A, z=POSITIVE)) for two in TWO),
    *((_name(one), _gradients(one, "float64", x=SQUARE)) for one in MATRICES),
    *((_name(value), _value(value.format(a=f"P.array({A})", s=SQUARE))) for value in VALUES),
]  # fmt: skip
