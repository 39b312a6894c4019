"""Cases of `mx.mod`, `mx.model`, `mx.callback` and `mx.monitor`: numbers of training, orders of calls, texts of logs."""

# ruff: noqa: E501 - one case is one text

SETUP = """
import logging, re, warnings, os, tempfile
warnings.simplefilter("ignore")
logging.getLogger().setLevel(logging.INFO)
LOG = []
class Handler(logging.Handler):
    def emit(self, record):
        LOG.append(re.sub(r"(cost=|Speed: )[\\d.infe+]+", r"\\1", record.getMessage()))
for handler in list(logging.getLogger().handlers):
    if type(handler).__name__ == "Handler":
        logging.getLogger().removeHandler(handler)
logging.getLogger().addHandler(Handler())
def net(normed=True, hidden=3):
    h = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc")
    if normed:
        h = mx.sym.BatchNorm(h, name="bn", fix_gamma=False, eps=0.001)
    h = mx.sym.Activation(h, act_type="tanh", name="act")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(h, num_hidden=2, name="fc2"), name="softmax")
rs = np.random.RandomState(3)
X = rs.rand(22, 5).astype("float32")
Y = (X.sum(1) > 2.5).astype("float32")
W = {"fc_weight": mx.nd.array(rs.rand(3, 5) - .5), "fc_bias": mx.nd.zeros(3), "fc2_weight": mx.nd.array(rs.rand(2, 3) - .5),
     "fc2_bias": mx.nd.zeros(2), "bn_gamma": mx.nd.ones(3), "bn_beta": mx.nd.zeros(3)}
P = {name: array for name, array in W.items() if not name.startswith("bn")}
S = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
def data(size=4, **kwargs):
    return mx.io.NDArrayIter(X, Y, size, **kwargs)
def batch(n=4, start=0):
    return mx.io.DataBatch([mx.nd.array(X[start:start + n])], [mx.nd.array(Y[start:start + n])])
def made(symbol=None, shapes=((4, 5), (4,)), params=None, states=None, optimizer="sgd", options=None, **kwargs):
    bind = {key: kwargs.pop(key) for key in ("for_training", "inputs_need_grad", "grad_req") if key in kwargs}
    m = mx.mod.Module(net(False) if symbol is None else symbol, **kwargs)
    m.bind([("data", shapes[0])], [("softmax_label", shapes[1])], **bind)
    m.set_params(P if params is None else params, {} if states is None else states)
    m.init_optimizer(optimizer=optimizer, optimizer_params=options or {"learning_rate": .1})
    return m
def numbers(m):
    a, x = m.get_params()
    mx.nd.waitall()
    return [a[key] for key in sorted(a)] + [x[key] for key in sorted(x)]
def steps(m, count=5):
    for k in range(count):
        m.forward_backward(batch(4, 4 * (k % 5))); m.update()
    return numbers(m)
"""


def case(name, code):
    words = "".join(letter if letter.isalnum() else " " for letter in name).split()
    return "_".join(["module", *words]), SETUP + code


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "nag": {"learning_rate": 0.1, "momentum": 0.9},
    "adam": {"learning_rate": 0.02},
    "adagrad": {"learning_rate": 0.1},
    "rmsprop": {"learning_rate": 0.01},
    "adadelta": {},
    "ftrl": {"learning_rate": 0.1},
    "adamax": {"learning_rate": 0.01},
    "nadam": {"learning_rate": 0.01},
    "signum": {"learning_rate": 0.01, "momentum": 0.9},
    "ftml": {"learning_rate": 0.01},
}

