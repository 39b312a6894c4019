"""What MXNet has and minpy does not, and why: what a look-up of such a name says.

Parts that are still to come are in `minpy.namespaces.PARTS_TO_COME`; the reasons here are those that stay.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["HOMES", "ROWS", "ROWS_OF_AUTOGRAD", "ROWS_OF_MINPY", "Row", "reason"]


class Row(NamedTuple):
    """Names that are not there for one reason.

    `modules` and `names` are regular expressions, of modules without `minpy.` (`nd.contrib`), and of names in them.
    """

    modules: str
    names: str
    text: str


_OPERATORS = r"(nd|sym|contrib)\b.*"
_IMPORTED = "it is a module, or a name of one, that MXNet's module imports for itself. Import it where it comes from."
_SHORT = {"ndarray": "nd", "numpy": "np", "numpy_extension": "npx", "symbol": "sym", "visualization": "viz"}

ROWS = [
    Row(
        _OPERATORS,
        r"(_contrib_)?(quantize\w*|dequantize|requantize|quantized_\w+|calibrate_entropy|intgemm_\w+)",
        "it computes with quantised numbers, and minpy does not. Use float32 or float16.",
    ),
    Row(
        _OPERATORS,
        r"(_contrib_)?(dgl_\w+|edge_id|getnnz)",
        "it works on graphs in sparse matrices, for DGL, and there are no sparse arrays.",
    ),
    Row(
        r"(nd|sym|contrib)\b.*|test_utils",
        r"(_sparse_)?(retain|gs_retain|adagrad_update)|_square_sum|SparseEmbedding|_contrib_SparseEmbedding"
        r"|_scatter_(elemwise_div|minus_scalar|plus_scalar)|NotSupportedForSparseNDArray",
        "it is for sparse arrays, and arrays are dense here. For `Embedding`, and updates of its weight, use the dense "
        "operators.",
    ),
    Row(
        _OPERATORS,
        r"_sg_mkldnn_\w+",
        "it is what MXNet's backend for Intel's oneDNN makes of parts of graphs. Graphs are compiled here.",
    ),
    Row(
        r"|test_utils|nd.*|sym.*",
        r"tvmop|has_tvm_ops|is_op_runnable",
        "it is for operators made by TVM, of which there are none.",
    ),
    Row(
        "|rtc|util",
        r"Cuda\w+|get_cuda_compute_capability|get_gpu_(count|memory)",
        "it is for CUDA, and arrays are on the CPU.",
    ),
    Row(
        _OPERATORS,
        r"_?(backward|broadcast_backward|split_v2_backward)_\w+",
        "it is the gradient of an operator. Gradients are rules of the operators here: use autograd.",
    ),
    Row(
        r"(nd|sym)\._internal",
        "_foreach|_while_loop|_cond",
        "its nodes are made of functions: use contrib.foreach, contrib.while_loop and contrib.cond.",
    ),
    Row(r"(nd|sym)\._internal", "_imdecode", "it reads a picture into a buffer of C++. Use minpy.nd.imdecode."),
    Row(
        r"sym\._internal",
        r"_cv\w+",
        "what it returns has the size of a picture, which no symbol knows. Read pictures by minpy.nd.imdecode.",
    ),
    Row("sym", "reset_arrays", "it writes into its arguments, and symbols have no values. Use minpy.nd.reset_arrays."),
    Row(
        r"(nd|sym)\._internal",
        r"_(CachedOp\w*|CrossDeviceCopy|CustomFunction|NDArray|Native|NoGradient|imperative_invoke|set_\w+"
        r"|symbol_creator)|NDArrayBase|SymbolBase|_imperative_invoke|_symbol_creator|_set_\w+",
        "it is how MXNet runs its own parts. Operators are Python here.",
    ),
    Row(
        r"(nd|sym)\b.*",
        r"CachedOp|gen_\w*|register|_ndarray_cls|get_indexing_dispatch_code|get_oshape_of_gather_nd_op"
        r"|indexing_key_expand_implicit_axes|utils",
        "it is how MXNet's Python is made. Operators are Python here.",
    ),
    Row(
        "",
        r"_?(api|api_internal|ctypes|cy3|ffi|global_var|numpy_op_doc)|ndarray_doc|symbol_doc|numpy_op_fallback"
        r"|executor_manager",
        "it is how MXNet's Python is made, or not for programs.",
    ),
    Row(
        "np",
        r"NAN|NINF|NZERO|NaN|PINF|PZERO|arrayprint|fallback\w*|function_base|io|multiarray|stride_tricks|utils"
        r"|product|sometrue|alltrue|round_|in1d|row_stack|trapz|msort|cumproduct|rate|ppmt|pv|mirr|npv",
        "NumPy 2 has no such name any more: use nan, inf, prod, any, all, round, isin, vstack, trapezoid or sort; "
        "what is for finance is in the package numpy-financial.",
    ),
    Row(r"base|contrib\.text\.\w+", "libinfo|vocab|base|C", _IMPORTED),
    Row(r"optimizer\.optimizer", "numpy|pickle", _IMPORTED),
    Row(
        "model",
        "BASE_ESTIMATOR|SKLEARN_INSTALLED",
        "MXNet derives FeedForward from a class of scikit-learn's, if that is there. It derives from none here.",
    ),
    Row(r"io\.(io|utils)", "CSRNDArray|concat|h5py|sparse_array|tile", _IMPORTED),
    Row(r"contrib\.amp\.amp", "BucketingModule|base|bfloat16|opt|symbol_contrib|trainer", _IMPORTED),
    Row(r"contrib\.amp\.loss_scaler", "ag|multi_all_finite", _IMPORTED),
    Row(r"notebook(\.callback)?", "Bokeh_Failed_To_Import|Pandas_Failed_To_Import|bokeh|pd|datetime", _IMPORTED),
    Row("np.linalg", "fallback_linalg", "it lists functions that MXNet leaves to NumPy."),
    Row("test_utils", r"is_cd_run|is_aarch64_run|check_speed", "it is for the tests of MXNet itself."),
    Row(
        "base",
        r"c2pyerror|get_last_ffi_error|add_fileline_to_docstring|build_param_doc|register_error|error_types"
        r"|data_dir\w*|mx_float_p|with_metaclass|classproperty",
        "it is how MXNet's Python calls its library in C++, which there is none of.",
    ),
    Row(
        r"libinfo|profiler|util|engine|rtc|kv(store)?\.base",
        r"find_\w+_path|profiler_kvstore_handle|wrap_np_\w+|np_ufunc_legal_option|set_module",
        "it is how MXNet's Python finds and calls its library in C++, which there is none of.",
    ),
    Row(
        "operator",
        "MXCallbackList|OperatorArguments",
        "it is how MXNet's Python is called from C++. Custom operators are called as they are.",
    ),
    Row(
        r".*",
        r"_LIB|check_call|c_(array|str)\w*|c_handle_array|\w+Handle|mx_(u?int|float|int64|real_t)|c_(bool|char|int|void)\w*"
        r"|ctypes2\w+|py_(slice|sum|array)|native_array|CFUNCTYPE|POINTER|Structure|pointer|MXCallbackList"
        r"|DL\w+|DeleterFunc|PyCapsuleDestructor|dl_managed_tensor_deleter|classproperty|with_metaclass|_Null",
        "it is how MXNet's Python calls its library in C++, which there is none of.",
    ),
    Row(
        r"kvstore(\.base)?|kv(\.base)?",
        r"KVStoreServer|kvstore_server|TestStore",
        "it is for training in several processes, or for the tests of MXNet itself. One process trains here: use "
        "kvstore.create('device').",
    ),
    Row(
        r"gluon\.(data\.vision\.datasets|contrib\.data\.(sampler|text))",
        "C|base|check_sha1|dataset|download|image|recordio|sampler|text",
        _IMPORTED,
    ),
    Row(
        r"gluon\.data\.dataloader",
        r"ConnectionWrapper|DataLoaderV1|Queue|SimpleQueue|ThreadPool|fetcher_loop_v1|worker_loop_v1"
        r"|re(build|duce)_(np_)?ndarray",
        "it is how MXNet's first loader sends batches from process to process. Use DataLoader.",
    ),
    Row(
        r"gluon\.model_zoo\.model_store",
        "apache_repo_url|download|replace_file|tempfile",
        "it serves to download weights, and minpy downloads none: `get_model_file` says where they have to be.",
    ),
    Row(r"gluon\.model_zoo\.vision\..*", "base", _IMPORTED),
    Row(
        r"(?!(sym\.)?(np|npx|numpy|numpy_extension)\b).*",
        r"array|copy|random|cast|operator|math|json|io|sqrt|allclose",
        _IMPORTED,
    ),
    Row(
        r"npx\.image",
        r"\w*Aug(menter)?|Create\w+|Image(Det)?Iter|(center|fixed|random|random_size)_crop|color_normalize|copyMakeBorder"
        r"|det(ection)?|image|imdecode|imread|imresize|imrotate|random_rotate|recordio|resize_short|scale_down|io|random",
        "it is of `mx.image`. Use minpy.image.",
    ),
    Row(r"image(\.\w+)?", "recordio", _IMPORTED),
    Row(
        r"(symbol|sym)\.(np|numpy)\.random",
        "shuffle",
        "it changes an array in place, and a symbol has none. Use `sym.random.shuffle`, which returns the new order.",
    ),
    Row(
        r"(symbol|sym)\.(np|numpy)\.random",
        "multivariate_normal",
        "how many numbers it draws hangs on shapes that a symbol does not know. Use mean + cholesky(cov) @ z, with z "
        "from `sym.np.random.normal(size=...)`.",
    ),
    Row("npx", "utils", "it is the file in which MXNet keeps `npx.save` and `npx.load`, which are there."),
    Row(
        r"(?!(nd|sym)$).*",
        r"ctypes|sys|os|re|json|time|logging|warnings|threading|functools|collections|contextlib|contextmanager"
        r"|namedtuple|defaultdict|OrderedDict|struct|errno|gzip|bz2|zipfile|tarfile|shutil|platform|traceback|inspect"
        r"|atexit|numbers|Number|Lock|reduce|requests|np|npt|mx|mx_npx?|_os|_sys|spsp|ss|stats|cv2|current_process"
        r"|basestring|long|lists|rnd|operator|py_array|pickle|hashlib|uuid|weakref|multiprocessing|signal",
        _IMPORTED,
    ),
]

# MinPy's names, which are not there for other reasons than MXNet's.
ROWS_OF_AUTOGRAD = [
    Row(
        "extend",
        "Box|JVPNode|SparseObject|VJPNode|VSpace|vspace",
        "it is how HIPS autograd follows values, and minpy records in another way. Arrays are recorded wherever NumPy "
        "makes them; nests of dicts, lists and tuples are taken by minpy.grad and its kin.",
    ),
]

ROWS_OF_MINPY = [
    Row("", "check_mxnet_version", "it is MinPy's, and asks for a version of MXNet. No MXNet is needed here."),
    Row(
        r"array_variants(\.\w+)?",
        r"register_primitives|def_grads|wrap_namespace|(numpy|mxnet)_(core|wrapper)|random",
        "it is how MinPy fills its namespaces with the functions of NumPy and MXNet. They are in minpy.numpy.",
    ),
    Row(
        r"utils(\.\w+)?",
        "blacklist_generator|generate_default_blacklist|test_(ufunc|numeric|fromnumeric)",
        "it lists the functions that fail in MXNet, for MinPy to run them by NumPy. NumPy computes everything here.",
    ),
    Row(
        "primitive",
        "FakeGradFunc",
        "it is how MinPy's tape notes that a gradient is missing. Here backward raises NoGradientError.",
    ),
    Row(
        "tape",
        "GradRecord",
        "it is what MinPy's tape is made of. Here arrays hold the nodes that they come from: see minpy.autograd.",
    ),
    Row(r"utils\.\w+", "PY3|exec_", "it tells Python 2 from Python 3, and Python is 3 here."),
    Row(r"nn\.model", "UnknownAccessModeError", "nothing in MinPy raises it."),
    Row(r"dispatch\.rule", r"MXNET_\w+", "it says what of MXNet MinPy trusted. NumPy computes everything here."),
]

# Names that MXNet's modules import of each other, by the modules that they are in here; "" is the top.
_NAMES_IN = {
    "": "AttrScope Context MXNetError autograd context cpu current_context gpu initializer nd registry sym",
    "base": "NotImplementedForSymbol integer_types numeric_types py_str string_types",
    "executor": "Executor",
    "gluon": "Parameter ParameterDict",
    "gluon.parameter": "DeferredInitializationError",
    "gluon.utils": "shape_is_known",
    "name": "NameManager",
    "nd": "Custom NDArray array zeros_like",
    "profiler": "set_kvstore_handle",
    "runtime": "Features",
    "sym": "Symbol load_json",
    "util": "getenv is_np_array is_np_shape np_array np_shape set_np setenv use_np",
}
HOMES = {name: f"{module}.{name}".lstrip(".") for module, names in _NAMES_IN.items() for name in names.split()}
HOMES |= {"ndarray": "nd", "np_symbol": "sym.np", "symbol": "sym"}


def reason(module: str, name: str) -> str | None:
    """Return why a name of MXNet's, or MinPy's, is not in a module; None if there is no more to say of it.

    Parameters
    ----------
    module : str
        Without `minpy.`: "nd.contrib", or "ndarray.contrib"; "" for the top.
    name : str

    Examples
    --------
    >>> reason('nd.contrib', 'quantize')
    'it computes with quantised numbers, and minpy does not. Use float32 or float16.'
    >>> reason('random', 'Context')
    "MXNet's module imports it for itself; it is minpy.Context."
    >>> reason('nd', 'expp')
    """
    first, dot, submodule = module.partition(".")
    module = f"{_SHORT.get(first, first)}{dot}{submodule}"
    home = HOMES.get(name)
    if home is not None and home.rpartition(".")[0] != module:
        return f"MXNet's module imports it for itself; it is minpy.{home}."
    for row in (*ROWS_OF_AUTOGRAD, *ROWS_OF_MINPY, *ROWS):
        if re.fullmatch(row.modules, module) and re.fullmatch(row.names, name):
            return row.text
    return None
