"""The files that fill the tables: imported for that."""

from __future__ import annotations
