"""Symbols in MXNet's JSON form, both ways: what lies in `-symbol.json` files.

    nodes          each with "op" ("null": a variable), "name", "attrs" (all strings; left out if there are none) and
                   "inputs": [node, output, version]
    arg_nodes      which nodes are variables
    node_row_ptr   the number of each node's first output, if all outputs are counted
    heads          the symbol's outputs: [node, output, version]
    attrs          {"mxnet_version": ["int", 10901]}; written under `np_shape` also "is_np_shape": ["int", 1]

Nodes of loops and branches have "subgraphs", too: graphs in the same form, but for "attrs".

A version counts how often operators have written to a variable: states are inputs of version 1, or 2 in the second
operator that shares them. In the graph of a group that a partitioner has taken together it is 0: its variables are new.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.configured import ConfiguredOperator
from minpy.core.customop import USER_OPERATORS, user_name
from minpy.core.errors import ArgumentError, describe
from minpy.core.numpy_semantics import is_np_shape
from minpy.core.operator import Operator
from minpy.core.signatures import Attribute
from minpy.custom.prop_operator import PropOperator
from minpy.files import checked_path, read_file, write_file
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.ops.registry import known_operator
from minpy.symbol.legacy_operators import ObjectProp
from minpy.symbol.loading import Reader
from minpy.symbol.naming import is_annotation
from minpy.symbol.subgraphs import ControlFlow
from minpy.symbol.symbol import Symbol, attribute_string, attribute_strings, method
from minpy.symbol.upgrading import CURRENT

__all__ = ["described", "fromjson", "graphs_inside", "load", "load_json", "save"]

_MAX_PER_LINE = 10


# -- writing ---------------------------------------------------------------------------------------------------------


@method
def save(self: Symbol, fname: str | os.PathLike[str], remove_amp_cast: bool = True, for_mxnet: bool = False) -> None:
    """Write `tojson()` to a file that MXNet reads too.

    The file is written under a temporary name and then renamed: it is there as a whole, or what was there before is.

    Raises
    ------
    ArgumentError
        If the graph has nodes that the form cannot hold; nothing is written then.
    FileAccessError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import sym
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sym.tanh(sym.var('x'), name='y').save(os.path.join(folder, 'net-symbol.json'))
    ...     load(os.path.join(folder, 'net-symbol.json'))
    <Symbol y>
    """
    path = checked_path("sym.save", fname)
    content = tojson(self, remove_amp_cast, for_mxnet).encode()
    write_file("sym.save", path, [content])


@method
def tojson(self: Symbol, remove_amp_cast: bool = True, for_mxnet: bool = False) -> str:
    """Return the graph in MXNet's JSON form, as MXNet 1.9.1 writes it.

    Parameters
    ----------
    remove_amp_cast : bool
        Leave out the casts of mixed precision.
    for_mxnet : bool
        Refuse what MXNet does not know: functions of `@customop`, and NumPy's that have no name in its files.

    Raises
    ------
    ArgumentError
        If the graph has nodes that the form cannot hold: constants, staged gradients, operators that were not made
        with `@customop`, attributes that are no numbers, strings or tuples of them.

    Examples
    --------
    >>> from minpy import sym
    >>> print(sym.var('x').tojson())
    {
      "nodes": [
        {
          "op": "null",
          "name": "x",
          "inputs": []
        }
      ],
      "arg_nodes": [0],
      "node_row_ptr": [0, 1],
      "heads": [[0, 0, 0]],
      "attrs": {"mxnet_version": ["int", 10901]}
    }
    """
    facts = [*(['"is_np_shape": ["int", 1]'] if is_np_shape() else []), f'"mxnet_version": ["int", {CURRENT}]']
    return _graph(self, remove_amp_cast, for_mxnet, 0, [f'"attrs": {_listed(facts, "{}", 4, 1)}'])


def _graph(
    symbol: Symbol, remove_amp_cast: bool, for_mxnet: bool, margin: int, extra_fields: list[str], counts: bool = True
) -> str:
    """Return a graph; its lines begin after `margin` spaces, and `extra_fields` follow. It may count versions."""
    order = [node for node in _without_numbers(symbol) if not _is_left_out(node, remove_amp_cast)]
    numbers = {node: number for number, node in enumerate(order)}
    writes: dict[Node, int] = {}

    def entry(value: Value, version: int = 0) -> str:
        if value.index == ANSWER:
            raise ArgumentError(
                f"Symbol.tojson: all outputs of {value.node.described()} are read at once, in a staged gradient, which "
                "MXNet's form cannot hold. Save the symbol that it is a gradient of."
            )
        return f"[{numbers[value.node]}, {value.index}, {version}]"

    def source(value: Value) -> Value:
        while value.node not in numbers:
            value = value.node.inputs[0]
        return value

    nodes, rows = [], [0]
    for node in order:
        op, attributes, outputs = described(node)
        numbers_given = _numbers_given(node)
        attributes |= {name: _user_text(value) for name, value in numbers_given.values()}
        if for_mxnet and ":" in op:
            raise ArgumentError(f"Symbol.tojson: {_not_in_mxnet(node, op)}")
        states = _states(node) if counts else ()
        inputs = []
        for position, value in enumerate(node.inputs):
            if position in numbers_given:
                continue
            value = source(value)
            if position in states and value.node.operator is None:
                writes[value.node] = writes.get(value.node, 0) + 1
            inputs.append(entry(value, writes.get(value.node, 0)))
        fields = [f'"op": {_quoted(op, node)}', f'"name": {_quoted(node.name, node)}']
        if attributes:
            pairs = [f"{_quoted(key, node)}: {_quoted(text, node)}" for key, text in sorted(attributes.items())]
            fields.append(f'"attrs": {_listed(pairs, "{}", margin + 8, 1)}')
        fields.append(f'"inputs": {_listed(inputs, "[]", margin + 8)}')
        inside = graphs_inside(node)
        if inside:
            is_group = isinstance(node.operator, ConfiguredOperator)
            graphs = [_graph(graph, False, for_mxnet, margin + 8, [], not is_group) for graph in inside]
            fields.append(f'"subgraphs": {_listed(graphs, "[]", margin + 8, 0)}')
        nodes.append(_listed(fields, "{}", margin + 6, 0))
        rows.append(rows[-1] + outputs)
    variables = [str(number) for number, node in enumerate(order) if node.operator is None]
    heads = [entry(source(value)) for value in symbol.values]
    fields = [
        f'"nodes": {_listed(nodes, "[]", margin + 4, 0)}',
        f'"arg_nodes": {_listed(variables, "[]", margin + 4)}',
        f'"node_row_ptr": {_listed([*map(str, rows)], "[]", margin + 4)}',
        f'"heads": {_listed(heads, "[]", margin + 4)}',
        *extra_fields,
    ]
    return _listed(fields, "{}", margin + 2, 0)


def _is_left_out(node: Node, remove_amp_cast: bool) -> bool:
    """Tell whether a file holds the first input of a node in its place."""
    is_checking = isinstance(node.operator, Operator) and node.operator.is_left_out
    return is_checking or (remove_amp_cast and node.kind == "amp_cast")


def _without_numbers(symbol: Symbol) -> list[Node]:
    """Return the nodes of a graph but for numbers that are given to users' operators: these hold them as attributes."""
    read = {value.node for value in symbol.values}
    for node in symbol.order:
        numbers = _numbers_given(node)
        read.update(value.node for position, value in enumerate(node.inputs) if position not in numbers)
    return [node for node in symbol.order if node in read]


