"""Users' functions run once on proxies, so that what they compute becomes nodes of a graph.

| | |
|---|---|
| `capture` | the door for whole functions: `Capture`, `Captured` |
| `forwards`, `rules` | the doors for operators: forward functions, gradient rules |
| `running`, `recorder` | the run itself; what one run shares: its nodes, their lines, a refusal |
| `proxy`, `nd_proxy`, `scalars` | what stands in the place of NumPy's arrays, of NDArrays, of numbers that change |
| `values`, `storage`, `view_or_copy`, `fronts` | the data of proxies; stores; what is a view of what; classes of ours |
| `noting`, `steps`, `facts` | calls become steps, which are nodes; the shape and dtype that each gives |
| `functions`, `creation`, `ufuncs`, `operators` | calls of NumPy's functions, of its ufuncs, of operators |
| `shadow`, `shadow_globals`, `shadow_code` | users' functions with other globals, closures and defaults |
| `shadow_values`, `shadow_builtins` | what stands for a value that is read; built-in functions that know of proxies |
| `foreign`, `objects`, `containers` | proxies of modules, instances, classes; reads of attributes; lists, dicts |
| `allowed`, `ours`, `library` | what may be called: Python's and NumPy's, that of `minpy.np`, what rooms above enter |
| `reads`, `sources` | what was read, which is guarded; where it was read |
| `watching` | attributes that proxies have, and what they stand for has not |
| `places`, `report` | lines of users' programs, and why a capture ended; `op.trace_report` |
"""
