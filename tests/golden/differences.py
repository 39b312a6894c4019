"""Where minpy answers differently from MXNet 1.9.1 on purpose: what, why, and in which golden cases it shows.

``intended.json`` holds our answers to those cases. Usage: ``python tests/golden/differences.py`` writes it anew, and
the table of differences in ``docs/differences.md``.
"""

import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "docs" / "differences.md"
# The cases that tests/package/test_golden.py runs; the other files have tests of their own.
APART = {"inference", "naming", "native", "native_library", "refusals", "symbol", "visualization"}
GROUPS = tuple(sorted({path.name.removesuffix("_cases.py") for path in HERE.glob("*_cases.py")} - APART))


@dataclass(frozen=True)
class Difference:
    """What MXNet 1.9.1 does, what minpy does, why; and the golden cases that show it."""

    mxnet: str
    minpy: str
    why: str
    cases: str

    def row(self) -> str:
        """Returns the row of the table in ``docs/differences.md``."""
        return f"| {self.mxnet} | {self.minpy} | {self.why} |"


CONTROL_FLOW = [
    Difference(
        "The gradient of a label that `CustomOp.backward` leaves unwritten is whatever the memory holds.",
        "It is zero, with one warning that names the label; other gradients that are left unwritten are an error.",
        "Whatever the memory holds is no gradient.",
        "",
    ),
    Difference(
        "Iterating over a `mx.np.ndarray` without axes gives nothing.",
        "It is a TypeError, raised by `iter()`, as in NumPy.",
        "matplotlib and others ask `np.iterable`, and draw nothing where an array without axes says yes; "
        "`sum(loss)` is 0.",
        "accepted_np_iteration",
    ),
    Difference(
        "`nd.contrib.cond` takes a function as its condition for true, whatever it returns.",
        "The function is called, and decides.",
        "The other branch could never be reached.",
        "control_flow_cond_callable",
    ),
]

RECORDED = [
    Difference(
        "`np.array` of a list of recorded elements is a constant: no gradient goes through it.",
        "It is recorded, as whatever else is made of recorded values.",
        "Gradients that are silently zero.",
        "recorded_list_of_elements",
    ),
    Difference(
        "`np.percentile`, `quantile`, `random.uniform`, `random.power` and `npx.random.uniform_n` have zero gradients.",
        "They have those of what they compute.",
        "Gradients that are silently zero.",
        "recorded_percentile_gradient recorded_quantile_gradient drawn_uniform_gradients "
        "drawn_uniform_gradients_of_a_size drawn_uniform_n_gradients drawn_power",
    ),
    Difference(
        "`nd.random.shuffle` cannot be differentiated.",
        "The gradient takes the elements' way back.",
        "It only moves elements.",
        "drawn_nd_shuffle",
    ),
]

ARRAYS = [
    Difference(
        "Arrays of different dtypes in one operation are an error.",
        "The dtype is promoted as in NumPy 2: float32 with float64 gives float64, int32 with float32 gives float64.",
        "What NumPy users expect; nothing is lost.",
        "float32_plus_float64 float32_times_float64 float32_divided_by_float64 float32_greater_float64 "
        "float16_plus_float32 int32_plus_float32 float32_plus_int32 int32_plus_int64 float32_plus_int32_broadcast "
        "dot_mixed_dtypes concat_mixed_dtypes bool_times_float32_array comparison_mixed_dtypes",
    ),
    Difference(
        "`bool` arrays neither add nor compare; times 2.5 they give int64, truncated.",
        "They add and compare as in NumPy; with an int they give int64 (as in MXNet), with a float float32.",
        "`mask * 2.5` that gives 2 is a trap.",
        "bool_plus_bool comparison_dtype_bool bool_times_float dtypes_plus_fraction_bool "
        "dtypes_plus_fraction_bool_symbol dtypes_minus_fraction_bool dtypes_minus_fraction_bool_symbol "
        "dtypes_from_fraction_bool dtypes_from_fraction_bool_symbol dtypes_times_fraction_bool "
        "dtypes_times_fraction_bool_symbol dtypes_over_fraction_bool dtypes_over_fraction_bool_symbol "
        "dtypes_to_the_half_bool dtypes_to_the_half_bool_symbol dtypes_mod_fraction_bool "
        "dtypes_mod_fraction_bool_symbol dtypes_greater_bool dtypes_greater_bool_symbol dtypes_equal_bool "
        "dtypes_equal_bool_symbol",
    ),
    Difference(
        "Functions of `bool` arrays are errors, but for sums; `-mask` is int64.",
        "Where NumPy gives floating point or refuses, they count as 0 and 1 in float32; `argmax` gives int64.",
        "`exp(mask)` and `mask1 - mask2` have an obvious meaning.",
        "dtypes_exp_bool dtypes_argmax_bool dtypes_negative_bool dtypes_negative_bool_symbol",
    ),
    Difference(
        "`norm` of integers truncates on the way: of 1, 5, 1, 2, 3 it is 5.",
        "The root of the sum of squares is truncated: 6.",
        "A wrong number.",
        "dtypes_norm_uint8 dtypes_norm_int8 dtypes_norm_int32 dtypes_norm_int64",
    ),
    Difference(
        "The sum in a `mean` of uint8 and int8 overflows: of 100, 100, 100, 20 it is 16.",
        "80.",
        "A wrong number.",
        "dtypes_mean_of_large_uint8 dtypes_mean_of_large_int8",
    ),
    Difference(
        "`arange` of float16 truncates `start` and `step`, as for integers.",
        "It gives the numbers that were asked for.",
        "Zeros in place of 0.5, 1, 1.5, ...",
        "dtypes_arange_float16",
    ),
    Difference(
        "dtypes int16, uint16, uint32, uint64 and the complex ones do not exist.",
        "Every numeric dtype of NumPy can be held.",
        "They are data that people have.",
        "array_dtype_int16 array_dtype_uint32 array_from_complex",
    ),
    Difference(
        "`nd.array` of a list of NDArrays is an error.",
        "It stacks them.",
        "As `numpy.array` does.",
        "array_from_list_of_ndarrays",
    ),
    Difference(
        "`ctx` must be a Context.",
        "`ctx='cpu'` works too.",
        "Shorter, and unambiguous.",
        "array_ctx_not_a_context",
    ),
    Difference(
        "Arrays with an axis of length 0, and arrays without axes, are errors unless `mx.util.np_shape` is on.",
        "They always work. (Reductions of an NDArray to one number keep shape `(1,)`, as in MXNet.)",
        "An empty batch is no special case.",
        "arange_empty arange_backwards zero_size_not_allowed zero_size_shape_zeros zero_dim_without_np_shape "
        "zero_size_add slice_empty_reversed list_index_empty",
    ),
    Difference(
        "Boolean masks are read as the indices 0 and 1, or are errors.",
        "NumPy arrays, NDArrays and lists of booleans are masks, for reading and for writing; `True` adds an axis.",
        "Silently wrong elements.",
        "numpy_bool_mask list_index_bool ndarray_bool_mask bool_mask_2d set_bool_mask set_ndarray_bool_mask bool_index "
        "gradient_of_index_numpy_mask",
    ),
    Difference(
        "`x[a:b]` writes through to `x` where it happens to be contiguous memory, and is a copy otherwise.",
        "Every basic slice writes through, as in NumPy; indexing with lists and arrays copies.",
        "Whether `y[:] = 0` changes `x` should not depend on strides.",
        "view_column_writes_through view_inner_block_writes_through view_step_writes_through",
    ),
    Difference(
        "A bound of a slice must be a Python int.",
        "Integer arrays of one element are indices and bounds.",
        "`__index__` is what Python has for this.",
        "slice_with_ndarray_bound index_of_int_array",
    ),
    Difference(
        "NumPy arrays and NDArrays do not mix in arithmetic; operators take NDArrays only.",
        "Operators take NDArrays, NumPy arrays and numbers. Without an NDArray among them they return NumPy's types.",
        "The same function serves both kinds of code.",
        "float32_plus_numpy_array numpy_array_on_the_left operator_needs_ndarray operator_given_numpy "
        "add_function_with_scalars maximum_function equal_function_scalars where_scalars "
        "backward_head_gradient_numpy backward_head_gradient_other_dtype",
    ),
    Difference(
        "`x // y`, `x @ y`, `divmod`, `+x`, `float(x)`, `int(x)`, `item`, `tolist`, `as_in_ctx`, `zero_grad`, `x.dot`, "
        "`x.transpose(1, 0)` and format specifications are missing.",
        "They exist, as in NumPy.",
        "Every one of them is asked for by somebody.",
        "floor_division floor_division_in_place matrix_multiplication_operator divmod_builtin unary_plus float_of_one "
        "float_of_1x1 int_of_one item_method tolist_method as_in_ctx_alias zero_grad_method dot_method format_spec "
        "transpose_axes_arguments broadcast_to_method_int full_like numpy_array_with_dtype numpy_function_on_array "
        "dot_int32",
    ),
    Difference(
        "`x ** 2` in place (`x **= 2`) makes a new array.",
        "It changes `x`, as the other in-place signs do.",
        "One rule for all of them.",
        "in_place_power",
    ),
    Difference(
        "`x == None` and `x == 'a'` are errors.",
        "They are False (`!=`: True). Comparing with a list is an error that says to convert it.",
        "`x == None` occurs in generic code.",
        "equal_none not_equal_none equal_string",
    ),
    Difference(
        "A remainder by zero is 0.",
        "It is NaN for floating-point numbers, as in NumPy; 0 for integers.",
        "A division by zero should be seen.",
        "modulo_by_zero modulo_array_by_zero broadcast_mod_by_zero",
    ),
    Difference(
        "`asscalar` of an array of shape (1, 1) returns a NumPy array.",
        "It returns the scalar.",
        "That is its name.",
        "asscalar_of_1x1",
    ),
    Difference(
        "`x.copyto(x)` warns and returns False.",
        "It returns `x`.",
        "The result of `copyto` is always an array.",
        "copyto_itself",
    ),
    Difference(
        "`out=` must have the result's dtype.",
        "The result is converted to the dtype of `out`.",
        "Shape errors remain errors.",
        "out_argument_other_dtype",
    ),
    Difference(
        "Arrays on `cpu(0)` and `cpu(1)` can be added.",
        "Arrays on different contexts are an error that names both.",
        "The same code then behaves alike on devices with memory of their own.",
        "mixed_contexts_add",
    ),
]

