"""Golden cases of Gluon's basic layers, as `tests/support/gluon_layers/basic.py` declares them."""

import importlib
import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parents[1] / "support")
if SUPPORT not in sys.path:
    sys.path.append(SUPPORT)

golden = importlib.import_module("gluon_layers.golden")
CASES = [
    *golden.cases("basic"),
    *golden.signature_cases(
        "layers_basic",
        "gluon.nn",
        "Activation BatchNorm BatchNormReLU Block Dense Dropout ELU Embedding Flatten GELU GroupNorm HybridBlock "
        "HybridLambda HybridSequential InstanceNorm Lambda LayerNorm LeakyReLU PReLU SELU Sequential Swish",
    ),
    *golden.signature_cases(
        "layers_basic", "gluon.contrib.nn", "Concurrent HybridConcurrent Identity SparseEmbedding SyncBatchNorm"
    ),
]
