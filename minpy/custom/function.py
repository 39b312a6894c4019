"""`autograd.Function`: a differentiable function of NDArrays with its own forward and backward."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array, new_array
from minpy.core.base_operator import BaseOperator
from minpy.core.dispatch import TRACER, kind_of
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    describe,
    describe_arguments,
    in_place_of,
    operator_error,
)
from minpy.core.nodes import attach_outputs, record_node
from minpy.core.state import state
from minpy.custom.first_order import first_order
from minpy.ndarray.ndarray import NDArray

__all__ = ["Function"]


def _references(arrays: list[NDArray]) -> list[tuple[int, int]]:
    """Return for each array the numbers of references to it, and to its buffer."""
    counts = [*map(sys.getrefcount, arrays)]
    return [*zip(counts, [sys.getrefcount(array._data) for array in arrays], strict=True)]


# Recorded in place of inputs that were not saved; the tape checks that saved ones have not changed.
_NOT_SAVED = numpy.empty(0)


class Function(BaseOperator):
    """A function of NDArrays with its own gradient. Derive from it; an instance serves one call.

    Examples
    --------
    >>> import minpy as mx
    >>> class Square(mx.autograd.Function):
    ...     def forward(self, x):
    ...         self.save_for_backward(x)
    ...         return x * x
    ...     def backward(self, dy):
    ...         x, = self.saved_tensors
    ...         return 2 * x * dy
    >>> x = mx.nd.array([3.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Square()(x)
    >>> y.backward()
    >>> float(x.grad)
    6.0
    """

    starts_gradients = True
    _used = False
    _saved: tuple[Any, ...] = ()

    def forward(self, *inputs: NDArray) -> Any:
        """Return the output (or a tuple or list of them) for the inputs, without recording."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, *inputs).")

    def backward(self, *output_grads: NDArray) -> Any:
        """Return the gradient of the input (or one for each, in order) from the outputs' gradients."""
        raise NotImplementedError(f"{type(self).__name__} defines no backward(self, *output_grads).")

    def save_for_backward(self, *args: Any) -> None:
        """Save values, which `backward` reads from `saved_tensors`."""
        self._saved = args

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The values that `save_for_backward` saved."""
        return self._saved

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise ArgumentError(
                f"{type(self).__name__}: an instance of a Function is called once, as it holds what one backward "
                f"needs. Make another for each call: {type(self).__name__}()(x)."
            )
        self._used = True
        for position, value in enumerate(inputs):
            if not isinstance(value, NDArray):
                problem = f"{type(self).__name__}: input {position} is {describe(value)}; a Function takes NDArrays. "
                if kind_of(type(value)) == TRACER:
                    raise ArgumentError(
                        f"{problem}A graph cannot hold one: leave the block that calls it unhybridized, with "
                        "hybridize(False), or write the operator with @customop('numpy') or as an operator.CustomOp, "
                        "which graphs call."
                    )
                raise ArgumentError(f"{problem}Convert it with nd.array(...), or give constants to __init__.")
        recording, state.recording = state.recording, False
        try:
            result = self.forward(*inputs)
        except Exception as error:
            raise in_place_of(operator_error(error, self._failure_text("forward", inputs)), error) from None
        finally:
            state.recording = recording
        kind = type(result)
        several = isinstance(result, (tuple, list))
        outputs: Any = list(result) if several else [result]
        del result  # so that only `outputs` and the function itself may refer to the outputs
        shared = self._are_shared(outputs, inputs)
        outputs = [
            value._like(value._data.copy()) if copied else value for value, copied in zip(outputs, shared, strict=True)
        ]
        parents = [value._node for value in inputs]
        if state.recording and any(parent is not None for parent in parents):
            outputs = self._record(inputs, outputs, parents)
        if several:
            return kind(outputs) if kind in (tuple, list) else tuple(outputs)
        return outputs[0]

    def _are_shared(self, outputs: list[NDArray], inputs: Sequence[NDArray]) -> list[bool]:
        """Tell of each output whether it, or its memory, has other owners; raise for one that is not an array.

        Saved arrays do not count: the tape notices when they are changed.
        """
        wrong = [position for position, value in enumerate(outputs) if not isinstance(value, NDArray)]
        if wrong:
            raise ArgumentError(
                f"{type(self).__name__}.forward returned {describe(outputs[wrong[0]])} as output {wrong[0]}; expected "
                "an NDArray."
            )
        saved = [*map(id, self._saved)]
        # The counts of an array that only a list refers to, and of its buffer.
        sole_count, sole_buffer_count = _references([new_array(NDArray, numpy.empty(0))])[0]
        return [
            count > sole_count + saved.count(id(value))
            or buffers > sole_buffer_count
            or any(numpy.may_share_memory(value._data, array._data) for array in inputs)
            for value, (count, buffers) in zip(outputs, _references(outputs), strict=True)
        ]

    def _record(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray], parents: Sequence[Any]) -> list[Any]:
        datas = [output._data for output in outputs]
        saved = {id(value._data) for value in self._saved if isinstance(value, Array)}
        arguments = [value._data if id(value._data) in saved else _NOT_SAVED for value in inputs]
        result = tuple(datas) if any(id(data) in saved for data in datas) else None
        node = record_node(self, arguments, result, {}, parents)
        # Always a tuple of outputs, so that `backward` gets one gradient each.
        return [
            output._like(data, place if data.dtype.kind in "fc" else None)
            for output, data, place in zip(outputs, datas, attach_outputs(node, datas), strict=True)
        ]

    # -- the interface of a tape node's operator -------------------------------------------------------------------

    @property
    def __name__(self) -> str:
        return str(type(self).__name__)

    def argument_names(self, count: int) -> list[str]:
        """Return names for messages."""
        return [f"input {index}" for index in range(count)]

    def describe_rule(self, index: int) -> str:
        """Return the name of an input's gradient in messages."""
        return f"{type(self).__name__}.backward (gradient of input {index})"

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`."""
        traced = [value for value in (*gradient, *arguments) if isinstance(value, Array)]
        grads = [  # copies: these gradients are used elsewhere, too
            new_array(NDArray, numpy.array(value._data if isinstance(value, Array) else value)) for value in gradient
        ]
        recording, state.recording = state.recording, False
        try:
            results = self.backward(*grads)
        except Exception as error:
            raise in_place_of(operator_error(error, self._failure_text("backward", grads)), error) from None
        finally:
            state.recording = recording
        parts = list(results) if isinstance(results, (tuple, list)) else [results]
        if len(parts) != len(arguments):
            raise GradientError(
                f"{type(self).__name__}.backward returned {len(parts)} gradients; its forward has {len(arguments)} "
                "inputs. Return one gradient for each input, in order."
            )
        buffers = [parts[index]._data if isinstance(parts[index], Array) else parts[index] for index in requires_grad]
        if not traced:
            return buffers
        return [first_order(f"Function {type(self).__name__}", buffer, traced) for buffer in buffers]

    def _failure_text(self, method: str, values: Sequence[Any]) -> str:
        described = describe_arguments(self.argument_names(len(values)), values)
        return f"Function {type(self).__name__}: {method} failed ({described})"
