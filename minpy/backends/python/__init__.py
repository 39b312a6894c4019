"""Programs as Python's source: a line a step, with answers computed where a plan of memory says."""
