"""Operators that MXNet marks as experimental: `nd.contrib`."""
