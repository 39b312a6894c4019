"""The contents of a symbol's file, read without making a symbol: its version, variables and missing operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minpy.custom.registry import PROPS
from minpy.symbol.loading import Reader
from minpy.symbol.not_here import Missing, is_known
from minpy.symbol.renamed import present_name

__all__ = ["Contents", "UnknownOperator", "contents"]


@dataclass(frozen=True)
class UnknownOperator:
    """An operator that a file names and that is not here.

    Attributes
    ----------
    name : str
        As in the file; of custom operators 'Custom(op_type=...)'.
    nodes : list of str
        The names of the nodes that call it.
    advice : str
        What to do.
    """

    name: str
    nodes: list[str]
    advice: str


@dataclass(frozen=True)
class Contents:
    """What a symbol's file says.

    Attributes
    ----------
    version : int
        Of the MXNet that wrote it, as 10901 for 1.9.1; 800, if it says none.
    variables : list of str
        Those of the graph itself, not of graphs inside of its nodes.
    operators : dict of str to int
        How many nodes call each operator, those of graphs inside of nodes among them.
    unknown : list of UnknownOperator
    """

    version: int
    variables: list[str]
    operators: dict[str, int]
    unknown: list[UnknownOperator]

    @property
    def version_text(self) -> str:
        """The version in the usual form."""
        if self.version <= 800:
            return "0.8 or earlier"
        major, minor = divmod(self.version, 10000)
        return f"{major}.{minor // 100}.{minor % 100}"


def contents(content: bytes | str, source: str) -> Contents:
    """Return what the text of a symbol's file says; `source` is what messages call it.

    Raises
    ------
    FileFormatError
        If it is no symbol.

    Examples
    --------
    >>> from minpy import sym
    >>> said = contents(sym.tanh(sym.var('x')).tojson(), 'here')
    >>> said.version_text, said.operators, said.unknown
    ('1.9.1', {'tanh': 1}, [])
    """
    reader = Reader(source)
    document = reader._document(reader._text(content))
    if "nodes" not in document:
        reader._check_keys(document, ("nodes", "heads"), ("nodes", "heads"), "the file")
    variables: list[str] = []
    operators: dict[str, int] = {}
    unknown: dict[tuple[str, bool], Missing] = {}
    levels = [(True, document.get("nodes"))]
    while levels:
        is_outermost, nodes = levels.pop()
        for node in nodes if isinstance(nodes, list) else ():
            kind, name = (node.get("op"), node.get("name")) if isinstance(node, dict) else (None, None)
            if not isinstance(kind, str) or not isinstance(name, str):
                continue  # what is wrong with it is said when the symbol is made
            if kind == "null":
                if is_outermost:
                    variables.append(name)
                continue
            operators[kind] = operators.get(kind, 0) + 1
            op, custom = _called(kind, node)
            graphs = node.get("subgraphs")
            graphs = graphs if isinstance(graphs, list) else []
            if op not in PROPS if custom else not is_known(present_name(op)):
                unknown.setdefault((op, custom), Missing(op, custom, [], bool(graphs))).nodes.append(name)
            levels += [(False, graph.get("nodes")) for graph in graphs if isinstance(graph, dict)]
    unknown_operators = [
        UnknownOperator(f"Custom(op_type={op!r})" if custom else op, missing.nodes, missing.advice)
        for (op, custom), missing in unknown.items()
    ]
    return Contents(reader._version(document), variables, operators, unknown_operators)


def _called(kind: str, node: dict[str, Any]) -> tuple[str, bool]:
    """Return the name of the operator that a node calls, and whether it is called through `Custom`."""
    if kind == "Custom":
        for key in ("attrs", "attr", "param"):
            attributes = node.get(key)
            if isinstance(attributes, dict) and isinstance(attributes.get("op_type"), str):
                return attributes["op_type"], True
    return kind, False
