"""What functions of NumPy's, and operators, come to in the step language: a file a family, with tables in `tables`."""
