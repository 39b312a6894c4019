"""Functions specialized for what they are called with: captured once, guarded by generated code, run as programs.

`pytrees` flattens the arguments of calls; `captured_call` runs a function on proxies; `specialization` is the graph
that came of it, and `entry` the generated code that checks its guards and runs it; `guards` says why one fails;
`budget` decides what is worth a capture, `trial` whether it is faster; `history` tells why there was one; `specialized`
finds the specialization for a call. `compiled_operators` does all that for single operators.
"""
