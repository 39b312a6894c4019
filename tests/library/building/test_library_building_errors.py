"""`library.compile` when something is wrong: what it is given, the compiler, an interrupt, another process."""

# ruff: noqa: E501

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from fake_compiler import TEXT
from native.building import compiler as real_compiler

from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    BuildError,
    FileMissingError,
    MissingCompilerError,
    MissingDependencyError,
    MXNetError,
)
from minpy.library import building
from minpy.library.building.diagnostics import first_error

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake compiler is a shell script")
needs_compiler = pytest.mark.skipif(real_compiler() is None, reason="there is no C++ compiler")
ROOT = Path(__file__).resolve().parents[3]

# -- arguments ------------------------------------------------------------------------------------------------------

ARGUMENTS = {
    "no sources": (lambda: ([],), {}, ArgumentValueError, "sources is empty; give the path of a C++ file, or C++ text"),
    "a number": (lambda: (3,), {}, ArgumentError, "sources is the path of a C++ file, C++ text, or a list of such, got int 3"),
    "a dict": (lambda: ({"a.cc": 1},), {}, ArgumentError, "or a list of such, got dict"),
    "a number in a list": (lambda: ([3],), {}, ArgumentError, "must be a str or PathLike, got int 3"),
    "an empty path": (lambda: ("",), {}, ArgumentError, "'' is no name of a file"),
    "blank text": (lambda: (" \n\t\n",), {}, ArgumentValueError, "a source is given as text, and is empty"),
    "not there": (lambda: ("gem.cc",), {}, FileMissingError, "cannot read 'gem.cc': No such file or directory. Did you mean 'gemm.cc'"),
    "a folder": (lambda: ("folder",), {}, ArgumentValueError, "'folder' is a folder; list its files: one.cc, two.c."),
    "an empty folder": (lambda: ("empty folder",), {}, ArgumentValueError, "'empty folder' is a folder; list its files."),
    "an empty file": (lambda: ("empty.cc",), {}, ArgumentValueError, "the source 'empty.cc' is empty"),
    "a header": (lambda: ("one.h",), {}, ArgumentValueError, "'one.h' is a header: name the files that include it"),
    "a library": (lambda: ("lib.so",), {}, ArgumentValueError, "'lib.so' is a library already: load it with library.load(path)"),
    "an object": (lambda: ("one.o",), {}, ArgumentValueError, "'one.o' is compiled already: name it in extra_flags"),
    "CUDA": (lambda: ("one.cu",), {}, ArgumentValueError, "'one.cu' is CUDA's, which compile does not build"),
    "Python": (lambda: ("one.py",), {}, ArgumentValueError, "has the suffix '.py'; C++ files end in .cc, .cpp or .cxx, C files in .c"),
    "no suffix": (lambda: ("one",), {}, ArgumentValueError, "'one' has no suffix; C++ files end in"),
    "a line of C++": (lambda: ("int f() { return 1; }",), {}, FileMissingError, "(A str with a line break, or with REGISTER_OP, is C++ text.)"),
    "twice": (lambda: (["gemm.cc", "./gemm.cc"],), {}, ArgumentValueError, "gemm.cc' is given twice"),
    "flags in one str": (lambda: (TEXT,), {"extra_flags": "-O2 -g"}, ArgumentError, "extra_flags is a list of flags, got '-O2 -g'; write ['-O2', '-g']"),
    "flags with a quote": (lambda: (TEXT,), {"extra_flags": "-D'"}, ArgumentError, """write ["-D'"]"""),
    "flags that are a number": (lambda: (TEXT,), {"extra_flags": 2}, ArgumentError, "extra_flags is a list of flags, such as ['-g'], got int 2"),
    "flags in a set": (lambda: (TEXT,), {"extra_flags": {"-g"}}, ArgumentError, "extra_flags is a list of flags, such as ['-g'], got set"),
    "a flag that is a number": (lambda: (TEXT,), {"extra_flags": ["-g", 2]}, ArgumentError, "extra_flags[1] must be a str, got int 2"),
    "an empty flag": (lambda: (TEXT,), {"extra_flags": [" "]}, ArgumentValueError, "extra_flags[0] is ' ', which is no flag"),
    "two flags in a word": (lambda: (TEXT,), {"extra_flags": ["-O2 -g"]}, ArgumentValueError, "one word for the compiler; write ['-O2', '-g']"),
    "-o": (lambda: (TEXT,), {"extra_flags": ["-o", "x.so"]}, ArgumentValueError, "extra_flags has '-o', which compile says itself"),
    "-ox": (lambda: (TEXT,), {"extra_flags": ["-ox.so"]}, ArgumentValueError, "extra_flags has '-ox.so', which compile says itself"),
    "-c": (lambda: (TEXT,), {"extra_flags": ["-c"]}, ArgumentValueError, "extra_flags has '-c', which compile says itself"),
    "a source among flags": (lambda: (TEXT,), {"extra_flags": ["gemm.cc"]}, ArgumentValueError, "extra_flags has 'gemm.cc'; source files belong into sources"),
    "a name with a slash": (lambda: (TEXT,), {"name": "a/b"}, ArgumentValueError, "name 'a/b' cannot be the name of a library: letters, digits and _ - + . of ASCII, the first no - + or ., at most 100; 'a_b' would do"),
    "a name that goes up": (lambda: (TEXT,), {"name": "../up"}, ArgumentValueError, "'_up' would do"),
    "an empty name": (lambda: (TEXT,), {"name": ""}, ArgumentValueError, "name '' cannot be the name of a library"),
    "a long name": (lambda: (TEXT,), {"name": "n" * 101}, ArgumentValueError, "at most 100"),
    "a name with a line break": (lambda: (TEXT,), {"name": "a\n"}, ArgumentValueError, "'a_' would do"),
    "a name of a device": (lambda: (TEXT,), {"name": "con"}, ArgumentValueError, "'con_' would do"),
    "a name that is a number": (lambda: (TEXT,), {"name": 3}, ArgumentError, "name must be a str, got int 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(tmp_path, monkeypatch, own_cache, case):
    for name in ("gemm.cc", "one.h", "lib.so", "one.o", "one.cu", "one.py", "one", "folder/one.cc", "folder/two.c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("int x;\n")
    (tmp_path / "empty.cc").write_text("\n \n")
    (tmp_path / "empty folder").mkdir()
    monkeypatch.chdir(tmp_path)
    arguments, settings, kind, text = ARGUMENTS[case]
    with pytest.raises(kind) as raised:
        building.compile(*arguments(), **settings)
    assert text in str(raised.value)
    assert str(raised.value).startswith("library.compile: ")
    assert not own_cache.exists()


@posix
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("g e mm.cc", "g_e_mm"),
        ("ünï.cc", "_n_"),
        ("-dash.cc", "dash"),
        ("a.b.cc", "a.b"),
        ("…cc.cc", "_cc"),
        ("aux.cc", "aux_"),
    ],
)
def test_names_after_files(fake, tmp_path, path, name):
    (tmp_path / path).write_text("int x;\n")
    assert Path(building.compile(tmp_path / path).path).name == f"{name}.so"


@posix
@pytest.mark.parametrize(
    ("text", "name"),
    [("int x;\n", "operators"), ("REGISTER_OP(my_relu).setForward(f)", "my_relu"), ("x\nREGISTER_PASS( p2 )", "p2")],
)
def test_names_after_texts(fake, text, name):
    assert Path(building.compile(text).path).name == f"{name}.so"


# -- compilers --------------------------------------------------------------------------------------------------------

INSTALL = "apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), xcode-select --install (macOS), conda"


@posix
class TestCompilers:
    def test_none(self, monkeypatch, own_cache, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingCompilerError) as raised:
            building.compile(TEXT)
        assert "there is no C++ compiler: none of c++, g++, clang++ is on the PATH." in str(raised.value)
        assert INSTALL in str(raised.value)
        assert isinstance(raised.value, (BuildError, MissingDependencyError, MXNetError, ImportError))
        assert not own_cache.exists()

    @pytest.mark.parametrize(
        ("cxx", "text"),
        [
            ("nog++", "the environment variable CXX is 'nog++', and there is no program 'nog++' on the PATH"),
            ("/no/g++ -O", "is '/no/g++ -O', and there is no program '/no/g++' there"),
            ("g++ 'x", 'is "g++ \'x", which is no command: No closing quotation'),
            ("false", "/false does not answer as a C++ compiler does: "),
        ],
    )
    def test_cxx_is_none(self, monkeypatch, own_cache, cxx, text):
        monkeypatch.setenv("CXX", cxx)
        with pytest.raises(BuildError) as raised:
            building.compile(TEXT)
        assert text in str(raised.value)

    def test_one_that_cannot_be_run(self, monkeypatch, own_cache, tmp_path):
        path = tmp_path / "c++"
        path.write_bytes(b"\x7fELF nothing that runs")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        with pytest.raises(
            MissingCompilerError, match=r"cannot be run: Exec format error\. Set the environment variable CXX"
        ):
            building.compile(TEXT)

    def test_flags_that_cannot_be_split(self, fake, monkeypatch):
        monkeypatch.setenv("CXXFLAGS", "-DX='")
        with pytest.raises(
            ArgumentValueError, match='CXXFLAGS is "-DX=\'", which cannot be split into flags: No closing'
        ):
            building.compile(TEXT)

    def test_a_time_limit_that_is_none(self, fake, monkeypatch):
        monkeypatch.setenv("MINPY_COMPILE_TIMEOUT", "soon")
        with pytest.raises(
            ArgumentValueError, match="MINPY_COMPILE_TIMEOUT must be a number of seconds above 0, got 'soon'"
        ):
            building.compile(TEXT)


# What compilers and linkers say, the step in which they do, and what has to be on top of the message and below.
SAID = {
    "an error, and one that follows": (
        "compile",
        ("/a/gemm.cc: In function 'int f()':\n/a/gemm.cc:3:7: error: 'x' was not declared in this scope\n"
        "    3 |   x + 1;\n      |   ^\n/a/gemm.cc:9:1: error: expected ';'\n"),
        ("library.compile: fake++ cannot compile broken.cc:\n/a/gemm.cc:3:7: error: 'x' was not declared in this scope\n"
        "    3 |   x + 1;\n      |   ^\n"),
        "",
    ),
    "Clang's, in color": (
        "compile",
        "\x1b[1m/a/gemm.cc:3:7: \x1b[0m\x1b[0;1;31merror: \x1b[0muse of undeclared identifier 'x'\n",
        ":\n/a/gemm.cc:3:7: error: use of undeclared identifier 'x'\n",
        "",
    ),
    "a warning first": (
        "compile",
        "/a/gemm.cc:1:1: warning: unused\n/a/gemm.cc:3: error: no\n",
        ":\n/a/gemm.cc:3: error: no\n",
        "All that it said:\n/a/gemm.cc:1:1: warning: unused\n",
    ),
    "a header that is missing": (
        "compile",
        "/a/gemm.cc:1:10: fatal error: my/ops.h: No such file or directory\ncompilation terminated.\n",
        ":\n/a/gemm.cc:1:10: fatal error: my/ops.h: No such file or directory\n",
        "A header is not found: extra_flags=['-Ifolder'] says where to look for it.",
    ),
    "our header, of a folder of MXNet's": (
        "compile",
        "/a/x.cc:1:10: fatal error: 'include/mxnet/lib_api.h' file not found\n",
        "file not found",
        'is included as "lib_api.h" or as "mxnet/lib_api.h"; library.include_dir() says where it is',
    ),
    "no C++ library": (
        "compile",
        "/a/x.cc:1:10: fatal error: ‘vector’ file not found\n",
        "fatal error: ‘vector’ file not found",
        "The compiler's C++ library is not installed: libstdc++-dev (Debian), libstdc++-devel (Fedora).",
    ),
    "a flag": (
        "compile",
        "g++: error: unrecognized command-line option '-fnot'\n",
        ":\ng++: error: unrecognized command-line option '-fnot'\n",
        "This compiler does not know the flag: it comes from extra_flags, or from CXXFLAGS, CPPFLAGS or LDFLAGS.",
    ),
    "an old compiler": (
        "compile",
        "cc1plus: error: unrecognized command line option '-std=c++17'\n",
        "unrecognized command line option '-std=c++17'",
        "Another standard is chosen with extra_flags=['-std=c++11'].",
    ),
    "what C++17 has not": (
        "compile",
        "/a/x.cc:3:8: error: ISO C++17 does not allow dynamic exception specifications\n",
        "/a/x.cc:3:8: error: ISO C++17 does not",
        "Compiled as C++17, unless extra_flags has another standard, such as '-std=c++11'.",
    ),
    "no memory": (
        "compile",
        "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
        ":\ng++: fatal error: Killed signal terminated program cc1plus\n",
        "The compiler ran out of memory: split the source, or compile with extra_flags=['-O1'].",
    ),
    "nothing": ("compile", "", "library.compile: fake++ cannot compile broken.cc.\nIt returned 3, and named no error.", ""),
    "the tools of macOS": (
        "compile",
        "xcrun: error: invalid active developer path\n",
        ":\nxcrun: error: invalid active developer path",
        "On macOS, the command line tools are installed with: xcode-select --install",
    ),
    "an undefined function": (
        "link",
        "/usr/bin/ld: 0.o: in function `f()':\nx.cc:(.text+0x1): undefined reference to `g()'\ncollect2: error: ld returned 1 exit status\n",
        "library.compile: fake++ cannot link broken:\nx.cc:(.text+0x1): undefined reference to `g()'\n",
        "It is declared, and defined nowhere: add the source file that defines it to sources, or the library to",
    ),
    "an undefined function, says macOS": (
        "link",
        'Undefined symbols for architecture arm64:\n  "g()", referenced from:\n      f() in 0.o\nld: symbol(s) not found\n',
        'cannot link broken:\nUndefined symbols for architecture arm64:\n  "g()", referenced from:\n      f() in 0.o\n',
        "It is declared, and defined nowhere",
    ),
    "an undefined function, says LLD": (
        "link",
        "ld.lld: error: undefined symbol: g()\n>>> referenced by x.cc\n",
        ":\nld.lld: error: undefined symbol: g()\n",
        "It is declared, and defined nowhere",
    ),
    "twice": (
        "link",
        "/usr/bin/ld: 1.o: in function `f()':\nb.cc:(.text+0x0): multiple definition of `f()'; 0.o:a.cc:(.text+0x0): first\n",
        "multiple definition of `f()'",
        "It is defined in two sources: leave it in one, or make it `static` or `inline`.",
    ),
    "a library": (
        "link",
        "/usr/bin/ld: cannot find -lblas: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
        ":\n/usr/bin/ld: cannot find -lblas: No such file or directory\n",
        "A library that is linked to is not found: extra_flags=['-Lfolder'] says where to look for it.",
    ),
    "the C++ library": (
        "link",
        "/usr/bin/ld: cannot find -lstdc++\n",
        ":\n/usr/bin/ld: cannot find -lstdc++\n",
        "The compiler's C++ library is not installed: libstdc++-dev (Debian)",
    ),
    "an archive": (
        "link",
        "/usr/bin/ld: x.a(x.o): relocation R_X86_64_32 against `.bss' can not be used when making a shared object; recompile with -fPIC\n",
        "recompile with -fPIC",
        "What becomes part of a shared library is compiled with -fPIC: also objects and archives among the flags.",
    ),
}  # fmt: skip


@posix
@pytest.mark.parametrize("case", SAID)
def test_what_compilers_say(fake, loads, own_cache, case):
    step, says, top, below = SAID[case]
    fake.tell(**{f"{step}_says": says, f"{step}_returns": "3"})
    with pytest.raises(BuildError) as raised:
        building.compile(TEXT, name="broken")
    text = str(raised.value)
    assert top.rstrip() in text.split("\n\nAll that it said")[0]
    assert below in text
    assert text.startswith(f"library.compile: fake++ cannot {step} broken")
    assert f"\n\nThe command:\n{shlex.quote(str(fake.path))} -first " in text
    whole = raised.value.output
    assert whole in text
    assert "\x1b" not in text
    assert len(whole.splitlines()) == len(says.splitlines())
    assert raised.value.command[0] == str(fake.path)
    if "gemm.cc:3:" in says:
        assert (raised.value.filename, raised.value.lineno) == ("/a/gemm.cc", 3)
    assert loads == []
    assert [path.name for path in own_cache.iterdir() if path.name.startswith(("broken", "building"))] == []


@posix
def test_all_sources_that_fail_are_shown(fake, tmp_path):
    for name in ("a.cc", "b.cc"):
        (tmp_path / name).write_text("int x;\n")
    fake.tell(compile_says="x.cc:1: error: no\n", compile_returns="1")
    with pytest.raises(BuildError) as raised:
        building.compile([tmp_path / "a.cc", tmp_path / "b.cc"])
    assert "cannot compile a.cc, b.cc:\nx.cc:1: error: no\n" in str(raised.value)
    assert raised.value.output == "x.cc:1: error: no\nx.cc:1: error: no"


@posix
def test_a_compiler_that_makes_nothing(fake):
    fake.tell(library="")
    with pytest.raises(BuildError, match=r"fake\+\+ has reported no error, and has made no library\. The command:"):
        building.compile(TEXT)


def test_the_first_error_of_nothing():
    assert first_error("all is well\n") == ("", None, None)


# -- a compiler that hangs, interrupts, other processes ----------------------------------------------------------------

PROGRAM = """
import signal
import sys
from types import SimpleNamespace
from minpy.library import building
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have what they start in the background ignore it
building.load = lambda path, verbose=True, *, replace=False: SimpleNamespace(path=path)
try:
    print(building.compile(sys.argv[1], name='shared', verbose=True).path)
except KeyboardInterrupt:
    print('interrupted')
"""


def started():
    """Start a process that compiles what this one compiles, with the same compiler and cache."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), TEXT],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@posix
class TestProcesses:
    def test_two_at_once_build_once(self, fake, own_cache):
        fake.hold()
        with started() as first:
            with fake.compiling():
                second = started()
                assert second.stderr.readline() == "shared is being built already: waiting\n"
            with second:
                outputs = [one.communicate(timeout=60) for one in (first, second)]
        assert outputs[0][0] == outputs[1][0] != ""
        assert "is up to date" in outputs[1][1]
        assert len(fake.calls("compiled")) == len(fake.calls("linked")) == 1
        assert building.compile(TEXT, name="shared").path == outputs[0][0].strip()

    def test_a_builder_that_was_killed_is_in_nobodys_way(self, fake, own_cache):
        fake.hold()
        with started() as first, fake.compiling():
            first.kill()
            first.communicate()
        (left,) = [path for path in own_cache.iterdir() if path.name.startswith("building-")]
        building.compile(TEXT, name="shared")
        assert not left.exists()
        assert len(fake.calls("linked")) == 1

    def test_an_interrupt_ends_the_compiler(self, fake, own_cache):
        fake.hold()
        with started() as first, fake.compiling():
            first.send_signal(signal.SIGINT)
            assert first.communicate(timeout=60)[0] == "interrupted\n"
            assert fake.nobody_is_left()
        assert [path for path in own_cache.iterdir() if path.name.startswith(("building-", "shared"))] == []
        assert Path(building.compile(TEXT, name="shared").path).exists()

    def test_a_compiler_that_hangs_is_stopped(self, fake, own_cache, monkeypatch):
        fake.hold()
        monkeypatch.setenv("MINPY_COMPILE_TIMEOUT", "1")
        with started() as first, fake.compiling():
            _, said = first.communicate(timeout=60)
            assert fake.nobody_is_left()
        text = "fake++ has not ended after 1 s, and was stopped. The environment variable MINPY_COMPILE_TIMEOUT allows more"
        assert text in said
        assert " -c -o " in said
        assert [path for path in own_cache.iterdir() if path.name.startswith(("building-", "shared"))] == []
