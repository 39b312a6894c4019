"""The lists for float16: in which precision an operator computes when mixed precision is on.

The names are MXNet's; as sets the lists are its own, as far as the operators exist here. Why an operator stands where
it does is said at each group.
"""

# ruff: noqa: SIM905 - two hundred names in quotes are no easier to read

from __future__ import annotations

from minpy.namespaces import module_functions

__all__ = [
    "CONDITIONAL_FP32_FUNCS",
    "FP16_FP32_FUNCS",
    "FP16_FUNCS",
    "FP32_FUNCS",
    "LOSS_OUTPUT_FUNCTIONS",
    "WIDEST_TYPE_CASTS",
]
__dir__, __getattr__ = module_functions(__name__, __all__, "list")

# In float16: layers that are products with parameters. That is most of the time and memory of a network, and products
# add up in float32.
FP16_FUNCS: list[str] = ["Convolution", "Deconvolution", "FullyConnected", "RNN"]

# In float32.
FP32_FUNCS: list[str] = [
    # exponentials, powers and inverse functions, which leave the range of float16 or need its every digit
    *"""
    arccos arcsin cosh erfinv sinh tan arctanh exp expm1 log log10 log2 log1p broadcast_power square reciprocal
    _RDivScalar _rdiv_scalar rsqrt rcbrt _Power _PowerScalar _power _power_scalar _RPowerScalar _rpower_scalar
    _Hypot _HypotScalar _hypot _hypot_scalar broadcast_hypot gamma gammaln smooth_l1
    """.split(),
    # sums of many terms, and norms
    *"sum sum_axis nansum prod nanprod mean norm moments".split(),
    # positions in sorted order, where ties matter
    *"argsort topk".split(),
    # normalizations: means and variances
    *"_contrib_SyncBatchNorm InstanceNorm LayerNorm GroupNorm L2Normalization LRN".split(),
    # softmax and losses
    *"""
    IdentityAttachKLSparseReg _contrib_hawkesll softmin SoftmaxOutput softmax Softmax log_softmax
    SoftmaxActivation LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput SVMOutput
    softmax_cross_entropy MakeLoss make_loss CTCLoss _contrib_CTCLoss _contrib_ctc_loss ctc_loss
    """.split(),
    # matrices: factorizations, solutions, determinants
    *"""
    linalg_sumlogdiag khatri_rao _linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_potrf _linalg_potri
    _linalg_sumlogdiag _linalg_syevd _linalg_syrk _linalg_trmm _linalg_trsm _linalg_makediag _linalg_extractdiag
    _linalg_maketrian _linalg_extracttrian _linalg_inverse _linalg_det _linalg_slogdet linalg_syrk linalg_potrf
    linalg_potri linalg_gemm2 linalg_gemm linalg_gelqf linalg_trmm linalg_trsm linalg_makediag
    linalg_extractdiag linalg_maketrian linalg_extracttrian linalg_inverse linalg_det linalg_slogdet
    """.split(),
    # layers whose positions are computed
    *"""
    Convolution_v1 _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiBoxTarget
    _contrib_DeformableConvolution _contrib_DeformablePSROIPooling
    """.split(),
    # others
    *"_contrib_count_sketch _contrib_fft Custom".split(),
]  # fmt: skip

# In the widest dtype that one of their arrays has.
WIDEST_TYPE_CASTS: list[str] = [
    # arithmetic and comparisons of two arrays
    *"""
    _Plus _plus _Minus _sub _Mul _Div _div _scatter_elemwise_div _Mod _Not_Equal _Equal _equal _Greater _greater
    _Greater_Equal _greater_equal _Lesser _Lesser_Equal _lesser _lesser_equal _Logical_And _Logical_Or
    _Logical_Xor _logical_and _logical_or _logical_xor _maximum _minimum _minus _mod _mul _not_equal
    ElementWiseSum add_n broadcast_add broadcast_plus broadcast_div broadcast_maximum broadcast_minimum
    broadcast_minus broadcast_mod broadcast_mul broadcast_sub elemwise_add elemwise_div elemwise_mul
    elemwise_sub _Maximum _Minimum
    """.split(),
    # the same with broadcasting, and choices
    *"""
    broadcast_equal broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal
    broadcast_logical_and broadcast_logical_or broadcast_logical_xor broadcast_not_equal where
    """.split(),
    # arrays joined
    *"Concat concat stack".split(),
    # products whose factors may both be activations
    *"""
    Correlation batch_dot dot _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
    """.split(),
    # boxes and regions
    *"""
    _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal _contrib_ROIAlign _contrib_box_iou
    _contrib_box_nms _contrib_box_non_maximum_suppression
    """.split(),
    # densities
    *"""
    random_pdf_gamma random_pdf_exponential random_pdf_uniform random_pdf_negative_binomial
    random_pdf_generalized_negative_binomial random_pdf_dirichlet random_pdf_normal random_pdf_poisson
    _random_pdf_gamma _random_pdf_exponential _random_pdf_uniform _random_pdf_negative_binomial
    _random_pdf_generalized_negative_binomial _random_pdf_dirichlet _random_pdf_normal _random_pdf_poisson
    """.split(),
]  # fmt: skip

