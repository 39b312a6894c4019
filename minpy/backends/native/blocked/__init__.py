"""Products of matrices as generated kernels, in blocks: small ones, and others where that is faster than a BLAS.

A tile of the result, some rows by some vectors of columns, stays in registers while the depth goes by, as in K. Goto
and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (ACM Transactions on Mathematical Software 34,
2008): a step loads vectors of a row of the second matrix, and meets them with one number of the first for each row.
`blocking` says what is multiplied, how it lies and how it is cut; `tiles` writes the code, and
`blocked_kernels` decides which products become kernels.
"""
