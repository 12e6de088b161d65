"""Generators of the files in docs and clients that are made from the code. Not installed."""
