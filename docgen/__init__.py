"""Generators for the files in docs and clients that are derived from the code. Not installed."""
