"""Measures a case: one living process for each implementation, and rounds that take turns between them."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.peers import LOCAL, interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.case import Case, Implementation

BENCHMARKS = Path(__file__).resolve().parent.parent
REPLY_SECONDS = 600.0  # torch.compile takes minutes for a network of convolutions
PAUSE_SECONDS = 0.05  # lets the thread pools of the last process fall asleep
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "MXNET_CPU_WORKER_NTHREADS",
    "NPROC",  # JAX
    "NUMBA_NUM_THREADS",
    "MINPY_COMPILE_THREADS",
)


@dataclass
class Settings:
    """What the user of `run.py` may choose about the measuring."""

    rounds: int
    peers: frozenset[str] | None = None  # None: all
    threads: int | None = None  # None: each library's own default
    environments: dict[str, Path] = field(default_factory=dict)


@dataclass
class Row:
    """What became of one implementation: the seconds of each round, or why there are none."""

    name: str
    version: str = ""
    rounds: list[float] = field(default_factory=list)
    problem: str = ""
    failed: bool = False  # it ran and went wrong, as against not being there

    @property
    def median(self) -> float | None:
        return statistics.median(self.rounds) if self.rounds else None

    @property
    def spread(self) -> float | None:
        """Half the distance between the quartiles, as a share of the median."""
        if len(self.rounds) < 2:
            return None
        first, middle, third = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (third - first) / 2 / middle


class WorkerError(Exception):
    """A worker that cannot measure; `failed` as in `Row`."""

    def __init__(self, text: str, failed: bool) -> None:
        super().__init__(text)
        self.failed = failed


class Worker:
    """The process that runs one implementation."""

    def __init__(
        self, case_name: str, implementation: Implementation, settings: Settings, checkout: Path = BENCHMARKS.parent
    ) -> None:
        python = interpreter(implementation.peer, settings.environments.get(implementation.peer))
        if python is None:
            raise WorkerError(f"no environment: run make_peers.py {implementation.peer}", failed=False)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [python, "-W", "ignore", "-m", "harness.worker", case_name, implementation.name],
            cwd=BENCHMARKS,
            env=_environment_variables(implementation.peer, settings, checkout),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        try:
            self.version = str(self._receive().get("version", ""))
        except WorkerError:
            self.close()
            raise

    def measure_round(self) -> float:
        """Run one round; return the seconds of one call."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a dead worker's reason is read below
            self._process.stdin.write("round\n")
            self._process.stdin.flush()
        return float(self._receive()["seconds"])

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        watchdog = threading.Timer(REPLY_SECONDS, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline()
        watchdog.cancel()
        if not line:
            status = self._process.wait()
            self._errors.seek(0)
            raise WorkerError(f"ended with status {status}\n{self._errors.read()[-2000:]}", failed=True)
        message: dict[str, Any] = json.loads(line)
        if "problem" in message:
            raise WorkerError(message["problem"], failed=not message["unavailable"])
        return message

    def close(self) -> None:
        """End the process, by force if it does not end by itself."""
        try:
            self._process.communicate(timeout=5)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._errors.close()


def _environment_variables(peer: str, settings: Settings, checkout: Path) -> dict[str, str]:
    variables = dict(os.environ)
    paths = [str(checkout), variables.pop("PYTHONPATH", "")]
    if peer in LOCAL:
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    if settings.threads is not None:
        variables.update(dict.fromkeys(THREAD_VARIABLES, str(settings.threads)))
    return variables


def measure(name: str, case: Case, settings: Settings, progress: Callable[[str], None]) -> dict[str, Row]:
    """Measure all chosen implementations of a case, turn by turn; a broken one leaves the others running."""
    rows: dict[str, Row] = {}
    workers: dict[str, Worker] = {}
    try:
        for implementation in case.implementations.values():
            if settings.peers is not None and implementation.peer not in settings.peers | {"minpy"}:
                continue
            row = rows[implementation.name] = Row(implementation.name)
            progress(f"{name}: starting {implementation.name}")
            try:
                worker = workers[implementation.name] = Worker(name, implementation, settings)
                row.version = worker.version
            except WorkerError as error:
                row.problem, row.failed = str(error), error.failed
        count = settings.rounds if case.most_rounds is None else min(settings.rounds, case.most_rounds)
        for number in range(count):
            progress(f"{name}: round {number + 1} of {count}")
            order = list(workers) if number % 2 == 0 else list(reversed(workers))
            for key in order:
                time.sleep(PAUSE_SECONDS)
                try:
                    rows[key].rounds.append(workers[key].measure_round())
                except WorkerError as error:
                    rows[key] = Row(key, problem=str(error), failed=True)
                    workers.pop(key).close()
    finally:
        for worker in workers.values():
            worker.close()
    return rows


def show_progress(text: str) -> None:
    """Overwrite one line of a terminal; write nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
