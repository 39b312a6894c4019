"""Objects put into this process without LLVM: for x86-64, in ELF, as LLVM writes them for Linux and its kind.

Native code has no variables and calls no functions by name, so there is little to do: the sections are copied into
memory of our own, the places that refer from one to another are filled in ("Relocation", System V ABI, AMD64
supplement, 4.4), and then the memory is made executable, and can be written no more. What this does not know, LLVM
links. A cached program thus needs neither LLVM nor the time that it takes to load that.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

__all__ = ["AARCH64", "RUNTIME", "X86_64", "Linked", "ObjectFile", "linked", "read"]

# Names that LLVM itself calls: for copies and fills of memory, and for `frem`, whose result is exact everywhere.
RUNTIME = frozenset({"memcpy", "memmove", "memset", "fmod", "fmodf"})

X86_64, AARCH64 = 62, 183
# Flags of sections, and their types: symbols, relocations, without content, and how to unwind.
_ALLOCATED, _EXECUTABLE, _THREAD_LOCAL = 0x2, 0x4, 0x400
_SYMBOLS, _RELOCATIONS, _EMPTY, _UNWINDING = 2, 4, 8, 0x70000001

_IDENT = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

# Kinds of relocations: the address; how far it is away, in 64 and in 32 bits, for data and for calls; how far away
# there is a word that holds it. And how each is written.
_ADDRESS, _FAR, _NEAR, _CALLED = 1, 24, 2, 4
_THROUGH_WORD = (9, 41, 42)
_FORMATS = {_ADDRESS: "<Q", _FAR: "<q", **dict.fromkeys((_NEAR, _CALLED, *_THROUGH_WORD), "<i")}
# `jmp [rip + 2]`, and behind it the address: calls of what is too far away go there.
_JUMP = bytes([0xFF, 0x25, 2, 0, 0, 0, 0xCC, 0xCC])
_WORD = struct.Struct("<Q")


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
    """What is in an object file; `machine` is the number of the processor's architecture: `X86_64`, `AARCH64`, ..."""

    machine: int
    sections: list[Section]
    symbols: list[Symbol]
    relocations: list[Relocation]

    @property
    def defined(self) -> frozenset[str]:
        """Names that others can refer to."""
        return frozenset(symbol.name for symbol in self.symbols if symbol.name and symbol.section and symbol.is_global)

    @property
    def undefined(self) -> frozenset[str]:
        """Names that it takes from elsewhere."""
        return frozenset(symbol.name for symbol in self.symbols if symbol.name and not symbol.section)


def read(content: bytes) -> ObjectFile | None:
    """Return what is in a relocatable object file; None for other formats, and for files that are cut off.

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
        sections = [
            Section(kind, flags, alignment, length, b"" if kind == _EMPTY else content[begin : begin + length])
            for _, kind, flags, _, begin, length, _, _, alignment, _ in rows
        ]
        for row, section in zip(rows, sections, strict=True):
            if section.kind != _EMPTY and len(section.content) != section.size:
                return None
            if section.kind == _SYMBOLS:
                names = sections[row[6]].content
                for name_at, info, _, number, value, _ in _SYMBOL.iter_unpack(section.content):
                    name = names[name_at : names.index(b"\0", name_at)].decode()
                    symbols.append(Symbol(name, bool(info >> 4), number, value))
            elif section.kind == _RELOCATIONS:
                for offset, info, addend in _RELOCATION.iter_unpack(section.content):
                    relocations.append(Relocation(row[7], offset, info & 0xFFFFFFFF, info >> 32, addend))
    except (struct.error, ValueError, IndexError):
        return None
    return ObjectFile(machine, sections, symbols, relocations)


class Linked:
    """Machine code in memory of this process, which is freed with this object; where its functions begin, by name."""

    def __init__(self, memory: mmap.mmap, addresses: dict[str, int]) -> None:
        self._memory = memory
        self.addresses = addresses

    def detach(self) -> None:
        """Leave the code where it is for as long as the process lives."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._memory))


class _Refused(Exception):
    """The object has what only LLVM links."""


