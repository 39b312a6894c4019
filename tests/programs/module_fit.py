"""Training as image-classification/common/fit.py of MXNet's examples had it, on strokes that are drawn here."""

import argparse
import logging
import os
import re
import sys
import tempfile

import mxnet as mx
import numpy as np


class Printed(logging.Handler):
    def emit(self, record):
        print(re.sub(r"(cost=|Speed: )[\d.]+", r"\1#", record.getMessage()).replace(tempfile.gettempdir(), ""))


logging.getLogger().addHandler(Printed())
logging.getLogger().setLevel(logging.INFO)


def drawn(count, seed):
    """Pictures with a horizontal, a vertical or a slanting stroke."""
    random = np.random.RandomState(seed)
    label = random.randint(0, 3, count)
    images = random.uniform(0, 0.2, (count, 1, 12, 12))
    for image, kind in zip(images, label):
        place = random.randint(2, 10)
        if kind == 0:
            image[0, place, :] += 1
        elif kind == 1:
            image[0, :, place] += 1
        else:
            for k in range(12):
                image[0, k, (k + place) % 12] += 1
    return images.astype("float32"), label.astype("float32")


class Drawn(mx.init.Initializer):
    """As Xavier, with numbers of NumPy."""

    def __init__(self):
        super(Drawn, self).__init__()
        self.random = np.random.RandomState(7)

    def _init_weight(self, name, arr):
        scale = np.sqrt(3.0 / np.prod(arr.shape[1:]))
        arr[:] = self.random.uniform(-scale, scale, arr.shape)


