"""Datasets, samplers and loaders: beside the golden cases, what errors say, and batches by rows and one by one."""

from __future__ import annotations

from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.gluon import data
from minpy.gluon.data import batchify, dataloader

FIVE = data.SimpleDataset([1, 2, 3, 4, 5])

ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "no size": (lambda: data.DataLoader(FIVE), ValueError, "batch_size is missing: give it, or a batch_sampler"),
    "size": (lambda: data.DataLoader(FIVE, 0), ValueError, "batch_size must be an integer of at least 1, got int 0"),
    "no dataset": (lambda: data.DataLoader(3, 1), TypeError, "a dataset must have items and a length, got int 3"),
    "two orders": (
        lambda: data.DataLoader(FIVE, 1, shuffle=True, sampler=data.SequentialSampler(5)),
        ValueError,
        "shuffle cannot be given beside it",
    ),
    "last": (
        lambda: data.DataLoader(FIVE, 2, last_batch="no"),
        ValueError,
        "'keep', 'discard' or 'rollover', got 'no'",
    ),
    "shard": (lambda: FIVE.shard(2, 2), ValueError, "there is no part 2 of 2; they count from 0"),
    "take": (lambda: FIVE.take(-1), ValueError, "count must be an integer of at least 0, or None, got int -1"),
    "sample": (lambda: FIVE.sample([1]), TypeError, "expected a gluon.data.Sampler, got list of 1"),
    "lengths": (lambda: data.ArrayDataset([1, 2], [1]), ValueError, "the first has 2, and the one at position 1 1"),
    "shapes": (
        lambda: dataloader.default_batchify_fn([nd.ones(2), nd.ones(3)]),
        ValueError,
        r"first item is float32 \(2,\), and that at position 1 float32 \(3,\).*batchify.Pad\(\)",
    ),
    "words": (lambda: dataloader.default_batchify_fn(["a", "b"]), TypeError, "the items make no array of numbers"),
    "axes": (lambda: batchify.Pad()([[1], [[2]]]), ValueError, r"one number of axes, got shapes \(1,\), \(1, 1\)"),
    "entries": (
        lambda: batchify.Group(batchify.Stack())([(1, 2)]),
        TypeError,
        "there are 1 functions; each item must be",
    ),
    "records": (lambda: data.RecordFileDataset("/missing.rec"), FileNotFoundError, "cannot read .*missing.rec"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("cls", [nd, mx.np, np])
def test_rows_are_what_items_make(cls: Any) -> None:
    columns = [cls.array(np.arange(12.0).reshape(6, 2)), np.arange(6), nd.arange(6)]
    by_rows = data.ArrayDataset(*columns)
    one_by_one = by_rows.transform(lambda *item: item)
    for got, expected in zip(data.DataLoader(by_rows, 4), data.DataLoader(one_by_one, 4), strict=True):
        for one, other in zip(got, expected, strict=True):
            assert type(one) is type(other)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
            one[:] = 0
    assert columns[1].tolist() == [0, 1, 2, 3, 4, 5], "a batch has memory of its own"


@pytest.mark.parametrize("threads", [0, 2])
def test_batches_of_a_pool(threads: int) -> None:
    sampler = data.BatchSampler(data.SequentialSampler(5), 2)
    pool = ThreadPool(threads) if threads else None
    try:
        batches = dataloader._MultiWorkerIter(
            pool, dataloader.default_batchify_fn, sampler, prefetch=2, dataset=FIVE, pin_memory=True
        )
        assert len(batches) == 3
        found = [batches.next(), *batches]
    finally:
        if pool is not None:
            pool.terminate()
    assert [one.asnumpy().tolist() for one in found] == [[1, 2], [3, 4], [5]]
    assert found[0].context == mx.cpu_pinned(0)


def test_devices() -> None:
    assert mx.device.Device is mx.Context
    assert mx.device.current_device() == mx.device.cpu()
    assert mx.device.num_gpus() == 0
