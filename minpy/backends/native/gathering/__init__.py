"""Elements taken and placed by arrays of positions: calls of the step language with kernels of their own.

Positions are whole numbers in range: what a program is given is clipped, wrapped or checked by steps before.
"""
