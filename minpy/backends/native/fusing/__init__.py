"""Steps grouped into loop nests."""
