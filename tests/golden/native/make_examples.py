"""Writes what MXNet 1.9.1 answers to the cases of `examples_cases.py`, or compares answers with what is written.

Usage: ``python make_examples.py [--compare] [--module minpy] folder``; the folder holds ``libgemm.so`` and the other
`LIBRARIES`, built of the sources in ``examples/native``. Run under MXNet 1.9.1, it writes ``examples.json``. It is the
same with the header that comes with minpy as with MXNet's, and in minpy with libraries that were built with either:
``--compare`` says so, and ends with an error where an answer is another than that of the file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
try:
    from case_runner import run_case
    from examples_cases import CASES, DIFFERENCES, LIBRARIES
finally:
    del sys.path[:2]

ANSWERS = HERE / "examples.json"


def answer(mx: Any, snippet: str) -> Any:
    """Return the description of a case's result; the counters in names of operators begin anew."""
    with mx.name.NameManager():
        return rounded(run_case(mx, snippet))


def rounded(description: Any) -> Any:
    """Return a description whose float32 numbers have the digits that count: the last ones are the processor's."""
    if isinstance(description, dict):
        if description.get("dtype") == "float32":
            return {**description, "values": shortened(description["values"])}
        return {key: rounded(value) for key, value in description.items()}
    return [rounded(item) for item in description] if isinstance(description, list) else description


def shortened(values: Any) -> Any:
    """Return numbers, in lists of lists, of nine digits."""
    return [shortened(value) for value in values] if isinstance(values, list) else float(f"{values:.9g}")


def difference(found: Any, expected: Any, path: str = "result") -> str:
    """Return where and how two descriptions differ, up to what compilers make of sums; an empty text if they do not."""
    if isinstance(found, dict) and isinstance(expected, dict):
        if found.get("kind") == expected.get("kind") == "error":
            return ""
        if found.get("kind") == expected.get("kind") == "string" and found["values"] != expected["values"]:
            return f"{path} is {found['values']}\n, expected {expected['values']}"
        keys = [key for key in ("kind", "shape", "dtype", *expected) if key in found or key in expected]
        parts = (difference(found.get(key), expected.get(key), f"{path}.{key}") for key in keys)
        return next(filter(None, parts), "")
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return next(filter(None, (difference(*pair, f"{path}[{index}]") for index, pair in pairs)), "")
    if isinstance(found, float) and isinstance(expected, float):
        same = np.isclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    else:
        same = found == expected
    return "" if same else f"{path} is {found}, expected {expected}"


def compare(mx: Any) -> int:
    """Print which answers differ from those of the file, and return their number."""
    expected = json.loads(ANSWERS.read_text(encoding="utf-8"))
    differing = 0
    for name, snippet in CASES:
        text = difference(answer(mx, snippet), expected[name])
        if text and not (mx.__name__ == "minpy" and name in DIFFERENCES):
            differing += 1
            print(f"{name}: {text}")
    print(f"{len(CASES)} cases, of which {differing} differ")
    return differing


def write(mx: Any) -> None:
    """Write MXNet's answers, sorted by the names of the cases."""
    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    lines = [f"{json.dumps(name)}: {json.dumps(answer(mx, case), sort_keys=True)}" for name, case in sorted(CASES)]
    temporary = ANSWERS.with_name(f".{ANSWERS.name}.{os.getpid()}")
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    temporary.replace(ANSWERS)
    print(f"{ANSWERS.name}: {len(CASES)} cases")


def main() -> int:
    """Load the libraries, and write or compare; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the libraries are")
    parser.add_argument("--compare", action="store_true", help="compare with the file, in place of writing it")
    parser.add_argument("--module", default="mxnet", help="what to ask: mxnet (the default) or minpy")
    options = parser.parse_args()
    mx = importlib.import_module(options.module)
    for name in LIBRARIES:
        mx.library.load(str(options.folder.resolve() / f"lib{name}.so"), verbose=False)
    if options.compare:
        return 1 if compare(mx) else 0
    write(mx)
    return 0


if __name__ == "__main__":
    sys.exit(main())