CASES = [
    case(f"fit {name}", f"""
m = mx.mod.Module(net(False))
m.fit(data(), num_epoch=3, optimizer={name!r}, optimizer_params={options!r}, arg_params=P, aux_params={{}}, eval_metric="ce")
result = [*numbers(m), m.score(data(), "ce")[0][1]]
""")
    for name, options in OPTIMIZERS.items()
]  # fmt: skip
CASES += [
    case("fit with BatchNorm", """
m = mx.mod.Module(net())
m.fit(data(), num_epoch=3, optimizer_params={"learning_rate": .1}, arg_params=W, aux_params=S)
result = [*numbers(m), m.score(data(), "ce")[0][1]]
"""),
    case("two contexts", """
m = made(context=[mx.cpu(0), mx.cpu(1)])
result = [*steps(m), *m.get_outputs(), [o.shape for o in m.get_outputs(False)[0]]]
"""),
    case("two contexts, store that does not update", """
import os
os.environ["MXNET_UPDATE_ON_KVSTORE"] = "0"
try:
    m = made(context=[mx.cpu(0), mx.cpu(1)], options={"learning_rate": .1, "momentum": .9})
finally:
    del os.environ["MXNET_UPDATE_ON_KVSTORE"]
result = [*steps(m), m._update_on_kvstore, sorted(m._optimizer.idx2name.items())]
"""),
    case("contexts with loads", """
m = made(context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1, 3])
result = [*steps(m), [o.shape for o in m.get_outputs(False)[0]]]
"""),
    case("one context with a store", """
m = mx.mod.Module(net(False))
m.bind([("data", (4, 5))], [("softmax_label", (4,))])
m.set_params(P, {})
m.init_optimizer(kvstore=mx.kv.create("local"), optimizer_params={"learning_rate": .1, "momentum": .9})
result = [*steps(m), m._update_on_kvstore]
"""),
    case("fixed parameters", "result = steps(made(fixed_param_names=['fc_weight', 'fc_bias', 'fc2_bias']))"),
    case("grad_req add", """
m = made(grad_req="add")
for k in range(3):
    m.forward_backward(batch()); m.update()
result = numbers(m)
"""),
    case("grad_req dict", "result = steps(made(grad_req={'fc_weight': 'null', 'fc_bias': 'null'}))"),
    case("grad_req list", "result = steps(made(grad_req=['null', 'null', 'null', 'write', 'write', 'null']))"),
    case("input gradients", """
m = made(inputs_need_grad=True)
m.forward_backward(batch())
result = m.get_input_grads()
"""),
    case("input gradients of two contexts", """
m = made(inputs_need_grad=True, context=[mx.cpu(0), mx.cpu(1)])
m.forward_backward(batch())
result = [*m.get_input_grads(), [g.shape for g in m.get_input_grads(False)[0]]]
"""),
    case("out_grads of two contexts", """
s = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc2", no_bias=True)
m = mx.mod.Module(s, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
m.bind([("data", (4, 3))], inputs_need_grad=True)
m.set_params({"fc2_weight": P["fc2_weight"]}, {})
m.forward(mx.io.DataBatch([mx.nd.array(np.arange(12).reshape(4, 3))]), is_train=True)
m.backward([mx.nd.array(np.arange(8).reshape(4, 2))])
result = [*m.get_input_grads(), *[g for g in m._exec_group.grad_arrays[0]]]
"""),
    case("other batch sizes", """
m = made()
found = []
for n in (4, 2, 6, 4):
    m.forward_backward(batch(n)); m.update()
    found += [m.get_outputs()[0].copy(), str(m.data_shapes[0].shape), str(m.label_shapes[0].shape)]
result = found + numbers(m)
"""),
    case("reshape", """
m = made()
m.reshape([("data", (7, 5))], [("softmax_label", (7,))])
m.forward(batch(7))
result = [m.get_outputs()[0], m.output_shapes, m._exec_group.batch_size]
"""),
    case("rescale_grad", """
m = made()
m2 = made(optimizer=mx.optimizer.SGD(learning_rate=.1, rescale_grad=.25))
m3 = made(options={"learning_rate": .1, "rescale_grad": 2.})
result = [m._optimizer.rescale_grad, m2._optimizer.rescale_grad, m3._optimizer.rescale_grad, sorted(m2._optimizer.idx2name.items())]
"""),
    case("state_names", """
s = mx.sym.var("data") * mx.sym.var("scale")
m = mx.mod.Module(mx.sym.Group([s]), label_names=None, state_names=["scale"], context=[mx.cpu(0), mx.cpu(1)])
m.bind([("data", (4, 2))], for_training=False)
m.init_params()
m.set_states(value=3)
m.forward(mx.io.DataBatch([mx.nd.ones((4, 2))]))
first = m.get_outputs()[0].copy()
states = m.get_states(merge_multi_context=False)
m.set_states(states=[[array * 2 for array in row] for row in states])
m.forward(mx.io.DataBatch([mx.nd.ones((4, 2))]))
result = [first, m.get_outputs()[0], [len(states), len(states[0])], m._param_names]
"""),
    case("layout TNC is split along axis 1", """
s = mx.sym.sum(mx.sym.var("data"), axis=2)
m = mx.mod.Module(s, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
m.bind([mx.io.DataDesc("data", (3, 4, 2), layout="TNC")], for_training=False)
m.init_params()
m.forward(mx.io.DataBatch([mx.nd.array(np.arange(24).reshape(3, 4, 2))]))
result = [[o.asnumpy() for o in m.get_outputs(False)[0]]]
"""),
    case("initializer of variables, in order of names", """
class Named(mx.init.Initializer):
    order = []
    def __call__(self, desc, arr):
        if desc.attrs.get("__init__"):
            mx.init.create(*__import__("json").loads(desc.attrs["__init__"])[:1], **__import__("json").loads(desc.attrs["__init__"])[1])._init_weight(desc, arr)
        else:
            arr[:] = len(self.order)
        self.order.append(str(desc))
w = mx.sym.var("z_weight", init=mx.init.Constant(7))
s = mx.sym.FullyConnected(mx.sym.FullyConnected(mx.sym.var("data"), weight=w, num_hidden=2, name="a"), num_hidden=1, name="b")
m = mx.mod.Module(s, label_names=None); m.bind([("data", (1, 2))]); m.init_params(Named())
result = [Named.order, *numbers(m)]
"""),
    case("init_params with missing ones", """
m = mx.mod.Module(net(False)); m.bind([("data", (4, 5))], [("softmax_label", (4,))])
m.init_params(mx.init.Constant(2), arg_params={"fc_weight": P["fc_weight"]}, aux_params={}, allow_missing=True)
result = numbers(m)
"""),
    case("set_params: missing", "m = made(); m.set_params({}, {}); result = 0"),
    case("set_params: another shape", "m = made(); m.set_params({**P, 'fc_bias': mx.nd.zeros(4)}, {}); result = 0"),
    case("set_params: superfluous is left out", "m = made(); m.set_params({**P, 'foo': mx.nd.zeros(4)}, {}); result = numbers(m)"),
    case("set_params: superfluous, allow_missing", "m = made(); m.set_params({**P, 'foo': mx.nd.zeros(4)}, {}, allow_missing=True); result = 0"),
    case("set_params: allow_missing leaves the others", "m = made(); m.set_params({'fc_bias': mx.nd.ones(3)}, {}, allow_missing=True); result = numbers(m)"),
    case("set_params: force_init=False is ignored", "m = made(); m.set_params({}, {}, force_init=False); result = numbers(m)"),
    case("forward before bind", "m = mx.mod.Module(net()); m.forward(batch()); result = 0"),
    case("fit without epochs", "mx.mod.Module(net()).fit(data()); result = 0"),
    case("data_names that are not there", "result = mx.mod.Module(net(), data_names=['dat'])"),
    case("bind another name", "m = mx.mod.Module(net()); m.bind([('dat', (4, 5))]); result = 0"),
    case("predict", """
m = made(for_training=False)
it = data()
result = [m.predict(it), m.predict(it, num_batch=2).shape, [o.shape for o in m.predict(it, always_output_list=True)],
          [[o.shape for o in row] for row in m.predict(it, merge_batches=False)], m.predict(X[:4]), m.predict(mx.nd.array(X[:4]))]
"""),
    case("predict an array on a module for training", """
s = mx.sym.Dropout(mx.sym.var("data"), p=.999, name="drop")
m = mx.mod.Module(s, label_names=None); m.bind([("data", (40, 50))]); m.init_params()
result = [bool((m.predict(np.ones((40, 50), "float32")).asnumpy() == 1).all()), bool((m.predict(mx.io.NDArrayIter(np.ones((40, 50), "float32"), batch_size=40)).asnumpy() == 1).all())]
"""),
    case("score and iter_predict", """
m = made(for_training=False)
it = data()
result = [m.score(it, "acc"), m.score(it, ["acc", "ce"], num_batch=2), m.score(it, "ce", reset=False), [[o[0].shape, n, b.pad] for o, n, b in m.iter_predict(it)]]
"""),
    case("order of callbacks, and log", """
calls = []
def batch_end(tag):
    return lambda p: calls.append([tag, p.epoch, p.nbatch, [name for name, _ in p.eval_metric.get_name_value()], p.locals is None])
def epoch_end(epoch, symbol, arg_params, aux_params):
    calls.append(["epoch", epoch, symbol.name, sorted(arg_params), sorted(aux_params), round(float(arg_params["fc_weight"].sum().asscalar()), 3)])
m = mx.mod.Module(net())
m.fit(data(), data(), eval_metric=["acc", "ce"], validation_metric="ce", num_epoch=2, arg_params=W, aux_params=S, epoch_end_callback=[epoch_end],
      batch_end_callback=[batch_end("one"), batch_end("two")], eval_end_callback=batch_end("eval"), eval_batch_end_callback=[batch_end("eval batch")])
result = [calls, [re.sub(r"=[\\d.]+", "", line) for line in LOG]]
"""),
    case("Speedometer", """
for reset in (True, False):
    show = mx.callback.Speedometer(4, 2, auto_reset=reset)
    m = mx.metric.create(["acc", "mse"])
    for epoch in range(2):
        m.reset()
        for n in range(5):
            m.update([mx.nd.array([0, 1])], [mx.nd.array([[.9, .1], [.8, .2]])]) if False else m.metrics[0].update([mx.nd.array([0, 1])], [mx.nd.array([[.9, .1], [.8, .2]])])
            m.metrics[1].update([mx.nd.array([0, n])], [mx.nd.array([1, 1])])
            show(mx.model.BatchEndParam(epoch, n, m, None))
show(mx.model.BatchEndParam(0, 6, None, None))
result = LOG
"""),
    case("log_train_metric and validation", """
m = mx.metric.create("mse"); show = mx.callback.log_train_metric(2, True)
for n in range(5):
    m.update([mx.nd.array([0, n])], [mx.nd.array([1, 1])])
    show(mx.model.BatchEndParam(1, n, m, None))
m.update([mx.nd.array([0, 3])], [mx.nd.array([1, 1])])
mx.callback.LogValidationMetricsCallback()(mx.model.BatchEndParam(1, 3, m, None))
result = LOG
"""),
    case("checkpoints", """
folder = tempfile.mkdtemp(); prefix = os.path.join(folder, "net")
m = made(options={"learning_rate": .1, "momentum": .9})
save, whole = mx.callback.do_checkpoint(prefix, 2), mx.callback.module_checkpoint(m, prefix, 3, True)
for epoch in range(4):
    steps(m, 1); save(epoch, m.symbol, *m.get_params()); whole(epoch)
again = mx.mod.Module.load(prefix, 3, True)
again.bind([("data", (4, 5))], [("softmax_label", (4,))]); again.init_optimizer(optimizer_params={"learning_rate": .1, "momentum": .9})
steps(again, 1)
result = [sorted(os.listdir(folder)), [line.replace(folder, "") for line in LOG], *steps(again, 2)]
"""),
    case("monitor", """
m = made(); mon = mx.mon.Monitor(2, stat_func=lambda a: [a.min(), a.max()], pattern="fc.*(output|weight|bias)$|act_output")
m.install_monitor(mon)
found = []
for k in range(4):
    mon.tic(); m.forward_backward(batch()); m.update(); found.append([[n, name, [round(float(v), 4) for v in text.split()]] for n, name, text in mon.toc()])
result = found
"""),
    case("monitor sorted, printed", """
m = made(net(), params=W, states=S); mon = mx.mon.Monitor(1, pattern="fc_weight|softmax_output|bn_moving.*", sort=True)
m.install_monitor(mon); mon.tic(); m.forward(batch(), is_train=False); mon.toc_print()
result = [line[:45] for line in LOG]
"""),
    case("shared_module", """
one = made(); two = mx.mod.Module(net(False))
two.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=one)
two.forward_backward(batch(2)); two.update()
one.forward(batch()); result = [one.get_outputs()[0], two.optimizer_initialized, *numbers(two)]
"""),
    case("rebind", """
m = made(); steps(m, 2)
m.bind([("data", (2, 5))], [("softmax_label", (2,))], force_rebind=True)
m.forward(batch(2)); first = m.get_outputs()[0].copy()
m.bind([("data", (4, 5))], [("softmax_label", (4,))])
result = [first, LOG, m.data_shapes[0].shape]
"""),
    case("buckets", """
def gen(key):
    h = mx.sym.Embedding(mx.sym.var("data"), input_dim=6, output_dim=2, name="embed")
    h = mx.sym.FullyConnected(mx.sym.mean(h, axis=1), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(h, name="softmax"), ("data",), ("softmax_label",)
r = np.random.RandomState(1)
values = {"embed_weight": mx.nd.array(r.rand(6, 2)), "fc_weight": mx.nd.array(r.rand(3, 2)), "fc_bias": mx.nd.zeros(3)}
def bucket(key, n=4):
    return mx.io.DataBatch([mx.nd.array(r.randint(0, 6, (n, key)))], [mx.nd.array(r.randint(0, 3, n))], pad=0, bucket_key=key,
                           provide_data=[mx.io.DataDesc("data", (n, key))], provide_label=[mx.io.DataDesc("softmax_label", (n,))])
m = mx.mod.BucketingModule(gen, default_bucket_key=5)
m.bind([("data", (4, 5))], [("softmax_label", (4,))]); m.set_params(values, {})
m.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": .05})
found = []
for key in (5, 3, 2, 3, 5, 4):
    b = bucket(key); m.prepare(b); found.append(m._curr_bucket_key); m.forward(b, is_train=True); m.backward(); m.update()
    found += [m._curr_bucket_key, m.get_outputs()[0].copy(), m.data_shapes[0].shape]
folder = tempfile.mkdtemp(); m.save_checkpoint(os.path.join(folder, "b"), 2)
again = mx.mod.BucketingModule.load(os.path.join(folder, "b"), 2, sym_gen=gen, default_bucket_key=5)
again.bind([("data", (4, 5))], [("softmax_label", (4,))], for_training=False)
b = bucket(2); again.forward(b); m.forward(b, is_train=False)
result = [found, sorted(os.listdir(folder)), again.get_outputs()[0], m.get_outputs()[0], *numbers(m)]
"""),
    case("SequentialModule with a loss in Python", """
body = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
head = mx.sym.FullyConnected(mx.sym.var("act"), num_hidden=2, name="fc2")
def grad(scores, labels):
    scores = scores.asnumpy(); e = np.exp(scores - scores.max(1, keepdims=True)); p = e / e.sum(1, keepdims=True)
    p[np.arange(len(p)), labels.asnumpy().astype(int)] -= 1
    return mx.nd.array(p)
m = mx.mod.SequentialModule()
m.add(mx.mod.Module(body, label_names=None)).add(mx.mod.Module(head, data_names=["act"], label_names=None), auto_wiring=True)
m.add(mx.mod.PythonLossModule(grad_func=grad), take_labels=True, auto_wiring=True)
m.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
m.init_params(arg_params=P, aux_params={}); m.init_optimizer(optimizer_params={"learning_rate": .1})
metric = mx.metric.create("acc")
for k in range(4):
    b = batch(4, 4 * k); m.forward(b, is_train=True); m.backward(); m.update(); m.update_metric(metric, b.label)
result = [*numbers(m), m.output_shapes, m.data_names, m.output_names, metric.get()[1]]
"""),
    case("SequentialModule fit", """
head = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc2"), name="softmax")
m = mx.mod.SequentialModule()
m.add(mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), label_names=[]))
m.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
m.fit(data(), num_epoch=2, arg_params=P, aux_params={}, optimizer_params={"learning_rate": .1})
result = [*numbers(m), m.predict(data())]
"""),
    case("FeedForward", """
m = mx.model.FeedForward(net(), num_epoch=2, learning_rate=.1, momentum=.9, arg_params=dict(W), aux_params=dict(S))
calls = []
m.fit(data(), eval_data=data(), batch_end_callback=lambda p: calls.append([p.epoch, p.nbatch]))
folder = tempfile.mkdtemp(); m.save(os.path.join(folder, "ff"))
again = mx.model.FeedForward.load(os.path.join(folder, "ff"), 2)
result = [calls, [re.sub(r"=[\\d.]+", "", line.replace(folder, "")) for line in LOG], m.predict(data()), again.predict(X), m.score(data()), again.begin_epoch,
          [array.shape for array in m.predict(data(), return_data=True)], *[m.arg_params[key] for key in sorted(m.arg_params)], *[m.aux_params[key] for key in sorted(m.aux_params)]]
"""),
    case("FeedForward on two contexts, epoch_size", """
m = mx.model.FeedForward(net(False), ctx=[mx.cpu(0), mx.cpu(1)], num_epoch=3, epoch_size=4, optimizer="adam", learning_rate=.02, arg_params=dict(P), aux_params={}, begin_epoch=1)
m.fit(data(), eval_metric="ce")
result = [[re.sub(r"=[\\d.]+", "", line) for line in LOG], *[m.arg_params[key] for key in sorted(m.arg_params)]]
"""),
    case("model._create_kvstore", """
kv = mx.model._create_kvstore
w = {"a": mx.nd.ones((2, 2))}
result = [[found[0] is None, found[1]] for found in (kv("local", 1, w), kv("local", 2, w), kv("device", 2, w), kv(None, 2, w), kv(mx.kv.create("local"), 1, w))]
"""),
    case("split of a batch", """
from mxnet.executor_manager import _split_input_slice as split
result = [[[part.start, part.stop] for part in split(*args)] for args in ((10, [1, 1]), (10, [1, 1, 1]), (7, [1, 2]), (9, [1, 3, 1, 1]), (11, [1, 1, 1, 1]))]
""".replace("from mxnet.executor_manager import _split_input_slice as split", "split = mx.executor_manager._split_input_slice")),
    case("split of a batch that is too small", "result = mx.executor_manager._split_input_slice(2, [1, 1, 1])"),
]  # fmt: skip