RECORDING = [
    Difference(
        "A value that was changed in place after it was recorded is used as it is then: the gradient is wrong.",
        "`backward` raises an error that names the operator and the argument, if the gradient needs the old value.",
        "Wrong numbers without a word are the worst kind of bug.",
        "leaf_changed_between_record_and_backward in_place_in_pause",
    ),
    Difference(
        "An array whose values are all replaced outside `record()` (`h[:] = 0`) keeps its place on the tape.",
        "It is a constant from then on: `backward` on it raises NotRecordedError. One that is changed in part, or "
        "computed from its old values (`h[0] = 0`, `h += 1`), keeps its place as in MXNet, and `backward` through it "
        "warns.",
        "Constants have no gradient.",
        "output_changed_before_backward whole_changed_outside_beside_variable",
    ),
    Difference(
        "Under `record()`, writing recorded values into part of an array, or adding them to it (`c[0:2] = x`, "
        "`c += x`), is an error; writing them through a view (`c[0:2][:] = x`) gives the array no gradient.",
        "It is recorded, for every array that shares the memory, any number of times. Changing in place under "
        "`record()` what an operator returned, or a variable, is an error, as in MXNet.",
        "There is a right answer.",
        "in_place_add_recorded_to_constant_in_record assign_recorded_into_element_of_constant_in_record "
        "view_store_gradient kept_view_store_gradient part_store_values part_store_gradient two_part_stores_values "
        "two_part_stores_gradient copyto_view_gradient out_is_view_gradient store_into_rows_gradient add_to_row_values "
        "add_to_row_gradient store_into_reshaped_gradient older_view_values older_view_gradient "
        "view_of_row_store_values view_of_row_store_gradient",
    ),
    Difference(
        "Under `record()`, recorded values may be written into the memory of an array on the tape through another that "
        "is detached from it: the gradient of the first is that of its old values.",
        "It is an error that says to write into a copy.",
        "Wrong numbers without a word are the worst kind of bug.",
        "store_into_detached_values store_into_detached_gradient",
    ),
    Difference(
        "A gradient passes through a cast to integers and back as if the cast were not there.",
        "Integer arrays are not recorded: such a head raises NotRecordedError.",
        "The function is piecewise constant. A straight-through estimator should be written as an operator.",
        "gradient_through_integer_cast",
    ),
    Difference(
        "`attach_grad('null')` allocates a gradient that nothing writes.",
        "`x.grad` is None.",
        "Frozen parameters cost no memory, and no work in backward.",
        "grad_req_null_before_backward",
    ),
    Difference(
        "`x.grad` is a new object at every look.",
        "It is always the same object.",
        "`x.grad is x.grad`.",
        "grad_keeps_identity_across_backward grad_object_is_the_same_each_time",
    ),
    Difference(
        "`backward([y, y])` counts `y` once.",
        "It adds both.",
        "The gradient of a sum is the sum of the gradients.",
        "backward_of_the_same_head_twice",
    ),
    Difference(
        "`autograd.grad` with respect to intermediate results, to the head itself, or to a variable that the heads do "
        "not depend on is an error.",
        "It returns the gradient; zeros in the last case. It returns a list always, as in MXNet.",
        "All three are well defined.",
        "grad_unused_variable grad_with_respect_to_intermediate grad_of_head_itself",
    ),
    Difference(
        "Many operators have no second-order gradient: products, `dot`, `softmax`, ...",
        "All have, to any order, unless they are written without one (`CustomOp`, `Function`).",
        "Gradient rules are recorded as any computation.",
        "second_order_of_cube_is_missing second_order_of_products_is_missing third_order_of_products_is_missing "
        "second_order_dot_is_missing second_order_softmax_is_missing",
    ),
    Difference(
        "`sort`, and operators with float indices that need a gradient (`Embedding`, `softmax_cross_entropy`), fail in "
        "backward.",
        "The gradient of `sort` is computed; that of indices and labels is zero.",
        "An unneeded gradient should not stop a needed one.",
        "gradient_of_sort gradient_of_sort_descending indexing_embedding_index_gradient "
        "softmax_cross_entropy_label_gradient",
    ),
]

