"""Counts of verdicts and the figures made of them: satisfaction, ranking, reasons, comparison, calibration."""
