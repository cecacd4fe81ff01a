"""Families of algorithms: what an instance is, how the algorithm runs, how its output is scored."""
