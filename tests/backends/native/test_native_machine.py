"""Native code called by Python: builtins, Python's lock, NumPy's products, and the helper thread."""

import ctypes
import gc
import glob
import os
import subprocess
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minpy.backends.native.machine import helper_thread, helper_thread_ir, llvm, numpy_blas, python_builtins
from minpy.core.errors import ArgumentError, ArgumentValueError, LibraryError

pytest.importorskip("llvmlite")

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MINPY_CACHE", str(tmp_path))


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


# Adds its two arguments into the third, three doubles each; the table has None, and how often it was called.
ADD = """
define ptr @add(ptr %self, ptr %args, i64 %n) {
entry:
  %table.at = getelementptr i8, ptr %self, i64 DATA
  %table = load ptr, ptr %table.at
  %calls = getelementptr i64, ptr %table, i64 1
  %count = load i64, ptr %calls
  %more = add i64 %count, %n
  store i64 %more, ptr %calls
  %x.object = load ptr, ptr %args
  %y.object.at = getelementptr ptr, ptr %args, i64 1
  %y.object = load ptr, ptr %y.object.at
  %z.object.at = getelementptr ptr, ptr %args, i64 2
  %z.object = load ptr, ptr %z.object.at
  %x.at = getelementptr i8, ptr %x.object, i64 DATA
  %y.at = getelementptr i8, ptr %y.object, i64 DATA
  %z.at = getelementptr i8, ptr %z.object, i64 DATA
  %x = load ptr, ptr %x.at
  %y = load ptr, ptr %y.at
  %z = load ptr, ptr %z.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from.x = getelementptr double, ptr %x, i64 %i
  %from.y = getelementptr double, ptr %y, i64 %i
  %to = getelementptr double, ptr %z, i64 %i
  %a = load double, ptr %from.x
  %b = load double, ptr %from.y
  %c = fadd double %a, %b
  store double %c, ptr %to
  %next = add i64 %i, 1
  %left = icmp ult i64 %next, 3
  br i1 %left, label %loop, label %exit
exit:
  %none = load ptr, ptr %table
  %increment = load ptr, ptr %table
  %references = load i64, ptr %none
  %one.more = add i64 %references, COUNTED
  store i64 %one.more, ptr %none
  ret ptr %none
}
"""


def add_builtin():
    # From 3.12 on None has no count of references.
    text = ADD.replace("DATA", str(python_builtins.offsets().data)).replace(
        "COUNTED", str(int(sys.version_info < (3, 12)))
    )
    loaded = llvm.compile(text)
    table = np.array([id(None), 0], np.intp)
    return python_builtins.builtin(loaded.address("add"), "add", table, loaded), table, loaded


class TestBuiltins:
    def test_a_call(self):
        add, table, _ = add_builtin()
        x, y, z = np.arange(3.0), np.full(3, 10.0), np.zeros(6)[3:]
        before = sys.getrefcount(None)
        for _ in range(1000):
            assert add(x, y, z) is None
        assert abs(sys.getrefcount(None) - before) < 500
        assert np.array_equal(z, [10, 11, 12])
        assert table[1] == 3000
        assert add.__name__ == "add"
        assert np.shares_memory(add.__self__, table)

    def test_it_is_called_as_python_calls_builtins(self):
        add, _, _ = add_builtin()
        assert type(add) is type(len)
        with pytest.raises(TypeError, match=r"add\(\) takes no keyword arguments"):
            add(np.zeros(3), np.zeros(3), z=np.zeros(3))

    def test_what_it_needs_lives_as_long_as_it_does(self):
        add, table, loaded = add_builtin()
        gone = [weakref.ref(table), weakref.ref(loaded)]
        del table, loaded
        gc.collect()
        assert all(one() is not None for one in gone)
        z = np.zeros(3)
        add(z, np.ones(3), z)
        assert np.array_equal(z, np.ones(3))
        del add
        gc.collect()
        assert all(one() is None for one in gone)

    def test_many_of_them(self):
        made = [add_builtin()[0] for _ in range(50)]
        del made[::2]
        gc.collect()
        z = np.zeros(3)
        for one in made:
            one(z, np.ones(3), z)
        assert np.array_equal(z, np.full(3, 25.0))

    def test_tables_that_cannot_be(self):
        for table in (np.zeros((4, 4))[:, 1], [1, 2], None):
            with pytest.raises(ArgumentError, match="the table must be a C-contiguous NumPy array, got"):
                python_builtins.builtin(1, "f", table)
        with pytest.raises(ArgumentError, match="the code of 'f' has no address"):
            python_builtins.builtin(0, "f", np.zeros(1))

    def test_where_arrays_keep_their_elements(self):
        at = python_builtins.offsets().data
        for array in (np.ones((3, 4)).T, np.array(2, np.int8), np.arange(10)[::-1], np.zeros(3, "datetime64[s]")):
            assert ctypes.c_void_p.from_address(id(array) + at).value == array.ctypes.data

    def test_a_build_that_hides_them(self, monkeypatch):
        real = python_builtins.Offsets
        monkeypatch.setattr(python_builtins, "Offsets", lambda *places: real(*(place + 8 for place in places)))
        python_builtins.offsets.cache_clear()
        try:
            with pytest.raises(LibraryError, match="native code cannot take arrays"):
                python_builtins.offsets()
        finally:
            python_builtins.offsets.cache_clear()


