"""Golden cases of detection: anchors, targets, detections, proposals, suppression, overlaps, matching."""

from textwrap import dedent

BOXES = """
    def boxes(R, *shape, size=0.4):
        c, s = R.uniform(0, 1, shape + (2,)), R.uniform(0.02, size, shape + (2,))
        return np.concatenate([c - s / 2, c + s / 2], -1)
"""
NMS = (
    BOXES
    + """
    R = np.random.RandomState({seed})
    shape = {shape}
    scores, kinds = R.uniform(-0.1, 1, shape + (1,)), R.randint(-1, 3, shape + (1,))
    x = nd.array(np.concatenate([kinds, scores, boxes(R, *shape)], -1), dtype='{dtype}')
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.box_nms(x, {options})
    y.backward((nd.arange(y.size) + 0.5).reshape(y.shape).astype('{dtype}'))
    result = [y, x.grad]
"""
)
NMS_OPTIONS = [
    ("plain", "", (12,)),
    ("batch", "overlap_thresh=0.3", (2, 8)),
    ("batches", "overlap_thresh=0.2, valid_thresh=0.3", (2, 2, 6)),
    ("classes", "overlap_thresh=0.1, id_index=0", (12,)),
    ("forced", "overlap_thresh=0.1, id_index=0, force_suppress=True", (12,)),
    ("background", "id_index=0, background_id=1", (2, 8)),
    ("top", "overlap_thresh=0.2, topk=4", (2, 8)),
    ("top_none", "topk=0, valid_thresh=0.5", (6,)),
    ("none_valid", "valid_thresh=2", (6,)),
    ("all_valid", "valid_thresh=-1, overlap_thresh=0.2", (12,)),
    ("all_overlap", "overlap_thresh=-1", (6,)),
    ("nothing_goes", "overlap_thresh=1", (6,)),
    ("centers", "in_format='center', out_format='center', overlap_thresh=0.1", (12,)),
]
NMS_CASES = [
    (f"box_nms_{name}_{dtype}", NMS.format(seed=seed, shape=shape, options=options, dtype=dtype))
    for seed, (name, options, shape) in enumerate(NMS_OPTIONS)
    for dtype in ("float32", "float64")
]
CORNERS = "[[0, 0.9, 0.5, 0.5, 0.75, 1], [0, 0.8, 0.5, 0.5, 0.75, 0.9], [0, 0.7, 2, 2, 3, 3]]"
CENTERS = "[[0, 0.9, 5, 5, 1, 2], [0, 0.8, 5, 5, 1, 1.75], [0, 0.7, 2, 2, 3, 3]]"
NMS_CASES += [
    ("box_nms_to_center", f"result = nd.contrib.box_nms(nd.array({CORNERS}), out_format='center')"),
    ("box_nms_to_corner", f"result = nd.contrib.box_nms(nd.array({CENTERS}), in_format='center')"),
    ("box_nms_alias", f"result = nd.contrib.box_non_maximum_suppression(nd.array({CORNERS}))"),
    ("box_nms_left_of_zero", "result = nd.contrib.box_nms(nd.array([[0, 0.9, -2, 0, 2, 2]]), out_format='center')"),
    (
        "box_nms_gradient_through_formats",
        (
            f"x = nd.array({CORNERS}); x.attach_grad()\nwith autograd.record():\n"
            "    y = nd.contrib.box_nms(x, out_format='center')\n"
            "y.backward(nd.arange(18).reshape((3, 6)))\nresult = x.grad"
        ),
    ),
    (
        "box_nms_elsewhere",
        "result = nd.contrib.box_nms(nd.array([[0, 0, 1, 1, 7, 0.9]]), coord_start=0, score_index=5)",
    ),
    ("box_nms_of_integers", "result = nd.contrib.box_nms(nd.ones((2, 6), dtype='int32'))"),
    ("box_nms_of_a_vector", "result = nd.contrib.box_nms(nd.ones((6,)))"),
    ("box_nms_short_rows", "result = nd.contrib.box_nms(nd.ones((2, 5)))"),
    ("box_nms_score_out_of_range", "result = nd.contrib.box_nms(nd.ones((2, 6)), score_index=6)"),
    ("box_nms_score_among_coordinates", "result = nd.contrib.box_nms(nd.ones((2, 6)), score_index=3)"),
    ("box_nms_float16", f"result = nd.contrib.box_nms(nd.array({CORNERS}, dtype='float16'))"),
]

