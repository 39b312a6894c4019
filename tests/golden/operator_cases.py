"""Golden cases of operators: what they compute and their gradients, with head gradients that are not all ones."""

from textwrap import dedent


def _forward_backward(expression, *, head="", out="y", **inputs):
    """Makes a snippet: inputs with gradients, ``expression`` recorded, ``result`` = output and every input's gradient.

    The head gradient counts 0.5, 1.5, 2.5, ... through the output unless ``head`` is given.
    """
    lines = [f"{name} = nd.array({values}); {name}.attach_grad()" for name, values in inputs.items()]
    lines += ["with autograd.record():", f"    y = {expression}"]
    lines += [f"y.backward({head or '(nd.arange(y.size) + 0.5).reshape(y.shape)'})"]
    lines += [f"result = [{out}, {', '.join(f'{name}.grad' for name in inputs)}]"]
    return "\n".join(lines)


def _table(group, rows):
    """Names every row of ``(name, expression, inputs)`` with its group and makes its snippet."""
    return [(f"{group}_{name}", _forward_backward(expression, **inputs)) for name, expression, inputs in rows]


def _snippets(group, rows):
    return [(f"{group}_{name}", dedent(snippet).strip()) for name, snippet in rows]


MATRIX = "[[1, -2, 3], [0.5, 4, -1]]"
COLUMNS = "[[0.5, -1, 2], [3, 0, 1]]"
EDGES = "[-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5]"
SIGNED = "[-3, -0.5, 0, 0.25, 2]"
POSITIVE = "[0.25, 1, 3, 10]"
UNIT = "[-1, -0.5, 0, 0.5, 1]"

# Function, its domain. Edge values are part of each domain.
UNARY = [
    ("abs", SIGNED), ("sign", SIGNED), ("negative", SIGNED), ("square", SIGNED), ("relu", SIGNED),
    ("sigmoid", "[-100, -3, -0.5, 0, 2, 100]"), ("hard_sigmoid", "[-4, -2.5, -1, 0, 1, 2.5, 4]"),
    ("softsign", SIGNED), ("tanh", "[-30, -3, -0.5, 0, 2, 30]"), ("erf", SIGNED), ("erfinv", "[-1, -0.5, 0, 0.5, 0.9]"),
    ("exp", "[-100, -1, 0, 2, 89]"), ("expm1", "[-3, -1e-6, 0, 1e-6, 2]"),
    ("log", "[-1, 0, 0.25, 1, 10]"), ("log10", "[0, 0.25, 1, 10]"), ("log2", "[0, 0.25, 1, 8]"),
    ("log1p", "[-2, -1, -1e-6, 0, 1e-6, 2]"),
    ("sqrt", "[-1, 0, 0.25, 4]"), ("rsqrt", "[-1, 0, 0.25, 4]"), ("cbrt", "[-8, 0, 0.125, 27]"),
    ("rcbrt", "[-8, 0, 0.125, 27]"), ("reciprocal", "[-2, 0, 0.25, 4]"),
    ("gamma", "[-1.5, 0.5, 1, 2.5, 5]"), ("gammaln", "[-1.5, 0.5, 1, 2, 2.5, 50]"),
    ("sin", SIGNED), ("cos", SIGNED), ("tan", SIGNED), ("arcsin", UNIT), ("arccos", UNIT), ("arctan", SIGNED),
    ("sinh", SIGNED), ("cosh", SIGNED), ("arcsinh", SIGNED), ("arccosh", "[0.5, 1, 2, 10]"), ("arctanh", UNIT),
    ("degrees", SIGNED), ("radians", "[-180, 0, 45, 360]"),
    ("round", EDGES), ("rint", EDGES), ("fix", EDGES), ("trunc", EDGES), ("floor", EDGES), ("ceil", EDGES),
    ("logical_not", SIGNED), ("identity", SIGNED), ("zeros_like", SIGNED), ("ones_like", SIGNED),
]  # fmt: skip

UNARY_CASES = _table("unary", [(name, f"nd.{name}(x)", {"x": domain}) for name, domain in UNARY])

