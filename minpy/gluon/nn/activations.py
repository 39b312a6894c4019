"""Layers of one function: activations."""

from __future__ import annotations

from typing import Any

from minpy import initializer
from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.argument_checks import count, number
from minpy.namespaces import module_functions

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "SiLU", "Swish"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_QUARTER = initializer.Constant(0.25)
_NAMES = ("relu", "sigmoid", "tanh", "softrelu", "softsign")
_LAYERS = {"leaky": "LeakyReLU", "prelu": "PReLU", "elu": "ELU", "selu": "SELU", "gelu": "GELU", "swish": "Swish",
           "silu": "SiLU", "leakyrelu": "LeakyReLU"}  # fmt: skip


class Activation(HybridArrayBlock):
    """An activation function by its name.

    Parameters
    ----------
    activation : {'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For what is no string; when the layer is called, for another name.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.Activation('relu')(mx.nd.array([-1, 2])).asnumpy().tolist()
    [0.0, 2.0]
    """

    def __init__(self, activation: str, **kwargs: Any) -> None:
        if not isinstance(activation, str):
            raise ArgumentError(f"Activation: activation is {describe(activation)}; expected its name, such as 'relu'.")
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        if self._act_type not in _NAMES:
            raise self._unknown()
        activation = F.npx.activation if is_np_array() else F.Activation
        return activation(x, act_type=self._act_type, name="fwd")

    def _unknown(self) -> ArgumentValueError:
        name = self._act_type
        layer = _LAYERS.get(name.lower().replace("_", ""))
        advice = f" Its layer is nn.{layer}." if layer else nearest(name, _NAMES)
        return ArgumentValueError(
            f"{self.name}: unknown activation {name!r}; expected one of {', '.join(map(repr, _NAMES))}.{advice}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


def _leaky_relu(F: Any) -> Any:
    return F.npx.leaky_relu if is_np_array() else F.LeakyReLU


class LeakyReLU(HybridArrayBlock):
    """x if it is positive, else alpha x.

    Maas, Hannun & Ng 2013, "Rectifier Nonlinearities Improve Neural Network Acoustic Models".

    Parameters
    ----------
    alpha : float
        The slope for negative numbers, at least 0.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If alpha is negative.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.LeakyReLU(0.5)(mx.nd.array([-1, 2])).asnumpy().tolist()
    [-0.5, 2.0]
    """

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        if number("LeakyReLU", "alpha", alpha) < 0:
            raise ArgumentValueError(f"LeakyReLU: alpha is {alpha}; expected a slope of at least 0.")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        return _leaky_relu(F)(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridArrayBlock):
    """x if it is positive, else alpha x, where alpha learns.

    He et al. 2015, "Delving Deep into Rectifiers" (https://arxiv.org/abs/1502.01852).

    Parameters
    ----------
    alpha_initializer : Initializer
        0.25 everywhere, if left out.
    in_channels : int
        The number of slopes: 1, or as many as there are channels, which are axis 1.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If the number of slopes is no positive integer.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.PReLU()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[-1, 2]])).asnumpy().tolist()
    [[-0.25, 2.0]]
    """

    def __init__(self, alpha_initializer: Any = _QUARTER, in_channels: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        shape = (count("PReLU", "in_channels", in_channels),)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=shape, init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        """Return the function of each element."""
        return _leaky_relu(F)(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridArrayBlock):
    """x if it is positive, else alpha (exp(x) - 1).

    Clevert, Unterthiner & Hochreiter 2015, "Fast and Accurate Deep Network Learning by Exponential Linear Units (ELUs)"
    (https://arxiv.org/abs/1511.07289).

    Parameters
    ----------
    alpha : float
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If alpha is no number.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.ELU()(mx.nd.array([-1, 2])).asnumpy().astype('float64').round(3).tolist()
    [-0.632, 2.0]
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = number("ELU", "alpha", alpha)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        return _leaky_relu(F)(x, act_type="elu", slope=self._alpha)


class SELU(HybridArrayBlock):
    """The exponential linear unit, scaled so that networks keep mean 0 and variance 1.

    Klambauer et al. 2017, "Self-Normalizing Neural Networks" (https://arxiv.org/abs/1706.02515).

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.SELU()(mx.nd.array([-1, 2])).asnumpy().astype('float64').round(3).tolist()
    [-1.111, 2.101]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        return _leaky_relu(F)(x, act_type="selu", name="fwd")


class GELU(HybridArrayBlock):
    """x Φ(x), with the distribution function Φ of the normal distribution.

    Hendrycks & Gimpel 2016, "Gaussian Error Linear Units (GELUs)" (https://arxiv.org/abs/1606.08415).

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GELU()(mx.nd.array([-1, 2])).asnumpy().astype('float64').round(3).tolist()
    [-0.159, 1.954]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        return _leaky_relu(F)(x, act_type="gelu", name="fwd")


class Swish(HybridArrayBlock):
    """x sigmoid(beta x).

    Ramachandran, Zoph & Le 2017, "Searching for Activation Functions" (https://arxiv.org/abs/1710.05941).

    Parameters
    ----------
    beta : float
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If beta is no number.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.Swish()(mx.nd.array([-1, 2])).asnumpy().astype('float64').round(3).tolist()
    [-0.269, 1.762]
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = number("Swish", "beta", beta)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        if is_np_array():
            return x * F.npx.sigmoid(self._beta * x)
        return x * F.sigmoid(self._beta * x, name="fwd")


class SiLU(Swish):
    """x sigmoid(x): `Swish` with beta 1.

    Elfwing, Uchibe & Doya 2017, "Sigmoid-Weighted Linear Units for Neural Network Function Approximation in
    Reinforcement Learning" (https://arxiv.org/abs/1702.03118).

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.SiLU()(mx.nd.array([-1, 2])).asnumpy().astype('float64').round(3).tolist()
    [-0.269, 1.762]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(1.0, **kwargs)
