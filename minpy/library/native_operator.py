"""`NativeOperator`: an operator of a library, with its attributes; and `NativeFamily`, which `nd.<name>` is.

What a library says of attributes, shapes and dtypes is remembered, so its functions that parse and infer have to be
pure. It computes into fresh memory, and writes through to the inputs that it declares as mutated; what it is given
besides, it must not write to: nothing protects the memory of inputs from C. With `MINPY_CHECK_NATIVE=1` in the
environment, and in `check`, every call is watched for that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from ctypes import c_int, c_void_p
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import Array, as_raw, new_array, raw_of
from minpy.core.base_operator import DTypes, Shapes
from minpy.core.buffers import note_write
from minpy.core.configured import ConfiguredOperator, OperatorFamily, text_of
from minpy.core.errors import (
    ArgumentError,
    ContextError,
    MutationError,
    NoGradientError,
    OperatorError,
    describe,
    describe_arguments,
)
from minpy.core.gradient_rules import Plan
from minpy.core.state import state
from minpy.custom.first_order import first_order, first_order_error
from minpy.library.binary import Binary, OperatorEntry, Texts
from minpy.library.call_arguments import Call, Kind, Layout, as_array, readable, require_dtype
from minpy.library.inference import Inference, plain
from minpy.library.resources import GENERATORS, KeptState, State
from minpy.library.write_checks import WATCH, Watched, watching
from minpy.ndarray.ndarray import NDArray

__all__ = ["EXTRA_INPUTS", "NativeFamily", "NativeOperator"]

EXTRA_INPUTS = "__ext_extra_inputs__"

_MAX_KINDS = 64
_IS_CHECKED = os.environ.get("MINPY_CHECK_NATIVE", "0") not in ("", "0")

numpy_array, empty = numpy.ndarray, numpy.empty


class _Calls:
    """Prepared calls of one function on arrays of given shapes and dtypes: each is used by one call at a time."""

    __slots__ = ("_first", "function", "idle", "inputs", "is_forward", "message_count", "outputs")

    def __init__(self, operator: NativeOperator, is_forward: bool, inputs: Layout, outputs: Layout) -> None:
        self.is_forward = is_forward
        self.inputs = inputs
        self.outputs = outputs
        self.idle: list[Call] = []
        family = operator.family
        self.message_count = family.binary.message_count
        self._first: tuple[Any, ...] | None = None  # with a state, each call says which
        self.function = family.stateful_compute
        if not operator.is_stateful:
            functions = family.entry.forward if is_forward else family.entry.backward
            self._first = (c_void_p(functions["cpu"]), *operator.texts.arguments)
            self.function = family.compute

    def make(self) -> Call:
        """Return a further call."""
        first = self._first if self._first is not None else (c_int(self.is_forward), c_void_p())
        return Call(first, self.inputs, self.outputs)


class _Kinds:
    """What the operator has prepared for inputs of the same kinds: their shapes and dtypes."""

    __slots__ = ("_backward", "forward", "inputs", "outputs", "state_arguments")

    def __init__(self, operator: NativeOperator, inputs: Sequence[Kind], outputs: Sequence[Kind]) -> None:
        self.inputs, self.outputs = Layout(inputs), Layout(outputs)
        self.forward = _Calls(operator, True, self.inputs, self.outputs)
        self._backward: _Calls | None = None
        self.state_arguments: tuple[Any, ...] | None = None

    def backward(self, operator: NativeOperator) -> _Calls:
        """Return the calls of the gradient: of the outputs' gradients, the inputs, and the outputs."""
        if self._backward is None:
            outputs = self.outputs.kinds
            self._backward = _Calls(operator, False, Layout([*outputs, *self.inputs.kinds, *outputs]), self.inputs)
        return self._backward


