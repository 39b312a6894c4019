"""Models in files as blocks, as programs of GluonCV's and GluonNLP's kind loaded, changed and exported them."""

import os
import tempfile
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "models")


def show(name, array):
    array = array.asnumpy()
    print(f"{name}: {array.shape} {array.dtype} {np.round(array.ravel()[:4].astype('float64'), 4).tolist()}")


def path(name):
    return os.path.join(MODELS, name)


def imported():
    """Imports a network and calls it."""
    net = gluon.SymbolBlock.imports(path("pyramid-symbol.json"), ["data"], path("pyramid-0001.params"), ctx=mx.cpu())
    net.hybridize()
    x = nd.array(np.random.RandomState(0).uniform(-1, 1, (1, 3, 12, 12)))
    show("segmented", net(x))
    print(len(net.collect_params().keys()), sorted(net.collect_params().keys())[:3])
    print(sorted(net.collect_params("psp0_conv1.*").keys()))


def cut_off():
    """Takes the body of a network, and puts a head of its own on it."""
    sym = mx.sym.load(path("resnet-symbol.json"))
    internals = sym.get_internals()
    outputs = [internals["relu1_output"], internals["stage1_unit1_conv2_output"]]
    inputs = mx.sym.var("data")
    body = gluon.SymbolBlock(outputs, inputs)
    body.collect_params().load(path("resnet-0001.params"), ctx=mx.cpu(), ignore_extra=True)
    x = nd.array(np.random.RandomState(1).uniform(-1, 1, (2, 3, 12, 12)))
    for name, one in zip(("top", "middle"), body(x)):
        show(name, one)

    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super(Net, self).__init__(**kwargs)
            with self.name_scope():
                self.features = gluon.SymbolBlock(internals["relu1_output"], mx.sym.var("data"))
                self.pool = nn.GlobalAvgPool2D()
                self.output = nn.Dense(3)

        def hybrid_forward(self, F, x):
            return self.output(self.pool(self.features(x)))

    net = Net()
    net.features.load_parameters(path("resnet-0001.params"), ctx=mx.cpu(), ignore_extra=True)
    net.output.initialize(mx.init.Constant(0.05))
    net.hybridize()
    net.features.collect_params().setattr("lr_mult", 0.1)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    labels = nd.array([0, 2])
    for step in range(4):
        with autograd.record():
            loss = loss_fn(net(x), labels)
        loss.backward()
        trainer.step(2)
        print("step %d: %.4f" % (step, loss.mean().asscalar()))
    frozen = net.features.collect_params(".*gamma")
    frozen.setattr("grad_req", "null")
    print(sorted({p.grad_req for p in net.features.collect_params().values()}))
    with tempfile.TemporaryDirectory() as folder:
        net.export(os.path.join(folder, "tuned"), epoch=7)
        print(sorted(os.listdir(folder)))
        names = sorted(nd.load(os.path.join(folder, "tuned-0007.params")))
        print(len(names), [name for name in names if "dense" not in name][:3])
        again = gluon.SymbolBlock.imports(
            os.path.join(folder, "tuned-symbol.json"), ["data"], os.path.join(folder, "tuned-0007.params")
        )
        print("exported alike:", np.allclose(again(x).asnumpy(), net(x).asnumpy(), atol=1e-5))


def prefixes():
    """Loads parameters with `arg:` and `aux:` before their names, and without."""
    arrays = nd.load(path("mobilenet-0001.params"))
    sym = mx.sym.load(path("mobilenet-symbol.json")).get_internals()["fc7_output"]
    x = nd.ones((1, 3, 12, 12))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "plain.params")
        nd.save(file, {name.split(":")[1]: array for name, array in arrays.items()})
        for source in (path("mobilenet-0001.params"), file):
            net = gluon.SymbolBlock(sym, mx.sym.var("data"))
            net.load_parameters(source)
            show("logits", net(x))
        part = os.path.join(folder, "part.params")
        nd.save(part, {name: array for name, array in arrays.items() if "fc7" not in name})
        net = gluon.SymbolBlock(sym, mx.sym.var("data"))
        try:
            net.load_parameters(part)
        except (AssertionError, RuntimeError):
            print("missing parameters are an error")
        net.load_parameters(part, allow_missing=True)
        for name, parameter in net.collect_params().items():
            if parameter._data is None:
                print("missing:", name)
                parameter.initialize(mx.init.One())
        show("ones", net(x))


def labels_left_out():
    """Imports a network that ends in a loss, without its label."""
    net = gluon.SymbolBlock.imports(path("factorization-symbol.json"), ["user", "item"], None)
    net.load_parameters(path("factorization-0001.params"), allow_missing=True)
    net.collect_params()["score"].initialize(mx.init.Zero())
    show("ratings", net(nd.array([1, 2]), nd.array([3, 4])))


def language():
    """Calls an exported encoder with tokens and lengths."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = gluon.nn.SymbolBlock.imports(
            path("transformer-symbol.json"), ["data0", "data1"], path("transformer-0001.params")
        )
    tokens = nd.array([[2, 5, 7, 3, 0, 0], [2, 9, 3, 0, 0, 0]])
    encoded, pooled = net(tokens, nd.array([4, 3]))
    show("encoded", encoded)
    show("pooled", pooled)
    net.cast("float16")
    net.cast("float32")
    show("cast", net(tokens, nd.array([4, 3]))[1])


if __name__ == "__main__":
    imported()
    cut_off()
    prefixes()
    labels_left_out()
    language()
