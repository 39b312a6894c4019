"""The basic layers: fully connected, dropout, normalizations, embedding, activations, functions, containers."""

from gluon_layers.declaration import Floats, Integers, Layer

IMAGES = Floats((2, 4, 3, 3))
ROWS = Floats((3, 4))
WORDS = Integers((2, 3), 5, kind=None)


def _both(build, argument):
    """Return a constructor without and with the argument that gives its shapes."""
    inner = build.removesuffix(")")
    return {"build": build, "given": f"{inner}{'' if inner.endswith('(') else ', '}{argument})"}


DENSE = [
    Layer("dense", inputs=ROWS, **_both("nn.Dense(3)", "in_units=4")),
    Layer("dense_tanh", inputs=ROWS, **_both("nn.Dense(3, activation='tanh')", "in_units=4")),
    Layer("dense_no_bias", inputs=ROWS, **_both("nn.Dense(3, use_bias=False)", "in_units=4")),
    Layer("dense_flattens", inputs=IMAGES, **_both("nn.Dense(2)", "in_units=36")),
    Layer("dense_last_axis", inputs=IMAGES, **_both("nn.Dense(2, flatten=False)", "in_units=3")),
    Layer("dense_prefix", "nn.Dense(3, in_units=4, prefix='top_', bias_initializer='ones')", ROWS),
]

DROPOUT = [
    Layer("dropout", "nn.Dropout(0.4)", ROWS, random=True),
    Layer("dropout_axes", "nn.Dropout(0.4, axes=(2, 3))", IMAGES, random=True),
    Layer("dropout_nothing", "nn.Dropout(0)", ROWS),
]

BATCH = [
    Layer("batch_norm", inputs=IMAGES, **_both("nn.BatchNorm()", "in_channels=4")),
    Layer("batch_norm_rows", inputs=Floats((5, 3)), **_both("nn.BatchNorm()", "in_channels=3")),
    Layer("batch_norm_last_axis", inputs=IMAGES, **_both("nn.BatchNorm(axis=-1, momentum=0.7)", "in_channels=3")),
    Layer("batch_norm_axis_2", inputs=Floats((2, 3, 4)), **_both("nn.BatchNorm(axis=2, epsilon=0.1)", "in_channels=4")),
    Layer("batch_norm_no_scale", inputs=IMAGES, **_both("nn.BatchNorm(scale=False)", "in_channels=4")),
    Layer("batch_norm_no_center", inputs=IMAGES, **_both("nn.BatchNorm(center=False)", "in_channels=4")),
    Layer("batch_norm_global", inputs=IMAGES, **_both("nn.BatchNorm(use_global_stats=True)", "in_channels=4")),
    Layer("batch_norm_initial", inputs=IMAGES, **_both(
        "nn.BatchNorm(beta_initializer='ones', gamma_initializer='zeros', running_mean_initializer='ones', "
        "running_variance_initializer='zeros')", "in_channels=4")),
    Layer("batch_norm_relu", inputs=IMAGES, **_both("nn.BatchNormReLU()", "in_channels=4")),
    Layer("batch_norm_relu_global", inputs=IMAGES, **_both("nn.BatchNormReLU(use_global_stats=True)", "in_channels=4")),
    Layer("sync_batch_norm", inputs=IMAGES, mxnet_numpy=False, **_both(
        "gluon.contrib.nn.SyncBatchNorm(num_devices=1)", "in_channels=4")),
    Layer("sync_batch_norm_options", inputs=IMAGES, mxnet_numpy=False, **_both(
        "gluon.contrib.nn.SyncBatchNorm(num_devices=1, momentum=0.5, epsilon=0.01, center=False, scale=False)",
        "in_channels=4")),
]  # fmt: skip

NORMS = [
    Layer("instance_norm", inputs=IMAGES, mxnet_numpy=False, **_both("nn.InstanceNorm()", "in_channels=4")),
    Layer("instance_norm_axis", inputs=IMAGES, mxnet_numpy=False, **_both(
        "nn.InstanceNorm(axis=2, epsilon=0.1, scale=True, center=False)", "in_channels=3")),
    Layer("layer_norm", inputs=ROWS, **_both("nn.LayerNorm()", "in_channels=4")),
    Layer("layer_norm_axis", inputs=IMAGES, **_both("nn.LayerNorm(axis=1, epsilon=0.1)", "in_channels=4")),
    Layer("layer_norm_fixed", inputs=ROWS, **_both("nn.LayerNorm(center=False, scale=False)", "in_channels=4")),
    Layer("group_norm", "nn.GroupNorm()", IMAGES, mxnet_numpy=False),
    Layer("group_norm_2", "nn.GroupNorm(2, epsilon=0.1)", IMAGES, mxnet_numpy=False),
    Layer("group_norm_fixed", "nn.GroupNorm(4, center=False, scale=False)", IMAGES, mxnet_numpy=False),
]  # fmt: skip

