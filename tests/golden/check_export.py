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
        **composed(mx),
    }


def composed(mx: Any) -> dict[str, Any]:
    """Returns networks of one's own blocks: several inputs and outputs, shared parameters, constants, cells."""
    gluon, nn, rnn = mx.gluon, mx.gluon.nn, mx.gluon.rnn

    class Several(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            with self.name_scope():
                self.left = nn.Dense(3)
                self.right = nn.Dense(3, params=self.left.params)

        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
            left, right = self.left(x), self.right(y)
            return [left - right, F.concat(left, right, dim=1)], F.dot(left, right, transpose_b=True)

    class Held(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            with self.name_scope():
                self.table = self.params.get_constant("table", mx.nd.array([[1, 2, 3, 4]]))
                self.scale = self.params.get("scale", shape=(1, 1))

        def hybrid_forward(self, F: Any, x: Any, table: Any, scale: Any) -> Any:
            return F.broadcast_mul(F.broadcast_add(x, table), F.broadcast_like(scale, x))

    class Unrolled(gluon.HybridBlock):
        def __init__(self, make: Any, **options: Any) -> None:
            super().__init__(**options)
            with self.name_scope():
                self.cell = make()

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            out, states = self.cell.unroll(4, x, layout="NTC", merge_outputs=True)
            return out, states[0]

    class Residual(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            with self.name_scope():
                self.conv = nn.Conv2D(3, 3, padding=1)
                self.norm = nn.BatchNorm(momentum=0.5)
                self.top = nn.Dense(2)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.top(F.Pooling(x + F.relu(self.norm(self.conv(x))), kernel=(2, 2), stride=(2, 2)))

    def stacked() -> Any:
        cell = rnn.HybridSequentialRNNCell()
        with cell.name_scope():
            cell.add(rnn.LSTMCell(4))
            cell.add(rnn.ResidualCell(rnn.GRUCell(4)))
        return cell

    return {
        "several": (Several(prefix="net_"), (3, 4), (3, 4)),
        "residual": (Residual(prefix="net_"), (2, 3, 6, 6)),
        "held": (Held(prefix="net_"), (2, 4)),
        "stacked": (Unrolled(stacked, prefix="net_"), (2, 4, 3)),
        "both_directions": (
            Unrolled(lambda: rnn.BidirectionalCell(rnn.GRUCell(3), rnn.RNNCell(2)), prefix="net_"),
            (2, 4, 3),
        ),
    }


def written_as_forward(mx: Any) -> dict[str, Any]:
    """Returns networks of the second generation, of functions that MXNet has as operators; it reads their graphs."""
    np_, npx, gluon, nn = mx.np, mx.npx, mx.gluon, mx.gluon.nn

    class Layer(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.weight = gluon.Parameter("weight", shape=(4, 3))
            self.bias = gluon.Parameter("bias", shape=(3,))

        def forward(self, x: Any) -> Any:
            return np_.tanh(np_.dot(x, self.weight.data()) + self.bias.data()) * 2

    class Around(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            with self.name_scope():
                self.first = Layer()
                self.second = nn.Dense(4)
                self.third = nn.BatchNorm()

        def forward(self, x: Any) -> Any:
            x = self.second(self.first(x))
            x = npx.relu(self.third(x)) + x.reshape(-1, 4) - x.mean(axis=1, keepdims=True)
            return np_.concatenate([x, np_.exp(-x)], axis=1), np_.where(x > 0, x, x * 0.5).sum(axis=0)

    return {"forward": (Layer(prefix="net_"), (3, 4)), "forward_around": (Around(prefix="net_"), (3, 4))}


def arrays_of(value: Any) -> list[Any]:
    """Returns the arrays among nested outputs."""
    return [one for part in value for one in arrays_of(part)] if isinstance(value, (list, tuple)) else [value]


def write(folder: Path) -> None:
    """Writes every network, and what it answers."""
    import minpy as mx

    def save(name: str, net: Any, shapes: Any, array: Any) -> None:
        net.initialize(mx.init.Uniform(0.7))
        net.hybridize()
        draw = np.random.default_rng(3)
        x = [draw.integers(0, 7, shape).astype("float32") for shape in shapes]
        with mx.autograd.train_mode():
            net(*map(array, x))
        out = arrays_of(net(*map(array, x)))
        net.export(str(folder / name), epoch=7)
        net.save_parameters(str(folder / f"{name}.params"))
        known = {f"x{index}": one for index, one in enumerate(x)}
        known.update((f"out{index}", one.asnumpy()) for index, one in enumerate(out))
        np.savez(folder / f"{name}.npz", **known)

    for name, (net, *shapes) in networks(mx).items():
        save(name, net, shapes, mx.nd.array)
    with mx.util.np_shape(True), mx.util.np_array(True):
        for name, (net, *shapes) in written_as_forward(mx).items():
            save(name, net, shapes, mx.np.array)
    print("written")


def read(folder: Path) -> None:
    """Loads them in both ways, and compares the answers."""
    import mxnet as mx

    def check(name: str, net: Any, array: Any) -> None:
        known = np.load(folder / f"{name}.npz")
        x = [array(known[f"x{index}"]) for index in range(sum(key.startswith("x") for key in known))]
        block = mx.gluon.SymbolBlock.imports(
            str(folder / f"{name}-symbol.json"),
            ["data"] if len(x) == 1 else [f"data{index}" for index in range(len(x))],
            str(folder / f"{name}-0007.params"),
        )
        if net is not None:
            net.load_parameters(str(folder / f"{name}.params"))
        for way in (block,) if net is None else (block, net):
            found = arrays_of(way(*x))
            assert len(found) == len(known) - len(x), (name, len(found))
            for index, one in enumerate(found):
                np.testing.assert_allclose(one.asnumpy(), known[f"out{index}"], rtol=1e-4, atol=1e-5)
        print(f"{name}: read, equal")

    for name, (net, *_) in networks(mx).items():
        check(name, net, mx.nd.array)
    with mx.util.np_shape(True), mx.util.np_array(True):
        for name in ("forward", "forward_around"):
            check(name, None, mx.np.array)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
