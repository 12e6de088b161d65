"""Training data of the learned layer, and its training."""
