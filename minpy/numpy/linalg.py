"""`minpy.numpy.linalg`: `numpy.linalg` on arrays of the tape; gradients come from autograd's tables."""

import numpy.linalg as _source

from minpy.numpy.wrapping import wrapped_namespace as _wrapped_namespace

globals().update(_wrapped_namespace(_source, "numpy.linalg", skip=["test"]))

__all__ = sorted(_wrapped_namespace(_source, "numpy.linalg", skip=["test"]))
