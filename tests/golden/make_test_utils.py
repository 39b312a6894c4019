"""Writes `test_utils.json`: what `from mxnet.test_utils import *` brings. Run under MXNet 1.9.1."""

import json
from pathlib import Path


def main() -> None:
    """Writes the file."""
    space: dict = {}
    exec("from mxnet.test_utils import *", space)
    del space["__builtins__"]
    found = {
        name: {"name": getattr(value, "__name__", name), "type": type(value).__name__}
        for name, value in sorted(space.items())
    }
    rows = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    path = Path(__file__).resolve().parent / "test_utils.json"
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(len(found))


if __name__ == "__main__":
    main()