def _numbers_given(node: Node) -> dict[int, tuple[str, Any]]:
    """Return which inputs of a node are numbers that a user's operator is given: names and values, by position."""
    operator = node.operator
    if not isinstance(operator, Operator) or operator.builtin or operator.signature.variadic is not None:
        return {}
    numbers = {}
    for position, (name, value) in enumerate(zip(operator.signature.inputs, node.inputs, strict=False)):
        number = value.node.attributes.get("value") if value.node.operator is CONSTANT else node
        if number is None or type(number) in (bool, int, float, complex, str):  # NumPy's have dtypes
            numbers[position] = name, number
    return numbers


def _user_text(value: Any) -> str:
    """Return an attribute whose type is not annotated: strings are written in quotes."""
    return repr(value) if isinstance(value, str) else attribute_string(value)


def graphs_inside(node: Node) -> Sequence[Symbol]:
    """Return the graphs that a node holds."""
    if isinstance(node.operator, ControlFlow):
        return [graph.symbol for graph in node.operator.graphs]
    return node.operator.graphs if isinstance(node.operator, ConfiguredOperator) else ()


def _listed(items: list[str], brackets: str, indent: int, max_per_line: int = _MAX_PER_LINE) -> str:
    """Return items in brackets as MXNet spaces them: more than `max_per_line` each in its own line."""
    if len(items) <= max_per_line:
        return f"{brackets[0]}{', '.join(items)}{brackets[1]}"
    margin = "\n" + " " * indent
    return f"{brackets[0]}{margin}{f', {margin}'.join(items)}{margin[:-2]}{brackets[1]}"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _quoted(text: str, node: Node) -> str:
    """Return a string in quotes, with the escapes that MXNet reads: it knows no others."""
    if "\0" in text:
        raise ArgumentError(
            f"Symbol.tojson: {node.described()}: {text!r} contains '\\0', where MXNet would cut it off."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"Symbol.tojson: {node.described()}: {text!r} cannot be written in UTF-8: {error.reason}."
        ) from None
    return f'"{text.translate(_ESCAPES)}"'


