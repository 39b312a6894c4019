"""Large arrays begin at cache lines, and are otherwise arrays like NumPy's own."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minpy as mx
from minpy.core import aligned

COMPILES = True

here = pytest.mark.skipif(aligned._allocation() is None, reason="the C library cannot align what NumPy frees")


def handler() -> str:
    core = np.core if np.__version__.startswith("1.") else np._core
    return core.multiarray.get_handler_name()


def starts(array) -> int:
    return array.ctypes.data % 64


@here
@given(
    st.lists(st.integers(0, 40), min_size=0, max_size=3).map(tuple),
    st.sampled_from(["float32", "float64", "int8", "complex128", "bool"]),
)
def test_arrays_are_what_was_asked_for(shape, dtype):
    for made in (aligned.empty(shape, dtype), aligned.zeros(shape, dtype), aligned.copied(np.ones(shape), dtype)):
        assert made.shape == shape
        assert made.dtype == dtype
        assert made.flags.c_contiguous
        assert made.flags.owndata
        assert made.base is None
        if made.nbytes >= 1 << 14:
            assert starts(made) == 0
    assert not aligned.zeros(shape, dtype).any()
    assert aligned.copied(np.ones(shape), dtype).all()
    assert handler() == "default_allocator"


@here
@pytest.mark.parametrize("nbytes", [1 << 14, 100_001, 4_000_000, (1 << 22) + 7, 50_000_001])
def test_large_arrays_begin_at_lines(nbytes):
    made = [aligned.empty(nbytes, "uint8") for _ in range(3)]
    assert [*map(starts, made)] == [0, 0, 0]
    for number, one in enumerate(made):
        one.fill(number)
    assert [(int(one[0]), int(one[-1])) for one in made] == [(0, 0), (1, 1), (2, 2)]


@here
def test_memory_can_be_resized_pickled_and_copied():
    made = aligned.copied(np.arange(10_000.0))
    assert np.array_equal(pickle.loads(pickle.dumps(made)), np.arange(10_000.0))
    copy = made.copy()
    made.resize(20_000, refcheck=False)
    assert np.array_equal(made[:10_000], copy)
    assert not made[10_000:].any()
    made.resize(10, refcheck=False)
    assert np.array_equal(made, np.arange(10.0))


@here
def test_numpy_s_own_arrays_stay_with_its_allocator_also_after_errors():
    with pytest.raises(MemoryError):
        aligned.empty(1 << 60, "uint8")
    with pytest.raises(ValueError, match="negative dimensions"):
        aligned.empty((-1 << 20, 1 << 20, -1), "uint8")
    assert handler() == "default_allocator"


@here
def test_an_interrupt_leaves_numpy_s_allocator(monkeypatch):
    """Also one that comes as soon as the other allocator is set."""
    allocation = aligned._allocation()
    calls = []

    def interrupted(one):
        found = allocation.set_handler(one)
        calls.append(found)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(aligned, "_allocation", lambda: allocation._replace(set_handler=interrupted))
    with pytest.raises(KeyboardInterrupt):
        aligned.empty(100_000)
    assert handler() == "default_allocator"


def test_lengths_may_be_numpy_s_small_integers():
    assert aligned.empty((np.int8(100), np.int8(100))).shape == (100, 100)
    assert aligned.empty(np.int8(100)).shape == aligned.empty([np.uint8(100)]).shape == (100,)


@here
def test_copies_convert_as_astype_does_and_are_contiguous():
    source = np.linspace(-3, 3, 60_000).reshape(200, 300)[::-2, ::3]
    made = aligned.copied(source, "int32")
    assert made.flags.c_contiguous
    assert np.array_equal(made, source.astype("int32"))


@here
def test_threads_make_and_free_each_other_s_arrays():
    shared: list = []
    failures: list = []

    def work(seed: int) -> None:
        random = np.random.RandomState(seed)
        try:
            for _ in range(300):
                size = int(random.randint(1, 60_000))
                made = aligned.empty(size, "int32")
                made.fill(size)
                shared.append(made)
                if len(shared) > 20:
                    taken = shared.pop(0)
                    assert (taken == taken.size).all()
            assert handler() == "default_allocator"
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    shared.clear()
    gc.collect()


@here
def test_arrays_that_outlive_the_module_are_freed_in_peace():
    code = (
        "import sys, builtins; from minpy.core import aligned\n"
        "builtins.kept = [aligned.zeros(50_000), aligned.zeros(5_000_000)]\n"
        "class Last:\n"
        "    def __init__(self): self.array = aligned.zeros(100_000)\n"
        "    def __del__(self): self.array.resize(10, refcheck=False)\n"
        "sys.last = Last()\n"
    )
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@here
def test_what_programs_read_and_write_begins_at_lines():
    """What arrays, parameters, states, outputs and gradients of a compiled step are made with."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(300, in_units=200, activation="relu"), mx.gluon.nn.Dense(100, in_units=300))
    net.initialize()
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    x = mx.nd.array(np.random.RandomState(0).normal(size=(200, 200)))
    x.attach_grad()
    for _ in range(4):
        with mx.autograd.record():
            y = net(x)
        y.backward()
        trainer.step(200)
    weights = [one for one in net.collect_params().values() if np.prod(one.shape) > 4096]
    arrays = [x, x.grad, y, *(one.data() for one in weights), *(one.grad() for one in weights)]
    arrays += [state for states in trainer._updaters[0].states.values() for state in states if state.size > 4096]
    assert len(arrays) == 3 + 4 + 4
    assert [starts(one._data) for one in arrays] == [0] * len(arrays)


def test_without_the_allocator_arrays_are_numpy_s(monkeypatch):
    monkeypatch.setattr(aligned, "_allocation", lambda: None)
    assert np.array_equal(aligned.copied(np.arange(50_000)), np.arange(50_000))
    assert not aligned.zeros((300, 300)).any()


def test_what_numpy_1_has_for_pickles_of_numpy_2_is_not_taken_for_its_own():
    pytest.importorskip("numpy._core")
    code = "import numpy._core, minpy.core.aligned as aligned; aligned.empty(1 << 20)"
    subprocess.run([sys.executable, "-c", code], check=True)


OWN_PAGE = """
import numpy
print(numpy.empty(20 << 20, "uint8").ctypes.data % 4096)  # 16 where glibc asks the system for pages of its own
"""
IMPORTED = """
import numpy
import minpy as mx
from minpy.core import aligned
x = mx.nd.ones((4, 4))
x.attach_grad()
with mx.autograd.record():
    y = (x * x).sum()
y.backward()
assert not aligned._allocation.cache_info().currsize, "small arrays ask for nothing"
"""
LARGE_ARRAY = """
large = MAKE
assert aligned._allocation.cache_info().currsize == 1
core = numpy.core if numpy.__version__.startswith("1.") else numpy._core
assert core.multiarray.get_handler_name() == "default_allocator"
"""


def test_importing_minpy_leaves_the_process_as_it_is():
    """What aligns memory, and what glibc is told, comes with the first large array."""

    def run(code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert run(IMPORTED + OWN_PAGE) == run(OWN_PAGE)
    for make in ("mx.nd.array(numpy.ones((300, 300)))", "mx.nd.ones((300, 300))", "mx.np.zeros((300, 300))"):
        run(IMPORTED + LARGE_ARRAY.replace("MAKE", make))
