"""Learn to read handwritten digits with a symbolic network: the graph first, then the numbers.

The network is a `Symbol`: two convolutions with batch normalization, and between them an activation that this file
writes by hand, in NumPy, as MXNet's custom operators are written. `simple_bind` gives it arrays; a dozen lines of
gradient descent train it on the 1,797 real 8x8 digits that come with scikit-learn. Then it is saved as MXNet saves
networks, loaded again, and must predict exactly what it predicted before. It takes seconds:

    python examples/symbolic_digits.py            # exits with an error if fewer than 98 % of the test digits are read
    python examples/symbolic_digits.py --quick --output /tmp/symbolic_digits

The folder then holds

    digits-symbol.json, digits.params             the network, which MXNet 1.9.1 loads, too
    digits.gv                                     the network as a graph for Graphviz; with its `dot`, also digits.svg
    digits.png                                    how it learned, its first filters, and its activations
    predictions.npz                               the test digits, and the probabilities that the network gives them
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minpy as mx
from minpy import nd
from minpy.executor import Executor

try:
    import graphviz  # noqa: F401 (used by plot_network: better missed now than after the training)
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')


# The operator. With s = 1 / (1 + exp(-alpha x)), which NumPy computes as (1 + tanh(alpha x / 2)) / 2 without ever
# overflowing, the activation is y = x s: half a line for alpha = 0, close to max(x, 0) for a large alpha. Each channel
# learns an alpha of its own. As ds/dx = alpha s (1 - s) and ds/dalpha = x s (1 - s), the gradients of y are
#     dy/dx = s + alpha x s (1 - s)        and        dy/dalpha = x x s (1 - s).


class Swish(mx.operator.CustomOp):
    """The activation and its gradients, on images of shape (batch, channels, height, width)."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x, alpha = in_data[0].asnumpy(), in_data[1].asnumpy()[:, None, None]
        s = (1 + np.tanh(alpha * x / 2)) / 2
        self.assign(out_data[0], req[0], mx.nd.array(x * s))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, alpha = in_data[0].asnumpy(), in_data[1].asnumpy()[:, None, None]
        g = out_grad[0].asnumpy()
        s = (1 + np.tanh(alpha * x / 2)) / 2
        bend = x * s * (1 - s)
        self.assign(in_grad[0], req[0], mx.nd.array(g * (s + alpha * bend)))
        self.assign(in_grad[1], req[1], mx.nd.array(np.sum(g * x * bend, axis=(0, 2, 3))))


@mx.operator.register("swish")
class SwishProp(mx.operator.CustomOpProp):
    """What a graph has to know: the operator's inputs, and that there is one alpha for each channel."""

    def list_arguments(self):
        return ["data", "alpha"]

    def infer_shape(self, in_shape):
        data = in_shape[0]
        return [data, [data[1]]], [data], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Swish()


# The network. Variables that are not given (weights, alpha, moving averages, the label) are made and named by sym.

FILTERS, HIDDEN_FILTERS = 24, 48
BATCH, LEARNING_RATE, MOMENTUM, DECAY = 32, 0.05, 0.9, 1e-3
INPUTS = ("data", "softmax_label")


def network() -> mx.Symbol:
    """From images (batch, 1, 8, 8) to ten probabilities each; no array exists yet."""
    x = mx.sym.var("data")
    x = mx.sym.Convolution(x, kernel=(5, 5), pad=(2, 2), num_filter=FILTERS, no_bias=True, name="conv1")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="norm1")
    x = mx.sym.Custom(x, op_type="swish", name="swish1")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=HIDDEN_FILTERS, no_bias=True, name="conv2")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="norm2")
    x = mx.sym.Activation(x, act_type="relu", name="relu2")
    x = mx.sym.Dropout(mx.sym.Flatten(x, name="flat"), p=0.5, name="drop")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="scores")
    return mx.sym.SoftmaxOutput(x, normalization="batch", name="softmax")


def check_gradients(rng: np.random.Generator) -> None:
    """Compare the operator's gradients with central differences: an error names the input whose gradient is wrong."""
    swish = mx.sym.Custom(mx.sym.var("x"), op_type="swish", name="swish")
    mx.test_utils.check_numeric_gradient(swish, [rng.normal(size=(2, 3, 4, 4)), [0.5, 1, 2]], rtol=1e-2, atol=1e-3)


class Executors(dict[int, Executor]):
    """Executors by the size of a batch, made when they are needed; all share their parameters and statistics."""

    def __init__(self, net: mx.Symbol) -> None:
        requests = {name: "null" if name in INPUTS else "write" for name in net.list_arguments()}
        self.first = net.simple_bind(mx.cpu(), grad_req=requests, data=(BATCH, 1, 8, 8))
        super().__init__({BATCH: self.first})

    def __missing__(self, size: int) -> Executor:
        self[size] = self.first.reshape(data=(size, 1, 8, 8), softmax_label=(size,), allow_up_sizing=True)
        return self[size]

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Ten probabilities for each image: no dropout, and the moving averages in place of a batch's statistics."""
        answers = [self[len(batch)].forward(is_train=False, data=batch)[0].asnumpy() for batch in batches(images)]
        return np.concatenate(answers)


