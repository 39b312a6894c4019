"""Golden cases of `gluon.loss`: values and gradients, as arrays of `nd` and of `np`, hybridized and not.

Head gradients are not all ones.
"""

from textwrap import dedent, indent

# The arrays of all cases.
ARRAYS = """
A = np.sin(np.arange(6).reshape(2, 3) * 1.7 + 1) * 2
B = np.cos(np.arange(6).reshape(2, 3) * 2.3 + 1) * 2
C = np.sin(np.arange(6).reshape(2, 3) * 3.1 + 2)
P = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
Q = np.array([[1, 0, 0.5], [0, 0.25, 0.75]])
YES = np.array([[1, 0, 1], [0, 0, 1]])
SIGN = np.array([[1, -1, 1], [-1, -1, 1]])
COUNTS = np.array([[0, 3, 1], [7, 2, 0]])
DEEP = np.sin(np.arange(24).reshape(2, 3, 4) * 1.3)
DEEPER = np.cos(np.arange(24).reshape(2, 3, 4) * 1.9)
STEPS = np.sin(np.arange(40).reshape(2, 5, 4) * 2.1) * 2
READ = np.array([[1, 2, 2], [0, -1, -1]])
ROWS = np.array([[0.5], [2]])
PAIR = np.array([0.5, 2])
CLASSES = np.array([0.5, 2, 3])
"""
# A case: what it is called, how the loss is made, its inputs, and how many of them have gradients.
LOSSES = [
    ("l2", "L2Loss()", "A, B", 2),
    ("l2_weight", "L2Loss(weight=0.3)", "A, B", 2),
    ("l2_no_weight", "L2Loss(weight=2)", "A, B, ROWS", 3),
    ("l2_batch_axis", "L2Loss(batch_axis=1)", "A, B", 2),
    ("l2_vector", "L2Loss()", "A[0], B[0]", 2),
    ("l2_label_of_another_shape", "L2Loss()", "A, B.reshape(6)", 2),
    ("l2_deep", "L2Loss()", "DEEP, DEEPER, ROWS.reshape(2, 1, 1)", 2),
    ("l1", "L1Loss()", "A, B", 2),
    ("l1_last_axis", "L1Loss(batch_axis=-1)", "A[:, :1], B[:, :1]", 2),
    ("l1_weights", "L1Loss(0.3, 1)", "A, B, CLASSES", 2),
    ("bce", "SigmoidBinaryCrossEntropyLoss()", "A, YES", 2),
    ("bce_far", "SigmoidBCELoss()", "A * 50, YES", 1),
    ("bce_soft_labels", "SigmoidBCELoss(weight=0.3)", "A, Q, ROWS", 2),
    ("bce_pos_weight", "SigmoidBCELoss()", "A, YES, None, CLASSES", 2),
    ("bce_pos_weight_and_weights", "SigmoidBCELoss()", "A, Q, ROWS, CLASSES", 2),
    ("bce_from_sigmoid", "SigmoidBCELoss(from_sigmoid=True)", "P, YES", 2),
    ("bce_from_sigmoid_zero", "SigmoidBCELoss(from_sigmoid=True)", "YES, YES", 0),
    ("bce_from_sigmoid_pos_weight", "SigmoidBCELoss(True)", "P, Q, ROWS, CLASSES", 2),
    ("bce_deep", "SigmoidBCELoss(batch_axis=0)", "DEEP, DEEPER", 2),
    ("softmax_ce", "SoftmaxCrossEntropyLoss()", "A, np.array([2, 0])", 1),
    ("softmax_ce_weights", "SoftmaxCELoss(weight=0.3)", "A, np.array([2, 0]), ROWS", 1),
    ("softmax_ce_vector_of_weights", "SoftmaxCELoss()", "A, np.array([2, 0]), PAIR", 1),
    ("softmax_ce_label_too_large", "SoftmaxCELoss()", "A, np.array([2, 7])", 1),
    ("softmax_ce_label_column", "SoftmaxCELoss()", "A, np.array([[2], [1]])", 1),
    ("softmax_ce_axis", "SoftmaxCELoss(axis=1)", "DEEP, np.arange(8).reshape(2, 4) % 3", 1),
    ("softmax_ce_axes", "SoftmaxCELoss(axis=0, batch_axis=1)", "A, np.array([0, 1, 1])", 1),
    ("softmax_ce_dense", "SoftmaxCELoss(sparse_label=False)", "A, P", 2),
    ("softmax_ce_dense_axis", "SoftmaxCELoss(axis=1, sparse_label=False)", "DEEP, DEEPER", 2),
    ("softmax_ce_logits", "SoftmaxCELoss(from_logits=True)", "np.log(P), np.array([2, 0])", 1),
    ("softmax_ce_dense_logits", "SoftmaxCELoss(-1, False, True)", "np.log(P), Q, ROWS", 2),
    ("kl", "KLDivLoss()", "np.log(P), Q", 2),
    ("kl_scores", "KLDivLoss(from_logits=False)", "A, P", 2),
    ("kl_weights", "KLDivLoss(False, weight=0.3)", "A, P, ROWS", 2),
    ("kl_axis", "KLDivLoss(from_logits=False, axis=1, batch_axis=2)", "DEEP, DEEPER ** 2", 2),
    ("ctc", "CTCLoss()", "STEPS, READ", 1),
    ("ctc_time_first", "CTCLoss(layout='TNC')", "STEPS.transpose(1, 0, 2), READ", 1),
    ("ctc_label_time_first", "CTCLoss(label_layout='TN')", "STEPS, READ.T", 1),
    ("ctc_both_time_first", "CTCLoss('TNC', 'TN', 0.3)", "STEPS.transpose(1, 0, 2), READ.T", 1),
    ("ctc_label_lengths", "CTCLoss()", "STEPS, READ, None, np.array([2, 1])", 1),
    ("ctc_lengths", "CTCLoss()", "STEPS, READ, np.array([5, 3]), np.array([3, 1])", 1),
    ("ctc_pred_lengths", "CTCLoss()", "STEPS, READ, np.array([5, 4])", 1),
    ("ctc_weights", "CTCLoss(weight=2)", "STEPS, READ, None, None, PAIR", 1),
    ("huber", "HuberLoss()", "A, B", 2),
    ("huber_rho", "HuberLoss(rho=0.5)", "A, B", 2),
    ("huber_weights", "HuberLoss(2, 0.3)", "A, B, ROWS", 2),
    ("huber_at_the_edge", "HuberLoss(rho=1)", "YES, np.zeros((2, 3))", 2),
    ("hinge", "HingeLoss()", "A, SIGN", 2),
    ("hinge_margin", "HingeLoss(margin=0.3, weight=2)", "A, SIGN, ROWS", 2),
    ("squared_hinge", "SquaredHingeLoss()", "A, SIGN", 2),
    ("squared_hinge_margin", "SquaredHingeLoss(0.3, 2, 1)", "A, SIGN", 2),
    ("logistic", "LogisticLoss()", "A, SIGN", 2),
    ("logistic_binary", "LogisticLoss(label_format='binary')", "A, YES", 2),
    ("logistic_weights", "LogisticLoss(0.3)", "A, SIGN, ROWS", 2),
    ("triplet", "TripletLoss()", "A, B, C", 3),
    ("triplet_margin", "TripletLoss(margin=3, weight=0.3)", "A, B, C", 3),
    ("triplet_batch_axis", "TripletLoss(batch_axis=1)", "A, B, C", 3),
    ("triplet_deep", "TripletLoss()", "DEEP, DEEPER, DEEP[::-1]", 3),
    ("poisson", "PoissonNLLLoss()", "A, COUNTS", 2),
    ("poisson_rates", "PoissonNLLLoss(from_logits=False)", "P, COUNTS", 2),
    ("poisson_full", "PoissonNLLLoss(compute_full=True)", "A, COUNTS", 1),
    ("poisson_full_value", "PoissonNLLLoss(compute_full=True)", "A, COUNTS", 0),
    ("poisson_full_rates_value", "PoissonNLLLoss(0.3, False, 0, True)", "P, COUNTS * 0.4 + 0.1, ROWS", 0),
    ("poisson_full_fractions", "PoissonNLLLoss(0.3, False, 0, True)", "P, COUNTS * 0.4 + 0.1, ROWS", 2),
    ("cosine", "CosineEmbeddingLoss()", "A, B, np.array([1, -1])", 2),
    ("cosine_margin", "CosineEmbeddingLoss(margin=0.2)", "DEEP, DEEPER, SIGN", 2),
    ("cosine_weights", "CosineEmbeddingLoss(2)", "A, B, np.array([1, -1]), ROWS", 2),
    ("cosine_vector_of_weights", "CosineEmbeddingLoss()", "A, B, np.array([1, -1]), PAIR", 2),
    ("cosine_label_zero", "CosineEmbeddingLoss(margin=-0.5)", "A, B, np.array([1, 0])", 2),
    ("cosine_zero_vector", "CosineEmbeddingLoss()", "A * [[0], [1]], B, np.array([1, -1])", 0),
    ("cosine_vectors", "CosineEmbeddingLoss()", "A[0], B[0], np.array([1])", 2),
    ("cosine_batch_axis", "CosineEmbeddingLoss(batch_axis=1)", "A, B, np.array([-1, 1])", 2),
    ("sdml", "SDMLLoss()", "A * 0.5, B * 0.5", 2),
    ("sdml_smoothing", "SDMLLoss(0.1)", "np.concatenate([A, C]), np.concatenate([C, A])", 2),
    ("sdml_weight", "SDMLLoss(weight=0.3, batch_axis=1)", "B * 0.5, A * 0.5", 2),
]
# Losses whose operators MXNet has for `np`, too.
NUMPY = ("l2", "l1", "bce", "softmax_ce")
# Those that MXNet does not compute in float64.
FLOAT32 = ("cosine", "ctc", "poisson_full", "sdml")
MAKE = """
def arrays(*values):
    made = [None if value is None else {array}(value, dtype='{dtype}') for value in values]
    for array in made[:{gradients}]:
        array.attach_grad()
    return made

inputs = arrays({inputs})
loss = mx.gluon.loss.{loss}
{hybridize}
with autograd.record():
    out = loss(*inputs)
out.backward({array}(np.cos(np.arange(out.size)).reshape(out.shape), dtype='{dtype}'))
result = [out, *(array.grad for array in inputs[:{gradients}])]
"""


