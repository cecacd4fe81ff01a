"""Several parameters: branch and bound over boxes, and maps of two parameters."""
