"""What a captured function reads of instances, classes, modules and functions: each read is noted as what it rests on.

An attribute rests on the class of its owner, on what that class and its bases have under the name, and on what the
owner itself has: also on that there is nothing.
"""

from __future__ import annotations

import abc
import enum
import sys
import types
from typing import TYPE_CHECKING, Any

from minpy.capture.allowed import MODULE_TYPES, OF_PYTHON, changing_reason, is_known
from minpy.capture.foreign import BINARY, ClassProxy, ObjectProxy
from minpy.capture.guard_sources import ABSENT, class_of, inherited, member, module_member, own_value, slot_value
from minpy.capture.reads import attribute
from minpy.capture.shadow_builtins import may_be_read

__all__ = ["ObjectReads"]

_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
_IS_BINARY = {f"__{word}__" for word in BINARY.split()}
_OF_ENUM = {"name": "_name_", "value": "_value_"}
# Classes of the standard library whose instances have attributes, and nothing else.
_PLAIN = ("types.SimpleNamespace", "argparse.Namespace")
_GETTERS = (object.__getattribute__, types.SimpleNamespace.__getattribute__)


class ObjectReads:
    """The reads of attributes of `ShadowFunctions`."""

    if TYPE_CHECKING:  # what `ShadowFunctions` has
        function: Any
        note: Any
        recorder: Any
        refuse: Any
        shadow_of: Any
        value: Any

    def is_plain_object(self, value: Any) -> bool:
        """Tell whether the attributes of an instance are found as those of most are."""
        cls = type(value)
        top = cls.__module__.partition(".")[0]
        is_of_python = bool(cls.__flags__ & OF_PYTHON) and (top not in sys.stdlib_module_names or top == "__main__")
        return (
            (is_of_python or f"{cls.__module__}.{cls.__qualname__}" in _PLAIN)
            and cls.__getattribute__ in _GETTERS
            and type(cls) in _METACLASSES
        )

    def _member(self, cls: type, name: str, path: str) -> Any:
        """Return what a class has under a name, noted."""
        value = member(cls, name)
        self.note(member, cls, name, value, path)
        return value

    def _bound(self, value: Any, instance: Any, cls: type, path: str) -> Any:
        """Return what a class's attribute that is no function of an instance's own is when it is asked of that."""
        if isinstance(value, types.FunctionType):
            return types.MethodType(self.function(value, path), instance)
        if isinstance(value, staticmethod):
            return self.shadow_of(value.__func__, path)
        if isinstance(value, classmethod):
            function = value.__func__
            if not isinstance(function, types.FunctionType):
                raise self.refuse(f"{path} is a classmethod of a {type(function).__name__}")
            return types.MethodType(self.function(function, path), self.shadow_of(cls, cls.__name__))
        if isinstance(value, property) and type(value) is property and isinstance(value.fget, types.FunctionType):
            self.note(attribute, value, "fget", value.fget, path)
            return self.function(value.fget, path)(instance)
        if type(value).__flags__ & OF_PYTHON and not isinstance(value, type):
            self._member(type(value), "__get__", path)  # it may become a descriptor
            self._member(type(value), "__set__", path)
        if member(type(value), "__get__") is not ABSENT and not isinstance(value, type):
            if self.recorder.freezes and instance is not None:
                return self.shadow_of(value.__get__(instance.__owner__, cls), path)
            raise self.refuse(f"{path} is a {type(value).__name__}, which computes it: pass it as an argument")
        return ABSENT

    # -- instances -------------------------------------------------------------------------------------------------

    def attribute_of(self, owner: Any, shadow: ObjectProxy, name: str, path: str) -> Any:
        """Return the proxy of an attribute of an instance; that there is none is noted, and an AttributeError."""
        cls = type(owner)
        self.note(class_of, owner, None, cls, f"type({shadow.__path__})")
        if isinstance(owner, enum.Enum) and name in _OF_ENUM:
            return self.value(getattr(owner, name), attribute, owner, name, path)
        in_class = self._member(cls, name, path)
        kind = type(in_class)
        if kind is types.MemberDescriptorType:
            value = slot_value(owner, name)
            if value is not ABSENT:
                return self.value(value, slot_value, owner, name, path)
            self.note(slot_value, owner, name, ABSENT, path)
            raise AttributeError(name)
        if in_class is not ABSENT and member(kind, "__set__") is not ABSENT:
            result = self._bound(in_class, shadow, cls, path)
            if result is not ABSENT:
                return result
        value = own_value(owner, name)
        if value is not ABSENT:
            return self.value(value, own_value, owner, name, path)
        self.note(own_value, owner, name, ABSENT, path)
        if in_class is ABSENT:
            return self._computed(owner, shadow, name, path)
        result = self._bound(in_class, shadow, cls, path)
        return result if result is not ABSENT else self.value(in_class, member, cls, name, path)

    def _computed(self, owner: Any, shadow: ObjectProxy, name: str, path: str) -> Any:
        """Return what a class's `__getattr__` gives for an attribute that is not there."""
        cls = type(owner)
        if not (name.startswith("__") and name.endswith("__")):
            compute = self._member(cls, "__getattr__", path)
            if isinstance(compute, types.FunctionType):
                return self.function(compute, path)(shadow, name)
            if compute is not ABSENT:
                raise self.refuse(f"{path} is computed by a {type(compute).__name__}: pass it as an argument")
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")

    def special(self, shadow: ObjectProxy, name: str, arguments: Any, keywords: Any) -> Any:
        """Return what a special method of an instance gives: that of its class, which runs as a shadow."""
        owner = shadow.__owner__
        cls = type(owner)
        path = f"{shadow.__path__}.{name}"
        self.note(class_of, owner, None, cls, f"type({shadow.__path__})")
        in_class = self._member(cls, name, path)
        if self.recorder.freezes and name in ("__str__", "__repr__", "__format__"):
            return getattr(owner, name)(*arguments)
        if name == "__hash__" and in_class in (object.__hash__, enum.Enum.__hash__):
            return object.__hash__(shadow)
        if isinstance(in_class, types.FunctionType):
            return self.function(in_class, path)(shadow, *arguments, **keywords)
        if name == "__eq__" and in_class is object.__eq__:
            return NotImplemented  # two of them are equal if they are one
        if name == "__ne__" and in_class is object.__ne__:
            result = self.special(shadow, "__eq__", arguments, {})
            return result if result is NotImplemented else not result
        if in_class is ABSENT:
            if name == "__bool__":
                has_length = self._member(cls, "__len__", path) is not ABSENT
                return len(shadow) != 0 if has_length else True
            if name in _IS_BINARY:
                return NotImplemented
            if name == "__call__":
                raise TypeError(f"{cls.__name__!r} object is not callable")
        raise self.refuse(f"what it does with {shadow.__path__} cannot be captured ({cls.__name__}.{name})")

    # -- classes and functions -------------------------------------------------------------------------------------

    def attribute_of_class(self, cls: Any, shadow: ClassProxy, name: str, path: str) -> Any:
        """Return the proxy of an attribute of a class."""
        if type(cls) not in _METACLASSES:
            raise self.refuse(f"{path} may be computed by the class of {cls.__name__}: pass it as an argument")
        self.note(class_of, cls, None, type(cls), f"type({shadow.__path__})")
        if name in ("__name__", "__qualname__"):
            return self.value(getattr(cls, name), attribute, cls, name, path)
        if isinstance(cls, enum.EnumMeta) and name in cls.__members__:
            return self.value(getattr(cls, name), attribute, cls, name, path)
        in_class = self._member(cls, name, path)
        if in_class is ABSENT:
            if member(type(cls), name) is not ABSENT:
                raise self.refuse(f"it reads {path}")
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        if isinstance(in_class, types.FunctionType):
            return self.function(in_class, path)
        if isinstance(in_class, property):
            raise self.refuse(f"it reads the property {path} of a class")
        result = self._bound(in_class, None, cls, path)
        return result if result is not ABSENT else self.value(in_class, member, cls, name, path)

    def attribute_of_super(self, start: type, shadow: Any, name: str, path: str) -> Any:
        """Return what stands for `super().name`."""
        if isinstance(shadow, ClassProxy):
            cls, instance = shadow.__owner__, None
        else:
            cls, instance = type(shadow.__owner__), shadow
            self.note(class_of, shadow.__owner__, None, cls, f"type({shadow.__path__})")
        inherited_value = inherited(cls, (start, name))
        self.note(inherited, cls, (start, name), inherited_value, path)
        if inherited_value is ABSENT:
            raise AttributeError(f"'super' object has no attribute {name!r}")
        if instance is None and isinstance(inherited_value, types.FunctionType):
            return self.function(inherited_value, path)
        result = self._bound(inherited_value, instance, cls, path)
        return result if result is not ABSENT else self.value(inherited_value, inherited, cls, (start, name), path)

    def attribute_of_function(self, function: Any, name: str, path: str) -> Any:
        """Return the proxy of an attribute of a user's function."""
        if name in ("__name__", "__qualname__"):
            return self.value(getattr(function, name), attribute, function, name, path)
        if not may_be_read(name):
            raise self.refuse(f"it reads {path}")
        value = own_value(function, name)
        if value is not ABSENT:
            return self.value(value, own_value, function, name, path)
        self.note(own_value, function, name, ABSENT, path)
        raise AttributeError(f"'function' object has no attribute {name!r}")

    # -- modules ---------------------------------------------------------------------------------------------------

    def member_of(self, module: types.ModuleType, name: str, path: str) -> Any:
        """Return the proxy of a member of a module."""
        if not is_known(module) and not self.recorder.freezes:
            raise self.refuse(changing_reason(module, path) or f"{path} is not known to be free of effects")
        try:
            value = getattr(module, name)
        except AttributeError:
            if module_member(module, "__getattr__") is not ABSENT and not self.recorder.freezes:
                raise self.refuse(f"{path} is not there") from None
            self.note(module_member, module, name, ABSENT, path)
            raise
        if type(value) in MODULE_TYPES and not is_known(value) and not self.recorder.freezes:
            raise self.refuse(changing_reason(value, path) or f"{path} is not known to be free of effects")
        return self.value(value, attribute, module, name, path)
