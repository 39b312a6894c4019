"""Has the processes of pytest-xdist tell of a test once: six messages of each would take a tenth of the time.

What fails, is skipped, or prints is told in full. Who asks for more than outcomes (`-vv`, `--durations`, `--junitxml`,
`--setup-show`) gets all messages.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.runner import runtestprotocol

__all__ = ["Reporting", "only_outcomes"]


def only_outcomes(config: pytest.Config) -> bool:
    """Tell whether this process runs tests for another one, of which nobody has asked for more than outcomes."""
    asked = (config.getoption(name, None) for name in ("debug", "setuponly", "setupshow", "traceconfig", "xmlpath"))
    little = config.getoption("durations", None) is None and config.option.verbose <= 0
    return hasattr(config, "workerinput") and little and not any(asked)


class Reporting:
    """A plugin of such a process."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Print nothing, which nobody would read.

        What prints also keeps every report, and whoever looks for garbage, as tests of lifetimes do all the time,
        would look through tens of thousands of them.
        """
        plugins = session.config.pluginmanager
        if plugins.has_plugin("terminalreporter"):
            printing = plugins.unregister(name="terminalreporter")
            plugins.register(Writing(printing), "terminalreporter")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test as pytest does, and tell what came of it."""
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed or report.sections:
                item.ihook.pytest_runtest_logreport(report=report)
        return True


class Writing:
    """What others write with, who ask for it by the name of what prints: assertions that fail, say."""

    def __init__(self, printing: Any) -> None:
        self._tw = printing._tw
