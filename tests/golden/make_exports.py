"""Writes `exports/`: networks as Gluon of MXNet 1.9.1 exports them, what they answer, and what after a step of training.

Usage: ``python tests/golden/make_exports.py`` under MXNet 1.9.1, not under the library itself.
"""

from pathlib import Path
from typing import Any

import numpy as np
from check_export import arrays_of, networks

EXPORTS = Path(__file__).resolve().parent / "exports"
NAMES = ("residual", "several", "held", "stacked")


def imported(mx: Any, folder: Path, name: str, count: int) -> Any:
    """Returns an exported network as a block."""
    inputs = ["data"] if count == 1 else [f"data{index}" for index in range(count)]
    files = str(folder / f"{name}-symbol.json"), str(folder / f"{name}-0000.params")
    return mx.gluon.SymbolBlock.imports(files[0], inputs, files[1])


def trained(mx: Any, block: Any, x: "list[Any]") -> "list[Any]":
    """Returns what a block answers, the gradient of the first input, and what it answers after a step of training."""
    answers = [one.asnumpy() for one in arrays_of(block(*x))]
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.05})
    x[0].attach_grad()
    with mx.autograd.record():
        loss = sum((one * one).mean() for one in arrays_of(block(*x)))
    loss.backward()
    trainer.step(1)
    return [*answers, x[0].grad.asnumpy(), *(one.asnumpy() for one in arrays_of(block(*x)))]


def main() -> None:
    """Writes all of them."""
    import mxnet as mx

    EXPORTS.mkdir(exist_ok=True)
    for name, (net, *shapes) in networks(mx).items():
        if name not in NAMES:
            continue
        mx.random.seed(5)
        net.initialize(mx.init.Uniform(0.5))
        net.hybridize()
        draw = np.random.RandomState(3)
        x = [draw.uniform(-1, 1, shape).astype("float32") for shape in shapes]
        with mx.autograd.train_mode():
            net(*map(mx.nd.array, x))
        net(*map(mx.nd.array, x))
        net.export(str(EXPORTS / name))
        block = imported(mx, EXPORTS, name, len(x))
        found = trained(mx, block, [*map(mx.nd.array, x)])
        known = {f"x{index}": one for index, one in enumerate(x)}
        known.update((f"out{index}", one) for index, one in enumerate(found))
        np.savez_compressed(EXPORTS / f"{name}.npz", **known)
    print("written")


if __name__ == "__main__":
    main()
