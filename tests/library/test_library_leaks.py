"""Nothing of a native call stays: `native/leak_check.py` with few calls of each kind. By hand it makes 10,000."""

from __future__ import annotations

import gc
import tracemalloc

from native import leak_check

CALLS = 10


def test_nothing_stays():
    watched = leak_check.libraries()
    kinds = list(leak_check.kinds())
    # New attributes and shapes are remembered, as many as the caches hold.
    remembered = [name for name, _ in kinds if name.startswith("new ")]
    leaking = []
    for name, call in kinds:
        call()
        before = sum(one.states for one in watched), sum(one.blocks for one in watched)
        for _ in range(CALLS):
            call()
        after = sum(one.states for one in watched), sum(one.blocks for one in watched)
        if after != before:
            leaking.append((name, before, after))
    assert not leaking
    gc.collect()
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(3):
            for name, call in kinds:
                for _ in range(0 if name in remembered else CALLS):
                    call()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[2] - sizes[1] < leak_check.SLACK_OF_PYTHON
    assert [fault for one in watched for fault in one.faults] == []
