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
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from minpy.backends.native.machine import elf

__all__ = ["RUNTIME", "Linked", "linked"]

# Names that LLVM itself calls: for copies and fills of memory, and for `frem`, whose result is exact everywhere.
RUNTIME = frozenset({"memcpy", "memmove", "memset", "fmod", "fmodf"})

# Kinds of relocations: the address; how far it is away, in 64 and in 32 bits, for data and for calls; how far away
# there is a word that holds it.
_ADDRESS, _FAR, _NEAR, _CALLED = 1, 24, 2, 4
_THROUGH_WORD = (9, 41, 42)
# `jmp [rip + 2]`, and behind it the address: calls of what is too far away go there.
_JUMP = bytes([0xFF, 0x25, 2, 0, 0, 0, 0xCC, 0xCC])
_WORD = struct.Struct("<Q")


class Linked:
    """Machine code in memory of this process, which is freed with this object.

    Attributes
    ----------
    addresses : dict of str to int
        Where its functions begin.
    """

    def __init__(self, memory: mmap.mmap, addresses: dict[str, int]) -> None:
        self._memory = memory
        self.addresses = addresses

    def detach(self) -> None:
        """Leave the code where it is for as long as the process lives."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._memory))


class _Refused(Exception):
    """The object has what only LLVM links."""


def linked(content: bytes, names: Iterable[str]) -> Linked | None:
    """Put an object into memory; None, if it is for LLVM to do.

    Parameters
    ----------
    content : bytes
        The object file.
    names : iterable of str
        Its functions that are wanted.

    Examples
    --------
    >>> linked(b"MZ, which is another format", ["f"])
    """
    protect = _protect()
    file = elf.read(content) if protect is not None else None
    if file is None or file.machine != elf.X86_64:
        return None
    assert protect is not None
    try:
        return _Linker(file).linked(names, protect)
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
    made: Any = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(ctypes.cast(function, ctypes.c_void_p).value or 0)
    return made


class _Linker:
    """Lays an object out: what is only read, then, on pages of its own, code, and words and jumps to elsewhere."""

    def __init__(self, file: elf.ObjectFile) -> None:
        self.file = file
        self.places: dict[int, int] = {}
        data = [number for number, one in enumerate(file.sections) if _is_loaded(one) and not _is_code(one)]
        code = [number for number, one in enumerate(file.sections) if _is_loaded(one) and _is_code(one)]
        self.code_begins = _aligned(self._lay(data, 0), mmap.PAGESIZE)
        end = self._lay(code, self.code_begins)
        self.elsewhere = _aligned(end, 16)
        self.jumps: dict[str, int] = {}
        far = [one for one in file.relocations if one.section in self.places and not file.symbols[one.symbol].section]
        for one in far:
            self.jumps.setdefault(file.symbols[one.symbol].name, self.elsewhere + 16 * len(self.jumps))
        held = [one for one in file.relocations if one.kind in _THROUGH_WORD and one.section in self.places]
        begin = self.elsewhere + 16 * len(self.jumps)
        self.words = {symbol: begin + 8 * index for index, symbol in enumerate(dict.fromkeys(o.symbol for o in held))}
        self.size = max(begin + 8 * len(self.words), 1)

    def _lay(self, numbers: Sequence[int], end: int) -> int:
        for number in numbers:
            section = self.file.sections[number]
            if section.flags & elf.THREAD_LOCAL or len(section.content) != section.size:
                raise _Refused
            if section.alignment > mmap.PAGESIZE:  # memory begins at a page
                raise _Refused
            self.places[number] = end = _aligned(end, section.alignment)
            end += section.size
        return end

    def linked(self, names: Iterable[str], protect: Callable[[int, int, int], int]) -> Linked:
        memory = mmap.mmap(-1, self.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for number, place in self.places.items():
            content = self.file.sections[number].content
            memory[place : place + len(content)] = content
        for name, place in self.jumps.items():
            memory[place : place + 16] = _JUMP + _WORD.pack(_address_of(name))
        for symbol, place in self.words.items():
            memory[place : place + 8] = _WORD.pack(self._address(symbol, base))
        for one in self.file.relocations:
            if one.section in self.places:
                self._relocate(memory, base, one)
        there = {one.name: one for one in self.file.symbols if one.is_global and one.section}
        addresses = {name: base + self.places[there[name].section] + there[name].value for name in names}
        length = self.size - self.code_begins
        if length and protect(base + self.code_begins, length, mmap.PROT_READ | mmap.PROT_EXEC):
            raise _Refused  # the system has no memory that was written, and is executed
        if self.code_begins:
            protect(base, self.code_begins, mmap.PROT_READ)
        return Linked(memory, addresses)

    def _address(self, number: int, base: int) -> int:
        symbol = self.file.symbols[number]
        if not symbol.section:
            return base + self.jumps[symbol.name]
        return base + self.places[symbol.section] + symbol.value

    def _relocate(self, memory: mmap.mmap, base: int, one: elf.Relocation) -> None:
        at = self.places[one.section] + one.offset
        size = self.file.sections[one.section].size
        if one.kind in _THROUGH_WORD:
            value = base + self.words[one.symbol] + one.addend
        else:
            if one.kind == _NEAR and not self.file.symbols[one.symbol].section:
                raise _Refused  # data of elsewhere
            value = self._address(one.symbol, base) + one.addend
        kind = {_ADDRESS: "<Q", _FAR: "<q"}.get(one.kind, "<i")
        if one.kind not in (_ADDRESS, _FAR, _NEAR, _CALLED, *_THROUGH_WORD):
            raise _Refused
        if one.offset + struct.calcsize(kind) > size:
            raise _Refused
        struct.pack_into(kind, memory, at, value if one.kind == _ADDRESS else value - (base + at))


def _is_loaded(section: elf.Section) -> bool:
    """Tell whether a section is part of the code: how to unwind it is not, as nothing in it throws."""
    return bool(section.flags & elf.ALLOCATED) and section.kind != elf.UNWINDING and section.size > 0


def _is_code(section: elf.Section) -> bool:
    return bool(section.flags & elf.EXECUTABLE)


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
