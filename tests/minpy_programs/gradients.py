"""Gradients as MinPy gives them: of integers, of arrays, of several results, of arrays read elsewhere."""

import numpy

import minpy.numpy as np
import minpy.tape
from minpy.array import Array, Number, Value, wrap
from minpy.array_variants import ArrayType
from minpy.core import convert_args, grad, grad_and_loss, minpy_to_numpy, return_numpy


def shown(value):
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    value = numpy.asarray(value.asnumpy() if isinstance(value, Value) else value)
    return numpy.round(value.astype("float64"), 4).reshape(-1).tolist()


print(shown(grad(lambda x: x * x)(3)), shown(grad_and_loss(lambda x, y: x * y, range(2))(2, 3)))
print(shown(grad(lambda x: np.sum(x * x))(numpy.arange(3))))
print(shown(grad(lambda x: x * x)(numpy.arange(3.0))))
print(shown(grad(lambda x: np.sum(np.log(x))[0])(np.ones((2, 2)) * 4)))
print(shown(grad_and_loss(lambda x: (np.sum(x * x), 3 * x))(np.ones((2, 2)))))
print(shown(grad(lambda a, b: np.sum(np.dot(a, b)), [1])(numpy.ones((2, 3)), numpy.ones((3, 2)))))
params = {"w": np.ones((2, 2)), "b": np.ones((2,))}
print(shown(grad(lambda *_: np.sum(params["w"] * params["b"] * 3), range(2))(*params.values())))
print(type(grad(lambda x: x * x)(3.0)) is Number, isinstance(np.ones(2), Array), isinstance(wrap(2), Number))
print(wrap("text"), wrap(None), wrap(2).asnumpy(), wrap(numpy.ones(2)).get_data(ArrayType.NUMPY).tolist())
print(convert_args(lambda x: isinstance(x, Array))(numpy.ones(2)), type(return_numpy(lambda: np.ones(2))()).__name__)
print(minpy_to_numpy([np.ones(2)])[0].tolist())
x = np.ones((2, 2)) * 3
x = wrap(x)
with minpy.tape.tape() as tape:
    tape.start_recording()
    x.mark_for_bp(tape)
    print(x.is_marked_for_bp(tape), minpy.tape.global_tape() is tape)
    y = x * x
    tape.stop_recording()
    print(shown(tape.get_gradient((x,), wrap(y))))
print(minpy.tape.global_tape())
