"""Golden cases of images: tensors, crops, flips, colours, sizes, borders, decoding.

Flips of odd lengths, and colours of one channel, are left out: there, MXNet answers with memory that nobody wrote.
"""

from pathlib import Path
from textwrap import dedent

PICTURES = Path(__file__).resolve().parent / "pictures"

IMAGE = """
    R = np.random.RandomState({seed})
    shape = {shape}
    values = R.uniform(0, 255, shape).round(3) if "{dtype}"[0] == "f" else R.randint(0, 120, shape)
    x = nd.array(values, dtype="{dtype}")
    result = nd.image.{call}
"""
TENSORS = [
    *[(f"to_tensor_{dtype}", (4, 6, 3), dtype, "to_tensor(x)") for dtype in ("uint8", "float32", "float64", "int32")],
    ("to_tensor_batch", (2, 3, 4, 1), "uint8", "to_tensor(x)"),
    ("to_tensor_matrix", (4, 3), "uint8", "to_tensor(x)"),
    *[
        (f"normalize_{dtype}", (3, 2, 4), dtype, "normalize(x, mean=(1, 2, 3), std=(2, 3, 4))")
        for dtype in ("float32", "float64", "float16", "uint8", "int32")
    ],
    ("normalize_one_number", (3, 2, 4), "float32", "normalize(x, mean=100, std=2.5)"),
    ("normalize_gray", (1, 2, 4), "float32", "normalize(x, mean=(100,), std=(2.5,))"),
    ("normalize_batch", (2, 3, 2, 2), "float32", "normalize(x, mean=(1, 2, 3), std=(2, 3, 4))"),
    ("normalize_below_zero", (3, 2, 2), "uint8", "normalize(x, mean=200, std=2)"),
    ("normalize_two_means", (3, 2, 2), "float32", "normalize(x, mean=(1, 2), std=(1,))"),
    ("normalize_matrix", (3, 2), "float32", "normalize(x, mean=1, std=1)"),
    *[
        (f"crop_{dtype}", (4, 5, 3), dtype, "crop(x, x=1, y=2, width=3, height=2)")
        for dtype in ("float32", "float64", "uint8", "int32")
    ],
    ("crop_batch", (2, 4, 5, 1), "float32", "crop(x, x=0, y=1, width=5, height=3)"),
    ("crop_outside", (4, 5, 3), "float32", "crop(x, x=3, y=0, width=3, height=2)"),
    ("crop_nothing", (4, 5, 3), "float32", "crop(x, x=3, y=0, width=0, height=2)"),
    ("crop_matrix", (4, 5), "float32", "crop(x, x=3, y=0, width=1, height=2)"),
    *[
        (f"{name}_{dtype}", (4, 6, 3), dtype, f"{name}(x)")
        for name in ("flip_left_right", "flip_top_bottom")
        for dtype in ("float32", "float64", "uint8", "int32")
    ],
    ("flip_left_right_batch", (2, 4, 6, 3), "float32", "flip_left_right(x)"),
    *[
        (f"random_{name}_{str(factor).replace('.', '_')}_{dtype}", (3, 4, 3), dtype,
         f"random_{name}(x, min_factor={factor}, max_factor={factor})")
        for name, factors in (("brightness", (0, 0.3, 1, 1.7)), ("contrast", (0, 0.3, 1, 1.7)), ("saturation", (1,)))
        for factor in factors
        for dtype in ("float32", "float64", "uint8")
    ],
    *[
        (f"random_hue_{str(factor).replace('.', '_')}_{dtype}", (3, 4, 3), dtype,
         f"random_hue(x, min_factor={factor}, max_factor={factor}) / 256")
        for factor in (0, 0.125, 0.3, 0.5, 0.9, 1.7)
        for dtype in ("float32", "float64")
    ],
    ("random_hue_uint8", (3, 4, 3), "uint8", "random_hue(x, min_factor=0, max_factor=0)"),
    ("random_saturation_0_3", (3, 4, 3), "float32", "random_saturation(x, min_factor=0.3, max_factor=0.3)"),
    ("random_brightness_gray", (3, 4, 1), "float32", "random_brightness(x, min_factor=0.3, max_factor=0.3)"),
    ("random_contrast_gray", (3, 4, 1), "float32", "random_contrast(x, min_factor=0.3, max_factor=0.3)"),
    ("random_saturation_gray", (3, 4, 1), "float32", "random_saturation(x, min_factor=0.3, max_factor=0.3)"),
    ("random_brightness_negative", (3, 4, 3), "float32", "random_brightness(x, min_factor=-0.3, max_factor=0.3)"),
    ("random_brightness_no_factors", (3, 4, 3), "float32", "random_brightness(x)"),
    ("random_contrast_four_channels", (3, 4, 4), "float32", "random_contrast(x, min_factor=1, max_factor=1)"),
    *[
        (f"adjust_lighting_{dtype}", (3, 4, 3), dtype, "adjust_lighting(x, alpha=(0.1, 0.2, 0.3))")
        for dtype in ("float32", "float64", "uint8")
    ],
    ("adjust_lighting_dark", (3, 4, 3), "uint8", "adjust_lighting(x, alpha=(2, 0, 0))"),
    ("adjust_lighting_two", (3, 4, 3), "uint8", "adjust_lighting(x, alpha=(2, 0))"),
    ("random_lighting_none", (3, 4, 3), "float32", "random_lighting(x, alpha_std=0)"),
    ("random_color_jitter_shape", (3, 4, 3), "float32",
     "random_color_jitter(x, brightness=0.1, contrast=0.1, saturation=0.1, hue=0.1).shape"),
]  # fmt: skip
SIZES = [
    ("smaller", (5, 7, 3), "size=(3, 2)"),
    ("larger", (4, 5, 3), "size=(9, 6)"),
    ("wider", (4, 5, 1), "size=(8, 3)"),
    ("half", (4, 6, 3), "size=(3, 2)"),
    ("third", (6, 9, 3), "size=(3, 2)"),
    ("same", (3, 4, 1), "size=(4, 3)"),
    ("pixel", (3, 4, 3), "size=(1, 1)"),
]
RESIZES = [
    *[
        (f"resize_{name}_{interp}_{dtype}", shape, dtype, f"resize(x, {size}, interp={interp})")
        for name, shape, size in SIZES
        for interp in range(5)
        for dtype in ("float32", "uint8")
    ],
    ("resize_float64", (4, 5, 3), "float64", "resize(x, size=(3, 7))"),
    ("resize_batch", (2, 4, 5, 3), "float32", "resize(x, size=(3, 7))"),
    ("resize_square", (4, 5, 3), "float32", "resize(x, size=3)"),
    ("resize_keep_ratio", (4, 7, 1), "float32", "resize(x, size=3, keep_ratio=True)"),
    ("resize_keep_ratio_high", (7, 4, 1), "float32", "resize(x, size=9, keep_ratio=True)"),
    ("resize_keep_ratio_two", (7, 4, 1), "float32", "resize(x, size=(3, 5), keep_ratio=True)"),
    ("resize_no_size", (7, 4, 1), "float32", "resize(x)"),
    ("resize_zero", (7, 4, 1), "float32", "resize(x, size=(0, 3))"),
    ("resize_three_sizes", (7, 4, 1), "float32", "resize(x, size=(2, 3, 3))"),
    ("resize_other_interpolation", (7, 4, 1), "float32", "resize(x, size=3, interp=7)"),
    ("resize_matrix", (7, 4), "float32", "resize(x, size=3)"),
]
GRADIENT = """
    x = nd.arange({size}).reshape({shape}); x.attach_grad()
    with autograd.record():
        y = nd.image.{call}
    y.backward((nd.arange(y.size) + 0.5).reshape(y.shape))
    result = x.grad
"""
GRADIENTS = [
    ("to_tensor", (2, 3, 3), "to_tensor(x)"),
    ("normalize", (3, 2, 3), "normalize(x, mean=(1, 2, 3), std=(2, 3, 4))"),
    ("normalize_batch", (2, 1, 2, 3), "normalize(x, mean=1, std=4)"),
    ("crop", (3, 4, 1), "crop(x, x=1, y=0, width=2, height=2)"),
    ("crop_batch", (2, 3, 4, 1), "crop(x, x=1, y=0, width=2, height=2)"),
    ("flip_left_right", (2, 4, 1), "flip_left_right(x)"),
    ("flip_top_bottom", (2, 4, 1), "flip_top_bottom(x)"),
    ("random_brightness", (2, 2, 3), "random_brightness(x, min_factor=2, max_factor=2)"),
    ("random_contrast", (2, 2, 3), "random_contrast(x, min_factor=0.5, max_factor=0.5)"),
    ("random_hue", (2, 2, 3), "random_hue(x, min_factor=0.3, max_factor=0.3)"),
    ("adjust_lighting", (2, 2, 3), "adjust_lighting(x, alpha=(0.1, 0.2, 0.3))"),
    ("random_lighting", (2, 2, 3), "random_lighting(x, alpha_std=0)"),
    ("resize", (2, 3, 1), "resize(x, size=(2, 4))"),
]

