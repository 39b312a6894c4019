"""Run what calls native libraries under sanitizers.

    python tests/support/native/sanitize.py            # the header: memory, undefined behaviour, leaks
    python tests/support/native/sanitize.py thread     # the same: data races, by ThreadSanitizer
    python tests/support/native/sanitize.py host       # the tests of `minpy.library`, under AddressSanitizer

Takes some minutes, most of it compiling. Fails if a sanitizer finds anything, or if it would not find it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOMS = HERE.parents[1] / "library"
PACKAGE = HERE.parents[2] / "minpy"


# What is not seen by the host, or starts processes of its own.
_TESTS = "operators states given errors partitioners passes subgraphs graphs golden".split()  # noqa: SIM905
_EXAMPLES = "gemm normalization graphs".split()  # noqa: SIM905
_OVERRUN = """
import numpy, sys
sys.path.insert(0, {tests!r})
from native.building import build
import ctypes
library = ctypes.CDLL(str(build({source!r})))
array = numpy.zeros(4)
library.overrun(ctypes.c_void_p(array.ctypes.data), 4)
"""


def host() -> int:
    """Run the tests of the host: Python and NumPy use the sanitizer's memory, and libraries are compiled with it."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    standard = subprocess.run([compiler, "-print-file-name=libstdc++.so"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as name:
        overrun = Path(name) / "overrun.c"
        overrun.write_text("void overrun(double* memory, long count) { memory[count] = 1; }\n")
        environment = {
            **os.environ,
            # Exceptions of C++ are found by the runtime only if their library is there when it starts.
            "LD_PRELOAD": f"{runtime.stdout.strip()} {standard.stdout.strip()}",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python keeps what it needs to its end
            "PYTHONMALLOC": "malloc",
            "CXXFLAGS": "-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined",
            "MINPY_NATIVE_TESTS": name,
            "OPENBLAS_NUM_THREADS": "1",
        }
        program = _OVERRUN.format(tests=str(HERE.parent), source=str(overrun))
        caught = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        if "heap-buffer-overflow" not in caught.stderr:
            print(f"AddressSanitizer finds nothing here, not even a write beyond an array:\n{caught.stderr}")
            return 1
        files = [ROOMS / f"test_library_{name}.py" for name in _TESTS]
        files += [ROOMS / f"test_native_{name}.py" for name in _EXAMPLES]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)]
        return subprocess.run(command, env=environment, cwd=HERE.parents[2]).returncode


def main() -> int:
    if "host" in sys.argv[1:]:
        return host()
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
