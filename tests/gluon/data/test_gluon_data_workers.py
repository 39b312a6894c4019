"""Workers of a DataLoader: what they answer, how they fail, what is left of them, and whose memory batches lie in."""

# ruff: noqa: E501 - one case is one line of text

from __future__ import annotations

import errno
import faulthandler
import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import gluon, nd
from minpy.core.errors import WorkerError
from minpy.gluon import data
from minpy.gluon.data import dataloader
from minpy.gluon.data.workers import ProcessPool, WorkerTimeoutError, shared_memory

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked here")
LONG = 60  # seconds: what nobody waits for


class Items(data.Dataset):
    """What a function says of each index."""

    def __init__(self, function: Callable[[int], Any], length: int = 8) -> None:
        self.function = function
        self.length = length

    def __getitem__(self, idx: Any) -> Any:
        return self.function(idx)

    def __len__(self) -> int:
        return self.length


def large(index: int) -> Any:
    """Return an item that is too large for a pipe."""
    return np.full((40, 50), index, np.float32), index


def listed(batches: Any) -> list[Any]:
    return [batch.asnumpy().tolist() for batch in batches]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = {process.pid for process in multiprocessing.active_children()}
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    yield
    gc.collect()
    assert {process.pid for process in multiprocessing.active_children()} <= before
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= descriptors


# -- failures ----------------------------------------------------------------------------------------------------------


