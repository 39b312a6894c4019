"""Operators that MXNet keeps apart, as on trial: `nd.contrib`."""
