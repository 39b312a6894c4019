"""`BaseModule`: what all modules have in common, and training, scoring and predicting with any of them."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from minpy import metric
from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, NotReadyError
from minpy.initializer import Uniform
from minpy.io import DataBatch, DataDesc, DataIter
from minpy.model import BatchEndParam
from minpy.model.batch_end import as_list, call_all
from minpy.model.checkpoint import split_parameters
from minpy.module.descriptions import check_input_names, check_names_match, parse_descriptions
from minpy.module.predicting import as_iterator, joined, without_padding
from minpy.namespaces import module_functions

__all__ = ["BaseModule", "BatchEndParam", "DataBatch", "DataDesc", "DataIter", "Uniform", "metric"]
__dir__, __getattr__ = module_functions(__name__, __all__)

# The names by which programs import these functions from MXNet's module.
_as_list = as_list
_check_input_names = check_input_names
_check_names_match = check_names_match
_parse_data_desc = parse_descriptions

_OPTIMIZER_PARAMS = (("learning_rate", 0.01),)


class Binding(NamedTuple):
    """The arguments of `BaseModule.bind`."""

    data_shapes: Any
    label_shapes: Any
    for_training: bool
    inputs_need_grad: bool
    force_rebind: bool
    shared_module: Any
    grad_req: Any


class BaseModule:
    """The base class of modules: machines that compute outputs from data, gradients, and new parameters.

    A module is first bound to shapes, then its parameters and its optimizer are made ready. A class of one's own
    overrides the methods that say so in their errors; `fit`, `score` and `predict` come with this class.

    Parameters
    ----------
    logger : Logger or module
        What `info` and `warning` are called of.

    Attributes
    ----------
    binded, params_initialized, optimizer_initialized : bool
        What is ready.
    for_training, inputs_need_grad : bool
        For what the module is bound.

    Examples
    --------
    >>> import minpy as mx
    >>> class Twice(mx.mod.BaseModule):
    ...     def forward(self, data_batch, is_train=None):
    ...         self.outputs = [2 * array for array in data_batch.data]
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return self.outputs
    >>> module = Twice()
    >>> module.binded = module.params_initialized = True
    >>> module.predict(mx.io.NDArrayIter(mx.nd.ones((3, 1)), batch_size=2)).shape
    (3, 1)
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._params_dirty = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    # -- what is ready -------------------------------------------------------------------------------------------------

    def _require(self, function: str, initialized: bool = True, optimizer: bool = False) -> None:
        """Refuse a call that comes before another one: say which."""
        if not self.binded:
            raise NotReadyError(
                f"{type(self).__name__}.{function}: the module is not bound. Call bind(data_shapes, label_shapes) "
                "first."
            )
        if initialized and not self.params_initialized:
            raise NotReadyError(
                f"{type(self).__name__}.{function}: the module has no parameters yet. Call init_params() first, or "
                "set_params(arg_params, aux_params)."
            )
        if optimizer and not self.optimizer_initialized:
            raise NotReadyError(
                f"{type(self).__name__}.{function}: the module has no optimizer yet. Call init_optimizer() first."
            )

    def _not_written(self, missing_member: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {missing_member}: write one, or derive from Module.")

    # -- high level ----------------------------------------------------------------------------------------------------

    def forward_backward(self, data_batch: Any) -> None:
        """Run forward as in training, and backward.

        Parameters
        ----------
        data_batch : DataBatch
        """
        self.forward(data_batch, is_train=True)
        self.backward()

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, Any]]:
        """Predict, and let a metric compare with the labels.

        Parameters
        ----------
        eval_data : DataIter
        eval_metric : EvalMetric or str or list
        num_batch : int, optional
            How many batches; all by default.
        batch_end_callback, score_end_callback : callable or list of callable, optional
            Called with a `BatchEndParam` after each batch, and in the end.
        reset : bool
            Whether `eval_data` begins anew.
        epoch : int
            What callbacks are told.
        sparse_row_id_fn : callable, optional
            Given to `prepare`.

        Returns
        -------
        list of (str, float)
        """
        self._require("score")
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        for nbatch, eval_batch in self._predicted(eval_data, num_batch, reset, sparse_row_id_fn):
            if isinstance(eval_batch, list):
                self.update_metric(eval_metric, [batch.label for batch in eval_batch], pre_sliced=True)
            else:
                self.update_metric(eval_metric, eval_batch.label)
            if batch_end_callback is not None:
                call_all(as_list(batch_end_callback), BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        if score_end_callback:
            call_all(as_list(score_end_callback), BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_global_name_value()

    def _predicted(self, data: Any, num_batch: int | None, reset: bool, sparse_row_id_fn: Any) -> Iterator[Any]:
        """Run forward on batches, and yield the number of each and the batch."""
        if reset:
            data.reset()
        for nbatch, batch in enumerate(data):
            if nbatch == num_batch:
                break
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield nbatch, batch

    def iter_predict(
        self, eval_data: Any, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: Any = None
    ) -> Iterator[tuple[list[Any], int, Any]]:
        """Predict batch after batch.

        Parameters
        ----------
        eval_data : DataIter
        num_batch : int, optional
            How many batches; all by default.
        reset : bool
            Whether `eval_data` begins anew.
        sparse_row_id_fn : callable, optional
            Given to `prepare`.

        Yields
        ------
        list of NDArray
            The outputs, without padding.
        int
            Which batch.
        DataBatch
        """
        self._require("iter_predict")
        for nbatch, eval_batch in self._predicted(eval_data, num_batch, reset, sparse_row_id_fn):
            pad = eval_batch.pad
            outputs = [without_padding(output, pad) for output in self.get_outputs()]
            yield outputs, nbatch, eval_batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """Return what the module computes for all batches.

        Parameters
        ----------
        eval_data : DataIter, NDArray or numpy.ndarray
            An array is one batch, of the size that the module is bound for, or another one.
        num_batch : int, optional
            How many batches; all by default.
        merge_batches : bool
            Whether the outputs of all batches are put together.
        reset : bool
            Whether `eval_data` begins anew.
        always_output_list : bool
            Whether one output is returned in a list, too.
        sparse_row_id_fn : callable, optional
            Given to `prepare`.

        Returns
        -------
        NDArray, or list of NDArray, or list of list of NDArray
            The only output, or all; without `merge_batches`, a list of them for each batch.

        Raises
        ------
        ArgumentError
            If outputs of batches cannot be put together.
        """
        self._require("predict")
        data = as_iterator(eval_data)
        if data is None:  # an array: a batch of its own
            self.forward(DataBatch([eval_data if isinstance(eval_data, nd.NDArray) else nd.array(eval_data)]), False)
            return self.get_outputs()[0]
        rows = []
        for _, eval_batch in self._predicted(data, num_batch, reset, sparse_row_id_fn):
            pad = eval_batch.pad
            rows.append([without_padding(output, pad).copy() for output in self.get_outputs()])
        if not rows or not merge_batches:
            return rows
        outputs = joined(rows)
        return outputs[0] if len(outputs) == 1 and not always_output_list else outputs

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = _OPTIMIZER_PARAMS,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = Uniform(0.01),  # noqa: B008 - as MXNet's signature shows
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Train.

        Parameters
        ----------
        train_data : DataIter
        eval_data : DataIter, optional
            What is scored after each epoch.
        eval_metric : EvalMetric or str or list
        epoch_end_callback : callable or list of callable, optional
            Called with epoch, symbol, arg_params and aux_params.
        batch_end_callback, eval_end_callback, eval_batch_end_callback : callable or list of callable, optional
            Called with a `BatchEndParam`.
        kvstore : str or KVStore
        optimizer : str or Optimizer
        optimizer_params : dict, or pairs
        initializer : Initializer
        arg_params, aux_params : dict of str to NDArray, optional
            Parameters to begin with, from a checkpoint.
        allow_missing : bool
            Whether the initializer makes those that are not among them.
        force_rebind, force_init : bool
            Whether a module that is bound, or has parameters, gets new ones.
        begin_epoch : int
            Which epoch is the first: that of the checkpoint when training goes on.
        num_epoch : int
            At which epoch training ends.
        validation_metric : EvalMetric or str, optional
            For `eval_data`; by default `eval_metric`.
        monitor : Monitor, optional
        sparse_row_id_fn : callable, optional
            Given to `prepare`.

        Raises
        ------
        ArgumentError
            Without `num_epoch`.

        Examples
        --------
        >>> import minpy as mx
        >>> net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1), name='lro')
        >>> module = mx.mod.Module(net, label_names=['lro_label'])
        >>> data = mx.io.NDArrayIter(mx.nd.array([[1], [2]]), mx.nd.array([[2], [4]]), 2, label_name='lro_label')
        >>> module.fit(data, num_epoch=50, eval_metric='mse', optimizer_params={'learning_rate': 0.2})
        >>> bool(module.score(data, 'mse')[0][1] < 0.1)
        True
        """
        if num_epoch is None:
            raise NotReadyError(f"{type(self).__name__}.fit: say how many epochs: num_epoch=10.")
        self.bind(
            data_shapes=train_data.provide_data,
            label_shapes=train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        # A module that goes on with the parameters that it has is no reason for a warning.
        if not self.params_initialized or force_init or arg_params is not None or aux_params is not None:
            self.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
            )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        if validation_metric is None:
            validation_metric = eval_metric
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        batch_end_callbacks = None if batch_end_callback is None else as_list(batch_end_callback)

        for epoch in range(begin_epoch, num_epoch):
            tic = time.time()
            eval_metric.reset()
            nbatch = 0
            self._begin_epoch(epoch, train_data)
            data_iter = iter(train_data)
            end_of_batch = False
            name_value: Any = []
            next_data_batch = next(data_iter)
            while not end_of_batch:
                data_batch = next_data_batch
                if monitor is not None:
                    monitor.tic()
                self.forward_backward(data_batch)
                self.update()
                if isinstance(data_batch, list):
                    self.update_metric(eval_metric, [part.label for part in data_batch], pre_sliced=True)
                else:
                    self.update_metric(eval_metric, data_batch.label)
                try:
                    next_data_batch = next(data_iter)
                    self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
                except StopIteration:
                    end_of_batch = True
                if monitor is not None:
                    monitor.toc_print()
                if end_of_batch:
                    name_value = eval_metric.get_global_name_value()
                if batch_end_callbacks is not None:
                    call_all(batch_end_callbacks, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                nbatch += 1
            for name, value in name_value:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - tic)

            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            if epoch_end_callback is not None:
                call_all(as_list(epoch_end_callback), epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                scores = self.score(
                    eval_data,
                    validation_metric,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                )
                for name, value in scores:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _begin_epoch(self, epoch: int, train_data: Any) -> None:
        """Do what a kind of module does before the batches of an epoch of `fit`: nothing, by default."""

    # -- what a module is ----------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """The names of the data that the module takes."""
        raise self._not_written("property data_names")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        raise self._not_written("property output_names")

    @property
    def data_shapes(self) -> list[Any]:
        """The descriptions of the data that the module is bound for."""
        raise self._not_written("property data_shapes")

    @property
    def label_shapes(self) -> list[Any] | None:
        """The descriptions of the labels that the module is bound for; None, or an empty list, without labels."""
        raise self._not_written("property label_shapes")

    @property
    def output_shapes(self) -> list[Any]:
        """The names and shapes of the outputs."""
        raise self._not_written("property output_shapes")

    @property
    def symbol(self) -> Any:
        """The symbol that the module runs; None in modules that have none."""
        return self._symbol

    # -- parameters ----------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters as they are now.

        Returns
        -------
        arg_params, aux_params : dict of str to NDArray
            They are the module's own: the next call writes into the same arrays.
        """
        raise self._not_written("get_params()")

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their first values.

        Parameters
        ----------
        initializer : Initializer
            Makes those that are not given.
        arg_params, aux_params : dict of str to NDArray, optional
            Values, as of a checkpoint.
        allow_missing : bool
            Whether the initializer makes what is not among given values.
        force_init : bool
            Whether a module that has parameters gets new ones.
        allow_extra : bool
            Whether given values may have names that the module does not have.

        Raises
        ------
        NotReadyError
            Before `bind`.
        ParametersError
            If given values are missing, or of other shapes, with a table of them; the module is as it was.
        """
        raise self._not_written("init_params(...)")

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states values.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        allow_missing : bool
            Whether parameters that are not among them stay.
        force_init : bool
            Whether a module that has parameters gets these.
        allow_extra : bool
            Whether there may be names that the module does not have.

        Raises
        ------
        ParametersError
            If parameters are missing, superfluous or of other shapes, with a table of them; the module is as it was.
        """
        if not (allow_missing and self._sets_some_params):
            if self._sets_some_params:  # None would leave parameters as they are
                arg_params, aux_params = arg_params or {}, aux_params or {}
            self.init_params(
                initializer=None,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=allow_extra,
            )
        elif not self._keeps_params("set_params", force_init):
            self._require("set_params", initialized=False)
            self._set_some_params(arg_params or {}, aux_params or {}, allow_extra)
            self._params_dirty = True  # the arrays on the contexts are newer than those here
            self.params_initialized = True

    # Whether values of some parameters can be set while the others stay, by `_set_some_params`.
    _sets_some_params = False

    def _set_some_params(self, arg_params: Any, aux_params: Any, allow_extra: bool) -> None:
        raise self._not_written("_set_some_params(arg_params, aux_params, allow_extra)")

    def _keeps_params(self, function: str, force_init: bool) -> bool:
        """Tell whether parameters that there are stay, with a warning."""
        if not self.params_initialized or force_init:
            return False
        warnings.warn(
            f"Parameters already initialized and force_init=False. {function} call ignored.", UserWarning, stacklevel=3
        )
        return True

    def save_params(self, fname: Any) -> None:
        """Write the parameters to a file that MXNet reads, too.

        Parameters
        ----------
        fname : str or PathLike
        """
        arg_params, aux_params = self.get_params()
        arrays = {f"arg:{name}": array for name, array in arg_params.items()}
        arrays.update((f"aux:{name}", array) for name, array in aux_params.items())
        nd.save(fname, arrays)

    def load_params(self, fname: Any) -> None:
        """Read the parameters from a file of `save_params`, or a checkpoint's.

        Parameters
        ----------
        fname : str or PathLike

        Raises
        ------
        FileFormatError
            If it is damaged or cut short, or holds something else.
        ParametersError
            If parameters do not fit.
        """
        self.set_params(*split_parameters(nd.load(fname), str(fname), f"{type(self).__name__}.load_params"))

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the arguments that keep their values from batch to batch.

        Parameters
        ----------
        merge_multi_context : bool
            Whether those of all contexts are put together.

        Returns
        -------
        list of NDArray, or of list of NDArray
        """
        self._require("get_states")
        if merge_multi_context:
            raise ArgumentError(
                "get_states: this module has no states to put together; pass merge_multi_context=False."
            )
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Write the arguments that keep their values from batch to batch.

        Parameters
        ----------
        states : list of list of NDArray, optional
        value : float, optional
            For all of them.
        """
        self._require("set_states")
        if states or value:
            raise ArgumentError(f"set_states: {type(self).__name__} has no states.")

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor see the inner arrays.

        Parameters
        ----------
        mon : Monitor
        """
        raise self._not_written("install_monitor(mon)")

    # -- computing -----------------------------------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Make ready for a batch that comes next.

        Parameters
        ----------
        data_batch : DataBatch
        sparse_row_id_fn : callable, optional
            Not used, with a warning: there are no sparse arrays.
        """
        if sparse_row_id_fn is not None:
            warnings.warn("sparse_row_id_fn is not invoked: parameters are dense here.", UserWarning, stacklevel=2)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs for a batch.

        Parameters
        ----------
        data_batch : DataBatch
            Of the shapes that the module is bound for, or of others.
        is_train : bool, optional
            By default whether the module is bound for training.
        """
        raise self._not_written("forward(data_batch, is_train=None)")

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients of the latest forward.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Of the outputs; losses need none.
        """
        raise self._not_written("backward(out_grads=None)")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the latest forward.

        Parameters
        ----------
        merge_multi_context : bool
            Whether those of all contexts are put together; else each is a list of one on each context.

        Returns
        -------
        list of NDArray, or of list of NDArray
        """
        raise self._not_written("get_outputs(merge_multi_context=True)")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of data, from the latest backward.

        Parameters
        ----------
        merge_multi_context : bool
            Whether those of all contexts are put together; else each is a list of one on each context.

        Returns
        -------
        list of NDArray, or of list of NDArray

        Raises
        ------
        NotReadyError
            Unless the module is bound with `inputs_need_grad`.
        """
        raise self._not_written("get_input_grads(merge_multi_context=True)")

    def update(self) -> None:
        """Let the optimizer change the parameters."""
        raise self._not_written("update()")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric compare labels with the outputs of the latest forward.

        Parameters
        ----------
        eval_metric : EvalMetric
        labels : list of NDArray
        pre_sliced : bool
            Whether labels are a list of such lists, one for each context.
        """
        raise self._not_written("update_metric(eval_metric, labels, pre_sliced=False)")

    # -- making ready --------------------------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Make the arrays, and what computes with them.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or (name, shape)
            What an iterator has as `provide_data` and `provide_label`.
        for_training : bool
            Whether gradients are computed.
        inputs_need_grad : bool
            Whether those of data are.
        force_rebind : bool
            Whether a module that is bound is bound anew; else it stays, with a warning.
        shared_module : BaseModule, optional
            Whose parameters are used.
        grad_req : str, or list or dict of str
            'write', 'add' or 'null'.

        Raises
        ------
        ArgumentError
            If names are not those of the module.
        ShapeError
            If shapes contradict each other, or are not enough.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        shapes = data_shapes, label_shapes
        self._bind(Binding(*shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req))
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.binded = True

    def _bind(self, binding: Binding) -> None:
        """Do what a kind of module does to bind; `bind` notes that it is done."""
        raise self._not_written("bind(data_shapes, ...)")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = _OPTIMIZER_PARAMS,
        force_init: bool = False,
    ) -> None:
        """Make the optimizer, and the store in which gradients of several contexts meet.

        Parameters
        ----------
        kvstore : str or KVStore or None
        optimizer : str or Optimizer
        optimizer_params : dict, or pairs
            What the optimizer takes; `rescale_grad` is 1 / batch size by default.
        force_init : bool
            Whether a module that has an optimizer gets a new one.

        Raises
        ------
        NotReadyError
            Before `bind` and `init_params`.
        """
        if type(self)._make_optimizer is BaseModule._make_optimizer:
            raise self._not_written("init_optimizer(...)")
        self._require("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        self._make_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def _make_optimizer(self, kvstore: Any, optimizer: Any, optimizer_params: Any, force_init: bool) -> None:
        """Do what a kind of module does for `init_optimizer`, which notes that it is done."""
