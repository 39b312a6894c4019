"""A perceptron on handwritten digits: a model, layers, a solver."""

import numpy

import minpy
import minpy.nn.optim
from minpy.nn import layers
from minpy.nn.io import NDArrayIter
from minpy.nn.model import ModelBase
from minpy.nn.solver import Solver

HIDDEN = 32


class TwoLayerNet(ModelBase):
    def __init__(self):
        super(TwoLayerNet, self).__init__()
        self.add_param(name="w1", shape=(64, HIDDEN)).add_param(name="b1", shape=(HIDDEN,), init_rule="constant")
        self.add_param(name="w2", shape=(HIDDEN, 10)).add_param(name="b2", shape=(10,), init_rule="constant")

    def forward(self, X, mode):
        hidden = layers.relu(layers.affine(X, self.params["w1"], self.params["b1"]))
        return layers.affine(hidden, self.params["w2"], self.params["b2"])

    def loss(self, predict, y):
        return layers.softmax_loss(predict, y)


digits = numpy.load("digits.npz")
images, labels = digits["images"].astype("float32") / 16, digits["labels"].astype("int64")
train = NDArrayIter(data=images[:500], label=labels[:500], batch_size=100)
test = NDArrayIter(data=images[500:], label=labels[500:], batch_size=100)
for rule, rate in (("sgd", 0.5), ("sgd_momentum", 0.1), ("rmsprop", 0.01), ("adam", 0.01)):
    model = TwoLayerNet()
    solver = Solver(
        model,
        train,
        test,
        num_epochs=5,
        init_rule="xavier",
        update_rule=rule,
        optim_config={"learning_rate": rate},
        verbose=False,
    )
    solver.init()
    draw = numpy.random.RandomState(0)
    for name in sorted(model.param_configs):
        shape = model.param_configs[name]["shape"]
        model.params[name] = minpy.core.numpy_to_minpy(draw.uniform(-0.3, 0.3, shape).astype("float32"))
    solver.train()
    losses = [float(numpy.sum(loss)) for loss in solver.loss_history]
    print(rule, len(losses), ["%.4f" % loss for loss in losses[::6]], ["%.2f" % acc for acc in solver.val_acc_history])
    grads = minpy.core.grad_and_loss(
        lambda *params: model.loss(model.forward(train.getsubiter(500).next().data[0] * 0 + 1, "train"), labels[:100]),
        range(4),
    )(*model.params.values())[0]
    print([tuple(grad.shape) for grad in grads])
