"""Golden cases of Convolution, Deconvolution, Pooling and BatchNorm, with gradients and moving statistics."""

# ruff: noqa: E501 - one case is one line of text

DRAW = """
def draw(*shape, step=7, modulus=23):
    return nd.array((np.arange(np.prod(shape)) * step % modulus - modulus // 2).reshape(shape) / 8)
def backward(function, *inputs, train_mode=True):
    for value in inputs:
        value.attach_grad()
    with autograd.record(train_mode=train_mode):
        y = function(*inputs)
    y.backward(draw(*y.shape, step=5, modulus=13))
    return [y] + [value.grad for value in inputs]
"""


def _snippet(body):
    return f"{DRAW}\n{body}"


def _layer(operator, data, weight, options, bias=0):
    """Makes a snippet: a layer's output and the gradients of its inputs."""
    inputs = [f"draw({data})", f"draw({weight}, step=11)", *([f"draw({bias}, step=3)"] if bias else [])]
    names = "x, w, b" if bias else "x, w"
    no_bias = "" if bias else ", no_bias=True"
    if operator == "Deconvolution" and bias:
        no_bias = ", no_bias=False"
    return _snippet(
        f"result = backward(lambda {names}: nd.{operator}({names}, {options}{no_bias}), {', '.join(inputs)})"
    )


CONVOLUTION = [
    ("1d", "2, 3, 6", "4, 3, 3", "kernel=(3,), num_filter=4", 4),
    ("2d", "2, 2, 5, 6", "3, 2, 2, 3", "kernel=(2, 3), num_filter=3", 3),
    ("2d_no_bias", "2, 2, 5, 6", "3, 2, 2, 3", "kernel=(2, 3), num_filter=3", 0),
    ("3d", "1, 2, 3, 4, 3", "2, 2, 2, 2, 2", "kernel=(2, 2, 2), num_filter=2", 2),
    ("stride", "1, 2, 6, 7", "2, 2, 3, 2", "kernel=(3, 2), stride=(2, 3), num_filter=2", 2),
    ("pad", "1, 2, 4, 3", "2, 2, 3, 3", "kernel=(3, 3), pad=(1, 2), num_filter=2", 2),
    ("dilate", "1, 2, 6, 6", "2, 2, 2, 3", "kernel=(2, 3), dilate=(3, 2), num_filter=2", 2),
    ("group", "2, 4, 4, 4", "6, 2, 3, 3", "kernel=(3, 3), num_group=2, num_filter=6", 6),
    ("depthwise", "2, 3, 4, 4", "3, 1, 3, 3", "kernel=(3, 3), pad=(1, 1), num_group=3, num_filter=3", 0),
    ("everything", "2, 4, 7, 6", "4, 2, 3, 2", "kernel=(3, 2), stride=(2, 2), dilate=(2, 1), pad=(2, 1), num_group=2, num_filter=4", 4),
    ("pointwise", "2, 3, 3, 3", "2, 3, 1, 1", "kernel=(1, 1), num_filter=2", 2),
    ("pointwise_stride", "1, 3, 5, 5", "2, 3, 1, 1", "kernel=(1, 1), stride=(2, 2), num_filter=2", 0),
    ("layout_given", "1, 2, 4, 4", "2, 2, 2, 2", "kernel=(2, 2), num_filter=2, layout='NCHW'", 2),
]  # fmt: skip

DECONVOLUTION = [
    ("1d", "2, 3, 4", "3, 2, 3", "kernel=(3,), num_filter=2", 0),
    ("2d", "2, 2, 3, 3", "2, 3, 2, 3", "kernel=(2, 3), num_filter=3", 0),
    ("2d_bias", "2, 2, 3, 3", "2, 3, 2, 3", "kernel=(2, 3), num_filter=3", 3),
    ("3d", "1, 2, 2, 2, 2", "2, 2, 2, 2, 2", "kernel=(2, 2, 2), num_filter=2", 0),
    ("stride", "1, 2, 3, 2", "2, 2, 3, 2", "kernel=(3, 2), stride=(2, 3), num_filter=2", 0),
    ("stride_pad_adj", "1, 2, 3, 3", "2, 2, 3, 3", "kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), num_filter=2", 0),
    ("target_shape_even", "1, 1, 3, 3", "1, 1, 3, 3", "kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), target_shape=(6, 6), num_filter=1", 0),
    ("target_shape_odd", "1, 1, 3, 3", "1, 1, 3, 3", "kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), target_shape=(5, 5), num_filter=1", 0),
    ("target_shape_full", "1, 1, 3, 3", "1, 1, 3, 3", "kernel=(3, 3), stride=(2, 2), target_shape=(7, 7), num_filter=1", 0),
    ("dilate", "1, 2, 3, 3", "2, 2, 2, 2", "kernel=(2, 2), dilate=(2, 3), num_filter=2", 0),
    ("group", "2, 4, 3, 3", "4, 1, 2, 2", "kernel=(2, 2), num_group=2, num_filter=2", 0),
]  # fmt: skip

