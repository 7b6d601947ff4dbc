"""Models for other runtimes, each proven against the trained one before it is kept."""
