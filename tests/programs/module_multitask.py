"""Two tasks on one network, as example/multi-task of MXNet's examples had it, with a schedule by epochs and a resume."""

import logging
import os
import re
import tempfile

import mxnet as mx
import numpy as np


class Printed(logging.Handler):
    def emit(self, record):
        print(re.sub(r"(cost=|Speed: )[\d.]+", r"\1#", record.getMessage()).replace(folder, "FOLDER"))


folder = tempfile.mkdtemp(prefix="mx")
logging.getLogger().addHandler(Printed())
logging.getLogger().setLevel(logging.INFO)


class NumpySoftmax(mx.operator.CustomOp):
    """As example/numpy-ops/custom_softmax.py has it."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("softmax_of_numpy")
class NumpySoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(NumpySoftmaxProp, self).__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def infer_type(self, in_type):
        return in_type, [in_type[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return NumpySoftmax()


class Drawn(mx.init.Initializer):
    """Uniform numbers of NumPy."""

    def __init__(self):
        super(Drawn, self).__init__()
        self.random = np.random.RandomState(7)

    def _init_weight(self, name, arr):
        arr[:] = self.random.uniform(-0.3, 0.3, arr.shape)


def build_network():
    data = mx.symbol.Variable("data")
    body = mx.symbol.FullyConnected(data=data, name="fc1", num_hidden=16)
    body = mx.symbol.Activation(data=body, name="tanh1", act_type="tanh")
    kinds = mx.symbol.FullyConnected(data=body, name="fc_kind", num_hidden=3)
    kinds = mx.symbol.Custom(data=kinds, name="kind", op_type="softmax_of_numpy")
    amount = mx.symbol.FullyConnected(data=body, name="fc_amount", num_hidden=1)
    amount = mx.symbol.LinearRegressionOutput(data=amount, name="amount")
    return mx.symbol.Group([kinds, amount])


class TwoTasks(mx.io.DataIter):
    """Gives every batch of another iterator a second label."""

    def __init__(self, data_iter):
        super(TwoTasks, self).__init__("two_tasks")
        self.data_iter = data_iter
        self.batch_size = self.data_iter.batch_size

    @property
    def provide_data(self):
        return self.data_iter.provide_data

    @property
    def provide_label(self):
        provide_label = self.data_iter.provide_label[0]
        return [("kind_label", provide_label[1]), ("amount_label", (self.batch_size, 1))]

    def hard_reset(self):
        self.data_iter.hard_reset()

    def reset(self):
        self.data_iter.reset()

    def next(self):
        batch = self.data_iter.next()
        amount = mx.nd.mean(batch.data[0], axis=1, keepdims=True)
        return mx.io.DataBatch(data=batch.data, label=[batch.label[0], amount], pad=batch.pad, index=batch.index)


class Multi_Accuracy(mx.metric.EvalMetric):
    """The shares of right kinds, and the mean squares of what the amounts miss."""

    def __init__(self, num=None):
        self.num = num
        super(Multi_Accuracy, self).__init__("multi-accuracy")

    def reset(self):
        self.num_inst = 0 if self.num is None else [0] * self.num
        self.sum_metric = 0.0 if self.num is None else [0.0] * self.num

    def reset_local(self):
        self.reset()

    def update(self, labels, preds):
        mx.metric.check_label_shapes(labels, preds)
        right = preds[0].asnumpy().argmax(axis=1) == labels[0].asnumpy()
        misses = (preds[1].asnumpy() - labels[1].asnumpy()) ** 2
        for i, values in enumerate((right, misses)):
            self.sum_metric[i] += float(values.sum())
            self.num_inst[i] += values.size

    def get(self):
        names = ["%s_%d" % (self.name, i) for i in range(self.num)]
        return names, [s / n if n else float("nan") for s, n in zip(self.sum_metric, self.num_inst)]


class ByEpochs(mx.lr_scheduler.LRScheduler):
    def __init__(self, per_epoch, base_lr):
        super(ByEpochs, self).__init__(base_lr=base_lr)
        self.per_epoch = per_epoch

    def __call__(self, num_update):
        return self.base_lr * 0.5 ** ((num_update - 1) // self.per_epoch)


random = np.random.RandomState(0)
images = random.uniform(0, 1, (66, 6)).astype("float32")
kinds = images[:, :3].argmax(axis=1).astype("float32")
train = TwoTasks(mx.io.NDArrayIter(images[:48], kinds[:48], 8, label_name="kind_label"))
val = TwoTasks(mx.io.NDArrayIter(images[48:], kinds[48:], 8, label_name="kind_label"))
network = build_network()
print(network.list_arguments(), network.list_outputs())
prefix = os.path.join(folder, "tasks")
rates = []


def note(param):
    if param.nbatch == 5:
        rates.append(round(param.locals["self"]._optimizer._get_lr(0), 5))


def train_from(begin_epoch, num_epoch, arg_params=None, aux_params=None):
    module = mx.mod.Module(network, label_names=("kind_label", "amount_label"), context=[mx.cpu(0), mx.cpu(1)])
    module.fit(
        train_data=train,
        eval_data=val,
        eval_metric=Multi_Accuracy(num=2),
        begin_epoch=begin_epoch,
        num_epoch=num_epoch,
        kvstore="device",
        optimizer="sgd",
        optimizer_params={
            "learning_rate": 0.4,
            "momentum": 0.5,
            "begin_num_update": begin_epoch * 6,
            "lr_scheduler": ByEpochs(6, 0.4),
        },
        initializer=Drawn(),
        arg_params=arg_params,
        aux_params=aux_params,
        batch_end_callback=[mx.callback.Speedometer(8, 3), note],
        epoch_end_callback=mx.callback.do_checkpoint(prefix, 2),
    )
    return module


module = train_from(0, 4)
print(rates, sorted(os.listdir(folder)))
_, arg_params, aux_params = mx.model.load_checkpoint(prefix, 2)
resumed = train_from(2, 4, arg_params, aux_params)
print(rates)
for module in (module, resumed):
    outputs = module.predict(val)
    print([output.shape for output in outputs], [round(float(output.asnumpy().std()), 3) for output in outputs])
    print([(name, round(float(value), 3)) for name, value in module.score(val, Multi_Accuracy(num=2))])
alone = [[output.shape for output in outputs] for outputs in module.predict(val, merge_batches=False)]
print(alone)