# Says that it has begun, and looks 4e9 times at most whether another thread has said that it may end.
WAIT = """
define ptr @wait(ptr %self, ptr %args, i64 %n) {
entry:
  %table.at = getelementptr i8, ptr %self, i64 DATA
  %table = load ptr, ptr %table.at
  %save.at = getelementptr ptr, ptr %table, i64 1
  %restore.at = getelementptr ptr, ptr %table, i64 2
  %save = load ptr, ptr %save.at
  %restore = load ptr, ptr %restore.at
  %begun = getelementptr i64, ptr %table, i64 3
  %end = getelementptr i64, ptr %table, i64 4
  %seen.at = getelementptr i64, ptr %table, i64 5
  %state = call ptr %save()
  store atomic i64 1, ptr %begun seq_cst, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %seen = load atomic i64, ptr %end seq_cst, align 8
  %next = add i64 %i, 1
  %asked = icmp ne i64 %seen, 0
  %tired = icmp eq i64 %next, 4000000000
  %stop = or i1 %asked, %tired
  br i1 %stop, label %exit, label %loop
exit:
  call void %restore(ptr %state)
  store i64 %seen, ptr %seen.at
  %none = load ptr, ptr %table
  %references = load i64, ptr %none
  %more = add i64 %references, COUNTED
  store i64 %more, ptr %none
  ret ptr %none
}
"""


def test_the_lock_is_let_go():
    text = WAIT.replace("DATA", str(python_builtins.offsets().data)).replace(
        "COUNTED", str(int(sys.version_info < (3, 12)))
    )
    loaded = llvm.compile(text)
    lock = (ctypes.pythonapi.PyEval_SaveThread, ctypes.pythonapi.PyEval_RestoreThread)
    table = np.array([id(None), *map(address_of, lock), 0, 0, 0], np.intp)
    wait = python_builtins.builtin(loaded.address("wait"), "wait", table, loaded)
    thread = threading.Thread(target=wait)
    thread.start()
    while not table[3]:
        time.sleep(0)
    table[4] = 7
    thread.join()
    assert table[5] == 7


# -- products --------------------------------------------------------------------------------------------------------


def real_lookup():
    (look_up,) = numpy_blas._lookups()
    return look_up


# What `blas.find` finds, by the names of C without prefix and suffix.
def own_functions():
    found = numpy_blas.find()
    if found is None:
        pytest.skip("NumPy's BLAS does not say where its functions are")
    naming = next(one for one in numpy_blas._NAMINGS if real_lookup()(one.format("cblas_sgemm")))
    names = ["cblas_sgemm", "cblas_dgemm", "cblas_sgemv", "cblas_dgemv", "cblas_ddot"]
    return {name: real_lookup()(naming.format(name)) for name in names}


