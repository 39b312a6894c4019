"""What `python -m minpy` prints: versions, features, help."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import minpy
from minpy.namespaces import MXNET_VERSION

__all__ = ["HELP", "about"]

HELP = """\
usage: python -m minpy [--old-numpy] script.py [argument ...]
       python -m minpy [--old-numpy] -m module [argument ...]
       python -m minpy [--old-numpy] -c command [argument ...]
       python -m minpy model FILE-symbol.json [FILE-0000.params] [option ...]
       python -m minpy compile-cache [clear]
       python -m minpy [--version | --help]

Runs a program written for MXNet as Python does, with `import mxnet` finding minpy.

  script.py      a file, or a folder or archive that holds __main__.py; - for standard input
  -m module      a module or package, as for python -m
  -c command     a program given as text, as for python -c
  model          says what a model in MXNet's files is, whether it is whole, and what it answers to a picture or an
                 array; `python -m minpy model --help` says more. (A script that is called `model` runs if it is
                 there; ./model is always a script.)
  compile-cache  shows what is kept of compiled graphs, or removes it
  --old-numpy    give NumPy the names back that it has removed (np.float, np.int, np.object, np.product, ...), and
                 keyword arguments and methods (np.reshape(newshape=), x.ptp()), for programs written for NumPy 1.23
                 and older; says on standard error which these are
  --version      print the versions of minpy, and of the MXNet that it stands in for
  --help         print this
"""

# Of these, what some parts need, and what is there without being needed by any.
_OPTIONAL = (
    "opencv-python-headless", "pillow", "tqdm", "scipy", "tensorboardX", "pandas", "bokeh", "graphviz", "llvmlite"
)  # fmt: skip
_PACKAGES = ("numpy", "autograd", *_OPTIONAL, "torch")
_MEANT = ("MXNET_HOME", "MXNET_PROFILER_AUTOSTART")


def _version_of(package: str) -> str:
    for name in (package, package.removesuffix("-headless")):  # OpenCV comes with and without windows
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return f"not installed (pip install {package})" if package in _OPTIONAL else "not installed"


def about() -> str:
    """Return versions, features, and what is set in the environment, as text."""
    features = minpy.runtime.feature_list()
    lines = [
        f"minpy {minpy.__version__}, in {os.path.dirname(os.path.abspath(minpy.__file__))}",
        f"stands in for MXNet {MXNET_VERSION}",
        f"Python {platform.python_version()} on {platform.platform()}",
        *(f"{package} {_version_of(package)}" for package in _PACKAGES),
        "",
        f"there are: {' '.join(feature.name for feature in features if feature.enabled)}",
        f"there are not: {' '.join(feature.name for feature in features if not feature.enabled)}",
    ]
    for name in sorted(name for name in os.environ if name.startswith("MXNET_")):
        lines.append(f"{name}={os.environ[name]}" + ("" if name in _MEANT else " (means nothing here)"))
    return "\n".join([*lines, "", HELP.rstrip()])
