"""Losses. Their golden numbers are those of `tests/golden/losses_cases.py`."""

from gluon_layers.declaration import Floats, Integers, Layer

PRED, LABEL = Floats((3, 4)), Floats((3, 4), scale=1.5)
VECTORS = Floats((3, 4), scale=2)
DEEP, DEEPER = Floats((2, 3, 4)), Floats((2, 3, 4), scale=1.5)
WEIGHTS = Floats((3, 1), scale=0.5, shift=1)
CLASS_WEIGHTS = Floats((4,), scale=0.5, shift=1, batch_axis=None)
PROBABILITIES = Floats((3, 4), scale=0.3, shift=0.5)
CLASSES = Integers((3,), high=4)
BINARY = Integers((3, 4), high=2, kind=None)
COUNTS = Integers((3, 4), high=6, kind=None)
STEPS = Floats((2, 6, 5), scale=2)
READ = Integers((2, 3), high=4)
# MXNet's graphs of these are others, of the same numbers.
OWN = {"mxnet_graph": False}

LAYERS = [
    Layer("l2", "gluon.loss.L2Loss()", (PRED, LABEL), **OWN),
    Layer("l2_weights", "gluon.loss.L2Loss(weight=0.3)", (DEEP, DEEPER, Floats((2, 1, 1), shift=1)), **OWN),
    Layer("l2_batch_axis", "gluon.loss.L2Loss(batch_axis=1)", (PRED, LABEL), **OWN),
    Layer("l1", "gluon.loss.L1Loss(weight=2)", (PRED, LABEL, WEIGHTS), **OWN),
    Layer("bce", "gluon.loss.SigmoidBCELoss()", (PRED, BINARY), **OWN),
    Layer("bce_weights", "gluon.loss.SigmoidBCELoss(weight=2)", (PRED, PROBABILITIES, WEIGHTS, CLASS_WEIGHTS), **OWN),
    Layer("bce_pos_weight", "gluon.loss.SigmoidBCELoss()", (PRED, BINARY, CLASS_WEIGHTS),
          call="net(x[0], x[1], None, x[2])", **OWN),
    Layer("bce_from_sigmoid", "gluon.loss.SigmoidBCELoss(from_sigmoid=True)", (PROBABILITIES, BINARY), **OWN),
    Layer("bce_from_sigmoid_pos_weight", "gluon.loss.SigmoidBCELoss(from_sigmoid=True)",
          (PROBABILITIES, BINARY, WEIGHTS, CLASS_WEIGHTS), **OWN),
    Layer("softmax_ce", "gluon.loss.SoftmaxCELoss()", (PRED, CLASSES), **OWN),
    Layer("softmax_ce_integers", "gluon.loss.SoftmaxCELoss(weight=2)",
          (PRED, Integers((3,), high=4, kind="int32"), WEIGHTS), **OWN),
    Layer("softmax_ce_axis", "gluon.loss.SoftmaxCELoss(axis=1)", (DEEP, Integers((2, 4), high=3)), **OWN),
    Layer("softmax_ce_dense", "gluon.loss.SoftmaxCELoss(sparse_label=False)", (PRED, PROBABILITIES), **OWN),
    Layer("softmax_ce_logits", "gluon.loss.SoftmaxCELoss(from_logits=True)", (PRED, CLASSES), **OWN),
    Layer("kl", "gluon.loss.KLDivLoss()", (PRED, PROBABILITIES), **OWN),
    Layer("kl_scores", "gluon.loss.KLDivLoss(from_logits=False)", (PRED, PROBABILITIES, WEIGHTS), **OWN),
    Layer("huber", "gluon.loss.HuberLoss()", (PRED, LABEL), **OWN),
    Layer("huber_rho", "gluon.loss.HuberLoss(rho=0.5, weight=2)", (PRED, LABEL, WEIGHTS), **OWN),
    Layer("hinge", "gluon.loss.HingeLoss()", (PRED, LABEL), **OWN),
    Layer("squared_hinge", "gluon.loss.SquaredHingeLoss(margin=2)", (PRED, LABEL, WEIGHTS), **OWN),
    Layer("logistic", "gluon.loss.LogisticLoss()", (PRED, LABEL), **OWN),
    Layer("logistic_binary", "gluon.loss.LogisticLoss(label_format='binary')", (PRED, BINARY, WEIGHTS), **OWN),
    Layer("triplet", "gluon.loss.TripletLoss(margin=20)", (PRED, LABEL, VECTORS), **OWN),
    Layer("triplet_deep", "gluon.loss.TripletLoss(margin=9)", (DEEP, DEEPER, DEEP), **OWN),
    Layer("cosine", "gluon.loss.CosineEmbeddingLoss(margin=-0.9)", (PRED, LABEL, Integers((3,), high=2)), **OWN),
    Layer("cosine_weights", "gluon.loss.CosineEmbeddingLoss()",
          (PRED, LABEL, Integers((3,), high=2, low=1), WEIGHTS), **OWN),
    Layer("sdml", "gluon.loss.SDMLLoss()", (PRED, LABEL), **OWN),
    # One average: of shape (1,), and () under npx.set_np.
    Layer("poisson", "gluon.loss.PoissonNLLLoss()", (PRED, COUNTS), numpy=False, **OWN),
    Layer("poisson_rates", "gluon.loss.PoissonNLLLoss(from_logits=False)", (PROBABILITIES, COUNTS, WEIGHTS),
          numpy=False, **OWN),
    Layer("poisson_full", "gluon.loss.PoissonNLLLoss(compute_full=True)", (PRED, COUNTS), numpy=False, **OWN),
    Layer("ctc", "gluon.loss.CTCLoss()", (STEPS, READ), **OWN),
    Layer("ctc_lengths", "gluon.loss.CTCLoss(weight=2)",
          (STEPS, READ, Integers((2,), high=7, low=5), Integers((2,), high=3, low=1), Floats((2,), shift=1)), **OWN),
    Layer("ctc_label_lengths", "gluon.loss.CTCLoss('TNC', 'TN')",
          (Floats((6, 2, 5), scale=2, batch_axis=1), Integers((3, 2), high=4, batch_axis=1),
           Integers((2,), high=3, low=1)),
          call="net(x[0], x[1], None, x[2])", **OWN),
]  # fmt: skip
