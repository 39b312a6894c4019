"""`explain_retraces()` of blocks that define `hybrid_forward`: why each graph was made, and what it has frozen."""

from __future__ import annotations

import collections
import re
from typing import Any

import pytest
from many import each

import minpy as mx
from minpy.gluon import HybridBlock, nn

X = mx.nd.ones((2, 3))


class Scaled(HybridBlock):
    def __init__(self) -> None:
        super().__init__(prefix="net_")
        self.scale = 1.0
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(1,), init="ones")

    def hybrid_forward(self, F: Any, x: Any, y: Any = None, *, weight: Any) -> Any:
        data = x[0] if isinstance(x, list) else x
        return F.broadcast_mul(F.Dropout(data), weight) * self.scale


def _scaled() -> Scaled:
    block = Scaled()
    block.initialize()
    block.hybridize()
    return block


def _set(block: Any) -> None:
    block.scale = 2.0


def _record(block: Any) -> None:
    with mx.autograd.train_mode():
        block(X)


# By name: what is done to a block before the second call, the arguments of that, and what is said of it.
FORGOTTEN = r"hybridize\(\) or cast\(\) was called, or a block or a parameter inside was set"
CASES: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "an attribute": (_set, (X,), r"`net\.scale` was 1\.0, is 2\.0"),
    "another argument": (None, (X, X), r"the arguments by position were 1, are 2"),
    "another class": (None, (X.as_np_ndarray(),), r"argument x: class was NDArray, is ndarray"),
    "nested": (None, ([X],), r"the arguments were nested in another way"),
    "hybridized anew": (lambda block: block.hybridize(), (X,), FORGOTTEN),
    "cast": (lambda block: block.cast("float64"), (X.astype("float64"),), FORGOTTEN),
}


@each(CASES)
def test_the_reason_is_said(change: Any, args: tuple[Any, ...], reason: str) -> None:
    block = _scaled()
    block(X)
    if change is not None:
        change(block)
    block(*args)
    lines = block.explain_retraces().splitlines()
    assert re.fullmatch(r"net: [12] specializations?, 2 captures, \d+ ms", lines[0]), lines[0]
    assert re.fullmatch(r"1  first call  +x float32 \(2, 3\)", lines[1]), lines[1]
    assert re.fullmatch(rf"2  {reason}  +\S.*", lines[2]), lines[2]
    block(*args)
    assert block.explain_retraces().splitlines() == lines


def test_other_shapes_need_no_other_graph() -> None:
    block = _scaled()
    for length in (2, 3, 4):
        block(mx.nd.ones((length, 3)))
    assert "1 specialization, 1 capture" in block.explain_retraces()


class _OfItsModes(HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * 2 if mx.autograd.is_training() else x


def test_training_is_told_apart_where_it_is_asked_for() -> None:
    block = _OfItsModes()
    block.hybridize()
    block(X)
    _record(block)
    assert re.search(r"^2  `is_training\(\)` was False, is True  ", block.explain_retraces(), re.MULTILINE)


FACTORS = collections.deque([2.0])


class _Frozen(HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * FACTORS[0]


def test_what_is_frozen_is_named() -> None:
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(3, in_units=3), _Frozen())
    net.initialize()
    net.hybridize()
    with pytest.warns(UserWarning, match="hybrid_forward refers to FACTORS"):
        net(X)
    assert net.explain_retraces().splitlines()[-1] == "frozen: FACTORS, as it was: its changes are not noticed"


def test_a_block_that_was_not_called_has_nothing_to_explain() -> None:
    with pytest.raises(mx.MXNetError, match=r"^net.explain_retraces: it was not captured\. Call hybridize\(\)"):
        _scaled().explain_retraces()