IOU = (
    BOXES
    + """
    R = np.random.RandomState(3)
    a, b = nd.array(boxes(R, {lhs}), dtype='{dtype}'), nd.array(boxes(R, {rhs}), dtype='{dtype}')
    a.attach_grad()
    with autograd.record():
        y = nd.contrib.box_iou(a, b, format='{format}')
    y.backward()
    result = [y, a.grad]
"""
)
IOU_CASES = [
    (f"box_iou_{name}_{form}_{dtype}", IOU.format(lhs=lhs, rhs=rhs, dtype=dtype, format=form))
    for name, lhs, rhs in (("matrix", "3", "4"), ("batch", "2, 3", "2"))
    for form in ("corner", "center")
    for dtype in ("float32", "float64")
]
EMPTY = "[[0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], [1, 1, 0, 0], [0, 0, 2, 2]]"
IOU_CASES += [
    ("box_iou_of_empty_boxes", f"x = nd.array({EMPTY})\nresult = nd.contrib.box_iou(x, x)"),
    ("box_iou_of_three_numbers", "result = nd.contrib.box_iou(nd.ones((2, 3)), nd.ones((2, 3)))"),
    ("box_iou_of_a_vector", "result = nd.contrib.box_iou(nd.ones((4,)), nd.ones((2, 4)))"),
]

SCORES = "[[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]"
MATCHING_OPTIONS = [
    ("plain", "threshold=1e-12"),
    ("threshold", "threshold=0.35"),
    ("ascending", "threshold=0.35, is_ascend=True"),
    ("equal_to_threshold", "threshold=0.625"),
    ("nothing", "threshold=0.9"),
    ("top_zero", "threshold=0.1, topk=0"),
    ("top_two", "threshold=0.05, topk=2"),
]
MATCHING_CASES = [
    (
        f"bipartite_matching_{name}_{dtype}",
        f"result = nd.contrib.bipartite_matching(nd.array({SCORES}, dtype='{dtype}'), {options})",
    )
    for name, options in MATCHING_OPTIONS
    for dtype in ("float32", "float64")
]
RANDOM_SCORES = "nd.array(np.random.RandomState(5).uniform(size={}).round({}))"
MATCHING_CASES += [
    (
        f"bipartite_matching_random_{name}",
        f"result = nd.contrib.bipartite_matching({RANDOM_SCORES.format(shape, digits)}, threshold={threshold})",
    )
    for name, shape, digits, threshold in (
        ("wide", (3, 7), 6, 0.1),
        ("high", (2, 9, 4), 6, 0.1),
        ("ties", (5, 5), 1, 0.2),
        ("ties_high", (2, 8, 3), 1, 0.3),
        ("nested", (2, 2, 4, 4), 2, 0.1),
    )
]
MATCHING_CASES += [
    (
        "bipartite_matching_top_one",
        f"result = nd.contrib.bipartite_matching(nd.array({SCORES}), threshold=0.01, topk=1)",
    ),
    (
        "bipartite_matching_gradient",
        (
            f"x = nd.array({SCORES}); x.attach_grad()\nwith autograd.record():\n"
            "    y = nd.contrib.bipartite_matching(x, threshold=0.1)\nautograd.backward(y)\nresult = x.grad"
        ),
    ),
    ("bipartite_matching_vector", "result = nd.contrib.bipartite_matching(nd.ones((3,)), threshold=0.1)"),
    ("bipartite_matching_no_threshold", "result = nd.contrib.bipartite_matching(nd.ones((3, 3)))"),
]

