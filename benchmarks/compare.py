"""Measures two checkouts of minpy against each other, in turns: `python benchmarks/compare.py OLD [case ...]`.

Prints for each case the times of both, their quartiles, and the ratio new / old; then the geometric mean of the ratios.
The cases are those of this checkout; one that the old checkout cannot run is left out, and named.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

from harness.measure import BENCHMARKS, PAUSE_SECONDS, Settings, Worker, WorkerError, show_progress
from harness.report import format_amount
from run import case_names, describe_machine, load

SLOWER = 1.05


def rounds_of(name: str, checkouts: list[Path], settings: Settings) -> list[list[float]]:
    """Return the times of each checkout, a time a round; the order is reversed from round to round."""
    case = load(name)
    implementation = next(one for one in case.implementations.values() if one.peer == "minpy")
    workers: list[Worker] = []
    times: list[list[float]] = [[] for _ in checkouts]
    try:
        for checkout in checkouts:
            workers.append(Worker(name, implementation, settings, checkout))
        for number in range(settings.rounds):
            show_progress(f"{name}: round {number + 1} of {settings.rounds}")
            order = list(range(len(workers)))
            for position in order if number % 2 == 0 else reversed(order):
                time.sleep(PAUSE_SECONDS)
                times[position].append(workers[position].measure_round())
    finally:
        for worker in workers:
            worker.close()
        show_progress("")
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, help="the folder of another checkout")
    parser.add_argument("cases", nargs="*", metavar="case", help="names of cases (default: all)")
    parser.add_argument("--repeat", type=int, default=15, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of every library (default: its own default)")
    arguments = parser.parse_args()
    if not (arguments.old / "minpy" / "__init__.py").exists():
        parser.error(f"{arguments.old} is no checkout of minpy: there is no minpy/__init__.py in it")
    if unknown := sorted(set(arguments.cases) - set(case_names())):
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(case_names())}")
    settings = Settings(rounds=arguments.repeat, threads=arguments.threads)
    print(describe_machine(settings), end="\n\n", flush=True)
    checkouts = [arguments.old.resolve(), BENCHMARKS.parent]
    ratios = []
    print(f"{'case':22} {'old':>10} {'new':>10} {'new / old':>10}   quartiles of old, of new")
    for name in arguments.cases or case_names():
        unit = load(name).unit
        try:
            times = rounds_of(name, checkouts, settings)
        except WorkerError as error:
            print(f"{name:22} cannot be run: {str(error).strip().splitlines()[-1]}", flush=True)
            continue
        old, new = map(statistics.median, times)
        ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
        ratios.append(ratio)
        quartiles = [statistics.quantiles(one, n=4, method="inclusive") for one in times]
        apart = quartiles[1][0] > quartiles[0][2]
        shown = ", ".join(
            f"{format_amount(first, unit)} to {format_amount(third, unit)}" for first, _, third in quartiles
        )
        note = "  SLOWER" if ratio > SLOWER and apart else ""
        print(
            f"{name:22} {format_amount(old, unit):>10} {format_amount(new, unit):>10} {ratio:10.3f}   {shown}{note}",
            flush=True,
        )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\ngeometric mean of {len(ratios)} cases: {mean:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
