"""Golden cases of recurrent layers, CTC, attention, batch normalizations, im2col, inner operators and many arrays.

Head gradients are not all ones.
"""

from textwrap import dedent

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _numbers(count, scale=1.0, seed=1):
    """Writes an expression for numbers that look random."""
    return f"(np.sin(np.arange({count}) * {seed}.7 + {seed}) * {scale})"


def _size(mode, layers, directions, inputs, size, projection=None):
    width, total = projection or size, 0
    for layer in range(layers):
        given = width * directions if layer else inputs
        total += directions * (GATES[mode] * size * (given + width + 2) + (projection or 0) * size)
    return total


def _backward(heads="y"):
    return dedent(f"""
        ys = {heads} if isinstance({heads}, list) else [{heads}]
        autograd.backward(ys, [nd.array(np.cos(np.arange(o.size)).reshape(o.shape), dtype=o.dtype) for o in ys])
    """).strip()


def _rnn(mode, layers=1, directions=1, dtype="float32", projection=None, backward=True, **options):
    width, cells = projection or 2, layers * directions
    lines = [
        f"x = nd.array({_numbers(12)}.reshape(3, 2, 2), dtype='{dtype}')",
        f"p = nd.array({_numbers(_size(mode, layers, directions, 2, 2, projection), 0.6, 2)}, dtype='{dtype}')",
        f"h = nd.array({_numbers(cells * 2 * width, 0.5, 3)}.reshape({cells}, 2, {width}), dtype='{dtype}')",
        f"c = nd.array({_numbers(cells * 4, 0.5, 4)}.reshape({cells}, 2, 2), dtype='{dtype}')",
    ]
    options = {"state_size": 2, "num_layers": layers, "mode": mode, "bidirectional": directions == 2, **options}
    options |= {"state_outputs": True} if "state_outputs" not in options else {}
    options |= {"projection_size": projection} if projection else {}
    inputs = "x, p, h, c" if mode == "lstm" else "x, p, h"
    call = f"nd.RNN({inputs}, {', '.join(f'{key}={value!r}' for key, value in options.items())})"
    if not backward:
        return "\n".join([*lines, f"result = {call}"])
    lines += [f"for a in ({inputs}): a.attach_grad()", "with autograd.record():", f"    y = {call}", _backward()]
    return "\n".join([*lines, f"result = [*ys, *(a.grad for a in ({inputs},))]"])


RNN_CASES = [
    *[
        (f"rnn_{mode}_{layers}_{directions}_{dtype}", _rnn(mode, layers, directions, dtype))
        for mode in GATES
        for layers, directions in ((1, 1), (2, 1), (1, 2), (3, 2))
        for dtype in ("float32", "float64")
    ],
    *[
        (f"rnn_projection_{layers}_{directions}", _rnn("lstm", layers, directions, projection=1, backward=False))
        for layers in (1, 2)
        for directions in (1, 2)
    ],
    ("rnn_one_output", _rnn("lstm", backward=False, state_outputs=False)),
    ("rnn_one_output_gradient", _rnn("gru", state_outputs=False)),
    ("rnn_dropout_predicting", _rnn("gru", 2, backward=False, p=0.5)),
    ("rnn_unknown_mode", _rnn("gru", backward=False).replace("mode='gru'", "mode='lstmp'")),
    ("rnn_two_axes", _rnn("gru", backward=False).replace("nd.RNN(x,", "nd.RNN(x[0],")),
    ("rnn_parameters_too_short", _rnn("gru", backward=False).replace("nd.RNN(x, p,", "nd.RNN(x, p[1:],")),
    ("rnn_state_of_one", _rnn("gru", backward=False).replace("p, h,", "p, h[:, :1],")),
    ("rnn_integers", _rnn("gru", backward=False, dtype="int32")),
    ("rnn_projection_gradient", _rnn("lstm", 1, 1, projection=1)),
    ("rnn_lengths", _rnn("gru", backward=False, use_sequence_length=True).replace(
        "p, h,", "p, h, sequence_length=nd.array([3, 1]),")),
    ("rnn_clipped", _rnn("lstm", backward=False, lstm_state_clip_min=-0.05, lstm_state_clip_max=0.05)),
    ("rnn_param_concat", "result = nd._internal._rnn_param_concat(nd.array([1, 2]), nd.array([3]), dim=0)"),
]  # fmt: skip


