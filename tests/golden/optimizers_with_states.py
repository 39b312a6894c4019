"""Optimizers whose states are written by one library and read by the other, and the steps before and after that.

They are written with MXNet 1.9.1 by `make_states.py`; `check_states.py` proves that MXNet reads those of minpy.
"""

from typing import Any

import numpy as np

# The optimizer, and the dtype of the weights.
OPTIMIZERS = {
    "sgd": ("mx.optimizer.SGD(0.9, learning_rate=0.1, wd=0.1, param_idx2name={0: 'a_weight', 1: 'b_bias'})", "float32"),
    "plain": ("mx.optimizer.SGD(learning_rate=0.1)", "float32"),
    "adam": ("mx.optimizer.Adam(0.1, lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1))", "float32"),
    "cosine": ("mx.optimizer.NAG(momentum=0.9, lr_scheduler=mx.lr_scheduler.CosineScheduler(9, 0.3))", "float64"),
    "half": ("mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, multi_precision=True)", "float16"),
    "adam_half": ("mx.optimizer.Adam(learning_rate=0.1, multi_precision=True)", "float16"),
    "rmsprop": ("mx.optimizer.RMSProp(learning_rate=0.1, centered=True)", "float32"),
    "dcasgd": ("mx.optimizer.DCASGD(learning_rate=0.1)", "float32"),
    "nadam": ("mx.optimizer.Nadam(learning_rate=np.float32(0.1))", "float32"),
    "group": ("mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.1)", "float32"),
}  # fmt: skip
SHAPES = ((2, 3), (4, 1))


def start(mx: Any, name: str) -> tuple[Any, list[Any]]:
    """Returns an updater and the weights, before any step."""
    text, dtype = OPTIMIZERS[name]
    optimizer = eval(text, {"mx": mx, "np": np})
    random = np.random.RandomState(3)
    return mx.optimizer.get_updater(optimizer), [mx.nd.array(random.uniform(-1, 1, s), dtype=dtype) for s in SHAPES]


def steps(mx: Any, update: Any, weights: list[Any], first: int, last: int) -> None:
    """Makes some of the steps."""
    random = np.random.RandomState(5)
    for number in range(last):
        drawn = [random.uniform(-1, 1, shape) for shape in SHAPES]
        if number >= first:
            for index, (grad, weight) in enumerate(zip(drawn, weights, strict=True)):
                update(index, mx.nd.array(grad, dtype=weight.dtype), weight)
