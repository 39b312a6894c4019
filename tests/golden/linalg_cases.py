"""Golden cases of linear algebra: values, gradients, and what is refused."""

# ruff: noqa: E501 - one case is one line of text

PREPARE = """
def draw(*shape, dtype, step=7, modulus=23):
    values = (np.arange(np.prod(shape)) * step % modulus - modulus // 2).reshape(shape) / 8
    return nd.array(values, dtype=dtype)
def definite(*shape, dtype):
    square = draw(*shape, dtype=dtype).asnumpy()
    return nd.array(square @ np.swapaxes(square, -1, -2) + np.eye(shape[-1]), dtype=dtype)
def factor(*shape, dtype):
    return nd.array(np.tril(draw(*shape, dtype=dtype).asnumpy()) + 3 * np.eye(shape[-1]), dtype=dtype)
def full(*shape, dtype):
    return nd.array(draw(*shape, dtype=dtype).asnumpy() + 3 * np.eye(shape[-1]), dtype=dtype)
def symmetric(*shape, dtype):
    square = draw(*shape, dtype=dtype).asnumpy()
    return nd.array(square + np.swapaxes(square, -1, -2), dtype=dtype)
def backward(function, *inputs):
    for value in inputs:
        value.attach_grad()
    with autograd.record():
        y = function(*inputs)
    several = y if isinstance(y, (list, tuple)) else [y]
    autograd.backward(list(several), [draw(*part.shape, dtype=part.dtype, step=5, modulus=13) for part in several])
    return list(several) + [value.grad for value in inputs]
"""

