"""`mx.profiler`: how long operators, gradients and the steps of programs take, as a table and as a trace.

The trace is a JSON file that a browser's tracer (chrome://tracing, Perfetto) shows.

Examples
--------
>>> import os, tempfile
>>> import minpy as mx
>>> path = os.path.join(tempfile.mkdtemp(), 'profile.json')
>>> mx.profiler.set_config(profile_all=True, filename=path)
>>> mx.profiler.set_state('run')
>>> y = mx.nd.exp(mx.nd.ones((2, 2))) + 1
>>> mx.profiler.set_state('stop')
>>> table = mx.profiler.dumps(reset=True)
>>> mx.profiler.dump()
>>> os.path.exists(path)
True
"""

from minpy.namespaces import listing
from minpy.profiler.control import (
    dump,
    dump_profile,
    dumps,
    pause,
    profiler_set_config,
    profiler_set_state,
    resume,
    set_config,
    set_kvstore_handle,
    set_state,
)
from minpy.profiler.log import scope
from minpy.profiler.objects import Counter, Domain, Event, Frame, Marker, Task

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]
__dir__ = listing(__all__)