class NativeOperator(ConfiguredOperator):
    """An operator of a library with its attributes: see `ConfiguredOperator`.

    `mutated` are the positions of the inputs that it changes; `extra` is how many of the inputs are no part of
    inference: the last ones, which a graph pass has added.
    """

    random = True
    gradient_source = "the function that its library registers with setBackward"

    family: NativeFamily
    outputs: list[str]
    # The state of the latest call; and what keeps it between calls, if it is kept.
    _state: State | None = None
    _kept: KeptState | None = None
    # The key of its node among the states of a call in flight, each of which has a state of its own.
    _place: KeptState | None = None
    # The inputs of the latest call that it changes, which have no place on the tape.
    _changed: Sequence[numpy.ndarray] = ()

    def __init__(
        self,
        family: NativeFamily,
        parameters: Mapping[str, str],
        annotations: Mapping[str, str],
        graphs: Sequence[Any],
        names: Sequence[str],
        outputs: Sequence[str],
        mutated: Sequence[int] = (),
        extra: int = 0,
    ) -> None:
        super().__init__(family, parameters, annotations, graphs, names, outputs, [names[index] for index in mutated])
        self.mutated = tuple(mutated)
        self.extra = extra
        self.is_stateful = bool(family.entry.create_state)
        self.texts = Texts(self.all_attributes, f"{self.__name__}: ")
        self._inference = Inference(
            family.binary, family.entry, self.texts, self.names[: len(self.names) - extra], self.outputs
        )
        self._kinds: dict[tuple[Kind, ...], _Kinds] = {}
        self._read = frozenset(range(self.arity)).difference(mutated) if mutated else None
        self._plan = Plan(self._read, True)
        # Whether each series of calls uses its own copy of the operator.
        self.is_copied = self.is_stateful or bool(mutated)

    # -- calling -------------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any, **attributes: Any) -> Any:
        """Call it on any mix of values: see `minpy.core.dispatch`."""
        return dispatch.call(self.fresh() if self.is_copied else self, *arguments, **attributes)

    def fresh(self) -> NativeOperator:
        """Return a copy of the operator for another series of calls, with its own state unless that is kept."""
        if not self.is_copied:
            return self
        copy: NativeOperator = object.__new__(type(self))
        vars(copy).update(vars(self), _state=None, _changed=())
        return copy

    def keeping(self) -> NativeOperator:
        """Return a copy of the operator for an executor: its state lives as long as the executor."""
        copy = self.fresh()
        if self.is_stateful:
            copy._kept = copy._place = KeptState()
        return copy

    def keep_in(self, states: dict[Any, KeptState] | None) -> None:
        """Keep the state among those of a call, from now on; None: where it was kept before there was one."""
        place = self._place
        if place is not None:
            self._kept = place if states is None else states.get(place) or states.setdefault(place, KeptState())

    def release(self) -> None:
        """Forget the state of the latest call, whose gradient nobody will ask for."""
        self._state = None
        self._changed = ()

    def forward(self, *raws: Any) -> Any:
        """Compute the outputs from raw arrays."""
        for raw in raws:
            if type(raw) is not numpy_array:
                raws = self._as_arrays(raws)
                break
        key = tuple([(raw.shape, raw.dtype) for raw in raws])
        kinds = self._kinds.get(key)
        if kinds is None:
            for dtype in [raw.dtype for raw in raws]:
                if not dtype.isnative:
                    return self._in_byte_order(raws)
            kinds = self._kinds_for(raws, key)
        outputs = [empty(shape, dtype) for shape, dtype in kinds.outputs.kinds]
        if self.is_copied:
            self._run_with_effects(kinds, key, raws, outputs)
        else:
            self._run(kinds.forward, raws, outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _as_arrays(self, raws: Sequence[Any]) -> tuple[numpy.ndarray, ...]:
        self.require_inputs(len(raws))
        for index in self.mutated:
            if not isinstance(raws[index], numpy_array):
                raise ArgumentError(
                    f"{self.__name__}: {self.names[index]} is {describe(raws[index])}; it is changed by the call, and "
                    "has to be an array."
                )
        return tuple([as_array(raw, self.__name__, name) for raw, name in zip(raws, self.names, strict=True)])

    def _in_byte_order(self, raws: Sequence[numpy.ndarray]) -> Any:
        """Compute on copies in this machine's byte order."""
        copies = [raw if raw.dtype.isnative else readable(raw) for raw in raws]
        outputs = self.forward(*copies)
        for index in self.mutated:
            if copies[index] is not raws[index]:
                numpy.copyto(raws[index], copies[index])
                note_write(raws[index])
        return outputs

    def _kinds_for(self, raws: Sequence[numpy.ndarray], key: tuple[Kind, ...]) -> _Kinds:
        """Ask the library about inputs of such kinds, and remember the result."""
        self.require_inputs(len(raws))
        self._require_cpu()
        for name, raw in zip(self.names, raws, strict=True):
            require_dtype(raw.dtype, self.__name__, name, raw)
        kinds = _Kinds(self, key, self.output_kinds(key))
        for oldest in [*self._kinds][: 1 - _MAX_KINDS]:  # other threads may do the same
            self._kinds.pop(oldest, None)
        self._kinds[key] = kinds
        return kinds

    def output_kinds(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return the shapes and dtypes of the outputs for those of all inputs."""
        inferred = kinds[: len(kinds) - self.extra]
        self._inference.require_dense()
        _, dtypes = self._inference.dtypes([dtype for _, dtype in inferred])
        _, shapes = self._inference.shapes([shape for shape, _ in inferred])
        return [(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True) if shape is not None and dtype]

    def _require_cpu(self) -> None:
        entry = self.family.entry
        functions = entry.create_state or entry.forward
        if "cpu" not in functions:
            raise ContextError(
                f"{self.__name__} is implemented for {', '.join(functions)} only; minpy computes on the CPU. Register "
                'it with setForward(..., "cpu") or setCreateOpState(..., "cpu") as well.'
            )

    def _run_with_effects(
        self, kinds: _Kinds, key: tuple[Kind, ...], raws: Sequence[numpy.ndarray], outputs: Sequence[numpy.ndarray]
    ) -> None:
        """Run forward with a state, or on inputs that it changes."""
        arrays: Sequence[numpy.ndarray] = raws
        for index in self.mutated:
            raw = raws[index]
            if not raw.flags.writeable:
                raise MutationError(
                    f"{self.__name__}: {self.names[index]} ({describe(raw)}) is changed by the call, and its memory is "
                    "read-only. Give it a copy."
                )
            if not raw.flags.carray:
                arrays = list(arrays)
                arrays[index] = readable(raw)
        if self.is_stateful:
            if self._kept is None:
                self._state = None  # destroyed before there is another
                self._state = self._new_state(key)
            else:
                self._state = self._kept.get(key, self._new_state)
        if self.mutated:
            self._changed = [raws[index] for index in self.mutated]
        try:
            self._run(kinds.forward, arrays, outputs)
        finally:
            for index in self.mutated:
                if arrays[index] is not raws[index]:
                    numpy.copyto(raws[index], arrays[index])
                note_write(raws[index])

    def _new_state(self, key: tuple[Kind, ...]) -> State:
        """Return a new state for inputs of such kinds."""
        family, kinds = self.family, self._kinds.get(key)
        if kinds is None or kinds.state_arguments is None:
            numbers = [require_dtype(dtype, self.__name__, "an input", None) for _, dtype in key]
            arguments = family.binary.state_arguments(self.state_texts(), [shape for shape, _ in key], numbers)
            if kinds is not None:
                kinds.state_arguments = arguments
        else:
            arguments = kinds.state_arguments
        pointer = family.binary.create_state(family.entry, self.state_texts(), [shape for shape, _ in key], arguments)
        return State(family.binary, pointer, self.__name__)

    def state_texts(self) -> Texts:
        """Return the attributes that a state is made from."""
        return self.texts

    def _run(self, calls: _Calls, inputs: Sequence[numpy.ndarray], outputs: Sequence[numpy.ndarray]) -> None:
        """Call the library once."""
        try:
            call = calls.idle.pop()
        except IndexError:
            call = calls.make()
        watched = Watched(inputs, outputs) if _IS_CHECKED or WATCH.depth else None
        kept_alive = call.fill(inputs, outputs) if watched is None else call.fill(watched.inputs, watched.outputs)
        generators = GENERATORS.acquire()
        call.generators.value = generators.address
        messages = calls.message_count()
        operator_state = self._state if self.is_stateful else None
        try:
            if operator_state is None:
                status = calls.function(*call.arguments)
            else:
                call.arguments[1].value = operator_state.pointer
                with operator_state.lock:
                    status = calls.function(*call.arguments)
        finally:  # interrupts are raised when the library is done
            GENERATORS.release(generators)
        del kept_alive  # which has lived until here
        if watched is not None:
            self._check_writes(calls.is_forward, inputs, outputs, watched, bool(status))
        if not status or call.workspace.used:
            self._finish(call, calls, inputs, status, messages)
        calls.idle.append(call)

    def _finish(self, call: Call, calls: _Calls, inputs: Sequence[numpy.ndarray], status: int, messages: int) -> None:
        """Free the memory that a call has requested, and raise the error if it failed."""
        problems = list(call.workspace.problems)
        call.workspace.clear()
        if status:
            return
        is_forward = calls.is_forward
        names = self.argument_names(len(inputs)) if is_forward else self._backward_names()
        line = (
            f"{self.__name__}: {'forward' if is_forward else 'backward'} failed on "
            f"{describe_arguments(names, inputs) or 'no inputs'}{self._with_attributes()}."
        )
        text = self.family.binary.explained(line, messages)
        raise OperatorError("\n  ".join([text, *problems]))

    def _with_attributes(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f" with {shown}" if shown else ""

    def _backward_names(self) -> list[str]:
        return [*(f"the gradient of {name}" for name in self.outputs), *self.names, *self.outputs]

    def _check_writes(
        self,
        is_forward: bool,
        inputs: Sequence[numpy.ndarray],
        outputs: Sequence[numpy.ndarray],
        watched: Watched,
        is_done: bool,
    ) -> None:
        """Raise if the library has written where it must not, or left an output of forward unwritten."""
        first = 0 if is_forward else len(self.outputs)
        mutated = [first + index for index in self.mutated]
        watched.copy_back(mutated)
        names = self.argument_names(len(inputs)) if is_forward else self._backward_names()
        results = self.outputs if is_forward else [f"the gradient of {name}" for name in self.names]
        subject = f"{self.__name__}: {'forward' if is_forward else 'backward'} has"
        changed = watched.changed(mutated)
        if changed is not None:
            raise MutationError(
                f"{subject} written to {names[changed]} ({describe(inputs[changed])}), which it does not declare as "
                "mutated (setMutateInputs)."
            )
        overrun = watched.overrun()
        if overrun is not None:
            is_input, index = overrun
            name, array = (names[index], inputs[index]) if is_input else (results[index], outputs[index])
            raise MutationError(
                f"{subject} written beyond the end of {name} ({describe(array)}), into memory of others. Is it written "
                "for that dtype and shape? Let inferType and inferShape refuse what it is not for."
            )
        unwritten = watched.unwritten() if is_forward and is_done else None
        if unwritten is not None:
            index, place = unwritten
            raise OperatorError(
                f"{subject} not written all of {results[index]} ({describe(outputs[index])}): not the element at "
                f"{list(place)}. Is it written for that dtype? Let inferType refuse what it is not for."
            )

    def being_checked(self) -> AbstractContextManager[None]:
        """Watch the memory of calls while `check` makes them."""
        return watching()

    # -- gradients -----------------------------------------------------------------------------------------------------

    def has_rule(self, index: int) -> bool:
        """Tell whether there is a gradient: of a stateful operator, its state tells when it is asked."""
        return self.is_stateful or "cpu" in self.family.entry.backward

    def missing_rule(self, index: int) -> NoGradientError:
        """Return the error for an operator without a gradient."""
        return NoGradientError(
            f"{self.__name__} has no gradient: its library {os.path.basename(self.family.binary.path)} registers no "
            'backward for it. Add .setBackward(..., "cpu") to its registration, or keep it out of what is '
            "differentiated (nd.BlockGrad, or pause())."
        )

    def plan(self) -> Plan:
        """Return what recording keeps: everything, but for inputs that are changed, which are taken as they are."""
        return self._plan

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what backward reads: all inputs but those that are changed, and the outputs."""
        return self._read, True

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`, from one run of its backward."""
        if not self.has_rule(0):
            raise self.missing_rule(requires_grad[0])
        upstream = gradient if type(gradient) is tuple else (gradient,)
        outputs = result if type(result) is tuple else (result,)
        values = list(arguments[: self.arity])
        for index, raw in zip(self.mutated, self._changed, strict=False):
            values[index] = raw
        inputs = [as_array(raw_of(value), self.__name__, name) for value, name in zip(values, self.names, strict=True)]
        inputs = [value if value.dtype.isnative else readable(value) for value in inputs]
        key = tuple([(value.shape, value.dtype) for value in inputs])
        kinds = self._kinds.get(key)
        if kinds is None:
            kinds = self._kinds_for(inputs, key)
        results = [empty(shape, dtype) for shape, dtype in key]
        upstream_raws, output_raws = map(as_raw, upstream), map(as_raw, outputs)
        self._run(kinds.backward(self), [*upstream_raws, *inputs, *output_raws], results)
        parts = [results[index] for index in requires_grad]
        if not state.recording:
            return parts
        traced = [value for value in (*upstream, *outputs, *arguments) if isinstance(value, Array)]
        return [first_order(self._described, part, traced) for part in parts]

    @property
    def _described(self) -> str:
        return f"The native operator {self.__name__!r}"

    def second_order_error(self) -> NoGradientError:
        """Return the error of differentiating its gradients, which its library computes unseen."""
        return first_order_error(self._described)

    # -- graphs --------------------------------------------------------------------------------------------------------

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Ask the library's inferShape; inputs that a pass has added are not shown to it."""
        count = len(inputs) - self.extra
        inferred, results = self._inference.shapes(inputs[:count])
        return [*inferred, *inputs[count:]], results

    def type_inference(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        """Ask the library's inferType; inputs that a pass has added are not shown to it."""
        count = len(inputs) - self.extra
        for name, dtype in zip(self.names, inputs, strict=True):
            if dtype is not None:
                require_dtype(dtype, self.__name__, name, numpy.dtype(dtype))
        dtypes = [None if dtype is None else plain(dtype) for dtype in inputs[:count]]
        inferred, results = self._inference.dtypes(dtypes)
        return [*inferred, *inputs[count:]], results


class NativeFamily(OperatorFamily):
    """An operator of a library, before it is given attributes: what `nd.<name>` is."""

    def __init__(self, binary: Binary, entry: OperatorEntry) -> None:
        super().__init__(
            entry.name,
            f"The operator {entry.name!r} of the native library {os.path.basename(binary.path)}: arrays by position, "
            "attributes by name.",
        )
        self.binary = binary
        self.entry = entry
        self.compute = binary.function("_opCallFCompute")
        self.stateful_compute = binary.function("_opCallFStatefulCompute")

    def __call__(self, /, *data: Any, out: Any = None, name: str | None = None, **attributes: Any) -> Any:
        """Call the operator: see `OperatorFamily`."""
        raws = []
        is_raw = True
        for value in data:  # a call of which nothing is recorded is as short as it can be, and the same
            cls = type(value)
            if cls is NDArray and (value._node is None or not state.recording):
                raws.append(value._data)
                is_raw = False
            elif cls is numpy_array:
                raws.append(value)
            else:
                return super().__call__(*data, out=out, name=name, **attributes)
        if out is not None or not raws:
            return super().__call__(*data, out=out, name=name, **attributes)
        if attributes:
            attributes = {key: text_of(self.__name__, key, value) for key, value in attributes.items()}
        operator: Any = self.configured(attributes)
        if len(raws) != operator.arity:
            operator.require_inputs(len(raws))
        outputs = dispatch.run(operator.fresh() if operator.is_copied else operator, raws, {})
        if is_raw:
            return outputs
        if type(outputs) is tuple:
            return [new_array(NDArray, raw) for raw in outputs]
        return new_array(NDArray, outputs)

    def configure(
        self, parameters: Mapping[str, str], annotations: Mapping[str, str], graphs: Sequence[Any]
    ) -> NativeOperator:
        """Ask the library about some attributes, and make the operator for them."""
        texts = Texts({**annotations, **parameters}, f"{self.__name__}: ")
        extra = self.extra_inputs({**annotations, **parameters})
        inputs, outputs = self.binary.parse_attributes(self.entry, texts)
        inputs += extra
        mutated = self.binary.mutate_inputs(self.entry, texts, inputs)
        return NativeOperator(
            self, parameters, annotations, graphs, input_names(inputs), output_names(outputs), mutated, extra
        )

    def extra_inputs(self, attributes: Mapping[str, str]) -> int:
        """Return how many inputs graph passes have added to a node."""
        text = attributes.get(EXTRA_INPUTS, "0")
        if not (text.isascii() and text.isdigit()):
            raise ArgumentError(f"{self.__name__}: {EXTRA_INPUTS} is {text!r}; expected a number, as in '1'.")
        return int(text)

    def _without_inputs(self, operator: ConfiguredOperator) -> Any:
        outputs = dispatch.run(operator.fresh(), (), {})  # type: ignore[attr-defined]
        if type(outputs) is tuple:
            return tuple(new_array(NDArray, raw) for raw in outputs)
        return new_array(NDArray, outputs)


def input_names(count: int) -> list[str]:
    """Return what the inputs of an operator are called."""
    return [f"data{index}" for index in range(count)]


def output_names(count: int) -> list[str]:
    """Return what the outputs of an operator are called, as in MXNet."""
    return ["output"] if count == 1 else [f"output{index}" for index in range(count)]