def _case(loss, inputs, gradients, dtype="float32", is_numpy=False, is_hybrid=False):
    program = dedent(MAKE).format(
        array="mx.np.array" if is_numpy else "nd.array",
        dtype=dtype,
        gradients=gradients,
        inputs=inputs,
        loss=loss,
        hybridize="loss.hybridize()" if is_hybrid else "",
    )
    if not gradients:
        program = program.replace("autograd.record()", "autograd.pause()")
        program = "\n".join(line for line in program.splitlines() if "backward" not in line)
    if is_numpy:
        program = f"with mx.util.np_shape(True), mx.util.np_array(True):\n{indent(program, '    ')}"
    return ARRAYS + program


CASES = [
    *((f"loss_{name}", _case(loss, inputs, gradients)) for name, loss, inputs, gradients in LOSSES),
    *(
        (f"loss_{name}_float64", _case(loss, inputs, gradients, "float64"))
        for name, loss, inputs, gradients in LOSSES
        if not name.startswith(FLOAT32)
    ),
    *(
        (f"loss_{name}_hybridized", _case(loss, inputs, gradients, is_hybrid=True))
        for name, loss, inputs, gradients in LOSSES
    ),
    *(
        (f"loss_{name}_np", _case(loss, inputs, gradients, is_numpy=True))
        for name, loss, inputs, gradients in LOSSES
        if name.startswith(NUMPY)
    ),
    *(
        (f"loss_{name}_np_hybridized", _case(loss, inputs, gradients, is_numpy=True, is_hybrid=True))
        for name, loss, inputs, gradients in LOSSES
        if name.startswith(NUMPY)
    ),
    *(
        (f"loss_{name}_np", _case(loss, inputs, gradients, is_numpy=True))
        for name, loss, inputs, gradients in LOSSES
        if name in ("huber", "kl", "hinge", "logistic", "triplet", "poisson", "cosine", "sdml", "ctc", "squared_hinge")
    ),
    *(
        (f"loss_name_{name.lower()}", f"loss = mx.gluon.loss.{name}\nresult = [repr(loss), loss.__class__.__name__]")
        for name in ("L2Loss(2, 1)", "SoftmaxCELoss()", "CTCLoss(label_layout='TN')", "SDMLLoss()", "LogisticLoss(3)")
    ),
    ("loss_logistic_format", "result = mx.gluon.loss.LogisticLoss(label_format='x')"),
    ("loss_ctc_layout", "result = mx.gluon.loss.CTCLoss(layout='NCT')"),
    ("loss_weight_is_an_array", "result = mx.gluon.loss.L1Loss(weight=nd.ones(2))(nd.ones(2), nd.ones(2))"),
    ("loss_base", "result = mx.gluon.loss.Loss(1, 0)(nd.ones(2))"),
    ("loss_sample_weight_of_another_shape", "result = mx.gluon.loss.L2Loss()(nd.ones((2, 3)), nd.ones(6), nd.ones(2))"),
    ("loss_label_of_another_size", "result = mx.gluon.loss.L2Loss()(nd.ones((2, 3)), nd.ones((2, 2)))"),
]
