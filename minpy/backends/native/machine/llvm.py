"""LLVM IR made into machine code by llvmlite (the extra `compile`): for this processor, or for another.

Object files (`object_files`) go through the cache (`code_cache`) and are loaded by `object_loader`, or by LLVM's JIT
where that cannot: code fresh from the compiler and code from a file take the same way into the process. What
comes from a file needs no LLVM, which takes longer to load than all the rest.

llvmlite from 0.45 on: LLVM 20 is the first of its versions that knows pointers without types (`ptr`) throughout.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from minpy.backends.native.machine import processor_identity
from minpy.backends.native.machine.code_cache import Store, digest
from minpy.backends.native.machine.object_files import contracted, object_of
from minpy.backends.native.machine.object_loader import Linked, linked
from minpy.core.errors import BuildError, KeyMissingError, MissingDependencyError
from minpy.version import __version__

__all__ = ["Loaded", "available", "compile", "emit", "features", "find", "missing", "toolchain"]

# The oldest llvmlite that does.
_OLDEST = (0, 45)
# What keys begin with; another number when the same IR is to be compiled anew.
_FORMAT = "1"
# So many libraries share a JIT: what it keeps of a library that was unloaded goes with the JIT.
_LIBRARIES = 64


def missing() -> str | None:
    """Return why nothing can be compiled, as a phrase; None if all is there.

    Examples
    --------
    >>> missing()  # doctest: +SKIP
    'llvmlite is not installed'
    """
    if sys.maxsize < 2**32:
        return "this Python has 32 bits"
    try:
        import llvmlite
    except ImportError as error:
        return "llvmlite is not installed" if error.name == "llvmlite" else f"llvmlite cannot be imported ({error})"
    text = str(llvmlite.__version__)
    version = re.match(r"(\d+)\.(\d+)", text)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        return f"llvmlite {text} is too old: {'.'.join(map(str, _OLDEST))} or newer is needed"
    return None


def available() -> bool:
    """Tell whether there is an llvmlite that can compile."""
    return missing() is None


@dataclass(eq=False)
class Loaded:
    """Machine code in this process. It is unloaded when nobody refers to it any more: who keeps an address keeps this.

    `tracker` unloads it, the cache finds it by `key`; `cached` says whether it came from there, `seconds` how long
    compiling took otherwise.
    """

    tracker: Any
    addresses: dict[str, int]
    cached: bool
    seconds: float
    key: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its functions, those that are not `internal`."""
        return tuple(self.addresses)

    def address(self, name: str) -> int:
        """Return where a function begins."""
        try:
            return self.addresses[name]
        except KeyError:
            names = ", ".join(self.addresses) or "none"
            raise KeyMissingError(f"there is no function {name!r} in this code; there are: {names}.") from None


def compile(ir: str, written: str = "", *, fast_math: bool = False) -> Loaded:
    """Compile LLVM IR for this processor, or take what it became earlier from the cache, and load it.

    Parameters
    ----------
    ir : str
        A module: functions, constants, declarations of intrinsics; no variables, no functions declared by name.
    written : str
        A second module, linked with the first, whose functions are as they are to run: loops written with vectors,
        and calls. It is compiled in half the time. It may declare functions of the first that are `hidden` there.
    fast_math : bool
        Whether a product and the sum that it goes into may be rounded once (FMA), which changes last bits. Functions
        whose names begin with `minpy_` keep to what they say.

    Returns
    -------
    Loaded
        The same object for the same IR as long as it is in use.

    Raises
    ------
    MissingDependencyError
        If llvmlite is not there, or too old.
    BuildError
        If LLVM refuses the IR, or it has what cached code cannot have.

    Examples
    --------
    >>> from ctypes import CFUNCTYPE, c_int64
    >>> loaded = compile("define i64 @twice(i64 %n) {\\n %m = shl i64 %n, 1\\n ret i64 %m\\n}")  # doctest: +SKIP
    >>> CFUNCTYPE(c_int64, c_int64)(loaded.address("twice"))(21)  # doctest: +SKIP
    42
    """
    _require()
    with _lock:
        return _host().compile(*((contracted(module) for module in (ir, written)) if fast_math else (ir, written)))


