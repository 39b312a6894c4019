"""What tests of networks and operators use: comparisons, random arrays, and checks of symbols against numbers.

The names, defaults and tolerances are those of `mxnet.test_utils`.
"""

from typing import Any

from minpy.namespaces import listing, missing
from minpy.test_utils import brought
from minpy.test_utils.comparing import *
from minpy.test_utils.consistency import *
from minpy.test_utils.defaults import *
from minpy.test_utils.dummy_data import *
from minpy.test_utils.random_arrays import *
from minpy.test_utils.statistics import *
from minpy.test_utils.surroundings import *
from minpy.test_utils.symbols import *

_HELPERS = sorted(name for name, value in vars().items() if getattr(value, "__module__", "").startswith(__name__))
__dir__ = listing(_HELPERS)
# `import *` also imports the names that MXNet's module imports for itself: scripts rely on them.
__all__ = [*_HELPERS, *brought.NAMES]

_SPARSE = "arrays are dense here: draw one with rand_ndarray(shape)"
_DATA = "it fetches data or programs that are not offered any more, or reads data that is not there"
_ELSEWHERE = {
    "create_sparse_array": _SPARSE,
    "create_sparse_array_zd": _SPARSE,
    "download_model": _DATA,
    "get_bz2_data": _DATA,
    "get_cifar10": _DATA,
    "get_im2rec_path": _DATA,
    "get_zip_data": _DATA,
    "rand_sparse_ndarray": _SPARSE,
    "shuffle_csr_column_indices": _SPARSE,
}


def __getattr__(name: str) -> Any:
    if name in brought.NAMES:
        return brought.find(name)
    if name in _ELSEWHERE:
        raise AttributeError(f"minpy.test_utils has no {name}: {_ELSEWHERE[name]}.")
    return missing("minpy.test_utils", "helper", _HELPERS)(name)
