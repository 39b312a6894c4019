"""Two modules that train against each other, as example/gan/dcgan.py of MXNet's examples had it, on points of a ring."""

import mxnet as mx
import numpy as np

BATCH, NOISE = 16, 4
drawn = np.random.RandomState(2)


class Drawn(mx.init.Initializer):
    """Uniform numbers of NumPy, other ones at each array."""

    def __init__(self):
        super(Drawn, self).__init__()
        self.random = np.random.RandomState(7)

    def _init_weight(self, name, arr):
        arr[:] = self.random.uniform(-0.5, 0.5, arr.shape)


class RandIter(mx.io.DataIter):
    """Noise without end."""

    def __init__(self, batch_size, ndim):
        self.batch_size = batch_size
        self.ndim = ndim
        self.provide_data = [("rand", (batch_size, ndim))]
        self.provide_label = []

    def iter_next(self):
        return True

    def getdata(self):
        return [mx.nd.array(drawn.normal(0, 1.0, size=(self.batch_size, self.ndim)))]


def make_generator():
    body = mx.sym.Variable("rand")
    body = mx.sym.FullyConnected(body, num_hidden=12, name="g1", no_bias=True)
    body = mx.sym.BatchNorm(body, name="gbn1", fix_gamma=True, eps=1e-5 + 1e-12)
    body = mx.sym.Activation(body, name="gact1", act_type="relu")
    return mx.sym.Activation(mx.sym.FullyConnected(body, num_hidden=2, name="g2"), name="gact2", act_type="tanh")


def make_discriminator():
    body = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=12, name="d1")
    body = mx.sym.LeakyReLU(body, name="dact1", act_type="leaky", slope=0.2)
    body = mx.sym.Flatten(mx.sym.FullyConnected(body, num_hidden=1, name="d2"))
    return mx.sym.LogisticRegressionOutput(data=body, label=mx.sym.Variable("label"), name="dloss")


def facc(label, pred):
    return ((pred.ravel() > 0.5) == label.ravel()).mean()


def fentropy(label, pred):
    pred, label = pred.ravel(), label.ravel()
    return -(label * np.log(pred + 1e-12) + (1.0 - label) * np.log(1.0 - pred + 1e-12)).mean()


angle = np.random.RandomState(1).uniform(0, 2 * np.pi, 96)
ring = (0.8 * np.stack([np.cos(angle), np.sin(angle)], axis=1)).astype("float32")
train_iter = mx.io.NDArrayIter(ring, batch_size=BATCH)
rand_iter = RandIter(BATCH, NOISE)
label = mx.nd.zeros((BATCH,))
optimizer_params = {"learning_rate": 0.1, "wd": 0.0, "momentum": 0.5}

modG = mx.mod.Module(symbol=make_generator(), data_names=("rand",), label_names=None, context=mx.cpu())
modG.bind(data_shapes=rand_iter.provide_data)
modG.init_params(initializer=Drawn())
modG.init_optimizer(optimizer="sgd", optimizer_params=optimizer_params)
modD = mx.mod.Module(symbol=make_discriminator(), data_names=("data",), label_names=("label",), context=mx.cpu())
modD.bind(data_shapes=train_iter.provide_data, label_shapes=[("label", (BATCH,))], inputs_need_grad=True)
modD.init_params(initializer=Drawn())
modD.init_optimizer(optimizer="sgd", optimizer_params=optimizer_params)

mG, mD, mACC = mx.metric.CustomMetric(fentropy), mx.metric.CustomMetric(fentropy), mx.metric.CustomMetric(facc)
stamps = []


def norm_stat(d):
    return mx.nd.norm(d) / np.sqrt(d.size)


mon = mx.mon.Monitor(6, norm_stat, pattern="gact2_output|d1_output|d1_weight", sort=True)
for mod in (modG, modD):
    mod.install_monitor(mon)

for epoch in range(3):
    train_iter.reset()
    for metric in (mG, mD, mACC):
        metric.reset()
    for t, batch in enumerate(train_iter):
        rbatch = rand_iter.next()
        mon.tic()
        modG.forward(rbatch, is_train=True)
        outG = modG.get_outputs()

        # The discriminator on what was made; its gradients are kept, for they are those of one step with the next.
        label[:] = 0
        modD.forward(mx.io.DataBatch(outG, [label]), is_train=True)
        modD.backward()
        gradD = [[grad.copyto(grad.context) for grad in grads] for grads in modD._exec_group.grad_arrays]
        modD.update_metric(mD, [label])
        modD.update_metric(mACC, [label])

        # And on the ring.
        label[:] = 1
        batch.label = [label]
        modD.forward(batch, is_train=True)
        modD.backward()
        for gradsr, gradsf in zip(modD._exec_group.grad_arrays, gradD):
            for gradr, gradf in zip(gradsr, gradsf):
                gradr += gradf
        modD.update()
        modD.update_metric(mD, [label])
        modD.update_metric(mACC, [label])

        # The generator, by the gradient at what it made.
        label[:] = 1
        modD.forward(mx.io.DataBatch(outG, [label]), is_train=True)
        modD.backward()
        diffD = modD.get_input_grads()
        modG.backward(diffD)
        modG.update()
        mG.update([label], modD.get_outputs())
        for step, name, value in mon.toc():
            print(step, name, round(float(value), 3))
    print("epoch", epoch, [(metric.get()[0], round(float(metric.get()[1]), 3)) for metric in (mACC, mG, mD)])
    print([diff.shape for diff in diffD], round(float(mx.nd.norm(diffD[0]).asscalar()), 4))

modG.forward(rand_iter.next(), is_train=False)
made = modG.get_outputs()[0].asnumpy()
print(made.shape, round(float(np.abs(made).mean()), 3))
arg_params, aux_params = modG.get_params()
print(
    sorted(arg_params), [(name, round(float(value.asnumpy().sum()), 3)) for name, value in sorted(aux_params.items())]
)
