"""Certificates, what they claim, and how they are verified."""
