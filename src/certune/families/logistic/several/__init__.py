"""Logistic regression of several classes: multinomial, or one class against the rest."""
