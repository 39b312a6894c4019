"""What a captured function refers to is changed between its calls, in every way that Python has.

A captured call gives what the function as written gives, or runs as written.
"""

from __future__ import annotations

import builtins
import decimal
import itertools
import logging
import math
import os
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rare_state_changes  # noqa: F401  (adds its rows)
import state_changes
from state_changes import CASES

import minpy as mx
from minpy import customop, gluon
from minpy.jit import compiled_operators

COMPILES = True
X = np.linspace(0.5, 1.5, 6)
STATES, CALLS = 4, 4


def compiled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return mx.compile(function)


def hybridized(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    class Net(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return function(x)

    net = Net()
    net.hybridize()

    def call(x: Any) -> Any:
        found = net(mx.np.array(x))
        return found.asnumpy() if isinstance(found, mx.nd.NDArray) else found

    return call


def alone(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operator(x: Any) -> Any:
        return function(x)

    return customop("numpy", compile=True)(operator)


def executor(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operator(x: Any) -> Any:
        return function(x)

    user = customop("numpy")(operator)
    user.def_infer_shape(lambda inputs, outputs: (inputs, inputs))  # asked for shapes, it would be called once more
    user.def_infer_type(lambda inputs, outputs: (inputs, inputs))
    bound = user(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array(X, dtype="float64")})
    return lambda x: bound.forward(x=mx.nd.array(x, dtype="float64"))[0].asnumpy()


CHANGES_SHAPES = ("a_slice_in_a_list", "an_ellipsis", "special_index")
READS_MINPY = ("an_array_of_minpy_that_is_replaced",)

WAYS = {way.__name__: way for way in (compiled, hybridized, alone, executor)}


@pytest.fixture(autouse=True)
def _programs_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_operators, "_MIN_SPEEDUP", 0.0)


@pytest.fixture(autouse=True)
def _surroundings_are_restored(tmp_path: Path) -> Iterator[None]:
    state_changes.folder = str(tmp_path)
    names: list[tuple[Any, str]] = [(np, "sinc"), (math, "tau"), (builtins, "oct"), (time, "monotonic")]
    names.append((threading.current_thread(), "name"))
    before = [(owner, name, getattr(owner, name)) for owner, name in names]
    limit, printing, precision = sys.getrecursionlimit(), np.get_printoptions(), decimal.getcontext().prec
    random_states, errors, working_folder = (random.getstate(), np.random.get_state()), np.geterr(), os.getcwd()
    with warnings.catch_warnings():
        yield
    for owner, name, value in before:
        setattr(owner, name, value)
    for name in ("appears_later", "divmod"):
        vars(state_changes).pop(name, None)
    for name in ("imported_inside", "loaded_module"):
        sys.modules.pop(name, None)
    np.seterr(**errors)
    os.chdir(working_folder)
    mx.autograd.set_training(False)
    os.environ.pop("STATE_CHANGES_FACTOR", None)
    logging.getLogger("state_changes").setLevel(logging.NOTSET)
    sys.setrecursionlimit(limit)
    np.set_printoptions(**printing)
    decimal.getcontext().prec = precision
    random.setstate(random_states[0])
    np.random.set_state(random_states[1])


def cells() -> Iterator[Any]:
    for way, name in itertools.product(WAYS, CASES):
        if way == "executor" and name in CHANGES_SHAPES:  # a bound graph has one
            continue
        if way in ("alone", "executor") and name in READS_MINPY:  # which operators of NumPy's arrays refuse
            continue
        yield pytest.param(way, name)


@pytest.mark.parametrize(("way", "name"), list(cells()))
def test_what_has_changed_is_seen(way: str, name: str) -> None:
    written, change_written = CASES[name]()
    function, change = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs as it is written
        candidate = None
        for state in range(1, STATES + 1):
            change_written(state)
            expected = [np.asarray(written(X.copy())) for _ in range(CALLS)]
            change(state)
            candidate = candidate or WAYS[way](function)
            for call in range(CALLS):
                np.testing.assert_allclose(
                    candidate(X.copy()), expected[call], rtol=1e-6, err_msg=f"state {state}, call {call + 1}"
                )
