"""What a native program needs while it runs: its plan, arguments, addresses and prepared parameters."""
