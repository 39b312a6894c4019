"""A loss that is an operator of its own, and a logistic regression on handwritten digits with it."""

import numpy

import minpy.numpy as np
from minpy.core import grad_and_loss
from minpy.primitive import customop
from minpy.utils.gradient_checker import quick_grad_check


@customop("numpy")
def my_softmax(x, y):
    probs = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
    probs /= numpy.sum(probs, axis=1, keepdims=True)
    return -numpy.sum(numpy.log(probs[numpy.arange(x.shape[0]), y])) / x.shape[0]


def my_softmax_grad(ans, x, y):
    def grad(g):
        probs = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
        probs /= numpy.sum(probs, axis=1, keepdims=True)
        probs[numpy.arange(x.shape[0]), y] -= 1
        return g * probs / x.shape[0]

    return grad


my_softmax.def_grad(my_softmax_grad)
my_softmax.def_grad_zero(argnum=1)
print(my_softmax.gradable((0, 1), ()), my_softmax.typestr, my_softmax.__name__)

digits = numpy.load("digits.npz")
images, labels = digits["images"].astype("float64") / 16, digits["labels"].astype("int64")


def loss_of(w, b):
    return my_softmax(np.dot(images, w) + b, labels)


w, b = numpy.zeros((64, 10)), numpy.zeros(10)
step = grad_and_loss(loss_of, [0, 1])
for iteration in range(31):
    (dw, db), loss = step(w, b)
    w, b = w - 2 * dw.asnumpy(), b - 2 * db.asnumpy()
    if iteration % 10 == 0:
        print("%d %.5f" % (iteration, loss))
print("%.3f" % (numpy.argmax(images.dot(w) + b, axis=1) == labels).mean())
print(quick_grad_check(lambda w: loss_of(w, b), w * 0.1, verbose=False, rs=numpy.random.RandomState(0)))
