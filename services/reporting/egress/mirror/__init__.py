"""Artifacts in an object store: what lies there follows the tables, and nothing that is shown waits for it."""
