"""Audit of machine verdicts: reviews of randomly drawn answers are used to correct the rates."""
