"""The memory of ResNet-18's training step in Gluon: what the process grows by, at its peak, beyond the imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.case import Case, Step
from harness.gluon_resnet import BATCH, SIDE

STEPS = 5  # from the third on they are native code

GROWTH = """
import importlib, sys
import numpy as np
library, steps = sys.argv[1], int(sys.argv[2])
importlib.import_module(library)
from harness import gluon_resnet
inputs = gluon_resnet.inputs()
case = importlib.import_module("cases.gluon_resnet18_step")

def bytes_of(field):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))

before = bytes_of("VmRSS")
step, view = getattr(case, "with_" + library)(*inputs)
for _ in range(steps):
    loss = step()
loss = view(loss)[0]
assert np.isfinite(loss.detach().numpy() if library == "torch" else loss.asnumpy()).all()
print(bytes_of("VmHWM") - before)
"""

case = Case(
    f"peak memory of ResNet-18's training step in Gluon, hybridized, batch {BATCH}, {SIDE}x{SIDE}, beyond the imports",
    targets={"mxnet": 1.0},
    self_timed=True,
    unit="B",
    samples=1,
    most_rounds=3,
)


def growth_of(library: str) -> Step:
    command = [sys.executable, "-W", "ignore", "-c", GROWTH, library, str(STEPS)]
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


@case.implementation("torch")
def with_torch() -> Step:
    return growth_of("torch")
