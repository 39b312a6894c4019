"""What an object file says of itself: its processor, and the names that it has and needs (System V ABI, chapter 4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["AARCH64", "X86_64", "ObjectFile", "read"]

X86_64 = 62
AARCH64 = 183

_IDENT = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_SYMBOLS = 2  # the type of a section that is a table of symbols
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class ObjectFile:
    """What is in an object file.

    Attributes
    ----------
    machine : int
        The number of the processor's architecture: `X86_64`, `AARCH64`, ...
    defined : frozenset of str
        Names that others can refer to.
    undefined : frozenset of str
        Names that it takes from elsewhere.
    """

    machine: int
    defined: frozenset[str]
    undefined: frozenset[str]


def read(content: bytes) -> ObjectFile | None:
    """Return what is in a relocatable object file; None for other formats, and for files that are cut off.

    Parameters
    ----------
    content : bytes
        The file.

    Examples
    --------
    >>> read(b"MZ, which is another format")
    """
    if not content.startswith(_IDENT):
        return None
    defined, undefined = set(), set()
    try:
        header = _HEADER.unpack_from(content)
        machine, at, size, count = header[2], header[6], header[11], header[12]
        sections = [_SECTION.unpack_from(content, at + number * size) for number in range(count)]
        for section in sections:
            if section[1] != _SYMBOLS:
                continue
            names = sections[section[6]]
            for place in range(section[4] + _SYMBOL.size, section[4] + section[5], _SYMBOL.size):  # the first is none
                name_at, info, _, home, _, _ = _SYMBOL.unpack_from(content, place)
                start = names[4] + name_at
                name = content[start : content.index(b"\0", start)].decode()
                if not home and name:
                    undefined.add(name)
                elif home and info >> 4:  # neither local
                    defined.add(name)
    except (struct.error, ValueError, IndexError):
        return None
    return ObjectFile(machine, frozenset(defined), frozenset(undefined))
