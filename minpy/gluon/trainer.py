"""`Trainer`: updates parameters with their gradients."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Any, NoReturn

from minpy import optimizer as opt
from minpy.context import Context
from minpy.core.array import now
from minpy.core.buffers import written_since
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    ContextError,
    MissingPartError,
    MXNetError,
    StaleGradientError,
    describe,
)
from minpy.core.nodes import Leaf
from minpy.core.state import state
from minpy.files import checked_path, read_file, write_file
from minpy.gluon.parameter import Parameter, ParameterDict
from minpy.kvstore import KVStore, KVStoreBase
from minpy.kvstore import create as create_store
from minpy.namespaces import module_functions

__all__ = ["Trainer"]
__dir__, __getattr__ = module_functions(__name__, __all__)

# More elements than this in one parameter, and a store called 'local' leaves updates to the trainer, as in MXNet.
_LARGE = 1024 * 1024 * 16


class Trainer:
    """Updates parameters with an optimizer, once `backward` has computed their gradients.

    Where parameters lie on several contexts, gradients are summed in a store first. The store may update them itself
    (`update_on_kvstore`), once for all contexts.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
        Such as `net.collect_params()`. Those of a dict are taken in the order of their names. Those whose `grad_req` is
        'null' are left alone.
    optimizer : str or Optimizer
    optimizer_params : dict, optional
        What the optimizer takes, such as ``{'learning_rate': 0.1}``; if it is given by name.
    kvstore : str or KVStoreBase, optional
        What sums gradients over contexts: 'device' or 'local' (with parameters on one context there is nothing to sum,
        and no store), or a store of one's own, or its name. None: nothing is summed.
    compression_params : dict, optional
        Refused: gradients of one process are not sent.
    update_on_kvstore : bool, optional
        Whether the store updates parameters. Left out, it does if there is one that can, unless the environment
        variable MXNET_UPDATE_ON_KVSTORE is 0.

    Raises
    ------
    ArgumentError
        For parameters that are none, or twice there; for arguments beside an optimizer that is made already.
    ContextError
        If parameters do not lie on the same contexts.
    MXNetError
        If a parameter is not initialized.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.gluon.Parameter('weight', shape=(2,))
    >>> weight.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer([weight], 'sgd', {'learning_rate': 0.5})
    >>> with mx.autograd.record():
    ...     loss = (weight.data() * mx.nd.array([1, 2])).sum()
    >>> loss.backward()
    >>> trainer.step(1)
    >>> weight.data().asnumpy()
    array([0.5, 0. ], dtype=float32)
    """

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        self._params: list[Parameter] = _parameter_list(params)
        if compression_params:
            raise MissingPartError(
                f"Trainer: compression_params={dict(compression_params)} compresses gradients that are sent, and those "
                "of one process are not: leave it out."
            )
        if not (kvstore is None or isinstance(kvstore, (str, KVStoreBase))):
            raise ArgumentError(
                f"Trainer: kvstore must be the name of a store, a KVStoreBase or None, got {describe(kvstore)}."
            )
        self._compression_params = compression_params
        self._contexts: list[Context] = self._check_contexts()
        self._param2idx = {parameter.name: index for index, parameter in enumerate(self._params)}
        self._init_optimizer(optimizer, optimizer_params)
        self._scale = float(self._optimizer.rescale_grad)
        self._contains_sparse_weight = self._contains_sparse_grad = False
        self._distributed: bool | None = None
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._kv_initialized = False
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init: list[Parameter] = []
        self._written: dict[int, tuple[Any, int]] = {}
        self._updater_of_store: Any = None
        self._reset_kvstore()
        for parameter in self._params:
            parameter._set_trainer(self)

    def _check_contexts(self) -> list[Context]:
        """Return the contexts that all parameters lie on."""
        contexts: list[Context] | None = None
        for parameter in self._params:
            own_contexts = parameter.list_ctx()
            if contexts is not None and contexts != own_contexts:
                raise ContextError(
                    f"Trainer: the parameter {parameter.name!r} lies on {_names(own_contexts)}, and "
                    f"{self._params[0].name!r} on {_names(contexts)}; all must lie on the same contexts. Initialize "
                    "all with the same ctx, or call reset_ctx."
                )
            contexts = own_contexts
        assert contexts is not None
        return contexts

    def _init_optimizer(self, optimizer: Any, optimizer_params: Mapping[str, Any] | None) -> None:
        """Make the optimizer, and an updater with its states for each context."""
        if optimizer_params is not None and not isinstance(optimizer_params, Mapping):
            raise ArgumentError(
                f"Trainer: optimizer_params must be a dict, such as {{'learning_rate': 0.1}}, got "
                f"{describe(optimizer_params)}."
            )
        by_index = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            if optimizer_params:
                raise ArgumentError(
                    f"Trainer: the {type(optimizer).__name__} is made already, and cannot take "
                    f"optimizer_params={dict(optimizer_params)}: give them when it is made, or give its name."
                )
            self._optimizer: Any = optimizer
            self._optimizer.param_dict = by_index
        else:
            self._optimizer = opt.create(optimizer, param_dict=by_index, **(optimizer_params or {}))
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    # -- the store -------------------------------------------------------------------------------------------------

    def _reset_kvstore(self) -> None:
        """Let the store be made at the next step, with the values that parameters have then."""
        if self._kvstore is not None and self._update_on_kvstore:
            self._updater_of_store = getattr(self._kvstore, "_updater", None)
        self._kv_initialized = False
        self._kvstore = None
        self._update_on_kvstore = None
        self._params_to_init = list(self._params)
        self._written = {}

    def _init_kvstore(self) -> None:
        """Make the store, if one is needed."""
        store = self._make_store(self._kvstore_params["kvstore"])
        update_on_kvstore = self._kvstore_params["update_on_kvstore"]
        if store is None:
            if update_on_kvstore:
                raise ArgumentValueError(
                    f"Trainer: update_on_kvstore=True, but there is no store: kvstore is "
                    f"{self._kvstore_params['kvstore']!r}, and parameters lie on {_names(self._contexts)} only. Leave "
                    "update_on_kvstore out, or give a store: kvstore=mx.kv.create('device')."
                )
            self._update_on_kvstore = None
        else:
            is_capable = store.is_capable(KVStoreBase.OPTIMIZER)
            if update_on_kvstore and not is_capable:
                raise ArgumentValueError(
                    f"Trainer: update_on_kvstore=True, but a {type(store).__name__} is not capable of updates: give "
                    "update_on_kvstore=False."
                )
            self._update_on_kvstore = (
                is_capable and self._store_updates() if update_on_kvstore is None else bool(update_on_kvstore)
            )
            if self._update_on_kvstore:
                store.set_optimizer(self._optimizer)
                if self._updater_of_store is not None and isinstance(store, KVStore):
                    store._set_updater(self._updater_of_store)  # with the states that it has
            self._distributed = "dist" in str(getattr(store, "handle", ""))
        self._kvstore = store
        self._kv_initialized = True

    def _make_store(self, kvstore: Any) -> Any:
        """Return the store that was asked for; None if there is nothing to sum."""
        if not isinstance(kvstore, str):
            return kvstore
        if len(self._contexts) == 1 and "dist" not in kvstore:
            return None
        return create_store(kvstore)

    def _store_updates(self) -> bool:
        """Tell whether a store that can update parameters does so where nobody has said it."""
        if os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") in ("", "0"):
            return False
        if self._kvstore_params["kvstore"] == "local":
            return all(array.size <= _LARGE for array in (_arrays(parameter)[0] for parameter in self._params))
        return True

    def _init_params(self) -> None:
        """Give the store the values of parameters, but of those that have none yet."""
        waiting = []
        for index, parameter in enumerate(self._params):
            if not any(parameter is waiting_parameter for waiting_parameter in self._params_to_init):
                continue
            if parameter._deferred_init:
                waiting.append(parameter)
            elif self._kvstore is not None:
                arrays = _arrays(parameter)
                self._kvstore.broadcast(index, arrays[0], arrays)
                self._note_written(index, arrays)
        self._params_to_init = waiting

    def _note_written(self, index: int, arrays: list[Any]) -> None:
        """Note that a parameter has the values of the store now."""
        self._written[index] = weakref.ref(arrays[0]._data), now()

    def _take_changes(self, index: int, arrays: list[Any]) -> None:
        """Give the store what a program has written into a parameter since the last step: `set_data`, and the like."""
        buffer, time = self._written[index]
        data = arrays[0]._data
        if (buffer() is not data or written_since(data, time)) and isinstance(self._kvstore, KVStore):
            self._kvstore._replace(index, arrays[0])

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Make a step: sum gradients over contexts, and update parameters.

        It is to be called after `backward`, outside `record`.

        Parameters
        ----------
        batch_size : int
            Gradients are divided by it. It is 1 for a loss that is a mean already.
        ignore_stale_grad : bool
            Whether parameters whose gradients `backward` has not computed since the last step are left as they are,
            instead of an error.

        Raises
        ------
        StaleGradientError
            If `backward` has not computed the gradient of a parameter since the last step. Nothing has changed then.
        MXNetError
            Inside `record`.
        DeferredInitializationError
            If a parameter has no values yet.

        Examples
        --------
        >>> import minpy as mx
        >>> net = mx.gluon.nn.Dense(1)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), 'adam')
        >>> with mx.autograd.record():
        ...     loss = net(mx.nd.ones((4, 3))).sum()
        >>> loss.backward()
        >>> trainer.step(batch_size=4)
        """
        self._check_and_rescale_grad(self._rescaled("step", batch_size))
        if not self._kv_initialized or self._params_to_init:
            self._require_kvstore()
        if self._update_on_kvstore and self._overflows():
            return
        if self._kvstore is None:
            self._allreduce_grads()  # which others override
        else:
            self._reduce(None if ignore_stale_grad else "step")
        self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Sum gradients over contexts, and nothing else: for programs that change gradients before `update`.

        Raises
        ------
        MXNetError
            If the store updates parameters.

        Examples
        --------
        >>> import minpy as mx
        >>> weight = mx.gluon.Parameter('weight', shape=(2,))
        >>> weight.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
        >>> trainer = mx.gluon.Trainer([weight], 'sgd', update_on_kvstore=False)
        >>> for data in weight.list_data():
        ...     with mx.autograd.record():
        ...         loss = (data * 3).sum()
        ...     loss.backward()
        >>> trainer.allreduce_grads()
        >>> weight.grad(mx.cpu(1)).asnumpy()
        array([6., 6.], dtype=float32)
        """
        self._require_kvstore()
        self._refuse_on_kvstore("allreduce_grads")
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update parameters with the gradients as they are: after `allreduce_grads`.

        Parameters
        ----------
        batch_size : int
            Gradients are divided by it.
        ignore_stale_grad : bool
            Whether parameters whose gradients `backward` has not computed since the last update are left as they are,
            instead of an error.

        Raises
        ------
        MXNetError
            If the store updates parameters; inside `record`.
        StaleGradientError
            If `backward` has not computed the gradient of a parameter. Nothing has changed then.
        """
        self._require_kvstore()
        self._refuse_on_kvstore("update")
        self._check_and_rescale_grad(self._rescaled("update", batch_size))
        self._update(ignore_stale_grad)

    def _refuse_on_kvstore(self, function: str) -> None:
        if self._kvstore is not None and self._update_on_kvstore:
            raise MXNetError(
                f"Trainer.{function}: the store updates parameters when gradients are summed, so that it cannot be "
                "done apart. Call step, or make the trainer with update_on_kvstore=False."
            )

    def _rescaled(self, function: str, batch_size: Any) -> float:
        """Return the factor of gradients."""
        if state.recording:
            raise MXNetError(
                f"Trainer.{function} is called inside autograd.record(), where parameters must not change: call it "
                "after the `with` block, as backward."
            )
        try:
            return self._scale / float(batch_size)
        except (TypeError, ValueError, ZeroDivisionError):
            raise ArgumentValueError(
                f"Trainer.{function}: batch_size must be a number that gradients are divided by, got "
                f"{describe(batch_size)}."
            ) from None

    def _check_and_rescale_grad(self, scale: float) -> None:
        self._optimizer.rescale_grad = scale

    def _allreduce_grads(self) -> None:
        """Sum gradients over contexts, whether `backward` has computed them or not."""
        if self._kvstore is not None:
            self._reduce("all")

    def _reduce(self, stale: str | None) -> None:
        """Sum gradients over contexts or, if the store does that, update parameters with their sums.

        `stale` says what is done with gradients that `backward` has not computed: 'all' takes them as they are, 'step'
        is an error, and None leaves them out.
        """
        updates = []
        for index, parameter in enumerate(self._params):
            if parameter._grad_req == "null":
                continue
            arrays = _arrays(parameter)
            leaves = [_leaf(parameter, array) for array in arrays]
            fresh = leaves if stale == "all" else [leaf for leaf in leaves if leaf.fresh]
            if len(fresh) < len(leaves) and stale == "step":
                self._raise_stale(parameter, arrays)
            if fresh:
                updates.append((index, arrays, leaves, fresh))
        for index, arrays, leaves, fresh in updates:
            gradients = [leaf.gradient for leaf in leaves]
            if self._update_on_kvstore:
                self._take_changes(index, arrays)
                self._kvstore.pushpull(index, [leaf.gradient for leaf in fresh], out=arrays, priority=-index)
                self._note_written(index, arrays)
                for leaf in leaves:
                    leaf.fresh = False
            elif len(fresh) == len(leaves):
                self._kvstore.pushpull(index, gradients, priority=-index)
            else:
                self._kvstore.pushpull(index, [leaf.gradient for leaf in fresh], out=gradients, priority=-index)
                for leaf in leaves:  # all have the sum now, and all copies are updated with it
                    leaf.fresh = True

    def _update(self, ignore_stale_grad: bool = False) -> None:
        """Update parameters on each context."""
        if self._kvstore is not None and self._update_on_kvstore:
            return  # done when gradients were summed
        if self._overflows():
            return
        used = []
        updates: list[tuple[list[int], list[Any], list[Any]]] = [([], [], []) for _ in self._updaters]
        count = len(updates)
        for index, parameter in enumerate(self._params):
            if parameter._grad_req == "null":
                continue
            arrays = parameter._data
            if arrays is None or len(arrays) != count:
                arrays = self._on_same_contexts(parameter)
            for array, (indices, gradients, weights) in zip(arrays, updates, strict=True):
                leaf = array._node
                if type(leaf) is Leaf and leaf.fresh:
                    used.append(leaf)
                    indices.append(index)
                    gradients.append(leaf.gradient)
                    weights.append(array)
                elif not ignore_stale_grad:
                    _leaf(parameter, array)
                    self._raise_stale(parameter, arrays)
        for leaf in used:
            leaf.fresh = False
        for updater, (indices, gradients, weights) in zip(self._updaters, updates, strict=True):
            if indices:
                updater(indices, gradients, weights)

    def _overflows(self) -> bool:
        """Tell whether gradients hold infinities, where `amp.init_trainer` has given the trainer a loss scale."""
        scaler = getattr(self, "_amp_loss_scaler", None)
        return scaler is not None and scaler.has_overflow(self._params)

    def _on_same_contexts(self, parameter: Parameter) -> list[Any]:
        arrays = _arrays(parameter)
        if len(arrays) != len(self._updaters):
            raise ContextError(
                f"Trainer: the parameter {parameter.name!r} lies on {_names(parameter.list_ctx())} now, and lay on "
                f"{_names(self._contexts)} when the trainer was made. Make another Trainer after reset_ctx."
            )
        return arrays

    def _raise_stale(self, parameter: Parameter, arrays: list[Any]) -> NoReturn:
        stale = [array.context for array in arrays if not array._fresh_grad]
        raise StaleGradientError(
            f"Trainer: backward has not computed the gradient of the parameter {parameter.name!r} on {_names(stale)} "
            "since the last step: the loss does not depend on it, or backward was not called. If only a part of the "
            "parameters takes part in this step, give ignore_stale_grad=True, which leaves the others as they are; if "
            "it never does, set its grad_req to 'null'."
        )

    # -- rates -----------------------------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self._checked_optimizer("optimizer")

    @property
    def learning_rate(self) -> Any:
        """The learning rate at the current number of updates; that of a schedule, if there is one."""
        return self._checked_optimizer("learning_rate").learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Parameters
        ----------
        lr : float

        Raises
        ------
        UserWarning
            As an error: if the optimizer has a schedule.

        Examples
        --------
        >>> import minpy as mx
        >>> weight = mx.gluon.Parameter('weight', shape=(2,))
        >>> weight.initialize()
        >>> trainer = mx.gluon.Trainer([weight], 'sgd', {'learning_rate': 0.1})
        >>> trainer.set_learning_rate(trainer.learning_rate / 2)
        >>> trainer.learning_rate
        0.05
        """
        self._checked_optimizer("set_learning_rate").set_learning_rate(lr)

    def _checked_optimizer(self, name: str) -> Any:
        if not isinstance(self._optimizer, opt.Optimizer):
            raise MXNetError(
                f"Trainer.{name}: its optimizer was replaced by {describe(self._optimizer)}, which is none. Make it "
                "with mx.optimizer.create."
            )
        return self._optimizer

    # -- states ----------------------------------------------------------------------------------------------------

    def save_states(self, fname: str) -> None:
        """Write the optimizer and its states, such as momenta, to a file, which MXNet reads, too.

        Parameters
        ----------
        fname : str
            It is written as a whole, or what was there before is there still. Parameters are not in it: see
            `Block.save_parameters`.

        Raises
        ------
        FileAccessError
            If it cannot be written.
        """
        self._require_kvstore()
        if self._kvstore is not None and self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        path = checked_path("Trainer.save_states", fname)
        content = self._updaters[0].get_states(dump_optimizer=True)
        write_file("Trainer.save_states", path, [content])

    def load_states(self, fname: str) -> None:
        """Read the optimizer and its states from a file, which MXNet may have written.

        Files of states are pickles; what they name that does not belong into states is refused, and no code of theirs
        is run.

        Parameters
        ----------
        fname : str

        Raises
        ------
        FileAccessError
            If it cannot be read.
        FileFormatError
            If it holds no such states. Nothing has changed then.

        Examples
        --------
        >>> import os, tempfile
        >>> import minpy as mx
        >>> weight = mx.gluon.Parameter('weight', shape=(2,))
        >>> weight.initialize()
        >>> trainer = mx.gluon.Trainer([weight], 'sgd')
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, 'trainer.states')
        ...     mx.gluon.Trainer([weight], 'sgd', {'learning_rate': 0.25}).save_states(path)
        ...     trainer.load_states(path)
        >>> trainer.learning_rate
        0.25
        """
        self._require_kvstore()
        if self._kvstore is not None and self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            updater = getattr(self._kvstore, "_updater", None)
            if updater is not None:
                self._optimizer = updater.optimizer
        else:
            path = checked_path("Trainer.load_states", fname)
            content = read_file("Trainer.load_states", path)
            for updater in self._updaters:
                updater.set_states(content)
                updater.optimizer = self._updaters[0].optimizer
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))

    def _require_kvstore(self) -> None:
        """Make the store, if it is not there, and give it the values of parameters that have become known."""
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()


def _parameter_list(params: Any) -> list[Parameter]:
    """Return the list of parameters of a dict, list or ParameterDict, checked."""
    if isinstance(params, (Mapping, ParameterDict)):
        parameters = [params[name] for name in sorted(params.keys())]
    elif isinstance(params, (list, tuple)):
        parameters = list(params)
    else:
        advice = " Call collect_params() of the block." if hasattr(params, "collect_params") else ""
        got = f"the parameter {params.name!r} alone" if isinstance(params, Parameter) else describe(params)
        raise ArgumentValueError(
            f"Trainer: params must be a ParameterDict, or a dict or list of Parameters, got {got}.{advice}"
        )
    if not parameters:
        raise ArgumentError(
            "Trainer: there are no parameters to train. Give net.collect_params(), once the net has all its children."
        )
    seen = set()
    for position, parameter in enumerate(parameters):
        if not isinstance(parameter, Parameter):
            raise ArgumentValueError(
                f"Trainer: params must be Parameters, got {describe(parameter)} at position {position}."
            )
        if id(parameter) in seen:
            raise ArgumentValueError(f"Trainer: the parameter {parameter.name!r} is given twice.")
        seen.add(id(parameter))
    return parameters


def _arrays(parameter: Parameter) -> list[Any]:
    """Return the arrays of a parameter on all contexts; raise its error if it has none."""
    arrays = parameter._data
    return parameter.list_data() if arrays is None else arrays


def _leaf(parameter: Parameter, array: Any) -> Leaf:
    """Return the leaf of the tape that holds the gradient of a parameter's array."""
    leaf = array._node
    if type(leaf) is not Leaf:
        raise MXNetError(
            f"Trainer: the array of the parameter {parameter.name!r} on {array.context} has no gradient any more: a "
            "program has replaced or detached it. Write into it with set_data instead."
        )
    return leaf


def _names(contexts: list[Context]) -> str:
    return ", ".join(map(str, contexts))
