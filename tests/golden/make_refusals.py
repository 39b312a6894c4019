"""Writes ``refusals.json``: the kinds of errors with which MXNet 1.9.1 answers wrong calls. Run under MXNet 1.9.1.

Usage: ``python tests/golden/make_refusals.py``. Each call runs in a process of its own, as some end it: then the answer
is "crash"; where MXNet takes the call, it is "".
"""

import builtins
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# What stands for itself in the record; of other classes the nearest of these above them is kept.
KINDS = ("MXNetError", "NotImplementedForSymbol", "NotSupportedForSparseNDArray", "DeferredInitializationError")


def error_of(mx: Any, beginning: str, text: str) -> BaseException | None:
    """Returns the error that a call raises; None if it raises none."""
    import numpy as np

    scope: dict[str, Any] = {"mx": mx, "nd": mx.nd, "autograd": mx.autograd, "np": np, "__name__": "refused"}
    exec(beginning, scope)
    try:
        exec(text, scope)
        mx.nd.waitall()
    except Exception as error:
        return error
    finally:
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)
    return None


def kind_of(error: BaseException | None) -> str:
    """Returns the name of the class of an error, as programs would write it; "" for none."""
    for cls in type(error).__mro__ if error is not None else ():
        if cls.__name__ in KINDS or getattr(builtins, cls.__name__, None) is cls:
            return cls.__name__
    return ""


def _ask(mx: Any, beginning: str, text: str) -> str:
    """Returns the kind of error that a process of its own gets."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.write(writes, b"!" + kind_of(error_of(mx, beginning, text)).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as stream:
        answer = stream.read().decode()
    os.waitpid(child, 0)
    return answer[1:] if answer else "crash"


def main() -> None:
    """Asks for each case, and writes the answers."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    sys.path.insert(0, str(HERE))
    cases = importlib.import_module("refusals_cases")
    answers = {name: _ask(mx, cases.BEGINNING, text) for name, text in cases.CASES}
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    (HERE / "refusals.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"refusals.json: {len(answers)} cases")


if __name__ == "__main__":
    main()
