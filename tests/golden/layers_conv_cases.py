"""Golden cases of Gluon's layers of windows, as `tests/support/gluon_layers/conv.py` declares them."""

import importlib
import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parents[1] / "support")
if SUPPORT not in sys.path:
    sys.path.append(SUPPORT)

# Under `npx.set_np` one setting of each layer is enough: the numbers are the same.
MORE = (
    "_all",
    "_uneven",
    "_last",
    "_without_pad",
    "_no_bias",
    "_no_bias_relu",
    "_initializers",
    "_doubles",
    "_given",
    "_depthwise",
    "_multiplier",
    "_prefix",
)
# The gradients must be those of the function that the forward pass is.
PREDICTING = """
x = nd.array([[[[1, 2, 5], [4, 3, 6]]]]); x.attach_grad()
with autograd.record(train_mode=False):
    y = nd.Pooling(x, kernel=(2, 2), stride=(1, 1))
y.backward(nd.array([[[[1, 10]]]]))
result = x.grad
"""
PARTS_OF_WINDOWS = """
x = nd.array([[[1, 2, 3, 4]]]); x.attach_grad()
with autograd.record():
    y = nd.Pooling(x, kernel=(3,), stride=(2,), pad=(1,), pool_type='avg', pooling_convention='full')
y.backward()
result = [y, x.grad]
"""

CASES = [
    (name, snippet)
    for name, snippet in importlib.import_module("gluon_layers.golden").cases("conv")
    if not (name.endswith("_numpy") and name.removesuffix("_numpy").endswith(MORE))
]
CASES += [
    ("layers_conv_max_pooling_predicting", PREDICTING),
    ("layers_conv_avg_pooling_parts_of_windows", PARTS_OF_WINDOWS),
]
