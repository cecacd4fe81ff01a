"""Expressions in parameters: their graph, their rules, their values."""
