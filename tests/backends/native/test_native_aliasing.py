"""Arrays that share memory, and arrays of unusual kinds, given to native code: as arguments, gradients and heads.

What is right is what Python programs give, run on copies that share nothing where gradients are written.
"""

import autograd
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import minpy as mx
from minpy.backends.native.runtime.argument_coercion import Argument, coerced_groups
from minpy.core.errors import MXNetError

COMPILES = True
pytest.importorskip("llvmlite")

RANDOM = np.random.RandomState(11)
A, B = RANDOM.normal(size=(2, 4, 6))
ROUNDS = 5


class Sub(np.ndarray):
    """A subclass of NumPy's array."""


def memmap(x, folder):
    found = np.memmap(folder / "numbers", x.dtype, "w+", shape=x.shape)
    found[:] = x
    return found


def unaligned(x, _):
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(x.tobytes(), np.uint8)
    return raw.view(x.dtype).reshape(x.shape)


def read_only(x, _):
    x = x.copy()
    x.setflags(write=False)
    return x


def overlapping(x, _):
    return as_strided(x.copy().reshape(-1), x.shape, (x.itemsize * 2, x.itemsize))


KINDS = {
    "memmap": memmap,
    "matrix": lambda x, _: x.view(np.matrix),
    "read-only": read_only,
    "byte order": lambda x, _: x.astype(x.dtype.newbyteorder()),
    "negative strides": lambda x, _: x[::-1, ::-1],
    "transposed": lambda x, _: np.asfortranarray(x),
    "unaligned": unaligned,
    "subclass": lambda x, _: x.view(Sub),
    "overlapping": overlapping,
    "broadcast": lambda x, _: np.broadcast_to(x[:1], x.shape),
    "empty": lambda x, _: x[:0],
    "float32": lambda x, _: x.astype(np.float32),
    "masked out of a record": lambda x, _: np.rec.fromarrays([x, x], names="a,b").a,
}


def value(x, y):
    return np.sum(np.tanh(x) * y + x * x)


def slopes(x, y):
    x, y = np.array(x), np.array(y)
    t = np.tanh(x)
    return (1 - t * t) * y + 2 * x, t


def close(found, expected, dtype=np.float64):
    tolerance = 1e-5 if np.dtype(dtype).itemsize == 4 else 1e-11
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "matrix"])
def test_kinds_of_arrays_in_functions(kind, tmp_path):
    x = KINDS[kind](A, tmp_path)
    y = np.array(B[: len(x)], dtype=x.dtype)
    compiled = mx.compile(value)
    both = mx.compile(mx.value_and_grad(value, argnum=(0, 1)))
    plain = np.array(x)
    for kinds in ([A, B], [x, y], [A, B], [x, y]):  # programs for one kind do not serve another
        expected = slopes(*kinds)
        for _ in range(ROUNDS):
            close(compiled(*kinds), value(*map(np.array, kinds)), x.dtype)
            number, gradients = both(*kinds)
            close(number, value(*map(np.array, kinds)), x.dtype)
            for one, other in zip(gradients, expected, strict=True):
                close(one, other, x.dtype)
        close(autograd.grad(compiled)(*map(np.array, kinds)), expected[0], x.dtype)
    np.testing.assert_array_equal(np.array(x), plain)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(
    "kind",
    [
        lambda x: x.view(np.matrix),
        lambda x: x.view(Sub),
        lambda x: np.ma.masked_less(x, 0),
        lambda x: x.view(np.recarray),
    ],
    ids=["matrix", "subclass", "masked", "recarray"],
)
def test_classes_with_operators_of_their_own(kind):
    """What is compiled gives what the function gives: products of matrices, sums without what is masked."""

    def mixed(x, y):
        return np.sum(x * y, axis=0) + x

    square = np.tile(A[:, :4], (40, 40))
    x, y = kind(square), square * 2
    expected = mixed(x, y)
    compiled = mx.compile(mixed)
    operator, uncompiled = (mx.customop("numpy", compile=one)(lambda x, y: mixed(x, y)) for one in (True, False))
    for _ in range(ROUNDS):
        close(compiled(square, y), mixed(square, y))
        close(operator(square, y), mixed(square, y))
        for found, other in ((compiled(x, y), expected), (operator(x, y), uncompiled(x, y))):
            np.testing.assert_allclose(np.array(found), np.array(other))
            np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(other))
            assert type(found) is type(other)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "matrix"])
