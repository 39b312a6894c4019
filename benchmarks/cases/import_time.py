"""The time that importing the library adds to importing NumPy, each time in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys

from harness.case import Case, Step

TIMED_IMPORT = """
import time, numpy
start = time.perf_counter()
import {library}
print(time.perf_counter() - start)
"""

case = Case("importing the library, after NumPy, in a fresh process", limit=0.2, self_timed=True)


def import_of(library: str) -> Step:
    command = [sys.executable, "-W", "ignore", "-c", TIMED_IMPORT.format(library=library)]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def step() -> float:
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=variables).stdout)

    step()  # so that the bytecode is there
    return step


@case.implementation("minpy")
def with_minpy() -> Step:
    return import_of("minpy")


@case.implementation("torch")
def with_torch() -> Step:
    return import_of("torch")


@case.implementation("autograd")
def with_autograd() -> Step:
    return import_of("autograd.numpy")


@case.implementation("mxnet")
def with_mxnet() -> Step:
    return import_of("mxnet")


@case.implementation("jax")
def with_jax() -> Step:
    return import_of("jax.numpy")
