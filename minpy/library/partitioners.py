"""`NativePartitioner`: the partitioner of a native library, which chooses subgraphs and their operators.

The library chooses through C functions: with a number for each node, or with a selector that is called for each node
and its neighbours. Memory that it allocates is freed, and its results are checked before they are used. A selector
lives as long as the process: there is no function that would destroy one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_int, c_void_p
from typing import Any

from minpy.core.configured import FAMILIES, OperatorFamily
from minpy.core.errors import LibraryError, nearest
from minpy.graph.partitioning.editable import Graph, GraphNode
from minpy.graph.partitioning.registry import Partitioner, Selector, Strategy
from minpy.library.binary import Binary, PartitionerEntry, StrategyEntry, Texts
from minpy.library.call_arguments import Parameters, graph_text, option_texts

__all__ = ["NativePartitioner", "NativeSelector", "NativeStrategy"]

_UNSUPPORTED = -2


class NativePartitioner(Partitioner):
    """A partitioner of a native library."""

    def __init__(self, binary: Binary, entry: PartitionerEntry, families: Mapping[str, OperatorFamily]) -> None:
        self.name = entry.name
        self.path = binary.path
        self.strategies = [NativeStrategy(binary, self.name, strategy, families) for strategy in entry.strategies]

    @property
    def title(self) -> str:
        """The beginning of messages."""
        return f"optimize_for({self.name!r}) of {self.path}"

    def __repr__(self) -> str:
        return f"<NativePartitioner {self.name} of {self.path}>"


class NativeStrategy(Strategy):
    """A strategy of a partitioner of a native library."""

    def __init__(
        self, binary: Binary, partitioner: str, entry: StrategyEntry, families: Mapping[str, OperatorFamily]
    ) -> None:
        self.name = entry.name
        self.reviews = entry.review is not None
        self._binary = binary
        self._entry = entry
        self._families = families
        self._where = f"{binary.path}: partitioner {partitioner!r}, strategy {entry.name!r}"

    @property
    def family(self) -> OperatorFamily:  # type: ignore[override]
        """The operator of the nodes that replace groups: a subgraph operator of the same library, or of another one."""
        name = self._entry.operator
        family = self._families.get(name) or FAMILIES.get(name)
        if family is None:
            raise LibraryError(
                f"{self._where}: it makes nodes of the operator {name!r}, which neither this library nor another one "
                f"that is loaded has.{nearest(name, [*self._families, *FAMILIES])} Register it in the library, with "
                "setIsSubgraphOp."
            )
        if family.is_function:
            raise LibraryError(
                f"{self._where}: it makes nodes of the operator {name!r}, which holds no subgraph. Register it with "
                "setIsSubgraphOp."
            )
        return family

    def supported(self, graph: Graph, options: Mapping[str, Any]) -> Sequence[int] | None:
        """Return the number that the library's supportedOps gives each node; None if it has a selector instead."""
        if self._entry.supported is None:
            return None
        where = f"{self._where}: supportedOps"
        self.family  # noqa: B018  # an error before the library is called
        text, texts, suffix = _texts(graph, options, where)
        count = len(graph)
        ids = (c_int * max(count, 1))(*[_UNSUPPORTED] * count)
        binary = self._binary
        earlier = binary.message_count()
        if not binary.functions["_partCallSupportedOps"](self._entry.supported, text, count, ids, *texts.arguments):
            raise binary.failure(LibraryError, f"{where} failed on a graph of {count} node(s){suffix}.", earlier)
        numbers = ids[:count]
        for node, number in zip(graph.nodes, numbers, strict=True):
            if number < _UNSUPPORTED:
                raise LibraryError(
                    f"{where} gave node {node.index} ({node.name}, {node.op}) the number {number}; expected -2 (not "
                    "supported), -1 (for any subgraph), or the number of a subgraph from 0."
                )
        return numbers

    def selector(self, graph: Graph, options: Mapping[str, Any]) -> NativeSelector:
        """Return the selector that the library's createSelector makes."""
        where = f"{self._where}: createSelector"
        self.family  # noqa: B018  # an error before the library is called
        text, texts, suffix = _texts(graph, options, where)
        selector = c_void_p()
        binary = self._binary
        earlier = binary.message_count()
        status = binary.functions["_partCallCreateSelector"](
            self._entry.selector, text, byref(selector), *texts.arguments
        )
        if not status:
            raise binary.failure(LibraryError, f"{where} failed on a graph of {len(graph)} node(s){suffix}.", earlier)
        if selector.value is None:
            raise binary.failure(LibraryError, f"{where} reported success, and made no selector.", earlier)
        return NativeSelector(binary, selector.value, self._where, (text, texts))

    def review(
        self, graph: Graph, number: int, options: Mapping[str, Any], args: Mapping[str, Any], aux: Mapping[str, Any]
    ) -> tuple[bool, Mapping[str, str]]:
        """Return whether the library's reviewSubgraph accepts a group, and the attributes that it gives its node.

        It may read the values of parameters, and must not change them.
        """
        if self._entry.review is None:
            return True, {}
        where = f"{self._where}: reviewSubgraph"
        text, texts, suffix = _texts(graph, options, where)
        parameters = Parameters(args, where, "args"), Parameters(aux, where, "aux")
        # As in MXNet. The header's function begins with false: a review that does not set it rejects.
        accepted = c_int(1)
        keys, values, count = c_void_p(), c_void_p(), c_int()
        binary = self._binary
        earlier = binary.message_count()
        status = binary.functions["_partCallReviewSubgraph"](
            self._entry.review,
            text,
            number,
            byref(accepted),
            *texts.arguments,
            byref(keys),
            byref(values),
            byref(count),
            *parameters[0].arguments,
            *parameters[1].arguments,
        )
        attributes = self._take_attributes(keys, values, count.value, f"{where} of group {number}")
        if not status:
            nodes = ", ".join(node.name for node in graph.nodes if not node.is_variable)
            raise binary.failure(LibraryError, f"{where} failed on group {number} ({nodes}){suffix}.", earlier)
        return bool(accepted.value), attributes

    def _take_attributes(self, keys: c_void_p, values: c_void_p, count: int, where: str) -> dict[str, str]:
        """Return attributes that the library has allocated, and free them."""
        free = self._binary.functions["_opCallFree"]
        if count < 0 or (count and not (keys.value and values.value)):
            raise LibraryError(
                f"{where} gave {count} attribute(s), and {'no' if count >= 0 else 'arrays of'} texts for them."
            )
        texts: list[list[bytes | None]] = []
        for array in (keys, values):
            if array.value:
                texts.append([*(c_char_p * count).from_address(array.value)])
                for pointer in (c_void_p * count).from_address(array.value):
                    free(pointer)
                free(array)
        attributes: dict[str, str] = {}
        for key, value in zip(*texts, strict=True) if count else ():
            if not key or value is None:
                raise LibraryError(f"{where} gave an attribute {key!r} with the value {value!r}; expected two texts.")
            try:
                attributes[key.decode()] = value.decode()
            except UnicodeDecodeError as error:
                raise LibraryError(
                    f"{where} gave an attribute {key!r} with the value {value!r}, which is not UTF-8: {error.reason}."
                ) from None
        return attributes


