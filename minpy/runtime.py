"""`mx.runtime`: which of the features that MXNet may be built with there are here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from importlib.util import find_spec
from typing import ClassVar, NamedTuple

import numpy

from minpy.core.errors import ArgumentValueError, nearest
from minpy.namespaces import listing

__all__ = ["Feature", "Features", "feature_list"]
__dir__ = listing(__all__)


class Feature(NamedTuple):
    """Something that a build has or has not: its name, and whether it is there.

    Examples
    --------
    >>> Feature('LAPACK', True)
    ✔ LAPACK
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _cpu_has(feature: str) -> Callable[[], bool]:
    """Return what tells whether NumPy's loops use an instruction set of this processor."""

    def has() -> bool:
        core = getattr(numpy, "_core", None) or numpy.core
        features: dict[str, bool] = core._multiarray_umath.__cpu_features__
        return bool(features.get(feature, False))

    return has


def _has_module(name: str) -> Callable[[], bool]:
    return lambda: find_spec(name) is not None


def _blas(*names: str) -> Callable[[], bool]:
    """Return what tells whether NumPy multiplies matrices with one of these libraries."""

    def has() -> bool:
        try:
            built: dict[str, dict[str, dict[str, str]]] = numpy.show_config(mode="dicts")  # type: ignore[assignment]
            library = built["Build Dependencies"]["blas"]["name"]
        except (KeyError, TypeError):  # an unusual build does not say
            return False
        return any(name in library for name in names)

    return has


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


# MXNet's names in its order, and how each is found out. What only concerns how C++ is built is not there.
_FOUND_BY: dict[str, Callable[[], bool]] = {
    "CUDA": _no, "CUDNN": _no, "NCCL": _no, "CUDA_RTC": _no, "TENSORRT": _no,
    "CPU_SSE": _cpu_has("SSE"), "CPU_SSE2": _cpu_has("SSE2"), "CPU_SSE3": _cpu_has("SSE3"),
    "CPU_SSE4_1": _cpu_has("SSE41"), "CPU_SSE4_2": _cpu_has("SSE42"), "CPU_SSE4A": _no,
    "CPU_AVX": _cpu_has("AVX"), "CPU_AVX2": _cpu_has("AVX2"), "OPENMP": _no, "SSE": _cpu_has("SSE"),
    "F16C": _cpu_has("F16C"), "JEMALLOC": _no, "BLAS_OPEN": _blas("openblas"), "BLAS_ATLAS": _blas("atlas"),
    "BLAS_MKL": _blas("mkl"), "BLAS_APPLE": _blas("accelerate", "veclib"), "LAPACK": _yes, "MKLDNN": _no,
    "OPENCV": _has_module("cv2"), "CAFFE": _no, "PROFILER": _yes, "DIST_KVSTORE": _no, "CXX14": _no,
    "INT64_TENSOR_SIZE": _yes, "SIGNAL_HANDLER": _no, "DEBUG": _no, "TVM_OP": _no,
}  # fmt: skip


def feature_list() -> list[Feature]:
    """Return all features that MXNet knows, and whether they are there.

    CUDA and what goes with it are not; the instruction sets are those that NumPy uses on this processor, the BLAS is
    NumPy's; OPENCV says whether `cv2` is installed; arrays may have more than 2³¹ elements (INT64_TENSOR_SIZE).

    Returns
    -------
    list of Feature
    """
    return [Feature(name, is_there()) for name, is_there in _FOUND_BY.items()]


class Features(OrderedDict[str, Feature]):
    """All features by name: one object, whoever asks for it, as what is built in does not change.

    Examples
    --------
    >>> import minpy as mx
    >>> features = mx.runtime.Features()
    >>> features.is_enabled('CUDA'), features.is_enabled('PROFILER')
    (False, True)
    >>> features['CUDA']
    ✖ CUDA
    >>> mx.runtime.Features() is features
    True
    """

    instance: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        if cls.instance is None:
            features = super().__new__(cls)
            features.update((feature.name, feature) for feature in feature_list())
            cls.instance = features  # when it is whole: another thread may ask meanwhile
        return cls.instance

    def __init__(self) -> None:
        """Leave what there is as it is."""

    def __repr__(self) -> str:
        return str(list(self.values()))

    def __reduce__(self) -> tuple[type[Features], tuple[()]]:
        return Features, ()

    def is_enabled(self, feature_name: str) -> bool:
        """Tell whether a feature is there.

        Parameters
        ----------
        feature_name : str
            In upper or lower case.

        Raises
        ------
        ArgumentValueError
            For a name that MXNet does not know.
        """
        name = feature_name.upper()
        if name not in self:
            raise ArgumentValueError(
                f"is_enabled: there is no feature {name!r}.{nearest(name, self)} There are {', '.join(self)}."
            )
        return self[name].enabled
