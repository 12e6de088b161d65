"""Errors that end a running command. For errors at start, see servicekit.errors.StartError."""

from __future__ import annotations


class DependencyLost(Exception):
    """Raised if the broker or the database stops responding."""
