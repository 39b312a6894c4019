"""Build the same sources with MXNet's header and with minpy's, and compare everything that the two libraries answer.

    python tests/support/native/compare_headers.py MXNET          # MXNet 1.9.1's package: include/ and src/ in it
    python tests/support/native/compare_headers.py MXNET --write  # also keeps the answers of its header, for the tests

MXNet's header is given to the compiler only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from answers import GOLDEN, differences, run_host

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "minpy"
SOURCES = [HERE / "surface.cc", HERE / "surface_graphs.cc"]


def build(target: Path, *parts: object) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    command = [compiler, "-std=c++11", "-O1", "-w", "-shared", "-fPIC", *map(str, parts), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def main() -> int:
    root = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        host = build(Path(folder) / "host.so", HERE / "surface_host.cc", "-ldl", "-pthread")
        answers = []
        for name, home in (("theirs", root), ("ours", PACKAGE)):
            library = build(Path(folder) / f"{name}.so", *SOURCES, home / "src" / "lib_api.cc", f"-I{home / 'include'}")
            answers.append(run_host(host, library))
    theirs, ours = answers
    if "--write" in sys.argv:
        GOLDEN.write_text(json.dumps(theirs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    found = differences(theirs, ours)
    print("\n".join([*found, f"{len(theirs)} answers, {len(found)} unexpected differences"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
