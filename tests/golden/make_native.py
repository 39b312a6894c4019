"""Writes `native.json`: what MXNet 1.9.1 answers to `native_cases.py`, prints of a library, and says of failures.

Usage, under MXNet 1.9.1: ``python tests/golden/make_native.py operators.so failing.so``, with the libraries that
``tests/support/native/building.py`` makes of ``operators.c`` and ``failing.c``.
"""

import importlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Errors whose texts are kept: what is in the library, and MXNet's line around it.
FAILURES = ("parse", "shape", "type", "forward", "mutate", "storage", "create")


def printed(mx: Any, path: str) -> list[str]:
    """Returns what loading a library prints, without the times and places in MXNet's sources."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            mx.library.load(path)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        lines = file.read().decode().splitlines()
    return [re.sub(r"^\[[\d:]+\] \S+: ", "", line) for line in lines]


def failure(mx: Any, at: str) -> list[str]:
    """Returns MXNet's line for an operator that fails in a function, and the last of the library's messages."""
    name = {"mutate": "raw_fail_mutate", "storage": "raw_fail_storage", "create": "raw_fail_state"}.get(at, "raw_fail")
    try:
        getattr(mx.nd, name)(mx.nd.ones((2,)), at=at, message=f"{at} is bad").wait_to_read()
    except mx.base.MXNetError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        first = next(line for line in lines if "Error calling" in line)
        return [first[first.index("Error calling") :], re.sub(r"^\t\[\d+\] ", "", lines[-1])]
    raise SystemExit(f"{name} does not fail in {at}")


def main(operators: str, failing: str) -> None:
    """Makes the golden file."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    sys.path.insert(0, str(HERE))
    run_case = importlib.import_module("case_runner").run_case
    cases = importlib.import_module("native_cases").CASES
    lines = {"operators": printed(mx, operators), "failing": printed(mx, failing)}
    answers = {name: run_case(mx, snippet) for name, snippet in cases}
    failures = {at: failure(mx, at) for at in FAILURES}
    content = [f'"printed": {json.dumps(lines, indent=1)}', f'"failures": {json.dumps(failures)}']
    content += [f"{json.dumps(name)}: {json.dumps(answers[name], sort_keys=True)}" for name in sorted(answers)]
    temporary = HERE / f".native.json.{os.getpid()}"
    temporary.write_text("{\n" + ",\n".join(content) + "\n}\n", encoding="utf-8")
    temporary.replace(HERE / "native.json")
    print(f"native.json: {len(answers)} cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