class OddError(Exception):
    """An exception that cannot be loaded from its pickle."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")


def _raises(error: Any) -> Callable[[int], Any]:
    def function(index: int) -> Any:
        if index == 5:
            raise error
        return index

    return function


def _ends(how: Callable[[], Any]) -> Callable[[int], Any]:
    return lambda index: how() if index == 5 else index


def _crash() -> None:
    faulthandler.disable()  # which pytest has switched on
    os.kill(os.getpid(), signal.SIGSEGV)


FAILURES: dict[str, tuple[Callable[[int], Any], type[BaseException], str]] = {
    "error": (_raises(KeyError("five")), KeyError, "five"),
    "odd error": (_raises(OddError(1, 2)), WorkerError, r"batch 2 \(items 4, 5\) in worker \d \(process \d+\) failed with OddError: odd"),
    "end of loop": (_raises(StopIteration()), WorkerError, "failed with StopIteration"),
    "exit": (_raises(SystemExit(3)), WorkerError, "failed with SystemExit: 3"),
    "interrupt": (_raises(KeyboardInterrupt()), WorkerError, "failed with KeyboardInterrupt"),
    "ended": (_ends(lambda: os._exit(3)), WorkerError, r"worker \d \(process \d+\) has ended with exit status 3 before batch 2 \(items 4, 5\) was there"),
    "killed": (
        _ends(lambda: os.kill(os.getpid(), signal.SIGKILL)),
        WorkerError,
        "was killed by the signal SIGKILL before batch 2 .*memory is short: use smaller batches, fewer workers",
    ),
    "crashed": (_ends(_crash), WorkerError, "signal SIGSEGV .*num_workers=0 shows where"),
    "no numbers": (lambda index: "word", TypeError, "the items make no array of numbers"),
    "not sent": (lambda index: lambda: index, pickle.PicklingError, "what batchify_fn has returned cannot be sent: .*thread_pool=True"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_failures(name: str) -> None:
    function, kind, text = FAILURES[name]
    batchify = list if name == "not sent" else None
    loader = data.DataLoader(Items(function), 2, num_workers=2, batchify_fn=batchify)
    for _ in range(2):  # in the second epoch as well
        batches = iter(loader)
        with pytest.raises(kind, match=text):
            for _ in batches:
                pass
        assert list(batches) == [], "an epoch ends with an exception, as a generator's"
    loader._dataset.function = None  # workers have their own


def test_the_traceback_of_a_worker() -> None:
    loader = data.DataLoader(Items(_raises(KeyError("five"))), 2, num_workers=1)
    with pytest.raises(KeyError) as caught:
        list(loader)
    text = str(caught.value.__cause__)
    assert "batch 2 (items 4, 5) in worker 0" in text
    assert "Traceback (most recent call last)" in text
    assert "raise error" in text


def test_a_worker_that_hangs() -> None:
    loader = data.DataLoader(
        Items(lambda index: time.sleep(LONG) if index == 2 else index), 2, num_workers=2, timeout=0.3
    )
    batches = iter(loader)
    next(batches)
    with pytest.raises(
        WorkerTimeoutError, match=r"batch 1 \(items 2, 3\) has not come within 0.3 seconds; worker \d .* is still at it"
    ) as caught:
        next(batches)
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, multiprocessing.TimeoutError)
    assert next(iter(loader)).asnumpy().tolist() == [0, 1], "another worker is there"


def test_a_thread_that_hangs() -> None:
    done = threading.Event()
    loader = data.DataLoader(
        Items(lambda index: done.wait(LONG) or index), 2, num_workers=1, timeout=0.1, thread_pool=True
    )
    with pytest.raises(WorkerTimeoutError, match=r"batch 0 has not come within 0.1 seconds; threads make it"):
        list(loader)
    done.set()


def test_a_stopped_worker_is_ended() -> None:
    loader = data.DataLoader(Items(large), 2, num_workers=1)
    [worker] = loader._worker_pool._workers
    os.kill(worker.pid, signal.SIGSTOP)
    del loader, worker  # the fixture looks for what is left


def test_indices_that_cannot_be_sent() -> None:
    sampler = data.SimpleDataset([[lambda: 0]])
    loader = data.DataLoader(Items(large), batch_sampler=sampler, num_workers=1)
    with pytest.raises(pickle.PicklingError, match=r"batch 0 .* cannot be sent to a worker"):
        iter(loader)


# -- memory ------------------------------------------------------------------------------------------------------------


def test_batches_that_are_kept() -> None:
    loader = data.DataLoader(Items(large, 60), 1, num_workers=2)
    kept = list(loader)
    for _ in loader:  # overwrites what is not kept
        pass
    for index, (image, label) in enumerate(kept):
        assert (image.asnumpy() == index).all()
        assert label.asnumpy().tolist() == [index]
    workers = loader._worker_pool._workers
    assert sum(len(worker.slots) for worker in workers) < 30, "many are copied, so that slots stay few"
    views = [image[0, 3] for image, _ in kept[:4]]
    del kept, image, loader, workers
    gc.collect()
    assert [float(view.asnumpy()[0]) for view in views] == [0, 1, 2, 3], "a view keeps the memory of a batch"


def test_slots_are_used_again() -> None:
    loader = data.DataLoader(Items(large, 40), 1, num_workers=1, prefetch=2)
    assert [int(image[0, 0, 0].asscalar()) for image, _ in loader] == list(range(40))
    assert len(loader._worker_pool._workers[0].slots) <= 5


def test_batches_grow_and_shrink() -> None:
    loader = data.DataLoader(Items(lambda i: np.full(10 ** (i % 6), i), 12), 1, num_workers=2)
    for _ in range(2):
        for index, batch in enumerate(loader):
            assert batch.shape == (1, 10 ** (index % 6))
            assert (batch.asnumpy() == index).all()


def test_a_batch_may_be_changed() -> None:
    loader = data.DataLoader(Items(large), 2, num_workers=1)
    for image, _ in loader:
        before = image.asnumpy().copy()
        image += 1
        assert (image.asnumpy() == before + 1).all()


def test_a_forked_process_keeps_its_batches() -> None:
    loader = data.DataLoader(Items(large, 40), 1, num_workers=1)
    batches = iter(loader)
    image, _ = next(batches)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        os.read(reader, 1)  # until the parent has gone on
        os._exit(int(not (image.asnumpy() == 0).all()))
    os.close(reader)
    del image
    for image, _ in batches:
        assert image.shape == (1, 40, 50)
    os.close(writer)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_without_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size: int) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shared_memory.SharedMemory, "create", refuse)
    loader = data.DataLoader(Items(large), 2, num_workers=1)
    with pytest.warns(
        RuntimeWarning, match=r"could not get \d+ bytes of shared memory: .*No space left.*go through pipes"
    ) as seen:
        images = [image.asnumpy()[:, 0, 0].tolist() for image, _ in loader]
    assert images == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert len(seen) == 1, "it is said once"


def test_where_no_descriptors_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "AVAILABLE", False)
    loader = data.DataLoader(Items(large), 2, num_workers=2)
    assert [image.asnumpy()[:, 0, 0].tolist() for image, _ in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]


KINDS: dict[str, Any] = {
    "float16": np.ones((70, 80), np.float16),
    "big end first": np.arange(9000, dtype=">i4"),
    "columns first": np.asfortranarray(np.arange(8000.0).reshape(80, 100)),
    "with gaps": np.arange(40000.0).reshape(200, 200)[::2, ::2],
    "empty": np.zeros((0, 5)),
    "number": np.float64(3),
    "complex": np.ones(3000, complex),
    "NDArray": nd.arange(9000).reshape((90, 100)),
    "np": mx.np.arange(9000.0),
    "objects": np.array([None, "a"], dtype=object),
    "records": np.zeros(3000, [("a", "i4"), ("b", "f8")]),
    "text": "word " * 5000,
    "nothing": None,
    "many": [np.full(100, i) for i in range(300)],
    "dictionary": {"a": np.ones(5000), "b": (nd.ones((50, 60)), [1, "two"])},
}


@pytest.mark.parametrize("name", KINDS)
def test_what_comes_back(name: str) -> None:
    loader = data.DataLoader(Items(lambda index: KINDS[name], 1), 1, num_workers=1, batchify_fn=list)
    [[value]] = list(loader)
    _same(value, KINDS[name])


def _same(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            _same(got[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            _same(one, other)
    elif isinstance(expected, (np.ndarray, nd.NDArray)):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(
            np.asarray(getattr(got, "_data", got)), np.asarray(getattr(expected, "_data", expected))
        )
        if isinstance(got, np.ndarray):
            assert got.flags.writeable
    else:
        assert got == expected


# -- epochs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [False, True])
def test_iterators_side_by_side(threads: bool) -> None:
    loader = data.DataLoader(Items(lambda index: index), 2, num_workers=2, thread_pool=threads)
    one, other = iter(loader), iter(loader)
    assert listed([next(one), next(other), next(one)]) == [[0, 1], [0, 1], [2, 3]]
    del one
    assert listed(other) == [[2, 3], [4, 5], [6, 7]]
    assert [(a.asnumpy().tolist(), len(listed(loader))) for a in loader] == [([i, i + 1], 4) for i in (0, 2, 4, 6)]


def test_an_epoch_that_is_left() -> None:
    loader = data.DataLoader(Items(large, 100), 1, num_workers=2, prefetch=20)
    for _ in range(5):
        for _, label in loader:
            if label.asnumpy()[0] == 3:
                break
    image, label = next(iter(loader))
    assert int(label.asscalar()) == 0
    assert (image.asnumpy() == 0).all()


def test_what_nobody_wants_is_not_begun(tmp_path: Any) -> None:
    def begun(index: int) -> int:
        (tmp_path / str(index)).touch()
        if index == 1:
            time.sleep(0.2)
        return index

    loader = data.DataLoader(Items(begun, 50), 1, num_workers=1, prefetch=49)
    next(iter(loader))
    assert loader._worker_pool.apply_async(_product, (2,)).get(LONG) == 8, "the worker has come behind them"
    assert len(list(tmp_path.iterdir())) < 49


def test_a_loader_in_a_worker() -> None:
    inner = Items(
        lambda index: sum(batch.asnumpy().sum() for batch in data.DataLoader(Items(lambda i: i), 2, num_workers=2)), 2
    )
    assert listed(data.DataLoader(inner, 1, num_workers=1)) == [[28], [28]]


def test_a_loader_of_a_process_that_was_forked() -> None:
    loader = data.DataLoader(Items(lambda index: index), 2, num_workers=1)
    batches = iter(loader)
    next(batches)
    child = os.fork()
    if not child:
        try:
            next(batches)
        except WorkerError as error:
            right = "goes on in another, which was forked" in str(error)
            right = right and listed(loader) == [[0, 1], [2, 3], [4, 5], [6, 7]]
            loader._worker_pool.terminate()
            os._exit(int(not right))
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert listed(batches) == [[2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("threads", [False, True])
def test_loaders_in_threads(threads: bool) -> None:
    loader = data.DataLoader(Items(large, 30), 3, num_workers=2, thread_pool=threads)
    found: list[Any] = []

    def read() -> None:
        found.append(
            [
                int(label.asnumpy().sum())
                for image, label in loader
                if (image.asnumpy()[:, 0, 0] == label.asnumpy()).all()
            ]
        )

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(LONG)
    assert found == [[3 + 9 * i for i in range(10)]] * 4


def test_the_next_epoch_in_advance() -> None:
    loader = data.DataLoader(Items(lambda index: index), 4, num_workers=1, auto_reload=True)
    assert [listed(loader) for _ in range(3)] == [[[0, 1, 2, 3], [4, 5, 6, 7]]] * 3
    loader.clean()
    assert loader._iter is None
    loader.refresh()
    assert len(listed(loader)) == 2


def test_switches_go_with_workers() -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        for threads in (False, True):
            loader = data.DataLoader(Items(lambda index: (index, mx.np.ones(2))), 2, num_workers=1, thread_pool=threads)
            number, ones = next(iter(loader))
            assert type(number) is type(ones) is mx.np.ndarray
    assert type(next(iter(data.DataLoader(Items(lambda index: index), 2, num_workers=1)))) is nd.NDArray


def test_networks_take_batches_as_they_are() -> None:
    net = gluon.nn.Dense(1)
    net.initialize()
    for hybridized in (False, True):
        net.hybridize(hybridized)
        for pinned in (False, True):
            [batch] = data.DataLoader(Items(lambda i: np.ones(3, "float32")), 8, num_workers=1, pin_memory=pinned)
            assert batch.context == (mx.cpu_pinned(0) if pinned else mx.cpu())
            with mx.autograd.record():
                loss = net(batch).sum()
            loss.backward()
            assert net.weight.grad().asnumpy().tolist() == [[8, 8, 8]]


# -- random numbers ----------------------------------------------------------------------------------------------------


def _drawn(workers: int, epochs: int = 2) -> Any:
    def draws(index: int) -> Any:
        return np.random.rand(), random.random(), float(nd.random.uniform(shape=(1,)).asscalar())

    loader = data.DataLoader(Items(draws), 2, num_workers=workers)
    return [[column.asnumpy().tolist() for column in batch] for _ in range(epochs) for batch in loader]


def test_random_numbers_of_workers() -> None:
    found = []
    for workers in (1, 2):
        np.random.seed(3)
        random.seed(3)
        mx.random.seed(3)
        if workers == 2:
            nd.random.uniform(shape=(1,))
        found.append(_drawn(workers))
        after = np.random.rand(), random.random()
    np.random.seed(3)
    random.seed(3)
    assert after == (np.random.rand(), random.random()), "nothing is drawn from the program's generators"
    one, two = ([[batch[column] for batch in batches] for column in range(3)] for batches in found)
    assert one[:2] == two[:2], "the number of workers does not matter"
    for column in (*one, two[2]):
        numbers = [number for batch in column for number in batch]
        assert len(set(numbers)) == len(numbers) == 16, "no two batches, items or epochs draw the same"


# -- whole programs ----------------------------------------------------------------------------------------------------

_STARTED = """
import multiprocessing, sys, numpy as np, minpy as mx
from minpy.gluon import data
class Squares(data.Dataset):
    def __getitem__(self, i): return np.full(5000, i * i)
    def __len__(self): return 5
