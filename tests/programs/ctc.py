"""A CTC training step: fixed and variable lengths, padding, greedy decoding."""

import mxnet as mx
import numpy as np
from mxnet import autograd

rng = np.random.RandomState(5)
T, N, C, D = 12, 3, 6, 4
x = mx.nd.array(rng.randn(T, N, D))
w = mx.nd.array(rng.randn(C, D) * 0.2)
b = mx.nd.zeros(C)
for p in (w, b):
    p.attach_grad()
labels = mx.nd.array([[1, 2, 2, 0], [3, 1, 0, 0], [5, 4, 3, 2]])
for blank, kw in (
    ("first", {}),
    ("last", {"label_lengths": mx.nd.array([3, 2, 4]), "use_label_lengths": True}),
    ("first", {"data_lengths": mx.nd.array([12, 8, 10]), "use_data_lengths": True}),
):
    lab = labels if blank == "first" else labels - 0
    if blank == "last":
        lab = mx.nd.array([[1, 2, 2, -1], [3, 1, -1, -1], [0, 4, 3, 2]])
    mom = [mx.nd.zeros_like(w), mx.nd.zeros_like(b)]
    for it in range(4):
        with autograd.record():
            act = mx.nd.FullyConnected(x, w, b, num_hidden=C, flatten=False)
            loss = mx.nd.ctc_loss(act, lab, blank_label=blank, **kw)
        loss.backward()
        for p, m in zip((w, b), mom):
            mx.nd.sgd_mom_update(
                p, p.grad, m, out=p, lr=0.05, momentum=0.9, wd=0, rescale_grad=1.0 / N, clip_gradient=5
            )
        print(blank, it, np.round(loss.asnumpy(), 4).tolist(), np.round(w.grad.asnumpy()[0], 4).tolist())
best = act.argmax(axis=2).astype("int32").T.asnumpy()
print(best.dtype, best.tolist())
for seq in best:
    out, prev = [], -1
    for s in seq:
        if s != prev and s != 0:
            out.append(int(s))
        prev = s
    print(out)
print(mx.nd.contrib.ctc_loss(act, labels).shape, mx.nd.CTCLoss(act, labels).dtype)
sym = mx.sym.CTCLoss(mx.sym.var("data"), mx.sym.var("label"), name="ctc")
print(sym.list_arguments(), sym.infer_shape(data=(12, 3, 6), label=(3, 4)))
ex = sym.bind(
    mx.cpu(),
    {"data": act, "label": labels},
    args_grad={"data": mx.nd.zeros_like(act)},
    grad_req={"data": "write", "label": "null"},
)
ex.forward(is_train=True)
ex.backward(mx.nd.ones((3,)))
print(np.round(ex.grad_dict["data"].asnumpy()[0], 4).tolist())