def described(node: Node) -> tuple[str, dict[str, str], int]:
    """Return (op, attributes, number of outputs) of a node in MXNet's terms."""
    op, attributes, outputs = _operator_described(node)
    return op, {**node.annotations, **attributes}, max(outputs, len(node.output_names()))


def _operator_described(node: Node) -> tuple[str, Mapping[str, str], int]:
    """Return (op, attributes of the operator, number of outputs, 0: those that callers see)."""
    operator = node.operator
    if operator is None:
        return "null", {}, 0
    if operator is CONSTANT:
        raise ArgumentError(
            f"Symbol.tojson: node {node.name!r} is a constant, {describe(node.attributes.get('value'))}: MXNet's form "
            "holds no values, but for Python's numbers that are given to a @customop. Make it an input, with "
            "mx.sym.var(name), and save its value with nd.save."
        )
    if isinstance(operator, PropOperator) and isinstance(operator.prop, ObjectProp):
        raise ArgumentError(
            f"Symbol.tojson: node {node.name!r} calls {operator.__name__}, an object of this program, which a file "
            "cannot hold. Write it as a CustomOp with a registered CustomOpProp: its name can be saved."
        )
    if isinstance(operator, (ControlFlow, PropOperator)):
        return "Custom" if isinstance(operator, PropOperator) else operator.__name__, attribute_strings(node), 0
    if isinstance(operator, ConfiguredOperator):
        return operator.__name__, operator.parameters, 0
    if isinstance(operator, Operator):
        registered_name = next(
            (name for name in (node.kind, operator.__name__) if known_operator(name) is operator), None
        )
        if registered_name is not None:
            return _builtin(node, operator, registered_name)
        if USER_OPERATORS.get(user_name(operator)) is operator:
            return user_name(operator), _user_attributes(node), 0
    raise ArgumentError(f"Symbol.tojson: {_reason(node)}")


def _not_in_mxnet(node: Node, op: str) -> str:
    """Return why a node cannot stand in a file for MXNet, and what to do about that."""
    reason = "is a function that MXNet's files have no name for" if op.startswith("minpy:") else "calls a @customop"
    return (
        f"node {node.name!r} ({op}) {reason}. Write it with operators of MXNet's, as a CustomOp, or write a file for "
        "minpy only: for_mxnet=False."
    )


def _reason(node: Node) -> str:
    """Return why a node has no name in a file, and what to do about that."""
    operator = node.operator
    subject = f"node {node.name!r} ({node.kind})"
    if not isinstance(operator, Operator):
        return (
            f"{subject} is a staged gradient, which MXNet's form cannot hold. Save the symbol that it is a gradient of."
        )
    if operator.builtin:
        return f"{subject} is an operator that has no name in MXNet. Use operators of mx.sym, or a @customop."
    if user_name(operator) in USER_OPERATORS:
        return (
            f"{subject} calls an operator that is no longer the one named {user_name(operator)!r}: another was defined "
            "under this name since, and would be loaded. Give each its own name, or compose the symbol anew."
        )
    return f"{subject} calls an operator that no name leads to. Define it with @customop."


def mxnet_name(operator: Operator, kind: str) -> str:
    """Return what MXNet writes for a call of a built-in operator by the name `kind`."""
    return kind if kind in operator.saved_aliases else operator.saved_name or operator.__name__


