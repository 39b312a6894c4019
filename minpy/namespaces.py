"""What public namespaces list, their other names, and what is said of parts of MXNet that are not there yet.

`minpy.nd` is `minpy.ndarray`, and `minpy.nd.random` is `minpy.ndarray.random`: one module each, whichever name is
imported first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Any

from minpy.absent import reason
from minpy.core.errors import MissingPartError, MXNetError, nearest
from minpy.importing import import_module
from minpy.late import dict_of

__all__ = [
    "ALIASES",
    "INSIDE",
    "LATE",
    "MXNET_VERSION",
    "PARTS_TO_COME",
    "add_names",
    "install",
    "install_as_mxnet",
    "listing",
    "missing",
    "missing_part",
    "module_functions",
]

# The version of MXNet whose names, defaults and numbers are those here: what `mxnet.__version__` answers.
MXNET_VERSION = "1.9.1"

# MXNet's short names of modules of ours.
ALIASES = {
    "img": "image",
    "init": "initializer",
    "kv": "kvstore",
    "mod": "module",
    "mon": "monitor",
    "nd": "ndarray",
    "np": "numpy",
    "np_symbol": "symbol.numpy",
    "npx": "numpy_extension",
    "rnd": "random",
    "sym": "symbol",
    "th": "torch",
    "viz": "visualization",
}

# What layers call `F.np` and `F.npx`, where F is `minpy.nd` or `minpy.sym`.
INSIDE = {"np": "numpy", "npx": "numpy_extension"}

# Modules of the top that most programs do not use: imported when they are asked for.
LATE = (
    *("attribute", "autograd", "base", "callback", "contrib", "device", "differential_operators", "dlpack", "engine"),
    *("error", "executor", "executor_manager", "extend", "gluon", "graph", "image", "img", "init", "initializer", "io"),
    *(
        "kv",
        "kvstore",
        "libinfo",
        "library",
        "log",
        "lr_scheduler",
        "metric",
        "misc",
        "mod",
        "model",
        "module",
        "mon",
        "monitor",
    ),
    *("name", "notebook", "np", "np_symbol", "npx", "numpy", "numpy_dispatch_protocol", "numpy_extension"),
    "onnx",
    *("numpy_op_signature", "operator", "optimizer", "profiler", "recordio", "registry", "rnn", "rtc", "runtime"),
    *("sym", "symbol", "test_util", "test_utils", "th", "torch", "util", "visualization", "viz"),
)

# Modules of Python's that `import mxnet` brings, and scripts use without importing them themselves.
IMPORTED_BY_MXNET = ("multiprocessing.pool", "multiprocessing.queues", "urllib.request")

# Classes whose module programs compare, or write into files, as MXNet's.
KNOWN_BY_MODULE = (("context", "Context"),)

# Names of MXNet that are not there, and what they are.
PARTS_TO_COME = {
    "api": "functions made of MXNet's own registry",
    "contrib.quant": "networks of 8-bit integers",
    "contrib.quantization": "networks of 8-bit integers",
    "contrib.tensorrt": "networks run by TensorRT",
}


def listing(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module that shows these names only, and none that it imports for itself."""
    shown = sorted({*names})
    return shown.copy


def add_names(module: ModuleType, added: Mapping[str, Any]) -> None:
    """Give a public module further names, which it lists from then on; None for one that it is to lose."""
    own = dict_of(module)
    listed: list[str] = own["__all__"]
    names = {*listed}
    for name, value in added.items():
        if value is None:
            own.pop(name, None)
            names.discard(name)
        else:
            setattr(module, name, value)
            names.add(name)
    listed[:] = sorted(names)  # the list that was given to `missing`, which looks for the nearest name in it
    own.update(__dir__=listing(names))


