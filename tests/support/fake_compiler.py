"""A compiler for tests: a shell script that answers as GCC does, notes what it is asked, and fails as it is told."""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TEXT = "int answer() {\n  return 42;\n}\n"

SCRIPT = """#!/bin/sh
here={here}
case " $* " in
*' --version '*) cat "$here/version"; exit ;;
*' -dumpmachine '*) echo fake-target; exit ;;
*' -dM '*) echo '#define __cplusplus 201703L'; exit ;;
esac
for output; do :; done
case " $* " in
*' -M '*)
    step=scan
    printf '%s\\n' "$*" >> "$here/scanned"
    printf 'key:' ; cat "$here/included" ;;
*' -shared '*)
    step=link
    printf '%s\\n' "$*" >> "$here/linked"
    previous=
    for word; do
        [ "$previous" = -o ] && output=$word
        previous=$word
    done
    cat "$here/library" > "$output" ;;
*)
    step=compile
    printf '%s\\n' "$*" >> "$here/compiled"
    if [ -p "$here/held" ]; then cat "$here/held" > /dev/null; fi
    if [ -x "$here/meanwhile" ]; then "$here/meanwhile"; fi
    echo object > "$output" ;;
esac
if [ -e "$here/$step says" ]; then
    cat "$here/$step says" >&2
fi
if [ -e "$here/$step returns" ]; then
    rm -f "$output"
    exit "$(cat "$here/$step returns")"
fi
"""


@dataclass(frozen=True)
class FakeCompiler:
    """A script in a folder of its own, with the files that tell it what to do."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> FakeCompiler:
        folder.mkdir(parents=True)
        compiler = cls(folder)
        compiler.path.write_text(SCRIPT.format(here=shlex.quote(str(folder))))
        compiler.path.chmod(compiler.path.stat().st_mode | stat.S_IXUSR)
        compiler.tell(version="fake 1.0\n", included="", library="a library\n")
        return compiler

    @property
    def path(self) -> Path:
        return self.folder / "fake++"

    def tell(self, **files: str) -> None:
        """Write files that the script reads: `compile_says`, `link_returns`, `included`, `library`, `version`."""
        for name, text in files.items():
            (self.folder / name.replace("_", " ")).write_text(text)

    def calls(self, step: str = "compiled") -> list[str]:
        """Return the arguments of all calls so far, a line each."""
        path = self.folder / step
        return path.read_text().splitlines() if path.exists() else []

    def hold(self) -> None:
        """Let whoever compiles wait in a pipe from now on."""
        os.mkfifo(self.folder / "held")

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Wait until one compiles, let it wait while the block runs, and go on after it; others do not wait then."""
        pipe = self.folder / "held"
        with open(pipe, "w"):
            yield
            pipe.unlink()

    def nobody_is_left(self) -> bool:
        """Tell whether the one that waits, which was killed, is gone: at once, or when the system gets to it."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                os.close(os.open(self.folder / "held", os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # nobody reads
                return True
        return False
