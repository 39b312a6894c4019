"""From compiling LeNet to the end of its first compiled step, in a fresh process with empty caches."""

from __future__ import annotations

from harness.case import Case, Step
from harness.first_step import first_step

case = Case(
    "from hybridize() to the first compiled step of LeNet, forward and backward, in a process with empty caches",
    limit=1.0,
    self_timed=True,
)


@case.implementation("minpy")
def with_minpy() -> Step:
    return first_step("minpy", cached=False)


@case.implementation("torch compile", peer="torch")
def with_torch_compile() -> Step:
    return first_step("torch", cached=False)
