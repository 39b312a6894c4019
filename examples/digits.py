"""Learn to read handwritten digits with a Gluon network whose operators are written by hand, in each way there is.

The network's dense layers and its loss, a softmax with cross-entropy, are the same mathematics six times: MXNet's own
operators, NumPy functions with the gradients that calculus gives them, functions of NDArrays, MXNet's `CustomOp`,
`autograd.Function`, and C++, which needs a compiler. Whichever is chosen, the network learns the same from the 1,797
real 8x8 digits that come with scikit-learn. It takes a few seconds, prints a table and draws what was learnt:

    python examples/digits.py                     # exits with an error if fewer than 97 % of the test digits are read
    python examples/digits.py --op prop --hybridize
    python examples/digits.py --op native         # compiles examples/native/gemm.cc and softmax_loss.cc
    python examples/digits.py --quick --output /tmp/digits.png
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minpy as mx
from minpy import autograd, customop, gluon, nd

try:
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')


# The two operators, and their gradients. For G = dL/dy, the gradient that arrives from above:
#   y = x Wᵀ + b            dL/dx = G W,  dL/dW = Gᵀ x,  and dL/db is the sum of the rows of G;
#   y = -log softmax(s)[label], one number for each row of scores s:  dL/ds = G (p - 1 at the label), p = softmax(s).

# 1. MXNet's own operators, whose gradients are known. F is mx.nd, or mx.sym where a network becomes a graph.


def builtin_dense(F: Any, x: Any, weight: Any, bias: Any, units: int) -> Any:
    return F.FullyConnected(x, weight, bias, num_hidden=units)


def builtin_loss(F: Any, scores: Any, labels: Any) -> Any:
    return -F.pick(F.log_softmax(scores), labels)


# 2. NumPy functions. A rule gets the operator's answer and its arguments, and returns a function of G.


@customop("numpy")
def numpy_dense(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return x @ weight.T + bias


numpy_dense.def_grad(lambda ans, x, weight, bias: lambda g: g @ weight, argnum=0)
numpy_dense.def_grad(lambda ans, x, weight, bias: lambda g: g.T @ x, argnum=1)
numpy_dense.def_grad(lambda ans, x, weight, bias: lambda g: g.sum(axis=0), argnum=2)


def one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    """A row for each label, 1 at the label and 0 elsewhere."""
    return labels[:, None] == np.arange(classes)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """log p for p = exp(s) / sum(exp(s)), row by row; the shift keeps exp from overflowing and cancels out."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@customop("numpy")
