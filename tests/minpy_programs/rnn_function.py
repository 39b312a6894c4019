"""A recurrent network from symbols, as a function that is differentiated: it learns to add two bits of the past."""

import mxnet as mx
import numpy

import minpy.numpy as np
from minpy import core
from minpy.nn import layers, optim

STEPS, UNITS, BATCH = 4, 8, 16


def step_symbol():
    data, before = mx.sym.Variable("X"), mx.sym.Variable("h")
    total = mx.sym.FullyConnected(data=data, name="i2h", num_hidden=UNITS) + mx.sym.FullyConnected(
        data=before, name="h2h", num_hidden=UNITS
    )
    return mx.sym.Activation(data=total, act_type="tanh")


cell = core.Function(step_symbol(), input_shapes={"X": (BATCH, 1), "h": (BATCH, UNITS)}, name="cell")
decode = core.Function(
    mx.sym.FullyConnected(data=mx.sym.Variable("X"), name="out", num_hidden=3), input_shapes={"X": (BATCH, UNITS)}
)
print(sorted(cell.get_params().items()), cell.get_one_output_shape(), decode.get_output_shapes())
print(sorted(cell._param_shapes), sorted(decode._param_shapes))

draw = numpy.random.RandomState(0)
shapes = dict(cell._param_shapes)
shapes.update(decode._param_shapes)
params = {name: core.numpy_to_minpy(draw.uniform(-0.5, 0.5, shapes[name]).astype("float32")) for name in sorted(shapes)}
configs = {name: {"learning_rate": 0.02} for name in params}
losses = []
for _ in range(60):
    bits = draw.randint(0, 2, (STEPS, BATCH, 1)).astype("float32")
    wanted = (bits[1] + bits[3]).ravel().astype("int64")

    def loss_of(*_):
        hidden = np.zeros((BATCH, UNITS))
        for t in range(STEPS):
            hidden = cell(X=core.numpy_to_minpy(bits[t]), h=hidden, **params)  # with the decoder's parameters, too
        return layers.softmax_loss(decode(X=hidden, **params), wanted)

    names = list(params)
    grads, loss = core.grad_and_loss(loss_of, argnum=range(len(names)))(*params.values())
    losses.append(float(numpy.sum(loss.asnumpy())))
    for name, grad in zip(names, grads):
        params[name], configs[name] = optim.adam(params[name], grad, configs[name])
print(["%.3f" % loss for loss in losses[::10]], losses[-1] < losses[0] / 2)
