"""Functions and operators computed for many examples at once: `minpy.vmap`, and what `op.def_batch` is for."""
