"""Layers for `minpy.nn.model_builder`: each is a part of a model, and makes its parameters for the first data it sees.

Those with parameters are MXNet's operators: their settings are `minpy.sym`'s, their parameters have MXNet's names and
shapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import minpy.numpy as np
import minpy.symbol as sym
from minpy.legacy import Function
from minpy.namespaces import listing
from minpy.nn import layers
from minpy.nn.building.layer import Layer, Shape
from minpy.symbol.symbol import Symbol

__all__ = [
    "LSTM",
    "RNN",
    "BatchFlatten",
    "BatchNorm",
    "BatchReshape",
    "Convolution",
    "Dropout",
    "Embedding",
    "Flatten",
    "FullyConnected",
    "Identity",
    "Logistic",
    "Pooling",
    "ReLU",
    "Reshape",
    "Symbolic",
    "Tanh",
    "Variable",
]

ActType = Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]
__dir__ = listing(__all__)

Configs = Mapping[Any, Any] | None


class Variable(Layer):
    """A parameter by itself, which the layer returns.

    Parameters
    ----------
    shape : tuple of int
    init_configs, update_configs : dict, optional
        Settings of its first value and of its updates: {'init_rule': 'gaussian'}, {'learning_rate': 0.1}.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.scale = Variable((2,), init_configs={'value': 3})
    >>> model.scale()
    array([3., 3.], dtype=float32)
    """

    _module_name = "variable"

    def __init__(
        self, shape: Shape, init_configs: Configs = None, update_configs: Configs = None, name: str | None = None
    ) -> None:
        super().__init__(("variable",), name=name)
        self._shape = tuple(shape)
        self._register_init_configs(init_configs)
        self._register_update_configs(update_configs)

    def forward(self) -> Any:
        """Return the parameter."""
        return self._get_param(self._param_names[0])

    def param_shapes(self, *args: Shape, **kwargs: Shape) -> dict[str, Shape]:
        """Return the shape of the parameter by its name."""
        return {self._param_names[0]: self._shape}


class _ParameterFree(Layer):
    """A layer without parameters."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)


class Identity(_ParameterFree):
    """What returns its argument.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.same = Identity()
    >>> model.same(np.ones(2))
    array([1., 1.], dtype=float32)
    """

    _module_name = "identity"

    def forward(self, X: Any) -> Any:
        """Return X."""
        return X


class ReLU(_ParameterFree):
    """Rectified linear units: what is positive, and 0 elsewhere.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.relu = ReLU()
    >>> model.relu(np.array([-1.0, 2.0]))
    array([0., 2.], dtype=float32)
    """

    _module_name = "ReLU"

    def forward(self, X: Any, *args: Any) -> Any:
        """Return max(X, 0)."""
        return layers.relu(X)


class Logistic(_ParameterFree):
    """The logistic function, 1 / (1 + exp(-x)).

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.logistic = Logistic()
    >>> model.logistic(np.zeros(2))
    array([0.5, 0.5], dtype=float32)
    """

    _module_name = "logistic"

    def forward(self, X: Any, *args: Any) -> Any:
        """Return the logistic function of X."""
        return layers.sigmoid(X)


class Tanh(_ParameterFree):
    """The hyperbolic tangent.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.tanh = Tanh()
    >>> model.tanh(np.zeros(2))
    array([0., 0.], dtype=float32)
    """

    _module_name = "tanh"

    def forward(self, X: Any, *args: Any) -> Any:
        """Return tanh(X)."""
        return np.tanh(X)


class Dropout(_ParameterFree):
    """Elements dropped at random in training, where the others are not scaled; in inference all are, by 1 - p.

    Parameters
    ----------
    p : float
        The probability with which an element is dropped.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.dropout = Dropout(0.25)
    >>> model.inference()
    >>> model.dropout(np.ones(2))
    array([0.75, 0.75], dtype=float32)
    """

    _module_name = "dropout"

    def __init__(self, p: float, name: str | None = None) -> None:
        super().__init__(name)
        self._p = p

    def forward(self, data: Any) -> Any:
        """Return the data with elements dropped."""
        return layers.dropout(data, self._p, mode="train" if self._mode == "training" else "test")


