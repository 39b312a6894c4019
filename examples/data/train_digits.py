"""Make `digits-symbol.json` and `digits-0012.params`: a network that Apache MXNet 1.9.1 trained, and wrote.

In two steps, as scikit-learn and MXNet may not install side by side:

    python train_digits.py export digits.npz    # with scikit-learn: its 1,797 real digits
    python train_digits.py train digits.npz     # with MXNet 1.9.1

The last 360 digits of the file are left for testing; `digits.npy` holds the first ten of them.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
EPOCHS = 12


def export(path: str) -> None:
    """Write scikit-learn's digits in an order of their own: images of 8x8 pixels from 0 to 16, and what they show."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    images, labels = digits.images[order].astype("uint8"), digits.target[order].astype("uint8")
    np.savez_compressed(path, images=images, labels=labels)
    np.save(HERE / "digits.npy", images[-360:-350])
    print(f"{len(images)} digits; the ten in digits.npy show {labels[-360:-350].tolist()}")


def make_symbol(mx: object) -> object:
    """Return a small convolutional network, as scripts of 2016 wrote them."""
    data = mx.symbol.Variable("data")
    net = mx.symbol.BatchNorm(data=data, fix_gamma=True, eps=2e-5, momentum=0.9, name="bn_data")
    for number, channels in enumerate((16, 32), 1):
        name = f"conv{number}"
        net = mx.symbol.Convolution(data=net, kernel=(3, 3), pad=(1, 1), num_filter=channels, no_bias=True, name=name)
        net = mx.symbol.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"bn{number}")
        net = mx.symbol.LeakyReLU(data=net, act_type="leaky", slope=0.1, name=f"act{number}")
        net = mx.symbol.Pooling(data=net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}")
    net = mx.symbol.Dropout(data=mx.symbol.Flatten(data=net, name="flatten"), p=0.3, name="drop")
    net = mx.symbol.FullyConnected(data=net, num_hidden=10, name="fc")
    return mx.symbol.SoftmaxOutput(data=net, name="softmax")


def train(path: str) -> None:
    """Train with `Module.fit`, and write the checkpoint of the last epoch."""
    import logging

    import mxnet as mx

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(0)
    np.random.seed(0)
    with np.load(path) as file:
        images, labels = file["images"][:, np.newaxis].astype("float32") / 16, file["labels"].astype("float32")
    learn = mx.io.NDArrayIter(images[:-360], labels[:-360], batch_size=64, shuffle=True)
    test = mx.io.NDArrayIter(images[-360:], labels[-360:], batch_size=60)
    module = mx.mod.Module(symbol=make_symbol(mx), context=mx.cpu())
    module.fit(
        learn,
        eval_data=test,
        eval_metric="acc",
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4},
        initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        num_epoch=EPOCHS,
    )
    module.save_checkpoint(str(HERE / "digits"), EPOCHS)
    print(f"test digits read correctly: {module.score(test, 'acc')[0][1]:.4f}")


if __name__ == "__main__":
    commands = {"export": export, "train": train}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](sys.argv[2])
