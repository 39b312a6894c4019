"""Golden cases of contrib's mathematics: elementwise functions, positions, masks, Hawkes processes."""

# ruff: noqa: E501 - one case is one line of text

PREPARE = """
def draw(*shape, dtype, step=7, modulus=23):
    values = (np.arange(np.prod(shape)) * step % modulus - modulus // 2).reshape(shape) / 8
    return nd.array(values, dtype=dtype)
def backward(function, *inputs):
    for value in inputs:
        value.attach_grad()
    with autograd.record():
        y = function(*inputs)
    several = y if isinstance(y, (list, tuple)) else [y]
    autograd.backward(list(several), [draw(*part.shape, dtype=part.dtype, step=5, modulus=13) for part in several])
    return list(several) + [value.grad for value in inputs]
"""

HAWKES = """
lda, state = (draw(3, 2, dtype=dtype, step=step, modulus=7).abs() + 0.5 for step in (2, 3))
alpha, beta = draw(2, dtype=dtype, step=3, modulus=5).abs() + 0.25, draw(2, dtype=dtype, modulus=5).abs() + 0.5
lags = draw(3, 4, dtype=dtype, step=5, modulus=7).abs() + 0.25
marks = nd.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]], dtype='int32')
valid_length, max_time = nd.array([2, 4, 0], dtype=dtype), nd.array([9, 10, 11], dtype=dtype)
"""

