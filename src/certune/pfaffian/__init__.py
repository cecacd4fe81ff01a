"""Pfaffian functions, programs built from them, and what their structure implies for learning."""
