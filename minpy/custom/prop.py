"""The classes that users derive from: `CustomOp` computes, `CustomOpProp` describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.context import Context
from minpy.core.array import Array
from minpy.core.buffers import loans, note_write
from minpy.core.errors import ArgumentError, MXNetError, NoGradientError, ShapeError, describe
from minpy.custom.output_buffers import Buffer
from minpy.ndarray.ndarray import NDArray

__all__ = ["CustomOp", "CustomOpProp"]

Shape = Sequence[int]


class CustomOp:
    """The computation of a custom operator. Derive from it, and define `forward` and `backward`.

    One instance serves one call: `backward` finds attributes of `self` that `forward` has set.

    Examples
    --------
    >>> import minpy as mx
    >>> class Double(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], 2 * in_data[0])
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], 2 * out_grad[0])
    >>> @mx.operator.register('doctest_double')
    ... class DoubleProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Double()
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type='doctest_double').asnumpy()
    array([2., 4.], dtype=float32)
    """

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[NDArray],
        out_data: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the outputs; every one must be written, with `assign` or `out_data[i][:] = ...`.

        Parameters
        ----------
        is_train : bool
            Whether this is training, as `autograd.is_training()` says.
        req : list of {'null', 'write', 'inplace', 'add'}
            How to assign to each output.
        in_data : list of NDArray
            The inputs, in the order of `list_arguments`; not to be changed.
        out_data : list of NDArray
            Buffers for the outputs.
        aux : list of NDArray
            Auxiliary states; may be changed in place.
        """
        raise NotImplementedError(
            f"{type(self).__name__} defines no forward(self, is_train, req, in_data, out_data, aux)."
        )

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the gradients of the inputs; each whose `req` is not 'null' must be written.

        Parameters
        ----------
        req : list of {'null', 'write', 'inplace', 'add'}
            How to assign to each gradient; 'null' for one that is not needed.
        out_grad : list of NDArray
            Gradients of the outputs.
        in_data, out_data, aux : list of NDArray
            As in `forward`.
        in_grad : list of NDArray
            Buffers for the gradients of the inputs.

        Raises
        ------
        NoGradientError
            If the class does not define it.
        """
        raise _located(
            NoGradientError(
                f"{type(self).__name__} defines no backward, and a gradient through it was asked for. Define "
                "backward(self, req, out_grad, in_data, out_data, in_grad, aux), or call the operator on x.detach()."
            )
        )

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Assign to an output or gradient as `req` says.

        Parameters
        ----------
        dst : NDArray
            The buffer.
        req : {'null', 'write', 'inplace', 'add'}
            Whether to do nothing, to set, or to add.
        src : NDArray, numpy.ndarray or number
            What to assign, of the buffer's shape (or a number).

        Raises
        ------
        ShapeError
            If the shapes differ.
        ArgumentError
            For an unknown `req`.
        """
        if req == "write" and type(dst) is Buffer and not dst.allocated:
            buffer = src._data if type(src) is NDArray or isinstance(src, Array) else src
            if buffer is not src and loans.current is not None and type(src) is NDArray and dst.adopt(src):
                return
            if type(buffer) is numpy.ndarray and buffer.shape == dst.final_shape:
                dst.copy_from(buffer)
                return
        if req == "null":
            return
        if req not in ("write", "inplace", "add"):
            raise _located(
                ArgumentError(
                    f"{type(self).__name__}.assign: unknown req {req!r}; expected 'null', 'write', 'inplace' or 'add'."
                )
            )
        if not isinstance(dst, NDArray):
            raise _located(
                ArgumentError(
                    f"{type(self).__name__}.assign: dst is {describe(dst)}; expected one buffer, such as "
                    "out_data[0] or in_grad[0]."
                )
            )
        if type(dst) is Buffer and dst.is_adopted:  # other owners of the memory must not see what is written
            dst._data = dst._data.copy()
        buffer = src._data if isinstance(src, Array) else src
        shape = numpy.shape(buffer)
        data = dst._data
        if shape != data.shape and shape not in ((), (1,)):
            raise _located(ShapeError(self._shape_message(dst, buffer)))
        if req == "add":
            data += buffer
        else:
            numpy.copyto(data, buffer, casting="unsafe")
        note_write(data)

    def _shape_message(self, dst: NDArray, buffer: Any) -> str:
        kind = dst.kind if isinstance(dst, Buffer) else ""
        name = f"{kind} {dst.name!r}" if isinstance(dst, Buffer) else "a buffer"
        method = "backward" if kind.startswith("the gradient") else "forward"
        return (
            f"{type(self).__name__}.{method} assigns {describe(buffer)} to {name}, which has shape {dst.shape}; "
            f"they must be equal. Compute {name} in the shape {dst.shape}"
            f"{', that of the input itself' if method == 'backward' else ', as infer_shape promised'}."
        )


def _located(error: MXNetError) -> MXNetError:
    """Mark an error whose text already names the class and method."""
    error.located = True
    return error


class CustomOpProp:
    """The description of a custom operator: names, shapes and types of inputs and outputs.

    A new instance is made for each call, with the keyword arguments of `nd.Custom` as strings.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` needs the outputs' gradients; False for losses.

    Examples
    --------
    >>> import minpy as mx
    >>> class SplitProp(mx.operator.CustomOpProp):
    ...     def list_outputs(self):
    ...         return ['left', 'right']
    >>> SplitProp().list_arguments(), SplitProp().list_outputs()
    (['data'], ['left', 'right'])
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states, which follow the inputs in a call."""
        return []

    def infer_shape(self, in_shape: list[Shape]) -> Any:
        """Return (input shapes, output shapes) or (input shapes, output shapes, auxiliary shapes).

        By default every output has the shape of the first input.
        """
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[Any]) -> Any:
        """Return (input types, output types, auxiliary types); by default all are the first input's."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    vars(infer_type)["_is_default"] = True

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """Return the storage types; arrays are dense here, so all are 'default'."""
        return (
            in_stype,
            ["default"] * len(self.list_outputs()),
            ["default"] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> Any:
        """Return the storage types of the backward computation; all are 'default'."""
        return tuple(["default"] * len(stypes) for stypes in (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype))

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """Return which of the numbered arrays `backward` reads."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: list[Shape], in_dtypes: list[Any]) -> CustomOp:
        """Return the object that computes one call.

        Parameters
        ----------
        ctx : Context
        in_shapes : list of list of int
            Shapes of inputs and auxiliary states.
        in_dtypes : list of type
            Their NumPy types.
        """
        return CustomOp()
