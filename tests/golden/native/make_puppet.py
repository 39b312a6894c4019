"""Writes `puppet.json`: what MXNet 1.9.1 asks a library's partitioners and passes, and what it makes of the answers.

python tests/golden/native/make_puppet.py          with the Python of MXNet 1.9.1
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

from native.puppet import Puppet  # noqa: E402
from native.puppet_cases import CASES, random_partitions  # noqa: E402

GRAPHS = 150


def loaded(folder: str, tag: str) -> Puppet:
    path = Path(folder) / f"libpuppet{tag}.so"
    command = ["gcc", "-std=c11", "-shared", "-fPIC", "-O1", "-o", str(path), str(SOURCES / "puppet.c")]
    subprocess.run(command, check=True)
    mx.library.load(str(path), verbose=False)
    return Puppet(path)


def main() -> None:
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        puppet = loaded(folder, "")
        for name, function in CASES.items():
            print(name, file=sys.stderr, flush=True)
            with mx.name.NameManager():
                try:
                    answers[name] = function(mx, puppet)
                    mx.nd.waitall()
                except mx.MXNetError as error:
                    answers[name] = {"error": str(error).strip().splitlines()[-1]}
                    print("  ", answers[name], file=sys.stderr)
        answers["random_partitions"] = [*random_partitions(mx, puppet, GRAPHS)]
        if puppet.faults():
            print("faults:", puppet.faults(), file=sys.stderr)
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
    (FOLDER / "puppet.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
