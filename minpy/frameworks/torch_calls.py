"""Calls of operators on PyTorch's tensors: arrays in and out, and the two `autograd.Function`s that differentiate them.

`DirectCall` is for plain tensors on the CPU that nobody else follows: it calls NumPy. Whatever else there is goes
through PyTorch's dispatcher, whose kernel for autograd is `RegisteredCall`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.errors import DTypeError, NoGradientError, describe
from minpy.frameworks.derivatives import Derivative
from minpy.frameworks.libraries import require

torch: Any = require("torch")

__all__ = [
    "NUMPY_DTYPES",
    "TORCH_DTYPES",
    "DirectCall",
    "PullOfOneCall",
    "RegisteredCall",
    "array_of",
    "call_derivative",
    "call_directly",
    "compute",
    "conjugated",
    "is_batched",
    "is_followed",
    "is_inexact",
    "is_plain",
    "is_pushed",
    "is_symbol",
    "live_positions",
    "needs_gradient",
    "number_of",
    "numpy_dtype",
]

_NAMES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
NUMPY_DTYPES: dict[Any, numpy.dtype] = {getattr(torch, name): numpy.dtype(name) for name in _NAMES}
TORCH_DTYPES: dict[numpy.dtype, Any] = {dtype: name for name, dtype in NUMPY_DTYPES.items()}
_IS_INEXACT = {dtype: dtype.kind in "fc" for dtype in TORCH_DTYPES}

_PLAIN = {torch.Tensor, torch.nn.Parameter}
_transforms_active: Callable[[], bool] = torch._C._are_functorch_transforms_active
_len_dispatch_stack: Callable[[], int] = torch._C._len_torch_dispatch_stack
_forward_mode: Any = torch.autograd.forward_ad
_is_grad_enabled: Callable[[], bool] = torch.is_grad_enabled
_is_legacy_batched: Callable[[Any], bool] = torch._C._functorch.is_legacy_batchedtensor
_unwrap_if_dead: Callable[[Any], Any] = torch._C._functorch.unwrap_if_dead
from_numpy: Callable[[Any], Any] = torch.from_numpy


# -- arrays of tensors -------------------------------------------------------------------------------------------------


def is_followed() -> bool:
    """Tell whether somebody follows calls here: a transform, forward mode, a mode of dispatch."""
    return _transforms_active() or _len_dispatch_stack() > 0 or _forward_mode._current_level >= 0


def is_plain(values: Sequence[Any]) -> bool:
    """Tell whether tensors are plain ones on the CPU."""
    for value in values:  # noqa: SIM110  (a generator takes as long again)
        if type(value) not in _PLAIN or not value.is_cpu:
            return False
    return True


def is_pushed() -> bool:
    """Tell whether forward mode is on: not inside of a call that it has come to already."""
    return _forward_mode._current_level >= 0 and torch._C._is_fwd_grad_enabled()


def is_batched(value: Any) -> bool:
    """Tell whether a tensor stands for many, in the way of gradients that PyTorch computes as one batch."""
    return _is_legacy_batched(value)


def is_symbol(length: Any) -> bool:
    """Tell whether a length is a symbol, in a graph in the making."""
    return isinstance(length, torch.SymInt)


def number_of(length: Any) -> int:
    """Return the number that a symbol stands for, without a guard on it: nothing may hang on it."""
    if not is_symbol(length):
        return int(length)
    hint = length.node.hint
    return 2 if hint is None else int(hint)


def array_of(tensor: Any, derivative: Derivative, position: int) -> numpy.ndarray:
    """Return a tensor's numbers as an array, in its own memory where that can be."""
    try:
        return tensor.detach().numpy() if tensor.requires_grad else tensor.numpy()
    except (RuntimeError, TypeError):
        if tensor.dtype not in NUMPY_DTYPES:
            raise _unknown_dtype(tensor, derivative, position) from None
        if tensor.layout is not torch.strided:
            raise DTypeError(
                f"{_called(derivative, position)} is a tensor of layout {tensor.layout}; operators of minpy take dense "
                "ones. Give x.to_dense()."
            ) from None
        array: numpy.ndarray = tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
        return array


