"""Redaction at intake: recognisers of card numbers and the like, applied to JSON before anything is stored."""
