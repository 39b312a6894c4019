"""Golden cases of the operators that sample, resize or pool images at positions, with gradients."""

# ruff: noqa: E501 - one case is one line of text

DRAW = """
def draw(*shape, step=7, modulus=23):
    return nd.array((np.arange(np.prod(shape)) * step % modulus - modulus // 2).reshape(shape) / 8, dtype=DTYPE)
def array(values):
    return nd.array(values, dtype=DTYPE)
def backward(function, *inputs):
    for value in inputs:
        value.attach_grad()
    with autograd.record():
        y = function(*inputs)
    y.backward(draw(*y.shape, step=5, modulus=13))
    return [y] + [value.grad for value in inputs]
def bound(symbol, *inputs):
    gradients = [nd.zeros(value.shape, dtype=DTYPE) for value in inputs]
    executor = symbol.bind(mx.cpu(), list(inputs), args_grad=gradients)
    y = executor.forward(is_train=True)[0]
    executor.backward([draw(*y.shape, step=5, modulus=13)])
    return [y] + gradients
d, r, t = mx.sym.Variable('d'), mx.sym.Variable('r'), mx.sym.Variable('t')
"""


def _snippet(body, dtype="float32"):
    return f"DTYPE = '{dtype}'\n{DRAW}\n{body}"


GRID = "array([[[[-0.9, -0.1, 3], [0.4, 1.2, -1]], [[-0.6, 0.7, 0.3], [-1.3, 0.1, 1]]]] * 2)"
MATRICES = "array([[0.7, 0.2, -0.1, -0.3, 0.6, 0.05], [1.4, -0.5, 0.3, 0.8, 1.3, -0.2]])"
ROIS = "array([[0, 0.3, 0.7, 4.2, 3.1], [1, -1.5, 2, 6.5, 7], [1, 2, 1, 2.2, 1.1], [0, 3, 1, 1, 4], [0, -30, -30, -20, -20]])"
ORDERED = "array([[0, 0.3, 0.7, 4.2, 3.1], [1, -1.5, 2, 6.5, 7], [1, 2, 1, 2.2, 1.1], [0, -30, -30, -20, -20]])"
TURNED = "array([[0, 2, 2, 4, 3, 30], [1, 3, 1, 2, 5, -70], [1, -3, 1, 2, 5, -70], [0, 4, 4, 0.1, 0.2, 100]])"
CORRELATIONS = [
    ("plain", ""),
    ("kernel", "kernel_size=3, max_displacement=2, pad_size=2"),
    ("steps", "kernel_size=1, max_displacement=2, stride2=2, pad_size=2"),
    ("strides", "kernel_size=3, max_displacement=1, stride1=2, pad_size=3"),
    ("both", "kernel_size=1, max_displacement=3, stride1=2, stride2=2, pad_size=3"),
    ("wide", "kernel_size=5, max_displacement=2, stride1=3, stride2=2, pad_size=4"),
    ("differences", "kernel_size=3, max_displacement=1, pad_size=1, is_multiply=False"),
    ("differences_steps", "kernel_size=1, max_displacement=3, stride2=2, pad_size=4, is_multiply=False"),
]
RESIZES = [
    ("up", "height=7, width=9"),
    ("down", "height=3, width=2"),
    ("point", "height=1, width=1"),
    ("row", "height=1, width=6"),
    ("same", "height=5, width=6"),
    ("scale", "scale_height=2, scale_width=1.5"),
    ("scale_down", "scale_height=0.5, scale_width=0.4"),
    ("odd_scale", "mode='odd_scale', scale_height=2, scale_width=2"),
    ("odd_scale_down", "mode='odd_scale', scale_height=0.5, scale_width=0.5"),
    ("odd_scale_unequal", "mode='odd_scale', scale_height=3, scale_width=0.3"),
    ("to_even_down", "mode='to_even_down'"),
    ("to_even_up", "mode='to_even_up'"),
    ("to_odd_down", "mode='to_odd_down'"),
    ("to_odd_up", "mode='to_odd_up'"),
]
PSROI = [
    ("plain", 8, "output_dim=2, pooled_size=2, spatial_scale=0.5"),
    ("group", 8, "output_dim=2, pooled_size=3, group_size=2, spatial_scale=0.75"),
    ("scale", 4, "output_dim=1, pooled_size=2, spatial_scale=1.0"),
]
DEFORMABLE_PSROI = [
    ("plain", "5, 2, 2, 2", "output_dim=2, pooled_size=2, group_size=2, spatial_scale=0.5, sample_per_part=2, trans_std=0.25"),
    ("classes", "5, 4, 3, 3", "output_dim=2, pooled_size=3, group_size=2, spatial_scale=0.75, sample_per_part=3, trans_std=0.25, part_size=3"),
    ("parts", "5, 2, 2, 2", "output_dim=2, pooled_size=4, group_size=2, spatial_scale=0.5, sample_per_part=3, trans_std=0.25, part_size=2"),
]  # fmt: skip
DEFORMABLE = [
    ("plain", "1, 18, 3, 4", "2, 4, 3, 3", 2, "kernel=(3, 3), num_filter=2"),
    ("far", "1, 18, 3, 4", "2, 4, 3, 3", 2, "kernel=(3, 3), num_filter=2"),
    ("groups", "1, 36, 3, 3", "4, 2, 3, 3", 0, "kernel=(3, 3), num_filter=4, pad=(1, 1), stride=(2, 2), num_group=2, num_deformable_group=2, no_bias=True"),
    ("dilate", "1, 48, 5, 2", "2, 4, 2, 3", 0, "kernel=(2, 3), num_filter=2, pad=(1, 0), dilate=(2, 1), stride=(1, 2), num_deformable_group=4, no_bias=True"),
]  # fmt: skip
MODULATED = [
    ("plain", "1, 18, 3, 4", "1, 9, 3, 4", "2, 4, 3, 3", 2, "kernel=(3, 3), num_filter=2"),
    ("groups", "1, 36, 3, 3", "1, 18, 3, 3", "4, 2, 3, 3", 0, "kernel=(3, 3), num_filter=4, pad=(1, 1), stride=(2, 2), num_group=2, num_deformable_group=2, no_bias=True"),
    ("dilate", "1, 48, 5, 2", "1, 24, 5, 2", "4, 4, 2, 3", 0, "kernel=(2, 3), num_filter=4, pad=(1, 0), dilate=(2, 1), stride=(1, 2), num_deformable_group=4, no_bias=True"),
]  # fmt: skip


