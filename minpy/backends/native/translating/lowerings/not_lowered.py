"""Operators that are called as they are, with the reasons that reports give; their gradients are called, too."""

from __future__ import annotations

__all__ = ["CALLED"]

_REASONS = {
    "it takes or places elements by arrays of indices": (
        "_scatter_set_nd _scatter_nd _scatter_weighted _gather_rows _pair_rows "
        "_pick_flat _place_flat _contrib_index_copy _contrib_count_sketch BilinearSampler "
        "SpatialTransformer _contrib_DeformableConvolution _contrib_ModulatedDeformableConvolution "
        "_contrib_DeformablePSROIPooling _contrib_PSROIPooling _contrib_ROIAlign _contrib_RROIAlign ROIPooling"
    ),
    "it sorts": "sort argsort topk _shuffle",
    "it draws random numbers": (
        "sample_multinomial _random_randint _sample_unique_zipfian _image_random_brightness _image_random_contrast "
        "_image_random_saturation _image_random_hue _image_random_color_jitter _image_random_lighting "
        "_image_random_flip_left_right _image_random_flip_top_bottom"
    ),
    "LAPACK computes it": (
        "_linalg_det _linalg_slogdet _linalg_inverse _linalg_potrf _linalg_potri _linalg_gelqf _linalg_syevd "
        "_linalg_trsm"
    ),
    "NumPy's Fourier transform computes it, in complex numbers": "_contrib_fft _contrib_ifft",
    "SciPy computes it": (
        "erfinv gamma gammaln _polygamma _random_pdf_gamma _random_pdf_poisson _random_pdf_negative_binomial "
        "_random_pdf_generalized_negative_binomial _random_pdf_dirichlet"
    ),
    "what it does depends on values": (
        "CTCLoss _contrib_box_nms _contrib_box_encode _contrib_bipartite_matching _contrib_MultiBoxTarget "
        "_contrib_MultiBoxDetection _contrib_MultiProposal _contrib_Proposal _contrib_hawkesll _histogram "
        "_contrib_boolean_mask _mp_adamw_update"
    ),
    "its windows have a kernel of their own": "col2im _tied_pick _image_resize",
}

# By name of an operator.
CALLED = {name: reason for reason, names in _REASONS.items() for name in names.split()}