BORDER = "x = nd.array(np.arange(18).reshape((2, 3, 3)), dtype='{}')\nresult = nd._internal._cvcopyMakeBorder(x, {})"
BORDERS = [
    *[(f"border_{kind}", "uint8", f"top=3, bot=1, left=2, right=4, type={kind}, value=7") for kind in range(5)],
    ("border_other_type", "uint8", "top=3, bot=1, left=2, right=4, type=5"),
    ("border_negative", "uint8", "top=-1, bot=1, left=2, right=4"),
    ("border_values", "uint8", "top=1, bot=0, left=0, right=1, values=(1, 2, 3)"),
    ("border_one_value", "uint8", "top=1, bot=0, left=0, right=1, values=(9,)"),
    ("border_rounded", "uint8", "top=1, bot=0, left=0, right=1, values=(300, -5, 2.6)"),
    ("border_float32", "float32", "top=1, bot=0, left=0, right=1, value=2.5"),
    ("border_int32", "int32", "top=1, bot=0, left=0, right=1, value=2.5"),
]

DECODE = """
    data = np.frombuffer(bytes.fromhex('{data}'), 'uint8')
    result = nd._internal._cvimdecode(nd.array(data, dtype='uint8'), {options})
"""
DECODED = [
    (f"imdecode_{path.stem}_{path.suffix[1:]}_{name}", DECODE.format(data=path.read_bytes().hex(), options=options))
    for path in sorted(PICTURES.iterdir())
    for name, options in (("color", ""), ("gray", "flag=0"), ("bgr", "to_rgb=False"))
    if (path.name, name) != ("deep.png", "gray")  # which OpenCV gives to MXNet in 16 bits, and MXNet refuses
]
DECODED += [
    ("imdecode_nothing", "result = nd._internal._cvimdecode(nd.array([], dtype='uint8'))"),
    ("imdecode_no_picture", "result = nd._internal._cvimdecode(nd.array([1, 2, 3], dtype='uint8'))"),
    ("imread_missing", "result = nd._internal._cvimread('/nowhere/at/all.png')"),
    ("imresize", "result = nd._internal._cvimresize(nd.array([[[0], [4]]]), w=4, h=2)"),
    ("imresize_matrix", "result = nd._internal._cvimresize(nd.array([[0, 4]]), w=4, h=2)"),
]

