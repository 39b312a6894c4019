"""The peers: what each one's environment holds, where it is, and which interpreter can make it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LOCATION_VARIABLE = "MINPY_BENCHMARKS_PEERS"
LOCAL = ("minpy", "numpy")  # these run under the interpreter that runs the benchmarks

_READ_VERSIONS = "import sys, importlib.metadata as m; print(*[m.version(name) for name in sys.argv[1:]])"


@dataclass(frozen=True)
class Peer:
    """A library to compare with: pinned requirements, and the Pythons (first, last) that its files exist for."""

    name: str
    requirements: tuple[str, ...]
    pythons: tuple[tuple[int, int], tuple[int, int]] = ((3, 10), (3, 99))


PEERS = {
    peer.name: peer
    for peer in (
        Peer("torch", ("torch==2.13.0+cpu", "numpy")),
        Peer("autograd", ("autograd==1.9.1", "numpy")),
        Peer(
            "mxnet",
            ("numpy==1.23.5", "scipy==1.10.1", "mxnet==1.9.1", "graphviz==0.8.4", "opencv-python-headless==4.8.1.78"),
            ((3, 10), (3, 11)),
        ),
        Peer("jax", ("jax==0.10.2", "jaxlib==0.10.2", "numpy"), ((3, 11), (3, 99))),
        Peer("numba", ("numba==0.68.1", "numpy")),
    )
}


def environment(name: str) -> Path:
    """The folder of a peer's virtual environment, made or not."""
    root = os.environ.get(LOCATION_VARIABLE) or Path.home() / ".cache" / "minpy-benchmarks"
    return Path(root) / name


def interpreter_in(folder: Path) -> Path:
    """The interpreter of the virtual environment in `folder`."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def interpreter(name: str, folder: Path | None = None) -> Path | None:
    """The interpreter that runs a peer, or None where its environment is not made."""
    if name in LOCAL:
        return Path(sys.executable)
    path = interpreter_in(folder or environment(name))
    return path if path.exists() else None


def is_ready(peer: Peer) -> bool:
    """Whether the peer's environment holds the pinned versions."""
    python = interpreter(peer.name)
    if python is None:
        return False
    pins = [requirement.partition("==")[::2] for requirement in peer.requirements]
    names = [name for name, _ in pins]
    found = subprocess.run([python, "-c", _READ_VERSIONS, *names], capture_output=True, text=True, check=False)
    versions = found.stdout.split()
    return len(versions) == len(pins) and all(
        wanted in ("", version) for version, (_, wanted) in zip(versions, pins, strict=True)
    )


def base_interpreter(peer: Peer) -> str | None:
    """An interpreter to make the peer's environment with: this one where it fits, else the newest on the PATH."""
    first, last = peer.pythons
    if first <= sys.version_info[:2] <= last:
        return sys.executable
    candidates = (f"python3.{minor}" for minor in range(min(last[1], 20), first[1] - 1, -1))
    return next((path for name in candidates if (path := shutil.which(name))), None)
