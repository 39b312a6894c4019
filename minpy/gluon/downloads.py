"""Files downloaded, checked, and written atomically."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

from minpy.core.errors import ArgumentValueError, FileAccessError, FileFormatError, FileMissingError, describe
from minpy.files import access_error, accessing, checked_path, write_whole

__all__ = ["check_sha1", "download", "replace_file"]

_CHUNK = 1 << 20
_TIMEOUT = 60  # seconds without a byte


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Tell whether a file has this SHA-1 hash.

    Parameters
    ----------
    filename : str
    sha1_hash : str
        In hexadecimal digits, of lower case.

    Returns
    -------
    bool

    Raises
    ------
    FileAccessError
        If the file cannot be read.

    Examples
    --------
    >>> from minpy.gluon.utils import check_sha1
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'greeting')
    ...     with open(path, 'w') as file:
    ...         _ = file.write('hello')
    ...     check_sha1(path, 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d')
    True
    """
    path = checked_path("check_sha1", filename)
    digest = hashlib.sha1(usedforsecurity=False)
    with accessing("check_sha1", "read", path), open(path, "rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Rename a file in one step; one that has the new name already is replaced.

    Parameters
    ----------
    src, dst : str
        On one file system.

    Raises
    ------
    FileAccessError
        If the file cannot be renamed; then both are as before.
    """
    source, target = checked_path("replace_file", src), checked_path("replace_file", dst)
    try:
        os.replace(source, target)
    except OSError as error:
        if not os.path.exists(source):
            raise access_error("replace_file", "read", source, error) from error
        raise access_error("replace_file", "write", target, error) from error


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Fetch a file, unless it is there already.

    It is written under another name, checked, and renamed: a file of that name is whole, and the one that was asked
    for.

    Parameters
    ----------
    url : str
        `https:`, `http:`, `ftp:` or `file:`.
    path : str, optional
        The name of the file, or a folder (one that is there, or a path that ends in a slash), which then keeps the
        name in the URL. By default the folder in which the program runs. Folders are made.
    overwrite : bool
        Whether to fetch it also if it is there.
    sha1_hash : str, optional
        The SHA-1 hash that the file must have, in hexadecimal digits. A file that is there and has another is fetched
        again.
    retries : int
        How often to try again.
    verify_ssl : bool
        Whether to check the certificate of the server.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    ArgumentValueError
        If the URL has no name of a file, and `path` none either; or if `retries` is negative.
    FileAccessError
        If it cannot be fetched, or not be written.
    FileFormatError
        If what came is incomplete, or has another hash. Nothing has changed then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from minpy.gluon.utils import download
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, 'data.txt')
    ...     _ = source.write_text('hello')
    ...     name = download(source.as_uri(), f'{folder}/copy.txt')
    ...     pathlib.Path(name).read_text()
    Downloading ...copy.txt from file:///...data.txt...
    'hello'
    """
    if not isinstance(url, str):
        raise ArgumentValueError(f"download: url must be a string, got {describe(url)}.")
    if retries < 0:
        raise ArgumentValueError(f"download: retries must be at least 0, got {retries}.")
    target = _target(url, path)
    if not overwrite and os.path.exists(target) and (not sha1_hash or check_sha1(target, sha1_hash)):
        return target
    if not verify_ssl:
        warnings.warn(
            f"download: the certificate of the server is not checked (verify_ssl=False), so that anybody on the way "
            f"may have sent {target}. Give sha1_hash to be sure what it is.",
            UserWarning,
            stacklevel=2,
        )
    folder = os.path.dirname(os.path.abspath(target))
    with accessing("download", "make the folder of", target):
        os.makedirs(folder, exist_ok=True)
    for attempts in range(retries, -1, -1):
        print(f"Downloading {target} from {url}...")
        try:
            write_whole(target, _fetched(url, target, sha1_hash, verify_ssl))
        except (_FailedError, FileFormatError) as error:
            lasting = isinstance(error, _FailedError) and error.lasting
            if attempts and not lasting:
                print(
                    f"download failed due to {error!r}, retrying, {attempts} attempt{'s' if attempts > 1 else ''} left"
                )
                continue
            if isinstance(error, FileFormatError):
                raise
            kind = FileMissingError if error.missing else FileAccessError
            raise kind(
                f"download: {url} could not be fetched: {error}. Check the address and the network, or put the file "
                f"at {target} yourself."
            ) from error.__cause__
        except OSError as error:
            raise access_error("download", "write", target, error) from error
        break
    return target


def _target(url: str, path: str | None) -> str:
    """Return the path of the file that a URL is downloaded to."""
    name = url.split("/")[-1]
    target = name if path is None else os.path.expanduser(checked_path("download", path))
    if path is not None and (os.path.isdir(target) or target.endswith(("/", os.sep))):
        target = os.path.join(target, name) if name else ""
    if not target:
        raise ArgumentValueError(
            f"download: {url!r} ends in no name of a file: give the file's name as path, such as path='data.zip'."
        )
    return target


class _FailedError(Exception):
    """A failed download; `lasting` if trying again makes no sense."""

    def __init__(self, text: str, lasting: bool = False, missing: bool = False) -> None:
        super().__init__(text)
        self.lasting = lasting
        self.missing = missing


def _fetched(url: str, target: str, sha1_hash: str | None, verify_ssl: bool) -> Iterator[bytes]:
    """Yield the bytes of a URL; raise at the end if they are incomplete or have another hash."""
    digest = hashlib.sha1(usedforsecurity=False)
    length = 0
    response = _opened(url, verify_ssl)
    with response:
        expected = response.headers.get("Content-Length")
        while block := _block(response):
            digest.update(block)
            length += len(block)
            yield block
    if expected is not None and expected.isdigit() and length != int(expected):
        raise FileFormatError(f"download: {url} is incomplete: {length} of {expected} bytes came.")
    if sha1_hash and digest.hexdigest() != sha1_hash:
        raise FileFormatError(
            f"download: {url} has the SHA-1 hash {digest.hexdigest()}, and not {sha1_hash}: it is another file, or was "
            f"damaged on its way. {target} has not been changed."
        )


def _opened(url: str, verify_ssl: bool) -> Any:
    import ssl  # these take longer to import than all of minpy
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    context = ssl.create_default_context()
    if not verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        return urllib.request.urlopen(url, timeout=_TIMEOUT, context=context)
    except urllib.error.HTTPError as error:
        lasting = error.code < 500 and error.code not in (408, 425, 429)
        with error:
            raise _FailedError(f"HTTP {error.code} {error.reason}", lasting, error.code in (404, 410)) from None
    except urllib.error.URLError as error:
        cause = error.reason
        missing = isinstance(cause, FileNotFoundError)
        lasting = missing or isinstance(cause, (ssl.SSLCertVerificationError, str))
        raise _FailedError(str(cause), lasting, missing) from error
    except (OSError, HTTPException) as error:
        raise _FailedError(str(error) or type(error).__name__) from error
    except ValueError as error:  # no URL
        raise _FailedError(str(error), lasting=True) from error


def _block(response: Any) -> bytes:
    from http.client import HTTPException

    try:
        block: bytes = response.read(_CHUNK)
    except (OSError, HTTPException) as error:
        raise _FailedError(str(error) or type(error).__name__) from error
    return block