ACTIVATION_CASES = _table(
    "activation",
    [
        *[
            (kind, f"nd.Activation(x, act_type='{kind}')", {"x": "[-30, -1, 0, 0.5, 30]"})
            for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
        ],
        ("leaky", "nd.LeakyReLU(x, act_type='leaky', slope=0.1)", {"x": SIGNED}),
        ("leaky_default_slope", "nd.LeakyReLU(x)", {"x": SIGNED}),
        ("elu", "nd.LeakyReLU(x, act_type='elu', slope=0.5)", {"x": SIGNED}),
        ("selu", "nd.LeakyReLU(x, act_type='selu')", {"x": SIGNED}),
        ("gelu", "nd.LeakyReLU(x, act_type='gelu')", {"x": SIGNED}),
        ("prelu_channels", "nd.LeakyReLU(x, gamma, act_type='prelu')", {"x": MATRIX, "gamma": "[0.1, 0.2, 0.3]"}),
        ("prelu_shared", "nd.LeakyReLU(x, gamma, act_type='prelu')", {"x": MATRIX, "gamma": "[0.1]"}),
        ("smooth_l1", "nd.smooth_l1(x)", {"x": "[-2, -1, -0.5, 0, 0.5, 1, 2]"}),
        ("smooth_l1_scalar", "nd.smooth_l1(x, scalar=2)", {"x": "[-2, -0.25, -0.1, 0, 0.2, 0.25, 2]"}),
    ],
) + _snippets(
    "activation",
    [
        ("unknown", "result = nd.Activation(nd.ones((1,)), act_type='swish')"),
        ("without_type", "result = nd.Activation(nd.ones((1,)))"),
        (
            "rrelu_predicting",
            "result = nd.LeakyReLU(nd.array([-1, 1]), act_type='rrelu', lower_bound=0.1, upper_bound=0.3)[0]",
        ),
    ],
)

FULLY_CONNECTED_CASES = _table(
    "fully_connected",
    [
        ("bias", "nd.FullyConnected(x, w, b, num_hidden=2)", {"x": MATRIX, "w": COLUMNS, "b": "[1, -1]"}),
        ("no_bias", "nd.FullyConnected(x, w, no_bias=True, num_hidden=2)", {"x": MATRIX, "w": COLUMNS}),
        (
            "flattens",
            "nd.FullyConnected(x, w, no_bias=True, num_hidden=1)",
            {"x": "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", "w": "[[1, -1, 2, 0.5]]"},
        ),
        (
            "without_flatten",
            "nd.FullyConnected(x, w, b, num_hidden=1, flatten=False)",
            {"x": "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", "w": "[[1, -1]]", "b": "[0.5]"},
        ),
        (
            "vector_without_flatten",
            "nd.FullyConnected(x, w, no_bias=True, num_hidden=2, flatten=False)",
            {"x": "[1, 2]", "w": "[[1, 2], [3, 4]]"},
        ),
        ("vector_flattens", "nd.FullyConnected(x, w, no_bias=True, num_hidden=2)", {"x": "[1, 2]", "w": "[[1], [3]]"}),
    ],
) + _snippets(
    "fully_connected",
    [
        ("wrong_width", "result = nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 2)), no_bias=True, num_hidden=4)"),
        (
            "wrong_num_hidden",
            "result = nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 3)), no_bias=True, num_hidden=5)",
        ),
        ("bias_missing", "result = nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 3)), num_hidden=4)"),
        ("num_hidden_missing", "result = nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 3)), no_bias=True)"),
        (
            "dtype_float64",
            """
            x = nd.ones((1, 2), dtype='float64')
            result = nd.FullyConnected(x, x, no_bias=True, num_hidden=1)
            """,
        ),
    ],
)

SOFTMAX_CASES = _table(
    "softmax",
    [
        ("last_axis", "nd.softmax(x)", {"x": MATRIX}),
        ("axis_zero", "nd.softmax(x, axis=0)", {"x": MATRIX}),
        ("temperature", "nd.softmax(x, temperature=2.0)", {"x": MATRIX}),
        ("large_values", "nd.softmax(x)", {"x": "[[1000, 1001], [-1000, 0]]"}),
        ("infinities", "nd.softmax(x)", {"x": "[[-float('inf'), 0, 0]]"}),
        ("length", "nd.softmax(x, nd.array([2, 1], dtype='int32'), axis=1, use_length=True)", {"x": MATRIX}),
        ("length_zero", "nd.softmax(x, nd.array([0, 3], dtype='int32'), axis=1, use_length=True)", {"x": MATRIX}),
        ("vector", "nd.softmax(x)", {"x": "[1, 2, 3]"}),
        ("log", "nd.log_softmax(x)", {"x": MATRIX}),
        ("log_axis_zero", "nd.log_softmax(x, axis=0)", {"x": MATRIX}),
        ("log_temperature", "nd.log_softmax(x, temperature=0.5)", {"x": MATRIX}),
        ("log_large_values", "nd.log_softmax(x)", {"x": "[[1000, 0], [-1000, 0]]"}),
        ("softmin", "nd.softmin(x)", {"x": MATRIX}),
        ("softmin_axis_zero", "nd.softmin(x, axis=0)", {"x": MATRIX}),
        ("activation_instance", "nd.SoftmaxActivation(x)", {"x": MATRIX}),
        ("activation_channel", "nd.SoftmaxActivation(x, mode='channel')", {"x": "[[[[1, 2]], [[3, 5]]]]"}),
        ("cross_entropy", "nd.softmax_cross_entropy(x, nd.array([2, 0]))", {"x": MATRIX}),
        ("cross_entropy_large", "nd.softmax_cross_entropy(x, nd.array([1, 1]))", {"x": "[[1000, 0], [0, 1000]]"}),
        ("cross_entropy_label_gradient", "nd.softmax_cross_entropy(x, l)", {"x": MATRIX, "l": "[2, 0]"}),
    ],
) + _snippets(
    "softmax",
    [
        ("float16_dtype", "result = nd.softmax(nd.array([1, 2], dtype='float16'))"),
        ("dtype_argument", "result = nd.softmax(nd.array([1, 2]), dtype='float64')"),
        ("int32", "result = nd.softmax(nd.array([1, 2], dtype='int32'))"),
        ("axis_out_of_range", "result = nd.softmax(nd.array([1, 2]), axis=1)"),
        ("method", "result = nd.array([1, 2]).softmax(axis=0)"),
        ("log_method", "result = nd.array([1, 2]).log_softmax()"),
    ],
)

