"""Results in the memory of temporaries: only where nobody can see the difference."""

from __future__ import annotations

import numpy as np
import pytest

from minpy import autograd, nd
from minpy.ops import ufunc
from minpy.ops.tensor import mathematics

VALUES = np.random.default_rng(0).normal(size=(128, 128)).astype("float32")


@pytest.fixture
def in_place(monkeypatch):
    """Counts how often relu computes in its argument's memory, forward and backward."""
    counts = {"forward": 0, "backward": 0}
    forward, rule = mathematics.relu.in_place, mathematics.relu.in_place_rule

    def counted_forward(data):
        counts["forward"] += 1
        return forward(data)

    def counted_rule(ans, data):
        counts["backward"] += 1
        return rule(ans, data)

    monkeypatch.setattr(mathematics.relu, "in_place", counted_forward)
    monkeypatch.setattr(mathematics.relu, "in_place_rule", counted_rule)
    return counts


CAN_TELL = pytest.mark.skipif(not ufunc._TEMPORARY, reason="this interpreter's counts do not tell temporaries")


@CAN_TELL
def test_a_temporary_gives_its_memory(in_place):
    x = nd.array(VALUES)
    x.attach_grad()
    with autograd.record():
        y = (nd.relu(x + 1) * 2).sum()
    y.backward()
    assert in_place == {"forward": 1, "backward": 1}
    np.testing.assert_array_equal(x.grad.asnumpy(), 2.0 * (VALUES + 1 > 0))


def test_what_somebody_refers_to_stays(in_place):
    x = nd.array(VALUES)
    named = x + 1
    kept = named.copy()
    listed = [x + 1]
    view = (x + 1)[2:]
    part = view.copy()
    results = [nd.relu(named), nd.relu(listed[0]), nd.relu(x), nd.relu(x.detach()), nd.relu(named[2:]), nd.relu(view)]
    results.append(nd.relu(x.reshape((64, 256))))
    assert in_place["forward"] == 0
    assert (named == kept).asnumpy().all()
    assert (listed[0] == kept).asnumpy().all()
    assert (view == part).asnumpy().all()
    np.testing.assert_array_equal(x.asnumpy(), VALUES)
    assert len(results) == 7


def test_what_a_rule_needs_stays(in_place):
    x = nd.array(VALUES)
    x.attach_grad()
    with autograd.record():
        y = nd.relu(nd.tanh(x))
    y.backward()
    assert in_place["forward"] == 0
    np.testing.assert_allclose(x.grad.asnumpy(), (1 - np.tanh(VALUES) ** 2) * (VALUES > 0), rtol=1e-5, atol=1e-6)


def test_a_gradient_that_goes_two_ways_stays(in_place):
    x = nd.array(VALUES)
    x.attach_grad()
    head = nd.ones(VALUES.shape)
    with autograd.record():
        a = x * 1
        y = nd.relu(a) + a
    y.backward(head)
    assert in_place["backward"] == 0
    np.testing.assert_array_equal(x.grad.asnumpy(), 1.0 + (VALUES > 0))
    assert (head.asnumpy() == 1).all()


def test_a_head_gradient_stays(in_place):
    x = nd.array(VALUES)
    x.attach_grad()
    head = nd.array(VALUES)
    with autograd.record():
        y = nd.relu(x * 1)
    y.backward(head, retain_graph=True)
    y.backward(head)
    assert in_place["backward"] == 0
    np.testing.assert_array_equal(head.asnumpy(), VALUES)
