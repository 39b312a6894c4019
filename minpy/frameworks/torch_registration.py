"""Operators registered with PyTorch's dispatcher: what `torch.compile`, `torch.export` and graphs see of them.

An operator and all its derivatives are two operators there, `name(...)` and `name_derivative(values, spec)`. They are
defined with `torch.library.Library`, a third of the time of `torch.library.custom_op` a call; the kernels are NumPy,
whatever device tensors are on.
"""

from __future__ import annotations

import itertools
import keyword
import re
import threading
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.batching.operator_calls import batch_way
from minpy.core.errors import ArgumentError, NotTraceableError, describe
from minpy.frameworks.batched_derivatives import BatchedDerivative, derivative_of_spec
from minpy.frameworks.derivatives import Derivative
from minpy.frameworks.digests import digest_of
from minpy.frameworks.torch_calls import (
    TORCH_DTYPES,
    RegisteredCall,
    call_directly,
    compute,
    is_batched,
    is_followed,
    is_inexact,
    is_plain,
    is_pushed,
    is_symbol,
    live_positions,
    needs_gradient,
    number_of,
    numpy_dtype,
    torch,
)
from minpy.frameworks.torch_graph import GraphForms, GraphLevel
from minpy.frameworks.torch_schema import Schema
from minpy.frameworks.torch_shapes import outputs_of
from minpy.ops.inference.partial_shapes import UNKNOWN

__all__ = ["CallKind", "Registered", "registered"]

_LIBRARIES: dict[str, Any] = {}
_REGISTERED: dict[tuple[str, str], Registered] = {}
_lock = threading.RLock()
_is_grad_enabled = torch.is_grad_enabled


def registered(operator: Any, schema: Schema, name: str | None, namespace: str, batch: str) -> Registered:
    """Return an operator's registration with PyTorch's dispatcher; one for all that compute the same."""
    label = name or re.sub(r"\W", "_", operator.__name__).strip("_") or "operator"
    if name is None and keyword.iskeyword(label):  # a lambda
        label = f"{label}_operator"
    for text in (label, namespace):
        if not isinstance(text, str) or not text.isidentifier() or keyword.iskeyword(text):
            raise ArgumentError(
                f"to_torch: {describe(text)} is no name for an operator of PyTorch's; expected letters, digits and "
                "underscores."
            )
    digest, is_whole = digest_of(operator)
    with _lock:
        for number in itertools.count(1):
            full = f"{label}_{digest}" if number == 1 else f"{label}_{digest}_{number}"
            entry = _REGISTERED.get((namespace, full))
            if entry is None:
                entry = _REGISTERED[namespace, full] = Registered(operator, schema, full, namespace, batch, label)
                return entry
            if entry.schema.text == schema.text and entry.batch == batch and (is_whole or entry.operator is operator):
                entry.operator = operator
                return entry
    raise AssertionError("there is always another number")


class CallKind:
    """Calls of an operator with the same attributes, and the same inputs left out: what is worked out once."""

    __slots__ = (
        "attributes",
        "derivative",
        "forms",
        "is_single",
        "live_for",
        "operator",
        "reads",
        "registered",
        "simple",
    )

    def __init__(self, derivative: Derivative, entry: Registered, attributes: tuple[tuple[str, Any], ...]) -> None:
        self.derivative, self.operator, self.attributes = derivative, derivative.operator, attributes
        self.registered = entry
        self.forms = GraphForms(derivative)
        self.is_single = not derivative.returns_tuple
        # By which inputs need gradients: the positions of the values, and whether the outputs are, that rules read.
        self.reads: dict[tuple[bool, ...], tuple[tuple[int, ...], bool]] = {}
        # Pulls of calls with one output, of which all inputs need a gradient, and are read.
        self.simple: dict[tuple[bool, ...], Derivative] = {}
        self.live_for: dict[tuple[bool, ...], tuple[int, ...]] = {}

    def live(self, needed: tuple[bool, ...]) -> tuple[int, ...]:
        """Return the positions of the values whose gradients are asked for, and not said to be zero."""
        positions = self.live_for.get(needed)
        if positions is None:
            asked = [position for position, is_needed in enumerate(needed[1:]) if is_needed]
            positions = live_positions(self.derivative, asked)
            self.live_for[needed] = positions
        return positions

    def values_read(self, needed: tuple[bool, ...]) -> tuple[tuple[int, ...], bool]:
        """Return which values the rules read, for gradients of some: positions, and whether they read outputs."""
        derivative = self.derivative
        operator = derivative.operator
        indices = [derivative.input_position(position) for position, is_needed in enumerate(needed[1:]) if is_needed]
        # Where the call's own operator is not at hand, a fresh one runs forward anew.
        reads, reads_outputs = (None, True) if derivative.is_made_anew else operator.values_read(indices)
        count = len(needed) - 1
        if reads is None:
            return tuple(range(count)), reads_outputs
        return tuple(
            position for position in range(count) if derivative.input_position(position) in reads
        ), reads_outputs