if __name__ == '__main__':
    multiprocessing.set_start_method(sys.argv[1])
    print([int(x[0, 0].asscalar()) for x in data.DataLoader(Squares(), 1, num_workers=1)])
    try:
        data.DataLoader(Squares().transform(lambda x: x), 1, num_workers=1)
    except mx.base.MXNetError as error:
        print(error)
"""
_UNGUARDED = """
import multiprocessing, os
multiprocessing.set_start_method('spawn', force=True)
from minpy.gluon import data
loader = data.DataLoader(data.SimpleDataset([1]), 1, num_workers=1)
print(list(loader))
"""
# These three are forked from one process that has imported all, which takes longer than they do.
_INTERRUPTED = """
class Slow(data.Dataset):
    def __getitem__(self, i): time.sleep(60)
    def __len__(self): return 5
loader = data.DataLoader(Slow(), 1, num_workers=2)
print(*[worker.pid for worker in loader._worker_pool._workers], flush=True)
threading.Timer(0.2, lambda: os.killpg(0, signal.SIGINT)).start()
try:
    list(loader)
except KeyboardInterrupt:
    print('interrupted', flush=True)
"""
_KILLED = """
class Slow(data.Dataset):
    def __getitem__(self, i): time.sleep(60)
    def __len__(self): return 5
