"""NumpyOp, CustomOp in a symbol, DLPack, profiler around a loop, old names, NDArray manners."""

import json
import os
import tempfile
import mxnet as mx
import numpy as np
from mxnet import nd, autograd


class NumpySoftmax(mx.operator.NumpyOp):
    def __init__(self):
        super(NumpySoftmax, self).__init__(False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        x = in_data[0]
        out_data[0][:] = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        out_data[0] /= out_data[0].sum(axis=1).reshape((x.shape[0], 1))

    def backward(self, out_grad, in_data, out_data, in_grad):
        lab = in_data[1].astype(int)
        in_grad[0][:] = out_data[0]
        in_grad[0][np.arange(lab.shape[0]), lab] -= 1.0


folder = tempfile.mkdtemp()
mx.profiler.set_config(
    profile_all=True, aggregate_stats=True, continuous_dump=True, filename=os.path.join(folder, "p.json")
)
mx.profiler.set_state("run")
net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
net = NumpySoftmax()(data=net, name="softmax")
print(net.list_arguments())
rng = np.random.RandomState(0)
X, Y = rng.randn(8, 4), np.array([0, 1, 2, 0, 1, 2, 0, 1])
ex = net.simple_bind(mx.cpu(), data=(8, 4), softmax_label=(8,))
ex.arg_dict["fc_weight"][:] = rng.randn(3, 4) * 0.1
for i in range(3):
    task = mx.profiler.Task(mx.profiler.Domain("train"), "step")
    task.start()
    out = ex.forward(is_train=True, data=nd.array(X), softmax_label=nd.array(Y))[0]
    ex.backward()
    for n in ("fc_weight", "fc_bias"):
        ex.arg_dict[n] -= 0.1 * ex.grad_dict[n]
    task.stop()
    print("%.4f" % -np.log(out.asnumpy()[np.arange(8), Y]).mean())
nd.waitall()
mx.profiler.set_state("stop")
table = mx.profiler.dumps(reset=True)
print("FullyConnected" in table, isinstance(table, str))
mx.profiler.dump(finished=True)
events = json.load(open(os.path.join(folder, "p.json")))["traceEvents"]
print(len(events) > 5, any(e.get("name") == "step" for e in events))


class Scale(mx.operator.CustomOp):
    def __init__(self, k):
        self.k = k

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.k)
        aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.k)


@mx.operator.register("scale_count")
class ScaleProp(mx.operator.CustomOpProp):
    def __init__(self, k="1"):
        super(ScaleProp, self).__init__(need_top_grad=True)
        self.k = float(k)

    def list_arguments(self):
        return ["data"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        return Scale(self.k)


s = mx.sym.Custom(mx.sym.var("x"), op_type="scale_count", k=3, name="sc")
print(s.list_arguments(), s.list_auxiliary_states())
ex = s.simple_bind(mx.cpu(), x=(2, 2))
ex.forward(is_train=True, x=nd.ones((2, 2)))
ex.backward(nd.ones((2, 2)))
print(ex.outputs[0].asnumpy().tolist(), ex.grad_dict["x"].asnumpy().tolist(), ex.aux_dict["sc_count"].asnumpy())
x = nd.arange(6).reshape((2, 3))
y = nd.from_dlpack(x.to_dlpack_for_write())
y[0, 0] = 42
print(x.asnumpy().tolist(), nd.from_dlpack(x.to_dlpack_for_read()).shape)
z = nd.from_numpy(np.ones((2, 2), "float32"))
print(z, z.context, z.stype, z.ndim, z.size, z.T.shape, len(z), z.dtype)
print(
    nd.concatenate([x, x], axis=1).shape,
    nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape,
    nd.onehot_encode(nd.array([0, 2]), nd.zeros((2, 3))).asnumpy().tolist(),
    nd.add(x, 1).sum().asscalar(),
    nd.true_divide(x, 2)[1, 1].asscalar(),
)
print(
    (x > 2).asnumpy().tolist(),
    (x == x).sum().asscalar(),
    (3 - x)[0].asnumpy(),
    (2**x)[0].asnumpy(),
    (x % 4).asnumpy().tolist(),
    (-x).min().asscalar(),
)
x[1] = nd.array([7, 8, 9])
x[:, 1:2] = 0
x[0] += 1
print(
    x.asnumpy().tolist(), x[1, 2].asscalar(), x[1][0:2].shape, x[nd.array([1, 0])].shape, x[:, ::-1].asnumpy().tolist()
)
if x[1, 0] > 3:
    print("scalar truth", "%d" % x[1, 0].asscalar())
for e in (
    lambda: bool(x),
    lambda: nd.zeros((2, 3)) + nd.zeros((3, 2)),
    lambda: nd.dot(x, x),
    lambda: x.reshape((4, 4)),
    lambda: x.asscalar(),
    lambda: nd.concat(x, nd.zeros((3, 4)), dim=0),
    lambda: x.no_such_method,
    lambda: nd.FullyConnected(x, nd.zeros((2, 4)), nd.zeros(2), num_hidden=2),
):
    try:
        e()
        print("no error")
    except Exception as err:
        print(isinstance(err, (ValueError, mx.MXNetError, AttributeError)))
print(
    mx.nd.zeros((2,), mx.cpu(0), "int8").dtype,
    nd.full((1, 2), 3, dtype="float64").dtype,
    nd.array(np.ones(2, "int64")).dtype,
    nd.array([1, 2]).dtype,
    nd.arange(3, dtype="int32").dtype,
    nd.empty((2, 0)).shape,
)
print(mx.context.num_gpus(), mx.cpu() == mx.Context("cpu", 0), mx.current_context(), mx.cpu_pinned(), str(mx.gpu(1)))
with mx.Context(mx.cpu(0)):
    print(nd.ones(1).ctx, nd.ones(1).as_in_context(mx.cpu()).context, nd.ones(1).copy().ctx)
print(autograd.is_training(), autograd.is_recording())
a = nd.array([1.0, 2.0])
a.attach_grad(grad_req="add")
for _ in range(3):
    with autograd.record(train_mode=False):
        l = (a * a).sum()
    l.backward()
print(a.grad.asnumpy(), autograd.is_training())
