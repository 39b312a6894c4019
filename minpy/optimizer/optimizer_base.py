"""What optimizers have in common: names, rates of each parameter, counts of updates, and weights in float16."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy

from minpy.core import aligned
from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.numpy_semantics import is_np_array
from minpy.ndarray import NDArray, cast
from minpy.registry import enter_class

__all__ = ["Optimizer", "UpdatesSeveral", "aggregation_size", "create", "kind_of", "register", "zeros_beside"]

_C = TypeVar("_C", bound=type)
_HALF = numpy.dtype("float16")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def aggregation_size(default: int = 4) -> int:
    """Return how many parameters are updated at once: what `MXNET_OPTIMIZER_AGGREGATION_SIZE` says, or a default."""
    return int(os.environ.get("MXNET_OPTIMIZER_AGGREGATION_SIZE", default))


def kind_of(value: Any) -> str:
    """Return what messages say of a value that is no NDArray: NumPy's arrays are named as such."""
    return f"a NumPy array, {describe(value)}" if isinstance(value, numpy.ndarray) else describe(value)


def zeros_beside(weight: NDArray, dtype: Any = None) -> NDArray:
    """Return a state of zeros for a weight: of its shape, on its device, and of its dtype if no other is asked for."""
    if not isinstance(weight, NDArray):
        raise ArgumentError(f"create_state: weight is {kind_of(weight)}; expected an NDArray, as nd.array makes.")
    state: Any = weight._like(aligned.zeros(weight.shape, weight.dtype if dtype is None else dtype))
    return state if state._keeps_dtype else state.as_nd_ndarray()


