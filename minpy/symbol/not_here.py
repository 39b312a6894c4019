"""Operators that a file needs and that are not here: all of them at once, and what to do about each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from minpy.core.customop import USER_OPERATORS
from minpy.core.errors import nearest
from minpy.custom.registry import PROPS
from minpy.ops.registry import OPERATORS

__all__ = ["Missing", "advice_of", "table_of"]

# What their names are like, and what to do.
_REASONS = (
    (
        r"_sg_.*|_TensorRT|_FusedOp.*|_CachedOp.*",
        (
            "It stands for a part of the graph that a backend of MXNet's had fused: save the symbol as it was before "
            "optimize_for or get_backend_symbol."
        ),
    ),
    (
        r"_contrib_(quantize|quantized|dequantize|requantize|calibrate).*",
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
    (r"Caffe.*|Torch.*", "It was a plugin that called another framework."),
    (r"_contrib_dgl.*|_contrib_(edge_id|getnnz)|_square_sum|cast_storage|.*sparse.*", "It needs sparse arrays."),
    (r"_?cv.*|_imdecode|_npi_cv.*", "Pictures are read by mx.image, outside of graphs."),
)
_WRITE_IT = "Write it as a CustomOp, and register its CustomOpProp under that name."
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
    """

    op: str
    custom: bool
    nodes: list[str]


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
        return f"Import {_short(module)}, or run the code that defines it, before loading the symbol."
    known = [name for name in USER_OPERATORS if name.rpartition(":")[2] == op]
    if known:
        return f"The @customop is called {known[0]!r} in files."
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
    calls = sum(len(one.nodes) for one in missing)
    lines = [f"{len(missing)} operators are not here (of {nodes} nodes {calls} cannot be computed):"]
    for one in missing[:_MOST_SHOWN]:
        where = ", ".join(one.nodes[:3]) + (f" and {len(one.nodes) - 3} more" if len(one.nodes) > 3 else "")
        if one.custom:
            advice = (
                f"{nearest(one.op[:100], PROPS).strip()} Import the module that registers it, with mx.operator.register"
                f"({_short(one.op)}), before loading the symbol."
            ).strip()
        else:
            advice = advice_of(one.op)
            if advice == _WRITE_IT:
                advice = f"{nearest(one.op[:100], OPERATORS).strip()} {advice}".strip()
        lines.append(f"  {'Custom ' if one.custom else ''}{_short(one.op)}{', ' if where else ''}{where}. {advice}")
    if len(missing) > _MOST_SHOWN:
        lines.append(f"  and {len(missing) - _MOST_SHOWN} more")
    return "\n".join(lines)


def _short(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}..."
