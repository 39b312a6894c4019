"""The store that training on several devices makes for parameters, and updates of weights in it or beside it.

The names with an underscore are those by which programs import these functions from MXNet.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minpy import kvstore as kvs
from minpy.core.errors import ArgumentError, describe

__all__ = [
    "_create_kvstore",
    "_initialize_kvstore",
    "_update_params",
    "_update_params_on_kvstore",
    "_update_params_on_kvstore_nccl",
]

# If a parameter has at least so many elements, 'local' updates weights on the devices instead of in the store.
_LARGE = 16 * 1024 * 1024


def _create_kvstore(kvstore: Any, num_device: int, arg_params: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the store that training on some devices needs, and whether weights are updated in it."""
    in_store = bool(int(os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")))
    if kvstore is None:
        return None, False
    if isinstance(kvstore, kvs.KVStoreBase):
        return kvstore, in_store and kvstore.is_capable("optimizer")
    if not isinstance(kvstore, str):
        raise ArgumentError(
            f"kvstore is {describe(kvstore)}; expected the name of a store, such as 'local', a KVStore, or None."
        )
    if num_device == 1 and "dist" not in kvstore:
        return None, False
    store = kvs.create(kvstore)
    if kvstore == "local" and max((array.size for array in arg_params.values()), default=0) > _LARGE:
        in_store = False
    return store, in_store and store.is_capable("optimizer")


def _initialize_kvstore(
    kvstore: Any,
    param_arrays: Sequence[Sequence[Any]],
    arg_params: Mapping[str, Any],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Enter parameters into a store, by name; where they are updated in it, give the devices its values."""
    for place, (name, arrays) in enumerate(zip(param_names, param_arrays, strict=False)):
        if not isinstance(kvstore, kvs.KVStore):
            kvstore.broadcast(name, arg_params[name], out=arrays)
            continue
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays, priority=-place)


def _update_params_on_kvstore(
    param_arrays: Sequence[Sequence[Any]],
    grad_arrays: Sequence[Sequence[Any]],
    kvstore: Any,
    param_names: Sequence[str],
) -> None:
    """Push gradients into a store that updates, and pull the weights."""
    for place, (name, arrays, gradients) in enumerate(zip(param_names, param_arrays, grad_arrays, strict=False)):
        if gradients[0] is not None:
            if isinstance(kvstore, kvs.KVStore):
                kvstore.push(name, gradients, priority=-place)
                kvstore.pull(name, arrays, priority=-place)
            else:
                kvstore.pushpull(name, gradients, out=arrays, priority=-place)


_update_params_on_kvstore_nccl = _update_params_on_kvstore


def _update_params(
    param_arrays: Sequence[Sequence[Any]],
    grad_arrays: Sequence[Sequence[Any]],
    updater: Callable[[Any, Any, Any], None],
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Update the weights on each device with gradients that are summed over all, if there is a store."""
    updates: list[list[tuple[int, Any, Any]]] = [[] for _ in range(num_device)]
    for place, (arrays, gradients) in enumerate(zip(param_arrays, grad_arrays, strict=False)):
        if gradients[0] is None:
            continue
        if kvstore:
            assert param_names is not None
            kvstore.pushpull(param_names[place], gradients, priority=-place)
        for device, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
            updates[device].append((place * num_device + device, gradient, array))
    for update in updates:
        if update:
            updater(*(list(part) for part in zip(*update, strict=True)))
