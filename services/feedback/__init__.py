"""Turns received feedback into rewards: one stored record per key, announced at every change."""
