"""Graph passes written in C++, which make a trained network smaller and faster, with the same answers.

`pass.cc` has two: `remove_identities` takes out dropout, and `fold_batch_norm` makes one layer of a convolution and the
batch normalization after it, with new weights that it computes. Here they are applied to a network that Apache MXNet
trained and wrote (see `examples/data`), as a symbol and as a Gluon block, which then goes on learning:

    python examples/native/graph_pass.py                        # compiles pass.cc, if that is still to do
    python examples/native/graph_pass.py --library libpass.so   # loads what make or CMake built
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "pass.cc"
MODEL, EPOCH = HERE.parent / "data" / "digits", 12
TESTED = 360  # digits that were left out when the network was trained


def compare(what: str, found: nd.NDArray, expected: nd.NDArray, tolerance: float) -> None:
    """Print the largest difference of two arrays, and end with an error if it is above the tolerance."""
    difference = float(np.abs(found.asnumpy() - expected.asnumpy()).max(initial=0))
    print(f"  {what + ':':<44} largest difference {difference:.1e}")
    if not difference <= tolerance:
        sys.exit(f"error: {what} should differ by {tolerance:.0e} at most")


def operators(symbol: mx.sym.Symbol) -> list[str]:
    """The operators of a graph, in order."""
    return [node["op"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] != "null"]


def load_real() -> tuple[nd.NDArray, nd.NDArray]:
    """The digits that the network has never seen, and what they are."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))[-TESTED:]
    return nd.array(digits.images[order, None] / 16), nd.array(digits.target[order])


def predict(symbol: mx.sym.Symbol, parameters: dict, states: dict, images: nd.NDArray) -> tuple[nd.NDArray, float]:
    """The probabilities of the ten digits, and the least time that three runs took."""
    arguments = {**parameters, "data": images, "softmax_label": nd.zeros(len(images))}
    executor = symbol.bind(mx.cpu(), arguments, aux_states=states, grad_req="null")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        probabilities = executor.forward(is_train=False)[0]
        probabilities.wait_to_read()
        times.append(time.perf_counter() - start)
    return probabilities, min(times)


def compare_symbols(images: nd.NDArray, labels: nd.NDArray) -> float:
    """Apply both passes to a symbol; how many of the digits are read with what results."""
    symbol, parameters, states = mx.model.load_checkpoint(str(MODEL), EPOCH)
    expected, before = predict(symbol, parameters, states, images)
    print(f"before: {len(operators(symbol))} operators: {', '.join(operators(symbol))}")

    # The passes change the dictionaries: what they make comes in, and what is not read any more goes.
    smaller = symbol.optimize_for("remove_identities", parameters, states)
    smaller = smaller.optimize_for("fold_batch_norm", parameters, states)
    print(f"after:  {len(operators(smaller))} operators: {', '.join(operators(smaller))}")
    print(f"arguments: {', '.join(parameters)}")
    print(f"auxiliary states: {', '.join(states)}")

    probabilities, after = predict(smaller, parameters, states, images)
    compare("probabilities", probabilities, expected, 1e-5)
    print(f"  {len(images)} digits are read in {1e3 * after:.1f} ms, before in {1e3 * before:.1f} ms")
    return float((probabilities.argmax(axis=1) == labels).mean().asscalar())


def compare_blocks(images: nd.NDArray, labels: nd.NDArray) -> None:
    """Apply a pass to a Gluon block, and train it for a step: the folded network learns as well."""
    files = f"{MODEL}-symbol.json", f"{MODEL}-{EPOCH:04}.params"
    block, folded = (gluon.SymbolBlock.imports(files[0], ["data"], files[1]) for _ in range(2))
    folded.hybridize()
    folded.optimize_for(images, backend="fold_batch_norm")
    print("as a Gluon block:")
    gradients = []
    for net in (block, folded):
        x = images.copy()
        x.attach_grad()
        with autograd.record(train_mode=False):  # where running averages are constants, and dropout is none
            probabilities = net(x)
            loss = -nd.log(nd.pick(probabilities, labels))
        loss.backward()
        gradients.append((probabilities, x.grad))
    for what, one, other in zip(("probabilities", "gradient of the images"), *gradients, strict=True):
        compare(what, other, one, 1e-4)

    weight = folded.collect_params()["fc_weight"]
    trainer = gluon.Trainer(folded.collect_params("fc_.*"), "sgd", {"learning_rate": 0.1})
    before = weight.data().copy()
    trainer.step(len(images))
    print(f"  a step of training changed fc_weight by up to {float(abs(weight.data() - before).max().asscalar()):.1e}")


def main() -> int:
    """Build or load, apply, compare; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="a compiled library, in place of compiling pass.cc")
    parser.add_argument("--quick", action="store_true", help="the same: it takes a second")
    options = parser.parse_args()
    if options.library:
        mx.library.load(options.library.resolve())
    else:
        mx.library.compile(SOURCE, verbose=True)

    images, labels = load_real()
    accuracy = compare_symbols(images, labels)
    compare_blocks(images, labels)
    print(f"{accuracy:.2%} of {len(images)} digits that it had never seen are read")
    if accuracy < 0.99:
        sys.exit("error: 99 % of them should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