SYMBOL = """
    s = mx.sym.image.{call}
    result = [s.list_outputs(), list(s.infer_shape(a={shape})[1][0]), s.infer_type(a='uint8')[1]]
"""
SYMBOLS = [
    ("to_tensor", "to_tensor(mx.sym.var('a'), name='s')", (4, 5, 3)),
    ("normalize", "normalize(mx.sym.var('a'), name='s', mean=1, std=2)", (3, 4, 5)),
    ("crop", "crop(mx.sym.var('a'), name='s', x=1, y=1, width=2, height=3)", (2, 4, 5, 3)),
    ("resize", "resize(mx.sym.var('a'), name='s', size=7, keep_ratio=True)", (4, 5, 3)),
    ("random_flip", "random_flip_left_right(mx.sym.var('a'), name='s')", (4, 5, 3)),
    ("random_hue", "random_hue(mx.sym.var('a'), name='s', min_factor=0, max_factor=1)", (4, 5, 3)),
]

CASES = [
    (f"image_{name}", dedent(snippet).strip())
    for name, snippet in (
        *[
            (name, IMAGE.format(seed=seed, shape=shape, dtype=dtype, call=call))
            for seed, (name, shape, dtype, call) in enumerate((*TENSORS, *RESIZES))
        ],
        *[
            (f"gradient_{name}", GRADIENT.format(size=f"np.prod({shape})", shape=shape, call=call))
            for name, shape, call in GRADIENTS
        ],
        *[(name, BORDER.format(dtype, options)) for name, dtype, options in BORDERS],
        *DECODED,
        *[(f"symbol_{name}", SYMBOL.format(call=call, shape=shape)) for name, call, shape in SYMBOLS],
    )
]
