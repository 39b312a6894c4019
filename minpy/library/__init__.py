"""Operators of native libraries: compiled ones are loaded, and sources are compiled."""