def test_kinds_of_arrays_in_operators_alone(kind, tmp_path):
    @mx.customop("numpy", compile=True)
    def weighted(x, y):
        return np.tanh(x) * y + x * x

    weighted.def_grad(lambda ans, x, y: lambda g: g * ((1 - np.tanh(x) ** 2) * y + 2 * x))
    weighted.def_grad(lambda ans, x, y: lambda g: g * np.tanh(x), argnum=1)
    tall = np.tile(A, (40, 20)), np.tile(B, (40, 20))
    x = KINDS[kind](tall[0], tmp_path)
    y = np.array(tall[1][: len(x)], dtype=x.dtype)
    for given in (tall, (x, y), tall, (x, y)):
        one, other = map(np.array, given)
        for _ in range(ROUNDS):
            close(weighted(*given), np.tanh(one) * other + one * one, x.dtype)
            if type(given[0]) is np.ndarray:
                close(autograd.grad(lambda x: autograd.numpy.sum(weighted(x, given[1])))(given[0]),
                      slopes(one, other)[0], x.dtype)  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "empty"])
def test_kinds_of_arrays_behind_ndarrays(kind, tmp_path):
    """Executors and blocks, whose NDArrays are made to hold such arrays."""
    raw = KINDS[kind](A, tmp_path)
    x, y = mx.nd.array(np.array(raw), dtype=raw.dtype.newbyteorder("=").type), mx.nd.array(B, dtype=raw.dtype.type)
    if raw.dtype.isnative:
        x._data = raw
    expected = slopes(raw, B.astype(raw.dtype.type))
    first, second = mx.sym.var("x"), mx.sym.var("y")
    gradients = [mx.nd.zeros(A.shape, dtype=raw.dtype.type) for _ in range(2)]
    if kind in ("negative strides", "transposed", "unaligned"):
        gradients[0]._data = KINDS[kind](np.zeros_like(A), tmp_path)
    executor = mx.sym.sum(mx.sym.tanh(first) * second + first * first).bind(
        mx.cpu(), {"x": x, "y": y}, dict(zip("xy", gradients, strict=True))
    )
    block = mx.gluon.nn.HybridLambda(lambda F, x, y: F.sum(F.tanh(x) * y + x * x))
    block.hybridize()
    for _ in range(ROUNDS):
        close(executor.forward(is_train=True)[0].asscalar(), value(np.array(raw), B), np.float32)
        executor.backward()
        for one, other in zip(gradients, expected, strict=True):
            close(one.asnumpy(), other, raw.dtype)
        if raw.flags.writeable and kind != "broadcast":
            variables = [x.copy(), y.copy()]
            variables[0]._data = x._data
            for one in variables:
                one.attach_grad()
            with mx.autograd.record():
                found = block(*variables)
            found.backward()
            for one, other in zip(variables, expected, strict=True):
                close(one.grad.asnumpy(), other, raw.dtype)


# -- memory that is shared ---------------------------------------------------------------------------------------------


def bound(gradients, arguments=None, requests="write"):
    """An executor of exp(x) * y + x, its arguments, and the gradients for a head of ones times `head`."""
    x, y = mx.sym.var("x"), mx.sym.var("y")
    arrays = arguments or [mx.nd.array(A), mx.nd.array(B)]
    symbol = mx.sym.exp(x) * y + x
    return symbol.bind(mx.cpu(), arrays, gradients(*arrays), grad_req=requests), arrays


def right(x, y, head):
    return head * (np.exp(x) * y + 1), head * np.exp(x)


def test_heads_that_are_a_gradient():
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    x, y = (array.asnumpy() for array in arrays)
    for number in range(2 * ROUNDS):
        head = executor.grad_arrays[number % 2]
        head[:] = number
        executor.forward(is_train=True)
        executor.backward(head)
        for one, other in zip(executor.grad_arrays, right(x, y, np.float32(number)), strict=True):
            close(one.asnumpy(), other, np.float32)


def test_heads_that_are_an_argument_or_an_output():
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    x, y = (array.asnumpy() for array in arrays)
    for number in range(3 * ROUNDS):
        [output] = executor.forward(is_train=True)
        head = [*arrays, output][number % 3]
        executor.backward(head)
        for one, other in zip(executor.grad_arrays, right(x, y, head.asnumpy()), strict=True):
            close(one.asnumpy(), other, np.float32)


