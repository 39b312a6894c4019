"""`import mxnet` finds minpy: its modules, what is not there, pickles; `python -m minpy`, compared with Python."""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy.dropin import old_numpy
from minpy.namespaces import ALIASES, LATE, MOVED

ROOT = Path(mx.__file__).parent.parent
PICKLES = GOLDEN / "pickles"


def run(*arguments: str, folder: Path | None = None, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    environment |= options.pop("environment", {})
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60, **options
    )


@pytest.fixture(autouse=True)
def _as_mxnet():
    """Stand in for MXNet in one test, and leave no trace."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "mxnet"}
    module = mx.Context.__module__
    mx.install_as_mxnet()
    yield
    mx.Context.__module__ = module
    for name in [name for name in sys.modules if name.split(".")[0] == "mxnet"]:
        del sys.modules[name]
    sys.modules.update(before)


# -- modules -------------------------------------------------------------------------------------------------------

STATEMENTS = {
    "import mxnet": "mxnet.nd is minpy.nd and mxnet.nd.NDArray is minpy.nd.NDArray",
    "import mxnet as mx": "mx is sys.modules['mxnet'] and mx.autograd is minpy.autograd",
    "from mxnet import nd, autograd": "nd is minpy.ndarray and autograd is minpy.autograd",
    "from mxnet import *": "nd is minpy.nd and cpu is minpy.cpu and __version__ == '1.9.1'",
    "import mxnet.ndarray.linalg": "mxnet.ndarray.linalg is minpy.nd.linalg",
    "from mxnet.ndarray import NDArray": "NDArray is minpy.nd.NDArray",
    "from mxnet.ndarray.ndarray import NDArray": "NDArray is minpy.nd.NDArray",
    "import mxnet.symbol.symbol as inner": "inner.Symbol is minpy.sym.Symbol",
    "from mxnet.base import MXNetError, string_types, numeric_types": "MXNetError is minpy.MXNetError",
    "from mxnet.context import Context": "Context is minpy.Context",
    "from mxnet.test_utils import assert_almost_equal": "assert_almost_equal is minpy.test_utils.assert_almost_equal",
    "from mxnet.contrib.text.vocab import Vocabulary": "Vocabulary is minpy.contrib.text.vocab.Vocabulary",
    "import mxnet.profiler, mxnet.rnd": "mxnet.profiler is minpy.profiler and mxnet.rnd is minpy.random",
    "from mxnet.numpy import random": "random is minpy.np.random",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_module_is_minpys(statement):
    names = {"sys": sys, "minpy": mx}
    exec(statement, names)
    assert eval(STATEMENTS[statement], names)


def test_every_module_that_there_is_can_be_imported():
    for name in [*LATE, *ALIASES]:
        names = {}
        exec(f"import mxnet.{name} as found", names)
        assert names["found"] is getattr(mx, name)


def test_the_top_differs_in_its_version_only():
    import mxnet

    assert (mxnet.__version__, mx.__version__) == ("1.9.1", mx.version.__version__)
    assert dir(mxnet) == dir(mx)
    assert [name for name in dir(mx) if getattr(mxnet, name) is not getattr(mx, name)] == ["__version__"]
    assert mxnet.__file__ == mx.__file__
    with pytest.raises(AttributeError, match=r"minpy has no attribute 'autogard'\. Did you mean 'autograd'\?"):
        _ = mxnet.autogard


def test_what_is_set_at_the_top_is_set_in_both(monkeypatch):
    import mxnet

    monkeypatch.setattr(mxnet, "nd", "another")
    assert (mx.nd, mxnet.nd) == ("another", "another")
    monkeypatch.undo()
    assert mxnet.nd is mx.nd is sys.modules["minpy.ndarray"]
    mxnet.of_one_s_own = 3
    assert mx.of_one_s_own == 3
    del mxnet.of_one_s_own
    assert not hasattr(mx, "of_one_s_own")


WHAT_THERE_IS = r"Of MXNet's modules there are attribute, autograd, .*ndarray \(nd\), .*visualization \(viz\)\."
MISSING = {
    "from mxnet import api": r"^minpy\.api \(functions made of MXNet's own .*\) is not there yet\. " + WHAT_THERE_IS,
    "from mxnet.contrib import quantization": r"^minpy\.contrib\.quantization \(networks of .*\) is not there yet\. ",
    "import mxnet.randon": (
        r"^No module named 'mxnet\.randon': mxnet is minpy here \(minpy\.install_as_mxnet\), and there is no "
        r"minpy\.randon\. Did you mean 'random'.* " + WHAT_THERE_IS
    ),
    "import mxnet.ndarray.linalgg": (
        r"^No module named 'mxnet\.ndarray\.linalgg': .*Did you mean 'linalg'.*dir\(minpy\.ndarray\) lists what"
    ),
    "import mxnet.base.nothing": r"No module named 'mxnet\.base\.nothing'; 'mxnet\.base' is not a package",
}


@pytest.mark.parametrize("statement", MISSING)
def test_a_module_that_is_not_there_says_where_to_look(statement):
    with pytest.raises(ModuleNotFoundError, match=MISSING[statement]):
        exec(statement)


def test_another_mxnet_is_not_replaced(tmp_path):
    (tmp_path / "mxnet.py").write_text("")
    found = run("-c", "import mxnet, minpy; minpy.install_as_mxnet()", folder=tmp_path)
    text = (
        r"MXNetError: install_as_mxnet: another mxnet is imported already, from .*mxnet\.py\. Call .* before the first"
    )
    assert re.search(text, found.stderr), found.stderr
    found = run(
        "-c", "import minpy; minpy.install_as_mxnet(); import mxnet; print(mxnet.nd is minpy.nd)", folder=tmp_path
    )
    assert found.stdout == "True\n", found.stderr


# -- pickles -------------------------------------------------------------------------------------------------------

PICKLED = {
    "nd32": (mx.nd.NDArray, "float32", [[1, 2], [3, 4.5]]),
    "nd64": (mx.nd.NDArray, "float64", [1, 2]),
    "ndi": (mx.nd.NDArray, "int32", [1, 2]),
    "np": (mx.np.ndarray, "float32", [1, 2, 3]),
    "npscalar": (mx.np.ndarray, "float32", 3),
}


@pytest.mark.parametrize("protocol", [0, 2])
@pytest.mark.parametrize("name", PICKLED)
def test_arrays_that_mxnet_pickled_are_read(name, protocol):
    found = pickle.loads((PICKLES / f"{name}.{protocol}.pkl").read_bytes())
    cls, dtype, values = PICKLED[name]
    assert (type(found), np.dtype(found.dtype).name) == (cls, dtype)
    assert found.asnumpy().tolist() == values


@pytest.mark.parametrize("protocol", [0, 2])
def test_symbols_and_contexts_that_mxnet_pickled_are_read(protocol):
    assert pickle.loads((PICKLES / f"ctx.{protocol}.pkl").read_bytes()) == mx.cpu(1)
    net = pickle.loads((PICKLES / f"sym.{protocol}.pkl").read_bytes())
    assert net.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert net.infer_shape(data=(2, 5))[1] == [(2, 3)]


def test_damaged_pickles_and_arrays_made_by_their_class_say_so():
    handle = bytes.fromhex("c9fa93f9 00000000 02000000 0200000000000000 0200000000000000 01000000 00000000 00000000")
    array = mx.nd.NDArray(None)
    array.__setstate__({"handle": handle + np.arange(4, dtype="<f4").tobytes()})
    assert array.asnumpy().tolist() == [[0, 1], [2, 3]]
    with pytest.raises(
        mx.MXNetError, match=r"a pickled array of 48 bytes, byte 40: .* 16 bytes are needed, but .* after 8"
    ):
        array.__setstate__({"handle": handle + bytes(8)})
    with pytest.raises(
        mx.MXNetError, match=r"NDArray\(list of 2: .*\): arrays are not made by their class; call nd\.array"
    ):
        mx.nd.NDArray([1, 2])


# -- python -m minpy -----------------------------------------------------------------------------------------------

SHOWS = """
from __future__ import annotations
import sys
def fail():
    return 1 / 0
