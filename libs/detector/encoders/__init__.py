"""Encoders that convert texts to vectors, all with the interface `embedder.Embedder`."""
