"""Learn to read handwritten digits with a Module, from a file of records, with a pause in the middle.

The 1,797 real digits that come with scikit-learn are written as pictures into RecordIO files, which ImageRecordIter
reads in batches. A Module trains a convolutional Symbol on them, saves a checkpoint with the states of its optimizer
half-way, and is forgotten; a second Module goes on from the files:

    python examples/module_digits.py              # exits with an error if fewer than 97 % of the test digits are read
    python examples/module_digits.py --quick --output /tmp/module_digits.png
    python examples/module_digits.py --keep DIGITS_FOLDER      # leaves records and checkpoints there
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx
from minpy import recordio

try:
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from tqdm import tqdm  # noqa: F401 - ProgressBar draws with it
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

BATCH, SIDE = 64, 16
OPTIONS = {"learning_rate": 0.005, "wd": 1e-4}


def make_symbol() -> Any:
    """From pictures (batch, 3, 16, 16) to the probabilities of ten digits."""
    rows = mx.sym.var("data")
    for number, filters in enumerate((16, 32), 1):
        rows = mx.sym.Convolution(
            rows, kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True, name=f"conv{number}"
        )
        rows = mx.sym.BatchNorm(rows, fix_gamma=False, name=f"norm{number}")
        rows = mx.sym.Activation(rows, act_type="relu", name=f"relu{number}")
        rows = mx.sym.Pooling(rows, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}")
    rows = mx.sym.FullyConnected(mx.sym.Flatten(rows, name="flat"), num_hidden=64, name="fc1")
    rows = mx.sym.Activation(rows, act_type="relu", name="relu3")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(rows, num_hidden=10, name="fc2"), name="softmax")


def write_records(path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """Write pictures of 16x16 pixels, as PNG with their digits in front, and an index beside them."""
    record = recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w")
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        pixels = np.kron(255 - 255 / 16 * image, np.ones((SIDE // 8, SIDE // 8))).round().astype(np.uint8)
        header = recordio.IRHeader(0, float(label), number, 0)
        record.write_idx(number, recordio.pack_img(header, np.repeat(pixels[:, :, None], 3, axis=2), 9, ".png"))
    record.close()


def read_records(path: Path, shuffle: bool = False) -> Any:
    """An iterator over batches of pictures, from -1 (ink) to 1 (paper)."""
    return mx.io.ImageRecordIter(
        path_imgrec=str(path),
        path_imgidx=str(path.with_suffix(".idx")),
        data_shape=(3, SIDE, SIDE),
        batch_size=BATCH,
        shuffle=shuffle,
        mean_r=127.5,
        mean_g=127.5,
        mean_b=127.5,
        scale=1 / 127.5,
        preprocess_threads=2,
    )


def train(folder: Path, epochs: int, history: list[tuple[float, float]]) -> mx.mod.Module:
    """Train to half of the epochs, save, load what was saved into another Module, and train it to the end."""
    learn, test = read_records(folder / "train.rec", shuffle=True), read_records(folder / "test.rec")
    batches = -(-1437 // BATCH)
    prefix = str(folder / "digits")
    half = max(1, epochs // 2)
    scores: dict[str, float] = {}

    def keep(param: Any) -> None:
        history.append((scores["train"], dict(param.eval_metric.get_name_value())["accuracy"]))

    def fit(module: mx.mod.Module, begin: int, end: int, *callbacks: Any) -> None:
        def remember(param: Any) -> None:
            scores["train"] = dict(param.eval_metric.get_global_name_value())["accuracy"]

        module.fit(
            learn,
            eval_data=test,
            begin_epoch=begin,
            num_epoch=end,
            optimizer="adam",
            optimizer_params=OPTIONS,
            initializer=mx.init.Xavier(rnd_type="gaussian", magnitude=2),
            batch_end_callback=[mx.callback.Speedometer(BATCH, 10), mx.callback.ProgressBar(batches), remember],
            eval_end_callback=keep,
            epoch_end_callback=list(callbacks),
        )

    first = mx.mod.Module(make_symbol())
    fit(first, 0, half, mx.callback.module_checkpoint(first, prefix, period=half, save_optimizer_states=True))
    print(f"\nstopped after {half} epoch(s); the files of a checkpoint: "
          f"{', '.join(sorted(path.name for path in folder.glob('digits*')))}")  # fmt: skip
    second = mx.mod.Module.load(prefix, half, load_optimizer_states=True)
    fit(second, half, epochs)
    return second


def draw(output: Path, history: np.ndarray, images: np.ndarray, labels: np.ndarray, chances: np.ndarray) -> None:
    """The learning curve, and test digits with what was read, those misread first and in red."""
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(4, 6))
    axes = left.subplots()
    axes.plot(np.arange(1, len(history) + 1), 100 * history, ".-", label=["training", "test"])
    axes.axvline(max(1, len(history) // 2), color="gray", linestyle=":", label="stopped, and resumed")
    axes.set(xlabel="epoch", title="Digits read correctly, %")
    axes.legend()
    answers = chances.argmax(axis=1)
    wrong = answers != labels
    right.suptitle(f"{wrong.sum()} of {len(wrong)} test digits are misread; they come first, in red")
    for cell, index in zip(right.subplots(4, 8).flat, np.argsort(~wrong, kind="stable"), strict=False):
        cell.imshow(images[index], cmap="gray_r")
        cell.set_title(f"{answers[index]}  {chances[index].max():.0%}", color="tab:red" if wrong[index] else "black")
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


def run(options: argparse.Namespace, epochs: int, folder: Path) -> int:
    """Write the records, train, report and draw; returns how many test digits are read correctly, of 360."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images.reshape(-1, 8, 8), labels, test_size=360, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    write_records(folder / "train.rec", train_images, train_labels)
    write_records(folder / "test.rec", test_images, test_labels)
    sizes = ", ".join(f"{path.name} {path.stat().st_size:,} bytes" for path in sorted(folder.glob("*.rec")))
    print(f"written: {sizes}")
    history: list[tuple[float, float]] = []
    module = train(folder, epochs, history)
    chances = module.predict(read_records(folder / "test.rec")).asnumpy()
    draw(options.output, np.array(history), test_images, test_labels, chances)
    return int(np.sum(chances.argmax(axis=1) == test_labels))


def main() -> int:
    """Train, report and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run: 2 epochs, and 85 %% instead of 97 %%")
    parser.add_argument("--epochs", type=int, help="passes over the training digits, at least 2 (default: 8)")
    parser.add_argument("--seed", type=int, default=0, help="of initial weights, and of the order (default: 0)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where records and checkpoints stay")
    parser.add_argument(
        "--output", type=picture, default="module_digits.png", help="the picture (default: %(default)s)"
    )
    options = parser.parse_args()
    epochs = options.epochs if options.epochs is not None else 2 if options.quick else 8
    if epochs < 2 or options.seed < 0:
        parser.error("--epochs must be at least 2, and --seed at least 0")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    start = time.perf_counter()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        correct = run(options, epochs, options.keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            correct = run(options, epochs, Path(folder))
    print(f"\n{correct} of 360 test digits read correctly after {time.perf_counter() - start:.1f} s")
    print(f"picture: {options.output}")
    target = 0.85 if options.quick else 0.97
    if correct < target * 360:
        print(f"error: that is less than {target:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