class Reshape(_ParameterFree):
    """An array in another shape.

    Parameters
    ----------
    shape : tuple of int
        Of the whole array; one length may be -1.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.reshape = Reshape((3, -1))
    >>> model.reshape(np.ones((2, 6))).shape
    (3, 4)
    """

    _module_name = "reshape"

    def __init__(self, shape: Shape, name: str | None = None) -> None:
        super().__init__(name)
        self._shape = tuple(shape)

    def forward(self, X: Any, *args: Any) -> Any:
        """Return X in the shape."""
        return np.reshape(X, self._shape)


class BatchReshape(Reshape):
    """An array with each example in another shape.

    Parameters
    ----------
    shape : tuple of int
        Of an example.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.reshape = BatchReshape((3, 2))
    >>> model.reshape(np.ones((4, 6))).shape
    (4, 3, 2)
    """

    _module_name = "batch_reshape"

    def forward(self, X: Any, *args: Any) -> Any:
        """Return X with the shape of each example changed."""
        return np.reshape(X, (X.shape[0], *self._shape))


class Flatten(_ParameterFree):
    """An array as one row of numbers, examples and all.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.flatten = Flatten()
    >>> model.flatten(np.ones((2, 3))).shape
    (6,)
    """

    _module_name = "flatten"

    def forward(self, X: Any) -> Any:
        """Return the elements of X."""
        return np.reshape(X, (X.size,))


class BatchFlatten(_ParameterFree):
    """An array with each example as a row.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.flatten = BatchFlatten()
    >>> model.flatten(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    _module_name = "batch_flatten"

    def forward(self, X: Any) -> Any:
        """Return X as a matrix."""
        return np.reshape(X, (X.shape[0], math.prod(X.shape[1:])))


# -- symbols as layers -------------------------------------------------------------------------------------------------


class Symbolic(Layer):
    """A symbol as a layer: its variables are parameters, but for those that are its data, given by name.

    Parameters
    ----------
    symbol : Symbol
    variables : sequence of str, optional
        Which variables are data; 'data' if left out.
    init_configs, update_configs : dict, optional
        Settings of first values and of updates: {'fc_weight': {'init_rule': 'gaussian'}}, or {'learning_rate': 0.1} for
        all.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> from minpy import sym
    >>> model = Model()
    >>> data = sym.var('data')
    >>> model.net = Symbolic(sym.FullyConnected(data, num_hidden=2, name='fc'), name='net')
    >>> model.net(data=np.ones((1, 3))).shape
    (1, 2)
    >>> sorted(model.params)
    ['net_fc_bias', 'net_fc_weight']
    """

    _module_name = "symbolic"

    def __init__(
        self,
        symbol: Symbol,
        variables: Sequence[str] | None = None,
        init_configs: Configs = None,
        update_configs: Configs = None,
        name: str | None = None,
    ) -> None:
        self._symbol = symbol
        self._variables = ("data",) if variables is None else tuple(variables)
        params = [variable for variable in symbol.list_arguments() if variable not in self._variables]
        super().__init__(params, symbol.list_auxiliary_states(), name)
        self._func = Function(symbol, name=self._name)
        self._register_init_configs(init_configs)
        self._register_update_configs(update_configs)

    def forward(self, **kwargs: Any) -> Any:
        """Return the symbol's output for arrays by the names of its data; a tuple of several."""
        params = zip(self._module_param_names, self._get_params(*self._param_names), strict=True)
        aux_params = zip(self._module_aux_param_names, self._get_aux_params(*self._aux_param_names), strict=True)
        self._func.is_train = self._mode == "training"
        return self._func(**kwargs, **dict(params), **dict(aux_params))

    def param_shapes(self, *args: Shape, **kwargs: Shape) -> dict[str, Shape]:
        """Return the shapes of the parameters by the model's names, for shapes by the names of data."""
        shapes, _, _ = self._symbol.infer_shape(**kwargs)
        by_argument = dict(zip(self._symbol.list_arguments(), shapes, strict=True))
        return {self._global[name]: by_argument[name] for name in self._module_param_names}

    def aux_param_shapes(self, *args: Shape, **kwargs: Shape) -> dict[str, Shape]:
        """Return the shapes of the auxiliary parameters by the model's names, for shapes by the names of data."""
        _, _, shapes = self._symbol.infer_shape(**kwargs)
        return dict(zip(self._aux_param_names, shapes, strict=True))


