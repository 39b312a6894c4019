"""MinPy's choice of where a function runs, kept for programs that make it: see `minpy.dispatch.policy`."""
