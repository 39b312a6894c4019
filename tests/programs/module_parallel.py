"""A module of modules, as recognition/parallel_module of the face projects had it: features, and classes in parts."""

import logging

import mxnet as mx
import numpy as np
from mxnet.initializer import Uniform
from mxnet.module.base_module import BaseModule, _as_list
from mxnet.module.module import Module


class ParallelModule(BaseModule):
    def __init__(self, symbol, data_names, label_names, classes, parts, size, logger=logging, context=mx.cpu()):
        super(ParallelModule, self).__init__(logger=logger)
        self._symbol = symbol
        self._data_names, self._label_names = data_names, label_names
        self._size, self._parts, self._each = size, parts, classes // parts
        self._curr_module = Module(symbol, data_names, [], logger=logger, context=context)
        self._arcface_modules = []
        for i in range(parts):
            weight = mx.sym.Variable("part%d_weight" % i, shape=(self._each, size))
            data = mx.sym.Variable("data")
            fc = mx.sym.FullyConnected(data=data, weight=weight, no_bias=True, num_hidden=self._each, name="part%d" % i)
            self._arcface_modules.append(Module(fc, ["data"], [], logger=logger, context=mx.cpu(i)))

    def _reset_bind(self):
        self.binded = False

    data_names = property(lambda self: self._data_names)
    output_names = property(lambda self: self._symbol.list_outputs())
    data_shapes = property(lambda self: self._curr_module.data_shapes)
    label_shapes = property(lambda self: self._label_shapes)
    output_shapes = property(lambda self: self._curr_module.output_shapes)

    def get_params(self):
        arg_params, aux_params = self._curr_module.get_params()
        arg_params = dict(arg_params)
        for module in self._arcface_modules:
            arg_params.update(module.get_params()[0])
        return arg_params, aux_params

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        for module in [self._curr_module] + self._arcface_modules:
            module.set_params(arg_params, aux_params, allow_missing=True, force_init=force_init, allow_extra=True)

    def init_params(
        self,
        initializer=Uniform(0.01),
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ):
        if self.params_initialized and not force_init:
            return
        for module in [self._curr_module] + self._arcface_modules:
            module.init_params(initializer=initializer, arg_params=None, aux_params=None, force_init=force_init)
        self.params_initialized = True

    def bind(
        self,
        data_shapes,
        label_shapes=None,
        for_training=True,
        inputs_need_grad=False,
        force_rebind=False,
        shared_module=None,
        grad_req="write",
    ):
        if self.binded:
            self.logger.warning("Already binded, ignoring bind()")
            return
        self._label_shapes = label_shapes
        self._curr_module.bind(data_shapes, None, for_training, inputs_need_grad, force_rebind=False)
        self._batch = data_shapes[0][1][0]
        for module in self._arcface_modules:
            module.bind([("data", (self._batch, self._size))], None, for_training, True)
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True

    def init_optimizer(
        self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), force_init=False
    ):
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._arcface_modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch, is_train=None):
        self._curr_module.forward(data_batch, is_train=is_train)
        self.embedding = self._curr_module.get_outputs(merge_multi_context=True)[0]
        for module in self._arcface_modules:
            module.forward(mx.io.DataBatch(data=[self.embedding], label=None), is_train=is_train)
        self._scores = mx.nd.concat(
            *[module.get_outputs()[0].as_in_context(mx.cpu()) for module in self._arcface_modules], dim=1
        )
        self._label = data_batch.label[0]

    def backward(self, out_grads=None):
        prob = mx.nd.softmax(self._scores)
        grad = prob - mx.nd.one_hot(self._label, self._each * self._parts)
        total = mx.nd.zeros(self.embedding.shape)
        for i, module in enumerate(self._arcface_modules):
            module.backward(out_grads=[grad[:, i * self._each : (i + 1) * self._each].as_in_context(mx.cpu(i))])
            total += module.get_input_grads()[0].as_in_context(mx.cpu())
        self._curr_module.backward(out_grads=[total])

    def update(self):
        self._curr_module.update()
        for module in self._arcface_modules:
            module.update()

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        eval_metric.update(_as_list(labels), [mx.nd.softmax(self._scores)])

    def get_outputs(self, merge_multi_context=True):
        return [mx.nd.softmax(self._scores)]

    def get_input_grads(self, merge_multi_context=True):
        return self._curr_module.get_input_grads(merge_multi_context=merge_multi_context)

    def install_monitor(self, mon):
        self._curr_module.install_monitor(mon)


class Drawn(mx.init.Initializer):
    random = np.random.RandomState(11)

    def _init_weight(self, name, arr):
        arr[:] = self.random.normal(0, 0.2, arr.shape)


class Printed(logging.Handler):
    def emit(self, record):
        if "Time cost" not in record.getMessage():
            print(record.getMessage())


logging.getLogger().addHandler(Printed())
logging.getLogger().setLevel(logging.INFO)
random = np.random.RandomState(0)
centres = random.normal(0, 1, (6, 10))
label = random.randint(0, 6, 120)
data = centres[label] + random.normal(0, 0.3, (120, 10))
train = mx.io.NDArrayIter(data, label.astype("float32"), 24)
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="embedding")
model = ParallelModule(net, ["data"], ["softmax_label"], classes=6, parts=2, size=5)
model.fit(
    train,
    num_epoch=4,
    eval_metric=mx.metric.CompositeEvalMetric(["acc", "ce"]),
    initializer=Drawn(),
    optimizer="sgd",
    optimizer_params={"learning_rate": 0.3, "momentum": 0.9, "wd": 5e-4},
    batch_end_callback=lambda param: (
        print(param.nbatch, param.locals["self"]._scores.shape) if param.nbatch == 2 else None
    ),
)
print([(name, round(float(value), 4)) for name, value in model.score(train, "acc")], model.predict(train).shape)
print(
    [
        (name, value.shape, round(float(value.asnumpy().sum()), 2))
        for name, value in sorted(model.get_params()[0].items())
    ]
)
print(
    model._curr_module._exec_group.execs[0].grad_dict["embedding_weight"].shape,
    model._curr_module._optimizer.rescale_grad == 1.0 / 24,
)
