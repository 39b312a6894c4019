"""Makes the files of old models, with MXNet: `python benchmarks/make_models.py [model ...]`. Safe to run again."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness.old_models import MODELS, files_of
from harness.peers import interpreter

CALIBRATIONS = 10


def make(mx: Any, name: str) -> None:
    """Write a model with random weights, whose batch norms have seen random images, and what it computes."""
    random = np.random.RandomState(0)
    mx.random.seed(1)
    np.random.seed(1)
    side = MODELS[name]
    net = mx.gluon.model_zoo.vision.get_model(name)
    net.initialize(mx.init.MSRAPrelu())
    images = mx.nd.array(random.normal(0, 1, (4, 3, side, side)))
    net(images)
    for parameter in net.collect_params().values():
        if parameter.name.endswith(("gamma", "beta", "bias")):
            values = random.normal(parameter.name.endswith("gamma"), 0.1, parameter.shape)
            parameter.set_data(mx.nd.array(values))
    if any(parameter.name.endswith("gamma") for parameter in net.collect_params().values()):
        for _ in range(CALIBRATIONS):
            with mx.autograd.train_mode(), mx.autograd.pause(train_mode=True):
                net(images).wait_to_read()
    net.hybridize()
    image = random.normal(0, 1, (1, 3, side, side)).astype(np.float32)
    result = net(mx.nd.array(image)).asnumpy()
    assert np.isfinite(result).all()
    symbol, _, numbers = files_of(name)
    symbol.parent.mkdir(parents=True, exist_ok=True)
    net.export(str(symbol)[: -len("-symbol.json")])
    temporary = numbers.with_suffix(".tmp.npz")  # it comes last, and says that all of them are there
    np.savez(temporary, image=image, result=result)
    temporary.replace(numbers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="model", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--env", metavar="mxnet=FOLDER", help="an environment of MXNet's elsewhere")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.models) - set(MODELS)):
        parser.error(f"no such model: {', '.join(unknown)}; there are {', '.join(MODELS)}")
    names = [name for name in arguments.models or MODELS if not files_of(name)[-1].exists()]
    try:
        import mxnet as mx
    except ImportError:
        folder = Path(arguments.env.partition("=")[2]) if arguments.env else None
        python = interpreter("mxnet", folder)
        if python is None:
            print("MXNet has no environment: python benchmarks/make_peers.py mxnet", file=sys.stderr)
            return 1
        return subprocess.run([python, "-W", "ignore", __file__, *arguments.models], check=False).returncode
    for name in names:
        print(f"{name}: making {files_of(name)[0]}", flush=True)
        make(mx, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
