"""The networks of `symbols/`: each a function of the library, MXNet or the one that is compared with it.

``NETWORKS`` maps a name to (function that returns a symbol, shapes of the inputs). The numbers that networks are run on
are drawn by ``values``: the same under both.
"""

import zlib
from typing import Any

import numpy as np


def perceptron(mx: Any) -> Any:
    """Returns a multilayer perceptron whose first layer learns faster."""
    sym = mx.sym
    net = sym.Variable("data")
    weight = sym.Variable("fc1_weight", lr_mult=2.0, wd_mult=0.0, init=mx.init.Zero() if hasattr(mx, "init") else None)
    net = sym.FullyConnected(net, weight=weight, name="fc1", num_hidden=8)
    net = sym.Activation(net, name="relu1", act_type="relu")
    with mx.AttrScope(ctx_group="second"):
        net = sym.FullyConnected(net, name="fc2", num_hidden=6, no_bias=True)
        net = sym.tanh(net, name="tanh2")
    net = sym.Dropout(net, p=0.3, name="drop")
    net = sym.FullyConnected(net, name="fc3", num_hidden=3)
    return sym.SoftmaxOutput(net, name="softmax")


def lenet(mx: Any) -> Any:
    """Returns LeNet, of fewer channels."""
    sym = mx.sym
    net = sym.Variable("data")
    for number, channels in ((1, 4), (2, 6)):
        net = sym.Convolution(net, kernel=(5, 5), num_filter=channels, name=f"conv{number}")
        net = sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{number}")
    net = sym.Flatten(net, name="flat")
    net = sym.FullyConnected(net, num_hidden=16, name="fc1")
    net = sym.Activation(net, act_type="tanh", name="tanh3")
    net = sym.FullyConnected(net, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax")


def resnet(mx: Any) -> Any:
    """Returns a residual network of three blocks, two of which halve the resolution."""
    sym = mx.sym

    def normalized(data: Any, name: str) -> Any:
        data = sym.BatchNorm(data, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn")
        return sym.Activation(data, act_type="relu", name=f"{name}_relu")

    def convolved(data: Any, channels: int, kernel: int, stride: int, name: str) -> Any:
        pad, shape = (kernel // 2,) * 2, (kernel, kernel)
        strides = (stride, stride)
        return sym.Convolution(
            data, num_filter=channels, kernel=shape, stride=strides, pad=pad, no_bias=True, name=name
        )

    net = sym.BatchNorm(sym.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    net = convolved(net, 4, 3, 1, "conv0")
    for number, (channels, stride) in enumerate(((4, 1), (6, 2), (8, 2)), 1):
        first = normalized(net, f"unit{number}_a")
        inner = convolved(first, channels, 3, stride, f"unit{number}_conv1")
        inner = convolved(normalized(inner, f"unit{number}_b"), channels, 3, 1, f"unit{number}_conv2")
        shortcut = net if stride == 1 else convolved(first, channels, 1, stride, f"unit{number}_short")
        net = inner + shortcut
    net = sym.Pooling(normalized(net, "last"), global_pool=True, kernel=(7, 7), pool_type="avg", name="pool")
    net = sym.FullyConnected(sym.flatten(net, name="flat"), num_hidden=5, name="fc")
    return sym.Group([sym.SoftmaxOutput(net, name="softmax"), sym.BlockGrad(inner, name="inner")])


def custom(mx: Any) -> Any:
    """Returns a perceptron that ends in the softmax of MXNet's tutorial on custom operators, with a parameter."""
    register(mx)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    return mx.sym.Custom(net, op_type="golden_softmax", scale=2, name="softmax")


def register(mx: Any) -> None:
    """Registers the operator of ``custom``."""

    class Softmax(mx.operator.CustomOp):  # type: ignore[name-defined,misc]
        def __init__(self, scale: float) -> None:
            super().__init__()
            self.scale = scale

        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            x = in_data[0].asnumpy() * self.scale + aux[0].asnumpy()
            y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
            y /= y.sum(axis=1).reshape((x.shape[0], 1))
            self.assign(out_data[0], req[0], mx.nd.array(y))

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            y = out_data[0].asnumpy()
            y[np.arange(y.shape[0]), in_data[1].asnumpy().ravel().astype(int)] -= 1.0
            self.assign(in_grad[0], req[0], mx.nd.array(y))

    class Prop(mx.operator.CustomOpProp):  # type: ignore[name-defined,misc]
        def __init__(self, scale: str = "1") -> None:
            super().__init__(need_top_grad=False)
            self.scale = float(scale)

        def list_arguments(self) -> list:
            return ["data", "label"]

        def list_auxiliary_states(self) -> list:
            return ["shift"]

        def infer_shape(self, in_shape: Any) -> Any:
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], [(in_shape[0][1],)]

        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            return Softmax(self.scale)

    mx.operator.register("golden_softmax")(Prop)


def operators(mx: Any) -> Any:
    """Returns calls of many operators, under their aliases, with attributes of every type."""
    sym = mx.sym
    x, y = sym.Variable("x", shape=(2, 3, 4)), sym.Variable("y")
    parts = sym.split(x, num_outputs=2, axis=2, name="parts")
    found = [
        x + y,
        x - 2,
        2 / (y * y + 1.5),
        x > y,
        sym.broadcast_plus(x, sym.sum(y, axis=(0, 2), keepdims=True, name="total"), name="wide"),
        sym.concat(parts[0], parts[1], y, dim=2, name="joined"),
        sym.ElementWiseSum(x, y, x, name="added"),
        sym.reshape(x, shape=(0, -1), name="flat"),
        sym.transpose(x, axes=(2, 0, 1), name="turned"),
        sym.swapaxes(y, dim1=0, dim2=2, name="swapped"),
        sym.slice(x, begin=(None, 1), end=(None, 3), step=(None, 1), name="cut"),
        sym.slice_axis(x, axis=2, begin=1, end=None, name="cut_axis"),
        sym.clip(x, a_min=-0.5, a_max=1e-05, name="clipped"),
        sym.cast(x, dtype="float16", name="half"),
        sym.mean(x, axis=None, name="middle"),
        sym.argmax(x, axis=1, name="place"),
        sym.topk(x, k=2, axis=-1, ret_typ="value", name="top"),
        sym.expand_dims(x, axis=1, name="longer"),
        sym.flip(x, axis=1, name="flipped"),
        sym.tile(y, reps=(1, 2, 1), name="tiled"),
        sym.stack(x, y, axis=1, name="stacked"),
        sym.LeakyReLU(x, act_type="elu", slope=0.1, name="elu"),
        sym.log_softmax(x, axis=-1, temperature=2.0, name="logs"),
        sym.LayerNorm(x, name="layer"),
        sym.dot(sym.reshape(x, shape=(-1, 4), name="rows"), sym.Variable("matrix"), name="product"),
        sym.one_hot(sym.Variable("index"), depth=3, on_value=2.0, dtype="int32", name="hot"),
        sym.Embedding(sym.Variable("index_"), input_dim=4, output_dim=2, name="embedded"),
        sym.where(x > 0, x, y, name="chosen"),
        sym.sort(y, axis=1, is_ascend=False, name="sorted"),
        sym.norm(x, ord=2, axis=1, name="length"),
        sym.identity(x, name="same"),
    ]
    return sym.Group(found)


NETWORKS = {
    "perceptron": (perceptron, {"data": (4, 5)}),
    "lenet": (lenet, {"data": (2, 1, 28, 28)}),
    "resnet": (resnet, {"data": (2, 3, 12, 12)}),
    "custom": (custom, {"data": (3, 5)}),
    "operators": (operators, {"y": (2, 3, 4), "matrix": (4, 2), "index": (2, 3), "index_": (2, 3)}),
}
# Files of `symbols/` that were written by hand, as older versions of MXNet wrote them, and the shapes of their inputs.
OLDER = {"version_0_8": {"data": (2, 3, 6, 6)}}


def values(name: str, shape: Any) -> np.ndarray:
    """Returns the values of an argument or a state: positive for variances, small integers for labels and indices."""
    generator = np.random.RandomState(zlib.crc32(name.encode()))
    if name.endswith("label") or name.startswith("index"):
        return generator.randint(0, 3, shape).astype("float32")
    drawn = generator.uniform(-1, 1, shape)
    if name.endswith("var"):
        drawn = 0.5 + np.abs(drawn)
    elif len(shape) > 1 and name.endswith("weight"):
        drawn *= 2 / np.sqrt(np.prod(shape[1:]))
    return drawn.astype("float32")


def run(mx: Any, symbol: Any, shapes: Any) -> Any:
    """Returns (arguments by name, states by name, outputs) of a symbol that is run on ``values``."""
    found, _, states = symbol.infer_shape(**shapes)
    numbers = lambda name, shape: mx.nd.array(values(name, shape))
    arguments = {name: numbers(name, shape) for name, shape in zip(symbol.list_arguments(), found, strict=True)}
    auxiliary = {name: numbers(name, shape) for name, shape in zip(symbol.list_auxiliary_states(), states, strict=True)}
    outputs = symbol.bind(mx.cpu(), arguments, aux_states=auxiliary).forward(is_train=False)
    return arguments, auxiliary, outputs