def arrays_of(tensors: Sequence[Any], derivative: Derivative) -> list[numpy.ndarray]:
    """Return the numbers of tensors as arrays: new objects, in the memory of the tensors where that can be."""
    try:  # `force` costs less than to detach a tensor first
        return [tensor.numpy(force=True) if tensor.requires_grad else tensor.numpy() for tensor in tensors]
    except (RuntimeError, TypeError):
        return [array_of(tensor, derivative, position) for position, tensor in enumerate(tensors)]


def numpy_dtype(tensor: Any, derivative: Derivative, position: int) -> numpy.dtype:
    """Return NumPy's dtype for a tensor's, or raise the error for one that NumPy does not have."""
    dtype = NUMPY_DTYPES.get(tensor.dtype)
    if dtype is None:
        raise _unknown_dtype(tensor, derivative, position)
    return dtype


def _called(derivative: Derivative, position: int) -> str:
    operator = derivative.operator
    if derivative.chain:
        return f"{operator.__name__}: value {position} of its derivative"
    return f"{operator.__name__}: {operator.argument_name(derivative.input_position(position))}"


def _unknown_dtype(tensor: Any, derivative: Derivative, position: int) -> DTypeError:
    return DTypeError(
        f"{_called(derivative, position)} is a {tensor.dtype} tensor, and NumPy has no such dtype. Convert it first, "
        "with x.float(); under autocast that is done for you."
    )


def compute(derivative: Derivative, tensors: Sequence[Any]) -> list[Any]:
    """Run a derivative by NumPy, and return what it gives as tensors on the device of the first."""
    results = [
        from_numpy(tensor_ready(array, derivative)) for array in derivative.of_own(arrays_of(tensors, derivative))
    ]
    if tensors and not tensors[0].is_cpu:
        return [result.to(tensors[0].device) for result in results]
    return results


def tensor_ready(array: numpy.ndarray, derivative: Derivative) -> numpy.ndarray:
    """Return an array that a tensor can be made of: with a dtype that PyTorch has."""
    if array.dtype in TORCH_DTYPES:
        return array
    native = array.dtype.newbyteorder("=")
    if native in TORCH_DTYPES:
        return array.astype(native)
    raise DTypeError(
        f"{derivative.operator.__name__} returned {describe(array)}, and PyTorch has no such dtype. Return "
        "an array of one of float16 to float64, complex64, complex128, bool or integers."
    )


# -- plain tensors -----------------------------------------------------------------------------------------------------


class DirectCall(torch.autograd.Function):
    """An operator called on plain tensors on the CPU, of which one needs a gradient."""

    @staticmethod
    def forward(ctx: Any, call: Any, *tensors: Any) -> Any:
        """Run the operator by NumPy, and keep what its rules read."""
        derivative: Derivative = call.derivative
        ctx.own = None
        if derivative.is_made_anew:
            derivative = ctx.own = derivative.for_one_call()
        outputs, integers = [], []
        for array in derivative.of_own(arrays_of(tensors, derivative)):
            output_is_inexact = _IS_INEXACT.get(array.dtype)
            if output_is_inexact is None:
                array = tensor_ready(array, derivative)
                output_is_inexact = _IS_INEXACT[array.dtype]
            outputs.append(output := from_numpy(array))
            if not output_is_inexact:
                integers.append(output)
        ctx.call = call
        needed = ctx.needs_input_grad
        reads = call.reads.get(needed)
        if reads is None:
            reads = call.reads[needed] = call.values_read(needed)
        positions, reads_outputs = reads
        if len(positions) == len(tensors):
            ctx.save_for_backward(*tensors, *outputs) if reads_outputs else ctx.save_for_backward(*tensors)
        else:
            ctx.unread = [(tensor.shape, tensor.dtype) for tensor in tensors]
            ctx.save_for_backward(*[tensors[position] for position in positions], *(outputs if reads_outputs else ()))
        if integers:
            ctx.mark_non_differentiable(*integers)
        return outputs[0] if call.is_single else tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Run the rules by NumPy; where their result is differentiated in its turn, as a call of its own."""
        call = ctx.call
        needed = ctx.needs_input_grad
        saved = ctx.saved_tensors
        pull = call.simple.get(needed)
        if pull is not None and not _is_grad_enabled() and is_plain(cotangents) and not is_followed():
            simple_gradients = _simple_gradient(pull, cotangents[0], saved, len(needed))
            if simple_gradients is not None:
                return simple_gradients
        positions, reads_outputs = call.reads[needed]
        if len(positions) == len(needed) - 1:
            tensors = saved[: len(positions)]
        else:
            stand_ins = dict(zip(positions, saved, strict=False))
            tensors = tuple(
                stand_ins[position] if position in stand_ins else cotangents[0].new_zeros((), dtype=dtype).expand(shape)
                for position, (shape, dtype) in enumerate(ctx.unread)
            )
        outputs = saved[len(positions) :] if reads_outputs else cotangents
        live = call.live(needed)
        if not live:
            return (None,) * len(needed)
        values = (*conjugated(cotangents), *outputs, *tensors)
        gradients: Sequence[Any] | None = None
        if ctx.own is not None:
            pull = ctx.own.pull(live)
            if is_plain(cotangents) and not is_followed() and not any(map(is_batched, cotangents)):
                gradients = PullOfOneCall.apply(pull, *values)
        else:
            pull = call.derivative.pull(live)
            if call.is_single and len(positions) == len(live) == len(needed) - 1:
                call.simple[needed] = pull
            if not _is_grad_enabled() and is_plain(cotangents) and not is_followed():
                gradients = computed(pull, values)
        if gradients is None:
            gradients = call_derivative(pull, call.registered, values)
        if len(needed) == 2:
            return None, conjugated(gradients)[0]
        result: list[Any] = [None] * len(needed)
        for position, gradient in zip(live, conjugated(gradients), strict=True):
            result[1 + position] = gradient
        return tuple(result)


class PullOfOneCall(torch.autograd.Function):
    """The gradients of a call whose operator keeps what it computes; they have none of their own."""

    @staticmethod
    def forward(ctx: Any, pull: Derivative, *tensors: Any) -> Any:
        """Run the `backward` of the operator that has computed the outputs."""
        ctx.pull = pull
        return tuple(compute(pull, tensors))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Raise the error that says that there is no second order."""
        operator = ctx.pull.operator
        raise operator.second_order_error() or operator.missing_rule(0)


