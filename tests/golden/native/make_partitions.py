"""Writes `partitions.json`: what MXNet 1.9.1 makes of the graphs of `tests/support/native/partition_cases.py`.

Usage: ``python tests/golden/native/make_partitions.py`` under MXNet 1.9.1, with a C++ compiler: `chooser.cc` is built
with the header that comes with it. Of each graph there is a hash of what is compared; of some the whole; of those that
MXNet cannot partition its error; and what selectors were asked, as far as the order is the same each time.
"""

import hashlib
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parent.parent / "support" / "native"
WHOLE = ("chain_nested", "several_readers", "split_taken", "batch_norm_taken", "joined_dedup", "drawn_3")


def build(folder: Path, mx: Any) -> Path:
    """Builds the library with MXNet's own header; returns its path."""
    root = Path(mx.__file__).parent
    path = folder / "libchooser.so"
    include = ["-I", str(root / "include" / "mxnet"), "-I", str(root / "include")]
    sources = [str(NATIVE / "chooser.cc"), str(root / "src" / "lib_api.cc")]
    subprocess.run(["g++", "-shared", "-fPIC", "-std=c++11", *sources, "-o", str(path), *include], check=True)
    return path


def arrays(mx: Any, shapes: Any) -> Any:
    """Returns arrays of these shapes, by name."""
    return {name: mx.nd.ones(shape) for name, shape in shapes.items()}


def answer(mx: Any, cases: Any, case: Any, log: Path) -> Any:
    """Returns what MXNet makes of a case."""
    symbol = mx.sym.load_json(json.dumps(case.graph))
    given = case.shapes and {"args": arrays(mx, case.shapes[0]), "aux": arrays(mx, case.shapes[1])}
    log.write_text("", encoding="utf-8")
    try:
        for partitioner, options in case.calls:
            symbol = symbol.optimize_for(partitioner, **(given or {}), log=str(log), **options)
        document = json.loads(symbol.tojson())
    except Exception as error:  # whatever it says
        return {"error": str(error).strip().splitlines()[-1][:80]}
    found = cases.plain(document, case.shapes is not None, "dedup_subgraph" in case.calls[0][1])
    kinds = ("select", "filter", "reset", "review")
    asked = [line for line in log.read_text(encoding="utf-8").splitlines() if line.split()[0] in kinds]
    return {"graph": found, "asked": asked}


def digest(content: Any) -> str:
    """Returns a hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def main() -> None:
    """Makes the golden file."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"this is {mx.__name__} {mx.__version__}; expected MXNet 1.9.1")
    sys.path.insert(0, str(NATIVE))
    cases = importlib.import_module("partition_cases")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        mx.library.load(str(build(Path(folder), mx)), verbose=False)
        for name, case in cases.all_cases().items():
            found = answer(mx, cases, case, Path(folder) / "log")
            if "error" not in found:
                whole = {"whole": found["graph"]} if name in WHOLE else {}
                found = {"graph": digest(found["graph"]), "asked": digest(found["asked"]), **whole}
            lines.append(f"{json.dumps(name)}: {json.dumps(found, sort_keys=True)}")
    (HERE / "partitions.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
