"""Stores of parameters and gradients: `mx.kv`."""

from minpy.kvstore import base, kvstore
from minpy.kvstore.base import KVStoreBase, create
from minpy.kvstore.kvstore import KVStore
from minpy.namespaces import module_functions

__all__ = ["KVStore", "KVStoreBase", "base", "create", "kvstore"]
__dir__, __getattr__ = module_functions(__name__, __all__)
