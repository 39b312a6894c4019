"""Normalizations: of a channel over the batch, of a sample's channels, groups of channels, or last axis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy

from minpy.core.docstrings import documented
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.argument_checks import count, fraction, integer, number

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm", "SyncBatchNorm"]


_EPSILON_TO_SCALE = """
epsilon : float
    Added to the variance.
center, scale : bool
    Whether there is a shift, beta, and a scale, gamma, that learn.
"""
_BLOCK_TO_RAISES = """
prefix, params
    See `Block`.

Raises
------
ArgumentError
    For {refused} that is none.
"""


class _BatchNorm(HybridArrayBlock):
    """The base of batch normalizations."""

    _fuses_relu: ClassVar[bool] = False  # whether negative results become 0
    gamma: Any
    beta: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        kind = type(self).__name__
        self._kwargs: dict[str, Any] = {
            "axis": integer(kind, "axis", axis),
            "eps": number(kind, "epsilon", epsilon),
            "momentum": fraction(kind, "momentum", momentum),
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self.fuse_relu = self._fuses_relu
        channels = count(kind, "in_channels", in_channels, least=0)
        for name, init, learns in (
            ("gamma", gamma_initializer, scale),
            ("beta", beta_initializer, center),
            ("running_mean", running_mean_initializer, None),
            ("running_var", running_variance_initializer, None),
        ):
            parameter = self.params.get(
                name,
                grad_req="write" if learns else "null",
                shape=(channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=learns is True,
            )
            setattr(self, name, parameter)

    def cast(self, dtype: Any) -> None:
        """Convert the parameters to another dtype; for float16 data they stay float32."""
        super().cast("float32" if numpy.dtype(dtype) == numpy.float16 else dtype)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        """Return x, normalized."""
        if is_np_array():
            out = F.npx.batch_norm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)
            return F.npx.relu(out) if self.fuse_relu else out
        norm = F.contrib.BatchNormWithReLU if self.fuse_relu else F.BatchNorm
        return norm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({options}, in_channels={self.gamma._shape[0] or None})"


_BATCH_SETTINGS = "an axis, an epsilon, a momentum or a number of channels"
_SETTINGS = "an axis, an epsilon or a number of channels"


@documented(scaling=_EPSILON_TO_SCALE, ending=_BLOCK_TO_RAISES.format(refused=_BATCH_SETTINGS))
class BatchNorm(_BatchNorm):
    """Normalize each channel by mean and variance of the batch, then scale and shift it.

    In prediction by running averages of both, which training keeps.

    Ioffe & Szegedy 2015, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift"
    (https://arxiv.org/abs/1502.03167).

    Parameters
    ----------
    axis : int
        The axis of channels.
    momentum : float
        How much of the running averages stays at each step.
    {scaling}
    use_global_stats : bool
        Whether the running averages are used in training, too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer : str or Initializer
    in_channels : int
        The number of channels; 0: it follows from the first call.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.BatchNorm()
    >>> layer.initialize()
    >>> with mx.autograd.train_mode():
    ...     layer(mx.nd.array([[1, 5], [3, 7]])).asnumpy().astype('float64').round(3).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> layer.running_mean.data().asnumpy().astype('float64').round(3).tolist()
    [0.2, 0.6]
    """


@documented(ending=_BLOCK_TO_RAISES.format(refused=_BATCH_SETTINGS))
class BatchNormReLU(_BatchNorm):
    """`BatchNorm`, with 0 in the place of negative results.

    Parameters
    ----------
    axis, momentum, epsilon, center, scale, use_global_stats, in_channels
        As for `BatchNorm`.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer : str or Initializer
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.BatchNormReLU()
    >>> layer.initialize()
    >>> with mx.autograd.train_mode():
    ...     layer(mx.nd.array([[1, 5], [3, 7]])).asnumpy().astype('float64').round(3).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

    _fuses_relu = True


@documented(ending=_BLOCK_TO_RAISES.format(refused="a number of channels or devices, an epsilon or a momentum"))
class SyncBatchNorm(BatchNorm):
    """`BatchNorm` for networks that train on several devices at once. Here the whole batch is on one: it is the same.

    Parameters
    ----------
    in_channels : int
        The number of channels; 0: it follows from the first call.
    num_devices : int, optional
        Noted, and not needed.
    momentum, epsilon, center, scale, use_global_stats
        As for `BatchNorm`.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer : str or Initializer
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.SyncBatchNorm(num_devices=2)
    >>> layer.initialize()
    >>> with mx.autograd.train_mode():
    ...     layer(mx.nd.array([[1, 5], [3, 7]])).asnumpy().astype('float64').round(3).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        settings = 1, momentum, epsilon, center, scale, use_global_stats
        initializers = beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
        super().__init__(*settings, *initializers, in_channels, **kwargs)
        devices = 1 if num_devices is None else count("SyncBatchNorm", "num_devices", num_devices)
        del self._kwargs["axis"]
        self._kwargs |= {"ndev": devices, "key": self.prefix}

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        """Return x, normalized."""
        if is_np_array():
            options = {name: value for name, value in self._kwargs.items() if name not in ("ndev", "key")}
            return F.npx.batch_norm(x, gamma, beta, running_mean, running_var, name="fwd", **options)
        return F.contrib.SyncBatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)


class _OwnStatisticsNorm(HybridArrayBlock):
    """A normalization of each sample by its own statistics."""

    gamma: Any
    beta: Any

    def _set_up(
        self,
        epsilon: float,
        center: bool,
        scale: bool,
        beta_initializer: Any,
        gamma_initializer: Any,
        length: int,
        **setting: int,
    ) -> None:
        """Keep the settings, and make gamma and beta; one that is switched off exists, and does not learn."""
        self._kwargs = {"eps": epsilon, **setting, "center": center, "scale": scale}
        self._epsilon = number(type(self).__name__, "epsilon", epsilon)
        self._center, self._scale = center, scale
        for name, learns, init in (("gamma", scale, gamma_initializer), ("beta", center, beta_initializer)):
            grad_req = "write" if learns else "null"
            parameter = self.params.get(name, grad_req=grad_req, shape=(length,), init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def __repr__(self) -> str:
        options = [f"{name}={value!r}" for name, value in self._kwargs.items()]
        if "axis" in self._kwargs:
            options.append(f"in_channels={self.gamma._shape[0]}")
        return f"{type(self).__name__}({', '.join(options)})"


@documented(scaling=_EPSILON_TO_SCALE, ending=_BLOCK_TO_RAISES.format(refused=_SETTINGS))
class InstanceNorm(_OwnStatisticsNorm):
    """Normalize each channel of each sample by its own mean and variance, then scale and shift it.

    Ulyanov et al. 2016, "Instance Normalization: The Missing Ingredient for Fast Stylization"
    (https://arxiv.org/abs/1607.08022).

    Parameters
    ----------
    axis : int
        The axis of channels.
    {scaling}
    beta_initializer, gamma_initializer : str or Initializer
    in_channels : int
        The number of channels; 0: it follows from the first call.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 3], [10, 30]]])).asnumpy().astype('float64').round(3).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._axis = integer("InstanceNorm", "axis", axis)
        channels = count("InstanceNorm", "in_channels", in_channels, least=0)
        self._set_up(epsilon, center, scale, beta_initializer, gamma_initializer, channels, axis=axis)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """Return x, normalized."""
        if is_np_array():
            norm, swap = F.npx.instance_norm, F.np.swapaxes
        else:
            norm, swap = F.InstanceNorm, F.swapaxes
        if self._axis == 1:
            return norm(x, gamma, beta, name="fwd", eps=self._epsilon)
        return swap(norm(swap(x, 1, self._axis), gamma, beta, name="fwd", eps=self._epsilon), 1, self._axis)


