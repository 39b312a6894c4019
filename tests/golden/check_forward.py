"""Reads the files that `forward_blocks.py` has written, under MXNet 1.9.1, and says which are equal.

Usage: ``python tests/golden/check_forward.py DIR`` under MXNet 1.9.1, not under the library itself.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np


def arrays_of(value: Any) -> "list[Any]":
    """Returns the arrays among nested outputs."""
    return [one for part in value for one in arrays_of(part)] if isinstance(value, (list, tuple)) else [value]


def read(mx: Any, folder: Path, known: Any) -> str:
    """Returns what becomes of a file: 'equal', 'differs', or the error."""
    x = [known[f"x{index}"] for index in range(sum(key.startswith("x") for key in known))]
    outputs = [known[f"out{index}"] for index in range(sum(key.startswith("out") for key in known))]
    names = ["data"] if len(x) == 1 else [f"data{index}" for index in range(len(x))]
    make = mx.np.array if known["in_numpy"] else mx.nd.array
    try:
        block = mx.gluon.SymbolBlock.imports(str(folder / "net-symbol.json"), names, str(folder / "net-0000.params"))
        found = [one.asnumpy() for one in arrays_of(block(*map(make, x)))]
    except Exception as error:  # whatever MXNet says of an operator that it has not
        return str(error).strip().splitlines()[0][:100]
    equal = len(found) == len(outputs) and all(
        one.shape == other.shape and np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
        for one, other in zip(found, outputs)  # noqa: B905, as Python 3.8 has it
    )
    return "equal" if equal else "differs"


def main() -> None:
    """Reads all of them."""
    import mxnet as mx

    count = 0
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        known = np.load(folder / "case.npz")
        in_numpy = bool(known["in_numpy"])
        with mx.util.np_shape(in_numpy), mx.util.np_array(in_numpy):
            answer = read(mx, folder, known)
        if answer == "equal":
            count += 1
        else:
            print(f"{known['name']}: {answer}")
    print(f"{count} are equal")


if __name__ == "__main__":
    main()
