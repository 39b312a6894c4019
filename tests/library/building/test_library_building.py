"""`library.compile`: what is built of what, when it is built again, and what is said when that fails."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_compiler import TEXT
from hypothesis import given, settings
from hypothesis import strategies as st
from native.building import compiler as real_compiler

from minpy import files
from minpy.core.errors import (
    ArgumentError,
    BuildError,
    FileAccessError,
)
from minpy.library import building
from minpy.library.building import cache, compilers, recipe
from minpy.library.building.cache import Cache
from minpy.library.building.compilers import split_flags
from minpy.library.building.processes import CompletedCommand
from minpy.library.building.recipe import Recipe, Source, included, key_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake compiler is a shell script")
needs_compiler = pytest.mark.skipif(real_compiler() is None, reason="there is no C++ compiler")


def content(library):
    return Path(library.path).read_text()


def left_over(root):
    return [path.name for path in root.iterdir() if path.name.startswith("building-")]


# -- what the compiler is told ------------------------------------------------------------------------------------


@posix
class TestCommands:
    def test_files_and_flags_stand_in_their_order(self, fake, tmp_path, monkeypatch):
        monkeypatch.setenv("CPPFLAGS", "-DFROM_CPPFLAGS")
        monkeypatch.setenv("CXXFLAGS", "-O2 '-DWORDS=a b'")
        monkeypatch.setenv("LDFLAGS", "-L/from/ldflags")
        source = tmp_path / "gemm.cc"
        source.write_text(TEXT)
        building.compile(source, extra_flags=["-lblas", "-std=c++11", "-march=native"])
        (compiled,) = fake.calls("compiled")
        words = (
            f"-first -std=c++17 -O3 -Wall -fPIC -DFROM_CPPFLAGS -O2 -DWORDS=a b -std=c++11 -march=native "
            f"-I {building.include_dir()} -x c++ {source} -c -o "
        )
        assert compiled.startswith(words)
        (linked,) = fake.calls("linked")
        assert "-shared -o " in linked
        assert linked.endswith(" -L/from/ldflags -lblas")

    def test_c_is_compiled_as_c(self, fake, tmp_path, monkeypatch):
        monkeypatch.setenv("CFLAGS", "-std=c99")
        for name in ("one.c", "two.CPP", "three.cxx"):
            (tmp_path / name).write_text("int x;\n")
        building.compile([tmp_path / name for name in ("one.c", "two.CPP", "three.cxx")], name="mixed")
        languages = {line.split(" -x ")[1].split()[0]: line for line in fake.calls("compiled")}
        assert len(fake.calls("compiled")) == 3
        assert "-std=c++17" not in languages["c"]
        assert "-std=c99" in languages["c"]
        assert "-std=c++17" in languages["c++"]
        assert "-std=c99" not in languages["c++"]

    def test_unique_symbols_and_undefined_ones(self):
        gcc = compilers.Compiler(("g++",), "", "", {"__GNUC__": "12", "__ELF__": "1"})
        assert "-fno-gnu-unique" in gcc.compiling("c++", [])
        assert "-Wl,-z,defs" in gcc.linking([])
        assert "-Wl,-z,defs" not in gcc.linking(["-fsanitize=address"])  # Clang links its runtime to programs only
        clang = compilers.Compiler(("clang++",), "", "", {"__GNUC__": "4", "__clang__": "1", "__ELF__": "1"})
        assert "-fno-gnu-unique" not in clang.compiling("c++", [])
        assert "-fPIC" in clang.compiling("c++", [])
        windows = compilers.Compiler(("g++",), "", "", {"__GNUC__": "12", "_WIN32": "1"})
        assert "-fPIC" not in windows.compiling("c++", [])
        assert "-static-libgcc" in windows.linking([])

    @pytest.mark.parametrize(
        ("flags", "compiling", "linking"),
        [
            (["-L", "/x", "-lm", "-g"], ["-g"], ["-L", "/x", "-lm"]),
            (["-include", "made.o", "made.o"], ["-include", "made.o"], ["made.o"]),
            (["-framework", "Accelerate", "-fopenmp"], ["-fopenmp"], ["-framework", "Accelerate"]),
            (["-Xlinker", "-O1", "@file"], ["@file"], ["-Xlinker", "-O1"]),
            (["lib/liba.A", "-static-libstdc++"], [], ["lib/liba.A", "-static-libstdc++"]),
            (["-I"], ["-I"], []),
        ],
    )
    def test_flags_for_the_linker(self, flags, compiling, linking):
        assert split_flags(flags) == (compiling, linking)

    def test_the_first_compiler_there_is(self, fake, tmp_path, monkeypatch):
        monkeypatch.delenv("CXX")
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "clang++").symlink_to(fake.path)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
        monkeypatch.setattr(compilers, "_NAMES", ("none++", "clang++"))
        assert compilers.find_compiler().command == (str(folder / "clang++"),)

    def test_a_path_with_blanks_in_cxx_needs_no_quotes(self, fake, monkeypatch):
        monkeypatch.setenv("CXX", str(fake.path))
        assert compilers.find_compiler().command == (str(fake.path),)

    def test_what_is_said_is_shown_when_asked_for(self, fake, capfd):
        fake.tell(compile_says="a.cc:1:2: \x1b[35mwarning: \x1b[0mno newline\n")
        building.compile(TEXT, name="quiet")
        assert capfd.readouterr() == ("", "")
        building.compile(TEXT, name="quiet", verbose=True)
        out, err = capfd.readouterr()
        assert out == ""
        assert err.splitlines()[0].endswith("quiet.so is up to date")
        assert err.splitlines()[1:] == ["a.cc:1:2: warning: no newline"]
        building.compile(TEXT, name="loud", verbose=True)
        err = capfd.readouterr().err
        assert "fake++' -first -std=c++17" in err
        assert "a.cc:1:2: warning: no newline" in err


# -- the key --------------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b"])
flags = st.lists(st.sampled_from(["-O2", "-g", "-lm", "-DX=1"]), max_size=3)
values = st.sampled_from(["", "1", "2"])
ingredients = st.fixed_dictionaries(
    {
        "name": names,
        "source": values.map(str.encode),
        "language": st.sampled_from(["c", "c++"]),
        "included": st.dictionaries(names, values, max_size=2),
        "header": values,
        "flags": flags,
        "CXXFLAGS": flags,
        "LDFLAGS": flags,
        "CPATH": values,
        "command": st.sampled_from([("g++",), ("ccache", "g++")]),
        "version": values,
        "target": values,
        "macros": st.dictionaries(names, values, max_size=2),
    }
)


class TestKey:
    @staticmethod
    def key(folder, one):
        """Return the key of a library made of these ingredients."""
        shutil.rmtree(folder, ignore_errors=True)
        include = folder / "include"
        include.mkdir(parents=True)
        (include / "lib_api.h").write_text(one["header"])
        path = folder / "source.x"
        path.write_bytes(one["source"])
        for name, text in one["included"].items():
            (folder / f"{name}.h").write_text(text)
        rule = "key: " + " ".join(str(folder / f"{name}.h") for name in one["included"])
        with pytest.MonkeyPatch.context() as patch:
            compiler = compilers.Compiler(one["command"], one["version"], one["target"], one["macros"])
            patch.setattr(recipe, "find_compiler", lambda flags: compiler)
            patch.setattr(recipe, "run_all", lambda commands: [CompletedCommand(("g++",), 0, rule)])
            patch.setenv("CXXFLAGS", " ".join(one["CXXFLAGS"]))
            patch.setenv("LDFLAGS", " ".join(one["LDFLAGS"]))
            patch.setenv("CPATH", one["CPATH"])
            source = Source(str(path), one["language"], one["source"])
            return Recipe(one["name"], [source], one["flags"], str(include)).order(Cache(str(folder), False)).key

    @given(ingredients, ingredients, st.data())
    @settings(max_examples=60, deadline=None)
    def test_any_change_of_any_ingredient_changes_it(self, tmp_path_factory, one, other, data):
        folder = tmp_path_factory.getbasetemp() / "ingredients"
        changed = {
            **one,
            **{what: other[what] for what in data.draw(st.sets(st.sampled_from(sorted(one)), max_size=2))},
        }
        assert (self.key(folder, one) == self.key(folder, changed)) == (one == changed)

    @given(st.lists(st.sampled_from(["-O2", "-g", "-lm", "-lblas"]), max_size=4), st.data())
    @settings(max_examples=40, deadline=None)
    def test_the_order_of_flags_matters(self, tmp_path_factory, flags, data):
        folder = tmp_path_factory.getbasetemp() / "flags"
        other = data.draw(st.permutations(flags))
        empty = {"name": "a", "source": b"", "language": "c++", "included": {}, "header": "", "CXXFLAGS": []}
        empty |= {"LDFLAGS": [], "CPATH": "", "command": ("g++",), "version": "", "target": "", "macros": {}}
        keys = [self.key(folder, {**empty, "flags": one}) for one in (flags, other)]
        assert (keys[0] == keys[1]) == (flags == other)

    def test_it_stays_the_same_in_other_processes(self):
        assert key_of({"a": ["b"]}) == "fd7aed09f2bdd9a8027ed00523c3da064615c520c6f2387cb0d3a57f08914dae"


NAMES = [
    "plain.h",
    "two words.h",
    "h#sh.h",
    "doll$r.h",
    "a'quote.h",
    'a"quote.h',
    "ünïcode.h",
    "back\\slash.h",
    "a\\ b.h",
]


class TestIncluded:
    @needs_compiler
    @pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not have")
    @pytest.mark.parametrize("name", NAMES)
    def test_names_of_files_as_the_compiler_writes_them(self, tmp_path, name):
        (tmp_path / name).write_text("int x;\n")
        source = tmp_path / "one.cc"
        source.write_text("int y;\n")
        flags = ["-include", str(tmp_path / name)]
        order = Recipe("one", [Source(str(source), "c++", b"int y;\n")], flags, building.include_dir()).order(
            Cache(str(tmp_path / "cache"), False)
        )
        contents = dict(order._digests)
        assert contents.get(str(tmp_path / name)) == cache.digest(b"int x;\n")

    def test_rules(self):
        assert included("key: a.cc \\\n  b.h \\\r\n c\\\\d.h") == ["a.cc", "b.h", "c\\\\d.h"]
        assert included("key:") == []


# -- built once, and again when something has changed --------------------------------------------------------------


@posix
class TestAgain:
    def test_only_the_first_call_compiles(self, fake, loads, own_cache):
        first = building.compile(TEXT, name="once")
        again = building.compile(TEXT, name="once")
        assert first.path == again.path
        assert len(fake.calls("compiled")) == 1
        assert [load.replace for load in loads] == [False, first]
        assert content(again) == "a library\n"
        assert Path(first.path).parent.parent == own_cache
        assert Path(first.path).name == "once.so"
        assert own_cache.stat().st_mode & 0o777 == 0o700
        assert left_over(own_cache) == []

    CHANGES = {
        "source": lambda test: test.source.write_text("int b;\n"),
        "header of one's own": lambda test: test.header.write_text("int c;\n"),
        "flags": lambda test: test.flags.append("-g"),
        "an archive among the flags": lambda test: test.archive.write_text("other objects"),
        "compiler": lambda test: test.fake.tell(version="fake 1.1\n"),
        "CXXFLAGS": lambda test: test.monkeypatch.setenv("CXXFLAGS", "-O1"),
        "LIBRARY_PATH": lambda test: test.monkeypatch.setenv("LIBRARY_PATH", "/x"),
        "our header": lambda test: test.ours.write_text("// other"),
    }

    @pytest.mark.parametrize("change", CHANGES)
    def test_changes(self, fake, tmp_path, monkeypatch, change):
        test = SimpleNamespace(fake=fake, monkeypatch=monkeypatch)
        test.source, test.header, test.archive = (tmp_path / name for name in ("one.cc", "one.h", "lib one.a"))
        test.ours = tmp_path / "include" / "lib_api.h"
        test.ours.parent.mkdir()
        for path in (test.source, test.header, test.archive, test.ours):
            path.write_text("int a;\n")
        monkeypatch.setattr(building, "include_dir", lambda: str(test.ours.parent))
        fake.tell(included=f" {test.source} {test.header}\n")
        test.flags = [str(test.archive)]
        before = building.compile(test.source, extra_flags=test.flags)
        self.CHANGES[change](test)
        after = building.compile(test.source, extra_flags=test.flags)
        assert before.path != after.path
        assert len(fake.calls("compiled")) == 2
        assert after.replace is before

    def test_a_source_that_changes_while_it_is_compiled(self, fake, tmp_path):
        source = tmp_path / "edited.cc"
        source.write_text("int a;\n")
        fake.tell(included=f" {source}\n")
        fake.tell(meanwhile=f'#!/bin/sh\necho "int b;" > {source}\nrm "$0"\n')
        (fake.folder / "meanwhile").chmod(0o755)
        first = building.compile(source)
        assert len(fake.calls("compiled")) == 2
        assert building.compile(source).path == first.path
        assert len(fake.calls("compiled")) == 2

    DAMAGES = {
        "truncated": lambda library, record: library.write_bytes(library.read_bytes()[:3]),
        "empty": lambda library, record: library.write_bytes(b""),
        "another's": lambda library, record: library.write_bytes(b"not a library"),
        "removed": lambda library, record: library.unlink(),
        "no record": lambda library, record: record.unlink(),
        "half a record": lambda library, record: record.write_text(record.read_text()[:50]),
        "a record of something else": lambda library, record: record.write_text("[1, 2]"),
        "a record of another key": lambda library, record: record.write_text(
            record.read_text().replace('"key": "', '"key": "0')
        ),
        "a record that is no text": lambda library, record: record.write_bytes(b"\xff\xfe\x00"),
        "a folder for a library": lambda library, record: (library.unlink(), library.mkdir()),
        "a file for the folder": lambda library, record: (shutil.rmtree(library.parent), library.parent.write_text("")),
        "an empty folder": lambda library, record: (shutil.rmtree(library.parent), library.parent.mkdir()),
    }

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_what_is_damaged_is_built_again(self, fake, own_cache, damage):
        path = Path(building.compile(TEXT, name="damaged").path)
        self.DAMAGES[damage](path, path.parent / "build.json")
        assert building.compile(TEXT, name="damaged").path == str(path)
        assert path.read_text() == "a library\n"
        assert len(fake.calls("compiled")) == 2
        building.compile(TEXT, name="damaged")
        assert len(fake.calls("compiled")) == 2
        assert left_over(own_cache) == []

    def test_a_text_that_was_changed_in_the_cache_is_written_again(self, fake, own_cache):
        building.compile(TEXT, name="text")
        (path,) = own_cache.glob("texts/*/text.cc")
        path.write_text("int other;\n")
        building.compile(TEXT, name="text")
        assert path.read_text() == TEXT

    def test_versions_of_one_library_have_one_name(self, fake, tmp_path, loads):
        for folder in ("here", "there"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "ops.cc").write_text("int a;\n")
        here = building.compile(tmp_path / "here" / "ops.cc")
        building.compile(tmp_path / "there" / "ops.cc")
        assert loads[-1].replace is False  # of the same name, and another library: its operators are no new versions
        (tmp_path / "here" / "ops.cc").write_text("int b;\n")
        building.compile(tmp_path / "here" / "ops.cc")
        assert loads[-1].replace is here
        named = building.compile(tmp_path / "here" / "ops.cc", name="named")
        assert loads[-1].replace is False
        building.compile(tmp_path / "there" / "ops.cc", name="named")
        assert loads[-1].replace is named


@posix
class TestFolders:
    @pytest.mark.parametrize(
        ("variables", "platform", "expected"),
        [
            ({"MINPY_CACHE": "/m"}, "linux", "/m/native"),
            ({"MINPY_CACHE": "~/m"}, "linux", "/home/me/m/native"),
            ({"XDG_CACHE_HOME": "/x"}, "linux", "/x/minpy/native"),
            ({"XDG_CACHE_HOME": "relative"}, "linux", "/home/me/.cache/minpy/native"),
            ({}, "linux", "/home/me/.cache/minpy/native"),
            ({}, "darwin", "/home/me/Library/Caches/minpy/native"),
            ({"LOCALAPPDATA": "/local"}, "win32", "/local/minpy/native"),
            ({}, "win32", "/home/me/AppData/Local/minpy/native"),
        ],
    )
    def test_where_the_cache_is(self, monkeypatch, variables, platform, expected):
        for name in ("MINPY_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", "/home/me")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(files, "sys", SimpleNamespace(platform=platform))
        assert cache.default_root() == expected

    def test_a_folder_of_ones_own(self, fake, tmp_path, own_cache, monkeypatch):
        monkeypatch.chdir(tmp_path)
        library = building.compile(TEXT, name="mine", build_dir="my folder")
        assert Path(library.path).parent.parent == tmp_path / "my folder"
        assert not own_cache.exists()

    def test_one_that_cannot_be_made_is_an_error(self, fake, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(FileAccessError, match=r"library\.compile: cannot write '.*file/in': Not a directory"):
            building.compile(TEXT, build_dir=tmp_path / "file" / "in")
        with pytest.raises(ArgumentError, match=r"library\.compile: fname must be a str or PathLike, got int 3"):
            building.compile(TEXT, build_dir=3)

    def test_a_cache_that_cannot_be_written_is_done_without(self, fake, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("MINPY_CACHE", str(tmp_path / "file"))
        text = (
            r"nothing can be kept in .*file/native \(Not a directory\): t is built in a temporary folder, and will be "
        )
        text += r"built again next time\. Set the environment variable MINPY_CACHE"
        with pytest.warns(UserWarning, match=text) as warned:
            library = building.compile(TEXT, name="t")
        assert warned[0].filename == __file__
        assert content(library) == "a library\n"
        assert not library.path.startswith(str(tmp_path))

    def test_a_cache_that_cannot_be_written_is_read(self, fake, monkeypatch):
        before = building.compile(TEXT, name="t")

        def refuse(*arguments, **settings):
            raise OSError(errno.EROFS, "Read-only file system")

        for function in ("mkdir", "makedirs", "rename", "utime"):
            monkeypatch.setattr(os, function, refuse)
        monkeypatch.setattr(Cache, "locked", refuse)
        monkeypatch.setattr(cache, "write_whole", refuse)
        assert building.compile(TEXT, name="t").path == before.path
        assert len(fake.calls("compiled")) == 1

    @pytest.mark.parametrize("place", ["text", "record", "library"])
    def test_no_space_left(self, fake, own_cache, monkeypatch, place):
        full = OSError(errno.ENOSPC, "No space left on device")

        def refuse(*arguments, **settings):
            raise full

        with monkeypatch.context() as patch:
            if place == "text":
                patch.setattr(cache, "write_whole", refuse)
            elif place == "record":
                patch.setattr(cache.json, "dumps", refuse)
            else:
                patch.setattr(cache.os, "mkdir", refuse)
            with pytest.warns(UserWarning, match="No space left on device"), pytest.raises(OSError):
                building.compile(TEXT, name="full")
        assert not own_cache.exists() or left_over(own_cache) == []
        assert content(building.compile(TEXT, name="full")) == "a library\n"

    def test_the_compiler_has_no_space_left(self, fake):
        fake.tell(compile_says="fatal error: error writing to /x/1.o: No space left on device\n", compile_returns="1")
        with pytest.raises(BuildError, match="Make room there, or set the environment variable MINPY_CACHE"):
            building.compile(TEXT)

    def test_it_keeps_what_was_used_last(self, fake, own_cache, monkeypatch):
        fake.tell(library="x" * 1000)
        now = time.time()
        paths = {}
        for age, name in ((5, "oldest"), (4, "old"), (3, "used again"), (0, "just used")):
            paths[name] = Path(building.compile(TEXT, name=name.replace(" ", "_")).path)
            used = now - age * 86400
            os.utime(paths[name].parent / "build.json", (used, used))
        building.compile(TEXT, name="used_again")
        (own_cache / "building-of-somebody-killed").mkdir()
        os.utime(own_cache / "building-of-somebody-killed", (now - 3 * 86400,) * 2)
        (own_cache / "building-now").mkdir()
        for text in own_cache.glob("texts/*/old*.cc"):
            os.utime(text, (now - 100 * 86400,) * 2)
        (own_cache / "notes of mine").mkdir()
        (own_cache / "a file").write_text("")
        sizes = [sum(one.stat().st_size for one in path.parent.iterdir()) for path in paths.values()]
        monkeypatch.setattr(cache, "LIMIT", 3 * max(sizes) + 10)
        newest = building.compile(TEXT, name="newest").path
        assert [name for name, path in paths.items() if path.exists()] == ["used again", "just used"]
        assert Path(newest).exists()
        assert left_over(own_cache) == ["building-now"]
        assert (own_cache / "notes of mine").exists()
        assert (own_cache / "a file").exists()
        assert {path.name for path in own_cache.glob("texts/*/*.cc")} >= {"used_again.cc", "newest.cc"}

    def test_what_is_in_use_stays_however_much_it_is(self, fake, monkeypatch):
        monkeypatch.setattr(cache, "LIMIT", 1)
        libraries = [building.compile(TEXT, name=f"n{number}").path for number in range(3)]
        assert all(map(os.path.exists, libraries))

    def test_nothing_of_a_folder_of_ones_own_is_removed(self, fake, tmp_path, monkeypatch):
        monkeypatch.setattr(cache, "LIMIT", 1)
        monkeypatch.setattr(cache, "_IN_USE_SECONDS", -1.0)
        libraries = [building.compile(TEXT, name=f"n{number}", build_dir=tmp_path / "own").path for number in range(3)]
        assert all(map(os.path.exists, libraries))
