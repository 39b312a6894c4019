"""`foreach`, `while_loop` and `cond` of symbols: nodes that hold what users' functions make of variables.

A function runs once, under an `AttrScope` that marks the nodes that it makes. These are the subgraph; every value from
outside that they read becomes a variable of it, and an input of the node.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.graph.ir import Node, Value, variable
from minpy.ndarray.control_flow import checked_iterations, flattened, pair, regrouped
from minpy.symbol.autograd_scopes import new_outputs
from minpy.symbol.naming import AttrScope, current_names, current_scope
from minpy.symbol.operator_functions import FUNCTIONS
from minpy.symbol.subgraphs import Cond, ControlFlow, Foreach, Subgraph, WhileLoop
from minpy.symbol.symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]

_MARK = "__subgraph_name__"
_counts: dict[str, Iterator[int]] = {}


class _Scope:
    """The nodes that a user's function makes, and the variables that stand for what it is given.

    The nodes are marked with a name and a number; inside of another subgraph after its name.
    """

    def __init__(self, name: str) -> None:
        outer = current_scope().get(None).get(_MARK)
        name = name if outer is None else f"{outer}${name}"
        self.name = f"{name}{next(_counts.setdefault(name, itertools.count()))}"
        self.attributes = AttrScope(**{_MARK: self.name})
        self.slots: dict[Node, Value] = {}

    def slot(self, value: Value) -> Symbol:
        """Return a new variable, which stands for a value in the function."""
        base = f"{value.node.name}-{value.index}"
        slot_names = {node.name for node in self.slots}
        names = itertools.chain([base], (f"{base}-{number}" for number in itertools.count(1)))
        slot = variable(next(name for name in names if name not in slot_names), **current_scope().get(None))
        self.slots[slot.node] = value
        return Symbol([slot])

    def heads(self, outputs: Iterable[Value], states: Iterable[Value] = ()) -> list[Value]:
        """Return values as the ends of the subgraph: of its own operators, states of others than outputs."""
        outputs = [*map(self._copied, outputs)]
        nodes = {value.node for value in outputs}
        return outputs + [self._copied(value, value.node in nodes) for value in states]

    def _copied(self, value: Value, always: bool = False) -> Value:
        if always or value.node.operator is None or not self._has(value.node):
            return FUNCTIONS["identity"](Symbol([value])).values[0]
        return value

    def _has(self, node: Node) -> bool:
        return node.annotations.get(_MARK) == self.name

    def cut(self, heads: Sequence[Value]) -> tuple[Symbol, list[tuple[Node, Value]]]:
        """Return the subgraph, and for each of its variables what it is outside."""
        became: dict[Value, Value] = {}
        outside: dict[Node, Value] = {}
        names: set[str] = {node.name for node in self.slots}

        def taken_in(value: Value) -> Value:
            node = value.node
            if not self._has(node):
                if value not in became:
                    name = Symbol([value]).list_outputs()[0]
                    while name in names:
                        name += "_"
                    names.add(name)
                    became[value] = variable(name)
                    outside[became[value].node] = value
            elif node.operator is None:
                became[value] = value
                outside[node] = self.slots.get(node, value)
            return became[value]

        for node in self._operators(heads):
            inputs = [taken_in(value) for value in node.inputs]
            copied = Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
            became |= {Value(node, index): Value(copied, index) for index in range(len(node.output_names()))}
        symbol = Symbol([became[head] for head in heads])
        return symbol, [(node, outside[node]) for node in symbol.order if node.operator is None]

    def _operators(self, heads: Sequence[Value]) -> list[Node]:
        """Return the operators of the subgraph, each after its inputs: outside is not walked."""
        order: dict[Node, None] = {}
        for head in heads:
            stack = [(head.node, iter(head.node.inputs))]
            seen = {head.node}
            while stack:
                node, inputs = stack[-1]
                for value in inputs:
                    inner = value.node
                    if self._has(inner) and inner.operator is not None and inner not in order and inner not in seen:
                        seen.add(inner)
                        stack.append((inner, iter(inner.inputs)))
                        break
                else:
                    order[node] = None
                    stack.pop()
        return [*order]


def _values(value: Any, caller: str) -> list[Value]:
    return [entry for symbol in flattened(value, Symbol, caller) for entry in symbol.values]


def _as_lists(value: Any) -> Any:
    """Return nested lists in which every symbol has one output."""
    if isinstance(value, Symbol):
        return value if len(value.values) == 1 else [*value]
    return [*map(_as_lists, value)] if isinstance(value, (list, tuple)) else value


def _symbols(operator: ControlFlow, inputs: Sequence[Value]) -> list[Symbol]:
    """Return the outputs of a new node, each as a symbol."""
    kind = operator.__name__
    node = Node(operator, inputs, {}, current_names().get(None, kind), kind, current_scope().get(None))
    return [Symbol([value]) for value in new_outputs(node)]


def _inputs_and_graphs(
    parts: Iterable[tuple[Symbol, list[tuple[Node, Value]]]], key_of: Callable[[Node, Value], Any]
) -> tuple[list[Value], list[Subgraph]]:
    """Return the inputs of a node, and its graphs: what they read under one key is one input, None is no key."""
    inputs: list[Value] = []
    shared: dict[Any, int] = {}
    graphs = []
    for symbol, captured in parts:
        positions = []
        for node, value in captured:
            key, position = key_of(node, value), len(inputs)
            if key is not None:
                position = shared.setdefault(key, position)
            if position == len(inputs):
                inputs.append(value)
            positions.append(position)
        graphs.append(Subgraph(symbol, positions))
    return inputs, graphs


def foreach(
    body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Return symbols of a loop over slices of some symbols along their first axis.

    Parameters
    ----------
    body : callable
        `body(slices, states)`, which returns `(outputs, states)`: symbols, in nested lists or not. It is called once,
        here. What else it reads, whether variables or results of operators, are inputs of the node.
    data : Symbol or nested lists of Symbols
        The body gets slices in the same lists.
    init_states : Symbol or nested lists of Symbols
        The states of the first iteration; [] for none.
    name : str
        What the nodes of the body are marked with.

    Returns
    -------
    (outputs, states)
        The outputs of all iterations, stacked along a new first axis, and the last states, in the lists of the body.

    Raises
    ------
    ArgumentError
        If data, states or outputs are no symbols, states change their number or lists, or the body does not use some
        data or states, or does not return two things.

    Examples
    --------
    >>> import minpy as mx
    >>> outputs, last = foreach(lambda row, total: (row + total, row + total), mx.sym.var('x'), mx.sym.var('start'))
    >>> outputs.eval(x=mx.nd.array([[1, 2], [3, 4]]), start=mx.nd.zeros(2))[0].asnumpy().tolist()
    [[1.0, 2.0], [4.0, 6.0]]
    """
    data, init_states = _as_lists(data), _as_lists(init_states)
    arrays = _values(data, "sym.contrib.foreach: data")
    first = _values(init_states, "sym.contrib.foreach: init_states")
    if not arrays:
        raise ArgumentValueError("sym.contrib.foreach: data is empty; expected a symbol to loop over.")
    scope = _Scope(name)
    with scope.attributes:
        slices = [scope.slot(value) for value in arrays]
        states = [scope.slot(value) for value in first]
        outputs, after = pair(
            body(regrouped(data, iter(slices)), regrouped(init_states, iter(states))), "sym.contrib.foreach: body"
        )
        outputs, after = _as_lists(outputs), _as_lists(after)
        stacked = _values(outputs, "sym.contrib.foreach: the body's output")
        last = _values(after, "sym.contrib.foreach: the body's states")
        if _form(after) != _form(init_states):
            raise ArgumentValueError(
                f"sym.contrib.foreach: the body returned states {_form(after)}, and was given {_form(init_states)}; "
                "expected the same lists."
            )
        heads = scope.heads(stacked, last)
    symbol, captured = scope.cut(heads)
    nodes = [node for node, _ in captured]
    slots = [*scope.slots]
    for number, (slot, value) in enumerate(scope.slots.items()):
        if slot not in nodes:
            role = "data" if number < len(slices) else "state"
            raise ArgumentValueError(
                f"sym.contrib.foreach: the body does not use {role} {value!r}; leave it out, or return it as it is."
            )
    inputs = {**scope.slots, **dict(captured)}  # those of the slots come first
    input_numbers = {node: number for number, node in enumerate(inputs)}
    where = [nodes.index(slot) for slot in slots]
    body_graph = Subgraph(symbol, [input_numbers[node] for node in nodes])
    operator = Foreach([body_graph], len(stacked), where[: len(slices)], where[len(slices) :])
    results = iter(_symbols(operator, [*inputs.values()]))
    return regrouped(outputs, results), regrouped(after, results)


