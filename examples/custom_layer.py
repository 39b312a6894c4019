"""Write a layer of your own, put it into a network, make the network a graph, and train it.

The layer fits what it gets into the range from 0 to 1, multiplies it by weights that it learns, and by scales that it
does not learn. Three lines say so, once for arrays and graphs alike. The network then learns a curve from noisy points:

    python examples/custom_layer.py               # exits with an error if it does not learn the curve
    python examples/custom_layer.py --quick --output /tmp/custom_layer.png
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd

try:
    from matplotlib.figure import Figure
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')


class Normalization(gluon.Block):
    """The simplest layer: a function of arrays."""

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        return (x - nd.min(x)) / (nd.max(x) - nd.min(x))


class WeightedNormalization(gluon.HybridBlock):
    """The same, times weights that are learned and scales that are not; it can become part of a graph."""

    def __init__(self, units: int, scales: list[float], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        with self.name_scope():
            # 0 stands for a length that follows from the first input.
            self.weights = self.params.get("weights", shape=(units, 0), allow_deferred_init=True)
            self.scales = self.params.get(
                "scales", shape=(len(scales),), init=mx.init.Constant(scales), differentiable=False
            )

    def hybrid_forward(self, F: Any, x: Any, weights: Any, scales: Any) -> Any:
        """F is mx.nd where arrays flow, and mx.sym where a graph is made; parameters come by their names."""
        low, high = F.min(x), F.max(x)
        normalized = F.broadcast_div(F.broadcast_sub(x, low), F.broadcast_sub(high, low))
        weighted = F.FullyConnected(normalized, weights, num_hidden=self.units, no_bias=True)
        return F.broadcast_mul(scales, weighted)


def make_network() -> gluon.nn.HybridSequential:
    """The layer between two of Gluon's."""
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(gluon.nn.Dense(16, activation="tanh"))
        net.add(WeightedNormalization(units=16, scales=[2.0]))
        net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(1))
    net.initialize(mx.init.Xavier(magnitude=2.24))
    return net


def layers_parameters(net: gluon.Block) -> dict[str, np.ndarray]:
    """The parameters of our layer, by name."""
    parameters = net.collect_params(".*weightednormalization.*")
    return {name: parameter.data().asnumpy().copy() for name, parameter in parameters.items()}


def train(net: gluon.Block, x: nd.NDArray, y: nd.NDArray, steps: int) -> np.ndarray:
    """Train on all points at once, and return the loss of each step."""
    mean_squares = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    losses = []
    for _ in tqdm(range(steps), unit="step", leave=False, disable=None):
        with autograd.record():
            loss = mean_squares(net(x), y)
        loss.backward()
        trainer.step(len(x))
        losses.append(loss.mean().asscalar())
    return np.array(losses)


def draw(output: Path, x: np.ndarray, y: np.ndarray, curve: np.ndarray, losses: np.ndarray) -> None:
    """The points, what was learned of them, and how the loss fell."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x, y, ".", color="tab:gray", label="points")
    left.plot(x, np.sin(x), "--", color="black", linewidth=1, label="the curve")
    left.plot(x, curve, color="tab:red", label="the network")
    left.legend()
    right.semilogy(losses)
    right.set(xlabel="step", title="Half the mean squared error")
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
    """Show the layers, train, compare and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run: 300 steps, and a looser target")
    parser.add_argument("--seed", type=int, default=1, help="of the points and initial weights (default: 1)")
    parser.add_argument("--output", type=picture, default="custom_layer.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    if options.seed < 0:
        parser.error("--seed must be at least 0")
    mx.random.seed(options.seed)

    print("Normalization of 1, 2, 3:", Normalization()(nd.array([1, 2, 3])).asnumpy())
    x = np.linspace(-3, 3, 200, dtype=np.float32).reshape(-1, 1)
    y = np.sin(x) + nd.random.normal(scale=0.1, shape=x.shape).asnumpy()
    inputs, labels = nd.array(x), nd.array(y)
    net = make_network()
    eager = net(inputs)  # the first call: shapes are known from here on
    net.hybridize()
    difference = abs(net(inputs) - eager).max().asscalar()
    print(net)
    print(f"as a graph it computes the same: the largest difference is {difference:.1e}")

    before = layers_parameters(net)
    losses = train(net, inputs, labels, 300 if options.quick else 1500)
    after = layers_parameters(net)
    for name, values in before.items():
        change = np.abs(after[name] - values).max()
        print(f"{name}: {f'changed by up to {change:.3f}' if change else 'as it was'}")
    curve = net(inputs).asnumpy()
    draw(options.output, x, y, curve, losses)
    error = float(np.sqrt(np.mean((curve - np.sin(x)) ** 2)))
    target = 0.15 if options.quick else 0.08
    print(f"the network is {error:.3f} from the curve on average; picture: {options.output}")
    if error > target:
        print(f"error: that is more than {target}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
