"""Nothing works only after something else was imported: entry points, names and modules as the first of a process.

`first_use.py` says how; drawn out, more public names and modules are tried. All of them take some ten minutes:
`python tests/support/first_use.py names 1`, and `modules 1`.
"""

from __future__ import annotations

import subprocess
import sys

from places import ROOT


def faults(*arguments: str) -> list[str]:
    command = [sys.executable, "-W", "ignore", "tests/support/first_use.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_programs_begin_with():
    assert not faults("entries")


def test_some_public_names_are_at_first_what_they_are_later():
    assert not faults("names", "301")


def test_many_public_names_are_at_first_what_they_are_later():
    assert not faults("names", "17")


def test_many_modules_can_be_imported_first():
    assert not faults("modules", "7")


def test_the_walk_tells_what_does_not_work(tmp_path):
    """A module that needs another one to be imported before it."""
    program = (
        "import sys; sys.path.insert(0, 'tests/support'); import first_use\n"
        "first_use.ENTRIES = {'a': 'import minpy', 'b': 'import sys; sys.modules[\"minpy.graph\"]'}\n"
        "print(*(fault.partition(':')[0] for fault in first_use.entries()))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("b", 0), done.stderr
