"""The code in the README and in `docs/guide` runs, block after block, and prints what the text says it does."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any

import pytest
from missing_frameworks import missing_framework
from native.building import compiler
from native.examples import compile_for_tests
from places import ROOT

COMPILES = True

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def programs(text: str) -> list[tuple[int, str, str | None]]:
    """Return (line, code, the output that follows it, if any) of every block of Python."""
    found: list[tuple[int, str, str | None]] = []
    end = -1
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        if language == "python":
            found.append((text.count("\n", 0, block.start()) + 1, content, None))
        elif language == "output":
            assert found, "output stands before any code"
            assert not text[end : block.start()].strip(), f"this output follows no code: {content}"
            found[-1] = (*found[-1][:2], content)
        end = block.end()
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_of_documents(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("autograd")
    monkeypatch.chdir(ROOT)  # for the files of examples
    compile_for_tests(monkeypatch)
    scope: dict[str, Any] = {"__name__": f"document_{document.stem}"}
    blocks = programs(document.read_text(encoding="utf-8"))
    assert blocks
    for line, code, expected in blocks:
        if "library.compile(" in code and compiler() is None:
            pytest.skip(f"from line {line} on: there is no C++ compiler ($CXX, c++, g++, clang++) to run it with")
        if missing := missing_framework(code):
            pytest.skip(f"from line {line} on: {missing} is not installed")
        if code.startswith(">>> "):
            run_session(code, scope, document, line)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(document), "exec"), scope)
        got = printed.getvalue()
        assert expected is not None or not got, f"{document.name}:{line} prints, and the text does not show it:\n{got}"
        if expected is not None:
            same = doctest.OutputChecker().check_output(expected, got, FLAGS)
            assert same, f"{document.name}:{line} prints\n{got}\ninstead of\n{expected}"


def run_session(code: str, scope: dict[str, Any], document: Path, line: int) -> None:
    """Run a block that is a session at Python's prompt, with what it prints in it."""
    session = doctest.DocTestParser().get_doctest(code, scope, document.name, str(document), line)
    report = io.StringIO()
    results = doctest.DocTestRunner(optionflags=FLAGS).run(session, out=report.write, clear_globs=False)
    assert not results.failed, report.getvalue()
    scope.update(session.globs)


def test_blocks_are_found() -> None:
    text = "a\n```python\nprint(1)\n```\n```output\n1\n```\nb\n```sh\nls\n```\n```python\nx = 1\n```\n"
    assert programs(text) == [(2, "print(1)\n", "1\n"), (12, "x = 1\n", None)]
    with pytest.raises(AssertionError, match="follows no code"):
        programs("```python\nprint(1)\n```\nwords\n```output\n1\n```\n")
