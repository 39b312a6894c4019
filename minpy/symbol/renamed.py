"""Operators by the names that files hold and that are not those of `mx.sym`: of builds for GPUs, and of MXNet's `npx`.

MXNet reads an operator under any of its names. What it writes is one of them, in most versions the one that `mx.sym`
has too; so only a few of these are met, in files of development versions and in those that other programs wrote.
"""

from __future__ import annotations

__all__ = ["present_name"]

# After `_npx_`, and what `mx.sym` calls it.
_EXTENSION = {
    "activation": "Activation",
    "arange_like": "_contrib_arange_like",
    "batch_flatten": "Flatten",
    "batch_norm": "BatchNorm",
    "cast": "Cast",
    "convolution": "Convolution",
    "deconvolution": "Deconvolution",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "fully_connected": "FullyConnected",
    "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU",
    "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget",
    "pooling": "Pooling",
    "rnn": "RNN",
    "roi_pooling": "ROIPooling",
    "sequence_mask": "SequenceMask",
    **{
        name: name
        for name in (
            "batch_dot", "erf", "erfinv", "gamma", "gammaln", "gather_nd", "log_softmax", "one_hot", "pick",
            "reshape_like", "shape_array", "slice", "smooth_l1", "softmax", "topk",
        )
    },
    **{
        f"_image_{name}": f"_image_{name}"
        for name in (
            "adjust_lighting", "crop", "flip_left_right", "flip_top_bottom", "normalize", "random_brightness",
            "random_color_jitter", "random_contrast", "random_flip_left_right", "random_flip_top_bottom",
            "random_hue", "random_lighting", "random_saturation", "resize", "to_tensor",
        )
    },
}  # fmt: skip
_OTHERS = {
    "CuDNNBatchNorm": "BatchNorm",
    "_CrossDeviceCopy": "_copy",  # there is one device
    "_np_amax": "_np_max",
    "_np_amin": "_np_min",
    "_np_product": "_np_prod",
    "_np_repeat": "repeat",
    "_np_sometrue": "_np_any",
    "_npi_abs": "_npi_absolute",
    "_npi_boolean_mask": "_contrib_boolean_mask",
    "_npi_cast": "Cast",
    "_npi_copyto": "_copyto",
    "_npi_det": "_linalg_det",
    "_npi_histogram": "_histogram",
    "_npi_hypot_scalar": "_hypot_scalar",
    "_npi_inv": "_linalg_inverse",
    "_npi_linspace": "_linspace",
    "_npi_full": "_full",
    "_npi_maximum": "broadcast_maximum",
    "_npi_minimum": "broadcast_minimum",
    "_npi_maximum_scalar": "_maximum_scalar",
    "_npi_minimum_scalar": "_minimum_scalar",
    "_npi_nonzero": "_npx_nonzero",
    "_npi_random_randint": "_random_randint",
    "_npi_reshape": "_npx_reshape",
    "_npi_rnn_param_concat": "_rnn_param_concat",
    "_npi_scatter_set_nd": "_scatter_set_nd",
    "_npi_shuffle": "_shuffle",
    "_npi_slice_assign": "_slice_assign",
    "_npi_slice_assign_scalar": "_slice_assign_scalar",
    "_npi_slogdet": "_linalg_slogdet",
    "_npi_split": "_split_v2",
    "_npi_swapaxes": "SwapAxis",
    **{
        f"_npi_{name}": name
        for name in ("argsort", "clip", "expand_dims", "gather_nd", "slice", "sort", "take", "tile")
    },
}


def present_name(name: str) -> str:
    """Return what `mx.sym` calls an operator that a file calls `name`: the same in most cases.

    Examples
    --------
    >>> present_name('_npx_fully_connected'), present_name('CuDNNBatchNorm'), present_name('tanh')
    ('FullyConnected', 'BatchNorm', 'tanh')
    """
    present = _OTHERS.get(name)
    return present or (_EXTENSION.get(name[5:], name) if name.startswith("_npx_") else name)
