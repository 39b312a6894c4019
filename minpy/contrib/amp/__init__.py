"""`mx.contrib.amp`: training and inference in mixed precision."""

from __future__ import annotations

from minpy.contrib.amp import amp, lists, loss_scaler
from minpy.contrib.amp.amp import (
    init,
    init_trainer,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    scale_loss,
    unscale,
)
from minpy.contrib.amp.converting import convert_hybrid_block, convert_model, convert_symbol
from minpy.namespaces import module_functions

__all__ = [
    "amp",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "lists",
    "loss_scaler",
    "scale_loss",
    "unscale",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
