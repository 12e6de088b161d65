"""Aggregation of the verdicts on a turn, announced on `feedback.aggregated`."""
