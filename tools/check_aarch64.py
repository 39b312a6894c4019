"""Runs generated code for AArch64 under qemu, and compares all bits with what this processor computes.

    python tools/check_aarch64.py

It takes llvmlite, and on Debian: apt-get install qemu-user gcc-aarch64-linux-gnu. Every elementary function of
`minpy.backends.native.mathematics`, float and double, is compiled for both processors as a vectorised loop, and
computes the same numbers: special ones, and a million random ones. Then the helper thread counts.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from minpy.backends.native import mathematics
from minpy.backends.native.machine import helper_thread_ir, llvm

TRIPLE = "aarch64-unknown-linux-gnu"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
DTYPES = {"float": np.float32, "double": np.float64}

LOOP = """
define void @loop_{symbol}(ptr noalias %x, ptr noalias %y, ptr noalias %z, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x.at = getelementptr inbounds {type}, ptr %x, i64 %i
  %y.at = getelementptr inbounds {type}, ptr %y, i64 %i
  %z.at = getelementptr inbounds {type}, ptr %z, i64 %i
  %a = load {type}, ptr %x.at
  %b = load {type}, ptr %y.at
  %c = call {type} @{symbol}({arguments})
  store {type} %c, ptr %z.at
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}
"""

COUNT = """
define void @count(ptr %array, i64 %begin, i64 %end, i64 %who) {
entry:
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %exit
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %array, i64 %i
  %old = atomicrmw add ptr %at, i64 1 seq_cst
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""

# Reads x and y from a file, and writes what every function makes of them.
MAIN = """
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
%(declarations)s
void share(void *, void *, void *, long, long, long);
void count(void *, long, long, long);
static _Alignas(128) char desk[%(size)d];
static long counted[10000];
int main(int argc, char **argv) {
  long n = atol(argv[1]);
  char *x = malloc(8 * n), *y = malloc(8 * n), *z = malloc(8 * n);
  FILE *in = fopen(argv[2], "rb"), *out = fopen(argv[3], "wb");
  struct { void (*f)(void *, void *, void *, long); long size; } all[] = {%(table)s};
  for (unsigned k = 0; k < sizeof all / sizeof *all; k++) {
    if (fread(x, all[k].size, n, in) != n || fread(y, all[k].size, n, in) != n) return 1;
    all[k].f(x, y, z, n);
    if (fwrite(z, all[k].size, n, out) != n) return 1;
  }
  if (fclose(out)) return 1;
  void *functions[] = {%(functions)s};
  for (int k = 0; k < sizeof functions / sizeof *functions; k++) ((void **)desk)[k] = functions[k];
  *(long *)(desk + %(how)d) = SIG_SETMASK;
  sigfillset((sigset_t *)(desk + %(all_signals)d));
  for (int k = 0; k < 1000; k++) share(desk, count, counted, 0, 10000, 8);
  for (int k = 0; k < 10000; k++) if (counted[k] != 1000) return 2;
  return 0;
}
"""


def numbers(dtype: type, count: int) -> np.ndarray:
    """Return special numbers, and random ones of all magnitudes."""
    random = np.random.RandomState(0)
    info = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal]
    bits = np.frombuffer(random.bytes(count // 2 * info.dtype.itemsize), dtype)
    small = (random.normal(size=count - len(bits) - len(special)) * 10).astype(dtype)
    return np.concatenate([np.array(special, dtype), bits, small])


def main() -> int:
    """Compile, run and compare; return the exit status."""
    functions = [(name, kind) for name in mathematics.FUNCTIONS for kind in DTYPES if mathematics.covers(name, kind)]
    ir = mathematics.definitions(functions) + COUNT + helper_thread_ir.SOURCE
    for name, kind in functions:
        arguments = ", ".join(f"{kind} {value}" for value in ("%a", "%b")[: mathematics.arity(name)])
        ir += LOOP.format(symbol=mathematics.symbol(name, kind), type=kind, arguments=arguments)
    symbols = [f"loop_{mathematics.symbol(name, kind)}" for name, kind in functions]
    length = 1_000_003
    pairs = {kind: (x := numbers(dtype, length), np.roll(x, 12345)) for kind, dtype in DTYPES.items()}
    text = MAIN % {
        "declarations": "\n".join(f"void {symbol}(void *, void *, void *, long);" for symbol in symbols),
        "size": helper_thread_ir.SIZE,
        "table": ", ".join(
            f"{{{symbol}, {np.dtype(DTYPES[kind]).itemsize}}}"
            for symbol, (_, kind) in zip(symbols, functions, strict=True)
        ),
        "functions": ", ".join(helper_thread_ir.FUNCTIONS),
        "how": helper_thread_ir.PLACES["how"],
        "all_signals": helper_thread_ir.PLACES["all_signals"],
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "main.c").write_text(text)
        (place / "code.o").write_bytes(llvm.emit(ir, TRIPLE))
        (place / "in").write_bytes(b"".join(array.tobytes() for _, kind in functions for array in pairs[kind]))
        subprocess.run(
            [COMPILER, "-static", "-O1", "-o", "program", "main.c", "code.o", "-lpthread"], cwd=folder, check=True
        )
        subprocess.run([EMULATOR, "./program", str(length), "in", "out"], cwd=folder, check=True)
        answers = (place / "out").read_bytes()
    loaded = llvm.compile(ir)
    at = wrong = 0
    for symbol, (_, kind) in zip(symbols, functions, strict=True):
        x, y = pairs[kind]
        here, there = np.empty_like(x), np.frombuffer(answers, x.dtype, length, at)
        at += there.nbytes
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(loaded.address(symbol))
        function(x.ctypes.data, y.ctypes.data, here.ctypes.data, length)
        bits = f"u{x.itemsize}"
        differ = (here.view(bits) != there.view(bits)) & ~(np.isnan(here) & np.isnan(there))
        count = int(differ.sum())
        wrong += bool(count)
        first = f", the first at {x[differ][0]!r}, {y[differ][0]!r}" if count else ""
        print(f"{symbol}: {count} of {length} differ{first}")
    print("the helper thread counts as it should")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