BATCH = "[[1, -2, 3], [0.5, 4, -1], [0, 0, 0]]"
LABELS = "[2, 0, 1]"
IGNORING = "[2, -1, 1]"


def _output(attributes="", x=BATCH, label=LABELS, head="nd.ones(y.shape) * 3"):
    expression = f"nd.SoftmaxOutput(x, label{', ' if attributes else ''}{attributes})"
    return _forward_backward(expression, head=head, x=x, label=label)


SOFTMAX_OUTPUT_CASES = _snippets(
    "softmax_output",
    [
        ("ignores_head_gradient", _output()),
        ("grad_scale", _output("grad_scale=0.5")),
        ("normalization_null", _output("normalization='null'")),
        ("normalization_batch", _output("normalization='batch'")),
        ("normalization_valid", _output("normalization='valid'")),
        ("ignore_label", _output("use_ignore=True, ignore_label=-1", label=IGNORING)),
        ("ignore_label_default", _output("use_ignore=True", label=IGNORING)),
        ("ignore_label_not_used", _output("ignore_label=1")),
        (
            "ignore_normalization_valid",
            _output("use_ignore=True, ignore_label=-1, normalization='valid'", label=IGNORING),
        ),
        (
            "ignore_normalization_batch",
            _output("use_ignore=True, ignore_label=-1, normalization='batch'", label=IGNORING),
        ),
        ("smooth_alpha", _output("smooth_alpha=0.1")),
        ("out_grad", _output("out_grad=True", head="(nd.arange(9) + 0.5).reshape((3, 3))")),
        ("multi_output", _output("multi_output=True", x="[[[1, 2], [3, 5], [0, 1]]]", label="[[2, 0]]")),
        (
            "multi_output_valid",
            _output(
                "multi_output=True, normalization='valid', use_ignore=True, ignore_label=0",
                x="[[[1, 2], [3, 5], [0, 1]]]",
                label="[[2, 0]]",
            ),
        ),
        (
            "multi_output_batch",
            _output("multi_output=True, normalization='batch'", x="[[[1, 2], [3, 5], [0, 1]]]", label="[[2, 0]]"),
        ),
        ("preserve_shape", _output("preserve_shape=True", x="[[[1, 2], [3, 5]]]", label="[[1, 0]]")),
        ("three_axes_flatten", _output(x="[[[1, 2], [3, 5]]]", label="[2]")),
        ("label_of_output_shape", _output(label="[[0, 0, 1], [1, 0, 0], [0.5, 0.5, 0]]")),
        ("default_head_gradient", _forward_backward("nd.SoftmaxOutput(x, label)", head=" ", x=BATCH, label=LABELS)),
        ("under_softmax_name", _forward_backward("nd.Softmax(x, label)", head=" ", x=BATCH, label=LABELS)),
        ("label_out_of_range", _output(label="[7, 0, -3]")),
        ("followed_by_scaling", _forward_backward("nd.SoftmaxOutput(x, label) * 7", x=BATCH, label=LABELS)),
    ],
)

REGRESSION_CASES = _table(
    "regression",
    [
        (
            f"{kind.lower()}{name}",
            f"nd.{kind}RegressionOutput(x, label{attributes})",
            {"x": "[[1, -2], [3, 0.5]]", "label": "[[0, 1], [3, -1]]"},
        )
        for kind in ("Linear", "Logistic", "MAE")
        for name, attributes in (("", ""), ("_grad_scale", ", grad_scale=0.5"))
    ]
    + [
        ("linear_vector", "nd.LinearRegressionOutput(x, label)", {"x": "[1, 2, 4]", "label": "[0, 0, 0]"}),
        ("linear_column_and_vector", "nd.LinearRegressionOutput(x, label)", {"x": "[[1], [2]]", "label": "[0, 0]"}),
        ("make_loss", "nd.MakeLoss(x)", {"x": MATRIX}),
        ("make_loss_grad_scale", "nd.MakeLoss(x, grad_scale=2)", {"x": MATRIX}),
        ("make_loss_batch", "nd.MakeLoss(x, normalization='batch')", {"x": MATRIX}),
        ("make_loss_valid", "nd.MakeLoss(x, normalization='valid', valid_thresh=0)", {"x": MATRIX}),
        ("make_loss_lower_case", "nd.make_loss(x * x)", {"x": MATRIX}),
        ("block_grad", "nd.BlockGrad(x) + x", {"x": "[1, 2]"}),
        ("svm", "nd.SVMOutput(x, label)", {"x": BATCH, "label": LABELS}),
        ("svm_linear", "nd.SVMOutput(x, label, use_linear=True, margin=2)", {"x": BATCH, "label": LABELS}),
    ],
)

