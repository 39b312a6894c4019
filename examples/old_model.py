"""Run a network that Apache MXNet trained and wrote, without MXNet; then move it on.

`data/digits-symbol.json` and `data/digits-0012.params` were written by MXNet 1.9.1 (see `data/README.md`). The network
is loaded in two of the ways in which programs did that, reads handwritten digits that it has never seen, and is then
fine-tuned with Gluon for a scanner that it was not made for: one that delivers bright ink on dark paper, and turns the
page upside down.

    python examples/old_model.py                      # exits with an error if too few digits are read
    python examples/old_model.py --quick --output /tmp/old_model.png
    python examples/old_model.py --model ~/models/digits --epoch 12
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd

try:
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

HERE = Path(__file__).resolve().parent
TESTED = 360  # digits that were left out when the network was trained
BATCH = 60


class Digits(NamedTuple):
    """Images of shape (1, 8, 8), from 0 (paper) to 1 (ink), and the digits that they show."""

    images: np.ndarray
    labels: np.ndarray


def load_real() -> tuple[Digits, Digits]:
    """The 1,797 digits of scikit-learn in the order of `data/train_digits.py`: to learn from, and the last 360."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    images, labels = digits.images[order, None].astype(np.float32) / 16, digits.target[order]
    return Digits(images[:-TESTED], labels[:-TESTED]), Digits(images[-TESTED:], labels[-TESTED:])


def scanned(digits: Digits) -> Digits:
    """What the other scanner delivers: bright ink on dark paper, upside down."""
    return Digits(np.ascontiguousarray(1 - digits.images[:, :, ::-1, ::-1]), digits.labels)


def read_by_module(prefix: str, epoch: int, test: Digits) -> np.ndarray:
    """The first way: a module, as scripts for prediction bound it; probabilities of the ten digits."""
    module = mx.mod.Module.load(prefix, epoch, label_names=None)
    module.bind(data_shapes=[("data", (BATCH, 1, 8, 8))], for_training=False)
    return module.predict(mx.io.NDArrayIter(test.images, batch_size=BATCH)).asnumpy()


def load_block(prefix: str, epoch: int) -> gluon.SymbolBlock:
    """The second way: a Gluon block, from the scores before the softmax down to the image."""
    net = gluon.SymbolBlock.imports(f"{prefix}-symbol.json", "data", f"{prefix}-{epoch:04d}.params")
    net.hybridize()
    return net


def read(net: gluon.Block, digits: Digits) -> np.ndarray:
    """Probabilities of the ten digits."""
    return net(nd.array(digits.images)).asnumpy()


def accuracy(probabilities: np.ndarray, digits: Digits) -> float:
    """The share of digits that are read correctly."""
    return float(np.mean(probabilities.argmax(axis=1) == digits.labels))


def without_softmax(prefix: str, epoch: int) -> gluon.SymbolBlock:
    """The network up to its scores, for a loss of Gluon's."""
    symbol = mx.sym.load(f"{prefix}-symbol.json")
    net = gluon.SymbolBlock(symbol.get_internals()["fc_output"], mx.sym.var("data"))
    net.load_parameters(f"{prefix}-{epoch:04d}.params", ignore_extra=True)
    net.hybridize()
    return net


def fine_tune(net: gluon.Block, learn: Digits, test: Digits, epochs: int) -> list[float]:
    """Train all layers on what the scanner delivers; returns the accuracy before, and after each epoch."""
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    pairs = gluon.data.ArrayDataset(learn.images, learn.labels.astype(np.float32))
    batches = gluon.data.DataLoader(pairs, batch_size=64, shuffle=True)
    history = [accuracy(read(net, test), test)]
    print(f"{'epoch':>5} {'train loss':>11} {'test acc':>9} {'seconds':>8}")
    with tqdm(total=epochs * len(batches), unit="batch", leave=False, disable=None) as progress:
        for epoch in range(epochs):
            start, total = time.perf_counter(), 0.0
            for images, labels in batches:
                with autograd.record():
                    loss = loss_of(net(images), labels)
                loss.backward()
                trainer.step(len(labels))
                total += float(loss.sum().asscalar())
                progress.update()
            history.append(accuracy(read(net, test), test))
            row = epoch + 1, total / len(learn.labels), history[-1], time.perf_counter() - start
            progress.write("{:5} {:11.4f} {:9.2%} {:8.2f}".format(*row))
    return history


