"""Initial values of parameters: `mx.init`."""

__all__: list[str] = []
