"""Writes `evaluating.json`: what MXNet 1.9.1 makes of graphs with the C++ library of `evaluating.cc`.

    python tests/golden/native/make_evaluating.py          with the Python of MXNet 1.9.1

The library is built with MXNet's own header.
"""

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import mxnet as mx  # noqa: E402

FOLDER = Path(__file__).resolve().parent
SOURCES = FOLDER.parent.parent / "support" / "native"
sys.path.insert(0, str(SOURCES.parent))

from native.evaluating_cases import CASES, run  # noqa: E402


def main() -> None:
    include = mx.libinfo.find_include_path()
    further = Path(include).parent / "src" / "lib_api.cc"
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "libevaluating.so"
        command = ["g++", "-std=c++11", "-shared", "-fPIC", "-O1", f"-I{include}", str(SOURCES / "evaluating.cc")]
        subprocess.run([*command, str(further), "-o", str(path)], check=True, stderr=subprocess.DEVNULL)
        mx.library.load(str(path), verbose=False)
        for name, steps in CASES.items():
            for known in (True, False):
                print(name, known, file=sys.stderr, flush=True)
                try:
                    answers[f"{name}, {'known' if known else 'unknown'}"] = run(mx, steps, known)
                except mx.MXNetError as error:
                    print("  ", str(error).strip().splitlines()[-1], file=sys.stderr)
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
    (FOLDER / "evaluating.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
