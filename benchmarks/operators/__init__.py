"""The operators that programs use most, one by one: what each costs, forward, and forward and backward."""
