"""Builds the libraries that tests load: each once, whichever of the tests' processes asks first.

Sources stand in this folder. A library is kept under a name that is made of everything that it is made of, in a folder
of this user's (`MINPY_NATIVE_TESTS` names another), so that the next run of the tests finds it too.

    from native.building import build

    def test_gemm():
        path = build("gemm.cc", include=[library.include_dir()])

Without a C++ compiler the test that asks is skipped. `CXXFLAGS` are added to every build: `-fsanitize=address`, say.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["SOURCES", "build", "compiler", "copy_of", "folder"]

SOURCES = Path(__file__).parent
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
# What is built with the header must not warn; neither must what is written here.
WARNINGS = ("-Wall", "-Wextra", "-Werror")
LANGUAGES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}


@functools.cache
def compiler() -> str | None:
    """Return the path of the C++ compiler: of `$CXX`, or the first of c++, g++ and clang++ that is there."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    return None


def build(
    *sources: str | os.PathLike[str],
    flags: Iterable[str] = (),
    include: Iterable[str | os.PathLike[str]] = (),
    standard: str = "c++11",
    optimize: str = "-O0",
    warnings: Iterable[str] = WARNINGS,
) -> Path:
    """Return the path of a shared library made of sources, built if nobody has built it before.

    Parameters
    ----------
    *sources : str or PathLike
        Names of files of this folder, or paths. `.c` is compiled as C11, all others as C++.
    flags : iterable of str
        For the compiler, such as `-DABI=7`.
    include : iterable of path
        Folders for `-I`. What is in their files is part of what the library is known by.
    standard, optimize : str
        `c++11` to `c++20`; `-O0` to `-O3`.
    warnings : iterable of str
        Flags that are added, as errors by default.
    """
    program = compiler()
    if program is None:
        pytest.skip("there is no C++ compiler ($CXX, c++, g++, clang++) to build native libraries with")
    paths = [_source(source) for source in sources]
    folders = [Path(folder).resolve() for folder in include]
    options = [optimize, "-fPIC", *warnings, *flags, *os.environ.get("CXXFLAGS", "").split()]
    key = _key(program, paths, folders, [standard, *options])
    target = folder() / f"{paths[0].stem}-{key}{SUFFIX}"
    if target.exists():
        return target
    with _locked(target.with_suffix(".lock")):
        if not target.exists():
            _compile(program, paths, folders, standard, options, target)
    return target


def copy_of(path: Path, folder: Path, name: str | None = None) -> Path:
    """Return the path of a copy of a library, which the dynamic linker takes for another library."""
    target = folder / (name or f"copy-{secrets.token_hex(4)}{SUFFIX}")
    shutil.copyfile(path, target)
    return target


def _source(source: str | os.PathLike[str]) -> Path:
    path = SOURCES / source  # an absolute path stays what it is
    if not path.is_file():
        raise FileNotFoundError(f"there is no source {os.fspath(source)!r} in {SOURCES}")
    return path.resolve()


def _key(program: str, paths: list[Path], folders: list[Path], options: list[str]) -> str:
    digest = hashlib.sha256()

    def add(*parts: str | bytes) -> None:
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            digest.update(b"%d:" % len(data) + data)

    add(program, _version(program), *options)
    for path in paths:
        add(path.name, path.read_bytes())
    # A source may include what stands beside it.
    for folder in [*folders, *sorted({path.parent for path in paths})]:
        for path in sorted(folder.rglob("*.h")):
            add(str(path.relative_to(folder)), path.read_bytes())
    return digest.hexdigest()[:20]


@functools.cache
def _version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout


@functools.cache
def folder() -> Path:
    """Return the folder of what is built, which nobody else can write to: what is in it will be run."""
    named = os.environ.get("MINPY_NATIVE_TESTS")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(named) if named else Path(tempfile.gettempdir()) / f"minpy-native-tests-{user}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        path = Path(tempfile.mkdtemp(prefix="minpy-native-tests-"))
    return path


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of one library; it goes with its holder, however that ends."""
    if sys.platform == "win32":  # two may build the same library at once, and the later one is kept
        yield
        return
    import fcntl

    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(
    program: str, paths: list[Path], folders: list[Path], standard: str, options: list[str], target: Path
) -> None:
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(8)}{SUFFIX}")
    inputs = [part for path in paths for part in ("-x", LANGUAGES[path.suffix], str(path))]
    languages = {LANGUAGES[path.suffix] for path in paths}
    dialect = [f"-std={standard}"] if languages == {"c++"} else ["-std=c11"] if languages == {"c"} else []
    includes = [f"-I{folder}" for folder in folders]
    command = [program, "-shared", *dialect, *options, *includes, *inputs, "-x", "none", "-o", str(temporary)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
