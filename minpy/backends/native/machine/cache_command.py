"""`python -m minpy compile-cache`: what is kept of compiled graphs, and away with it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from minpy.backends.native.machine.code_cache import Store

__all__ = ["main"]

_EPILOG = """\
Graphs that are compiled (by the extra `compile`) are kept as machine code, for this processor and these versions of
minpy and LLVM. What was not used for longest goes first; clearing costs nothing but compiling again. The folder is
`kernels` in $MINPY_CACHE, or in the user's cache (~/.cache/minpy, on macOS ~/Library/Caches/minpy).
"""


def main(arguments: Sequence[str]) -> int:
    """Do what the command line after `python -m minpy compile-cache` says, and return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m minpy compile-cache",
        description="Shows the cache of compiled graphs, or clears it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("what", nargs="?", choices=("show", "clear"), default="show", help="by default: show")
    try:
        options = parser.parse_args(list(arguments))
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    store = Store()
    if options.what == "show":
        print("\n".join(_shown(store)))
        return 0
    try:
        count, size = store.clear()
    except OSError as error:
        print(
            f"python -m minpy compile-cache: cannot remove {error.filename!r}: {error.strerror}. Who owns the folder "
            "can.",
            file=sys.stderr,
        )
        return 1
    print(f"removed {_objects(count)}, {_bytes(size)}, from {store.root}")
    return 0


def _shown(store: Store) -> list[str]:
    entries = store.entries()
    lines = [
        f"folder   {store.root}",
        f"entries  {len(entries)}",
        f"size     {_bytes(sum(entry.size for entry in entries))} of at most {_bytes(store.limit)}",
    ]
    if entries:
        lines += [f"oldest   last used {_moment(entries[0].used)}", f"newest   last used {_moment(entries[-1].used)}"]
    return lines


def _objects(count: int) -> str:
    return f"{count} object" if count == 1 else f"{count} objects"


def _bytes(size: int) -> str:
    """Return a number of bytes as people read it.

    >>> _bytes(900), _bytes(1536), _bytes(256 * 2**20)
    ('900 B', '1.5 KiB', '256.0 MiB')
    """
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KiB" if size < 2**20 else f"{size / 2**20:.1f} MiB"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
