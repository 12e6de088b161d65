"""Queries that only the dashboard needs."""
