"""A choice among alternatives, tuned over their union."""