# In the dtype that they are given.
FP16_FP32_FUNCS: list[str] = [
    # functions of single elements
    *"""
    _contrib_div_sqrt_dim _contrib_gradientmultiplier _contrib_quadratic abs arccosh arcsinh arctan cbrt ceil
    clip cos degrees erf fix floor hard_sigmoid logical_not negative radians relu rint round sigmoid sign sin
    softsign sqrt tanh trunc
    """.split(),
    # arrays and numbers
    *"""
    _DivScalar _EqualScalar _GreaterScalar _GreaterEqualScalar _LesserScalar _LesserEqualScalar
    _LogicalAndScalar _LogicalOrScalar _LogicalXorScalar _MaximumScalar _MinimumScalar _MinusScalar _ModScalar
    _MulScalar _NotEqualScalar _PlusScalar _RMinusScalar _RModScalar _div_scalar _equal_scalar _greater_scalar
    _greater_equal_scalar _lesser_scalar _lesser_equal_scalar _logical_and_scalar _logical_or_scalar
    _logical_xor_scalar _maximum_scalar _minimum_scalar _minus_scalar _mod_scalar _mul_scalar _not_equal_scalar
    _plus_scalar _rminus_scalar _rmod_scalar _scatter_minus_scalar _scatter_plus_scalar
    """.split(),
    # the largest, the smallest, sorted
    *"argmax argmax_channel argmin max_axis max min min_axis sort".split(),
    # what moves elements: shapes, slices, copies
    *"""
    Cast cast cast_storage Crop Flatten Pad Reshape SliceChannel SwapAxis _add _copy _copyto _grad_add
    _identity_with_attr_like_rhs _split_v2 broadcast_axes broadcast_axis broadcast_like broadcast_to crop
    depth_to_space diag expand_dims flatten flip identity ones_like pad repeat reshape reshape_like reverse
    shape_array size_array slice slice_axis slice_like space_to_depth split squeeze swapaxes tile transpose
    zeros_like
    """.split(),
    # what looks elements up
    *"""
    Embedding _contrib_SparseEmbedding _contrib_bipartite_matching _contrib_boolean_mask _contrib_index_array
    _contrib_index_copy _crop_assign _crop_assign_scalar _histogram _onehot_encode _ravel_multi_index
    _scatter_set_nd _slice_assign _slice_assign_scalar _unravel_index batch_take choose_element_0index
    fill_element_0index gather_nd one_hot pick ravel_multi_index scatter_nd take unravel_index
    """.split(),
    # layers: those that normalize add up in float32 in any case
    *"""
    BatchNorm BatchNorm_v1 BilinearSampler BlockGrad Dropout GridGenerator Pooling Pooling_v1 ROIPooling
    SequenceLast SequenceMask SequenceReverse SpatialTransformer UpSampling _contrib_AdaptiveAvgPooling2D
    _contrib_BilinearResize2D _rnn_param_concat stop_gradient
    """.split(),
    # new arrays
    *"_arange _linspace _eye _full _ones _zeros _zeros_without_dtype".split(),
    # random numbers
    *"""
    _random_exponential _random_exponential_like _random_gamma _random_gamma_like
    _random_generalized_negative_binomial _random_generalized_negative_binomial_like _random_negative_binomial
    _random_negative_binomial_like _random_normal _random_normal_like _random_poisson _random_poisson_like
    _random_randint _random_uniform _random_uniform_like _sample_exponential _sample_gamma
    _sample_generalized_negative_binomial _sample_multinomial _sample_negative_binomial _sample_normal
    _sample_poisson _sample_uniform _sample_unique_zipfian _shuffle normal random_exponential random_gamma
    random_generalized_negative_binomial random_negative_binomial random_normal random_poisson random_randint
    random_uniform sample_exponential sample_gamma sample_generalized_negative_binomial sample_multinomial
    sample_negative_binomial sample_normal sample_poisson sample_uniform shuffle uniform
    """.split(),
    # pictures
    *"""
    _image_crop _image_adjust_lighting _image_flip_left_right _image_flip_top_bottom _image_normalize
    _image_random_brightness _image_random_color_jitter _image_random_contrast _image_random_flip_left_right
    _image_random_flip_top_bottom _image_random_hue _image_random_lighting _image_random_saturation
    _image_resize _image_to_tensor
    """.split(),
    # updates of parameters
    *"""
    _adamw_update _contrib_group_adagrad_update _mp_adamw_update adam_update ftml_update ftrl_update
    mp_sgd_mom_update mp_sgd_update multi_mp_sgd_mom_update multi_mp_sgd_update multi_sgd_mom_update
    multi_sgd_update rmsprop_update rmspropalex_update sgd_mom_update sgd_update signsgd_update signum_update
    """.split(),
    # casts, and what looks for infinities
    *"all_finite amp_cast amp_multicast multi_all_finite".split(),
    # loops and branches, whose bodies are cast inside; the rest
    *"_cond _contrib_ifft _foreach _while_loop".split(),
]  # fmt: skip

# In float32 where an attribute, the second part, has one of the values.
CONDITIONAL_FP32_FUNCS: list[tuple[str, str, list[str]]] = [
    ("Activation", "act_type", ["softrelu"]),
    ("LeakyReLU", "act_type", ["elu", "selu"]),
]

# Layers that carry a loss. Their gradient does not depend on what comes from above: so it is they that are scaled.
LOSS_OUTPUT_FUNCTIONS: list[str] = [
    "SoftmaxOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
]
