"""Blocks in captured functions, and captured themselves: what stands for a block, and what a call of it becomes.

A block that defines `forward` is captured through, as a function is. Of all others `hybrid_forward` runs on symbols:
see `grafting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from minpy.capture.foreign import DictProxy, ForeignProxy, ObjectProxy
from minpy.capture.guard_sources import class_of, member, own_constant
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import CONSTANT_TYPES, attribute, item, keys
from minpy.capture.shadow import ShadowFunctions
from minpy.context import current_context
from minpy.core.array import FRONT_ENDS
from minpy.core.numpy_semantics import SwitchScope, is_np_array
from minpy.core.state import state
from minpy.gluon.block.attribute_guards import Guards
from minpy.gluon.block.grafting import Graft
from minpy.gluon.block.inferring import infer_waiting, require_complete
from minpy.gluon.block.internal_attributes import INTERNAL
from minpy.gluon.block.parameter_arrays import ParameterArrays, ParameterVariables
from minpy.gluon.block.symbol_tracing import blocks_in
from minpy.gluon.parameter import Parameter
from minpy.graph.ir import Value

__all__ = ["BlockCapture", "BlockProxy", "ParameterProxy", "is_recording", "is_training"]


def is_training(_: Any, __: Any) -> bool:
    """Tell whether operators act as in training: what a captured function may have asked."""
    return bool(state.training)


def is_recording(_: Any, __: Any) -> bool:
    """Tell whether operators are recorded."""
    return state.recording == 1


def _context(_: Any, __: Any) -> Any:
    return current_context()


def _are_valid(guards: Guards, _: Any) -> bool:
    return guards.failure() is None


def _explained(read: Any) -> str:
    return str(read.container.failure())


_are_valid.explain = _explained  # type: ignore[attr-defined]


class BlockCapture:
    """What the blocks in one capture share."""

    def __init__(self, shadow: ShadowFunctions) -> None:
        self.shadow = shadow
        self.name = shadow.recorder.title
        like = shadow.capture.like
        self.in_numpy = is_np_array() or like is None or not like._keeps_dtype  # NumPy's semantics of arrays
        self.context = None if like is None else like.context  # of the arguments, and of parameters that are read
        self.training, self.recording = bool(state.training), state.recording == 1
        self.scopes = 0  # how many scopes of autograd's are entered
        self._outer = shadow.capture.outermost
        self.freezes = shadow.recorder.freezes  # whether the graph is of what the blocks are now
        self.arrays: Any = ParameterVariables() if self.freezes else ParameterArrays()
        self._guarded: set[int] = set()
        self._proxies: dict[int, Any] = {}  # of each block and parameter there is one

    @classmethod
    def of(cls, shadow: ShadowFunctions) -> BlockCapture:
        """Return what the blocks in a capture share."""
        if shadow.capture.surroundings is None:
            shadow.capture.surroundings = cls(shadow)
        block_capture: BlockCapture = shadow.capture.surroundings
        return block_capture

    def proxy_of(self, owner: Any, path: str) -> Any:
        """Return the proxy of a block or a parameter."""
        proxy = self._proxies.get(id(owner))
        if proxy is None:
            proxy_class = ParameterProxy if isinstance(owner, Parameter) else BlockProxy
            proxy = self._proxies[id(owner)] = proxy_class(self.shadow, owner, path)
        return proxy

    def refuse(self, reason: str) -> NoReturn:
        """End the capture."""
        raise self.shadow.recorder.refuse(reason)

    def note_modes(self, training: bool, recording: bool) -> None:
        """Note that something depends on whether operators act as in training, or are recorded."""
        if training:
            self.shadow.note(is_training, state, None, self.training, "is_training()")
        if recording:
            self.shadow.note(is_recording, state, None, self.recording, "is_recording()")

    # -- calls -------------------------------------------------------------------------------------------------------

    def call(self, block: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what a block returns for proxies."""
        try:
            return self._call(block, arguments, keywords)
        except BaseException:
            if self._outer is not None and self._outer._specialized is not None:
                self._outer._specialized.note_refusal_in(block)
            raise

    def _call(self, block: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        function = None
        if self.shadow.capture.outermost is block:  # it has been called already, with its hooks
            self.shadow.capture.outermost = None
        else:
            self.require_no_effects(block)
            function = type(block).__call__
        self.arrays.add_block(block, function is not None)
        if not block._is_written_as_forward:
            self._guard(block)
            graft = Graft(self, block)
            return graft.compute(graft.entering(block, function is None), arguments, keywords)
        proxy = self.proxy_of(block, block.name)
        if self.freezes:
            infer_waiting(block, arguments)
        return _in_switches(function, lambda: proxy.forward(*arguments, **keywords))

    def require_no_effects(self, block: Any) -> None:
        """Refuse a block inside whose calls do more than to compute."""
        if (block._forward_hooks or block._forward_pre_hooks) and not self.freezes:
            self.refuse(f"{block.name} has hooks, which are called each time")
        if getattr(block, "_memory", ()) and not self.freezes:
            self.refuse(f"{block.name} remembers what it has computed")
        function = type(block).__call__
        while "_switches" in vars(function):
            function = vars(function)["__wrapped__"]
        if not function.__module__.startswith("minpy."):
            self.refuse(f"{type(block).__name__} defines __call__")

    def _guard(self, block: Any) -> None:
        """Compare, at each call, the attributes of a block, and of those inside, that computes with symbols."""
        unguarded = [] if self.freezes else [child for child in blocks_in(block) if id(child) not in self._guarded]
        self._guarded.update(map(id, unguarded))
        if not unguarded:
            return
        for child in unguarded:
            cls = type(child)
            self.shadow.note(class_of, child, None, cls, f"type({child.name})")
            if not cls.__module__.startswith("minpy."):
                name = "forward" if child._is_written_as_forward else "hybrid_forward"
                self.shadow.note(member, cls, name, member(cls, name), f"{cls.__name__}.{name}")
            # Of what is set without `setattr`, in `vars(block)`, no changes are counted.
            for attribute_name, value in vars(child).items():
                if isinstance(value, CONSTANT_TYPES) and attribute_name not in INTERNAL | child._not_compared:
                    self.shadow.note(own_constant, child, attribute_name, value, f"{child.name}.{attribute_name}")
        guards = Guards(unguarded, INTERNAL)
        if guards.frozen:
            self.arrays.frozen.append((block, guards))
        if guards.are_of_attributes:
            self.arrays.add_guards(guards)
        else:
            self.shadow.note(_are_valid, guards, None, True, block.name)

    # -- parameters --------------------------------------------------------------------------------------------------

    def parameter(self, parameter: Any, context: Any) -> Any:
        """Return the proxy of the array that a parameter has; where blocks are frozen, that it has or will have."""
        in_numpy = self.in_numpy
        if self.freezes:
            require_complete(self.name, parameter)
            node, _ = self.arrays.variable(parameter, None)
            shape, dtype = parameter._shape, parameter.dtype
        else:
            if context is None and parameter._data is not None and len(parameter._data) > 1:
                context = self.noted_context()
            node, array = self.arrays.variable(parameter, context)
            shape, dtype = array.shape, array._data.dtype
            in_numpy = in_numpy or is_np_array() or not array._keeps_dtype
        front = FRONT_ENDS["numpy"] if in_numpy else None
        proxy = ArrayProxy.from_outside(self.shadow.recorder, Value(node), shape, dtype, front)
        return proxy if in_numpy else NDArrayProxy(proxy)

    def noted_context(self) -> Any:
        """Return the current context, which is noted."""
        self.shadow.note(_context, state, None, current_context(), "current_context()")
        return current_context()

    def composed(self, block: Any, method: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Return what a method of a block gives that is composed of calls of blocks and functions of symbols."""
        self.require_no_effects(block)
        self.arrays.add_block(block)
        self._guard(block)
        return Graft(self, block).compute(method, arguments, keywords)

    # -- other functions ---------------------------------------------------------------------------------------------

    def computed(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Return what a function of symbols gives for proxies."""
        return Graft(self).compute(function, arguments, keywords)

    def drawn(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        """Return what a function of `mx.np.random` draws: at every call of the graph anew."""
        graft = Graft(self)
        return graft.compute(lambda *positional, **named: graft.draw(name, positional, named), arguments, keywords)


def _in_switches(function: Any, called: Callable[[], Any]) -> Any:
    """Return what a call gives in the scopes that a method was given by `use_np`."""
    if function is None or "_switches" not in vars(function):
        return called()
    with SwitchScope(**vars(function)["_switches"]):
        return _in_switches(vars(function)["__wrapped__"], called)


# Methods of cells that are composed of calls of these.
_COMPOSED = ("begin_state", "state_info", "unroll")


class BlockProxy(ObjectProxy):
    """A block in a captured function: it can be called, and its attributes may be read."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return BlockCapture.of(self.__shadow__).call(self.__owner__, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name in _COMPOSED:
            return self._composed(name)
        if name != "_children":
            return super().__getattr__(name)
        shadow = self.__shadow__
        return shadow.watched(DictProxy(shadow, zip(_names(self), _inside(self), strict=True)))

    def _composed(self, name: str) -> Any:
        """Return a method of a cell of ours that does nothing but call it; another's is as it is."""
        member = getattr(type(self.__owner__), name, None)
        if not str(getattr(member, "__module__", "")).startswith("minpy.gluon."):
            return super().__getattr__(name)
        capture, method = BlockCapture.of(self.__shadow__), getattr(self.__owner__, name)
        return lambda *arguments, **keywords: capture.composed(self.__owner__, method, arguments, keywords)

    def __len__(self) -> int:
        return len(_names(self)) if _is_container(self) else super().__len__()  # type: ignore[misc]

    def __iter__(self) -> Iterator[Any]:
        return iter(_inside(self)) if _is_container(self) else super().__iter__()  # type: ignore[misc]

    def __getitem__(self, position: Any) -> Any:
        if _is_container(self) and type(position) is int:
            return _inside(self)[position]
        return super().__getitem__(position)  # type: ignore[misc]

    def __bool__(self) -> bool:
        return len(_names(self)) > 0 if _is_container(self) else super().__bool__()  # type: ignore[misc]


def _names(proxy: BlockProxy) -> tuple[str, ...]:
    """Return the names of the blocks inside one, which the capture notes."""
    children = proxy.__owner__._children
    proxy.__shadow__.note(keys, children, None, tuple(children), f"{proxy.__path__}._children")
    return tuple(children)


def _inside(proxy: BlockProxy) -> list[Any]:
    """Return the proxies of the blocks inside one."""
    shadow, children, path = proxy.__shadow__, proxy.__owner__._children, proxy.__path__
    return [shadow.value(children[name], item, children, name, f"{path}[{name}]") for name in _names(proxy)]


def _is_container(proxy: BlockProxy) -> bool:
    """Tell whether it is a sequence of ours, of which what is inside may be asked for."""
    getter = getattr(type(proxy.__owner__), "__getitem__", None)
    return str(getattr(getter, "__module__", "")).startswith("minpy.gluon.")


class ParameterProxy(ForeignProxy):
    """A parameter in a captured function: its array can be asked for."""

    __slots__ = ()

    def data(self, ctx: Any = None, *, device: Any = None) -> Any:
        """Return what stands for its array."""
        return BlockCapture.of(self.__shadow__).parameter(self.__owner__, ctx if device is None else device)

    def list_data(self) -> Any:
        """Return what stands for its arrays."""
        is_frozen = self.__shadow__.recorder.freezes
        if not is_frozen and (self.__owner__._data is None or len(self.__owner__._data) != 1):
            raise self.__shadow__.refuse(f"it asks for the arrays of {self.__path__} on all contexts")
        return [self.data()]

    def __getattr__(self, name: str) -> Any:
        owner, shadow = self.__owner__, self.__shadow__
        if shadow.recorder.freezes:
            return getattr(owner, name)
        if name in ("grad", "list_grad"):
            raise shadow.refuse(f"it reads the gradient of a parameter, {owner.name}: give it as an argument")
        if name not in ("shape", "dtype", "name"):
            raise shadow.refuse(f"it reads {self.__path__}.{name} of a parameter")
        return shadow.value(getattr(owner, name), attribute, owner, name, f"{self.__path__}.{name}")