loader = data.DataLoader(Slow(), 1, num_workers=2)
iter(loader)
print(*[worker.pid for worker in loader._worker_pool._workers], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
_LEFT = """
loader = data.DataLoader(data.SimpleDataset([np.ones(9000)] * 9), 1, num_workers=2)
threads = data.DataLoader(data.SimpleDataset([np.ones(9000)] * 9), 1, num_workers=2, thread_pool=True)
kept, other = next(iter(loader)), iter(threads)
print(*[worker.pid for worker in loader._worker_pool._workers])
"""
_FORKING = """
import os, signal, sys, threading, time
import numpy as np
from minpy.gluon import data
statuses = []
for number, program in enumerate(sys.argv[2:]):
    child = os.fork()
    if not child:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if all this was begun in the background
        for stream, name in ((1, 'out'), (2, 'err')):
            os.dup2(os.open(f'{sys.argv[1]}/{number}.{name}', os.O_WRONLY | os.O_CREAT), stream)
        statuses = None
        exec(program)
        break  # and end as any program does
    statuses.append(os.waitpid(child, 0)[1])
if statuses is not None:
    print(*map(os.waitstatus_to_exitcode, statuses))
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, int]]:
    """What the three programs wrote and said, and their exit statuses."""
    folder = tmp_path_factory.mktemp("ends")
    programs = {"interrupted": _INTERRUPTED, "killed": _KILLED, "left": _LEFT}
    done = _run(_FORKING, str(folder), *programs.values())
    statuses = map(int, done.stdout.split())
    return {
        name: ((folder / f"{number}.out").read_text(), (folder / f"{number}.err").read_text(), status)
        for number, (name, status) in enumerate(zip(programs, statuses, strict=True))
    }


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=LONG,
        start_new_session=True,
    )


def _run_file(path: Any, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program from a file, which processes that are spawned read anew."""
    path.write_text(program)
    file = [sys.executable, "-W", "error", str(path), *arguments]
    return subprocess.run(file, capture_output=True, text=True, timeout=LONG, start_new_session=True)


def _ended(pids: str) -> bool:
    deadline = time.monotonic() + 10
    left = [int(pid) for pid in pids.split()]
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if os.path.exists(f"/proc/{pid}")]
        time.sleep(0.01)
    return not left


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods(method: str, tmp_path: Any) -> None:
    done = _run_file(tmp_path / "program.py", _STARTED, method)
    assert "[0, 1, 4, 9, 16]" in done.stdout, done.stderr
    assert f"the start method {method!r} of multiprocessing pickles dataset" in done.stdout
    assert "Define classes and functions at the top" in done.stdout


