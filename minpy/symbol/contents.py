"""What a symbol's file says of itself before a symbol is made of it: its version, and operators that are not here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minpy.core.configured import FAMILIES
from minpy.core.customop import USER_OPERATORS
from minpy.core.errors import nearest
from minpy.custom.registry import PROPS
from minpy.ops.registry import OPERATORS, known_operator
from minpy.symbol.loading import Reader
from minpy.symbol.subgraphs import CONTROL_FLOW

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
        major, rest = divmod(self.version, 10000)
        return f"{major}.{rest // 100}.{rest % 100}"


# What names of operators begin with that only MXNet's own backends know, and what to do.
_KINDS = {
    ("_contrib_quantize", "_contrib_quantized_", "_contrib_requantize", "_contrib_dequantize", "quantized_"): (
        "It belongs to a network of 8-bit integers: use the network as it was before it was quantized."
    ),
    ("_sg_mkldnn_", "_sg_onednn_", "_sg_pointwise_"): (
        "It is a fused subgraph of one of MXNet's backends: save the symbol before optimize_for or "
        "get_backend_symbol, with MXNET_SUBGRAPH_BACKEND=NONE."
    ),
    ("_TensorRT", "_trt_"): "It holds a TensorRT engine: use the symbol as it was before it was given to TensorRT.",
    ("_contrib_tvm", "_tvm_"): "It is compiled by TVM: save the symbol without it.",
    ("_NDArray", "_Native", "_Python"): (
        "It is an operator of the program that saved the file, which holds only its address: make the symbol with "
        "that program's code again, with mx.operator.CustomOp."
    ),
    ("_FusedOp", "_CachedOp"): "MXNet fused it when it ran: save the symbol before it is bound.",
}
_ELSE = (
    "Load the native library that has it, with mx.library.load; or write it as an mx.operator.CustomOp or a @customop, "
    "and register it."
)
_OF_GROUPS = (
    "It stands for a group of nodes: load the native library that has it, with mx.library.load, or register the "
    "partitioner that made it, with mx.graph.register_partitioner, first."
)


def contents(content: bytes | str, source: str) -> Contents:
    """Return what the text of a symbol's file says.

    Parameters
    ----------
    content : bytes or str
    source : str
        What is read, for messages.

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
    reader._check_keys(
        document, ("nodes", "heads"), ("nodes", "heads"), "the file"
    ) if "nodes" not in document else None
    variables: list[str] = []
    operators: dict[str, int] = {}
    unknown: dict[str, list[str]] = {}
    groups: set[str] = set()
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
            missing = _unknown(kind, node)
            if missing is not None:
                unknown.setdefault(missing, []).append(name)
            graphs = node.get("subgraphs")
            if graphs:
                groups.add(kind)
                levels += [(False, graph.get("nodes")) for graph in graphs if isinstance(graph, dict)]
    found = [UnknownOperator(name, names, _advice(name, name in groups)) for name, names in unknown.items()]
    return Contents(reader._version(document), variables, operators, found)


def _unknown(kind: str, node: dict[str, Any]) -> str | None:
    """Return what a node calls, if that is not here."""
    if kind == "Custom":
        for key in ("attrs", "attr", "param"):
            given = node.get(key)
            if isinstance(given, dict) and "op_type" in given:
                return None if given["op_type"] in PROPS else f"Custom(op_type={given['op_type']!r})"
        return None
    known = kind in CONTROL_FLOW or kind in FAMILIES or kind in USER_OPERATORS or known_operator(kind) is not None
    return None if known else kind


def _advice(name: str, is_group: bool) -> str:
    if name.startswith("Custom("):
        kind = name.removeprefix("Custom(op_type=").removesuffix(")")
        return (
            f"Import the module that registers it with @mx.operator.register({kind}) first; it lies with the code "
            "that trained the network."
        )
    for beginnings, advice in _KINDS.items():
        if name.startswith(beginnings):
            return advice
    if ":" in name and not name.startswith("minpy:np."):
        return f"Import {name.partition(':')[0]}, which defines it with @customop, first."
    if is_group:
        return _OF_GROUPS
    return (nearest(name[:100], OPERATORS).strip() + " " + _ELSE).strip()
