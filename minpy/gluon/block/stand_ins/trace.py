"""`Trace`: one run of a block's forward on stand-ins for arrays: what they stand for, and what has been asked of them.

Blocks of MXNet 2's kind define `forward(self, x)` with functions of `mx.np` and `mx.npx`, and read their parameters
with `data()`. When such a block is hybridized, its forward runs once on `Traced` values, and what is done to them
becomes a graph, as what `hybrid_forward` does to symbols. Arrays that it refers to become
inputs of the graph, by reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, NoReturn

import numpy

from minpy import symbol
from minpy.core.array import Array, now
from minpy.core.errors import NotTraceableError
from minpy.core.nodes import Leaf
from minpy.core.places import place_in_program
from minpy.core.state import TRACES, leaving, tracing
from minpy.core.switches import is_np_array
from minpy.gluon.block.stand_ins.changing import ARGUMENT
from minpy.gluon.block.stand_ins.facts import Facts
from minpy.gluon.block.stand_ins.traced import Traced
from minpy.symbol import Symbol
from minpy.symbol.numpy.arrays import generic

__all__ = ["Trace"]

_UNHYBRIDIZED = "leave the block unhybridized: call hybridize(False) on it"


class Trace:
    """One run of a block's forward on stand-ins. Used in a `with` statement.

    Parameters
    ----------
    name : str
        Of the block.
    in_numpy : bool
        Whether values have NumPy's semantics.
    like : Array
        An argument, whose class and device arrays get that are made.
    parameters : mapping of str to Parameter
        Those of the block and of all inside, by name.

    Attributes
    ----------
    like : Array
        As given.
    captured : list of (Symbol, Array)
        The variables that stand for arrays that the forward refers to.
    asked_for_shapes : bool
        Whether the forward has asked for a shape or dtype, so that its graph is for these only.
    """

    def __init__(self, name: str, in_numpy: bool, like: Any, parameters: Mapping[str, Any]) -> None:
        self.name = name
        self.in_numpy = in_numpy
        self.context = like.context
        self.like = like
        self._start = now()
        self.captured: list[tuple[Symbol, Any]] = []
        self.asked_for_shapes = False
        self._variables: dict[int, Symbol] = {}
        self._kept: list[Any] = []
        self._facts = Facts(name, parameters)

    @classmethod
    def of(cls, block: Any, like: Any) -> Trace:
        """Return a trace of a block, whose arguments are such as `like`."""
        in_numpy = is_np_array() or not like._keeps_dtype
        return cls(block.name, in_numpy, like, block._parameters_by_name())

    def __enter__(self) -> Trace:
        traces, values = TRACES, vars(tracing)
        before = {"trace": tracing.trace, "leave": tracing.leave}
        undone = [partial(values.update, before), partial(traces.remove, self)]
        leave = partial(any, map(methodcaller("__call__"), undone))  # in C; none of them returns anything
        traces += [self]
        values |= {"trace": self, "leave": leave}
        if tracing.modes is not None:
            tracing.modes.facts = self._facts
        return self

    __exit__ = leaving(tracing)

    # -- variables ---------------------------------------------------------------------------------------------------

    def argument(self, name: str, array: Any) -> Traced:
        """Return what stands for an argument."""
        return Traced(self, self._variable(name, array), self.in_numpy, ARGUMENT)

    def capture(self, array: Any) -> Traced:
        """Return what stands for an array that the forward refers to."""
        found = self._variables.get(id(array))
        if found is None:
            node = None if isinstance(array, numpy.ndarray) else array._node
            if node is not None and type(node) is not Leaf and node.sequence > self._start:
                raise self.refusal(
                    "computes with an array of other arrays that need gradients and are no arguments of it: its "
                    "gradient would be lost.",
                    "Make them Parameters and read them with data(), or give them as arguments.",
                    None,
                )
            self._kept.append(array)  # so that nothing else gets its id
            if isinstance(array, numpy.ndarray):
                array = self.like._like(array)
            found = self._variables[id(self._kept[-1])] = self._variable(f"captured{len(self.captured)}", array)
            self.captured.append((found, array))
        return Traced(self, found, not getattr(array, "_keeps_dtype", False), "an array that it refers to")

    def parameter(self, parameter: Any) -> Traced:
        """Return what stands for a parameter."""
        variable = parameter.var()
        if self.in_numpy:
            variable = variable.as_np_ndarray()
        return Traced(self, variable, self.in_numpy, "a parameter")

    def _variable(self, name: str, array: Any) -> Symbol:
        made = symbol.var(name)
        self.know(made, array)
        return made.as_np_ndarray() if self.in_numpy else made

    def know(self, variable: Symbol, array: Any) -> None:
        """Note the shape and dtype of what a variable stands for."""
        self._facts.know(variable, array)

    # -- facts -------------------------------------------------------------------------------------------------------

    def facts(self, one: Symbol) -> tuple[tuple[int, ...], numpy.dtype]:
        """Return the shape and dtype of a value.

        Raises
        ------
        NotTraceableError
            If they cannot be inferred.
        """
        self.asked_for_shapes = True
        return self._facts.of(one)

    def dtype(self, one: Symbol) -> numpy.dtype:
        """Return the dtype of a value."""
        self.asked_for_shapes = True
        return self._facts.of(one)[1]

    # -- random numbers ----------------------------------------------------------------------------------------------

    def draw(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what a function of `mx.np.random` draws: at every call of the graph anew."""
        function = vars(symbol.np.random).get(name)
        if function is None:
            self.refuse_draw(f"np.random.{name}")
        given = {key: value for key, value in keywords.items() if value is not None}
        return self.call(function, arguments, given, True)

    def refuse_draw(self, what: str = "random numbers") -> NoReturn:
        """Raise the error for numbers that would be drawn once only, when the forward is traced."""
        raise self.refusal(
            f"draws {what}, for which graphs have no operator.",
            f"Graphs draw with mx.np.random's {', '.join(symbol.np.random.__all__)}, and with npx.dropout",
        )

    def refusal(self, does: str, remedy: str, way_out: str | None = _UNHYBRIDIZED) -> NotTraceableError:
        """Return the error for what a graph cannot do, at the line of the program that does it.

        Parameters
        ----------
        does : str
            What the forward, or the function, does there.
        remedy : str
            What to write instead.
        way_out : str, optional
            What else can be done, for a block.
        """
        where = place_in_program()
        rest = "" if way_out is None else f"; or {way_out}."
        return NotTraceableError(f"{self.name} is hybridized, and at {where} its forward {does} {remedy}{rest}")

    # -- values ------------------------------------------------------------------------------------------------------

    def unwrapped(self, value: Any) -> Any:
        """Return nested values with symbols in the place of stand-ins and arrays."""
        if isinstance(value, Traced):
            return value.symbol
        if isinstance(value, Array):
            return self.capture(value).symbol
        if isinstance(value, numpy.ndarray) and value.ndim:
            return self.capture(value).symbol
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.unwrapped, value))
        if type(value) in (list, tuple):
            return type(value)(map(self.unwrapped, value))
        if isinstance(value, dict):
            return {key: self.unwrapped(one) for key, one in value.items()}
        return value

    def wrapped(self, value: Any, in_numpy: bool, role: str = "") -> Any:
        """Return nested values with stand-ins in the place of symbols."""
        if isinstance(value, Symbol):
            parts = [Traced(self, _kind(Symbol([one]), in_numpy), in_numpy, role) for one in value.values]
            return parts[0] if len(parts) == 1 else parts
        if isinstance(value, (list, tuple)):
            return type(value)(self.wrapped(one, in_numpy, role) for one in value)
        if isinstance(value, dict):
            return {key: self.wrapped(one, in_numpy, role) for key, one in value.items()}
        return value

    def call(
        self, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any], np: bool
    ) -> Any:
        """Return what a function of symbols answers, for stand-ins and arrays."""
        positional = [self.unwrapped(value) for value in arguments]
        return self.wrapped(function(*positional, **self.unwrapped(dict(keywords))), np)

    def call_of_numpy(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what a function of NumPy answers, recorded as that, with numbers as they are."""
        return self.call(lambda *given, **rest: generic(name, given, rest), arguments, keywords, True)


def _kind(one: Symbol, in_numpy: bool) -> Symbol:
    return one.as_np_ndarray() if in_numpy else one.as_nd_ndarray()
