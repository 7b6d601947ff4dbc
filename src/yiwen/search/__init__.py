"""Search: from a step function to translations, best first. It knows no model."""
