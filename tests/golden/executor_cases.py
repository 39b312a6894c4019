"""Golden cases of executors: what backward gives, when it may be called, and what reaches arguments.

And of eager backward where the same questions arise: below operators whose gradient is zero.
"""

from textwrap import dedent

# What each case of an executor begins with.
BEGINNING = """
sym = mx.sym
x, y = sym.var('x'), sym.var('y')
A = np.array([[0.5, -1, 2], [0.25, 3, -0.5]], 'float32')
ONES = nd.ones((2, 3))

def bound(symbol, request='write', start=0, **values):
    arrays = {name: nd.array(value) for name, value in values.items()}
    states = {name: arrays.pop(name) for name in symbol.list_auxiliary_states()}
    gradients = {name: nd.ones(array.shape) * start for name, array in arrays.items()}
    return symbol.bind(mx.cpu(), arrays, gradients, request, states)

def norm():
    return bound(
        sym.BatchNorm(x, name='n', fix_gamma=False), x=A, n_gamma=[1, 2, 3], n_beta=[0, 0, 0],
        n_moving_mean=[0, 0, 0], n_moving_var=[4, 4, 4],
    )
"""

AGAIN = [
    (
        "executor_backward_twice",
        """
        e = bound(sym.tanh(sym.exp(x) * x), x=A)
        result = []
        for _ in range(3):
            e.forward(is_train=True)
            for factor in (1, 2, -1):
                e.backward(ONES * factor)
                result.append(e.grad_dict['x'].asnumpy())
        """,
    ),
    (
        "executor_backward_twice_add",
        """
        e = bound(sym.tanh(sym.exp(x) * x), 'add', 5, x=A)
        result = []
        for _ in range(3):
            e.forward(is_train=True)
            e.backward(ONES)
            e.backward(ONES * 2)
            result.append(e.grad_dict['x'].asnumpy())
        """,
    ),
    (
        "executor_backward_twice_through_layers",
        """
        h = sym.Activation(sym.FullyConnected(x, num_hidden=2, name='f'), act_type='relu')
        e = bound(sym.SoftmaxOutput(h, y, name='s'), x=A, f_weight=A, f_bias=[1, 2], y=[0, 1])
        e.forward(is_train=True)
        e.backward()
        first = [g.asnumpy() for g in e.grad_arrays]
        e.backward()
        result = first + [g.asnumpy() for g in e.grad_arrays]
        """,
    ),
    (
        "executor_batch_norm_backward_twice",
        """
        e = norm()
        e.forward(is_train=True)
        e.backward(nd.array(A))
        first = [g.asnumpy() for g in e.grad_arrays]
        e.backward(nd.array(A))
        result = first + [g.asnumpy() for g in e.grad_arrays]
        """,
    ),
    (
        "executor_states_after_two_backwards",
        """
        e = norm()
        e.forward(is_train=True)
        e.backward(nd.array(A))
        e.backward(nd.array(A))
        result = [s.asnumpy() for s in e.aux_arrays]
        """,
    ),
    (
        "executor_states_after_one_backward",
        """
        e = norm()
        e.forward(is_train=True)
        e.backward(nd.array(A))
        result = [s.asnumpy() for s in e.aux_arrays]
        """,
    ),
]

PREDICTION = [
    (
        "executor_backward_after_prediction",
        """
        e = bound(sym.tanh(x * x), x=A)
        result = []
        for _ in range(3):
            e.forward(is_train=False)
            e.backward(ONES)
            result.append(e.grad_dict['x'].asnumpy())
            e.backward(ONES * 2)
            result.append(e.grad_dict['x'].asnumpy())
        """,
    ),
    (
        "executor_backward_of_prediction",
        """
        e = bound(sym.tanh(x * x), x=A)
        e.forward()
        e.backward(ONES, is_train=False)
        result = e.grad_dict['x'].asnumpy()
        """,
    ),
    (
        "executor_dropout_after_prediction",
        """
        e = bound(sym.Dropout(x * 2, p=0.5), x=A)
        e.forward(is_train=True)
        outputs = e.forward(is_train=False)
        e.backward(ONES)
        result = [outputs[0].asnumpy(), e.grad_dict['x'].asnumpy()]
        """,
    ),
    (
        "executor_batch_norm_of_prediction",
        """
        e = norm()
        outputs = e.forward(is_train=False)
        e.backward(nd.array(A), is_train=False)
        result = [outputs[0].asnumpy()] + [g.asnumpy() for g in e.grad_arrays] + [s.asnumpy() for s in e.aux_arrays]
        """,
    ),
    (
        "executor_batch_norm_after_prediction",
        """
        e = norm()
        outputs = e.forward(is_train=False)
        e.backward(nd.array(A))
        result = [outputs[0].asnumpy()] + [g.asnumpy() for g in e.grad_arrays] + [s.asnumpy() for s in e.aux_arrays]
        """,
    ),
]

