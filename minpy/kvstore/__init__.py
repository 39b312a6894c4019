"""Stores of parameters and gradients: `mx.kv`."""

from minpy.kvstore import base, kvstore
from minpy.kvstore.base import KVStoreBase, create
from minpy.kvstore.kvstore import KVStore
from minpy.namespaces import listing, missing

__all__ = ["KVStore", "KVStoreBase", "base", "create", "kvstore"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.kvstore", "name", __all__)