def find(key: str) -> Loaded | None:
    """Load what an earlier process has compiled, by its `key` there; None if it is not in the cache any more."""
    _require()
    with _lock:
        return _host().find_object(key)


def toolchain() -> str:
    """Return a digest of all but the IR that decides what becomes of it: processor, versions of LLVM and minpy."""
    _require()
    with _lock:
        return _host().target.toolchain


def emit(ir: str, triple: str, cpu: str = "", features: str = "") -> bytes:
    """Compile LLVM IR for any processor that LLVM knows, and return the object file.

    `triple` is the target, such as 'aarch64-unknown-linux-gnu', `cpu` LLVM's name of the processor ('neoverse-n1', ''
    for any), `features` are those beyond ('+sve,-fullfp16'). Errors are those of `compile`.
    """
    _require()
    with _lock:
        binding = _binding()
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        try:
            target = binding.Target.from_triple(triple)
        except RuntimeError as error:
            raise BuildError(f"LLVM has no target for {triple!r}: {str(error).strip()}.") from error
        machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")
        return object_of(binding, machine, triple, ir)[0]


def features() -> str:
    """Return the features of this processor as LLVM writes them: '+avx2,-avx512f'."""
    _require()
    with _lock:
        return _host().target.features


def _require() -> None:
    why = missing()
    if why is not None:
        raise MissingDependencyError(
            f"compiling needs llvmlite: {why}. Install it with: python -m pip install --upgrade llvmlite"
        )


class _Target(NamedTuple):
    """What code is made for, and by what: LLVM's words for the processor, and versions."""

    triple: str
    cpu: str
    features: str
    versions: tuple[str, ...]

    @property
    def toolchain(self) -> str:
        """A digest of all but the IR that decides what becomes of it."""
        return digest(_FORMAT, __version__, self.triple, self.cpu, self.features, *self.versions)