def _modulated(offset, mask, weight, bias, options):
    inputs = f"draw(1, 4, 5, 6), draw({offset}, step=11) + 0.03125, draw({mask}, step=9), draw({weight}, step=3)"
    inputs += f", draw({bias}, step=5)" if bias else ""
    return f"result = nd.contrib.ModulatedDeformableConvolution({inputs}, {options})"


def _deformable(offset, weight, bias, options, scale):
    inputs = [f"draw(1, 4, 5, 6), draw({offset}, step=11) * {scale} + 0.03125, draw({weight}, step=3)"]
    names = "x, o, w, b" if bias else "x, o, w"
    call = f"lambda {names}: nd.contrib.DeformableConvolution({names}, {options})"
    return f"result = backward({call}, {', '.join(inputs + [f'draw({bias}, step=5)'] * bool(bias))})"


def _both(name, body):
    return [(f"{name}_{dtype}", _snippet(body, dtype)) for dtype in ("float32", "float64")]


def _images(operator, cases, inputs="draw(2, 3, 5, 6)"):
    return [
        (name, f"result = backward(lambda x: nd.contrib.{operator}(x, {options}), {inputs})") for name, options in cases
    ]


TWICE = [
    ("bilinear_sampler", f"result = backward(lambda x, g: nd.BilinearSampler(x, g), draw(2, 3, 4, 5), {GRID})"),
    ("bilinear_sampler_of_a_point", f"result = backward(lambda x, g: nd.BilinearSampler(x, g), draw(2, 3, 1, 1), {GRID})"),
    ("spatial_transformer", f"result = backward(lambda x, m: nd.SpatialTransformer(x, m, target_shape=(4, 5), transform_type='affine', sampler_type='bilinear'), draw(2, 3, 4, 5), {MATRICES})"),
    *[
        (f"roi_pooling_{scale}_{size}", f"result = backward(lambda x, r: nd.ROIPooling(x, r, pooled_size=({size}, 2), spatial_scale={scale}), draw(2, 3, 5, 6), {ROIS})")
        for scale in (1.0, 0.5) for size in (2, 7)
    ],
    ("roi_pooling_ties", "result = backward(lambda x, r: nd.ROIPooling(x, r, pooled_size=(2, 2), spatial_scale=1), nd.zeros((1, 2, 5, 5), dtype=DTYPE), array([[0, 0, 0, 4, 4]]))"),
    *[
        (
            f"roi_align_{scale}_{ratio}_{'aligned' if aligned else 'plain'}",
            f"result = backward(lambda x, r: nd.contrib.ROIAlign(x, r, pooled_size=(3, 2), spatial_scale={scale}, sample_ratio={ratio}, aligned={aligned}), draw(2, 3, 5, 6), {ORDERED if aligned else ROIS})",
        )
        for scale in (1.0, 0.5) for ratio in (-1, 0, 1, 2) for aligned in (False, True)
    ],
    ("roi_align_position_sensitive", f"result = backward(lambda x, r: nd.contrib.ROIAlign(x, r, pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2, position_sensitive=True), draw(2, 8, 5, 6), {ROIS})"),
    *[
        (f"rroi_align_{scale}_{ratio}", f"result = nd.contrib.RROIAlign(draw(2, 3, 5, 6), {TURNED}, pooled_size=(3, 2), spatial_scale={scale}, sampling_ratio={ratio})")
        for scale in (1.0, 0.5) for ratio in (-1, 2)
    ],
    *[
        (f"psroi_pooling_{name}", f"result = bound(mx.sym.contrib.PSROIPooling(d, r, {options}), draw(2, {channels}, 5, 6), {ROIS})")
        for name, channels, options in PSROI
    ],
    *[
        (f"deformable_psroi_pooling_{name}", f"result = bound(mx.sym.contrib.DeformablePSROIPooling(d, r, t, {options}), draw(2, 8, 5, 6), {ROIS}, draw({trans}, step=11))")
        for name, trans, options in DEFORMABLE_PSROI
    ],
    ("deformable_psroi_pooling_unmoved", f"result = bound(mx.sym.contrib.DeformablePSROIPooling(d, r, output_dim=2, pooled_size=2, group_size=2, spatial_scale=0.5, sample_per_part=2, no_trans=True), draw(2, 8, 5, 6), {ROIS})"),
    *[
        (f"deformable_convolution_{name}", _deformable(offset, weight, bias, options, 4 if name == "far" else 1))
        for name, offset, weight, bias, options in DEFORMABLE
    ],
    *[
        (f"modulated_deformable_convolution_{name}", _modulated(offset, mask, weight, bias, options))
        for name, offset, mask, weight, bias, options in MODULATED
    ],
    ("deformable_convolution_at_points", "result = backward(lambda x, o, w: nd.contrib.DeformableConvolution(x, o, w, kernel=(3, 3), pad=(1, 1), num_filter=2, no_bias=True), draw(1, 2, 4, 5), nd.zeros((1, 18, 4, 5), dtype=DTYPE), draw(2, 2, 3, 3, step=3))"),
    *[
        (f"correlation_{name}", f"result = backward(lambda a, b: nd.Correlation(a, b, {options}), draw(2, 3, 6, 7), draw(2, 3, 6, 7, step=5))")
        for name, options in CORRELATIONS
    ],
    *_images("AdaptiveAvgPooling2D", [(f"adaptive_avg_pooling_{i}", f"output_size={size}") for i, size in enumerate(["()", "1", "(2,)", "(3, 4)", "(5, 6)", "(7, 9)", "(1, 3)"])]),
    *_images("BilinearResize2D", [(f"bilinear_resize_{name}", options) for name, options in RESIZES]),
    *_images("BilinearResize2D", [(f"bilinear_resize_{name}_edges", f"{options}, align_corners=False") for name, options in RESIZES]),
    ("bilinear_resize_column", "result = backward(lambda x: nd.contrib.BilinearResize2D(x, height=3, width=4), draw(2, 3, 5, 1))"),
    ("bilinear_resize_like", "result = backward(lambda x, y: nd.contrib.BilinearResize2D(x, y, mode='like'), draw(2, 3, 5, 6), draw(2, 3, 8, 3))"),
]  # fmt: skip