def test_heads_that_begin_to_share_memory_with_a_gradient():
    """A head that is known to be apart is another one once the gradient's array is."""
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    x, y = (array.asnumpy() for array in arrays)
    head = mx.nd.ones(A.shape)
    for number in range(3 * ROUNDS):
        if number == ROUNDS:
            executor.grad_arrays[1] = head
        if number == 2 * ROUNDS:
            executor.grad_arrays[1] = mx.nd.zeros(A.shape)
            executor.grad_arrays[0]._data = head._data[::-1]
        head[:] = 2
        executor.forward(is_train=True)
        executor.backward(head)
        for one, other in zip(executor.grad_arrays, right(x, y, np.float32(2)), strict=True):
            close(one.asnumpy(), other, np.float32)


def test_one_array_as_two_arguments():
    for _ in range(2):
        shared = mx.nd.array(A)
        executor, _ = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)], [shared, shared])
        for _ in range(ROUNDS):
            x = shared.asnumpy()
            [output] = executor.forward(is_train=True)
            close(output.asnumpy(), np.exp(x) * x + x, np.float32)
            executor.backward(mx.nd.ones(A.shape))
            for one, other in zip(executor.grad_arrays, right(x, x, np.float32(1)), strict=True):
                close(one.asnumpy(), other, np.float32)
            shared *= 0.5


@pytest.mark.parametrize("request_", ["write", "add"])
def test_one_array_for_two_gradients(request_):
    target = mx.nd.zeros(A.shape)
    executor, arrays = bound(lambda x, y: [target, target], requests=request_)
    x, y = (array.asnumpy() for array in arrays)
    for _ in range(ROUNDS):
        target[:] = 10
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(A.shape))
        first, second = right(x, y, np.float32(1))
        close(target.asnumpy(), second if request_ == "write" else 10 + first + second, np.float32)


def test_gradients_that_overlap():
    memory = mx.nd.zeros((5, 6))
    executor, arrays = bound(lambda x, y: [memory[:4], memory[1:]])
    executor.grad_arrays[0]._data, executor.grad_arrays[1]._data = memory._data[:4], memory._data[1:]
    x, y = (array.asnumpy() for array in arrays)
    for _ in range(ROUNDS):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(A.shape))
        first, second = right(x, y, np.float32(1))
        close(memory.asnumpy(), np.concatenate([first[:1], second]), np.float32)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("when", [0, 1, ROUNDS])
@pytest.mark.parametrize("moved", ["gradient", "argument"])
def test_gradients_in_the_memory_of_arguments(shift, when, moved):
    """They are refused: an argument would be overwritten while it is read."""
    with pytest.raises(mx.MXNetError, match=r"bind: the gradient of 'y' shares memory with the argument 'x'"):
        bound(lambda x, y: [mx.nd.zeros(A.shape), x])
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    for _ in range(when):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(A.shape))
    memory = np.zeros((5, 6), np.float32)
    moving = [
        lambda: setattr(executor.grad_arrays[1], "_data", memory[shift : 4 + shift]),
        lambda: setattr(executor.arg_arrays[0], "_data", memory[:4]),
    ]
    first, second = moving if moved == "argument" else moving[::-1]
    first()
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(A.shape))
    second()
    for _ in range(2):
        executor.forward(is_train=True)
        with pytest.raises(mx.MXNetError, match=r"gradient of 'y' shares memory with the array of 'x' now"):
            executor.backward(mx.nd.ones(A.shape))
    executor.grad_arrays[1] = mx.nd.zeros(A.shape)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(A.shape))
    close(executor.grad_arrays[0].asnumpy(), arrays[1].asnumpy() * np.exp(memory[:4]) + 1, np.float32)


def test_outputs_that_users_hold_stay():
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    held = []
    for number in range(ROUNDS):
        arrays[0][:] = number
        [output] = executor.forward(is_train=True)
        held.append((output.asnumpy(), output.detach(), np.exp(np.float32(number)) * arrays[1].asnumpy() + number))
        executor.backward(mx.nd.ones(A.shape))
    for copy, _, expected in held:
        close(copy, expected, np.float32)


