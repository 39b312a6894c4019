"""Dive into Deep Learning with mx.np: linear regression, softmax regression, MLP, attention, from scratch."""

from mxnet import autograd, np, npx
import os
import tempfile
import numpy as onp

npx.set_np()


def p(*args):
    print(*[onp.round(a.asnumpy().astype("f8"), 4).tolist() if isinstance(a, np.ndarray) else a for a in args])


x = np.arange(12)
p(x, x.shape, x.size, x.dtype)
X = x.reshape(3, 4)
p(X[-1], X[1:3]), p(np.zeros((2, 3, 4)).shape, np.ones((2, 3)).dtype)
X[1, 2] = 9
X[0:2, :] = 12
p(X)
y = np.array([2, 1, 4, 3])
x = np.array([1.0, 2, 4, 8])
p(x + y, x - y, x * y, x / y, x**y), p(np.exp(x))
p(np.concatenate([X, X.T.reshape(3, 4)], axis=0).shape, X == 12, X.sum())
before = id(X)
X += 1
p(id(X) == before)
a = np.arange(3).reshape(3, 1)
p(a + np.arange(2).reshape(1, 2))
A = X.asnumpy()
p(type(A), type(np.array(A)).__name__)
s = np.array([3.5])
p(s, s.item(), float(s), int(s))
A = np.arange(20).reshape(5, 4)
p(
    A.sum(axis=0),
    A.sum(axis=[0, 1]),
    A.mean(),
    A.cumsum(axis=0)[-1],
    A.sum(axis=1, keepdims=True).shape,
    np.dot(A, np.ones(4)),
    np.linalg.norm(np.array([3, -4.0])),
)
x = np.arange(4.0)
x.attach_grad()
with autograd.record():
    y = 2 * np.dot(x, x)
y.backward()
p(x.grad, y.shape, x.grad == 4 * x)
with autograd.record():
    y = x * x
    u = y.detach()
    z = u * x
z.backward()
p(x.grad == u)


def f(a):
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b


a = np.array(0.7)
a.attach_grad()
with autograd.record():
    d = f(a)
d.backward()
p(a.grad == d / a, a.grad)

rng = onp.random.RandomState(0)
Xd = np.array(rng.randn(100, 2), dtype="float32")
yd = np.dot(Xd, np.array([2, -3.4])) + 4.2 + np.array(rng.randn(100) * 0.01)
w, b = np.zeros((2, 1)), np.zeros(1)
w.attach_grad()
b.attach_grad()
for epoch in range(3):
    for i in range(0, 100, 10):
        with autograd.record():
            l = (np.dot(Xd[i : i + 10], w) + b - yd[i : i + 10].reshape(-1, 1)) ** 2 / 2
        l.backward()
        for q in (w, b):
            q[:] = q - 0.1 * q.grad / 10
    p(epoch, l.mean(), w.reshape(-1), b)


def softmax(X):
    X_exp = np.exp(X)
    return X_exp / X_exp.sum(1, keepdims=True)


def cross_entropy(y_hat, y):
    return -np.log(y_hat[range(len(y_hat)), y])


W1, b1 = np.array(rng.randn(2, 6) * 0.5, dtype="float32"), np.zeros(6)
W2, b2 = np.array(rng.randn(6, 3) * 0.5, dtype="float32"), np.zeros(3)
labels = np.array(rng.randint(0, 3, 100), dtype="int32")
for q in (W1, b1, W2, b2):
    q.attach_grad()
for epoch in range(4):
    with autograd.record():
        H = np.maximum(np.dot(Xd, W1) + b1, 0)
        y_hat = softmax(np.dot(H, W2) + b2)
        l = cross_entropy(y_hat, labels).mean()
    l.backward()
    for q in (W1, b1, W2, b2):
        q -= 0.5 * q.grad
    acc = float((y_hat.argmax(axis=1).astype(labels.dtype) == labels).sum()) / len(labels)
    p(epoch, l, acc)


def masked_softmax(X, valid_lens):
    shape = X.shape
    valid_lens = valid_lens.repeat(shape[1]) if valid_lens.ndim == 1 else valid_lens.reshape(-1)
    X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid_lens, True, value=-1e6, axis=1)
    return npx.softmax(X).reshape(shape)


q, k, v = [np.array(rng.randn(2, 3, 4), dtype="float32") for _ in range(3)]
att = masked_softmax(npx.batch_dot(q, k, transpose_b=True) / 2, np.array([2, 3]))
p(att, npx.batch_dot(att, v).sum())
P = np.zeros((1, 10, 8))
Z = np.arange(10).reshape(-1, 1) / np.power(10000, np.arange(0, 8, 2) / 8)
P[:, :, 0::2] = np.sin(Z)
P[:, :, 1::2] = np.cos(Z)
p(P[0, 3])
Xc = np.array(rng.randn(1, 1, 6, 8), dtype="float32")


def corr2d(X, K):
    h, w = K.shape
    Y = np.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i : i + h, j : j + w] * K).sum()
    return Y


K = np.array([[1.0, -1.0]])
p(corr2d(Xc[0, 0], K)[0], npx.convolution(Xc, K.reshape(1, 1, 1, 2), np.zeros(1), kernel=(1, 2), num_filter=1)[0, 0, 0])
p(
    npx.one_hot(np.array([0, 2]), 5),
    npx.topk(np.array([3.0, 1, 2]), k=2, ret_typ="indices"),
    npx.relu(x - 2),
    npx.sigmoid(x),
    npx.pick(att[0], np.array([0, 1, 0])),
)
idx = np.meshgrid(np.arange(3), np.arange(2), indexing="ij")
p(
    idx[0],
    np.stack((idx[0], idx[1])).shape,
    np.einsum("ij,kj->ik", A, A)[0],
    np.where(A > 5, A, 0)[1],
    np.clip(A, 3, 6)[1],
)
p(
    np.split(A, 2, axis=1)[1][0],
    np.expand_dims(A, 0).shape,
    np.squeeze(np.ones((1, 3))).shape,
    np.nonzero(np.array([0, 1, 2]))[0],
    A[A > 17],
    A[[0, 2]][:, 1],
    np.linspace(0, 1, 3),
    np.tile(x, 2),
)
p(
    np.random.normal(0, 1, size=(2, 3)).shape,
    np.random.uniform(size=3).dtype,
    np.random.randint(0, 5, 3).shape,
    np.random.randn(2).shape,
    np.random.multinomial(10, [0.5, 0.5]).sum(),
    np.random.rand(2).shape,
)
path = os.path.join(tempfile.mkdtemp(), "arrays")
npx.save(path, {"x": x, "A": A})
p(sorted(npx.load(path)), npx.load(path)["A"].sum())
print(x, A[:2], np.array(2.5), a)