ONCE = [
    ("grid_generator_affine", f"result = backward(lambda m: nd.GridGenerator(m, transform_type='affine', target_shape=(3, 4)), {MATRICES})"),
    ("grid_generator_warp", "result = backward(lambda f: nd.GridGenerator(f, transform_type='warp'), draw(2, 2, 3, 4))"),
    ("grid_generator_row", f"result = nd.GridGenerator({MATRICES}, transform_type='affine', target_shape=(1, 4))"),
    ("grid_generator_warp_row", "result = nd.GridGenerator(draw(2, 2, 1, 4), transform_type='warp')"),
    ("grid_generator_without_shape", f"result = nd.GridGenerator({MATRICES}, transform_type='affine')"),
    ("grid_generator_unknown", f"result = nd.GridGenerator({MATRICES}, transform_type='linear', target_shape=(1, 4))"),
    ("grid_generator_shape", "result = nd.GridGenerator(draw(2, 5), transform_type='affine', target_shape=(1, 4))"),
    ("spatial_transformer_without_shape", f"result = nd.SpatialTransformer(draw(2, 3, 4, 5), {MATRICES}, transform_type='affine', sampler_type='bilinear')"),
    ("bilinear_sampler_batch", f"result = nd.BilinearSampler(draw(3, 3, 4, 5), {GRID})"),
    ("bilinear_sampler_channels", "result = nd.BilinearSampler(draw(2, 3, 4, 5), draw(2, 3, 4, 5))"),
    ("roi_align_no_box", "result = nd.contrib.ROIAlign(draw(2, 3, 5, 6), array([[-1, 0, 0, 3, 3], [-1, 0, 0, 3, 3], [1, 0, 0, 3, 3]]), pooled_size=(2, 2), spatial_scale=1, sample_ratio=2)"),
    ("roi_align_channels", f"result = nd.contrib.ROIAlign(draw(2, 3, 5, 6), {ROIS}, pooled_size=(2, 2), spatial_scale=1, position_sensitive=True)"),
    ("roi_align_columns", "result = nd.contrib.ROIAlign(draw(2, 3, 5, 6), draw(3, 4), pooled_size=(2, 2), spatial_scale=1)"),
    ("roi_align_without_size", f"result = nd.contrib.ROIAlign(draw(2, 3, 5, 6), {ROIS}, spatial_scale=1)"),
    ("roi_pooling_columns", "result = nd.ROIPooling(draw(2, 3, 5, 6), draw(3, 4), pooled_size=(2, 2), spatial_scale=1)"),
    ("rroi_align_gradient", f"result = backward(lambda x: nd.contrib.RROIAlign(x, {TURNED}, pooled_size=(3, 2), spatial_scale=1, sampling_ratio=2), draw(2, 3, 5, 6))"),
    ("deformable_convolution_offset", "result = nd.contrib.DeformableConvolution(draw(1, 4, 5, 6), draw(1, 18, 5, 6), draw(2, 4, 3, 3), kernel=(3, 3), num_filter=2, no_bias=True)"),
    ("modulated_deformable_convolution_gradient", "result = backward(lambda x: nd.contrib.ModulatedDeformableConvolution(x, draw(1, 2, 3, 3), draw(1, 1, 3, 3), draw(2, 2, 1, 1), kernel=(1, 1), num_filter=2, no_bias=True), draw(1, 2, 3, 3))"),
    ("correlation_even", "result = nd.Correlation(draw(2, 3, 6, 7), draw(2, 3, 6, 7), kernel_size=2)"),
    ("correlation_small", "result = nd.Correlation(draw(2, 3, 6, 7), draw(2, 3, 6, 7), max_displacement=4)"),
    ("adaptive_avg_pooling_matrix", "result = nd.contrib.AdaptiveAvgPooling2D(draw(6, 7))"),
    ("bilinear_resize_unknown", "result = nd.contrib.BilinearResize2D(draw(2, 3, 6, 7), mode='double')"),
    ("shapes_of_symbols", "result = [tuple(map(str, s.infer_shape(d=(2, 8, 5, 6), **other)[:2])) for s, other in ((mx.sym.contrib.ROIAlign(d, r, pooled_size=(2, 3), spatial_scale=1.0), {'r': (7, 5)}), (mx.sym.ROIPooling(d, r, pooled_size=(2, 3), spatial_scale=1.0), {'r': (7, 5)}), (mx.sym.contrib.AdaptiveAvgPooling2D(d, output_size=3), {}), (mx.sym.contrib.BilinearResize2D(d, scale_height=2, scale_width=3), {}), (mx.sym.BilinearSampler(d, r), {'r': (2, 2, 3, 4)}), (mx.sym.Correlation(d, r, pad_size=1), {'r': (2, 8, 5, 6)}), (mx.sym.SpatialTransformer(d, r, target_shape=(3, 4), transform_type='affine', sampler_type='bilinear'), {'r': (2, 6)}))]"),
    ("shapes_of_weights", "s = mx.sym.contrib.DeformableConvolution(d, mx.sym.Variable('o'), kernel=(3, 3), num_filter=4, num_group=2, name='c')\nresult = str(s.infer_shape(d=(2, 8, 5, 6), o=(2, 18, 3, 4))[:2])"),
    ("names_of_arguments", "result = [' '.join(s.list_arguments()) for s in (mx.sym.contrib.DeformableConvolution(name='c', kernel=(3, 3), num_filter=4), mx.sym.contrib.ModulatedDeformableConvolution(name='c', kernel=(3, 3), num_filter=4, no_bias=True), mx.sym.SpatialTransformer(name='s', target_shape=(3, 4), transform_type='affine', sampler_type='bilinear'), mx.sym.BilinearSampler(name='s'), mx.sym.GridGenerator(name='s', transform_type='warp'), mx.sym.ROIPooling(name='s', pooled_size=(1, 1), spatial_scale=1.0), mx.sym.contrib.ROIAlign(name='s', pooled_size=(1, 1), spatial_scale=1.0), mx.sym.Correlation(name='s'), mx.sym.contrib.BilinearResize2D(name='s'), mx.sym.contrib.BilinearResize2D(name='s', mode='like'), mx.sym.contrib.AdaptiveAvgPooling2D(name='s'), mx.sym.contrib.DeformablePSROIPooling(name='s', output_dim=2, pooled_size=2, group_size=2, spatial_scale=0.5), mx.sym.contrib.DeformablePSROIPooling(name='s', output_dim=2, pooled_size=2, group_size=2, spatial_scale=0.5, no_trans=True))]"),
]  # fmt: skip

CASES = [
    *(case for name, body in TWICE for case in _both(name, body)),
    *((name, _snippet(body)) for name, body in ONCE),
]
