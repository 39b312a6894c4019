"""Runs one implementation of one case under its peer's interpreter: builds it, checks its numbers, times it on request.

Started as `python -m harness.worker CASE IMPLEMENTATION`. It first writes one JSON line, `{"version": ...}` or
`{"problem": ..., "unavailable": ...}`; then, for every line it reads, the seconds of one round (or a problem).
"""

from __future__ import annotations

import importlib
import math
import os
import statistics
import sys
import time
import traceback
from importlib import metadata
from json import dumps
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.case import Array, Case, Step

SAMPLE_SECONDS = 0.01  # one sample is as many calls as fill this
ROUND_SECONDS = 0.15
FEWEST_SAMPLES = 3


def to_numpy(value: Array) -> Array:
    """Any library's array as a NumPy array."""
    if hasattr(value, "asnumpy"):
        return value.asnumpy()
    return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def check(case: Case, results: Any, inputs: tuple[Array, ...]) -> None:
    """Raise AssertionError unless the results are the expected float32 numbers."""
    assert case.expected is not None
    actual, wanted = as_tuple(results), as_tuple(case.expected(*inputs))
    assert len(actual) == len(wanted), f"{len(actual)} results where {len(wanted)} are expected"
    for position, (result, number) in enumerate(zip(actual, wanted, strict=True)):
        got, want = to_numpy(result), np.asarray(number)
        assert got.dtype == np.float32, f"result {position} is {got.dtype}, not float32"
        np.testing.assert_allclose(
            got.reshape(want.shape), want, rtol=case.rtol, atol=case.atol, err_msg=f"result {position}"
        )


def prepare(case: Case, implementation: str) -> Step:
    """Build the implementation and check its numbers; return the function to time."""
    inputs = case.inputs()
    chosen = case.implementations[implementation]
    built = chosen.build(*(array.copy() for array in inputs))
    step: Step
    step, view = built if isinstance(built, tuple) else (built, None)
    if case.expected is not None and chosen.checked:
        for _ in range(case.check_calls):
            results = step()
        check(case, view(results) if view else results, inputs)
    return step


def seconds_of(step: Step, calls: int) -> float:
    repetitions = range(calls)
    start = time.perf_counter()
    for _ in repetitions:
        step()
    return time.perf_counter() - start


def calls_per_sample(step: Step) -> int:
    """How many calls fill one sample; doubles as the warm-up."""
    calls = 1
    while True:
        seconds = seconds_of(step, calls)
        if seconds >= SAMPLE_SECONDS / 2:
            return max(1, math.ceil(calls * SAMPLE_SECONDS / seconds))
        calls *= 2


def time_round(step: Step, calls: int) -> float:
    """The median seconds of one call in one round, after a sample that is not counted."""
    seconds_of(step, calls)
    samples: list[float] = []
    while len(samples) < FEWEST_SAMPLES or sum(samples) < ROUND_SECONDS:
        samples.append(seconds_of(step, calls))
    return statistics.median(samples) / calls


def version_of(library: Any) -> str:
    """The version that a package names, or else the version that was installed."""
    try:
        return getattr(library, "__version__", None) or metadata.version(library.__name__)
    except metadata.PackageNotFoundError:
        return "of this checkout"


def main() -> None:
    case_name, implementation = sys.argv[1:]
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)  # whatever a library prints must not mix with the replies

        def reply(**message: Any) -> None:
            print(dumps(message), file=replies, flush=True)

        try:
            case: Case = importlib.import_module("cases." + case_name).case
            library = importlib.import_module(case.implementations[implementation].peer)
        except ImportError as error:
            reply(problem=str(error), unavailable=True)
            return
        try:
            step = prepare(case, implementation)
            calls = 1 if case.self_timed else calls_per_sample(step)
            reply(version=version_of(library))
            for _ in sys.stdin:
                if case.self_timed:
                    seconds = statistics.median(step() for _ in range(case.samples))
                else:
                    seconds = time_round(step, calls)
                reply(seconds=seconds / case.per)
        except ImportError as error:
            reply(problem=str(error), unavailable=True)
        except Exception:
            reply(problem=traceback.format_exc(), unavailable=False)


if __name__ == "__main__":
    main()