class Optimizer:
    """The base class of optimizers. An optimizer says how a weight follows its gradient, and with which states.

    A class of one's own overrides `create_state` and `update`, is registered with `register`, and is then found by its
    name in lower case, as in ``gluon.Trainer(parameters, 'mine')``.

    Parameters
    ----------
    rescale_grad : float
        Multiplies gradients first: 1/batch size where losses are summed over a batch.
    param_idx2name : dict of int to str, optional
        The names of the parameters. Those whose name ends with neither ``_weight`` nor ``_gamma`` have no weight
        decay, unless `set_wd_mult` says otherwise.
    wd : float
        Weight decay: the factor of the weight that is added to the gradient.
    clip_gradient : float, optional
        Rescaled gradients are clipped to [-clip_gradient, clip_gradient].
    learning_rate : float, optional
        0.01 if neither it nor a schedule is given. Beside a schedule it becomes the schedule's `base_lr`.
    lr_scheduler : LRScheduler, optional
        A learning rate that changes with the number of updates.
    sym : Symbol, optional
        Its variables' attributes ``__lr_mult__`` and ``__wd_mult__`` are factors of their rates.
    begin_num_update : int
        The number of updates that were made before.
    multi_precision : bool
        Whether weights of float16 are updated in float32, of which a copy is kept.
    param_dict : dict of int to Parameter, optional
        Parameters whose `lr_mult` and `wd_mult` are factors of their rates; they go before other factors.

    Attributes
    ----------
    lr, wd : float
        The rates without factors.
    lr_mult, wd_mult : dict
        Factors by index or by name.
    num_update : int
        The largest number of updates of a parameter.
    aggregate_num : int
        How many parameters `update` takes at once, as lists; 0 if one, not in a list.
    opt_registry : dict of str to type
        The registered classes.

    Raises
    ------
    ArgumentError
        For rates that are no numbers, and names or parameters that are not in a dict.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.optimizer.register
    ... class Plain(mx.optimizer.Optimizer):
    ...     def update(self, index, weight, grad, state):
    ...         self._update_count(index)
    ...         weight[:] = weight - self._get_lr(index) * grad
    >>> weight = mx.nd.ones(2)
    >>> update = mx.optimizer.get_updater(mx.optimizer.create('plain', learning_rate=0.5))
    >>> update(0, mx.nd.array([1, -1]), weight)
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """

    opt_registry: ClassVar[dict[str, type]] = {}

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[int, Any] | None = None,
    ) -> None:
        class_name = type(self).__name__
        numbers = {"rescale_grad": rescale_grad, "wd": wd, "clip_gradient": clip_gradient}
        for name, value in {**numbers, "learning_rate": learning_rate}.items():
            if value is not None and not hasattr(type(value), "__float__"):
                advice = " A schedule is given as lr_scheduler." if callable(value) and "rate" in name else ""
                raise ArgumentError(f"{class_name}: {name} is {describe(value)}; expected a number.{advice}")
        if lr_scheduler is not None and not callable(lr_scheduler):
            raise ArgumentError(
                f"{class_name}: lr_scheduler is {describe(lr_scheduler)}; expected an LRScheduler, or another function "
                "of the number of updates."
            )
        for name, table, contents in (
            ("param_idx2name", param_idx2name, "the indices of parameters to their names"),
            ("param_dict", param_dict, "the indices of parameters to Parameters"),
        ):
            if table is not None and not isinstance(table, Mapping):
                raise ArgumentError(f"{class_name}: {name} is {describe(table)}; expected a dict of {contents}.")
        if sym is not None and not hasattr(sym, "attr_dict"):
            raise ArgumentError(f"{class_name}: sym is {describe(sym)}; expected a Symbol.")
        self.rescale_grad = rescale_grad
        self.lr_scheduler: Any = lr_scheduler
        self.lr: Any = 0.01 if learning_rate is None and lr_scheduler is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            self._take_over(learning_rate)
        self.wd = wd
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.begin_num_update = self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name or {})
        self.sym_info: tuple[Any, ...] = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict: Any = param_dict if param_dict else {}
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _take_over(self, learning_rate: float) -> None:
        """Make a learning rate the base of the schedule."""
        before = getattr(self.lr_scheduler, "base_lr", learning_rate)
        keeps_its_own = hasattr(self.lr_scheduler, "base_lr_orig")
        if before != learning_rate and not keeps_its_own:
            warnings.warn(
                f"{type(self).__name__}: learning_rate={learning_rate} replaces base_lr={before} of the "
                f"{type(self.lr_scheduler).__name__}, as in MXNet (also where it is the default of "
                f"{type(self).__name__}). Give both the same rate.",
                UserWarning,
                stacklevel=4,
            )
        self.lr_scheduler.base_lr = learning_rate

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the parameters."""
        pickled = self.__dict__.copy()
        pickled.pop("param_dict", None)
        return pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was pickled; the parameters have to be given once more."""
        self.__dict__.update(state)
        self.param_dict = {}

    # -- by name ---------------------------------------------------------------------------------------------------

    @staticmethod
    def register(klass: _C) -> _C:
        """Register a class of optimizers under its name in lower case.

        Parameters
        ----------
        klass : type
            Derived from `Optimizer`. A name that is taken goes to the new class, with a warning.

        Returns
        -------
        type
            The class: this is a decorator.

        Raises
        ------
        ArgumentError
            For what is no such class.

        Examples
        --------
        >>> import minpy as mx
        >>> @mx.optimizer.Optimizer.register
        ... class Momentous(mx.optimizer.SGD):
        ...     pass
        >>> type(mx.optimizer.create('momentous')).__name__
        'Momentous'
        """
        if not (isinstance(klass, type) and issubclass(klass, Optimizer)):
            raise ArgumentError(f"register: expected a class derived from Optimizer; got {describe(klass)}.")
        return enter_class(Optimizer.opt_registry, klass, "optimizer")

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """Make an optimizer of a registered class.

        Parameters
        ----------
        name : str
            In lower or upper case: 'sgd', 'adam'.
        **kwargs
            What the class takes.

        Returns
        -------
        Optimizer

        Raises
        ------
        ArgumentValueError
            For names that are not registered.
        ArgumentError
            For arguments that the class does not take.

        Examples
        --------
        >>> import minpy as mx
        >>> mx.optimizer.create('adam', learning_rate=0.1).learning_rate
        0.1
        """
        if not isinstance(name, str):
            advice = " It is an optimizer already: use it as it is." if isinstance(name, Optimizer) else ""
            raise ArgumentError(f"optimizer.create: name is {describe(name)}; expected a string.{advice}")
        registry = Optimizer.opt_registry
        cls = registry.get(name.lower())
        if cls is None:
            public = [registered for registered in sorted(registry) if not registered.startswith("_")]
            raise ArgumentValueError(
                f"optimizer.create: there is no optimizer {name!r}.{nearest(name.lower(), public)} There are "
                f"{', '.join(public)}. Others have to be registered first, with optimizer.register."
            )
        try:
            return cls(**kwargs)
        except TypeError as error:
            unexpected = _UNEXPECTED.search(str(error))
            if unexpected is None or unexpected[1] not in kwargs or isinstance(error, ArgumentError):
                raise
            arguments = _arguments_of(cls)
            raise ArgumentError(
                f"optimizer.create: {cls.__name__} takes no {unexpected[1]!r}.{nearest(unexpected[1], arguments)} It "
                f"takes {', '.join(arguments)}."
            ) from error

    # -- states and updates ----------------------------------------------------------------------------------------

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the states that the updates of a weight need: None, an array, or a tuple of arrays.

        Parameters
        ----------
        index : int or str
            Which parameter it is.
        weight : NDArray

        Returns
        -------
        object

        Examples
        --------
        >>> import minpy as mx
        >>> [state.shape for state in mx.optimizer.Adam().create_state(0, mx.nd.ones((2, 3)))]
        [(2, 3), (2, 3)]
        """

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """Return the states of a weight, and of a float16 one a copy in float32, if `multi_precision` says so.

        Parameters
        ----------
        index : int or str
        weight : NDArray

        Returns
        -------
        object
            What `create_state` returns; for float16 weights a tuple of the weight in float32 and its states.

        Examples
        --------
        >>> import minpy as mx
        >>> weight = mx.nd.ones(3, dtype='float16')
        >>> master, mom = mx.optimizer.Signum(multi_precision=True).create_state_multi_precision(0, weight)
        >>> master.dtype.__name__, mom.dtype.__name__
        ('float32', 'float32')
        """
        if self._keeps_master(weight):
            master = weight.astype(numpy.float32)
            return (master, self.create_state(index, master))
        return self.create_state(index, weight)

    def _keeps_master(self, weight: NDArray) -> bool:
        """Tell whether a weight is updated in float32 instead; warn if it is float16 and is not."""
        if weight.dtype != numpy.float16:
            return False
        if not self.multi_precision:
            warnings.warn(
                f"{type(self).__name__} accumulates in float16, in which small steps get lost: training may be slow, "
                "or inexact. Say multi_precision=True, and it is done in float32.",
                UserWarning,
                stacklevel=3,
            )
        return self.multi_precision

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight, and its states, in place: what classes override.

        Parameters
        ----------
        index : int or str
            Which parameter it is; a list of them, and of what follows, if `aggregate_num` is not 0.
        weight, grad : NDArray
            Of equal shapes.
        state : object
            What `create_state` returned.

        Raises
        ------
        NotImplementedError
            If the class does not override it.

        Examples
        --------
        >>> import minpy as mx
        >>> weight = mx.nd.ones(2)
        >>> mx.optimizer.SGD(learning_rate=0.5).update(0, weight, mx.nd.array([1, -1]), None)
        >>> weight.asnumpy()
        array([0.5, 1.5], dtype=float32)
        """
        raise NotImplementedError(f"{type(self).__name__} has no update(index, weight, grad, state): write one.")

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight in place; a float16 one by way of its copy in float32, if `multi_precision` says so.

        Parameters
        ----------
        index : int or str
        weight, grad : NDArray
        state : object
            What `create_state_multi_precision` returned.

        Examples
        --------
        >>> import minpy as mx
        >>> optimizer = mx.optimizer.Adam(learning_rate=0.5, multi_precision=True)
        >>> weight = mx.nd.ones(2, dtype='float16')
        >>> state = optimizer.create_state_multi_precision(0, weight)
        >>> optimizer.update_multi_precision(0, weight, mx.nd.array([1, -1], dtype='float16'), state)
        >>> weight.asnumpy()
        array([0.5, 1.5], dtype=float16)
        """
        if self.multi_precision and weight.dtype == numpy.float16:
            master, own_state = state
            self.update(index, master, grad.astype(numpy.float32), own_state)
            cast(master, dtype=weight.dtype, out=weight)
        else:
            self.update(index, weight, grad, state)

    def _update_each(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
        """Update weights one after the other."""
        update = self.update_multi_precision
        for index, weight, grad, state in zip(indices, weights, grads, states, strict=True):
            update(index, weight, grad, state)

    def _takes_all(self) -> bool:
        """Tell whether more weights than `aggregate_num` may be updated at once, which nobody could tell apart."""
        return False

    def _is_own(self, cls: type, *names: str) -> bool:
        """Tell whether methods are those of a class: neither overridden by classes, nor replaced in the object."""
        return all(getattr(getattr(self, name), "__func__", None) is vars(cls)[name] for name in names)

    def _common(self) -> dict[str, float]:
        """Return what operators are told for all parameters; a negative limit of gradients is none."""
        numbers = {name: float(getattr(self, name)) for name in self._numbers}
        limit = float(self.clip_gradient) if self.clip_gradient else -1.0
        return {**numbers, "rescale_grad": float(self.rescale_grad), "clip_gradient": limit}

    # The attributes that its operators are told as they are.
    _numbers: ClassVar[tuple[str, ...]] = ()

    def _count_and_rates(self, index: Any) -> dict[str, Any]:
        """Count an update of a parameter, and return what its operator is told: its rates, and what all are told."""
        self._update_count(index)
        return {"lr": float(self._get_lr(index)), "wd": float(self._get_wd(index)), **self._common()}

    # -- rates -----------------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The learning rate at the current number of updates, without the factors of single parameters."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Parameters
        ----------
        lr : float

        Raises
        ------
        UserWarning
            As an error: if there is a schedule, which would go on as if nothing had been set.

        Examples
        --------
        >>> import minpy as mx
        >>> optimizer = mx.optimizer.SGD()
        >>> optimizer.set_learning_rate(0.5)
        >>> optimizer.learning_rate
        0.5
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                f"set_learning_rate: the learning rate of this {type(self).__name__} is what its "
                f"{type(self.lr_scheduler).__name__} says. Change the schedule's base_lr, or set "
                "optimizer.lr_scheduler = None first."
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Mapping[Any, float]) -> None:
        """Refuse: `set_lr_mult` has taken its place.

        Parameters
        ----------
        args_lrscale : dict

        Raises
        ------
        DeprecationWarning
            As an error, always.
        """
        raise DeprecationWarning("set_lr_scale is gone: call set_lr_mult with a dict of names to factors.")

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Set the factors of parameters' learning rates, beside those that the symbol's variables have.

        Parameters
        ----------
        args_lr_mult : dict of str or int to float
            By name or index; all others are 1. Parameters in `param_dict` have factors of their own.

        Examples
        --------
        >>> import minpy as mx
        >>> optimizer = mx.optimizer.SGD(learning_rate=1, param_idx2name={0: 'fc_weight', 1: 'fc_bias'})
        >>> optimizer.set_lr_mult({'fc_weight': 0.5})
        >>> optimizer._get_lrs([0, 1])
        [0.5, 1.0]
        """
        self.lr_mult = {**self._said_by_symbol("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Set the factors of parameters' weight decay.

        By default it is 0 for names that end with neither ``_weight`` nor ``_gamma``, and 1 for all others.

        Parameters
        ----------
        args_wd_mult : dict of str or int to float
            By name or index; they go before the defaults and those of the symbol's variables.

        Examples
        --------
        >>> import minpy as mx
        >>> optimizer = mx.optimizer.SGD(wd=0.5, param_idx2name={0: 'fc_weight', 1: 'fc_bias'})
        >>> optimizer._get_wds([0, 1])
        [0.5, 0.0]
        >>> optimizer.set_wd_mult({'fc_bias': 1})
        >>> optimizer._get_wds([0, 1])
        [0.5, 0.5]
        """
        without = {name: 0.0 for name in self.idx2name.values() if not name.endswith(self._decayed_names())}
        self.wd_mult = {**without, **self._said_by_symbol("__wd_mult__"), **args_wd_mult}

    def _decayed_names(self) -> tuple[str, ...]:
        """Return how the names end of parameters that have weight decay by default."""
        return ("_weight", "_gamma")

    def _said_by_symbol(self, key: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, arguments = self.sym_info
        return {name: float(attributes[name][key]) for name in arguments if key in attributes.get(name, ())}

    def _get_lrs(self, indices: Sequence[Any]) -> list[Any]:
        """Return the learning rates of some parameters."""
        lr = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        if not self.param_dict and not self.lr_mult:
            return [lr] * len(indices)
        return [lr * self._factor("lr_mult", index) for index in indices]

    def _get_lr(self, index: Any) -> Any:
        """Return the learning rate of a parameter."""
        return self._get_lrs((index,))[0]

    def _get_wds(self, indices: Sequence[Any]) -> list[Any]:
        """Return the weight decays of some parameters."""
        wd = self.wd
        if not wd or (not self.param_dict and not self.wd_mult):
            return [wd] * len(indices)
        return [wd * self._factor("wd_mult", index) for index in indices]

    def _get_wd(self, index: Any) -> Any:
        """Return the weight decay of a parameter."""
        return self._get_wds((index,))[0]

    def _factor(self, name: str, index: Any) -> Any:
        """Return the factor of a parameter's rate: its own, that of its index, or that of its name."""
        if index in self.param_dict:
            return getattr(self.param_dict[index], name)
        factors = getattr(self, name)
        if index in factors:
            return factors[index]
        return factors.get(self.idx2name[index], 1.0) if index in self.idx2name else 1

    # -- counts ----------------------------------------------------------------------------------------------------

    def _set_current_context(self, device_id: int) -> None:
        """Count the updates of one device, from now on: each has a count of its own."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        """Count an update of a parameter, or of each of several."""
        counts = self._index_update_count
        for own_index in index if isinstance(index, (list, tuple)) else (index,):
            count = counts.get(own_index, self.begin_num_update) + 1
            counts[own_index] = count
            if count > self.num_update:
                self.num_update = count


class UpdatesSeveral(Optimizer):
    """An optimizer whose updates take a weight, or lists of several, and compute those of float16 in float32."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight, or each of several, in place."""
        self._update_impl(index, weight, grad, state)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight, or each of several, in place; float16 ones in float32, as `multi_precision` says."""
        self._update_impl(index, weight, grad, state, multi_precision=self._in_few_digits(weight))

    def _update_impl(self, index: Any, weight: Any, grad: Any, state: Any, multi_precision: bool = False) -> None:
        self._update_count(index)
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = (index,), (weight,), (grad,), (state,)
        self._update_all(index, weight, grad, state, multi_precision)

    def _update_all(self, indices: Any, weights: Any, grads: Any, states: Any, multi_precision: bool) -> None:
        """Change each of several weights in place, whose updates are counted."""
        raise NotImplementedError(f"{type(self).__name__} defines no _update_all.")

    def _in_few_digits(self, weight: Any) -> bool:
        """Tell whether a weight, or the first of several, has a copy in float32."""
        if not self.multi_precision:
            return False
        first = weight[0] if isinstance(weight, (tuple, list)) else weight
        return bool(first._data.dtype == _HALF)


def _arguments_of(cls: type) -> list[str]:
    """Return the names of what a class and its bases take."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base) and base is not object:
            for name, parameter in inspect.signature(vars(base)["__init__"]).parameters.items():
                if name != "self" and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                    names[name] = None
    return [*names]


register = Optimizer.register
create = Optimizer.create_optimizer
