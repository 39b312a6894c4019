"""Random programs through the whole compiler, against eager NumPy: `python tests/support/fuzz_native.py --count 5000`.

Each is a function of NumPy that runs as it is, and as a graph that has become native code: by the calls of an operator
of a user's, by `minpy.compile`, or, with gradients, by an executor against the tape.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Iterable
from typing import Any

import numpy as np
from random_graphs import assert_same, random_graph, random_network

import minpy as mx
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.graph.ir import Node, Value, variable

__all__ = ["check_function", "check_graph", "check_network", "failures"]

# Programs are native code from the third call on.
_CALLS = 3


def check_graph(seed: int, length: int = 20, special: bool = False, together: int = 1) -> bool:
    """Hold random programs, operators of one graph, against NumPy, and tell whether they became native code."""
    graphs = [random_graph(together * seed + number, length, special) for number in range(together)]
    heads: list[Value] = []
    arrays: dict[Node, np.ndarray] = {}
    for graph in graphs:
        inputs = [variable(f"a{position}") for position in range(len(graph.arrays))]
        node = Node(graph.operator, inputs, {}, "program")
        heads += [Value(node, position) for position in range(len(graph.expected))]
        arrays |= dict(zip([value.node for value in inputs], graph.arrays, strict=True))
    compiled = Compiled(heads)
    given = [arrays[node] for node in compiled.variables]
    program = compiled.program(given, False)
    for _ in range(_CALLS):
        with np.errstate(all="ignore"):
            answers, _ = start(program, given)
    _require_compiled(program)
    rest = iter(answers)
    for graph in graphs:
        assert_same(graph, [next(rest) for _ in graph.expected])
    return program.executable("native") is not None


def check_function(seed: int, length: int = 12, special: bool = False) -> bool:
    """Hold `minpy.compile` of a random program against NumPy, and tell whether it became a graph."""
    graph = random_graph(seed, length, special)
    function = mx.compile(graph.function)
    with np.errstate(all="ignore"):
        for _ in range(_CALLS):
            answers = function(*graph.arrays)
    assert_same(graph, answers)
    return function.reason is None


def check_network(seed: int, length: int = 12) -> bool:
    """Hold heads and gradients of an executor against those of the tape, and tell whether it became native code."""
    network = random_network(seed, length)
    arrays = {name: mx.nd.array(value, dtype=value.dtype) for name, value in network.arrays.items()}
    gradients = {name: mx.nd.zeros(array.shape, dtype=array.dtype) for name, array in arrays.items()}
    executor = network.symbol.bind(mx.cpu(), arrays, gradients)
    numbers = np.random.RandomState(seed)
    for _ in range(_CALLS):
        outputs = executor.forward(is_train=True)
        heads = [mx.nd.array(numbers.normal(size=one.shape), dtype=one.dtype) for one in outputs]
        executor.backward(heads)
    [program] = executor._programs.values()
    _require_compiled(program)
    expected, slopes = _eager(network, heads)
    for found, wanted, what in [
        *zip(outputs, expected, ["output"] * len(expected), strict=True),
        *((gradients[name], slope, f"gradient of {name}") for name, slope in slopes.items()),
    ]:
        one, other = found.asnumpy(), wanted.asnumpy()
        assert (one.shape, one.dtype) == (other.shape, other.dtype), what
        scale = max(1.0, float(np.abs(other).max(initial=0)))
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * scale, err_msg=f"{what}, seed {seed}")
    return program.executable("native") is not None


def _eager(network: Any, heads: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return outputs and gradients of a network, by an executor that stays Python."""
    arrays = {name: mx.nd.array(value, dtype=value.dtype) for name, value in network.arrays.items()}
    gradients = {name: mx.nd.zeros(array.shape, dtype=array.dtype) for name, array in arrays.items()}
    with mx.compile.disabled():
        executor = network.symbol.bind(mx.cpu(), arrays, gradients)
        outputs = executor.forward(is_train=True)
        executor.backward(heads)
    return outputs, gradients


def _require_compiled(program: Any) -> None:
    """Require native code, but where there is nothing for it to do."""
    assert program.executable("native") is not None or "call operators as they are" in program.why_fallback(), (
        program.why_fallback()
    )


CHECKS = {
    "graph": check_graph,
    "special": lambda seed: check_graph(seed, special=True),
    "function": check_function,
    "network": check_network,
    "small network": lambda seed: check_network(seed, 6),
}


def failures(seeds: Iterable[int], kinds: Iterable[str] = tuple(CHECKS)) -> tuple[list[str], dict[str, int]]:
    """Return what went wrong, and how many of each kind ran as native code."""
    found, native = [], dict.fromkeys(kinds, 0)
    names = list(native)
    for seed in seeds:
        kind = names[seed % len(names)]
        try:
            native[kind] += CHECKS[kind](seed)
        except Exception:
            found.append(f"== {kind}, seed {seed}\n{traceback.format_exc()}")
    return found, native


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(CHECKS))
    options = parser.parse_args()
    began, total, native = time.perf_counter(), 0, dict.fromkeys(options.kinds.split(","), 0)
    for seed in range(options.first, options.first + options.count):
        found, ran = failures([seed], options.kinds.split(","))
        native = {kind: native[kind] + ran[kind] for kind in native}
        total += len(found)
        for one in found:
            print(one, flush=True)
    print(f"{options.count} programs, native: {native}, {total} failures, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
