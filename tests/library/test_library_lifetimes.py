"""How long things of native libraries live: states of static blocks, files that change, interrupts, forks, and ends."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from native.building import build, copy_of
from native.watching import Watched

import minpy as mx
from minpy import gluon, nd
from minpy.core.configured import FAMILIES
from minpy.core.errors import LibraryError, OperatorError, ShapeError
from minpy.library import loading
from minpy.library.elf import missing_bytes
from minpy.library.loading import is_taken
from minpy.library.resources import GENERATORS

STATIC = {"static_alloc": True, "static_shape": True}


@pytest.fixture(autouse=True)
def library():
    paths = build("operators.c", flags=["-DABI=11", '-DTAG=""']), build("failing.c")
    for path in paths:
        mx.library.load(path, verbose=False)
    watched = Watched(paths[0])
    gc.collect()
    before = watched.states
    yield watched
    gc.collect()
    assert watched.states == before
    assert watched.faults == []


class Pair(gluon.HybridBlock):
    """Its gradient fails if a state sees another call's."""

    def hybrid_forward(self, F, x):
        return F.raw_stateful_pair(x, x)[0]


class Counted(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.raw_counted(x)


class FailingSecond(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.raw_fail_state(F.raw_counted(x), at="second_forward")


def static(kind):
    block = kind()
    block.hybridize(**STATIC)
    return block


def count(block):
    return block(nd.ones(1)).asnumpy()[0]


# -- states of static blocks -------------------------------------------------------------------------------------------


def test_threads_of_a_static_block_have_states_of_their_own():
    block, wrong = static(Pair), []

    def work(k):
        for _ in range(40):
            x = nd.full((3,), float(k))
            x.attach_grad()
            with mx.autograd.record():
                y = block(x)
            y.backward()
            if x.grad.asnumpy().tolist() != [2.0 * k] * 3:
                wrong.append((k, x.grad.asnumpy()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_as_many_states_as_were_in_flight_at_once(library):
    alive, block = library.states, static(Counted)
    x = nd.ones(1)
    x.attach_grad()
    for _ in range(3):
        with mx.autograd.record():
            answers = [block(x) for _ in range(4)]
        assert library.states == alive + 4
        for one in answers:
            one.backward()
    assert [answers[0].asnumpy()[0], x.grad.asnumpy()[0]] == [3, 3]
    del answers, one
    assert count(block) == 1, "that is not recorded, so it begins anew"
    assert library.states == alive + 4
    del block
    gc.collect()
    assert library.states == alive


def test_a_static_call_that_fails_gives_its_states_back(library):
    alive, block = library.states, static(FailingSecond)
    assert count(block) == 1
    with pytest.raises(OperatorError, match="refuses to go on"):
        block(nd.ones(1))
    assert count(block) == 3, "the first operator has gone on counting"
    assert library.states == alive + 1


def test_who_watches_a_static_block_does_not_move_its_states():
    block, seen = static(Counted), []
    assert count(block) == 1
    block.register_op_hook(lambda name, kind, array: seen.append(array.asnumpy()[0]))
    assert [count(block) for _ in range(2)] == [2, 3]
    assert seen == [1, 1]


# -- files that change -------------------------------------------------------------------------------------------------


@pytest.fixture
def rebuilt():
    """A library that no other one is like, and whose operators are gone afterwards."""
    known = {*loading._LIBRARIES}
    yield build("operators.c", flags=["-DABI=10", '-DTAG="_v10"'])
    for path in {*loading._LIBRARIES} - known:
        loading._unload(loading._LIBRARIES[path])


def test_what_was_refused_and_is_built_again_is_opened_anew(tmp_path, library, rebuilt):
    """The dynamic linker goes on giving the old library for a path that it has opened once."""
    if "raw_affine_v10" in FAMILIES:
        pytest.skip("another test has loaded it")
    path = copy_of(library.path, tmp_path, "libmade.so")
    with pytest.raises(LibraryError, match="has an operator 'raw_affine'"):
        mx.library.load(path, verbose=False)
    path.unlink()
    shutil.copyfile(rebuilt, path)
    found = mx.library.load(os.fsencode(path), verbose=False)
    assert (found.version, found.path) == (10, os.path.realpath(path))
    assert nd.raw_affine_v10(np.ones(2), scale=3).tolist() == [3, 3]


def test_errors_name_the_file_that_was_given(tmp_path, monkeypatch):
    """Not the copy of it that is opened, as it has changed."""
    path = copy_of(build("registering.c"), tmp_path)
    monkeypatch.setenv("RAW_WRONG", "no inferType")
    for _ in range(2):
        with pytest.raises(LibraryError, match="setInferType") as caught:
            mx.library.load(path, verbose=False)
        assert f"library.load: {os.path.realpath(path)} registers" in str(caught.value)
        changed = path.read_bytes() + b"\0"
        path.unlink()  # what is opened goes on reading the file that it has
        path.write_bytes(changed)


def test_headers_that_cannot_be_true(tmp_path, library):
    """Whether a file is whole is never an error of another kind, whatever its header says."""
    content = library.path.read_bytes()[:8000]
    draw = random.Random(5)
    path = tmp_path / "lib.so"
    for number in range(300):
        broken = bytearray(content)
        if number % 3:
            broken[32:40] = draw.randbytes(8)  # where the table of segments is
        broken[54:58] = struct.pack("<HH", draw.choice((0, 1, 31, 56, 65535)), draw.choice((0, 1, 9, 65535)))
        for _ in range(number % 4):
            broken[draw.randrange(4, 600)] = draw.randrange(256)
        path.write_bytes(broken)
        assert missing_bytes(str(path)) >= 0


@pytest.mark.parametrize(
    "name", ["np", "npx", "__init__", "__path__", "__getattr__", "op", "random", "contrib", "Custom"]
)
def test_names_that_mean_something_else(name):
    assert is_taken(name)


def test_names_that_are_free():
    assert not any(map(is_taken, ("raw_affine", "my_gemm", "_my_gemm", "_contrib_my_gemm", "sys")))


# -- what does not fit -------------------------------------------------------------------------------------------------


def test_lengths_that_32_bits_cannot_hold():
    for x in (np.empty((0, 2**32)), np.empty((2**40, 0)), np.empty((0, 2**32 - 1))):
        for run in (nd.raw_affine, nd.raw_counted):
            with pytest.raises(ShapeError, match=r"raw_\w+: data0 has shape .*32-bit"):
                run(x)
    assert nd.raw_affine(np.empty((0, 2**32 - 2))).shape == (0, 2**32 - 2)
    binary = nd.raw_counted.binary
    with pytest.raises(ShapeError, match="32-bit"):  # of inputs that are no part of inference
        binary.state_arguments(nd.raw_counted.configured({}).texts, [(0, 2**40)], [0])


def test_more_dimensions_than_libraries_are_given():
    shape = (1,) * 33
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ShapeError, match="raw_affine: data0 has 33 dimensions; native operators take 32 at most"):
            nd.raw_affine(np.ones(shape))
    assert nd.raw_affine(np.ones(shape[1:])).shape == shape[1:]


def test_a_profiler_sees_native_operators(tmp_path):
    mx.profiler.set_config(profile_imperative=True, aggregate_stats=True, filename=str(tmp_path / "profile.json"))
    mx.profiler.set_state("run")
    try:
        assert nd.raw_affine(nd.ones(2), scale=2).asnumpy().tolist() == [2, 2]
    finally:
        mx.profiler.set_state("stop")
    assert "raw_affine" in mx.profiler.dumps(reset=True)
    assert nd.raw_affine(nd.ones(2), scale=2).asnumpy().tolist() == [2, 2]


# -- interrupts, forks and ends ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signals")
def test_an_interrupted_call_gives_its_generators_back(library):
    """So the numbers that follow are those of the seed."""

    class Interrupt(BaseException):
        pass

    def interrupt(*_):
        raise Interrupt

    def release():
        while library.arrivals < 1:
            threading.Event().wait(0.001)
        os.kill(os.getpid(), signal.SIGUSR1)
        nd.raw_meet(np.ones(1), parties=1)

    mx.random.seed(3)
    expected = nd.raw_random(np.ones(1), count=4).tolist()
    mx.random.seed(3)
    library.forget_arrivals()
    before = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=release)
    thread.start()
    try:
        with pytest.raises(Interrupt):
            nd.raw_meet(np.ones(1), parties=2)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    numbers = [one.number for one in GENERATORS._idle]
    assert sorted(numbers) == [0, 1]
    assert nd.raw_random(np.ones(1), count=4).tolist() == expected


PROGRAM = """
import ctypes, os, sys, threading
import minpy as mx
from minpy import nd, sym
mx.library.load(sys.argv[1], verbose=False)
x = nd.ones(2)
x.attach_grad()
with mx.autograd.record():
    KEPT = nd.raw_counted(x)
BOUND = sym.raw_counted(sym.var("x")).bind(mx.cpu(), {"x": nd.ones(1)})
BOUND.forward()
mx.random.seed(5)
nd.raw_random(nd.ones(1), count=1)
inside = threading.Thread(target=lambda: nd.raw_meet(nd.ones(1), parties=2), daemon=True)
inside.start()
library = ctypes.CDLL(sys.argv[1])
while library.raw_arrivals() < 1:
    pass
read, write = os.pipe()
child = os.fork()
drawn = nd.raw_random(nd.ones(1), count=4).asnumpy().tolist()
KEPT.backward()
said = f"{drawn} {x.grad.asnumpy().tolist()} {BOUND.forward()[0].asnumpy().tolist()}"
if child == 0:
    os.write(write, said.encode())
else:
    print(said)
    print(os.read(read, 1000).decode())
    print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forks_and_ends_with_states_and_a_call_inside(library):
    """Both processes end on their own, with a thread in the library, and draw other numbers."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(library.path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    first, second, ended = done.stdout.splitlines()
    assert ended == "0", done.stderr
    assert first != second
    assert [one.partition("] ")[2] for one in (first, second)] == ["[1.0, 1.0] [2.0]"] * 2
