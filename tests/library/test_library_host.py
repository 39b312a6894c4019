"""The host of native libraries from inside: addresses, generators, working memory, and calls that are checked."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from native.building import build

import minpy as mx
from minpy import nd
from minpy.core.errors import MutationError
from minpy.library import call_arguments, native_operator
from minpy.library.elf import missing_bytes
from minpy.library.resources import GENERATORS, Workspace


@pytest.fixture(autouse=True)
def library():
    path = build("operators.c", flags=["-DABI=11", '-DTAG=""'])
    mx.library.load(path, verbose=False)
    return path


@pytest.mark.parametrize("is_read", [True, False])
def test_addresses_are_those_that_numpy_tells(monkeypatch, is_read):
    if not is_read:
        monkeypatch.setattr(call_arguments, "_DATA_OFFSET", None)
    elif call_arguments._DATA_OFFSET is None:
        pytest.skip("this interpreter's objects are not where their id says")
    for x in (np.zeros((3, 4)), np.arange(12.0)[5:], np.float32([[1, 2]])):
        assert nd.raw_address(x)[0] == x.ctypes.data
        np.testing.assert_array_equal(nd.raw_affine(x, scale=2), 2 * x)


def test_checked_calls_refuse_writes_to_other_inputs(monkeypatch):
    monkeypatch.setattr(native_operator, "_IS_CHECKED", True)
    x, mean = nd.array([2.0, 4.0]), nd.zeros(1)
    nd.raw_running(x, mean)
    assert mean.asnumpy() == [1.5]
    family = nd.raw_running
    monkeypatch.setattr(family.entry, "mutate_inputs", None)
    family._configured.clear()
    try:
        with pytest.raises(MutationError, match=r"forward has written to data1 .*setMutateInputs"):
            nd.raw_running(x, mean)
    finally:
        family._configured.clear()


def test_generators_belong_to_one_call():
    mx.random.seed(11)
    first, second = GENERATORS.acquire(), GENERATORS.acquire()
    assert first.address != second.address
    assert (first.number, second.number) == (0, 1)
    words = [np.ctypeslib.as_array((ctypes.c_uint64 * 625).from_address(one.address)) for one in (first, second)]
    np.testing.assert_array_equal(words[0][:624], np.random.RandomState(11 * 127).get_state()[1])
    assert words[0][624] == 624
    assert (words[0][:624] != words[1][:624]).mean() > 0.99
    for one in (first, second):
        GENERATORS.release(one)
    assert GENERATORS.acquire() is first, "whoever is alone gets the numbers that the seed stands for"
    mx.random.seed(11)
    GENERATORS.release(first)
    again = GENERATORS.acquire()
    assert again is not first, "those of an earlier seed are forgotten"
    GENERATORS.release(again)


def test_blocks_of_working_memory_are_apart_and_aligned():
    workspace = Workspace()
    addresses = [workspace.allocate(size) for size in (0, 1, 63, 1000)]
    assert len({*addresses}) == 4
    assert all(address % 64 == 0 for address in addresses)
    assert workspace.used
    assert workspace.allocate(-1) is None
    assert "-1 bytes" in workspace.problems[0]
    workspace.clear()
    assert (workspace.used, workspace.problems) == (False, [])


def test_an_interrupt_that_comes_while_memory_is_asked_for_is_raised_afterwards():
    workspace = Workspace()
    workspace.interrupt = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        workspace.clear()
    workspace.clear()


def test_which_files_are_whole(library, tmp_path):
    assert missing_bytes(str(library)) == 0
    content = library.read_bytes()
    if content[:4] == b"\x7fELF":
        (tmp_path / "cut.so").write_bytes(content[:2000])
        assert missing_bytes(str(tmp_path / "cut.so")) > 0
    (tmp_path / "text.so").write_text("text")
    assert missing_bytes(str(tmp_path / "text.so")) == 0


def test_results_share_no_memory_with_what_is_prepared():
    x = nd.ones((4, 4))
    first = nd.raw_affine(x)
    kept = first.asnumpy().copy()
    second = nd.raw_affine(x * 3)
    np.testing.assert_array_equal(first.asnumpy(), kept)
    assert not np.shares_memory(first._data, second._data)


def test_short_calls_answer_as_others_do():
    x = np.array([1.0, 2.0])
    for value, kind in ((x, np.ndarray), (nd.array(x), nd.NDArray), (mx.np.array(x), mx.np.ndarray)):
        assert type(nd.raw_affine(value)) is kind
    assert type(nd.raw_pair(x, nd.array(x, dtype="float64"))) is list
    assert type(nd.raw_pair(x, x)) is tuple
    y = nd.array(x)
    y.attach_grad()
    with mx.autograd.record():
        assert nd.raw_affine(y)._node is not None
    assert nd.raw_affine(y)._node is None
