"""Files that are written together, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.files import WholeFile, accessing
from minpy.onnx.conversion.tensors import COMMAND

__all__ = ["require_new", "written_folder", "written_together"]


def require_new(source: str, targets: list[str], force: bool) -> None:
    """Raise if a file to write is the one that is read, or is there already and is not to be replaced."""
    if os.path.splitext(source)[1]:  # else it may be the prefix of two files
        with accessing(COMMAND, "read", source):
            os.stat(source)
    for target in targets:
        with accessing(COMMAND, "write", target):
            if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
                raise ArgumentError(f"{COMMAND}: {target!r} is the file that is read. Give another name.")
            if os.path.isdir(target):
                raise ArgumentError(f"{COMMAND}: {target!r} is a folder. Give the name of a file.")
            if os.path.lexists(target) and not force:
                raise ArgumentError(
                    f"{COMMAND}: {target!r} is there already. Give another name, or --force to replace it."
                )


@contextmanager
def written_folder(target: str, force: bool) -> Iterator[str]:
    """Give a path to write a file to, and others beside it; all go to their places if nothing failed.

    Files that name each other, such as an ONNX model and its weights, are called there as they will be.
    """
    final = os.path.realpath(target)
    with accessing(COMMAND, "write", target):
        folder = tempfile.mkdtemp(prefix=".minpy-", dir=os.path.dirname(final))
    try:
        yield os.path.join(folder, os.path.basename(final))
        names = sorted(os.listdir(folder), key=lambda name: name == os.path.basename(final))  # the model is the last
        places = [os.path.join(os.path.dirname(final), name) for name in names]
        require_new("", places, force)
        with accessing(COMMAND, "write", target):
            for name, place in zip(names, places, strict=True):
                os.replace(os.path.join(folder, name), place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def written_together(writers: Mapping[str, Callable[[Any], None]]) -> Iterator[None]:
    """Write files under temporary names, run what is inside, and give them their names if nothing failed."""
    files: list[WholeFile] = []
    try:
        for path, write in writers.items():
            with accessing(COMMAND, "write", path):
                files.append(WholeFile(path))
                write(files[-1].file)
                files[-1].file.flush()
        yield
        for file in files:
            with accessing(COMMAND, "write", file.path):
                file.commit()
    except BaseException:
        for file in files:
            file.discard()
        raise
