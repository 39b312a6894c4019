"""Graphs: the intermediate representation, inference, passes, and programs that run them."""