@documented(scaling=_EPSILON_TO_SCALE, ending=_BLOCK_TO_RAISES.format(refused=_SETTINGS))
class LayerNorm(_OwnStatisticsNorm):
    """Normalize along one axis, each place by its own mean and variance, then scale and shift.

    Ba, Kiros & Hinton 2016, "Layer Normalization" (https://arxiv.org/abs/1607.06450).

    Parameters
    ----------
    axis : int
        The axis along which mean and variance are taken.
    {scaling}
    beta_initializer, gamma_initializer : str or Initializer
    in_channels : int
        The length of the axis; 0: it follows from the first call.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[1, 3], [10, 30]])).asnumpy().astype('float64').round(3).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._axis = integer("LayerNorm", "axis", axis)
        channels = count("LayerNorm", "in_channels", in_channels, least=0)
        self._set_up(epsilon, center, scale, beta_initializer, gamma_initializer, channels, axis=axis)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Return the data, normalized."""
        norm = F.npx.layer_norm if is_np_array() else F.LayerNorm
        return norm(data, gamma, beta, axis=self._axis, eps=self._epsilon)


@documented(scaling=_EPSILON_TO_SCALE)
class GroupNorm(_OwnStatisticsNorm):
    """Normalize each group of channels of each sample by its mean and variance, then scale and shift the group.

    Wu & He 2018, "Group Normalization" (https://arxiv.org/abs/1803.08494); scale and shift are one number a group, as
    in MXNet 1, not one a channel.

    Parameters
    ----------
    num_groups : int
        Into how many groups the channels, axis 1, are divided.
    {scaling}
    beta_initializer, gamma_initializer : str or Initializer
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If the number of groups is no positive integer, or epsilon no number.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1], [3], [10], [30]]])).asnumpy().astype('float64').round(3).ravel().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_groups = count("GroupNorm", "num_groups", num_groups)
        self._set_up(epsilon, center, scale, beta_initializer, gamma_initializer, num_groups, num_groups=num_groups)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Return the data, normalized."""
        norm = F.npx.group_norm if is_np_array() else F.GroupNorm
        return norm(data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)
