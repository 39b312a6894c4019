"""The loop that `FeedForward.fit` runs."""

from __future__ import annotations

import logging
import time
from typing import Any

from minpy.executor_manager import DataParallelExecutorManager
from minpy.model.batch_end import BatchEndParam, call_all
from minpy.model.kvstore_updates import _initialize_kvstore, _update_params, _update_params_on_kvstore
from minpy.optimizer import get_updater

__all__ = ["train_multi_device"]


def train_multi_device(
    symbol: Any,
    ctx: Any,
    arg_names: Any,
    param_names: Any,
    aux_names: Any,
    arg_params: Any,
    aux_params: Any,
    begin_epoch: int,
    end_epoch: int,
    epoch_size: int | None,
    optimizer: Any,
    kvstore: Any,
    update_on_kvstore: bool,
    train_data: Any,
    eval_data: Any = None,
    eval_metric: Any = None,
    epoch_end_callback: Any = None,
    batch_end_callback: Any = None,
    logger: Any = None,
    work_load_list: Any = None,
    monitor: Any = None,
    eval_end_callback: Any = None,
    eval_batch_end_callback: Any = None,
    sym_gen: Any = None,
) -> None:
    """Train a symbol on some devices; its parameters are in `arg_params` and `aux_params`, before and afterwards."""
    logger = logging if logger is None else logger
    manager = DataParallelExecutorManager(
        symbol, ctx, train_data, arg_names, param_names, aux_names, work_load_list, logger, sym_gen
    )
    if monitor:
        manager.install_monitor(monitor)
    manager.set_params(arg_params, aux_params)
    updater = None
    if kvstore:
        if update_on_kvstore:
            kvstore.set_optimizer(optimizer)
        _initialize_kvstore(kvstore, manager.param_arrays, arg_params, param_names, update_on_kvstore)
    if not update_on_kvstore:
        updater = get_updater(optimizer)

    def step(data_batch: Any) -> None:
        manager.load_data_batch(data_batch)
        if monitor is not None:
            monitor.tic()
        manager.forward(is_train=True)
        manager.backward()
        if update_on_kvstore:
            _update_params_on_kvstore(manager.param_arrays, manager.grad_arrays, kvstore, param_names)
        else:
            assert updater is not None
            _update_params(manager.param_arrays, manager.grad_arrays, updater, len(ctx), kvstore, param_names)
        if monitor is not None:
            monitor.toc_print()
        manager.update_metric(eval_metric, data_batch.label)

    train_data.reset()
    for epoch in range(begin_epoch, end_epoch):
        tic = time.time()
        eval_metric.reset()
        nbatch = 0
        finished = False
        while not finished:
            exhausted = True
            for data_batch in train_data:
                step(data_batch)
                nbatch += 1
                if batch_end_callback is not None:
                    call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                if epoch_size is not None and nbatch >= epoch_size:
                    exhausted = False
                    break
            if exhausted:
                logger.info("Epoch[%d] Resetting Data Iterator", epoch)
                train_data.reset()
            finished = epoch_size is None or nbatch >= epoch_size
        logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - tic)
        if epoch_end_callback or epoch + 1 == end_epoch:
            manager.copy_to(arg_params, aux_params)
        call_all(epoch_end_callback, epoch, symbol, arg_params, aux_params)
        if eval_data:
            eval_metric.reset()
            eval_data.reset()
            total = 0
            for number, eval_batch in enumerate(eval_data):
                manager.load_data_batch(eval_batch)
                manager.forward(is_train=False)
                manager.update_metric(eval_metric, eval_batch.label)
                if eval_batch_end_callback is not None:
                    call_all(eval_batch_end_callback, BatchEndParam(epoch, number, eval_metric, locals()))
                total += 1
            if eval_end_callback is not None:
                call_all(eval_end_callback, BatchEndParam(epoch, total, eval_metric, locals()))
            eval_data.reset()  # also before: an iterator that shuffles draws twice an epoch
