"""A partitioner written in C++, which moves exp and log of a graph into an operator of its own.

`symbol.optimize_for("exp_log")` asks the library which operators it supports, and puts those that hang together into
subgraphs, which the library's operator then computes and differentiates. Here that is done to graphs and to a Gluon
network whose loss is made of exp and log, and compared with what they compute without:

    python examples/native/subgraph.py                            # compiles subgraph.cc, if that is still to do
    python examples/native/subgraph.py --library libsubgraph.so   # loads what make or CMake built
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

SOURCE = Path(__file__).resolve().with_name("subgraph.cc")


def compare(what: str, found: nd.NDArray, expected: nd.NDArray, tolerance: float) -> None:
    """Print the largest difference of two arrays, and end with an error if it is above the tolerance."""
    difference = float(np.abs(found.asnumpy() - expected.asnumpy()).max(initial=0))
    print(f"  {what + ':':<44} largest difference {difference:.1e}")
    if not difference <= tolerance:
        sys.exit(f"error: {what} should differ by {tolerance:.0e} at most")


def operators(symbol: mx.sym.Symbol) -> str:
    """The operators of a graph, in order; those inside of subgraphs in brackets."""

    def listed(graph: dict[str, Any]) -> str:
        nodes = [node for node in graph["nodes"] if node["op"] != "null"]
        return ", ".join(
            node["op"] + "".join(f"[{listed(sub)}]" for sub in node.get("subgraphs", ())) for node in nodes
        )

    return listed(json.loads(symbol.tojson()))


def run(symbol: mx.sym.Symbol, arrays: dict[str, nd.NDArray]) -> list[nd.NDArray]:
    """The outputs of a graph, and the gradients of its arguments."""
    gradients = {name: nd.zeros(array.shape) for name, array in arrays.items()}
    executor = symbol.bind(mx.cpu(), arrays, args_grad=gradients)
    outputs = executor.forward(is_train=True)
    executor.backward([nd.ones(output.shape) for output in outputs])
    return [*outputs, *gradients.values()]


def compare_graphs() -> None:
    """A graph with branches, partitioned in several ways."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    e = mx.sym.exp(a)
    left = mx.sym.log(mx.sym.log(mx.sym.exp(e)) + 2)
    right = mx.sym.exp(mx.sym.log(b))
    symbol = mx.sym.Group([mx.sym.exp((left + right) / 10), e])
    arrays = {name: nd.array(np.random.uniform(0.5, 1.5, (4, 6))) for name in ("a", "b")}
    expected = run(symbol, arrays)
    print(f"graph: {operators(symbol)}")
    for backend, options in (
        ("exp_log", {}),
        ("exp_log", {"min_size": 2}),
        ("exp_log_chosen", {"max_size": 2}),
        ("exp_log_chosen", {"operators": "exp"}),
    ):
        partitioned = symbol.optimize_for(backend, dict(arrays), **options)
        print(f"{backend}, {options}: {operators(partitioned)}")
        names = ("first output", "second output", "gradient of a", "gradient of b")
        for what, one, other in zip(names, run(partitioned, arrays), expected, strict=True):
            compare(what, one, other, 1e-5)


class Loss(gluon.HybridBlock):
    """The cross-entropy of a softmax: log(sum(exp(scores))) less the score of the label."""

    def hybrid_forward(self, F: Any, scores: Any, labels: Any) -> Any:
        return F.log(F.sum(F.exp(scores), axis=1)) - F.pick(scores, labels)


def train(backend: str | None, epochs: int) -> tuple[nd.NDArray, float]:
    """Learn to read handwritten digits; the losses, and how many of the digits are read in the end."""
    images, labels = load_digits(return_X_y=True)
    images, labels = nd.array(images / 16), nd.array(labels)
    mx.random.seed(0)
    net, loss = gluon.nn.HybridSequential(), Loss()
    net.add(gluon.nn.Dense(32, activation="relu"), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    if backend is None:
        loss.hybridize()
    else:
        loss.optimize_for(net(images[:64]), labels[:64], backend=backend)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    losses = []
    for _ in range(epochs):
        for start in range(0, 1792, 64):
            with autograd.record():
                losses_of_batch = loss(net(images[start : start + 64]), labels[start : start + 64])
            losses_of_batch.backward()
            trainer.step(64)
            losses.append(losses_of_batch.mean())
    return nd.concat(*losses, dim=0), float((net(images).argmax(axis=1) == labels).mean().asscalar())


def main() -> int:
    """Build or load, partition, compare, train; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="a compiled library, in place of compiling subgraph.cc")
    parser.add_argument("--quick", action="store_true", help="a shorter run: 2 epochs of training in place of 10")
    options = parser.parse_args()
    np.random.seed(0)
    if options.library:
        mx.library.load(options.library.resolve())
    else:
        mx.library.compile(SOURCE, verbose=True)

    compare_graphs()
    epochs = 2 if options.quick else 10
    (partitioned, accuracy), (plain, _) = train("exp_log", epochs), train(None, epochs)
    print(f"handwritten digits, {epochs} epochs, with a loss of exp and log: {accuracy:.1%} are read")
    compare("losses while training", partitioned, plain, 1e-4)
    if accuracy < 0.9:
        sys.exit("error: 90 % of them should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