class TestBlas:
    def test_numpys_wheels_have_one(self):
        folder = os.path.join(os.path.dirname(np.__file__), os.pardir, "numpy.libs")
        if not os.path.isdir(folder):
            pytest.skip("no wheel")
        found = numpy_blas.find()
        assert found.file.endswith(".so")
        assert os.path.samefile(os.path.dirname(found.file), folder)
        assert found.integer == "i64"
        assert numpy_blas.find() is found

    @given(sizes=st.tuples(*[st.integers(1, 40)] * 3), double=st.booleans(), turned=st.booleans())
    def test_products(self, sizes, double, turned):
        own_functions()
        found = numpy_blas.find()
        m, n, k = sizes
        dtype = np.float64 if double else np.float32
        random = np.random.RandomState(m + n + k)
        a, b, c = random.normal(size=(m, k)), random.normal(size=(k, n)), np.full((m, n), np.nan)
        a, b, c = (x.astype(dtype) for x in (a, b.T if turned else b, c))
        b = np.ascontiguousarray(b)
        word = {"i32": ctypes.c_int32, "i64": ctypes.c_int64}[found.integer]
        scalar = ctypes.c_double if double else ctypes.c_float
        pointer, enumeration = ctypes.c_void_p, ctypes.c_int
        kinds = [*[enumeration] * 3, *[word] * 3, scalar, pointer, word, pointer, word, scalar, pointer, word]
        gemm = ctypes.CFUNCTYPE(None, *kinds)(found.addresses["dgemm" if double else "sgemm"])
        gemm(
            numpy_blas.ROW_MAJOR, numpy_blas.NO_TRANS, numpy_blas.TRANS if turned else numpy_blas.NO_TRANS, m, n, k,
            1.0, a.ctypes.data, k, b.ctypes.data, k if turned else n, 0.0, c.ctypes.data, n,
        )  # fmt: skip
        expected = a.astype(np.float64) @ (b.T if turned else b).astype(np.float64)
        np.testing.assert_allclose(c, expected, rtol=0, atol=(1e-12 if double else 1e-4))

    def test_threads(self):
        own_functions()
        found = numpy_blas.find()
        if found.threads is None:
            pytest.skip("it does not say")
        before = found.threads
        assert found.set_threads(1)
        assert found.threads == 1
        assert found.set_threads(before)
        assert found.threads == before

    @pytest.mark.parametrize("naming", numpy_blas._NAMINGS)
    def test_every_way_to_name_them(self, naming):
        functions = own_functions()
        known = {naming.format(name): address for name, address in functions.items()}
        found = numpy_blas._library(lambda name: known.get(name, 0), naming)
        assert found.addresses == {
            name.removeprefix("cblas_"): functions[name] for name in functions if "dot" not in name
        }
        assert found.integer == numpy_blas.find().integer
        assert found.threads is None
        assert not found.set_threads(1)

    @pytest.mark.parametrize("absent", ["cblas_sgemm", "cblas_dgemv", "cblas_ddot"])
    def test_one_that_lacks_a_function(self, absent):
        known = {name: address for name, address in own_functions().items() if name != absent}
        assert numpy_blas._library(lambda name: known.get(name, 0), "{}") is None

    def test_no_blas_at_all(self, monkeypatch):
        monkeypatch.setattr(numpy_blas, "_lookups", lambda: [lambda name: 0])
        assert numpy_blas.find.__wrapped__() is None

    @pytest.mark.parametrize(("word", "expected"), [(ctypes.c_int32, "i32"), (ctypes.c_int64, "i64")])
    def test_how_wide_integers_are(self, word, expected):
        def dot(n, x, step_x, y, step_y):
            values = (ctypes.c_double * 3).from_address(x)
            return sum(values[i] * values[i] for i in range(max(n, 0)))

        pointer = ctypes.c_void_p
        made = ctypes.CFUNCTYPE(ctypes.c_double, word, pointer, word, pointer, word)(dot)
        assert numpy_blas._integer(address_of(made)) == expected

    def test_a_dot_product_that_is_none(self):
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        made = ctypes.CFUNCTYPE(ctypes.c_double, word, pointer, word, pointer, word)(lambda *given: 13.0)
        assert numpy_blas._integer(address_of(made)) is None

    def test_products_that_are_wrong_are_not_taken(self):
        known = own_functions()
        kinds = [ctypes.c_int] * 3 + [ctypes.c_int64] * 3 + [ctypes.c_float, *[ctypes.c_int64] * 4]
        kinds += [ctypes.c_float, ctypes.c_int64, ctypes.c_int64]
        nothing = ctypes.CFUNCTYPE(None, *kinds)(lambda *given: None)
        known["cblas_sgemm"] = address_of(nothing)
        assert numpy_blas._library(lambda name: known.get(name, 0), "{}") is None

    def test_a_library_of_32_bits(self):
        scipy = pytest.importorskip("scipy")
        folder = os.path.join(os.path.dirname(scipy.__file__), os.pardir, "scipy.libs")
        paths = glob.glob(os.path.join(folder, "libscipy_openblas-*.so"))
        if not paths:
            pytest.skip("SciPy brings none")
        found = numpy_blas._library(numpy_blas._of_handle(paths[0]) or self._opened(paths[0]), "scipy_{}")
        assert found.integer == "i32"
        assert found.threads >= 1

    @staticmethod
    def _opened(path):
        ctypes.CDLL(path)
        return numpy_blas._of_handle(path)