EMBEDDINGS = [
    Layer("embedding", "nn.Embedding(5, 3)", WORDS),
    Layer("embedding_integers", "nn.Embedding(5, 3)", Integers((2, 3), 5, kind="int32")),
    Layer("embedding_sparse_grad", "nn.Embedding(5, 3, sparse_grad=True)", WORDS, mxnet_numpy=False),
    Layer("embedding_double", "nn.Embedding(5, 3, dtype='float64')", WORDS, mxnet_numpy=False),
    Layer("sparse_embedding", "gluon.contrib.nn.SparseEmbedding(5, 3)", WORDS, mxnet=False),
]

ACTIVATIONS = [
    *[Layer(f"activation_{name}", f"nn.Activation({name!r})", ROWS)
      for name in ("relu", "sigmoid", "tanh", "softrelu", "softsign")],
    Layer("leaky_relu", "nn.LeakyReLU(0.1)", ROWS),
    Layer("prelu", "nn.PReLU()", ROWS),
    Layer("prelu_channels", "nn.PReLU(mx.init.Constant(0.1), in_channels=4)", IMAGES),
    Layer("elu", "nn.ELU()", ROWS),
    Layer("elu_alpha", "nn.ELU(0.5)", ROWS),
    Layer("selu", "nn.SELU()", ROWS),
    Layer("gelu", "nn.GELU()", ROWS),
    Layer("swish", "nn.Swish()", ROWS),
    Layer("swish_beta", "nn.Swish(2.0)", ROWS),
    Layer("silu", "nn.SiLU()", ROWS, mxnet=False),
]  # fmt: skip

FUNCTIONS = [
    Layer("flatten", "nn.Flatten()", IMAGES),
    Layer("identity", "gluon.contrib.nn.Identity()", ROWS, mxnet_numpy=False),
    Layer("lambda", "nn.Lambda(lambda x: x * x)", ROWS, hybrid=False, picklable=False),
    Layer("lambda_name", "nn.Lambda('tanh')", ROWS, hybrid=False, mxnet_numpy=False),
    Layer("lambda_two", "nn.Lambda(lambda x, y: [x + y, x * y])", (ROWS, ROWS), hybrid=False, picklable=False),
    Layer("hybrid_lambda", "nn.HybridLambda(lambda F, x: F.square(x))", ROWS, numpy=False, picklable=False),
    Layer("hybrid_lambda_name", "nn.HybridLambda('tanh')", ROWS, mxnet_numpy=False),
    Layer("hybrid_lambda_two", "nn.HybridLambda('broadcast_add')", (ROWS, ROWS), numpy=False),
]

CHAIN = """
def chain(kind, **options):
    net = kind(prefix='chain_')
    with net.name_scope():
        net.add(nn.Dense(3, activation='relu', **options), nn.Dropout(0), nn.HybridSequential())
        with net[2].name_scope():
            net[2].add(nn.Dense(2, in_units=3))
    return net
"""
JOIN = """
def join(kind, **options):
    net = kind(axis=1)
    with net.name_scope():
        net.add(nn.BatchNorm(**options), gluon.contrib.nn.Identity(), nn.LeakyReLU(0.3))
    return net
"""
CONTAINERS = [
    *[Layer(name, f"chain({kind})", ROWS, given=f"chain({kind}, in_units=4)", setup=CHAIN, hybrid=hybrid)
      for name, kind, hybrid in (
          ("sequential", "nn.Sequential", False), ("hybrid_sequential", "nn.HybridSequential", True))],
    *[Layer(name, f"join({kind})", IMAGES, given=f"join({kind}, in_channels=4)", setup=JOIN, hybrid=hybrid,
            mxnet="contrib" in kind, mxnet_numpy=False)
      for name, kind, hybrid in (
          ("concurrent", "gluon.contrib.nn.Concurrent", False),
          ("hybrid_concurrent", "gluon.contrib.nn.HybridConcurrent", True),
          ("concatenate", "nn.Concatenate", False),
          ("hybrid_concatenate", "nn.HybridConcatenate", True))],
]  # fmt: skip

LAYERS = [*DENSE, *DROPOUT, *BATCH, *NORMS, *EMBEDDINGS, *ACTIVATIONS, *FUNCTIONS, *CONTAINERS]
