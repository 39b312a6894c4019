"""Calls at the edges of what operators take: padding, dtypes that numbers do not fit, gradients that are added up."""

from textwrap import dedent


def _twice(call, **inputs):
    """A case that asks for the gradients of inputs two times, and adds them up where grad_req is 'add'."""
    made = "\n".join(f"{name} = nd.array({text}); {name}.attach_grad('add')" for name, text in inputs.items())
    return (
        made
        + dedent(f"""
        for _ in range(2):
            with autograd.record():
                y = {call}
            y.backward(nd.arange(y.size).reshape(y.shape) / 4 + 1)
        result = """)
        + "("
        + "".join(f"{name}.grad, " for name in inputs)
        + ")"
    )


def _once(call, heads="y", dtype="float32", **inputs):
    made = "\n".join(
        f"{name} = nd.array({text}, dtype='{dtype}'); {name}.attach_grad()" for name, text in inputs.items()
    )
    return (
        made
        + dedent(f"""
        with autograd.record():
            y = {call}
        autograd.backward([{heads}], [nd.array(np.arange(one.size).reshape(one.shape) / 4 + 1, dtype=one.dtype)
                                      for one in [{heads}]])
        result = y, """)
        + "("
        + "".join(f"{name}.grad, " for name in inputs)
        + ")"
    )


_GRID = "np.arange(36).reshape(1, 1, 6, 6) % 7"
_PAIR = "[[1, -2], [3, 0.5]]"

POOLING = [
    (f"pooling_v1_{name}_{dtype}", _once(f"nd.Pooling_v1(x, {options})", dtype=dtype, x=numbers))
    for dtype in ("float32", "float64")
    for name, options, numbers in (
        ("pad", "kernel=(3, 2), stride=(2, 1), pad=(1, 1)", "np.arange(50).reshape(1, 2, 5, 5) * 7 % 11 - 20"),
        (
            "one_axis",
            "kernel=(2, 3), stride=(2, 2), pad=(0, 1), pooling_convention='full'",
            "np.arange(50).reshape(1, 2, 5, 5) * 7 % 11 - 5",
        ),
        (
            "full",
            "kernel=(3, 3), stride=(3, 3), pad=(1, 1), pooling_convention='full'",
            "np.arange(36).reshape(1, 1, 6, 6) * 7 % 11 - 20",
        ),
        ("beyond", "kernel=(3, 3), stride=(3, 3), pooling_convention='full'", "np.arange(25).reshape(1, 1, 5, 5) - 30"),
    )
]

DTYPES = [
    ("one_hot_wraps", "result = nd.one_hot(nd.array([1, 0]), depth=3, on_value=300, off_value=-1, dtype='uint8')"),
    ("one_hot_cut", "result = nd.one_hot(nd.array([1, 0]), depth=3, on_value=2.7, off_value=-2.7, dtype='int32')"),
    *[
        (f"amp_cast_{given}_{wanted}", f"result = nd.amp_cast(nd.array([0, 1, 2], dtype='{given}'), dtype='{wanted}')")
        for given, wanted in (
            ("int32", "float32"),
            ("uint8", "float32"),
            ("float32", "float16"),
            ("float16", "float32"),
        )
    ],
    *[
        (
            f"amp_cast_symbol_{given}",
            dedent(f"""
            s = mx.sym.amp_cast(mx.sym.var('x'), dtype='float16')
            result = [np.dtype(t[0]).name for t in s.infer_type(x='{given}')[:2]]"""),
        )
        for given in ("float16", "float32", "float64", "int32", "uint8")
    ],
]

ADDED = [
    ("added_clip", _twice("nd.clip(x, -1, 2)", x=_PAIR)),
    ("added_flip", _twice("nd.flip(x, axis=1)", x=_PAIR)),
    ("added_crop", _twice("nd.Crop(x, h_w=(3, 4), offset=(1, 0), num_args=1)", x=_GRID)),
    (
        "added_spatial_transformer",
        _twice(
            "nd.SpatialTransformer(x, t, target_shape=(2, 2), transform_type='affine', sampler_type='bilinear')",
            x=_GRID,
            t="[[0.5, 0, 0.1, 0, 0.4, 0.2]]",
        ),
    ),
    ("added_linear_regression", _twice("nd.LinearRegressionOutput(x, nd.ones((2, 2)))", x=_PAIR)),
    ("added_logistic_regression", _twice("nd.LogisticRegressionOutput(x, nd.ones((2, 2)))", x=_PAIR)),
    ("added_absolute_regression", _twice("nd.MAERegressionOutput(x, nd.ones((2, 2)))", x=_PAIR)),
    ("added_box_nms", _twice("nd.contrib.box_nms(x)", x="[[[0, 0.9, 0, 0, 1, 1], [0, 0.8, 2, 2, 3, 3]]]")),
    ("added_gemm2", _twice("nd.linalg.gemm2(x, t)", x=_PAIR, t=_PAIR)),
    ("added_batch_dot", _twice("nd.batch_dot(x, t)", x=f"[{_PAIR}]", t=f"[{_PAIR}]")),
    ("added_boolean_mask", _twice("nd.contrib.boolean_mask(x, nd.array([1, 0]))", x=_PAIR)),
]

_BLOCK = "np.arange(12).reshape(2, 2, 3) * 7 % 5 / 2"

OTHERS = (
    [
        ("softmax_activation_vector", "result = nd.SoftmaxActivation(nd.array([1, 2, 4]))"),
        ("softmax_activation_rows", _once("nd.SoftmaxActivation(x)", x=_PAIR)),
        ("softmax_activation_block", f"result = nd.SoftmaxActivation(nd.array({_BLOCK}))"),
        ("softmax_activation_gradient", _once("nd.SoftmaxActivation(x)", x=_BLOCK)),
        *[
            (f"inner_{name}", f"result = nd._internal.{name}({options})")
            for name, options in (
                ("_zeros", "shape=(2, 3)"),
                ("_ones", "shape=(2,), dtype='int32'"),
                ("_full", "shape=(2, 3), value=1.5, dtype='float64'"),
                ("_arange", "start=1, stop=4, repeat=2"),
                ("_linspace", "start=0, stop=1, num=3"),
                ("_eye", "N=2, M=3, k=1"),
            )
        ],
    ]
    + [
        (f"layer_norm_statistics_{dtype}", _once(call, "y[1]", dtype=dtype, x=_PAIR))
        for dtype in ("float32", "float64")
        for call in ("nd.LayerNorm(x, nd.ones(2, dtype=x.dtype), nd.zeros(2, dtype=x.dtype), output_mean_var=True)",)
    ]
    + [
        (
            "arange_like_float16",
            "result = nd.contrib.arange_like(nd.zeros(3, dtype='float16'), start=1.5, step=0.5)",
        ),
        ("arange_like_int64", "result = nd.contrib.arange_like(nd.zeros(4, dtype='int64'), step=0.5)"),
    ]
)

CASES = [(f"corners_{name}", snippet) for name, snippet in POOLING + DTYPES + ADDED + OTHERS]