def test_a_program_without_guard(tmp_path: Any) -> None:
    done = _run_file(tmp_path / "program.py", _UNGUARDED)
    assert "With the start method 'spawn' a program's own code must stand under" in done.stderr


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="it looks for processes in /proc")
def test_ctrl_c(ends: Any) -> None:
    out, errors, status = ends["interrupted"]
    pids, text = out.splitlines()
    assert (text, errors, status) == ("interrupted", "", 0)
    assert _ended(pids)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="it looks for processes in /proc")
def test_a_killed_program(ends: Any) -> None:
    out, _, status = ends["killed"]
    assert status == -signal.SIGKILL
    assert _ended(out)
    assert not [name for name in os.listdir("/dev/shm") if "minpy" in name]


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="it looks for processes in /proc")
def test_a_program_that_ends_amid_an_epoch(ends: Any) -> None:
    out, errors, status = ends["left"]
    assert (errors, status) == ("", 0)
    assert _ended(out)


# -- pools -------------------------------------------------------------------------------------------------------------


def _threads_of_blas(_: int) -> int:
    import ctypes

    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = {line.split(None, 5)[-1].strip() for line in file if "openblas" in line}
    counts = []
    for path in paths:
        for prefix in ("", "scipy_"):
            for suffix in ("", "64_"):
                function = getattr(ctypes.CDLL(path), f"{prefix}openblas_get_num_threads{suffix}", None)
                counts += [] if function is None else [function()]
    return max(counts, default=1)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="it looks for libraries in /proc")
def test_blas_has_one_thread_in_a_worker() -> None:
    pool = ProcessPool(1, None, None)
    assert pool.apply_async(_threads_of_blas, (0,)).get(LONG) == 1
    assert pool.apply_async(_product, (60,)).get(LONG) == 60 * 60 * 60


