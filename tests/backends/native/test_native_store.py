"""Objects in files: found whole or not at all."""

import errno
import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy.backends.native.machine.code_cache as store_module
from minpy.backends.native.machine.code_cache import Store, digest
from minpy.dropin.launcher import main

KEY, OTHER = digest("key"), digest("other")
CONTENT = bytes(range(256)) + b"\n{}\n"


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "kernels"))


def path_of(store, key=KEY):
    return os.path.join(store.root, key[:32] + ".object")


def test_kept_and_found(store):
    assert store.find(KEY) is None
    assert store.keep(KEY, CONTENT, ["g", "f"])
    assert store.find(KEY) == (CONTENT, ("f", "g"))
    assert store.find(OTHER) is None
    assert os.stat(store.root).st_mode & 0o777 == 0o700


@settings(max_examples=30)
@given(content=st.binary(max_size=300), names=st.lists(st.text(max_size=5), unique=True, max_size=4))
def test_anything_can_be_kept(tmp_path_factory, content, names):
    store = Store(str(tmp_path_factory.getbasetemp() / "anything"))
    assert store.keep(KEY, content, names)
    assert store.find(KEY) == (content, tuple(sorted(names)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_not_waited_for(store):
    store.keep(KEY, CONTENT, ["f"])
    os.remove(path_of(store))
    os.mkfifo(path_of(store))
    os.symlink("/dev/zero", path_of(store, OTHER))
    assert store.find(KEY) is None
    assert store.find(OTHER) is None


def test_cut_off_at_every_length(store):
    store.keep(KEY, CONTENT, ["f"])
    with open(path_of(store), "rb") as file:
        whole = file.read()
    for length in range(len(whole)):
        with open(path_of(store), "wb") as file:
            file.write(whole[:length])
        assert store.find(KEY) is None, length
    with open(path_of(store), "wb") as file:
        file.write(whole + b"\0")
    assert store.find(KEY) is None


def test_every_byte_changed(store):
    store.keep(KEY, CONTENT, ["f"])
    with open(path_of(store), "rb") as file:
        whole = file.read()
    for at in range(len(whole)):
        for change in (1, 0x20, 0xFF):
            with open(path_of(store), "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :])
            assert store.find(KEY) in (None, (CONTENT, ("f",))), at


@pytest.mark.parametrize("line", [b"[]", b"{}", b"null", b"[" * 100_000, b"\xff", b'{"key": 1}'])
def test_lines_that_are_none_of_ours(store, line):
    store.keep(KEY, CONTENT, ["f"])
    with open(path_of(store), "wb") as file:
        file.write(b"minpy object 1\n" + line + b"\n" + CONTENT)
    assert store.find(KEY) is None


def test_the_object_of_another_key(store):
    store.keep(OTHER, CONTENT, ["f"])
    os.rename(path_of(store, OTHER), path_of(store))
    assert store.find(KEY) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="users of POSIX")
def test_the_object_of_another_user(store, monkeypatch):
    store.keep(KEY, CONTENT, ["f"])
    os.chown(path_of(store), 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert store.find(KEY) is None


@pytest.mark.parametrize("failing", ["makedirs", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_is_full_or_read_only(store, monkeypatch, failing, number):
    def fail(*paths, **options):
        raise OSError(number, os.strerror(number))

    os.makedirs(store.root)
    monkeypatch.setattr(os, failing, fail)
    assert not store.keep(KEY, CONTENT, ["f"])
    monkeypatch.undo()
    assert os.listdir(store.root) == []


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    store = Store(str(tmp_path / "kernels"), limit=2500)
    keys = [digest(str(number)) for number in range(6)]
    now = time.time()
    for number, key in enumerate(keys[:5]):
        store.keep(key, bytes(800), ["f"])
        os.utime(path_of(store, key), (now - 100_000 + number,) * 2)
    assert store.find(keys[0]) is not None  # used again
    assert [entry.path for entry in store.entries()][-1] == path_of(store, keys[0])
    store.keep(keys[5], bytes(800), ["f"])
    store.clean()
    assert {key for key in keys if store.find(key)} == {keys[0], keys[5]}
    assert sum(entry.size for entry in store.entries()) <= 2500


def test_one_that_is_larger_than_the_limit_stays(tmp_path):
    store = Store(str(tmp_path / "kernels"), limit=10)
    store.keep(KEY, CONTENT, ["f"])
    assert store.find(KEY) is not None


def test_the_folder_is_looked_through_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_before_cleaning", 0)
    store = Store(str(tmp_path / "kernels"), limit=2000)
    for number in range(100):
        Store(store.root, limit=2000).keep(digest(str(number)), bytes(500), ["f"])
    assert len(store.entries()) < 70


def test_only_its_own_files_are_removed(store):
    store.keep(KEY, CONTENT, ["f"])
    strange = ["notes.txt", "short.object", "g" * 32 + ".object"]
    for name in strange:
        with open(os.path.join(store.root, name), "w") as file:
            file.write("mine")
    assert len(store.entries()) == 1
    count, size = store.clear()
    assert (count, size > len(CONTENT)) == (1, True)
    assert sorted(os.listdir(store.root)) == sorted(strange)
    assert store.clear() == (0, 0)


class TestCommand:
    @pytest.fixture(autouse=True)
    def cache(self, monkeypatch, tmp_path):
        monkeypatch.setenv("MINPY_CACHE", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_empty(self, cache, capsys):
        assert main(["compile-cache"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"folder   {cache / 'kernels'}",
            "entries  0",
            "size     0 B of at most 256.0 MiB",
        ]

    def test_shown_and_cleared(self, cache, capsys):
        store = Store()
        store.keep(KEY, bytes(2000), ["f"])
        store.keep(OTHER, bytes(1000), ["f"])
        os.utime(path_of(store), (time.mktime((2026, 2, 3, 4, 5, 6, 0, 0, -1)),) * 2)
        assert main(["compile-cache", "show"]) == 0
        said = capsys.readouterr().out.splitlines()
        assert said[1] == "entries  2"
        assert said[2].startswith("size     3.")
        assert said[2].endswith(" KiB of at most 256.0 MiB")
        assert said[3] == "oldest   last used 2026-02-03 04:05:06"
        assert said[4].startswith("newest   last used 20")
        assert main(["compile-cache", "clear"]) == 0
        assert capsys.readouterr().out.startswith("removed 2 objects, 3.")
        assert store.entries() == []

    def test_one_object(self, capsys):
        Store().keep(KEY, b"", [])
        assert main(["compile-cache", "clear"]) == 0
        assert capsys.readouterr().out.startswith("removed 1 object, ")

    def test_what_cannot_be_removed(self, monkeypatch, capsys):
        Store().keep(KEY, CONTENT, ["f"])

        def refuse(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)

        monkeypatch.setattr(os, "unlink", refuse)
        assert main(["compile-cache", "clear"]) == 1
        assert "cannot remove '" in (said := capsys.readouterr().err)
        assert "Permission denied. Who owns" in said

    def test_other_words(self, capsys):
        assert main(["compile-cache", "burn"]) == 2
        assert "invalid choice: 'burn'" in capsys.readouterr().err
        assert main(["compile-cache", "--help"]) == 0
        assert "clearing costs nothing but compiling again" in capsys.readouterr().out
