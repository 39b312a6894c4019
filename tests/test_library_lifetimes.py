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
from pathlib import Path

import numpy as np
import pytest
from native.building import build, copy_of
from native.watching import Watched

import minpy as mx
from minpy import gluon, nd, sym
from minpy.core.errors import LibraryError, OperatorError, ShapeError
from minpy.library.elf import missing_bytes
from minpy.library.exporting import is_taken
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


def test_what_was_refused_and_then_built_again_is_opened_anew(tmp_path, library):
    """The dynamic linker goes on giving the old library for a path that it has opened."""
    path = copy_of(library.path, tmp_path, "libmade.so")
    with pytest.raises(LibraryError, match="has an operator 'raw_affine'"):
        mx.library.load(path, verbose=False)
    path.unlink()
    shutil.copyfile(build("registering.c", flags=["-DFIRST_NAME=\"raw_rebuilt\""]) if False else SECOND(), path)
    assert "raw_affine_lifetimes" in mx.library.load(path, verbose=False).operators
    assert nd.raw_affine_lifetimes(np.ones(2), scale=3).tolist() == [3, 3]


def SECOND():
    return build("operators.c", flags=["-DABI=11", '-DTAG="_lifetimes"'])
