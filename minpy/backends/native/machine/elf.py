"""What is in an object file: its processor, sections, symbols and relocations (System V ABI, chapter 4)."""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = [
    "AARCH64", "ALLOCATED", "EXECUTABLE", "THREAD_LOCAL", "UNWINDING", "WRITTEN", "X86_64", "ObjectFile", "Relocation",
    "Section", "Symbol", "read",
]  # fmt: skip

X86_64 = 62
AARCH64 = 183
# Flags of sections, and the type of one that says how to unwind.
WRITTEN, ALLOCATED, EXECUTABLE, THREAD_LOCAL = 0x1, 0x2, 0x4, 0x400
UNWINDING = 0x70000001

_IDENT = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_SYMBOLS, _RELOCATIONS, _EMPTY = 2, 4, 8  # types of sections
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


class Section(NamedTuple):
    """A section: its type, flags, alignment, how many bytes it has in memory, and those that the file has."""

    kind: int
    flags: int
    alignment: int
    size: int
    content: bytes


class Symbol(NamedTuple):
    """A name, whether other files can refer to it, the number of its section (0: none), and where in that it is."""

    name: str
    is_global: bool
    section: int
    value: int


class Relocation(NamedTuple):
    """A place in a section, by their numbers, that needs the address of a symbol; and what is added to that."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """What is in an object file.

    Attributes
    ----------
    machine : int
        The number of the processor's architecture: `X86_64`, `AARCH64`, ...
    sections : tuple of Section
    symbols : tuple of Symbol
    relocations : tuple of Relocation
    """

    machine: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    @property
    def defined(self) -> frozenset[str]:
        """Names that others can refer to."""
        return frozenset(one.name for one in self.symbols if one.name and one.section and one.is_global)

    @property
    def undefined(self) -> frozenset[str]:
        """Names that it takes from elsewhere."""
        return frozenset(one.name for one in self.symbols if one.name and not one.section)


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
    symbols: list[Symbol] = []
    relocations: list[Relocation] = []
    try:
        header = _HEADER.unpack_from(content)
        machine, at, size, count = header[2], header[6], header[11], header[12]
        rows = [_SECTION.unpack_from(content, at + number * size) for number in range(count)]
        sections = tuple(
            Section(kind, flags, alignment, length, b"" if kind == _EMPTY else _part(content, begin, length))
            for _, kind, flags, _, begin, length, _, _, alignment, _ in rows
        )
        for row, section in zip(rows, sections, strict=True):
            if section.kind == _SYMBOLS:
                names = sections[row[6]].content
                symbols += [_symbol(names, *one) for one in _SYMBOL.iter_unpack(section.content)]
            elif section.kind == _RELOCATIONS:
                relocations += [
                    Relocation(row[7], offset, info & 0xFFFFFFFF, info >> 32, addend)
                    for offset, info, addend in _RELOCATION.iter_unpack(section.content)
                ]
    except (struct.error, ValueError, IndexError):
        return None
    return ObjectFile(machine, sections, tuple(symbols), tuple(relocations))


def _part(content: bytes, begin: int, length: int) -> bytes:
    found = content[begin : begin + length]
    if len(found) != length:
        raise ValueError("it ends before a section does.")
    return found


def _symbol(names: bytes, name_at: int, info: int, _: int, section: int, value: int, __: int) -> Symbol:
    return Symbol(names[name_at : names.index(b"\0", name_at)].decode(), bool(info >> 4), section, value)
