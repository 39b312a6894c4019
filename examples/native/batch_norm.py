"""Batch normalization written in C++: an operator that changes some of its inputs, its moving averages.

They are auxiliary states: of a graph, of an executor, of a Gluon layer, whose files hold them. Everything is compared
with MXNet's own `BatchNorm`, on arrays, in graphs and while a network learns to read digits:

    python examples/native/batch_norm.py                               # compiles batch_norm.cc, if that is still to do
    python examples/native/batch_norm.py --library libbatch_norm.so    # loads what make or CMake built
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

SOURCE = Path(__file__).resolve().with_name("batch_norm.cc")
EPS, MOMENTUM = 1e-3, 0.9


def compare(what: str, found: nd.NDArray, expected: nd.NDArray, tolerance: float) -> None:
    """Print the largest difference of two arrays, and end with an error if it is above the tolerance."""
    difference = float(np.abs(found.asnumpy() - expected.asnumpy()).max(initial=0))
    print(f"  {what + ':':<44} largest difference {difference:.1e}")
    if not difference <= tolerance:
        sys.exit(f"error: {what} should differ by {tolerance:.0e} at most")


def native(F: Any, *inputs: Any, training: bool, **kwargs: Any) -> Any:
    """Our operator, which is told whether to train."""
    return F.my_batch_norm(*inputs, eps=EPS, momentum=MOMENTUM, training=training, **kwargs)


def builtin(F: Any, *inputs: Any, training: bool, **kwargs: Any) -> Any:
    """MXNet's, which finds out for itself."""
    return F.BatchNorm(*inputs, eps=EPS, momentum=MOMENTUM, fix_gamma=False, use_global_stats=not training, **kwargs)


def inputs_of(shape: tuple[int, ...], dtype: str) -> list[nd.NDArray]:
    """data, gamma, beta, and the moving averages of mean and variance."""
    channels = shape[1]
    arrays = [np.random.normal(3, 2, shape), *np.random.uniform(0.5, 1.5, (4, channels))]
    return [nd.array(array, dtype=dtype) for array in arrays]


def compare_arrays(shape: tuple[int, ...], dtype: str, training: bool, tolerance: float) -> None:
    """The operator as a function of arrays: the last two of its inputs are changed by a call."""
    inputs, g = inputs_of(shape, dtype), nd.array(np.random.normal(size=shape), dtype=dtype)
    results = []
    for operator in (native, builtin):
        copies = [array.copy() for array in inputs]
        for array in copies[:3]:
            array.attach_grad()
        with autograd.record():
            y = operator(nd, *copies, training=training)
        y.backward(g)
        results.append([y, *(array.grad for array in copies[:3]), *copies[3:]])
    print(f"arrays of {dtype} and shape {shape}, {'training' if training else 'inference'}:")
    names = ("output", "gradient of data", "gradient of gamma", "gradient of beta", "moving mean", "moving variance")
    for what, one, other in zip(names, *results, strict=True):
        compare(what, one, other, tolerance)


def compare_graphs() -> None:
    """The operator in a graph: its moving averages are no arguments, but auxiliary states of the executor."""
    shape = (8, 3, 5, 5)
    names = ("data", "gamma", "beta", "mean", "var")
    arrays = dict(zip(names, inputs_of(shape, "float32"), strict=True))
    results = []
    for operator in (native, builtin):
        y = operator(mx.sym, *map(mx.sym.Variable, names), training=True, name="y")
        arguments = {name: arrays[name] for name in y.list_arguments()}
        states = {name: arrays[name].copy() for name in y.list_auxiliary_states()}
        gradients = {name: nd.zeros(array.shape) for name, array in arguments.items()}
        executor = y.bind(mx.cpu(), arguments, args_grad=gradients, aux_states=states)
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(nd.ones(shape))
        results.append([executor.outputs[0], gradients["data"], *states.values()])
    print(f"graphs, with arguments {y.list_arguments()} and auxiliary states {y.list_auxiliary_states()}:")
    for what, one, other in zip(("output", "gradient of data", "mean", "var"), *results, strict=True):
        compare(what, one, other, 1e-5)


