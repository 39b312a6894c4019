"""Writes ``states/*.states``, states of optimizers after three steps, and ``states.npz``, weights. Run under MXNet.

The weights are those after three steps and after three further ones. States are written with and without their
optimizer, as ``Updater.get_states`` has them: ``NAME.True.states`` includes it.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Writes the files."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    sys.path.insert(0, str(HERE))
    cases = importlib.import_module("optimizers_with_states")
    folder = HERE / "states"
    folder.mkdir(exist_ok=True)
    values = {}
    for name in cases.OPTIMIZERS:
        update, weights = cases.start(mx, name)
        cases.steps(mx, update, weights, 0, 3)
        for dump_optimizer in (False, True):
            (folder / f"{name}.{dump_optimizer}.states").write_bytes(update.get_states(dump_optimizer))
        values |= {f"{name}_{index}_3": weight.asnumpy() for index, weight in enumerate(weights)}
        cases.steps(mx, update, weights, 3, 6)
        values |= {f"{name}_{index}_6": weight.asnumpy() for index, weight in enumerate(weights)}
    np.savez_compressed(folder / "states.npz", **values)
    print(f"{len(cases.OPTIMIZERS)} optimizers")


if __name__ == "__main__":
    main()