def _builtin(node: Node, operator: Operator, kind: str) -> tuple[str, dict[str, str], int]:
    op = mxnet_name(operator, kind)
    attributes = {key: _plain(node, key, value) for key, value in node.attributes.items()}
    if attributes.pop("training", None) is not None:
        raise ArgumentError(
            f"Symbol.tojson: {node.described()}: MXNet's form does not know the attribute 'training'. Leave it out, "
            "and tell the executor: forward(is_train=...)."
        )
    if operator.saved_attributes is not None:
        attributes = operator.saved_attributes(attributes)
    if operator.signature.variadic is not None:
        attributes.setdefault("num_args", len(node.inputs))
    texts = {key: attribute_string(value) for key, value in attributes.items()}
    has_parameters = bool(operator.signature.attributes) or operator.signature.variadic is not None
    for key in node.annotations:
        if has_parameters and not is_annotation(key):
            raise ArgumentError(
                f"Symbol.tojson: {node.described()} has the noted attribute {key!r}, which would be taken for one of "
                f"{op} itself. Name it '__{key}__'."
            )
    return op, texts, 0 if operator.saved_outputs is None else operator.saved_outputs(attributes)


def _user_attributes(node: Node) -> dict[str, str]:
    """Return the attributes of a `@customop`: strings where the type is not annotated are written in quotes."""
    texts = {}
    for key, value in node.attributes.items():
        attribute = node.operator.signature.attributes.get(key)
        plain = _plain(node, key, value)
        is_plain = not isinstance(attribute, Attribute) or attribute.type is None
        texts[key] = _user_text(plain) if is_plain else attribute_string(plain)
    return texts


def _plain(node: Node, key: str, value: Any) -> Any:
    """Return an attribute's value with Python's numbers for NumPy's."""
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return tuple(_plain(node, key, part) for part in value)
    if value is None or isinstance(value, (bool, int, float, str, numpy.dtype)):
        return value
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return value
    raise ArgumentError(
        f"Symbol.tojson: node {node.name!r} ({node.kind}): attribute {key!r} is {describe(value)}; files hold numbers, "
        "strings, and tuples of them. Make it an input of the operator."
    )


def _states(node: Node) -> Container[int]:
    if node.operator is None or not node.operator.auxiliary:
        return ()
    names = node.input_names()
    return {position for position, name in enumerate(names) if name in node.operator.auxiliary}


# -- reading ---------------------------------------------------------------------------------------------------------


def load(fname: str | os.PathLike[str]) -> Symbol:
    """Read a symbol from a file that `Symbol.save` or MXNet (0.8 to 1.9) wrote.

    Parameters
    ----------
    fname : str or PathLike

    Raises
    ------
    FileMissingError
        If there is no such file.
    FileAccessError
        If it cannot be read.
    FileFormatError
        If it is damaged or of another format, or uses operators or attributes that minpy does not know.
    ArgumentError
        If it uses a custom operator that is not registered.

    Examples
    --------
    >>> load('no-such-symbol.json')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: sym.load: cannot read 'no-such-symbol.json': No such file or directory.
    """
    path = checked_path("sym.load", fname)
    content = read_file("sym.load", path)
    return Reader(f"sym.load: {path!r}").read(content)


def load_json(json_str: str) -> Symbol:
    """Return the symbol that MXNet's JSON form describes; see `load`.

    Parameters
    ----------
    json_str : str

    Raises
    ------
    ArgumentError
        If `json_str` is no string, or names a custom operator that is not registered.
    FileFormatError
        If it is no symbol in MXNet's form, or uses operators or attributes that minpy does not know.

    Examples
    --------
    >>> from minpy import sym
    >>> load_json(sym.tanh(sym.var('x'), name='y').tojson()).list_outputs()
    ['y_output']
    """
    if not isinstance(json_str, str):
        raise ArgumentError(
            f"sym.load_json: got {describe(json_str)}; expected the string that Symbol.tojson returns. Use sym.load "
            "for the name of a file."
        )
    return Reader("sym.load_json").read(json_str)


fromjson = load_json


@method
def __setstate__(self: Symbol, state: dict[str, str]) -> None:
    """Take over what a pickle written by MXNet holds: the symbol as in a file."""
    self.values = load_json(state["handle"]).values
