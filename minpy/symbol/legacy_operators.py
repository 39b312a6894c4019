"""Custom operators as MXNet had them before `CustomOp`: an object with `forward` and `backward`, called on symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.custom.prop import CustomOp, CustomOpProp
from minpy.custom.prop_operator import PropOperator
from minpy.symbol.composition import compose_custom
from minpy.symbol.symbol import Symbol

__all__ = ["NDArrayOp", "NumpyOp", "PythonOp"]


class PythonOp:
    """The base of `NumpyOp` and `NDArrayOp`; derive from one of these.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` reads the outputs' gradients; False for losses.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Return the symbol of a call: see `get_symbol`."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Return the symbol of a call, with inputs by position or by name; missing ones are made as variables.

        Raises
        ------
        NotImplementedError
            For an object that is neither a `NumpyOp` nor an `NDArrayOp`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} derives from PythonOp itself; derive from NumpyOp (forward gets NumPy arrays) or "
            "from NDArrayOp (it gets NDArrays)."
        )

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Fill the outputs, `out_data[i][:] = ...`; by default with the first input."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]) -> None:
        """Fill the gradients of the inputs, `in_grad[i][:] = ...`; by default with ones."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[Sequence[int]]) -> Any:
        """Return (shapes of the inputs, shapes of the outputs); by default the first input's for one output."""
        return in_shape, [in_shape[0]]

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def need_top_grad(self) -> bool:
        """Tell whether `backward` reads the outputs' gradients."""
        return self.need_top_grad_


class NumpyOp(PythonOp):
    """An operator on symbols whose `forward` and `backward` get NumPy arrays.

    Examples
    --------
    >>> import minpy as mx
    >>> class Square(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = in_data[0] ** 2
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = 2 * in_data[0] * out_grad[0]
    >>> executor = Square()(mx.sym.var('x')).bind(mx.cpu(), [mx.nd.array([3])], [mx.nd.zeros(1)])
    >>> output, = executor.forward(is_train=True)
    >>> executor.backward(mx.nd.ones(1))
    >>> output.asnumpy(), executor.grad_arrays[0].asnumpy()
    (array([9.], dtype=float32), array([6.], dtype=float32))
    """

    def get_symbol(self, *args: Symbol, **kwargs: Any) -> Symbol:
        return _composed(self, "_native", args, kwargs)


class NDArrayOp(PythonOp):
    """An operator on symbols whose `forward` and `backward` get NDArrays; otherwise as `NumpyOp`."""

    def get_symbol(self, *args: Symbol, **kwargs: Any) -> Symbol:
        return _composed(self, "_ndarray", args, kwargs)

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """Return which of the numbered arrays `backward` reads."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class ObjectOp(CustomOp):
    """Calls the methods of an object: with NumPy arrays, which are copied back, or with the buffers themselves."""

    def __init__(self, made_by: PythonOp) -> None:
        self.made_by = made_by

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        outputs = self._buffers(out_data)
        self.made_by.forward(self._values(in_data), outputs)
        self._assign(out_data, req, outputs)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        heads = self._values(out_grad) if self.made_by.need_top_grad() else []
        gradients = self._buffers(in_grad)
        self.made_by.backward(heads, self._values(in_data), self._values(out_data), gradients)
        self._assign(in_grad, req, gradients)

    def _values(self, arrays: Any) -> list[Any]:
        return [array.asnumpy() if isinstance(self.made_by, NumpyOp) else array for array in arrays]

    def _buffers(self, arrays: Any) -> list[Any]:
        if isinstance(self.made_by, NumpyOp):
            return [numpy.zeros(array.shape, array.dtype) for array in arrays]
        return [array.zeros_like() for array in arrays]

    def _assign(self, arrays: Any, req: Any, values: Any) -> None:
        for array, request, value in zip(arrays, req, values, strict=True):
            self.assign(array, request, value)


class ObjectProp(CustomOpProp):
    """Describes an object of an operator."""

    def __init__(self, made_by: PythonOp) -> None:
        super().__init__(need_top_grad=made_by.need_top_grad())
        self.made_by = made_by

    def list_arguments(self) -> list[str]:
        return self.made_by.list_arguments()

    def list_outputs(self) -> list[str]:
        return self.made_by.list_outputs()

    def infer_shape(self, in_shape: Any) -> Any:
        return (*self.made_by.infer_shape(in_shape), [])

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        if isinstance(self.made_by, NDArrayOp):
            return self.made_by.declare_backward_dependency(out_grad, in_data, out_data)
        return super().declare_backward_dependency(out_grad, in_data, out_data)

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        return ObjectOp(self.made_by)


def _composed(made_by: PythonOp, hint: str, inputs: tuple[Symbol, ...], keywords: dict[str, Any]) -> Symbol:
    name = keywords.pop("name", None)
    noted = keywords.pop("attr", None)
    operator = PropOperator(type(made_by).__name__, ObjectProp(made_by))
    return compose_custom(operator, inputs, keywords, name, noted, hint)
