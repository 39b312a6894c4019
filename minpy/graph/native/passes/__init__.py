"""Passes: rewrite rules over routines, listed and printed."""
