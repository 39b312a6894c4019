"""One call of an operator: bind, look at the types, run the forward function, wrap, record.

The classes of the inputs decide the mode. NumPy arrays and scalars only: the forward function is called as it is. An
`Array` among them: it runs on the buffers, and a node is recorded if the thread records and an input needs a
gradient. Values of other kinds (boxes of HIPS autograd, symbols) have a handler registered for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from minpy.core.array import Array, Shaped, raw_of
from minpy.core.buffers import note_write, share_with
from minpy.core.errors import (
    ArgumentError,
    ContextError,
    DTypeError,
    MutationError,
    MXNetError,
    NoGradientError,
    broadcast_error,
    describe,
    in_place_of,
    named,
    operator_error,
)
from minpy.core.integer_results import in_their_dtype, refused
from minpy.core.nodes import attach_outputs, record_node
from minpy.core.signatures import bind
from minpy.core.state import state
from minpy.core.user_functions import call_line, guarded_input, read_only, run_guarded

__all__ = [
    "array_to_follow",
    "call",
    "call_form",
    "call_on_arrays",
    "needs_no_binding",
    "note_bound",
    "register_tracer",
    "run",
    "write_out",
]

numpy_array = numpy.ndarray
_NUMBERS = {int, float, bool, complex, numpy.float16, numpy.float32, numpy.float64, numpy.int32, numpy.int64}

# STRANGE are values that no operator of arrays takes: strings, dicts, objects that are no sequences; and None, which
# stands for an optional input.
# NESTED are lists and tuples; FOREIGN are other libraries' values that NumPy converts to arrays, as pandas' columns.
RAW, ARRAY, TRACER, STRANGE, NESTED, FOREIGN = range(6)
_kinds: dict[type, int] = {numpy.ndarray: RAW, float: RAW, int: RAW, bool: RAW}
_PROTOCOLS = ("__array__", "__array_interface__", "__float__", "__complex__", "__getitem__", "shape")
_tracers: list[tuple[type, Callable[..., Any], str]] = []


def register_tracer(
    cls: type, handler: Callable[[Any, list[Any], dict[str, Any], str | None], Any], described: str
) -> None:
    """Let `handler(operator, inputs, attributes, name)` run calls whose inputs include a `cls`.

    The latest has precedence. `name` is the name of the call in a graph, or None; `described` is the noun for such
    values in messages.
    """
    _tracers.insert(0, (cls, handler, described))
    _kinds.clear()


def kind_of(cls: type) -> int:
    """Return RAW, ARRAY, TRACER, STRANGE, NESTED or FOREIGN for a class of values."""
    if issubclass(cls, Array):
        kind = ARRAY
    elif any(issubclass(cls, tracer[0]) for tracer in _tracers):
        kind = TRACER
    elif issubclass(cls, (str, bytes, dict, type)) or not any(hasattr(cls, name) for name in _PROTOCOLS):
        kind = STRANGE
    elif issubclass(cls, (list, tuple)):
        kind = NESTED
    elif (
        (hasattr(cls, "__array__") or hasattr(cls, "__array_interface__"))
        and not issubclass(cls, (numpy.ndarray, numpy.generic))
        and not cls.__module__.startswith("minpy.")
    ):
        kind = FOREIGN
    else:
        kind = RAW
    _kinds[cls] = kind
    return kind


def call(operator: Any, /, *arguments: Any, **attributes: Any) -> Any:
    """Call an operator on any mix of values; see the module's docstring. This is `Operator.__call__`."""
    inputs: Sequence[Any] = arguments
    out = name = None
    if attributes:  # `name` and `out` are removed first, so that the others may need no binding
        if operator.takes_name:
            name = attributes.pop("name", None)
        if operator.builtin:
            out = attributes.pop("out", None)
    if attributes or len(arguments) != operator.arity:
        form = (len(arguments), *attributes, *map(type, attributes.values()))
        if form not in operator.bound_forms:
            keywords = tuple(attributes)
            inputs, attributes = bind(
                operator.__name__, operator.signature, arguments, attributes, positional_attributes=operator.builtin
            )
            if operator.builtin and len(inputs) == len(arguments) and tuple(attributes) == keywords:
                note_bound(operator, form, attributes)
            if operator.keyword_inputs:
                if not operator.builtin:
                    refuse_hidden(operator, attributes)
                for key in operator.keyword_inputs:
                    if kind_of(type(attributes.get(key))) in (ARRAY, TRACER):
                        value = attributes.pop(key)
                        naming = {} if name is None else {"name": name}
                        return operator.with_inputs(key)(*inputs, value, **attributes, **naming)
            if operator.builtin and state.recording:
                refuse_recorded(operator, attributes)
    kind = RAW
    for value in inputs:
        try:
            kind_of_value = _kinds[type(value)]
        except KeyError:
            kind_of_value = kind_of(type(value))
        if kind_of_value > kind:
            kind = kind_of_value
    if kind >= STRANGE:
        if kind > STRANGE:
            inputs = [converted(operator, index, value) for index, value in enumerate(inputs)]
        kind = kind_of_call(operator, inputs)
    if operator.uses_training and attributes.get("training") is None and kind != TRACER:
        attributes["training"] = state.training
    if kind == ARRAY:
        result = call_on_arrays(operator, inputs, attributes)
    elif kind == RAW:
        result = visible(operator, run(operator, inputs, attributes), attributes)
    else:
        _, handler, described = next(
            tracer for tracer in _tracers if any(isinstance(value, tracer[0]) for value in inputs)
        )
        if out is not None:
            raise ArgumentError(f"{operator.__name__}: out= cannot be used with {described}; use what it returns.")
        return handler(operator, list(inputs), attributes, name)
    return result if out is None else write_out(operator, result, out)