CODING = (
    BOXES
    + """
    R = np.random.RandomState(7)
    samples = nd.array([[1, -1, 0, 0.6], [1, 1, 0.5, -1]], dtype='{dtype}')
    matches = nd.array([[0, 2, 1, 2], [2, 0, 1, -1]], dtype='{dtype}')
    anchors, refs = nd.array(boxes(R, 2, 4), dtype='{dtype}'), nd.array(boxes(R, 2, 3), dtype='{dtype}')
    means, stds = nd.array([0, 0.1, 0.2, 0.3], dtype='{dtype}'), nd.array([0.1, 0.1, 0.2, 0.2], dtype='{dtype}')
    moves = nd.array(R.normal(size=(2, 4, 4)), dtype='{dtype}')
    {code}
"""
)
CODING_CASES = [
    (f"{name}_{dtype}", CODING.format(dtype=dtype, code=code))
    for dtype in ("float32", "float64")
    for name, code in (
        ("box_encode", "result = nd.contrib.box_encode(samples, matches, anchors, refs, means, stds)"),
        ("box_decode", "result = nd.contrib.box_decode(moves, anchors[:1])"),
        ("box_decode_corner", "result = nd.contrib.box_decode(moves, anchors[:1], format='corner')"),
        (
            "box_decode_stds",
            "result = nd.contrib.box_decode(moves, anchors[:1], std0=0.1, std1=0.2, std2=0.3, std3=0.4)",
        ),
        ("box_decode_clip", "result = nd.contrib.box_decode(moves, anchors[:1], clip=0.2)"),
    )
]
CODING_CASES += [
    (
        "box_decode_gradient",
        CODING.format(
            dtype="float32",
            code="moves.attach_grad()\n    with autograd.record():\n"
            "        y = nd.contrib.box_decode(moves, anchors[:1])\n    y.backward()\n    result = moves.grad",
        ),
    ),
    ("box_decode_of_a_matrix", "result = nd.contrib.box_decode(nd.ones((3, 4)), nd.ones((3, 4)))"),
    (
        "box_encode_three_means",
        CODING.format(
            dtype="float32", code="result = nd.contrib.box_encode(samples, matches, anchors, refs, means[:3], stds)"
        ),
    ),
]

PRIOR_OPTIONS = [
    ("plain", ""),
    ("sizes", "sizes=(0.5, 0.25)"),
    ("ratios", "sizes=(0.5, 0.25), ratios=(2, 1, 0.5)"),
    ("clip", "sizes=(1.5,), clip=True"),
    ("steps", "sizes=(0.5,), steps=(0.1, 0.2), offsets=(0.3, 0.7)"),
    ("no_sizes", "sizes=()"),
    ("no_ratios", "ratios=()"),
    ("one_step", "steps=(0.1, -1)"),
    ("three_steps", "steps=(0.1, 0.1, 0.1)"),
]
PRIOR_CASES = [
    (f"MultiBoxPrior_{name}", f"result = nd.contrib.MultiBoxPrior(nd.zeros((2, 3, 2, 3)), {options})")
    for name, options in PRIOR_OPTIONS
]
PRIOR_CASES += [("MultiBoxPrior_of_a_matrix", "result = nd.contrib.MultiBoxPrior(nd.zeros((2, 3)))")]

