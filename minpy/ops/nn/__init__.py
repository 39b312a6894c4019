"""Operators that networks are made of: layers, activations, normalizations, losses."""
