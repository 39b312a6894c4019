"""Visualization of networks: as a table, as a picture, and drawn as text.

Only `plot_network` needs a package: graphviz, of the extra `viz`. Programs call this module `mx.viz`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, DTypeError, MissingDependencyError, ShapeError, describe
from minpy.graph.ir import Node, Value, variables
from minpy.graph.text import drawing
from minpy.namespaces import module_functions
from minpy.ops.inference.partial_shapes import is_known
from minpy.ops.inference.rule_parts import joined
from minpy.symbol.picture import PARAMETER_ENDINGS, color_of, label_of
from minpy.symbol.symbol import Symbol

if TYPE_CHECKING:
    from minpy.symbol.executor import Executor

__all__ = ["graph_text", "plot_network", "print_graph", "print_profile", "print_summary"]
__dir__, __getattr__ = module_functions(__name__, __all__)

Shapes = Mapping[str, Sequence[int]]

# What operators call the inputs that are given with every batch.
_FED = ("label", "state", "state_cell", "sequence_length", "data_lengths", "label_lengths")
_NETWORK = """
symbol : Symbol
shape : dict of str to tuple of int, optional
    The shapes of the data. What does not follow from them is shown as not known.
hide_weights : bool
    Leave out weights, biases and statistics: variables whose names end as those of layers do.
"""
_RAISES = """
Raises
------
ShapeError
    If shapes contradict each other.
ArgumentError
    For what is no symbol, no dict, or names no argument.
"""


def print_summary(
    symbol: Symbol,
    shape: Shapes | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a network as a table: layers, the shapes of their outputs, their parameters, and what feeds them.

    The first axis, which is that of the batch, is left out of the shapes. Every variable that is no data, label or
    state is a parameter; it is counted once, at the first layer that reads it. Auxiliary states are not counted.

    Parameters
    ----------
    symbol : Symbol
    shape : dict of str to tuple of int, optional
        The shapes of the data. Without them the table shows what follows from the shapes that variables declare.
    line_length : int
    positions : sequence of float
        Where the columns end, as parts of the line; or, if the last exceeds 1, as numbers of characters.

    Raises
    ------
    ShapeError
        If shapes contradict each other, or do not follow from those given.
    ArgumentError
        For what is no symbol, no dict, or names no argument.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=8, name='fc1')
    >>> net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type='relu', name='relu'), num_hidden=2, name='fc2')
    >>> mx.viz.print_summary(net, shape={'data': (1, 4)}, line_length=80)
    ________________________________________________________________________________
    Layer (type)                       Output Shape    Param # Previous Layer
    ================================================================================
    data(null)                         4               0
    ________________________________________________________________________________
    fc1(FullyConnected)                8               40      data
    ________________________________________________________________________________
    relu(Activation)                   8               0       fc1
    ________________________________________________________________________________
    fc2(FullyConnected)                2               18      relu
    ================================================================================
    Total params: 58
    ________________________________________________________________________________
    """
    order = _order(symbol, "print_summary")
    shapes = _inferred_shapes(symbol, shape, "print_summary")
    ends = [int(line_length * end) if positions[-1] <= 1 else int(end) for end in positions]
    layers, hidden = _parameters(order, shape)
    rows = [node for node in order if node not in hidden]
    print("_" * line_length)
    _print_row(("Layer (type)", "Output Shape", "Param #", "Previous Layer"), ends)
    print("=" * line_length)
    for node in rows:
        outputs = [shapes.get(Value(node, index)) for index in range(len(node.output_names()))]
        owned = [parameter for parameter, layer in layers.items() if layer is node]
        previous = [value.node.name for value in node.inputs if value.node not in hidden] or [""]
        _print_row((f"{node.name}({node.kind})", _per_example(outputs), _count(owned, shapes), previous[0]), ends)
        for name in previous[1:]:
            _print_row(("", "", "", name), ends)
        print(("=" if node is rows[-1] else "_") * line_length)
    print(f"Total params: {_count(layers, shapes)}")
    print("_" * line_length)


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Shapes | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """Return a network as a graph of Graphviz: show it in a notebook, or write it with `render()`.

    The picture grows from the data at the bottom to the outputs at the top. `render()` needs the programs of Graphviz;
    the graph and its `source` need only the Python package. `print_graph` needs neither.

    Parameters
    ----------
    symbol : Symbol
    title : str
        The name of the graph, and of the file that `render()` writes.
    save_format : str
        The format that `render()` writes: 'pdf', 'png', 'svg', ...
    shape : dict of str to tuple of int, optional
        The shapes of the data: edges are then labelled with shapes, without their first axis.
    dtype : dict of str to dtype, optional
        The dtypes of the data: edges are then labelled with dtypes.
    node_attrs : dict of str to str, optional
        Attributes of all nodes, such as `{'shape': 'oval', 'fixedsize': 'false'}`.
    hide_weights : bool
        Leave out weights, biases and statistics: variables whose names end as those of layers do.

    Returns
    -------
    graphviz.Digraph

    Raises
    ------
    MissingDependencyError
        If the Python package graphviz is not installed.
    ShapeError, DTypeError
        If shapes or dtypes contradict each other, or do not follow from those given.
    ArgumentError
        For what is no symbol, no dict, or names no argument.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=8, name='fc')
    >>> print(mx.viz.plot_network(net, shape={'data': (1, 4)}).source)
    digraph plot {
        data [label=data fillcolor="#e4e7eb" fixedsize=true height=0.8034 shape=oval style=filled width=1.3]
        fc [label="FullyConnected
    8" fillcolor="#f4a582" fixedsize=true height=0.8034 shape=box style=filled width=1.3]
        fc -> data [label=4 arrowtail=open dir=back]
    }
    <BLANKLINE>
    """
    try:
        import graphviz
    except ImportError:
        raise MissingDependencyError(
            "plot_network needs the Python package graphviz, which is not installed. Install it with: "
            "python -m pip install graphviz. print_graph draws the network in the terminal, without it."
        ) from None
    order = _order(symbol, "plot_network")
    shapes = None if shape is None else _inferred_shapes(symbol, shape, "plot_network")
    dtypes = None if dtype is None else _inferred_dtypes(symbol, dtype)
    weights = _weights(order) if hide_weights else set()
    nodes = [node for node in order if node not in weights]
    keys = {node: graphviz.escape(key) for node, key in _keys(nodes).items()}
    common = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    dot = graphviz.Digraph(name=title, format=save_format)
    for node in nodes:
        # As in MXNet, variables stay oval whatever the shape of the others.
        look = {"fillcolor": color_of(node), **({"shape": "oval"} if node.operator is None else {})}
        attributes = {**common, **(node_attrs or {}), **look}
        dot.node(keys[node], label=graphviz.escape(label_of(node)), **attributes)
    for node in nodes:
        for value in node.inputs:
            if value.node in keys:
                label = "" if shapes is None else _per_example([shapes.get(value)])
                label += "" if dtypes is None else f"({numpy.dtype(dtypes[value]).name})"
                dot.edge(keys[node], keys[value.node], label=label, dir="back", arrowtail="open")
    return dot


