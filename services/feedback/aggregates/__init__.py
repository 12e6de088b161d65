"""Aggregate the verdicts on a turn, and announce the result on `feedback.aggregated`."""
