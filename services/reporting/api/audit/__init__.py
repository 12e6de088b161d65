"""Audit of machine verdicts: reviewers judge a random sample of answers, and their reviews correct the rates."""