# A call of `DirectCall` where no transform is active: without the frames in which `apply` prepares for one.
_apply_directly: Callable[..., Any] = super(torch.autograd.Function, DirectCall).apply


def call_directly(call: Any, tensors: Sequence[Any]) -> Any:
    """Call an operator on plain tensors that nobody else follows, one of which needs a gradient."""
    return _apply_directly(call, *map(_unwrap_if_dead, tensors))


def _simple_gradient(pull: Derivative, cotangent: Any, saved: Sequence[Any], count: int) -> tuple[Any, ...] | None:
    """Return the gradients of all inputs of a call with one output, after None; None where not all is real numbers."""
    try:
        raws = [cotangent.numpy()]
        raws += [tensor.numpy(force=True) if tensor.requires_grad else tensor.numpy() for tensor in saved]
    except (RuntimeError, TypeError):  # one that stands for many, among others
        return None
    for raw in raws:
        if raw.dtype.kind == "c":
            return None
    # The outputs come before the inputs. Of an output that no rule reads there is a stand-in.
    raws.insert(1, raws.pop() if len(saved) == count else raws[0])
    return None, *map(from_numpy, pull.of_own(raws))


def conjugated(tensors: Sequence[Any]) -> Sequence[Any]:
    """Return cotangents, or gradients, in the other convention: PyTorch's are conjugates of ours."""
    for tensor in tensors:
        if tensor.is_complex():
            return [tensor.conj() if tensor.is_complex() else tensor for tensor in tensors]
    return tensors


def call_derivative(derivative: Derivative, registered: Any, tensors: Sequence[Any]) -> Sequence[Any]:
    """Return what a derivative gives for tensors, differentiable in its turn."""
    if is_plain(tensors) and not is_followed() and not (_is_grad_enabled() and needs_gradient(tensors)):
        results = computed(derivative, tensors)
        if results is not None:
            return results
    return registered.call_derivative(derivative, tensors)


def computed(derivative: Derivative, tensors: Sequence[Any]) -> list[Any] | None:
    """Return what a derivative gives for plain tensors by NumPy; None if some stand for many."""
    try:
        return compute(derivative, tensors)
    except RuntimeError:
        if not any(map(is_batched, tensors)):
            raise
        return None


