"""Redaction of numbers, keys and other patterns in JSON texts before they are stored."""
