"""Lowerings of NumPy's functions and of operators to the step language, by family; `lowering_tables` has the tables."""
