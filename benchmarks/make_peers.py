"""Makes the virtual environments of the peers: `python benchmarks/make_peers.py [peer ...]`. Safe to run again."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from harness.peers import LOCATION_VARIABLE, PEERS, Peer, base_interpreter, environment, interpreter_in, is_ready


def make(peer: Peer) -> str | None:
    """Make one environment; return what went wrong, or None."""
    base = base_interpreter(peer)
    if base is None:
        (_, first), (_, last) = peer.pythons
        return f"needs a Python from 3.{first} to 3.{last}, and none was found"
    folder = environment(peer.name)
    python = interpreter_in(folder)
    commands: list[list[str | Path]] = [
        [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *peer.requirements]
    ]
    if not python.exists():
        commands.insert(0, [base, "-m", "venv", folder])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            return lines[-1] if lines else f"{command[0]} ended with status {done.returncode}"
    return None if is_ready(peer) else "installed, but not with the pinned versions"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="peer", help=f"of {', '.join(PEERS)} (default: all)")
    chosen = parser.parse_args().peers or list(PEERS)
    if unknown := sorted(set(chosen) - set(PEERS)):
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}")
    failed = False
    for name in chosen:
        if is_ready(PEERS[name]):
            print(f"{name}: ready in {environment(name)}")
            continue
        print(f"{name}: making {environment(name)} (elsewhere: set {LOCATION_VARIABLE})", flush=True)
        problem = make(PEERS[name])
        print(f"{name}: {'ready' if problem is None else 'NOT MADE: ' + problem}")
        failed |= problem is not None
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
