"""Users' functions run once on proxies, so that what they compute becomes nodes of a graph.

`capture` is the door for whole functions; `forwards` and `rules` are those of operators, `tracer` runs them, and
`report` tells what came of it. `proxy` and `nd_proxy` stand in arrays' places, `scalars` in those of numbers that
change, `fronts` knows their classes; `storage` and `viewing` say what memory they lie in; `noting`, `ufuncs`,
`functions`, `creation` and `operators` what is done to them. `shadow` and `shadow_builtins` let users' functions run so
that nothing else happens, on `foreign`, `objects` and `containers` for what they refer to; `allowed` and `ours` list
what may be called. `reads` and `sources` are what was read, which is guarded.
"""
