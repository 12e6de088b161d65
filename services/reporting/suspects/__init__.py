"""Verdicts that are probably spam, or exceed a person's limit: marked, counted nowhere, decided by reviewers."""
