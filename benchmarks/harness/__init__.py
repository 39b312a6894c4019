"""What stands around the cases: the peers' environments, the processes that run them, the tables."""
