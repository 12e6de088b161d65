"""Audit of the machine's verdicts: a random sample of answers for reviewers, and rates corrected by their reviews."""