def converted(operator: Any, index: int, value: Any) -> Any:
    """Return an input converted to a NumPy array if it is NESTED numbers or FOREIGN; others as they are.

    Raises
    ------
    ArgumentError
        If NumPy cannot convert it to an array of numbers, or a list contains arrays that need gradients.
    """
    kind = kind_of(type(value))
    if operator.auxiliary and operator.argument_name(index) in operator.auxiliary:
        return value  # the call changes it in place
    if kind == NESTED:
        leaves = [*leaves_in(value)]
        if not operator.builtin and any(is_ours(leaf) for leaf in leaves):
            raise ArgumentError(
                f"{operator.__name__}: {operator.argument_name(index)} is a {type(value).__name__} of arrays, through "
                "which no gradient would flow. Give each array as an input of its own: "
                f"def {operator.__name__}(*{operator.argument_name(index)}), called with "
                f"{operator.__name__}(*arrays)."
            )
        if not leaves or not all(isinstance(leaf, (bool, int, float, complex, numpy.generic)) for leaf in leaves):
            return value
    elif kind != FOREIGN:
        return value
    try:
        array = numpy.array(value)
    except Exception as error:
        ragged = " It is ragged: make all rows equally long (pad them)." if kind == NESTED else ""
        raise ArgumentError(
            f"{operator.__name__}: {operator.argument_name(index)} is {describe(value)}, of which NumPy makes no "
            f"array.{ragged} ({error})"
        ) from None
    if array.dtype.kind not in "biufcV":
        raise ArgumentError(
            f"{operator.__name__}: {operator.argument_name(index)} is {describe(value)}, of which NumPy makes an array "
            f"of dtype {array.dtype}; expected numbers. Convert it first, column by column, or with astype('float32')."
        )
    return array


