"""Symbols in the spellings of MXNet 0.8 to 1.9, written by hand: what MXNet 1.9.1 makes of them.

Each is read, its names and what is noted in it are listed, and it is run on drawn numbers.
"""

import json
from typing import Any

_RUN = """
s = mx.sym.load_json({text!r})
arguments, outputs, states = s.infer_shape(**{shapes!r})
names = s.list_arguments(), s.list_auxiliary_states()
notes = [[name, key, text] for name, found in sorted(s.attr_dict().items()) for key, text in sorted(found.items())
         if key.startswith('__') and key != '__init__']
draw = lambda name, shape: nd.array(0.5 + 0.5 * np.random.RandomState(len(name)).uniform(-1, 1, shape))
values = [{{name: draw(name, shape) for name, shape in zip(*pair)}} for pair in zip(names, (arguments, states))]
executor = s.bind(mx.cpu(), values[0], aux_states=values[1])
result = [*names, s.list_outputs(), [list(shape) for shape in arguments + outputs + states], notes,
          *executor.forward(is_train=False)]
"""


def node(op: str, name: str, inputs: Any = (), **entries: Any) -> dict[str, Any]:
    """Returns a node as files hold it."""
    return {"op": op, "name": name, "inputs": [list(entry) for entry in inputs], **entries}


def document(*nodes: dict[str, Any], version: int | None = None, **entries: Any) -> dict[str, Any]:
    """Returns what a file holds; without a version it is of 0.8 or older."""
    found: dict[str, Any] = {
        "nodes": list(nodes),
        "arg_nodes": [number for number, one in enumerate(nodes) if one["op"] == "null"],
        "heads": [[len(nodes) - 1, 0]],
    }
    if version is not None:
        found["attrs"] = {"mxnet_version": ["int", version]}
    return {**found, **entries}


def case(found: dict[str, Any], **shapes: tuple[int, ...]) -> str:
    """Returns a snippet that reads a file's content and runs it."""
    return _RUN.format(text=json.dumps(found), shapes=shapes)


DATA = node("null", "data")
OLD = {"backward_source_id": -1}
IMAGE = (2, 3, 4, 4)
CONVOLUTION = {
    "cudnn_off": "False",
    "cudnn_tune": "off",
    "dilate": "(1,1)",
    "kernel": "(3,3)",
    "layout": "None",
    "no_bias": "False",
    "num_filter": "2",
    "num_group": "1",
    "pad": "(1,1)",
    "stride": "(1,1)",
    "workspace": "1024",
}
SOFTMAX = {
    "grad_scale": "1",
    "ignore_label": "-1",
    "multi_output": "False",
    "normalization": "null",
    "out_grad": "False",
    "preserve_shape": "False",
    "use_ignore": "False",
}


def one(op: str, size: tuple[int, ...], /, version: int | None = None, count: int = 1, **attributes: str) -> str:
    """Returns a snippet for one operator on `count` inputs of the same shape."""
    names = ["data", "other", "third"][:count]
    inputs = [node("null", name) for name in names]
    key = "param" if version is None else "attr" if version < 10000 else "attrs"
    call = node(op, "n", [[number, 0] for number in range(count)], **{key: attributes})
    return case(document(*inputs, call, version=version), **dict.fromkeys(names, size))


