"""What a result says: optima, evaluations, guarantees, and choices by a rule."""
