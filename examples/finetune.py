"""Fine-tune a network of the model zoo on images in folders: one folder a class.

Without further data, the folders are filled with pieces of the two photographs that come with scikit-learn; those that
are tested lie in a part of them that training never saw. The network (a MobileNet, by default) brings weights from one
of MXNet's files (`--weights`), or learns first to read the 1,797 digits of scikit-learn. Then it gets a new last layer,
which is trained alone, and at last everything is trained, in smaller steps:

    python examples/finetune.py            # exits with an error if fewer than 95 % of the test images are recognized
    python examples/finetune.py --quick --output /tmp/finetune.png
    python examples/finetune.py --folder ~/pets --model resnet18_v1 --weights ~/.mxnet/models --side 224 --workers 2
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.gluon.data.vision import ImageFolderDataset, transforms
from minpy.gluon.model_zoo import vision

try:
    from matplotlib.figure import Figure
    from PIL import Image
    from sklearn.datasets import load_digits, load_sample_images
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

BATCH, PIECE, STEP = 32, 64, 32
# What images of ImageNet have in red, green and blue: the zoo's weights were made for these.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def cut_photographs(folder: Path) -> None:
    """Write pieces of scikit-learn's photographs: train/CLASS/*.png from their left parts, test/CLASS/*.png from the
    right third.
    """
    photographs = load_sample_images()
    for path, image in zip(photographs.filenames, photographs.images, strict=True):
        height, width = image.shape[:2]
        border = 2 * width // 3
        for part, left, right in (("train", 0, border), ("test", border, width)):
            target = folder / part / Path(path).stem
            target.mkdir(parents=True)
            for y in range(0, height - PIECE + 1, STEP):
                for x in range(left, right - PIECE + 1, STEP):
                    Image.fromarray(image[y : y + PIECE, x : x + PIECE]).save(target / f"{y:03}_{x:03}.png")


def find_images(folder: Path | None, scratch: Path) -> tuple[Any, Any, list[str]]:
    """Images to learn from and to be tested on, and the names of the classes."""
    if folder is None:
        cut_photographs(scratch)
        learn, test = ImageFolderDataset(str(scratch / "train")), ImageFolderDataset(str(scratch / "test"))
        return learn, test, learn.synsets
    images = ImageFolderDataset(str(folder))
    order = np.random.permutation(len(images)).tolist()
    tested = max(1, len(order) // 5)
    learn = gluon.data.SimpleDataset([images[index] for index in order[tested:]])
    return learn, gluon.data.SimpleDataset([images[index] for index in order[:tested]]), images.synsets


def loaders(learn: Any, test: Any, side: int, workers: int) -> tuple[Any, Any]:
    """Batches of images (batch, 3, side, side) and labels: shuffled and flipped at random, and as they are."""
    tensor = [transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)]
    varied = transforms.Compose([transforms.Resize((side, side)), transforms.RandomFlipLeftRight(), *tensor])
    plain = transforms.Compose([transforms.Resize((side, side)), *tensor])
    return (
        gluon.data.DataLoader(learn.transform_first(varied), BATCH, shuffle=True, num_workers=workers),
        gluon.data.DataLoader(test.transform_first(plain), BATCH, num_workers=workers),
    )


def digits() -> Any:
    """Batches of scikit-learn's digits, enlarged to 32x32 pixels, the same in red, green and blue."""
    images, labels = load_digits(return_X_y=True)
    larger = nd.contrib.BilinearResize2D(nd.array(images.reshape(-1, 1, 8, 8) / 8 - 1), height=32, width=32)
    examples = gluon.data.ArrayDataset(np.repeat(larger.asnumpy(), 3, axis=1), labels.astype(np.float32))
    return gluon.data.DataLoader(examples, BATCH, shuffle=True)


def train(name: str, net: gluon.Block, parameters: Any, batches: Any, epochs: int, rate: float) -> list[float]:
    """Adam on some of the parameters; returns the accuracy in each epoch."""
    trainer = gluon.Trainer(parameters, "adam", {"learning_rate": rate})
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    accuracy, mean_loss = mx.metric.Accuracy(), mx.metric.Loss()
    history = []
    with tqdm(total=epochs * len(batches), desc=name, unit="batch", leave=False, disable=None) as progress:
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
            history.append(accuracy.get()[1])
            row = (name, epoch + 1, mean_loss.get()[1], history[-1], time.perf_counter() - start)
            progress.write("{:<20} {:5} {:8.4f} {:9.2%} {:8.2f}".format(*row))
    return history


