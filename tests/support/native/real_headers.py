"""Builds `real.cc` with MXNet's own headers, and compares what minpy makes of the libraries with what MXNet does.

    python tests/support/native/real_headers.py --wheel-1.7 FOLDER --wheel-1.8 FOLDER --wheel-1.9 FOLDER \\
        [--mxnet PYTHON]

Each folder is an unpacked wheel of `mxnet` (1.7.0.post2, 1.8.0.post0, 1.9.1), whose headers are given to the compiler
and to nobody else; --mxnet is a Python that has MXNet 1.9.1, which is asked the same with the library that it can load.
minpy's own header is built with, too. It is run by hand: the tests need no file of MXNet's.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCE = HERE / "real.cc"
VERSIONS = {"1.7": 7, "1.8": 10, "1.9": 11}

CALLS = {
    "gemm": "result = nd.real_gemm(nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([[1, 0, 2], [0, 1, 3]]))",
    "gemm_float64": "result = nd.real_gemm(nd.ones((2, 3), dtype='float64'), nd.ones((3, 1), dtype='float64'))",
    "gemm_gradient": """
a, b = nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([[1, 0, 2], [0, 1, 3]])
a.attach_grad(); b.attach_grad()
with autograd.record():
    c = nd.real_gemm(a, b)
c.backward(nd.arange(9).reshape((3, 3)))
result = [a.grad, b.grad]
""",
    "gemm_graph": """
node = mx.sym.real_gemm(mx.sym.var('a'), mx.sym.var('b'), name='g')
bound = node.simple_bind(mx.cpu(), a=(2, 3), b=(3, 4))
bound.arg_dict['a'][:] = nd.arange(6).reshape((2, 3))
bound.arg_dict['b'][:] = nd.arange(12).reshape((3, 4))
out = bound.forward(is_train=True)[0]
bound.backward([nd.ones((2, 4))])
result = [out, bound.grad_dict['a'], bound.grad_dict['b'], node.list_outputs()]
""",
    "gemm_shapes": "result = nd.real_gemm(nd.ones((2, 3)), nd.ones((2, 3)))",
    "gemm_dtypes": "result = nd.real_gemm(nd.ones((2, 3), dtype='int32'), nd.ones((3, 2), dtype='int32'))",
    "pair": "result = nd.real_pair(nd.array([1, 2]), nd.array([3, 4]), scale=2)",
    "pair_gradient": """
x, y = nd.array([1, 2]), nd.array([3, 4])
x.attach_grad(); y.attach_grad()
with autograd.record():
    one, two = nd.real_pair(x, y, scale=2)
autograd.backward([one, two], [nd.array([1, 10]), nd.array([2, 20])])
result = [x.grad, y.grad]
""",
    "pair_of_one_output": """
x, y = nd.array([1, 2]), nd.array([3, 4])
x.attach_grad(); y.attach_grad()
with autograd.record():
    one = nd.real_pair(x, y)[0]
one.backward()
result = [x.grad, y.grad]
""",
    "total": """
total = nd.array([10, 20])
result = [nd.real_total(nd.array([1, 2]), total), nd.real_total(nd.array([1, 2]), total), total]
""",
    "total_graph": """
node = mx.sym.real_total(mx.sym.var('x'), mx.sym.var('total'))
bound = node.bind(mx.cpu(), {'x': nd.ones((2,))}, aux_states={'total': nd.zeros((2,))})
outs = [bound.forward()[0].copy() for _ in range(3)]
result = [outs, bound.aux_dict['total'], node.list_auxiliary_states()]
""",
    "counter": "result = [nd.real_counter(nd.ones((2,)), scale=3) for _ in range(2)]",
    "counter_gradient": """
x = nd.array([1, 2]); x.attach_grad()
with autograd.record():
    y = nd.real_counter(x, scale=3)
y.backward(nd.array([1, 10]))
result = x.grad
""",
    "counter_graph": """
bound = mx.sym.real_counter(mx.sym.var('x')).simple_bind(mx.cpu(), x=(2,))
bound.arg_dict['x'][:] = 1
result = [bound.forward()[0].copy() for _ in range(3)]
""",
    "draw": """