def draw(output: Path, answers: tuple[tuple[str, Digits, np.ndarray], ...], history: list[float]) -> None:
    """Test digits with what the network read in them before and after, and how it learned."""
    figure = Figure(figsize=(14, 4.5), layout="constrained")
    *parts, right = figure.subfigures(1, len(answers) + 1)
    for part, (title, digits, probabilities) in zip(parts, answers, strict=True):
        read_as = probabilities.argmax(axis=1)
        part.suptitle(f"{title}: {np.mean(read_as == digits.labels):.1%}")
        for cell, index in zip(part.subplots(4, 5).flat, range(20), strict=True):
            cell.imshow(digits.images[index, 0], cmap="gray_r", vmin=0, vmax=1)
            right_answer = read_as[index] == digits.labels[index]
            cell.set_title(str(read_as[index]), color="black" if right_answer else "tab:red")
            cell.set(xticks=[], yticks=[])
    axes = right.subplots()
    axes.plot(np.arange(len(history)), 100 * np.array(history), ".-")
    axes.set(xlabel="epoch of fine-tuning", title="Of the new scanner's digits read, %", ylim=(0, 101))
    partial = output.with_name(f".{output.stem}.{os.getpid()}{output.suffix}")
    try:
        figure.savefig(partial, dpi=110)
        partial.replace(output)  # whoever looks sees the old picture or the new one, never half of one
    finally:
        partial.unlink(missing_ok=True)


def picture(text: str) -> Path:
    """The --output path, refused before any work if nothing could be written there."""
    path = Path(text)
    if path.suffix not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"{text!r} should end in .png, .pdf or .svg")
    if not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write to a directory {str(path.parent)!r}")
    return path


def timed(action: Any, *arguments: Any) -> tuple[Any, float]:
    """What a call returns, and how many milliseconds it took."""
    start = time.perf_counter()
    result = action(*arguments)
    return result, 1000 * (time.perf_counter() - start)


def main() -> int:
    """Load, read, fine-tune and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run: 2 epochs of fine-tuning instead of 8")
    parser.add_argument("--model", default=str(HERE / "data" / "digits"), metavar="PREFIX", help="how its files begin")
    parser.add_argument("--epoch", type=int, default=12, help="whose parameters are loaded (default: %(default)s)")
    parser.add_argument("--epochs", type=int, help="passes over the digits from the new scanner")
    parser.add_argument("--seed", type=int, default=0, help="of the order of batches (default: 0)")
    parser.add_argument("--output", type=picture, default="old_model.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    epochs = options.epochs if options.epochs is not None else 2 if options.quick else 8
    if epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, and --seed at least 0")
    mx.random.seed(options.seed)
    np.random.seed(options.seed)  # which the order of batches follows

    learn, test = load_real()
    try:
        by_module, first = timed(read_by_module, options.model, options.epoch, test)
        block, second = timed(load_block, options.model, options.epoch)
    except mx.MXNetError as error:
        parser.error(str(error))
    by_block, third = timed(read, block, test)
    print(
        f"as a module: loaded, and {len(test.labels)} digits read, in {first:.0f} ms: {accuracy(by_module, test):.2%}"
    )
    print(f"as a block:  loaded in {second:.0f} ms, read in {third:.0f} ms: {accuracy(by_block, test):.2%}")
    print(f"largest difference between their probabilities: {abs(by_module - by_block).max():.1e}\n")

    new_learn, new_test = scanned(learn), scanned(test)
    before = read(block, new_test)
    net = without_softmax(options.model, options.epoch)
    history = fine_tune(net, new_learn, new_test, epochs)
    after = read(net, new_test)
    draw(
        options.output,
        (("As it was written", test, by_block), ("A new scanner", new_test, before), ("Fine-tuned", new_test, after)),
        history,
    )
    print(f"\nfrom the new scanner: {history[0]:.2%} of {TESTED} test digits read correctly, now {history[-1]:.2%}")
    print(f"picture: {options.output}")
    target = 0.85 if options.quick else 0.95
    if accuracy(by_block, test) < 0.98 or history[-1] < target:
        print(f"error: less than 98%, or than {target:.0%} after fine-tuning", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