DROPOUT_CASES = _table(
    "dropout",
    [
        ("p_zero", "nd.Dropout(x, p=0)", {"x": MATRIX}),
        ("p_zero_always", "nd.Dropout(x, p=0, mode='always')", {"x": MATRIX}),
        ("p_zero_axes", "nd.Dropout(x, p=0, axes=(0,))", {"x": MATRIX}),
    ],
) + _snippets(
    "dropout",
    [
        ("predicting", "result = nd.Dropout(nd.array([1, 2]), p=0.9)"),
        (
            "predicting_gradient",
            _forward_backward("nd.Dropout(x, p=0.9)", x="[1, 2]").replace("record()", "record(train_mode=False)"),
        ),
        ("p_above_one", "result = nd.Dropout(nd.array([1, 2]), p=1.5)"),
        ("p_negative", "result = nd.Dropout(nd.array([1, 2]), p=-0.5)"),
        ("mode_unknown", "result = nd.Dropout(nd.array([1, 2]), mode='never')"),
        (
            "axes_share_the_mask",
            """
            with autograd.record():
                y = nd.Dropout(nd.ones((40, 3)), p=0.5, axes=(1,))
            result = bool((y == y[:, 0:1]).min())
            """,
        ),
    ],
)

LEFT = "[[-3], [0], [2]]"
RIGHT = "[[2, -2, 0]]"
NONZERO = "[[2, -2, 1.5]]"

BROADCAST_CASES = _table(
    "broadcast",
    [
        (name, f"nd.broadcast_{name}(a, b)", {"a": LEFT, "b": RIGHT})
        for name in ("add", "sub", "mul", "maximum", "minimum", "hypot", "plus", "minus")
    ]
    + [(name, f"nd.broadcast_{name}(a, b)", {"a": LEFT, "b": NONZERO}) for name in ("div", "mod")]
    + [("power", "nd.broadcast_power(a, b)", {"a": "[[0.5], [1], [2]]", "b": RIGHT})]
    + [
        (name, f"nd.broadcast_{name}(a, b)", {"a": LEFT, "b": RIGHT})
        for name in (
            "equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
            "logical_and", "logical_or", "logical_xor",
        )
    ]
    + [
        ("mod_by_zero", "nd.broadcast_mod(a, b)", {"a": LEFT, "b": RIGHT}),
        ("div_by_zero", "nd.broadcast_div(a, b)", {"a": LEFT, "b": RIGHT}),
        ("rank_mismatch", "nd.broadcast_add(a, b)", {"a": "[[1, 2], [3, 4]]", "b": "[1, 2]"}),
        ("axis", "nd.broadcast_axis(x, axis=(0, 1), size=(2, 3))", {"x": "[[7]]"}),
        ("to", "nd.broadcast_to(x, shape=(2, 2))", {"x": "[[1], [2]]"}),
        ("like", "nd.broadcast_like(x, nd.zeros((2, 2)))", {"x": "[[1], [2]]"}),
        ("like_axes", "nd.broadcast_like(x, nd.zeros((5, 3)), lhs_axes=(1,), rhs_axes=(1,))", {"x": "[[1], [2]]"}),
    ],
)  # fmt: skip

