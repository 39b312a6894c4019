"""Native code in processes that are forked and spawned, that end in the middle of it, and that share one cache."""

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from places import ROOT

import minpy as mx
from minpy.backends.native.machine import llvm
from minpy.jit.trial import trials

COMPILES = True
pytest.importorskip("llvmlite")

X = np.random.RandomState(2).normal(size=(64, 300))
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def energy(x):
    return np.sum(np.tanh(x) * 2, axis=1)


def other(x, scale):
    return np.sum(np.exp(-x * x) * scale, axis=0)


def run(program, cache, *arguments, ok=True):
    """The output of a Python program that has a cache."""
    environment = {**os.environ, "MINPY_CACHE": str(cache), "MINPY_COMPILE": "1"}
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        capture_output=True, text=True, env=environment, timeout=300, check=False,
    )  # fmt: skip
    assert not ok or found.returncode == 0, found.stderr
    return found


def in_child(work):
    """Run `work()` in a forked process, and return its status: 0, if it has not raised anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork while there are threads
        process = os.fork()
    if not process:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def compute(compiled, rounds=4):
    for _ in range(rounds):
        np.testing.assert_allclose(compiled(X), energy(X), rtol=1e-12)


def compute_another():
    compiled = mx.compile(lambda x: other(x, 3.0))
    for _ in range(4):
        np.testing.assert_allclose(compiled(X), other(X, 3.0), rtol=1e-12)
    assert compiled.explain()[0].is_native


@forks
@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_a_fork_before_and_after_compiling(rounds):
    compiled = mx.compile(energy)
    compute(compiled, rounds)

    def child():
        compute(compiled)
        compute_another()

    assert in_child(child) == 0
    compute(compiled)
    assert in_child(child) == 0
    assert compiled.explain()[0].is_native


@forks
@pytest.mark.parametrize("busy", ["calling", "compiling"])
def test_a_fork_while_another_thread_is_at_it(busy):
    compiled = mx.compile(energy)
    compute(compiled)
    large = np.ones((2000, 500))
    over, begun, failures = threading.Event(), threading.Event(), []

    def work():
        number = 0
        try:
            while not over.is_set():
                number += 1
                begun.set()
                if busy == "calling":
                    assert compiled(large).shape == (2000,)
                else:
                    fresh = mx.compile(lambda x, number=number: np.sum(np.sin(x) * float(number), axis=1))
                    for _ in range(3):
                        assert fresh(X).shape == (64,)
        except BaseException as error:
            failures.append(error)

    def child():
        compute(compiled)
        compute_another()
        assert compiled(large).shape == (2000,)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        begun.wait()
        assert [in_child(child) for _ in range(3)] == [0, 0, 0]
    finally:
        over.set()
        thread.join()
    assert not failures
    compute(compiled)


ENDING = """
import os, sys, threading
import numpy as np
import minpy as mx
how = sys.argv[1]
compiled = mx.compile(lambda x: np.sum(np.tanh(x) * np.exp(-x * x), axis=1))
x = np.ones((2000, 1000))
for _ in range(4):
    expected = compiled(x)
begun = threading.Event()
def work():
    while True:
        assert (compiled(x) == expected).all()
        begun.set()
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
begun.wait()
print("native" if compiled.explain()[0].is_native else "python", flush=True)
if how == "exit":
    sys.exit(7)
if how == "os":
    os._exit(7)
if how == "raise":
    raise SystemExit(7)
if how == "after":
    import atexit
    atexit.register(lambda: print((compiled(x) == expected).all(), flush=True))
    sys.exit(7)
