"""Learn to read handwritten digits with operators written by hand in NumPy.

Three operators (a dense layer, its activation and the loss) are plain NumPy functions, each with the gradient that
calculus gives it. ``@customop`` makes them differentiable; the rest is an ordinary training loop over the 1,797 real
8x8 digits that come with scikit-learn. It takes a few seconds, prints a table and draws what was learnt:

    python examples/digits.py                     # exits with an error if fewer than 97 % of the test digits are read
    python examples/digits.py --quick --output /tmp/digits.png
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minpy as mx
from minpy import autograd, customop, nd

try:
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')


# The operators. A rule gets the operator's answer and its arguments, and returns a function that takes
# g = dL/d(answer), the gradient of the loss L that arrives from above, to dL/d(argument).


@customop("numpy")
def dense(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A fully connected layer, y = x W + b; each row of x, and of y, belongs to one digit."""
    return x @ weight + bias


# With G = dL/dy:  dL/dx = G Wᵀ,  dL/dW = xᵀ G,  and dL/db is the sum of the rows of G.
dense.def_grad(lambda ans, x, weight, bias: lambda g: g @ weight.T, argnum=0)
dense.def_grad(lambda ans, x, weight, bias: lambda g: x.T @ g, argnum=1)
dense.def_grad(lambda ans, x, weight, bias: lambda g: g.sum(axis=0), argnum=2)


@customop("numpy")
def relu(x: np.ndarray) -> np.ndarray:
    """The activation, y = max(x, 0), element by element."""
    return np.maximum(x, 0)


# The slope is 1 where x > 0 and 0 elsewhere, so the gradient passes where the activation did.
relu.def_grad(lambda ans, x: lambda g: g * (x > 0))


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """log p for p = exp(s) / sum(exp(s)), row by row; the shift keeps exp from overflowing and cancels out."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@customop("numpy")
def softmax_loss(scores: np.ndarray, labels: np.ndarray) -> np.floating:
    """The cross-entropy, L = -mean(log p[label]), of the probabilities p = softmax(scores)."""
    return -np.mean(log_softmax(scores)[np.arange(len(labels)), labels])


@softmax_loss.def_grad(argnum=0)
def softmax_loss_rule(ans: np.ndarray, scores: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """dL/ds = (p - y) / n for n digits, y being 1 at the label and 0 elsewhere. (Integer labels need no rule.)"""
    one_hot = labels[:, None] == np.arange(scores.shape[1])
    return lambda g: g * (np.exp(log_softmax(scores)) - one_hot) / len(labels)


# The network: 64 pixels, two hidden layers, 10 scores. Built-in operators (Dropout) mix with hand-written ones.

SIZES = (64, 256, 256, 10)
BATCH, LEARNING_RATE, MOMENTUM = 32, 0.1, 0.9

Layers = list[tuple[nd.NDArray, nd.NDArray]]


def make_layers(rng: np.random.Generator) -> Layers:
    """A (weight, bias) pair for each layer, scaled so that signals keep their size from layer to layer."""
    layers = []
    for inputs, outputs in pairwise(SIZES):
        weight = nd.array(rng.normal(scale=np.sqrt(2 / inputs), size=(inputs, outputs)))
        bias = nd.zeros(outputs)
        weight.attach_grad()
        bias.attach_grad()
        layers.append((weight, bias))
    return layers


def network(layers: Layers, images: np.ndarray) -> nd.NDArray:
    """Ten scores for each image, the highest for the digit that it most likely shows."""
    x = nd.array(images - 0.3)  # the average pixel is 0.3, and layers learn best from inputs around zero
    x = nd.Dropout(x, p=0.1)
    for weight, bias in layers[:-1]:
        x = nd.Dropout(relu(dense(x, weight, bias)), p=0.25)
    return dense(x, *layers[-1])


def read(layers: Layers, images: np.ndarray) -> np.ndarray:
    """The digit seen in each image. Nothing is recorded here, so dropout lets everything through."""
    return network(layers, images).asnumpy().argmax(axis=1)


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


def check_gradients(layers: Layers, digits: Digits) -> None:
    """Compare the rules above with central differences: an error names the rule that is wrong, if one is."""
    weight, bias = layers[0]
    dense.check(digits.images, weight, bias)
    relu.check(dense(digits.images, weight, bias))
    print(softmax_loss.check(network(layers, digits.images), digits.labels), end="\n\n")


def train(layers: Layers, learn: Digits, test: Digits, epochs: int, rng: np.random.Generator) -> np.ndarray:
    """Stochastic gradient descent with momentum; returns loss, training and test accuracy, a row an epoch."""
    parameters = [parameter for layer in layers for parameter in layer]
    velocities = [nd.zeros(parameter.shape) for parameter in parameters]
    batches = -(-len(learn.labels) // BATCH)
    history = []
    print(f"{'epoch':>5} {'train loss':>11} {'train acc':>10} {'test acc':>9} {'seconds':>8}")
    with tqdm(total=epochs * batches, unit="batch", leave=False, disable=None) as progress:
        for epoch in range(epochs):
            start = time.perf_counter()
            rate = LEARNING_RATE * (1 - epoch / epochs)
            losses = []
            for batch in np.array_split(rng.permutation(len(learn.labels)), batches):
                with autograd.record():
                    loss = softmax_loss(network(layers, learn.images[batch]), learn.labels[batch])
                loss.backward()
                for parameter, velocity in zip(parameters, velocities, strict=True):
                    velocity[:] = MOMENTUM * velocity - rate * parameter.grad
                    parameter += velocity
                losses.append(loss.asscalar())
                progress.update()
            accuracies = [np.mean(read(layers, digits.images) == digits.labels) for digits in (learn, test)]
            history.append((np.mean(losses), *accuracies))
            row = (epoch + 1, *history[-1], time.perf_counter() - start)
            progress.write("{:5} {:11.4f} {:10.2%} {:9.2%} {:8.2f}".format(*row))
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
    parser.add_argument("--quick", action="store_true", help="a shorter run: 5 epochs, and 95 %% instead of 97 %%")
    parser.add_argument("--epochs", type=int, help="passes over the training digits (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights, batches and dropout (default: 0)")
    parser.add_argument("--output", type=picture, default="digits.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    target = 0.95 if options.quick else 0.97
    epochs = options.epochs if options.epochs is not None else 5 if options.quick else 20
    if epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, and --seed at least 0")

    start = time.perf_counter()
    mx.random.seed(options.seed)
    rng = np.random.default_rng(options.seed)
    learn, test = load_data()
    layers = make_layers(rng)
    check_gradients(layers, Digits(learn.images[:4], learn.labels[:4]))
    history = train(layers, learn, test, epochs, rng)
    answers = read(layers, test.images)
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