TARGET = (
    BOXES
    + """
    R = np.random.RandomState({seed})
    anchors = nd.contrib.MultiBoxPrior(nd.zeros((1, 1, 4, 4)), sizes=(0.3, 0.5), ratios=(1, 2))
    labels = np.concatenate([R.randint(0, 3, (3, 4, 1)), boxes(R, 3, 4, size=0.7)], -1)
    labels[0, 2:], labels[1, :] = -1, -1
    scores = nd.array(R.normal(size=(3, 4, 48)))
    result = nd.contrib.MultiBoxTarget(anchors, nd.array(labels), scores, {options})
"""
)
TARGET_OPTIONS = [
    ("plain", ""),
    ("threshold", "overlap_threshold=0.2"),
    ("best_only", "overlap_threshold=-1"),
    ("ignore", "ignore_label=-3"),
    ("mining", "negative_mining_ratio=3, negative_mining_thresh=0.5"),
    ("mining_few", "negative_mining_ratio=1.5, negative_mining_thresh=0.3"),
    ("mining_best_only", "negative_mining_ratio=2, overlap_threshold=0"),
    ("mining_minimum", "negative_mining_ratio=0.1, minimum_negative_samples=5"),
    ("variances", "variances=(1, 0.5, 0.25, 0.2)"),
    ("three_variances", "variances=(1, 0.5, 0.25)"),
]
TARGET_CASES = [(f"MultiBoxTarget_{name}", TARGET.format(seed=11, options=options)) for name, options in TARGET_OPTIONS]
ONE = "nd.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1], [0, 0, 1, 1]]])"
TARGET_CASES += [
    (
        "MultiBoxTarget_one_anchor_for_two",
        (
            f"labels = nd.array([[[0, 0, 0, 0.5, 0.5], [1, 0, 0, 0.5, 0.45]]])\n"
            f"result = nd.contrib.MultiBoxTarget({ONE}, labels, nd.zeros((1, 3, 3)))"
        ),
    ),
    (
        "MultiBoxTarget_wide_labels",
        (
            f"labels = nd.array([[[2, 0, 0, 0.5, 0.4, 7, 8]]])\n"
            f"result = nd.contrib.MultiBoxTarget({ONE}, labels, nd.zeros((1, 3, 3)))"
        ),
    ),
    (
        "MultiBoxTarget_too_few_negatives",
        (
            f"labels = nd.array([[[2, 0, 0, 0.5, 0.4]]])\n"
            f"result = nd.contrib.MultiBoxTarget({ONE}, labels, nd.zeros((1, 3, 3)), negative_mining_ratio=2, "
            "negative_mining_thresh=0.1)"
        ),
    ),
    (
        "MultiBoxTarget_class_in_the_middle",
        (
            f"labels = nd.array([[[-1, 0, 0, 0.5, 0.4], [1, 0, 0, 1, 1]]])\n"
            f"result = nd.contrib.MultiBoxTarget({ONE}, labels, nd.zeros((1, 3, 3)))"
        ),
    ),
    (
        "MultiBoxTarget_short_labels",
        f"result = nd.contrib.MultiBoxTarget({ONE}, nd.ones((1, 1, 4)), nd.zeros((1, 3, 3)))",
    ),
    (
        "MultiBoxTarget_other_anchors",
        f"result = nd.contrib.MultiBoxTarget({ONE}, nd.ones((1, 1, 5)), nd.zeros((1, 3, 4)))",
    ),
]

DETECTION = (
    BOXES
    + """
    R = np.random.RandomState(13)
    scores = R.uniform(size=(2, 4, 9))
    anchors, moves = nd.array(boxes(R, 1, 9)), nd.array(R.normal(0, 0.5, (2, 36)))
    scores = nd.array(scores / scores.sum(1, keepdims=True))
    result = nd.contrib.MultiBoxDetection(scores, moves, anchors, {options})
"""
)
DETECTION_OPTIONS = [
    ("plain", ""),
    ("unclipped", "clip=False"),
    ("threshold", "threshold=0.4"),
    ("background", "background_id=1"),
    ("suppressed", "nms_threshold=0.1, force_suppress=True"),
    ("classes", "nms_threshold=0.1"),
    ("no_suppression", "nms_threshold=0"),
    ("no_suppression_above", "nms_threshold=1.5"),
    ("top", "nms_topk=3"),
    ("top_forced", "nms_topk=4, nms_threshold=0.1, force_suppress=True"),
    ("variances", "variances=(0.5, 0.4, 0.3, 0.2)"),
]
DETECTION_CASES = [
    (f"MultiBoxDetection_{name}", DETECTION.format(options=options)) for name, options in DETECTION_OPTIONS
]
DETECTION_CASES += [
    (f"MultiBoxDetection_other_{name}", f"result = nd.contrib.MultiBoxDetection(nd.ones((1, 2, 3)), {inputs})")
    for name, inputs in (
        ("moves", "nd.ones((1, 8)), nd.ones((1, 3, 4))"),
        ("anchors", "nd.ones((1, 12)), nd.ones((1, 2, 4))"),
    )
]