# Everything that the oldest files leave out is made: weights, biases, states.
MISSING = [
    (f"missing_{op.lower()}", case(document(DATA, node(op, "n", [[0, 0]], param=param, **OLD)), data=IMAGE))
    for op, param in (
        ("Convolution", CONVOLUTION),
        ("FullyConnected", {"num_hidden": "3", "no_bias": "False"}),
        ("FullyConnected_no_bias".partition("_")[0], {"num_hidden": "3", "no_bias": "True"}),
        ("BatchNorm", {"eps": "0.001", "fix_gamma": "False", "momentum": "0.9", "use_global_stats": "False"}),
        ("Deconvolution", {"kernel": "(2,2)", "stride": "(2,2)", "num_filter": "2", "no_bias": "True"}),
        ("LeakyReLU", {"act_type": "prelu", "lower_bound": "0.125", "slope": "0.25", "upper_bound": "0.334"}),
        ("InstanceNorm", {"eps": "0.001"}),
        ("SoftmaxActivation", {"mode": "channel"}),
    )
]
MISSING = [(name if number != 2 else f"{name}_no_bias", text) for number, (name, text) in enumerate(MISSING)]
_BN = node("BatchNorm", "bn", [[0, 0], [1, 0], [2, 0]], param={"fix_gamma": "True"}, **OLD)
_BN_INPUTS = [DATA, node("null", "bn_gamma"), node("null", "bn_beta")]
MISSING += [
    ("missing_states", case(document(*_BN_INPUTS, _BN), data=IMAGE)),
    (
        "missing_label",
        case(document(DATA, node("SoftmaxOutput", "softmax", [[0, 0]], param=SOFTMAX, **OLD)), data=(2, 3)),
    ),
    (
        "missing_states_twice",
        case(
            document(
                *_BN_INPUTS,
                _BN,
                node("null", "b_gamma"),
                node("null", "b_beta"),
                node("BatchNorm", "b", [[3, 0], [4, 0], [5, 0]], param={}, **OLD),
            ),
            data=IMAGE,
        ),
    ),
]

# What users noted, with and without underscores, at variables, at operators, and at operators for their inputs.
_KEYS = ("lr_mult", "wd_mult", "ctx_group", "force_mirroring", "mirror_stage", "dtype", "shape", "init", "stype")
_VERSIONS = (None, 800, 903, 905, 1000, 1100, 10000, 10200, 10700, 10900, 10901)
_WEIGHT = node("null", "fc_weight")
NOTES = []
for _version in _VERSIONS:
    for _key in ("attr", "attrs"):
        _noted = {"lr_mult": "2.0", "__wd_mult__": "0.5", "ctx_group": "g"}
        _call = node(
            "FullyConnected",
            "fc",
            [[0, 0], [1, 0]],
            **{_key: {"num_hidden": "2", "no_bias": "True", "weight_wd_mult": "3", "ctx_group": "g"}},
        )
        NOTES.append(
            (
                f"notes_{_version}_{_key}",
                case(document({**DATA, _key: _noted}, _WEIGHT, _call, version=_version), data=(2, 3)),
            )
        )
for _key in _KEYS:
    _text = {"dtype": "0", "shape": "(2,3)", "init": "zeros", "stype": "0"}.get(_key, "1")
    NOTES.append(
        (f"note_{_key}", case(document({**DATA, "attr": {_key: _text}}, node("tanh", "t", [[0, 0]])), data=(2, 3)))
    )
    NOTES.append(
        (
            f"note_{_key}_at_operator",
            case(
                document(DATA, node("Activation", "t", [[0, 0]], param={"act_type": "relu"}, attr={_key: _text})),
                data=(2, 3),
            ),
        )
    )

