"""`mx.recordio`: files of records, and what stands in a record.

The format is MXNet's: each record is a word 0xced7230a, a word with its length in the lower 29 bits, and the bytes,
filled up to a multiple of 4. Where the bytes hold that first word themselves, at a multiple of 4, they are cut there
and the word is left out; the upper 3 bits of the second word say whether a part is a whole record (0), the first (1),
one in between (2) or the last (3). An index is a text file with a line for each record: its key, a tab and its offset.
"""

from __future__ import annotations

from minpy.namespaces import module_functions
from minpy.recordio.indexed import MXIndexedRecordIO
from minpy.recordio.packing import IRHeader, pack, pack_img, unpack, unpack_img
from minpy.recordio.records import MXRecordIO

__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]
__dir__, __getattr__ = module_functions(__name__, __all__)
