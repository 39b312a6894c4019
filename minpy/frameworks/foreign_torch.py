"""`from_torch`: a function of PyTorch's as an operator of minpy, differentiated by PyTorch, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, GradientError, MutationError, describe
from minpy.frameworks.foreign_operator import ForeignOperator, in_tuple, read_foreign_signature
from minpy.frameworks.libraries import require

__all__ = ["TorchFunction", "from_torch"]


def from_torch(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    inputs: int | Sequence[str] | None = None,
    outputs: int | Sequence[str] | None = None,
    device: Any = None,
) -> Any:
    """Make an operator of a function of PyTorch's tensors; its gradient is PyTorch's, to any order.

    The operator is called, recorded, and differentiated as any other is: on NumPy's arrays and NDArrays, in symbols,
    Gluon blocks and compiled functions (which call it: nothing of it becomes part of their graphs), under HIPS
    autograd. Its gradient is such an operator in its turn. It runs the function once more, and keeps nothing of the
    forward run: so the function has to compute the same again, and may not draw random numbers.

    Parameters
    ----------
    function : callable, optional
        Takes tensors by position, attributes by keyword, and returns a tensor, or a tuple or list of tensors. Its
        positional parameters are inputs, the keyword-only ones attributes. It must not change its inputs. A
        `torch.nn.Module` may be given, too: its parameters and buffers are constants, whose values it takes at each
        call. To differentiate with respect to them, make them inputs, with `torch.func.functional_call`; see the
        examples. Left out, a decorator is returned.
    name : str, optional
        What the operator is called; by default the function's name.
    inputs : int or sequence of str, optional
        Which parameters are inputs, or how many: the other ones are attributes, then, which calls give by keyword.
        Needed for functions that do not tell their parameters (`torch.logsumexp`).
    outputs : int or sequence of str, optional
        How many tensors it returns, or a name for each, for symbols; left out, they go by the function's code, or else
        by what it has returned.
    device : optional
        Where inputs are moved; by default that of a module's parameters, else the CPU. Outputs come back to the CPU.

    Returns
    -------
    Operator
        The dtypes of its outputs are those that the function gives: NumPy's float64 goes in as `torch.float64`. Inputs
        that are integers have a zero gradient. The operator pickles if it is found under its name in its module, or if
        the function pickles.

    Raises
    ------
    ArgumentError
        If inputs cannot be told; at a call, if the function returns something else than tensors, or tensors of a
        dtype that NumPy has not (`torch.bfloat16`).
    MutationError
        At a call, if the function changes an input in place.
    GradientError
        At the gradient, if the function draws random numbers, or changes the buffers of its module.
    MissingDependencyError
        If PyTorch is not installed, or too old.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy, torch
    >>> from minpy.frameworks import from_torch
    >>> @from_torch
    ... def wave(x, *, frequency: float = 1.0):
    ...     return torch.sin(frequency * x)
    >>> wave(np.zeros(2), frequency=2.0)
    array([0., 0.])
    >>> minpy.grad(lambda x: wave(x, frequency=2.0).sum())(np.zeros(2))
    array([2., 2.])

    A function whose parameters are not all arrays:

    >>> spread = from_torch(torch.logsumexp, inputs=('x',))
    >>> spread(np.zeros((2, 3)), dim=1)
    array([1.09861229, 1.09861229])

    A module, whose parameters are inputs:

    >>> layer = torch.nn.Linear(3, 1).double()
    >>> def apply(x, weight, bias):
    ...     return torch.func.functional_call(layer, {'weight': weight, 'bias': bias}, (x,))
    >>> linear = from_torch(apply, name='linear')
    >>> minpy.grad(lambda w: linear(np.ones((2, 3)), w, np.zeros(1)).sum())(np.zeros((1, 3)))
    array([[2., 2., 2.]])
    """
    torch: Any = require("torch")
    if function is None:
        return lambda decorated: from_torch(decorated, name=name, inputs=inputs, outputs=outputs, device=device)
    if isinstance(function, ForeignOperator):
        function = function.function
    if not callable(function):
        raise ArgumentError(f"from_torch makes an operator of a function of tensors, got {describe(function)}.")
    module = function if isinstance(function, torch.nn.Module) else None
    readable = function if module is None else module.forward
    parts = read_foreign_signature(readable, inputs, "from_torch")
    operator = TorchFunction(
        parts.bound(function),
        name=name or str(getattr(function, "__name__", type(function).__name__)),
        signature=parts.signature,
        outputs=outputs,
        like=function,
        settings={"module": module, "device": device},
    )
    return operator.published((_remade, (function, name, inputs, outputs, device)))


def _remade(function: Any, name: Any, inputs: Any, outputs: Any, device: Any) -> Any:
    return from_torch(function, name=name, inputs=inputs, outputs=outputs, device=device)


class TorchFunction(ForeignOperator):
    """A function of PyTorch's as an operator: what `from_torch` returns."""

    framework = "PyTorch"
    maker = "from_torch"
    _has_run = False

    def compute(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Return what the function gives for NumPy's arrays, in fresh memory: an array, or a tuple of arrays."""
        import torch

        # The first call is on copies: a function that changes its inputs is found out before it has changed any.
        tensors = [self._tensor(torch, value, not self._has_run) for value in inputs]
        watched = self._watched() if self.is_gradient else None
        draws = torch.get_rng_state() if self.is_gradient else None
        with torch.no_grad():
            result = self.function(*tensors, **{key: raw_of(value) for key, value in attributes.items()})
        for index, tensor in enumerate(tensors):
            if isinstance(tensor, torch.Tensor) and tensor._version:
                raise MutationError(
                    f"{self.__name__}: it changes its input {self.argument_name(index)} in place, which others still "
                    "use. Write `x = x + 1` instead of `x += 1` or `x.add_(1)`, or start with x = x.clone()."
                )
        if draws is not None and not torch.equal(draws, torch.get_rng_state()):
            torch.set_rng_state(draws)
            raise GradientError(
                f"{self.__name__}: the function draws random numbers, and its gradient, which runs it once more, would "
                "draw others. Make them an input; or take a module into evaluation, with module.eval()."
            )
        if watched is not None:
            self._require_unchanged(watched)
        self._has_run = True
        if isinstance(result, (tuple, list)):
            return tuple([self._array(torch, value, index, True) for index, value in enumerate(result)])
        return self._array(torch, result, 0, False)

    def vjp_function(self, positions: tuple[int, ...], live: tuple[bool, ...], several: bool) -> Callable[..., Any]:
        """Return the function's gradient as a function of (cotangents, inputs), to gradients."""
        import torch

        function = self.function

        def gradient(*values: Any, **attributes: Any) -> Any:
            is_recorded = torch.is_grad_enabled()  # by the gradient of this gradient
            cotangents, inputs = values[: sum(live)], list(values[sum(live) :])
            for index in positions:
                if not inputs[index].requires_grad:
                    inputs[index] = inputs[index].detach().requires_grad_()
            variables = [inputs[index] for index in positions]
            with torch.enable_grad():
                outputs = in_tuple(function(*inputs, **attributes))
                heads = [output for output, is_live in zip(outputs, live, strict=True) if is_live]
                for head in heads:
                    if not isinstance(head, torch.Tensor):
                        raise GradientError(
                            f"its function returned {describe(head)}, through which PyTorch takes no gradient. "
                            "Return the tensor, without float() or .item()."
                        )
                pairs = [(y, _conjugate(g)) for y, g in zip(heads, cotangents, strict=True) if y.requires_grad]
                if not pairs:
                    parts: Sequence[Any] = [None] * len(variables)
                else:
                    parts = torch.autograd.grad(
                        [y for y, _ in pairs],
                        variables,
                        [g.to(device=y.device, dtype=y.dtype).expand_as(y) for y, g in pairs],
                        create_graph=is_recorded,
                        allow_unused=True,
                    )
                results = tuple(
                    torch.zeros_like(variable) if part is None else _conjugate(part)
                    for part, variable in zip(parts, variables, strict=True)
                )
            return results if len(results) > 1 else results[0]

        return gradient

    def output_facts(
        self, inputs: Sequence[tuple[Any, Any]], attributes: dict[str, Any]
    ) -> list[tuple[Any, Any]] | None:
        """Return (shape, dtype) of each output, from a run on tensors of the device 'meta', which have no values."""
        import torch

        try:
            samples = [torch.empty(shape, dtype=_torch_dtype(torch, dtype), device="meta") for shape, dtype in inputs]
            with torch.no_grad():
                outputs = in_tuple(self.function(*samples, **attributes))
            if any(output.device.type != "meta" for output in outputs):
                return None
            return [(tuple(output.shape), _numpy_dtype(torch, output.dtype)) for output in outputs]
        except Exception:  # it asks for values, or mixes them with tensors that have some
            return None

    # -- inside --------------------------------------------------------------------------------------------------------

    @property
    def _device(self) -> Any:
        device, module = self.settings["device"], self.settings["module"]
        if device is None and module is not None:
            parameter = next(module.parameters(), None)
            device = None if parameter is None else parameter.device
        return device

    def _tensor(self, torch: Any, value: Any, copied: bool) -> Any:
        """Return an input as the function is given it: numbers and arrays as tensors, anything else as it is."""
        if not isinstance(value, (numpy.ndarray, numpy.generic, bool, int, float, complex)):
            return value
        array = numpy.asarray(value)
        if copied or not array.flags.writeable or not array.dtype.isnative or min(array.strides, default=0) < 0:
            array = numpy.array(array, array.dtype.newbyteorder("="), order="C")
        try:
            tensor = torch.from_numpy(array)
        except TypeError as error:
            raise ArgumentError(f"{self.__name__}: PyTorch takes no array of dtype {array.dtype}: {error}") from None
        device = self._device
        return tensor if device is None else tensor.to(device)

    def _array(self, torch: Any, value: Any, number: int, several: bool) -> numpy.ndarray:
        """Return an output as an array with memory of its own."""
        if isinstance(value, (bool, int, float, complex, numpy.generic)):
            return numpy.asarray(value)
        if not isinstance(value, torch.Tensor):
            raise self.unfit(
                number, several, f"returned {describe(value)}; expected a tensor, or a tuple or list of tensors."
            )
        value = value.detach()
        if value.layout is not torch.strided:
            raise self.unfit(number, several, f"returned a {value.layout} tensor; end it with .to_dense().")
        if value.device.type != "cpu":
            value = value.cpu()
        try:
            array = value.resolve_conj().resolve_neg().numpy()
        except TypeError:
            raise self.unfit(
                number,
                several,
                f"returned a tensor of dtype {value.dtype}, which NumPy has not; end it with .float().",
            ) from None
        return numpy.array(array, order="C")  # theirs may be that of an input, or of what the function keeps

    def _watched(self) -> list[tuple[str, Any, int]]:
        module = self.settings["module"]
        return [] if module is None else [(name, buffer, buffer._version) for name, buffer in module.named_buffers()]

    def _require_unchanged(self, watched: Sequence[tuple[str, Any, int]]) -> None:
        for name, buffer, version in watched:
            if buffer._version != version:
                raise GradientError(
                    f"{self.__name__}: the module changes its buffer {name} at each run, and its gradient runs it once "
                    "more. Take it into evaluation, with module.eval(), or make the buffer an input."
                )


def _conjugate(tensor: Any) -> Any:
    """Return a gradient in the other convention: PyTorch's is the conjugate of NumPy's neighbours' (autograd, JAX)."""
    return tensor.conj() if tensor.is_complex() else tensor


def _torch_dtype(torch: Any, dtype: Any) -> Any:
    return torch.from_numpy(numpy.empty(0, dtype)).dtype


def _numpy_dtype(torch: Any, dtype: Any) -> numpy.dtype:
    return torch.empty(0, dtype=dtype).numpy().dtype
