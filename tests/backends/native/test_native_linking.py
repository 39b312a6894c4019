"""Objects put into memory without LLVM."""

import ctypes
import gc
import platform
import struct
import sys

import numpy as np
import pytest

from minpy.backends.native.machine import llvm, object_loader
from minpy.backends.native.machine.object_loader import linked

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="objects of x86-64, in ELF"
)

TRIPLE = "x86_64-unknown-linux-gnu"
# Calls of its own functions, constants of every alignment, a table of addresses, and what the C library has.
SOURCE = """
@digits = private constant [4 x i64] [i64 3, i64 1, i64 4, i64 1]
@wide = private constant [8 x float] [float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0,
  float 8.0], align 64
@names = private constant [2 x ptr] [ptr @one, ptr @two]
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal i64 @one(i64 %n) noinline {
  %m = add i64 %n, 1
  ret i64 %m
}
define internal i64 @two(i64 %n) noinline {
  %m = mul i64 %n, 3
  ret i64 %m
}
define i64 @chosen(i64 %which, i64 %n) {
  %place = getelementptr [2 x ptr], ptr @names, i64 0, i64 %which
  %function = load ptr, ptr %place
  %m = call i64 %function(i64 %n)
  ret i64 %m
}
define i64 @digit(i64 %at) {
  %place = getelementptr [4 x i64], ptr @digits, i64 0, i64 %at
  %value = load i64, ptr %place
  %more = call i64 @one(i64 %value)
  ret i64 %more
}
define void @eight(ptr %to) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr @wide, i64 32, i1 false)
  ret void
}
define void @copy(ptr %to, ptr %from, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
define double @rest(double %x, double %y) {
  %r = frem double %x, %y
  ret double %r
}
"""
NAMES = ("chosen", "digit", "eight", "copy", "rest")


@pytest.fixture(scope="module")
def content():
    return llvm.emit(SOURCE, TRIPLE, "x86-64")


def called(found, name, result, *kinds):
    return ctypes.CFUNCTYPE(result, *kinds)(found.addresses[name])


def test_it_computes(content):
    found = linked(content, NAMES)
    assert set(found.addresses) == set(NAMES)
    i64, pointer, double = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
    digit = called(found, "digit", i64, i64)
    assert [digit(at) for at in range(4)] == [4, 2, 5, 2]
    chosen = called(found, "chosen", i64, i64, i64)
    assert (chosen(0, 10), chosen(1, 10)) == (11, 30)
    eight = np.zeros(8, np.float32)
    called(found, "eight", None, pointer)(eight.ctypes.data)
    assert eight.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    x, y = np.arange(50.0), np.zeros(50)
    called(found, "copy", None, pointer, pointer, i64)(y.ctypes.data, x.ctypes.data, 400)
    assert np.array_equal(x, y)
    assert called(found, "rest", double, double, double)(-7.5, 2.0) == np.fmod(-7.5, 2.0)


def permissions(address):
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, what = line.split()[:2]
            begin, end = (int(one, 16) for one in span.split("-"))
            if begin <= address < end:
                return what
    return ""


def test_nothing_of_it_can_be_written_and_nothing_but_code_run(content):
    found = linked(content, NAMES)
    code = found.addresses["digit"]
    start = ctypes.addressof(ctypes.c_char.from_buffer(found._memory))
    assert permissions(code) == "r-xp"
    assert permissions(start) == "r--p"


def test_it_is_freed_with_the_object(content):
    found = linked(content, NAMES)
    code = found.addresses["digit"]
    del found
    gc.collect()
    assert "x" not in permissions(code)


def test_what_is_detached_stays(content):
    found = linked(content, NAMES)
    digit = called(found, "digit", ctypes.c_int64, ctypes.c_int64)
    found.detach()
    del found
    gc.collect()
    assert digit(2) == 5


def test_a_name_that_is_not_there(content):
    assert linked(content, ("digit", "digits")) is None
    assert linked(content, ("one",)) is None  # which is its own


def test_another_processor():
    assert linked(llvm.emit(SOURCE, "aarch64-unknown-linux-gnu"), NAMES) is None


def test_where_memory_cannot_be_made_executable(content, monkeypatch):
    monkeypatch.setattr(object_loader, "_protect", lambda: lambda address, size, what: 1)
    assert linked(content, NAMES) is None
    monkeypatch.setattr(object_loader, "_protect", lambda: None)
    assert linked(content, NAMES) is None


def test_a_function_that_the_process_lacks(content, monkeypatch):
    monkeypatch.setattr(object_loader, "RUNTIME", frozenset({"memcpy"}))
    assert linked(content, NAMES) is None


def test_what_is_cut_off(content):
    assert all(linked(content[:length], NAMES) is None for length in range(0, len(content), 7))


def relocations_of(content):
    """Yield where in the file each relocation of code or constants is, and its kind."""
    file = object_loader.read(content)
    at = struct.unpack_from("<Q", content, 40)[0]
    for number, section in enumerate(file.sections):
        row = struct.unpack_from("<IIQQQQIIQQ", content, at + 64 * number)
        if section.kind == 4 and file.sections[row[7]].kind != object_loader._UNWINDING:
            for place in range(row[4], row[4] + row[5], 24):
                yield place, struct.unpack_from("<I", content, place + 8)[0]


def test_relocations_that_it_does_not_know(content):
    found = list(relocations_of(content))
    assert {kind for _, kind in found} >= {1, 2, 4}
    for place, _ in found:
        changed = content[: place + 8] + struct.pack("<I", 10) + content[place + 12 :]
        assert linked(changed, NAMES) is None


def test_relocations_of_what_is_not_there(content):
    for place, _ in relocations_of(content):
        outside = content[:place] + struct.pack("<Q", 10**6) + content[place + 8 :]
        assert linked(outside, NAMES) is None
        nobody = content[: place + 12] + struct.pack("<I", 10**6) + content[place + 16 :]
        assert linked(nobody, NAMES) is None


def test_addresses_that_stand_in_words():
    """A function of elsewhere, whose address the code reads from a word near it."""
    source = "declare void @fmod()\ndefine ptr @where() {\n ret ptr @fmod\n}\n"
    binding = llvm._host().binding
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(TRIPLE).create_target_machine(reloc="pic", codemodel="small")
    content = machine.emit_object(binding.parse_assembly(source, binding.create_context()))
    assert any(kind in object_loader._THROUGH_WORD for _, kind in relocations_of(content))
    found = linked(content, ["where"])
    where = called(found, "where", ctypes.c_void_p)()
    rest = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(where)
    assert rest(7.5, 2.0) == 1.5
