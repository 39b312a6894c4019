"""Proves that MXNet 1.9.1 reads the states of optimizers that minpy writes, and goes on with them. In two steps:

``python tests/golden/check_states.py write FOLDER`` under minpy writes states after three steps, and weights beside
them; ``python tests/golden/check_states.py read FOLDER`` under MXNet 1.9.1 loads them, makes three further steps, and
compares the weights with those that minpy has after six.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

TOLERANCES = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-6}  # MXNet takes rates in float32


def write(folder: Path) -> None:
    """Writes the states of each optimizer, with the optimizer and without."""
    import minpy as mx

    for name in cases.OPTIMIZERS:
        update, weights = cases.start(mx, name)
        cases.steps(mx, update, weights, 0, 3)
        for dump_optimizer in (False, True):
            (folder / f"{name}.{dump_optimizer}.states").write_bytes(update.get_states(dump_optimizer))
        before = [weight.asnumpy() for weight in weights]
        cases.steps(mx, update, weights, 3, 6)
        np.savez(folder / f"{name}.npz", *before, *(weight.asnumpy() for weight in weights))
    print(f"wrote the states of {len(cases.OPTIMIZERS)} optimizers")


def read(folder: Path) -> None:
    """Goes on with the states under MXNet, and compares."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"the reference is MXNet 1.9.1, this is {mx.__version__}")
    for name in cases.OPTIMIZERS:
        with np.load(folder / f"{name}.npz") as archive:
            arrays = [archive[f"arr_{position}"] for position in range(len(archive.files))]
        before, after = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
        for dump_optimizer in (False, True):
            update, weights = cases.start(mx, name)
            update.set_states((folder / f"{name}.{dump_optimizer}.states").read_bytes())
            if dump_optimizer:
                if type(update.optimizer).__module__.partition(".")[0] != "mxnet":
                    raise SystemExit(f"{name}: the optimizer is a {type(update.optimizer)}")
            else:  # the counts are the optimizer's
                cases.steps(mx, mx.optimizer.get_updater(update.optimizer), weights, 0, 3)
            for weight, value in zip(weights, before, strict=True):
                weight[:] = mx.nd.array(value, dtype=value.dtype)
            cases.steps(mx, update, weights, 3, 6)
            for weight, value in zip(weights, after, strict=True):
                tolerance = TOLERANCES[value.dtype.name]
                if not np.allclose(weight.asnumpy(), value, rtol=tolerance, atol=tolerance):
                    raise SystemExit(f"{name}, {dump_optimizer}: {weight.asnumpy()}, expected {value}")
    print(f"MXNet reads the states of {len(cases.OPTIMIZERS)} optimizers as minpy wrote them, and goes on with them")


if __name__ == "__main__":
    commands = {"write": write, "read": read}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    cases = importlib.import_module("optimizers_with_states")
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    commands[sys.argv[1]](target)
