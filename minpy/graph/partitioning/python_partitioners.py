"""Partitioners and passes written in Python: functions with the roles that those of native libraries have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partialmethod
from typing import Any, NoReturn

import numpy

from minpy.core.configured import FAMILIES
from minpy.core.customop import USER_OPERATORS
from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.extensions import extension
from minpy.graph.partitioning.editable import Graph, GraphNode
from minpy.graph.partitioning.growing import ANY_GROUP, NOT_TAKEN
from minpy.graph.partitioning.registry import (
    PARTITIONERS,
    PASSES,
    Allocate,
    Partitioner,
    Pass,
    Selector,
    Strategy,
    require_free,
)
from minpy.ops.registry import known_operator

__all__ = ["PythonPartitioner", "PythonPass", "PythonStrategy", "register_partitioner", "register_pass"]

_RESERVED = ("null", "Custom", "_foreach", "_while_loop", "_cond", "_constant")  # what files call other nodes
_FOR_ALL = ("dedup_subgraph",)  # options that the host itself reads


class PythonStrategy(Strategy):
    """A strategy of functions, which messages call `where`.

    `choice`: what nodes are taken: see `register_partitioner`. `operator`: what the nodes of groups are calls of.
    """

    def __init__(self, name: str, choice: Any, operator: str, where: str) -> None:
        self.name = name
        self.where = where
        self.choice = choice
        self.runner: Any = None
        self._review: Callable[..., Any] | None = None
        if isinstance(choice, type) and not (issubclass(choice, Selector) or hasattr(choice, "select")):
            raise ArgumentError(
                f"{where}: {choice.__name__} has no method select; derive it from minpy.graph.Selector."
            )
        if not callable(choice):
            if isinstance(choice, str) or not isinstance(choice, Collection):
                self._refuse_choice(choice)
            self.choice = frozenset(choice)
            if not all(isinstance(name, str) for name in self.choice):
                self._refuse_choice(choice)
        self.__name__ = operator
        self.family = extension("PythonStrategy.family")(self)

    def _refuse_choice(self, choice: Any) -> NoReturn:
        raise ArgumentError(
            f"{self.where}: what it takes is {describe(choice)}; expected a function supported(node, **options), a "
            "Selector class, or a list of names of operators, such as ['exp', 'log']."
        )

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The functions of users that are given options."""
        return [function for function in (self.choice, self._review) if callable(function)]

    @property
    def reviews(self) -> bool:  # type: ignore[override]
        """Whether a function reviews its groups."""
        return self._review is not None

    def define_review(self, function: Callable[..., Any]) -> None:
        """Make a function the one that reviews groups."""
        if not callable(function):
            raise ArgumentError(
                f"{self.where}: the review is {describe(function)}; expected a function review(graph, **options)."
            )
        self._review = function

    def supported(self, graph: Graph, options: Mapping[str, Any]) -> Sequence[int] | None:
        """Return a number for each node, by the user's function or names of operators."""
        if isinstance(self.choice, type):
            return None
        if isinstance(self.choice, frozenset):
            return [ANY_GROUP if node.op in self.choice else NOT_TAKEN for node in graph.nodes]
        own = accepted(self.choice, options)
        return [self._label(node, self.choice(node, **own)) for node in graph.nodes]

    def _label(self, node: GraphNode, choice: Any) -> int:
        if choice is None or isinstance(choice, (bool, numpy.bool_)):
            return ANY_GROUP if choice else NOT_TAKEN
        if isinstance(choice, (int, numpy.integer)) and choice >= NOT_TAKEN:
            return int(choice)
        raise ArgumentError(
            f"{self.where}: supported({node.name}) returned {describe(choice)}; expected True (for any group), False, "
            "or the number of a group from 0."
        )

    def selector(self, graph: Graph, options: Mapping[str, Any]) -> Selector:
        """Return the user's selector for a graph."""
        return _Checked(self.choice(graph, **accepted(self.choice, options)), self.where)  # type: ignore[return-value]

    def review(
        self, graph: Graph, number: int, options: Mapping[str, Any], args: Mapping[str, Any], aux: Mapping[str, Any]
    ) -> tuple[bool, Mapping[str, str]]:
        """Return what the user's function says of a group: whether it becomes a node, with which attributes."""
        if self._review is None:
            return True, {}
        graph.args, graph.aux = args, aux
        verdict = self._review(graph, **accepted(self._review, {"number": number, **options}))
        if isinstance(verdict, (bool, numpy.bool_)):
            return bool(verdict), {}
        if isinstance(verdict, Mapping):
            return True, {key: value if isinstance(value, str) else str(value) for key, value in verdict.items()}
        raise ArgumentError(
            f"{self.where}: review of group {number} returned {'None' if verdict is None else describe(verdict)}; "
            "expected True or False, or a dict of attributes for its node."
        )


