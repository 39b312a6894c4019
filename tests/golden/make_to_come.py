"""Shrinks ``to_come.json``: of the names of MXNet that are still to come, those that are there now are taken out.

Names are added only by ``python tests/golden/make_to_come.py --add``: each should rather be there, or have a reason in
`minpy.absent`, or belong to a part in `minpy.namespaces.PARTS_TO_COME`.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD: dict[str, dict[str, Any]] = json.loads((HERE / "namespaces.json").read_text(encoding="utf-8"))
# Files that MXNet's modules are made of: their names are in the modules.
FILES = ("ndarray.ndarray", "symbol.symbol", "numpy.multiarray", "numpy_op_signature", "numpy_dispatch_protocol")


def find(path: str) -> Any:
    """Returns minpy's module or class of that path; None if it is not there."""
    found: Any = importlib.import_module("minpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in filter(None, path.split(".")):
            found = getattr(found, part, None)
    return found


def has(owner: Any, name: str) -> bool:
    """Tells whether a module or class has a name, or a reason of its own not to have it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old names warn
        return owner is not None and (hasattr(owner, name) or name in vars(owner).get("_ELSEWHERE", ()))


def absent() -> dict[str, list[str]]:
    """Returns the recorded names that are not there and have no reason, by module."""
    from minpy.absent import reason
    from minpy.namespaces import missing_part

    found = {}
    for path, names in RECORD["modules"].items():
        if path in FILES or part_to_come(path) or missing_part(path.partition(".")[0]):
            continue
        owner = find(path)
        left = [
            name
            for name in names
            if not has(owner, name)
            and not part_to_come(f"{path}.{name}" if path else name)
            and (reason(path, name) is None)
        ]
        if left:
            found[path] = left
    return found


def part_to_come(path: str) -> bool:
    """Tells whether a module, or one that it is in, is said to be to come."""
    from minpy.namespaces import PARTS_TO_COME

    parts = path.split(".")
    return any(".".join(parts[: index + 1]) in PARTS_TO_COME for index in range(len(parts)))


def main(arguments: list[str]) -> None:
    """Writes the file."""
    path = HERE / "to_come.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = {
        module: [name for name in names if "--add" in arguments or name in known.get(module, "").split()]
        for module, names in absent().items()
    }
    rows = [f"{json.dumps(module)}: {json.dumps(' '.join(names))}" for module, names in found.items() if names]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"to_come.json: {sum(len(names) for names in found.values())} names")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    main(sys.argv[1:])