# name, operator, inputs, attributes
DIFFERENTIATED = [
    ("quadratic", "quadratic", "draw(2, 3{d})", "a=1.5, b=-2, c=0.5"),
    ("quadratic_zero", "quadratic", "draw(2, 3{d})", ""),
    ("div_sqrt_dim", "div_sqrt_dim", "draw(2, 3{d})", ""),
    ("round_ste", "round_ste", "draw(2, 5{d})", ""),
    ("sign_ste", "sign_ste", "draw(2, 5{d})", ""),
    ("gradientmultiplier", "gradientmultiplier", "draw(2, 3{d})", "scalar=0.5"),
    ("gradientmultiplier_reversed", "gradientmultiplier", "draw(2, 3{d})", "scalar=-2.5, is_int=False"),
    ("arange_like", "arange_like", "draw(2, 3{d})", ""),
    ("arange_like_repeat", "arange_like", "draw(2, 3{d})", "start=2, step=0.5, repeat=2"),
    ("arange_like_axis", "arange_like", "draw(2, 3{d})", "axis=-1, start=1.5"),
]  # fmt: skip
# name, code, for each dtype
CODE = [
    ("boolean_mask", "backward(lambda x: nd.contrib.boolean_mask(x, nd.array([0, 1, 1])), draw(3, 2, dtype=dtype))"),
    ("boolean_mask_cube", "backward(lambda x: nd.contrib.boolean_mask(x, nd.array([1, 0, 1])), draw(3, 2, 2, dtype=dtype))"),
    ("boolean_mask_nothing", "nd.contrib.boolean_mask(draw(3, 2, dtype=dtype), nd.array([0, 0, 0]))"),
    ("index_copy", "backward(lambda x, y: nd.contrib.index_copy(x, nd.array([3, 0]), y), draw(4, 2, dtype=dtype), draw(2, 2, dtype=dtype, step=3))"),
    ("index_copy_vector", "backward(lambda x, y: nd.contrib.index_copy(x, nd.array([3, 0]), y), draw(4, dtype=dtype), draw(2, dtype=dtype, step=3))"),
    ("index_array", "nd.contrib.index_array(draw(2, 3, dtype=dtype))"),
    ("allclose", "nd.contrib.allclose(draw(2, 3, dtype=dtype), draw(2, 3, dtype=dtype))"),
    ("allclose_apart", "nd.contrib.allclose(draw(2, 3, dtype=dtype), draw(2, 3, dtype=dtype) + 0.01)"),
    ("allclose_tolerance", "nd.contrib.allclose(draw(2, 3, dtype=dtype), draw(2, 3, dtype=dtype) + 0.01, rtol=0, atol=0.02)"),
    ("isnan", "nd.contrib.isnan(nd.array([np.nan, np.inf, -np.inf, 1], dtype=dtype))"),
    ("isinf", "nd.contrib.isinf(nd.array([np.nan, np.inf, -np.inf, 1], dtype=dtype))"),
    ("isfinite", "nd.contrib.isfinite(nd.array([np.nan, np.inf, -np.inf, 1], dtype=dtype))"),
    ("hawkesll", "nd.contrib.hawkesll(lda, alpha, beta, state, lags, marks, valid_length, max_time)"),
    ("hawkesll_gradients", "backward(lambda lda, alpha, beta: nd.contrib.hawkesll(lda, alpha, beta, state, lags, marks, valid_length, max_time)[0], lda, alpha, beta)"),
    ("hawkesll_state_gradient", "backward(lambda state: nd.contrib.hawkesll(lda, alpha, beta, state, lags, marks, valid_length, max_time), state)"),
]  # fmt: skip
PLAIN = [
    ("quadratic_int32", "nd.contrib.quadratic(nd.array([1, 2, -5], dtype='int32'), a=1.5, b=2, c=3)"),
    ("quadratic_float16", "nd.contrib.quadratic(nd.array([1, 2, -5], dtype='float16'), a=1.5, b=2, c=3)"),
    ("div_sqrt_dim_int32", "nd.contrib.div_sqrt_dim(nd.array([[1, 5, -7]], dtype='int32'))"),
    ("div_sqrt_dim_float16", "nd.contrib.div_sqrt_dim(nd.array([[1, 5, -7]], dtype='float16'))"),
    ("round_ste_halves", "nd.contrib.round_ste(nd.array([-1.5, 1.5, -0.5, 0.5, 2.5, -2.7]))"),
    ("round_ste_int32", "nd.contrib.round_ste(nd.array([1, -2], dtype='int32'))"),
    ("sign_ste_uint8", "nd.contrib.sign_ste(nd.array([1, 0], dtype='uint8'))"),
    ("arange_like_int32", "nd.contrib.arange_like(nd.zeros((2, 2), dtype='int32'))"),
    ("arange_like_axis_beyond", "nd.contrib.arange_like(nd.zeros((2, 2)), axis=5)"),
    ("index_array_axes", "nd.contrib.index_array(nd.zeros((2, 1, 2)), axes=(2, -2))"),
    ("index_array_no_axes", "nd.contrib.index_array(nd.zeros((2, 1, 2)), axes=())"),
    ("index_copy_fractions", "nd.contrib.index_copy(nd.zeros((4, 2)), nd.array([2.7, 0]), nd.ones((2, 2)))"),
    ("index_copy_int32", "nd.contrib.index_copy(nd.zeros((4, 2), dtype='int32'), nd.array([2, 0]), nd.ones((2, 2), dtype='int32'))"),
    ("index_copy_int64_index", "nd.contrib.index_copy(nd.zeros((4, 2)), nd.array([2, 0], dtype='int64'), nd.ones((2, 2)))"),
    ("index_copy_twice", "nd.contrib.index_copy(nd.zeros((4, 2)), nd.array([2, 0, 2]), draw(3, 2, dtype='float32'))"),
    ("index_copy_twice_gradients", "backward(lambda x, y: nd.contrib.index_copy(x, nd.array([2, 0, 2]), y), nd.zeros((4, 2)), nd.ones((3, 2)))"),
    ("index_copy_lengths", "nd.contrib.index_copy(nd.zeros((4, 2)), nd.array([2, 0]), nd.ones((3, 2)))"),
    ("index_copy_widths", "nd.contrib.index_copy(nd.zeros((4, 2)), nd.array([2, 0]), nd.ones((2, 3)))"),
    ("index_copy_too_many", "nd.contrib.index_copy(nd.zeros((2, 2)), nd.array([0, 1, 1]), nd.ones((3, 2)))"),
    ("boolean_mask_numbers", "nd.contrib.boolean_mask(draw(3, 2, dtype='float32'), nd.array([0, 0.5, -1]))"),
    ("boolean_mask_int8", "nd.contrib.boolean_mask(draw(3, 2, dtype='float32'), nd.array([0, 3, -1], dtype='int8'))"),
    ("boolean_mask_int32", "nd.contrib.boolean_mask(nd.array([[1, 2], [3, 4]], dtype='int32'), nd.array([0, 1]))"),
    ("boolean_mask_axis", "nd.contrib.boolean_mask(draw(3, 2, dtype='float32'), nd.array([0, 1]), axis=1)"),
    ("boolean_mask_symbol", "mx.sym.contrib.boolean_mask(mx.sym.var('x'), mx.sym.var('m')).bind(mx.cpu(), {'x': nd.ones((3, 2)), 'm': nd.array([0, 1, 1])}).forward()"),
    ("boolean_mask_length", "nd.contrib.boolean_mask(draw(3, 2, dtype='float32'), nd.array([0, 1]))"),
    ("boolean_mask_matrix", "nd.contrib.boolean_mask(draw(3, 2, dtype='float32'), nd.array([[0, 1, 1]]))"),
    ("allclose_nan", "nd.contrib.allclose(nd.array([np.nan]), nd.array([np.nan]))"),
    ("allclose_nan_differs", "nd.contrib.allclose(nd.array([np.nan]), nd.array([np.nan]), equal_nan=False)"),
    ("allclose_infinities", "nd.contrib.allclose(nd.array([np.inf]), nd.array([np.inf]))"),
    ("allclose_other_infinity", "nd.contrib.allclose(nd.array([np.inf]), nd.array([-np.inf]))"),
    ("allclose_shapes", "nd.contrib.allclose(nd.array([1, 1]), nd.array([1]))"),
    ("allclose_int32", "nd.contrib.allclose(nd.array([1, 2], dtype='int32'), nd.array([1, 2], dtype='int32'))"),
    ("isnan_int32", "nd.contrib.isnan(nd.array([1, 2], dtype='int32'))"),
    ("isfinite_int32", "nd.contrib.isfinite(nd.array([1, 2], dtype='int32'))"),
    ("isinf_float16", "nd.contrib.isinf(nd.array([np.inf, 2], dtype='float16'))"),
    ("hawkesll_marks_float32", "nd.contrib.hawkesll(*[nd.ones((1, 1))] + [nd.ones((1,))] * 2 + [nd.zeros((1, 1))] + [nd.ones((1, 2))] + [nd.zeros((1, 2))] + [nd.ones((1,))] * 2)"),
    ("fft", "nd.contrib.fft(nd.array([[1, 2, 3, 4]]))"),
    ("ifft", "nd.contrib.ifft(nd.array([[1, 2, 3, 4]]))"),
    ("count_sketch", "nd.contrib.count_sketch(nd.array([[1, 2, 3]]), nd.array([[0, 1, 1]]), nd.array([[1, -1, 1]]), out_dim=3)"),
]  # fmt: skip

CASES = [
    (
        f"contrib_{name}_{dtype}",
        (
            f"{PREPARE}\nresult = backward(lambda *inputs: nd.contrib.{operator}(*inputs, {attributes}), "
            f"{inputs.replace('{d}', text)})"
        ),
    )
    for name, operator, inputs, attributes in DIFFERENTIATED
    for dtype in ("float32", "float64")
    for text in (f", dtype={dtype!r}",)
]
CASES += [
    (f"contrib_{name}_{dtype}", f"{PREPARE}\ndtype = {dtype!r}\n{HAWKES}\nresult = {code}")
    for name, code in CODE
    for dtype in ("float32", "float64")
]
CASES += [(f"contrib_{name}", f"{PREPARE}\nresult = {code}") for name, code in PLAIN]
