"""Golden cases of `mx.image`: functions, augmenters and iterators, with the numbers that seeded programs draw.

Sizes are changed bilinearly: in bicubic interpolation of 8 bits, processors differ by a unit.
"""

from textwrap import dedent

START = """
    import json, random, warnings
    warnings.simplefilter("ignore")
    I = mx.image
    R = np.random.RandomState({seed})
    x = nd.array(R.randint(0, 256, {shape}), dtype="{dtype}")
    random.seed({seed}); np.random.seed({seed})
    result = {call}
"""


def case(name, call, shape=(8, 10, 3), dtype="uint8", seed=3):
    return name, dedent(START.format(call=call, shape=shape, dtype=dtype, seed=seed))


SIZES = (
    [
        case(f"scale_down_{i}", f"I.scale_down({source}, {size})")
        for i, (source, size) in enumerate(
            [
                ((640, 480), (720, 120)),
                ((360, 1000), (480, 500)),
                ((10, 10), (5, 5)),
                ((10.5, 7), (20, 21)),
                ((3, 9), (9, 3)),
            ]
        )
    ]
    + [
        case(f"interp_{code}_{i}", f"I.image._get_interp_method({code}, {sizes})")
        for code in (-1, 0, 2, 4, 5, 9, 10, 11)
        for i, sizes in enumerate([(), (10, 10, 20, 20), (20, 20, 10, 10), (10, 20, 20, 10)])
    ]
    + [
        case("resize_short_wide", "I.resize_short(x, 5, 1)"),
        case("resize_short_high", "I.resize_short(x, 5, 1)", shape=(10, 8, 3)),
        case("resize_short_cubic", "I.resize_short(x, 5)", dtype="float32"),
        case("resize_short_by_size", "I.resize_short(x, 5, 9)", dtype="float32"),
        case("resize_short_by_chance", "(I.resize_short(x, 5, 10).shape, random.random())"),
        case("resize_short_unknown", "I.resize_short(x, 5, 12)"),
        case("imresize", "I.imresize(x, 5, 4)"),
        case("imresize_nearest", "I.imresize(x, 5, 14, 0)"),
        case("imresize_area", "I.imresize(x, 5, 4, interp=3)"),
        case("imresize_unknown", "I.imresize(x, 5, 4, interp=9)"),
        case("border", "I.copyMakeBorder(x, 1, 2, 0, 3)"),
        case("border_values", "I.copyMakeBorder(x, 1, 2, 0, 3, type=0, values=(1, 2, 3))"),
        case("border_replicated", "I.copyMakeBorder(x, 1, 2, 0, 3, 1)"),
    ]
)
CROPS = [
    case("fixed_crop", "I.fixed_crop(x, 1, 2, 5, 4)"),
    case("fixed_crop_resized", "I.fixed_crop(x, 1, 2, 5, 4, size=(3, 7), interp=1)"),
    case("fixed_crop_same_size", "I.fixed_crop(x, 1, 2, 5, 4, size=(5, 4))"),
    case("fixed_crop_beyond", "I.fixed_crop(x, 7, 6, 5, 4)"),
    case("fixed_crop_before", "I.fixed_crop(x, -1, 2, 5, 4)"),
    case("center_crop", "I.center_crop(x, (4, 5))"),
    case("center_crop_odd", "I.center_crop(x, (5, 3))"),
    case("center_crop_small", "I.center_crop(x, (20, 10), 1)"),
    *[case(f"random_crop_{seed}", "(*I.random_crop(x, (4, 5)), random.random())", seed=seed) for seed in (0, 1, 2)],
    case("random_crop_small", "I.random_crop(x, (20, 10), 1)"),
    *[
        case(
            f"random_size_crop_{seed}", "(*I.random_size_crop(x, (4, 5), 0.2, (0.5, 2), 1), random.random())", seed=seed
        )
        for seed in (0, 1, 2)
    ],
    case("random_size_crop_areas", "I.random_size_crop(x, (4, 5), (0.1, 0.3), (3 / 4, 4 / 3), 0)"),
    case("random_size_crop_min_area", "I.random_size_crop(x, (4, 5), 0.5, (3 / 4, 4 / 3), 0, min_area=0.1)"),
    case("random_size_crop_too_large", "(*I.random_size_crop(x, (4, 5), (3, 4), (3 / 4, 4 / 3), 0), random.random())"),
    case("random_size_crop_unknown", "I.random_size_crop(x, (4, 5), 0.5, (3 / 4, 4 / 3), 0, part=0.1)"),
]
ROTATIONS = [
    *[
        case(
            f"imrotate_{angle}_{zoom}".replace("-", "m"),
            f"I.imrotate(x / 256, {angle}{zoom and f', {zoom}=True'})",
            (2, *size),
            "float32",
        )
        for angle, size in ((0, (4, 4)), (30, (3, 5)), (90, (4, 4)), (-45, (6, 4)), (200.5, (5, 5)))
        for zoom in ("", "zoom_in", "zoom_out")
    ],
    case("imrotate_batch", "I.imrotate(x, 30)", (2, 3, 4, 5), "float32"),
    case("imrotate_batch_angles", "I.imrotate(x, nd.array([30, -20]))", (2, 3, 4, 5), "float32"),
    case("imrotate_wrong_angles", "I.imrotate(x, nd.array([30, -20, 1]))", (2, 3, 4, 5), "float32"),
    case("imrotate_angle_array", "I.imrotate(x, nd.array([30]))", (3, 4, 5), "float32"),
    case("imrotate_both_zooms", "I.imrotate(x, 30, True, True)", (3, 4, 5), "float32"),
    case("imrotate_uint8", "I.imrotate(x, 30)", (3, 4, 5), "uint8"),
    case("imrotate_matrix", "I.imrotate(x, 30)", (4, 5), "float32"),
    case("random_rotate", "(I.random_rotate(x, (-20, 30)), np.random.rand())", (3, 4, 5), "float32"),
    case("random_rotate_batch", "(I.random_rotate(x, (-20, 30), True), np.random.rand())", (2, 3, 4, 5), "float32"),
]
EIGEN = (
    "np.array([55.46, 4.794, 1.148]), "
    "np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])"
)
AUGMENTERS = {
    "resize": "ResizeAug(5, 1)",
    "force_resize": "ForceResizeAug((5, 4), 1)",
    "force_resize_by_chance": "ForceResizeAug((5, 4), 10)",
    "random_crop": "RandomCropAug((4, 5))",
    "random_sized_crop": "RandomSizedCropAug((4, 5), 0.2, (0.5, 2), 1)",
    "random_sized_crop_min_area": "RandomSizedCropAug((4, 5), 0.2, (0.5, 2), 1, min_area=0.4)",
    "center_crop": "CenterCropAug((4, 5))",
    "flip": "HorizontalFlipAug(0.5)",
    "flip_always": "HorizontalFlipAug(1)",
    "cast": "CastAug()",
    "cast_double": "CastAug('float64')",
    "brightness": "BrightnessJitterAug(0.3)",
    "contrast": "ContrastJitterAug(0.3)",
    "saturation": "SaturationJitterAug(0.3)",
    "hue": "HueJitterAug(0.3)",
    "jitter": "ColorJitterAug(0.3, 0.4, 0.5)",
    "jitter_two": "ColorJitterAug(0.3, 0, 0.5)",
    "lighting": f"LightingAug(0.1, {EIGEN})",
    "normalize": "ColorNormalizeAug(nd.array([1, 2, 3]), nd.array([1, 2, 3]))",
    "normalize_numpy": "ColorNormalizeAug(np.array([1, 2, 3]), np.array([1.5, 2, 3]))",
    "normalize_mean": "ColorNormalizeAug(np.array([1, 2, 3]), None)",
    "normalize_std": "ColorNormalizeAug(None, np.array([1, 2, 3]))",
    "gray": "RandomGrayAug(1)",
    "gray_half": "RandomGrayAug(0.5)",
    "several": "SequentialAug([I.CenterCropAug((6, 6)), I.CastAug(), I.HorizontalFlipAug(0.5)])",
    "any_order": "RandomOrderAug([I.CenterCropAug((6, 6)), I.CastAug(), I.HorizontalFlipAug(0.5)])",
}
CHAINS = {
    "plain": "(3, 6, 7)",
    "resize": "(3, 6, 7), resize=7, inter_method=1",
    "crop": "(3, 6, 7), rand_crop=True, rand_mirror=True",
    "sized_crop": "(3, 6, 7), rand_crop=True, rand_resize=True, inter_method=1",
    "no_crop": "(3, 6, 7), rand_resize=True",
    "normalized": "(3, 6, 7), mean=True, std=True",
    "mean": "(3, 6, 7), mean=np.array([1, 2, 3])",
    "std": "(3, 6, 7), std=True",
    "wrong_mean": "(3, 6, 7), mean=np.array([1, 2])",
    "all": "(3, 6, 7), 0, True, False, True, True, True, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1",
}
CHANGING = [
    entry
    for name, text in AUGMENTERS.items()
    for entry in (
        case(f"aug_{name}_dumps", f"json.dumps(I.{text}.dumps())"),
        case(f"aug_{name}", f"(I.{text}(x), x, random.random(), np.random.rand())", dtype="float32"),
    )
] + [
    entry
    for name, text in CHAINS.items()
    for entry in (
        case(f"create_{name}_dumps", f"json.dumps([one.dumps() for one in I.CreateAugmenter({text})])"),
        case(f"create_{name}", f"(I.SequentialAug(I.CreateAugmenter({text}))(x), random.random(), np.random.rand())"),
    )
]
LABEL = "np.array([[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.3, 0.9, 0.95], [2, 0.0, 0.0, 0.15, 0.2]])"
DETECTION = {
    "borrow": "DetBorrowAug(I.CastAug())",
    "select": "DetRandomSelectAug([I.DetHorizontalFlipAug(1), I.DetBorrowAug(I.CastAug())], 0.3)",
    "select_none": "DetRandomSelectAug([], 0)",
    "select_one": "DetRandomSelectAug(I.DetHorizontalFlipAug(1))",
    "flip": "DetHorizontalFlipAug(0.5)",
    "crop": "DetRandomCropAug()",
    "crop_covering": "DetRandomCropAug(min_object_covered=0.6, area_range=(0.2, 0.9))",
    "crop_impossible": "DetRandomCropAug(min_object_covered=1.5)",
    "crop_numbers": "DetRandomCropAug(aspect_ratio_range=1.5, area_range=0.5, max_attempts=20)",
    "pad": "DetRandomPadAug()",
    "pad_color": "DetRandomPadAug((0.5, 2), (1.5, 4), 10, (1, 2, 3))",
    "kinds": "CreateMultiRandCropAugmenter([0.1, 0.3, 0.5], [(0.75, 1.33), (0.5, 2), (1, 1)], skip_prob=0.1)",
    "kinds_wrong": "CreateMultiRandCropAugmenter([0.1, 0.3, 0.5], [(0.75, 1.33), (0.5, 2)])",
}
DETECTION_CHAINS = {
    "plain": "(3, 6, 7), inter_method=1",
    "resize": "(3, 6, 7), resize=20, inter_method=1",
    "all": "(3, 6, 7), 0, 0.7, 0.7, 0.5, True, True, True, 0.1, 0.2, 0.3, 0.05, 0.1, 1",
    "kinds": "(3, 6, 7), rand_crop=1, min_object_covered=[0.1, 0.5], inter_method=1",
}
BOXES = [
    entry
    for name, text in DETECTION.items()
    for entry in (
        case(f"det_{name}_dumps", f"json.dumps(I.{text}.dumps())"),
        *[
            case(f"det_{name}_{seed}", f"(*I.{text}(x, {LABEL}), random.random())", (12, 16, 3), seed=seed)
            for seed in (1, 2, 3)
        ],
    )
] + [
    entry
    for name, text in DETECTION_CHAINS.items()
    for entry in (
        case(f"det_create_{name}_dumps", f"json.dumps([one.dumps() for one in I.CreateDetAugmenter({text})])"),
        *[
            case(
                f"det_create_{name}_{seed}",
                f"(*__import__('functools').reduce(lambda pair, one: one(*pair), I.CreateDetAugmenter({text}), "
                f"(x, {LABEL})), random.random(), np.random.rand())",
                (24, 32, 3),
                seed=seed,
            )
            for seed in (1, 2)
        ],
    )
]
FILES = """
    import os, random, tempfile, warnings
    warnings.simplefilter("ignore")
    I, rio = mx.image, mx.recordio
    R = np.random.RandomState(0)
    folder = tempfile.mkdtemp()
    os.mkdir(folder + "/sub")
    names, labels = [], []
    A, B, C = [0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.3, 0.9, 0.95], [2, 0, 0, 0.15, 0.2]
    objects = [[2, 5, *A, *B], [2, 5, *C], [4, 5, 7, 7, *A, *B, *C], [2, 5, *B], [2, 5, *B, *C]]
    one, two, boxes = (
        rio.MXIndexedRecordIO(f"{{folder}}/{{name}}.idx", f"{{folder}}/{{name}}.rec", "w")
        for name in ("one", "two", "box")
    )
    for i, (height, width) in enumerate([(10, 15), (12, 7), (8, 8), (16, 12), (9, 10)]):
        pixels = R.randint(0, 256, (height, width, 3)).astype("uint8")
        packed = rio.pack_img(rio.IRHeader(0, float(i), 2 * i, 0), pixels, 3, ".png")
        one.write_idx(2 * i, packed)
        png = rio.unpack(packed)[1]
        two.write_idx(2 * i, rio.pack(rio.IRHeader(2, [i, i + 0.5], 2 * i, 0), png))
        boxes.write_idx(2 * i, rio.pack(rio.IRHeader(0, objects[i], 2 * i, 0), png))
        names.append(("sub/" if i % 2 else "") + f"{{i}}.png")
        with open(f"{{folder}}/{{names[-1]}}", "wb") as file:
            file.write(png)
    one.close(); two.close(); boxes.close()
    with open(folder + "/one.lst", "w") as first, open(folder + "/two.lst", "w") as second:
        for i, name in enumerate(names):
            first.write(f"{{2 * i}}\\t{{i}}.000000\\t{{name}}\\n")
            second.write(f"{{2 * i}}\\t{{i}}.25\\t{{i}}.75\\t{{name}}\\n")
    imglist = [[i, name] for i, name in enumerate(names)]
    boxlist = [[label, name] for label, name in zip(objects, names)]
    random.seed(5); np.random.seed(5)

    def epochs(it, number=2):
        found = [it.provide_data[0][1], it.provide_label[0]]
        for _ in range(number):
            for batch in it:
                found += [batch.data[0].reshape((0, -1)).mean(axis=1), batch.label[0], batch.pad]
            it.reset()
        return [*found, random.random()]

    result = {call}
"""
SMALL = "batch_size=2, data_shape=(3, 6, 7)"
LISTED = f"{SMALL}, imglist=imglist, path_root=folder"
BOXED = f"{SMALL}, imglist=boxlist, path_root=folder"
INDEXED = f"{SMALL}, path_imgrec=folder + '/one.rec', path_imgidx=folder + '/one.idx'"
RECORDS = {
    "records": f"{SMALL}, path_imgrec=folder + '/one.rec'",
    "records_shuffled_without_index": f"{SMALL}, path_imgrec=folder + '/one.rec', shuffle=True",
    "records_shuffled": f"{INDEXED}, shuffle=True",
    "records_part": f"{INDEXED}, num_parts=2, part_index=1",
    "records_part_shuffled": f"{INDEXED}, num_parts=2, shuffle=True",
    "records_two_labels": f"{SMALL}, path_imgrec=folder + '/two.rec', label_width=2",
    "records_too_many_labels": f"{SMALL}, path_imgrec=folder + '/two.rec'",
    "records_and_list": f"{INDEXED}, label_width=2, path_imglist=folder + '/two.lst'",
    "records_rolled_over": f"{SMALL}, path_imgrec=folder + '/one.rec', last_batch_handle='roll_over'",
    "records_discarded": f"{SMALL}, path_imgrec=folder + '/one.rec', last_batch_handle='discard'",
    "list_file": f"{SMALL}, path_imglist=folder + '/one.lst', path_root=folder",
    "list_file_two_labels": f"{SMALL}, path_imglist=folder + '/two.lst', path_root=folder, label_width=2",
    "list_file_discarded": f"{SMALL}, path_imglist=folder + '/one.lst', path_root=folder, shuffle=True, "
    "last_batch_handle='discard'",
    "list_file_rolled_over": f"{SMALL}, path_imglist=folder + '/one.lst', path_root=folder, shuffle=True, "
    "last_batch_handle='roll_over'",
    "list_file_part": f"{SMALL}, path_imglist=folder + '/one.lst', path_root=folder, num_parts=2, part_index=1",
    "list": f"{LISTED}",
    "list_three": f"{SMALL}, imglist=[[i, 2 * i, n] for i, n in imglist], path_root=folder, label_width=2",
    "list_nested": f"{SMALL}, imglist=[[[i, 2 * i], n] for i, n in imglist], path_root=folder, label_width=2",
    "list_arrays": f"{SMALL}, imglist=[[np.array([i, 2]), n] for i, n in imglist], path_root=folder, label_width=2",
    "list_dtype": f"{LISTED}, dtype='int32'",
    "list_names": f"{LISTED}, data_name='d', label_name='l'",
    "list_augmented": f"{LISTED}, rand_crop=True, rand_mirror=True, mean=True, std=True, shuffle=True",
    "list_all_augmenters": f"{LISTED}, rand_crop=True, rand_resize=True, inter_method=1, "
    "rand_mirror=True, brightness=0.1, contrast=0.2, saturation=0.3, hue=0.1, pca_noise=0.1, rand_gray=0.3",
    "list_aug_list": f"{LISTED}, aug_list=[I.ForceResizeAug((7, 6), 1)]",
    "list_wrong_size": f"{LISTED}, aug_list=[]",
    "list_gray_spread": f"{LISTED}, aug_list=[lambda z: z[:6, :7, :1]]",
    "large_batch": "batch_size=7, data_shape=(3, 6, 7), imglist=imglist, path_root=folder",
    "large_batch_discarded": "batch_size=7, data_shape=(3, 6, 7), imglist=imglist, path_root=folder, "
    "last_batch_handle='discard'",
    "large_batch_rolled_over": "batch_size=7, data_shape=(3, 6, 7), imglist=imglist, path_root=folder, "
    "last_batch_handle='roll_over'",
    "missing_file": f"{SMALL}, imglist=[[0, 'no.png']], path_root=folder",
    "missing_records": f"{SMALL}, path_imgrec=folder + '/no.rec'",
    "missing_list": f"{SMALL}, path_imglist=folder + '/no.lst'",
    "wrong_part": f"{LISTED}, num_parts=2, part_index=2",
    "no_pictures": SMALL,
    "gray_shape": "batch_size=2, data_shape=(1, 6, 7), imglist=imglist, path_root=folder",
    "two_axes": "batch_size=2, data_shape=(6, 7), imglist=imglist, path_root=folder",
    "unknown_dtype": f"{LISTED}, dtype='uint8'",
    "unknown_option": f"{LISTED}, rand_rotate=True",
}
OBJECTS = {
    "list": f"{BOXED}, inter_method=1",
    "records": f"{SMALL}, path_imgrec=folder + '/box.rec', inter_method=1",
    "records_shuffled": f"{SMALL}, path_imgrec=folder + '/box.rec', path_imgidx=folder + '/box.idx', shuffle=True, "
    "inter_method=1",
    "augmented": f"{BOXED}, shuffle=True, rand_crop=1, rand_pad=1, rand_mirror=True, "
    "mean=True, std=True, inter_method=1",
    "rolled_over": "batch_size=3, data_shape=(3, 6, 7), imglist=boxlist, path_root=folder, inter_method=1, "
    "last_batch_handle='roll_over'",
    "discarded": "batch_size=3, data_shape=(3, 6, 7), imglist=boxlist, path_root=folder, inter_method=1, "
    "last_batch_handle='discard'",
    "six_numbers": f"{SMALL}, imglist=[[[2, 6, *A, 1], names[0]], [[2, 6, *B, 0, *C, 1], names[1]]], path_root=folder, "
    "inter_method=1",
    "inside_out": f"{SMALL}, imglist=[[[2, 5, 0, 0.5, 0.5, 0.2, 0.2, *A], names[0]], [[2, 5, *A], names[1]]], "
    "path_root=folder, inter_method=1",
    "four_numbers": f"{SMALL}, imglist=[[[2, 4, *A[:4]], names[0]]], path_root=folder",
    "short": f"{SMALL}, imglist=[[[2, 5, 0, 0.1], names[0]]], path_root=folder",
    "rest": f"{SMALL}, imglist=[[[2, 5, *A, 1, 2], names[0]]], path_root=folder",
    "no_object": f"{SMALL}, imglist=[[[2, 5, -1, -1, -1, -1, -1], names[0]]], path_root=folder",
    "different_widths": f"{SMALL}, imglist=[[[2, 6, *A, 1], names[0]], [[2, 5, *B], names[1]]], path_root=folder",
}
METHODS = {
    "reshape": f"(it := I.ImageDetIter({BOXED}, inter_method=1), it.reshape(label_shape=(4, 5)), epochs(it, 1))[2]",
    "reshape_fewer": f"I.ImageDetIter({BOXED}).reshape(label_shape=(2, 5))",
    "reshape_width": f"I.ImageDetIter({BOXED}).reshape(label_shape=(3, 6))",
    "reshape_axes": f"I.ImageDetIter({BOXED}).reshape(label_shape=(15,))",
    "sync": f"(a := I.ImageDetIter({SMALL}, imglist=boxlist[:2], path_root=folder), "
    f"b := I.ImageDetIter({BOXED}), a.sync_label_shape(b) is b, a.label_shape, "
    "a.provide_label[0], b.label_shape)[2:]",
    "hard_reset": f"(it := I.ImageIter({LISTED}, last_batch_handle='roll_over'), "
    "epochs(it, 1), it.hard_reset(), epochs(it, 1))[1::2]",
    "next_sample": f"(it := I.ImageIter({LISTED}), it.next_sample(), it.next_sample())[2][0]",
    "hooks": f"(it := I.ImageIter({LISTED}), s := it.next_sample()[1], "
    "d := it.imdecode(s), it.check_valid_image([d]), it.postprocess_data(it.augmentation_transform(d)))[2:]",
    "early_reset": f"(it := I.ImageIter({LISTED}, shuffle=True), next(it), it.reset(), epochs(it, 1))[3]",
}
ITERATORS = [
    *[(f"iter_{name}", dedent(FILES.format(call=f"epochs(I.ImageIter({text}))"))) for name, text in RECORDS.items()],
    *[
        (f"det_iter_{name}", dedent(FILES.format(call=f"epochs(I.ImageDetIter({text}))")))
        for name, text in OBJECTS.items()
    ],
    *[(f"iter_method_{name}", dedent(FILES.format(call=text))) for name, text in METHODS.items()],
]