def batches(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Row by row, BATCH at a time; the last batch holds what is left."""
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))


def initialize(executors: Executors, rng: np.random.Generator) -> None:
    """Weights scaled so that signals keep their size from layer to layer; ones where things are multiplied."""
    for name, array in {**executors.first.arg_dict, **executors.first.aux_dict}.items():
        if name.endswith("_weight"):
            array[:] = rng.normal(scale=np.sqrt(2 / np.prod(array.shape[1:])), size=array.shape)
        elif name.endswith(("_gamma", "_alpha", "_moving_var")):
            array[:] = 1


# The data, which is that of examples/digits.py, and the training.


class Digits(NamedTuple):
    """Images of shape (1, 8, 8), from 0 (paper) to 1 (ink), and the digits that they show."""

    images: np.ndarray
    labels: np.ndarray


def load_data() -> tuple[Digits, Digits]:
    """All 1,797 digits: 1,437 to learn from and 360 to be tested on, the same ones whatever the seed."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
    split = train_test_split(images, labels, test_size=360, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    return Digits(train_images, train_labels), Digits(test_images, test_labels)


def shifted(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each image moved by up to one pixel: what a digit is does not depend on where it is."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (8, 8), axis=(2, 3))
    down, right = rng.integers(3, size=(2, len(images)))
    return windows[np.arange(len(images)), :, down, right]


def train(executors: Executors, learn: Digits, test: Digits, epochs: int, rng: np.random.Generator) -> np.ndarray:
    """Stochastic gradient descent with momentum; returns loss, training and test accuracy, a row an epoch."""
    gradients = {name: array for name, array in executors.first.grad_dict.items() if array is not None}
    parameters = {name: executors.first.arg_dict[name] for name in gradients}
    velocities = {name: nd.zeros(array.shape) for name, array in parameters.items()}
    history = []
    print(f"{'epoch':>5} {'train loss':>11} {'train acc':>10} {'test acc':>9} {'seconds':>8}")
    with tqdm(total=epochs * -(-len(learn.labels) // BATCH), unit="batch", leave=False, disable=None) as progress:
        for epoch in range(epochs):
            start = time.perf_counter()
            rate = LEARNING_RATE * (1 - epoch / epochs)
            losses = []
            for batch in batches(rng.permutation(len(learn.labels))):
                images, labels = shifted(learn.images[batch], rng), learn.labels[batch]
                executor = executors[len(batch)]
                executor.forward(is_train=True, data=images, softmax_label=labels)
                executor.backward()
                for name, velocity in velocities.items():
                    velocity[:] = MOMENTUM * velocity - rate * (gradients[name] + DECAY * parameters[name])
                    parameters[name] += velocity
                losses.extend(-np.log(executor.outputs[0].asnumpy()[np.arange(len(labels)), labels]))
                progress.update()
            answers = [executors.predict(digits.images).argmax(axis=1) for digits in (learn, test)]
            accuracies = [np.mean(found == digits.labels) for found, digits in zip(answers, (learn, test), strict=True)]
            history.append((np.mean(losses), *accuracies))
            row = (epoch + 1, *history[-1], time.perf_counter() - start)
            progress.write("{:5} {:11.4f} {:10.2%} {:9.2%} {:8.2f}".format(*row))
    return np.array(history)


# What is kept: the network, and pictures.


def save_network(folder: Path, net: mx.Symbol, executors: Executors) -> None:
    """Write the graph, and the arrays by the names that it gives them: `arg:` learned, `aux:` averaged."""
    net.save(folder / "digits-symbol.json")
    learned = {f"arg:{name}": array for name, array in executors.first.arg_dict.items() if name not in INPUTS}
    averaged = {f"aux:{name}": array for name, array in executors.first.aux_dict.items()}
    mx.nd.save(folder / "digits.params", learned | averaged)


def load_network(folder: Path) -> Executors:
    """Bind the graph that was saved to the arrays that were saved."""
    executors = Executors(mx.sym.load(folder / "digits-symbol.json"))
    arrays = mx.nd.load(folder / "digits.params")
    learned, averaged = (
        {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)}
        for kind in ("arg:", "aux:")
    )
    executors.first.copy_params_from(learned, averaged)
    return executors


def draw_graph(folder: Path, net: mx.Symbol) -> None:
    """Print the graph; write it for Graphviz, and draw it if its program `dot` is installed."""
    shape = {"data": (BATCH, 1, 8, 8)}
    mx.viz.print_graph(net, shape=shape)
    graph = mx.viz.plot_network(net, title="digits", shape=shape, node_attrs={"fixedsize": "false"})
    write(folder / "digits.gv", graph.source.encode())
    if shutil.which("dot"):
        write(folder / "digits.svg", graph.pipe(format="svg"))


def draw(folder: Path, history: np.ndarray, parameters: dict[str, nd.NDArray]) -> None:
    """One picture: the learning curves, the filters of the first layer, and the activations that were learned."""
    figure = Figure(figsize=(14, 6), layout="constrained")
    curves, gallery, right = figure.subfigures(1, 3, width_ratios=(6, 4, 5))
    top, bottom = curves.subplots(2, sharex=True)
    epochs = np.arange(1, len(history) + 1)
    top.plot(epochs, history[:, 0], ".-", color="tab:gray")
    bottom.plot(epochs, 100 * history[:, 1], ".-", label=f"training digits: {history[-1, 1]:.2%} in the end")
    bottom.plot(epochs, 100 * history[:, 2], ".-", label=f"test digits: {history[-1, 2]:.2%} in the end")
    top.set_title("Training loss, with dropout and shifts")
    top.set_ylim(bottom=0)
    bottom.set_title("Digits read correctly, %")
    bottom.set_xlabel("epoch")
    bottom.xaxis.get_major_locator().set_params(integer=True)
    bottom.legend()

    filters = parameters["conv1_weight"].asnumpy()[:, 0]
    largest = abs(filters).max()
    gallery.suptitle(f"The {FILTERS} filters of the first layer:\nred wants ink, blue wants paper")
    for axes, weights in zip(gallery.subplots(FILTERS // 4, 4).flat, filters, strict=True):
        axes.imshow(weights, cmap="RdBu_r", vmin=-largest, vmax=largest)
        axes.set(xticks=[], yticks=[])

    x = np.linspace(-5, 3, 200)
    axes = right.subplots()
    for alpha in parameters["swish1_alpha"].asnumpy():
        axes.plot(x, x * (1 + np.tanh(alpha * x / 2)) / 2, color="tab:green", alpha=0.5, linewidth=1)
    axes.plot(x, x * (1 + np.tanh(x / 2)) / 2, "--", color="black", linewidth=1, label="before training, alpha = 1")
    axes.set_title(f"The activations of its {FILTERS} channels")
    axes.legend()

    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    write(folder / "digits.png", content.getvalue())


def write(path: Path, content: bytes) -> None:
    """Write a file so that whoever looks sees the old one or the new one, never half of one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def folder_to_fill(text: str) -> Path:
    """The --output folder, made if need be, and refused before any training if nothing could be written there."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot make the folder {text!r}: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"cannot write to the folder {text!r}")
    return path


def main() -> int:
    """Train, save, load, compare and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run: 5 epochs, and 95 %% instead of 98 %%")
    parser.add_argument("--epochs", type=int, help="passes over the training digits (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, batches, shifts and dropout (default: 0)")
    parser.add_argument(
        "--output", type=folder_to_fill, default="symbolic_digits", metavar="FOLDER", help="default: %(default)s"
    )
    options = parser.parse_args()
    target = 0.95 if options.quick else 0.98
    epochs = options.epochs if options.epochs is not None else 5 if options.quick else 30
    if epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, and --seed at least 0")

    start = time.perf_counter()
    np.random.seed(options.seed)
    mx.random.seed(options.seed)
    rng = np.random.default_rng(options.seed)
    learn, test = load_data()
    check_gradients(rng)
    net = network()
    draw_graph(options.output, net)
    print()
    executors = Executors(net)
    initialize(executors, rng)
    history = train(executors, learn, test, epochs, rng)
    draw(options.output, history, executors.first.arg_dict)

    save_network(options.output, net, executors)
    probabilities = executors.predict(test.images)
    again = load_network(options.output).predict(test.images)
    content = io.BytesIO()
    np.savez(content, images=test.images, labels=test.labels, probabilities=probabilities)
    write(options.output / "predictions.npz", content.getvalue())

    correct = int(np.sum(probabilities.argmax(axis=1) == test.labels))
    accuracy = correct / len(test.labels)
    seconds = time.perf_counter() - start
    print(f"\n{correct} of {len(test.labels)} test digits read correctly ({accuracy:.2%}) after {seconds:.1f} s")
    worst = abs(probabilities - again).max()
    if worst > 1e-5:  # a program that has become native code rounds otherwise than one that has not yet
        print(f"error: saved and loaded, the network predicts something else, by up to {worst:.3g}", file=sys.stderr)
        return 1
    print("saved and loaded again, the network predicts exactly the same")
    print(f"files: {options.output}{os.sep}")
    if accuracy < target:
        print(f"error: the test accuracy, {accuracy:.2%}, is below the target of {target:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):  # on matrices this small, threads wait for each other more than they compute
        sys.exit(main())
