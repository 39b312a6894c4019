"""Which module defines which built-in operator: written by tools/make_operator_index.py."""

from __future__ import annotations

__all__ = ["DEFINED_IN", "IMPLEMENTED_IN", "OF_NUMPY"]

# By module in `minpy.ops`: the names of the operators that it defines, aliases included.
_OPERATORS = {
    "contrib.attention": (
        "_contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt "
        "_contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt"
    ),
    "contrib.batch_norm_variants": "_contrib_SyncBatchNorm BatchNorm_v1 _contrib_BatchNormWithReLU",
    "contrib.bilinear_resize": "_contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D",
    "contrib.bipartite_matching": "_contrib_bipartite_matching",
    "contrib.box_encoding": "_contrib_box_iou _contrib_box_encode _contrib_box_decode",
    "contrib.box_nms": "_contrib_box_nms _contrib_box_non_maximum_suppression",
    "contrib.count_sketch": "_contrib_count_sketch",
    "contrib.deformable_convolution": "_contrib_DeformableConvolution _contrib_ModulatedDeformableConvolution",
    "contrib.fourier": "_contrib_fft _contrib_ifft",
    "contrib.hawkes": "_contrib_hawkesll",
    "contrib.multibox": "_contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiBoxDetection",
    "contrib.positions": "_contrib_arange_like _contrib_index_array _contrib_index_copy _contrib_boolean_mask",
    "contrib.proposal": "_contrib_MultiProposal _contrib_Proposal",
    "contrib.psroi_pooling": "_contrib_PSROIPooling _contrib_DeformablePSROIPooling",
    "contrib.quadratic": "_contrib_quadratic _contrib_div_sqrt_dim _contrib_allclose",
    "contrib.roi_align": "_contrib_ROIAlign _contrib_RROIAlign",
    "contrib.straight_through": "_contrib_round_ste _contrib_sign_ste _contrib_gradientmultiplier",
    "image.colors": (
        "_image_random_brightness _image_random_contrast _image_random_saturation _image_random_hue "
        "_image_random_color_jitter _image_adjust_lighting _image_random_lighting"
    ),
    "image.geometry": (
        "_image_to_tensor _image_normalize _image_crop _image_flip_left_right _image_random_flip_left_right "
        "_image_flip_top_bottom _image_random_flip_top_bottom"
    ),
    "image.resizing": "_image_resize",
    "linalg.diagonals": (
        "_linalg_sumlogdiag linalg_sumlogdiag _linalg_extractdiag linalg_extractdiag _linalg_makediag linalg_makediag "
        "_linalg_extracttrian linalg_extracttrian _linalg_maketrian linalg_maketrian"
    ),
    "linalg.dot": "dot batch_dot",
    "linalg.factorization": (
        "_linalg_potrf linalg_potrf _linalg_potri linalg_potri _linalg_gelqf linalg_gelqf _linalg_syevd linalg_syevd"
    ),
    "linalg.gemm": (
        "_linalg_gemm linalg_gemm _linalg_gemm2 linalg_gemm2 _linalg_trmm linalg_trmm _linalg_syrk linalg_syrk "
        "khatri_rao"
    ),
    "linalg.solving": (
        "_linalg_trsm linalg_trsm _linalg_inverse linalg_inverse _linalg_det linalg_det _linalg_slogdet linalg_slogdet"
    ),
    "nn.activation": "Activation LeakyReLU",
    "nn.batch_norm": "BatchNorm",
    "nn.bilinear_sampler": "BilinearSampler GridGenerator SpatialTransformer",
    "nn.block_grad": "BlockGrad stop_gradient",
    "nn.channel_norm": "InstanceNorm GroupNorm L2Normalization LRN",
    "nn.convolution": "Convolution Convolution_v1 Deconvolution",
    "nn.correlation": "Correlation",
    "nn.cropping": "Crop",
    "nn.ctc_loss": "CTCLoss ctc_loss _contrib_CTCLoss _contrib_ctc_loss",
    "nn.dropout": "Dropout",
    "nn.embedding": "Embedding _contrib_SparseEmbedding",
    "nn.fully_connected": "FullyConnected",
    "nn.im2col": "im2col col2im",
    "nn.layer_norm": "LayerNorm",
    "nn.loss": "softmax_cross_entropy",
    "nn.masked_softmax": "_npx_masked_softmax _npx_masked_log_softmax",
    "nn.output_layers": (
        "LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput MakeLoss make_loss SVMOutput"
    ),
    "nn.pooling": "Pooling",
    "nn.pooling_v1": "Pooling_v1",
    "nn.rnn": "RNN _rnn_param_concat",
    "nn.roi_pooling": "ROIPooling",
    "nn.sequence_lengths": "SequenceMask SequenceLast SequenceReverse",
    "nn.softmax": "softmax log_softmax softmin SoftmaxActivation",
    "nn.softmax_output": "SoftmaxOutput Softmax",
    "nn.sparse_regularization": "IdentityAttachKLSparseReg",
    "nn.upsampling": "UpSampling",
    "optimizer.adam_updates": "adam_update _adamw_update _mp_adamw_update _multi_adamw_update _multi_mp_adamw_update",
    "optimizer.group_adagrad": "_contrib_group_adagrad_update",
    "optimizer.lamb": (
        "lamb_update_phase1 lamb_update_phase2 mp_lamb_update_phase1 mp_lamb_update_phase2 _multi_lamb_update "
        "_multi_mp_lamb_update multi_lars"
    ),
    "optimizer.regularized": "ftrl_update ftml_update",
    "optimizer.rmsprop": "rmsprop_update rmspropalex_update",
    "optimizer.sgd": (
        "sgd_update sgd_mom_update nag_mom_update mp_sgd_update mp_sgd_mom_update mp_nag_mom_update multi_sgd_update "
        "multi_sgd_mom_update multi_mp_sgd_update multi_mp_sgd_mom_update preloaded_multi_sgd_update "
        "preloaded_multi_sgd_mom_update preloaded_multi_mp_sgd_update preloaded_multi_mp_sgd_mom_update"
    ),
    "optimizer.sign": "signsgd_update signum_update",
    "random.pdf": (
        "_random_pdf_uniform random_pdf_uniform _random_pdf_normal random_pdf_normal _random_pdf_gamma "
        "random_pdf_gamma _random_pdf_exponential random_pdf_exponential _random_pdf_poisson random_pdf_poisson "
        "_random_pdf_negative_binomial random_pdf_negative_binomial _random_pdf_generalized_negative_binomial "
        "random_pdf_generalized_negative_binomial _random_pdf_dirichlet random_pdf_dirichlet"
    ),
    "random.samplers": (
        "_random_uniform random_uniform uniform _random_uniform_like _sample_uniform sample_uniform _random_normal "
        "random_normal normal _random_normal_like _sample_normal sample_normal _random_gamma random_gamma "
        "_random_gamma_like _sample_gamma sample_gamma _random_exponential random_exponential _random_exponential_like "
        "_sample_exponential sample_exponential _random_poisson random_poisson _random_poisson_like _sample_poisson "
        "sample_poisson _random_negative_binomial random_negative_binomial _random_negative_binomial_like "
        "_sample_negative_binomial sample_negative_binomial _random_generalized_negative_binomial "
        "random_generalized_negative_binomial _random_generalized_negative_binomial_like "
        "_sample_generalized_negative_binomial sample_generalized_negative_binomial _random_randint random_randint"
    ),
    "random.shuffling": "_shuffle shuffle sample_multinomial _sample_multinomial",
    "random.zipfian": "_sample_unique_zipfian",
    "tensor.arithmetic": (
        "broadcast_add broadcast_plus add broadcast_sub broadcast_minus subtract broadcast_mul multiply broadcast_div "
        "divide true_divide broadcast_mod modulo broadcast_power power broadcast_maximum maximum broadcast_minimum "
        "minimum broadcast_hypot"
    ),
    "tensor.assigning": (
        "_slice_assign _crop_assign _slice_assign_scalar _crop_assign_scalar _scatter_set_nd fill_element_0index"
    ),
    "tensor.broadcasting": "broadcast_to broadcast_axis broadcast_axes broadcast_like",
    "tensor.comparison": (
        "broadcast_equal equal broadcast_not_equal not_equal broadcast_greater greater broadcast_greater_equal "
        "greater_equal broadcast_lesser lesser broadcast_lesser_equal lesser_equal broadcast_logical_and logical_and "
        "broadcast_logical_or logical_or broadcast_logical_xor logical_xor logical_not where"
    ),
    "tensor.copies": "_copy identity _copyto cast_storage cast Cast zeros_like ones_like shape_array size_array",
    "tensor.counting": "_histogram _onehot_encode",
    "tensor.creation": "_zeros _ones _full _zeros_without_dtype _arange _linspace _eye",
    "tensor.equal_shapes": (
        "elemwise_add _plus _Plus _add _grad_add elemwise_sub _minus _Minus _sub elemwise_mul _mul _Mul elemwise_div "
        "_div _Div _scatter_elemwise_div _mod _Mod _power _Power _maximum _Maximum _minimum _Minimum _hypot _Hypot "
        "_equal _Equal _not_equal _Not_Equal _greater _Greater _greater_equal _Greater_Equal _lesser _Lesser "
        "_lesser_equal _Lesser_Equal _logical_and _Logical_And _logical_or _Logical_Or _logical_xor _Logical_Xor add_n "
        "ElementWiseSum _sum _identity_with_attr_like_rhs"
    ),
    "tensor.flat_index": "_ravel_multi_index ravel_multi_index _unravel_index unravel_index",
    "tensor.indexing": "take pick choose_element_0index batch_take one_hot gather_nd scatter_nd",
    "tensor.joining": "concat Concat stack",
    "tensor.mathematics": (
        "negative reciprocal abs square sqrt rsqrt cbrt rcbrt exp expm1 log log10 log2 log1p sin cos tan arcsin arccos "
        "arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians sigmoid relu softsign hard_sigmoid smooth_l1"
    ),
    "tensor.mixed_precision": "amp_cast amp_multicast all_finite multi_all_finite multi_sum_sq",
    "tensor.ordering": "sort argsort topk cumsum _np_cumsum",
    "tensor.reduction": (
        "sum sum_axis nansum mean prod nanprod max max_axis min min_axis argmax argmin argmax_channel moments norm"
    ),
    "tensor.reshape": "reshape Reshape reshape_like flatten Flatten expand_dims squeeze",
    "tensor.rounding": "sign floor ceil trunc fix round rint clip",
    "tensor.scalar": (
        "_plus_scalar _PlusScalar _minus_scalar _MinusScalar _rminus_scalar _RMinusScalar _mul_scalar _MulScalar "
        "_div_scalar _DivScalar _rdiv_scalar _RDivScalar _mod_scalar _ModScalar _rmod_scalar _RModScalar _power_scalar "
        "_PowerScalar _rpower_scalar _RPowerScalar _maximum_scalar _MaximumScalar _minimum_scalar _MinimumScalar "
        "_hypot_scalar _HypotScalar _equal_scalar _EqualScalar _not_equal_scalar _NotEqualScalar _greater_scalar "
        "_GreaterScalar _greater_equal_scalar _GreaterEqualScalar _lesser_scalar _LesserScalar _lesser_equal_scalar "
        "_LesserEqualScalar _logical_and_scalar _LogicalAndScalar _logical_or_scalar _LogicalOrScalar "
        "_logical_xor_scalar _LogicalXorScalar _scatter_plus_scalar _scatter_minus_scalar"
    ),
    "tensor.slicing": "slice crop slice_axis slice_like diag",
    "tensor.special": "erf erfinv gamma gammaln",
    "tensor.splitting": "SliceChannel split split_v2 _split_v2",
    "tensor.tiling": "tile repeat flip reverse pad Pad depth_to_space space_to_depth",
    "tensor.transpose": "transpose swapaxes SwapAxis",
}
# And the names of the NumPy functions that some of them are.
_FUNCTIONS = {
    "linalg.dot": "matmul dot",
    "numpy.recorded_functions": (
        "sum mean prod max amax min amin where clip equal not_equal less less_equal greater greater_equal logical_and "
        "logical_or logical_xor logical_not isfinite isinf isnan signbit rint floor_divide round around positive"
    ),
    "numpy.recorded_joining": "concatenate stack",
    "numpy.shape": "reshape ravel expand_dims squeeze transpose swapaxes moveaxis broadcast_to flip roll copy",
    "tensor.arithmetic": "add subtract multiply divide remainder power maximum minimum hypot logaddexp arctan2",
    "tensor.mathematics": (
        "negative reciprocal absolute square sqrt cbrt exp expm1 log log10 log2 log1p sin cos tan arcsin arccos arctan "
        "sinh cosh tanh arcsinh arccosh arctanh degrees radians"
    ),
    "tensor.rounding": "sign floor ceil fix trunc",
}

# By an operator's name, the module in `minpy.ops` that defines it.
DEFINED_IN = {name: module for module, names in _OPERATORS.items() for name in names.split()}
# By the name of a NumPy function, the module that defines the operator which it is.
IMPLEMENTED_IN = {name: module for module, names in _FUNCTIONS.items() for name in names.split()}
# The module that makes those of NumPy's functions in graphs: they are in no namespace.
OF_NUMPY = "numpy.all_named"