def _ctc(label, extra="", steps=5, dtype="float32", **inputs):
    lines = [f"x = nd.array({_numbers(steps * 8, 2)}.reshape({steps}, 2, 4), dtype='{dtype}'); x.attach_grad()"]
    lines += [f"{name} = nd.array({values})" for name, values in inputs.items()]
    lines += ["with autograd.record():", f"    y = nd.CTCLoss(x, nd.array({label}, dtype='{dtype}'){extra})"]
    return "\n".join([*lines, "y.backward(nd.array([1.5, -0.5], dtype=y.dtype))", "result = [y, x.grad]"])


CTC_CASES = [
    ("ctc_first", _ctc("[[1, 2], [3, 0]]")),
    ("ctc_repeated", _ctc("[[1, 1], [3, 3]]")),
    ("ctc_last", _ctc("[[0, 2], [1, -1]]", ", blank_label='last'")),
    ("ctc_empty", _ctc("[[0, 0], [3, 0]]")),
    ("ctc_data_lengths", _ctc("[[1, 2], [3, 0]]", ", n, use_data_lengths=True", n="[5, 3]")),
    (
        "ctc_label_lengths",
        _ctc("[[1, 2], [3, 1]]", ", label_lengths=n, use_label_lengths=True", n="[2, 1]"),
    ),
    ("ctc_label_lengths_in_order", _ctc("[[1, 2], [3, 1]]", ", n, use_label_lengths=True", n="[2, 1]")),
    (
        "ctc_both_lengths",
        _ctc("[[1, 2], [3, 1]]", ", n, m, use_data_lengths=True, use_label_lengths=True", n="[5, 3]", m="[2, 1]"),
    ),
    # Their gradients in MXNet are not those of these numbers.
    ("ctc_blank_among_labels", _ctc("[[1, 0], [3, 1]]", ", n, use_label_lengths=True", n="[2, 2]") + "[0]"),
    ("ctc_blank_first_of_labels", _ctc("[[0, 2], [0, 0]]", ", n, use_label_lengths=True", n="[2, 2]") + "[0]"),
    ("ctc_last_blank_among_labels", _ctc("[[0, 3], [3, 1]]", ", blank_label='last'") + "[0]"),
    (
        "ctc_padding_of_nan",
        _ctc("[[1, 2], [3, 0]]", ", n, use_data_lengths=True", n="[5, 3]").replace(
            "with autograd.record", "x[3:, 1] = np.nan\nx.attach_grad()\nwith autograd.record", 1
        ),
    ),
    ("ctc_no_steps_of_one", _ctc("[[1, 2], [3, 0]]", ", n, use_data_lengths=True", n="[5, 0]")),
    ("ctc_integer_labels", _ctc("[[1, 2], [3, 0]]").replace("0]], dtype='float32'", "0]], dtype='int32'")),
    ("ctc_impossible", _ctc("[[1, 1], [3, 0]]", steps=2) + "[0]"),  # its gradient is what was in memory
    ("ctc_too_few_steps", _ctc("[[1, 2], [3, 0]]", steps=1)),
    ("ctc_batch", "result = nd.CTCLoss(nd.ones((4, 2, 3)), nd.array([[1]]))"),
    ("ctc_matrix", "result = nd.CTCLoss(nd.ones((4, 3)), nd.array([[1]]))"),
    ("ctc_contrib", "result = nd.contrib.ctc_loss(nd.ones((4, 1, 3)), nd.array([[1]]))"),
    (
        "ctc_symbol",
        (
            "s = mx.sym.contrib.CTCLoss(mx.sym.var('x'), use_label_lengths=True, name='c')\n"
            "result = [s.list_arguments(), s.list_outputs()]"
        ),
    ),
]


def _recorded(expression, **inputs):
    lines = [f"{name} = nd.array({values}); {name}.attach_grad()" for name, values in inputs.items()]
    lines += ["with autograd.record():", f"    y = {expression}", _backward()]
    return "\n".join([*lines, f"result = [*ys, {', '.join(f'{name}.grad' for name in inputs)}]"])


