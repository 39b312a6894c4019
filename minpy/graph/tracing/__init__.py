"""Functions read and run once on stand-ins, so that what they compute becomes nodes of a graph.

`standin` is what stands in arrays' places; `noting`, `storing`, `ufuncs`, `functions` and `operators` say what is done
to it; `reading` and `shadow` let users' functions run so that nothing else happens, and `captures` what they refer to;
`tracer` runs them, `report` tells what came of it.
"""
