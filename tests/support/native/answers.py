"""Runs `surface_host.cc`, a host in C++, over libraries of `surface.cc`, and compares what different headers answer."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["GOLDEN", "differences", "recorded", "run_host"]

# What libraries built with MXNet 1.9.1's own header answer.
GOLDEN = Path(__file__).with_name("surface.json")

# `main` of a program that was built as a shared library, in a process of its own: if it dies, that is an answer too.
_PROGRAM = """
import ctypes, sys
arguments = [argument.encode() for argument in sys.argv[1:]]
sys.exit(ctypes.CDLL(sys.argv[1]).main(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments)))
"""


def run_host(host: Path, library: Path, *arguments: str) -> dict[str, str]:
    """Return the answers of a library by their names, and what it wrote to the standard output as `printed`."""
    command = [sys.executable, "-c", _PROGRAM, str(host), str(library), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}"
    answers: dict[str, str] = {}
    printed = []
    for line in done.stdout.splitlines():
        name, tab, answer = line.partition("\t")
        if name.strip() and tab:
            answers[name] = answer
        else:
            printed.append(line)
    return {**answers, "printed": "\n".join(printed)}


def recorded() -> dict[str, str]:
    """Return the answers of MXNet's header."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


# Not the same on purpose: mistakes that MXNet's header does not see.
SEEN_HERE = {
    "sparse without memory": r"0 .*got no memory",
    "supported count": r"0 .*the function left 9 ids, expected 8",
}


def differences(theirs: dict[str, str], ours: dict[str, str]) -> list[str]:
    """Return what differs between the answers of MXNet's header and of minpy's, other than on purpose.

    Where a C++ exception leaves a library of MXNet's header, one of minpy's answers with a failure (no, for a selector)
    and a message.
    """
    found = []
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        their, our = theirs.get(name), ours.get(name)
        if their == our or their is None or our is None:
            expected = their == our
        elif name in SEEN_HERE:
            expected = re.match(SEEN_HERE[name], our) is not None
        elif their.startswith("threw "):
            what = their.removeprefix("threw ").partition(" !")[0]
            message = " of a type that is not a std::exception" if what.isdigit() else f": {what}"
            failing = our.startswith("0") or name.startswith("select ")
            expected = failing and f"!C++ exception{message}" in our
        else:
            expected = False
        if not expected:
            found.append(f"{name}:\n  MXNet's header: {their}\n  minpy's header: {our}")
    return found