NUMBERS = [
    Difference(
        "`nd.zeros(stype='csr')` and `attach_grad(stype='row_sparse')` make sparse arrays.",
        "They are errors: arrays are dense.",
        "There are no sparse arrays yet; those in files are read as dense ones.",
        "zeros_stype_csr attach_grad_stype_csr",
    ),
    Difference(
        "Operators without attributes, such as `exp`, take any keyword, and ignore it.",
        "They do, with one warning that names it and the nearest argument that there is.",
        "A misspelt argument should not be lost.",
        "",
    ),
    Difference(
        "`Reshape(target_shape=...)` does not look whether the elements are as many, and reads beyond them.",
        "It is a ShapeError.",
        "Numbers from elsewhere in memory.",
        "reshape_target_shape_misfit",
    ),
    Difference(
        "Gradients that multiply 0 by infinity are NaN: `norm` at 0, `prod` with a zero, `x ** 0` and `0 ** x` at 0.",
        "They are what the formula means: 0 for `norm` and for powers, the product of the others for `prod`.",
        "One zero in a batch must not destroy all weights.",
        "gradient_of_norm_at_zero gradient_of_power_zero_exponent gradient_of_power_arrays_zero_base "
        "gradient_of_prod_with_zero reduction_prod_one_zero reduction_norm_zero_row",
    ),
    Difference(
        "At NaN the gradient of `relu` is NaN, that of `clip` the upstream gradient.",
        "Both are 0; the outputs are NaN, as in MXNet.",
        "No comparison with NaN is true.",
        "gradient_of_relu_at_nan elementwise_clip_nan",
    ),
    Difference(
        "`maximum(2, x)` and `maximum(x, 2)` give a tie to `x`; of two arrays to the first.",
        "A tie goes to the first argument, number or array.",
        "One rule.",
        "gradient_of_maximum_scalar_left_tie",
    ),
    Difference(
        "The gradient of `LeakyReLU(act_type='selu')` is wrong for negative numbers.",
        "It is the derivative.",
        "Checked against finite differences.",
        "activation_selu layers_basic_selu_numbers layers_basic_selu_numpy",
    ),
    Difference(
        "`LeakyReLU(act_type='rrelu')` returns two arrays.",
        "It returns the output, as for every other `act_type`.",
        "The second is internal.",
        "activation_rrelu_predicting",
    ),
    Difference(
        "`softmax_cross_entropy` computes log(max(p, 1e-8)): it never exceeds 18.42 an example.",
        "It is computed by log-softmax, exactly.",
        "The loss and its gradient fit together.",
        "softmax_cross_entropy_large",
    ),
    Difference(
        "`SoftmaxOutput(out_grad=True)` multiplies its gradient by its own output.",
        "It multiplies it by the head gradient.",
        "That is what the attribute says.",
        "softmax_output_out_grad",
    ),
    Difference(
        "`Dropout(p=1)` gives NaN.",
        "It gives zeros.",
        "Everything is dropped.",
        "dropout_p_one accepted_dropout_one",
    ),
    Difference(
        "Max pooling passes over NaN, and refuses integers.",
        "A window with NaN gives NaN; integers have maxima.",
        "As in NumPy: NaN should be seen.",
        "pooling_call_nan pooling_call_int_max",
    ),
    Difference(
        "On a CPU, the gradient of max pooling goes to the first element of each window under "
        "`record(train_mode=False)`.",
        "It goes to the largest, in every mode.",
        "That is the gradient.",
        "layers_conv_max_pooling_predicting",
    ),
    Difference(
        "On a CPU, the gradient of `Pooling(pool_type='avg', pooling_convention='full')` is for some lengths not that "
        "of the means of the last windows, of which only a part lies in the data.",
        "It is.",
        "That is the gradient.",
        "layers_conv_avg_pooling_parts_of_windows",
    ),
    Difference(
        "`Pooling(pooling_convention='same')` is an error, or for one dimension only.",
        "There are ceil(length / stride) windows along every axis, with the padding that this takes.",
        "That is what the name promises.",
        "pooling_call_same",
    ),
    Difference(
        "On a CPU, `BatchNorm` moves its statistics in backward, so a forward pass in training leaves them.",
        "It moves them in forward, as MXNet does on a GPU. After a training step they are the same.",
        "Statistics are collected without gradients, too; a second backward must not move them again.",
        "batch_norm_forward_without_backward executor_states_after_two_backwards",
    ),
    Difference(
        "`BatchNorm(fix_gamma=True)` writes ones into gamma.",
        "Gamma is taken as 1, and not changed.",
        "Operators do not change their inputs; only the moving statistics are states.",
        "batch_norm_fix_gamma_sets_gamma layers_basic_batch_norm_no_scale_numbers "
        "layers_basic_batch_norm_no_scale_numpy layers_basic_sync_batch_norm_options_numbers",
    ),
    Difference(
        "The gradient of `BatchNorm` recorded with `train_mode=False` is that of training, unless `backward` is told "
        "`train_mode=False` as well.",
        "It is the gradient of what was computed.",
        "Checked against finite differences.",
        "batch_norm_predicting_gradients executor_batch_norm_after_prediction",
    ),
    Difference(
        "The mean and deviation that `BatchNorm(output_mean_var=True)` returns have no gradient.",
        "They have.",
        "They are functions of the data.",
        "batch_norm_gradient_of_statistics",
    ),
    Difference(
        "`BatchNorm` takes a gamma of any length, and reads beyond its end or ignores the rest.",
        "A wrong length is a ShapeError.",
        "Silently wrong numbers.",
        "batch_norm_wrong_gamma",
    ),
    Difference(
        "The mean and deviation that `GroupNorm(output_mean_var=True)` returns have no gradient.",
        "They have.",
        "They are functions of the data.",
        "images_group_norm_mean images_group_norm_statistics",
    ),
    Difference(
        "`L2Normalization` of float16 adds up squares in float16: lengths beyond 255 give zeros.",
        "Squares are added up in float32.",
        "Silently wrong numbers.",
        "images_l2_float16",
    ),
    Difference(
        "`unravel_index` of positions with two axes or more returns them as they are.",
        "It returns the indices, with one axis more in front.",
        "As `numpy.unravel_index` does.",
        "images_unravel_two_axes",
    ),
    Difference(
        "The gradient of `LeakyReLU(act_type='selu')` is wrong for negative numbers.",
        "It is the derivative.",
        "Checked against finite differences.",
        "activation_selu",
    ),
    Difference(
        "`BatchNorm(fix_gamma=True)` writes ones into gamma.",
        "Gamma is taken as 1, and not changed.",
        "Operators do not change their inputs; only the moving statistics are states.",
        "batch_norm_fix_gamma_sets_gamma",
    ),
]

EXECUTORS = [
    Difference(
        "An argument that is changed between `forward` and `backward` is read with its new values by some operators, "
        "and with its old ones by others.",
        "It is an error, as on the tape. The label of an output layer may change: `forward` does not read it.",
        "Silently wrong gradients.",
        "executor_input_changed_after_forward",
    ),
    Difference(
        "Where two arguments have one gradient array, one of them 'add', the one that is written may come last.",
        "What is written is written first, then the other is added.",
        "The sum is what was asked for.",
        "executor_one_gradient_array_add_and_write",
    ),
]

DETECTION = [
    Difference(
        "`box_nms` with another `out_format` leaves boxes as they are whose first coordinate is negative.",
        "They are converted, too.",
        "Wrong numbers.",
        "box_nms_left_of_zero",
    ),
    Difference(
        "The gradient of `box_nms` with another `out_format` is handed on as if formats were equal.",
        "It goes through the conversion.",
        "A wrong gradient.",
        "box_nms_gradient_through_formats",
    ),
    Difference(
        "`bipartite_matching` with `topk=k` matches k + 1 pairs.",
        "It matches k.",
        "Off by one.",
        "bipartite_matching_top_one",
    ),
    Difference(
        "`MultiBoxTarget` fails where negative mining finds fewer anchors than it may take.",
        "It takes those that there are.",
        "The ratio is an upper bound, and one crowded image should not end a training.",
        "MultiBoxTarget_too_few_negatives",
    ),
]