LAYER_ERRORS = [
    ("bias_missing", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 2, 2), kernel=(2, 2), num_filter=2)"),
    ("bias_unwanted", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 2, 2), draw(2), kernel=(2, 2), num_filter=2, no_bias=True)"),
    ("wrong_weight", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 3, 2, 2), kernel=(2, 2), num_filter=2, no_bias=True)"),
    ("wrong_num_filter", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 2, 2), kernel=(2, 2), num_filter=3, no_bias=True)"),
    ("wrong_group", "nd.Convolution(draw(1, 2, 4, 4), draw(3, 1, 2, 2), kernel=(2, 2), num_filter=3, num_group=2, no_bias=True)"),
    ("kernel_too_large", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 5, 5), kernel=(5, 5), num_filter=2, no_bias=True)"),
    ("wrong_rank", "nd.Convolution(draw(2, 4, 4), draw(2, 2, 2, 2), kernel=(2, 2), num_filter=2, no_bias=True)"),
    ("stride_zero", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 2, 2), kernel=(2, 2), stride=(0, 0), num_filter=2, no_bias=True)"),
    ("stride_rank", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 2, 2), kernel=(2, 2), stride=(1,), num_filter=2, no_bias=True)"),
    ("kernel_missing", "nd.Convolution(draw(1, 2, 4, 4), draw(2, 2, 2, 2), num_filter=2, no_bias=True)"),
    ("positional", "nd.Convolution(draw(1, 2, 5, 5), draw(2, 2, 2, 2), draw(2), (2, 2), (2, 2), (1, 1), (1, 1), 2)"),
    ("float64", "nd.Convolution(draw(1, 2, 3, 3).astype('float64'), draw(2, 2, 2, 2).astype('float64'), kernel=(2, 2), num_filter=2, no_bias=True)"),
    ("deconvolution_adj_too_large", "nd.Deconvolution(draw(1, 2, 3, 3), draw(2, 2, 2, 2), kernel=(2, 2), stride=(2, 2), adj=(2, 2), num_filter=2)"),
    ("deconvolution_target_too_large", "nd.Deconvolution(draw(1, 2, 3, 3), draw(2, 2, 2, 2), kernel=(2, 2), target_shape=(9, 9), num_filter=2)"),
    ("deconvolution_wrong_weight", "nd.Deconvolution(draw(1, 2, 3, 3), draw(3, 2, 2, 2), kernel=(2, 2), num_filter=2)"),
    ("deconvolution_bias_by_default", "nd.Deconvolution(draw(1, 2, 3, 3), draw(2, 2, 2, 2), draw(2), kernel=(2, 2), num_filter=2)"),
]  # fmt: skip

CONVOLUTION_CASES = [
    *[(f"convolution_{name}", _layer("Convolution", x, w, options, bias)) for name, x, w, options, bias in CONVOLUTION],
    *[
        (f"deconvolution_{name}", _layer("Deconvolution", x, w, options, bias))
        for name, x, w, options, bias in DECONVOLUTION
    ],
    *[(f"convolution_call_{name}", _snippet(f"result = {call}")) for name, call in LAYER_ERRORS],
]

