"""Many small cases in one test: a test of its own for each takes pytest longer than most of them run.

Where some fail or are skipped, each of these is reported under its own name, `test_values[relu]`; and that name can be
given to pytest: where tests are named on the command line, each case is a test of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pytest

import minpy as mx

__all__ = ["Cases", "Outcomes", "each", "generate", "require_each", "seed"]


def seed() -> None:
    """Let random numbers begin where each test's do."""
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)


class Outcomes(AssertionError):
    """Says which cases of a test failed, and which were skipped.

    Attributes
    ----------
    failed, skipped : dict of str to exception
        By the names of the cases.
    """

    def __init__(
        self, count: int, failed: Mapping[str, BaseException], skipped: Mapping[str, pytest.skip.Exception]
    ) -> None:
        told = "".join(f"\n{name}: {type(error).__name__}: {error}" for name, error in failed.items())
        super().__init__(f"{len(failed)} of {count} cases fail, {len(skipped)} are skipped:{told}")
        self.failed, self.skipped = dict(failed), dict(skipped)


def each(cases: Mapping[str, tuple[Any, ...]], at_once: int = 20) -> Callable[[Callable[..., None]], Any]:
    """Make a test of a check that takes the arguments of one case: some cases at a time.

    Parameters
    ----------
    cases : mapping
        The arguments of each case, by its name.
    at_once : int
        How many cases one test checks. It is called by the name of the first one.
    """

    def decorate(check: Callable[..., None]) -> Any:
        def test(cases: Mapping[str, tuple[Any, ...]]) -> None:
            require_each(check, cases)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        test.cases = (dict(cases), at_once)  # type: ignore[attr-defined]
        test.pytestmark = list(getattr(check, "pytestmark", ()))  # type: ignore[attr-defined]
        return test

    return decorate


def generate(metafunc: pytest.Metafunc, alone: bool) -> None:
    """Make the tests of what `each` has returned: with one case each if they are to be alone."""
    cases, at_once = getattr(metafunc.function, "cases", (None, 0))
    if cases is not None:
        rest = iter(cases.items())
        parts = list(iter(lambda: dict(islice(rest, 1 if alone else at_once)), {}))
        metafunc.parametrize("cases", parts, ids=[next(iter(part)) for part in parts])


def require_each(check: Callable[..., None], cases: Mapping[str, tuple[Any, ...]]) -> None:
    """Call a check with the arguments of each case, as if each were a test of its own.

    All cases run. What comes of them is raised: `Outcomes` of those that fail or are skipped, a skip if all are.
    """
    failed: dict[str, BaseException] = {}
    skipped: dict[str, pytest.skip.Exception] = {}
    for name, arguments in cases.items():
        seed()
        try:
            check(*arguments)
            flags = mx.autograd.set_recording(False), mx.autograd.set_training(False)
            assert flags == (False, False), f"it leaves (recording, training) at {flags}"
        except pytest.skip.Exception as error:
            skipped[name] = error
        except Exception as error:
            mx.autograd.set_recording(False)
            mx.autograd.set_training(False)
            failed[name] = error
    if len(cases) == 1:
        for error in (*failed.values(), *skipped.values()):
            raise error
    if failed or skipped:
        raise Outcomes(len(cases), failed, skipped)


class Cases:
    """A plugin that reports each case that fails or is skipped, and not the test that ran it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Note with the report of a test what came of its cases."""
        report = yield
        error = None if call.excinfo is None else call.excinfo.value
        if isinstance(error, Outcomes):
            told: list[list[str]] = []
            for name, why in error.failed.items():
                excinfo = pytest.ExceptionInfo.from_exception(why)  # type: ignore[arg-type]
                text = f"{excinfo.exconly()}\n\n{item.repr_failure(excinfo)}"
                told.append([_of_case(report.nodeid, name), "failed", text])
            for name, reason in error.skipped.items():
                told.append([_of_case(report.nodeid, name), "skipped", f"Skipped: {name}: {reason.msg}"])
            report.cases = told
            report.outcome = "failed" if error.failed else "skipped" if error.skipped else report.outcome
            report.longrepr = str(error)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        """Let those who print hear of the cases: in the process that they are in."""
        cases = [] if hasattr(self._config, "workerinput") else report.__dict__.pop("cases", [])
        for number, (nodeid, outcome, text) in enumerate(cases):
            longrepr: Any = (nodeid.partition("::")[0], None, text) if outcome == "skipped" else text
            location = (*report.location[:2], nodeid.rpartition("::")[2])
            if number == len(cases) - 1:  # which takes the place of the test
                report.nodeid, report.outcome, report.longrepr, report.location = nodeid, outcome, longrepr, location
            else:
                other = pytest.TestReport(
                    nodeid, location, report.keywords, outcome, longrepr, report.when, report.sections
                )
                self._config.hook.pytest_runtest_logreport(report=other)
        return (yield)


def _of_case(nodeid: str, name: str) -> str:
    return f"{nodeid.partition('[')[0]}[{name}]"
