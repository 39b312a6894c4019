"""Gluon's helpers: downloads, hashes, hooks, and what errors say; numbers are golden cases."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.gluon import utils

HELLO = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"

ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "uneven": (
        lambda: utils.split_data(nd.ones(5), 2),
        ValueError,
        r"shape \(5,\) cannot be split evenly into 2 slices",
    ),
    "axis": (lambda: utils.split_data(nd.ones(4), 2, 1), TypeError, r"no axis 1 to split: data has shape \(4,\)"),
    "no array": (lambda: utils.split_data([1, 2], 2), TypeError, "data must be an array, got list of 2"),
    "no slices": (
        lambda: utils.split_data(nd.ones(4), 0),
        TypeError,
        "num_slice must be a positive integer, got int 0",
    ),
    "a context": (lambda: utils.split_and_load(nd.ones(4), mx.cpu()), TypeError, "ctx_list must be a list of contexts"),
    "no arrays": (lambda: utils.clip_global_norm([], 1), TypeError, "a list of one array or more, got list of 0"),
    "integers": (
        lambda: utils.clip_global_norm([nd.ones(2, dtype="int32")], 1),
        TypeError,
        r"arrays\[0\] is int32 \(2,\): only arrays of floating point",
    ),
    "length": (lambda: utils.shape_is_known((-2, 3)), ValueError, r"\(-2, 3\) is no shape: a length is -2"),
    "retries": (lambda: utils.download("file:///x", retries=-1), ValueError, "retries must be at least 0, got -1"),
    "no name": (lambda: utils.download("file:///x/"), ValueError, "ends in no name of a file: give the file's name"),
    "no file": (lambda: utils.check_sha1("/no/where", HELLO), FileNotFoundError, "check_sha1: cannot read '/no/where'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()


def test_a_norm_that_is_not_finite_warns() -> None:
    with pytest.warns(UserWarning, match="the norm is nan: a gradient has values that are not finite"):
        assert np.isnan(utils.clip_global_norm([nd.array([np.nan])], 1))


def test_downloads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.txt"
    source.write_text("hello")
    folder = tmp_path / "new" / "folder"
    fetched = utils.download(source.as_uri(), f"{folder}/", sha1_hash=HELLO)
    assert Path(fetched).read_text() == "hello"
    assert capsys.readouterr().out == f"Downloading {fetched} from {source.as_uri()}...\n"
    source.write_text("other")
    assert utils.download(source.as_uri(), fetched, sha1_hash=HELLO) == fetched
    assert capsys.readouterr().out == "", "it was there"
    with pytest.raises(ValueError, match=r"has the SHA-1 hash .*, and not aaf4"):
        utils.download(source.as_uri(), fetched, overwrite=True, sha1_hash=HELLO, retries=1)
    assert "retrying, 1 attempt left" in capsys.readouterr().out
    assert Path(fetched).read_text() == "hello", "what failed its check is not put in place"
    assert utils.download(source.as_uri(), fetched, overwrite=True) == fetched
    assert Path(fetched).read_text() == "other"
    assert [one.name for one in folder.iterdir()] == ["source.txt"]


def test_a_file_that_is_not_there_is_asked_for_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError, match=r"could not be fetched: .* put the file at"):
        utils.download((tmp_path / "none").as_uri(), str(tmp_path / "copy"))
    assert capsys.readouterr().out.count("Downloading") == 1
    assert not list(tmp_path.iterdir())


def test_without_certificates(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    with pytest.warns(UserWarning, match="the certificate of the server is not checked"):
        utils.download((tmp_path / "a").as_uri(), str(tmp_path / "b"), verify_ssl=False)


def test_hooks() -> None:
    hooks: OrderedDict[int, Any] = OrderedDict()
    handle = utils.HookHandle()
    handle.detach()
    handle.attach(hooks, print)
    with pytest.raises(TypeError, match="this handle has a hook already"):
        handle.attach(hooks, print)
    with handle as same:
        assert same is handle
        assert list(hooks.values()) == [print]
    assert not hooks
    handle.detach()
    again, restored = pickle.loads(pickle.dumps((hooks, handle)))
    restored.detach()
    assert again == hooks