_QKV, _KV, _Q = (
    f"{_numbers(72)}.reshape(3, 2, 12)",
    f"{_numbers(48, 1, 2)}.reshape(3, 2, 8)",
    f"{_numbers(16, 1, 3)}.reshape(2, 2, 4)",
)  # fmt: skip
_WEIGHTS = f"{_numbers(24, 1, 4)}.reshape(4, 2, 3)"
_SQUARE = f"{_numbers(36)}.reshape(4, 3, 3)"
_MATMUL = "nd.contrib.interleaved_matmul_"
ATTENTION_CASES = [
    ("selfatt_qk", _recorded(f"{_MATMUL}selfatt_qk(x, heads=2)", x=_QKV)),
    ("selfatt_qk_one_head", _recorded(f"{_MATMUL}selfatt_qk(x, heads=1)", x=_QKV)),
    ("selfatt_valatt", _recorded(f"{_MATMUL}selfatt_valatt(x, a, heads=2)", x=_QKV, a=_SQUARE)),
    ("encdec_qk", _recorded(f"{_MATMUL}encdec_qk(q, x, heads=2)", q=_Q, x=_KV)),
    ("encdec_valatt", _recorded(f"{_MATMUL}encdec_valatt(x, a, heads=2)", x=_KV, a=_WEIGHTS)),
    ("selfatt_matrix", f"result = {_MATMUL}selfatt_qk(nd.ones((3, 12)), heads=2)"),
    ("selfatt_attention", f"result = {_MATMUL}selfatt_valatt(nd.ones((3, 2, 12)), nd.ones((4, 2, 2)), heads=2)"),
]  # fmt: skip


def _batch_norm(call, training, options):
    return dedent(f"""
        x = nd.array({_numbers(24, 3)}.reshape(2, 3, 4)); g = nd.array([1, 2, -1]); b = nd.array([0.5, 0, -1])
        m = nd.array([0.1, 0, -0.2]); v = nd.array([1, 2, 0.5])
        for a in (x, g, b): a.attach_grad()
        with autograd.record(train_mode={training}):
            y = {call}(x, g, b, m, v{options})
        ys = y if isinstance(y, list) else [y]
        ys[0].backward(nd.array(np.cos(np.arange(24)).reshape(2, 3, 4)), train_mode={training})
        result = [*ys[:{3 if training else 1}], x.grad, b.grad, m, v]
    """).strip()


BATCH_NORM_CASES = [
    (f"sync_batch_norm_{training}_{name}", _batch_norm("nd.contrib.SyncBatchNorm", training, options + ", key='n'"))
    for training in (True, False)
    for name, options in (
        ("default", ""), ("gamma", ", fix_gamma=False, eps=0.1"), ("global", ", use_global_stats=True"),
        ("statistics", ", fix_gamma=False, output_mean_var=True"), ("momentum", ", momentum=0.3"),
    )
]  # fmt: skip
BATCH_NORM_CASES += [
    (
        f"batch_norm_v1_{training}_{name}",
        dedent(f"""
            s = mx.sym.BatchNorm_v1(mx.sym.var('x'), name='b'{options})
            e = s.simple_bind(mx.cpu(), x=(2, 3, 2, 2))
            e.arg_dict['x'][:] = {_numbers(24, 3)}.reshape(2, 3, 2, 2)
            e.arg_dict['b_gamma'][:] = np.array([1, 2, -1]); e.arg_dict['b_beta'][:] = np.array([0.5, 0, -1])
            e.aux_dict['b_moving_var'][:] = np.array([1, 2, 0.5])
            result = [*e.forward(is_train={training})]
            if {training}:
                heads = [nd.array(np.cos(np.arange(24)).reshape(2, 3, 2, 2))] + [nd.zeros(3)] * (len(result) - 1)
                e.backward(heads)
                result += [e.grad_dict[k] for k in ('x', 'b_gamma', 'b_beta')]
                result += [e.aux_dict[k] for k in ('b_moving_mean', 'b_moving_var')]
        """).strip(),
    )
    for training in (True, False)
    for name, options in (("default", ""), ("gamma", ", fix_gamma=False, output_mean_var=True"))
]


def _pooling_v1(options):
    return _recorded(f"nd.Pooling_v1(x, {options})", x="(np.arange(50) * 7 % 11).reshape(1, 2, 5, 5)")


