"""One table of NumPy's functions: what each is among steps, and what captures, graphs, the tape and files ask of it.

Read `row` first; each other module has the rows of some kinds, `table` finds them by function and by name, and
`gradients` has the mathematics of those that are no operators.
"""
