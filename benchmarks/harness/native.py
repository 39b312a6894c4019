"""Native libraries for every peer: each built once with minpy's header, and loaded by minpy and by MXNet."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from harness.case import Array

__all__ = ["library", "matrices"]

BENCHMARKS = Path(__file__).resolve().parent.parent
SOURCES = {
    "gemm": BENCHMARKS.parent / "examples" / "native" / "gemm.cc",
    "naive_gemm": BENCHMARKS / "native" / "naive_gemm.cc",
}
INCLUDE = BENCHMARKS.parent / "minpy" / "include"
FLAGS = ["-std=c++11", "-O3", "-march=native", "-fPIC", "-shared"]


def library(name: str) -> str:
    """Returns the path of a library; ImportError where there is no compiler, so that the row shows as not there."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next((path for name in names if name and (path := shutil.which(name))), None)
    if compiler is None:
        raise ImportError("there is no C++ compiler ($CXX, c++, g++, clang++)")
    content = hashlib.sha256(repr((compiler, FLAGS)).encode())
    for path in (SOURCES[name], *sorted(INCLUDE.rglob("*.h"))):
        content.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"minpy-benchmarks-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise ImportError(f"{folder} belongs to another user")
    target = folder / f"lib{name}-{content.hexdigest()[:16]}.so"
    if not target.exists():
        temporary = target.with_suffix(f".{os.getpid()}.so")
        subprocess.run([compiler, *FLAGS, f"-I{INCLUDE}", str(SOURCES[name]), "-o", str(temporary)], check=True)
        temporary.replace(target)
    return str(target)


def matrices(size: int) -> tuple[Array, Array]:
    """Returns two square matrices."""
    draw = np.random.RandomState(0)
    return tuple(draw.uniform(-1, 1, (size, size)).astype(np.float32) for _ in range(2))