def needs_gradient(tensors: Sequence[Any]) -> bool:
    """Tell whether one of some tensors needs a gradient."""
    for tensor in tensors:  # noqa: SIM110  (a generator takes as long again)
        if tensor.requires_grad:
            return True
    return False


# -- calls that the dispatcher makes -----------------------------------------------------------------------------------


class RegisteredCall(torch.autograd.function._SingleLevelFunction):
    """A derivative called on any tensors, inside of the dispatcher's kernel for autograd.

    `torch.func`'s transforms, forward mode, graphs in the making and second derivatives come through here: it calls
    registered operators, which all of these follow.
    """

    @classmethod
    def record(cls, derivative: Derivative, registered: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Call it at one level of `torch.func`'s transforms, as kernels of PyTorch's own are."""
        result: tuple[Any, ...]
        if not _transforms_active():
            result = cls.apply(derivative, registered, *tensors)
        else:
            with torch._functorch.utils.enable_single_level_autograd_function():
                result = cls.apply(derivative, registered, *tensors)
        return result

    @staticmethod
    def forward(derivative: Derivative, registered: Any, *tensors: Any) -> Any:
        """Call the registered operator, below autograd: the levels of transforms below this one have theirs on."""
        with torch._C._AutoDispatchBelowAutograd():
            if not _transforms_active():
                return _called_operator(derivative, registered, tensors)
            with torch.enable_grad(), _forward_mode._set_fwd_grad_enabled(True):
                return _called_operator(derivative, registered, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the values, and of the operator itself its outputs, which rules may read."""
        derivative, registered, *tensors = inputs
        ctx.derivative, ctx.registered, ctx.count = derivative, registered, len(tensors)
        saved = tensors if derivative.chain else (*tensors, *output)
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        integers = [value for value in output if not is_inexact(value)]
        if integers:
            ctx.mark_non_differentiable(*integers)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Call the next derivative."""
        derivative, registered, count = ctx.derivative, ctx.registered, ctx.count
        saved = ctx.saved_tensors
        needed = ctx.needs_input_grad
        positions = live_positions(derivative, [position for position in range(count) if needed[2 + position]])
        result: list[Any] = [None] * len(needed)
        if positions:
            values = saved if derivative.chain else (*saved[count:], *saved[:count])
            pull = derivative.pull(positions)
            gradients = registered.call_derivative(pull, (*conjugated(cotangents), *values))
            for position, gradient in zip(positions, conjugated(gradients), strict=True):
                result[2 + position] = gradient
        return tuple(result)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Call what pushes tangents forward."""
        derivative, registered = ctx.derivative, ctx.registered
        values = ctx.saved_tensors[: ctx.count]
        with_tangent = [position for position, tangent in enumerate(tangents[2:]) if tangent is not None]
        positions = live_positions(derivative, [position for position in with_tangent if is_inexact(values[position])])
        if not positions:
            return (None,) * derivative.num_returned
        if derivative.operator.second_order_error() is not None:
            raise NoGradientError(
                f"{derivative.operator.__name__} has no forward mode, which takes the gradient of its gradient: it is "
                "a prop, or one of a native library, whose backward is not recorded. Use reverse mode, as jacrev does, "
                "or write it with @customop('numpy') and a rule in plain NumPy."
            )
        moved = [tangents[2 + position] for position in positions]
        pushed = registered.call_derivative(derivative.push(positions), (*moved, *values))
        return tuple(tangent if is_inexact(tangent) else None for tangent in pushed)


def _called_operator(derivative: Derivative, registered: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    if derivative.chain or derivative.has_examples:
        return tuple(registered.call_derivative(derivative, tensors))
    result = registered.call_operator(derivative, tensors)
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def is_inexact(tensor: Any) -> bool:
    """Tell whether a tensor is one of floating-point or complex numbers."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def live_positions(derivative: Derivative, positions: Sequence[int]) -> tuple[int, ...]:
    """Return those of some values whose gradient is not said to be zero, or raise for a missing one."""
    operator = derivative.operator
    if derivative.chain:
        second_order_error = operator.second_order_error()
        if positions and second_order_error is not None:
            raise second_order_error
        return tuple(positions)
    live = [position for position in positions if not operator.is_zero(derivative.input_position(position))]
    for position in live:
        if not operator.has_rule(derivative.input_position(position)):
            raise operator.missing_rule(derivative.input_position(position))
    return tuple(live)
