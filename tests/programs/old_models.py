"""Models in files, as the programs of their time loaded them: tutorials on prediction and fine-tuning, and face models.

Prints what the networks of `tests/golden/models` say.
"""

import logging
import os
import tempfile
from collections import namedtuple

import mxnet as mx
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "golden", "models")
Batch = namedtuple("Batch", ["data"])


def show(name, array):
    array = array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)
    print(f"{name}: {array.shape} {array.dtype} {np.round(array.ravel()[:4].astype('float64'), 4).tolist()}")


def predict_tutorial():
    """Predicts with a pretrained network: no label is given."""
    sym, arg_params, aux_params = mx.model.load_checkpoint(os.path.join(MODELS, "resnet"), 1)
    mod = mx.mod.Module(symbol=sym, context=mx.cpu(), label_names=None)
    mod.bind(for_training=False, data_shapes=[("data", (1, 3, 12, 12))], label_shapes=mod._label_shapes)
    mod.set_params(arg_params, aux_params, allow_missing=True)
    rng = np.random.RandomState(0)
    img = rng.uniform(-1, 1, (12, 12, 3)).astype("float32")
    img = np.swapaxes(img, 0, 2)
    img = np.swapaxes(img, 1, 2)
    img = img[np.newaxis, :]
    mod.forward(Batch([mx.nd.array(img)]))
    prob = mod.get_outputs()[0].asnumpy()
    prob = np.squeeze(prob)
    a = np.argsort(prob)[::-1]
    for i in a[0:5]:
        print("probability=%f, class=%d" % (prob[i], i))


def features_tutorial():
    """Takes the features of an inner layer."""
    sym, arg_params, aux_params = mx.model.load_checkpoint(os.path.join(MODELS, "inception_bn"), 1)
    all_layers = sym.get_internals()
    print(all_layers.list_outputs()[-10:])
    fe_sym = all_layers["flatten_output"]
    fe_mod = mx.mod.Module(symbol=fe_sym, context=mx.cpu(), label_names=None)
    fe_mod.bind(for_training=False, data_shapes=[("data", (2, 3, 16, 16))])
    fe_mod.set_params(arg_params, aux_params)
    data = np.random.RandomState(1).uniform(-1, 1, (2, 3, 16, 16))
    fe_mod.forward(Batch([mx.nd.array(data)]))
    show("features", fe_mod.get_outputs()[0])
    print(fe_sym.infer_shape_partial(data=(2, 3, 16, 16))[1])


def finetune_tutorial():
    """Cuts a network off below its classifier, and trains a new one."""

    def get_fine_tune_model(symbol, arg_params, num_classes, layer_name="flatten0"):
        all_layers = symbol.get_internals()
        net = all_layers[layer_name + "_output"]
        net = mx.symbol.FullyConnected(data=net, num_hidden=num_classes, name="fc1")
        net = mx.symbol.SoftmaxOutput(data=net, name="softmax")
        new_args = dict({k: arg_params[k] for k in arg_params if "fc1" not in k})
        return (net, new_args)

    sym, arg_params, aux_params = mx.model.load_checkpoint(os.path.join(MODELS, "resnet"), 1)
    (new_sym, new_args) = get_fine_tune_model(sym, arg_params, 3, "pool1")
    rng = np.random.RandomState(2)
    labels = np.arange(24) % 3
    data = rng.uniform(-0.3, 0.3, (24, 3, 12, 12))
    data[np.arange(24), labels] += 0.7
    train = mx.io.NDArrayIter(data, labels, batch_size=8)
    mod = mx.mod.Module(symbol=new_sym, context=mx.cpu())
    mod.fit(
        train,
        num_epoch=4,
        arg_params=new_args,
        aux_params=aux_params,
        allow_missing=True,
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
        initializer=mx.init.Constant(0.1),
        eval_metric="acc",
    )
    metric = mx.metric.Accuracy()
    print("fine-tuned: %s %.4f" % mod.score(train, metric)[0])
    show("predicted", mod.predict(train))
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "tuned")
        mod.save_checkpoint(prefix, 4)
        print(sorted(os.listdir(folder)))
        again = mx.mod.Module.load(prefix, 4)
        again.bind(data_shapes=train.provide_data, label_shapes=train.provide_label, for_training=False)
        show("loaded again", again.predict(train))


