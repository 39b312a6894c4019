"""`SVRGModule`: a module whose gradients have less variance.

R. Johnson and T. Zhang, *Accelerating Stochastic Gradient Descent using Predictive Variance Reduction*, NIPS 2013.
"""

from __future__ import annotations

import logging
from typing import Any

from minpy import context as ctx
from minpy.core.errors import ArgumentError, ArgumentValueError, NotReadyError, describe
from minpy.module import Module
from minpy.module.base_module import Binding
from minpy.namespaces import module_functions

__all__ = ["Module", "SVRGModule"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class SVRGModule(Module):
    """A module whose optimizer gets gradients of reduced variance (Johnson and Zhang 2013).

    Every `update_freq` epochs a copy w' of the parameters w is kept, with the mean f' of its gradients over all
    batches. In place of a batch's gradient g(w) the optimizer gets g(w) - g(w') + f': the same on average, and closer
    to the gradient over all data as w and w' come together. Each step computes two gradients for that.

    Parameters
    ----------
    symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs
        As for `Module`.
    compression_params : dict, optional
        As for `Module`.
    update_freq : int
        After how many epochs the copy is made anew.

    Raises
    ------
    ArgumentError
        Unless `update_freq` is an integer, and positive.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib.svrg_optimization.svrg_module import SVRGModule
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1), name='lro')
    >>> module = SVRGModule(net, label_names=['lro_label'], update_freq=2)
    >>> rows = mx.nd.array([[1], [2], [3], [4]])
    >>> data = mx.io.NDArrayIter(rows, 2 * rows, 2, label_name='lro_label')
    >>> module.fit(data, num_epoch=60, eval_metric='mse', optimizer_params={'learning_rate': 0.1})
    >>> bool(module.score(data, 'mse')[0][1] < 0.01)
    True
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        context: Any = ctx.cpu(),  # noqa: B008 - as MXNet's signature shows
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        update_freq: Any = None,
    ) -> None:
        if isinstance(update_freq, bool) or not isinstance(update_freq, int):
            raise ArgumentError(
                f"SVRGModule: update_freq is {describe(update_freq)}; expected after how many epochs the gradients "
                "over all data are computed anew, such as 2."
            )
        if update_freq <= 0:
            raise ArgumentValueError(f"SVRGModule: update_freq is {update_freq}; expected a positive number of epochs.")
        names = data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names
        self._mod_aux = Module(symbol, *names, group2ctxs, compression_params)
        super().__init__(symbol, *names, group2ctxs, compression_params)
        self.update_freq = update_freq
        # The mean gradient over all batches at the kept parameters, of each context.
        self._param_dict: list[dict[str, Any]] | None = None

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()
        self._param_dict = None

    def _bind(self, binding: Binding) -> None:
        super()._bind(binding)
        if binding.for_training:
            self._mod_aux.bind(*binding._replace(force_rebind=True, shared_module=None))

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        super().reshape(data_shapes, label_shapes=label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes=label_shapes)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        super().forward(data_batch, is_train)
        if self.for_training if is_train is None else is_train:
            if self._param_dict is None:
                raise NotReadyError(
                    "SVRGModule.forward: there are no gradients over all data yet. Call update_full_grads(train_data) "
                    "first, as fit does."
                )
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        super().backward(out_grads)
        if self._mod_aux.binded and self._param_dict is not None:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        self._require("update", optimizer=True)
        self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data: Any) -> None:
        """Keep the parameters as they are now, and compute the mean of their gradients over all batches.

        Parameters
        ----------
        train_data : DataIter

        Raises
        ------
        ArgumentError
            If it has no batches.
        """
        self._require("update_full_grads")
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        total: dict[str, Any] = {}
        batches, pad = 0, 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            for name, row in self._gradients(self._mod_aux):
                for gradient in row:
                    total[name] = total[name] + gradient._data if name in total else gradient._data.copy()
            batches += 1
            pad = batch.pad or 0
        train_data.reset()
        if not batches:
            raise ArgumentError("SVRGModule.update_full_grads: train_data has no batches.")
        count = (batches - pad / train_data.batch_size) * len(self._context)
        self._param_dict = [
            {
                name: row[place]._like((total[name] / count).astype(total[name].dtype))
                for name, row in self._gradients(self)
            }
            for place in range(len(self._context))
        ]

    @staticmethod
    def _gradients(module: Module) -> list[tuple[str, list[Any]]]:
        """Return the names of parameters that have gradients, with these, one on each context."""
        group = module._exec_group
        names = [name for name in group.arg_names if name in group.param_names]
        rows = zip(names, group.grad_arrays, strict=True)
        return [(name, row) for name, row in rows if row[0] is not None]

    @staticmethod
    def _svrg_grads_update_rule(
        g_curr_batch_curr_weight: Any, g_curr_batch_special_weight: Any, g_special_weight_all_batch: Any
    ) -> Any:
        """Return a gradient of reduced variance: step 7 of the procedure in figure 1 of the paper."""
        return g_curr_batch_curr_weight - g_curr_batch_special_weight + g_special_weight_all_batch

    def _update_svrg_gradients(self) -> None:
        """Replace the gradients of the latest batch."""
        if self._param_dict is None:
            raise NotReadyError("SVRGModule.update: call update_full_grads(train_data) first, as fit does.")
        gradients_before = dict(self._gradients(self._mod_aux))
        for name, row in self._gradients(self):
            for place, gradient in enumerate(row):
                full = self._param_dict[place][name]
                gradient[:] = self._svrg_grads_update_rule(gradient, gradients_before[name][place], full)

    def _begin_epoch(self, epoch: int, train_data: Any) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        if self._mod_aux.binded:
            self._mod_aux.prepare(data_batch)
