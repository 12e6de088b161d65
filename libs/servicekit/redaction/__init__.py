"""Redaction at intake: recognisers of numbers, keys and patterns, applied to JSON before it is stored."""
