"""Evaluate the detector on labelled rows."""