# The forms of files.
_TANH = node("tanh", "t", [[0, 0, 0]])
FORMS = [
    ("form_two_heads", case(document(DATA, _TANH, heads=[[1, 0], [0, 0]], version=1000), data=(2, 3))),
    ("form_heads_of_three", case(document(DATA, _TANH, heads=[[1, 0, 0]], version=1000), data=(2, 3))),
    ("form_same_head_twice", case(document(DATA, _TANH, heads=[[1, 0], [1, 0]], version=1000), data=(2, 3))),
    ("form_head_variable", case(document(DATA, heads=[[0, 0]], version=1000), data=(2, 3))),
    ("form_row_pointers", case(document(DATA, _TANH, node_row_ptr=[0, 1, 2], version=10000), data=(2, 3))),
    ("form_no_attributes", case(document(DATA, _TANH, attrs={}), data=(2, 3))),
    (
        "form_np_shape",
        case(document(DATA, _TANH, attrs={"is_np_shape": ["int", 1], "mxnet_version": ["int", 10600]}), data=(2, 3)),
    ),
    (
        "form_other_attributes",
        case(document(DATA, _TANH, attrs={"note": ["str", "x"], "mxnet_version": ["int", 10600]}), data=(2, 3)),
    ),
    ("form_unknown_entry", case(document(DATA, _TANH, extra=1, version=10000), data=(2, 3))),
    ("form_unknown_entry_of_node", case(document(DATA, {**_TANH, "extra": 1}, version=10000), data=(2, 3))),
    (
        "form_no_heads",
        case(
            {key: value for key, value in document(DATA, _TANH, version=10000).items() if key != "heads"}, data=(2, 3)
        ),
    ),
    ("form_null_in_attributes", case(document(DATA, node("tanh", "t", [[0, 0]], attrs=None)), data=(2, 3))),
    ("form_source_id", case(document(DATA, node("tanh", "t", [[0, 0]], **OLD)), data=(2, 3))),
    ("form_control_dependencies", case(document(DATA, node("tanh", "t", [[0, 0]], control_deps=[])), data=(2, 3))),
    (
        "form_dead_nodes",
        case(
            document(
                DATA, node("null", "unused"), _TANH, node("tanh", "dead", [[0, 0, 0]]), heads=[[2, 0, 0]], version=10000
            ),
            data=(2, 3),
        ),
    ),
    (
        "form_two_variables_of_a_name",
        case(document(DATA, DATA, node("elemwise_add", "a", [[0, 0], [1, 0]]), version=10000), data=(2, 3)),
    ),
    (
        "form_operators_of_a_name",
        case(document(DATA, _TANH, node("tanh", "t", [[1, 0, 0]]), version=10000), data=(2, 3)),
    ),
    (
        "form_numbers_as_attributes",
        case(document(DATA, node("clip", "c", [[0, 0]], attrs={"a_min": 0, "a_max": 1})), data=(2, 3)),
    ),
]

# Operators by the names that they had, with all that the oldest files say of them.
_BINARY = (
    "_Plus",
    "_Minus",
    "_Mul",
    "_Div",
    "_Power",
    "_Maximum",
    "_Minimum",
    "_plus",
    "_minus",
    "_mul",
    "_div",
    "_power",
    "_maximum",
    "_minimum",
    "_add",
    "_sub",
    "_equal",
    "_greater",
    "_Equal",
    "_Not_Equal",
    "_Greater",
    "_Greater_Equal",
    "_Lesser",
    "_Lesser_Equal",
    "_hypot",
    "_Hypot",
    "_Mod",
    "_mod",
    "_grad_add",
    "elemwise_add",
    "broadcast_plus",
    "broadcast_minus",
    "choose_element_0index",
)
_SCALAR = (
    "_PlusScalar",
    "_MinusScalar",
    "_RMinusScalar",
    "_MulScalar",
    "_DivScalar",
    "_RDivScalar",
    "_PowerScalar",
    "_RPowerScalar",
    "_MaximumScalar",
    "_MinimumScalar",
    "_EqualScalar",
    "_NotEqualScalar",
    "_GreaterScalar",
    "_GreaterEqualScalar",
    "_LesserScalar",
    "_LesserEqualScalar",
    "_plus_scalar",
    "_rdiv_scalar",
    "_ModScalar",
    "_RModScalar",
    "_HypotScalar",
    "smooth_l1",
)
_PLAIN = (
    "_copy",
    "identity",
    "BlockGrad",
    "stop_gradient",
    "make_loss",
    "Flatten",
    "flatten",
    "negative",
    "_NoGradient",
    "_CrossDeviceCopy",
    "softsign",
    "Softmax",
    "zeros_like",
    "_zeros_like",
    "sum",
    "max_axis",
    "min_axis",
    "sum_axis",
    "norm",
    "argmax_channel",
    "log_softmax",
    "SoftmaxActivation",
    "MakeLoss",
    "_identity_with_attr_like_rhs",
    "BatchNorm_v1",
)
NAMES = [(f"name_{name}", one(name, (2, 3), count=2)) for name in _BINARY]
NAMES += [(f"name_{name}", one(name, (2, 3), scalar="2")) for name in _SCALAR]
NAMES += [
    (f"name_{name}_new", one(name, (2, 3), 10700, scalar="2.0", is_int="False"))
    for name in ("_plus_scalar", "_mul_scalar", "_rminus_scalar", "_greater_scalar")
]
NAMES += [(f"name_{name}", one(name, (2, 3))) for name in _PLAIN]

