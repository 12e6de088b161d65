"""Suspect verdicts: probable spam, or more verdicts than one person may give.

They are excluded from all figures. Reviewers can clear them.
"""
