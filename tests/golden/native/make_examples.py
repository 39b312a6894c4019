"""Writes what MXNet 1.9.1 answers to the cases of `examples_cases.py`. Run under it, with the libraries built before.

Usage: ``python tests/golden/native/make_examples.py folder [output]``, where the folder holds ``libgemm.so``,
``libbatch_norm.so``, ``libsubgraph.so`` and ``libpass.so``, of the sources in ``examples/native``, and the output is
``examples.json``. Whether they were built with MXNet's header or with the one that comes with minpy makes no
difference; ``--compare`` in place of the output says so: it ends with an error if an answer is not that of the file.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from case_runner import run_case  # noqa: E402
from examples_cases import CASES, LIBRARIES  # noqa: E402


def answers(mx: Any, folder: Path) -> dict[str, Any]:
    """Return the answers to all cases, sorted by their names."""
    for name in LIBRARIES:
        mx.library.load(str(folder.resolve() / f"lib{name}.so"), verbose=False)
    return {name: answer(mx, snippet) for name, snippet in sorted(CASES)}


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


def same(found: Any, expected: Any) -> bool:
    """Say whether two descriptions are the same, up to what compilers make of sums."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, float) and isinstance(expected, float):
        return bool(np.isclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True))
    return found == expected


def main(folder: Path, output: str) -> int:
    """Write the answers, or compare them with those that are there."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    found = answers(mx, folder)
    if output == "--compare":
        expected = json.loads((HERE / "examples.json").read_text(encoding="utf-8"))
        differing = [name for name in sorted({*found, *expected}) if not same(found.get(name), expected.get(name))]
        print(f"{len(found)} cases, {len(differing)} differ: {', '.join(differing) or 'none'}")
        return bool(differing)
    path = Path(output)
    lines = [f"{json.dumps(name)}: {json.dumps(answer, sort_keys=True)}" for name, answer in found.items()]
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    temporary.replace(path)
    print(f"{path}: {len(found)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else str(HERE / "examples.json")))
