"""Many small cases in one test: a test of its own for each takes pytest longer than most of them run."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pytest

import minpy as mx

__all__ = ["each", "require_each", "seed"]


def seed() -> None:
    """Let random numbers begin where each test's do."""
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)


def each(cases: Mapping[str, tuple[Any, ...]], at_once: int = 20) -> Callable[[Callable[..., None]], Any]:
    """Make a test of a check that takes the arguments of one case: some cases at a time.

    Parameters
    ----------
    cases : mapping
        The arguments of each case, by its name.
    at_once : int
        How many cases one test checks. It is called by the name of the first one.
    """
    rest = iter(cases.items())
    parts = list(iter(lambda: dict(islice(rest, at_once)), {}))

    def decorate(check: Callable[..., None]) -> Any:
        @pytest.mark.parametrize("cases", parts, ids=[next(iter(part)) for part in parts])
        def test(cases: Mapping[str, tuple[Any, ...]]) -> None:
            require_each(check, cases)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def require_each(check: Callable[..., None], cases: Mapping[str, tuple[Any, ...]]) -> None:
    """Call a check with the arguments of each case, as if each were a test of its own.

    All cases run. The names of those that fail, and why, are in the message of one AssertionError.
    """
    failures = []
    for name, arguments in cases.items():
        seed()
        try:
            check(*arguments)
            flags = mx.autograd.set_recording(False), mx.autograd.set_training(False)
            assert flags == (False, False), f"it leaves (recording, training) at {flags}"
        except pytest.skip.Exception:
            continue
        except Exception:
            mx.autograd.set_recording(False)
            mx.autograd.set_training(False)
            failures.append(f"== {name}\n{traceback.format_exc()}")
    assert not failures, f"{len(failures)} of {len(cases)} cases fail:\n" + "\n".join(failures)
