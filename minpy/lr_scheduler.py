"""Learning rates that change with the number of updates."""

__all__: list[str] = []
