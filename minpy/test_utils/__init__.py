"""What tests of networks and operators use: comparisons, random arrays, and checks of symbols against numbers.

The names, defaults and tolerances are those of `mxnet.test_utils`.
"""

from minpy.namespaces import listing
from minpy.test_utils.comparing import (
    almost_equal,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_exception,
    same,
    same_array,
)
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
from minpy.test_utils.symbols import (
    check_numeric_gradient,
    check_symbolic_backward,
    check_symbolic_forward,
    simple_forward,
)

__all__ = [
    "almost_equal",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_exception",
    "check_numeric_gradient",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "download",
    "get_atol",
    "get_rtol",
    "list_gpus",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "same",
    "same_array",
    "set_default_context",
    "simple_forward",
]
__dir__ = listing(__all__)
