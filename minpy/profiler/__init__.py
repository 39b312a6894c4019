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
from minpy.profiler import control, named_timers
from minpy.profiler.control import *
from minpy.profiler.event_log import scope
from minpy.profiler.named_timers import *

__all__ = [*named_timers.__all__, *control.__all__, "scope"]
__dir__ = listing(__all__)
