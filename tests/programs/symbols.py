"""Symbolic convolutional network: JSON, saved parameters, executor training, internals, attributes, Group."""

import json
import os
import tempfile
import mxnet as mx
import numpy as np

rng = np.random.RandomState(12)
data = mx.sym.Variable("data")
label = mx.sym.Variable("softmax_label")


def conv_bn(net, filters, name, **kw):
    net = mx.sym.Convolution(
        data=net, num_filter=filters, kernel=(3, 3), pad=(1, 1), no_bias=True, name=name + "_conv", **kw
    )
    net = mx.sym.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name=name + "_bn")
    return mx.sym.Activation(data=net, act_type="relu", name=name + "_relu")


net = conv_bn(data, 4, "a")
shortcut = net
net = conv_bn(net, 4, "b") + shortcut
net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
with mx.AttrScope(lr_mult="0.5", __group__="head"):
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=3, name="fc")
net = mx.sym.SoftmaxOutput(net, label, name="softmax", normalization="batch")
print(net.list_arguments(), net.list_auxiliary_states(), net.list_outputs())
arg_shapes, out_shapes, aux_shapes = net.infer_shape(data=(6, 1, 8, 8))
print(arg_shapes, out_shapes, aux_shapes)
print(sorted(net.attr_dict().get("fc").items()), net.attr("name"), net.name)
text = net.tojson()
again = mx.sym.load_json(text)
print(len(json.loads(text)["nodes"]), again.tojson() == text)
X = rng.randn(6, 1, 8, 8).astype("float32")
Y = np.array([0, 1, 2, 0, 1, 2], "float32")
exe = again.simple_bind(
    mx.cpu(),
    data=(6, 1, 8, 8),
    grad_req={n: "null" if n in ("data", "softmax_label") else "write" for n in net.list_arguments()},
)
for name, arr in sorted(exe.arg_dict.items()):
    if name.endswith("gamma"):
        arr[:] = 1
    elif name.endswith(("beta", "bias")):
        arr[:] = 0
    elif name.endswith("weight"):
        arr[:] = rng.uniform(-0.3, 0.3, arr.shape)
for name, arr in exe.aux_dict.items():
    arr[:] = 1 if name.endswith("var") else 0
for step in range(5):
    out = exe.forward(is_train=True, data=X, softmax_label=Y)[0]
    exe.backward()
    for name, grad in exe.grad_dict.items():
        if grad is not None:
            mx.nd.sgd_update(exe.arg_dict[name], grad, lr=0.2, out=exe.arg_dict[name])
    mx.nd.waitall()
    print(
        step,
        "%.4f" % -np.log(out.asnumpy()[np.arange(6), Y.astype(int)]).mean(),
        np.round(exe.aux_dict["a_bn_moving_mean"].asnumpy(), 4).tolist(),
    )
folder = tempfile.mkdtemp()
prefix = os.path.join(folder, "net")
net.save(prefix + "-symbol.json")
mx.nd.save(
    prefix + "-0005.params",
    dict(
        [
            ("arg:" + k, v)
            for k, v in exe.arg_dict.items()
            if "weight" in k or "gamma" in k or "beta" in k or "bias" in k
        ]
        + [("aux:" + k, v) for k, v in exe.aux_dict.items()]
    ),
)
loaded = mx.sym.load(prefix + "-symbol.json")
params = mx.nd.load(prefix + "-0005.params")
args = {k[4:]: v for k, v in params.items() if k.startswith("arg:")}
aux = {k[4:]: v for k, v in params.items() if k.startswith("aux:")}
internals = loaded.get_internals()
print([n for n in internals.list_outputs() if n.endswith("_output")])
feature = mx.sym.Group([internals["b_relu_output"], internals["fc_output"]])
args["data"] = mx.nd.array(X[:2])
e = feature.bind(mx.cpu(), {k: args[k] for k in feature.list_arguments()}, aux_states=aux)
f, g = e.forward(is_train=False)
print(f.shape, np.round(g.asnumpy(), 4).tolist(), "%.4f" % f.sum().asscalar())
print(loaded.get_children().list_outputs() if loaded.get_children() is not None else None)
r = e.reshape(data=(4, 1, 8, 8), allow_up_sizing=True)
print(r.arg_dict["data"].shape)
a, b = mx.sym.var("a"), mx.sym.var("b")
c = (a * 2 + b) / (a - 1.5) ** 2
print(c.list_arguments(), c.eval(ctx=mx.cpu(), a=mx.nd.ones((2,)), b=mx.nd.array([3, 4]))[0].asnumpy().tolist())
composed = c(a=mx.sym.sin(mx.sym.var("x")), name="composed")
print(composed.list_arguments(), composed.infer_type(x="float32", b="float32"))
print(c.infer_shape_partial(a=(2, 0)), mx.sym.Group([a, c]).list_outputs())
print(mx.sym.broadcast_add(a, b).infer_shape(a=(2, 1), b=(1, 3)))
h = mx.sym.RNN(
    data, mx.sym.var("p"), mx.sym.var("s"), mx.sym.var("c"), state_size=4, num_layers=1, mode="lstm", state_outputs=True
)
print(h.list_outputs(), h.infer_shape(data=(3, 2, 5)))
