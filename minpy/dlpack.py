"""`mx.dlpack`: arrays of other libraries and of ours in the same memory, by DLPack's capsules.

Whoever knows the protocol of today needs none of these: `torch.from_dlpack(x)` takes an NDArray as it is.
"""

from minpy.namespaces import listing
from minpy.ndarray.dlpack import from_dlpack, to_dlpack_for_read, to_dlpack_for_write

__all__ = ["from_dlpack", "to_dlpack_for_read", "to_dlpack_for_write"]
__dir__ = listing(__all__)
