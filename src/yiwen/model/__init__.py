"""The Transformer as tensors: no files, no loops, no commands."""
