"""What is there while a native program runs: its plan, its arguments, addresses and prepared parameters."""