ELEMENTWISE_CASES = _table(
    "elementwise",
    [
        *[
            (name, f"nd.elemwise_{name}(a, b)", {"a": "[-3, 0, 2]", "b": "[2, -2, 0.5]"})
            for name in ("add", "sub", "mul", "div")
        ],
        ("add_n", "nd.add_n(a, b, a)", {"a": "[1, 2]", "b": "[3, 4]"}),
        ("element_wise_sum", "nd.ElementWiseSum(a, b)", {"a": "[1, 2]", "b": "[3, 4]"}),
        ("plus_scalar", "x + 2", {"x": SIGNED}),
        ("minus_scalar", "x - 2", {"x": SIGNED}),
        ("scalar_minus", "2 - x", {"x": SIGNED}),
        ("times_scalar", "x * 2", {"x": SIGNED}),
        ("divided_by_scalar", "x / 2", {"x": SIGNED}),
        ("scalar_divided", "2 / x", {"x": POSITIVE}),
        ("power_scalar", "x ** 3", {"x": SIGNED}),
        ("power_negative_scalar", "x ** -1", {"x": POSITIVE}),
        ("scalar_power", "3 ** x", {"x": SIGNED}),
        ("modulo_scalar", "x % 2", {"x": SIGNED}),
        ("modulo_negative_scalar", "x % -2", {"x": SIGNED}),
        ("scalar_modulo", "5 % x", {"x": "[-3, 2, 0.3]"}),
        ("modulo_arrays", "a % b", {"a": "[5, -5, 5, -5]", "b": "[3, 3, -3, -3]"}),
        ("maximum_scalar", "nd.maximum(x, 0)", {"x": SIGNED}),
        ("minimum_scalar", "nd.minimum(x, 0)", {"x": SIGNED}),
        ("equal_scalar", "x == 0", {"x": SIGNED}),
        ("greater_scalar", "x > 0", {"x": SIGNED}),
        ("logical_and_scalar", "nd.logical_and(x, 1)", {"x": SIGNED}),
        ("where", "nd.where(c, a, b)", {"c": "[1, 0, 2]", "a": "[1, 2, 3]", "b": "[4, 5, 6]"}),
        ("clip", "nd.clip(x, -0.5, 0.25)", {"x": SIGNED}),
        ("clip_nan", "nd.clip(x, 0, 1)", {"x": "[float('nan'), 2]"}),
        ("hypot_arrays", "nd.broadcast_hypot(a, b)", {"a": "[3, 0]", "b": "[4, 0]"}),
        ("squared_difference", "(a - b) ** 2", {"a": "[3, 0]", "b": "[4, 0]"}),
        ("cast", "nd.cast(x, dtype='float64')", {"x": SIGNED}),
        ("amp_cast", "nd.amp_cast(x, dtype='float16')", {"x": SIGNED}),
    ],
) + _snippets(
    "elementwise",
    [
        ("add_shapes_differ", "result = nd.elemwise_add(nd.ones((2, 1)), nd.ones((1, 2)))"),
        ("div_by_zero", "result = nd.elemwise_div(nd.array([1, -1, 0]), nd.zeros((3,)))"),
    ],
)

CUBE = "[[[1, 2], [3, 4]], [[-5, 6], [7, -8]]]"

REDUCTION_CASES = _table(
    "reduction",
    [
        (f"{function}_{name}", f"nd.{function}(x, {attributes})", {"x": CUBE})
        for function in ("sum", "mean", "prod", "max", "min")
        for name, attributes in (
            ("axis", "axis=1"),
            ("axes_keepdims", "axis=(0, 2), keepdims=True"),
            ("exclude", "axis=1, exclude=True"),
        )
    ]
    + [
        ("nansum", "nd.nansum(x, axis=0)", {"x": "[[1, float('nan')], [3, 4]]"}),
        ("nanprod", "nd.nanprod(x, axis=0)", {"x": "[[2, float('nan')], [3, 4]]"}),
        ("sum_all", "nd.sum(x)", {"x": CUBE}),
        ("sum_axis_name", "nd.sum_axis(x, axis=0)", {"x": MATRIX}),
        ("max_ties", "nd.max(x, axis=1)", {"x": "[[2, 2, 1], [0, 0, 0]]"}),
        ("min_ties", "nd.min(x, axis=1)", {"x": "[[2, 1, 1], [0, 0, 0]]"}),
        ("prod_one_zero", "nd.prod(x, axis=1)", {"x": "[[2, 0, 3], [1, 2, 3]]"}),
        ("norm", "nd.norm(x)", {"x": MATRIX}),
        ("norm_axis", "nd.norm(x, axis=1)", {"x": MATRIX}),
        ("norm_axes", "nd.norm(x, axis=(0, 2))", {"x": CUBE}),
        ("norm_keepdims", "nd.norm(x, axis=0, keepdims=True)", {"x": MATRIX}),
        ("norm_one", "nd.norm(x, ord=1)", {"x": MATRIX}),
        ("norm_one_axis", "nd.norm(x, ord=1, axis=1)", {"x": MATRIX}),
        ("norm_zero_row", "nd.norm(x, axis=1)", {"x": "[[0, 0], [3, 4]]"}),
        ("l2_normalization_instance", "nd.L2Normalization(x)", {"x": CUBE}),
        ("l2_normalization_channel", "nd.L2Normalization(x, mode='channel')", {"x": CUBE}),
        ("l2_normalization_spatial", "nd.L2Normalization(x, mode='spatial')", {"x": CUBE}),
        ("l2_normalization_eps", "nd.L2Normalization(x, eps=1)", {"x": MATRIX}),
        ("layer_norm", "nd.LayerNorm(x, g, b)", {"x": MATRIX, "g": "[1, 2, 3]", "b": "[0, 1, -1]"}),
        ("layer_norm_axis_eps", "nd.LayerNorm(x, g, b, axis=0, eps=0.5)", {"x": MATRIX, "g": "[1, 2]", "b": "[0, 1]"}),
        ("cumsum_axis", "nd.cumsum(x, axis=1)", {"x": MATRIX}),
        ("cumsum_flat", "nd.cumsum(x)", {"x": MATRIX}),
        ("moments_variance", "nd.moments(x, axes=(0,))[1]", {"x": MATRIX}),
        ("square_sum", "nd.square(x).sum(axis=0)", {"x": MATRIX}),
    ],
) + _snippets(
    "reduction",
    [
        ("norm_ord_three", "result = nd.norm(nd.array([1, 2]), ord=3)"),
        ("moments", "result = nd.moments(nd.array([[1, 2], [3, 6]]), axes=(0,))"),
        ("cumsum_dtype", "result = nd.cumsum(nd.array([1.5, 2.5]), dtype='int32')"),
        (
            "layer_norm_output_mean_var",
            "result = nd.LayerNorm(nd.array([[1, 2, 6]]), nd.ones((3,)), nd.zeros((3,)), output_mean_var=True)",
        ),
        ("argmax_channel", "result = nd.argmax_channel(nd.array([[1, 5, 5], [3, 2, 1]]))"),
    ],
)