def linked(content: bytes, names: Iterable[str]) -> Linked | None:
    """Put an object file into memory, of whose functions some are wanted; None, if it is for LLVM to do.

    >>> linked(b"MZ, which is another format", ["f"])
    """
    protect = _protect()
    file = read(content) if protect is not None else None
    if protect is None or file is None or file.machine != X86_64:
        return None
    try:
        return _linked(file, names, protect)
    except (_Refused, OSError, ValueError, IndexError, KeyError, struct.error):
        return None


@cache
def _protect() -> Callable[[int, int, int], int] | None:
    """Return `mprotect`; None where there is none."""
    if not hasattr(mmap, "PROT_EXEC") or not hasattr(mmap, "MAP_ANONYMOUS"):  # on Windows
        return None
    try:
        function = ctypes.CDLL(None).mprotect
    except (AttributeError, OSError, TypeError):
        return None
    kinds = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    protect: Any = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(ctypes.cast(function, ctypes.c_void_p).value or 0)
    return protect


def _linked(file: ObjectFile, names: Iterable[str], protect: Callable[[int, int, int], int]) -> Linked:
    # First what is only read, then, on pages of its own, code, and behind it jumps and words for what is elsewhere.
    places: dict[int, int] = {}
    end = code_begins = 0
    for is_code in (False, True):
        end = code_begins = _aligned(end, mmap.PAGESIZE)
        for number, section in enumerate(file.sections):
            # How to unwind is no part of it, as nothing in it throws.
            is_loaded = section.flags & _ALLOCATED and section.kind != _UNWINDING and section.size
            if is_loaded and bool(section.flags & _EXECUTABLE) is is_code:
                if section.flags & _THREAD_LOCAL or section.kind == _EMPTY or section.alignment > mmap.PAGESIZE:
                    raise _Refused
                places[number] = _aligned(end, section.alignment)
                end = places[number] + section.size
    relocations = [relocation for relocation in file.relocations if relocation.section in places]
    jumps: dict[str, int] = {}
    words: dict[int, int] = {}
    end = _aligned(end, 16)
    for relocation in relocations:
        symbol = file.symbols[relocation.symbol]
        if not symbol.section and symbol.name not in jumps:
            jumps[symbol.name], end = end, end + 16
        if relocation.kind in _THROUGH_WORD and relocation.symbol not in words:
            words[relocation.symbol], end = end, end + 16
    memory = mmap.mmap(-1, max(end, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def address(symbol: Symbol) -> int:
        return base + (places[symbol.section] + symbol.value if symbol.section else jumps[symbol.name])

    for number, place in places.items():
        memory[place : place + file.sections[number].size] = file.sections[number].content
    for name, place in jumps.items():
        memory[place : place + 16] = _JUMP + _WORD.pack(_address_of(name))
    for number, place in words.items():
        memory[place : place + 8] = _WORD.pack(address(file.symbols[number]))
    for section_number, offset, kind, symbol_number, addend in relocations:
        at, symbol = places[section_number] + offset, file.symbols[symbol_number]
        if offset + struct.calcsize(_FORMATS[kind]) > file.sections[section_number].size:
            raise _Refused
        if kind == _NEAR and not symbol.section:  # data of elsewhere
            raise _Refused
        value = (base + words[symbol_number] if kind in _THROUGH_WORD else address(symbol)) + addend
        struct.pack_into(_FORMATS[kind], memory, at, value if kind == _ADDRESS else value - (base + at))
    exported = {symbol.name: symbol for symbol in file.symbols if symbol.is_global and symbol.section}
    addresses = {name: address(exported[name]) for name in names}
    if end > code_begins and protect(base + code_begins, end - code_begins, mmap.PROT_READ | mmap.PROT_EXEC):
        raise _Refused  # the system has no memory that was written, and is executed
    if code_begins:
        protect(base, code_begins, mmap.PROT_READ)
    return Linked(memory, addresses)


def _aligned(place: int, to: int) -> int:
    return -(-place // max(to, 1)) * max(to, 1)


def _address_of(name: str) -> int:
    """Return the address of a function of the C library."""
    if name not in RUNTIME:
        raise _Refused
    try:
        return ctypes.cast(ctypes.CDLL(None)[name], ctypes.c_void_p).value or 0
    except AttributeError:
        raise _Refused from None