print(__name__, __file__, sys.argv, sys.path[0], __package__, type(__spec__).__name__, __doc__)
print(sorted(name for name in globals() if name.startswith("__")), sys.modules["__main__"].fail is fail)
how = sys.argv[1] if len(sys.argv) > 1 else ""
if how == "status":
    sys.exit(7)
if how == "text":
    sys.exit("words")
if how == "error":
    fail()
if how == "interrupt":
    import atexit
    atexit.register(print, "at exit")
    raise KeyboardInterrupt
if how == "hook":
    sys.excepthook = lambda *what: print("hook", what[0].__name__, what[2].tb_frame.f_code.co_name)
    fail()
"""
AS_PYTHON = [
    "shows.py", "shows.py one two", "shows.py status", "shows.py text", "shows.py error", "shows.py interrupt",
    "shows.py hook", "inner/shows.py x", "wrong.py", "nowhere.py", "-m package x", "-m package error", "-m shows error",
    "-m package.nothing", "-m nowhere", "-m empty", "package x", "empty", "-c import/sys;print(sys.argv,__name__) x -m",
    "-c 1/0",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("programs")
    for path in ("shows.py", "inner/shows.py", "package/__main__.py"):
        (made / path).parent.mkdir(exist_ok=True)
        (made / path).write_text(SHOWS)
    (made / "package" / "__init__.py").write_text("")
    (made / "empty").mkdir()
    (made / "empty" / "__init__.py").write_text("")
    (made / "wrong.py").write_text("def f(:\n")
    return made


@pytest.mark.parametrize("line", AS_PYTHON)
def test_programs_run_as_python_runs_them(folder, line):
    arguments = [word.replace("import/sys", "import sys") for word in line.split(" ")]
    mine, pythons = (run(*before, *arguments, folder=folder) for before in (["-m", "minpy"], []))
    # Of `python -m x` the interpreter shows two lines of its own.
    traceback = re.sub(r'  File "<frozen runpy>".*\n', "", pythons.stderr)
    traceback = re.sub(r'  File "[^"]*runpy\.py".*\n(    .*\n)*', "", traceback)
    assert (mine.stdout, mine.stderr, mine.returncode) == (pythons.stdout, traceback, pythons.returncode)


def test_a_module_that_python_cannot_read_shows_where(folder):
    found = run("-m", "minpy", "-m", "wrong", folder=folder)
    assert found.returncode == 1
    assert re.match(r'  File ".*wrong\.py", line 1\n    def f\(:\n', found.stderr), found.stderr


def test_an_interrupt_ends_it_by_the_signal(folder):
    assert run("-m", "minpy", "shows.py", "interrupt", folder=folder).returncode in (-signal.SIGINT, 130)


def test_a_program_from_standard_input(folder):
    text = "import mxnet, sys; print(sys.argv, __name__, mxnet.__version__)"
    assert run("-m", "minpy", "-", "x", folder=folder, input=text).stdout == "['-', 'x'] __main__ 1.9.1\n"


USES_MXNET = """
import multiprocessing, pickle
import mxnet as mx
from mxnet import autograd, nd

