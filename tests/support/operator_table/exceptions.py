"""Which checks of which rows do not apply, and why. A row that skips a check without standing here fails.

An entry is (the check, the rows, the reason); checks and rows are patterns as of shells, and rows are separated by
spaces. Rows without inputs, and those whose inputs have no names, are known from their operators.
"""

from __future__ import annotations

__all__ = ["EXCEPTIONS"]

_EMPTY = "zero-size inputs"
_ZEROS = "zeros among the inputs"

EXCEPTIONS: list[tuple[str, str, str]] = [
    # -- what has no gradient though its answer changes
    ("gradient of moving_*", "BatchNorm BatchNorm-fix_gamma BatchNorm-global_statistics", "statistics are not trained"),
    ("gradient of moving_*", "_contrib_SyncBatchNorm _contrib_SyncBatchNorm-scaled", "statistics are not trained"),
    ("gradient of moving_*", "_contrib_BatchNormWithReLU _contrib_BatchNormWithReLU-scaled", "nor are these"),
    ("gradient of moving_*", "BatchNorm_v1 BatchNorm_v1-scaled", "nor are these"),
    ("gradient of *", "_sample_*", "what is drawn is a constant to the tape, as in MXNet"),
    ("gradient of *", "BlockGrad", "this is what it is for"),
    ("gradient of *", "*_update* *_mom_update* multi_lars", "updates of weights are not differentiated"),
    ("gradient of label", "*Output", "a label is a constant"),
    ("gradient of label", "_class_log_probability", "positions"),
    ("gradient of state", "_contrib_hawkesll", "what came before is a constant, as in MXNet"),
    ("second order", "SoftmaxOutput", "its gradient follows from the answer, which is not kept with its inputs"),
    # -- dtypes that LAPACK does not have
    ("float16", "_linalg_trsm* _linalg_pot* _linalg_gelqf* _linalg_syevd _linalg_inverse _linalg_*det*", "no routines"),
    ("gradient of *", "_contrib_box_iou* _contrib_box_encode _contrib_box_decode*", "zero, as in MXNet"),
    ("gradient of *", "_contrib_MultiBox* _contrib_*Proposal", "targets and detections are constants, as in MXNet"),
    # -- integers in floats, as MXNet has them
    ("gradient of rhs", "broadcast_*", "equal numbers are where comparisons jump"),
    ("gradient of ind*", "take* pick* batch_take", "positions"),
    ("gradient of data", "Embedding", "positions"),
    ("gradient of *", "_onehot_encode", "positions, and an array of which only shape and dtype matter"),
    ("gradient of *", "_histogram*", "counts jump"),
    ("gradient of sequence_length", "SequenceMask", "lengths"),
    ("gradient of rois", "_contrib_*ROI*", "boxes are constants to the tape, as in MXNet"),
    ("gradient of sample", "_random_pdf_poisson* _random_pdf_*negative_binomial*", "counts"),
    ("gradient of index*", "_contrib_index_copy* _contrib_boolean_mask*", "positions, and a mask"),
    (
        "gradients",
        "sample_multinomial shape_array size_array _contrib_allclose _contrib_index_array*",
        "integer answers",
    ),
    # -- shapes that hang on values
    ("bound symbol", "_contrib_boolean_mask*", "as many rows as the mask has"),
    ("compiled", "_contrib_boolean_mask*", "as many rows as the mask has"),
    ("HIPS autograd", "sample_multinomial", "integer answers"),
    # -- inputs that are zero
    (_ZEROS, "reciprocal rsqrt rcbrt log log10 log2 gamma gammaln _rdiv_scalar", "a pole"),
    (_ZEROS, "arccosh", "less than 1"),
    (_ZEROS, "_rmod_scalar", "a remainder of a division by zero"),
    (_ZEROS, "_linalg_sumlogdiag*", "a pole"),
    (_ZEROS, "_random_pdf_*-*log _random_pdf_dirichlet-several", "the logarithm of 0"),
    (_ZEROS, "_linalg_potr* _linalg_gelqf-square", "then the matrices are singular"),
    (_ZEROS, "_linalg_syevd", "then the matrices are not symmetric"),
    # -- inputs without elements
    (_EMPTY, "max-* min-* argmax-* argmin-* topk-mask", "of nothing there is no largest or smallest"),
    (_EMPTY, "take pick-wrap gather_nd*", "of nothing there is nothing to choose"),
    (_EMPTY, "ROIPooling _contrib_*ROI*", "then the boxes are in images that are not there"),
    (_EMPTY, "pad-edge pad-reflect", "there is no edge to repeat"),
    (_EMPTY, "diag-matrix diag-below", "there is no such diagonal"),
    (_EMPTY, "Sequence* RNN-lstm-lengths RNN-lstm-empty CTCLoss*", "the lengths are longer"),
    (_EMPTY, "slice_like _scatter_set_nd*", "the shape is longer"),
    (_EMPTY, "_slice_assign _contrib_interleaved_matmul_*_valatt", "then the inputs do not fit each other"),
    (_EMPTY, "FullyConnected-vector dot-*", "then the inputs do not fit each other"),
    (_EMPTY, "scatter_nd ravel_multi_index _contrib_index_copy*", "then the inputs do not fit each other"),
    (_EMPTY, "_linalg_*-axis_transposed", "then the inputs do not fit each other"),
    (_EMPTY, "_linalg_tr?m-plain _linalg_tr?m-everything", "then the matrices are not square"),
    (_EMPTY, "_linalg_*-matrix _linalg_gelqf-square", "then the matrices are not square"),
    (_EMPTY, "reshape reshape_like*", "the new shape has elements, or cannot be told"),
    (_EMPTY, "broadcast_to broadcast_like* broadcast_axis", "what is repeated must have length 1"),
    (_EMPTY, "_contrib_MultiBox* _contrib_*Proposal _contrib_box_*code*", "then the inputs do not fit each other"),
    (_EMPTY, "_image_normalize", "then there are not as many means as channels"),
    (_EMPTY, "_image_resize*", "of nothing there is no image of another size"),
    (_EMPTY, "squeeze-axis *plit*-squeezed SliceChannel-squeezed _split_v2-sections", "squeezed axes have length 1"),
]