IMAGES = [
    Difference(
        "`image.random_saturation` mixes with 0.114 times blue, in place of the gray of the pixel.",
        "It mixes with the gray.",
        "A wrong number.",
        "image_random_saturation_0_3",
    ),
    Difference(
        "`image.random_hue` of integers cuts off fractions, also those that rounding left over: 47 turned by 0 is 46.",
        "It rounds.",
        "What is not turned stays as it is.",
        "image_random_hue_uint8",
    ),
    Difference(
        "The gradients of `image.flip_*`, `random_flip_*`, `random_brightness`, `random_contrast`, `random_saturation` "
        "and `random_hue` are handed on as they come.",
        "They are flipped, scaled and mixed as the image was.",
        "Wrong gradients.",
        "image_gradient_flip_left_right image_gradient_flip_top_bottom image_gradient_random_brightness "
        "image_gradient_random_contrast image_gradient_random_hue",
    ),
    Difference(
        "`image.to_tensor` and `image.resize` have no gradients.",
        "They have.",
        "Images may be what is differentiated with respect to.",
        "image_gradient_to_tensor image_gradient_resize",
    ),
]

SAMPLING = [
    Difference(
        "`GridGenerator` of a grid with one row or column, and `SpatialTransformer`, give NaN or infinity.",
        "A single row (column) is the first one: y (x) is -1, as `numpy.linspace(-1, 1, 1)` is.",
        "A division of zero by zero.",
        "grid_generator_row grid_generator_warp_row",
    ),
    Difference(
        "`ROIAlign`: box n, if it is in an image below 0 (no box), sets the n-th number of the result to zero.",
        "It is zeros itself.",
        "MXNet's documentation says so; numbers of other boxes are lost.",
        "roi_align_no_box",
    ),
    Difference(
        "`contrib.RROIAlign` has no gradient, and that of `contrib.ModulatedDeformableConvolution` is for GPUs only.",
        "Both have all gradients.",
        "Networks that use them can be trained.",
        "rroi_align_gradient modulated_deformable_convolution_gradient",
    ),
]

ALGEBRA = [
    Difference(
        "`trsm` of a singular matrix gives infinities and NaN.",
        "An error that says which matrix has a zero on its diagonal, as `potri` and `inverse` do in both.",
        "Numbers that mean nothing, from a step long before the one that shows them.",
        "linalg_trsm_singular",
    ),
    Difference(
        "`khatri_rao` has no gradient.",
        "It has one, to any order.",
        "A sum of products like any other.",
        "linalg_khatri_rao_gradient",
    ),
    Difference(
        "Products, diagonals and triangles of matrices (`gemm2`, `khatri_rao`, `extractdiag`, ...) take float32 and "
        "float64 only.",
        "Products take float16, too; what moves elements takes every dtype. Factorizations take float32 and float64.",
        "Nothing in them asks for more digits.",
        "linalg_gemm2_float16 linalg_khatri_rao_float16 linalg_extractdiag_float16 linalg_makediag_int32",
    ),
    Difference(
        "Of a row that `index_copy` is given twice the last one stays, but each gets a gradient.",
        "The one that stays gets it.",
        "A wrong gradient.",
        "contrib_index_copy_twice_gradients",
    ),
    Difference(
        "`contrib.allclose` of infinity and minus infinity is 1.",
        "0, as `numpy.allclose` says.",
        "A wrong result.",
        "contrib_allclose_other_infinity",
    ),
    Difference(
        "`contrib.boolean_mask` takes rows of axis 0 only, `contrib.hawkesll` marks of int32 only.",
        "They take any axis, and whole numbers of any dtype.",
        "The signature has the axis; `nd.array` makes float32.",
        "contrib_boolean_mask_axis contrib_hawkesll_marks_float32",
    ),
    Difference(
        "A symbol of `contrib.boolean_mask` can be bound.",
        "It cannot: a program knows all of its shapes. `where` keeps them.",
        "Its result's shape depends on the values of the mask.",
        "contrib_boolean_mask_symbol",
    ),
    Difference(
        "`contrib.fft`, `ifft` and `count_sketch` run on GPUs only.",
        "They run.",
        "",
        "contrib_fft contrib_ifft contrib_count_sketch",
    ),
]

MODULES = [
    Difference(
        "Reserved tokens of an embedding have no vector: `idx_to_vec` is shorter than `idx_to_token`, and all vectors "
        "after them are those of other tokens.",
        "They have the vectors of the file; those that are not in it, the unknown token's.",
        "A row is a token's.",
        "embedding_reserved",
    ),
]

UPDATES = [
    Difference(
        "At a learning rate of 0, `FTML` and `Ftrl` make weights NaN, and `SGLD` is an error.",
        "The weights stay as they are.",
        "A warm-up may begin there.",
        "",
    ),
    Difference(
        "`mp_lamb_update_phase2` does not change `weight32`: every step starts at the first weights.",
        "The update is made in `weight32`, and rounded to the weight.",
        "Nothing is learned.",
        "mp_lamb_update_phase2_plain_one_two mp_lamb_update_phase2_plain_two_one "
        "mp_lamb_update_phase2_plain_one0_two mp_lamb_update_phase2_plain_one_one0 "
        "mp_lamb_update_phase2_lower_one_two mp_lamb_update_phase2_lower_two_one "
        "mp_lamb_update_phase2_lower_one0_two mp_lamb_update_phase2_lower_one_one0 "
        "mp_lamb_update_phase2_upper_one_two mp_lamb_update_phase2_upper_two_one "
        "mp_lamb_update_phase2_upper_one0_two mp_lamb_update_phase2_upper_one_one0 "
        "mp_lamb_update_phase2_both_one_two mp_lamb_update_phase2_both_two_one "
        "mp_lamb_update_phase2_both_one0_two mp_lamb_update_phase2_both_one_one0 "
        "mp_lamb_update_phase2_zero_one_two mp_lamb_update_phase2_zero_two_one "
        "mp_lamb_update_phase2_zero_one0_two mp_lamb_update_phase2_zero_one_one0",
    ),
    Difference(
        "`nag_mom_update` with `wd` and `out=weight` reads the weight again after it has written it: the momentum gets "
        "the decay of the new weight.",
        "What is written where does not change what is computed.",
        "Two calls that differ in `out` alone have different momenta.",
        "nag_mom_update_decay_float32 nag_mom_update_decay_float64 nag_mom_update_everything_float32 "
        "nag_mom_update_everything_float64 nag_mom_update_all_float32 nag_mom_update_all_float64 "
        "mp_nag_mom_update_decay mp_nag_mom_update_everything mp_nag_mom_update_all",
    ),
]

NETWORKS = [
    Difference(
        "`relu` as a layer gives 0 for NaN, and pooling for the largest leaves NaN out.",
        "NaN goes through both, as through `numpy.maximum`, eagerly, hybridized and compiled; no gradient goes through "
        "`relu` there.",
        "What went wrong before should be seen in the loss.",
        "",
    ),
    Difference(
        "The gradient of `CTCLoss` with a blank among the labels is not that of its loss.",
        "The loss is MXNet's, and the gradient that of the loss. Where there are too few steps for the blanks around "
        "such a label both are 0, as where there are too few for other labels; MXNet's loss is infinite. A label that "
        "is not in the alphabet is an error; MXNet reads other memory.",
        "Silently wrong gradients.",
        "",
    ),
    Difference(
        "`RNN` on a CPU does not look at `use_sequence_length`, nor at `lstm_state_clip_min` and `_max`.",
        "They do what they do on a GPU: outputs after the end of a sequence are 0, cells are clipped.",
        "Silently wrong outputs.",
        "networks_rnn_lengths networks_rnn_clipped",
    ),
    Difference(
        "The gradient of an `RNN` with a projection is an error on a CPU.",
        "It is there.",
        "",
        "networks_rnn_projection_gradient",
    ),
    Difference(
        "In float64 the gradient of the parameters of three layers of `rnn_relu` or `rnn_tanh`, in two directions, is "
        "wrong (in float32 it is right).",
        "It is that of finite differences.",
        "Silently wrong gradients.",
        "networks_rnn_rnn_relu_3_2_float64 networks_rnn_rnn_tanh_3_2_float64",
    ),
]

