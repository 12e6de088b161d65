"""Suspect verdicts: probable spam, or above a person's limit. Figures exclude them. Reviewers may clear them."""