class FaceModel:
    """Embeds faces, as programs for face recognition do."""

    def __init__(self, prefix, epoch, image_size, layer="fc1"):
        sym, arg_params, aux_params = mx.model.load_checkpoint(prefix, epoch)
        all_layers = sym.get_internals()
        sym = all_layers[layer + "_output"]
        model = mx.mod.Module(symbol=sym, context=mx.cpu(), label_names=None)
        model.bind(data_shapes=[("data", (1, 3, image_size[0], image_size[1]))])
        model.set_params(arg_params, aux_params)
        self.model = model

    def get_feature(self, aligned):
        input_blob = np.expand_dims(aligned, axis=0)
        data = mx.nd.array(input_blob)
        db = mx.io.DataBatch(data=(data,))
        self.model.forward(db, is_train=False)
        embedding = self.model.get_outputs()[0].asnumpy()
        return (embedding / np.sqrt((embedding**2).sum(axis=1, keepdims=True))).flatten()


def faces():
    """Compares two faces."""
    model = FaceModel(os.path.join(MODELS, "arcface"), 1, (8, 8))
    rng = np.random.RandomState(3)
    first, second = (model.get_feature(rng.randint(0, 256, (3, 8, 8))) for _ in range(2))
    show("embedding", first)
    print("similarity %.4f, distance %.4f" % (np.dot(first, second), np.sum(np.square(first - second))))


def detector():
    """Detects objects by an executor that is bound by hand."""
    sym, args, auxs = mx.model.load_checkpoint(os.path.join(MODELS, "ssd"), 1)
    print(sorted(set(sym.list_arguments()) - set(args)))
    group = sym.get_internals()
    detection = group["detection_output"]
    exe = detection.simple_bind(mx.cpu(), data=(1, 3, 32, 32), label=(1, 1, 5), grad_req="null")
    exe.copy_params_from(args, auxs, allow_extra_params=True)
    data = np.random.RandomState(4).uniform(-1, 1, (1, 3, 32, 32))
    out = exe.forward(is_train=False, data=mx.nd.array(data))[0].asnumpy()[0]
    found = out[out[:, 0] >= 0]
    print(len(found), "boxes; best:")
    for row in found[np.argsort(-found[:, 1])][:3]:
        print(int(row[0]), " ".join("%.3f" % number for number in row[1:]))


def renamed_data():
    """Feeds a network whose input has another name."""
    sym, args, auxs = mx.model.load_checkpoint(os.path.join(MODELS, "mobilenet"), 1)
    image = mx.sym.Variable("image")
    scaled = sym(data=image / 2)
    print(scaled.list_arguments()[:2])
    exe = scaled.simple_bind(mx.cpu(), image=(1, 3, 12, 12))
    for name, array in args.items():
        exe.arg_dict[name][:] = array
    for name, array in auxs.items():
        array.copyto(exe.aux_dict[name])
    show("renamed", exe.forward(image=mx.nd.ones((1, 3, 12, 12)))[0])


def by_hand():
    """Reads the parameters by hand, as deployment scripts do."""
    sym = mx.sym.load(os.path.join(MODELS, "text_cnn-symbol.json"))
    save_dict = mx.nd.load(os.path.join(MODELS, "text_cnn-0001.params"))
    arg_params, aux_params = {}, {}
    for k, v in save_dict.items():
        tp, name = k.split(":", 1)
        if tp == "arg":
            arg_params[name] = v
        if tp == "aux":
            aux_params[name] = v
    arg_params["data"] = mx.nd.array(np.arange(36).reshape((3, 12)) % 30)
    arg_params["softmax_label"] = mx.nd.empty((3,))
    exe = sym.bind(ctx=mx.cpu(), args=arg_params, grad_req="null", aux_states=aux_params)
    exe.forward(is_train=False)
    show("text", exe.outputs[0])
    print(sym.name, sym.list_outputs(), mx.sym.Group([sym, sym.get_internals()["over_time_output"]]).list_outputs())


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    predict_tutorial()
    features_tutorial()
    finetune_tutorial()
    faces()
    detector()
    renamed_data()
    by_hand()
