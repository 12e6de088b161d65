"""Audit of machine verdicts: reviewers judge a random sample of answers, and the reviews correct the rates."""
