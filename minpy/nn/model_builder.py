"""Models made of layers that find the shapes of their parameters themselves, when they see their first data.

A `Model` has layers as attributes (those in `minpy.nn.modules`, and one's own), and a `forward` that calls them. A call
of the model records; its `backward` returns the gradients by the parameters' names; an `Updater` moves the parameters.
A `minpy.nn.solver.Solver` trains it too.

Examples
--------
>>> import minpy.numpy as np
>>> from minpy.nn import modules
>>> class TwoLayers(Model):
...     def __init__(self):
...         super().__init__(loss='softmax_loss')
...         self.net = Sequential(
...             modules.FullyConnected(num_hidden=8, name='hidden'), modules.ReLU(),
...             modules.FullyConnected(num_hidden=3, name='scores'),
...         )
...     def forward(self, X, mode):
...         return self.net(X)
>>> model = TwoLayers()
>>> loss = model(np.ones((5, 4)), labels=np.array([0, 1, 2, 1, 0]))
>>> gradients = model.backward()
>>> {name: value.shape for name, value in sorted(gradients.items())}
{'hidden_bias': (8,), 'hidden_weight': (8, 4), 'scores_bias': (3,), 'scores_weight': (3, 8)}
>>> update = Updater(model, update_rule='sgd', learning_rate=0.01)
>>> update(gradients)
>>> float(model(np.ones((5, 4)), labels=np.array([0, 1, 2, 1, 0]))) < float(loss)
True
"""

from minpy.namespaces import module_functions
from minpy.nn.building.layer import Layer
from minpy.nn.building.model import Model
from minpy.nn.building.module import Add, Binary, Container, Module, Mul, Parallel, Sequential, Sub
from minpy.nn.building.updater import Updater
from minpy.nn.modules import Reshape

__all__ = [
    "Add",
    "Binary",
    "Container",
    "Layer",
    "Model",
    "Module",
    "Mul",
    "Parallel",
    "Reshape",
    "Sequential",
    "Sub",
    "Updater",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