def missing(module: str, kind: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: an error that says why a name is absent, or the nearest of its names."""

    def refuse(name: str) -> Any:
        text = missing_part(f"{module}.{name}".removeprefix("minpy."))
        if text is not None:
            raise AttributeError(text)
        advice = "" if name.startswith("__") else nearest(name, names)
        why = None if name.startswith("__") else reason(module.removeprefix("minpy").removeprefix("."), name)
        raise AttributeError(
            f"{module} has no {kind} {name!r}.{advice}" if why is None else f"{module} has no {kind} {name!r}: {why}"
        )

    return refuse


def module_functions(
    module: str, names: list[str], kind: str = "name"
) -> tuple[Callable[[], list[str]], Callable[[str], Any]]:
    """Return the `__dir__` and the `__getattr__` of a module that has these public names: see `listing`, `missing`."""
    return listing(names), missing(module, kind, names)


def missing_part(name: str) -> str | None:
    """Return what is to be said of a part of MXNet that is not there; None for other names.

    Parameters
    ----------
    name : str
        Below the top: "gluon", "gluon.nn", "contrib.amp".
    """
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        part = ".".join(parts[:length])
        if part in PARTS_TO_COME:
            return f"minpy.{part} ({PARTS_TO_COME[part]}) is not there yet. {_what_there_is()}"
    return None


def _what_there_is() -> str:
    top = sys.modules["minpy"]
    names: Iterable[str] = getattr(top, "__all__", ())
    modules = [name for name in names if name in LATE or isinstance(vars(top).get(name), ModuleType)]
    short = {module: alias for alias, module in ALIASES.items()}
    there = [f"{name} ({short[name]})" if name in short else name for name in modules if name not in ALIASES]
    return f"Of MXNet's modules there are {', '.join(there)}."


class _StandIn(ModuleType):
    """The module `mxnet`: minpy, under that name. It differs in its `__version__`, and in how it was imported."""

    _OWN = frozenset({"__doc__", "__loader__", "__name__", "__package__", "__path__", "__spec__", "__version__"})

    def __getattr__(self, name: str) -> Any:
        value = getattr(sys.modules["minpy"], name)
        if isinstance(value, ModuleType):
            vars(self)[name] = value  # found faster the next time; others may be replaced at the top
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._OWN:
            super().__setattr__(name, value)
        else:
            vars(self).pop(name, None)
            setattr(sys.modules["minpy"], name, value)

    def __delattr__(self, name: str) -> None:
        vars(self).pop(name, None)
        delattr(sys.modules["minpy"], name)

    def __dir__(self) -> list[str]:
        return dir(sys.modules["minpy"])


class _OtherNames:
    """Finds modules by their other names: what is imported is the module that there is.

    Attributes
    ----------
    packages : set of str
        The names of the whole: "minpy", and "mxnet" where minpy stands in for it.
    """

    def __init__(self) -> None:
        self.packages = {"minpy"}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, inside = name.partition(".")
        if package not in self.packages:
            return None
        if not inside:
            return None if package == "minpy" else self._spec_of_all(name)
        if (text := missing_part(inside)) is not None:
            raise _missing_module(text, name)
        real = f"minpy.{_real_name(inside)}"
        if name == real:
            return None  # Python's own finder knows it
        if find_spec(real) is None:
            if package == "minpy":
                return None
            raise _missing_module(_unknown(name, real), name)
        return ModuleSpec(name, self, loader_state=real)  # type: ignore[arg-type]

    def _spec_of_all(self, name: str) -> ModuleSpec:
        spec = ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        spec.submodule_search_locations = list(sys.modules["minpy"].__path__)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what stands for all of minpy; for other modules let Python make one, which nobody gets to see."""
        if spec.loader_state is not None:
            return None
        module = _StandIn(spec.name, sys.modules["minpy"].__doc__)
        module.__version__ = MXNET_VERSION
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        if spec.loader_state is not None:
            real = import_module(spec.loader_state)
            sys.modules[spec.name] = real  # what Python returns is what it finds there
            # Python makes each module that it loads an attribute of the one that holds it. Where a class or function
            # has the name of the module that defines it (`vision.alexnet`), it shall not: so it is loaded already.
            for name, module in [*sys.modules.items()]:
                holder, _, inner = name.rpartition(".")
                if holder == spec.loader_state and vars(real).get(inner, module) is not module:
                    sys.modules[f"{spec.name}.{inner}"] = module


# Modules that pickles of earlier versions name, and where their classes are now.
MOVED = {
    "gluon.contrib.estimator.updating": "gluon.contrib.estimator.training_handlers",
    "gluon.loss.base": "gluon.loss.base_loss",
    "gluon.parameter.errors": "gluon.parameter.messages",
    "image.colors": "image.color_augmenters",
    "image.detection_creating": "image.creating",
    "initializer.base": "initializer.initializer",
    "inspection.parameter_match": "inspection.findings",
    "io.base": "io.data_iter",
    "io.box_iterators": "io.picture_iterators",
    "io.wrapping": "io.wrapping_iterators",
    "metric.base": "metric.eval_metric",
    "optimizer.base": "optimizer.optimizer_base",
    "profiler.objects": "profiler.named_timers",
    "rnn.base": "rnn.base_rnn_cell",
    "symbol.legacy": "symbol.legacy_operators",
    "symbol.numpy.arrays": "symbol.numpy.symbol_class",
    "test_utils.blocks": "test_utils.consistency",
    "test_utils.datasets": "test_utils.dummy_data",
    "test_utils.downloading": "test_utils.surroundings",
    "test_utils.matrices": "test_utils.random_arrays",
    "test_utils.optimizers": "test_utils.consistency",
    "test_utils.tolerances": "test_utils.defaults",
}


def _real_name(inside: str) -> str:
    """Return the name of a module in minpy, for any of its names."""
    inside = MOVED.get(inside, inside)
    inside = {"numpy.multiarray": "numpy", "np.multiarray": "numpy"}.get(inside, inside)  # of which MXNet's is made
    parts = inside.split(".")
    parts[0] = ALIASES.get(parts[0], parts[0])
    if parts[0] in ("ndarray", "symbol") and len(parts) > 1:
        parts[1] = INSIDE.get(parts[1], parts[1])
        if parts[0] == "ndarray" and parts[1] in INSIDE.values():  # `minpy.nd.np` is `minpy.np`
            del parts[0]
    return ".".join(parts)


def _missing_module(text: str, name: str) -> MissingPartError:
    """Return the error for a module that is not there: with its name, as Python's own errors have it.

    `from holder import name` passes over an error with this name, and then says nothing but that it cannot import it:
    there the text is worth more.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        if frame.f_code.co_name == "_handle_fromlist":
            return MissingPartError(text)
        frame = frame.f_back
    return MissingPartError(text, name=name)


def _unknown(name: str, real: str) -> str:
    """Return what is said of a module of `mxnet` that minpy has not got."""
    holder, _, last = real.rpartition(".")
    module = sys.modules.get(holder)
    advice = nearest(last, getattr(module, "__all__", ()))
    where = _what_there_is() if holder == "minpy" else f"dir({holder}) lists what there is."
    text = f"No module named {name!r}: mxnet is minpy here (minpy.install_as_mxnet), and there is no {real}."
    return f"{text}{advice} {where}"


_finder: Any = _OtherNames()


def install() -> None:
    """Make the other names importable. Python's own finder would import `minpy.nd.random` a second time: go first."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def install_as_mxnet() -> None:
    """Let `import mxnet`, and imports of all that is in it, find minpy in this process.

    `mxnet.nd` is `minpy.nd`, the same module, and so are all others; `mxnet` itself differs from `minpy` in its
    `__version__` only, which is that of the MXNet whose names and numbers are those here. `python -m minpy script.py`
    runs a script in this way that cannot be changed. Calling it again changes nothing. As programs rely on it,
    `Context.__module__` is `mxnet.context` from then on, and `multiprocessing.pool` is imported.

    Raises
    ------
    MXNetError
        If another `mxnet` has been imported already.

    Examples
    --------
    >>> import minpy
    >>> minpy.install_as_mxnet()
    >>> import mxnet
    >>> from mxnet import nd
    >>> nd is minpy.nd, mxnet.__version__
    (True, '1.9.1')
    """
    there = sys.modules.get("mxnet")
    if there is not None and not isinstance(there, _StandIn):
        raise MXNetError(
            f"install_as_mxnet: another mxnet is imported already, from {getattr(there, '__file__', 'somewhere')}. "
            "Call minpy.install_as_mxnet() before the first `import mxnet`, or run the script with python -m minpy."
        )
    install()
    for module in IMPORTED_BY_MXNET:
        import_module(module)
    for module, cls in KNOWN_BY_MODULE:
        vars(import_module(f"minpy.{module}"))[cls].__module__ = f"mxnet.{module}"
    _finder.packages.add("mxnet")
