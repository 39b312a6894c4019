"""`Parameter`: what a block learns, or keeps: an array on each of its devices, and the gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy

from minpy import initializer, symbol
from minpy import ndarray as nd
from minpy import numpy as np
from minpy.autograd import mark_variables, pause
from minpy.context import Context, cpu, current_context
from minpy.core.buffers import note_write
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    ContextError,
    DTypeError,
    MXNetError,
    NotReadyError,
    ShapeError,
    describe,
)
from minpy.core.numpy_semantics import is_np_array, is_np_shape
from minpy.core.state import TRACES, tracing
from minpy.gluon.change_counter import CHANGES
from minpy.gluon.parameter.messages import DeferredInitializationError
from minpy.gluon.parameter.unknown_shapes import as_shape, is_complete, joined
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["Parameter", "tensor_types"]

tensor_types = (Symbol, NDArray)

_STORAGE_TYPES = ("default", "row_sparse", "csr")
_REQUESTS = ("write", "add", "null")


def _contexts(ctx: Any, name: str) -> list[Context]:
    """Return the devices that are given as one, several, or none."""
    if ctx is None:
        return [current_context()]
    contexts = list(ctx) if isinstance(ctx, (list, tuple)) else [ctx]
    for context in contexts:
        if not isinstance(context, Context):
            raise ArgumentError(
                f"Parameter {name!r}: ctx is {describe(ctx)}; expected a Context such as mx.cpu(), or a list of them."
            )
    if not contexts:
        raise ArgumentValueError(f"Parameter {name!r}: ctx is an empty list; expected one or more contexts.")
    return contexts


class Parameter:
    """An array that a block holds: a weight, a bias, a moving mean.

    It gets values from `initialize`, at once if its shape is known, else when its block is called first. A copy lies on
    each context, with a gradient of its own.

    Parameters
    ----------
    name : str
        Its name in files and messages. If it was not made by a ParameterDict, the block that it becomes an attribute of
        puts its prefix in front; without a name it is that of the attribute.
    grad_req : {'write', 'add', 'null'}
        What `backward` does with the gradient: replace, add to it, or compute none.
    shape : tuple of int or int, optional
        With 0 (or -1) for lengths that follow from the first call.
    dtype : str or numpy.dtype
    lr_mult, wd_mult : float
        Factors on the learning rate and the weight decay of a Trainer.
    init : str or Initializer, optional
        What fills it; without one, what `initialize` is given.
    allow_deferred_init : bool
        Whether it may be initialized before its shape is known.
    differentiable : bool
        Whether there is a gradient; if not, `grad_req` stays 'null'.
    stype, grad_stype : {'default', 'row_sparse', 'csr'}
        How values are stored. Taken for the sake of programs that give one: arrays are dense here.

    Raises
    ------
    ArgumentError
        For a shape, a `grad_req` or a storage type that cannot be.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.gluon.Parameter('weight', shape=(2, 3))
    >>> weight.initialize(mx.init.One())
    >>> weight.data().asnumpy().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    def __init__(
        self,
        name: str = "",
        grad_req: str = "write",
        shape: Any = None,
        dtype: Any = numpy.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._shape = as_shape(shape, name)
        self._dtype = dtype
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        for argument, kind in (("stype", stype), ("grad_stype", grad_stype)):
            if kind not in _STORAGE_TYPES:
                raise ArgumentValueError(
                    f"Parameter {name!r}: {argument} is {kind!r}; expected one of "
                    f"{', '.join(map(repr, _STORAGE_TYPES))}."
                )
        self._stype = stype
        self._grad_stype = grad_stype
        self._data: list[Any] | None = None
        self._grad: list[Any] | None = None
        self._deferred_init: tuple[Any, ...] = ()
        self._trainer: Any = None
        self._var: Any = None
        self._var_is_np = False
        self._owned = False  # whether a block, or a ParameterDict, has it
        self._grad_req = "null"
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    def __capture__(self, capture: Any) -> Any:
        if capture.surroundings is None:
            raise capture.shadow.refuse(f"{self.name} is a parameter, and no block of its is there")
        return capture.surroundings.proxy_of(self, self.name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "_data":  # graphs know the arrays
            CHANGES.note(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_trainer": None, "_var": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._data is not None and self._grad is not None:
            self._attach()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        state = self.__getstate__()
        for name in ("_data", "_grad"):
            if state[name] is not None:
                state[name] = [array.copy() for array in state[name]]
        copied.__setstate__(state)
        return copied

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The lengths of its axes; what is not known yet is 0, and -1 under `np_shape`. None: nothing is known."""
        if self._shape is not None and is_np_shape():
            return tuple(length if length > 0 else -1 for length in self._shape)
        return self._shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        try:
            self._shape = joined(self._shape, as_shape(shape, self.name))
        except ValueError:
            raise ShapeError(
                f"Parameter {self.name!r} has shape {self._shape}, which {shape} contradicts. Only lengths that are "
                "not known (0) can be set; make another parameter, or check in_units or in_channels of the layer."
            ) from None

    @property
    def dtype(self) -> Any:
        """The type of its elements. Setting it is `cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def stype(self) -> str:
        """The storage type that was asked for. Arrays are dense here."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """The storage type that was asked for gradients. They are dense here."""
        return self._grad_stype

    @property
    def grad_req(self) -> str:
        """What backward does with the gradient: 'write', 'add' or 'null'."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, request: str) -> None:
        if request not in _REQUESTS:
            raise ArgumentValueError(
                f"Parameter {self.name!r}: grad_req is {request!r}; expected 'write', 'add' or 'null'."
            )
        if not self._differentiable:
            request = "null"
        if request == self._grad_req:
            return
        self._grad_req = request
        if request == "null":
            self._grad = None
            for array in self._data or ():
                array._node = None
        elif self._data is not None:
            self._make_gradients()

    # -- initial values ----------------------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        default_init: Any = None,
        force_reinit: bool = False,
        *,
        device: Any = None,
    ) -> None:
        """Give it values, now or, if its shape is not known, when its block is called first.

        Parameters
        ----------
        init : str or Initializer, optional
            What fills it; without one its own `init`, and without that `default_init`.
        ctx : Context or list of Context, optional
            Where copies lie; the current context.
        default_init : str or Initializer, optional
            Uniform, if left out.
        force_reinit : bool
            Whether it is filled again if it has values; else that is a warning, and nothing is done.
        device : Context or list of Context, optional
            MXNet 2's name of `ctx`.

        Raises
        ------
        ShapeError
            If the shape is not known, and it was made without `allow_deferred_init`.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter {self.name!r} is initialized already, and keeps its values. To fill it again, give "
                "force_reinit=True.",
                stacklevel=2,
            )
            return
        contexts = _contexts(ctx if device is None else device, self.name)
        if default_init is None:
            default_init = initializer.Uniform()
        if init is None:
            init = default_init if self.init is None else self.init
        if not is_complete(self._shape) and not self._allow_deferred_init:
            raise ShapeError(
                f"Parameter {self.name!r} cannot be initialized: its shape is {self._shape}. Give the lengths that are "
                "missing (in_units, in_channels), or make it with allow_deferred_init=True, and they follow from the "
                "first call of its block."
            )
        self._data = self._grad = None
        self._deferred_init = (init, contexts, default_init, None)
        if is_complete(self._shape):
            self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        """Fill it, now that its shape is known."""
        if not self._deferred_init:
            return
        init, contexts, default_init, data = self._deferred_init
        if not is_complete(self._shape):
            raise ShapeError(
                f"Parameter {self.name!r} cannot be initialized: its shape is {self._shape}, also after the shapes of "
                "its block were inferred. Give the lengths that are missing (in_units, in_channels)."
            )
        with pause():
            if data is None:
                data = (np if is_np_array() else nd).zeros(self._shape, dtype=self._dtype, ctx=cpu())
                description = initializer.InitDesc(self.name, {"__init__": init})
                initializer.create(default_init)(description, data)
            self._deferred_init = ()
            self._init_impl(data, contexts)

    def _init_impl(self, data: Any, ctx_list: Sequence[Context], owned: bool = False) -> None:
        """Lay copies of an array on contexts, with gradients; one that is owned by nobody else is taken itself."""
        self._data = [
            data if owned and number == 0 and data.context == context else data.copyto(context)
            for number, context in enumerate(ctx_list)
        ]
        self._grad = None
        if self._grad_req != "null":
            self._make_gradients()

    def _make_gradients(self) -> None:
        assert self._data is not None
        if self._data[0]._data.dtype.kind not in "fc":
            self._grad_req = "null"
            return
        # Zeros are memory that the system clears when it is written to, if it ever is.
        self._grad = [
            nd.zeros(array.shape, ctx=array.context, dtype=array.dtype) if type(array) is NDArray else array * 0
            for array in self._data
        ]
        self._attach()

    def _attach(self) -> None:
        assert self._data is not None
        assert self._grad is not None
        mark_variables(self._data, self._grad, self._grad_req)

    def _check_load(
        self, data: Any, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current", where: str = "file"
    ) -> None:
        """Raise the error for values that cannot be taken, before any are."""
        try:
            joined(self._shape, tuple(data.shape))
        except ValueError:
            raise ShapeError(
                f"Parameter {self.name!r}: the {where} has shape {tuple(data.shape)}, the block {self._shape}. Make "
                "the block as it was when the file was written, or leave this parameter out of what is loaded."
            ) from None
        if dtype_source not in ("current", "saved"):
            raise ArgumentValueError(f"load: dtype_source is {dtype_source!r}; expected 'current' or 'saved'.")
        if numpy.dtype(self._dtype) != data.dtype and not cast_dtype:
            raise DTypeError(
                f"Parameter {self.name!r}: the {where} has dtype {numpy.dtype(data.dtype).name}, the block "
                f"{numpy.dtype(self._dtype).name}. Give cast_dtype=True to convert it, or cast the block first."
            )
        if ctx is not None and (self._data is not None or self._deferred_init):
            contexts = self.list_ctx()
            if set(_contexts(ctx, self.name)) != set(contexts):
                raise ContextError(
                    f"Parameter {self.name!r} lies on {', '.join(map(str, contexts))}, and is loaded on {ctx}. Load "
                    "without ctx, or call reset_ctx first."
                )

    def _load_init(
        self, data: Any, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current", owned: bool = False
    ) -> None:
        """Take the values of an array that was read from a file, or the array itself if it is owned by nobody else."""
        self._check_load(data, ctx, cast_dtype, dtype_source)
        if numpy.dtype(self._dtype) != data.dtype:
            if dtype_source == "current":
                data = data.astype(self._dtype)
            else:
                self.cast(data.dtype)
        self._shape = joined(self._shape, tuple(data.shape))
        if self._data is not None:
            self.set_data(data)
            return
        contexts = (
            self._deferred_init[1] if self._deferred_init else _contexts(cpu() if ctx is None else ctx, self.name)
        )
        self._deferred_init = ()
        self._init_impl(_like_mode(data), contexts, owned)

    # -- values ------------------------------------------------------------------------------------------------------

    def data(self, ctx: Context | None = None, *, device: Context | None = None) -> Any:
        """Return its array on a context.

        Parameters
        ----------
        ctx : Context, optional
            Left out: the only one, or the current one where there are several.
        device : Context, optional
            MXNet 2's name of `ctx`.

        Raises
        ------
        DeferredInitializationError
            If its values wait for the first call of its block.
        MXNetError
            If it is not initialized.
        ContextError
            If it is not initialized on this context.
        """
        if TRACES and tracing.trace is not None:
            return tracing.trace.parameter(self)
        if device is not None:
            ctx = device
        arrays = self._data
        if arrays is not None and len(arrays) == 1 and (ctx is None or arrays[0].context == ctx):
            return arrays[0]
        return self._check_and_get(arrays, ctx)

    def list_data(self) -> list[Any]:
        """Return its arrays on all contexts."""
        if TRACES and tracing.trace is not None:
            return [tracing.trace.parameter(self) for _ in self._check_and_get(self._data, list)]
        return list(self._check_and_get(self._data, list))

    def grad(self, ctx: Context | None = None, *, device: Context | None = None) -> Any:
        """Return its gradient on a context; see `data`.

        Raises
        ------
        MXNetError
            If it has none, as `grad_req` is 'null'; or for what `data` raises.
        NotTraceableError
            While a hybridized block is traced.
        """
        self._require_gradients()
        return self._check_and_get(self._gradients(), ctx if device is None else device)

    def list_grad(self) -> list[Any]:
        """Return its gradients on all contexts."""
        self._require_gradients()
        return list(self._check_and_get(self._gradients(), list))

    def _require_gradients(self) -> None:
        """Raise the error for a parameter without gradients, or that is traced: a graph would hold them as they are."""
        if TRACES and tracing.trace is not None:
            raise tracing.trace.refusal(
                "reads the gradient of a parameter, which a graph would hold as it is now.",
                "Read it outside, and give it as an argument",
            )
        if self._data is not None and self._grad is None:
            why = "it is not differentiable" if not self._differentiable else "its grad_req is 'null'"
            raise MXNetError(f"Parameter {self.name!r} has no gradient: {why}. Set grad_req to 'write' or 'add'.")

    def _gradients(self) -> list[Any] | None:
        """Return its gradients as its arrays have them: a user may have attached others."""
        return None if self._data is None else [array.grad for array in self._data]

    @property
    def _ctx_list(self) -> list[Context] | None:
        """The contexts of its arrays, None without any: what subclasses written for MXNet copy."""
        return None if self._data is None else [array.context for array in self._data]

    @_ctx_list.setter
    def _ctx_list(self, contexts: object) -> None:
        """Contexts follow from the arrays: who sets these has set the arrays, too."""

    @property
    def _ctx_map(self) -> list[list[Any]] | None:
        """By device type id and 1, and then by device id: which of its arrays lies there."""
        if self._data is None:
            return None
        positions: list[list[Any]] = [[], []]
        for position, array in enumerate(self._data):
            context = array.context
            of_type = positions[context.device_typeid & 1]
            of_type.extend([None] * (context.device_id + 1 - len(of_type)))
            of_type[context.device_id] = position
        return positions

    @_ctx_map.setter
    def _ctx_map(self, positions: object) -> None:
        """See `_ctx_list`."""

    def list_ctx(self) -> list[Context]:
        """Return the contexts that it lies on, or will."""
        if self._data is not None:
            return [array.context for array in self._data]
        if self._deferred_init:
            return list(self._deferred_init[1])
        raise self._uninitialized()

    def _uninitialized(self, error: type[MXNetError] = MXNetError) -> MXNetError:
        return error(
            f"Parameter {self.name!r} is not initialized. Call initialize() on its block, or on collect_params() of "
            "it: `params` of a block has only the block's own, not those of its children."
        )

    def _check_and_get(self, arr_list: list[Any] | None, ctx: Any) -> Any:
        """Return the array of a list that lies on a context; the whole list for `list`."""
        if arr_list is not None:
            if ctx is list:
                return arr_list
            if ctx is None:
                if len(arr_list) == 1:
                    return arr_list[0]
                ctx = current_context()
            for array in arr_list:
                if array.context == ctx:
                    return array
            if ctx.device_type in ("cpu_pinned", "cpu_shared"):  # batches of loaders: the same memory
                return self._check_and_get(arr_list, cpu(ctx.device_id))
            raise ContextError(
                f"Parameter {self.name!r} is not on {ctx}: it was initialized on "
                f"{', '.join(str(array.context) for array in arr_list)}. Call reset_ctx, or initialize it there."
            )
        if self._deferred_init:
            raise DeferredInitializationError(
                f"Parameter {self.name!r} has no values yet: its shape is {self.shape}, and the rest follows from the "
                "first call of its block. Call the block with a batch first, or give in_units, in_channels or what "
                "else is missing when it is made."
            )
        raise self._uninitialized()

    def set_data(self, data: Any) -> None:
        """Write values into its arrays on all contexts.

        Raises
        ------
        ShapeError
            If the shape is another.
        """
        shape = tuple(numpy.shape(data)) if not hasattr(data, "shape") else tuple(data.shape)
        try:
            new_shape = joined(self._shape, shape)
        except ValueError:
            raise ShapeError(f"Parameter {self.name!r} has shape {self._shape}; set_data got {shape}.") from None
        if self._data is None:
            if not self._deferred_init:
                raise self._uninitialized(NotReadyError)
            self._shape = new_shape
            values = data if isinstance(data, NDArray) else nd.array(data, dtype=self._dtype)
            self._deferred_init = (*self._deferred_init[:3], _like_mode(values).astype(self._dtype))
            return
        if shape != self._data[0].shape:
            raise ShapeError(f"Parameter {self.name!r} has shape {self._shape}; set_data got {shape}.")
        raw = data._data if isinstance(data, NDArray) else numpy.asarray(data)
        for array in self._data:
            numpy.copyto(array._data, raw, casting="unsafe")
            note_write(array._data)

    def zero_grad(self) -> None:
        """Set its gradients to zero."""
        for gradient in self._gradients() or () if self._grad is not None else ():
            gradient._data[...] = 0
            note_write(gradient._data)

    def _reduce(self) -> Any:
        """Return the mean of its arrays on all contexts, on the CPU."""
        arrays = self.list_data()
        total = arrays[0].copyto(cpu())
        for array in arrays[1:]:
            total += array.as_in_context(cpu())
        return total if len(arrays) == 1 else total / len(arrays)

    # -- changes -----------------------------------------------------------------------------------------------------

    def reset_ctx(self, ctx: Any) -> None:
        """Move it to other contexts.

        Raises
        ------
        ArgumentValueError
            If it is not initialized.
        """
        contexts = _contexts(ctx, self.name)
        if self._data is not None:
            self._init_impl(self._reduce(), contexts)
        elif self._deferred_init:
            init, _, default_init, data = self._deferred_init
            self._deferred_init = (init, contexts, default_init, data)
        else:  # programs catch MXNet's ValueError here, to move what has values and leave the rest
            raise self._uninitialized(ArgumentValueError)

    list_device, reset_device = list_ctx, reset_ctx  # MXNet 2's names

    def cast(self, dtype: Any) -> None:
        """Convert it, and its gradients, to another dtype."""
        self._dtype = dtype
        CHANGES.note(self)
        if self._data is None:
            if self._deferred_init and self._deferred_init[3] is not None:
                self._deferred_init = (*self._deferred_init[:3], self._deferred_init[3].astype(dtype))
            return
        with pause():
            self._data = [array.astype(dtype) for array in self._data]
            if self._grad is not None:
                self._grad = [gradient.astype(dtype) for gradient in self._grad]
                self._attach()

    def var(self) -> Symbol:
        """Return the variable that stands for it in symbols."""
        is_np = is_np_shape()  # as which lengths that are not known are written
        if self._var is None or self._var_is_np is not is_np:
            self._var_is_np = is_np
            self._var = symbol.var(
                self.name,
                shape=self.shape,
                dtype=self._dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype="default",
            )
        return self._var

    # -- what belongs to sparse arrays ---------------------------------------------------------------------------------

    def row_sparse_data(self, row_id: Any) -> Any:
        """Refuse: arrays are dense here."""
        raise MXNetError(f"Parameter {self.name!r} is dense: there are no row_sparse arrays here. Call data().")

    def list_row_sparse_data(self, row_id: Any) -> Any:
        """Refuse: arrays are dense here."""
        raise MXNetError(f"Parameter {self.name!r} is dense: there are no row_sparse arrays here. Call list_data().")

    def _set_trainer(self, trainer: Any) -> None:
        """Note the Trainer that updates it."""
        self._trainer = trainer


def _like_mode(data: Any) -> Any:
    """Return an array as the thread's semantics have it."""
    return data.as_np_ndarray() if is_np_array() else data