class Kept:
    pass

def double(x):
    return (nd.array([x]) * 2).asscalar()

if __name__ == "__main__":
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    print(x.grad.asnumpy().tolist(), mx.__version__, isinstance(pickle.loads(pickle.dumps(Kept())), Kept))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([float(value) for value in pool.map(double, [1, 2])])
"""


def test_a_script_that_imports_mxnet_runs_unchanged_and_its_processes_too(tmp_path):
    (tmp_path / "script.py").write_text(USES_MXNET)
    found = run("-m", "minpy", "script.py", folder=tmp_path)
    assert found.stdout == "[2.0, 4.0] 1.9.1 True\n[2.0, 4.0]\n", found.stderr
    assert found.stderr == ""


def test_alone_it_prints_versions_features_and_help():
    found = run("-m", "minpy", environment={"MXNET_ENGINE_TYPE": "NaiveEngine", "MXNET_HOME": "/models"})
    assert (found.returncode, found.stderr) == (0, "")
    for text in (
        f"minpy {mx.__version__}, in ", "stands in for MXNet 1.9.1", f"numpy {np.__version__}", "there are: ",
        "there are not: CUDA", "MXNET_ENGINE_TYPE=NaiveEngine (means nothing here)", "MXNET_HOME=/models\n",
        "usage: python -m minpy [--old-numpy] script.py", "--old-numpy    give NumPy the names back",
    ):  # fmt: skip
        assert text in found.stdout
    assert run("-m", "minpy", "--version").stdout == f"minpy {mx.__version__} (MXNet 1.9.1)\n"
    assert run("-m", "minpy", "--help").stdout.startswith("usage: python -m minpy")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--old"], "there is no option '--old'; options of the script follow its name."),
        (["-m"], "-m needs a module."),
        (["--old-numpy", "-c"], "-c needs a command."),
        (["--old-numpy"], "--old-numpy needs a program to run."),
    ],
)
def test_a_command_line_that_is_wrong_says_so(arguments, text):
    found = run("-m", "minpy", *arguments)
    assert found.returncode == 2
    assert found.stderr.startswith(f"python -m minpy: {text}\n\nusage: python -m minpy")


# -- names that NumPy has removed ----------------------------------------------------------------------------------

# NumPy 1.23's public names, from its own `dir`, that have since gone.
GONE = [
    "ALLOW_THREADS",
    "AxisError",
    "BUFSIZE",
    "CLIP",
    "ComplexWarning",
    "DataSource",
    "ERR_CALL",
    "ERR_DEFAULT",
    "ERR_IGNORE",
    "ERR_LOG",
    "ERR_PRINT",
    "ERR_RAISE",
    "ERR_WARN",
    "FLOATING_POINT_SUPPORT",
    "FPE_DIVIDEBYZERO",
    "FPE_INVALID",
    "FPE_OVERFLOW",
    "FPE_UNDERFLOW",
    "Inf",
    "Infinity",
    "MAXDIMS",
    "MAY_SHARE_BOUNDS",
    "MAY_SHARE_EXACT",
    "MachAr",
    "ModuleDeprecationWarning",
    "NAN",
    "NINF",
    "NZERO",
    "NaN",
    "PINF",
    "PZERO",
    "RAISE",
    "RankWarning",
    "SHIFT_DIVIDEBYZERO",
    "SHIFT_INVALID",
    "SHIFT_OVERFLOW",
    "SHIFT_UNDERFLOW",
    "Tester",
    "TooHardError",
    "UFUNC_BUFSIZE_DEFAULT",
    "UFUNC_PYVALS_NAME",
    "VisibleDeprecationWarning",
    "WRAP",
    "add_docstring",
    "add_newdoc",
    "add_newdoc_ufunc",
    "alltrue",
    "asfarray",
    "bool",
    "bool8",
    "byte_bounds",
    "bytes0",
    "cast",
    "cfloat",
    "chararray",
    "clongfloat",
    "compare_chararrays",
    "compat",
    "complex",
    "complex_",
    "cumproduct",
    "deprecate",
    "deprecate_with_doc",
    "disp",
    "fastCopyAndTranspose",
    "find_common_type",
    "float",
    "float_",
    "format_parser",
    "fv",
    "get_array_wrap",
    "geterrobj",
    "in1d",
    "infty",
    "int",
    "int0",
    "ipmt",
    "irr",
    "issctype",
    "issubclass_",
    "issubsctype",
    "kernel_version",
    "long",
    "longcomplex",
    "longfloat",
    "lookfor",
    "mat",
    "math",
    "maximum_sctype",
    "mirr",
    "msort",
    "nbytes",
    "nper",
    "npv",
    "numarray",
    "obj2sctype",
    "object",
    "object0",
    "oldnumeric",
    "os",
    "pmt",
    "ppmt",
    "product",
    "pv",
    "rate",
    "recfromcsv",
    "recfromtxt",
    "round_",
    "row_stack",
    "safe_eval",
    "sctype2char",
    "sctypes",
    "set_numeric_ops",
    "set_string_function",
    "seterrobj",
    "singlecomplex",
    "sometrue",
    "source",
    "str",
    "str0",
    "string_",
    "sys",
    "tracemalloc_domain",
    "trapz",
    "typeDict",
    "uint0",
    "unicode",
    "unicode_",
    "use_hugepage",
    "void0",
    "warnings",
    "who",
]


def test_each_name_that_has_gone_comes_back_or_is_said_not_to():
    assert {*GONE} == old_numpy.OLD_NAMES | old_numpy.UNRESTORED
    assert not old_numpy.OLD_NAMES & old_numpy.UNRESTORED


CHECKS = {
    "float": "np.float is float",
    "int": "np.array([1.5]).astype(np.int).tolist() == [1]",
    "bool": "np.zeros(2, np.bool).dtype == bool",
    "object": "np.array([None], np.object).dtype == object",
    "str": "np.str is str",
    "long": "np.zeros(1, np.long).dtype.kind == 'i'",
    "product": "np.product([2, 3]) == 6",
    "in1d": "np.in1d([[1, 2]], [2]).tolist() == [False, True]",
    "NaN": "np.isnan(np.NaN) and np.Inf == -np.NINF",
    "float_": "np.float_ is np.float64 and np.complex_ is np.complex128",
    "unicode_": "np.unicode_('x') == 'x' and np.string_(b'x') == b'x'",
    "trapz": "np.trapz([0, 2]) == 1",
    "row_stack": "np.row_stack([[1], [2]]).shape == (2, 1)",
    "asfarray": "np.asfarray([1]).dtype == 'f8' and np.asfarray([1], 'f4').dtype == 'f4'",
    "cast": "np.cast['int32']([1.5]).tolist() == [1]",
    "sctypes": "np.float32 in np.sctypes['float'] and np.uint8 in np.sctypes['uint']",
    "find_common_type": "np.find_common_type(['f4'], ['f8']) == 'f4' and np.find_common_type(['i4'], ['f8']) == 'f8'",
    "issubsctype": "np.issubsctype(np.int32, np.integer) and np.issubclass_(bool, int)",
    "msort": "np.msort([[2], [1]]).tolist() == [[1], [2]]",
    "maximum_sctype": "np.maximum_sctype('f4') is np.longdouble and np.obj2sctype('i4') is np.int32",
    "nbytes": "np.nbytes[np.float64] == 8 and np.sctype2char('f8') == 'd' and np.issctype(np.int8)",
    "safe_eval": "np.safe_eval('[1]') == [1]",
    "mat": "np.mat([[1, 2]]).shape == (1, 2) and np.round_(1.6) == 2",
    "ComplexWarning": "issubclass(np.ComplexWarning, Warning) and issubclass(np.AxisError, ValueError)",
    "byte_bounds": "len(np.byte_bounds(np.zeros(2))) == 2",
    "typeDict": "np.typeDict['float64'] is np.float64",
    "recfromtxt": "np.recfromtxt(['1 2', '3 4'])[1, 0] == 3",
    "recfromcsv": "np.recfromcsv(['A,B', '1,2']).a == 1",
    "disp": "np.disp('shown') is None and np.source(np.disp) is None",
    "deprecate": "np.deprecate(len)([1]) == 1 and np.deprecate(message='x')(len)([1]) == 1",
    "reshape": "np.reshape(np.arange(4), newshape=(2, 2)).tolist() == np.reshape(np.arange(4), (2, 2)).tolist()",
    "reshape of ours": "type(np.reshape(mx.np.ones(4), newshape=(2, 2))) is mx.np.ndarray",
    "percentile": "np.percentile([1, 2, 4], 50, interpolation='lower') == 2",
    "quantile": "np.quantile([1, 2], 0.9, interpolation='higher') == 2",
    "nanpercentile": "np.nanpercentile([1, np.nan, 3], 50, interpolation='nearest') in (1, 3)",
    "histogram": "np.histogram([1, 2], bins=1, normed=True)[0] == [1] and np.histogram([1, 2], bins=1)[0] == [2]",
    "corrcoef": "np.corrcoef([[1, 2], [1, 3]], bias=True, ddof=1).shape == (2, 2)",
    "array2string": "np.array2string(np.arange(2), style=repr) == '[0 1]'",
    "save": "np.save(sys.argv[0] + '.npy', np.ones(2), fix_imports=True) is None",
    "array": "np.array(1, copy=False) == 1 and np.array(np.ones(2), dtype='f4', copy=False).dtype == 'f4'",
    "array without copy": "[np.array(x, copy=False) is x for x in [np.ones(2)]] == [True]",
    "array of ours": "type(np.array([1.0])) is np.ndarray and isinstance(np.array([1]), np.ndarray)",
    "cross": "np.cross([1, 2], [3, 4]) == -2 and np.cross([[1], [2]], [[3], [4]], axis=0).tolist() == [-2]",
    "cross of 2 and 3": "np.cross([1, 2], [3, 4, 5]).tolist() == [10, -5, -2]",
    "cross of 3 and 2": "np.cross([1, 2, 3], [4, 5]).tolist() == [-15, 12, -3]",
    "cross of ours": "type(np.cross(mx.np.array([1, 2.0]), mx.np.array([3, 4.0]))) is type(mx.np.array([1.0])[0])",
    "cross of many": "np.cross(np.ones((4, 3)), np.ones(2), axisc=0).shape == (3, 4)",
    "fromstring": "np.fromstring(b'abc', 'u1', 2).tolist() == [97, 98] and np.fromstring('a', 'u1').flags.writeable",
    "fromstring of nothing": "np.fromstring(b'', 'f4').shape == (0,)",
    "fromstring of numbers": "np.fromstring('1 2', sep=' ').tolist() == [1, 2]",
    "sum": "np.sum(x for x in [1, 2.5]) == 3.5 and np.sum([[1, 2]], axis=0).tolist() == [1, 2]",
    "sum of ours": "type(np.sum(mx.np.ones(2))) is mx.np.ndarray",
    "linalg": "np.linalg.linalg.LinAlgError is np.linalg.LinAlgError and np.fft.helper.fftfreq is np.fft.fftfreq",
    "linalg module": "__import__('numpy.linalg.linalg').linalg.linalg.norm([3, 4]) == 5",
    "ptp": "np.array([1, 4]).ptp() == 3 and np.array([[1, 4]]).ptp(axis=1, keepdims=True).shape == (1, 1)",
    "itemset": "[(x.itemset(1, 5), x.itemset((0, 0), 7), x.tolist())[2] for x in [np.zeros((1, 2))]] == [[[7, 5]]]",
    "itemset of one": "[(x.itemset(3), x.tolist())[1] for x in [np.zeros(1)]] == [[3]]",
    "newbyteorder": "np.array([1], '<i4').newbyteorder().dtype == '>i4'",
    "tostring": "np.array([1, 2], 'u1').tostring() == b'\\x01\\x02' and np.float32(0).tostring() == bytes(4)",
    "lib": "np.lib.pad is np.pad and np.lib.trapz([0, 2]) == 1 and np.lib.function_base.percentile([1, 3], 50) == 2",
    "lib modules": "__import__('numpy.lib.arraysetops').lib.arraysetops.in1d([1], [1]).tolist() == [True]",
    "lib.stride_tricks": "np.lib.stride_tricks.broadcast_to(np.ones(1), 2).shape == (2,)",
    "core": "np.core.multiarray.array([1]) == 1 and np.core.numeric.ones(1) == 1",
    "hybridized": "[net.hybridize(), *(net(mx.nd.ones((2, 2))).shape for _ in range(4))][-1] == (4,)",
    "fastCopyAndTranspose": "np.fastCopyAndTranspose(np.ones((1, 2))).shape == (2, 1)",
}


def test_old_names_of_numpy_are_restored_for_a_program(tmp_path):
    (tmp_path / "old.py").write_text(
        "import json, sys, warnings\nwarnings.simplefilter('ignore')\nimport numpy as np\nimport mxnet as mx\n"
        "net = mx.gluon.nn.HybridLambda(lambda F, x: F.reshape(x, shape=(-1,)))\n"
        "print(json.dumps([name for name, claim in json.loads(sys.argv[1]).items() if not eval(claim)]))\n"
        "print([name for name in sys.argv[2].split() if not hasattr(np, name)])\n"
    )
    import json

    found = run(
        "-m", "minpy", "--old-numpy", "old.py", json.dumps(CHECKS), " ".join(old_numpy.OLD_NAMES), folder=tmp_path
    )
    lines = found.stdout.splitlines()
    assert lines[-2:] == ["[]", "[]"], found.stdout + found.stderr
    assert re.match(r"minpy --old-numpy: names that NumPy has removed are there again: .*\bfloat\b", found.stderr)
    assert "reshape(newshape=)" in found.stderr or "newshape" in inspect.signature(np.reshape).parameters
    assert not hasattr(np, "float")


def test_old_keywords_are_in_signatures_and_new_ones_stay(tmp_path):
    program = """
import importlib
import inspect
import numpy as np
assert "interpolation" in inspect.signature(np.percentile).parameters
assert np.percentile([1, 2, 4], 50, method="lower") == 2
try:
    np.percentile([1], 50, interpolatoin="lower")
except TypeError as error:
    print(error)
"""
    (tmp_path / "old.py").write_text(program)
    found = run("-m", "minpy", "--old-numpy", "old.py", folder=tmp_path)
    assert "unexpected keyword argument 'interpolatoin'" in found.stdout, found.stderr


def test_without_the_option_they_are_gone(tmp_path):
    (tmp_path / "old.py").write_text(textwrap.dedent("import numpy\nprint(hasattr(numpy, 'float'))\n"))
    assert run("-m", "minpy", "old.py", folder=tmp_path).stdout == "False\n"


@pytest.mark.parametrize("earlier", sorted(MOVED))
def test_modules_that_earlier_pickles_name(earlier: str) -> None:
    assert importlib.import_module(f"minpy.{earlier}") is importlib.import_module(f"minpy.{MOVED[earlier]}")
