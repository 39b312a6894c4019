"""Reads symbols from MXNet's JSON form, of any version from 0.8 to 1.9; errors say where in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple, NoReturn

from minpy.core.base_operator import BaseOperator
from minpy.core.configured import FAMILIES, ConfiguredOperator
from minpy.core.customop import USER_OPERATORS
from minpy.core.errors import ArgumentError, FileFormatError, MXNetError, describe, nearest
from minpy.core.numpy_semantics import is_np_shape
from minpy.core.operator import Operator
from minpy.core.output_counts import LearnedOutputs, numbered_outputs
from minpy.core.signatures import REQUIRED, Attribute
from minpy.custom.custom_call import prop_operator
from minpy.custom.prop_operator import PropOperator
from minpy.custom.registry import PROPS
from minpy.graph.ir import Node, Value, constant
from minpy.graph.verifier import GraphError, verify
from minpy.ops.registry import OPERATORS, known_operator
from minpy.symbol.attribute_texts import Unfit, says_nothing, value_of
from minpy.symbol.naming import hidden_key, is_annotation
from minpy.symbol.not_here import Missing, advice_of, is_known, shortened, table_of
from minpy.symbol.renamed import present_name
from minpy.symbol.subgraphs import CONTROL_FLOW, Cond, ControlFlow, Foreach, Subgraph, WhileLoop
from minpy.symbol.symbol import Symbol
from minpy.symbol.upgrading import CURRENT, missing_inputs, numpy_shape_text, pop_input_attributes, upgraded

__all__ = ["Reader"]

_DAMAGED = "It is damaged or incomplete: copy or download it again, or save it anew."
_WANTED = "Give a file written by Symbol.save, or export."
_KNOWN_BEGINNINGS = {
    b"\x12\x01\0\0": "It holds arrays: read it with nd.load. The symbol is in the -symbol.json file beside it.",
    b"version https://git-lfs": "It is a pointer of Git LFS: fetch the file itself with `git lfs pull`.",
    b"<": "It looks like a web page: the download brought an error page instead of the file.",
}
_OLDEST = 800  # what files without a version are taken for

_DOCUMENT_KEYS = ("nodes", "arg_nodes", "node_row_ptr", "heads", "attrs")
# Later ones win, as in MXNet.
_ATTRIBUTE_KEYS = ("param", "attr", "attrs")
_NODE_KEYS = ("op", "name", "inputs", *_ATTRIBUTE_KEYS, "backward_source_id", "control_deps", "subgraphs")

# Attributes that say how MXNet computes, not what: ignored where an operator does not take them.
_IGNORED = frozenset(("workspace", "cudnn_algo_verbose", "cudnn_off", "cudnn_tune", "num_args"))
# More would exhaust the memory before anything could be wrong with them.
_MOST_OUTPUTS = 100_000
_MOST_LEVELS = 50  # of graphs inside of nodes


class _Row(NamedTuple):
    """A node as the file holds it."""

    number: int
    op: str
    name: str
    attributes: dict[str, str]
    inputs: list[tuple[int, int]]
    graphs: list[Symbol]

    def __str__(self) -> str:
        kind = "variable" if self.op == "null" else shortened(self.op)
        return f"node {self.number} ({shortened(self.name)}, {kind})"


class Reader:
    """Makes a symbol of a text; its errors begin with `source`."""

    def __init__(self, source: str, level: int = 0) -> None:
        self.source = source
        self.version = _OLDEST
        self._level = level
        self._has_numpy_shapes = False  # written under `np_shape`: a length of 0 is one, and does not mean "unknown"

    def fail(self, problem: str, advice: str = _DAMAGED, cause: Exception | None = None) -> NoReturn:
        """Raise the error for a problem."""
        raise FileFormatError(f"{self.source}: {problem}. {advice}".rstrip()) from cause

    def read(self, content: bytes | str) -> Symbol:
        """Return the symbol.

        Raises
        ------
        FileFormatError
            If there is anything wrong with the text.
        ArgumentError
            If it needs a custom operator that is not registered, or that fails.
        """
        document = self._document(self._text(content))
        self._check_keys(document, _DOCUMENT_KEYS, ("nodes", "heads"), "the file")
        self.version = self._version(document)
        facts = document.get("attrs")
        self._has_numpy_shapes = isinstance(facts, dict) and facts.get("is_np_shape") == ["int", 1]
        return self._symbol(document)

    def _symbol(self, document: dict[str, Any]) -> Symbol:
        items = document["nodes"]
        if not isinstance(items, list) or not items:
            self.fail(f'"nodes" is {_shown(items)}; expected a list that is not empty')
        rows = [self._row(number, item) for number, item in enumerate(items)]
        self._require_operators(rows)
        nodes = self._nodes(rows, document.get("node_row_ptr"))
        heads = self._entries(document["heads"], len(nodes), '"heads"')
        if not heads:
            self.fail('"heads" is empty; expected the outputs of the symbol')
        values = [Value(nodes[number], index) for number, index in heads]
        self._check_index(document, rows, nodes)
        try:
            verify(values)
        except GraphError as error:
            self.fail(str(error).rstrip("."), cause=error)
        return Symbol(values)

    # -- the text --------------------------------------------------------------------------------------------------

    def _text(self, content: bytes | str) -> str:
        if isinstance(content, str):
            return content
        if not content:
            self.fail("it is empty")
        for beginning, advice in _KNOWN_BEGINNINGS.items():
            if content.startswith(beginning):
                self.fail("it is no symbol", advice)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.fail(f"it is no text: {error.reason} at byte {error.start}", _WANTED, error)

    def _document(self, text: str) -> dict[str, Any]:
        advice = _DAMAGED if text.lstrip()[:1] in ("{", "") else _WANTED
        try:
            # Control characters may stand in strings: MXNet writes them as they are.
            document = json.loads(text, strict=False)
        except json.JSONDecodeError as error:
            self.fail(f"it is no JSON: line {error.lineno}, column {error.colno}: {error.msg}", advice, error)
        except RecursionError as error:
            self.fail("it is no symbol: lists or objects are nested too deep", cause=error)
        except ValueError as error:  # a number of thousands of digits
            self.fail(f"it is no symbol: {error}", cause=error)
        if not isinstance(document, dict):
            self.fail(f"it is no symbol, but {_shown(document)}; expected an object with nodes and heads")
        return document

    def _check_keys(
        self, item: Mapping[str, Any], allowed: Sequence[str], required: Sequence[str], subject: str
    ) -> None:
        for key in required:
            if key not in item:
                self.fail(f'{subject} has no "{key}"; it has {", ".join(map(shortened, [*item][:12])) or "nothing"}')
        for key in item:
            if key not in allowed:
                self.fail(
                    f"{subject} has an unknown entry {shortened(key)}; known are {', '.join(allowed)}."
                    f"{nearest(key[:100], allowed)}".rstrip(".")
                )

    def _version(self, document: dict[str, Any]) -> int:
        attributes = document.get("attrs", {})
        entry = attributes.get("mxnet_version", ["int", _OLDEST]) if isinstance(attributes, dict) else attributes
        if not isinstance(entry, list) or len(entry) != 2 or entry[0] != "int" or type(entry[1]) is not int:
            self.fail(f'"attrs" says {_shown(entry)} for the version; expected {{"mxnet_version": ["int", 10901]}}')
        return int(entry[1])

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _row(self, number: int, item: Any) -> _Row:
        subject = f"node {number}"
        if not isinstance(item, dict):
            self.fail(f"{subject} is {_shown(item)}; expected an object with op, name and inputs")
        if isinstance(item.get("name"), str):
            subject = f"node {number} ({shortened(item['name'])})"
        self._check_keys(item, _NODE_KEYS, ("op", "name", "inputs"), subject)
        for key in ("op", "name"):
            if not isinstance(item[key], str):
                self.fail(f'{subject}: "{key}" is {_shown(item[key])}; expected a string')
        attributes: dict[str, str] = {}
        for key in _ATTRIBUTE_KEYS:
            texts = item.get(key, {})
            if not isinstance(texts, dict):
                self.fail(f'{subject}: "{key}" is {_shown(texts)}; expected an object of strings')
            for name, text in texts.items():
                if not isinstance(text, str):
                    self.fail(f"{subject}: attribute {shortened(name)} is {_shown(text)}; expected a string")
            attributes.update(texts)
        if item.get("control_deps"):
            self.fail(f'{subject} has "control_deps", which minpy does not support', "")
        if item.get("subgraphs") and item["op"] not in CONTROL_FLOW and item["op"] not in FAMILIES:
            self.fail(
                f'{subject} has "subgraphs", which {", ".join(CONTROL_FLOW)} have, and operators of native libraries '
                f"and of partitioners; there is no such operator {shortened(item['op'])}",
                "Load the library first, with mx.library.load, or register the partitioner.",
            )
        for text in (item["name"], *attributes, *attributes.values()):
            if not _is_unicode(text):
                self.fail(f"{subject}: {shortened(text)} is half of a surrogate pair, no text")
        entries = self._entries(item["inputs"], number, f'{subject}: "inputs"')
        row = _Row(
            number,
            present_name(item["op"]),
            item["name"],
            attributes,
            entries,
            self._graphs(item.get("subgraphs", []), subject),
        )
        if row.op == "null" and (row.inputs or not row.name):
            self.fail(f"{row}: a variable must have a name and no inputs")
        return row

    def _graphs(self, items: Any, subject: str) -> list[Symbol]:
        """Return the graphs inside of a node."""
        if not isinstance(items, list):
            self.fail(f'{subject}: "subgraphs" is {_shown(items)}; expected a list of graphs')
        if items and self._level >= _MOST_LEVELS:
            self.fail(f"{subject}: graphs are nested more than {_MOST_LEVELS} deep")
        graphs = []
        for position, item in enumerate(items):
            if not isinstance(item, dict):
                self.fail(
                    f'{subject}: "subgraphs"[{position}] is {_shown(item)}; expected an object with nodes and heads'
                )
            inner = Reader(f"{self.source}: {subject}: graph {position}", self._level + 1)
            inner._check_keys(item, _DOCUMENT_KEYS, ("nodes", "heads"), "it")
            inner.version, inner._has_numpy_shapes = self.version, self._has_numpy_shapes
            graphs.append(inner._symbol(item))
        return graphs

    def _entries(self, items: Any, count: int, subject: str) -> list[tuple[int, int]]:
        """Return pairs of (node, output), where the node is among the first `count`."""
        if not isinstance(items, list):
            self.fail(f"{subject} is {_shown(items)}; expected a list of [node, output, version]")
        entries = []
        for position, item in enumerate(items):
            if not (
                isinstance(item, list) and 2 <= len(item) <= 3 and all(type(part) is int and part >= 0 for part in item)
            ):
                self.fail(f"{subject}[{position}] is {_shown(item)}; expected [node, output, version], numbers from 0")
            if item[0] >= count:
                self.fail(
                    f"{subject}[{position}] names node {_shown(item[0])}; expected a node that comes before, "
                    + (f"0 to {count - 1}" if count else "and there is none")
                )
            entries.append((item[0], item[1]))
        return entries

    def _nodes(self, rows: Sequence[_Row], pointers: Any) -> list[Node]:
        nodes: list[Node] = []
        counts: list[int] = []
        names: dict[str, int] = {}
        for row in rows:
            if row.op == "null":
                if row.name in names:
                    self.fail(f"{row}: node {names[row.name]} is a variable of the same name; names must differ")
                names[row.name] = row.number
                node = self._variable(row)
            else:
                inputs = []
                for position, (number, index) in enumerate(row.inputs):
                    if index >= counts[number]:
                        self.fail(
                            f"{row}: input {position} is output {_shown(index)} of {rows[number]}, which has "
                            f"{counts[number]}"
                        )
                    inputs.append(Value(nodes[number], index))
                node = self._call(row, inputs)
            nodes.append(node)
            if node.operator is not None and type(node.operator.outputs) is LearnedOutputs:
                _expect_outputs(node, row.number, pointers)
            counts.append(self._number_of_outputs(row, node))
        return nodes

    def node(
        self,
        number: int,
        op: str,
        name: str,
        attributes: Mapping[str, str],
        inputs: Sequence[Value],
        graphs: Sequence[Symbol],
    ) -> Node:
        """Return one node as a file has it, of inputs and graphs inside that are there already.

        Raises
        ------
        FileFormatError
            If there is no such operator, or inputs or attributes are not its own.
        ArgumentError
            If a custom operator is not registered, or fails.
        """
        self.version = CURRENT
        entries = [(0, value.index) for value in inputs]
        row = _Row(number, present_name(op), name, dict(attributes), entries, list(graphs))
        if row.op == "null" and inputs:
            self.fail(f"{row}: a variable must have no inputs", "")
        node = self._variable(row) if row.op == "null" else self._call(row, list(inputs))
        self._number_of_outputs(row, node)
        return node

    def _variable(self, row: _Row) -> Node:
        annotations = upgraded(row.op, row.attributes, self.version)
        self._check_annotations(row, annotations)
        if "__shape__" in annotations and is_np_shape() and not self._has_numpy_shapes:
            annotations["__shape__"] = numpy_shape_text(annotations["__shape__"])
        return Node(None, (), {}, row.name, annotations=annotations)

    def _number_of_outputs(self, row: _Row, node: Node) -> int:
        try:
            return len(node.output_names())
        except MXNetError as error:
            self.fail(f"{row}: {str(error).rstrip('.')}", cause=error)
            raise AssertionError from None

    def _check_annotations(self, row: _Row, annotations: Mapping[str, str]) -> None:
        """Raise unless what is noted about a variable's shape and dtype can be read."""
        for key, pattern in (("__shape__", r"[\s\dL,()\[\]-]*|None"), ("__dtype__", r"\s*-?\d{1,9}\s*")):
            text = annotations.get(key, "0")
            if len(text) > 1000 or not re.fullmatch(pattern, text) or re.search(r"\d{19}", text):
                expected = "a tuple of numbers" if key == "__shape__" else "the number of a dtype"
                self.fail(f"{row}: attribute {key!r} is {shortened(text)}; expected {expected}")

    def _call(self, row: _Row, inputs: list[Value]) -> Node:
        """Return the node of an operator's call."""
        texts = upgraded(row.op, row.attributes, self.version)
        annotations = {key: texts.pop(key) for key in list(texts) if is_annotation(key)}
        operator: Any
        kind, attributes, for_inputs = row.op, {}, []
        if kind == "Custom" or (kind in PROPS and not known_operator(kind)):
            if kind != "Custom":  # an operator that was built into MXNet, and that a user has written anew
                texts, kind = {"op_type": kind, **texts}, "Custom"
            operator = self._custom(row, texts)
        elif kind in CONTROL_FLOW:
            operator = self._control_flow(row, texts)
        elif kind in FAMILIES:
            operator = self._configured(row, texts, annotations)
        else:
            operator, kind = self._operator(row)
            signature = operator.signature
            if operator.builtin and not signature.attributes and signature.variadic is None:
                annotations, texts = {**texts, **annotations}, {}  # MXNet keeps whatever such operators have
            if not operator.builtin:
                inputs = self._with_numbers(row, operator, texts, inputs)
            for_inputs = pop_input_attributes(signature.inputs, texts, self.version)
            attributes = self._attributes(row, operator, texts)
        names_of_inputs = operator.input_names(attributes, self._number_of_inputs(row, operator, texts, len(inputs)))
        inputs += missing_inputs(row.name, names_of_inputs, len(inputs), annotations, self.version)
        self._check_inputs(row, operator, attributes, texts, inputs)
        node = Node(operator, inputs, attributes, row.name, kind, annotations)
        names = node.input_names()
        for argument, name, text in for_inputs:
            target = inputs[names.index(argument)].node if argument in names else None
            if target is None or not target.is_variable:
                self.fail(f"{row}: attribute '{argument}_{name}' is meant for a variable, and {argument} is none")
            target.annotations[hidden_key(name)] = text
        return node

    def _require_operators(self, rows: Sequence[_Row]) -> None:
        """Raise, once for all, unless there are the operators that are called."""
        missing: dict[tuple[str, bool], Missing] = {}
        for row in rows:
            custom = row.op == "Custom"
            op = row.attributes.get("op_type", "") if custom else row.op
            if op not in PROPS if custom else not is_known(op):
                missing.setdefault((op, custom), Missing(op, custom, [])).nodes.append(str(row))
        if len(missing) > 1:
            self.fail(table_of([*missing.values()], len(rows)).rstrip("."), "")

    def _operator(self, row: _Row) -> tuple[Operator, str]:
        """Return the operator of that name, and what we call it."""
        kind = row.op
        operator = known_operator(kind)
        if operator is not None:
            return operator, kind
        operator = USER_OPERATORS.get(kind)
        if operator is not None:
            return operator, operator.__name__
        if ":" in kind and not kind.startswith("minpy:np."):
            self.fail(f"{row}: there is no @customop of that name", advice_of(kind))
        self.fail(
            f"{row}: there is no operator {shortened(kind)}.{nearest(kind[:100], OPERATORS)} Known are those of "
            "mx.sym, Custom, and those of native libraries that were loaded (mx.library.load)",
            advice_of(kind),
        )
        raise AssertionError

    def _custom(self, row: _Row, parameters: dict[str, str]) -> PropOperator:
        parameters = dict(parameters)
        if "op_type" not in parameters:
            self.fail(f"{row}: attribute 'op_type' is missing; it names the custom operator")
        with self._naming(row):
            return prop_operator(parameters.pop("op_type"), parameters)

    def _configured(self, row: _Row, parameters: dict[str, str], annotations: dict[str, str]) -> ConfiguredOperator:
        """Return an operator of a native library, or one made of the graphs inside of the node."""
        with self._naming(row):
            operator = FAMILIES[row.op].configured(parameters, annotations, row.graphs)
            operator.require_inputs(len(row.inputs))
        return operator

    @contextmanager
    def _naming(self, row: _Row) -> Iterator[None]:
        """Let errors of an operator that is made say of which node."""
        try:
            yield
        except MXNetError as error:
            raise ArgumentError(f"{self.source}: {row}: {error}") from error

    def _control_flow(self, row: _Row, attributes: dict[str, str]) -> ControlFlow:
        """Return the operator of a loop or a branch, made of its graphs and of where their inputs come from."""
        count, number_of_graphs = len(row.inputs), {"_foreach": 1, "_while_loop": 2, "_cond": 3}[row.op]
        if len(row.graphs) != number_of_graphs:
            self.fail(f'{row}: "subgraphs" holds {len(row.graphs)} graph(s); expected {number_of_graphs}')
        outputs = expected = self._number(row, attributes, "num_outputs")
        stacked = 0 if row.op == "_cond" else self._number(row, attributes, "num_out_data")
        if row.op == "_foreach":
            names: tuple[str, ...] = ("in_data_locs", "in_state_locs", "remain_locs")
            data, states, remaining = (self._positions(row, attributes, name, count) for name in names)
            where = [*data, *states, *remaining]
            if sorted(where) != list(range(count)) or not data:
                self.fail(
                    f"{row}: {', '.join(names)} are {data}, {states}, {remaining}; expected each of {count} input(s) "
                    "once"
                )
            sources = [[where.index(position) for position in range(count)]]
            self._check_graphs(row, sources, [outputs], count)
        else:
            parts = ("cond", "func") if row.op == "_while_loop" else ("cond", "then", "else")
            sources = [self._positions(row, attributes, f"{part}_input_locs", count) for part in parts]
            self._check_graphs(row, sources, [1, outputs, outputs][:number_of_graphs], count)
        graphs = [*map(Subgraph, row.graphs, sources)]
        operator: ControlFlow
        if row.op == "_cond":
            operator = Cond(graphs)
        elif row.op == "_foreach":
            operator, expected = Foreach(graphs, stacked, data, states), stacked + len(states)
        else:
            states = self._positions(row, attributes, "func_var_locs", len(sources[1]))
            most = self._number(row, attributes, "max_iterations")
            operator, expected = WhileLoop(graphs, stacked, states, most), stacked + len(states)
        if expected != outputs or not outputs:
            self.fail(f"{row}: attribute 'num_outputs' is {outputs}; expected {expected}")
        return operator

    def _number(self, row: _Row, attributes: Mapping[str, str], name: str) -> int:
        text = attributes.get(name, "").strip()
        if not re.fullmatch(r"\d{1,9}", text):
            self.fail(f"{row}: attribute {name!r} is {shortened(text)}; expected a number")
        return int(text)

    def _positions(self, row: _Row, attributes: Mapping[str, str], name: str, count: int) -> list[int]:
        """Return a list of different numbers below `count`."""
        text = attributes.get(name, "").strip()
        if not re.fullmatch(r"[\[(][\d, ]*[\])]", text):
            self.fail(f"{row}: attribute {name!r} is {shortened(text)}; expected a list of numbers, such as [0, 1]")
        positions = [int(part) for part in re.findall(r"\d{1,9}", text)]
        if len({*positions}) != len(positions) or any(position >= count for position in positions):
            self.fail(f"{row}: attribute {name!r} is {shortened(text)}; expected different numbers below {count}")
        return positions

    def _check_graphs(self, row: _Row, sources: Sequence[Sequence[int]], heads: Sequence[int], inputs: int) -> None:
        """Raise unless the graphs have as many variables and outputs as the node says."""
        for number, (graph, where, count) in enumerate(zip(row.graphs, sources, heads, strict=True)):
            names = graph.list_inputs()
            if len(names) != len(where) or len(graph) != count:
                self.fail(
                    f"{row}: graph {number} has {len(names)} variable(s) and {len(graph)} output(s); expected "
                    f"{len(where)} and {count}"
                )
        if {*chain(*sources)} != {*range(inputs)}:
            self.fail(f"{row} has {inputs} input(s), and its graphs do not read each of them")

    # -- attributes ------------------------------------------------------------------------------------------------

    def _attributes(self, row: _Row, operator: Operator, texts: dict[str, str]) -> dict[str, Any]:
        by_name = {
            key: attribute
            for key, attribute in operator.signature.attributes.items()
            if key != "training" or not operator.builtin
        }
        attributes = {}
        for key, text in texts.items():
            if key in by_name:
                required = by_name[key].default is REQUIRED
                if required or not says_nothing(by_name[key], text.strip()):
                    attributes[key] = self._value(row, by_name[key], text)
            elif operator.signature.open_ended:
                attributes[key] = self._value(row, Attribute(key, None, None), text)
            elif key not in _IGNORED:
                self._unknown(row, key, operator, [*by_name])
        for key, attribute in by_name.items():
            if attribute.default is REQUIRED and key not in attributes:
                self.fail(f"{row}: attribute {key!r} is missing")
        for key in ("num_outputs", "sections", "indices_or_sections"):
            count = attributes.get(key)
            if isinstance(count, int) and not 0 <= count <= _MOST_OUTPUTS:
                self.fail(f"{row}: attribute {key!r} is {_shown(count)}; expected a number from 0 to {_MOST_OUTPUTS}")
        return attributes

    def _with_numbers(self, row: _Row, operator: Operator, texts: dict[str, str], inputs: list[Value]) -> list[Value]:
        """Return the inputs of a user's operator with the numbers that stand among its attributes in their places."""
        names = operator.signature.inputs
        numbers = {
            name: self._value(row, Attribute(name, None, None), texts.pop(name)) for name in names if name in texts
        }
        if not numbers:
            return inputs
        remaining, values = iter(inputs), []
        for name in names:
            value = constant(numbers[name]) if name in numbers else next(remaining, None)
            if value is None and name not in operator.signature.defaults:
                self.fail(f"{row}: input {name!r} is missing")
            values.append(constant(operator.signature.defaults[name]) if value is None else value)
        return [*values, *remaining]

    def _unknown(self, row: _Row, key: str, operator: Operator, names: list[str]) -> NoReturn:
        arguments = ", ".join(names)
        self.fail(
            f"{row}: {shortened(row.op)} has no attribute {shortened(key)}; "
            + (f"it has {arguments}" if arguments else "it has none"),
            (nearest(key[:100], names).strip() or f"If a user noted it, write it as {shortened(f'__{key}__')}.")
            + " If a later MXNet wrote the file, save it with 1.9.1.",
        )

    def _value(self, row: _Row, attribute: Attribute, text: str) -> Any:
        """Return an attribute's value, of the type that it must have."""
        try:
            return value_of(text, attribute, row.op)
        except Unfit as error:
            self.fail(f"{row}: attribute {attribute.name!r} is {shortened(text)}; expected {error}")

    # -- what must fit together ------------------------------------------------------------------------------------

    def _number_of_inputs(self, row: _Row, operator: BaseOperator, texts: dict[str, str], count: int) -> int:
        """Return how many inputs a variadic operator says it has."""
        if operator.signature.variadic is None or "num_args" not in texts:
            return count
        text = texts["num_args"].strip()
        if not re.fullmatch(r"\d{1,6}", text):
            self.fail(f"{row}: attribute 'num_args' is {shortened(text)}; expected the number of its inputs")
        return int(text)

    def _check_inputs(
        self, row: _Row, operator: BaseOperator, attributes: dict[str, Any], texts: dict[str, str], inputs: list[Value]
    ) -> None:
        signature, count = operator.signature, len(inputs)
        if signature.variadic is not None:
            number = self._number_of_inputs(row, operator, texts, count)
            names = operator.input_names(attributes, number)
            least = most = len(names)
            if least == number:
                names = [f"{number} (num_args)"]
        else:
            names = operator.input_names(attributes)
            optional = [name for name in signature.defaults if name not in operator.optional_inputs]
            least, most = len(names), len({*names, *optional})
        if not least <= count <= most:
            self.fail(f"{row} has {count} input(s); expected {', '.join(names) or 'none'}")

    def _check_index(self, document: dict[str, Any], rows: Sequence[_Row], nodes: Sequence[Node]) -> None:
        """Raise unless what the file says about its own order is true."""
        variables = document.get("arg_nodes", [])
        if not isinstance(variables, list):
            self.fail(f'"arg_nodes" is {_shown(variables)}; expected a list of the numbers of variables')
        for position, number in enumerate(variables):
            if type(number) is not int or not 0 <= number < len(rows) or rows[number].op != "null":
                self.fail(f'"arg_nodes"[{position}] is {_shown(number)}; expected the number of a variable')
        pointers = document.get("node_row_ptr")
        if pointers is None:
            return
        if not isinstance(pointers, list) or len(pointers) != len(rows) + 1:
            self.fail(f'"node_row_ptr" is {_shown(pointers)}; expected a list of {len(rows) + 1} numbers')
        before = 0
        for position, number in enumerate(pointers):
            least = len(nodes[position - 1].output_names()) if position else 0
            if type(number) is not int or number < before + least or (position == 0 and number):
                self.fail(
                    f'"node_row_ptr"[{position}] is {_shown(number)}; expected '
                    + (f"{before + least} or more, as {rows[position - 1]} has {least} output(s)" if position else "0")
                )
            before = number


def _expect_outputs(node: Node, number: int, pointers: Any) -> None:
    """Let a node of a user's operator have the outputs that a file says it has, if nothing else is known of them."""
    if node.operator.outputs.exact_count(node.attributes) is not None or not isinstance(pointers, list):
        return
    bounds = pointers[number : number + 2]
    if len(bounds) == 2 and all(type(bound) is int for bound in bounds) and 1 < bounds[1] - bounds[0] <= _MOST_OUTPUTS:
        node.outputs_expected = numbered_outputs(bounds[1] - bounds[0])


def _shown(value: Any) -> str:
    """Return a value of JSON for use in a message, however large."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if isinstance(value, int) and not -(10**18) < value < 10**18:
        return "a huge number"
    return "null" if value is None else describe(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
