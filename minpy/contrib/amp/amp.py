"""Training in mixed precision: `init`, `init_trainer`, `scale_loss`, `unscale`; and the lists."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from minpy import optimizer as opt
from minpy.contrib.amp import casting
from minpy.contrib.amp.casting_policy import Policy, checked_target, chosen
from minpy.contrib.amp.converting import (
    convert_bucketing_module,
    convert_hybrid_block,
    convert_model,
    convert_symbol,
)
from minpy.contrib.amp.lists import symbol_bf16, symbol_fp16
from minpy.contrib.amp.loss_scaler import LossScaler
from minpy.core.errors import ArgumentError, DTypeError, MXNetError, describe
from minpy.gluon import trainer as _trainer
from minpy.namespaces import module_functions

__all__ = [
    "LossScaler",
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]
__dir__, __getattr__ = module_functions(__name__, __all__)

# Libraries read these two, in their modules' names of MXNet's.
_amp_initialized = False
_amp_loss_scale_initialized = False
_loss_scaler: LossScaler | None = None
_arguments: tuple[Any, ...] = ()


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    fp32_ops: Sequence[str] | None = None,
) -> None:
    """Turn mixed precision on: from now on, listed operators compute in float16, others in float32, whatever they get.

    On arrays, and in symbols that are composed from now on: call it before those are made. Hybridized networks are
    traced again. Arrays of `mx.np` are not cast. A second call changes nothing.

    Parameters
    ----------
    target_dtype : str
        'float16'.
    target_precision_ops : list of str, optional
        The operators to compute in float16, in place of `list_lp16_ops`.
    conditional_fp32_ops : list of (str, str, list of str), optional
        Operator, attribute, and its values with which the operator computes in float32; in place of
        `list_conditional_fp32_ops`.
    fp32_ops : list of str, optional
        The operators to compute in float32, in place of `list_fp32_ops`.

    Raises
    ------
    DTypeError
        For another dtype; for bfloat16, which NumPy does not have.
    ArgumentError
        For lists of another form, names of no operators, and operators in two lists. Nothing is turned on then.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> x = mx.nd.ones((2, 3))
    >>> amp.init()
    >>> mx.nd.FullyConnected(x, x, num_hidden=2, no_bias=True).dtype.__name__
    'float16'
    >>> amp.amp._reset()  # for tests
    >>> mx.nd.FullyConnected(x, x, num_hidden=2, no_bias=True).dtype.__name__
    'float32'
    """
    global _amp_initialized, _loss_scaler, _arguments
    arguments = (target_dtype, target_precision_ops, conditional_fp32_ops, fp32_ops)
    if _amp_initialized:
        if arguments != _arguments:
            logging.warning("AMP is on already, with other arguments: this call of amp.init changes nothing.")
        return
    checked_target("amp.init", target_dtype)
    low, wide, conditions = chosen(
        "amp.init",
        ("target_precision_ops", target_precision_ops),
        ("fp32_ops", fp32_ops),
        ("conditional_fp32_ops", conditional_fp32_ops),
    )
    logging.info("Using AMP")
    _loss_scaler = LossScaler()
    casting.turn_on(Policy(low=low, wide=wide, conditions=conditions), _scale_of_losses, _warn_of_loss)
    _amp_initialized, _arguments = True, arguments


def _scale_of_losses() -> float:
    return _loss_scaler.loss_scale if _amp_loss_scale_initialized and _loss_scaler is not None else 1.0


def _warn_of_loss(name: str) -> None:
    logging.warning("%s does not support dynamic loss scaling in symbolic and hybridized execution.", name)


def _reset() -> None:
    """Turn mixed precision off, which programs do not: tests go on with other things."""
    global _amp_initialized, _amp_loss_scale_initialized, _loss_scaler, _arguments
    casting.turn_off()
    _amp_initialized = _amp_loss_scale_initialized = False
    _loss_scaler, _arguments = None, ()


# -- losses ------------------------------------------------------------------------------------------------------------


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Give a trainer a loss scale that adapts itself: steps whose gradients overflow are left out.

    Parameters
    ----------
    optimizer_or_trainer : Trainer

    Raises
    ------
    MXNetError
        If `init` has not been called.
    ArgumentError
        For what is no trainer.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> amp.init()
    >>> net = mx.gluon.nn.Dense(1, in_units=3)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), 'sgd')
    >>> amp.init_trainer(trainer)
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.ones((4, 3))) ** 2
    ...     with amp.scale_loss(loss, trainer) as scaled:
    ...         mx.autograd.backward(scaled)
    >>> trainer.step(4)
    >>> amp.amp._reset()
    """
    global _amp_loss_scale_initialized
    if not _amp_initialized:
        raise MXNetError("amp.init_trainer: mixed precision is off: call amp.init() first, before the network is made.")
    trainer = _checked_trainer("amp.init_trainer", optimizer_or_trainer)
    first = not _amp_loss_scale_initialized
    _amp_loss_scale_initialized = True
    trainer._amp_loss_scaler = _loss_scaler if first else LossScaler()
    trainer._amp_original_scale = trainer._scale


