"""What somebody who is new does wrong first, and what is said to that."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import minpy as mx
from minpy.core.errors import ArgumentError
from minpy.dropin import launcher
from minpy.gluon.data.vision import ImageFolderDataset
from minpy.inspection.command_line import main

DATA = ROOT / "examples" / "data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("digits-symbol.json", "digits-0012.params", "digits.npy"):
        shutil.copy(DATA / name, tmp_path)
    (tmp_path / "net.onnx").write_bytes(b"\x08\x07\x12\x07pytorch")
    (tmp_path / "cat.JPG").write_bytes(b"\xff\xd8\xff\xe0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("order", [1, -1])
def test_a_model_is_named_by_its_two_files_in_either_order(
    order: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["digits-symbol.json", "digits-0012.params"][::order]) == 0
    assert "parameters  digits-0012.params" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["net.onnx"],
            "'net.onnx' is an ONNX model. Make MXNet's files of it first: python -m minpy convert net.onnx net-",
        ),
        (["cat.JPG"], "'cat.JPG' is no model: what a network is to be run on follows --run, after the model."),
        (["digits.npy"], "'digits.npy' is no model: what a network is to be run on follows --run"),
        (["digits", "--epoch", "3"], "no digits-0003.params beside 'digits-symbol.json'; there is epoch 12."),
        (["digits", "--run", "digit.npy"], "cannot read 'digit.npy': No such file or directory. Did you mean"),
        (["digits", "--run", "cat.jpeg"], "--run: cannot read 'cat.jpeg': No such file or directory."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_model_or_not_there(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert said in " ".join(captured.err.split())
    assert not captured.out  # before pages of layers


def test_inputs_of_a_graph_are_named_when_another_is_asked_for() -> None:
    with pytest.raises(ArgumentError, match=r"has no input 'x'\. It has 'data'\.$"):
        mx.gluon.SymbolBlock.imports(str(DATA / "digits-symbol.json"), "x", str(DATA / "digits-0012.params"))


def test_blocks_say_how_an_array_of_numpy_is_given() -> None:
    with pytest.raises(ArgumentError, match=r"Make an NDArray of it first: mx\.nd\.array\(x\)\.$"):
        mx.gluon.nn.Dense(2)(np.ones((2, 2)))


def test_a_folder_without_kinds_is_one_warning(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.jpg").write_bytes(b"")
    with pytest.warns(UserWarning, match="left out") as seen:
        assert not len(ImageFolderDataset(tmp_path))
    [warning] = seen
    assert f"{tmp_path / '02.jpg'} and 27 more are left out: they are no folders." in str(warning.message)
    assert "give the one that has a folder for each kind" in str(warning.message)
    assert warning.filename == __file__


def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    (tmp_path / "cats" / "notes.txt").write_text("")
    with pytest.warns(UserWarning, match=r"cats.notes\.txt is left out: it is none of \.jpg, \.jpeg, \.png"):
        assert ImageFolderDataset(tmp_path).synsets == ["cats"]


def test_packages_that_are_missing_are_named_with_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(package: str) -> str:
        raise launcher.PackageNotFoundError(package)

    monkeypatch.setattr(launcher, "version", nothing)
    text = launcher.about()
    for package in ("tqdm", "pillow", "bokeh", "scipy", "llvmlite"):
        assert f"\n{package} not installed (pip install {package})\n" in text
    assert "\ntorch not installed\n" in text