HEADS = [
    (
        "executor_surplus_head_gradients",
        """
        e = bound(sym.tanh(x), x=A)
        e.forward(is_train=True)
        e.backward([ONES, nd.ones((5,))])
        result = e.grad_dict['x'].asnumpy()
        """,
    ),
    (
        "executor_too_few_head_gradients",
        """
        e = bound(sym.Group([sym.tanh(x), x * 2]), x=A)
        e.forward(is_train=True)
        e.backward([ONES])
        result = e.grad_dict['x'].asnumpy()
        """,
    ),
]

CHANGES = [
    (
        "executor_label_changed_after_forward",
        """
        e = bound(sym.SoftmaxOutput(x, y, name='s'), x=A, y=[0, 1])
        result = []
        for label in (2, 0):
            e.forward(is_train=True)
            e.arg_dict['y'][:] = label
            e.backward()
            result.append(e.grad_dict['x'].asnumpy())
        """,
    ),
    (
        "executor_input_changed_after_forward",
        """
        e = bound(sym.exp(x) * x, x=A)
        e.forward(is_train=True)
        e.arg_dict['x'][:] = 1
        e.backward(ONES)
        result = e.grad_dict['x'].asnumpy()
        """,
    ),
    (
        "executor_input_changed_that_no_gradient_reads",
        """
        e = bound(sym.exp(x) + y, x=A, y=A)
        e.forward(is_train=True)
        e.arg_dict['y'][:] = 1
        e.backward(ONES)
        result = [g.asnumpy() for g in e.grad_arrays]
        """,
    ),
]

SHARED = [
    (
        "executor_one_gradient_array_write_and_add",
        """
        g = nd.ones((2, 3)) * 9
        e = (x * y).bind(mx.cpu(), [nd.array(A), nd.array(A + 10)], [g, g], ['write', 'add'])
        e.forward(is_train=True)
        e.backward(ONES)
        result = g.asnumpy()
        """,
    ),
    (
        "executor_one_gradient_array_add_and_write",
        """
        g = nd.ones((2, 3)) * 9
        e = (x * y).bind(mx.cpu(), [nd.array(A), nd.array(A + 10)], [g, g], ['add', 'write'])
        e.forward(is_train=True)
        e.backward(ONES)
        result = g.asnumpy()
        """,
    ),
    (
        "executor_one_gradient_array_written_twice",
        """
        g = nd.ones((2, 3)) * 9
        e = (x * y).bind(mx.cpu(), [nd.array(A), nd.array(A + 10)], [g, g], 'write')
        e.forward(is_train=True)
        e.backward(ONES)
        result = g.asnumpy()
        """,
    ),
]

# Layers that do not look at the gradient from above.
LOSSES = {
    "softmax_output": ("SoftmaxOutput({x}, {label})", "[0, 1]"),
    "linear_regression": ("LinearRegressionOutput({x} * {x}, {label})", "A"),
    "logistic_regression": ("LogisticRegressionOutput({x}, {label})", "A"),
    "mae_regression": ("MAERegressionOutput({x} * {x}, {label})", "A"),
    "svm_output": ("SVMOutput({x} * {x}, {label})", "[0, 1]"),
    "make_loss": ("make_loss({x} * {x})", None),
    "MakeLoss": ("MakeLoss({x} * {x}, grad_scale=3)", None),
}
ZEROS = {"block_grad": "BlockGrad({})", "argmax": "argmax({}, axis=1)", "greater": "broadcast_greater({0}, {0})"}