CORNERS = [
    Difference(
        "`clip`, `flip`, `Crop`, `SpatialTransformer`, `linalg.gemm2`, `box_nms`, and others at times, write their "
        "gradient where `grad_req` is 'add'; the regression outputs add it up twice.",
        "All gradients are added.",
        "Silently wrong gradients where they are accumulated over batches.",
        "corners_added_clip corners_added_flip corners_added_crop corners_added_spatial_transformer "
        "corners_added_linear_regression corners_added_logistic_regression corners_added_absolute_regression "
        "corners_added_box_nms corners_added_gemm2",
    ),
    Difference(
        "`contrib.arange_like` of float16 and integers cuts off the fractions of `start` and `step`: from 1.5 by 0.5 "
        "is 1, 1, 1 in float16.",
        "The numbers are computed first, then converted: 1.5, 2, 2.5.",
        "A wrong number.",
        "corners_arange_like_float16 corners_arange_like_int64",
    ),
    Difference(
        "`SoftmaxActivation` of three axes or more normalises the last one, and has the gradient of axis 1.",
        "It has the gradient of the last axis.",
        "A wrong gradient.",
        "corners_softmax_activation_gradient",
    ),
    Difference(
        "The mean and deviation that `LayerNorm(output_mean_var=True)` returns have no gradient.",
        "They have, as those of `GroupNorm`.",
        "They are functions of the data.",
        "corners_layer_norm_statistics_float32 corners_layer_norm_statistics_float64",
    ),
]

NUMPY = [
    Difference(
        "The gradient of `linalg.norm` is NaN where all elements are 0; that of `std` is 0 where all are equal.",
        "Both are 0, as is that of `nd.norm`. (`hypot` and `arctan2` at the origin, and `sqrt` of a sum that is 0, "
        "have NaN, as in MXNet.)",
        "The smallest subgradient; one row of zeros should not spoil a whole training.",
        "",
    ),
    Difference(
        "`mx.np`: sums of int32 are int32, and wrap around; means, quotients and other functions of integers are "
        "float32, or cut to integers (`np.sqrt` of integers).",
        "The dtypes are NumPy's: sums of integers int64, quotients and means float64, counts int64.",
        "What `np` promises. Arrays that are made without a dtype are float32, as in MXNet.",
        "np_P_sum_P_array_of_1_2_dtype_int32 np_P_array_of_1_2_dtype_int32_over_2 np_P_mean_P_array_of_1_2_dtype_int32 "
        "np_P_array_of_1_2_dtype_int32_times_P_array_of_0_5_1_5 np_P_bincount_P_array_of_0_1_1_3_dtype_int32",
    ),
    Difference(
        "`mx.np.rint` rounds halves away from zero.",
        "To the even neighbour, as NumPy does.",
        "What `np` promises.",
        "np_rint",
    ),
    Difference(
        "`mx.np`: the gradients of `std`, `var` and `linalg.pinv` are zero, and that of `rot90` is turned the same way "
        "once more.",
        "They are the gradients.",
        "Silently wrong gradients.",
        "np_P_std_x np_P_var_x_axis_0 np_P_std_x_axis_1_ddof_1 np_P_std_x_float64 np_P_linalg_pinv_x np_P_rot90_x",
    ),
]

TRAINING = [
    Difference(
        "`init.Constant` of a list, or of a NumPy number, has no `dumps`; what `FusedRNN.dumps` wrote is not read.",
        "They have, and it is.",
        "Parameters of hybridized blocks keep their initializers in that form.",
        "initializer_json_of_list initializer_json_of_number initializer_fused_json",
    ),
    Difference(
        "`init.create` refuses `Mixed` and `Load`; initializers of arrays cannot be compared.",
        "They are taken as they are; arrays are compared element by element.",
        "Gluon makes initializers with `create`.",
        "initializer_create_mixed initializer_equal_arrays",
    ),
    Difference(
        "`init.Constant(None)` fills with nan.",
        "An error.",
        "A value that was forgotten shows as a loss that is nan.",
        "initializer_constant_none",
    ),
    Difference(
        "Metrics take NDArrays of `nd` only.",
        "Also those of `np`, and NumPy's.",
        "They hold numbers all the same.",
        "metric_numpy_arrays metric_np_arrays",
    ),
    Difference(
        "`PearsonCorrelation(average='micro')` is 0 globally, and `reset_local` leaves its local value.",
        "The global value is that of everything, the local one begins anew.",
        "What other metrics do.",
        "metric_pearson_micro_floats metric_pearson_micro_matrices metric_pearson_micro_doubles",
    ),
    Difference(
        "`TopKAccuracy` breaks ties by chance, refuses predictions of fewer classes than `top_k`, and takes predicted "
        "classes for scores.",
        "Of equal scores the lower classes come first, as in `Accuracy`; fewer classes are all among the first; "
        "classes are compared with the labels.",
        "One answer, whatever the version of NumPy.",
        "metric_top_k_ties metric_top_k_of_all metric_top_k_classes",
    ),
    Difference(
        "`F1` and `MCC` count labels of shape (n, 1) n times each.",
        "Once.",
        "Each label was compared with all predictions.",
        "metric_f1_column",
    ),
    Difference(
        "`PCC` leaves out what has no label, or no prediction.",
        "An error, as of other metrics.",
        "The value looks right.",
        "metric_refused_pcc_lengths",
    ),
    Difference(
        "`average` of `F1`, `MCC` and `PearsonCorrelation` may be any word: what is not 'macro' is 'micro'.",
        "Other words are an error.",
        "'weighted' is another average.",
        "metric_refused_average",
    ),
    Difference(
        "`get_config` of metrics leaves out `average` and `axis`; made again, `TopKAccuracy` is called "
        "`top_k_accuracy_3_3`.",
        "They are there, and it keeps its name.",
        "It is there to make the same metric again.",
        "metric_config_top_k metric_config_perplexity metric_config_perplexity_axis metric_config_f1 "
        "metric_config_f1_micro metric_config_mcc_micro metric_config_pearson_micro metric_again_top_k",
    ),
    Difference(
        "`CompositeEvalMetric.get_metric` returns a `ValueError` where there is no metric.",
        "It raises an `IndexError`.",
        "An error that is returned is noticed late.",
        "metric_composite_get_no_metric",
    ),
    Difference(
        "`metric.create(mx.metric.MAE)` takes the class for a function of label and prediction.",
        "It makes a `MAE`.",
        "Its updates would have failed.",
        "metric_create_class",
    ),
]

GLUON = [
    Difference(
        "`init.Constant` of a list fails: in a block, and once more when that is hybridized.",
        "The list is what the parameter holds.",
        "MXNet's own tutorial on custom layers gives it one.",
        "tutorial_training tutorial_training_hybridized",
    ),
    Difference(
        "A block that is cast, or gets another child, goes through the last backend of `optimize_for` only.",
        "It goes through all of them again; parameters that passes made keep their values, and are cast too.",
        "What a pass does to the values a network computes does not go away by itself.",
        "",
    ),
    Difference(
        "`hybridize(backend=..., clear=False)` of a block that has a graph does nothing.",
        "The backend is applied to that graph at the next call, as `optimize_for` does at once.",
        "A backend that is named is used.",
        "",
    ),
    Difference(
        "In Gluon, a pass that makes an auxiliary state is a KeyError, and the block cannot be called any more; the "
        "value that it gives to a parameter which is there is ignored.",
        "Both work, as with `Symbol.optimize_for`. After an error the block is what it was before `optimize_for`.",
        "Passes that replace weights or statistics are what passes are for.",
        "",
    ),
    Difference(
        "A `SymbolBlock` that was optimized stays so after `hybridize()`, and lacks the parameters that passes made.",
        "It has its own graph again.",
        "As other blocks do.",
        "",
    ),
    Difference(
        "`Block.save` of an optimized block writes a graph without the parameters that passes made: it cannot be "
        "loaded.",
        "The backends are written, and the block that is loaded goes through them again.",
        "Files that are written can be read.",
        "",
    ),
    Difference(
        "A pass that writes to the parameters of a block on several devices writes to one of them.",
        "All copies are written.",
        "Copies of a parameter are equal.",
        "",
    ),
]

