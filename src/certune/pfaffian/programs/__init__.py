"""Programs: followed along lines and on boxes, and traced whole."""
