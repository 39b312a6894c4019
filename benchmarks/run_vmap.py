"""What `minpy.vmap` gains: beside a loop over the examples, and beside NumPy by hand. `python benchmarks/run_vmap.py`.

Each row is measured in turns, in one process, and has the least of the times: microseconds a call for all examples, and
how often the loop takes as long. One row is of a call that has no rule, and is made for each example; one of a function
that asks for values, so that it is called for each example after a first run that was for nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import minpy
from minpy import customop, grad, hessian, vmap

_WEIGHT = np.random.default_rng(0).random((10, 10)) / 10


@customop("numpy")
def spread(x: Any) -> Any:
    """Return how far the elements are apart."""
    return np.max(x) - np.min(x)


spread.def_grad(lambda ans, x: lambda g: g * ((x == np.max(x)).astype(x.dtype) - (x == np.min(x))))


@customop("numpy")
def softplus(x: Any) -> Any:
    """Return log(1 + exp(x))."""
    return np.logaddexp(0, x)


softplus.def_grad(lambda ans, x: lambda g: g / (1 + np.exp(-x)))
softplus.def_batch("elementwise")


def loss(x: Any) -> Any:
    """Return a number for one example."""
    return np.sum(np.tanh(_WEIGHT @ x)) ** 2


def by_hand(x: Any) -> Any:
    """Return the loss of all examples."""
    return np.sum(np.tanh(x @ _WEIGHT.T), axis=1) ** 2


ROWS: dict[str, Callable[..., Any]] = {
    "loss": loss,
    "its gradient": grad(loss),
    "its Hessian": hessian(loss),
    "an operator, elementwise": lambda x: np.sum(softplus(x)),
    "an operator without a rule": spread,
    "a function that asks for values": lambda x: loss(x) if x[0] > 0.5 else -loss(x),
}


def least(call: Callable[[], Any], rounds: int) -> float:
    """Return the least time of some calls, in microseconds."""
    times = []
    for _ in range(rounds):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return min(times) * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    examples = np.random.default_rng(1).random((options.examples, 10))
    print(f"minpy {minpy.__version__}, NumPy {np.__version__}, {options.examples} examples of 10 numbers\n")
    print("| | vmap, µs | a loop, µs | ratio |\n|---|---|---|---|")
    for name, function in ROWS.items():
        mapped = vmap(function)
        np.testing.assert_allclose(mapped(examples), np.stack([function(row) for row in examples]), rtol=1e-9)
        rounds = options.rounds
        at_once = least(lambda mapped=mapped: mapped(examples), rounds)
        looped = least(lambda function=function: np.stack([function(row) for row in examples]), max(1, rounds // 2))
        print(f"| {name} | {at_once:,.0f} | {looped:,.0f} | {looped / at_once:.1f} |")
    print(f"\nThe loss in NumPy by hand: {least(lambda: by_hand(examples), 50):,.0f} µs.")


if __name__ == "__main__":
    main()