INDEXING_CASES = _table(
    "indexing",
    [
        (
            "embedding",
            "nd.Embedding(nd.array([[0, 2], [2, 1]]), w, input_dim=3, output_dim=2)",
            {"w": "[[1, 2], [3, 4], [5, 6]]"},
        ),
        (
            "embedding_out_of_range",
            "nd.Embedding(nd.array([-1, 7]), w, input_dim=3, output_dim=2)",
            {"w": "[[1, 2], [3, 4], [5, 6]]"},
        ),
        (
            "embedding_fraction",
            "nd.Embedding(nd.array([1.7]), w, input_dim=3, output_dim=2)",
            {"w": "[[1, 2], [3, 4], [5, 6]]"},
        ),
        (
            "embedding_index_gradient",
            "nd.Embedding(i, w, input_dim=2, output_dim=1)",
            {"i": "[1, 0]", "w": "[[1], [2]]"},
        ),
        ("take_clip", "nd.take(x, nd.array([-1, 1, 9]))", {"x": "[[1, 2], [3, 4], [5, 6]]"}),
        ("take_wrap", "nd.take(x, nd.array([-1, 1, 4]), mode='wrap')", {"x": "[[1, 2], [3, 4], [5, 6]]"}),
        ("take_axis", "nd.take(x, nd.array([[1, 0]]), axis=1)", {"x": "[[1, 2], [3, 4], [5, 6]]"}),
        ("take_fraction", "nd.take(x, nd.array([0.9, 1.5]))", {"x": "[10, 20, 30]"}),
        ("pick", "nd.pick(x, nd.array([0, 2]))", {"x": MATRIX}),
        ("pick_axis_zero", "nd.pick(x, nd.array([0, 1, 1]), axis=0)", {"x": MATRIX}),
        ("pick_clip", "nd.pick(x, nd.array([-1, 9]))", {"x": MATRIX}),
        ("pick_wrap", "nd.pick(x, nd.array([-1, 4]), mode='wrap')", {"x": MATRIX}),
        ("pick_keepdims", "nd.pick(x, nd.array([0, 2]), keepdims=True)", {"x": MATRIX}),
        ("pick_column_index", "nd.pick(x, nd.array([[0], [2]]))", {"x": MATRIX}),
        ("pick_index_gradient", "nd.pick(x, i)", {"x": MATRIX, "i": "[0, 2]"}),
        ("gather_nd", "nd.gather_nd(x, nd.array([[0, 1, 1], [2, 0, 0]]))", {"x": MATRIX}),
        ("gather_nd_rows", "nd.gather_nd(x, nd.array([[1, 1, 0]]))", {"x": MATRIX}),
        ("scatter_nd", "nd.scatter_nd(x, nd.array([[0, 1], [2, 0]]), shape=(2, 3))", {"x": "[5, 6]"}),
        ("slice", "nd.slice(x, begin=(0, 1), end=(2, 3))", {"x": MATRIX}),
        ("slice_step", "nd.slice(x, begin=(None, 2), end=(None, None), step=(None, -2))", {"x": MATRIX}),
        ("slice_axis", "nd.slice_axis(x, axis=1, begin=-2, end=None)", {"x": MATRIX}),
        ("slice_like", "nd.slice_like(x, nd.zeros((1, 2)))", {"x": MATRIX}),
        ("diag_of_vector", "nd.diag(x)", {"x": "[1, 2]"}),
        ("diag_of_vector_offset", "nd.diag(x, k=-1)", {"x": "[1, 2]"}),
        ("diag_of_matrix", "nd.diag(x)", {"x": MATRIX}),
        ("diag_of_matrix_offset", "nd.diag(x, k=1)", {"x": MATRIX}),
        ("sequence_mask", "nd.SequenceMask(x, nd.array([1, 2]), use_sequence_length=True, value=9)", {"x": CUBE}),
        (
            "sequence_mask_axis_one",
            "nd.SequenceMask(x, nd.array([1, 2]), use_sequence_length=True, axis=1)",
            {"x": CUBE},
        ),
        ("sequence_mask_not_used", "nd.SequenceMask(x)", {"x": CUBE}),
        ("sequence_last", "nd.SequenceLast(x, nd.array([1, 2]), use_sequence_length=True)", {"x": CUBE}),
        ("sequence_last_one_step", "nd.SequenceLast(x, nd.array([1, 1]), use_sequence_length=True)", {"x": CUBE}),
        ("sequence_reverse", "nd.SequenceReverse(x, nd.array([1, 2]), use_sequence_length=True)", {"x": CUBE}),
        ("topk_value", "nd.topk(x, k=2, ret_typ='value')", {"x": MATRIX}),
        ("topk_value_ascending", "nd.topk(x, k=1, axis=0, ret_typ='value', is_ascend=True)", {"x": MATRIX}),
        ("topk_mask", "nd.topk(x, k=2, ret_typ='mask')", {"x": MATRIX}),
        ("choose_element_0index", "nd.choose_element_0index(x, nd.array([0, 2]))", {"x": MATRIX}),
        ("boolean_mask", "nd.contrib.boolean_mask(x, nd.array([0, 1]))", {"x": MATRIX}),
    ],
) + _snippets(
    "indexing",
    [
        (
            "embedding_index_dtype_int32",
            "result = nd.Embedding(nd.array([1], dtype='int32'), nd.array([[1], [2]]), input_dim=2, output_dim=1)",
        ),
        (
            "embedding_wrong_dimensions",
            "result = nd.Embedding(nd.array([1]), nd.ones((3, 2)), input_dim=4, output_dim=2)",
        ),
        ("one_hot_values", "result = nd.one_hot(nd.array([1, 0]), depth=3, on_value=8, off_value=-1)"),
        ("one_hot_two_axes", "result = nd.one_hot(nd.array([[1], [0]]), depth=2)"),
        ("one_hot_int32_indices", "result = nd.one_hot(nd.array([1], dtype='int32'), depth=2)"),
        ("scatter_nd_repeated", "result = nd.scatter_nd(nd.array([5]), nd.array([[1]]), shape=(3,))"),
        ("diag_axes", "result = nd.diag(nd.arange(8).reshape((2, 2, 2)), axis1=0, axis2=2)"),
        ("ravel_multi_index", "result = nd.ravel_multi_index(nd.array([[0, 1], [2, 0]]), shape=(2, 3))"),
        ("unravel_index", "result = nd.unravel_index(nd.array([2, 3]), shape=(2, 3))"),
        ("argsort_descending", "result = nd.argsort(nd.array([[3, 1, 2]]), is_ascend=False)"),
    ],
)

