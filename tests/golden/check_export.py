"""Proves that MXNet 1.9.1 reads what blocks write: exported graphs and parameters, and files of parameters.

In two steps, on demand: ``python tests/golden/check_export.py write FOLDER`` under minpy, then
``python tests/golden/check_export.py read FOLDER`` under MXNet 1.9.1, which runs the networks and compares.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np


def networks(mx: Any) -> dict[str, Any]:
    """Returns networks by name, each with the shape of what it is called with."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn

    def row(*layers: Any) -> Any:
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(*[layer() for layer in layers])
        return net

    def convolutional() -> Any:
        return row(
            lambda: nn.Conv2D(4, 3, padding=1, use_bias=False),
            lambda: nn.BatchNorm(),
            lambda: nn.Activation("relu"),
            lambda: nn.MaxPool2D(2),
            lambda: nn.Conv2D(6, 3, strides=2, activation="relu"),
            lambda: nn.GlobalAvgPool2D(),
            lambda: nn.Flatten(),
            lambda: nn.Dropout(0.5),
            lambda: nn.Dense(3),
        )

    def normalized() -> Any:
        return row(
            lambda: nn.Dense(6, flatten=False),
            lambda: nn.LayerNorm(),
            lambda: nn.PReLU(),
            lambda: nn.GELU(),
            lambda: nn.InstanceNorm(),
            lambda: nn.Swish(),
            lambda: nn.LeakyReLU(0.1),
            lambda: nn.ELU(),
            lambda: nn.HybridLambda("tanh"),
        )

    return {
        "mlp": (row(lambda: nn.Dense(5, activation="tanh"), lambda: nn.Dense(2, use_bias=False)), (3, 4)),
        "convolutional": (convolutional(), (2, 3, 12, 12)),
        "normalized": (normalized(), (2, 3, 4)),
        "transposed": (row(lambda: nn.Conv2DTranspose(4, 3, strides=2, output_padding=1)), (2, 3, 5, 5)),
        "embedding": (row(lambda: nn.Embedding(7, 4), lambda: nn.Dense(3)), (2, 5)),
        "recurrent": (row(lambda: rnn.LSTM(4, layout="NTC", bidirectional=True), lambda: nn.Dense(2)), (2, 5, 3)),
    }


def write(folder: Path) -> None:
    """Writes every network, and what it answers."""
    import minpy as mx

    for name, (net, shape) in networks(mx).items():
        net.initialize(mx.init.Uniform(0.7))
        net.hybridize()
        x = np.random.default_rng(3).integers(0, 7, shape).astype("float32")
        with mx.autograd.train_mode():
            net(mx.nd.array(x))
        out = net(mx.nd.array(x))
        net.export(str(folder / name), epoch=7)
        net.save_parameters(str(folder / f"{name}.params"))
        np.savez(folder / f"{name}.npz", x=x, out=out.asnumpy())
    print("written")


def read(folder: Path) -> None:
    """Loads them in both ways, and compares the answers."""
    import mxnet as mx

    for name, (net, _) in networks(mx).items():
        known = np.load(folder / f"{name}.npz")
        x = mx.nd.array(known["x"])
        block = mx.gluon.SymbolBlock.imports(
            str(folder / f"{name}-symbol.json"), ["data"], str(folder / f"{name}-0007.params")
        )
        net.load_parameters(str(folder / f"{name}.params"))
        for way in (block, net):
            np.testing.assert_allclose(way(x).asnumpy(), known["out"], rtol=1e-4, atol=1e-5)
        print(f"{name}: read by both, equal")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
