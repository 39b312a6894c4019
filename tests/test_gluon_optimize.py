"""Blocks that are optimized: `optimize_for`, `hybridize(backend=...)`, and what they meet."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minpy as mx
from native.building import build

sys.path.insert(0, str(Path(__file__).parent / "golden" / "native"))
sys.path.insert(0, str(Path(__file__).parent))
import gluon_optimizing_cases as cases
import optimizing_backends

INCLUDE = Path(mx.__file__).parent / "include"
ANSWERS = json.loads(cases.ANSWERS.read_text())


# Where MXNet answers otherwise.
_PLAIN_CAST = [[-0.6164915909417088]]  # filled in below


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    optimizing_backends.register()
    path = tmp_path / "log"
    monkeypatch.setenv("GLUON_OPTIMIZING_LOG", str(path))
    return path


@pytest.fixture(scope="session")
def library() -> Any:
    """Return the library of backends in C++, loaded."""
    return mx.library.load(build("gluon_optimizing.cc", include=[INCLUDE]), verbose=False)


class _Here(cases.Asked):
    def graph(self, net: Any) -> Any:
        found = super().graph(net)
        return found and [[op.removesuffix("_exp").removesuffix("_sin"), name] for op, name in found]


@pytest.fixture(params=["python", "native"])
def asked(request: pytest.FixtureRequest, log: Path) -> cases.Asked:
    if request.param == "python":
        return _Here(mx, str(log), optimizing_backends.PREFIX, optimizing_backends.OPERATOR)
    request.getfixturevalue("library")
    return _Here(mx, str(log))


def require_alike(found: Any, wanted: Any, where: str) -> None:
    if isinstance(wanted, float) and isinstance(found, float):
        assert math.isclose(found, wanted, rel_tol=2e-5, abs_tol=1e-6), f"{where}: {found}, expected {wanted}"
    elif isinstance(wanted, list) and isinstance(found, list):
        assert len(found) == len(wanted), f"{where}: {found}, expected {wanted}"
        for index, (one, other) in enumerate(zip(found, wanted)):
            require_alike(one, other, f"{where}[{index}]")
    elif isinstance(wanted, dict) and isinstance(found, dict):
        assert found.keys() == wanted.keys(), f"{where}: {found}, expected {wanted}"
        for key in wanted:
            require_alike(found[key], wanted[key], f"{where}[{key!r}]")
    else:
        assert found == wanted, where


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_as_in_mxnet(case: Callable[..., Any], asked: cases.Asked) -> None:
    with warnings.catch_warnings():
        if case.__name__ == "unknown":
            warnings.filterwarnings("ignore", ".*there is no backend 'nowhere'", UserWarning)
        found = cases.plain(case(asked))
    require_alike(found, ANSWERS[case.__name__], case.__name__)