SHAPE_CASES = _table(
    "shape",
    [
        ("reshape", "nd.reshape(x, shape=(0, -1, 1))", {"x": MATRIX}),
        ("transpose", "nd.transpose(x)", {"x": MATRIX}),
        ("transpose_axes", "nd.transpose(x, axes=(2, 0, 1))", {"x": CUBE}),
        ("swapaxes", "nd.SwapAxis(x, dim1=0, dim2=2)", {"x": CUBE}),
        ("expand_dims", "nd.expand_dims(x, axis=1)", {"x": MATRIX}),
        ("squeeze", "nd.squeeze(x)", {"x": "[[[1, 2]]]"}),
        ("flatten", "nd.Flatten(x)", {"x": CUBE}),
        ("concat", "nd.concat(a, b, dim=1)", {"a": "[[1], [2]]", "b": "[[3, 4], [5, 6]]"}),
        ("concat_capital", "nd.Concat(a, b, dim=0)", {"a": "[1]", "b": "[3, 4]"}),
        ("stack", "nd.stack(a, b, axis=1)", {"a": "[1, 2]", "b": "[3, 4]"}),
        ("split_second", "nd.split(x, num_outputs=3, axis=1)[1]", {"x": MATRIX}),
        ("slice_channel", "nd.SliceChannel(x, num_outputs=3, squeeze_axis=True)[2]", {"x": MATRIX}),
        ("tile", "nd.tile(x, reps=(2, 1, 2))", {"x": "[[1, 2]]"}),
        ("repeat", "nd.repeat(x, repeats=2, axis=0)", {"x": MATRIX}),
        ("repeat_flat", "nd.repeat(x, repeats=2)", {"x": "[[1, 2]]"}),
        ("flip", "nd.flip(x, axis=1)", {"x": MATRIX}),
        ("pad_edge", "nd.pad(x, mode='edge', pad_width=(0, 0, 0, 0, 1, 1, 1, 0))", {"x": "[[[[1, 2], [3, 4]]]]"}),
        ("pad_reflect", "nd.pad(x, mode='reflect', pad_width=(0, 0, 0, 0, 1, 1, 1, 0))", {"x": "[[[[1, 2], [3, 4]]]]"}),
        ("depth_to_space", "nd.depth_to_space(x, 2)", {"x": "[[[[1]], [[2]], [[3]], [[4]]]]"}),
        ("space_to_depth", "nd.space_to_depth(x, 2)", {"x": "[[[[1, 2], [3, 4]]]]"}),
        ("dot", "nd.dot(a, b)", {"a": MATRIX, "b": "[[1, 2], [3, 4], [5, 6]]"}),
        ("dot_transpose_a", "nd.dot(a, b, transpose_a=True)", {"a": MATRIX, "b": "[[1, 2], [3, 4]]"}),
        ("dot_transpose_b", "nd.dot(a, b, transpose_b=True)", {"a": MATRIX, "b": COLUMNS}),
        ("dot_vectors", "nd.dot(a, b)", {"a": "[1, 2]", "b": "[3, 4]"}),
        ("dot_matrix_vector", "nd.dot(a, b)", {"a": MATRIX, "b": "[1, 2, 3]"}),
        ("dot_cube_matrix", "nd.dot(a, b)", {"a": CUBE, "b": "[[1], [2]]"}),
        ("batch_dot", "nd.batch_dot(a, b)", {"a": CUBE, "b": "[[[1], [2]], [[3], [4]]]"}),
        (
            "batch_dot_transpose",
            "nd.batch_dot(a, b, transpose_a=True, transpose_b=True)",
            {"a": CUBE, "b": "[[[1, 2]], [[3, 4]]]"},
        ),
        ("linalg_gemm2", "nd.linalg.gemm2(a, b, transpose_b=True, alpha=2)", {"a": MATRIX, "b": COLUMNS}),
        ("upsampling_nearest", "nd.UpSampling(x, scale=2, sample_type='nearest')", {"x": "[[[[1, 2]]]]"}),
    ],
)


