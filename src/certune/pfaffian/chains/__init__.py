"""Pfaffian chains: found, kept small, and proved."""