LOSSES = [
    Difference(
        "A label that is no class is clipped by `SoftmaxCrossEntropyLoss`, and read from other memory by "
        "`softmax_cross_entropy`.",
        "An error, when it is computed, hybridized and compiled as well, except where its `sample_weight` is 0: labels "
        "such as -1 are left out so. `pick` clips it as in MXNet, and refuses it with `mode='raise'`. "
        "As in MXNet, `Embedding`, `take` and `batch_take` clip, `one_hot` gives a row of zeros, and `SoftmaxOutput` "
        "takes it for none of the classes.",
        "A wrong label gave a plausible loss, of another class.",
        "loss_softmax_ce_label_too_large loss_softmax_ce_label_too_large_float64 "
        "loss_softmax_ce_label_too_large_hybridized loss_softmax_ce_label_too_large_np "
        "loss_softmax_ce_label_too_large_np_hybridized",
    ),
    Difference(
        "`PoissonNLLLoss(compute_full=True)` neither records nor hybridizes, and is NaN where a count is 0.",
        "It does, and is finite.",
        "Counts are often 0, and a loss is there to be differentiated.",
        "loss_poisson_full loss_poisson_full_value loss_poisson_full_fractions loss_poisson_full_hybridized "
        "loss_poisson_full_value_hybridized loss_poisson_full_rates_value_hybridized "
        "loss_poisson_full_fractions_hybridized",
    ),
    Difference(
        "`SDMLLoss` does not hybridize.",
        "It does.",
        "What is inside a network should be part of its graph.",
        "loss_sdml_hybridized loss_sdml_smoothing_hybridized loss_sdml_weight_hybridized",
    ),
    Difference(
        "Under `npx.set_np()`, `batch_axis` of losses is not looked at: averages are over all axes but the first.",
        "They are over all axes but `batch_axis`, as without.",
        "The wrong numbers, in a shape that may fit.",
        "loss_l2_batch_axis_np loss_l1_weights_np loss_softmax_ce_axes_np loss_l2_batch_axis_np_hybridized "
        "loss_l1_weights_np_hybridized loss_softmax_ce_axes_np_hybridized loss_l1_last_axis_np "
        "loss_l1_last_axis_np_hybridized",
    ),
    Difference(
        "Under `npx.set_np()`, only `L2Loss`, `L1Loss` and the cross-entropies run.",
        "All losses do.",
        "The others have a meaning there.",
        "loss_kl_np loss_ctc_np loss_huber_np loss_hinge_np loss_squared_hinge_np loss_logistic_np loss_triplet_np "
        "loss_poisson_np loss_cosine_np loss_sdml_np",
    ),
]

TRAINERS = [
    Difference(
        "Adamax makes NaN of a weight whose gradient has always been 0, as that of a unit that a ReLU has shut off.",
        "The weight stays as it is.",
        "0 divided by 0 is no step.",
        "adamax_without_gradient",
    ),
    Difference(
        "`Trainer.step` sums gradients, and updates parameters in a store, before it finds a stale gradient; the other "
        "gradients count as used.",
        "It looks first: nothing has changed when the error comes.",
        "A step that failed should be possible to repeat.",
        "trainer_stale_changes_nothing trainer_stale_of_one_keeps_others",
    ),
    Difference(
        "Where a store updates parameters, gradients count as fresh for ever after the first `backward`.",
        "Stale gradients are found as on one context.",
        "The gradients of the step before would be used again.",
        "trainer_stale_on_store_later",
    ),
    Difference(
        "With `ignore_stale_grad=True`, a context's stale gradient is summed again, and only the contexts with fresh "
        "ones are updated.",
        "Fresh gradients are summed, and all contexts are updated with them.",
        "The copies of a parameter would differ from then on.",
        "trainer_stale_copies_stay_equal",
    ),
    Difference(
        "Where a store updates parameters, `set_data` makes it forget momenta; what `initialize(force_reinit=True)` "
        "and `data[:] = x` write is lost at the next step.",
        "The store takes the new values, and keeps its states, as a trainer without a store does.",
        "What was written should count, and only that should change.",
        "trainer_set_data_store_momentum trainer_initialized_again_store trainer_written_store",
    ),
    Difference(
        "A parameter may be twice in a trainer's list: each step fails, as its gradient was used already.",
        "It is an error when the trainer is made.",
        "Where the mistake is.",
        "trainer_parameter_twice",
    ),
    Difference(
        "`compression_params` are ignored where there is nothing to send.",
        "They are an error.",
        "Nothing is sent in one process.",
        "trainer_compression",
    ),
    Difference(
        "A store of a name that nobody knows is made.",
        "It is an error, with the nearest name.",
        "A misspelt name should not be lost.",
        "kvstore_name_unknown",
    ),
    Difference(
        "Arrays of any shape may be pushed; the store has the new shape then.",
        "It is a ShapeError.",
        "The error would come later, when they are pulled.",
        "kvstore_push_other_shape",
    ),
    Difference(
        "A single array that is pushed is what the store has from then on: writing into it changes the store.",
        "It is copied, as the first values are.",
        "Two arrays that are one, and sometimes only.",
        "kvstore_pushed_is_copied",
    ),
    Difference(
        "`clip_global_norm` fails for arrays of float16, of float64, and of several dtypes.",
        "It clips them; the norm is computed in float32, or in float64 if there is such an array.",
        "Gradients in mixed precision have to be clipped, too.",
        "utils_clip_half utils_clip_double utils_clip_mixed",
    ),
]

RECURRENT_CELLS = [
    Difference(
        "`rnn.rnn_unroll` fails: it passes `input_prefix` on to `unroll`, which has none.",
        "It unrolls the cell; without inputs they are `{input_prefix}t0_data`, ...",
        "It could not be called at all.",
        "rnn_cells_rnn_unroll",
    ),
    Difference(
        "`rnn.encode_sentences` with `unknown_token` gives that a new number at each unknown word, also one that other "
        "words have.",
        "It has one number: that in `vocab`, or a new one.",
        "One token under many numbers, of which some are other words'.",
        "rnn_cells_encoded_unknown",
    ),
]

