"""Measures operators one by one beside MXNet, PyTorch and JAX: `python benchmarks/run_operators.py [operator ...]`.

One process for each library; for every operator the libraries take turns, in each of several rounds. All must compute
the same numbers (but for random operators), or the run ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness.measure import BENCHMARKS
from harness.peers import LOCAL, PEERS, interpreter
from operators.table import MODES, OPERATORS, SIZES

LIBRARIES = ("minpy", "mxnet", "torch", "jax")


class Library:
    """The process that runs one library."""

    def __init__(self, name: str, python: Path, minpy: Path) -> None:
        variables = dict(os.environ)
        paths = variables.pop("PYTHONPATH", "")
        if name in LOCAL:
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(minpy), paths)))
        command = [python, "-W", "ignore", "-m", "operators.worker", name]
        self.name = name
        self._process = subprocess.Popen(
            command, cwd=BENCHMARKS, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version = self._answer()["version"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended with status {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def measure(self, *what: str) -> dict[str, Any]:
        """Return what one round of an operator gave: seconds of a call, its numbers the first time, or a problem."""
        assert self._process.stdin is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
        return self._answer()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", metavar="operator", help="default: all")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--peers", nargs="+", choices=LIBRARIES[1:], default=LIBRARIES[1:], help="default: all")
    parser.add_argument("--env", action="append", default=[], metavar="PEER=FOLDER", help="an environment elsewhere")
    parser.add_argument("--minpy", type=Path, default=BENCHMARKS.parent, metavar="FOLDER", help="another checkout")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the medians there, too")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.operators) - set(OPERATORS)):
        parser.error(f"no such operator: {', '.join(unknown)}; there are {', '.join(OPERATORS)}")
    return arguments


def differ(first: list[list[float]], second: list[list[float]]) -> bool:
    if len(first) != len(second):
        return True
    return not all(
        len(one) == len(other) and np.allclose(one, other, rtol=2e-3, atol=5e-3)
        for one, other in zip(first, second, strict=True)
    )


def duration(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def main() -> int:
    arguments = parse_arguments()
    given = {peer: Path(folder) for peer, _, folder in (pair.partition("=") for pair in arguments.env)}
    libraries = {}
    for name in ("minpy", *arguments.peers):
        python = interpreter(name, given.get(name))
        if python is None:
            print(f"{name} has no environment: python benchmarks/make_peers.py {name}", file=sys.stderr)
        else:
            libraries[name] = Library(name, python, arguments.minpy)
    assert set(libraries) <= {"minpy", *PEERS}
    problems = []
    medians: dict[str, dict[str, float]] = {}
    names = arguments.operators or list(OPERATORS)
    for size in SIZES:
        for mode in MODES:
            peers = [name for name in libraries if name != "minpy"]
            print(f"\n### {size}, {'forward' if mode == 'forward' else 'forward and backward'}\n")
            print(f"| operator | minpy | {' | '.join(f'minpy / {peer}' for peer in peers)} | / fastest peer |")
            print("|---|---|" + "---|" * (len(peers) + 1))
            for name in names:
                if mode == "both" and not OPERATORS[name].gradient:
                    continue
                rounds: dict[str, list[float]] = {library: [] for library in libraries}
                numbers: dict[str, Any] = {}
                for turn in range(arguments.rounds):
                    order = list(libraries) if turn % 2 == 0 else list(reversed(libraries))
                    for library in order:
                        found = libraries[library].measure(name, size, mode)
                        if "problem" in found:
                            problems.append(f"{name}, {size}, {mode}, {library}:\n{found['problem']}")
                        else:
                            rounds[library].append(found["seconds"])
                            numbers.setdefault(library, found.get("numbers"))
                for library, answer in numbers.items():
                    if answer is not None and numbers.get("minpy") and differ(answer, numbers["minpy"]):
                        problems.append(
                            f"{name}, {size}, {mode}: {library} computes {answer}, minpy {numbers['minpy']}"
                        )
                middle = {library: statistics.median(times) for library, times in rounds.items() if times}
                medians[f"{name} {size} {mode}"] = middle
                if "minpy" not in middle:
                    continue
                ratios = [f"{middle['minpy'] / middle[peer]:.2f}" if peer in middle else "-" for peer in peers]
                fastest = min((middle[peer] for peer in peers if peer in middle), default=None)
                worst = "-" if fastest is None else f"{middle['minpy'] / fastest:.2f}"
                print(f"| {name} | {duration(middle['minpy'])} | {' | '.join(ratios)} | {worst} |", flush=True)
    print("\nversions:", ", ".join(f"{name} {library.version}" for name, library in libraries.items()))
    if arguments.json is not None:
        temporary = arguments.json.with_suffix(".tmp")
        temporary.write_text(json.dumps(medians, indent=1))
        temporary.replace(arguments.json)
    for problem in problems:
        print(f"\nFAILED: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