def _checked_trainer(function: str, trainer: Any) -> Any:
    if isinstance(trainer, opt.Optimizer):
        raise ArgumentError(
            f"{function}: a {type(trainer).__name__} cannot scale losses; give the gluon.Trainer that it works for."
        )
    if not isinstance(trainer, _trainer.Trainer):
        raise ArgumentError(f"{function}: expected a gluon.Trainer, got {describe(trainer)}.")
    return trainer


def _scaler_of(function: str, trainer: Any) -> Any:
    trainer = _checked_trainer(function, trainer)
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is None:
        missed = "amp.init_trainer(trainer)" if _amp_initialized else "amp.init() and then amp.init_trainer(trainer)"
        raise MXNetError(f"{function}: the trainer has no loss scale; call {missed} once, before the first step.")
    return scaler


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """Multiply a loss by the trainer's loss scale; the trainer divides gradients by it at its next step.

    It belongs inside `autograd.record()`, as the product is part of what is differentiated. Gradients that overflow
    inside are no warning: the trainer looks for them.

    Parameters
    ----------
    loss : NDArray, or list or tuple of NDArray
    optimizer_or_trainer : Trainer
        One that `init_trainer` was called with.

    Yields
    ------
    NDArray or list of NDArray
        To call `backward` of.

    Raises
    ------
    MXNetError
        If `init_trainer` has not been called.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> amp.init()
    >>> weight = mx.gluon.Parameter('weight', shape=(1,))
    >>> weight.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer([weight], 'sgd', {'learning_rate': 0.5})
    >>> amp.init_trainer(trainer)
    >>> with mx.autograd.record():
    ...     loss = 3 * weight.data()
    ...     with amp.scale_loss(loss, trainer) as scaled:
    ...         print(scaled.asscalar())
    196608.0
    >>> amp.amp._reset()
    """
    scaler = _scaler_of("amp.scale_loss", optimizer_or_trainer)
    scale = scaler.loss_scale
    optimizer_or_trainer._scale = optimizer_or_trainer._amp_original_scale / scale
    with numpy.errstate(over="ignore", invalid="ignore"):
        yield [member * scale for member in loss] if isinstance(loss, (list, tuple)) else loss * scale


def unscale(optimizer_or_trainer: Any) -> None:
    """Divide gradients by the loss scale now, for a program that looks at them or clips them before the step.

    The trainer does not divide again. It is to be called after `backward`; where gradients are added up over several
    backwards, after the last of them.

    Parameters
    ----------
    optimizer_or_trainer : Trainer
        One that `init_trainer` was called with.

    Raises
    ------
    MXNetError
        If `init_trainer` has not been called.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> amp.init()
    >>> weight = mx.gluon.Parameter('weight', shape=(1,))
    >>> weight.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer([weight], 'sgd', {'learning_rate': 0.5})
    >>> amp.init_trainer(trainer)
    >>> with mx.autograd.record():
    ...     loss = 3 * weight.data()
    ...     with amp.scale_loss(loss, trainer) as scaled:
    ...         scaled.backward()
    >>> amp.unscale(trainer)
    >>> weight.grad().asnumpy()
    array([3.], dtype=float32)
    >>> amp.amp._reset()
    """
    _scaler_of("amp.unscale", optimizer_or_trainer)
    trainer = optimizer_or_trainer
    for parameter in trainer._params:
        for gradient in parameter.list_grad() if parameter._grad is not None else ():
            gradient[:] *= trainer._scale
    trainer._scale = 1.0


# -- lists -------------------------------------------------------------------------------------------------------------


def _lists(function: str, dtype: Any) -> Any:
    name = getattr(dtype, "__name__", None) or str(dtype)
    if name == "float16":
        return symbol_fp16
    if name in ("bfloat16", "[('bfloat16', '<u2')]"):
        return symbol_bf16
    raise DTypeError(f"{function}: target_dtype is {describe(dtype)}; expected 'float16' or 'bfloat16'.")


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Return the operators that compute in the low precision, 'float16' or 'bfloat16'.

    Examples
    --------
    >>> list_lp16_ops('float16')
    ['Convolution', 'Deconvolution', 'FullyConnected', 'RNN']
    """
    lists = _lists("amp.list_lp16_ops", target_dtype)
    return lists.FP16_FUNCS if lists is symbol_fp16 else lists.BF16_FUNCS


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Return the operators that compute in float32, where the low precision is 'float16' or 'bfloat16'."""
    return _lists("amp.list_fp32_ops", target_dtype).FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Return the operators that compute in either precision, where the low one is 'float16' or 'bfloat16'."""
    lists = _lists("amp.list_lp16_fp32_ops", target_dtype)
    return lists.FP16_FP32_FUNCS if lists is symbol_fp16 else lists.BF16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Return (operator, attribute, its values with which the operator computes in float32)."""
    return _lists("amp.list_conditional_fp32_ops", target_dtype).CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Return the operators that compute in the widest dtype of their inputs."""
    return _lists("amp.list_widest_type_cast", target_dtype).WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Return the layers that carry a loss."""
    return _lists("amp.list_loss_output_functions", target_dtype).LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]] | None:
    """Return for operators in bfloat16 which inputs stay in float32; None for float16."""
    lists = _lists("amp.list_lp16_use_fp32_params", target_dtype)
    return None if lists is symbol_fp16 else lists.BF16_USE_FP32_PARAMS