class BatchNorm(gluon.HybridBlock):
    """A layer of our operator, with the parameters of Gluon's own; their number follows from the first input."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        later = {"shape": (0,), "allow_deferred_init": True}
        with self.name_scope():
            self.gamma = self.params.get("gamma", init="ones", **later)
            self.beta = self.params.get("beta", init="zeros", **later)
            self.running_mean = self.params.get("running_mean", init="zeros", differentiable=False, **later)
            self.running_var = self.params.get("running_var", init="ones", differentiable=False, **later)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        return native(F, x, gamma, beta, running_mean, running_var, training=autograd.is_training())


def make_network(norm: Any) -> gluon.nn.HybridSequential:
    """A small convolutional network, with the normalization that is to be compared."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, padding=1), norm(), gluon.nn.Activation("relu"), gluon.nn.MaxPool2D())
    net.add(gluon.nn.Flatten(), gluon.nn.Dense(32), norm(), gluon.nn.Activation("relu"), gluon.nn.Dense(10))
    return net


def train(net: gluon.Block, images: nd.NDArray, labels: nd.NDArray, epochs: int) -> nd.NDArray:
    """Stochastic gradient descent; the losses."""
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2})
    losses = []
    for _ in range(epochs):
        for start in range(0, 1792, 128):
            with autograd.record():
                losses_of_batch = loss(net(images[start : start + 128]), labels[start : start + 128])
            losses_of_batch.backward()
            trainer.step(128)
            losses.append(losses_of_batch.mean())
    return nd.concat(*losses, dim=0)


def compare_networks(epochs: int) -> float:
    """Train with ours and with Gluon's own; how many of the digits ours reads in the end."""
    images, labels = load_digits(return_X_y=True)
    images, labels = nd.array(images.reshape(-1, 1, 8, 8) / 16), nd.array(labels)
    ours = make_network(BatchNorm)
    theirs = make_network(lambda: gluon.nn.BatchNorm(momentum=MOMENTUM, epsilon=EPS))
    losses = [train(net, images, labels, epochs) for net in (ours, theirs)]
    print(f"handwritten digits, {epochs} epochs:")
    compare("losses while training", *losses, 1e-3)
    compare("running mean", ours[1].running_mean.data(), theirs[1].running_mean.data(), 1e-3)
    compare("running variance", ours[1].running_var.data(), theirs[1].running_var.data(), 1e-3)
    scores = ours(images)
    compare("scores, by the running averages", scores, theirs(images), 1e-2)

    # Files hold the averages, and a network of the same layers reads them: its scores are the same.
    with tempfile.TemporaryDirectory() as folder:
        ours.save_parameters(f"{folder}/digits.params")
        again = make_network(BatchNorm)
        again.load_parameters(f"{folder}/digits.params")
    compare("scores, saved and loaded", again(images), scores, 0)
    again.hybridize()
    compare("scores, as a graph", again(images), scores, 1e-5)
    return float((scores.argmax(axis=1) == labels).mean().asscalar())


def main() -> int:
    """Build or load, compare, train; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="a compiled library, in place of compiling batch_norm.cc")
    parser.add_argument("--quick", action="store_true", help="a shorter run: 2 epochs of training in place of 5")
    options = parser.parse_args()
    np.random.seed(0)
    if options.library:
        mx.library.load(options.library.resolve())
    else:
        mx.library.compile(SOURCE, verbose=True)

    for shape in ((16, 6), (4, 3, 10, 10)):
        for training in (True, False):
            compare_arrays(shape, "float32", training, 1e-4)
    compare_arrays((4, 3, 10, 10), "float64", True, 1e-6)
    compare_graphs()
    accuracy = compare_networks(2 if options.quick else 5)
    print(f"{accuracy:.1%} of the digits are read")
    if accuracy < 0.9:
        sys.exit("error: 90 % of them should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
