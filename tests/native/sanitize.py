"""Run everything that `surface_host.cc` asks of the header under AddressSanitizer, UBSan and LeakSanitizer.

    python tests/native/sanitize.py            # memory, undefined behaviour, leaks
    python tests/native/sanitize.py thread     # data races, by ThreadSanitizer

Takes a minute or two, most of it compiling. Fails if a sanitizer finds anything, or if it would not find a leak.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "minpy"


def main() -> int:
    kind = "thread" if "thread" in sys.argv[1:] else "address,undefined"
    flags = ["-std=c++11", "-g", "-O1", f"-fsanitize={kind}"]
    if kind != "thread":
        flags.append("-fno-sanitize-recover=undefined")
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        leak = folder / "leak.cc"
        leak.write_text("char* volatile lost = nullptr;\nint main() { lost = new char[10]; lost = nullptr; }\n")
        builds = [
            [compiler, *flags, str(HERE / "surface_host.cc"), "-o", str(folder / "host"), "-ldl", "-pthread"],
            [compiler, *flags, "-shared", "-fPIC", *map(str, (HERE / "surface.cc", HERE / "surface_graphs.cc"))]
            + [f"-I{PACKAGE / 'include'}", "-o", str(folder / "surface.so")],
            [compiler, *flags, str(leak), "-o", str(folder / "leak")],
        ]
        for running in [subprocess.Popen(command) for command in builds]:
            if running.wait() != 0:
                return 1
        if kind != "thread" and subprocess.run([folder / "leak"], capture_output=True).returncode == 0:
            print("LeakSanitizer finds nothing here, not even a leak: run this where it works (not under ptrace)")
            return 1
        done = subprocess.run([folder / "host", folder / "surface.so", "adversary"], capture_output=True)
    print(done.stderr.decode(errors="replace"), end="")
    print(f"{kind}: {len(done.stdout.splitlines())} lines of answers, ended with {done.returncode}")
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
