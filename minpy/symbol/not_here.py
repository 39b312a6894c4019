"""Operators that a file calls and that do not exist here: a table of all of them, with advice about each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from minpy.core.configured import FAMILIES
from minpy.core.customop import USER_OPERATORS
from minpy.core.errors import nearest
from minpy.custom.registry import PROPS
from minpy.ops.registry import OPERATORS, known_operator
from minpy.symbol.subgraphs import CONTROL_FLOW

__all__ = ["Missing", "advice_of", "is_known", "shortened", "table_of"]

# What their names are like, and what to do.
_REASONS = (
    (
        r"_sg_.*|_TensorRT|_trt_.*|_FusedOp.*|_CachedOp.*",
        (
            "It stands for a part of the graph that a backend of MXNet's had fused: save the symbol as it was before "
            "optimize_for or get_backend_symbol."
        ),
    ),
    (
        r"_contrib_(quantize|quantized|dequantize|requantize|calibrate).*|quantized_.*",
        "It computes with 8-bit integers: load the float32 model that was quantized.",
    ),
    (
        r"_Native|_NDArray|_Custom.*",
        (
            "It called a Python object of the process that wrote the file, which the file does not hold: compose that "
            "part anew, with mx.operator.CustomOp."
        ),
    ),
    (r"WarpCTC", "It was a plugin: at inference it is softmax; its loss is mx.sym.ctc_loss."),
    (r"(_contrib)?_tvm.*", "It is compiled by TVM: save the symbol without it."),
    (r"Caffe.*|Torch.*", "It was a plugin that called another framework."),
    (r"_contrib_dgl.*|_contrib_(edge_id|getnnz)|_square_sum|cast_storage|.*sparse.*", "It needs sparse arrays."),
    (r"_?cv.*|_imdecode|_npi_cv.*", "Pictures are read by mx.image, outside of graphs."),
)
_WRITE_IT = "Write it as a CustomOp, and register its CustomOpProp under that name."
_REGISTER_PARTITIONER = (
    "It stands for a group of nodes: load the native library that has it, with mx.library.load, or register the "
    "partitioner that made it, with mx.graph.register_partitioner, first."
)
_MOST_SHOWN = 50


class Missing(NamedTuple):
    """An operator that is not here.

    Attributes
    ----------
    op : str
        Its name; of a custom operator the one that it is registered under.
    custom : bool
        Whether it is called through `Custom`.
    nodes : list of str
        What calls it, for messages.
    has_graphs : bool
        Whether there are graphs inside of its nodes.
    """

    op: str
    custom: bool
    nodes: list[str]
    has_graphs: bool = False

    @property
    def advice(self) -> str:
        """What to do about it, with the nearest name that there is."""
        if self.custom:
            name = shortened(self.op)
            advice = (
                f"Import the module that registers it, with mx.operator.register({name}), before loading the symbol."
            )
        else:
            advice = advice_of(self.op)
            if advice != _WRITE_IT:
                return advice
            if self.has_graphs:
                return _REGISTER_PARTITIONER
        return f"{nearest(self.op[:100], PROPS if self.custom else OPERATORS).strip()} {advice}".strip()


def is_known(op: str) -> bool:
    """Tell whether an operator that files call so is here; `Custom` is, whatever it calls."""
    tables = (CONTROL_FLOW, PROPS, FAMILIES, USER_OPERATORS)
    return op in ("null", "Custom") or any(op in table for table in tables) or known_operator(op) is not None


def advice_of(op: str) -> str:
    """Return what to do about an operator that is not here.

    Examples
    --------
    >>> advice_of('_contrib_quantized_conv')
    'It computes with 8-bit integers: load the float32 model that was quantized.'
    """
    for pattern, text in _REASONS:
        if re.fullmatch(pattern, op[:100]):
            return text
    module, colon, _ = op.partition(":")
    if colon and not op.startswith("minpy:np."):
        return f"Import {shortened(module)}, or run the code that defines it, before loading the symbol."
    names = [name for name in USER_OPERATORS if name.rpartition(":")[2] == op]
    if names:
        return f"The @customop is called {names[0]!r} in files."
    return _WRITE_IT


def table_of(missing: Sequence[Missing], nodes: int) -> str:
    """Return the table of several operators that are not here, in a graph of `nodes` nodes.

    Examples
    --------
    >>> print(table_of([Missing('WarpCTC', False, ["node 7 ('ctc', 'WarpCTC')"]), Missing('nms', True, [])], 9))
    2 operators are not here (of 9 nodes 1 cannot be computed):
      'WarpCTC', node 7 ('ctc', 'WarpCTC'). It was a plugin: at inference it is softmax; its loss is mx.sym.ctc_loss.
      Custom 'nms'. Import the module that registers it, with mx.operator.register('nms'), before loading the symbol.
    """
    calls = sum(len(operator.nodes) for operator in missing)
    lines = [f"{len(missing)} operators are not here (of {nodes} nodes {calls} cannot be computed):"]
    for operator in missing[:_MOST_SHOWN]:
        where = ", ".join(operator.nodes[:3]) + (
            f" and {len(operator.nodes) - 3} more" if len(operator.nodes) > 3 else ""
        )
        name = f"{'Custom ' if operator.custom else ''}{shortened(operator.op)}"
        lines.append(f"  {name}{', ' if where else ''}{where}. {operator.advice}")
    if len(missing) > _MOST_SHOWN:
        lines.append(f"  and {len(missing) - _MOST_SHOWN} more")
    return "\n".join(lines)


def shortened(text: str) -> str:
    """Return a text in quotes for use in a message, however long."""
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}..."
