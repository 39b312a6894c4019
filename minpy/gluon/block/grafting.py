"""Calls of layers inside a capture: `hybrid_forward` runs on symbols, whose nodes become nodes of the captured graph.

A block inside that defines `forward` is captured through: it gets proxies for the symbols, and gives symbols back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, NoReturn

import numpy

from minpy import symbol
from minpy.capture.abstract_evaluation import Fact
from minpy.capture.fronts import as_front
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.noting import constant, output_proxy
from minpy.capture.proxy import ArrayProxy
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.state import TRACES, leaving, questions, state, tracing
from minpy.differentiation.trees import leaves_of
from minpy.gluon.block.autograd_scopes import Modes
from minpy.gluon.block.block import Block
from minpy.gluon.block.inferred_facts import Facts
from minpy.graph.ir import CONSTANT, Node, Value, topological
from minpy.symbol import Symbol

__all__ = ["Graft"]


class Graft:
    """One call of something that computes with symbols, on proxies: of a block, or of a function.

    In a `with` statement, it is the trace that blocks and operators ask.
    """

    def __init__(self, capture: Any, block: Any = None) -> None:
        self.capture = capture
        self.name = capture.name if block is None else block.name
        self.in_numpy = capture.in_numpy
        self._recorder = capture.shadow.recorder
        self._parameters: dict[str, Any] = {} if block is None else block._parameters_inside()
        self._facts = Facts(self.name, self._parameters)
        self._grafted: dict[Value, Value] = {}  # the value in the captured graph of each value of symbols
        self._input_count = 0
        self._entered: Any = None
        self._is_outermost = False

    def __enter__(self) -> Graft:
        traces, values = TRACES, vars(tracing)
        before = {"trace": tracing.trace, "leave": tracing.leave}
        undone = [partial(values.update, before), partial(traces.remove, self)]
        leave = partial(any, map(methodcaller("__call__"), undone))  # in C; none of them returns anything
        traces += [self]
        values |= {"trace": self, "leave": leave}
        return self

    __exit__ = leaving(tracing)

    # -- calls -------------------------------------------------------------------------------------------------------

    def compute(self, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what a function of symbols returns for proxies: a nest of proxies."""
        before = questions.training, questions.recording
        questions.training = questions.recording = False
        try:
            leaves = leaves_of((arguments, keywords))
            self.in_numpy = self.in_numpy or any(isinstance(leaf, BaseArrayProxy) for leaf in leaves)
            positional = [self.symbols(value) for value in arguments]
            named = {key: self.symbols(value) for key, value in keywords.items()}
            modes = Modes(self.name)
            modes.facts, modes.training = self._facts, self.capture.training
            with _NumberedFlags(not self.capture.scopes), modes, self:
                outputs = function(*positional, **named)
            if questions.training or questions.recording:
                self.capture.note_modes(questions.training, questions.recording)
        finally:
            questions.training = before[0] or questions.training
            questions.recording = before[1] or questions.recording
        return self.proxies(outputs)

    def entering(self, block: Any, is_outermost: bool) -> Callable[..., Any]:
        """Return what calls the block that all this is the call of; the outermost one without its hooks."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            self._entered, self._is_outermost = block, is_outermost
            return block(*arguments, **keywords)

        return call

    def call(self, block: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what a block inside returns for symbols."""
        if self._entered is block:  # its own way of being called leads here
            self._entered = None
            call = type(block).forward if self._is_outermost else Block.__call__
            return call(block, *arguments, **keywords)
        self.capture.require_no_effects(block)
        if not block._is_written_as_forward:
            self.capture.arrays.add_block(block)
            return Block.__call__(block, *arguments, **keywords)
        positional = [self.proxies(value) for value in arguments]
        named = {key: self.proxies(value) for key, value in keywords.items()}
        with _NoTrace():
            outputs = self.capture.call(block, positional, named)
        return self.symbols(outputs)

    # -- what blocks ask for while they are traced -------------------------------------------------------------------

    def parameter(self, parameter: Any) -> Symbol:
        """Return the variable of a parameter, of which the values are read."""
        self._parameters.setdefault(parameter.name, parameter)
        variable: Symbol = parameter.var()
        return variable.as_np_ndarray() if self.in_numpy else variable

    def draw(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what a function of `mx.np.random` draws."""
        function: Any = vars(symbol.np.random).get(name)
        if function is None:
            self.refuse_draw(f"np.random.{name}")
        return function(*arguments, **{key: value for key, value in keywords.items() if value is not None})

    def refuse_draw(self, noun: str = "random numbers") -> NoReturn:
        """Refuse numbers that would be drawn once only."""
        raise self._recorder.refuse(f"it draws {noun}, for which graphs have no operator")

    def refusal(self, does: str, *_: Any) -> BaseException:
        """Return what to raise for something that a graph cannot do."""
        return self._recorder.refuse(f"it {does}")

    # -- symbols and proxies -----------------------------------------------------------------------------------------

    def symbols(self, value: Any) -> Any:
        """Return a nest with symbols in the place of proxies."""
        if isinstance(value, NDArrayProxy):
            return self._symbol_of(value.inner)
        if isinstance(value, BaseArrayProxy):
            return self._symbol_of(value).as_np_ndarray()
        if isinstance(value, (Array, numpy.ndarray)):
            raise self._recorder.refuse("an array is given to a layer that is none of its arguments or attributes")
        if type(value) in (list, tuple):
            return type(value)(map(self.symbols, value))
        if isinstance(value, dict):
            return {key: self.symbols(part) for key, part in value.items()}
        if hasattr(type(value), "pin"):
            return value.pin()
        return value

    def _symbol_of(self, proxy: Any) -> Symbol:
        self._input_count += 1
        variable = symbol.var(f"{self.name}_input{self._input_count}")
        value = variable.values[0]
        self._grafted[value] = proxy.value
        self._facts.shapes[value], self._facts.dtypes[value] = proxy.shape, proxy.dtype
        return variable

    def proxies(self, value: Any) -> Any:
        """Return a nest with proxies in the place of symbols."""
        if isinstance(value, Array):  # what a layer begins with
            proxy = constant(self._recorder, value._data)
            is_plain = value._keeps_dtype and not self.in_numpy
            return NDArrayProxy(proxy) if is_plain else as_front(self._recorder, proxy, FRONT_ENDS["numpy"])
        if isinstance(value, Symbol):
            self._facts.infer(value)
            parts = [self._proxy_of(part) for part in value.values]
            return parts[0] if len(parts) == 1 else parts
        if type(value) in (list, tuple):
            return type(value)(map(self.proxies, value))
        if isinstance(value, dict):
            return {key: self.proxies(part) for key, part in value.items()}
        return value

    def _proxy_of(self, value: Value) -> Any:
        grafted = self._graft(value)
        shape, dtype = self._facts.shapes.get(value), self._facts.dtypes.get(value)
        if shape is None or dtype is None:
            raise self._recorder.refuse(f"the shape of what {self.name} computes depends on values")
        fact = Fact(tuple(shape), numpy.dtype(dtype), False)
        front = FRONT_ENDS["numpy"] if self.in_numpy else None
        if grafted.node.operator is CONSTANT:
            proxy = as_front(self._recorder, constant(self._recorder, grafted.node.attributes["value"]), front)
        elif grafted.node.operator is None:
            proxy = ArrayProxy.from_outside(self._recorder, grafted, *fact[:2], front)
        else:
            proxy = output_proxy(self._recorder, grafted.node, fact, grafted.index, front)
        return proxy if self.in_numpy else NDArrayProxy(proxy)

    def _graft(self, output: Value) -> Value:
        """Return a value of symbols as one of the captured graph, to which the nodes that it needs are added."""
        recorder = self._recorder
        shapes, dtypes = self._facts.shapes, self._facts.dtypes
        for node in topological([output]):
            if Value(node) in self._grafted:
                continue
            if node.operator is None:
                self._grafted[Value(node)] = self._parameter_value(node)
                continue
            inputs = [self._grafted[value] for value in node.inputs]
            copied = recorder.node(node.operator, inputs, node.attributes, name=node.name, called=node.kind)
            copied.outputs_expected, copied.annotations = node.outputs_expected, node.annotations
            for index in range(len(node.output_names())):
                value = Value(node, index)
                self._grafted[value] = Value(copied, index)
                shape, dtype = shapes.get(value), dtypes.get(value)
                if shape is not None and dtype is not None:
                    fact = tuple(shape), numpy.dtype(dtype)
                    recorder.outputs[Value(copied, index)] = fact
                    recorder.facts.setdefault(copied, fact)
        return self._grafted[output]

    def _parameter_value(self, node: Node) -> Value:
        parameter = self._parameters.get(node.name)
        if parameter is None:
            raise self._recorder.refuse(f"{self.name} has a variable {node.name!r}, which is no parameter of it")
        variable, _ = self.capture.arrays.variable(parameter, self.capture.context)
        return Value(variable)


class _NumberedFlags:
    """Makes the flags of recording and training numbers, so that scopes inside, which set booleans, are told apart.

    Where one is entered already, they stay what they are.
    """

    def __init__(self, is_outside: bool) -> None:
        self._is_outside = is_outside

    def __enter__(self) -> None:
        self._before = {"recording": state.recording, "training": state.training}
        if self._is_outside:
            vars(state).update(recording=1 if state.recording == 1 else 2, training=int(state.training))

    def __exit__(self, *_: Any) -> None:
        vars(state).update(self._before)


class _NoTrace:
    """Lets no trace be there: what is captured through asks for nothing of symbols."""

    def __enter__(self) -> None:
        values = vars(tracing)
        self._before = {"trace": tracing.trace, "modes": tracing.modes, "leave": tracing.leave}
        values |= {"trace": None, "modes": None}

    def __exit__(self, *_: Any) -> None:
        vars(tracing).update(self._before)