def predict(net: gluon.Block, batches: Any) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each class for each image, and the classes."""
    scores, labels = zip(
        *[(net(images).softmax().asnumpy(), labels.asnumpy()) for images, labels in batches], strict=True
    )
    return np.concatenate(scores), np.concatenate(labels)


def make_network(options: argparse.Namespace, classes: int, history: dict[str, list[float]]) -> gluon.Block:
    """A network of the zoo whose features have learned something, with a new last layer."""
    if options.weights is not None:
        source = vision.get_model(options.model, pretrained=True, root=str(options.weights))
    else:
        source = vision.get_model(options.model, classes=10)
        source.initialize(mx.init.Xavier(magnitude=2))
        source.hybridize()
        epochs = 1 if options.quick else 3
        history["digits"] = train("digits", source, source.collect_params(), digits(), epochs, 0.003)
    net = vision.get_model(options.model, classes=classes)
    net.features = source.features
    net.output.initialize(mx.init.Xavier())
    return net


def draw(
    output: Path, history: dict[str, list[float]], test: Any, names: list[str], scores: np.ndarray, labels: np.ndarray
) -> None:
    """The learning curves, and test images with what the network takes them for: those that it knows least first."""
    figure = Figure(figsize=(14, 6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 6))
    axes = left.subplots()
    place = 1
    for name, values in history.items():
        axes.plot(np.arange(place, place + len(values)), 100 * np.array(values), ".-", label=name)
        place += len(values)
    axes.set(xlabel="epoch", title="Training images answered correctly, %", ylim=(0, 105))
    axes.legend()
    answers = scores.argmax(axis=1)
    wrong = answers != labels
    right.suptitle(
        f"{wrong.sum()} of {len(wrong)} test images are taken for another class; the least sure ones come first"
    )
    least = np.argsort(scores[np.arange(len(labels)), labels.astype(int)])
    for cell, index in zip(right.subplots(4, 8).flat, least, strict=False):
        cell.imshow(test[int(index)][0].asnumpy())
        text = f"{names[answers[index]]} {scores[index].max():.0%}"
        cell.set_title(text, fontsize=8, color="tab:red" if wrong[index] else "black")
        cell.axis("off")
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
    parser.add_argument("--quick", action="store_true", help="a shorter run on smaller images; 80 %% instead of 95 %%")
    parser.add_argument("--folder", type=Path, help="images in folders, one a class; a fifth of them is tested on")
    parser.add_argument("--model", default="mobilenet0.25", help="of the zoo (default: %(default)s)")
    parser.add_argument("--weights", type=Path, metavar="FOLDER", help="where the model's file of weights is")
    parser.add_argument("--side", type=int, help=f"of the images, in pixels (default: {PIECE}; 32 if --quick)")
    parser.add_argument("--workers", type=int, default=0, help="processes that read images (default: none)")
    parser.add_argument("--seed", type=int, default=0, help="of initial weights and batches (default: 0)")
    parser.add_argument("--output", type=picture, default="finetune.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    if options.side is None:
        options.side = PIECE // 2 if options.quick else PIECE
    if options.side < 32 or options.workers < 0 or options.seed < 0:
        parser.error("--side must be at least 32, --workers and --seed at least 0")

    start = time.perf_counter()
    mx.random.seed(options.seed)
    np.random.seed(options.seed)  # which the order of batches follows
    history: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        learn, test, names = find_images(options.folder, Path(scratch))
        batches, tested = loaders(learn, test, options.side, options.workers)
        print(f"{len(learn)} images to learn from, {len(test)} to be tested on: {', '.join(names)}")
        print(f"{'':20} {'epoch':>5} {'loss':>8} {'accuracy':>9} {'seconds':>8}")
        try:
            net = make_network(options, len(names), history)
        except mx.MXNetError as error:
            parser.error(str(error))
        net.hybridize()
        last, everything = net.output.collect_params(), net.collect_params()
        history["the last layer"] = train("the last layer", net, last, batches, 1 if options.quick else 2, 0.01)
        history["everything"] = train("everything", net, everything, batches, 3 if options.quick else 6, 0.002)
        scores, labels = predict(net, tested)
        draw(options.output, history, test, names, scores, labels)
    correct = int(np.sum(scores.argmax(axis=1) == labels))
    print(f"\n{correct} of {len(labels)} test images recognized after {time.perf_counter() - start:.1f} s")
    print(f"picture: {options.output}")
    target = 0.8 if options.quick else 0.95
    if options.folder is None and correct < target * len(labels):
        print(f"error: that is less than {target:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
