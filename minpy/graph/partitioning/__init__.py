"""Graphs that are cut into parts, or rewritten as a whole, by who has registered for it."""