class NativeSelector(Selector):
    """A selector of a library. It is never destroyed: the interface has no function for that.

    Libraries built with minpy's header are notified when it is done, and free their copy of the graph.

    Parameters
    ----------
    binary : Binary
    address : int
    where : str
        The partitioner and strategy, for messages.
    owners : tuple
        The objects whose memory it may still read.
    """

    def __init__(self, binary: Binary, address: int, where: str, owners: tuple[Any, ...]) -> None:
        self._functions = binary.functions
        self._address = address
        self._where = where
        self._owners = owners
        self._binary = binary
        self._messages = binary.message_count()

    def __del__(self) -> None:
        try:
            release = self._binary.function("_partCallReleaseSelector")
        except AttributeError:  # MXNet's header has none; or it was never made
            return
        release(c_void_p(self._address))

    def _raise_messages(self, method: str) -> None:
        """Raise `LibraryError` if a call has left messages, into which minpy's header turns exceptions."""
        if self._binary.message_count() != self._messages:
            earlier, self._messages = self._messages, self._binary.message_count()
            raise self._binary.failure(LibraryError, f"{self._where}: {method} failed.", earlier)

    def _call_method(self, method: str, *nodes: GraphNode) -> bool:
        """Return what a method of the selector decides about nodes."""
        selected = c_int()
        self._functions[f"_partCall{method}"](self._address, *[node.index for node in nodes], byref(selected))
        self._raise_messages(method)
        return bool(selected.value)

    def select(self, node: GraphNode) -> bool:
        """Tell whether the library begins a group here."""
        return self._call_method("Select", node)

    def select_input(self, node: GraphNode, input: GraphNode) -> bool:
        """Tell whether the library adds a node that a member reads."""
        return self._call_method("SelectInput", node, input)

    def select_output(self, node: GraphNode, output: GraphNode) -> bool:
        """Tell whether the library adds a node that reads a member."""
        return self._call_method("SelectOutput", node, output)

    def filter(self, candidates: Sequence[GraphNode]) -> Sequence[GraphNode]:
        """Return which members of a group the library keeps."""
        where = f"{self._where}: Filter"
        by_number = {node.index: node for node in candidates}
        count = len(by_number)
        indices = (c_int * max(count, 1))(*by_number)
        address, number = c_void_p(), c_int()
        self._functions["_partCallFilter"](self._address, indices, count, byref(address), byref(number))
        try:
            if not 0 <= number.value <= count or (number.value and not address.value):
                raise LibraryError(
                    f"{where} keeps {number.value} of {count} candidate(s)"
                    + ("" if address.value else ", and gives no list of them")
                    + "; expected some of the candidates, each once."
                )
            numbers = [*(c_int * number.value).from_address(address.value)] if address.value and number.value else []
        finally:
            self._functions["_opCallFree"](address)
        self._raise_messages("Filter")
        for index in numbers:
            if index not in by_number:
                raise LibraryError(
                    f"{where} keeps node {index}, which is not among the candidates: {', '.join(map(str, by_number))}."
                )
        return [by_number[index] for index in sorted({*numbers})]

    def reset(self) -> None:
        """Tell the library that a group is grown anew."""
        self._functions["_partCallReset"](self._address)
        self._raise_messages("Reset")


def _texts(graph: Graph, options: Mapping[str, Any], where: str) -> tuple[bytes, Texts, str]:
    """Return a graph and options in the form for libraries, and the options as the end of a message."""
    texts = option_texts(options, where)
    suffix = f" with {', '.join(f'{key}={text!r}' for key, text in texts.items())}" if texts else ""
    return graph_text(graph, where), Texts(texts, f"{where}: "), suffix
