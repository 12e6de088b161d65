"""Measures the detector on labelled rows."""