def leaves_in(value: Any) -> Iterator[Any]:
    """Yield the leaves of nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves_in(part)
    else:
        yield value


def is_ours(value: Any) -> bool:
    """Tell whether a value is an array of minpy, or a symbol or proxy for one."""
    return isinstance(value, Array) or (kind_of(type(value)) == TRACER and type(value).__module__.startswith("minpy."))


def refuse_hidden(operator: Any, attributes: dict[str, Any]) -> None:
    """Raise for recorded arrays and symbols in lists and dicts that are attributes: their gradient would be lost."""
    for key, value in attributes.items():
        if type(value) in (list, tuple, dict):
            for leaf in leaves_in(value):
                is_recorded = isinstance(leaf, Array) and leaf._node is not None and state.recording
                if is_recorded or (not isinstance(leaf, Array) and is_ours(leaf)):
                    raise ArgumentError(
                        f"{operator.__name__}: {key} is a {type(value).__name__} with an array in it, through which no "
                        "gradient would flow. Give each array as an input of its own; or a constant: x.detach()."
                    )


def kind_of_call(operator: Any, inputs: Sequence[Any]) -> int:
    """Return the kind of a call with STRANGE, NESTED or FOREIGN inputs: that of its other inputs.

    Raises
    ------
    ArgumentError
        If the operator is a built-in one on NDArrays, and a STRANGE input cannot be left out.
    """
    kind, names, defaults = RAW, operator.signature.inputs, operator.signature.defaults
    refused = []
    for index, value in enumerate(inputs):
        kind_of_value = _kinds.get(type(value))
        if kind_of_value is None:
            kind_of_value = kind_of(type(value))
        if kind_of_value != STRANGE:
            kind_of_value = RAW if kind_of_value > STRANGE else kind_of_value
            kind = kind_of_value if kind_of_value > kind else kind
        elif value is not None or index >= len(names) or names[index] not in defaults:
            refused.append(index)
    if not refused or kind == TRACER or not operator.builtin or getattr(operator, "unpickled_by", None) is None:
        return kind
    if any(isinstance(value, Array) and not value._keeps_dtype for value in inputs):
        return kind  # NumPy's semantics, and its errors
    refused_value = describe(inputs[refused[0]])
    raise ArgumentError(
        f"{operator.__name__}: {operator.argument_name(refused[0])} is {refused_value}; expected an array."
    )


def needs_no_binding(operator: Any, arguments: Sequence[Any], attributes: dict[str, Any]) -> bool:
    """Tell whether binding would change nothing, as for an earlier call of the same form."""
    return (len(arguments), *attributes, *map(type, attributes.values())) in operator.bound_forms


def call_form(arguments: Sequence[Any], attributes: dict[str, Any]) -> tuple[Any, ...]:
    """Return the form of a call: the number of its inputs, the names of its attributes, and their types."""
    return (len(arguments), *attributes, *map(type, attributes.values()))


def note_bound(operator: Any, form: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    """Note that binding a call changed nothing, if that follows from its form.

    It does not for strings, which may have to be parsed, nor where only some values of a type are accepted.
    """
    declared = operator.signature.attributes
    if any(isinstance(cls, type) and issubclass(cls, Array) for cls in form):  # it may be recorded
        return
    if str not in form and all(
        name not in declared or declared[name].accepts(type(value)) is True for name, value in attributes.items()
    ):
        operator.bound_forms.add(form)


def refuse_recorded(operator: Any, attributes: dict[str, Any]) -> None:
    """Raise if an attribute of a call that may be recorded is itself recorded: no gradient would reach it.

    Raises
    ------
    NoGradientError
    """
    for key, value in attributes.items():
        if isinstance(value, Array) and value._node is not None:
            raise NoGradientError(
                f"{operator.__name__}: {key} is a recorded array ({describe(value._data)}), and there is no gradient "
                f"with respect to it: {key} is a number. Give {key}=x.asscalar() if no gradient shall flow, or compute "
                "with operators whose inputs are arrays."
            )


def visible(operator: Any, result: Any, attributes: dict[str, Any]) -> Any:
    """Return the outputs that callers see: some operators have further ones for their rules only."""
    count = operator.visible_outputs
    if count is None:
        return result
    if callable(count):
        count = count(attributes)
    return result[0] if count == 1 else result[:count]


def run(operator: Any, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Return the forward function's raw result for raw inputs: an array or scalar, or a tuple of arrays."""
    if operator.guarded:
        return run_guarded(operator, [guarded_input(value) for value in inputs], attributes)
    try:
        return operator.forward(*inputs, **attributes)
    except MXNetError as error:
        raise named(error, operator.__name__) from error.__cause__
    except Exception as error:
        if isinstance(error, ValueError):
            better_error = broadcast_error(operator.__name__, operator.argument_names(len(inputs)), inputs, error)
            if better_error is not error:
                raise better_error from None
        line = call_line(operator, "forward", inputs, "NumPy arrays")
        given_by_name = "".join(f", {key}={value!r}" for key, value in attributes.items() if key != "training")
        raise in_place_of(operator_error(error, line + given_by_name), error) from None