@documented(network=_NETWORK, raises=_RAISES)
def graph_text(symbol: Symbol, shape: Shapes | None = None, hide_weights: bool = True) -> str:
    """Return a network drawn with lines, one row a node; see `print_graph`.

    Parameters
    ----------
    {network}

    Returns
    -------
    str

    {raises}

    Examples
    --------
    >>> import minpy as mx
    >>> print(mx.viz.graph_text(mx.sym.exp(mx.sym.var('x'), name='y')))
    ○  x  variable
    ◉  y  exp       ← x
    """
    return _drawn(symbol, shape, hide_weights, "graph_text")


@documented(network=_NETWORK, raises=_RAISES)
def print_graph(symbol: Symbol, shape: Shapes | None = None, hide_weights: bool = True) -> None:
    """Print a network drawn with lines: every node with its operator, its shapes, and the nodes that feed it.

    `○` is a variable, `●` a layer, `◉` an output. The line beside a branch is what skips it.

    Parameters
    ----------
    {network}

    {raises}

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('data')
    >>> y = mx.sym.FullyConnected(x, num_hidden=4, name='fc')
    >>> y = mx.sym.elemwise_add(mx.sym.relu(y, name='relu'), x, name='skip')
    >>> mx.viz.print_graph(y, shape={'data': (1, 4)})
    ○    data  variable                      (1, 4)
    ├─●  fc    FullyConnected(num_hidden=4)  (1, 4)  ← data
    │ ●  relu  relu                          (1, 4)  ← fc
    ◉─╯  skip  elemwise_add                  (1, 4)  ← relu, data
    """
    print(_drawn(symbol, shape, hide_weights, "print_graph"))


def _drawn(symbol: Symbol, shape: Shapes | None, hide_weights: bool, method: str) -> str:
    order = _order(symbol, method)
    shapes = None if shape is None else _inferred_shapes(symbol, shape, method, partly=True)
    return drawing(symbol.values, shapes, _weights(order) if hide_weights else set())


# -- what the network is -----------------------------------------------------------------------------------------------


def _order(symbol: Any, method: str) -> list[Node]:
    if not isinstance(symbol, Symbol):
        raise ArgumentError(f"{method}: the network is {describe(symbol)}; expected a Symbol.")
    return symbol.order


