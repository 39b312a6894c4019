"""The memory of a bound ResNet-18's training step: what the process grows by, at its peak, beyond the imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.case import Case, Step

BATCH, CHANNELS, SIDE = 32, 3, 32
STEPS = 3

GROWTH = """
import importlib, sys
import numpy as np
mx = importlib.import_module(sys.argv[1])
from harness.resnet import resnet18

def bytes_of(field):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))

network = resnet18(mx.sym)
before = bytes_of("VmRSS")
batch, channels, side, steps = map(int, sys.argv[2:])
inputs = ("data", "softmax_label")
requests = {{name: "null" if name in inputs else "write" for name in network.list_arguments()}}
executor = network.simple_bind(
    mx.cpu(), grad_req=requests, data=(batch, channels, side, side), softmax_label=(batch,)
)
random = np.random.RandomState(0)
for name, array in executor.arg_dict.items():
    array[:] = mx.nd.array(
        random.randint(0, 10, array.shape) if name == "softmax_label"
        else np.ones(array.shape) if name.endswith("gamma")
        else random.normal(0, 0.05, array.shape)
    )
for _ in range(steps):
    executor.forward(is_train=True)
    executor.backward()
    mx.nd.waitall()
assert np.isfinite(executor.outputs[0].asnumpy()).all()
print(bytes_of("VmHWM") - before)
""".replace("{{", "{").replace("}}", "}")

case = Case(
    f"peak memory of a bound ResNet-18 training step, batch {BATCH}, {SIDE}x{SIDE}, beyond the imports",
    targets={"mxnet": 1.0},
    self_timed=True,
    unit="B",
    samples=1,
    most_rounds=3,
)


def growth_of(library: str) -> Step:
    arguments = [library, str(BATCH), str(CHANNELS), str(SIDE), str(STEPS)]
    command = [sys.executable, "-W", "ignore", "-c", GROWTH, *arguments]
    paths = [str(Path(__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def step() -> float:
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables)
        return float(run.stdout)

    return step


@case.implementation("minpy")
def with_minpy() -> Step:
    return growth_of("minpy")


@case.implementation("mxnet")
def with_mxnet() -> Step:
    return growth_of("mxnet")