class Registered:
    """The two operators that an operator is with PyTorch's dispatcher."""

    def __init__(self, operator: Any, schema: Schema, name: str, namespace: str, batch: str, label: str) -> None:
        self.operator, self.schema, self.batch = operator, schema, batch
        # `label` is the name without the digest.
        self.name, self.namespace, self.label = name, namespace, label
        self._kinds: dict[Any, CallKind] = {}
        self._by_count: dict[str, Any] = {}
        self._define()

    # -- defining ------------------------------------------------------------------------------------------------------

    def _define(self) -> None:
        library = _LIBRARIES.get(self.namespace)
        if library is None:
            library = _LIBRARIES[self.namespace] = torch.library.Library(self.namespace, "FRAGMENT")
        tags = [torch.Tag.pt2_compliant_tag]
        if self.operator.random:
            tags.append(torch.Tag.nondeterministic_seeded)
        derivative = f"{self.name}_derivative"
        library.define(self.name + self.schema.text, tags=tags)
        library.define(f"{derivative}(Tensor[] values, str spec) -> Tensor[]", tags=[torch.Tag.pt2_compliant_tag])
        operators = getattr(torch.ops, self.namespace)
        self.op = getattr(operators, self.name).default
        self.derivative = getattr(operators, derivative).default
        library.impl(self.name, self._run, "CompositeExplicitAutograd")
        library.impl(derivative, self._run_derivative, "CompositeExplicitAutograd")
        # What is a graph of PyTorch's functions is taken apart where graphs are made; what traces not at all is `op`.
        self.traced_op, self.graph_op = [self._define_graph(library, must) for must in (False, True)]
        library.impl(self.name, self._record, "Autograd")
        library.impl(derivative, self._record_derivative, "Autograd")
        for label, fake, batched in (
            (self.name, self._fake, self._vmap),
            (derivative, self._fake_derivative, self._vmap_derivative),
        ):
            qualified = f"{self.namespace}::{label}"
            torch.library.register_fake(qualified, fake, lib=library)
            torch.library.register_vmap(qualified, batched, lib=library)
            for device in ("cpu", "cuda"):
                torch.library.register_autocast(qualified, device, torch.float32, lib=library)

    def _define_graph(self, library: Any, must_trace: bool) -> Any:
        """Return an operator that is the graph, and where there is none, an error or the one that calls NumPy."""
        name = f"{self.name}_{'graph' if must_trace else 'auto'}"

        def run(*inputs: Any, **attributes: Any) -> Any:
            kind, tensors = self._taken(inputs, attributes)
            form = kind.forms.form_of(tensors, must_trace)
            if not isinstance(form, str):
                return self._result(GraphLevel.record(form, tensors))
            if must_trace:
                raise NotTraceableError(form)
            return self.op(*inputs, **attributes)

        def batched(info: Any, in_dims: Any, *inputs: Any, **attributes: Any) -> Any:
            operator = getattr(getattr(torch.ops, self.namespace), name)
            mapped = torch.vmap(lambda *values: operator(*values, **attributes), in_dims, randomness=info.randomness)
            result = mapped(*inputs)
            return result, (0,) * len(result) if isinstance(result, tuple) else 0

        library.define(name + self.schema.text, tags=[torch.Tag.pt2_compliant_tag])
        library.impl(name, run, "CompositeImplicitAutograd")
        torch.library.register_vmap(f"{self.namespace}::{name}", batched, lib=library)
        return getattr(getattr(torch.ops, self.namespace), name).default

    def current(self, operator: Any) -> Registered:
        """Return the registration of an operator as it is now: another one, if its rules are not those of this one."""
        return registered(operator, self.schema, self.label, self.namespace, self.batch)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def kind(self, absent: tuple[int, ...], attributes: tuple[tuple[str, Any], ...]) -> CallKind:
        """Return the kind of a call with some inputs left out and these attributes, as the operator takes them."""
        key = absent, attributes, tuple([type(value) for _, value in attributes]), self.operator
        try:
            kind = self._kinds.get(key)
        except TypeError:  # a list, or a dict
            key = absent, repr(attributes), self.operator  # type: ignore[assignment]
            kind = self._kinds.get(key)
        if kind is None or 0.0 in [value for _, value in attributes if type(value) is float]:  # 0.0 equals -0.0
            kind = CallKind(self.derivative_of(absent, dict(attributes)), self, attributes)
            if len(self._kinds) > 1000:
                self._kinds.clear()
            self._kinds[key] = kind
        return kind

    def derivative_of(self, absent: Sequence[int], attributes: dict[str, Any]) -> Derivative:
        """Return the operator as the derivative of order 0 of calls with these attributes."""
        count = self.schema.num_outputs
        return Derivative(self.operator, attributes, count, self.returns_tuple, absent)

    @property
    def returns_tuple(self) -> bool:
        """Whether callers get a tuple."""
        return self.schema.num_outputs > 1

    def _taken(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> tuple[CallKind, list[Any]]:
        """Return (the kind, the tensors) of a call as the dispatcher makes it."""
        values = list(inputs[0]) if self.schema.variadic else list(inputs)
        absent = tuple([position for position, value in enumerate(values) if value is None])
        named = tuple(
            [
                (form.name, form.from_torch(attributes[form.name]))
                for form in self.schema.attributes
                if form.name in attributes
            ]
        )
        return self.kind(absent, named), [value for value in values if value is not None]

    def call_operator(self, derivative: Derivative, tensors: Sequence[Any]) -> Any:
        """Call the registered operator: what a derivative of order 0 means, on these tensors."""
        values = derivative._inputs(tensors)
        named = {
            form.name: form.to_torch(derivative.attributes[form.name])
            for form in self.schema.attributes
            if form.name in derivative.attributes
        }
        return self.op(values, **named) if self.schema.variadic else self.op(*values, **named)

    def call_derivative(self, derivative: Derivative, tensors: Sequence[Any]) -> Sequence[Any]:
        """Call the registered operator that all derivatives are."""
        if any(map(is_batched, tensors)):  # no list can be batched in that way
            if self.maps_elementwise or self.maps_by_rule or derivative.has_examples:
                return self._of_legacy_batch(derivative, tensors)
            result = self._listed(len(tensors), derivative.num_returned)(*tensors, derivative.spec)
            return result if isinstance(result, (tuple, list)) else (result,)
        results: Sequence[Any] = self.derivative(list(tensors), derivative.spec)
        return results

    def _listed(self, count: int, num_returned: int) -> Any:
        """Return an operator that is the derivative with its values, and what it returns, as arguments of their own."""
        name = f"{self.name}_derivative_{count}_{num_returned}"
        with _lock:
            if name not in self._by_count:
                values = ", ".join(f"Tensor value{position}" for position in range(count))
                returned = "Tensor" if num_returned == 1 else f"({', '.join(['Tensor'] * num_returned)})"
                library = _LIBRARIES[self.namespace]

                def run(*arguments: Any) -> Any:
                    results = self.derivative(list(arguments[:-1]), arguments[-1])
                    return results[0] if num_returned == 1 else tuple(results)

                library.define(f"{name}({values}, str spec) -> {returned}")
                library.impl(name, run, "CompositeExplicitAutograd")
                self._by_count[name] = getattr(getattr(torch.ops, self.namespace), name).default
            return self._by_count[name]

    def _result(self, results: Sequence[Any]) -> Any:
        return tuple(results) if self.returns_tuple else results[0]

    # -- what the dispatcher calls -------------------------------------------------------------------------------------

    def _run(self, *inputs: Any, **attributes: Any) -> Any:
        kind, tensors = self._taken(inputs, attributes)
        return self._result(compute(kind.derivative, tensors))

    def _run_derivative(self, values: Sequence[Any], spec: str) -> list[Any]:
        return compute(derivative_of_spec(self.operator, spec), values)

    def _record(self, *inputs: Any, **attributes: Any) -> Any:
        kind, tensors = self._taken(inputs, attributes)
        if _is_grad_enabled() and needs_gradient(tensors):
            if is_plain(tensors) and not is_followed():
                return call_directly(kind, tensors)
            return self._result(RegisteredCall.record(kind.derivative, self, tensors))
        if is_pushed():
            return self._result(RegisteredCall.record(kind.derivative, self, tensors))
        with torch._C._AutoDispatchBelowAutograd():
            return self.op(*inputs, **attributes)

    def _record_derivative(self, values: Sequence[Any], spec: str) -> Any:
        if (_is_grad_enabled() and needs_gradient(values)) or is_pushed():
            return list(RegisteredCall.record(derivative_of_spec(self.operator, spec), self, values))
        with torch._C._AutoDispatchBelowAutograd():
            return self.derivative(values, spec)

    def _fake(self, *inputs: Any, **attributes: Any) -> Any:
        kind, tensors = self._taken(inputs, attributes)
        return self._result(_empty(kind.derivative, tensors))

    def _fake_derivative(self, values: Sequence[Any], spec: str) -> list[Any]:
        return _empty(derivative_of_spec(self.operator, spec), values)

    # -- batches -------------------------------------------------------------------------------------------------------

    def batched(self, size: int, derivative: Derivative, in_dims: Sequence[Any], tensors: Sequence[Any]) -> Any:
        """Return (what a derivative gives for each entry along mapped axes, the axes in the results)."""
        results: Sequence[Any]
        if size == 0:
            results = self._of_no_entries(derivative, in_dims, tensors)
        elif derivative.has_examples:
            results = self._of_more_examples(size, derivative, in_dims, tensors)
        elif self.maps_elementwise:
            results = self._at_once(size, derivative, in_dims, tensors)
        elif self.maps_by_rule:
            results = self.call_derivative(BatchedDerivative.of(derivative), _leading(size, in_dims, tensors))
        else:
            entries = [self._entry_of(derivative, in_dims, tensors, index) for index in range(size)]
            results = [torch.stack(parts) for parts in zip(*entries, strict=True)]
        return tuple(results), (0,) * len(results)

    @property
    def maps_elementwise(self) -> bool:
        """Whether batches are computed with axes of their own in front."""
        return self.batch == "elementwise" or self.operator.batch_rule == "elementwise"

    @property
    def maps_by_rule(self) -> bool:
        """Whether batches are computed by a rule of the operator's."""
        return not self.maps_elementwise and batch_way(self.operator) == "rule"

    def _of_legacy_batch(self, derivative: Derivative, tensors: Sequence[Any]) -> list[Any]:
        """Call a derivative on the tensors that stand for many where PyTorch computes a batch of gradients."""
        level = torch._C._vmapmode_increment_nesting() - 1
        torch._C._vmapmode_decrement_nesting()
        dims = [0 if is_batched(tensor) else None for tensor in tensors]

        def unpacked(size: int) -> list[Any]:
            return [
                torch._remove_batch_dim(tensor, level, size, 0) if is_batched(tensor) else tensor for tensor in tensors
            ]

        # What stands for many at another level only gets an axis of the length that is said.
        size = max(tensor.shape[0] for tensor, dim in zip(unpacked(1), dims, strict=True) if dim is not None)
        whole = unpacked(size)
        results, _ = self.batched(size, derivative, dims, whole)
        return [torch._add_batch_dim(result, 0, level) for result in results]

    def _of_no_entries(self, derivative: Derivative, in_dims: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
        """Return the results of an empty batch: they hang on the tensors, whose gradients are zeros."""
        results = _empty(derivative, [_entry(tensor, dim) for tensor, dim in zip(tensors, in_dims, strict=True)])
        none = sum((tensor.real * 0).sum() for tensor in tensors if is_inexact(tensor))
        return [
            result.new_zeros((0, *result.shape)) + none if is_inexact(result) else result.new_zeros((0, *result.shape))
            for result in results
        ]

    def _of_more_examples(
        self, size: int, derivative: Derivative, in_dims: Sequence[Any], tensors: Sequence[Any]
    ) -> list[Any]:
        """Call what takes many examples already on `size` times as many."""
        stacked = _leading(size, in_dims, tensors)
        count = stacked[0].shape[1]
        results = self.call_derivative(derivative, [tensor.flatten(0, 1) for tensor in stacked])
        return [result.unflatten(0, (size, count)) for result in results]

    def _at_once(self, size: int, derivative: Derivative, in_dims: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
        """Call a derivative of an elementwise operator on all entries: with axes of their own before those of each."""
        rank = max(tensor.dim() - (dim is not None) for tensor, dim in zip(tensors, in_dims, strict=True))
        shapes, aligned = [], []
        for entries in _leading(size, in_dims, tensors):
            shapes.append(entries.shape)
            aligned.append(entries.reshape(size, *[1] * (rank + 1 - entries.dim()), *entries.shape[1:]))
        results = self._called(derivative, aligned)
        if derivative.chain and derivative.chain[-1][0] == "pull":
            places = [derivative.offset + position for position in derivative.chain[-1][1]]
            return [result.reshape(shapes[place]) for result, place in zip(results, places, strict=True)]
        return list(results)

    def _called(self, derivative: Derivative, values: Sequence[Any]) -> Any:
        if derivative.chain:
            return self.call_derivative(derivative, values)
        result = self.call_operator(derivative, values)
        return result if isinstance(result, (tuple, list)) else (result,)

    def _entry_of(self, derivative: Derivative, in_dims: Sequence[Any], tensors: Sequence[Any], index: int) -> Any:
        values = [
            tensor if dim is None else tensor.select(dim, index) for tensor, dim in zip(tensors, in_dims, strict=True)
        ]
        return self._called(derivative, values)

    def _vmap(self, info: Any, in_dims: Any, *inputs: Any, **attributes: Any) -> Any:
        kind, tensors = self._taken(inputs, attributes)
        dims = list(in_dims[0] or [None] * len(tensors)) if self.schema.variadic else list(in_dims)
        dims = [
            dim
            for dim, value in zip(dims, inputs[0] if self.schema.variadic else inputs, strict=True)
            if value is not None
        ]
        results, out_dims = self.batched(info.batch_size, kind.derivative, dims, tensors)
        return (results, out_dims) if self.returns_tuple else (results[0], out_dims[0])

    def _vmap_derivative(self, info: Any, in_dims: Any, values: Sequence[Any], spec: str) -> Any:
        dims = in_dims[0] or [None] * len(values)
        results, out_dims = self.batched(info.batch_size, derivative_of_spec(self.operator, spec), dims, values)
        return list(results), list(out_dims)


def _leading(size: int, in_dims: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return tensors with their entries along the first axis."""
    return [
        tensor.unsqueeze(0).expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]


def _entry(tensor: Any, dim: Any) -> Any:
    if dim is None:
        return tensor
    shape = list(tensor.shape)
    del shape[dim]
    return tensor.new_empty(shape)


def _empty(derivative: Derivative, tensors: Sequence[Any]) -> list[Any]:
    """Return tensors without numbers like those that a derivative gives for tensors like these."""
    dtypes = [numpy_dtype(tensor, derivative, position) for position, tensor in enumerate(tensors)]
    shapes = [tuple(tensor.shape) for tensor in tensors]
    outputs = outputs_of(derivative, shapes, dtypes, number_of, is_symbol, torch._check)
    device = tensors[0].device if tensors else torch.device("cpu")
    results = []
    for shape, dtype in outputs:
        lengths = [torch.library.get_ctx().new_dynamic_size() if _is_unknown(length) else length for length in shape]
        results.append(torch.empty(lengths, dtype=TORCH_DTYPES[numpy.dtype(dtype)], device=device))
    return results


def _is_unknown(length: Any) -> bool:
    return type(length) is int and length == UNKNOWN
