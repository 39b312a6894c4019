"""A call of a user's function run on proxies: the graph of what it computed, what it read and what it returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, NamedTuple

import numpy

from minpy.capture import steps
from minpy.capture.foreign import DictProxy, ListProxy
from minpy.capture.nd_proxy import NDArrayProxy, wrapped
from minpy.capture.noting import made
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import PLAIN, ArrayKind, Reads, kind_of
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import Scalars, is_dynamic, pinned
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.tracer import run_traced
from minpy.core.array import FRONT_ENDS, Array
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import CONSTANT, Node, Value, topological, variable
from minpy.jit.pytrees import Nest, flatten, unflatten

__all__ = ["Captured", "Output", "capture_call"]


class Output(NamedTuple):
    """What stands at a leaf of what a function returns.

    Attributes
    ----------
    kind : str
        'head', an array that is computed; 'argument' or 'read', an array that was given or that the function refers
        to, itself; 'constant'.
    value
        The position of the head, the argument (among the arrays) or the array that was read; or the constant.
    scalar : bool
        Whether NumPy gives a scalar.
    cls : type or None
        The class of ours that a computed array has; None: `numpy.ndarray`.
    """

    kind: str
    value: Any
    scalar: bool = False
    cls: Any = None


class Captured(NamedTuple):
    """What became of a call.

    Attributes
    ----------
    heads : list of Value
        What is computed: what is returned, then the final values of arguments that are changed.
    writes : dict of int to int
        The position among the heads of what each changed argument becomes.
    outputs : list of Output
    spec : Nest or None
        How these are nested.
    inputs : list of Node
        The variables of the arrays among the arguments.
    kinds : list of ArrayKind
        What these are.
    reads : Reads
    scalars : Scalars
        The numbers that are inputs.
    recorder : Recorder
    """

    heads: list[Value]
    writes: dict[int, int]
    outputs: list[Output]
    spec: Nest | None
    inputs: list[Node]
    kinds: list[ArrayKind]
    reads: Reads
    scalars: Scalars
    recorder: Recorder


def capture_call(
    function: Callable[..., Any],
    title: str,
    leaves: Sequence[Any],
    spec: Nest | None,
    dynamic: Set[int] = frozenset(),
    dynamic_reads: Set[Any] = frozenset(),
) -> Captured:
    """Run a function on proxies of the leaves of its arguments, a nest (positional, by keyword).

    Parameters
    ----------
    function : callable
    title : str
        What messages call it.
    leaves : sequence
    spec : Nest
        How they are nested.
    dynamic : set of int, optional
        The positions of leaves that are numbers which change: they become inputs of the graph.
    dynamic_reads : set, optional
        The places of such numbers among what the function reads.

    Raises
    ------
    CaptureRefused
        If it does what cannot be captured: nothing has happened then.
    """
    recorder = Recorder(GraphBuilder(), title, ArrayProxy)
    reads = Reads()
    shadow = ShadowFunctions(recorder, reads, "forward", wrapped)
    recorder.of_user = False  # sums are those of our operators, which lose fewer digits
    shadow.dynamic = frozenset(dynamic_reads)
    inputs: list[Node] = []
    proxies: list[Any] = []
    once: dict[int, Any] = {}  # the same array at two places is one proxy

    def proxy_of(leaf: Any, position: int) -> Any:
        if isinstance(leaf, (numpy.ndarray, Array)):
            if id(leaf) in once:
                return once[id(leaf)]
            raw = leaf if isinstance(leaf, numpy.ndarray) else leaf._data
            if raw.dtype.kind not in "biufc":
                raise recorder.refuse(f"an argument is an array of dtype {raw.dtype}")
            node = variable(f"argument{len(inputs)}").node
            inputs.append(node)
            proxy: Any = ArrayProxy.given(recorder, Value(node), raw.shape, raw.dtype)
            if isinstance(leaf, Array) and leaf._keeps_dtype:
                proxy = wrapped(proxy)
            proxies.append(proxy)
            once[id(leaf)] = proxy
            return proxy
        if position in dynamic and is_dynamic(leaf):
            return shadow.scalars.proxy(leaf, "argument", position)
        return shadow.value(leaf, None, None, None, f"argument {position}")

    try:
        function = shadow.function(function)
        standing = [proxy_of(leaf, position) for position, leaf in enumerate(leaves)]
        positional, keywords = _frozen_nest(shadow, spec, iter(standing))
        result = run_traced(recorder, function, *positional, **keywords)
        return run_traced(recorder, _captured, shadow, inputs, proxies, leaves, result)
    finally:
        shadow.close()


def _frozen_nest(shadow: ShadowFunctions, spec: Nest | None, leaves: Any) -> Any:
    """Return the arguments; lists and dicts among them may not be changed."""
    if spec is None:
        return next(leaves)
    positional, keywords = spec.parts
    return (
        [_frozen(shadow, part, leaves) for part in positional.parts],
        {key: _frozen(shadow, part, leaves) for key, part in zip(keywords.keys, keywords.parts, strict=True)},
    )


def _frozen(shadow: ShadowFunctions, spec: Nest | None, leaves: Any) -> Any:
    if spec is None:
        return next(leaves)
    parts = [_frozen(shadow, part, leaves) for part in spec.parts]
    if spec.kind is list:
        return ListProxy(shadow, parts)
    if spec.keys is not None:
        return DictProxy(shadow, zip(spec.keys, parts, strict=True))
    return unflatten(Nest(spec.kind, None, (None,) * len(parts)), iter(parts))


def _captured(
    shadow: ShadowFunctions, inputs: list[Node], proxies: list[Any], leaves: Sequence[Any], result: Any
) -> Captured:
    recorder, reads = shadow.recorder, shadow.captures
    found: list[Any] = []
    spec = flatten(_thawed(recorder, result), found)
    given = {id(proxy): position for position, proxy in enumerate(proxies)}
    variables = {node: ("argument", position) for position, node in enumerate(inputs)}
    variables.update((node, ("read", position)) for position, node in enumerate(reads.nodes))
    arrays = [leaf for leaf in {id(leaf): leaf for leaf in leaves}.values() if isinstance(leaf, (numpy.ndarray, Array))]
    kinds = list(map(kind_of, arrays))
    classes = {node: kind.cls for node, kind in zip(inputs, kinds, strict=True)}
    classes.update((row.node, row.kind.cls) for row in reads.array_rows)
    heads: list[Value] = []
    outputs: list[Output] = []
    known: dict[int, Output] = {}
    for leaf in found:
        inner = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
        if not isinstance(inner, ArrayProxy):
            leaf = pinned(leaf)
            if not isinstance(leaf, PLAIN):
                raise recorder.refuse(f"it returns a {type(leaf).__name__}")
            outputs.append(Output("constant", leaf))
            continue
        output = known.get(id(leaf))
        if output is None:
            value = inner.value
            if id(leaf) in given:
                output = Output("argument", given[id(leaf)])
            elif value.node in variables and not inner.is_view:
                output = Output(*variables[value.node])
            else:
                shared = inner.is_view or value.node.operator in (None, CONSTANT) or value in heads
                if shared:
                    copy = recorder.node(steps.make_step(numpy.array, (steps.Slot(0),), {}), [value])
                    while Value(copy) in heads:
                        copy = recorder.node(steps.make_step(numpy.array, (steps.Slot(0),), {}), [Value(copy)])
                    value = made(recorder, copy, inner.fact).value
                output = Output("head", len(heads), inner.scalar, _class_of(leaf, value, classes))
                heads.append(value)
            known[id(leaf)] = output
        outputs.append(output)
    return Captured(heads, {}, outputs, spec, inputs, kinds, reads, shadow.scalars, recorder)


def _thawed(recorder: Recorder, result: Any) -> Any:
    """Return a result in which lists and dicts are the function's own."""
    if isinstance(result, (ListProxy, DictProxy)):
        raise recorder.refuse("it returns a list or a dict that it did not make")
    return result


def _class_of(leaf: Any, value: Value, classes: dict[Node, type]) -> Any:
    """Return the class of ours that a computed array has: that of the arrays that it was computed from."""
    if isinstance(leaf, NDArrayProxy):
        return FRONT_ENDS["mxnet"]
    for node in topological([value]):
        cls = classes.get(node)
        if cls is not None and issubclass(cls, Array):
            return cls
    return None
