"""What is said of installing minpy, and what its distributions hold."""

from __future__ import annotations

import configparser
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import minpy

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
EXTRAS = [*SETUP["options.extras_require"]]
TEXTS = {".c", ".cc", ".cfg", ".h", ".ipynb", ".json", ".md", ".py", ".pyi", ".sh", ".toml", ".txt", ".yml", ""}
FOLDERS = (".ci", "benchmarks", "docs", "examples", "minpy", "tests", "tools")

# The package index has another minpy: MinPy 0.3.4, of 2017.
FROM_THE_INDEX = re.compile(rf"minpy\[({'|'.join(EXTRAS)})|install\s+(-\S+\s+)*['\"]?minpy\b(?!/)")


def test_nothing_tells_anybody_to_install_minpy_from_the_package_index() -> None:
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        paths += (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    texts = [path for path in paths if path.suffix in TEXTS and path != Path(__file__).resolve()]
    assert len(texts) > 1000
    found = []
    for path in texts:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if FROM_THE_INDEX.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    advice = "name the library (pip install llvmlite) or the checkout (pip install '.[compile]')"
    assert not found, f"{advice}:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("pip install 'minpy[compile]'", True),
        ("the extra `minpy[image]`", True),
        ("pip install --upgrade minpy", True),
        ("python -m pip install minpy", True),
        ('pip install ".[compile]"', False),
        ("pip install llvmlite", False),
        ("tests/minpy/test[viz]", False),
    ],
)
def test_the_search_for_such_texts_finds_them(text: str, refused: bool) -> None:
    assert bool(FROM_THE_INDEX.search(text)) is refused


def test_the_version_is_that_of_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    assert headings[:2] == ["Unreleased", minpy.__version__]
    assert int(minpy.__version__.partition(".")[0]) >= 1  # above what the package index has


def test_the_long_description_has_no_link_into_the_checkout() -> None:
    without_links = runpy.run_path(str(ROOT / "setup.py"))["without_links"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = without_links(readme)
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert targets
    assert all(target.startswith("https://") for target in targets)
    assert "old models (`docs/guide/old_models.md`)" in text
    assert "[docs/" not in text
    for target in re.findall(r"\]\((?!https:)([^)#]*)", readme):
        assert (ROOT / target).exists(), f"README.md links to {target}, which is not there"


def test_the_source_distribution_is_the_checkout() -> None:
    """What git has is in it; in an unpacked one there is no git to ask."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout with git")
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    grafted = {*re.findall(r"^graft (\S+)$", manifest, re.MULTILINE), "minpy"}
    included = {*re.findall(r"^include (.*)$", manifest, re.MULTILINE)[0].split(), "MANIFEST.in"}
    by_itself = {"pyproject.toml", "setup.cfg", "setup.py"}  # setuptools adds them
    for path in listed.stdout.splitlines():
        folder, slash, _ = path.partition("/")
        assert (folder in grafted) if slash else (path in {*included, *by_itself}), path
        assert not re.search(r"\.(py[cod]|so|d)$", path), f"{path} is left out by MANIFEST.in"


def test_what_modules_read_beside_code_is_in_the_wheel() -> None:
    patterns = SETUP["options.package_data"]
    known = " ".join(patterns.values()).replace(",", " ").split()
    package = ROOT / "minpy"
    for path in package.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts:
            inside = path.relative_to(package)
            assert any(inside.match(pattern) for pattern in known), f"{inside} is not in package_data of setup.cfg"


def test_licenses_are_named() -> None:
    assert SETUP["metadata"]["license_files"].split() == ["LICENSE", "NOTICE"]
    assert "Apache License, Version 2.0" in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_the_first_command_of_the_readme_installs_the_compiler() -> None:
    command = re.search(
        r"install -e \"\.\[([\w,]+)\]\" && python examples/digits\.py", (ROOT / "README.md").read_text()
    )
    assert command is not None
    assert {*command.group(1).split(",")} == {"examples", "compile"}


def test_the_program_says_its_version() -> None:
    command = [sys.executable, "-m", "minpy", "--version"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said == f"minpy {minpy.__version__} (MXNet 1.9.1)\n"