def _product(size: int) -> float:
    return float((np.ones((size, size)) @ np.ones((size, size))).sum())


def _pickled_batch(samples: Any, batchify_fn: Any, dataset: Any) -> bytes:
    return bytes(dataloader.ForkingPickler.dumps(batchify_fn([dataset[index] for index in samples])))


def test_functions_of_libraries_that_pickle() -> None:
    dataset = Items(lambda index: index)
    pool = ProcessPool(1, dataset, dataloader.default_batchify_fn)
    sampler = data.BatchSampler(data.SequentialSampler(8), 4)
    batches = dataloader._MultiWorkerIter(
        pool, dataloader.default_batchify_fn, sampler, worker_fn=_pickled_batch, prefetch=1, dataset=dataset
    )
    assert listed(batches) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    task = pool.apply_async(_product, (2,))
    task.wait(LONG)
    assert task.ready()
    assert task.get() == 8
    pool.terminate()
    with pytest.raises(WorkerError, match="has no worker that could do it"):
        pool.apply_async(_product, (2,), label="batch 3")


# -- anything at all ---------------------------------------------------------------------------------------------------

_LENGTH = 11
_LOADERS: dict[tuple[int, bool], Any] = {}
_BAD: Any = None  # a file: items that are named in it cannot be made


def _sometimes(index: int) -> Any:
    with open(_BAD, encoding="utf-8") as file:
        if str(index) in file.read().split():
            raise ValueError(f"item {index}")
    return np.full((index % 3 + 1) * 900, index, np.int64), index


def _batch(items: list[Any]) -> Any:
    return [np.concatenate([item for item, _ in items]), np.array([label for _, label in items])]


@pytest.fixture(scope="module", autouse=True)
def _loaders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global _BAD
    _BAD = tmp_path_factory.mktemp("items") / "bad"
    _BAD.write_text("")
    yield
    _LOADERS.clear()


def _loader(workers: int, threads: bool) -> Any:
    if (workers, threads) not in _LOADERS:
        _LOADERS[workers, threads] = data.DataLoader(
            Items(_sometimes, _LENGTH), 2, num_workers=workers, thread_pool=threads, batchify_fn=_batch
        )
    return _LOADERS[workers, threads]


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("bad"), st.lists(st.integers(0, _LENGTH - 1), max_size=2)),
        st.tuples(st.just("begin"), st.integers(0, 2)),
        st.tuples(st.just("take"), st.integers(0, 2), st.integers(1, 7)),
        st.tuples(st.just("leave"), st.integers(0, 2)),
        st.tuples(st.just("forget"), st.integers(0, 5)),
    ),
    max_size=14,
)


@pytest.mark.parametrize(("workers", "threads"), [(1, False), (2, False), (2, True)])
def test_any_program(workers: int, threads: bool) -> None:
    """Compare a loader with one that has no workers, under random programs; and batches that were kept, at the end."""

    @settings(max_examples=25, deadline=None)
    @given(_STEPS)
    def run(steps: list[Any]) -> None:
        loaders = _loader(workers, threads), _loader(0, False)
        iterators: dict[int, tuple[Any, Any]] = {}
        kept: list[tuple[Any, Any]] = []
        _BAD.write_text("")
        for step in steps:
            if step[0] == "bad":
                iterators.clear()  # what is begun in advance has seen other items
                _BAD.write_text(" ".join(map(str, step[1])))
            elif step[0] == "begin":
                iterators[step[1]] = iter(loaders[0]), iter(loaders[1])
            elif step[0] == "leave":
                iterators.pop(step[1], None)
            elif step[0] == "forget":
                del kept[step[1] :]
            elif step[1] in iterators:
                for _ in range(step[2]):
                    got, expected = (_taken(one) for one in iterators[step[1]])
                    if isinstance(expected, str):
                        assert got == expected
                    else:
                        kept.append((got, expected))
        for got, expected in kept:
            for one, other in zip(got, expected, strict=True):
                np.testing.assert_array_equal(one, other)

    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    run()
    _LOADERS.clear()
    gc.collect()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before


def _taken(batches: Any) -> Any:
    try:
        return next(batches)
    except StopIteration:
        return "end"
    except ValueError as error:
        return str(error)