_WINDOW = "kernel=(2, 3), stride=(2, 1), dilate=(1, 2), pad=(1, 0)"
IMAGE_CASES = [
    ("im2col", _recorded(f"nd.im2col(x, {_WINDOW})", x="np.arange(80).reshape(2, 2, 4, 5)")),
    ("im2col_float64", "result = nd.im2col(nd.arange(12).reshape((1, 1, 3, 4)).astype('float64'), kernel=(2, 2))"),
    ("im2col_too_large", "result = nd.im2col(nd.ones((1, 1, 3, 4)), kernel=(4, 4))"),
    ("im2col_integers", "result = nd.im2col(nd.ones((1, 1, 3, 4), dtype='int32'), kernel=(2, 2))"),
    ("col2im", _recorded("nd.col2im(x, output_size=(3, 3), kernel=(2, 2))", x="np.arange(32).reshape(1, 8, 4)")),
    ("col2im_pad", _recorded(f"nd.col2im(x, {_WINDOW}, output_size=(4, 5))", x="np.arange(36).reshape(1, 12, 3)")),
    ("col2im_size", "result = nd.col2im(nd.ones((1, 8, 4)), output_size=(3, 4), kernel=(2, 2))"),
    *[
        (f"pooling_v1_{kind}_{name}", _pooling_v1(f"pool_type='{kind}', {options}"))
        for kind in ("max", "avg", "sum")
        for name, options in (
            ("full", "kernel=(2, 2), stride=(2, 2), pooling_convention='full'"),
            ("pad", "kernel=(3, 3), stride=(2, 2), pad=(1, 1)"),
            ("global", "kernel=(1, 1), global_pool=True"),
            ("stride", "kernel=(2, 3), stride=(1, 2)"),
        )
    ],
    ("pooling_v1_kernel", "result = nd.Pooling_v1(nd.ones((1, 1, 4, 4)))"),
    ("pooling_v1_width", "result = nd.Pooling_v1(nd.ones((1, 1, 4)), kernel=(2,))"),
    (
        "kl_sparse",
        dedent("""
            s = mx.sym.IdentityAttachKLSparseReg(mx.sym.var('x'), name='k', penalty=0.1, sparseness_target=0.3)
            e = s.simple_bind(mx.cpu(), x=(2, 3))
            e.arg_dict['x'][:] = np.array([[0.1, 0.5, 0.2], [0.9, 0.3, 0.4]])
            e.aux_dict['k_moving_avg'][:] = np.array([0.2, 0.4, 0.5])
            y = e.forward(is_train=True)[0]
            e.backward(nd.array([[1, 2, 3], [4, 5, 6]]))
            result = [y, e.grad_dict['x'], e.aux_dict['k_moving_avg'], s.list_arguments(), s.list_auxiliary_states()]
        """).strip(),
    ),
]  # fmt: skip

