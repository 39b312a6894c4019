"""Files from the network."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from minpy.core.errors import ArgumentError, FileAccessError
from minpy.files import write_whole

__all__ = ["download"]


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Fetch a file, and return its path. It appears whole or not at all.

    Parameters
    ----------
    url : str
    fname : str, optional
        What to call it; by default the last part of the URL.
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

    with urllib.request.urlopen(url, timeout=60) as source:
        while chunk := source.read(1 << 20):
            yield chunk
