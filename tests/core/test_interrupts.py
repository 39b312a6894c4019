"""Interrupts (Ctrl-C, timers) at any moment leave no flag set and are not lost."""

from __future__ import annotations

import contextlib
import dis
import os
import signal
import subprocess
import sys
import threading

import pytest
from places import ROOT, SUPPORT

import minpy as mx
from minpy import autograd, nd
from minpy.core import buffers
from minpy.core.state import Scope


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt")
def test_no_interrupt_leaves_a_flag_set_or_is_swallowed():
    command = [sys.executable, "-W", "ignore", str(SUPPORT / "interrupted_programs.py"), "400", "7"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert found.stdout == "400 interrupted, 0 swallowed, 0 unraisable\n", found.stdout + found.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt")
def test_no_interrupt_leaves_a_trace_of_a_block():
    command = [sys.executable, "-W", "ignore", str(SUPPORT / "interrupted_blocks.py"), "200", "7"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.endswith("interrupted\n")


def nested():
    with autograd.record(), autograd.pause(), autograd.train_mode():
        pass


def entered_twice():
    scope = autograd.record()
    with scope, autograd.predict_mode(), scope:
        pass


def left_by_an_error():
    with contextlib.suppress(LookupError), autograd.record(), autograd.predict_mode():
        raise LookupError


class Interrupter:
    """Raises KeyboardInterrupt at the n-th place where scopes may meet one: where a frame begins, after a call."""

    def __init__(self, count):
        self.count = count
        self.file = Scope.__init__.__code__.co_filename
        self.called = False

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != self.file:
            return None
        frame.f_trace_opcodes = True
        looked = event == "call" or self.called
        if event == "opcode":
            self.called = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")
        self.count -= looked
        if looked and self.count == 0:
            raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("program", [nested, entered_twice, left_by_an_error])
@pytest.mark.parametrize("outside", [(False, False), (True, False), (True, True)])
def test_an_interrupt_where_python_looks_for_one_restores_the_flags(program, outside):
    before = sys.gettrace()
    interrupted = 0
    try:
        autograd.set_recording(outside[0])
        autograd.set_training(outside[1])
        while True:
            sys.settrace(Interrupter(interrupted + 1))
            try:
                program()
            except KeyboardInterrupt:
                interrupted += 1
            else:
                break
            finally:
                sys.settrace(before)
            assert (autograd.is_recording(), autograd.is_training()) == outside, f"interrupt {interrupted}"
    finally:
        autograd.set_recording(False)
        autograd.set_training(False)
    assert interrupted >= 4


def test_scopes_may_be_entered_by_hand():
    scope = autograd.record()
    scope.__enter__()
    with autograd.pause():
        assert not autograd.is_recording()
    assert autograd.is_recording()
    scope.__exit__(None, None, None)
    assert not autograd.is_recording()
    with contextlib.ExitStack() as stack:
        stack.enter_context(scope)
        stack.enter_context(autograd.predict_mode())
        assert (autograd.is_recording(), autograd.is_training()) == (True, False)
    assert not autograd.is_recording()


def test_a_scope_that_was_not_entered_cannot_be_left():
    for scope in (autograd.record(), mx.cpu(1), mx.AttrScope(), mx.name.NameManager()):
        with pytest.raises(RuntimeError, match=r"a scope is left in a thread in which none was entered: use it in a"):
            scope.__exit__(None, None, None)


def test_scopes_are_of_one_thread():
    found = []

    def look():
        found.append((autograd.is_recording(), mx.current_context()))
        with autograd.pause(True), mx.cpu(2):
            found.append((autograd.is_training(), mx.current_context()))
        found.append((autograd.is_training(), mx.current_context()))

    with autograd.record(False), mx.cpu(1):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert (autograd.is_recording(), mx.current_context()) == (True, mx.cpu(1))
    assert found == [(False, mx.cpu(0)), (True, mx.cpu(2)), (False, mx.cpu(0))]


def test_no_python_code_runs_when_a_written_buffer_dies():
    x = nd.zeros(3)
    x[:] = 1
    write = buffers._memories[id(x._data)]
    assert not hasattr(write.owner.__callback__, "__code__")
    key = id(x._data)
    del x
    assert buffers._memories.get(key) is not write
