"""Symbols in MXNet's JSON form, both ways."""

from __future__ import annotations

from typing import Any

__all__ = ["fromjson", "load", "load_json", "save", "to_json"]


def to_json(symbol: Any) -> str:
    raise NotImplementedError


def save(symbol: Any, fname: str) -> None:
    raise NotImplementedError


def load(fname: str) -> Any:
    raise NotImplementedError


def load_json(json_str: str) -> Any:
    raise NotImplementedError


fromjson = load_json
