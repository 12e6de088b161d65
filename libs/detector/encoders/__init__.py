"""Encoders that convert texts to vectors, behind one interface (`embedder.Embedder`)."""
