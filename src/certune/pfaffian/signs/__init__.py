"""The signs of functions on lines and on boxes."""
