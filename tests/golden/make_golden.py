"""Writes the golden files: what MXNet 1.9.1 answers to every case. Run under MXNet 1.9.1, not under the library itself.

Usage: ``python tests/golden/make_golden.py [group] ...``, where a group is a file ``{group}_cases.py``.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Each has its cases in `{group}_cases.py`, and MXNet's answers in `{group}.json`; five have scripts of their own.
APART = {"inference", "native", "native_library", "refusals", "symbol"}
GROUPS = tuple(sorted({path.name.removesuffix("_cases.py") for path in HERE.glob("*_cases.py")} - APART))


def make(group: str, mx: Any, run_case: Callable[[Any, str], dict[str, Any]]) -> int:
    """Runs the cases of ``{group}_cases.py``, writes ``{group}.json`` sorted by name, and returns their number."""
    cases = importlib.import_module(f"{group}_cases").CASES
    answers = {}
    for name, snippet in cases:
        if name in answers:
            raise ValueError(f"{group}_cases.py has two cases named {name}")
        answers[name] = run_case(mx, snippet)
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name], sort_keys=True)}" for name in sorted(answers)]
    temporary = HERE / f".{group}.json.{os.getpid()}"
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    temporary.replace(HERE / f"{group}.json")
    return len(answers)


def main(groups: list[str]) -> None:
    """Makes the golden files of ``groups``, or of all groups."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    sys.path.insert(0, str(HERE))
    run_case = importlib.import_module("case_runner").run_case
    for group in groups or GROUPS:
        print(f"{group}.json: {make(group, mx, run_case)} cases")


if __name__ == "__main__":
    main(sys.argv[1:])
