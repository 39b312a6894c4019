"""What tests of networks and operators use: comparisons, random arrays, and checks of symbols against numbers.

The names, defaults and tolerances are those of `mxnet.test_utils`.
"""

from typing import Any

from minpy.namespaces import listing, missing
from minpy.test_utils.blocks import check_gluon_hybridize_consistency
from minpy.test_utils.brought import BROUGHT, brought
from minpy.test_utils.comparing import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    checkShapes,
    compare_ndarray_tuple,
    locationError,
    same,
    same_array,
)
from minpy.test_utils.consistency import check_consistency, check_speed, numeric_grad, same_symbol_structure
from minpy.test_utils.datasets import DummyIter, get_mnist, get_mnist_iterator, get_mnist_pkl, get_mnist_ubyte
from minpy.test_utils.defaults import (
    default_context,
    default_dtype,
    default_numeric_eps,
    get_atol,
    get_rtol,
    list_gpus,
    set_default_context,
)
from minpy.test_utils.downloading import download
from minpy.test_utils.drawing import rand_ndarray, rand_shape_2d, rand_shape_3d, rand_shape_nd, random_arrays
from minpy.test_utils.matrices import (
    assign_each,
    assign_each2,
    collapse_sum_like,
    create_2d_tensor,
    create_vector,
    get_identity_mat,
    get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
    np_reduce,
    rand_coord_2d,
    random_sample,
    random_uniform_arrays,
)
from minpy.test_utils.optimizers import compare_optimizer
from minpy.test_utils.statistics import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from minpy.test_utils.surroundings import (
    discard_stderr,
    environment,
    has_tvm_ops,
    is_aarch64_run,
    is_cd_run,
    is_op_runnable,
    retry,
)
from minpy.test_utils.symbols import (
    check_numeric_gradient,
    check_symbolic_backward,
    check_symbolic_forward,
    simple_forward,
)
from minpy.test_utils.tolerances import default_atols, default_rtols, effective_dtype, get_etol, get_tolerance, get_tols

__all__ = [
    "DummyIter",
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "checkShapes",
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "create_2d_tensor",
    "create_vector",
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "effective_dtype",
    "environment",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_etol",
    "get_identity_mat",
    "get_identity_mat_batch",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "locationError",
    "mean_check",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "numeric_grad",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "retry",
    "same",
    "same_array",
    "same_symbol_structure",
    "set_default_context",
    "simple_forward",
    "var_check",
    "verify_generator",
]
_HELPERS = [*__all__]
__dir__ = listing(_HELPERS)
# `import *` brings also the names that MXNet's module imports for itself: scripts rely on them.
__all__ += BROUGHT

_SPARSE = "arrays are dense here: draw one with rand_ndarray(shape)"
_DATA = "it fetches data or programs that are not offered any more, or reads data that is not there"
_ELSEWHERE = {
    **dict.fromkeys(
        (
            "create_sparse_array",
            "create_sparse_array_zd",
            "rand_sparse_ndarray",
            "shuffle_csr_column_indices",
        ),
        _SPARSE,
    ),
    **dict.fromkeys(
        (
            "download_model",
            "get_bz2_data",
            "get_cifar10",
            "get_im2rec_path",
            "get_zip_data",
        ),
        _DATA,
    ),
}


def __getattr__(name: str) -> Any:
    if name in BROUGHT:
        return brought(name)
    if name in _ELSEWHERE:
        raise AttributeError(f"minpy.test_utils has no {name}: {_ELSEWHERE[name]}.")
    return missing("minpy.test_utils", "helper", _HELPERS)(name)
