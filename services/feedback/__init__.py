"""Turns received feedback into rewards: one stored record per key, announced whenever it is touched."""