mx.random.seed(11)
result = [nd.real_draw(nd.zeros((5,)), state=4) for _ in range(2)]
""",
    "fail": "result = nd.real_fail(nd.ones((2,)), reason='rain'); result.wait_to_read()",
}


def sources(version: str, wheel: Path) -> list[str]:
    """Returns the arguments of the compiler for the header of a wheel."""
    include = wheel / "mxnet" / "include"
    if version == "1.7":
        return ["-DOLD_INCLUDE", f"-I{include / 'mxnet'}", str(SOURCE)]
    other = wheel / "mxnet" / "src" / "lib_api.cc"
    if version == "1.8" and not other.exists():
        raise FileNotFoundError(
            f"{wheel} has no mxnet/src/lib_api.cc, as the wheel of 1.8 has not. 1.9's serves, less the definitions of "
            "what 1.8's header does not declare: run with --complete-1.8, which makes it of the wheel of 1.9."
        )
    return [f"-I{include}", str(SOURCE), str(other)]


def complete(old: Path, new: Path) -> None:
    """Puts 1.9's implementation beside 1.8's header, less the constructor and destructors that came with 1.9."""
    lines, kept, leaving_out = (new / "mxnet/src/lib_api.cc").read_text().splitlines(), [], False
    for line in lines:
        leaving_out = leaving_out or bool(re.search(r"CustomStatefulOp(Wrapper)?::(CustomStatefulOp|~)", line))
        if not leaving_out:
            kept.append(line)
        elif "}" in line:
            leaving_out = False
    target = old / "mxnet/src/lib_api.cc"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join(kept) + "\n")


def build(arguments: list[str], target: Path) -> Path:
    """Builds a library."""
    command = ["g++", "-std=c++11", "-O2", "-fPIC", "-shared", "-w", *arguments, "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def answers(python: list[str], path: Path, library: str) -> dict[str, Any]:
    """Returns what a library with MXNet's interface answers to all calls, in a process of its own."""
    done = subprocess.run(
        [*python, str(HERE / "real_headers.py"), "--answer", str(path), "--with", library],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if done.returncode:
        raise SystemExit(
            f"{library} ends with {done.returncode} on {path}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def answer(path: str, library: str) -> None:
    """Prints the answers of this process."""
    sys.path.insert(0, str(ROOT / "tests" / "golden"))
    if library == "minpy":
        sys.path.insert(0, str(ROOT))
    mx = importlib.import_module(library)
    run_case = importlib.import_module("case_runner").run_case
    mx.library.load(path, verbose=False)
    print(json.dumps({name: run_case(mx, snippet) for name, snippet in CALLS.items()}))


def compare(name: str, got: dict[str, Any], expected: dict[str, Any]) -> int:
    """Prints where answers differ, and returns in how many calls they do."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    sys.path.insert(0, str(ROOT))
    difference_between = importlib.import_module("test_golden").difference_between
    differing = 0
    for call, answer in expected.items():
        difference = difference_between(got[call], answer)
        if difference:
            print(f"{name}: {call}: {difference}")
            differing += 1
    print(f"{name}: {len(expected) - differing} of {len(expected)} calls answered alike")
    return differing


def main() -> int:
    """Builds, asks and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for version in VERSIONS:
        parser.add_argument(f"--wheel-{version}", type=Path, metavar="FOLDER")
    parser.add_argument("--complete-1.8", action="store_true", help="make up for what the wheel of 1.8 lacks")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python that imports MXNet 1.9.1")
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    parser.add_argument("--with", dest="library", help=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    if given["answer"]:
        answer(given["answer"], given["library"])
        return 0
    wheels = {version: given[f"wheel_{version}"] for version in VERSIONS if given[f"wheel_{version}"]}
    if given["complete_1.8"]:
        complete(wheels["1.8"], wheels["1.9"])
    with tempfile.TemporaryDirectory() as folder:
        libraries = {
            f"header of MXNet {version}": build(sources(version, wheel), Path(folder) / f"lib{version}.so")
            for version, wheel in wheels.items()
        }
        own = ROOT / "minpy" / "include"
        if (own / "lib_api.h").exists():
            libraries["minpy's header"] = build(["-DOLD_INCLUDE", f"-I{own}", str(SOURCE)], Path(folder) / "libown.so")
        got = {name: answers([sys.executable], path, "minpy") for name, path in libraries.items()}
        expected = next(iter(got.values()))
        differing = 0
        if given["mxnet"]:
            for name, path in libraries.items():
                if name in ("header of MXNet 1.9", "minpy's header"):
                    expected = answers([given["mxnet"]], path, "mxnet")
                    differing += compare(f"{name}, minpy beside MXNet 1.9.1", got[name], expected)
        for name, found in got.items():
            differing += compare(f"{name}, in minpy", found, expected)
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
