"""What NumPy's own functions mean on recorded arrays."""
