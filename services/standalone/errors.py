"""Errors that end a command; those of its start are servicekit.errors.StartError."""

from __future__ import annotations


class DependencyLost(Exception):
    """The broker or the database stopped answering."""
