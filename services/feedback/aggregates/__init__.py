"""Aggregation of the verdicts on a turn, which is announced on `feedback.aggregated`."""
