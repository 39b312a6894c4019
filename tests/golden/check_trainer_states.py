"""States of trainers that MXNet 1.9.1 writes, which minpy reads; and a proof that MXNet reads ours.

``python tests/golden/check_trainer_states.py make`` under MXNet 1.9.1 writes `states/trainer_*.states`, and the
weights after the next step. ``... write FOLDER`` under minpy writes states of the same trainers; ``... read FOLDER``
under MXNet loads them, makes the next step, and compares the weights.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent / "states"
OPTIMIZERS = {
    "momentum": ("sgd", {"learning_rate": 0.125, "momentum": 0.5, "wd": 0.25}),
    "adam": ("adam", {"learning_rate": 0.125}),
    "scheduled": ("sgd", {"learning_rate": 0.5, "momentum": 0.5}),
}


def train(mx: Any, name: str, contexts: int, steps: int = 2) -> tuple[Any, Any]:
    """Returns a trainer after some steps, and its parameters."""
    optimizer, settings = OPTIMIZERS[name]
    if name == "scheduled":
        settings = {**settings, "lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.5)}
    parameters = []
    for position, values in enumerate(([1, -2], [3, 0.5, 4])):
        made = mx.gluon.Parameter(f"p{position}", shape=(len(values),), lr_mult=position + 1)
        made.initialize(mx.init.Zero(), ctx=[mx.cpu(number) for number in range(contexts)])
        made.set_data(mx.nd.array(values))
        parameters.append(made)
    trainer = mx.gluon.Trainer(parameters, optimizer, settings)
    for _ in range(steps):
        step(mx, trainer, parameters)
    return trainer, parameters


def step(mx: Any, trainer: Any, parameters: Any) -> list[Any]:
    """Makes a step, and returns the weights."""
    losses = []
    with mx.autograd.record():
        for context in parameters[0].list_ctx():
            losses.append(sum((one.data(context) ** 2).sum() for one in parameters))
    mx.autograd.backward(losses)
    trainer.step(2)
    return [one.list_data()[0].asnumpy().tolist() for one in parameters]


CASES = [(name, contexts) for name in OPTIMIZERS for contexts in (1, 2)]


def weights(mx: Any, name: str, contexts: int, path: Path) -> list[Any]:
    """Returns the weights after a step of a new trainer, with parameters after two steps, and states of a file."""
    trained, _ = train(mx, name, contexts)
    trainer, parameters = train(mx, name, contexts, steps=0)
    for one, other in zip(parameters, trained._params, strict=True):
        one.set_data(other.list_data()[0])
    trainer.load_states(str(path))
    return step(mx, trainer, parameters)


def main(what: str, folder: Path = HERE) -> None:
    """Does one of the three."""
    if what == "write":
        import minpy as mx
    else:
        import mxnet as mx
    found = {}
    for name, contexts in CASES:
        path = folder / f"trainer_{name}_{contexts}.states"
        if what != "read":
            trainer, parameters = train(mx, name, contexts)
            trainer.save_states(str(path))
            found[path.name] = step(mx, trainer, parameters)
        else:
            expected = json.loads((folder / "trainers.json").read_text())[path.name]
            for got, wanted in zip(weights(mx, name, contexts, path), expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-4)  # 1 - beta2 is a float32 in MXNet
    if what != "read":
        (folder / "trainers.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{what}: {len(CASES)} trainers")


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
