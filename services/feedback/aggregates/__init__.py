"""Aggregated verdicts per turn, announced as `feedback.aggregated`."""
