"""Graphs translated to the step language."""
