"""Sums of the verdicts on a turn, announced as `feedback.aggregated`."""