def numpy_loss(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -np.sum(log_softmax(scores) * one_hot(labels, scores.shape[1]), axis=1)


@numpy_loss.def_grad(argnum=0)
def numpy_loss_rule(ans: np.ndarray, scores: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda g: g[:, None] * (np.exp(log_softmax(scores)) - one_hot(labels, scores.shape[1]))


# 3. Functions of NDArrays: the same, with MXNet's operators in place of NumPy's, and gradients of our own.


@customop("mxnet")
def mxnet_dense(x: nd.NDArray, weight: nd.NDArray, bias: nd.NDArray) -> nd.NDArray:
    return nd.broadcast_add(nd.dot(x, weight, transpose_b=True), nd.expand_dims(bias, axis=0))


mxnet_dense.def_grad(lambda ans, x, weight, bias: lambda g: nd.dot(g, weight), argnum=0)
mxnet_dense.def_grad(lambda ans, x, weight, bias: lambda g: nd.dot(g, x, transpose_a=True), argnum=1)
mxnet_dense.def_grad(lambda ans, x, weight, bias: lambda g: nd.sum(g, axis=0), argnum=2)


@customop("mxnet")
def mxnet_loss(scores: nd.NDArray, labels: nd.NDArray) -> nd.NDArray:
    return -nd.sum(nd.log_softmax(scores) * nd.one_hot(labels, scores.shape[1]), axis=1)


@mxnet_loss.def_grad(argnum=0)
def mxnet_loss_rule(ans: nd.NDArray, scores: nd.NDArray, labels: nd.NDArray) -> Callable[[nd.NDArray], nd.NDArray]:
    return lambda g: nd.expand_dims(g, axis=1) * (nd.softmax(scores) - nd.one_hot(labels, scores.shape[1]))


# 4. MXNet's custom operators: what it computes, and for graphs what goes in and what comes out.


class PropDense(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, weight, bias = (array.asnumpy() for array in in_data)
        self.assign(out_data[0], req[0], mx.nd.array(x @ weight.T + bias))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        g, x, weight = out_grad[0].asnumpy(), in_data[0].asnumpy(), in_data[1].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(g @ weight))
        self.assign(in_grad[1], req[1], mx.nd.array(g.T @ x))
        self.assign(in_grad[2], req[2], mx.nd.array(g.sum(axis=0)))


@mx.operator.register("digits_dense")
class PropDenseProp(mx.operator.CustomOpProp):
    def __init__(self, units):
        super().__init__(need_top_grad=True)
        self.units = int(units)  # attributes arrive as text

    def list_arguments(self):
        return ["data", "weight", "bias"]

    def infer_shape(self, in_shape):
        rows, inputs = in_shape[0]
        return [in_shape[0], [self.units, inputs], [self.units]], [[rows, self.units]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return PropDense()


class PropLoss(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        scores, labels = in_data[0].asnumpy(), in_data[1].asnumpy()
        losses = -np.sum(log_softmax(scores) * one_hot(labels, scores.shape[1]), axis=1)
        self.assign(out_data[0], req[0], mx.nd.array(losses))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        g, scores, labels = out_grad[0].asnumpy(), in_data[0].asnumpy(), in_data[1].asnumpy()
        slopes = np.exp(log_softmax(scores)) - one_hot(labels, scores.shape[1])
        self.assign(in_grad[0], req[0], mx.nd.array(g[:, None] * slopes))
        self.assign(in_grad[1], req[1], mx.nd.zeros(labels.shape))


@mx.operator.register("digits_loss")
class PropLossProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["scores", "label"]

    def infer_shape(self, in_shape):
        rows = in_shape[0][0]
        return [in_shape[0], [rows]], [[rows]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return PropLoss()


# 5. autograd.Function: one object for each call, which keeps what its backward needs. It runs on arrays only.


class FunctionDense(autograd.Function):
    def forward(self, x, weight, bias):
        self.save_for_backward(x, weight)
        return nd.array(x.asnumpy() @ weight.asnumpy().T + bias.asnumpy())

    def backward(self, g):
        g, (x, weight) = g.asnumpy(), (array.asnumpy() for array in self.saved_tensors)
        return nd.array(g @ weight), nd.array(g.T @ x), nd.array(g.sum(axis=0))


class FunctionLoss(autograd.Function):
    def forward(self, scores, labels):
        logarithms, hot = log_softmax(scores.asnumpy()), one_hot(labels.asnumpy(), scores.shape[1])
        self.slopes = np.exp(logarithms) - hot
        return nd.array(-np.sum(logarithms * hot, axis=1))

    def backward(self, g):
        return nd.array(g.asnumpy()[:, None] * self.slopes), nd.zeros(g.shape)


# 6. C++: a library has the operators and their gradients, and once it is loaded they are as MXNet's own.


def load_native_operators() -> None:
    """Compile the two sources, if that has not been done before, and load what they become."""
    sources = Path(__file__).resolve().parent / "native"
    for name in ("gemm.cc", "softmax_loss.cc"):
        mx.library.compile(sources / name)


def native_dense(F: Any, x: Any, weight: Any, bias: Any, units: int) -> Any:
    return F.broadcast_add(F.my_gemm(x, weight, transpose_b=True), F.expand_dims(bias, axis=0))


def native_loss(F: Any, scores: Any, labels: Any) -> Any:
    return F.my_softmax_loss(scores, labels)


class Way(NamedTuple):
    """The two operators, as functions of F, arrays or symbols, and for the first the number of outputs."""

    dense: Callable[..., Any]
    loss: Callable[..., Any]


WAYS = {
    "builtin": Way(builtin_dense, builtin_loss),
    "customop": Way(
        lambda F, x, weight, bias, units: numpy_dense(x, weight, bias),
        lambda F, scores, labels: numpy_loss(scores, labels),
    ),
    "mxnet": Way(
        lambda F, x, weight, bias, units: mxnet_dense(x, weight, bias),
        lambda F, scores, labels: mxnet_loss(scores, labels),
    ),
    "prop": Way(
        lambda F, x, weight, bias, units: F.Custom(x, weight, bias, units=units, op_type="digits_dense"),
        lambda F, scores, labels: F.Custom(scores, labels, op_type="digits_loss"),
    ),
    "function": Way(
        lambda F, x, weight, bias, units: FunctionDense()(x, weight, bias),
        lambda F, scores, labels: FunctionLoss()(scores, labels),
    ),
    "native": Way(native_dense, native_loss),
}


# The network, of Gluon's layers and ours: 64 pixels, two hidden layers, 10 scores.

HIDDEN, CLASSES = 256, 10
BATCH, LEARNING_RATE, MOMENTUM = 32, 0.1, 0.9


class Dense(gluon.HybridBlock):
    """A fully connected layer, written in one of the ways."""

    def __init__(self, inputs: int, units: int, way: Way, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.way = units, way
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units, inputs))
            self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any) -> Any:
        return self.way.dense(F, x, weight, bias, self.units)


class SoftmaxLoss(gluon.loss.Loss):
    """The cross-entropy of softmax(scores), written in one of the ways."""

    def __init__(self, way: Way, **kwargs: Any) -> None:
        super().__init__(weight=None, batch_axis=0, **kwargs)
        self.way = way

    def hybrid_forward(self, F: Any, scores: Any, labels: Any) -> Any:
        return self.way.loss(F, scores, labels)


def make_network(way: Way) -> gluon.nn.HybridSequential:
    """From images, a row of 64 pixels each, to ten scores."""
    net = gluon.nn.HybridSequential(prefix="digits_")
    with net.name_scope():
        net.add(gluon.nn.HybridLambda(lambda F, x: x - 0.3))  # the average pixel: layers learn best around zero
        net.add(gluon.nn.Dropout(0.1))
        for inputs in (64, HIDDEN):
            net.add(Dense(inputs, HIDDEN, way), gluon.nn.Activation("relu"), gluon.nn.Dropout(0.25))
        net.add(Dense(HIDDEN, CLASSES, way))
    net.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
    return net


def read(net: gluon.Block, images: np.ndarray) -> np.ndarray:
    """The digit seen in each image. Nothing is recorded here, so dropout lets everything through."""
    return net(nd.array(images)).asnumpy().argmax(axis=1)


class Digits(NamedTuple):
    """Images, each a row of 64 pixels from 0 (paper) to 1 (ink), and the digits that they show."""

    images: np.ndarray
    labels: np.ndarray


def load_data() -> tuple[Digits, Digits]:
    """All 1,797 digits: 1,437 to learn from and 360 to be tested on, the same ones whatever the seed."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16, labels, test_size=360, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    return Digits(train_images, train_labels), Digits(test_images, test_labels)


def check_gradients(net: gluon.nn.HybridSequential, digits: Digits) -> None:
    """Compare the rules of the NumPy functions with central differences: an error names a rule that is wrong."""
    weight, bias = net[2].weight.data().asnumpy(), net[2].bias.data().asnumpy()
    numpy_dense.check(digits.images, weight, bias)
    print(numpy_loss.check(read_scores(net, digits.images), digits.labels), end="\n\n")


def read_scores(net: gluon.Block, images: np.ndarray) -> np.ndarray:
    """The ten scores of each image."""
    return net(nd.array(images)).asnumpy()


def train(net: gluon.Block, loss: gluon.Block, learn: Digits, test: Digits, epochs: int) -> np.ndarray:
    """Stochastic gradient descent with momentum; returns loss, training and test accuracy, a row an epoch."""
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM})
    examples = gluon.data.ArrayDataset(learn.images.astype(np.float32), learn.labels.astype(np.float32))
    batches = gluon.data.DataLoader(examples, batch_size=BATCH, shuffle=True)
    history = []
    print(f"{'epoch':>5} {'train loss':>11} {'train acc':>10} {'test acc':>9} {'seconds':>8}")
    with tqdm(total=epochs * len(batches), unit="batch", leave=False, disable=None) as progress:
        for epoch in range(epochs):
            start = time.perf_counter()
            trainer.set_learning_rate(LEARNING_RATE * (1 - epoch / epochs))
            losses = []
            for images, labels in batches:
                with autograd.record():
                    losses_of_batch = loss(net(images), labels)
                losses_of_batch.backward()
                trainer.step(len(labels))
                losses.extend(losses_of_batch.asnumpy())
                progress.update()
            accuracies = [np.mean(read(net, digits.images) == digits.labels) for digits in (learn, test)]
            history.append((np.mean(losses), *accuracies))
            row = (epoch + 1, *history[-1], time.perf_counter() - start)
            progress.write("{:5} {:11.6f} {:10.2%} {:9.2%} {:8.2f}".format(*row))
    return np.array(history)


def draw(output: Path, history: np.ndarray, test: Digits, answers: np.ndarray) -> None:
    """One picture: the learning curves, and test digits with the network's answers, its mistakes first and in red."""
    figure = Figure(figsize=(13, 6.5), layout="constrained")
    curves, gallery = figure.subfigures(1, 2, width_ratios=(5, 8))
    top, bottom = curves.subplots(2, sharex=True)
    epochs = np.arange(1, len(history) + 1)
    top.plot(epochs, history[:, 0], ".-", color="tab:gray")
    bottom.plot(epochs, 100 * history[:, 1], ".-", label=f"training digits: {history[-1, 1]:.2%} in the end")
    bottom.plot(epochs, 100 * history[:, 2], ".-", label=f"test digits: {history[-1, 2]:.2%} in the end")
    top.set_title("Training loss, with dropout")
    top.set_ylim(bottom=0)
    bottom.set_title("Digits read correctly, %")
    bottom.set_xlabel("epoch")
    bottom.xaxis.get_major_locator().set_params(integer=True)
    bottom.legend()

    wrong = answers != test.labels
    gallery.suptitle(f"The network misreads {wrong.sum()} of {len(wrong)} test digits; they come first, in red")
    shown = np.argsort(~wrong, kind="stable")[:40]
    for axes, index in zip(gallery.subplots(5, 8).flat, shown, strict=True):
        color = "tab:red" if wrong[index] else "black"
        mistake = f", is {test.labels[index]}" if wrong[index] else ""
        axes.imshow(test.images[index].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"read {answers[index]}{mistake}", color=color, fontsize=11)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=color, linewidth=2.5 if wrong[index] else 0.5)

    partial = output.with_name(f".{output.stem}.{os.getpid()}{output.suffix}")
    try:
        figure.savefig(partial, dpi=110)
        partial.replace(output)  # whoever looks sees the old picture or the new one, never half of one
    finally:
        partial.unlink(missing_ok=True)


def picture(text: str) -> Path:
    """The --output path, refused before any training if nothing could be written there."""
    path = Path(text)
    if path.suffix not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"{text!r} should end in .png, .pdf or .svg")
    if not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write to a directory {str(path.parent)!r}")
    return path


def main() -> int:
    """Train, report and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--op", choices=WAYS, default="customop", help="how operators are written (default: %(default)s)"
    )
    parser.add_argument("--hybridize", action="store_true", help="make the network a graph; not for --op function")
    parser.add_argument("--quick", action="store_true", help="a shorter run: 5 epochs, and 95 %% instead of 97 %%")
    parser.add_argument("--epochs", type=int, help="passes over the training digits (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights, batches and dropout (default: 0)")
    parser.add_argument("--output", type=picture, default="digits.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    target = 0.95 if options.quick else 0.97
    epochs = options.epochs if options.epochs is not None else 5 if options.quick else 20
    if epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, and --seed at least 0")
    if options.hybridize and options.op == "function":
        parser.error("--hybridize: an autograd.Function runs on arrays, and a hybridized network is a graph")

    if options.op == "native":
        load_native_operators()
    start = time.perf_counter()
    mx.random.seed(options.seed)
    np.random.seed(options.seed)  # which the order of batches follows
    learn, test = load_data()
    net, loss = make_network(WAYS[options.op]), SoftmaxLoss(WAYS[options.op])
    if options.hybridize:
        net.hybridize()
        loss.hybridize()
    check_gradients(net, Digits(learn.images[:4], learn.labels[:4]))
    history = train(net, loss, learn, test, epochs)
    answers = read(net, test.images)
    draw(options.output, history, test, answers)

    correct = int(np.sum(answers == test.labels))
    accuracy = correct / len(answers)
    seconds = time.perf_counter() - start
    print(f"\n{correct} of {len(answers)} test digits read correctly ({accuracy:.2%}) after {seconds:.1f} s")
    print(f"picture: {options.output}")
    if accuracy < target:
        print(f"error: the test accuracy, {accuracy:.2%}, is below the target of {target:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
