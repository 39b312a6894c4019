"""Learn to read handwritten digits with LeNet, a convolutional network in Gluon.

The network is that of LeCun et al., *Gradient-Based Learning Applied to Document Recognition* (1998), with rectifiers
and maxima in place of its squashing functions and averages. Without further data it reads the 1,797 real digits that
come with scikit-learn, enlarged from 8x8 to 28x28 pixels; with a folder that holds MNIST's four files
(`train-images-idx3-ubyte`, ..., or the same with `.gz`), it reads those:

    python examples/lenet.py                      # exits with an error if fewer than 98 % of the test digits are read
    python examples/lenet.py --quick --output /tmp/lenet.png
    python examples/lenet.py --mnist ~/mnist --epochs 3
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.gluon import nn

try:
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

BATCH, LEARNING_RATE = 64, 0.004


class Digits(NamedTuple):
    """Images of shape (1, 28, 28), from 0 (paper) to 1 (ink), and the digits that they show."""

    images: np.ndarray
    labels: np.ndarray


def make_network() -> nn.HybridSequential:
    """From images (batch, 1, 28, 28) to ten scores each."""
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(nn.Conv2D(20, kernel_size=5, activation="relu"), nn.MaxPool2D(pool_size=2, strides=2))
        net.add(nn.Conv2D(50, kernel_size=5, activation="relu"), nn.MaxPool2D(pool_size=2, strides=2))
        net.add(nn.Dense(256, activation="relu"), nn.Dropout(0.3), nn.Dense(10))
    net.initialize(mx.init.Xavier(magnitude=2.24))
    return net


def enlarged(images: np.ndarray) -> np.ndarray:
    """Images of 8x8 pixels as ones of 28x28: 24x24 by straight lines between pixels, with a margin of two."""
    larger = nd.contrib.BilinearResize2D(nd.array(images.reshape(-1, 1, 8, 8)), height=24, width=24).asnumpy()
    return np.pad(larger, ((0, 0), (0, 0), (2, 2), (2, 2)))


def load_small() -> tuple[Digits, Digits]:
    """All 1,797 digits of scikit-learn: 1,437 to learn from and 360 to be tested on."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(enlarged(images / 16), labels, test_size=360, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    return Digits(train_images, train_labels), Digits(test_images, test_labels)


