"""Text that a model makes for another to learn from."""
