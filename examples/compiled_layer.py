"""Write a layer in NumPy, with its gradient, and have it compiled: alone, and fused into the network around it.

The layer normalizes each row and passes it through a smooth gate (RMS normalization, Zhang and Sennrich 2019,
arXiv:1910.07467; SiLU, Elfwing et al. 2018, arXiv:1702.03118). It learns to read 1,797 real handwritten digits; then
its speed is measured beside plain NumPy, and what it became is drawn:

    python examples/compiled_layer.py               # exits with an error if it does not learn to read
    python examples/compiled_layer.py --quick --output /tmp/compiled_layer.gv
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd, customop, gluon, nd

try:
    import graphviz
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

EPSILON = 1e-6
HIDDEN = 512


@customop("numpy")
def gated_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Rows of x divided by the root of their mean square, times a gain, let through by the sigmoid of themselves."""
    y = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON) * gain
    return y / (1 + np.exp(-y))


@gated_norm.def_multiple_grad()
def gradients(
    ans: np.ndarray, x: np.ndarray, gain: np.ndarray
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    def pull_back(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scale = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON)
        normalized = x * scale
        y = normalized * gain
        sigmoid = 1 / (1 + np.exp(-y))
        g_y = g * sigmoid * (1 + y * (1 - sigmoid))
        g_normalized = g_y * gain
        g_x = scale * (g_normalized - normalized * np.mean(g_normalized * normalized, axis=-1, keepdims=True))
        return g_x, np.sum(g_y * normalized, axis=0)

    return pull_back


class GatedNorm(gluon.HybridBlock):
    """The operator as a layer, with a gain that it learns."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.gain = self.params.get("gain", shape=(units,), init="ones")

    def hybrid_forward(self, F: Any, x: Any, gain: Any) -> Any:
        return gated_norm(x, gain)


def make_network() -> gluon.nn.HybridSequential:
    """The layer, twice, between dense ones."""
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        for _ in range(2):
            net.add(gluon.nn.Dense(HIDDEN, use_bias=False), GatedNorm(HIDDEN))
        net.add(gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    return net


def make_step(net: gluon.Block, x: nd.NDArray, y: nd.NDArray) -> Callable[[], nd.NDArray]:
    """A step of training on some digits, as a function."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.001})

    def step() -> nd.NDArray:
        with autograd.record():
            losses = loss(net(x), y)
        losses.backward()
        trainer.step(len(y))
        return losses

    return step


def milliseconds(function: Callable[[], Any], seconds: float) -> float:
    """The shortest time of a function that runs for so many seconds."""
    function()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def on_the_tape(operator: Any, x: nd.NDArray, gain: nd.NDArray) -> Callable[[], nd.NDArray]:
    """A function that calls an operator, and takes its gradients."""
    x.attach_grad()
    gain.attach_grad()

    def step() -> nd.NDArray:
        with autograd.record():
            y = operator(x, gain)
        y.backward()
        return x.grad

    return step


def measure(x: nd.NDArray, y: nd.NDArray, seconds: float) -> None:
    """Print how long the layer takes alone, forward and backward, and a step of the network around it."""
    rows, gain = nd.random.normal(shape=(1000, 1000)), nd.ones(1000)
    plain = customop("numpy")(gated_norm.definition)
    plain.def_multiple_grad(gradients)
    compiled = customop("numpy", compile=True)(gated_norm.definition)
    compiled.def_multiple_grad(gradients)
    print("milliseconds                                             NumPy  compiled")
    times = []
    for operator in (plain, compiled):
        step = on_the_tape(operator, rows, gain)
        for _ in range(8):  # of what is compiled both ways are timed, and the faster one is taken
            step()
        times.append(milliseconds(step, seconds))
    print(f"{'the layer alone, a million numbers':<52}{times[0]:10.2f}{times[1]:10.2f}")
    times = []
    for compile_it in (False, True):
        net = make_network()
        net.hybridize(compile=compile_it)
        times.append(milliseconds(make_step(net, x[:128], y[:128]), seconds))
    print(f"{'a step of training of the network, 128 digits':<52}{times[0]:10.2f}{times[1]:10.2f}")


def main() -> int:
    """Train, compare, measure and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run: 4 epochs, and a looser target")
    parser.add_argument("--output", type=Path, default="compiled_layer.gv", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    if options.output.suffix not in (".gv", ".png", ".pdf", ".svg"):
        parser.error(f"--output {options.output} should end in .gv, .png, .pdf or .svg")
    mx.random.seed(1)
    np.random.seed(1)

    print(gated_norm.check(np.random.normal(size=(3, 5)), np.random.normal(size=5)))
    digits = load_digits()
    order = np.random.permutation(len(digits.target))
    x, y = nd.array(digits.data[order] / 16), nd.array(digits.target[order])
    train_x, train_y, test_x, test_y = x[:1437], y[:1437], x[1437:], y[1437:]

    net = make_network()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in tqdm(range(4 if options.quick else 20), unit="epoch", leave=False, disable=None):
        for first in range(0, len(train_y) - 127, 128):
            images, labels = train_x[first : first + 128], train_y[first : first + 128]
            with autograd.record():
                losses = loss(net(images), labels)
            losses.backward()
            trainer.step(128)
    right = int((net(test_x).argmax(axis=1) == test_y).sum().asscalar())
    print(f"{right} of {len(test_y)} digits that it has not seen read correctly")

    explanation = next(one for one in net.explain() if one.parts and len(one.parts) == 2) if compiles(net) else None
    if explanation is None:
        print(f"not compiled: {net.explain()[0].reason}")
    else:
        print(explanation)
        measure(train_x, train_y, 0.2 if options.quick else 2.0)
        drawn = explanation.picture()
        if options.output.suffix == ".gv":
            drawn.save(options.output)
        else:
            try:
                drawn.render(outfile=options.output, cleanup=True)
            except graphviz.ExecutableNotFound:
                options.output = options.output.with_suffix(".gv")
                drawn.save(options.output)
        print(f"picture: {options.output}")
    target = 0.9 if options.quick else 0.95
    if right < target * len(test_y):
        print(f"error: that is less than {target:.0%}", file=sys.stderr)
        return 1
    return 0


def compiles(net: gluon.HybridBlock) -> bool:
    """Whether the network has become native code."""
    return any(one.is_native and len(one.parts) == 2 for one in net.explain())


if __name__ == "__main__":
    sys.exit(main())