POOLING = [
    ("1d", "2, 2, 6", "kernel=(2,)"),
    ("2d", "2, 2, 4, 6", "kernel=(2, 2), stride=(2, 2)"),
    ("3d", "1, 2, 3, 4, 3", "kernel=(2, 2, 2), stride=(1, 2, 1)"),
    ("overlap", "1, 2, 5, 5", "kernel=(3, 3), stride=(2, 2)"),
    ("pad", "1, 2, 5, 5", "kernel=(3, 3), stride=(2, 2), pad=(1, 1)"),
    ("full", "1, 2, 5, 5", "kernel=(2, 2), stride=(2, 2), pooling_convention='full'"),
    ("full_pad", "1, 1, 6, 6", "kernel=(3, 3), stride=(2, 2), pad=(1, 1), pooling_convention='full'"),
    ("global", "2, 2, 3, 4", "global_pool=True"),
    ("global_with_kernel", "1, 2, 3, 4", "global_pool=True, kernel=(2, 2), stride=(2, 2), pad=(1, 1)"),
    ("NHWC", "1, 4, 4, 2", "kernel=(2, 2), stride=(2, 2), layout='NHWC'"),
]

POOLING_CALLS = [
    ("without_padding", "backward(lambda x: nd.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='avg', count_include_pad=False), draw(1, 2, 5, 5))"),
    ("full_without_padding", "backward(lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type='avg', count_include_pad=False, pooling_convention='full'), draw(1, 2, 5, 5))"),
    ("lp1", "backward(lambda x: nd.Pooling(x, kernel=(2,), stride=(2,), pool_type='lp', p_value=1), draw(1, 2, 6))"),
    ("lp3", "backward(lambda x: nd.Pooling(x, kernel=(2,), stride=(2,), pool_type='lp', p_value=3), draw(1, 2, 6))"),
    ("lp_zero", "backward(lambda x: nd.Pooling(x, kernel=(2,), stride=(2,), pool_type='lp', p_value=2), nd.zeros((1, 2, 4)))"),
    ("lp_without_p", "nd.Pooling(draw(1, 1, 4), kernel=(2,), pool_type='lp')"),
    ("lp4", "nd.Pooling(draw(1, 1, 4), kernel=(2,), pool_type='lp', p_value=4)"),
    ("ties", "backward(lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2)), nd.zeros((1, 1, 4, 4)))"),
    ("ties_overlap", "backward(lambda x: nd.Pooling(x, kernel=(3,), pad=(1,)), nd.zeros((1, 1, 4)))"),
    ("ties_global", "backward(lambda x: nd.Pooling(x, global_pool=True), nd.zeros((1, 2, 2, 2)))"),
    ("nothing_but_padding", "nd.Pooling(draw(1, 1, 5), kernel=(2,), stride=(2,), pad=(1,), pooling_convention='full')"),
    ("nan", "nd.Pooling(nd.array([[[1, float('nan'), 3, 4]]]), kernel=(2,), stride=(2,))"),
    ("int_max", "nd.Pooling(nd.array([[[1, 5, 3, 4]]], dtype='int32'), kernel=(2,))"),
    ("int_sum", "nd.Pooling(nd.array([[[1, 5, 3, 4]]], dtype='int32'), kernel=(2,), pool_type='sum').asnumpy()"),
    ("float64", "nd.Pooling(draw(1, 1, 4).astype('float64'), kernel=(2,), pool_type='avg')"),
    ("unknown_type", "nd.Pooling(draw(1, 1, 4), kernel=(2,), pool_type='median')"),
    ("unknown_convention", "nd.Pooling(draw(1, 1, 4), kernel=(2,), pooling_convention='half')"),
    ("kernel_missing", "nd.Pooling(draw(1, 1, 4))"),
    ("kernel_too_large", "nd.Pooling(draw(1, 1, 4), kernel=(5,))"),
    ("kernel_rank", "nd.Pooling(draw(1, 1, 4, 4), kernel=(2,))"),
    ("pad_too_large", "nd.Pooling(draw(1, 1, 4, 4), kernel=(2, 2), pad=(2, 2))"),
    ("matrix", "nd.Pooling(draw(4, 4), kernel=(2,))"),
    ("same", "nd.Pooling(draw(1, 1, 5), kernel=(3,), stride=(2,), pooling_convention='same')"),
]  # fmt: skip

