"""Suspect verdicts: probable spam, or verdicts above a person's limit. Figures leave them out; reviewers decide."""