def _form(value: Any) -> str:
    """Return the lists that symbols are in, as text."""
    return f"[{', '.join(map(_form, value))}]" if isinstance(value, (list, tuple)) else "*"


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Return symbols of a loop that goes on as long as a condition of its variables holds.

    Parameters
    ----------
    cond : callable
        `cond(*loop_vars)`, which returns a symbol of one element. It is called once, here, as is `func`.
    func : callable
        `func(*loop_vars)`, which returns `(outputs, loop_vars)`: symbols, in nested lists or not.
    loop_vars : Symbol or nested lists of Symbols
    max_iterations : int
        How often the loop goes round at most.
    name : str
        What the nodes of both functions are marked with.

    Returns
    -------
    (outputs, loop_vars)
        The outputs of all iterations, stacked along a new first axis of length `max_iterations`, the rest of which is
        zeros; and the variables of the end.

    Raises
    ------
    ArgumentError
        If `max_iterations` is missing or less than 1, variables or outputs are no symbols, `func` does not use all
        variables, returns another number of them, or does not return two things.

    Examples
    --------
    >>> import minpy as mx
    >>> outputs, (number, total) = while_loop(
    ...     lambda number, total: number < 3,
    ...     lambda number, total: (total * 10, [number + 1, total + number]),
    ...     [mx.sym.var('i'), mx.sym.var('s')], max_iterations=4)
    >>> outputs.eval(i=mx.nd.array([1]), s=mx.nd.array([0]))[0].asnumpy().tolist()
    [[0.0], [10.0], [0.0], [0.0]]
    """
    where = "sym.contrib.while_loop"
    most = checked_iterations(max_iterations, where)
    if most < 1:
        raise ArgumentValueError(f"{where}: max_iterations is {most}; expected 1 or more.")
    loop_vars = _as_lists(loop_vars)
    first = _values(loop_vars, f"{where}: loop_vars")
    if not first:
        raise ArgumentValueError(f"{where}: loop_vars is empty; expected at least one symbol.")

    def called(function: Callable[..., Any], scope: _Scope) -> Any:
        arguments = regrouped(loop_vars, iter([scope.slot(value) for value in first]))
        return function(*arguments) if isinstance(arguments, list) else function(arguments)

    condition, body = _Scope(f"{name}_cond"), _Scope(f"{name}_func")
    with condition.attributes:
        decision = _values(called(cond, condition), f"{where}: the condition")
        if len(decision) != 1:
            raise ArgumentValueError(f"{where}: cond returned {len(decision)} symbols; expected one.")
        of_condition = condition.cut(condition.heads(decision))
    with body.attributes:
        outputs, after = pair(called(func, body), f"{where}: func")
        outputs, after = _as_lists([] if outputs is None else outputs), _as_lists(after)
        stacked = _values(outputs, f"{where}: the output")
        last = _values(after, f"{where}: the new loop_vars")
        if len(last) != len(first):
            raise ArgumentValueError(
                f"{where}: func returned {len(last)} loop variable(s), and was given {len(first)}; expected as many."
            )
        of_body = body.cut(body.heads([*stacked, *last]))
    slots = [[*scope.slots] for scope in (condition, body)]
    nodes = [node for node, _ in of_body[1]]
    for number, slot in enumerate(slots[1]):
        if slot not in nodes:
            raise ArgumentValueError(
                f"{where}: func does not use loop variable {number} ({first[number]!r}); leave it out, and let the "
                "functions refer to the symbol itself, or return it as it is."
            )
    number_of_slot = {slot: number for own in slots for number, slot in enumerate(own)}
    inputs, graphs = _inputs_and_graphs((of_condition, of_body), lambda node, _: number_of_slot.get(node))
    operator = WhileLoop(graphs, len(stacked), [nodes.index(slot) for slot in slots[1]], most)
    results = iter(_symbols(operator, inputs))
    return regrouped(outputs, results), regrouped(loop_vars, results)


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """Return symbols of a choice between two functions.

    Parameters
    ----------
    pred : Symbol
        One element, which decides.
    then_func, else_func : callable
        Called once each, here, without arguments. They return symbols, in nested lists or not, as many as each other
        and of the same shapes and dtypes. What they read are inputs of the node.
    name : str
        What the nodes of both functions are marked with.

    Returns
    -------
    Symbol or nested lists of Symbols
        What the chosen function computes, in the lists of `then_func`.

    Raises
    ------
    ArgumentError
        If `pred` or what the functions return are no symbols, or not as many as each other.

    Examples
    --------
    >>> import minpy as mx
    >>> a, b = mx.sym.var('a'), mx.sym.var('b')
    >>> chosen = cond(a < b, lambda: a * 10, lambda: b * 100)
    >>> float(chosen.eval(a=mx.nd.array([1]), b=mx.nd.array([2]))[0].asscalar())
    10.0
    """
    where = "sym.contrib.cond"
    if not isinstance(pred, Symbol) or len(pred) != 1:
        kind = f"a symbol of {len(pred)} outputs" if isinstance(pred, Symbol) else describe(pred)
        raise ArgumentError(f"{where}: pred is {kind}; expected a Symbol of one output.")
    form: Any = None
    parts, counts = [], []
    for part, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        scope = _Scope(f"{name}_{part}")
        with scope.attributes:
            returned = _as_lists(function())
            values = _values(returned, f"{where}: {part}_func")
            parts.append(scope.cut(scope.heads(values)))
        counts.append(len(values))
        form = returned if part == "then" else form
    if counts[1] != counts[2] or not counts[1]:
        raise ArgumentValueError(
            f"{where}: then_func returned {counts[1]} symbol(s), and else_func {counts[2]}; expected as many, and one "
            "at least."
        )
    # Variables of a name are one, as in MXNet; what is computed is an input of each graph.
    inputs, graphs = _inputs_and_graphs(
        parts, lambda _, value: value.node.name if value.node.operator is None else None
    )
    return regrouped(form, iter(_symbols(Cond(graphs), inputs)))