def get_symbol(num_classes):
    data = mx.symbol.Variable("data")
    body = data
    for i, filters in enumerate([8, 16]):
        body = mx.symbol.Convolution(data=body, kernel=(3, 3), num_filter=filters, pad=(1, 1), name="conv%d" % i)
        body = mx.symbol.BatchNorm(data=body, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn%d" % i)
        body = mx.symbol.Activation(data=body, act_type="relu", name="relu%d" % i)
        body = mx.symbol.Pooling(data=body, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool%d" % i)
    flat = mx.symbol.Flatten(data=body, name="flatten0")
    fc1 = mx.symbol.FullyConnected(data=flat, num_hidden=num_classes, name="fc1")
    return mx.symbol.SoftmaxOutput(data=fc1, name="softmax")


def _get_lr_scheduler(args, num_examples):
    epoch_size = num_examples // args.batch_size
    begin_epoch = args.load_epoch if args.load_epoch else 0
    step_epochs = [int(l) for l in args.lr_step_epochs.split(",")]
    lr = args.lr
    for s in step_epochs:
        if begin_epoch >= s:
            lr *= args.lr_factor
    if lr != args.lr:
        logging.info("Adjust learning rate to %e for epoch %d", lr, begin_epoch)
    steps = [epoch_size * (x - begin_epoch) for x in step_epochs if x - begin_epoch > 0]
    if not steps:
        return lr, None
    return lr, mx.lr_scheduler.MultiFactorScheduler(step=steps, factor=args.lr_factor, base_lr=args.lr)


def _load_model(args):
    if not args.load_epoch:
        return None, None, None
    sym, arg_params, aux_params = mx.model.load_checkpoint(args.model_prefix, args.load_epoch)
    logging.info("Loaded model %s_%04d.params", args.model_prefix, args.load_epoch)
    return sym, arg_params, aux_params


def fit(args, network):
    kv = mx.kvstore.create(args.kv_store)
    train = mx.io.NDArrayIter(*drawn(args.num_examples, 1), batch_size=args.batch_size)
    val = mx.io.NDArrayIter(*drawn(60, 2), batch_size=args.batch_size)
    sym, arg_params, aux_params = _load_model(args)
    if sym is not None:
        print(sym.list_arguments() == network.list_arguments(), sym.list_auxiliary_states())
    devs = [mx.cpu(int(i)) for i in args.devices.split(",")]
    lr, lr_scheduler = _get_lr_scheduler(args, args.num_examples)
    model = mx.mod.Module(context=devs, symbol=network)
    optimizer_params = {"learning_rate": lr, "wd": 1e-4, "momentum": 0.9, "multi_precision": True}
    if lr_scheduler is not None:
        lr_scheduler.base_lr = lr
        optimizer_params["lr_scheduler"] = lr_scheduler
    eval_metrics = ["accuracy", mx.metric.create("top_k_accuracy", top_k=2), "ce"]
    model.fit(
        train,
        begin_epoch=args.load_epoch if args.load_epoch else 0,
        num_epoch=args.num_epochs,
        eval_data=val,
        eval_metric=eval_metrics,
        kvstore=kv,
        optimizer="sgd",
        optimizer_params=optimizer_params,
        initializer=Drawn(),
        arg_params=arg_params,
        aux_params=aux_params,
        batch_end_callback=[mx.callback.Speedometer(args.batch_size, args.disp_batches)],
        epoch_end_callback=mx.callback.do_checkpoint(args.model_prefix),
        allow_missing=True,
        monitor=mx.mon.Monitor(args.monitor, pattern="conv0_weight|fc1_output") if args.monitor else None,
    )
    return model, val


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--num-examples", type=int, default=200)
    parser.add_argument("--num-epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--lr-factor", type=float, default=0.1)
    parser.add_argument("--lr-step-epochs", type=str, default="2,5")
    parser.add_argument("--kv-store", type=str, default="device")
    parser.add_argument("--devices", type=str, default="0")
    parser.add_argument("--disp-batches", type=int, default=4)
    parser.add_argument("--monitor", type=int, default=0)
    parser.add_argument("--load-epoch", type=int)
    parser.add_argument("--model-prefix", type=str)
    return fit(parser.parse_args(argv), get_symbol(3))


folder = tempfile.mkdtemp(prefix="mx")
prefix = os.path.join(folder, "strokes")


class Same(logging.Filter):
    def filter(self, record):
        record.msg, record.args = record.getMessage().replace(folder, "FOLDER"), ()
        return True


logging.getLogger().handlers[-1].addFilter(Same())
model, val = main(["--model-prefix", prefix, "--monitor", "6"])
print(sorted(os.listdir(folder)))
model, val = main(["--model-prefix", prefix, "--load-epoch", "2", "--num-epochs", "4", "--devices", "0,1"])
print([(name, round(float(value), 4)) for name, value in model.score(val, mx.metric.create(["acc", "ce"]))])
probabilities = model.predict(val)
print(probabilities.shape, probabilities[:3].asnumpy().round(3).tolist())

# Features of the layer before the last, as the tutorial on pretrained models takes them.
sym, arg_params, aux_params = mx.model.load_checkpoint(prefix, 4)
features = sym.get_internals()["flatten0_output"]
module = mx.mod.Module(symbol=features, label_names=None)
module.bind(for_training=False, data_shapes=[("data", (1, 1, 12, 12))])
module.set_params(arg_params, aux_params)
module.forward(mx.io.DataBatch([mx.nd.array(drawn(1, 3)[0])]))
print(module.get_outputs()[0].shape, float(module.get_outputs()[0].asnumpy().sum()))

# Fine-tuning: the last layer anew, the first one fixed.
net = mx.symbol.SoftmaxOutput(mx.symbol.FullyConnected(features, num_hidden=2, name="fc_new"), name="softmax")
images, label = drawn(80, 5)
module = mx.mod.Module(net, fixed_param_names=["conv0_weight", "conv0_bias"])
module.fit(
    mx.io.NDArrayIter(images, label % 2, 20),
    num_epoch=2,
    arg_params={k: v for k, v in arg_params.items() if "fc1" not in k},
    aux_params=aux_params,
    allow_missing=True,
    initializer=Drawn(),
    optimizer="adam",
    optimizer_params={"learning_rate": 0.01},
)
print(bool((module.get_params()[0]["conv0_weight"].asnumpy() == arg_params["conv0_weight"].asnumpy()).all()))
