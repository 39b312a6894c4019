"""LLVM IR as machine code in this process, from the compiler and from the cache; and for other processors."""

import ctypes
import gc
import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from minpy.backends.native.machine import llvm, object_files, object_loader, processor_identity
from minpy.backends.native.machine.code_cache import Store, digest
from minpy.core.errors import BuildError, KeyMissingError, MissingDependencyError

pytest.importorskip("llvmlite")

# Where objects are put into memory without LLVM.
LINKS = sys.platform.startswith("linux") and platform.machine() == "x86_64"
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

# p1[i] = p0[i] * 1.5 + 1
SCALE = """
define void @scale(ptr noalias %p0, ptr noalias %p1, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr inbounds float, ptr %p0, i64 %i
  %x = load float, ptr %from
  %y = fmul float %x, FACTOR
  %z = fadd float %y, 1.0
  %to = getelementptr inbounds float, ptr %p1, i64 %i
  store float %z, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""
# Of functions that LLVM knows how to call, and of constants.
COPY = """
@table = private constant [4 x i64] [i64 3, i64 1, i64 4, i64 1]
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @copy(ptr %to, ptr %from, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
define i64 @digit(i64 %at) {
  %place = getelementptr [4 x i64], ptr @table, i64 0, i64 %at
  %value = load i64, ptr %place
  ret i64 %value
}
define double @rest(double %x, double %y) {
  %r = frem double %x, %y
  ret double %r
}
"""


def scale(factor: float = 1.5) -> str:
    return SCALE.replace("FACTOR", f"0x{np.float64(np.float32(factor)).view(np.uint64):016X}")


def run_scale(loaded, n=100):
    x, y = np.arange(n, dtype=np.float32), np.empty(n, np.float32)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loaded.address("scale"))
    function(x.ctypes.data, y.ctypes.data, n)
    return y


@pytest.fixture(autouse=True)
def kernels(monkeypatch, tmp_path):
    monkeypatch.setenv("MINPY_CACHE", str(tmp_path))
    return tmp_path / "kernels"


@pytest.fixture(params=["linked", "jit"])
def linker(request, monkeypatch):
    """Who puts code into memory: this package, or LLVM."""
    if request.param == "jit":
        monkeypatch.setattr(llvm, "linked", lambda content, names: None)


def in_child(work):
    """Run something in a forked process, and return its exit status: 0 where it returned True."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: NumPy's BLAS has threads
        child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return child


def status_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class TestCompiling:
    def test_it_computes(self, linker):
        loaded = llvm.compile(scale())
        assert np.array_equal(run_scale(loaded), np.arange(100, dtype=np.float32) * np.float32(1.5) + 1)
        assert loaded.names == ("scale",)
        assert not loaded.cached
        assert loaded.seconds > 0

    def test_intrinsics_and_constants(self, linker):
        loaded = llvm.compile(COPY)
        assert set(loaded.names) == {"copy", "digit", "rest"}
        x, y = np.arange(50.0), np.zeros(50)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loaded.address("copy"))(
            y.ctypes.data, x.ctypes.data, 400
        )
        assert np.array_equal(x, y)
        digit = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address("digit"))
        assert [digit(at) for at in range(4)] == [3, 1, 4, 1]
        rest = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(loaded.address("rest"))
        assert rest(-7.5, 2.0) == np.fmod(-7.5, 2.0)

    def test_the_same_code_is_loaded_once(self):
        loaded = llvm.compile(scale())
        assert llvm.compile(scale()) is loaded
        assert llvm.compile(scale(2.5)) is not loaded

    def test_what_nobody_refers_to_is_unloaded(self, linker):
        loaded = llvm.compile(scale())
        gone = weakref.ref(loaded)
        del loaded
        gc.collect()
        assert gone() is None

    def test_a_name_that_is_not_there(self):
        loaded = llvm.compile(scale())
        with pytest.raises(KeyMissingError, match="no function 'scala' in this code; there are: scale"):
            loaded.address("scala")

    @pytest.mark.parametrize(
        ("ir", "text"),
        [
            ("@x = internal global i32 0", "no variables of its own.*@x = internal global i32 0"),
            ("@x = global [9 x float] zeroinitializer, align 64", "no variables of its own"),
            ("@x = thread_local constant i32 0", "no variables of its own"),
            ("@x = thread_local(initialexec) global i32 0", "no variables of its own"),
            ('@" = constant " = global i32 0', "no variables of its own"),
            ('@x = external global i32, section " constant "', "no variables of its own"),
            ("declare void @puts(ptr)", "declares 'puts'. Take its address from a table"),
            ("define void @f() {\n  retire\n}", "LLVM refuses.*retire"),
            ("", None),
            (
                (
                    "define float @f(float %x) {\n%y = call float @llvm.exp.f32(float %x)\nret float %y\n}\n"
                    "declare float @llvm.exp.f32(float)"
                ),
                "LLVM makes calls of expf from intrinsics",
            ),
        ],
    )
    def test_what_is_refused(self, ir, text, kernels):
        if text is None:
            assert llvm.compile(ir).names == ()
            return
        with pytest.raises(BuildError, match=rf"(?s){text}"):
            llvm.compile(ir)
        assert not kernels.exists()

    def test_the_line_of_an_error(self):
        with pytest.raises(BuildError) as caught:
            llvm.compile("define void @f() {\n  ret void\n}\n\ndefine void @g() {\n  retire\n}")
        assert caught.value.lineno == 6
        assert "expected instruction opcode" in caught.value.output

    @pytest.mark.parametrize("fast_math", [False, True])
    def test_contraction_is_opt_in(self, fast_math):
        ir = """
        define float @f(float %a, float %b, float %c) {
          %p = fmul float %a, %b
          %s = fadd float %p, %c
          ret float %s
        }
        define float @minpy_f(float %a, float %b, float %c) {
          %p = fmul float %a, %b
          %s = fadd float %p, %c
          ret float %s
        }
        """.replace("\n        ", "\n")
        a, c = np.float32(1 + 2**-12), np.float32(-(1 + 2**-11))
        rounded_once = float(np.float64(a) * np.float64(a) + np.float64(c))
        rounded_twice = float(a * a + c)
        assert rounded_once != rounded_twice
        loaded = llvm.compile(ir, fast_math=fast_math)
        kind = ctypes.CFUNCTYPE(ctypes.c_float, *[ctypes.c_float] * 3)
        has_fma = "+fma" in llvm._host().target.features.split(",") or "aarch64" in llvm._host().target.triple
        expected = rounded_once if fast_math and has_fma else rounded_twice
        assert kind(loaded.address("f"))(a, a, c) == expected
        assert kind(loaded.address("minpy_f"))(a, a, c) == rounded_twice

    def test_a_second_module_calls_what_is_hidden_in_the_first(self):
        first = "define hidden i64 @twice(i64 %n) {\n %m = shl i64 %n, 1\n ret i64 %m\n}"
        second = (
            "declare i64 @twice(i64)\n"
            "define i64 @more(i64 %n) {\n %m = call i64 @twice(i64 %n)\n %k = add i64 %m, 1\n ret i64 %k\n}"
        )
        loaded = llvm.compile(first, second)
        assert loaded.names == ("more",)
        assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address("more"))(20) == 41
        with pytest.raises(BuildError, match="declares 'twice'"):
            llvm.compile("", second)

    def test_loops_are_vectorised_as_wide_as_the_processor_is(self):
        host = llvm._host()
        if "+avx512f" not in host.target.features:
            pytest.skip("without AVX-512")
        module = host.binding.parse_assembly(scale(), host.binding.create_context())
        module.triple, module.data_layout = host.target.triple, str(host.machine.target_data)
        object_files.optimise(host.binding, host.machine, module)
        assert "zmm" in host.machine.emit_assembly(module)

    def test_what_is_loaded_stays_when_the_interpreter_ends(self, linker):
        loaded, address = llvm.compile(scale()), llvm.compile(scale()).address("scale")
        host = llvm._host()
        host.leave()
        del loaded
        gc.collect()
        kept = SimpleNamespace(address=lambda name: address)
        assert run_scale(kept)[2] == 4.0
        assert run_scale(llvm.compile(scale(2.5)))[2] == 6.0  # others can still be made


