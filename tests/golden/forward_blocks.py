"""Blocks that define `forward`, and what their exported graphs are: `forward.json`, which this writes.

Usage: ``python tests/golden/forward_blocks.py``; and ``python tests/golden/forward_blocks.py DIR`` to write their files
into a folder, for `check_forward.py` to read under MXNet 1.9.1.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from check_export import written_as_forward

import minpy as mx
from minpy import autograd, gluon, nd, npx
from minpy import np as mnp
from minpy.gluon import nn, rnn

FILE = Path(__file__).with_name("forward.json")
TABLE = np.array([[0.5, -1.0, 2.0, 1.5]], "float32")
_X, _Y = (3, 4), (3, 4)


class Of(gluon.HybridBlock):
    """A block that computes a function of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(prefix="net_")
        self.function = function
        self.table = mnp.array(TABLE)
        self.weight = gluon.Parameter("weight", shape=(4, 3))
        self.bias = gluon.Parameter("bias", shape=(3,))

    def forward(self, *inputs: Any) -> Any:
        """Return what the function gives."""
        return self.function(self, *inputs)


# Functions of an array of `mx.np` of shape (3, 4), and of two.
_NAMES = (
    "abs absolute arcsinh arctan cbrt ceil cos cosh degrees exp expm1 fabs fix floor isfinite isinf isnan log1p "
    "logical_not negative positive radians reciprocal rint sign sin sinh sqrt square tan tanh trunc sum mean prod max "
    "min std var argmax argmin any all cumsum sort argsort ravel transpose flip squeeze ones_like zeros_like sinc exp2 "
    "signbit nan_to_num around tril triu diff median cumprod nansum ptp trace diagonal fliplr flipud rot90 average "
    "atleast_3d copy real isreal"
)
_NAMES_OF_TWO = (
    "add subtract multiply divide maximum minimum fmax fmin arctan2 hypot copysign logaddexp equal not_equal greater "
    "less greater_equal less_equal logical_and logical_or logical_xor mod fmod floor_divide power"
)


def _called(name: str) -> Callable[..., Any]:
    return lambda self, *arrays: getattr(mnp, name)(*arrays)