# Where MXNet errs, or goes on with what nobody wanted.
APART = [
    *[
        case(f"uint8_{name}", f"I.{text}(x)")
        for name, text in (("brightness", "BrightnessJitterAug(0.5)"), ("contrast", "ContrastJitterAug(0.5)"))
    ],
    case("det_pad_no_areas", f"I.DetRandomPadAug(area_range=(0.5, 0.9))(x, {LABEL})"),
    case("det_crop_no_areas", f"I.DetRandomCropAug(area_range=(1, 0.5))(x, {LABEL})"),
    case("create_mean_list", "I.SequentialAug(I.CreateAugmenter((3, 6, 7), mean=[1, 2, 3]))(x)"),
    case("whole_crop", "(I.center_crop(x, (10, 8))[0].__setitem__(0, 0), x)[1]"),
    *[
        (f"iter_{name}", dedent(FILES.format(call=f"epochs(I.ImageIter({text}))")))
        for name, text in {
            "keep": f"{LISTED}, last_batch_handle='keep'",
            "nothing": f"{SMALL}, imglist=[], path_root=folder",
            "small_parts": f"{LISTED}, num_parts=7",
            "part_before": f"{LISTED}, num_parts=2, part_index=-1",
            "blank_line": f"{SMALL}, path_root=folder, "
            "path_imglist=(open(folder + '/one.lst', 'a').write('\\n'), folder + '/one.lst')[1]",
        }.items()
    ],
    (
        "det_iter_other_size",
        dedent(
            FILES.format(
                call=f"(it := I.ImageDetIter({BOXED}, inter_method=1), it.reshape(data_shape=(3, 5, 4)), epochs(it))[2]"
            )
        ),
    ),
]

CASES = [
    (f"img_{name}", snippet) for name, snippet in [*SIZES, *CROPS, *ROTATIONS, *CHANGING, *BOXES, *ITERATORS, *APART]
]
