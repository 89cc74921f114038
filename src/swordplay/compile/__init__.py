"""How kernels are compiled by numba, and how their machine code is kept on disk."""
