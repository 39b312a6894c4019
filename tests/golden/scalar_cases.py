"""Golden cases of the operators that symbols are made of: with a number, of equal shapes, without inputs; of images."""

# ruff: noqa: E501 - one case is one line of text

START = "I = getattr(nd, '_internal', nd)\n"


def _forward_backward(expression, **inputs):
    """Makes a snippet: the output of ``expression`` and every input's gradient, for head gradients 0.5, 1.5, 2.5, ..."""
    lines = [f"{name} = nd.array({values}); {name}.attach_grad()" for name, values in inputs.items()]
    lines += ["with autograd.record():", f"    y = {expression}"]
    lines += ["y.backward((nd.arange(y.size) + 0.5).reshape(y.shape))"]
    lines += [f"result = [y, {', '.join(f'{name}.grad' for name in inputs)}]"]
    return START + "\n".join(lines)


def _table(group, rows):
    return [(f"{group}_{name}", _forward_backward(expression, **inputs)) for name, expression, inputs in rows]


def _snippets(group, rows):
    return [(f"{group}_{name}", f"{START}result = {expression}") for name, expression in rows]


SIGNED = "[-3, -0.5, 0.25, 2, 5]"
POSITIVE = "[0.25, 1, 2, 10]"
INTEGERS = "nd.array([0, 1, 2, 3, 6], dtype='{}')"

