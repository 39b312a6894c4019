"""What runs programs: backends behind one protocol. `native` makes machine code of them."""