def test_arguments_are_rebound():
    executor, _ = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    for number in range(3 * ROUNDS):
        if number % 3 == 1:
            executor.arg_arrays[0] = mx.nd.array(A + number)
        if number % 3 == 2:
            executor.arg_arrays[1]._data = np.asfortranarray(executor.arg_arrays[1]._data * 2)
            executor.grad_arrays[0] = mx.nd.zeros(A.shape)
        x, y = (array.asnumpy() for array in executor.arg_arrays)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(A.shape))
        for one, other in zip(executor.grad_arrays, right(x, y, np.float32(1)), strict=True):
            close(one.asnumpy(), other, np.float32)
    executor.arg_arrays[0] = mx.nd.zeros((2, 2))
    with pytest.raises(mx.MXNetError, match=r"array of 'x' has shape \(2, 2\) now; expected \(4, 6\)"):
        executor.forward(is_train=True)
    executor.arg_arrays[0] = mx.nd.zeros(A.shape, dtype="float64")
    with pytest.raises(mx.MXNetError, match=r"array of 'x' has dtype float64 now; expected float32"):
        executor.forward(is_train=True)
    executor.arg_arrays.pop()
    with pytest.raises(mx.MXNetError, match=r"there are 1 arrays for 2 variables"):
        executor.forward(is_train=True)


def test_training_and_prediction_in_turns():
    """One frame does not go on from another program's, whose backward part is another."""
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    x, y = (array.asnumpy() for array in arrays)
    for training in [True] * 4 + [False] * 4 + [True, False] * 6:
        [output] = executor.forward(is_train=training)
        close(output.asnumpy(), np.exp(x) * y + x, np.float32)
        for _ in range(2):
            executor.backward(mx.nd.ones(A.shape))
            for one, other in zip(executor.grad_arrays, right(x, y, np.float32(1)), strict=True):
                close(one.asnumpy(), other, np.float32)


def test_changes_between_forward_and_backward_are_refused():
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    for _ in range(ROUNDS):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(A.shape))
    executor.forward(is_train=True)
    arrays[1][:] = 0
    with pytest.raises(mx.MXNetError, match=r"variable 'y'.*was changed in place after forward"):
        executor.backward(mx.nd.ones(A.shape))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(A.shape))
    close(executor.grad_arrays[0].asnumpy(), np.ones(A.shape), np.float32)


def test_a_backward_that_fails_can_be_called_again():
    executor, arrays = bound(lambda x, y: [mx.nd.zeros(A.shape), mx.nd.zeros(A.shape)])
    x, y = (array.asnumpy() for array in arrays)
    for _ in range(ROUNDS):
        executor.forward(is_train=True)
        with pytest.raises(mx.MXNetError, match=r"has shape \(2,\); expected \(4, 6\)"):
            executor.backward(mx.nd.ones((2,)))
        executor.backward(mx.nd.ones(A.shape))
        for one, other in zip(executor.grad_arrays, right(x, y, np.float32(1)), strict=True):
            close(one.asnumpy(), other, np.float32)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1,)])
def test_arrays_without_elements_or_axes(shape):
    x = mx.sym.var("x")
    executor = (mx.sym.exp(x) * 2).bind(mx.cpu(), [mx.nd.ones(shape)], [mx.nd.zeros(shape)])
    for _ in range(ROUNDS):
        assert executor.forward(is_train=True)[0].shape == shape
        executor.backward(mx.nd.ones(shape))
    compiled = mx.compile(mx.value_and_grad(lambda x: np.sum(np.exp(x) * 2)))
    for given in (np.ones(shape), np.ones(())):
        for _ in range(ROUNDS):
            number, gradient = compiled(given)
            close(number, np.sum(np.exp(given) * 2))
            close(gradient, np.exp(given) * 2)
            assert gradient.shape == given.shape


def test_what_is_refused_is_named_with_what_was_expected():
    expected = [Argument("w", (2,), np.dtype("float32"), True), Argument("x", (3,), np.dtype("float32"))]
    w, x = np.zeros(2, "f"), np.zeros(3, "f")
    said = (
        rf"^native code refuses arrays that were made for it: w, float32 \(2,\), written to: got float32 \(2,\) at "
        rf"{w.ctypes.data:#x}, strides \(4,\), aligned and writable; x, float32 \(3,\): got float32 \(3,\) at 0x"
    )
    with pytest.raises(MXNetError, match=said):
        coerced_groups([[w, x]], [expected])