_MATRIX = "x = nd.arange(12).reshape((3, 4))\n"
INNER_CASES = [
    (
        "slice_assign",
        _MATRIX
        + (
            "result = nd._internal._slice_assign(x, nd.array([[-1, -2], [-3, -4]]), begin=(0, 1), end=(2, "
            "None), step=(1, 2))"
        ),
    ),
    (
        "slice_assign_out",
        _MATRIX + ("y = nd._internal._slice_assign(x, nd.zeros((1, 4)), begin=(0,), end=(1,), out=x)\nresult = [x, y]"),
    ),
    (
        "slice_assign_shape",
        _MATRIX + ("result = nd._internal._slice_assign(x, nd.zeros((2, 4)), begin=(0,), end=(1,))"),
    ),
    (
        "slice_assign_scalar",
        _MATRIX + ("result = nd._internal._slice_assign_scalar(x, scalar=7, begin=(0, 1), end=(2, 3))"),
    ),
    (
        "crop_assign_scalar",
        _MATRIX + ("result = nd._internal._crop_assign_scalar(x, scalar=7, begin=(1,), end=(3,))"),
    ),
    (
        "slice_assign_method",
        _MATRIX + ("y = x.slice_assign(nd.zeros((1, 2)), (0, 1), (1, 3), (1, 1))\nresult = [x, y]"),
    ),
    (
        "slice_assign_scalar_method",
        _MATRIX + ("y = x.slice_assign_scalar(5, (0, 1), (3, 3), (2, 1))\nresult = [x, y]"),
    ),
    (
        "scatter_set_nd",
        _MATRIX
        + (
            "y = nd._internal._scatter_set_nd(x, nd.array([-5, -6]), nd.array([[0, 2], [1, 3]]), shape=(3, "
            "4), out=x)\n"
            "result = [x, y]"
        ),
    ),
    ("scatter_plus", _MATRIX + "result = nd._internal._scatter_plus_scalar(x, scalar=3)"),
    ("scatter_minus", _MATRIX + "result = nd._internal._scatter_minus_scalar(x, scalar=3)"),
    ("scatter_div", _MATRIX + "result = nd._internal._scatter_elemwise_div(x, x + 1)"),
    ("grad_add", _MATRIX + "result = nd._internal._grad_add(x, x)"),
    (
        "copyto",
        _MATRIX + ("y = nd.zeros((3, 4)); nd._internal._copyto(x, out=y)\nresult = y"),
    ),
    ("fill_element", _MATRIX + "result = nd.fill_element_0index(x, nd.array([9, 8, 7]), nd.array([0, 3, 7]))"),
    (
        "fill_element_out",
        _MATRIX + ("nd.fill_element_0index(x, nd.array([9, 8, 7]), nd.array([0, 3, 1]), out=x)\nresult = x"),
    ),
    (
        "sparse_embedding",
        (
            "result = nd.contrib.SparseEmbedding(nd.array([1, 0]), nd.array([[1, 2], [3, 4]]), input_dim=2, "
            "output_dim=2)"
        ),
    ),
    (
        "all_finite",
        ("result = [nd.all_finite(nd.array(v)) for v in ([1, 2], [1, float('inf')], [float('nan')])]"),
    ),
    (
        "all_finite_kept",
        ("y = nd.array([0]); nd.all_finite(nd.array([1]), init_output=False, out=y)\nresult = y"),
    ),
    (
        "all_finite_kept_one",
        ("y = nd.array([1]); nd.all_finite(nd.array([1]), init_output=False, out=y)\nresult = y"),
    ),
    (
        "all_finite_set",
        ("y = nd.array([0]); nd.all_finite(nd.array([1]), out=y)\nresult = y"),
    ),
    ("all_finite_float64", "result = nd.all_finite(nd.ones(2, dtype='float64'))"),
    ("all_finite_integers", "result = nd.all_finite(nd.ones(2, dtype='int32'))"),
    (
        "multi_all_finite",
        (
            "a, b = nd.ones(2), nd.array([float('inf')])\n"
            "result = [nd.multi_all_finite(a, a, num_arrays=2), nd.multi_all_finite(a, b, num_arrays=2), "
            "nd.multi_all_finite(a)]"
        ),
    ),
    (
        "multi_all_finite_kept",
        ("y = nd.array([0]); nd.multi_all_finite(nd.ones(1), num_arrays=1, init_output=False, out=y)\nresult = y"),
    ),
    ("multi_all_finite_count", "result = nd.multi_all_finite(nd.ones(1), nd.ones(1))"),
    (
        "multi_sum_sq",
        ("result = nd.multi_sum_sq(nd.array([1, 2.5]), nd.array([[1, 2], [3, 4]]), num_arrays=2)"),
    ),
    (
        "multi_sum_sq_float64",
        ("result = nd.multi_sum_sq(nd.array([1, 2.5], dtype='float64'), num_arrays=1)"),
    ),
    ("multi_sum_sq_integers", "result = nd.multi_sum_sq(nd.ones(2, dtype='int32'), num_arrays=1)"),
    (
        "multi_sum_sq_mixed",
        ("result = nd.multi_sum_sq(nd.ones(2), nd.ones(2, dtype='float16'), num_arrays=2)"),
    ),
    (
        "reset_arrays",
        ("a, b = nd.ones(2), nd.ones((1, 2)); nd.reset_arrays(a, b, num_arrays=2)\nresult = [a, b]"),
    ),
    ("amp_multicast_count", "result = nd.amp_multicast(nd.ones(2), nd.ones(2), num_outputs=3)"),
]

CASES = RNN_CASES + CTC_CASES + ATTENTION_CASES + BATCH_NORM_CASES + IMAGE_CASES + INNER_CASES
CASES = [(f"networks_{name}", snippet) for name, snippet in CASES]