PROPOSAL = """
    R = np.random.RandomState(17)
    scores, moves = nd.array(R.uniform(size=({batch}, 12, 3, 4))), nd.array(R.normal(0, 0.2, ({batch}, 24, 3, 4)))
    info = nd.array([[40, 70, 1], [48, 50, 2]][:{batch}])
    options = dict(scales=(1, 2), ratios=(0.5, 1, 2), rpn_pre_nms_top_n=40, rpn_post_nms_top_n=9, rpn_min_size=8)
    options.update({options})
    result = nd.contrib.{name}(scores, moves, info, **options)
"""
PROPOSAL_OPTIONS = [
    ("plain", ""),
    ("scores", "output_score=True"),
    ("threshold", "output_score=True, threshold=0.2"),
    ("small", "output_score=True, rpn_min_size=30"),
    ("all_small", "output_score=True, rpn_min_size=300"),
    ("all", "output_score=True, rpn_pre_nms_top_n=0"),
    ("repeated", "output_score=True, rpn_pre_nms_top_n=4"),
    ("stride", "feature_stride=32, rpn_min_size=2"),
    ("iou_loss", "iou_loss=True"),
]
PROPOSAL_CASES = [
    (f"{name}_{what}", PROPOSAL.format(name=name, batch=batch, options=options))
    for name, batch in (("Proposal", 1), ("MultiProposal", 2))
    for what, options in PROPOSAL_OPTIONS
]
PROPOSAL_CASES += [
    ("Proposal_of_two_images", PROPOSAL.format(name="Proposal", batch=2, options="")),
    ("MultiProposal_other_anchors", PROPOSAL.format(name="MultiProposal", batch=2, options="scales=(1,)")),
]

SYMBOLS = [
    (
        "MultiBoxTarget_symbol",
        (
            "s = mx.sym.contrib.MultiBoxTarget(mx.sym.var('a'), mx.sym.var('b'), mx.sym.var('c'), name='s')\n"
            "result = [s.list_outputs(), [list(x) for x in s.infer_shape(a=(1, 4, 4), b=(2, 3, 5), c=(2, 3, 4))[1]]]"
        ),
    ),
    (
        "Proposal_symbol",
        (
            "inputs = [mx.sym.var(name) for name in 'abc']\n"
            "s = mx.sym.contrib.Proposal(*inputs, output_score=True, name='s')\n"
            "shapes = s.infer_shape(a=(1, 24, 3, 4))\n"
            "result = [s.list_outputs(), [list(x) for x in shapes[0]], [list(x) for x in shapes[1]]]"
        ),
    ),
    (
        "box_nms_symbol",
        (
            "s = mx.sym.contrib.box_nms(mx.sym.var('a'), overlap_thresh=0.4, name='s')\n"
            "result = [s.list_outputs(), s.get_internals().list_outputs(), list(s.infer_shape(a=(3, 6))[1][0])]"
        ),
    ),
    (
        "MultiBoxDetection_symbol",
        (
            "s = mx.sym.contrib.MultiBoxDetection(mx.sym.var('a'), mx.sym.var('b'), mx.sym.var('c'), name='s')\n"
            "result = [s.list_outputs(), list(s.infer_shape(a=(2, 3, 5), b=(2, 20), c=(1, 5, 4))[1][0])]"
        ),
    ),
    (
        "bipartite_matching_symbol",
        (
            "s = mx.sym.contrib.bipartite_matching(mx.sym.var('a'), threshold=0.1, name='s')\n"
            "result = [s.list_outputs(), [list(x) for x in s.infer_shape(a=(2, 3, 5))[1]]]"
        ),
    ),
    (
        "box_decode_symbol",
        (
            "s = mx.sym.contrib.box_decode(mx.sym.var('a'), mx.sym.var('b'), name='s')\n"
            "result = [s.list_outputs(), list(s.infer_shape(a=(2, 5, 4), b=(1, 5, 4))[1][0])]"
        ),
    ),
]

CASES = [
    (name, dedent(snippet).strip())
    for name, snippet in (
        *NMS_CASES,
        *IOU_CASES,
        *MATCHING_CASES,
        *CODING_CASES,
        *PRIOR_CASES,
        *TARGET_CASES,
        *DETECTION_CASES,
        *PROPOSAL_CASES,
        *SYMBOLS,
    )
]
