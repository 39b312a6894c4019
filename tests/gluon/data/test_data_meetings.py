"""Where parts of data loading meet what they were not made for: forks amid reading ahead, odd loaders, odd folders."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import gluon, io, recordio
from minpy.core.errors import ArgumentError, WorkerError
from minpy.tools import image_lists

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def in_a_fork(works: Callable[[], bool]) -> bool:
    """Tell whether a function says so in a forked process, which may take ten seconds."""
    gc.collect()
    child = os.fork()
    if not child:
        status = 2
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10)
            status = int(not works())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def refuses(call: Callable[[], Any], name: str) -> bool:
    try:
        call()
    except WorkerError as error:
        return f"{name}: the iterator was made in process {os.getppid()}" in str(error) and "Make the iterator" in str(
            error
        )
    return False


def test_threads_of_a_loader() -> None:
    loader = gluon.data.DataLoader(gluon.data.SimpleDataset([*range(8)]), 2, num_workers=2, thread_pool=True)
    read = lambda: [batch.asnumpy().tolist() for batch in loader]
    expected = read()
    assert in_a_fork(lambda: read() == read() == expected)
    assert read() == expected


def test_pictures_of_records(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    with recordio.MXRecordIO(str(tmp_path / "a.rec"), "w") as writer:
        for label in range(12):
            picture = np.full((8, 8, 3), label, np.uint8)
            writer.write(recordio.pack_img(recordio.IRHeader(0, label, label, 0), picture, img_fmt=".png"))
    batches = io.ImageRecordIter(path_imgrec=str(tmp_path / "a.rec"), data_shape=(3, 8, 8), batch_size=4)
    batches.next()

    def refused() -> bool:
        if not refuses(lambda: [*batches], "ImageRecordIter"):
            return False
        batches.reset()
        return refuses(batches.next, "ImageRecordIter")

    assert in_a_fork(refused)
    assert len([*batches]) == 2


def test_batches_that_are_read_ahead() -> None:
    batches = io.PrefetchingIter(io.NDArrayIter(np.arange(8.0), batch_size=2))
    batches.next()
    assert in_a_fork(lambda: refuses(batches.next, "PrefetchingIter") and refuses(batches.reset, "PrefetchingIter"))
    assert len([*batches]) == 3


def test_a_loader_whose_batches_grow() -> None:
    batches = mx.contrib.io.DataLoaderIter([(mx.nd.ones((size, 1)), mx.nd.ones(size)) for size in (2, 3)])
    batches.next()
    with pytest.raises(ArgumentError, match="a batch of the loader has 3 instances, and the first had 2"):
        batches.next()


def test_a_folder_with_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    (tmp_path / "cats" / "1.jpg").touch()
    (tmp_path / "more").symlink_to(tmp_path / "cats")
    (tmp_path / "cats" / "again").symlink_to(tmp_path)
    items, labels = image_lists.found(str(tmp_path), True, [".jpg"])
    assert [item.path for item in items] == ["cats/1.jpg", "more/1.jpg"]
    assert labels == {"cats": 0, "more": 1}