# -- the helper ------------------------------------------------------------------------------------------------------

# For every element of its range adds 1 to it; in the block: the array, then for caller and helper how much they did.
COUNT = """
define void @count(ptr %block, i64 %begin, i64 %end, i64 %who) {
entry:
  %array = load ptr, ptr %block
  %mine = getelementptr i64, ptr %block, i64 1
  %place = getelementptr i64, ptr %mine, i64 %who
  %length = sub i64 %end, %begin
  %before = atomicrmw add ptr %place, i64 %length seq_cst
  br label %test
test:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %left = icmp slt i64 %i, %end
  br i1 %left, label %loop, label %exit
loop:
  %at = getelementptr i64, ptr %array, i64 %i
  %old = atomicrmw add ptr %at, i64 1 seq_cst
  %next = add i64 %i, 1
  br label %test
exit:
  ret void
}
; Shares until the helper has done something, 1e6 times at most; returns how often.
define i64 @insist(ptr %share, ptr %desk, ptr %task, ptr %block, i64 %n) {
entry:
  %helped = getelementptr i64, ptr %block, i64 2
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %share(ptr %desk, ptr %task, ptr %block, i64 0, i64 %n, i64 8)
  %next = add i64 %i, 1
  %done = load atomic i64, ptr %helped seq_cst, align 8
  %some = icmp ne i64 %done, 0
  %tired = icmp eq i64 %next, 1000000
  %stop = or i1 %some, %tired
  br i1 %stop, label %exit, label %loop
exit:
  ret i64 %next
}
"""


class Counting:
    """A task that counts, and what it has counted."""

    def __init__(self, length):
        self.code = llvm.compile(COUNT)
        self.task = self.code.address("count")
        self.array = np.zeros(length, np.int64)
        self.block = np.array([self.array.ctypes.data, 0, 0], np.int64)

    def share(self, found, begin, end, pieces):
        kinds = [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3]
        function = ctypes.CFUNCTYPE(None, *kinds)(found.share)
        function(found.desk, self.task, self.block.ctypes.data, begin, end, pieces)

    def insist(self, found):
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64)(self.code.address("insist"))
        return function(found.share, found.desk, self.task, self.block.ctypes.data, len(self.array))


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(helper_thread, "_MOST", 2)
    monkeypatch.setattr(helper_thread, "count", lambda: 2)
    result = helper_thread.find()
    if result is None:
        pytest.skip("without threads of POSIX")
    return result


