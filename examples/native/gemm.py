"""Matrix products written in C++: compile them, load them, call and differentiate them, and learn with them.

`gemm.cc` has two operators, `my_gemm` and `state_gemm`. Once the library is loaded they are found as `mx.nd.my_gemm`
and `mx.sym.my_gemm`, work on arrays, in graphs and in Gluon, and are compared here with MXNet's own `dot`:

    python examples/native/gemm.py                          # compiles gemm.cc, if that has not been done before
    python examples/native/gemm.py --library libgemm.so     # loads what make or CMake built
"""

from __future__ import annotations

import argparse
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

SOURCE = Path(__file__).resolve().with_name("gemm.cc")


def compare(what: str, found: nd.NDArray, expected: nd.NDArray, tolerance: float) -> None:
    """Print the largest difference of two arrays, and end with an error if it is above the tolerance."""
    difference = float(np.abs(found.asnumpy() - expected.asnumpy()).max(initial=0))
    print(f"  {what + ':':<44} largest difference {difference:.1e}")
    if not difference <= tolerance:
        sys.exit(f"error: {what} should differ by {tolerance:.0e} at most")


def differentiate(product: Any, a: nd.NDArray, b: nd.NDArray, g: nd.NDArray) -> tuple[nd.NDArray, ...]:
    """A product, and the gradients of sum(product g)."""
    a, b = a.copy(), b.copy()
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        c = product(a, b)
    c.backward(g)
    return c, a.grad, b.grad


def compare_arrays(dtype: str, tolerance: float) -> None:
    """Operators as functions of arrays."""
    a = nd.array(np.random.uniform(-1, 1, (70, 90)), dtype=dtype)
    b = nd.array(np.random.uniform(-1, 1, (90, 110)), dtype=dtype)
    g = nd.array(np.random.uniform(-1, 1, (70, 110)), dtype=dtype)
    expected = differentiate(nd.dot, a, b, g)
    transposed = differentiate(lambda a, b: nd.my_gemm(a, b, transpose_a=True, transpose_b=True), a.T, b.T, g)
    transposed = transposed[0], transposed[1].T, transposed[2].T
    ways = {
        "my_gemm": differentiate(nd.my_gemm, a, b, g),
        "my_gemm of transposed arrays": transposed,
        "state_gemm": differentiate(nd.state_gemm, a, b, g),
    }
    print(f"arrays of {dtype}:")
    for name, found in ways.items():
        for what, one, other in zip(("", ", gradient of A", ", gradient of B"), found, expected, strict=True):
            compare(name + what, one, other, tolerance)


def compare_graphs() -> None:
    """Operators in graphs, which find out their shapes and types before they run."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    arrays = {"a": nd.array(np.random.uniform(-1, 1, (3, 4))), "b": nd.array(np.random.uniform(-1, 1, (4, 5)))}
    results = []
    for product in (mx.sym.my_gemm(a, b, name="c"), mx.sym.dot(a, b, name="c")):
        squares = mx.sym.make_loss(mx.sym.sum(product**2))
        shapes = dict(zip(product.list_outputs(), product.infer_shape(a=(3, 4), b=(4, 5))[1], strict=True))
        gradients = {name: nd.zeros(array.shape) for name, array in arrays.items()}
        executor = squares.bind(mx.cpu(), arrays, args_grad=gradients)
        executor.forward(is_train=True)
        executor.backward()
        results.append((executor.outputs[0], gradients["a"], gradients["b"]))
    print(f"graphs, with outputs {shapes}:")
    for what, one, other in zip(("sum of squares", "gradient of A", "gradient of B"), *results, strict=True):
        compare(what, one, other, 1e-5)


def count_calls() -> None:
    """A state lives as long as what it is made for: a graph that is bound, or one call."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    arrays = {"a": nd.ones((2, 2)), "b": nd.ones((2, 2))}
    executor = mx.sym.state_gemm(a, b, count=True).bind(mx.cpu(), arrays)
    counts = [int(executor.forward()[1].asscalar()) for _ in range(3)]
    calls = [int(nd.state_gemm(arrays["a"], arrays["b"], count=True)[1].asscalar()) for _ in range(3)]
    print(f"states: a bound graph counts {counts}, and single calls count {calls}")
    if counts != [1, 2, 3] or calls != [1, 1, 1]:
        sys.exit("error: they should count [1, 2, 3] and [1, 1, 1]")


class Dense(gluon.HybridBlock):
    """A fully connected layer whose product is MXNet's, or ours."""

    def __init__(self, inputs: int, units: int, native: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.native = native
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(inputs, units))
            self.bias = self.params.get("bias", shape=(1, units), init="zeros")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any) -> Any:
        product = F.my_gemm(x, weight) if self.native else F.dot(x, weight)
        return F.broadcast_add(product, bias)


def train(native: bool, epochs: int) -> tuple[nd.NDArray, float]:
    """Learn to read handwritten digits; the losses, and how many of the digits are read in the end."""
    images, labels = load_digits(return_X_y=True)
    images, labels = nd.array(images / 16), nd.array(labels)
    mx.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(Dense(64, 32, native), gluon.nn.Activation("relu"), Dense(32, 10, native))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
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
    """Build or load, compare, count, train; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="a compiled library, in place of compiling gemm.cc")
    parser.add_argument("--quick", action="store_true", help="a shorter run: 2 epochs of training in place of 10")
    options = parser.parse_args()
    np.random.seed(0)
    if options.library:
        mx.library.load(options.library.resolve())
    else:
        mx.library.compile(SOURCE, verbose=True)

    compare_arrays("float32", 1e-4)
    compare_arrays("float64", 1e-12)
    compare_graphs()
    count_calls()
    epochs = 2 if options.quick else 10
    (ours, accuracy), (theirs, _) = train(True, epochs), train(False, epochs)
    print(f"handwritten digits, {epochs} epochs: {accuracy:.1%} are read")
    compare("losses while training", ours, theirs, 1e-4)
    if accuracy < 0.9:
        sys.exit("error: 90 % of them should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