class _Checked:
    """A user's selector, the results of which are checked."""

    def __init__(self, selector: Any, where: str) -> None:
        self._selector = selector
        self._where = where

    def _chosen(self, method: str, *nodes: GraphNode) -> bool:
        function = getattr(self._selector, method, None)
        is_chosen = False if function is None else function(*nodes)
        if not isinstance(is_chosen, (bool, numpy.bool_, int)):
            shown = ", ".join(node.name for node in nodes)
            raise ArgumentError(
                f"{self._where}: {method}({shown}) returned {describe(is_chosen)}; expected True or False."
            )
        return bool(is_chosen)

    select = partialmethod(_chosen, "select")
    select_input = partialmethod(_chosen, "select_input")
    select_output = partialmethod(_chosen, "select_output")

    def filter(self, candidates: Sequence[GraphNode]) -> Sequence[GraphNode]:
        keep = getattr(self._selector, "filter", None)
        filtered: Sequence[GraphNode] = candidates if keep is None else keep(candidates)
        return filtered

    def reset(self) -> None:
        if hasattr(self._selector, "reset"):
            self._selector.reset()


class PythonPartitioner(Partitioner):
    """What `register_partitioner` returns: it takes further functions, which say more of the groups."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.strategies: list[PythonStrategy] = []

    def __repr__(self) -> str:
        return f"<partitioner {self.name} ({', '.join(strategy.name for strategy in self.strategies)})>"

    def strategy(self, name: str, supported: Any = None, *, operator: str | None = None) -> Any:
        """Add a strategy, which is applied to what those before have made; may be used as a decorator.

        Parameters
        ----------
        name : str
        supported : callable, Selector class or collection of str
            As for `register_partitioner`. Without it a decorator is returned.
        operator : str, optional
            What its nodes are calls of; by default the names of partitioner and strategy, with '_' between.

        Returns
        -------
        PythonPartitioner

        Raises
        ------
        ArgumentValueError
            If there is a strategy, or an operator, of that name.

        Examples
        --------
        >>> from minpy import graph
        >>> both = graph.register_partitioner('both', ['exp'], replace=True)
        >>> both.strategy('second', ['log'])
        <partitioner both (both, second)>
        """
        if supported is None:
            return lambda function: self.strategy(name, function, operator=operator)
        where = f"partitioner {self.name!r}"
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"{where}: the name of a strategy is {describe(name)}; expected a string.")
        if any(strategy.name == name for strategy in self.strategies):
            raise ArgumentValueError(f"{where} has a strategy {name!r} already; choose another name.")
        new_strategy = _strategy(name, supported, operator or f"{self.name}_{name}", f"{where}: strategy {name!r}", ())
        self.strategies.append(new_strategy)
        FAMILIES[new_strategy.family.__name__] = new_strategy.family
        return self

    def review(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function review the groups of the strategy that was added last; may be used as a decorator.

        Parameters
        ----------
        function : callable
            `review(graph, **options)` is given the group as a `Graph`; the option `number` is its number. It returns
            True, False (these nodes stay as they are), or a dict of attributes for the node.

        Returns
        -------
        callable
            The function.

        Examples
        --------
        >>> from minpy import graph
        >>> pairs = graph.register_partitioner('pairs', ['exp', 'log'], replace=True)
        >>> @pairs.review
        ... def at_least_two(group):
        ...     return sum(not node.is_variable for node in group) >= 2
        """
        self.strategies[-1].define_review(function)
        return function

    def run(self, runner: Any) -> Any:
        """Say what runs the groups of the strategy that was added last; may be used as a decorator.

        Without it, a node runs the graph that is inside of it.

        Parameters
        ----------
        runner : callable, class or @customop
            A function `run(graph, *inputs)` of NumPy arrays, which returns an array or a tuple of them; `graph` may be
            called. Or a class: `runner(graph)` is made for each state (a call, or a bound graph), with a method
            `forward(*inputs)` and, optionally, `backward(gradients, inputs, outputs)`, which returns one gradient for
            each input. Or a `@customop`, with gradients of its own. Where there is no backward, gradients are those of
            the graph. A value that several nodes of a group read is an input for each of them, unless `optimize_for`
            is given `dedup_subgraph=True`.

        Returns
        -------
        callable
            The same.

        Examples
        --------
        >>> from minpy import graph
        >>> doubled = graph.register_partitioner('loud', ['exp'], replace=True)
        >>> @doubled.run
        ... def loudly(graph, x):
        ...     return graph(x)
        """
        if not callable(runner):
            raise ArgumentError(
                f"partitioner {self.name!r}: what runs its graphs is {describe(runner)}; expected a function "
                "run(graph, *inputs), a class with a method forward(*inputs), or a @customop."
            )
        if isinstance(runner, type) and not callable(getattr(runner, "forward", None)):
            raise ArgumentError(
                f"partitioner {self.name!r}: the class {runner.__name__}, which runs its graphs, has no method "
                "forward(self, *inputs)."
            )
        self.strategies[-1].runner = runner
        return runner

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for options that no function of it takes."""
        functions = [function for strategy in self.strategies for function in strategy.functions]
        _check_options(f"partitioner {self.name!r}", functions, options)


class PythonPass(Pass):
    """A pass that is a function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def __repr__(self) -> str:
        return f"<pass {self.name}>"

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for options that it does not take."""
        _check_options(f"pass {self.name!r}", [self.function], options)

    def run(
        self,
        graph: Graph,
        options: Mapping[str, Any],
        args: Mapping[str, Any],
        aux: Mapping[str, Any],
        allocate: Allocate,
    ) -> Graph:
        """Return the graph that the function returns, or has edited."""
        after = self.function(graph, **accepted(self.function, options))
        if after is None:
            return graph
        if not isinstance(after, Graph):
            raise ArgumentError(
                f"pass {self.name!r} returned {describe(after)}; expected the Graph, or None if it was edited in place."
            )
        return after


def register_partitioner(
    name: str, supported: Any = None, *, operator: str | None = None, replace: bool = False
) -> Any:
    """Register a partitioner: what takes nodes of a graph together, so that groups of them become one node each.

    `symbol.optimize_for(name)` and `block.optimize_for(x, backend=name)` apply it. May be used as a decorator. What is
    returned has the methods `review` (which groups to keep), `run` (what computes a group) and `strategy` (a further
    way to choose nodes, applied to the result of the first).

    Parameters
    ----------
    name : str
        What `optimize_for` is called with.
    supported : callable, class or collection of str
        Which nodes are taken. A function `supported(node, **options)` of a `GraphNode`, which returns True, False, or
        the number of a group; names of operators; or a class like `Selector`, made as `cls(graph, **options)`, which is
        asked about each node and its neighbours. Functions are given the options that they name. Without it, a
        decorator is returned.
    operator : str, optional
        What the nodes that stand for groups are calls of; by default `name`.
    replace : bool
        Take the place of a partitioner of that name.

    Returns
    -------
    PythonPartitioner

    Raises
    ------
    ArgumentError
        If `supported` is none of these.
    ArgumentValueError
        If there is a partitioner, a pass or an operator of that name.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.graph.register_partitioner('exponentials', replace=True)
    ... def exponentials(node):
    ...     return node.op in ('exp', 'log')
    >>> net = mx.sym.exp(mx.sym.log(mx.sym.var('x')) + 1)
    >>> print(net.optimize_for('exponentials').debug_str().count('exponentials'))
    2
    """
    if supported is None:
        return lambda function: register_partitioner(name, function, operator=operator, replace=replace)
    where = "register_partitioner"
    require_free(name, where, replace)
    freed = _operators_of(name)
    partitioner = PythonPartitioner(name)
    partitioner.strategies.append(_strategy(name, supported, operator or name, f"partitioner {name!r}", freed))
    _remove_partitioner(name)
    PASSES.pop(name, None)
    FAMILIES[partitioner.strategies[0].family.__name__] = partitioner.strategies[0].family
    PARTITIONERS[name] = partitioner
    return partitioner


def register_pass(name: str, function: Callable[..., Any] | None = None, *, replace: bool = False) -> Any:
    """Register a pass: a function that rewrites a graph as a whole.

    `symbol.optimize_for(name)` and `block.optimize_for(x, backend=name)` apply it. May be used as a decorator.

    Parameters
    ----------
    name : str
        What `optimize_for` is called with.
    function : callable
        `function(graph, **options)` is given a `Graph`, which it edits, or in place of which it returns another. It is
        given the options that it names. Without it, a decorator is returned.
    replace : bool
        Take the place of a pass of that name.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    ArgumentError
        If it is no function.
    ArgumentValueError
        If there is a partitioner or a pass of that name.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.graph.register_pass('logs-for-exps', replace=True)
    ... def logs_for_exps(graph):
    ...     for node in graph:
    ...         if node.op == 'exp':
    ...             node.op = 'log'
    >>> mx.sym.exp(mx.sym.var('x')).optimize_for('logs-for-exps').eval(x=mx.nd.ones((1,)))
    [
    [0.]
    <NDArray 1 @cpu(0)>]
    """
    if function is None:
        return lambda decorated: register_pass(name, decorated, replace=replace)
    require_free(name, "register_pass", replace)
    if not callable(function):
        raise ArgumentError(
            f"register_pass: pass {name!r} is {describe(function)}; expected a function of a graph, def {name}(graph)."
        )
    _remove_partitioner(name)
    PASSES[name] = PythonPass(name, function)
    return function


def _operators_of(name: str) -> list[str]:
    """Return the operators of a partitioner written in Python; those of libraries stay when others take its place."""
    partitioner = PARTITIONERS.get(name)
    strategies = partitioner.strategies if isinstance(partitioner, PythonPartitioner) else []
    return [strategy.family.__name__ for strategy in strategies]


def _remove_partitioner(name: str) -> None:
    for operator in _operators_of(name):
        FAMILIES.pop(operator, None)
    PARTITIONERS.pop(name, None)


def _strategy(name: str, supported: Any, operator: str, where: str, freed: Collection[str]) -> PythonStrategy:
    if not isinstance(operator, str) or not operator:
        raise ArgumentError(f"{where}: operator is {describe(operator)}; expected the name of the nodes' operator.")
    namesake = FAMILIES.get(operator) if operator not in freed else None
    if (
        namesake is not None
        or operator in _RESERVED
        or operator in USER_OPERATORS
        or known_operator(operator) is not None
    ):
        raise ArgumentValueError(
            f"{where}: there is an operator {operator!r} already. Give operator=... another name, for the nodes that "
            "stand for its groups."
        )
    return PythonStrategy(name, supported, operator, where)


def accepted(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some options that a function takes by name."""
    named, takes_all = _option_names(function)
    return dict(options) if takes_all else {key: value for key, value in options.items() if key in named}


def _option_names(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """Return (the names by which a function takes options, whether it takes all)."""
    try:
        parameters: Iterable[inspect.Parameter] = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], False
    parameters = [*parameters]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    first = next(
        (parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.KEYWORD_ONLY), None
    )
    named = [parameter.name for parameter in parameters if parameter.kind in kinds and parameter.name != first]
    return named, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _check_options(where: str, functions: Sequence[Callable[..., Any]], options: Mapping[str, Any]) -> None:
    accepted = [_option_names(function) for function in functions]
    if any(takes_all for _, takes_all in accepted):
        return
    options_taken = {name for names, _ in accepted for name in names} - {"number"}
    for key in options:
        if key not in options_taken and key not in _FOR_ALL:
            raise ArgumentError(
                f"optimize_for: {where} takes no option {key!r}; it takes {', '.join(sorted(options_taken)) or 'none'}."
                + nearest(key, options_taken)
            )
