"""Measures minpy beside its peers: `python benchmarks/run.py [case ...]`. See README.md in this folder."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.measure import BENCHMARKS, Settings, measure, show_progress
from harness.peers import LOCAL, PEERS
from harness.report import group_lines, table

if TYPE_CHECKING:
    from harness.case import Case
    from harness.measure import Row

DEFAULT_ROUNDS = 9
BUSY = 0.5


def case_names() -> list[str]:
    return sorted(path.stem for path in (BENCHMARKS / "cases").glob("*.py") if not path.stem.startswith("_"))


def load(name: str) -> Case:
    case: Case = importlib.import_module(f"cases.{name}").case
    return case


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help="names from --list (default: all)")
    parser.add_argument("--repeat", type=int, default=DEFAULT_ROUNDS, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--peers", nargs="+", choices=[*PEERS, *LOCAL], help="compare with these only")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of every library (default: its own default)")
    parser.add_argument("--env", action="append", default=[], metavar="PEER=FOLDER", help="an environment elsewhere")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.cases) - set(case_names())):
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(case_names())}")
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    for pair in arguments.env:
        if pair.partition("=")[0] not in PEERS or not pair.partition("=")[2]:
            parser.error(f"--env takes PEER=FOLDER with a peer of {', '.join(PEERS)}, not {pair!r}")
    return arguments


def describe_machine(settings: Settings) -> str:
    threads = "each library's default" if settings.threads is None else str(settings.threads)
    machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
    description = f"{machine}; {settings.rounds} rounds, threads: {threads}"
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load_average > BUSY:
        description += f"\nload average {load_average:.1f}: the machine is busy, so take the ratios with care"
    return description


def main() -> int:
    arguments = parse_arguments()
    names = arguments.cases or case_names()
    if arguments.list:
        for name in names:
            print(f"{name}: {load(name).title}")
        return 0
    settings = Settings(
        rounds=arguments.repeat,
        peers=frozenset(arguments.peers) if arguments.peers else None,
        threads=arguments.threads,
        environments={peer: Path(folder) for peer, _, folder in (pair.partition("=") for pair in arguments.env)},
    )
    print(describe_machine(settings), end="\n\n", flush=True)
    versions: dict[str, str] = {}
    failed: list[tuple[str, Row]] = []
    measured: list[tuple[Case, dict[str, Row]]] = []
    for name in names:
        case = load(name)
        rows = measure(name, case, settings, show_progress)
        show_progress("")
        print(table(name, case, rows, arguments.markdown), flush=True)
        versions.update({case.implementations[key].peer: row.version for key, row in rows.items() if row.version})
        measured.append((case, rows))
        failed += [(name, row) for row in rows.values() if row.failed]
    for line in group_lines(measured):
        print(line)
    print("versions:", ", ".join(f"{peer} {version}" for peer, version in versions.items()))
    for name, row in failed:
        print(f"\nFAILED: {row.name} in {name}\n{row.problem}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