def _update(call, state=False):
    lines = ["weight = nd.array([1, -2, 3]); gradient = nd.array([0.5, -4, 0])"]
    lines += ["momentum = nd.array([0.1, 0.2, -0.3])"] if state else []
    lines += [f"returned = {call}"]
    lines += [f"result = [weight, returned{', momentum' if state else ''}]"]
    return "\n".join(lines)


OPTIMIZER_CASES = _snippets(
    "optimizer",
    [
        ("sgd_in_place", _update("nd.sgd_update(weight, gradient, out=weight, lr=0.1)")),
        ("sgd_without_out", _update("nd.sgd_update(weight, gradient, lr=0.1)")),
        ("sgd_weight_decay", _update("nd.sgd_update(weight, gradient, out=weight, lr=0.1, wd=0.5)")),
        ("sgd_rescale", _update("nd.sgd_update(weight, gradient, out=weight, lr=0.1, rescale_grad=0.5)")),
        ("sgd_clip", _update("nd.sgd_update(weight, gradient, out=weight, lr=0.1, clip_gradient=1)")),
        (
            "sgd_everything",
            _update("nd.sgd_update(weight, gradient, out=weight, lr=0.1, wd=0.5, rescale_grad=2, clip_gradient=3)"),
        ),
        ("sgd_clip_zero", _update("nd.sgd_update(weight, gradient, out=weight, lr=0.1, clip_gradient=0)")),
        (
            "sgd_momentum",
            _update("nd.sgd_mom_update(weight, gradient, momentum, out=weight, lr=0.1, momentum=0.9)", True),
        ),
        (
            "sgd_momentum_without_out",
            _update("nd.sgd_mom_update(weight, gradient, momentum, lr=0.1, momentum=0.9)", True),
        ),
        (
            "sgd_momentum_everything",
            _update(
                "nd.sgd_mom_update(weight, gradient, momentum, out=weight, lr=0.1, momentum=0.9, wd=0.5, "
                "rescale_grad=2, clip_gradient=3)",
                True,
            ),
        ),
        ("sgd_lr_missing", _update("nd.sgd_update(weight, gradient, out=weight)")),
    ],
)

CASES = (
    UNARY_CASES
    + ACTIVATION_CASES
    + FULLY_CONNECTED_CASES
    + SOFTMAX_CASES
    + SOFTMAX_OUTPUT_CASES
    + REGRESSION_CASES
    + DROPOUT_CASES
    + BROADCAST_CASES
    + ELEMENTWISE_CASES
    + REDUCTION_CASES
    + INDEXING_CASES
    + SHAPE_CASES
    + OPTIMIZER_CASES
)
