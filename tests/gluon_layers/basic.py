"""The basic layers: fully connected, dropout, normalizations, embedding, activations, functions, containers."""

from gluon_layers.declaration import Floats, Integers, Layer

IMAGES = Floats((2, 4, 3, 3))
ROWS = Floats((3, 4))

LAYERS = [
    Layer("dense", "nn.Dense(3)", ROWS, given="nn.Dense(3, in_units=4)"),
    Layer("dense_tanh", "nn.Dense(3, activation='tanh')", ROWS, given="nn.Dense(3, activation='tanh', in_units=4)"),
    Layer("dense_no_bias", "nn.Dense(3, use_bias=False)", ROWS, given="nn.Dense(3, use_bias=False, in_units=4)"),
    Layer("dense_flattens", "nn.Dense(2)", IMAGES, given="nn.Dense(2, in_units=36)"),
    Layer("dense_last_axis", "nn.Dense(2, flatten=False)", IMAGES, given="nn.Dense(2, flatten=False, in_units=3)"),
    *[Layer(f"activation_{name}", f"nn.Activation({name!r})", ROWS) for name in
      ("relu", "sigmoid", "tanh", "softrelu", "softsign")],
]  # fmt: skip
