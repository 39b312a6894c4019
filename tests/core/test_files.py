"""Files are written as a whole, and what killed writers leave behind is swept; never what a living one writes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from minpy import files, nd, sym

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks that end with their process")

WRITER = """
import sys
from minpy.files import write_whole

def chunks():
    yield b"half"
    print("written", flush=True)
    sys.stdin.read()
    yield b"whole"

write_whole(sys.argv[1], chunks())
"""


@contextlib.contextmanager
def writing(path: Path):
    """A process that is halfway through writing a file."""
    command = [sys.executable, "-W", "ignore", "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        try:
            yield process
        finally:
            process.kill()


def leftovers(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith(".minpy-"))


def test_the_next_save_sweeps_what_a_killed_one_left(tmp_path):
    path = tmp_path / "net.params"
    nd.save(path, nd.ones(2))
    with writing(path) as process:
        assert len(leftovers(tmp_path)) == 1
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert len(leftovers(tmp_path)) == 1
    assert nd.load(path)[0].shape == (2,)
    sym.var("x").save(tmp_path / "net-symbol.json")  # another target: it is none of its business
    assert len(leftovers(tmp_path)) == 1
    nd.save(path, nd.ones(3))
    assert leftovers(tmp_path) == []
    assert nd.load(path)[0].shape == (3,)


def test_what_a_living_writer_writes_is_left_alone(tmp_path):
    path = tmp_path / "net.params"
    with writing(path) as process:
        for length in (3, 4):
            nd.save(path, nd.ones(length))
            assert nd.load(path)[0].shape == (length,)
            assert len(leftovers(tmp_path)) == 1
        process.communicate(b"")
        assert process.returncode == 0
    assert path.read_bytes() == b"halfwhole"
    assert leftovers(tmp_path) == []


def test_two_writers_at_once(tmp_path):
    """One file is always one of theirs, whole; and nothing is left."""
    path, errors = tmp_path / "net.params", []

    def save(value):
        try:
            for _ in range(25):
                nd.save(path, nd.ones((50, value)) * value)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(value,)) for value in (1, 2, 3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        with contextlib.suppress(FileNotFoundError):
            found = nd.load(path)[0].asnumpy()
            np.testing.assert_array_equal(found, np.full((50, found.shape[1]), found.shape[1]))
    assert not errors
    assert leftovers(tmp_path) == []


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    path, lock, swept = tmp_path / "file", files._lock, []

    def lock_late(descriptor, wait=True):
        if wait and not swept:
            swept.extend(leftovers(tmp_path))
            files._sweep(str(tmp_path), swept[0][:-20])
        return lock(descriptor, wait)

    monkeypatch.setattr(files, "_lock", lock_late)
    files.write_whole(str(path), iter([b"whole"]))
    assert len(swept) == 1
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["file"]


def test_without_locks_nothing_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_lock", lambda descriptor, wait=True: False)
    path = tmp_path / "file"
    left = tmp_path / f"{_prefix(tmp_path, path)}0123.tmp"
    left.write_bytes(b"half")
    files.write_whole(str(path), iter([b"whole"]))
    assert path.read_bytes() == b"whole"
    assert left.exists()


def _prefix(folder: Path, path: Path) -> str:
    """Return how the temporary names of a target begin."""
    found = []

    def chunks():
        found.extend(leftovers(folder))
        yield b""

    files.write_whole(str(path), chunks())
    return found[0][: -len("0123456789abcdef.tmp")]