class TestWithoutLlvmlite:
    @pytest.mark.parametrize(
        ("module", "reason"),
        [
            (None, "llvmlite is not installed"),
            (SimpleNamespace(__version__="0.44.0"), r"llvmlite 0\.44\.0 is too old: 0\.45 or newer is needed"),
            (SimpleNamespace(__version__="unknown"), "llvmlite unknown is too old"),
        ],
    )
    def test_who_asks_for_it_is_told_what_to_install(self, monkeypatch, module, reason):
        monkeypatch.setitem(sys.modules, "llvmlite", module)
        assert not llvm.available()
        for compiling in (llvm.compile, lambda ir: llvm.emit(ir, "aarch64-unknown-linux-gnu")):
            with pytest.raises(MissingDependencyError, match=rf"{reason}.*python -m pip install --upgrade llvmlite"):
                compiling(scale())

    def test_it_is_there(self):
        assert llvm.available()
        assert llvm.missing() is None

    def test_versions_are_compared_as_numbers(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "llvmlite", SimpleNamespace(__version__="1.2.0rc1"))
        assert llvm.available()


class TestEmitting:
    @pytest.mark.parametrize(
        ("triple", "cpu", "features", "machine"),
        [
            ("aarch64-unknown-linux-gnu", "", "", object_loader.AARCH64),
            ("aarch64-unknown-linux-gnu", "neoverse-v1", "+sve", object_loader.AARCH64),
            ("x86_64-unknown-linux-gnu", "haswell", "", object_loader.X86_64),
            ("x86_64-unknown-linux-gnu", "skylake-avx512", "-prefer-256-bit", object_loader.X86_64),
        ],
    )
    def test_other_processors(self, triple, cpu, features, machine):
        content = llvm.emit(scale() + COPY, triple, cpu, features)
        read = object_loader.read(content)
        assert read.machine == machine
        assert read.defined == {"scale", "copy", "digit", "rest"}
        assert read.undefined - {"_GLOBAL_OFFSET_TABLE_"} == {"memcpy", "fmod"}

    def test_other_formats(self):
        content = llvm.emit(scale(), "arm64-apple-macosx14.0.0", "apple-m1")
        assert content[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O of 64 bits
        assert object_loader.read(content) is None

    def test_what_is_cut_off_is_no_object(self):
        content = llvm.emit(scale(), "aarch64-unknown-linux-gnu")
        assert all(object_loader.read(content[:length]) is None for length in range(len(content)))

    def test_a_target_that_llvm_does_not_know(self):
        with pytest.raises(BuildError, match="no target for 'abacus-unknown-linux'"):
            llvm.emit(scale(), "abacus-unknown-linux")

    def test_what_is_refused(self):
        with pytest.raises(BuildError, match="no variables of its own"):
            llvm.emit("@x = global i32 0", "aarch64-unknown-linux-gnu")


class TestCache:
    def objects(self, kernels):
        return sorted(kernels.glob("*.object"))

    def forget(self):
        """Unload all, so that the next one comes from the cache."""
        gc.collect()

    def test_what_was_compiled_is_found(self, kernels, linker):
        first = llvm.compile(scale())
        (path,) = self.objects(kernels)
        expected = run_scale(first)
        del first
        self.forget()
        again = llvm.compile(scale())
        assert again.cached
        assert again.seconds == 0
        assert again.names == ("scale",)
        assert np.array_equal(run_scale(again), expected)
        assert self.objects(kernels) == [path]

    @pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "other", "folder"])
    def test_what_is_damaged_is_compiled_again(self, kernels, damage):
        llvm.compile(scale())
        (path,) = self.objects(kernels)
        whole = path.read_bytes()
        if damage == "cut":
            path.write_bytes(whole[: len(whole) // 2])
        elif damage == "emptied":
            path.write_bytes(b"")
        elif damage == "flipped":
            path.write_bytes(whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:])
        elif damage == "other":
            llvm.compile(scale(2.5))
            (other,) = set(self.objects(kernels)) - {path}
            path.write_bytes(other.read_bytes())
        else:
            path.unlink()
            path.mkdir()
        self.forget()
        loaded = llvm.compile(scale())
        assert not loaded.cached
        assert run_scale(loaded)[2] == 4.0
        if damage != "folder":
            assert path.read_bytes()[:100] == whole[:100]

    def test_an_object_that_llvm_cannot_load_is_compiled_again(self, kernels, linker):
        llvm.compile(scale())
        key = digest(llvm.toolchain(), scale())
        assert Store().keep(key, b"no object", ["scale"])
        self.forget()
        assert not llvm.compile(scale()).cached
        self.forget()
        assert llvm.compile(scale()).cached

    @pytest.mark.parametrize("what", ["cpu", "features", "triple"])
    def test_of_another_machine(self, kernels, monkeypatch, what):
        llvm.compile(scale())
        target = llvm._host().target
        assert llvm.toolchain() == target.toolchain
        assert target._replace(cpu=target.cpu).toolchain == target.toolchain
        assert target._replace(**{what: f"{getattr(target, what)}x"}).toolchain != target.toolchain
        assert target._replace(versions=(*target.versions, "1")).toolchain != target.toolchain

    def test_a_folder_that_cannot_be_written(self, monkeypatch, tmp_path):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("MINPY_CACHE", str(tmp_path / "file"))
        for _ in range(2):
            loaded = llvm.compile(scale())
            assert run_scale(loaded)[2] == 4.0
            assert not loaded.cached
            del loaded
            self.forget()

    def test_many_loads_do_not_fill_the_memory(self, kernels, linker):
        if not os.path.exists("/proc/self/statm"):
            pytest.skip("without /proc")

        def loads(count):
            for _ in range(count):
                assert llvm.compile(scale()).names
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        before = loads(200)
        assert loads(1000) - before < 4 * 2**20
        assert llvm.compile(scale()).cached

    def test_more_than_one_jit_holds(self, monkeypatch):
        monkeypatch.setattr(llvm, "linked", lambda content, names: None)
        monkeypatch.setattr(llvm, "_LIBRARIES", 3)
        loaded = [llvm.compile(scale(number)) for number in range(1, 12)]
        for number, one in enumerate(loaded, start=1):
            assert run_scale(one)[1] == number + 1


SCRIPT = """
import ctypes, sys
from minpy.backends.native.machine import llvm
loaded = llvm.compile(IR)
assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address("twice"))(21) == 42
print(loaded.cached, "llvmlite.binding" in sys.modules)
"""
TWICE = "define i64 @twice(i64 %n) {\n %m = shl i64 %n, 1\n ret i64 %m\n}"


PROCESSOR = "from minpy.backends.native.machine import processor_identity\nprocessor_identity"


@pytest.mark.skipif(processor_identity.identity() is None, reason="a system that does not say which processor it has")
class TestWithoutLoadingLlvm:
    def run(self, before=""):
        script = before + SCRIPT.replace("IR", repr(TWICE))
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
        return done.stdout.split()

    def test_what_is_cached_needs_none(self, kernels):
        assert self.run() == ["False", "True"]
        assert self.run() == (["True", "False"] if LINKS else ["True", "True"])

    def test_another_processor_asks_it_anew(self, kernels):
        self.run()
        other = f"{PROCESSOR}.identity = lambda: 'another'\n"
        assert self.run(other)[1] == "True"
        assert len(list(kernels.glob("*.processor"))) == 2

    def test_a_system_that_does_not_say(self, kernels):
        silent = f"{PROCESSOR}.identity = lambda: None\n"
        assert self.run(silent) == ["False", "True"]
        assert self.run(silent) == ["True", "True"]
        assert not list(kernels.glob("*.processor"))

    def test_a_record_is_a_flat_list_as_other_versions_write_it(self, kernels):
        self.run()
        (path,) = kernels.glob("*.processor")
        _, _, record = path.read_bytes().split(b"\n", 2)
        target = llvm._host().target
        assert json.loads(record) == [target.triple, target.cpu, target.features, *target.versions]

    @pytest.mark.parametrize("damage", ["cut", "flipped"])
    def test_a_record_that_is_damaged_is_written_anew(self, kernels, damage):
        self.run()
        (path,) = kernels.glob("*.processor")
        whole = path.read_bytes()
        path.write_bytes(whole[:-9] if damage == "cut" else whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        assert self.run() == ["True", "True"]
        assert path.read_bytes() == whole


class TestThreadsAndProcesses:
    def test_four_threads_compile_at_once(self):
        irs = [scale(number) for number in (1, 2, 3)]
        got, barrier = {}, threading.Barrier(4)

        def work(who):
            barrier.wait()
            got[who] = [llvm.compile(ir) for ir in irs]

        threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(got[who] == got[0] for who in range(4))
        assert [run_scale(one)[1] for one in got[0]] == [2, 3, 4]

    @posix
    def test_a_child_runs_and_compiles(self, linker):
        loaded = llvm.compile(scale())

        def work():
            fresh = llvm.compile(scale(2.5))
            return run_scale(loaded)[2] == 4.0 and run_scale(fresh)[2] == 6.0 and not fresh.cached

        assert status_of(in_child(work)) == 0
        assert llvm.compile(scale(2.5)).cached  # what the child has compiled

    @posix
    def test_a_child_of_a_process_that_is_compiling(self):
        """A fork waits until LLVM is at rest: the child would wait for a thread that it does not have."""
        done = threading.Event()

        def busy():
            number = 10
            while not done.is_set():
                number += 1
                llvm.compile(scale(number))

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            for number in range(4):
                assert status_of(in_child(lambda: run_scale(llvm.compile(scale(0.5)))[2] == 2.0)) == 0, number
        finally:
            done.set()
            thread.join()

    @posix
    def test_processes_compile_the_same_at_once(self, kernels, tmp_path):
        read, write = os.pipe()

        def work():
            os.read(read, 1)
            return all(run_scale(llvm.compile(scale(number)))[1] == number + 1 for number in (4, 5, 6))

        llvm.compile(scale())
        children = [in_child(work) for _ in range(3)]
        os.write(write, b"xxx")
        assert [status_of(child) for child in children] == [0, 0, 0]
        os.close(read)
        os.close(write)
        kinds = sorted(path.suffix for path in kernels.iterdir())
        assert kinds == [".object"] * 4 + [".processor"]  # nothing temporary is left
        assert all(llvm.compile(scale(number)).cached for number in (4, 5, 6))

    @posix
    def test_killed_while_it_writes(self, kernels, monkeypatch):
        def work():
            monkeypatch.setattr(os, "replace", lambda *paths: os.kill(os.getpid(), signal.SIGKILL))
            llvm.compile(scale())
            return True

        llvm.compile(scale(2.5))
        assert status_of(in_child(work)) == -signal.SIGKILL
        (left,) = kernels.glob("writing-*")
        assert not llvm.compile(scale()).cached
        gc.collect()
        assert llvm.compile(scale()).cached
        Store().clean()
        assert left.exists()  # its writer may live
        os.utime(left, (time.time() - 7200,) * 2)
        Store().clean()
        assert not left.exists()


def test_nothing_is_imported_before_it_is_needed():
    for module in (llvm, object_files):
        with open(importlib.util.find_spec(module.__name__).origin) as file:
            assert not [line for line in file if line.startswith(("import llvmlite", "from llvmlite"))]
