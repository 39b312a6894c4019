"""Compilers run as child processes: several at once, none left running after an interrupt or a timeout."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from minpy.core.errors import ArgumentValueError, BuildError, MissingCompilerError

__all__ = ["TIMEOUT", "CompletedCommand", "command_line", "install_hint", "run", "run_all", "time_limit"]

# The environment variable that says how many seconds a compiler may take, and how many it may where that is not set.
TIMEOUT = "MINPY_COMPILE_TIMEOUT"
_DEFAULT_SECONDS = 1800.0
_POLL_SECONDS = 0.002  # seconds between two looks at what runs: Python itself would wait up to 0.05 s


@dataclass(frozen=True)
class CompletedCommand:
    """A command that has ended."""

    command: tuple[str, ...]
    status: int  # what it returned: 0 where all is well, a negative number where a signal ended it
    output: str  # what it wrote, errors and all


def command_line(command: Sequence[str]) -> str:
    """Return a command as it is typed in a shell."""
    return shlex.join(command)


def install_hint() -> str:
    """Return the advice of error messages on how to install a C++ compiler."""
    return (
        "To install one: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), xcode-select --install "
        "(macOS), conda install cxx-compiler (conda, on any system)."
    )


def time_limit() -> float:
    """Return how many seconds a compiler may take."""
    text = os.environ.get(TIMEOUT, "").strip()
    if not text:
        return _DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ArgumentValueError(f"library.compile: {TIMEOUT} must be a number of seconds above 0, got {text!r}.")
    return seconds


def run(command: Sequence[str], folder: str | None = None) -> CompletedCommand:
    """Run one command; see `run_all`."""
    return run_all([command], folder)[0]


def run_all(commands: Sequence[Sequence[str]], folder: str | None = None) -> list[CompletedCommand]:
    """Run commands, as many at once as there are processors, and return how they ended, in their order."""
    environment = _environment(folder)
    deadline = time.monotonic() + time_limit()
    ended: list[CompletedCommand | None] = [None] * len(commands)
    waiting = list(enumerate(commands))[::-1]
    running: dict[int, tuple[Sequence[str], subprocess.Popen[bytes], IO[bytes]]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (os.cpu_count() or 1):
                position, command = waiting.pop()
                output: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
                with _interrupts_delayed():
                    running[position] = (command, _start(command, output, environment), output)
            for position, (command, child, output) in list(running.items()):
                status = child.poll()
                if status is not None:
                    del running[position]
                    ended[position] = CompletedCommand(tuple(command), status, _text(output))
            if time.monotonic() >= deadline and running:
                command = next(iter(running.values()))[0]
                raise BuildError(
                    f"library.compile: {command[0]} has not ended after {time_limit():g} s, and was stopped. The "
                    f"environment variable {TIMEOUT} allows more seconds.\nThe command: {command_line(command)}"
                )
            if running:
                time.sleep(_POLL_SECONDS)
    finally:
        for _, child, output in running.values():
            _kill(child)
            output.close()
    return [result for result in ended if result is not None]


def _environment(folder: str | None) -> Mapping[str, str]:
    """Return the environment of compilers: messages in English, because they are parsed, in the user's encoding."""
    variables = dict(os.environ)
    if "LC_ALL" in variables:
        variables["LC_CTYPE"] = variables.pop("LC_ALL")
    variables.update(LC_MESSAGES="C", LANGUAGE="")
    if folder is not None:
        variables["TMPDIR"] = folder
    return variables


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delay Ctrl-C while a child is started, which would not be killed if it were not listed as running yet."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or handler is None:
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def _start(command: Sequence[str], output: IO[bytes], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    settings: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            **settings,
        )
    except BaseException as error:
        output.close()
        if isinstance(error, OSError):
            raise MissingCompilerError(
                f"library.compile: {command[0]} cannot be run: {error.strerror or error}. Set the environment variable "
                f"CXX to a C++ compiler that can. {install_hint()}"
            ) from error
        raise


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a compiler and its child processes, which do the work."""
    if child.returncode is None:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)  # before `wait`, so the process number cannot be reused yet
        child.wait()


def _text(output: IO[bytes]) -> str:
    with output:
        output.seek(0)
        return output.read().decode("utf-8", "replace").replace("\r\n", "\n")