OF_ONE: dict[str, Callable[..., Any]] = {
    **{name: _called(name) for name in _NAMES.split()},
    "plus a number": lambda self, x: x + 1,
    "plus a fraction": lambda self, x: x + 0.5,
    "minus": lambda self, x: x - 2,
    "from a number": lambda self, x: 2 - x,
    "times": lambda self, x: x * 2.5,
    "over": lambda self, x: x / 4,
    "a number over": lambda self, x: 4 / (x + 10),
    "floor divided": lambda self, x: x // 2,
    "modulo": lambda self, x: x % 3,
    "a power": lambda self, x: x**3,
    "squared": lambda self, x: x**2,
    "rooted": lambda self, x: abs(x) ** 0.5,
    "inverted": lambda self, x: (x + 10) ** -1,
    "of a number": lambda self, x: 2**x,
    "negated": lambda self, x: -x,
    "compared": lambda self, x: x > 0.5,
    "equal": lambda self, x: x == 1,
    "at most": lambda self, x: x <= 1,
    "maximum": lambda self, x: mnp.maximum(x, 0.5),
    "minimum": lambda self, x: mnp.minimum(2, x),
    "a typed number": lambda self, x: x * np.float64(0.5),
    "a boolean": lambda self, x: x + True,
    "where": lambda self, x: mnp.where(x > 0, x, 0),
    "where a fraction": lambda self, x: mnp.where(x > 0, 1.5, x),
    "where numbers": lambda self, x: mnp.where(x > 0, 1.0, 0.0),
    "clipped": lambda self, x: mnp.clip(x, -0.5, 0.5),
    "clipped below": lambda self, x: x.clip(0, None),
    "summed over an axis": lambda self, x: x.sum(axis=1),
    "summed, kept": lambda self, x: x.sum(axis=(0, 1), keepdims=True),
    "mean over an axis": lambda self, x: x.mean(axis=-1, keepdims=True),
    "variance": lambda self, x: x.var(axis=0, ddof=1),
    "a maximum over an axis": lambda self, x: x.max(axis=1),
    "positions": lambda self, x: x.argmax(axis=1),
    "a norm": lambda self, x: mnp.linalg.norm(x, axis=1),
    "reshaped": lambda self, x: x.reshape(-1, 2),
    "reshaped by a method": lambda self, x: x.reshape((4, 3)),
    "flattened": lambda self, x: x.flatten(),
    "turned": lambda self, x: x.T,
    "permuted": lambda self, x: mnp.transpose(x, (1, 0)),
    "swapped": lambda self, x: x.swapaxes(0, 1),
    "moved": lambda self, x: mnp.moveaxis(x, 0, 1),
    "with an axis": lambda self, x: mnp.expand_dims(x, 1),
    "with a new axis": lambda self, x: x[:, None],
    "without an axis": lambda self, x: mnp.expand_dims(x, 0).squeeze(0),
    "broadcast": lambda self, x: mnp.broadcast_to(x, (2, 3, 4)),
    "repeated": lambda self, x: x.repeat(2, axis=1),
    "tiled": lambda self, x: mnp.tile(x, (2, 1)),
    "rolled": lambda self, x: mnp.roll(x, 1, axis=0),
    "padded": lambda self, x: mnp.pad(x, ((1, 1), (0, 0))),
    "taken": lambda self, x: mnp.take(x, mnp.array([0, 2]), axis=1),
    "a row": lambda self, x: x[0],
    "the last row": lambda self, x: x[-1],
    "an element": lambda self, x: x[1, 2],
    "rows": lambda self, x: x[1:],
    "columns": lambda self, x: x[:, 1:3],
    "steps": lambda self, x: x[::2, ::-1],
    "a column": lambda self, x: x[:, 1],
    "the last axis": lambda self, x: x[..., 1],
    "chosen rows": lambda self, x: x[[0, 2]],
    "halves": lambda self, x: mnp.split(x, 2, axis=1),
    "parts": lambda self, x: mnp.split(x, [1, 3], axis=1)[1],
    "stacked": lambda self, x: mnp.stack([x, x + 1]),
    "joined": lambda self, x: mnp.concatenate([x, x * 2], axis=1),
    "joined below": lambda self, x: mnp.vstack([x, x]),
    "multiplied": lambda self, x: mnp.dot(x, x.T),
    "matrices": lambda self, x: x @ x.T,
    "tensors": lambda self, x: mnp.tensordot(x, x, axes=([1], [1])),
    "einsum": lambda self, x: mnp.einsum("ij,kj->ik", x, x),
    "outer": lambda self, x: mnp.outer(x[0], x[1]),
    "in another dtype": lambda self, x: x.astype("int32"),
    "in integers": lambda self, x: x.astype("int32") // 2 + 1,
    "integers over": lambda self, x: x.astype("int64") / 2,
    "integers, mean": lambda self, x: x.astype("int32").mean(),
    "two outputs": lambda self, x: (x + 1, {"twice": x * 2}),
    "itself": lambda self, x: x,
    "in place": lambda self, x: _in_place(x),
    "made": lambda self, x: x + mnp.arange(4) + mnp.ones((4,)),
    "filled like": lambda self, x: mnp.full_like(x, 3),
    "a table": lambda self, x: x * self.table,
    "a table, computed": lambda self, x: x + self.table[:, 1:2] * 2,
    "parameters": lambda self, x: mnp.tanh(mnp.dot(x, self.weight.data()) + self.bias.data()),
    "its shape": lambda self, x: x / x.shape[0] + len(x),
    "drawn": lambda self, x: x * 0 + (mnp.random.uniform(size=x.shape) < 2),
    "paused": lambda self, x: _paused(x),
    "detached": lambda self, x: x * x.detach(),
    "softmax": lambda self, x: npx.softmax(x, axis=-1),
    "log_softmax": lambda self, x: npx.log_softmax(x),
    "relu": lambda self, x: npx.relu(x),
    "sigmoid": lambda self, x: npx.sigmoid(x),
    "leaky": lambda self, x: npx.leaky_relu(x, act_type="gelu"),
    "activation": lambda self, x: npx.activation(x, act_type="softrelu"),
    "one hot": lambda self, x: npx.one_hot(mnp.array([0, 1, 2]), 4) * x,
    "picked": lambda self, x: npx.pick(x, mnp.array([0, 1, 2])),
    "the best": lambda self, x: npx.topk(x, k=2, ret_typ="value"),
    "reshaped like": lambda self, x: npx.reshape(x, (-2, 2, -1)),
    "dense": lambda self, x: npx.fully_connected(x, self.weight.data().T, self.bias.data(), num_hidden=3),
    "normalized": lambda self, x: npx.layer_norm(x, mnp.ones((4,)), mnp.zeros((4,))),
    "dropout": lambda self, x: npx.dropout(x, p=0.5),
    "chained": lambda self, x: mnp.exp(-x * x / 2).sum(axis=0) / (1 + abs(x).max()),
    "attention": lambda self, x: npx.softmax(x @ x.T / x.shape[-1] ** 0.5) @ x,
    "norm by hand": lambda self, x: (x - x.mean(-1, keepdims=True)) / mnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "as nd": lambda self, x: (x.as_nd_ndarray() + 1).as_np_ndarray() * 2,
}
OF_TWO: dict[str, Callable[..., Any]] = {
    **{name: _called(name) for name in _NAMES_OF_TWO.split()},
    "chosen": lambda self, x, y: mnp.where(x > y, x, y),
    "rows and columns": lambda self, x, y: x[:, :1] * y[:1],
    "joined": lambda self, x, y: mnp.hstack([x, y]),
    "multiplied": lambda self, x, y: mnp.matmul(x, y.T),
    "inner": lambda self, x, y: mnp.inner(x, y),
    "a batch": lambda self, x, y: npx.batch_dot(x[None], y.T[None]),
    "taken": lambda self, x, y: mnp.take_along_axis(x, (y > 0).astype("int64"), axis=1),
    "embedded": lambda self, x, y: npx.embedding((abs(x) > 1).astype("int32"), y, input_dim=3, output_dim=4),
}
# Functions of an array of `mx.nd`.
OF_NDARRAY: dict[str, Callable[..., Any]] = {
    "plus a number": lambda self, x: x + 1,
    "from a number": lambda self, x: 2 - x,
    "times": lambda self, x: 3 * x / 2,
    "a power": lambda self, x: x**2 % 3,
    "compared": lambda self, x: x > 1,
    "negated": lambda self, x: -x,
    "arrays": lambda self, x: x * x + x / (x + 20) - x,
    "compared with an array": lambda self, x: x <= x * 2,
    "maximum": lambda self, x: nd.maximum(x, 0.5) + nd.broadcast_maximum(x, x),
    "summed": lambda self, x: x.sum(axis=1),
    "summed up": lambda self, x: x.sum(),
    "mean": lambda self, x: nd.mean(x, axis=0, keepdims=True),
    "a norm": lambda self, x: x.norm(),
    "exp": lambda self, x: nd.exp(x) + x.exp() + x.square(),
    "reshaped": lambda self, x: x.reshape((0, -1)),
    "reshaped in two": lambda self, x: x.reshape(2, -1),
    "turned": lambda self, x: x.T,
    "transposed": lambda self, x: x.transpose((1, 0)),
    "with an axis": lambda self, x: x.expand_dims(0),
    "flattened": lambda self, x: x.flatten(),
    "a row": lambda self, x: x[0],
    "rows": lambda self, x: x[1:3],
    "an axis cut": lambda self, x: x.slice_axis(axis=1, begin=1, end=3),
    "joined": lambda self, x: nd.concat(x, x, dim=1),
    "stacked": lambda self, x: nd.stack(x, x, axis=1),
    "halves": lambda self, x: nd.split(x, num_outputs=2, axis=1),
    "multiplied": lambda self, x: nd.dot(x, x, transpose_b=True),
    "chosen": lambda self, x: nd.where(x > 0, x, -x),
    "clipped": lambda self, x: x.clip(0, 1),
    "in another dtype": lambda self, x: x.astype("float64"),
    "softmax": lambda self, x: x.softmax(),
    "activation": lambda self, x: nd.Activation(x, act_type="relu"),
    "leaky": lambda self, x: nd.LeakyReLU(x, slope=0.1),
    "one hot": lambda self, x: nd.one_hot(nd.array([0, 1, 2]), 4) * x,
    "dropout": lambda self, x: nd.Dropout(x, p=0.3),
    "like": lambda self, x: nd.ones_like(x) + nd.zeros_like(x),
    "broadcast": lambda self, x: nd.broadcast_to(x.expand_dims(0), (2, 3, 4)),
    "top": lambda self, x: nd.topk(x, k=2),
    "picked": lambda self, x: nd.pick(x, nd.array([0, 1, 2])),
    "made": lambda self, x: x + nd.ones((1, 4)),
    "as np": lambda self, x: mnp.exp(x.as_np_ndarray()).as_nd_ndarray(),
    "in place": lambda self, x: _in_place(x),
}


