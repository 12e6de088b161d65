"""Feedback list: search and filter, word lookup, number of matches."""
