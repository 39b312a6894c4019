"""The version of minpy."""

__version__ = "1.0.0"