"""


@pytest.mark.parametrize("how", ["exit", "os", "raise", "after"])
def test_the_interpreter_ends_while_threads_are_in_native_code(how, tmp_path):
    found = run(ENDING, tmp_path, how, ok=False)
    assert found.returncode == 7, found.stderr
    assert found.stdout.split() == ["native", "True"] if how == "after" else ["native"]
    assert found.stderr == ""


def answer_of(block, function, x):
    """What a worker process gives: of a block and a function that were pickled."""
    trials.enabled = False  # which way is faster is not the question, and a busy machine cannot tell
    for _ in range(4):
        found = block(mx.nd.array(x)).asnumpy(), function(x)
    return (*found, function.explain()[0].is_native)


@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=forks)])
def test_pickled_blocks_and_functions_in_workers(method, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    block = mx.gluon.nn.Dense(3, in_units=300, activation="tanh")
    block.initialize()
    block.hybridize()
    function = mx.compile(energy)
    expected = answer_of(block, function, X)
    block, function = pickle.loads(pickle.dumps((block, function)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork while there are threads
        with multiprocessing.get_context(method).Pool(2) as pool:
            answers = pool.starmap(answer_of, [(block, function, X)] * 3)
    for outputs, values, is_native in answers:
        np.testing.assert_allclose(outputs, expected[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(values, expected[1], rtol=1e-12)
        assert is_native


# -- one cache ---------------------------------------------------------------------------------------------------------

RACING = """
import sys
import numpy as np
import minpy as mx
from minpy.jit.trial import trials
trials.enabled = False
for scale in range(6):
    compiled = mx.compile(lambda x: np.sum(np.tanh(x) * scale, axis=1))
    for _ in range(4):
        assert np.allclose(compiled(np.ones((3, 4))), np.tanh(1) * 4 * scale, rtol=1e-12)
    assert compiled.explain()[0].is_native
print("fine")
"""


def test_processes_that_write_the_same_files(tmp_path):
    environment = {**os.environ, "MINPY_CACHE": str(tmp_path), "MINPY_COMPILE": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RACING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        for _ in range(3)
    ]
    for process in processes:
        output, errors = process.communicate(timeout=300)
        assert output.decode().split() == ["fine"], errors.decode()
    assert not [name for _, _, names in os.walk(tmp_path) for name in names if name.endswith(".tmp")]
    assert run(RACING, tmp_path).stdout.split() == ["fine"]


def test_a_folder_that_goes_while_programs_run(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("MINPY_CACHE", str(folder))
    for number in range(4):
        compiled = mx.compile(lambda x, number=number: np.sum(np.tanh(x) + number, axis=1))
        for _ in range(4):
            np.testing.assert_allclose(compiled(X), np.sum(np.tanh(X) + number, axis=1), rtol=1e-12)
        assert compiled.explain()[0].is_native
        if folder.is_dir():
            shutil.rmtree(folder)
            if number == 2:
                folder.write_text("a file, where the folder was")
    assert llvm.available()


def test_damaged_files_are_made_anew(tmp_path):
    """Cut off, or with bytes changed, at random: what runs is right, and nothing falls."""
    assert run(RACING, tmp_path).stdout.split() == ["fine"]
    random = np.random.RandomState(1)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        content = bytearray(path.read_bytes())
        if random.randint(2):
            del content[random.randint(len(content)) :]
        else:
            for place in random.randint(len(content), size=3):
                content[place] ^= 1 << random.randint(8)
        path.write_bytes(content)
    assert run(RACING, tmp_path).stdout.split() == ["fine"]
    assert run(RACING, tmp_path).stdout.split() == ["fine"]


OPTIMIZED = """
import minpy as mx
from minpy import autograd, gluon
mx.random.seed(1)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Conv2D(4, 3), gluon.nn.BatchNorm(), gluon.nn.MaxPool2D())
net.add(gluon.nn.GlobalAvgPool2D(), gluon.nn.Dense(3))
net.initialize()
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "adam")
for _ in range(4):
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(mx.nd.ones((2, 3, 8, 8))), mx.nd.array([0, 1]))
    loss.backward()
    trainer.step(2)
print(loss.asnumpy().tolist())
"""


def test_without_assertions_and_after_that(tmp_path) -> None:
    """`python -O`, where no assertion runs, compiles the same; so do later processes what it leaves in the cache."""

    def printed(cache: str, *flags: str) -> str:
        environment = {**os.environ, "MINPY_CACHE": str(tmp_path / cache), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, *flags, "-c", OPTIMIZED]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    expected = printed("one")
    assert "nan" not in expected
    assert [printed("another", "-O"), printed("another")] == [expected, expected]