ATTRIBUTES = [
    (
        "old_pooling",
        one(
            "Pooling",
            IMAGE,
            global_pool="False",
            kernel="(2,2)",
            pad="(0,0)",
            pool_type="max",
            pooling_convention="valid",
            stride="(2,2)",
        ),
    ),
    (
        "old_pooling_global",
        one("Pooling", IMAGE, global_pool="True", kernel="(1,1)", pad="(0,0)", pool_type="avg", stride="(1,1)"),
    ),
    (
        "old_pooling_v1",
        one(
            "Pooling_v1",
            IMAGE,
            global_pool="False",
            kernel="(2,2)",
            pad="(0,0)",
            pool_type="sum",
            pooling_convention="full",
            stride="(2,2)",
        ),
    ),
    ("old_lrn", one("LRN", IMAGE, alpha="0.0001", beta="0.75", knorm="2", nsize="3")),
    ("old_dropout", one("Dropout", IMAGE, p="0.5")),
    ("old_concat", one("Concat", (2, 3), count=2, dim="1", num_args="2")),
    ("old_slice_channel", one("SliceChannel", (2, 4), axis="1", num_outputs="2", squeeze_axis="False")),
    ("old_sum", one("ElementWiseSum", (2, 3), count=3, num_args="3")),
    ("old_swapaxis", one("SwapAxis", (2, 3), dim1="0", dim2="1")),
    ("old_transpose", one("transpose", (2, 3), axes="()")),
    ("old_cast", one("Cast", (2, 3), dtype="float64")),
    ("old_expand", one("expand_dims", (2, 3), axis="1")),
    (
        "old_upsampling",
        one(
            "UpSampling",
            IMAGE,
            multi_input_mode="concat",
            num_args="1",
            num_filter="0",
            sample_type="nearest",
            scale="2",
            workspace="512",
        ),
    ),
    ("old_crop", one("Crop", IMAGE, center_crop="False", h_w="(2,2)", num_args="1", offset="(1,1)")),
    ("old_slice", one("crop", (2, 3), begin="(0,1)", end="(2,3)")),
    ("old_slice_axis", one("slice_axis", (2, 3), axis="1", begin="0", end="2")),
    ("old_reduction", one("sum", (2, 3), axis="()", keepdims="False")),
    ("old_reduction_of_one", one("max", (2, 3), axis="1", keepdims="True")),
    ("old_reduction_905", one("sum", (2, 3), 905, axis="(1,)", keepdims="True", exclude="False")),
    ("old_argmax", one("argmax", (2, 3), axis="-1", keepdims="False")),
    ("old_argmax_904", one("argmax", (2, 3), 904, axis="-1", keepdims="False")),
    ("old_argmax_905", one("argmax", (2, 3), 905, axis="-1", keepdims="False")),
    ("old_argmin_900", one("argmin", (2, 3), 900, axis="-1", keepdims="True")),
    (
        "old_target_shape",
        one("Reshape", (2, 6), keep_highest="False", shape="()", target_shape="(0,3)", reverse="False"),
    ),
    ("old_keep_highest", one("Reshape", (2, 6), keep_highest="True", shape="()", target_shape="(0,6)")),
    ("old_both_shapes", one("Reshape", (2, 6), keep_highest="False", shape="(3,4)", target_shape="(0,0)")),
    ("old_l2", one("L2Normalization", IMAGE, eps="1e-10", mode="instance")),
    ("old_clip", one("clip", (2, 3), a_min="0.2", a_max="0.8")),
    ("old_regression", one("LinearRegressionOutput", (2, 3), count=2, grad_scale="1")),
    ("old_regression_mae", one("MAERegressionOutput", (2, 3), count=2, grad_scale="1")),
    ("old_regression_logistic", one("LogisticRegressionOutput", (2, 3), count=2, grad_scale="1")),
    ("old_dot", one("dot", (3, 3), count=2)),
    ("old_dot_905", one("dot", (3, 3), 905, count=2, transpose_a="True", transpose_b="False")),
    ("old_softmax_axis", one("softmax", (2, 3), 1000, axis="-1")),
    ("old_broadcast_axis", one("broadcast_axis", (1, 3), axis="(0,)", size="(2,)")),
    ("old_broadcast_to", one("broadcast_to", (1, 3), shape="(2,3)")),
    (
        "old_roi",
        case(
            document(
                DATA,
                node("null", "rois"),
                node("ROIPooling", "r", [[0, 0], [1, 0]], param={"pooled_size": "(2,2)", "spatial_scale": "1"}),
            ),
            data=(1, 3, 4, 4),
            rois=(2, 5),
        ),
    ),
    (
        "old_embedding",
        case(
            document(
                DATA,
                node("null", "w"),
                node("Embedding", "e", [[0, 0], [1, 0]], param={"input_dim": "4", "output_dim": "2"}),
            ),
            data=(2, 3),
        ),
    ),
    ("old_long_numbers", one("Pooling", IMAGE, 10000, kernel="(2L, 2L)", stride="(2L, 2L)", pool_type="max")),
    ("old_lists", one("Pooling", IMAGE, 10000, kernel="[2, 2]", stride="[2,2]", pool_type="max")),
    ("old_number_for_tuple", one("Pooling", IMAGE, 10000, kernel="2", pool_type="max")),
    ("old_booleans", one("Pooling", IMAGE, 10000, kernel="(2,2)", pool_type="max", global_pool="1")),
    ("old_lower_booleans", one("Pooling", IMAGE, 10000, kernel="(2,2)", pool_type="max", global_pool="true")),
    ("old_enumeration_by_number", one("Pooling", IMAGE, 10000, kernel="(2,2)", pool_type="0")),
    (
        "random_none",
        case(
            document(
                node(
                    "_random_uniform",
                    "u",
                    [],
                    attrs={"low": "0", "high": "1", "shape": "(2,)", "dtype": "None", "ctx": "cpu(0)"},
                ),
                node("zeros_like", "z", [[0, 0]]),
                version=10000,
            )
        ),
    ),
    (
        "zeros_of_unknown_batch",
        case(
            document(
                DATA,
                node("_zeros", "z", [], attrs={"shape": "(0, 3)", "dtype": "float32"}),
                node("elemwise_add", "a", [[0, 0], [1, 0]]),
                version=10000,
            ),
            data=(2, 3),
        ),
    ),
    (
        "scalar_attribute_of_bn",
        one("BatchNorm", IMAGE, 800, fix_gamma="0", eps="1e-3", momentum="0.9", use_global_stats="1"),
    ),
    (
        "user_attribute_of_operator",
        case(
            document(
                DATA, node("Activation", "a", [[0, 0]], attrs={"act_type": "relu", "mood": "good"}), version=10000
            ),
            data=(2, 3),
        ),
    ),
    (
        "user_attribute_of_old_operator",
        case(
            document(DATA, node("Activation", "a", [[0, 0]], param={"act_type": "relu"}, attr={"mood": "good"})),
            data=(2, 3),
        ),
    ),
    (
        "user_attribute_of_variable",
        case(document({**DATA, "attrs": {"mood": "good"}}, _TANH, version=10000), data=(2, 3)),
    ),
]

_PRELU = """
x, slopes = mx.sym.var('x'), mx.sym.var('slopes')
s = mx.sym.sum(mx.sym.LeakyReLU(x * 2, gamma=slopes, act_type='prelu'))
executor = s.simple_bind(mx.cpu(), x=(2, 3, 2), slopes=(3,))
executor.forward(is_train=True, x=nd.arange(-6, 6).reshape((2, 3, 2)), slopes=nd.array([0.2, 0.25, 0.5]))
executor.backward(nd.ones(1))
result = executor.grad_dict['slopes']
"""
GRAPHS = [("slopes_of_prelu_in_a_graph", _PRELU)]

CASES = MISSING + NOTES + FORMS + NAMES + ATTRIBUTES + GRAPHS
