"""What is said where a framework is not installed."""

import sys

import pytest

from minpy import frameworks
from minpy.core.errors import MissingDependencyError


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_what_needs_a_framework_says_how_to_install_it(framework, monkeypatch):
    monkeypatch.setitem(sys.modules, framework, None)
    make = getattr(frameworks, f"from_{framework}")
    with pytest.raises(MissingDependencyError, match=rf"python -m pip install '{framework}>=\d"):
        make(lambda x: x)
