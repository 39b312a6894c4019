"""Functions specialized for what they are called with: captured once, guarded by generated code, run as programs.

`pytrees` takes calls apart; `capturing` runs a function on proxies; `specialization` is the graph that came of it, and
`entry` the generated code that tells whether it holds for a call and runs it; `guards` says why one does not hold;
`budget` decides what is worth a capture, `history` tells why there was one; `function` is what users call.
"""
