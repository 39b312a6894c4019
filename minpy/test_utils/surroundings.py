"""The environment of a test: its variables, standard error, retries, the machine that it runs on, downloads."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minpy.core.errors import ArgumentError, FileAccessError, describe
from minpy.files import write_whole

__all__ = [
    "discard_stderr",
    "download",
    "environment",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "retry",
]


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables for a `with` block.

    Parameters
    ----------
    *args
        A name and a value, or a dict of names and values. None as value unsets a variable.

    Examples
    --------
    >>> with environment('MINPY_EXAMPLE', '1'):
    ...     os.environ['MINPY_EXAMPLE']
    '1'
    >>> 'MINPY_EXAMPLE' in os.environ
    False
    """
    if len(args) == 2:
        variables: Mapping[str, Any] = {args[0]: args[1]}
    elif len(args) == 1 and isinstance(args[0], Mapping):
        variables = args[0]
    else:
        raise ArgumentError(f"environment takes a name and a value, or a dict of them; got {describe(args)}.")
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set(variables)
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, Any]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Return a decorator that calls a test up to n times, until it raises no AssertionError.

    Examples
    --------
    >>> tries = iter([1, 2, 3])
    >>> @retry(3)
    ... def test():
    ...     assert next(tries) > 1
    >>> test(), next(tries)
    (None, 3)
    """
    if n < 1:
        raise ArgumentError(f"retry: n is {n}; expected 1 or more.")

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def wrapper(*arguments: Any, **keywords: Any) -> None:
            for _ in range(n - 1):
                with contextlib.suppress(AssertionError):
                    test(*arguments, **keywords)
                    return
            test(*arguments, **keywords)

        return wrapper

    return decorate


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """Throw away what is written to the standard error stream in a `with` block, by C libraries, too."""
    with tempfile.TemporaryFile() as sink:
        before = os.dup(2)
        try:
            os.dup2(sink.fileno(), 2)
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)


def has_tvm_ops() -> bool:
    """Tell whether there are operators made by TVM: no."""
    return False


def is_op_runnable() -> bool:
    """Tell whether operators can run where the tests run: on a CPU, always."""
    return True


def is_aarch64_run() -> bool:
    """Tell whether this is a 64-bit ARM machine."""
    return platform.machine() in ("aarch64", "arm64")


def is_cd_run() -> bool:
    """Tell whether the environment variable CD_JOB says that a release is being made."""
    return os.environ.get("CD_JOB", "0") == "1"


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Fetch a file, and return its path. It appears whole or not at all.

    Parameters
    ----------
    url : str
    fname : str, optional
        Its name; by default the last part of the URL.
    dirname : str, optional
        The folder to put it into, which is made if it is missing.
    overwrite : bool
        Whether to fetch it if it is there already.
    retries : int
        How often to try.

    Returns
    -------
    str

    Raises
    ------
    FileAccessError
        If it cannot be fetched or written.
    ArgumentError
        If the URL has no last part, and no `fname` is given.
    """
    fname = fname or url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    if not fname:
        raise ArgumentError(f"download: {url!r} does not end in the name of a file; pass fname='...'.")
    path = os.path.join(dirname, fname) if dirname else fname
    if os.path.exists(path) and not overwrite:
        return path
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    for attempt in range(max(retries, 1)):
        if attempt:
            time.sleep(min(2.0 ** (attempt - 1), 10.0))
        try:
            write_whole(path, _chunks(url))
            return path
        except (OSError, ValueError) as error:
            last = error
            if 400 <= getattr(error, "code", 500) < 500:  # the server will not change its mind
                break
    raise FileAccessError(f"download: {url} was not fetched in {attempt + 1} attempt(s): {last}") from last


def _chunks(url: str) -> Iterator[bytes]:
    import urllib.request  # it loads a good part of the standard library

    with urllib.request.urlopen(url, timeout=60) as response:
        while chunk := response.read(1 << 20):
            yield chunk
