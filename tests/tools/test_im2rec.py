"""`python -m minpy.tools.im2rec`: lists as MXNet's tool makes them, and record files of real pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minpy import pictures, recordio
from minpy.tools import im2rec

datasets = pytest.importorskip("sklearn.datasets")
pytest.importorskip("PIL")  # with which scikit-learn reads its photographs

NAMES = ("a/1.png", "a/2.png", "b/3.png", "b/c/4.png", "b/c/5.PNG", "d/6.png", "7.png")


@pytest.fixture(scope="module")
def photographs() -> list[np.ndarray]:
    return [np.ascontiguousarray(image[::4, ::4]) for image in datasets.load_sample_images().images]


@pytest.fixture
def root(tmp_path: Path, photographs: list[np.ndarray]) -> Path:
    for number, name in enumerate(NAMES):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        cut = photographs[number % 2][number : number + 30, 5 * number : 5 * number + 50]
        path.write_bytes(pictures.encode(cut, ".png", to_rgb=True))
    (tmp_path / "pictures" / "d" / "broken.jpg").write_bytes(b"xjunk")
    (tmp_path / "pictures" / "a" / "note.txt").write_text("no picture")
    return tmp_path / "pictures"


def run(*options: object) -> int:
    return im2rec.main([str(option) for option in options])


def lists(folder: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text().splitlines() for path in sorted(folder.glob("*.lst"))}


def records(prefix: Path) -> list[tuple[recordio.IRHeader, np.ndarray]]:
    with recordio.MXIndexedRecordIO(f"{prefix}.idx", f"{prefix}.rec", "r") as reader:
        return [recordio.unpack_img(reader.read_idx(key)) for key in reader.keys]


# What MXNet's tool makes of the same folder: the numbers of the pictures in each list.
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--recursive"], {"p.lst": [0, 4, 7, 5, 1, 6, 3, 2]}),
        (["--recursive", "--no-shuffle"], {"p.lst": list(range(8))}),
        ([], {"p.lst": [0]}),
        (["--recursive", "--chunks", "2"], {"p_0.lst": [0, 4, 7, 5], "p_1.lst": [1, 6, 3, 2]}),
        (
            ["--recursive", "--no-shuffle", "--train-ratio", "0.5", "--test-ratio", "0.25"],
            {"p_test.lst": [0, 1], "p_train.lst": [2, 3, 4, 5], "p_val.lst": [6, 7]},
        ),
        (
            ["--recursive", "--no-shuffle", "--train-ratio", "0.7", "--chunks", "2"],
            {"p_0_train.lst": [0, 1], "p_0_val.lst": [2, 3], "p_1_train.lst": [4, 5], "p_1_val.lst": [6, 7]},
        ),
        (
            ["--recursive", "--no-shuffle", "--train-ratio", "0", "--test-ratio", "1"],
            {"p_test.lst": list(range(8)), "p_train.lst": []},
        ),
        (
            ["--recursive", "--no-shuffle", "--chunks", "5"],
            {"p_0.lst": [0, 1], "p_1.lst": [2, 3], "p_2.lst": [4, 5], "p_3.lst": [6, 7], "p_4.lst": []},
        ),
        (["--recursive", "--exts", ".jpg"], {"p.lst": [0]}),
    ],
)
def test_lists(tmp_path: Path, root: Path, options: list[str], expected: dict[str, list[int]]) -> None:
    assert run(tmp_path / "p", root, "--list", *options) == 0
    assert {name: [int(line.split("\t")[0]) for line in lines] for name, lines in lists(tmp_path).items()} == expected


def test_lines_and_labels(tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "p", root, "--list", "--recursive", "--no-shuffle")
    assert capsys.readouterr().out == ". 0\na 1\nb 2\nb/c 3\nd 4\n"
    assert lists(tmp_path)["p.lst"] == [
        "0\t0.000000\t7.png", "1\t1.000000\ta/1.png", "2\t1.000000\ta/2.png", "3\t2.000000\tb/3.png",
        "4\t3.000000\tb/c/4.png", "5\t3.000000\tb/c/5.PNG", "6\t4.000000\td/6.png", "7\t4.000000\td/broken.jpg",
    ]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
def test_record_files_of_lists(tmp_path: Path, root: Path, threads: int, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "p", root, "--list", "--recursive", "--no-shuffle")
    capsys.readouterr()
    assert run(tmp_path / "p", root, "--encoding", ".png", "--num-thread", threads) == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'p'}.rec: 7 pictures, 1 left out\n"
    assert f"left out: im2rec of '{root}/d/broken.jpg': 5 bytes, beginning with b'xjunk', could not be" in said.err
    found = records(tmp_path / "p")
    assert [(header.id, header.label) for header, _ in found] == [
        (0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4)
    ]  # fmt: skip
    for (_, image), line in zip(found, lists(tmp_path)["p.lst"], strict=False):
        np.testing.assert_array_equal(image, pictures.read(root / line.split("\t")[2], to_rgb=False))


@pytest.mark.parametrize(
    ("options", "shape", "begins"),
    [
        ([], (30, 50, 3), b"\xff\xd8"),
        (["--quality", "30"], (30, 50, 3), b"\xff\xd8"),
        (["--resize", "15"], (15, 25, 3), b"\xff\xd8"),
        (["--resize", "60", "--encoding", ".png"], (60, 100, 3), b"\x89PNG"),
        (["--center-crop", "--encoding", ".png"], (30, 30, 3), b"\x89PNG"),
        (["--center-crop", "--resize", "10", "--color", "0"], (10, 10), b"\xff\xd8"),
        (["--pass-through", "--resize", "10"], (30, 50, 3), b"\x89PNG"),
    ],
)
def test_pictures_in_records(
    tmp_path: Path, root: Path, options: list[str], shape: tuple[int, ...], begins: bytes
) -> None:
    (tmp_path / "p.lst").write_text("7\t3\t1.5\ta/1.png\n")
    assert run(tmp_path / "p", root, *options) == 0
    header, image = records(tmp_path / "p")[0]
    assert (header.id, header.label, image.shape) == (7, 3.0, shape)
    with recordio.MXRecordIO(tmp_path / "p.rec", "r") as reader:
        data = recordio.unpack(reader.read())[1]
    assert data.startswith(begins)
    if "--pass-through" in options:
        assert data == (root / "a" / "1.png").read_bytes()


def test_all_labels(tmp_path: Path, root: Path) -> None:
    (tmp_path / "p.lst").write_text("7\t3\t1.5\ta/1.png\n8\t2\ta/2.png\n")
    run(tmp_path / "p", root, "--pack-label")
    (first, _), (second, _) = records(tmp_path / "p")
    np.testing.assert_array_equal(first.label, np.array([3, 1.5], "float32"))
    assert (first.flag, second.flag, second.label) == (2, 0, 2.0)


def test_lines_that_are_none(tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.lst").write_text("0\t1\ta/1.png\nbad\nx\t1\ta/2.png\n5\ty\ta/2.png\n6\t1\tmissing.png\n")
    assert run(tmp_path / "p", root) == 0
    said = capsys.readouterr().err.splitlines()
    assert f"left out: '{tmp_path / 'p'}.lst', line 2: 'bad'; expected a number, labels and a path" in said[0]
    assert "line 3: 'x\\t1\\ta/2.png'; expected" in said[1]
    assert "line 4: '5\\ty\\ta/2.png'; expected" in said[2]
    assert said[3] == f"left out: im2rec: there is no file '{root / 'missing.png'}'."
    assert len(records(tmp_path / "p")) == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--list", "--chunks", "0"], "ArgumentValueError: im2rec: --chunks is 0; expected 1 or more."),
        (
            ["--list", "--train-ratio", "0.9", "--test-ratio", "0.3"],
            "--train-ratio is 0.9 and --test-ratio 0.3; expected",
        ),
        ([], "There is no list .*p\\*.lst: make one with --list."),
    ],
)
def test_what_is_said(
    tmp_path: Path, root: Path, options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    assert run(tmp_path / "p", root, *options) == 1
    assert re.search(text, capsys.readouterr().err)


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "p", tmp_path / "none", "--list", "--recursive") == 1
    assert "FileMissingError: im2rec: cannot read" in capsys.readouterr().err


def test_as_a_command(tmp_path: Path, root: Path) -> None:
    command = [sys.executable, "-m", "minpy.tools.im2rec", "p", str(root)]
    for options in (["--list", "--recursive"], ["--resize", "20"]):
        done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("p.rec: 7 pictures, 1 left out\n")
