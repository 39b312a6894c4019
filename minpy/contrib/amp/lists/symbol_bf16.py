"""The lists for bfloat16, for programs that look at them: NumPy has no such dtype, so that nothing is computed in it.

They say what those for float16 do, with more operators in float32, as bfloat16 has fewer digits.
"""

from __future__ import annotations

from minpy.contrib.amp.lists import symbol_fp16 as _fp16
from minpy.namespaces import module_functions

__all__ = [
    "BF16_FP32_FUNCS",
    "BF16_FUNCS",
    "BF16_USE_FP32_PARAMS",
    "CONDITIONAL_FP32_FUNCS",
    "FP32_FUNCS",
    "LOSS_OUTPUT_FUNCTIONS",
    "WIDEST_TYPE_CASTS",
]
__dir__, __getattr__ = module_functions(__name__, __all__, "list")

BF16_FUNCS: list[str] = ["Convolution", "FullyConnected"]

# In the dtype that they are given.
BF16_FP32_FUNCS: list[str] = [
    "abs", "_add", "BatchNorm", "BatchNormWithReLU", "clip", "Concat", "concat", "LRN", "Pooling", "relu", "shuffle",
    "_shuffle", "sqrt", "square", "tanh",
]  # fmt: skip

# Inputs that stay in float32, by position: '' is data, which does not.
BF16_USE_FP32_PARAMS: dict[str, list[str]] = {
    "BatchNormWithReLU": ["", "gamma", "beta", "moving_mean", "moving_var"],
    "BatchNorm": ["", "gamma", "beta", "moving_mean", "moving_var"],
}

_BOXES = {"_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget"}
_CASTS = {"amp_cast", "amp_multicast"}

FP32_FUNCS: list[str] = [
    *("Deconvolution", "RNN", "broadcast_mul"),
    *(name for name in _fp16.FP16_FP32_FUNCS if name not in BF16_FP32_FUNCS and name not in _CASTS),
    *(name for name in _fp16.FP32_FUNCS if name not in BF16_FP32_FUNCS and name not in _BOXES),
]

WIDEST_TYPE_CASTS: list[str] = [
    *(
        name
        for name in _fp16.WIDEST_TYPE_CASTS
        if name not in ("Concat", "concat", "broadcast_mul") and not name.startswith("_contrib_interleaved")
    ),
    *sorted(_BOXES),
]

CONDITIONAL_FP32_FUNCS: list[tuple[str, str, list[str]]] = list(_fp16.CONDITIONAL_FP32_FUNCS)
LOSS_OUTPUT_FUNCTIONS: list[str] = list(_fp16.LOSS_OUTPUT_FUNCTIONS)
