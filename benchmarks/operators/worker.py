"""Times operators in one library, under its interpreter: `python -m operators.worker LIBRARY`.

It reads lines of JSON, `[operator, size, mode]`, and answers each with a line: `{"seconds": ...}`, the median of a
call, and the first time with `"numbers"`, what the call computed in short; or `{"problem": ...}`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import Any

import numpy as np

from harness.worker import calls_per_sample, seconds_of, to_numpy, version_of
from operators.table import OPERATORS

CALLS = {"minpy": "in_mxnet", "mxnet": "in_mxnet", "torch": "in_torch", "jax": "in_jax"}
SAMPLES = 5


def in_short(arrays: list[Any]) -> list[list[float]]:
    """Return a few numbers by which answers can be told apart: for each array its size, sums, and some elements."""
    found = []
    for array in arrays:
        flat = np.asarray(to_numpy(array), "float64").reshape(-1)
        chosen = flat[:: max(1, flat.size // 7)][:8]
        found.append([float(flat.size), float(np.abs(flat).sum()), *map(float, chosen)])
    return found


def main() -> None:
    library = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "jax":
        for inner in ("jax.numpy", "jax.scipy.special", "jax.nn"):
            importlib.import_module(inner)
    build = importlib.import_module("operators." + CALLS[sys.argv[1]]).build
    steps: dict[str, Any] = {}
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)  # whatever a library prints must not mix with the replies
        print(json.dumps({"version": version_of(library)}), file=replies, flush=True)
        for line in sys.stdin:
            name, size, mode = json.loads(line)
            message: dict[str, Any] = {}
            try:
                if line not in steps:
                    measured = OPERATORS[name]
                    whole = {position for position, *_ in measured.indices}
                    arrays = measured.inputs(size)
                    floats = [position for position in range(len(arrays)) if position not in whole]
                    step, view = build(library, name, arrays, floats, mode == "both")
                    numbers = view(step())
                    if not measured.random:
                        message["numbers"] = in_short(numbers)
                    steps[line] = step, calls_per_sample(step)
                step, calls = steps[line]
                message["seconds"] = sorted(seconds_of(step, calls) for _ in range(SAMPLES))[SAMPLES // 2] / calls
            except Exception:
                message = {"problem": traceback.format_exc()}
            print(json.dumps(message), file=replies, flush=True)


if __name__ == "__main__":
    main()
