"""`library.compile` with the real compiler: operators that are called, edited, and compiled again."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy
import pytest
from native.building import SOURCES
from native.building import compiler as real_compiler

import minpy as mx
from minpy import autograd, libinfo, library, nd
from minpy.core.configured import FAMILIES
from minpy.core.errors import BuildError, LibraryError

pytestmark = pytest.mark.skipif(real_compiler() is None, reason="there is no C++ compiler")

QUICK = ["-O0"]
SCALE = """
#include "raw.h"
#include "factor.h"
static int one(const Attributes* a, int* in, int* out) { (void)a; *in = *out = 1; return SUCCESS; }
static int shape(const Attributes* a, Shape* in, int m, Shape* out, int n) { out[0] = in[0]; return SUCCESS; }
static int type(const Attributes* a, int* in, int m, int* out, int n) { out[0] = in[0]; return SUCCESS; }
static int forward(Call* c) {
    for (int64_t i = size_of(c->in); i-- > 0;) put(c->out, i, FACTOR * get(c->in, i));
    return SUCCESS;
}
static int backward(Call* c) {
    for (int64_t i = size_of(c->in); i-- > 0;) put(c->out, i, FACTOR * get(c->in, i));
    return SUCCESS;
}
const Operator OPERATORS[] = {{NAMES}};
const int NUM_OPERATORS = sizeof(OPERATORS) / sizeof(Operator);
"""


def entries(*names):
    return ", ".join(f'{{"{name}", one, shape, type, forward, backward, NULL, NULL, NULL, CPU, 0}}' for name in names)


class Project:
    """A folder with a source and a header in it."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.source = folder / "scale.c"
        self.header = folder / "factor.h"

    def write(self, factor, *names):
        self.header.write_text(f"#define FACTOR {factor}\n")
        self.source.write_text(SCALE.replace("{NAMES}", f"{{{entries(*names)}}}"[1:-1]))
        return self

    def compile(self, **settings):
        flags = [f"-I{SOURCES}", "-Wno-unused-function", *QUICK]
        return library.compile(self.source, extra_flags=flags, **settings)


@pytest.fixture
def forget(monkeypatch):
    """Take back what a test has loaded."""
    from minpy.library import loading

    before = dict(loading._LIBRARIES)
    yield
    for path, one in [*loading._LIBRARIES.items()]:
        if path not in before:
            loading._unload(one)


def scaled(name="building_scale"):
    return getattr(nd, name)(nd.array([1, 2])).asnumpy().tolist()


def test_an_edit_takes_the_place_of_what_was_there(tmp_path, forget):
    project = Project(tmp_path).write(2, "building_scale", "building_dropped")
    first = project.compile()
    assert first.operators == ("building_scale", "building_dropped")
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        y = nd.building_scale(x)
    symbol = mx.sym.building_scale(mx.sym.var("x"))
    executor = symbol.bind(mx.cpu(), {"x": nd.array([1, 2])})
    assert scaled() == [2, 4]

    project.write(3, "building_scale", "building_new")
    second = project.compile()
    assert second.path != first.path
    assert scaled() == [3, 6]
    assert scaled("building_new") == [3, 6]
    assert not hasattr(nd, "building_dropped")
    assert "building_dropped" not in FAMILIES
    assert library.loaded()[-1] is second
    assert first not in library.loaded()
    y.backward()  # with the gradient of the forward that was recorded
    assert x.grad.asnumpy().tolist() == [2, 2]
    assert executor.forward()[0].asnumpy().tolist() == [2, 4]

    project.write(2, "building_scale", "building_dropped")
    third = project.compile()  # as it was: nothing is compiled, and yet it is what counts again
    assert third.path == first.path
    assert scaled() == [2, 4]
    assert scaled("building_dropped") == [2, 4]
    assert not hasattr(nd, "building_new")
    assert project.compile() is third


def test_an_edit_that_does_not_compile_leaves_what_was_there(tmp_path, forget):
    project = Project(tmp_path).write(2, "building_scale")
    project.compile()
    project.header.write_text("#define FACTOR two\n")
    with pytest.raises(BuildError) as raised:
        project.compile()
    assert re.search(
        rf"cannot compile scale\.c:\n{re.escape(str(project.header))}:1:16: error: .two. undeclared", str(raised.value)
    )
    assert raised.value.filename == str(project.header)
    assert raised.value.lineno == 1
    assert scaled() == [2, 4]
    project.header.write_text("#define FACTOR 3\n")
    project.compile()
    assert scaled() == [3, 6]


def test_another_library_may_not_have_the_same_operator(tmp_path, forget):
    Project(tmp_path / "one").write(2, "building_scale").compile()
    other = Project(tmp_path / "other").write(3, "building_fresh", "building_scale")
    with pytest.raises(
        LibraryError, match=r"has an operator 'building_scale', which .*scale\.so has already"
    ) as raised:
        other.compile()
    assert "Rename one of them" in str(raised.value)
    assert scaled() == [2, 4]
    assert not hasattr(nd, "building_fresh")
    library.load(re.search(r"library\.load: (\S+) has", str(raised.value))[1], verbose=False, replace=True)
    assert scaled() == [3, 6]