ITERATORS = [
    Difference(
        "`NDArrayIter` with `layout='TNC'` takes the length of the first axis for the number of instances; a label "
        "with fewer axes is an error.",
        "The N counts the instances; arrays with fewer axes have them along the first.",
        "Most instances were left out.",
        "io_array_layout_tnc io_array_layout_other_count",
    ),
    Difference(
        "A `batch_size` larger than the data gives epochs without a batch, or crashes in a later epoch.",
        "An error that names both numbers, but where the handle is 'pad', or `round_batch` is False.",
        "Training on no data goes unnoticed.",
        "io_array_larger_discarded io_array_larger_rolled_over io_file_csv_larger",
    ),
    Difference(
        "`NDArrayIter` takes arrays of different lengths, and gives batches of different lengths.",
        "An error that names the arrays and their lengths.",
        "Labels that belong to other instances.",
        "io_array_lengths_differ",
    ),
    Difference(
        "An unknown `last_batch_handle` counts as 'roll_over' or 'discard'.",
        "An error.",
        "'pads' is a slip.",
        "io_array_unknown_handle",
    ),
    Difference(
        "`ImageRecordIter` gives 0 as the ids of all pictures; with `round_batch=False` the last batch has pad 0, and "
        "what was in memory.",
        "The ids of the records; the pad, and zeros.",
        "Nobody could leave out what does not count.",
        "io_picture_ids io_picture_not_rounded",
    ),
    Difference(
        "`LibSVMIter` gives sparse arrays.",
        "Dense ones.",
        "There are no sparse arrays.",
        "io_file_svm_stype",
    ),
    Difference(
        "`reset()` amid an epoch of an iterator over files goes on behind the batches read ahead.",
        "The next epoch begins with the first instance.",
        "Each run would be another one.",
        "",
    ),
    Difference(
        "Iterators over files ignore arguments that there are not.",
        "They do, with one warning that has the nearest name.",
        "`rand_mirrored=True` did nothing, silently.",
        "",
    ),
]

# All of the above, in this order.
LAYERS = [
    Difference(
        "The gradient of `BatchNormReLU` by the running averages is 0 in other places from run to run.",
        "It is 0 where the result is.",
        "Checked against finite differences.",
        "layers_basic_batch_norm_relu_numbers layers_basic_batch_norm_relu_global_numbers",
    ),
    Difference(
        "`BatchNormReLU` leaves out the ReLU under `npx.set_np`.",
        "It is there.",
        "The layer's name says it.",
        "layers_basic_batch_norm_relu_numpy layers_basic_batch_norm_relu_global_numpy",
    ),
]

OLD_MODELS = [
    Difference(
        "In graphs the gradient of `LeakyReLU`'s slopes (`act_type='prelu'`) is multiplied by them: the operator "
        "overwrites its input, which its gradient reads.",
        "The gradient, as of `nd.LeakyReLU`.",
        "Networks for faces train with slopes that hardly move.",
        "slopes_of_prelu_in_a_graph",
    ),
    Difference(
        "`SymbolBlock.imports` of a checkpoint that ends in a loss wants the label among its inputs.",
        "Left out, the output layer is what it predicts: softmax, sigmoid, the scores.",
        "Most checkpoints of modules end so, and predictions need no label.",
        "",
    ),
    Difference(
        "A `-symbol.json` that calls an operator that is not there fails at the first.",
        "All are listed, with what to do; a `CustomOpProp` that is registered under that name is called.",
        "A plugin, or an operator in C++, is written anew once, and the file stays as it is.",
        "",
    ),
]

MIXED_PRECISION = [
    Difference(
        "`amp` computes in bfloat16, too.",
        "It is an error that says so; the lists for it are there.",
        "NumPy has no such dtype, and float32 is faster on a CPU.",
        "amp_convert_symbol_bfloat16 amp_lists_of_bfloat16",
    ),
    Difference(
        "`amp.convert_symbol` takes only operators of some lists as `target_dtype_ops`, and none that are in another "
        "list by default.",
        "It takes all; what is given goes before what is there by default, as in `amp.init`.",
        "`dot` and `exp` can be computed in float16 if that is asked for.",
        "amp_convert_symbol_widest_as_target amp_convert_symbol_wide_as_target",
    ),
    Difference(
        "`amp.convert_symbol` fails where `take` or `pick` reads what is computed in float16, and where a layer that "
        "is in no list follows one in float16.",
        "Such graphs are converted. Operators without a list take arrays of both dtypes.",
        "An error about inference, of a graph that is right.",
        "amp_convert_symbol_take amp_convert_symbol_pick amp_convert_symbol_layer_in_no_list",
    ),
    Difference(
        "`amp.convert_symbol` declares every variable float32 that was declared with another dtype.",
        "It stays as it was declared.",
        "Tokens are integers.",
        "amp_convert_symbol_declared",
    ),
    Difference(
        "`amp.convert_model` changes the dicts that it is given.",
        "It returns new ones.",
        "The network in float32 goes on working.",
        "amp_convert_model_changes_dicts",
    ),
    Difference(
        "`amp.convert_hybrid_block` puts parameters on `gpu(0)` if no `ctx` is given.",
        "They lie where those of the block do.",
        "There is no GPU.",
        "amp_convert_hybrid_block_ctx",
    ),
    Difference(
        "Of parameters with `grad_req='add'` that a graph casts (`amp_cast`) no gradient arrives.",
        "It is added up.",
        "Training in mixed precision with gradients added up over batches would train nothing.",
        "amp_cast_gradient_added_up_in_a_graph",
    ),
    Difference(
        "A step whose gradients overflow is made all the same, if the store updates parameters (`update_on_kvstore`).",
        "It is left out.",
        "Parameters would be infinite from then on.",
        "amp_overflow_in_the_store",
    ),
    Difference(
        "`amp.unscale` of a trainer without `amp.init_trainer` multiplies gradients by `rescale_grad`.",
        "An error that says what is missing.",
        "Gradients change twice.",
        "amp_unscale_without_init",
    ),
]

TRAINING_MODULES = [
    Difference(
        "`SVRGModule` adds its second mean of all gradients to the first, and so on.",
        "Each is computed anew, as in the paper.",
        "Gradients that are no longer those of the loss.",
        "svrg_fit_sgd_1",
    ),
    Difference(
        "`Module.predict` of an array runs as in training if the module is bound for training: with dropout, and "
        "moving BatchNorm's statistics.",
        "It predicts, as it does with an iterator.",
        "Predictions at random, of a network that they change.",
        "module_predict_an_array_on_a_module_for_training",
    ),
]

RECORDS = [
    Difference(
        "`recordio.unpack_img` of a damaged picture returns None for it.",
        "An error, which names the record.",
        "None fails later, in some other place.",
        "recordio_unpack_img_no_picture",
    ),
]

DATA = [
    Difference(
        "`IntervalSampler` with `rollover=False` says that it has as many indices as with it.",
        "Its length is the number of indices that it yields.",
        "Progress bars and schedules ask for it.",
        "dataset_intervals",
    ),
    Difference(
        "A `DataLoader`'s workers all begin with the states of `numpy.random` and `mx.random` as they are when it is "
        "made: they draw the same numbers.",
        "Generators are seeded for each batch, with what follows from their states, the epoch and the batch.",
        "Augmentations that repeat from worker to worker spoil training; so they repeat only from run to run.",
        "loader_drawn",
    ),
    Difference(
        "Batches of workers are on `cpu_shared(0)`, which a hybridized network with parameters on `cpu(0)` refuses.",
        "They are on `cpu(0)`, in memory that the worker shares.",
        "It is the memory that networks use; nothing is copied.",
        "loader_context",
    ),
    Difference(
        "After an exception in a worker a `DataLoader` cannot be used any more ('Pool not running').",
        "The next epoch goes on with the workers that there are; those that have ended are started anew.",
        "In a notebook one goes on.",
        "loader_epoch_after_error",
    ),
]

