"""MinPy's way of writing networks, on scikit-learn's handwritten digits.

Four programs: a logistic regression with a gradient and a loop; the same with a loss that is an operator of our own; a
network of two layers trained by a solver; and one made of layers that find the shapes of their parameters. Run
it with `python examples/minpy_digits.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy

import minpy.numpy as np
from minpy.core import grad_and_loss
from minpy.nn import layers, model_builder, modules
from minpy.nn.io import NDArrayIter
from minpy.nn.model import ModelBase
from minpy.nn.solver import Solver
from minpy.primitive import customop

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

CLASSES = 10


def digits() -> tuple[Any, Any, Any, Any]:
    """Return images of training and test as rows of numbers in [0, 1], and their classes."""
    images, labels = load_digits(return_X_y=True)
    order = numpy.random.RandomState(0).permutation(len(images))
    images, labels = images[order] / 16, labels[order]
    return images[:1400], labels[:1400], images[1400:], labels[1400:]


def logistic_regression(loss: Callable[[Any, Any], Any], steps: int) -> float:
    """Fit one layer by plain gradient descent, and return which part of the test digits it reads correctly."""
    images, labels, test_images, test_labels = digits()
    targets = np.array(numpy.eye(CLASSES)[labels])
    data = np.array(images)
    weights = np.zeros((images.shape[1], CLASSES))
    step = grad_and_loss(lambda w: loss(np.dot(data, w), targets))
    for _ in range(steps):
        gradient, _ = step(weights)
        weights = weights - 2.0 * gradient
    return float((numpy.asarray(np.dot(np.array(test_images), weights)).argmax(axis=1) == test_labels).mean())


@customop("numpy")
def cross_entropy(scores: Any, targets: Any) -> Any:
    """Return the mean cross entropy of the softmax of scores."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    logarithms = shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))
    return -(targets * logarithms).sum() / len(scores)


@cross_entropy.def_grad
def gradient_of_scores(ans: Any, scores: Any, targets: Any) -> Callable[[Any], Any]:
    """Give the rule for scores: the probabilities less the targets."""

    def gradient(g: Any) -> Any:
        powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        return g * (powers / powers.sum(axis=1, keepdims=True) - targets) / len(scores)

    return gradient


class TwoLayerNet(ModelBase):
    """A hidden layer of rectified linear units, and one of class scores."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.add_param("w1", (inputs, hidden)).add_param("b1", (hidden,), init_rule="constant")
        self.add_param("w2", (hidden, CLASSES)).add_param("b2", (CLASSES,), init_rule="constant")

    def forward(self, X: Any, mode: str) -> Any:
        """Return the scores."""
        hidden = layers.relu(layers.affine(X, self.params["w1"], self.params["b1"]))
        return layers.affine(hidden, self.params["w2"], self.params["b2"])

    def loss(self, predict: Any, y: Any) -> Any:
        """Return the cross entropy."""
        return layers.softmax_loss(predict, y)


class LayersNet(model_builder.Model):
    """The same of layers, with batch normalization."""

    def __init__(self, hidden: int) -> None:
        super().__init__(loss="softmax_loss")
        self.net = model_builder.Sequential(
            modules.FullyConnected(num_hidden=hidden),
            modules.BatchNorm(fix_gamma=False),
            modules.ReLU(),
            modules.FullyConnected(num_hidden=CLASSES),
        )

    def forward(self, X: Any, mode: str) -> Any:
        """Return the scores."""
        return self.net(X)


def two_layers(model: ModelBase, update_rule: str, rate: float, epochs: int) -> float:
    """Train a network, and return which part of the test digits it reads correctly."""
    images, labels, test_images, test_labels = digits()
    np.random.seed(1)
    solver = Solver(
        model,
        NDArrayIter(images, labels, batch_size=50, shuffle=True),
        NDArrayIter(test_images, test_labels, batch_size=50),
        num_epochs=epochs,
        init_rule="xavier",
        update_rule=update_rule,
        optim_config={"learning_rate": rate},
        verbose=False,
    )
    solver.init()
    solver.train()
    return solver.check_accuracy(solver.test_dataiter)


def main() -> None:
    """Run the four programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    quick = parser.parse_args().quick
    steps, epochs = (60, 4) if quick else (400, 20)
    print(f"logistic regression: {logistic_regression(layers.softmax_loss, steps):.1%} of the test digits")
    print(f"with an operator of our own: {logistic_regression(cross_entropy, steps):.1%}")
    for rule, rate in (("sgd", 0.3), ("sgd_momentum", 0.1), ("rmsprop", 0.003), ("adam", 0.003)):
        print(f"two layers, {rule}: {two_layers(TwoLayerNet(64, 64), rule, rate, epochs):.1%}")
    print(f"made of layers: {two_layers(LayersNet(64), 'sgd', 0.3, epochs):.1%}")


if __name__ == "__main__":
    main()