def call_on_arrays(operator: Any, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Return the result of a bound call with an `Array` among its inputs, and no tracer's value."""
    like: Any = None
    raws = []
    parents = []
    on_tape = scalars = False
    guarded = operator.guarded
    mixed: Sequence[Any] = ()  # the inputs, if one is not an `Array`
    for value in inputs:
        if isinstance(value, Array):
            raws.append(read_only(value._data) if guarded else value._data)
            node = value._node
            parents.append(node)
            if node is not None:
                on_tape = True
            if like is None:
                like = value
            elif type(value) is not type(like):
                like = array_to_follow(operator, like, value)
        else:
            mixed = inputs
            raws.append(guarded_input(value) if guarded else value)
            parents.append(None)
            scalars = scalars or isinstance(value, numpy.generic)
    if scalars and operator.builtin and like._keeps_dtype:  # MXNet's semantics: they take the dtype of the arrays
        raws = [value.item() if isinstance(value, numpy.generic) else value for value in raws]
    if mixed and like._keeps_dtype and like._data.dtype.kind in "iub" and operator.with_number is not None:
        of_number = _call_with_number(operator, inputs, raws)
        if of_number is not None:
            return of_number
    try:
        result = run_guarded(operator, raws, attributes) if guarded else run(operator, raws, attributes)
    except MXNetError:
        result = _refused(operator, raws, attributes) if operator.keeps_dtype and like._keeps_dtype else None
        if result is None:
            raise
    if type(result) is tuple:
        return _wrap_outputs(operator, like, inputs, mixed, raws, result, attributes, parents if on_tape else None)
    if type(result) is not numpy_array:
        result = numpy.asarray(result)
    if operator.keeps_dtype and like._keeps_dtype and result.dtype.kind == "f":
        result = _in_their_dtype(operator, raws, attributes, result)
    if operator.may_alias and like._copies_views:
        result = _unaliased(result, raws)
    node = None
    # Results other than floating point have no gradient, unless they are computed from integer variables.
    if on_tape and state.recording and (result.dtype.kind in "fc" or like._data.dtype.kind in "iub"):
        node = record(operator, mixed, raws, result, attributes, parents)
        node.shape = result.shape
        node.dtype = result.dtype
    array = like._like(result, node)
    if operator.may_alias and not like._copies_views:
        share_with(array, inputs)
    return array


def run_keeping_dtype(operator: Any, raws: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Return the raw result with NDArrays' semantics: for integers, in their dtype."""
    try:
        result = numpy.asarray(run(operator, raws, attributes))
    except MXNetError:
        computed = _refused(operator, raws, attributes)
        if computed is None:
            raise
        return computed
    if result.dtype.kind != "f":
        return result
    return _in_their_dtype(operator, raws, attributes, result)


def _in_their_dtype(operator: Any, raws: Sequence[Any], attributes: dict[str, Any], result: Any) -> Any:
    if result.dtype in [raw.dtype for raw in raws if type(raw) is numpy_array]:  # of floating-point numbers
        return result
    return in_their_dtype(lambda values: run(operator, values, attributes), raws, result)


def _refused(operator: Any, raws: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return refused(lambda values: run(operator, values, attributes), raws)


def _call_with_number(operator: Any, inputs: Sequence[Any], raws: Sequence[Any]) -> Any:
    """Return the result of the operator of an array and a number; None if there is no number."""
    on_right, on_left = operator.with_number
    if type(raws[1]) in (int, float):
        return on_right(inputs[0], scalar=raws[1])
    return on_left(inputs[1], scalar=raws[0]) if type(raws[0]) in (int, float) else None


def record(
    operator: Any,
    inputs: Sequence[Any],
    raws: Sequence[Any],
    result: Any,
    attributes: dict[str, Any],
    parents: Sequence[Any],
) -> Any:
    """Return a node for the call, with only those values that the rules read."""
    plan = operator.plan()
    if plan.reads_arguments is not None:  # None: all are read
        reads = plan.reads_arguments
        raws = [raw if index in reads else None for index, raw in enumerate(raws)]
        for index in plan.reads_shapes:
            if type(raws[index]) is numpy_array:
                raws[index] = Shaped(raws[index].shape, raws[index].dtype)
    for index, value in enumerate(inputs):
        if raws[index] is None:  # numbers are kept: they are part of what is computed
            if type(value) in _NUMBERS or (isinstance(value, numpy_array) and not value.ndim):
                raws = list(raws)
                raws[index] = value[()] if isinstance(value, numpy_array) else value
        elif isinstance(value, numpy_array) and isinstance(raws[index], numpy_array):  # its owner may write to it
            raws = list(raws)
            raws[index] = raws[index].copy()
            if operator.guarded:
                raws[index].setflags(write=False)
    if operator.guarded and attributes:
        attributes = {key: value.copy() if type(value) is numpy_array else value for key, value in attributes.items()}
    if not plan.reads_result:
        result = None
    if operator.guarded and result is not None:
        result = tuple(map(read_only, result)) if type(result) is tuple else read_only(result)
    return record_node(operator, raws, result, attributes, parents)


def _wrap_outputs(
    operator: Any,
    like: Any,
    inputs: Sequence[Any],
    mixed: Sequence[Any],
    raws: Sequence[Any],
    values: tuple[Any, ...],
    attributes: dict[str, Any],
    parents: Any,
) -> Any:
    values = tuple(numpy.asarray(value) for value in values)
    if operator.may_alias and like._copies_views:
        values = tuple(_unaliased(value, raws) for value in values)
    node = None
    of_integers = like._data.dtype.kind in "iub"
    if parents is not None and state.recording and (of_integers or any(value.dtype.kind in "fc" for value in values)):
        node = record(operator, mixed, raws, values, attributes, parents)
    if node is None:
        result = visible(operator, tuple(like._like(value) for value in values), attributes)
    else:
        outputs = attach_outputs(node, values)
        arrays = tuple(
            like._like(value, output if of_integers or value.dtype.kind in "fc" else None)
            for value, output in zip(values, outputs, strict=True)
        )
        result = visible(operator, arrays, attributes)
    if operator.may_alias and not like._copies_views:
        for array in result if type(result) is tuple else (result,):
            share_with(array, inputs)
    as_list = operator.builtin and like._copies_views and type(result) is tuple
    return list(result) if as_list else result  # MXNet's operators return lists


def _unaliased(result: numpy.ndarray, raws: Sequence[Any]) -> numpy.ndarray:
    """Return `result`, copied if it is a view of an input: an operator's result has memory of its own."""
    base = result.base
    for raw in raws:
        if result is raw:
            return result.copy()
        if (
            base is not None
            and type(raw) is numpy_array
            and (raw is base or (raw.base is not None and raw.base is base))
        ):
            return result.copy()
    return result


def array_to_follow(operator: Any, first: Any, second: Any) -> Any:
    """Return which of two arrays determines the class and context of an operation's result."""
    if first.context != second.context:
        pinned = [array.context.device_type in ("cpu_pinned", "cpu_shared") for array in (first, second)]
        if any(pinned) and first.context.device_id == second.context.device_id:  # it is the same memory
            if pinned[0]:
                first = first.as_in_context(second.context)
            else:
                second = second.as_in_context(first.context)
            return second if second._precedence > first._precedence else first
        raise ContextError(
            f"{operator.__name__}: its inputs are on different contexts, {first.context} and {second.context}. "
            "Move one with as_in_context()."
        )
    return second if second._precedence > first._precedence else first


def write_out(operator: Any, result: Any, out: Any) -> Any:
    """Write the result of a call into the array(s) given as `out`."""
    is_several = isinstance(out, (tuple, list))
    targets = out if is_several else (out,)
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(targets):
        raise ArgumentError(
            f"{operator.__name__}: out= is {len(targets)} array(s), the call returns {len(results)}; give "
            f"{'a list with one for each' if len(results) > 1 else 'one'}."
        )
    if is_several:
        for value, target in zip(results, targets, strict=True):
            write_out(operator, value, target)
        return out
    value = results[0]
    data, target = raw_of(value), target_of(operator, out)
    if numpy.shape(data) != target.shape:
        raise ArgumentError(
            f"{operator.__name__}: out has shape {target.shape}, the result has {numpy.shape(data)}; "
            "they must be equal."
        )
    if isinstance(out, Array):
        out._receive(data, value._node if isinstance(value, Array) else None)
    else:
        numpy.copyto(target, data, casting="unsafe")
    return out


def target_of(operator: Any, out: Any) -> numpy.ndarray:
    """Return the buffer of an array that is given as `out`."""
    target = raw_of(out)
    if not isinstance(target, numpy_array):
        kind = next((tracer[2] for tracer in _tracers if isinstance(out, tracer[0])), describe(out))
        raise ArgumentError(f"{operator.__name__}: out= is {kind}; give an array, or use what the call returns.")
    return target


def require_differentiable(dtype: numpy.dtype, subject: str) -> None:
    """Raise an error for a gradient with respect to an array that is not floating point."""
    if dtype.kind not in "fc":
        raise DTypeError(
            f"{subject} has dtype {dtype.name}, which has no gradient: only floating-point arrays do. "
            f"Convert it first with astype('float32'){'' if dtype.kind in 'iub' else ' if it holds numbers'}."
        )


def overwrite(array: Array, data: Any) -> None:
    """Change the buffer of `array` in place, and log it."""
    try:
        numpy.copyto(array._data, data, casting="unsafe")
    except ValueError:
        if array._data.flags.writeable:
            raise
        raise read_only_error("an in-place change") from None
    note_write(array._data)


def read_only_error(subject: str) -> MutationError:
    """Return the error for writing to an array that was made on memory which must not be written."""
    return MutationError(
        f"{subject}: the memory of the array is read-only, because it is that of another object, such as bytes. "
        "Write to a copy: x = x.copy(), or nd.from_numpy(a, zero_copy=False)."
    )
