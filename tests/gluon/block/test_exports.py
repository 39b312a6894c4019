"""Networks that Gluon of MXNet 1.9.1 exported: read, called, trained further, exported and read again."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy import nd

sys.path.insert(0, str(GOLDEN))

from make_exports import EXPORTS, NAMES, arrays_of, imported, trained


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_what_mxnet_exported(name: str, hybridize: bool, tmp_path: Path) -> None:
    known = np.load(EXPORTS / f"{name}.npz")
    x = [nd.array(known[f"x{index}"]) for index in range(sum(key.startswith("x") for key in known))]
    expected = [known[f"out{index}"] for index in range(len(known) - len(x))]
    block = imported(mx, EXPORTS, name, len(x))
    block.hybridize(hybridize)
    found = trained(mx, block, x)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
    block.export(str(tmp_path / name))
    again = imported(mx, tmp_path, name, len(x))
    assert list(again.collect_params().keys()) == list(block.collect_params().keys())
    for one, other in zip(arrays_of(again(*x)), arrays_of(block(*x)), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