def test_a_library_under_one_name_in_two_places(tmp_path, forget):
    Project(tmp_path / "one").write(2, "building_scale").compile(name="mine")
    Project(tmp_path / "other").write(3, "building_scale").compile(name="mine")
    assert scaled() == [3, 6]


def test_warnings_and_what_is_found_are_shown_when_asked_for(tmp_path, forget, capfd):
    project = Project(tmp_path).write(2, "building_scale")
    project.header.write_text("#define FACTOR 2\nstatic int f(void) { int unused; return 1; }\n")
    project.compile(verbose=True)
    first = capfd.readouterr().err
    project.compile(verbose=True)
    again = capfd.readouterr().err
    for text in (first, again):
        assert re.search(r"factor\.h:2:\d+: warning: unused variable .unused.", text)
        assert "Found 1 operators in library\n\tOp[0] building_scale\n" in text
    assert " -c -o " in first
    assert " -c -o " not in again
    assert "scale.so is up to date" in again
    project.compile()
    assert capfd.readouterr() == ("", "")


ODD = ["two words, quo'te", 'quo"te ünïcode $HOME #1', "-back\\slash;[x]*?"]


@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not have")
def test_odd_paths(tmp_path, forget, monkeypatch):
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    for number, name in enumerate(ODD):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own.h").write_text("int f();\n")
        (folder / f"{name}.cc").write_text('#include "own.h"\nint f() { return 1; }\n')
        paths = [Path("..") / name / f"{name}.cc", folder / f"{name}.cc"]
        with pytest.raises(LibraryError, match="_opVersion"):  # built, and no library of operators
            library.compile(paths[number % 2], extra_flags=QUICK, build_dir=folder / "built")
        assert len([*(folder / "built").glob("*/*.so")]) == 1
        (folder / "own.h").write_text("float f();\n")
        with pytest.raises(BuildError, match=r"own\.h|\.cc:2:5"):
            library.compile(paths[number % 2], extra_flags=QUICK, build_dir=folder / "built")


def test_texts_include_files_of_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.h").write_text("#define MINE 1\n")
    text = '#include "mine.h"\n#if !MINE\n#error "another one"\n#endif\nint f() { return 1; }\n'
    with pytest.raises(LibraryError):
        library.compile(text, extra_flags=QUICK)
    (tmp_path / "mine.h").write_text("#define MINE 0\n")
    with pytest.raises(BuildError, match=r'operators\.cc:3:2: error: #error "another one"'):
        library.compile(text, extra_flags=QUICK)


def test_headers_of_system_folders_are_watched_too(tmp_path):
    (tmp_path / "system").mkdir()
    header = tmp_path / "system" / "theirs.h"
    header.write_text("inline int theirs() { return 1; }\n")
    flags = [*QUICK, "-isystem", str(tmp_path / "system")]
    text = "#include <theirs.h>\nint f() { return theirs(); }\n"
    for content in ("inline int theirs() { return 2; }\n", "inline int theirs() { return 3; }\n"):
        header.write_text(content)
        with pytest.raises(LibraryError):
            library.compile(text, name="theirs", extra_flags=flags)
    assert len([*Path(library.building.default_root()).glob("theirs-*")]) == 2


def test_what_is_not_defined_is_said_when_it_is_linked():
    text = "int elsewhere();\nint f() {\n  return elsewhere();\n}\n"
    with pytest.raises(
        BuildError, match=r"cannot link undefined:\n.*undefined reference to `elsewhere\(\)'|undefined symbol"
    ):
        library.compile(text, name="undefined", extra_flags=QUICK)


def test_a_library_written_as_text_with_our_header(forget):
    text = r"""
    #include "lib_api.h"
    using namespace mxnet::ext;
    using Attributes = std::unordered_map<std::string, std::string>;

    MXReturnValue forward(const Attributes&, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
      const float* x = in->at(0).data<float>();
      for (int64_t i = 0; i < in->at(0).size(); ++i) out->at(0).data<float>()[i] = x[i] + 1;
      return MX_SUCCESS;
    }
    MXReturnValue parse(const Attributes&, int* in, int* out) { *in = *out = 1; return MX_SUCCESS; }
    MXReturnValue type(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
      out->at(0) = in->at(0) = kFloat32;
      return MX_SUCCESS;
    }
    MXReturnValue shape(const Attributes&, std::vector<std::vector<unsigned int>>* in,
                        std::vector<std::vector<unsigned int>>* out) {
      out->at(0) = in->at(0);
      return MX_SUCCESS;
    }
    REGISTER_OP(building_increment)
        .setForward(forward, "cpu").setParseAttrs(parse).setInferType(type).setInferShape(shape);
    MXReturnValue initialize(int) { return MX_SUCCESS; }
    """
    made = library.compile(text, extra_flags=[*QUICK, "-std=c++11"])
    assert Path(made.path).stem == "building_increment"
    assert made.operators == ("building_increment",)
    numpy.testing.assert_array_equal(nd.building_increment(nd.array([1, 2])).asnumpy(), [2, 3])


def test_the_folder_of_the_header():
    assert library.include_dir() == libinfo.find_include_path()
    assert (Path(library.include_dir()) / "mxnet" / "lib_api.h").is_file()
    assert (Path(library.include_dir()) / "lib_api.h").is_file()
