"""Encoders that convert texts to vectors, all with the interface `embedder.Embedder`."""

from typing import Literal

EncoderChoice = Literal["auto", "minilm", "none"]
"""`minilm` is all-MiniLM-L6-v2, which is downloaded if it is missing; `auto` is the same if the model is on this
machine and otherwise none."""