def _named(value: Any, parameter: str, example: str, method: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{method}: {parameter} is {describe(value)}; expected a dict, such as {example}.")
    return value


def _inferred_shapes(
    symbol: Symbol, shape: Shapes | None, method: str, partly: bool = False
) -> Mapping[Value, tuple[int, ...]]:
    """Return the shapes of all values; unless `partly` or nothing is given, all must be known."""
    shapes = _named({} if shape is None else shape, "shape", "{'data': (1, 3, 32, 32)}", method)
    inferred = symbol._infer_shape(method, (), shapes).known
    if shape is not None and not partly:
        values = [Value(node, index) for node in symbol.order for index in range(len(node.output_names()))]
        _check_all_known(symbol, [value for value in values if not is_known(inferred.get(value))], "shape", method)
    return inferred


def _inferred_dtypes(symbol: Symbol, dtype: Any) -> Mapping[Value, Any]:
    dtypes = _named(dtype, "dtype", "{'data': 'float32'}", "plot_network")
    internals = symbol.get_internals()
    types = dict(zip(internals.values, internals.infer_type_partial(**dtypes)[1], strict=True))
    _check_all_known(symbol, [value for value, inferred in types.items() if inferred is None], "dtype", "plot_network")
    return types


def _check_all_known(symbol: Symbol, unknown: Sequence[Value], parameter: str, method: str) -> None:
    if not unknown:
        return
    names = [repr(value) for value in unknown if value.node.operator is None] or [repr(value) for value in unknown]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    kind = ShapeError if parameter == "shape" else DTypeError
    raise kind(
        f"{method}: the {parameter}s of {shown} do not follow from those given. Give more, by the names of arguments: "
        f"{parameter}={{{names[0]!r}: ...}}."
    )


def _weights(order: Sequence[Node]) -> set[Node]:
    """Return the variables that are named as the parameters and states of layers."""
    return {node for node in order if node.operator is None and node.name.endswith(PARAMETER_ENDINGS)}


def _parameters(order: Sequence[Node], shape: Shapes | None) -> tuple[dict[Node, Node], set[Node]]:
    """Return (the layer that each parameter belongs to: the first that reads it; variables that are no layers)."""
    first: dict[Node, Node] = {}
    roles: dict[Node, set[str]] = {}
    for node in order:
        for role, value in zip(node.input_names() if node.inputs else (), node.inputs, strict=False):
            if value.node.operator is None:
                first.setdefault(value.node, node)
                roles.setdefault(value.node, set()).add(role)
    arguments, states = variables(order)
    fed = {
        node
        for node in arguments
        if node.name in (shape or {}) or node.name.endswith(("data", "label")) or roles.get(node, set()) & {*_FED}
    }
    if shape is None:
        fed |= {*arguments[:1]}
    parameters = {node: first[node] for node in arguments if node not in fed and node in first}
    labels = {node for node in fed if node.name.endswith("label") or "label" in roles.get(node, ())}
    return parameters, {*parameters, *states, *labels}


def _keys(nodes: Sequence[Node]) -> dict[Node, str]:
    """Return a unique name for each node; Graphviz would take what follows a colon for a port."""
    used: set[str] = set()
    keys = {}
    for node in nodes:
        name = node.name.replace(":", "_")
        key, number = name, 1
        while key in used:
            number += 1
            key = f"{name}#{number}"
        used.add(key)
        keys[node] = key
    return keys


# -- words -------------------------------------------------------------------------------------------------------------


def _per_example(shapes: Sequence[Any]) -> str:
    """Return shapes without their first axis."""
    return ", ".join("" if shape is None else joined(shape[1:]) for shape in shapes)


def _count(parameters: Iterable[Node], shapes: Mapping[Value, Any]) -> str:
    """Return how many numbers the parameters have; "?" if that is not known."""
    sizes: list[Any] = [shapes.get(Value(node)) for node in parameters]
    return str(sum(math.prod(size) for size in sizes)) if all(map(is_known, sizes)) else "?"


def _print_row(fields: Sequence[str], ends: Sequence[int]) -> None:
    line = ""
    for text, start, end in zip(fields, (0, *ends[:-1]), ends, strict=True):
        width = max(end - start, 0)
        line += (text if len(text) < width else text[: max(width - 2, 0)] + "…").ljust(width)
    print(line.rstrip())


def print_profile(executor: Executor, is_train: bool = True, repeat: int = 10) -> None:
    """Print how long each node of a bound symbol takes: the table of `Executor.profile`.

    Parameters
    ----------
    executor : Executor
    is_train : bool
        Whether to run as in training, with the backward part.
    repeat : int
        How often; the times are medians.

    Examples
    --------
    >>> import minpy as mx
    >>> executor = mx.sym.tanh(mx.sym.var('x'), name='y').simple_bind(mx.cpu(), x=(2, 3))
    >>> mx.viz.print_profile(executor, is_train=False)
    node   operator  part           time   share
    y      tanh      forward  ... us  100.0%
    total                     ... us  100.0%
    """
    print(executor.profile(is_train=is_train, repeat=repeat))
