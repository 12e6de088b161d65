"""Errors that end a running command. For start-up errors, see servicekit.errors.StartError."""

from __future__ import annotations


class DependencyLost(Exception):
    """Raised if the broker or the database no longer responds."""
