"""One parameter: exact functions along a line, and their optimum."""