class TestHelper:
    @pytest.mark.parametrize("length", [0, 1, 2, 15, 64, 127, 128, 1000, 4097])
    @pytest.mark.parametrize("pieces", [1, 2, 3, 8, 100])
    def test_everything_is_done_once(self, found, length, pieces):
        counting = Counting(length + 7)
        counting.share(found, 3, 3 + length, pieces)
        assert np.array_equal(counting.array, [0] * 3 + [1] * length + [0] * 4)
        assert counting.block[1:].sum() == length

    def test_the_helper_does_its_part(self, found):
        counting = Counting(2000)
        times = counting.insist(found)
        assert counting.block[2] > 0, f"nothing in {times} calls"
        assert (counting.array == times).all()
        assert counting.block[1:].sum() == 2000 * times

    def test_pieces_of_long_ranges_begin_at_multiples_of_sixteen(self, found):
        begins = []
        kinds = [ctypes.c_void_p, *[ctypes.c_int64] * 3]
        task = ctypes.CFUNCTYPE(None, *kinds)(lambda block, begin, end, who: begins.append((begin, end)))
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(found.share)
        function(found.desk, address_of(task), None, 0, 1001, 3)
        assert sorted(begins) == [(0, 320), (320, 656), (656, 1001)]

    def test_several_threads_at_once(self, found):
        counters = [Counting(500) for _ in range(4)]
        workers = [
            threading.Thread(target=lambda one=one: [one.share(found, 0, 500, 8) for _ in range(300)])
            for one in counters
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert all((one.array == 300).all() for one in counters)

    def test_calls_from_inside_a_task(self, found):
        """Whoever has the helper and asks for it again does the rest alone."""
        inner = Counting(100)
        kinds = [ctypes.c_void_p, *[ctypes.c_int64] * 3]
        task = ctypes.CFUNCTYPE(None, *kinds)(lambda *given: inner.share(found, 0, 100, 4))
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(found.share)
        function(found.desk, address_of(task), None, 0, 6, 6)
        assert (inner.array == 6).all()

    @posix
    def test_a_child_gets_its_own(self, found):
        before = Counting(2000)
        before.insist(found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: there are threads
            child = os.fork()
        if not child:
            status = 1
            try:
                counting = Counting(2000)
                times = counting.insist(found)
                status = 0 if counting.block[2] > 0 and (counting.array == times).all() else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        after = Counting(2000)
        after.insist(found)
        assert after.block[2] > 0

    @posix
    def test_a_child_of_a_process_in_the_middle_of_a_job(self, found):
        """The desk that the child copies is taken, by threads that it does not have."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)

            def fork(*given):
                child = os.fork()
                if not child:
                    counting = Counting(2000)
                    counting.share(found, 0, 2000, 4)
                    os._exit(0 if (counting.array == 1).all() else 2)
                children.append(child)

            children = []
            kinds = [ctypes.c_void_p, *[ctypes.c_int64] * 3]
            task = ctypes.CFUNCTYPE(None, *kinds)(fork)
            function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(found.share)
            function(found.desk, address_of(task), None, 0, 2, 2)
        assert len(children) == 2
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]

    def test_a_helper_that_cannot_be_made(self, found):
        """`pthread_create` may refuse, where a user has too many threads."""
        desk = helper_thread_ir.desk()
        refusing = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *given: 11)
        ctypes.c_void_p.from_address(desk + helper_thread_ir.FUNCTIONS["pthread_create"]).value = address_of(refusing)
        counting = Counting(100)
        for _ in range(3):
            counting.share(helper_thread.Helper(found.share, desk), 0, 100, 8)
        assert (counting.array == 3).all()
        assert counting.block[2] == 0

    def test_it_goes_to_sleep(self, found):
        Counting(2000).insist(found)
        asleep = ctypes.c_int32.from_address(found.desk + helper_thread_ir.PLACES["asleep"])
        for _ in range(10_000):
            if asleep.value:
                break
            time.sleep(0.001)
        assert asleep.value == 1
        again = Counting(2000)
        again.insist(found)
        assert again.block[2] > 0

    def test_the_interpreter_ends(self):
        """While a thread that Python does not wait for is in the middle of something."""
        program = f"""if True:
            import ctypes, threading, numpy as np
            from minpy.backends.native.machine import llvm, helper_thread
            helper_thread.count = lambda: 2
            found, code = helper_thread.find(), llvm.compile({COUNT!r})
            array = np.zeros(100000, np.int64)
            block = np.array([array.ctypes.data, 0, 0])
            kinds = [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3]
            share = ctypes.CFUNCTYPE(None, *kinds)(found.share)
            def work():
                share(found.desk, code.address('count'), block.ctypes.data, 0, 100000, 8)
            work()
            print(array.sum())
            def always():
                while True:
                    work()
            threading.Thread(target=always, daemon=True).start()
        """
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "100000\n", "")


class TestCount:
    @pytest.mark.parametrize(
        ("usable", "variable", "expected"),
        [(1, None, 1), (2, None, 2), (64, None, 2), (2, "1", 1), (2, "2", 2), (1, "2", 1), (8, "8", 2), (2, "", 2)],
    )
    def test_as_many_as_there_are_processors(self, monkeypatch, usable, variable, expected):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(usable)), raising=False)
        monkeypatch.delenv("MINPY_COMPILE_THREADS", raising=False)
        if variable is not None:
            monkeypatch.setenv("MINPY_COMPILE_THREADS", variable)
        assert helper_thread.count() == expected
        assert (helper_thread.find() is None) == (expected == 1)

    def test_where_there_are_no_affinities(self, monkeypatch):
        monkeypatch.delenv("MINPY_COMPILE_THREADS", raising=False)
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        assert helper_thread.count() == 1

    @pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
    def test_no_number(self, monkeypatch, text):
        monkeypatch.setenv("MINPY_COMPILE_THREADS", text)
        with pytest.raises(ArgumentValueError, match=f"MINPY_COMPILE_THREADS must be .* 1 or 2, got '{text}'"):
            helper_thread.count()

    def test_without_posix(self, monkeypatch):
        def no_process(name, *given, **named):
            raise TypeError("as on Windows")

        monkeypatch.setattr(ctypes, "CDLL", no_process)
        assert helper_thread_ir.desk() is None
        monkeypatch.setattr(helper_thread, "_helpers", [])
        monkeypatch.setattr(helper_thread, "count", lambda: 2)
        assert helper_thread.find() is None
