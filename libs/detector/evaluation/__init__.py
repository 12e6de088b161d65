"""Evaluation of the detector on labelled rows."""
