"""Nothing of a native call stays: `native/leak_check.py` with few calls of each kind. By hand it makes 10,000."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from native import leak_check

CALLS = 40


@pytest.fixture(scope="module")
def watched():
    return leak_check.libraries()


def test_nothing_stays(watched):
    leaking = []
    for name, call in leak_check.kinds():
        call()
        gc.collect()
        before = sum(one.states for one in watched), sum(one.blocks for one in watched)
        tracemalloc.start()
        for _ in range(CALLS):
            call()
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(CALLS):
            call()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - first
        tracemalloc.stop()
        after = sum(one.states for one in watched), sum(one.blocks for one in watched)
        # New attributes and shapes are remembered, as many as the caches hold.
        remembered = name.startswith("new ")
        if after != before or (grown > leak_check.SLACK_OF_PYTHON and not remembered):
            leaking.append((name, grown, before, after))
    assert not leaking
    assert [fault for one in watched for fault in one.faults] == []