IMAGES_AUGMENTED = [
    Difference(
        "Bicubic resizing of bytes rounds as the OpenCV that MXNet was built with.",
        "`image.imresize`, and what augments pictures, use the OpenCV that is installed: OpenCV 5.0 differs by one "
        "unit in up to 5.5 % of the bytes of random pictures. `nd.image.resize`, and all of it without OpenCV, is "
        "computed in NumPy: one unit in 0.001 % of them.",
        "OpenCV takes a 15th to a 30th of the time, and 1 of 255 is not to be seen.",
        "",
    ),
    Difference(
        "`image.BrightnessJitterAug` of integers multiplies by 0, or 1: pictures become black.",
        "An error, which asks for `CastAug` before.",
        "A black picture teaches nothing.",
        "img_uint8_brightness",
    ),
    Difference(
        "`image.DetRandomPadAug(pad_val=7)` fills one channel; the others are memory that nobody wrote.",
        "All channels.",
        "That is what one number means.",
        "",
    ),
    Difference(
        "`DetRandomPadAug` and `DetRandomCropAug` of empty ranges fail in the warning that they would give.",
        "They warn, and leave pictures as they are.",
        "That is what the warning says.",
        "img_det_pad_no_areas img_det_crop_no_areas",
    ),
    Difference(
        "`image.CreateAugmenter` takes no lists as mean and std.",
        "It does.",
        "Three numbers are three numbers.",
        "img_create_mean_list",
    ),
    Difference(
        "A part of a picture that is all of it shares the picture's memory.",
        "It has its own, as any other part.",
        "What is changed in place afterwards should not depend on a picture's size.",
        "img_whole_crop",
    ),
    Difference(
        "`ImageIter` with an unknown `last_batch_handle`, as 'keep', goes through all pictures twice an epoch.",
        "A warning, and 'pad'.",
        "An epoch has each picture once.",
        "img_iter_keep",
    ),
    Difference(
        "`ImageIter` of an empty list, of parts without pictures, or of a part below 0 has epochs without batches, or "
        "of some of the pictures.",
        "An error.",
        "Training on nothing ends without a word.",
        "img_iter_nothing img_iter_small_parts img_iter_part_before",
    ),
    Difference(
        "An empty line in a list of pictures is an error.",
        "It is left out.",
        "Editors leave one at the end.",
        "img_iter_blank_line",
    ),
    Difference(
        "`ImageDetIter.reshape(data_shape=...)` keeps augmenters that make pictures of the old size, and fails.",
        "Augmenters that the iterator made are made again.",
        "The method could not be used.",
        "img_det_iter_other_size",
    ),
]

# Their cases are in `native_cases.py`, with our answers.
NATIVE_LIBRARIES = [
    Difference(
        "An operator of a native library overwrites gradients where `grad_req` is 'add'.",
        "It adds.",
        "That is what was asked for.",
        "",
    ),
    Difference(
        "A native operator's inferSType is asked about its gradient's inputs too; one that insists on its own refuses.",
        "It is asked about the operator's inputs.",
        "An operator that can be called can be differentiated.",
        "",
    ),
    Difference(
        "Errors of a native library repeat all messages that it has ever given.",
        "They have those of the call that failed.",
        "The others are about other calls.",
        "",
    ),
    Difference(
        "The shape of a native operator's input that is not known may end the process.",
        "It is inferred, where the library does that, or stays unknown.",
        "A program should get an error that it can catch.",
        "",
    ),
]

# What MXNet does here is in tests/golden/native/partitions.json, or cannot be written down: it fails.
PARTITIONS = [
    Difference(
        "`optimize_for(..., dedup_subgraph=True)`: of several readers of one value of a subgraph, all but the first "
        "read outputs that do not exist.",
        "All read the one output.",
        "What they read was memory of others.",
        "",
    ),
    Difference(
        "`optimize_for` makes graphs with cycles of two subgraphs that each read the other, and of what a `Filter` "
        "leaves of one; it crashes or fails with `_Map_base::at` then.",
        "A subgraph that has formed counts as one node when the next one grows; a filter that leaves a gap is an "
        "error.",
        "No order of computation is left.",
        "",
    ),
    Difference(
        "A variable that a partitioner takes is inside of the node only, and cannot be given a value.",
        "It is an input of the node.",
        "The symbol could not be bound.",
        "",
    ),
    Difference(
        "`optimize_for` without `args`, and a subgraph that reads one with several outputs, fails with "
        "`basic_string::substr`.",
        "It is partitioned; nothing is said of shapes.",
        "Shapes are optional.",
        "",
    ),
    Difference(
        "`optimize_for` takes arguments without values for float32 before dtypes are inferred.",
        "They are float32 where nothing else follows from the other dtypes.",
        "A graph with an integer argument was refused.",
        "",
    ),
]

REFUSALS = [
    Difference(
        "Where `add` is asked, a `CustomOp.backward` that writes its gradient (`in_grad[0][:] = g`) overwrites what "
        "was there: of several backward passes the last gradient is left.",
        "Its gradient is added, as if it had called `assign`.",
        "That is what `add` asks for.",
        "",
    ),
    Difference(
        "Errors of shapes, and of what custom operators raise, come when a value is read.",
        "They come at the call.",
        "The traceback shows the line that is wrong.",
        "",
    ),
    Difference(
        "Head gradients of a wrong shape are taken by `backward`, where the walk can go on with them.",
        "They are an error that has both shapes.",
        "Silently wrong gradients.",
        "",
    ),
    Difference(
        "`Dense(0)`, and layouts that there are not, are taken when a layer is made, and refused when it is called.",
        "They are refused when it is made.",
        "The line that is wrong is the one that makes the layer.",
        "",
    ),
    Difference(
        "Convolutions take `layout='NHWC'` on some backends.",
        "They take 'NCHW' and its like, and say how to transpose the data.",
        "Parameters of both layouts differ, so that a file fits only one.",
        "",
    ),
    Difference(
        "Some shapes stay unknown that follow from others: those of an input from the output's, or behind operators "
        "that infer nothing backward.",
        "More shapes are inferred; none that MXNet infers is different.",
        "A graph that has one possible shape can be bound.",
        "",
    ),
    Difference(
        "`mx.np` refuses `order='F'`.",
        "It is taken: elements are read in that order, as in NumPy; arrays are contiguous all the same.",
        "What `np` promises.",
        "",
    ),
    Difference(
        "Wrong arguments are an AssertionError, a ValueError, a TypeError or an MXNetError, as it happens.",
        "`ArgumentError` and `ShapeError` are an MXNetError and an AssertionError, and a TypeError or a ValueError "
        "besides; what symbols cannot do is a `NotImplementedForSymbol`.",
        "`except` clauses written for MXNet catch them.",
        "",
    ),
    Difference(
        "`mark_variables` of lists of different lengths, `Sequential.add(3)`, `ArrayDataset.take(-1)`, `Dense('a')`, "
        "`register` of what is no prop, and `transpose` of an axis named twice are taken.",
        "They are errors.",
        "What they do later depends on chance.",
        "",
    ),
]

DIFFERENCES = tuple(row for rows in list(vars().values()) if isinstance(rows, list) for row in rows)

INTENDED = {name: difference.why for difference in DIFFERENCES for name in difference.cases.split()}

# Case name to what MXNet has and minpy does not: these snippets raise AttributeError.
MISSING: dict[str, str] = {}


def cases() -> dict[str, str]:
    """Returns the snippets of all groups by name."""
    return {name: snippet for group in GROUPS for name, snippet in importlib.import_module(f"{group}_cases").CASES}


def main() -> None:
    """Writes ``intended.json``, and the table of differences in the documentation."""
    sys.path.insert(0, str(HERE))
    import numpy

    import minpy

    snippets = cases()
    run_case: Any = importlib.import_module("case_runner").run_case
    with numpy.errstate(all="ignore"):
        answers = {name: run_case(minpy, snippets[name]) for name in sorted(INTENDED)}
    lines = [f"{json.dumps(name)}: {json.dumps(answer, sort_keys=True)}" for name, answer in answers.items()]
    (HERE / "intended.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    head = "| MXNet 1.9.1 | minpy | Why |\n|---|---|---|\n"
    before, _, after = text.partition(head)
    rest = after[after.index("\n\n") :] if "\n\n" in after else "\n"
    rows = "\n".join(difference.row() for difference in DIFFERENCES)
    DOCUMENT.write_text(f"{before}{head}{rows}{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