class _OperatorLayer(Symbolic):
    """An operator of MXNet's as a layer of one argument; the arguments are the operator's."""

    def __init__(
        self,
        *args: Any,
        name: str | None = None,
        init_configs: Configs = None,
        update_configs: Configs = None,
        **kwargs: Any,
    ) -> None:
        make = getattr(sym, type(self).__name__)
        probe = make(sym.var("data"), *args, name="own", **kwargs)
        inputs = [variable for variable in probe.list_inputs() if variable.startswith("own_")]
        own = {variable.removeprefix("own_"): sym.var(variable.removeprefix("own_")) for variable in inputs}
        symbol = make(sym.var("data"), *args, name=self._module_name, **own, **kwargs)
        super().__init__(symbol, None, init_configs, update_configs, name)

    def forward(self, data: Any) -> Any:  # type: ignore[override]
        """Return what the operator makes of the data."""
        return super().forward(data=data)

    def param_shapes(self, input_shape: Shape) -> dict[str, Shape]:  # type: ignore[override]
        """Return the shapes of the parameters by the model's names, for the shape of the data."""
        return super().param_shapes(data=input_shape)

    def aux_param_shapes(self, input_shape: Shape) -> dict[str, Shape]:  # type: ignore[override]
        """Return the shapes of the auxiliary parameters by the model's names, for the shape of the data."""
        return super().aux_param_shapes(data=input_shape)


class FullyConnected(_OperatorLayer):
    """A dense layer, `sym.FullyConnected`: x · weightᵀ + bias, of each example's numbers.

    Parameters
    ----------
    num_hidden : int
    no_bias, flatten : bool, optional
    name : str, optional
    init_configs, update_configs : dict, optional
        Settings of first values and of updates, by `weight` and `bias`, or for both.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> ones = {'weight': {'init_rule': 'constant', 'value': 1}}
    >>> model.fc = FullyConnected(num_hidden=2, name='fc', init_configs=ones)
    >>> model.fc(np.ones((1, 3))), sorted(model.params)
    (array([[3., 3.]], dtype=float32), ['fc_bias', 'fc_weight'])
    """

    _module_name = "fullyconnected"


class Embedding(_OperatorLayer):
    """Rows of a matrix, chosen by numbers: `sym.Embedding`.

    Parameters
    ----------
    input_dim, output_dim : int
        How many rows there are, and their length.
    name : str, optional
    init_configs, update_configs : dict, optional
        Settings of first values and of updates, of `weight`.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.words = Embedding(input_dim=10, output_dim=4)
    >>> model.words(np.array([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    _module_name = "embedding"


class Convolution(_OperatorLayer):
    """A convolution, `sym.Convolution`.

    Parameters
    ----------
    kernel : tuple of int
    num_filter : int
    stride, pad, dilate : tuple of int, optional
    num_group : int, optional
    no_bias : bool, optional
    name : str, optional
    init_configs, update_configs : dict, optional
        Settings of first values and of updates, by `weight` and `bias`, or for both.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.filters = Convolution(kernel=(3, 3), num_filter=5, pad=(1, 1))
    >>> model.filters(np.ones((2, 1, 4, 4))).shape
    (2, 5, 4, 4)
    """

    _module_name = "convolution"


class Pooling(_OperatorLayer):
    """The greatest, or the mean, of each window: `sym.Pooling`.

    Parameters
    ----------
    kernel : tuple of int
    pool_type : str
        'max', 'avg', 'sum' or 'lp'.
    stride, pad : tuple of int, optional
    global_pool : bool, optional
    name : str, optional
    init_configs, update_configs : dict, optional
        As other layers take them; there are no parameters.

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.pooling = Pooling(kernel=(2, 2), stride=(2, 2), pool_type='max')
    >>> model.pooling(np.ones((2, 1, 4, 4))).shape
    (2, 1, 2, 2)
    """

    _module_name = "pooling"


class BatchNorm(_OperatorLayer):
    """Batch normalization, `sym.BatchNorm`: in training by the batch's statistics, in inference by the moving ones.

    Parameters
    ----------
    eps, momentum : float, optional
    fix_gamma, use_global_stats : bool, optional
    axis : int, optional
    name : str, optional
    init_configs, update_configs : dict, optional
        Settings of first values (`gamma`, `beta`, `moving_mean`, `moving_var`) and of updates (`gamma`, `beta`).

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.norm = BatchNorm(fix_gamma=False, name='norm')
    >>> model.norm(np.array([[1.0], [3.0]])).round(2)
    array([[-1.],
           [ 1.]], dtype=float32)
    >>> sorted(model.aux_params)
    ['norm_moving_mean', 'norm_moving_var']
    """

    _module_name = "batchnorm"


# -- steps of recurrent layers -----------------------------------------------------------------------------------------


def _two_products(num_hidden: int) -> Symbol:
    """Return the sum of the products with data and state, before the activation."""
    data, hidden = sym.var("data"), sym.var("hidden")
    by_data = sym.FullyConnected(data, weight=sym.var("XH_weight"), num_hidden=num_hidden, no_bias=True)
    by_state = sym.FullyConnected(
        hidden, weight=sym.var("HH_weight"), bias=sym.var("HH_bias"), num_hidden=num_hidden, name="HH"
    )
    return by_data + by_state


class RNN(Symbolic):
    """A step of a plain recurrent layer: activation(data · XH_weightᵀ + hidden · HH_weightᵀ + HH_bias).

    `HH_weight` begins as the identity, as Le, Jaitly and Hinton, A Simple Way to Initialize Recurrent Networks of
    Rectified Linear Units, 2015, have it.

    Parameters
    ----------
    num_hidden : int
    act_type : str
        'relu', 'sigmoid', 'softrelu' or 'tanh'.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.step = RNN(4, 'tanh')
    >>> state = model.step(np.ones((2, 3)))
    >>> model.step(np.ones((2, 3)), state).shape
    (2, 4)
    """

    _module_name = "rnn"

    def __init__(self, num_hidden: int, act_type: ActType = "tanh", name: str | None = None) -> None:
        network = sym.Activation(_two_products(num_hidden), act_type=act_type)
        super().__init__(network, ("data", "hidden"), name=name)
        self._num_hidden = num_hidden
        self._register_init_configs({"HH_weight": {"init_rule": "custom", "function": lambda shape: np.eye(shape[0])}})

    def forward(self, data: Any, hidden: Any = None) -> Any:  # type: ignore[override]
        """Return the next state, of shape (N, num_hidden); without a state it begins with zeros."""
        return super().forward(data=data, hidden=_state(hidden, data, self._num_hidden))

    def param_shapes(self, data_shape: Shape, *states: Shape) -> dict[str, Shape]:  # type: ignore[override]
        """Return the shapes of the parameters by the model's names, for the shape of the data."""
        return super().param_shapes(data=data_shape, hidden=(data_shape[0], self._num_hidden))


