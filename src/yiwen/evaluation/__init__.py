"""Scores with their signatures, and whether two of them really differ."""
