"""Sentence encoders behind one port."""
