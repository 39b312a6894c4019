"""`python -m minpy convert`: models and parameters from one kind of file to another."""
