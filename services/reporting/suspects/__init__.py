"""Suspect verdicts: probable spam, or more than a person's limit. Figures leave them out; reviewers decide on them."""
