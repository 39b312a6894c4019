"""Memory that two processes see: files without a name, whose descriptors go through a socket.

Nothing of it can be left behind: the system frees it when the last process that has it ends, however that ends. It is
no part of /dev/shm, which containers keep small.
"""

from __future__ import annotations

import mmap
import os
import socket
import tempfile
from typing import Any

import numpy

__all__ = ["AVAILABLE", "SharedMemory", "received_descriptor", "rounded", "send_descriptor"]

AVAILABLE = hasattr(socket, "send_fds") and hasattr(socket, "AF_UNIX")
_PAGE = mmap.PAGESIZE


def rounded(size: int) -> int:
    """Return how much memory to take for `size` bytes: somewhat more, as the next batch may be larger."""
    return -(-(size + size // 4) // _PAGE) * _PAGE


class SharedMemory:
    """A piece of memory, made by a worker (`SharedMemory.create`) and mapped by the loader's process as well."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self._map = mmap.mmap(descriptor, size)

    @classmethod
    def create(cls, size: int) -> tuple[SharedMemory, int]:
        """Return new memory, and the descriptor to send, which the caller closes."""
        descriptor = _anonymous_file()
        try:
            if hasattr(os, "posix_fallocate"):  # what is not there is an error now, and no SIGBUS later
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.ftruncate(descriptor, size)
            return cls(descriptor, size), descriptor
        except BaseException:
            os.close(descriptor)
            raise

    def block(self) -> numpy.ndarray:
        """Return the bytes as a new array. Whatever is made of them keeps that array alive, as their owner."""
        return numpy.frombuffer(self._map, numpy.uint8)

    def write(self, offset: int, data: Any) -> None:
        """Copy bytes to an offset."""
        self._map[offset : offset + len(data)] = data


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("minpy-batch")
    with tempfile.TemporaryFile() as file:  # which has lost its name when it is open
        return os.dup(file.fileno())


def received_descriptor(connection: Any) -> int:
    """Return a descriptor that was sent with `send_descriptor`."""
    with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if len(descriptors) != 1:
        raise EOFError("no descriptor came: the other side has ended, or this process may open no more files.")
    return int(descriptors[0])


def send_descriptor(connection: Any, descriptor: int) -> None:
    """Send a descriptor, after a message that announces it."""
    with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        socket.send_fds(channel, [b"\0"], [descriptor])
