"""What public namespaces list, their other names, and what is said of parts of MXNet that are not there yet.

`minpy.nd` is `minpy.ndarray`, and `minpy.nd.random` is `minpy.ndarray.random`: one module each, whichever name is
imported first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from minpy.core.errors import MissingPartError, nearest

__all__ = ["ALIASES", "INSIDE", "PARTS_TO_COME", "install", "listing", "missing", "missing_part"]

# MXNet's short names of modules of ours.
ALIASES = {
    "nd": "ndarray",
    "np": "numpy",
    "npx": "numpy_extension",
    "rnd": "random",
    "sym": "symbol",
    "viz": "visualization",
}

# What layers call `F.np` and `F.npx`, where F is `minpy.nd` or `minpy.sym`.
INSIDE = {"np": "numpy", "npx": "numpy_extension"}

# Names at MXNet's top that are not there, and what they are.
PARTS_TO_COME = {
    "base": "what MXNet is made of; MXNetError is minpy.MXNetError",
    "callback": "what training calls after batches and epochs",
    "contrib": "operators and tools on trial",
    "engine": "how operations are scheduled",
    "gluon": "blocks, layers, losses and trainers",
    "image": "images read, and augmented",
    "img": "images read, and augmented",
    "init": "initial values of parameters",
    "initializer": "initial values of parameters",
    "io": "iterators over data",
    "kv": "stores of parameters",
    "kvstore": "stores of parameters",
    "library": "operators of native libraries",
    "lr_scheduler": "learning rates that change",
    "metric": "metrics of evaluation",
    "mod": "modules, which train symbols",
    "model": "checkpoints, and models that train symbols",
    "module": "modules, which train symbols",
    "mon": "monitors of training",
    "monitor": "monitors of training",
    "onnx": "models from and to ONNX",
    "optimizer": "optimizers",
    "profiler": "profiles of whole programs",
    "recordio": "files of records",
    "rnn": "cells of recurrent networks, as symbols",
    "rtc": "kernels for GPUs, compiled at run time",
    "runtime": "which features were built in",
    "util": "switches of NumPy's semantics; minpy.np has them always",
}


def listing(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module that shows these names only, and none that it imports for itself."""
    shown = sorted({*names})
    return shown.copy


def missing(module: str, what: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: an error that names the nearest of its names."""

    def refuse(name: str) -> Any:
        advice = "" if name.startswith("__") else nearest(name, names)
        raise AttributeError(f"{module} has no {what} {name!r}.{advice}")

    return refuse


def missing_part(name: str) -> str | None:
    """Return what is to be said of a part of MXNet that is not there; None for other names."""
    if name not in PARTS_TO_COME:
        return None
    top = sys.modules["minpy"]
    modules = [part for part in getattr(top, "__all__", ()) if isinstance(getattr(top, part), ModuleType)]
    short = {module: alias for alias, module in ALIASES.items()}
    there = [f"{part} ({short[part]})" if part in short else part for part in modules if part not in ALIASES]
    return f"minpy.{name} ({PARTS_TO_COME[name]}) is not there yet. Of MXNet's modules there are {', '.join(there)}."


class _OtherNames:
    """Finds modules by their other names: what is imported is the module that there is."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, inside = name.partition(".")
        if package != "minpy":
            return None
        parts = inside.split(".")
        parts[0] = ALIASES.get(parts[0], parts[0])
        if parts[0] in ("ndarray", "symbol") and len(parts) > 1:
            parts[1] = INSIDE.get(parts[1], parts[1])
            if parts[0] == "ndarray" and parts[1] in INSIDE.values():  # `minpy.nd.np` is `minpy.np`
                del parts[0]
        real = ".".join([package, *parts])
        if inside and real != name:
            return None if find_spec(real) is None else ModuleSpec(name, self, loader_state=real)  # type: ignore[arg-type]
        first = parts[0]
        if (text := missing_part(first)) is not None:
            raise MissingPartError(text)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make a module, which nobody gets to see."""

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        sys.modules[spec.name] = import_module(spec.loader_state)  # what Python returns is what it finds there


_finder: Any = _OtherNames()


def install() -> None:
    """Make the other names importable. Python's own finder would import `minpy.nd.random` a second time: go first."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