class LSTM(Symbolic):
    """A step of an LSTM: see Hochreiter and Schmidhuber, Long Short-Term Memory, 1997, with forget gates.

    `XH_weight`, `HH_weight` and `HH_bias` hold the input, forget and output gates and the new values, in this order.

    Parameters
    ----------
    num_hidden : int
    act_type : str
        Of what the cell gives the state, 'tanh' by default.
    name : str, optional

    Examples
    --------
    >>> from minpy.nn.model_builder import Model
    >>> model = Model()
    >>> model.step = LSTM(4)
    >>> hidden, cell = model.step(np.ones((2, 3)))
    >>> hidden, cell = model.step(np.ones((2, 3)), hidden, cell)
    >>> hidden.shape, cell.shape
    ((2, 4), (2, 4))
    """

    _module_name = "lstm"

    def __init__(self, num_hidden: int, act_type: ActType = "tanh", name: str | None = None) -> None:
        gates = sym.SliceChannel(_two_products(4 * num_hidden), num_outputs=4, axis=1)
        into, keep, out = (sym.Activation(gates[index], act_type="sigmoid") for index in range(3))
        cell = keep * sym.var("cell") + into * sym.Activation(gates[3], act_type="tanh")
        network = sym.Group([out * sym.Activation(cell, act_type=act_type), cell])
        super().__init__(network, ("data", "hidden", "cell"), name=name)
        self._num_hidden = num_hidden

    def forward(self, data: Any, hidden: Any = None, cell: Any = None) -> Any:  # type: ignore[override]
        """Return the next state and cell, each of shape (N, num_hidden); without them they begin with zeros."""
        states = {name: _state(value, data, self._num_hidden) for name, value in (("hidden", hidden), ("cell", cell))}
        return super().forward(data=data, **states)

    def param_shapes(self, data_shape: Shape, *states: Shape) -> dict[str, Shape]:  # type: ignore[override]
        """Return the shapes of the parameters by the model's names, for the shape of the data."""
        state = data_shape[0], self._num_hidden
        return super().param_shapes(data=data_shape, hidden=state, cell=state)


def _state(value: Any, data: Any, num_hidden: int) -> Any:
    return np.zeros((data.shape[0], num_hidden)) if value is None else value
