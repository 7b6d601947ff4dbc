"""The encoder alone: features, labels, tags and embeddings of text."""

from yiwen.encoder.facade import Encoder, Prediction

__all__ = ["Encoder", "Prediction"]
