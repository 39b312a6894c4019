"""The table of operators that files may call and that are not here, in ``docs/guide/which_files_load.md``.

Usage: ``python tests/golden/absent_operators.py`` writes it anew, from what loading says of each operator of MXNet's.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "guide" / "which_files_load.md"
HEAD = "| operators | what loading says of each |\n|---|---|\n"


def absent() -> list[str]:
    """Returns the operators of MXNet 1.9.1 that a file of a symbol cannot call."""
    from minpy import sym

    names = json.loads((HERE / "registered_operators.json").read_text(encoding="utf-8"))
    nodes = [{"op": "null", "name": "x", "inputs": []}]
    nodes += [{"op": name, "name": f"node{place}", "inputs": [[0, 0, 0]]} for place, name in enumerate(names)]
    graph = {"nodes": nodes, "arg_nodes": [0], "heads": [[place, 0, 0] for place in range(1, len(nodes))]}
    found = []
    for place, name in enumerate(names, 1):  # one by one: messages do not show more than fifty
        alone = {**graph, "nodes": [nodes[0], nodes[place]], "heads": [[1, 0, 0]]}
        try:
            sym.load_json(json.dumps(alone))
        except ValueError as error:
            if re.search(rf"there is no operator {re.escape(repr(name))}", str(error)):
                found.append(name)
    return found


def table() -> str:
    """Returns the rows of the table: operators of one advice in one."""
    from minpy.symbol.not_here import advice_of

    groups: dict[str, list[str]] = {}
    for name in absent():
        groups.setdefault(advice_of(name), []).append(name)
    rows = []
    for advice, names in groups.items():
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {advice} |")
    return "\n".join(rows)


def main() -> None:
    """Writes the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, after = text.partition(HEAD)
    PAGE.write_text(f"{before}{HEAD}{table()}{after[after.index(chr(10) * 2) :]}", encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    main()
