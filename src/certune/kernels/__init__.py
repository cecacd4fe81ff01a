"""Typed doors to the compiled core, one module a room; this layer imports numpy and the core."""