POOLING_CASES = [
    *[
        (
            f"pooling_{name}_{kind}",
            _snippet(
                f"result = backward(lambda x: nd.Pooling(x, {options}, pool_type='{kind}'"
                f"{', p_value=2' * (kind == 'lp')}), draw({data}))"
            ),
        )
        for name, data, options in POOLING
        for kind in ("max", "avg", "sum", "lp")
    ],
    *[(f"pooling_call_{name}", _snippet(f"result = {call}")) for name, call in POOLING_CALLS],
]

STATES = """
mean, variance = nd.array([0.5, -1]), nd.array([2, 0.25])
gamma, beta = nd.array([2, -3]), nd.array([0.5, 1])
def normalize(**options):
    return lambda x, g, b: nd.BatchNorm(x, g, b, mean, variance, **options)
"""

BATCH_NORM = [
    ("training", "result = backward(normalize(fix_gamma=False), draw(3, 2, 4), gamma, beta) + [mean, variance]"),
    ("training_2d", "result = backward(normalize(fix_gamma=False, eps=0.1, momentum=0.5), draw(3, 2, 2, 3), gamma, beta) + [mean, variance]"),
    ("training_matrix", "result = backward(normalize(fix_gamma=False), draw(5, 2), gamma, beta) + [mean, variance]"),
    ("training_last_axis", "result = backward(normalize(fix_gamma=False, axis=-1), draw(3, 4, 2), gamma, beta) + [mean, variance]"),
    ("training_axis_zero", "result = backward(normalize(fix_gamma=False, axis=0), draw(2, 5), gamma, beta) + [mean, variance]"),
    ("fix_gamma", "y, dx, dg, db = backward(normalize(), draw(3, 2, 4), gamma, beta); result = [y, dx, dg, db, mean, variance]"),
    ("fix_gamma_sets_gamma", "backward(normalize(), draw(3, 2, 4), gamma, beta); result = gamma"),
    ("global_statistics", "result = backward(normalize(fix_gamma=False, use_global_stats=True), draw(3, 2, 4), gamma, beta) + [mean, variance]"),
    ("predicting", "result = [normalize(fix_gamma=False)(draw(3, 2, 4), gamma, beta), mean, variance]"),
    ("predicting_fix_gamma", "result = normalize()(draw(3, 2, 4), gamma, beta)"),
    ("predicting_gradients", "result = backward(normalize(fix_gamma=False), draw(3, 2, 4), gamma, beta, train_mode=False)"),
    ("two_steps", "for _ in range(2): backward(normalize(fix_gamma=False), draw(3, 2, 4), gamma, beta)\nresult = [mean, variance]"),
    ("forward_without_backward", "with autograd.train_mode():\n    normalize(fix_gamma=False)(draw(3, 2, 4), gamma, beta).wait_to_read()\nresult = [mean, variance]"),
    ("statistics_training", "with autograd.record():\n    result = normalize(fix_gamma=False, output_mean_var=True)(draw(3, 2, 4), gamma, beta)"),
    ("statistics_predicting", "result = normalize(fix_gamma=False, output_mean_var=True)(draw(3, 2, 4), gamma, beta)"),
    ("gradient_of_statistics", "x = draw(3, 2, 4); x.attach_grad()\nwith autograd.record():\n    y = normalize(fix_gamma=False, output_mean_var=True)(x, gamma, beta)[1]\ny.backward(); result = x.grad"),
    ("constant_data", "result = backward(normalize(fix_gamma=False), nd.ones((3, 2, 2)), gamma, beta)"),
    ("float64", "result = nd.BatchNorm(draw(2, 2).astype('float64'), *[nd.ones((2,), dtype='float64')] * 4)"),
    ("wrong_gamma", "result = nd.BatchNorm(draw(3, 2, 4), nd.ones((4,)), nd.ones((4,)), nd.ones((4,)), nd.ones((4,)))"),
    ("wrong_axis", "result = nd.BatchNorm(draw(3, 2, 4), gamma, beta, mean, variance, axis=3)"),
]  # fmt: skip

BATCH_NORM_CASES = [(f"batch_norm_{name}", _snippet(f"{STATES}\n{body}")) for name, body in BATCH_NORM]

CASES = [*CONVOLUTION_CASES, *POOLING_CASES, *BATCH_NORM_CASES]