def _in_place(x: Any) -> Any:
    y = x * 2
    y += 1
    y *= x
    return y


def _paused(x: Any) -> Any:
    with autograd.pause():
        factor = x * x
    return x * factor


class Symbolic(gluon.HybridBlock):
    """A block of symbols around one of arrays."""

    def __init__(self, inner: Any, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.inner = inner
            self.dense = nn.Dense(4, in_units=3)
            self.scale = self.params.get("scale", shape=(1, 4), init="ones")

    def hybrid_forward(self, F: Any, x: Any, scale: Any) -> Any:
        """Return a nest."""
        y = self.dense(self.inner(x))
        return [F.broadcast_mul(y, scale), None], F.relu(y) + x


class Network(gluon.HybridBlock):
    """Layers called one after the other, in `forward`."""

    def __init__(self, *layers: Any, **options: Any) -> None:
        super().__init__(**options)
        self.layers = nn.HybridSequential(prefix="")
        self.layers.add(*layers)

    def forward(self, x: Any) -> Any:
        """Return what the last layer gives."""
        for layer in self.layers:
            x = layer(x)
        return x


class Residual(gluon.HybridBlock):
    """A residual unit."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.conv = nn.Conv2D(3, 3, padding=1)
            self.norm = nn.BatchNorm()
            self.top = nn.Dense(2)

    def forward(self, x: Any) -> Any:
        """Return scores."""
        return self.top(npx.relu(x + self.norm(self.conv(x))))


class Recurrent(gluon.HybridBlock):
    """A recurrent layer, and a dense one on the last step."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.lstm = rnn.LSTM(4, layout="NTC", bidirectional=True)
            self.top = nn.Dense(2)

    def forward(self, x: Any) -> Any:
        """Return scores."""
        return self.top(self.lstm(x)[:, -1])


class Unrolled(gluon.HybridBlock):
    """A cell over steps."""

    def __init__(self, cell: Any, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.cell = cell()

    def forward(self, x: Any) -> Any:
        """Return all outputs and a state."""
        out, states = self.cell.unroll(4, x, layout="NTC", merge_outputs=True)
        return out, states[0]


class Attention(gluon.HybridBlock):
    """Heads of attention."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.query, self.key, self.value = (nn.Dense(8, flatten=False, use_bias=False) for _ in range(3))
            self.norm = nn.LayerNorm()
            self.drop = nn.Dropout(0.1)

    def forward(self, x: Any) -> Any:
        """Return the attended values, normalized."""
        batch, length, _ = x.shape
        heads = [
            layer(x).reshape(batch, length, 2, 4).transpose(0, 2, 1, 3).reshape(batch * 2, length, 4)
            for layer in (self.query, self.key, self.value)
        ]
        weights = npx.softmax(npx.batch_dot(heads[0], heads[1], transpose_b=True) / 2.0)
        out = npx.batch_dot(self.drop(weights), heads[2])
        return self.norm(out.reshape(batch, 2, length, 4).transpose(0, 2, 1, 3).reshape(batch, length, 8) + x)


def _image_layers() -> list[Any]:
    return [
        nn.Conv2D(4, 3, padding=1, activation="relu"),
        nn.MaxPool2D(),
        nn.BatchNorm(),
        nn.AvgPool2D(),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
        nn.Dense(3, activation="tanh"),
    ]


# By name: (block, shapes of the inputs).
NETWORKS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "layer": lambda: (written_as_forward(mx)["forward"][0], _X),
    "around": lambda: (written_as_forward(mx)["forward_around"][0], _X),
    "symbols around": lambda: (Symbolic(type(written_as_forward(mx)["forward"][0])(), prefix="net_"), _X),
    "residual": lambda: (Residual(prefix="net_"), (2, 3, 4, 4)),
    "recurrent": lambda: (Recurrent(prefix="net_"), (2, 4, 3)),
    "unrolled": lambda: (Unrolled(lambda: rnn.LSTMCell(3), prefix="net_"), (2, 4, 3)),
    "unrolled gru": lambda: (Unrolled(lambda: rnn.GRUCell(3), prefix="net_"), (2, 4, 3)),
    "attention": lambda: (Attention(prefix="net_"), (2, 3, 8)),
    "images": lambda: (Network(*_image_layers(), prefix="net_"), (2, 3, 8, 8)),
    "normalized": lambda: (
        Network(nn.LayerNorm(), nn.InstanceNorm(), nn.GroupNorm(num_groups=2), prefix="net_"),
        (2, 4, 6),
    ),
    "activations": lambda: (
        Network(nn.PReLU(), nn.ELU(), nn.SELU(), nn.GELU(), nn.Swish(), nn.LeakyReLU(0.1), prefix="net_"),
        _X,
    ),
    "embedding": lambda: (Network(nn.Embedding(7, 4), nn.Dense(3), prefix="net_"), (2, 5)),
    "convolved back": lambda: (Network(nn.Conv2DTranspose(4, 3, strides=2), prefix="net_"), (2, 3, 5, 5)),
    "sequence": lambda: (Network(rnn.GRU(4, num_layers=2), nn.Dense(2, flatten=False), prefix="net_"), (4, 2, 3)),
}


def cases() -> dict[str, Callable[[], tuple[Any, ...]]]:
    """Return functions that give (block, whether its arrays are those of `mx.np`, shapes of the inputs), by name."""
    found: dict[str, Callable[[], tuple[Any, ...]]] = {}
    for name, function in OF_ONE.items():
        found[f"np {name}"] = lambda function=function: (Of(function), True, _X)  # type: ignore[misc]
    for name, function in OF_TWO.items():
        found[f"np two {name}"] = lambda function=function: (Of(function), True, _X, _Y)  # type: ignore[misc]
    for name, function in OF_NDARRAY.items():
        found[f"nd {name}"] = lambda function=function: (Of(function), False, _X)  # type: ignore[misc]
    for name, network in NETWORKS.items():
        found[f"net {name}"] = lambda network=network: (network()[0], True, *network()[1:])  # type: ignore[misc]
    return found


def exported(case: Callable[[], tuple[Any, ...]], folder: Path) -> dict[str, Any]:
    """Export the block of a case, and return what there is: a text of the graph, inputs, outputs, those of the file."""
    with mx.name.NameManager(), mx.util.np_shape(True), mx.util.np_array(True):
        block, in_numpy, *shapes = case()
        mx.random.seed(3)
        block.initialize(mx.init.Uniform(0.7))
    draw = np.random.default_rng(3)
    arrays = [(draw.integers(0, 7, shape) + 0.5).astype("float32") for shape in shapes]
    with mx.name.NameManager(), mx.util.np_shape(in_numpy), mx.util.np_array(in_numpy), autograd.predict_mode():
        inputs = [(mnp if in_numpy else nd).array(array) for array in arrays]
        block(*inputs)
        block.hybridize()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # before NumPy 2 some run as written, which says so
            outputs = arrays_of(block(*inputs))
        files = block.export(str(folder / "net"))
        loaded = gluon.SymbolBlock.imports(files[0], input_names(len(inputs)), files[1])
        again = arrays_of(loaded(*inputs))
    graph = json.loads(Path(files[0]).read_text(encoding="utf-8"))
    return {"graph": described(graph), "in_numpy": in_numpy, "inputs": arrays, "outputs": outputs, "loaded": again}


def input_names(count: int) -> list[str]:
    """Return what the inputs of an exported graph are called."""
    return ["data"] if count == 1 else [f"data{index}" for index in range(count)]


def described(graph: Any) -> str:
    """Return the nodes of a graph in a text: operators with attributes, numbers of the inputs, names of variables."""
    parts = []
    for node in graph["nodes"]:
        if node["op"] == "null":
            parts.append(node["name"])
            continue
        attributes = "".join(f", {key}={value}" for key, value in node.get("attrs", {}).items())
        parts.append(f"{node['op']}({' '.join(str(source[0]) for source in node['inputs'])}{attributes})")
    return "; ".join(parts)


def arrays_of(value: Any) -> list[np.ndarray]:
    """Return the arrays in a nest, as NumPy's."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in arrays_of(part)]
    return [] if value is None else [value.asnumpy()]


def main() -> None:
    """Write what the graphs are, or the files of all cases."""
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            graphs = {name: exported(case, Path(folder))["graph"] for name, case in cases().items()}
        FILE.write_text(json.dumps(graphs, indent=0) + "\n", encoding="utf-8")
        return
    for number, (name, case) in enumerate(cases().items()):
        folder = Path(sys.argv[1]) / f"case{number}"
        folder.mkdir(parents=True, exist_ok=True)
        found = exported(case, folder)
        known = {f"x{index}": array for index, array in enumerate(found["inputs"])}
        known.update((f"out{index}", array) for index, array in enumerate(found["outputs"]))
        np.savez(folder / "case.npz", name=name, in_numpy=found["in_numpy"], **known)


if __name__ == "__main__":
    main()
