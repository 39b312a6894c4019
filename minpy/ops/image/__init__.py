"""Operators on images: `nd.image`."""