# name, operator, inputs, attributes
DIFFERENTIATED = [
    ("gemm", "gemm", "draw(2, 3{d}), draw(3, 4{d}, step=11), draw(2, 4{d}, step=3)", ""),
    ("gemm_factors", "gemm", "draw(2, 3{d}), draw(3, 4{d}, step=11), draw(2, 4{d}, step=3)", "alpha=2.0, beta=-0.5"),
    ("gemm_batch", "gemm", "draw(2, 2, 3{d}), draw(2, 3, 2{d}, step=11), draw(2, 2, 2{d}, step=3)", ""),
    ("gemm_transposed", "gemm", "draw(3, 2{d}), draw(4, 3{d}, step=11), draw(2, 4{d}, step=3)", "transpose_a=True, transpose_b=True"),
    ("gemm_axis", "gemm", "draw(2, 2, 3{d}), draw(3, 2, 4{d}, step=11), draw(2, 2, 4{d}, step=3)", "axis=0"),
    ("gemm2", "gemm2", "draw(2, 3{d}), draw(3, 4{d}, step=11)", ""),
    ("gemm2_transpose_a", "gemm2", "draw(3, 2{d}), draw(3, 4{d}, step=11)", "transpose_a=True, alpha=0.5"),
    ("gemm2_transpose_b", "gemm2", "draw(2, 2, 3{d}), draw(2, 4, 3{d}, step=11)", "transpose_b=True"),
    ("gemm2_axis", "gemm2", "draw(3, 2, 2{d}), draw(4, 2, 3{d}, step=11)", "axis=-3, transpose_a=True, transpose_b=True"),
    ("trmm", "trmm", "full(3, 3{d}), draw(3, 2{d})", ""),
    ("trmm_upper", "trmm", "full(2, 3, 3{d}), draw(2, 3, 2{d})", "lower=False, alpha=2.0"),
    ("trmm_transpose", "trmm", "full(3, 3{d}), draw(3, 2{d})", "transpose=True"),
    ("trmm_rightside", "trmm", "full(3, 3{d}), draw(2, 3{d})", "rightside=True"),
    ("trmm_everything", "trmm", "full(3, 3{d}), draw(2, 3{d})", "rightside=True, transpose=True, lower=False, alpha=-0.5"),
    ("trsm", "trsm", "full(3, 3{d}), draw(3, 2{d})", ""),
    ("trsm_upper", "trsm", "full(2, 3, 3{d}), draw(2, 3, 2{d})", "lower=False, alpha=2.0"),
    ("trsm_transpose", "trsm", "full(3, 3{d}), draw(3, 2{d})", "transpose=True"),
    ("trsm_rightside", "trsm", "full(3, 3{d}), draw(2, 3{d})", "rightside=True"),
    ("trsm_everything", "trsm", "full(3, 3{d}), draw(2, 3{d})", "rightside=True, transpose=True, lower=False, alpha=-0.5"),
    ("syrk", "syrk", "draw(2, 3{d})", ""),
    ("syrk_transpose", "syrk", "draw(2, 2, 3{d})", "transpose=True, alpha=0.5"),
    ("potrf", "potrf", "definite(3, 3{d})", ""),
    ("potrf_batch", "potrf", "definite(2, 3, 3{d})", ""),
    ("potri", "potri", "factor(3, 3{d})", ""),
    ("potri_batch", "potri", "full(2, 3, 3{d})", ""),
    ("gelqf", "gelqf", "draw(2, 3{d})", ""),
    ("gelqf_batch", "gelqf", "draw(2, 2, 3{d})", ""),
    ("gelqf_square", "gelqf", "full(3, 3{d})", ""),
    ("syevd", "syevd", "symmetric(3, 3{d})", ""),
    ("syevd_batch", "syevd", "symmetric(2, 3, 3{d})", ""),
    ("inverse", "inverse", "full(3, 3{d})", ""),
    ("inverse_batch", "inverse", "full(2, 2, 2{d})", ""),
    ("det", "det", "full(3, 3{d})", ""),
    ("det_batch", "det", "full(2, 3, 3{d})", ""),
    ("slogdet", "slogdet", "full(3, 3{d})", ""),
    ("slogdet_batch", "slogdet", "draw(2, 3, 3{d})", ""),
    ("sumlogdiag", "sumlogdiag", "definite(3, 3{d})", ""),
    ("sumlogdiag_batch", "sumlogdiag", "definite(2, 3, 3{d})", ""),
    ("extractdiag", "extractdiag", "draw(2, 3, 3{d})", ""),
    ("extractdiag_above", "extractdiag", "draw(3, 3{d})", "offset=1"),
    ("extractdiag_below", "extractdiag", "draw(3, 3{d})", "offset=-2"),
    ("makediag", "makediag", "draw(2, 3{d})", ""),
    ("makediag_above", "makediag", "draw(3{d})", "offset=1"),
    ("makediag_below", "makediag", "draw(3{d})", "offset=-2"),
    ("extracttrian", "extracttrian", "draw(2, 3, 3{d})", ""),
    ("extracttrian_upper", "extracttrian", "draw(4, 4{d})", "lower=False"),
    ("extracttrian_above", "extracttrian", "draw(4, 4{d})", "offset=1"),
    ("extracttrian_below", "extracttrian", "draw(4, 4{d})", "offset=-1"),
    ("maketrian", "maketrian", "draw(2, 6{d})", ""),
    ("maketrian_upper", "maketrian", "draw(10{d})", "lower=False"),
    ("maketrian_above", "maketrian", "draw(6{d})", "offset=1"),
    ("maketrian_below", "maketrian", "draw(6{d})", "offset=-2"),
]  # fmt: skip
# name, code
PLAIN = [
    ("potrf_reads_lower", "nd.linalg.potrf(nd.array([[4, 7], [1, 4.25]], dtype='float64'))"),
    ("syevd_reads_lower", "nd.linalg.syevd(nd.array([[1, 9], [2, 3]], dtype='float64'))"),
    ("det_singular", "backward(nd.linalg.det, nd.ones((2, 2), dtype='float64'))"),
    ("slogdet_singular", "backward(nd.linalg.slogdet, nd.ones((2, 2), dtype='float64'))"),
    ("khatri_rao", "nd.khatri_rao(draw(2, 3, dtype='float32'), draw(4, 3, dtype='float32', step=11))"),
    ("khatri_rao_three", "nd.khatri_rao(*[draw(2, 2, dtype='float64', step=step) for step in (3, 5, 11)])"),
    ("khatri_rao_one", "nd.khatri_rao(draw(2, 3, dtype='float32'))"),
    ("khatri_rao_columns", "nd.khatri_rao(nd.ones((2, 3)), nd.ones((2, 2)))"),
    ("khatri_rao_cubes", "nd.khatri_rao(nd.ones((2, 3, 2)), nd.ones((2, 3, 2)))"),
    ("khatri_rao_float16", "nd.khatri_rao(nd.ones((2, 3), dtype='float16'), nd.ones((2, 3), dtype='float16'))"),
    ("khatri_rao_gradient", "backward(nd.khatri_rao, draw(2, 2, dtype='float64'), draw(2, 2, dtype='float64', step=3))"),
    ("old_name", "nd.linalg_gemm2(nd.ones((2, 2)), nd.ones((2, 2)))"),
    ("gemm2_float16", "nd.linalg.gemm2(nd.ones((2, 2), dtype='float16'), nd.ones((2, 2), dtype='float16'))"),
    ("gemm2_int32", "nd.linalg.gemm2(nd.ones((2, 2), dtype='int32'), nd.ones((2, 2), dtype='int32'))"),
    ("gemm2_lengths", "nd.linalg.gemm2(nd.ones((2, 3)), nd.ones((2, 3)))"),
    ("gemm2_batches", "nd.linalg.gemm2(nd.ones((1, 2, 2)), nd.ones((3, 2, 2)))"),
    ("gemm2_axes", "nd.linalg.gemm2(nd.ones((2, 2)), nd.ones((3, 2, 2)))"),
    ("gemm2_last_axis", "nd.linalg.gemm2(nd.ones((2, 2)), nd.ones((2, 2)), axis=-1)"),
    ("gemm2_far_axis", "nd.linalg.gemm2(nd.ones((2, 2)), nd.ones((2, 2)), axis=5)"),
    ("gemm_shape", "nd.linalg.gemm(nd.ones((2, 2)), nd.ones((2, 2)), nd.ones((2, 3)))"),
    ("trmm_shape", "nd.linalg.trmm(nd.ones((3, 3)), nd.ones((2, 2)))"),
    ("trsm_singular", "nd.linalg.trsm(nd.array([[0, 0], [1, 1]]), nd.ones((2, 2)))"),
    ("potrf_int32", "nd.linalg.potrf(nd.ones((2, 2), dtype='int32'))"),
    ("potrf_float16", "nd.linalg.potrf(nd.ones((2, 2), dtype='float16'))"),
    ("potrf_not_square", "nd.linalg.potrf(nd.ones((2, 3)))"),
    ("potrf_vector", "nd.linalg.potrf(nd.ones((3,)))"),
    ("potrf_not_definite", "nd.linalg.potrf(-nd.ones((2, 2)))"),
    ("potri_singular", "nd.linalg.potri(nd.array([[0, 0], [1, 1]]))"),
    ("inverse_singular", "nd.linalg.inverse(nd.ones((2, 2)))"),
    ("gelqf_tall", "nd.linalg.gelqf(nd.ones((3, 2)))"),
    ("sumlogdiag_negative", "nd.linalg.sumlogdiag(-nd.ones((2, 2)))"),
    ("sumlogdiag_not_square", "nd.linalg.sumlogdiag(nd.ones((2, 3)))"),
    ("extractdiag_far", "nd.linalg.extractdiag(nd.ones((2, 2)), offset=2)"),
    ("extractdiag_not_square", "nd.linalg.extractdiag(nd.ones((2, 3)))"),
    ("extractdiag_float16", "nd.linalg.extractdiag(nd.ones((2, 2), dtype='float16'))"),
    ("makediag_int32", "nd.linalg.makediag(nd.ones((2,), dtype='int32'))"),
    ("extracttrian_far", "nd.linalg.extracttrian(nd.ones((2, 2)), offset=-2)"),
    ("maketrian_length", "nd.linalg.maketrian(nd.ones((4,)))"),
]  # fmt: skip

CASES = [
    (
        f"linalg_{name}_{dtype}",
        (
            f"{PREPARE}\nresult = backward(lambda *inputs: nd.linalg.{operator}(*inputs, {attributes}), "
            f"{inputs.replace('{d}', repr_of)})"
        ),
    )
    for name, operator, inputs, attributes in DIFFERENTIATED
    for dtype in ("float32", "float64")
    for repr_of in (f", dtype={dtype!r}",)
]
CASES += [(f"linalg_{name}", f"{PREPARE}\nresult = {code}") for name, code in PLAIN]