def read_idx(folder: Path, name: str) -> np.ndarray:
    """An array of bytes in a file of MNIST's format: two zeros, the kind (8), the number of axes, their lengths."""
    path = folder / name
    if not path.exists():
        path = folder / f"{name}.gz"
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        content = file.read()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is no file of MNIST's: it begins with {content[:4]!r}")
    axes = content[3]
    shape = np.frombuffer(content, ">i4", axes, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if values.size != shape.prod():
        raise ValueError(f"{path} is cut off: it should hold {shape.prod():,} numbers, and holds {values.size:,}")
    return values.reshape(shape)


def load_mnist(folder: Path) -> tuple[Digits, Digits]:
    """MNIST's 60,000 digits to learn from and 10,000 to be tested on."""
    parts = []
    for part in ("train", "t10k"):
        images = read_idx(folder, f"{part}-images-idx3-ubyte").astype(np.float32) / 255
        parts.append(Digits(images[:, None], read_idx(folder, f"{part}-labels-idx1-ubyte").astype(np.int64)))
    return parts[0], parts[1]


def read(net: gluon.Block, digits: Digits) -> np.ndarray:
    """The digit seen in each image."""
    starts = range(0, len(digits.labels), 256)
    answers = [net(nd.array(digits.images[start : start + 256])).asnumpy().argmax(axis=1) for start in starts]
    return np.concatenate(answers)


def moved(image: np.ndarray) -> np.ndarray:
    """The same image up to one pixel beside its place: another one to learn from, of the same digit."""
    return np.roll(image, np.random.randint(-1, 2, 2), axis=(1, 2))


def train(net: gluon.Block, learn: Digits, test: Digits, epochs: int) -> np.ndarray:
    """Adam with a falling rate, on shuffled batches of moved images; returns loss and test accuracy, a row an epoch."""
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    examples = gluon.data.ArrayDataset(learn.images.astype(np.float32), learn.labels.astype(np.float32))
    batches = gluon.data.DataLoader(examples.transform_first(moved), batch_size=BATCH, shuffle=True)
    falling = mx.lr_scheduler.CosineScheduler(epochs * len(batches), LEARNING_RATE)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": LEARNING_RATE, "lr_scheduler": falling})
    accuracy, mean_loss = mx.metric.Accuracy(), mx.metric.Loss()
    history = []
    print(f"{'epoch':>5} {'train loss':>11} {'train acc':>10} {'test acc':>9} {'seconds':>8}")
    with tqdm(total=epochs * len(batches), unit="batch", leave=False, disable=None) as progress:
        for epoch in range(epochs):
            start = time.perf_counter()
            accuracy.reset()
            mean_loss.reset()
            for images, labels in batches:
                with autograd.record():
                    scores = net(images)
                    loss = cross_entropy(scores, labels)
                loss.backward()
                trainer.step(len(labels))
                accuracy.update([labels], [scores])
                mean_loss.update(None, [loss])
                progress.update()
            tested = np.mean(read(net, test) == test.labels)
            history.append((mean_loss.get()[1], accuracy.get()[1], tested))
            row = (epoch + 1, *history[-1], time.perf_counter() - start)
            progress.write("{:5} {:11.4f} {:10.2%} {:9.2%} {:8.2f}".format(*row))
    return np.array(history)


def draw(output: Path, net: gluon.Block, history: np.ndarray, test: Digits, answers: np.ndarray) -> None:
    """The learning curve, the filters of the first layer, and test digits, those misread first and in red."""
    figure = Figure(figsize=(14, 5), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=(4, 4, 5))
    axes = left.subplots()
    axes.plot(np.arange(1, len(history) + 1), 100 * history[:, 1:], ".-", label=["training", "test"])
    axes.set(xlabel="epoch", title="Digits read correctly, %")
    axes.legend()
    filters = net[0].weight.data().asnumpy()[:, 0]
    middle.suptitle("The filters of the first layer")
    for cell, weights in zip(middle.subplots(4, 5).flat, filters, strict=True):
        cell.imshow(weights, cmap="RdBu_r", vmin=-abs(filters).max(), vmax=abs(filters).max())
        cell.set(xticks=[], yticks=[])
    wrong = answers != test.labels
    right.suptitle(f"{wrong.sum()} of {len(wrong)} test digits are misread; they come first, in red")
    for cell, index in zip(right.subplots(4, 6).flat, np.argsort(~wrong, kind="stable"), strict=False):
        cell.imshow(test.images[index, 0], cmap="gray_r")
        cell.set_title(str(answers[index]), color="tab:red" if wrong[index] else "black")
        cell.set(xticks=[], yticks=[])
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
    parser.add_argument("--quick", action="store_true", help="a shorter run: 2 epochs, and 90 %% instead of 98 %%")
    parser.add_argument("--mnist", type=Path, metavar="FOLDER", help="where MNIST's files are")
    parser.add_argument("--epochs", type=int, help="passes over the training digits (default: 20)")
    parser.add_argument("--eager", action="store_true", help="leave the network as it is written: no graph")
    parser.add_argument("--seed", type=int, default=0, help="of initial weights, batches and dropout (default: 0)")
    parser.add_argument("--output", type=picture, default="lenet.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    epochs = options.epochs if options.epochs is not None else 2 if options.quick else 20
    if epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, and --seed at least 0")
    try:
        learn, test = load_small() if options.mnist is None else load_mnist(options.mnist)
    except (OSError, ValueError) as error:
        parser.error(f"--mnist: {error}")

    start = time.perf_counter()
    mx.random.seed(options.seed)
    np.random.seed(options.seed)  # which the order of batches follows
    net = make_network()
    if not options.eager:
        net.hybridize()
    history = train(net, learn, test, epochs)
    answers = read(net, test)
    draw(options.output, net, history, test, answers)
    correct = int(np.sum(answers == test.labels))
    seconds = time.perf_counter() - start
    print(f"\n{correct} of {len(answers)} test digits read correctly after {seconds:.1f} s")
    print(f"picture: {options.output}")
    target = 0.9 if options.quick else 0.98
    if correct < target * len(answers):
        print(f"error: that is less than {target:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