ARITHMETIC = [
    ("plus", SIGNED), ("minus", SIGNED), ("rminus", SIGNED), ("mul", SIGNED), ("div", SIGNED), ("rdiv", SIGNED),
    ("mod", SIGNED), ("rmod", SIGNED), ("power", SIGNED), ("rpower", SIGNED), ("maximum", SIGNED), ("minimum", SIGNED),
    ("hypot", SIGNED),
]  # fmt: skip
RELATIONS = [
    "equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
NAMES = [name for name, _ in ARITHMETIC] + RELATIONS
WITHOUT_ZERO = {"rdiv", "rmod"}


def _integer_call(name, scalar, is_int, dtype="int32"):
    data = INTEGERS.format(dtype).replace("0, 1", "4, 1") if name in WITHOUT_ZERO else INTEGERS.format(dtype)
    return f"I._{name}_scalar({data}, scalar={scalar}, is_int={is_int})"


SCALAR_CASES = [
    *_table("scalar", [(name, f"I._{name}_scalar(x, scalar=2)", {"x": domain}) for name, domain in ARITHMETIC]),
    *_table("scalar", [(name, f"I._{name}_scalar(x, scalar=2)", {"x": SIGNED}) for name in RELATIONS]),
    *_table(
        "scalar",
        [
            ("fraction", "I._power_scalar(x, scalar=0.5)", {"x": POSITIVE}),
            ("negative_exponent", "I._power_scalar(x, scalar=-2)", {"x": SIGNED}),
            ("fraction_base", "I._rpower_scalar(x, scalar=0.5)", {"x": SIGNED}),
            ("power_of_one", "I._power_scalar(x, scalar=1)", {"x": SIGNED}),
            ("mod_of_negative", "I._mod_scalar(x, scalar=-2)", {"x": SIGNED}),
            ("default", "I._plus_scalar(x)", {"x": SIGNED}),
            ("string", "I._mul_scalar(x, scalar='2.5')", {"x": SIGNED}),
            ("alias", "I._RMinusScalar(x, scalar=2)", {"x": SIGNED}),
            ("not_int", "I._plus_scalar(x, scalar=2, is_int=False)", {"x": SIGNED}),
            ("logical_zero", "I._logical_or_scalar(x, scalar=0)", {"x": "[0, 1, -2]"}),
        ],
    ),
    *_snippets("scalar", [(f"{name}_int", _integer_call(name, 2, True)) for name in NAMES]),
    *_snippets("scalar", [(f"{name}_int_cut", _integer_call(name, 2.7, True)) for name in NAMES]),
    *_snippets("scalar", [(f"{name}_int_fraction", _integer_call(name, 2.5, False)) for name in NAMES]),
    *_snippets(
        "scalar",
        [
            *((f"{name}_bool", f"I._{name}_scalar(nd.array([1, 1], dtype='bool'), scalar=2)") for name in NAMES),
            *(
                (f"{name}_float16", f"I._{name}_scalar(nd.array([1, 2.5], dtype='float16'), scalar=2)")
                for name in NAMES
            ),
            ("int_negative_exponent", "I._power_scalar(nd.array([1, 2, 3], dtype='int32'), scalar=-2)"),
            ("int_negative_exponents", "I._rpower_scalar(nd.array([1, -2, 3], dtype='int32'), scalar=2)"),
            ("uint8_wraps", "I._plus_scalar(nd.array([1, 250], dtype='uint8'), scalar=10)"),
            ("bool_fraction", "I._mul_scalar(nd.array([0, 1], dtype='bool'), scalar=2.5, is_int=False)"),
        ],
    ),
]

PAIRS = {"x": "[[1.5, 2, 3], [0.5, 4, 1]]", "z": "[[0.5, 2, 2], [3, 1, 1]]"}
EQUAL_SHAPES = ["mod", "power", "maximum", "minimum", "hypot", *RELATIONS]

ELEMENTWISE_CASES = [
    *_table("equal_shapes", [(name, f"I._{name}(x, z)", PAIRS) for name in EQUAL_SHAPES]),
    *_table(
        "equal_shapes",
        [
            ("attr_like_rhs", "I._identity_with_attr_like_rhs(x, z)", PAIRS),
            ("alias", "I._Greater_Equal(x, z)", PAIRS),
        ],
    ),
    *_snippets(
        "equal_shapes",
        [
            *(
                (f"{name}_int", f"I._{name}(nd.array([5, 3], dtype='int32'), nd.array([3, 3], dtype='int32'))")
                for name in EQUAL_SHAPES
            ),
            *((f"{name}_broadcast", f"I._{name}(nd.array([5, 3]), nd.array([[5, 3]]))") for name in ("power", "equal")),
            ("grad_add", "I._grad_add(nd.array([5, 3]), nd.array([1, 2]))"),
            ("attr_like_rhs_differs", "I._identity_with_attr_like_rhs(nd.array([5, 3]), nd.array([5]))"),
        ],
    ),
]


def _made(group, calls):
    """Makes snippets for operators without inputs, whose arrays are compared as NumPy's."""
    return _snippets(
        group, [(name, f"np.asarray(getattr(I.{call}, 'asnumpy', lambda: I.{call})())") for name, call in calls]
    )


CREATION_CASES = _made(
    "creation",
    [
        ("zeros", "_zeros(shape=(2, 3))"),
        ("zeros_number", "_zeros(shape=2, dtype='int32')"),
        ("zeros_string", "_zeros(shape='(2, 1)', dtype='uint8', ctx='cpu(0)')"),
        ("ones", "_ones(shape=(2, 1), dtype='float16')"),
        ("full", "_full(shape=(2,), value=2.5)"),
        ("full_int", "_full(shape=(2,), value=2.5, dtype='int32')"),
        ("full_without_value", "_full(shape=(2,))"),
        ("arange_stop", "_arange(start=5)"),
        ("arange", "_arange(start=1, stop=5, step=2, repeat=2)"),
        ("arange_down", "_arange(start=5, stop=1, step=-2)"),
        ("arange_fraction", "_arange(start=0, stop=1, step=0.3)"),
        ("arange_float64", "_arange(start=0.1, stop=1.3, step=0.4, dtype='float64')"),
        ("arange_int", "_arange(start=0, stop=5, dtype='uint8')"),
        ("arange_step_zero", "_arange(start=0, stop=5, step=0)"),
        ("arange_without_start", "_arange(stop=3)"),
        ("linspace", "_linspace(start=0, stop=1, num=5)"),
        ("linspace_open", "_linspace(start=0, stop=1, num=5, endpoint=False)"),
        ("linspace_int", "_linspace(start=0, stop=10, num=4, dtype='int32')"),
        ("linspace_without_num", "_linspace(start=0, stop=1)"),
        ("eye", "_eye(N=2)"),
        ("eye_above", "_eye(N=2, M=3, k=1)"),
        ("eye_below", "_eye(N=3, M=2, k=-1, dtype='int32')"),
        ("random_uniform", "_random_uniform(low=2, high=3, shape=(2, 3)) * 0"),
        ("random_normal", "_random_normal(loc=2, scale=3, shape=(2, 3), dtype='float64') * 0"),
        ("random_randint", "_random_randint(low=3, high=4, shape=(2, 3))"),
        ("random_randint_int64", "_random_randint(low=3, high=4, shape=2, dtype='int64')"),
        ("random_gamma_negative", "_random_gamma(alpha=-1, shape=2)"),
        ("sample_uniform", "_sample_uniform(nd.array([1, 2]), nd.array([1, 2]), shape=2)"),
        ("sample_normal", "_sample_normal(nd.array([1, 2]), nd.array([0, 0]), shape=(2, 2))"),
        ("sample_normal_dtype", "_sample_normal(nd.array([1, 2], dtype='float64'), nd.array([0, 0], dtype='float64'))"),
    ],
)

CUBE = "[[[1, -2, 3], [0.5, 4, -1]], [[2, 2.5, -3], [1, 0, 6]]]"
IMAGES = "(np.arange(48) * 7 % 23 - 11).reshape(2, 4, 2, 3) / 8"
SMALL = "[[[[1, 2], [3, 4]]]]"

IMAGE_CASES = [
    *_table(
        "images",
        [
            ("l2_instance", "nd.L2Normalization(x)", {"x": CUBE}),
            ("l2_channel", "nd.L2Normalization(x, mode='channel', eps=0.5)", {"x": CUBE}),
            ("l2_spatial", "nd.L2Normalization(x, mode='spatial')", {"x": IMAGES}),
            ("l2_vector", "nd.L2Normalization(x, eps=0.5)", {"x": "[1, -2]"}),
            ("l2_zeros", "nd.L2Normalization(x)", {"x": "[[0, 0]]"}),
            ("instance_norm", "nd.InstanceNorm(x, g, b)", {"x": CUBE, "g": "[1, 2]", "b": "[0.5, -1]"}),
            (
                "instance_norm_eps",
                "nd.InstanceNorm(x, g, b, eps=0.1)",
                {"x": IMAGES, "g": "[1, 2, 3, 4]", "b": "[0, 1, 2, 3]"},
            ),
            ("group_norm", "nd.GroupNorm(x, g, b, num_groups=2)", {"x": IMAGES, "g": "[1, 2]", "b": "[0.5, -1]"}),
            ("group_norm_one", "nd.GroupNorm(x, g, b)", {"x": IMAGES, "g": "[2]", "b": "[1]"}),
            (
                "group_norm_each",
                "nd.GroupNorm(x, g, b, num_groups=2, eps=0.1)",
                {"x": CUBE, "g": "[1, 2]", "b": "[0.5, -1]"},
            ),
            (
                "group_norm_statistics",
                "nd.GroupNorm(x, g, b, num_groups=2, output_mean_var=True)[2]",
                {"x": IMAGES, "g": "[1, 2]", "b": "[0.5, -1]"},
            ),
            (
                "group_norm_mean",
                "nd.GroupNorm(x, g, b, num_groups=2, output_mean_var=True)[1]",
                {"x": IMAGES, "g": "[1, 2]", "b": "[0.5, -1]"},
            ),
            ("lrn", "nd.LRN(x, nsize=3)", {"x": IMAGES}),
            ("lrn_strong", "nd.LRN(x, nsize=3, alpha=0.5, beta=0.6, knorm=1.5)", {"x": IMAGES}),
            ("lrn_wide", "nd.LRN(x, nsize=9, alpha=0.5)", {"x": IMAGES}),
            ("lrn_even", "nd.LRN(x, nsize=4, alpha=0.5)", {"x": IMAGES}),
            ("lrn_one", "nd.LRN(x, nsize=1, alpha=0.5)", {"x": IMAGES}),
            ("upsampling", "nd.UpSampling(x, scale=2, sample_type='nearest', num_args=1)", {"x": IMAGES}),
            (
                "upsampling_concat",
                "nd.UpSampling(x, z, scale=4, sample_type='nearest', num_args=2)",
                {"x": SMALL, "z": "np.arange(16).reshape(1, 1, 4, 4)"},
            ),
            (
                "upsampling_sum",
                "nd.UpSampling(x, z, scale=2, sample_type='nearest', num_args=2, multi_input_mode='sum')",
                {"x": SMALL, "z": "[[[[7]]]]"},
            ),
            (
                "upsampling_bilinear",
                "nd.UpSampling(x, w, scale=2, sample_type='bilinear', num_args=2, num_filter=1)",
                {"x": SMALL, "w": "np.arange(16).reshape(1, 1, 4, 4) / 8"},
            ),
            (
                "upsampling_bilinear_odd",
                "nd.UpSampling(x, w, scale=3, sample_type='bilinear', num_args=2, num_filter=4)",
                {"x": IMAGES, "w": "(np.arange(100) * 3 % 7).reshape(4, 1, 5, 5) / 8"},
            ),
            ("crop", "nd.Crop(x, num_args=1, offset=(1, 1), h_w=(1, 2))", {"x": IMAGES}),
            ("crop_like", "nd.Crop(x, z, num_args=2, offset=(0, 1))", {"x": IMAGES, "z": SMALL}),
            ("crop_center", "nd.Crop(x, num_args=1, h_w=(1, 2), center_crop=True)", {"x": IMAGES}),
            ("ravel", "nd.ravel_multi_index(x, shape=(3, 4))", {"x": "[[0, 1.7, 2], [1.2, 2, 9]]"}),
            ("unravel", "nd.unravel_index(x, shape=(3, 4))", {"x": "[1, 6.7, 30, 2]"}),
        ],
    ),
    *_snippets(
        "images",
        [
            ("l2_unknown", "nd.L2Normalization(nd.ones((1, 2)), mode='all')"),
            ("l2_few_axes", "nd.L2Normalization(nd.ones((1, 2)), mode='channel')"),
            ("l2_int", "nd.L2Normalization(nd.ones((1, 2), dtype='int32'))"),
            ("l2_float16", "nd.L2Normalization(nd.array([[300, 400]], dtype='float16'))"),
            ("instance_norm_few_axes", "nd.InstanceNorm(nd.ones((1, 2)), nd.ones((2,)), nd.ones((2,)))"),
            ("instance_norm_wrong_gamma", "nd.InstanceNorm(nd.ones((1, 2, 3)), nd.ones((3,)), nd.ones((2,)))"),
            ("group_norm_uneven", "nd.GroupNorm(nd.ones((1, 3, 3)), nd.ones((2,)), nd.ones((2,)), num_groups=2)"),
            ("group_norm_wrong_gamma", "nd.GroupNorm(nd.ones((1, 4, 3)), nd.ones((4,)), nd.ones((4,)), num_groups=2)"),
            ("lrn_without_nsize", "nd.LRN(nd.ones((1, 2, 3, 4)))"),
            ("upsampling_rank", "nd.UpSampling(nd.ones((1, 2, 3)), scale=2, sample_type='nearest', num_args=1)"),
            ("upsampling_unknown", "nd.UpSampling(nd.ones((1, 2, 3, 4)), scale=2, sample_type='cubic', num_args=1)"),
            (
                "upsampling_does_not_fit",
                "nd.UpSampling(nd.ones((1, 1, 2, 2)), nd.ones((1, 1, 3, 3)), scale=2, sample_type='nearest', num_args=2)",
            ),
            (
                "upsampling_without_weight",
                "nd.UpSampling(nd.ones((1, 1, 2, 2)), scale=2, sample_type='bilinear', num_args=1, num_filter=1)",
            ),
            (
                "upsampling_wrong_weight",
                "nd.UpSampling(nd.ones((1, 1, 2, 2)), nd.ones((1, 1, 3, 3)), scale=2, sample_type='bilinear', num_args=2, num_filter=1)",
            ),
            ("crop_too_large", "nd.Crop(nd.ones((1, 1, 2, 2)), num_args=1, h_w=(3, 2))"),
            ("crop_outside", "nd.Crop(nd.ones((1, 1, 2, 2)), num_args=1, h_w=(2, 2), offset=(1, 0))"),
            ("crop_without_size", "nd.Crop(nd.ones((1, 1, 2, 2)), num_args=1)"),
            ("ravel_int", "nd.ravel_multi_index(nd.array([[0, 1], [1, -1]], dtype='int64'), shape=(-1, 4))"),
            ("ravel_wrong_rows", "nd.ravel_multi_index(nd.array([[0, 1]]), shape=(3, 4))"),
            ("ravel_without_shape", "nd.ravel_multi_index(nd.array([[0, 1]]))"),
            ("unravel_int", "nd.unravel_index(nd.array([1, 30], dtype='int32'), shape=(-1, 4))"),
            ("unravel_two_axes", "nd.unravel_index(nd.array([[1, 6], [3, 2]]), shape=(3, 4))"),
            ("unravel_without_shape", "nd.unravel_index(nd.array([0, 1]))"),
            ("split_v2", "I._split_v2(nd.array([[1, 2, 3, 4]]), indices=(0, 1, 2))"),
            ("split_v2_sections", "I._split_v2(nd.array([[1, 2, 3, 4]]), indices=(), sections=2)"),
            ("split_v2_squeezed", "I._split_v2(nd.array([[1, 2], [3, 4]]), indices=(0, 1), axis=0, squeeze_axis=True)"),
        ],
    ),
]

CASES = [*SCALAR_CASES, *ELEMENTWISE_CASES, *CREATION_CASES, *IMAGE_CASES]