class _Host:
    """The processor that this process runs on, and LLVM set up for it once something is to be compiled.

    What LLVM says of the processor is kept on disk beside the objects, so that these are found without it.
    """

    def __init__(self) -> None:
        self._loaded: weakref.WeakValueDictionary[str, Loaded] = weakref.WeakValueDictionary()
        self._jit: Any = None
        self._libraries = 0
        self._noted_roots: set[str] = set()

    @cached_property
    def target(self) -> _Target:
        return _cached_target() or self._said(self.binding)

    @cached_property
    def binding(self) -> Any:
        """llvmlite's binding, set up for this processor."""
        binding = _binding()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.target = self._said(binding)
        return binding

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        # On Windows LLVM's JIT takes objects of Linux's format only, which llvmlite's own settings lead to.
        model = {"codemodel": "jitdefault", "jit": True} if os.name == "nt" else {"codemodel": "small", "reloc": "pic"}
        binding, host = self.binding, self.target
        target = binding.Target.from_triple(host.triple)
        return target.create_target_machine(cpu=host.cpu, features=host.features, opt=3, **model)

    @staticmethod
    def _said(binding: Any) -> _Target:
        """Return what LLVM says of this processor."""
        import llvmlite

        features = binding.get_host_cpu_features().flatten()
        if "+avx512f" in features.split(","):
            features += ",-prefer-256-bit"
        versions = (llvmlite.__version__, *map(str, binding.llvm_version_info))
        return _Target(binding.get_process_triple(), binding.get_host_cpu_name(), features, versions)

    def leave(self) -> None:
        """Never unload what is loaded now."""
        for loaded in [*self._loaded.values()]:
            if not isinstance(loaded.tracker, Linked):
                loaded.tracker.jit.detach()
            loaded.tracker.detach()
        if self._jit is not None:
            self._jit.detach()
            self._jit = None

    def key(self, ir: str, written: str) -> str:
        """Return the cache key of the object of two modules."""
        return digest(self.target.toolchain, ir, *([written] if written else []))

    def compile(self, ir: str, written: str) -> Loaded:
        key = self.key(ir, written)
        loaded = self._loaded.get(key) or self.find_object(key)
        if loaded is None:
            binding = self.binding  # it may know the processor better
            key = self.key(ir, written)
            loaded = self._loaded[key] = self._compiled(binding, key, ir, written)
        return loaded

    def find_object(self, key: str) -> Loaded | None:
        """Return what is loaded, or what the cache has, if it can be loaded."""
        loaded = self._loaded.get(key)
        if loaded is not None:
            return loaded
        entry = Store().find(key)
        if entry is None:
            return None
        try:
            loaded = self._loaded[key] = self._load(key, *entry, cached=True, seconds=0.0)
        except RuntimeError:  # as if it were not there: it is written anew
            return None
        self._cache_target()
        return loaded

    def _compiled(self, binding: Any, key: str, ir: str, written: str) -> Loaded:
        begun = time.perf_counter()
        content, names = object_of(binding, self.machine, self.target.triple, ir, written)
        seconds = time.perf_counter() - begun
        try:
            loaded = self._load(key, content, names, cached=False, seconds=seconds)
        except RuntimeError as error:
            raise BuildError(f"LLVM cannot load the code that it has made: {str(error).strip()}") from error
        if Store().keep(key, content, names):
            self._cache_target()
        return loaded

    def _cache_target(self) -> None:
        """Cache what LLVM has said of the processor beside the objects compiled for it."""
        store = Store(kind="processor")
        if store.root not in self._noted_roots:
            self._noted_roots.add(store.root)
            key, content = _target_key(), json.dumps([*self.target[:3], *self.target.versions]).encode()
            if key is not None and store.find(key) != (content, ()):
                store.keep(key, content, ())

    def _load(self, key: str, content: bytes, names: tuple[str, ...], cached: bool, seconds: float) -> Loaded:
        code = linked(content, names)
        if code is not None:
            return Loaded(code, code.addresses, cached, seconds, key)
        if self._jit is None or self._libraries >= _LIBRARIES:
            self._jit = self.binding.create_lljit_compiler(self.machine, use_jit_link=os.name != "nt")
            self._libraries = 0
        self._libraries += 1
        library = self.binding.JITLibraryBuilder().add_object_img(content).add_current_process()
        for name in names:
            library.export_symbol(name)
        tracker = library.link(self._jit, f"minpy-{self._libraries}")
        tracker.jit = self._jit  # which is there as long as something in it is
        return Loaded(tracker, {name: tracker[name] for name in names}, cached, seconds, key)


def _target_key() -> str | None:
    """Return the key of what LLVM has said of this processor; None, if nothing tells which one it is."""
    import llvmlite

    identity = processor_identity.identity()
    if identity is None:
        return None
    return digest("processor", _FORMAT, str(llvmlite.__version__), llvmlite.__file__, identity)


def _cached_target() -> _Target | None:
    """Return what LLVM has said of this processor in an earlier process."""
    key = _target_key()
    entry = None if key is None else Store(kind="processor").find(key)
    if entry is None:
        return None
    triple, cpu, features, *versions = json.loads(entry[0])
    return _Target(triple, cpu, features, tuple(versions))


_lock = threading.RLock()


@cache
def _host() -> _Host:
    return _Host()


# -- the end of the interpreter: threads that it does not wait for may be in the code ---------------------------------


def _leave() -> None:
    """Leave all code where it is; the process takes it along."""
    with _lock:
        _host().leave()


atexit.register(_leave)


# -- forks: a child must not begin with LLVM in the middle of something, which no thread that it has would end --------

# llvmlite's own lock, once that is imported: whoever unloads something has it, too.
_inner: list[Any] = []


def _binding() -> Any:
    """Return llvmlite's binding of LLVM."""
    import llvmlite.binding as binding

    inner = getattr(binding.ffi.lib, "_lock", None)
    if not _inner and inner is not None:
        _inner.append(inner)
    return binding


def _before_fork() -> None:
    _lock.acquire()
    for inner in _inner:
        inner.__enter__()


def _after_fork() -> None:
    for inner in _inner:
        inner.__exit__(None, None, None)
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
