"""Compiled loops over flat arrays; this layer imports numpy and numba only."""
