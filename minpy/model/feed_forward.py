"""`FeedForward`: a network that is trained and used like an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from minpy import initializer as init
from minpy import metric
from minpy import ndarray as nd
from minpy import optimizer as opt
from minpy.context import Context, cpu, current_context
from minpy.core.errors import ArgumentError, ArgumentValueError, NotReadyError, ParametersError, describe, nearest
from minpy.executor_manager import _check_arguments
from minpy.io import DataDesc, DataIter, NDArrayIter
from minpy.model.batch_end import BatchEndParam, call_all
from minpy.model.checkpoint import load_checkpoint, save_checkpoint
from minpy.model.fit_loop import train_multi_device
from minpy.model.fitting import require_fit
from minpy.model.kvstore_updates import _create_kvstore
from minpy.model.validation import LogValidationMetricsCallback
from minpy.symbol.labels import label_names

__all__ = ["FeedForward"]

_UNIFORM = init.Uniform(0.01)
_LOG_VALIDATION = LogValidationMetricsCallback()


class FeedForward:
    """A symbol with its parameters, trained by `fit`; `Module` can do more.

    Parameters
    ----------
    symbol : Symbol or callable
        A function of a bucket's key that returns one is called for each bucket.
    ctx : Context or list of Context, optional
    num_epoch : int, optional
        At which epoch training ends.
    epoch_size : int, optional
        How many batches an epoch has; by default as many as the data.
    optimizer : str or Optimizer
    initializer : Initializer
    numpy_batch_size : int
        The size of batches of data in arrays.
    arg_params, aux_params : dict of str to NDArray, optional
        Parameters to begin with.
    allow_extra_params : bool
        Whether there may be parameters that the symbol does not have.
    begin_epoch : int
        Which epoch is the first.
    **kwargs
        What the optimizer takes.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1), name='lro')
    >>> data = mx.io.NDArrayIter(mx.nd.array([[1], [2]]), mx.nd.array([[2], [4]]), 2, label_name='lro_label')
    >>> model = mx.model.FeedForward(net, num_epoch=50, learning_rate=0.2)
    >>> model.fit(data, eval_metric='mse')
    >>> model.predict(data).shape
    (2, 1)
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = _UNIFORM,
        numpy_batch_size: int = 128,
        arg_params: Any = None,
        aux_params: Any = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        is_symbol = hasattr(symbol, "list_arguments")
        if not is_symbol and not callable(symbol):
            raise ArgumentError(f"FeedForward: symbol is {describe(symbol)}; expected a Symbol.")
        self.symbol: Any = symbol if is_symbol else None
        self.sym_gen: Any = None if is_symbol else symbol
        if ctx is None:
            ctx = [current_context()]
        self.ctx = [ctx] if isinstance(ctx, Context) else list(ctx)
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.argument_checked = False
        if self.sym_gen is None:
            self._check_arguments()
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.kwargs = kwargs.copy()
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.begin_epoch = begin_epoch
        self._pred_exec: Any = None

    def _check_arguments(self) -> None:
        """Look at the symbol once, and leave out parameters that it does not have, if that is allowed."""
        if self.argument_checked:
            return
        assert self.symbol is not None
        self.argument_checked = True
        _check_arguments(self.symbol)
        if self.allow_extra_params:
            for name, names in (
                ("arg_params", self.symbol.list_arguments()),
                ("aux_params", self.symbol.list_auxiliary_states()),
            ):
                params = getattr(self, name)
                if params:
                    setattr(self, name, {key: value for key, value in params.items() if key in names})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pred_exec": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # -- parameters and data -----------------------------------------------------------------------------------------

    def _init_params(self, inputs: Any, overwrite: bool = False) -> tuple[list[str], list[str], list[str]]:
        """Make the parameters that are not there; return the names of arguments, parameters and states."""
        described = [desc if isinstance(desc, DataDesc) else DataDesc(*desc) for desc in inputs]
        shapes = {desc.name: desc.shape for desc in described}
        dtypes = {desc.name: desc.dtype for desc in described}
        arguments, _, states = self.symbol.infer_shape(**shapes)
        argument_types, _, state_types = self.symbol.infer_type(**dtypes)
        if arguments is None or argument_types is None:
            raise ArgumentError(
                f"FeedForward: the shapes of {', '.join(shapes)} are not enough to infer those of all parameters."
            )
        names, state_names = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        attributes = self.symbol.attr_dict()
        initialized: list[dict[str, Any]] = []
        for keys, expected, types, values in (
            (names, arguments, argument_types, self.arg_params or {}),
            (state_names, states, state_types, self.aux_params or {}),
        ):
            arrays = {}
            for name, shape, dtype in zip(keys, expected, types, strict=True):
                if name in shapes:
                    continue
                value = values.get(name)
                if value is not None and not overwrite and tuple(value.shape) != tuple(shape):
                    raise ParametersError(
                        f"FeedForward: {name!r} has shape {tuple(value.shape)}; expected {tuple(shape)}, with the "
                        f"inputs {shapes}."
                    )
                array = nd.zeros(shape, cpu(), dtype)
                if value is not None and not overwrite:
                    array[:] = value
                else:
                    self.initializer(init.InitDesc(name, attributes.get(name)), array)
                arrays[name] = array
            initialized.append(arrays)
        self.arg_params, self.aux_params = initialized
        return names, list(initialized[0]), state_names

    def _init_predictor(self, input_shapes: Any, type_dict: Mapping[str, Any] | None = None) -> None:
        """Bind an executor for shapes, unless there is one."""
        shapes = {name: tuple(shape) for name, shape in input_shapes}
        if self._pred_exec is not None:
            bound = self._pred_exec.arg_dict
            if all(name in bound and bound[name].shape == shape for name, shape in shapes.items()):
                return
        if self.arg_params is None:
            raise NotReadyError("FeedForward: there are no parameters yet. Call fit first, or give arg_params.")
        names = self.symbol.list_arguments()
        if not self.allow_extra_params:
            extra = [name for name in self.arg_params if name not in names]
            if extra:
                raise ParametersError(
                    f"FeedForward: the symbol has no {', '.join(map(repr, extra))}.{nearest(extra[0], names)} Pass "
                    "allow_extra_params=True to leave out what it does not have."
                )
        executor = self.symbol.simple_bind(self.ctx[0], grad_req="null", type_dict=type_dict or {}, **shapes)
        _check_arguments(self.symbol)
        inputs = {*shapes, *label_names(self.symbol)}
        arguments = {
            name: array
            for name, array in executor.arg_dict.items()
            if name not in inputs and (name in self.arg_params or not name.endswith("label"))  # a loss's, by custom
        }
        require_fit(
            "FeedForward",
            {"argument": self.arg_params, "auxiliary state": self.aux_params},
            {"argument": arguments, "auxiliary state": executor.aux_dict},
            advice="Give the parameters that belong to the symbol, or train it: fit makes those that are missing.",
        )
        executor.copy_params_from(self.arg_params, self.aux_params or {}, allow_extra_params=True)
        self._pred_exec = executor

    def _init_iter(self, X: Any, y: Any, is_train: bool) -> Any:
        """Return an iterator over data in arrays; iterators as they are."""
        if not isinstance(X, (numpy.ndarray, nd.NDArray)):
            if not isinstance(X, DataIter) and not hasattr(X, "provide_data"):
                raise ArgumentError(
                    f"FeedForward: X is {describe(X)}; expected a DataIter, an NDArray or a NumPy array."
                )
            return X
        if y is None:
            if is_train:
                raise ArgumentValueError("FeedForward: y is missing; X is an array, and its labels are to be learned.")
            y = numpy.zeros(X.shape[0])
        labels = y.asnumpy() if isinstance(y, nd.NDArray) else numpy.asarray(y)
        if X.shape[0] != labels.shape[0]:
            raise ArgumentValueError(
                f"FeedForward: X has {X.shape[0]} instances and y {labels.shape[0]}; expected as many."
            )
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.ravel()
        if labels.ndim != 1:
            raise ArgumentValueError(f"FeedForward: y has shape {labels.shape}; expected one number for each instance.")
        size = min(X.shape[0], self.numpy_batch_size)
        return NDArrayIter(X, labels, size, shuffle=is_train, last_batch_handle="roll_over" if is_train else "pad")

    def _init_eval_iter(self, eval_data: Any) -> Any:
        """Return an iterator over validation data: an iterator, or (data, labels)."""
        if eval_data is None:
            return None
        if isinstance(eval_data, (tuple, list)) and len(eval_data) == 2:
            if eval_data[0] is None:
                raise ArgumentValueError("FeedForward: eval_data is (None, ...); expected data and labels.")
            if eval_data[1] is None and isinstance(eval_data[0], DataIter):
                return eval_data[0]
            inputs, labels = (numpy.array(arrays) if isinstance(arrays, list) else arrays for arrays in eval_data)
            return self._init_iter(inputs, labels, is_train=True)
        if not isinstance(eval_data, DataIter) and not hasattr(eval_data, "provide_data"):
            raise ArgumentError(
                f"FeedForward: eval_data is {describe(eval_data)}; expected a DataIter, or data and labels."
            )
        return eval_data

    # -- using it ----------------------------------------------------------------------------------------------------

    def _outputs(self, data: Any, num_batch: int | None) -> Any:
        """Yield number, batch and outputs."""
        inputs = data.provide_data
        names = [desc[0] for desc in inputs]
        self._init_predictor([(desc[0], desc[1]) for desc in inputs], {desc.name: desc.dtype for desc in inputs})
        targets = [self._pred_exec.arg_dict[name] for name in names]
        for number, batch in enumerate(data):
            if number == num_batch:
                break
            for source, target in zip(batch.data, targets, strict=False):
                target[:] = source
            self._pred_exec.forward(is_train=False)
            yield number, batch, self._pred_exec.outputs

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """Return what the network computes.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
        num_batch : int, optional
            How many batches; all by default.
        return_data : bool
            Whether data and labels are returned, too.
        reset : bool
            Whether X begins anew.

        Returns
        -------
        numpy.ndarray, or list of numpy.ndarray
            The only output, or all; with `return_data` a tuple with data and labels.

        Raises
        ------
        NotReadyError
            If there are no parameters.
        """
        data = self._init_iter(X, None, is_train=False)
        if reset:
            data.reset()
        outputs: list[list[Any]] = []
        inputs: list[list[Any]] = []
        labels: list[list[Any]] = []

        def add(rows: list[list[Any]], arrays: Any, count: int) -> None:
            rows.extend([] for _ in range(len(arrays) - len(rows)))
            for row, array in zip(rows, arrays, strict=True):
                row.append(array[:count].asnumpy())

        for _, batch, computed in self._outputs(data, num_batch):
            count = data.batch_size - (batch.pad or 0)
            add(outputs, computed, count)
            if return_data:
                add(inputs, batch.data, count)
                add(labels, batch.label, count)

        def joined(rows: list[list[Any]]) -> Any:
            arrays = [numpy.concatenate(row) for row in rows]
            return arrays[0] if len(arrays) == 1 else arrays

        return (joined(outputs), joined(inputs), joined(labels)) if return_data else joined(outputs)

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """Predict, and let a metric compare with the labels.

        Parameters
        ----------
        X : DataIter
        eval_metric : EvalMetric or str or list
        num_batch : int, optional
            How many batches; all by default.
        batch_end_callback : callable or list of callable, optional
        reset : bool
            Whether X begins anew.

        Returns
        -------
        float, or list of float
        """
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        data = self._init_iter(X, None, is_train=False)
        if reset:
            data.reset()
        for number, batch, outputs in self._outputs(data, num_batch):
            eval_metric.update(batch.label, outputs)
            if batch_end_callback is not None:
                call_all(batch_end_callback, BatchEndParam(0, number, eval_metric, locals()))
        return eval_metric.get()[1]

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = _LOG_VALIDATION,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
        y : NDArray or numpy.ndarray, optional
            The labels of X in an array.
        eval_data : DataIter or (X, y), optional
            What is scored after each epoch.
        eval_metric : EvalMetric or str or list
        epoch_end_callback : callable or list of callable, optional
            Called with epoch, symbol, arg_params and aux_params.
        batch_end_callback, eval_end_callback, eval_batch_end_callback : callable or list of callable, optional
            Called with a `BatchEndParam`.
        kvstore : str or KVStore
        logger : Logger, optional
        work_load_list : list of number, optional
            How large the part of each context is, in proportion.
        monitor : Monitor, optional

        Raises
        ------
        NotReadyError
            If `num_epoch` was not given.
        """
        if self.num_epoch is None:
            raise NotReadyError("FeedForward.fit: say how many epochs: FeedForward(..., num_epoch=10).")
        data = self._init_iter(X, y, is_train=True)
        evaluation = self._init_eval_iter(eval_data)
        if self.sym_gen:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._check_arguments()
        self.kwargs["sym"] = self.symbol
        arg_names, param_names, aux_names = self._init_params([*data.provide_data, *data.provide_label])
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        store, update_on_kvstore = _create_kvstore(kvstore, len(self.ctx), self.arg_params)
        if isinstance(self.optimizer, str):
            count = 1 if update_on_kvstore else len(self.ctx)
            names = {place * count + k: name for place, name in enumerate(param_names) for k in range(count)}
            batch_size = data.batch_size
            if store is not None and "dist" in store.type and "_sync" in store.type:
                batch_size *= store.num_workers
            options = {"rescale_grad": 1.0 / batch_size, "param_idx2name": names, **self.kwargs}
            optimizer = opt.create(self.optimizer, **options)
        else:
            optimizer = self.optimizer
        self._pred_exec = None  # its parameters would be those from before
        train_multi_device(
            self.symbol,
            self.ctx,
            arg_names,
            param_names,
            aux_names,
            self.arg_params,
            self.aux_params,
            begin_epoch=self.begin_epoch,
            end_epoch=self.num_epoch,
            epoch_size=self.epoch_size,
            optimizer=optimizer,
            kvstore=store,
            update_on_kvstore=update_on_kvstore,
            train_data=data,
            eval_data=evaluation,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            logger=logger,
            work_load_list=work_load_list,
            monitor=monitor,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
            sym_gen=self.sym_gen,
        )

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, prefix: Any, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write symbol and parameters, which `load`, `Module.load` and MXNet read.

        Parameters
        ----------
        prefix : str or PathLike
            How the names of the files begin.
        epoch : int, optional
            By default `num_epoch`.
        remove_amp_cast : bool
            Whether to leave out the casts of mixed precision.

        Raises
        ------
        NotReadyError
            If there is no epoch, or there are no parameters.
        """
        if epoch is None:
            epoch = self.num_epoch
        if epoch is None or self.arg_params is None:
            missing = "num_epoch" if epoch is None else "the parameters"
            raise NotReadyError(f"FeedForward.save: {missing} is missing: give an epoch, after fit or with arg_params.")
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params or {}, remove_amp_cast)

    @staticmethod
    def load(prefix: Any, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """Make a model of a checkpoint.

        Parameters
        ----------
        prefix : str or PathLike
            How the names of the files begin.
        epoch : int
            Of which epoch.
        ctx : Context or list of Context, optional
        **kwargs
            What `FeedForward` takes.

        Returns
        -------
        FeedForward

        Raises
        ------
        FileMissingError, FileAccessError, FileFormatError
            If a file is not there, cannot be read, or is damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Any,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = _UNIFORM,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = _LOG_VALIDATION,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Make a model, and train it: arguments are those of `FeedForward` and of `fit`.

        Returns
        -------
        FeedForward
        """
        model = FeedForward(
            symbol,
            ctx=ctx,
            num_epoch=num_epoch,
            epoch_size=epoch_size,
            optimizer=optimizer,
            initializer=initializer,
            **kwargs,
        )
        model.fit(
            X,
            y,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            kvstore=kvstore,
            logger=logger,
            work_load_list=work_load_list,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model


# As MXNet names it, which pickles say.
FeedForward.__module__ = "minpy.model"