def below_zero() -> list[tuple[str, str]]:
    """Returns the cases of losses below operators whose gradient is zero, eager and bound."""
    found = []
    for loss, (call, label) in LOSSES.items():
        for zero, outer in ZEROS.items():
            eager = "nd." + outer.format("nd." + call.format(x="a", label=f"nd.array({label})"))
            found.append(
                (
                    f"{loss}_below_{zero}",
                    f"""
                    A = np.array([[0.5, -1, 2], [0.25, 3, -0.5]], 'float32')
                    a = nd.array(A)
                    a.attach_grad()
                    a.grad[:] = 7
                    with autograd.record():
                        z = {eager}
                    z.backward()
                    result = a.grad
                    """,
                )
            )
            symbol = "sym." + outer.format("sym." + call.format(x="x", label="y"))
            values = "x=A" if label is None else f"x=A, y={label}"
            found.append(
                (
                    f"executor_{loss}_below_{zero}",
                    f"""
                    e = bound({symbol}, start=7, {values})
                    for _ in range(3):
                        outputs = e.forward(is_train=True)
                        e.backward([nd.ones(o.shape) for o in outputs])
                    result = e.grad_dict['x']
                    """,
                )
            )
    return found


PATHS = [
    (
        "backward_from_block_grad",
        """
        a = nd.array([1, 2])
        a.attach_grad()
        a.grad[:] = 7
        with autograd.record():
            z = nd.BlockGrad(a * 2)
        z.backward()
        result = a.grad
        """,
    ),
    (
        "backward_from_argmax",
        """
        a = nd.array([[1, 2]])
        a.attach_grad()
        a.grad[:] = 7
        with autograd.record():
            z = nd.argmax(a * 2, axis=1)
        z.backward()
        result = a.grad
        """,
    ),
    (
        "backward_to_null",
        """
        a = nd.array([1, 2])
        a.attach_grad('null')
        with autograd.record():
            z = a * 2
        z.backward()
        result = a.grad
        """,
    ),
    (
        "backward_from_block_grad_add",
        """
        a = nd.array([1, 2])
        a.attach_grad('add')
        a.grad[:] = 7
        with autograd.record():
            z = nd.BlockGrad(a * 2)
        z.backward()
        result = a.grad
        """,
    ),
    (
        "backward_from_block_grad_and_another",
        """
        a, b = nd.array([1, 2]), nd.array([3, 4])
        for v in (a, b):
            v.attach_grad()
            v.grad[:] = 7
        with autograd.record():
            z, w = nd.BlockGrad(a * 2), b * b
        autograd.backward([z, w])
        result = [a.grad, b.grad]
        """,
    ),
    (
        "grad_of_block_grad",
        """
        a = nd.array([1, 2])
        a.attach_grad()
        with autograd.record():
            z = nd.BlockGrad(a * 2)
        result = autograd.grad(z, [a])
        """,
    ),
]
EXECUTOR_PATHS = [
    (
        f"executor_backward_from_{name}",
        f"""
        e = bound({symbol}, {request!r}, 7, x=A)
        for _ in range(3):
            outputs = e.forward(is_train=True)
            e.backward([nd.ones(o.shape) for o in outputs])
        result = e.grad_dict['x']
        """,
    )
    for name, symbol, request in (
        ("block_grad", "sym.BlockGrad(x * 2)", "write"),
        ("block_grad_add", "sym.BlockGrad(x * 2)", "add"),
        ("argmax", "sym.argmax(x * 2, axis=1)", "write"),
        ("null", "x * 2", "null"),
    )
]

BOUND = [*AGAIN, *PREDICTION, *HEADS, *CHANGES, *SHARED, *EXECUTOR_PATHS]
CASES = [(name, BEGINNING.strip() + "\n" + dedent(snippet).strip()) for name, snippet in BOUND]
for case_name, case in [*below_zero(), *PATHS]:
    text = dedent(case).strip()
    CASES.append((case_name, f"{BEGINNING.strip()}\n{text}" if case_name.startswith("executor") else text))
