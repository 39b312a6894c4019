"""`examples/native/Makefile` and `CMakeLists.txt` build libraries, and again when a header has changed."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from native.building import compiler as real_compiler

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "examples" / "native"
SOURCE = """
#if !__has_include("lib_api.h") || !__has_include("mxnet/lib_api.h")
#error "no header"
#endif
#include "number.h"
extern "C" int number() { return NUMBER; }
"""

pytestmark = pytest.mark.skipif(real_compiler() is None, reason="there is no C++ compiler")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "native"
    folder.mkdir()
    for name in ("Makefile", "CMakeLists.txt"):
        shutil.copy(HERE / name, folder)
    (folder / "small.cc").write_text(SOURCE)
    (folder / "number.h").write_text("#define NUMBER 1\n")
    return folder


def run(folder, *command, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def number(path, tmp_path):
    copy = tmp_path / f"copy{len([*tmp_path.iterdir()])}.so"  # the linker keeps what it has opened once
    shutil.copy(path, copy)
    return ctypes.CDLL(str(copy)).number()


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make(folder, tmp_path):
    python = f"PYTHON={sys.executable}"
    for expected in (1, 2):
        (folder / "number.h").write_text(f"#define NUMBER {expected}\n")
        status, output = run(folder, "make", python, "CXXFLAGS=-O0")
        assert status == 0, output
        assert "warning" not in output
        assert number(folder / "libsmall.so", tmp_path) == expected
    status, output = run(folder, "make", python, "clean")
    assert status == 0
    assert sorted(path.name for path in folder.iterdir()) == ["CMakeLists.txt", "Makefile", "number.h", "small.cc"]
    status, output = run(folder, "make", "PYTHON=false", "libsmall.so")
    assert status != 0
    assert "false does not find minpy: pip install it, or set PYTHON" in output


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_cmake(folder, tmp_path):
    configure = [
        "cmake",
        "-B",
        "build",
        "-S",
        ".",
        f"-DPython3_EXECUTABLE={sys.executable}",
        "-DCMAKE_BUILD_TYPE=Debug",
    ]
    status, output = run(folder, *configure)
    assert status == 0, output
    for expected in (1, 2):
        (folder / "number.h").write_text(f"#define NUMBER {expected}\n")
        status, output = run(folder, "cmake", "--build", "build", "--clean-first")
        assert status == 0, output
        assert "warning" not in output
        assert number(folder / "build" / "libsmall.so", tmp_path) == expected
    (tmp_path / "minpy").mkdir()
    for name in ("__init__.py", "libinfo.py"):
        (tmp_path / "minpy" / name).write_text("raise ImportError('no minpy')\n")
    status, output = run(folder, *configure, PYTHONPATH=str(tmp_path))
    assert status != 0
    assert "does not find minpy: pip install it, or set -DPython3_EXECUTABLE=..." in " ".join(output.split())
