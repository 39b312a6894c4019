"""Users' functions run once on proxies, so that what they compute becomes nodes of a graph.

| | |
|---|---|
| `capture` | captures of whole functions: `Capture`, `Captured` |
| `forwards`, `rule_capture` | captures of operators: of their forward functions, of their gradient rules |
| `captured_run`, `recorder` | the run itself; what one run shares: its nodes, their lines, a refusal |
| `proxy`, `nd_proxy`, `scalars` | proxies of NumPy's arrays, of NDArrays, of numbers that change |
| `values`, `storage`, `view_or_copy`, `fronts` | the data of proxies; stores; views or copies; our array classes |
| `noting`, `steps`, `abstract_evaluation` | calls become steps, which are nodes; the shape and dtype that each gives |
| `numpy_functions`, `creation`, `ufuncs`, `operator_calls` | calls of NumPy's functions, of ufuncs, of operators |
| `shadow`, `shadow_globals`, `shadow_code` | users' functions with other globals, closures and defaults |
| `shadow_values`, `shadow_builtins` | the proxy of a value that is read; built-in functions that know of proxies |
| `foreign`, `read_objects`, `read_containers` | proxies of modules, instances, classes; attributes; lists, dicts |
| `allowed`, `minpy_functions`, `own_functions` | what may be called: Python's, NumPy's, our own functions |
| `reads`, `guard_sources` | what was read, which is guarded; where it was read |
| `proxy_attributes` | attributes that proxies have, and what they stand for has not |
| `places`, `report` | lines of users' programs, and why a capture ended; `op.trace_report` |
"""
