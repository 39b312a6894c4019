"""Writes ``registered_operators.json``: the names of the operators of MXNet 1.9.1, under which files have them.

Usage: ``python tests/golden/make_registered_operators.py``, under MXNet 1.9.1. Gradients are left out: no file has
them.
"""

import ctypes
import json
from pathlib import Path


def main() -> None:
    """Writes the file."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_uint()
    mx.base.check_call(mx.base._LIB.MXListAllOpNames(ctypes.byref(count), ctypes.byref(names)))
    found = sorted(names[place].decode() for place in range(count.value) if b"backward" not in names[place])
    path = Path(__file__).resolve().parent / "registered_operators.json"
    path.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
    print(f"registered_operators.json: {len(found)} names")


if __name__ == "__main__":
    main()
